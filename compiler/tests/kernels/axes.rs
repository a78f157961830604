//! Operators along axes, of any graph as it stands, at odd shapes.

use crate::device::TIGHT;
use crate::nodes::Random;
use crate::one::{LOOSE, edges, floats, ints, one, random};
use onnxcast::graph::eval::{Array, Values};
use onnxcast::graph::{DType, Heads, Mask, Op, PadMode, ReduceOp, ScatterOp, Window};

#[test]
fn matrix_products_of_any_rank() {
    let shapes: [(&[usize], &[usize]); 9] = [
        (&[1, 1], &[1, 1]),
        (&[3, 5], &[5, 7]),
        (&[33, 65], &[65, 31]),
        (&[2, 3, 5, 7], &[7, 2]),
        (&[2, 1, 5, 7], &[3, 7, 2]),
        (&[7], &[7]),
        (&[7], &[2, 7, 3]),
        (&[2, 3, 7], &[7]),
        (&[129, 40], &[40, 127]),
    ];
    for (i, (a, b)) in shapes.into_iter().enumerate() {
        one(Op::MatMul, &[floats(i as u64, a), floats(i as u64 + 9, b)], TIGHT);
    }
    one(Op::MatMul, &[random(1, DType::I64, &[5, 7]), random(2, DType::I64, &[7, 3])], TIGHT);
}

#[test]
fn gemm_with_transposes_and_bias() {
    for (trans_a, trans_b) in [(false, false), (true, false), (false, true), (true, true)] {
        let a = if trans_a { [7, 5] } else { [5, 7] };
        let b = if trans_b { [3, 7] } else { [7, 3] };
        for c in [None, Some(vec![3]), Some(vec![5, 1]), Some(vec![5, 3]), Some(vec![])] {
            let c = c.and_then(|shape: Vec<usize>| floats(3, &shape));
            let op = Op::Gemm { alpha: 0.5, beta: 2.0, trans_a, trans_b };
            one(op, &[floats(1, &a), floats(2, &b), c], TIGHT);
        }
    }
}

#[test]
fn softmax_along_any_axis() {
    for (shape, axis) in [(vec![1], 0), (vec![3, 5], 1), (vec![3, 5], 0), (vec![2, 129, 3], 1), (vec![2, 3, 300], 2)] {
        one(Op::Softmax { axis }, &[floats(1, &shape)], TIGHT);
        one(Op::LogSoftmax { axis }, &[floats(1, &shape)], LOOSE);
    }
    let big = vec![1e4, -1e4, 9e3, f32::NEG_INFINITY, f32::NEG_INFINITY, f32::NEG_INFINITY];
    one(Op::Softmax { axis: 1 }, &[Some(Array::new(DType::F32, vec![2, 3], Values::F32(big)))], TIGHT);
}

#[test]
fn reductions_over_any_axes() {
    use ReduceOp::*;
    let axes: [(&[usize], &[usize]); 6] = [
        (&[7], &[0]),
        (&[3, 5, 7], &[1]),
        (&[3, 5, 7], &[0, 2]),
        (&[2, 129], &[1]),
        (&[65, 3], &[0]),
        (&[2, 2, 70, 2], &[0, 2]),
    ];
    for (shape, axes) in axes {
        for kind in [Sum, Mean, Max, Min, Prod, SumSquare, L1, L2, LogSumExp] {
            for keep in [false, true] {
                one(Op::Reduce { kind, axes: axes.to_vec(), keep }, &[floats(8, shape)], LOOSE);
            }
        }
        for kind in [Sum, Max, Min, Mean, L1] {
            one(Op::Reduce { kind, axes: axes.to_vec(), keep: false }, &[random(8, DType::I64, shape)], TIGHT);
        }
    }
    let positive: Vec<f32> = Random::new(2).floats(35).iter().map(|x| x.abs() + 0.1).collect();
    let array = Array::new(DType::F32, vec![5, 7], Values::F32(positive));
    one(Op::Reduce { kind: LogSum, axes: vec![1], keep: true }, &[Some(array)], LOOSE);
    for kind in [Max, Min] {
        one(Op::Reduce { kind, axes: vec![0], keep: false }, &[random(1, DType::U8, &[9, 3])], TIGHT);
        one(Op::Reduce { kind, axes: vec![0], keep: false }, &[random(1, DType::Bool, &[9, 3])], TIGHT);
        one(Op::Reduce { kind, axes: vec![0], keep: false }, &[edges(2.0)], TIGHT);
    }
}

