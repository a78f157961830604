//! Reductions along axes. In: an array. Out: sums, extremes, orders. Promise: float sums run in f64 and round once; a fully
//! masked softmax row is zero, not NaN.

use super::offsets::{Lane, Offsets, lanes, strides};
use super::{Args, Array, Values, array::each};
use crate::error::Result;
use crate::graph::{DType, Op, ReduceOp};
use std::cmp::Ordering;

pub(super) fn eval(args: &Args) -> Result<Vec<Values>> {
    let x = args.get(0)?;
    Ok(match args.op {
        Op::Softmax { axis } => vec![Values::F64(softmax(x, *axis, false))],
        Op::LogSoftmax { axis } => vec![Values::F64(softmax(x, *axis, true))],
        Op::Reduce { kind, axes, .. } => vec![reduce(args, x, *kind, axes)],
        Op::ArgMax { axis, last, .. } => vec![arg(x, *axis, *last, Ordering::Greater)],
        Op::ArgMin { axis, last, .. } => vec![arg(x, *axis, *last, Ordering::Less)],
        Op::TopK { k, axis, largest, .. } => top_k(x, *k, *axis, *largest),
        Op::CumSum { axis, exclusive, reverse } => vec![running(x, *axis, *exclusive, *reverse)],
        _ => return Err(args.err("is no reduction")),
    })
}

fn softmax(x: &Array, axis: usize, log: bool) -> Vec<f64> {
    let mut v = x.to_f64();
    for lane in lanes(&x.shape, axis) {
        let max = lane.offsets().map(|i| v[i]).fold(f64::NEG_INFINITY, f64::max);
        // A row of -inf would give -inf - -inf.
        let max = if max == f64::NEG_INFINITY { 0.0 } else { max };
        let sum: f64 = lane.offsets().map(|i| (v[i] - max).exp()).sum();
        for i in lane.offsets() {
            v[i] = match log {
                true => v[i] - max - sum.ln(),
                false if sum == 0.0 => 0.0,
                false => (v[i] - max).exp() / sum,
            };
        }
    }
    v
}

/// Offsets with the reduced axes last, and how many elements each result takes.
fn grouped(shape: &[usize], axes: &[usize]) -> (Offsets, usize) {
    let steps = strides(shape);
    let kept = (0..shape.len()).filter(|i| !axes.contains(i));
    let order: Vec<usize> = kept.chain(axes.iter().copied()).collect();
    let extents: Vec<usize> = order.iter().map(|&i| shape[i]).collect();
    let steps: Vec<isize> = order.iter().map(|&i| steps[i]).collect();
    (Offsets::new(&extents, &steps, 0), axes.iter().map(|&i| shape[i]).product())
}

fn reduce(args: &Args, x: &Array, kind: ReduceOp, axes: &[usize]) -> Values {
    let (offsets, n) = grouped(&x.shape, axes);
    let count = args.out[0].elements();
    let integer_only = matches!(kind, ReduceOp::L2 | ReduceOp::LogSum | ReduceOp::LogSumExp);
    match &x.data {
        Values::Int(v) if !integer_only => {
            Values::Int(fold(offsets, n, count, |it| fold_int(kind, it.map(|i| v[i]), n, x.dtype)))
        }
        Values::Bool(v) => Values::Bool(fold(offsets, n, count, |it| match kind {
            ReduceOp::Min => it.map(|i| v[i]).fold(true, |a, b| a & b),
            _ => it.map(|i| v[i]).fold(false, |a, b| a | b),
        })),
        _ => {
            let v = x.to_f64();
            Values::F64(fold(offsets, n, count, |it| fold_float(kind, it.map(|i| v[i]), n)))
        }
    }
}

/// One result for every `n` offsets.
fn fold<T>(
    mut offsets: Offsets,
    n: usize,
    count: usize,
    mut f: impl FnMut(&mut dyn Iterator<Item = usize>) -> T,
) -> Vec<T> {
    (0..count).map(|_| f(&mut offsets.by_ref().take(n))).collect()
}

fn fold_int(kind: ReduceOp, it: impl Iterator<Item = i64>, n: usize, dtype: DType) -> i64 {
    let unsigned = dtype == DType::U64;
    let keep = |a: i64, b: i64, wanted: Ordering| {
        let order = if unsigned { (b as u64).cmp(&(a as u64)) } else { b.cmp(&a) };
        if order == wanted { b } else { a }
    };
    let (lowest, highest) = range(dtype);
    match kind {
        ReduceOp::Max => it.fold(lowest, |a, b| keep(a, b, Ordering::Greater)),
        ReduceOp::Min => it.fold(highest, |a, b| keep(a, b, Ordering::Less)),
        ReduceOp::Prod => it.fold(1, i64::wrapping_mul),
        ReduceOp::SumSquare => it.fold(0, |s, x| s.wrapping_add(x.wrapping_mul(x))),
        ReduceOp::L1 if !unsigned => it.fold(0, |s, x| s.wrapping_add(x.wrapping_abs())),
        ReduceOp::Mean if unsigned => (it.fold(0u64, |s, x| s.wrapping_add(x as u64)) / n.max(1) as u64) as i64,
        ReduceOp::Mean => it.fold(0, i64::wrapping_add) / n.max(1) as i64,
        _ => it.fold(0, i64::wrapping_add),
    }
}

