use super::*;
use crate::graph::ReduceOp;

fn reduce(kind: ReduceOp, axes: &[usize], keep: bool) -> Op {
    Op::Reduce { kind, axes: axes.to_vec(), keep }
}

#[test]
fn sums_run_over_any_axes() {
    let x = counting(&[2, 2, 3]);
    assert_eq!(one(reduce(ReduceOp::Sum, &[0, 2], false), &[&x]).to_f32(), [24., 42.]);
    let kept = one(reduce(ReduceOp::Mean, &[1], true), &[&x]);
    assert_eq!((kept.shape.as_slice(), kept.to_f32()), (&[2, 1, 3][..], vec![1.5, 2.5, 3.5, 7.5, 8.5, 9.5]));
    assert_eq!(one(reduce(ReduceOp::Max, &[0, 1, 2], false), &[&x]).to_f32(), [11.]);
}

#[test]
fn reductions_of_nothing_give_the_neutral_element() {
    let x = counting(&[2, 0]);
    let table = [(ReduceOp::Sum, 0.0), (ReduceOp::Prod, 1.0), (ReduceOp::Max, f32::NEG_INFINITY)];
    for (kind, want) in table.into_iter().chain([(ReduceOp::LogSumExp, f32::NEG_INFINITY)]) {
        assert_eq!(one(reduce(kind, &[1], false), &[&x]).to_f32(), [want; 2]);
    }
    let none = Array::new(DType::I8, vec![0], Values::Int(vec![]));
    assert_eq!(one(reduce(ReduceOp::Min, &[0], false), &[&none]).to_ints(), [127]);
}

#[test]
fn every_kind_of_reduction_has_its_value() {
    let x = Array::f32(&[3], &[1.0, -2.0, 4.0]);
    let table = [
        (ReduceOp::Prod, -8.0),
        (ReduceOp::Min, -2.0),
        (ReduceOp::SumSquare, 21.0),
        (ReduceOp::L1, 7.0),
        (ReduceOp::L2, 21f32.sqrt()),
        (ReduceOp::LogSum, 3f32.ln()),
        (ReduceOp::LogSumExp, 4.0509458),
    ];
    for (kind, want) in table {
        let got = one(reduce(kind, &[0], false), &[&x]).to_f32()[0];
        assert!((got - want).abs() < 1e-6, "{kind:?} gives {got}, not {want}");
    }
}

#[test]
fn log_sum_exp_does_not_overflow() {
    let x = Array::f32(&[2], &[1000.0, 1000.0]);
    assert_eq!(one(reduce(ReduceOp::LogSumExp, &[0], false), &[&x]).to_f32(), [1000.6932]);
}

#[test]
fn softmax_is_steady_at_large_values_and_finite_when_all_is_masked() {
    let soft = |v: &[f32]| one(Op::Softmax { axis: 0 }, &[&Array::f32(&[v.len()], v)]).to_f32();
    assert_eq!(soft(&[1e4, 1e4]), [0.5, 0.5]);
    assert_eq!(soft(&[-1e4, -1e4]), [0.5, 0.5]);
    assert_eq!(soft(&[f32::NEG_INFINITY; 2]), [0.0, 0.0]);
    let log = one(Op::LogSoftmax { axis: 0 }, &[&Array::f32(&[2], &[1000.0, 0.0])]);
    assert_eq!(log.to_f32(), [0.0, -1000.0]);
}

#[test]
fn softmax_runs_along_an_inner_axis() {
    let out = one(Op::Softmax { axis: 0 }, &[&Array::f32(&[2, 2], &[0., 5., 0., 5.])]);
    assert_eq!(out.to_f32(), [0.5; 4]);
}

#[test]
fn arg_max_takes_the_first_or_the_last_of_equals() {
    let x = Array::f32(&[2, 3], &[1., 3., 3., 2., 2., 2.]);
    let arg = |last| one(Op::ArgMax { axis: 1, keep: false, last }, &[&x]).to_ints();
    assert_eq!(arg(false), [1, 0]);
    assert_eq!(arg(true), [2, 2]);
    let low = one(Op::ArgMin { axis: 0, keep: true, last: false }, &[&x]);
    assert_eq!((low.shape.as_slice(), low.to_ints()), (&[1, 3][..], vec![0, 1, 1]));
}

#[test]
fn top_k_orders_and_breaks_ties_by_index() {
    let op = Op::TopK { k: 3, axis: 0, largest: true, sorted: true };
    let out = node(&op, &[Some(&Array::f32(&[4], &[1., 7., 7., 2.]))]).unwrap();
    assert_eq!((out[0].to_f32(), out[1].to_ints()), (vec![7., 7., 2.], vec![1, 2, 3]));
    let op = Op::TopK { k: 2, axis: 0, largest: false, sorted: true };
    let out = node(&op, &[Some(&ints(DType::U64, &[-1, 5, 3]))]).unwrap();
    assert_eq!(out[1].to_ints(), [2, 1]);
}

#[test]
fn running_sums_go_both_ways() {
    let sum = |exclusive, reverse| one(Op::CumSum { axis: 0, exclusive, reverse }, &[&ints(DType::I32, &[1, 2, 3])]);
    assert_eq!(sum(false, false).to_ints(), [1, 3, 6]);
    assert_eq!(sum(true, false).to_ints(), [0, 1, 3]);
    assert_eq!(sum(false, true).to_ints(), [6, 5, 3]);
    assert_eq!(sum(true, true).to_ints(), [5, 3, 0]);
}