#[test]
fn extremes_and_orders_prefer_the_first_of_equals() {
    for (shape, axis) in [(vec![7], 0), (vec![3, 65], 1), (vec![5, 33, 3], 1), (vec![2, 300], 1)] {
        for last in [false, true] {
            for dtype in [DType::F32, DType::I64] {
                one(Op::ArgMax { axis, keep: true, last }, &[random(1, dtype, &shape)], TIGHT);
                one(Op::ArgMin { axis, keep: false, last }, &[random(1, dtype, &shape)], TIGHT);
            }
        }
        for largest in [false, true] {
            for dtype in [DType::F32, DType::I64, DType::U8] {
                one(Op::TopK { k: 3, axis, largest, sorted: true }, &[random(4, dtype, &shape)], TIGHT);
            }
        }
    }
    one(Op::ArgMax { axis: 0, keep: false, last: false }, &[edges(1.0)], TIGHT);
}

#[test]
fn running_sums() {
    for (exclusive, reverse) in [(false, false), (true, false), (false, true), (true, true)] {
        for (shape, axis) in [(vec![7], 0), (vec![3, 65], 0), (vec![3, 65], 1), (vec![2, 3, 5], 1)] {
            one(Op::CumSum { axis, exclusive, reverse }, &[floats(1, &shape)], TIGHT);
            one(Op::CumSum { axis, exclusive, reverse }, &[random(1, DType::I64, &shape)], TIGHT);
        }
    }
}

#[test]
fn gathers_along_any_axis() {
    let index = ints(&[2, 3], &[0, -1, 2, 1, -3, 0]);
    for axis in 0..3 {
        one(Op::Gather { axis }, &[floats(1, &[3, 4, 5]), index.clone()], TIGHT);
    }
    one(Op::Gather { axis: 0 }, &[random(1, DType::I64, &[7]), ints(&[], &[-2])], TIGHT);
    one(Op::GatherElements { axis: 1 }, &[floats(1, &[3, 4]), ints(&[2, 2], &[0, -1, 3, 2])], TIGHT);
    one(Op::GatherElements { axis: 0 }, &[floats(1, &[3, 4]), ints(&[2, 2], &[0, -1, 1, 2])], TIGHT);
    one(Op::GatherNd { batch: 0 }, &[floats(1, &[3, 4, 5]), ints(&[2, 2], &[0, -1, 2, 1])], TIGHT);
    one(Op::GatherNd { batch: 1 }, &[floats(1, &[2, 4, 5]), ints(&[2, 3, 1], &[0, -1, 2, 3, 1, 0])], TIGHT);
    one(Op::GatherNd { batch: 0 }, &[floats(1, &[3, 4]), ints(&[2, 2], &[2, 3, -1, -4])], TIGHT);
}

#[test]
fn scatters_apply_updates_in_order() {
    for op in [ScatterOp::Set, ScatterOp::Add, ScatterOp::Mul, ScatterOp::Max, ScatterOp::Min] {
        let index = ints(&[2, 3], &[0, 1, 0, -1, 2, 2]);
        for axis in [0, 1] {
            one(Op::ScatterElements { axis, op }, &[floats(1, &[3, 4]), index.clone(), floats(2, &[2, 3])], TIGHT);
        }
        let tuples = ints(&[4, 1], &[2, 0, 2, -1]);
        one(Op::ScatterNd { op }, &[floats(1, &[3, 5]), tuples, floats(2, &[4, 5])], TIGHT);
        let tuples = ints(&[3, 2], &[0, 1, 2, -1, 0, 1]);
        one(Op::ScatterNd { op }, &[random(1, DType::I64, &[3, 4]), tuples, random(2, DType::I64, &[3])], TIGHT);
    }
}

#[test]
fn one_hot_on_any_axis() {
    for axis in [0, 1, 2] {
        one(Op::OneHot { axis, depth: 4 }, &[ints(&[2, 3], &[0, -1, 2, 9, 1, 3]), floats(1, &[2])], TIGHT);
    }
}