/// The least and the greatest integer of a type, as stored.
fn range(dtype: DType) -> (i64, i64) {
    match dtype {
        DType::I8 => (i8::MIN.into(), i8::MAX.into()),
        DType::I16 => (i16::MIN.into(), i16::MAX.into()),
        DType::I32 => (i32::MIN.into(), i32::MAX.into()),
        DType::U8 => (0, u8::MAX.into()),
        DType::U16 => (0, u16::MAX.into()),
        DType::U32 => (0, u32::MAX.into()),
        DType::U64 => (0, -1),
        _ => (i64::MIN, i64::MAX),
    }
}

fn fold_float(kind: ReduceOp, it: impl Iterator<Item = f64>, n: usize) -> f64 {
    let extreme = |a: f64, b: f64, b_wins: bool| if b.is_nan() || b_wins { b } else { a };
    match kind {
        ReduceOp::Sum => it.sum(),
        ReduceOp::Mean => it.sum::<f64>() / n as f64,
        ReduceOp::Max => it.fold(f64::NEG_INFINITY, |a, b| extreme(a, b, b > a)),
        ReduceOp::Min => it.fold(f64::INFINITY, |a, b| extreme(a, b, b < a)),
        ReduceOp::Prod => it.product(),
        ReduceOp::SumSquare => it.map(|x| x * x).sum(),
        ReduceOp::L1 => it.map(f64::abs).sum(),
        ReduceOp::L2 => it.map(|x| x * x).sum::<f64>().sqrt(),
        ReduceOp::LogSum => it.sum::<f64>().ln(),
        ReduceOp::LogSumExp => {
            let v: Vec<f64> = it.collect();
            let max = v.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let max = if max.is_finite() { max } else { 0.0 };
            max + v.iter().map(|x| (x - max).exp()).sum::<f64>().ln()
        }
    }
}

/// The order of two elements; NaN is above all numbers.
fn compare(x: &Array, i: usize, j: usize) -> Ordering {
    fn floats(a: f64, b: f64) -> Ordering {
        a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
    }
    match &x.data {
        Values::F32(v) => floats(f64::from(v[i]), f64::from(v[j])),
        Values::F64(v) => floats(v[i], v[j]),
        Values::Int(v) if x.dtype == DType::U64 => (v[i] as u64).cmp(&(v[j] as u64)),
        Values::Int(v) => v[i].cmp(&v[j]),
        Values::Bool(v) => v[i].cmp(&v[j]),
    }
}

fn arg(x: &Array, axis: usize, last: bool, wanted: Ordering) -> Values {
    let best = |lane: Lane| {
        (1..lane.len).fold(0, |best, i| {
            let order = compare(x, lane.at(i), lane.at(best));
            if order == wanted || last && order == Ordering::Equal { i } else { best }
        }) as i64
    };
    Values::Int(lanes(&x.shape, axis).map(best).collect())
}

fn top_k(x: &Array, k: usize, axis: usize, largest: bool) -> Vec<Values> {
    let mut shape = x.shape.clone();
    shape[axis] = k;
    let count = shape.iter().product();
    let (mut places, mut indices) = (vec![0; count], vec![0; count]);
    for (from, to) in lanes(&x.shape, axis).zip(lanes(&shape, axis)) {
        let mut order: Vec<usize> = (0..from.len).collect();
        // Stable: of equals, the lower index comes first.
        order.sort_by(|&i, &j| {
            let order = compare(x, from.at(i), from.at(j));
            if largest { order.reverse() } else { order }
        });
        for (slot, &i) in to.offsets().zip(&order) {
            places[slot] = from.at(i);
            indices[slot] = i as i64;
        }
    }
    vec![x.data.pick(places.into_iter()), Values::Int(indices)]
}

fn running(x: &Array, axis: usize, exclusive: bool, reverse: bool) -> Values {
    fn sums<T: Copy>(x: &Array, axis: usize, v: &[T], zero: T, flags: (bool, bool), add: impl Fn(T, T) -> T) -> Vec<T> {
        let (exclusive, reverse) = flags;
        let mut out = v.to_vec();
        for lane in lanes(&x.shape, axis) {
            let mut sum = zero;
            for i in 0..lane.len {
                let at = lane.at(if reverse { lane.len - 1 - i } else { i });
                let with = add(sum, v[at]);
                out[at] = if exclusive { sum } else { with };
                sum = with;
            }
        }
        out
    }
    let flags = (exclusive, reverse);
    match &x.data {
        Values::Int(v) => Values::Int(sums(x, axis, v, 0, flags, i64::wrapping_add)),
        Values::Bool(_) => each!(&x.data, v => v.clone()),
        _ => Values::F64(sums(x, axis, &x.to_f64(), 0.0, flags, |a, b| a + b)),
    }
}
