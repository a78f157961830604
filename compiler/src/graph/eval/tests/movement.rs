use super::*;
use crate::graph::{PadMode, ScatterOp};

#[test]
fn gather_wraps_negative_indices_and_refuses_others() {
    let x = counting(&[3, 2]);
    let out = one(Op::Gather { axis: 0 }, &[&x, &Array::i64(&[1, 2], &[-1, 0])]);
    assert_eq!((out.shape.as_slice(), out.to_f32()), (&[1, 2, 2][..], vec![4., 5., 0., 1.]));
    assert_eq!(one(Op::Gather { axis: 1 }, &[&x, &Array::i64(&[], &[1])]).to_f32(), [1., 3., 5.]);
    for bad in [3, -4, i64::MIN, i64::MAX] {
        let said = refusal(Op::Gather { axis: 0 }, &[&x, &Array::i64(&[1], &[bad])]);
        assert!(said.contains("outside an axis of 3"), "{said}");
    }
}

#[test]
fn gather_elements_keeps_the_other_coordinates() {
    let out = one(Op::GatherElements { axis: 1 }, &[&counting(&[2, 2]), &Array::i64(&[2, 2], &[0, 0, 1, -2])]);
    assert_eq!(out.to_f32(), [0., 0., 3., 2.]);
}

#[test]
fn gather_nd_takes_blocks_within_batches() {
    let x = counting(&[2, 2, 2]);
    let plain = one(Op::GatherNd { batch: 0 }, &[&x, &Array::i64(&[2, 2], &[0, 1, -1, 0])]);
    assert_eq!((plain.shape.as_slice(), plain.to_f32()), (&[2, 2][..], vec![2., 3., 4., 5.]));
    let batched = one(Op::GatherNd { batch: 1 }, &[&x, &Array::i64(&[2, 1], &[1, 0])]);
    assert_eq!((batched.shape.as_slice(), batched.to_f32()), (&[2, 2][..], vec![2., 3., 4., 5.]));
}

#[test]
fn scatters_write_and_combine_in_order() {
    let x = Array::f32(&[4], &[1., 1., 1., 1.]);
    let (at, new) = (Array::i64(&[3, 1], &[1, -1, 1]), Array::f32(&[3], &[5., 6., 7.]));
    let scatter = |op| one(Op::ScatterNd { op }, &[&x, &at, &new]).to_f32();
    assert_eq!(scatter(ScatterOp::Set), [1., 7., 1., 6.]);
    assert_eq!(scatter(ScatterOp::Add), [1., 13., 1., 7.]);
    assert_eq!(scatter(ScatterOp::Mul), [1., 35., 1., 6.]);
    assert_eq!(scatter(ScatterOp::Min), [1., 1., 1., 1.]);
    let at = Array::i64(&[1, 2], &[1, 0]);
    let op = Op::ScatterElements { axis: 0, op: ScatterOp::Set };
    assert_eq!(one(op, &[&counting(&[2, 2]), &at, &Array::f32(&[1, 2], &[8., 9.])]).to_f32(), [0., 9., 8., 3.]);
}

#[test]
fn slices_run_backwards_too() {
    let op = Op::Slice { begin: vec![1, 2], step: vec![-1, -2], len: vec![2, 2] };
    assert_eq!(one(op, &[&counting(&[2, 3])]).to_f32(), [5., 3., 2., 0.]);
    let op = Op::Slice { begin: vec![i64::MAX], step: vec![i64::MIN], len: vec![0] };
    assert_eq!(one(op, &[&counting(&[3])]).shape, [0]);
    let op = Op::Slice { begin: vec![1], step: vec![1], len: vec![3] };
    assert!(refusal(op, &[&counting(&[3])]).contains("leave extent 3"));
}

#[test]
fn transpose_moves_axes() {
    let out = one(Op::Transpose { perm: vec![2, 0, 1] }, &[&counting(&[2, 1, 3])]);
    assert_eq!((out.shape.as_slice(), out.to_f32()), (&[3, 2, 1][..], vec![0., 3., 1., 4., 2., 5.]));
    assert!(refusal(Op::Transpose { perm: vec![0, 0] }, &[&counting(&[2, 2])]).contains("no permutation"));
}

#[test]
fn concat_and_split_undo_each_other_on_an_inner_axis() {
    let x = counting(&[2, 5]);
    let parts = node(&Op::Split { axis: 1, sizes: vec![2, 0, 3] }, &[Some(&x)]).unwrap();
    assert_eq!(parts[0].to_f32(), [0., 1., 5., 6.]);
    assert_eq!(parts[1].shape, [2, 0]);
    assert_eq!(one(Op::Concat { axis: 1 }, &[&parts[0], &parts[1], &parts[2]]), x);
}

#[test]
fn expand_and_tile_repeat() {
    assert_eq!(one(Op::Expand { shape: vec![2, 2] }, &[&counting(&[2, 1])]).to_f32(), [0., 0., 1., 1.]);
    assert_eq!(one(Op::Tile { repeats: vec![2, 2] }, &[&counting(&[1, 2])]).to_f32(), [0., 1., 0., 1., 0., 1., 0., 1.]);
    assert_eq!(one(Op::Tile { repeats: vec![0] }, &[&counting(&[2])]).shape, [0]);
}

#[test]
fn pads_fill_mirror_repeat_and_wrap() {
    let pad = |mode, pads: &[i64]| one(Op::Pad { mode, pads: pads.to_vec() }, &[&counting(&[3])]).to_f32();
    assert_eq!(pad(PadMode::Constant, &[1, 1]), [0., 0., 1., 2., 0.]);
    assert_eq!(pad(PadMode::Constant, &[-1, 1]), [1., 2., 0.]);
    assert_eq!(pad(PadMode::Edge, &[2, 1]), [0., 0., 0., 1., 2., 2.]);
    assert_eq!(pad(PadMode::Reflect, &[2, 3]), [2., 1., 0., 1., 2., 1., 0., 1.]);
    assert_eq!(pad(PadMode::Wrap, &[1, 4]), [2., 0., 1., 2., 0., 1., 2., 0.]);
    let filled = Op::Pad { mode: PadMode::Constant, pads: vec![0, 1] };
    assert_eq!(one(filled, &[&ints(DType::I32, &[4]), &ints(DType::I32, &[7])]).to_ints(), [4, 7]);
}

#[test]
fn trilu_keeps_one_side_of_a_diagonal() {
    let tri = |upper, k| one(Op::Trilu { upper, k }, &[&Array::f32(&[2, 3], &[1.; 6])]).to_f32();
    assert_eq!(tri(true, 1), [0., 1., 1., 0., 0., 1.]);
    assert_eq!(tri(false, 0), [1., 0., 0., 1., 1., 0.]);
    assert_eq!(tri(true, i64::MAX), [0.; 6]);
}

#[test]
fn one_hot_counts_from_the_end_and_leaves_strangers_off() {
    let values = Array::f32(&[2], &[2.0, 5.0]);
    let out = one(Op::OneHot { axis: 0, depth: 2 }, &[&Array::i64(&[3], &[1, -2, 7]), &values]);
    assert_eq!((out.shape.as_slice(), out.to_f32()), (&[2, 3][..], vec![2., 5., 2., 5., 2., 2.]));
}

#[test]
fn reshape_wants_as_many_elements() {
    assert_eq!(one(Op::Reshape { shape: vec![3, 2] }, &[&counting(&[2, 3])]).shape, [3, 2]);
    assert!(refusal(Op::Reshape { shape: vec![4] }, &[&counting(&[3])]).contains("does not reshape"));
}