#[test]
fn elements_move() {
    one(Op::Transpose { perm: vec![1, 0] }, &[floats(1, &[33, 65])], TIGHT);
    one(Op::Transpose { perm: vec![0, 2, 1, 3] }, &[floats(1, &[2, 3, 5, 7])], TIGHT);
    one(Op::Transpose { perm: vec![7, 6, 5, 4, 3, 2, 1, 0] }, &[floats(1, &[2, 1, 2, 3, 1, 2, 2, 3])], TIGHT);
    one(Op::Slice { begin: vec![4, 1], step: vec![-2, 3], len: vec![2, 4] }, &[floats(1, &[5, 12])], TIGHT);
    one(Op::Expand { shape: vec![3, 2, 5] }, &[floats(1, &[2, 1])], TIGHT);
    one(Op::Tile { repeats: vec![2, 3, 1] }, &[random(1, DType::I64, &[3, 2, 5])], TIGHT);
    one(Op::Tile { repeats: vec![2, 2, 2, 2, 2] }, &[floats(1, &[2, 3, 2, 1, 3])], TIGHT);
    one(Op::Split { axis: 1, sizes: vec![2, 0, 5] }, &[floats(1, &[3, 7])], TIGHT);
    let parts = [floats(1, &[3, 2, 5]), floats(2, &[3, 0, 5]), floats(3, &[3, 4, 5])];
    one(Op::Concat { axis: 1 }, &parts, TIGHT);
    one(Op::Concat { axis: 0 }, &[random(1, DType::Bool, &[3]), random(2, DType::Bool, &[4])], TIGHT);
    for upper in [false, true] {
        for k in [-1, 0, 2, i64::MAX] {
            one(Op::Trilu { upper, k }, &[floats(1, &[2, 5, 7])], TIGHT);
        }
    }
}

#[test]
fn padding_in_every_mode() {
    for mode in [PadMode::Constant, PadMode::Reflect, PadMode::Edge, PadMode::Wrap] {
        one(Op::Pad { mode, pads: vec![1, 2, 0, 1] }, &[floats(1, &[3, 4])], TIGHT);
        one(Op::Pad { mode, pads: vec![-1, 2, 2, -1] }, &[floats(1, &[3, 4])], TIGHT);
    }
    let value = Some(Array::new(DType::F32, vec![], Values::F32(vec![7.0])));
    one(Op::Pad { mode: PadMode::Constant, pads: vec![0, 1, 1, 0, 0, 2] }, &[floats(1, &[1, 3, 2]), value], TIGHT);
}

fn window(kernel: &[usize], strides: &[usize], dilations: &[usize], pads: &[usize]) -> Window {
    Window { kernel: kernel.into(), strides: strides.into(), dilations: dilations.into(), pads: pads.into() }
}

#[test]
fn convolutions_with_groups_dilation_and_pads() {
    let conv = |w: Window, group: usize, x: &[usize], k: &[usize]| {
        one(Op::Conv { window: w.clone(), group }, &[floats(1, x), floats(2, k), floats(3, &k[..1])], TIGHT);
        one(Op::Conv { window: w, group }, &[floats(1, x), floats(2, k), None], TIGHT);
    };
    conv(window(&[3], &[1], &[1], &[1, 1]), 1, &[2, 3, 9], &[5, 3, 3]);
    conv(window(&[3, 2], &[2, 1], &[1, 2], &[1, 0, 0, 1]), 2, &[1, 4, 9, 7], &[6, 2, 3, 2]);
    conv(window(&[14, 14], &[14, 14], &[1, 1], &[0; 4]), 1, &[1, 3, 28, 42], &[33, 3, 14, 14]);
    conv(window(&[2, 2, 2], &[1, 1, 1], &[1, 1, 1], &[0; 6]), 1, &[1, 2, 3, 4, 5], &[3, 2, 2, 2, 2]);
}

#[test]
fn pools_leave_padding_out() {
    let w = window(&[3, 3], &[2, 2], &[1, 1], &[1, 1, 1, 1]);
    for ceil in [false, true] {
        one(Op::MaxPool { window: w.clone(), ceil }, &[floats(1, &[1, 3, 8, 7])], TIGHT);
        for count_pad in [false, true] {
            one(Op::AveragePool { window: w.clone(), ceil, count_pad }, &[floats(1, &[1, 3, 8, 7])], TIGHT);
        }
    }
    let dilated = window(&[2], &[1], &[2], &[0, 1]);
    one(Op::MaxPool { window: dilated, ceil: false }, &[floats(1, &[2, 3, 9])], TIGHT);
}

