use super::*;
use crate::graph::Window;

#[test]
fn matmul_takes_vectors_on_either_side() {
    let m = counting(&[2, 3]);
    assert_eq!(one(Op::MatMul, &[&counting(&[2]), &m]).to_f32(), [3., 4., 5.]);
    assert_eq!(one(Op::MatMul, &[&m, &counting(&[3])]).to_f32(), [5., 14.]);
    let dot = one(Op::MatMul, &[&counting(&[3]), &counting(&[3])]);
    assert_eq!((dot.shape.len(), dot.to_f32()), (0, vec![5.]));
}

#[test]
fn matmul_broadcasts_its_batches() {
    let out = one(Op::MatMul, &[&counting(&[2, 1, 1, 2]), &counting(&[3, 2, 1])]);
    assert_eq!(out.shape, [2, 3, 1, 1]);
    assert_eq!(out.to_f32(), [1., 3., 5., 3., 13., 23.]);
}

#[test]
fn matmul_agrees_with_the_schoolbook_at_odd_sizes() {
    for (m, k, n) in [(1, 1, 1), (3, 5, 7), (2, 33, 9), (5, 4, 1), (1, 129, 3)] {
        let a: Vec<f32> = (0..m * k).map(|i| ((i * 7 + 3) % 11) as f32 - 5.0).collect();
        let b: Vec<f32> = (0..k * n).map(|i| ((i * 5 + 1) % 13) as f32 - 6.0).collect();
        let flipped: Vec<f32> = (0..n * k).map(|i| b[i % k * n + i / k]).collect();
        let mut want = vec![0.0; m * n];
        for i in 0..m * n {
            want[i] = (0..k).map(|j| a[i / n * k + j] * b[j * n + i % n]).sum();
        }
        let (a, b) = (Array::f32(&[m, k], &a), Array::f32(&[k, n], &b));
        assert_eq!(one(Op::MatMul, &[&a, &b]).to_f32(), want);
        let gemm = Op::Gemm { alpha: 1.0, beta: 1.0, trans_a: false, trans_b: true };
        assert_eq!(one(gemm, &[&a, &Array::f32(&[n, k], &flipped)]).to_f32(), want);
    }
}

#[test]
fn matmul_over_nothing_is_zero() {
    assert_eq!(one(Op::MatMul, &[&counting(&[2, 0]), &counting(&[0, 2])]).to_f32(), [0.; 4]);
}

#[test]
fn integer_products_wrap() {
    let (a, b) = (ints(DType::I32, &[1 << 30, 3]), ints(DType::I32, &[4, 5]));
    assert_eq!(one(Op::MatMul, &[&a, &b]).to_ints(), [15]);
}

#[test]
fn gemm_scales_both_terms_and_spreads_the_bias() {
    let op = Op::Gemm { alpha: 2.0, beta: 0.5, trans_a: true, trans_b: false };
    let out = one(op, &[&counting(&[2, 2]), &counting(&[2, 3]), &Array::f32(&[2, 1], &[2., 4.])]);
    assert_eq!(out.to_f32(), [13., 17., 21., 20., 28., 36.]);
}

fn window(kernel: &[usize], strides: &[usize], pads: &[usize]) -> Window {
    let dilations = vec![1; kernel.len()];
    Window { kernel: kernel.to_vec(), strides: strides.to_vec(), dilations, pads: pads.to_vec() }
}

#[test]
fn conv_sums_windows_with_zero_padding() {
    let op = Op::Conv { window: window(&[3, 3], &[1, 1], &[1, 1, 1, 1]), group: 1 };
    let out = one(op, &[&counting(&[1, 1, 3, 3]), &Array::f32(&[1, 1, 3, 3], &[1.0; 9])]);
    assert_eq!(out.to_f32(), [8., 15., 12., 21., 36., 27., 20., 33., 24.]);
}

#[test]
fn conv_keeps_groups_apart_and_adds_its_bias() {
    let op = Op::Conv { window: window(&[1], &[1], &[0, 0]), group: 2 };
    let w = Array::f32(&[2, 1, 1], &[1.0, 10.0]);
    let out = one(op, &[&counting(&[1, 2, 2]), &w, &Array::f32(&[2], &[0.5, 0.25])]);
    assert_eq!(out.to_f32(), [0.5, 1.5, 20.25, 30.25]);
}

#[test]
fn conv_strides_and_dilates() {
    let mut w = window(&[2], &[2], &[0, 1]);
    w.dilations = vec![2];
    let out = one(Op::Conv { window: w, group: 1 }, &[&counting(&[1, 1, 6]), &Array::f32(&[1, 1, 2], &[1., 1.])]);
    assert_eq!(out.to_f32(), [2., 6., 4.][..out.to_f32().len()]);
    assert_eq!(out.shape, [1, 1, 3]);
}

#[test]
fn pools_ignore_padding_unless_told_to_count_it() {
    let pool = window(&[2], &[2], &[1, 1]);
    let x = Array::f32(&[1, 1, 4], &[-1., -2., -3., -4.]);
    let max = one(Op::MaxPool { window: pool.clone(), ceil: false }, &[&x]);
    assert_eq!(max.to_f32(), [-1., -2., -4.]);
    let average = |count_pad| Op::AveragePool { window: pool.clone(), ceil: false, count_pad };
    assert_eq!(one(average(false), &[&x]).to_f32(), [-1., -2.5, -4.]);
    assert_eq!(one(average(true), &[&x]).to_f32(), [-0.5, -2.5, -2.]);
}

#[test]
fn a_ceil_window_counts_only_what_lies_inside_the_pads() {
    let op = Op::AveragePool { window: window(&[3], &[2], &[0, 0]), ceil: true, count_pad: true };
    assert_eq!(one(op, &[&counting(&[1, 1, 4])]).to_f32(), [1.0, 2.5]);
}

#[test]
fn a_row_of_a_product_does_not_depend_on_the_rows_beside_it() {
    let value = |i: usize| ((i as u32).wrapping_mul(2654435761) >> 8) as f32 / 8388608.0 - 1.0;
    let (m, k, n) = (19, 301, 37);
    let a: Vec<f32> = (0..m * k).map(value).collect();
    let b: Vec<f32> = (0..k * n).map(|i| value(i + 77)).collect();
    let b = Array::f32(&[k, n], &b);
    let whole = one(Op::MatMul, &[&Array::f32(&[m, k], &a), &b]).to_f32();
    for (row, want) in a.chunks(k).zip(whole.chunks(n)) {
        assert_eq!(one(Op::MatMul, &[&Array::f32(&[1, k], row), &b]).to_f32(), want);
    }
}