#[test]
fn norms_over_trailing_axes() {
    for (shape, axis) in [(vec![3, 33], 1), (vec![2, 3, 65], 2), (vec![2, 3, 5], 1), (vec![129], 0)] {
        let weights = &shape[axis..];
        one(Op::LayerNorm { axis, eps: 1e-5 }, &[floats(1, &shape), floats(2, weights), floats(3, weights)], TIGHT);
        one(Op::LayerNorm { axis, eps: 1e-5 }, &[floats(1, &shape), floats(2, &[1]), None], TIGHT);
        one(Op::RmsNorm { axis, eps: 1e-6 }, &[floats(1, &shape), floats(2, weights)], TIGHT);
    }
    // A mean square far past fp16.
    let big: Vec<f32> = (0..64).map(|i| 1e4 * (i as f32 - 30.0)).collect();
    let big = Some(Array::new(DType::F32, vec![1, 64], Values::F32(big)));
    one(Op::RmsNorm { axis: 1, eps: 1e-6 }, &[big, floats(2, &[64])], TIGHT);
}

#[test]
fn attention_over_given_keys() {
    let heads = |q, kv, dim| Heads { q, kv, dim };
    let run = |h: Heads, b: usize, s: usize, t: usize, mask: Mask, given: Option<Array>| {
        let kv = [b, h.kv, t, h.dim];
        let op = Op::Attention { heads: h, scale: 0.3, mask, cap: if t.is_multiple_of(3) { 1.5 } else { 0.0 } };
        let mut all = vec![floats(1, &[b, h.q, s, h.dim]), floats(2, &kv), floats(3, &kv)];
        if mask == Mask::Given {
            all.push(given);
        }
        one(op, &all, TIGHT);
    };
    run(heads(1, 1, 1), 1, 1, 1, Mask::Full, None);
    run(heads(4, 2, 16), 2, 5, 5, Mask::Causal, None);
    run(heads(4, 4, 72), 1, 31, 33, Mask::Full, None);
    run(heads(3, 1, 7), 1, 3, 129, Mask::Causal, None);
    run(heads(2, 1, 8), 1, 33, 65, Mask::Window(5), None);
    run(heads(2, 2, 8), 2, 5, 9, Mask::Given, floats(4, &[5, 9]));
    run(heads(2, 2, 8), 2, 5, 9, Mask::Given, floats(4, &[2, 1, 1, 9]));
    // A row that the mask hides wholly stays finite: the mean of all values.
    let hidden: Vec<f32> = (0..45).map(|i| if i < 9 { -1e4 } else { 0.0 }).collect();
    run(heads(2, 2, 8), 1, 5, 9, Mask::Given, Some(Array::new(DType::F32, vec![5, 9], Values::F32(hidden))));
    // Hidden by minus infinity it gives zeros.
    let hidden: Vec<f32> = (0..45).map(|i| if i < 9 || i % 9 == 4 { f32::NEG_INFINITY } else { 0.0 }).collect();
    run(heads(2, 2, 8), 1, 5, 9, Mask::Given, Some(Array::new(DType::F32, vec![5, 9], Values::F32(hidden))));
}

#[test]
fn attention_over_rows_that_hold_heads_side_by_side() {
    for (q, kv, dim) in [(2, 2, 4), (4, 2, 16), (3, 3, 72), (4, 1, 7)] {
        let heads = Heads { q, kv, dim };
        for (b, s, mask) in [(1, 33, Mask::Full), (2, 5, Mask::Causal), (1, 70, Mask::Given)] {
            let given = if mask == Mask::Given { vec![floats(4, &[s, s])] } else { vec![] };
            let op = Op::RowAttention { heads, scale: 0.3, mask, packed: true };
            one(op, &[vec![floats(1, &[b, s, (q + 2 * kv) * dim])], given].concat(), TIGHT);
        }
        let (rows, keys) =
            (floats(1, &[2, 9, q * dim]), [floats(2, &[2, 35, kv * dim]), floats(3, &[2, 35, kv * dim])]);
        let op = Op::RowAttention { heads, scale: 0.3, mask: Mask::Full, packed: false };
        one(op, &[vec![rows], keys.to_vec()].concat(), TIGHT);
    }
}
