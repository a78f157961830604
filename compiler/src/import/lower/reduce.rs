//! Reductions. In: Reduce*, ArgMax, Softmax, TopK and kin. Out: the same over explicit axes. Promise: old opsets' axes attributes
//! and two-dimensional softmax are gone.

use super::{Call, Cx, Outcome, Refusal, Rule, axes, axis, invalid};
use crate::graph::{BinaryOp, DType, Op, ReduceOp, Tensor, UnaryOp, ValueId};
use crate::import::read::encode;

/// The rule of an operator of this family.
pub fn rule(op: &str) -> Option<Rule> {
    Some(match op {
        _ if kind(op).is_some() => reduce,
        "ArgMax" | "ArgMin" => arg,
        "Softmax" | "LogSoftmax" | "Hardmax" => softmax,
        "TopK" => top_k,
        "CumSum" => cum_sum,
        "LpNormalization" => lp_norm,
        "MeanVarianceNormalization" => mean_variance,
        _ => return None,
    })
}

fn kind(op: &str) -> Option<ReduceOp> {
    Some(match op {
        "ReduceSum" => ReduceOp::Sum,
        "ReduceMean" => ReduceOp::Mean,
        "ReduceMax" => ReduceOp::Max,
        "ReduceMin" => ReduceOp::Min,
        "ReduceProd" => ReduceOp::Prod,
        "ReduceSumSquare" => ReduceOp::SumSquare,
        "ReduceL1" => ReduceOp::L1,
        "ReduceL2" => ReduceOp::L2,
        "ReduceLogSum" => ReduceOp::LogSum,
        "ReduceLogSumExp" => ReduceOp::LogSumExp,
        _ => return None,
    })
}

fn reduce(cx: &mut Cx, call: &Call) -> Outcome {
    let kind = kind(call.op).ok_or_else(|| invalid("unknown reduction"))?;
    let x = call.input(0)?;
    let given = match call.optional(1) {
        Some(id) => cx.ints(id, "axes")?,
        None => call.attrs.ints("axes")?.unwrap_or(&[]).to_vec(),
    };
    let keep = call.attrs.flag("keepdims", true)?;
    if given.is_empty() && call.attrs.flag("noop_with_empty_axes", false)? {
        return Ok(vec![x]);
    }
    let rank = cx.rank(x);
    let axes = if given.is_empty() { (0..rank).collect() } else { axes(&given, rank)? };
    let op = Op::Reduce { kind, axes, keep };
    if cx.dtype(x) == DType::Bool {
        let wide = cx.cast(x, DType::U8, "u8")?;
        let y = cx.op(op, &[wide], "reduced")?;
        return Ok(vec![cx.cast(y, DType::Bool, "")?]);
    }
    Ok(vec![cx.op(op, &[x], "")?])
}

fn arg(cx: &mut Cx, call: &Call) -> Outcome {
    let x = call.input(0)?;
    let axis = axis(call.attrs.int_or("axis", 0)?, cx.rank(x))?;
    let keep = call.attrs.flag("keepdims", true)?;
    let last = call.attrs.flag("select_last_index", false)?;
    let op = if call.op == "ArgMax" { Op::ArgMax { axis, keep, last } } else { Op::ArgMin { axis, keep, last } };
    Ok(vec![cx.op(op, &[x], "")?])
}

/// Up to opset 12 all axes from `axis` on were one.
fn softmax(cx: &mut Cx, call: &Call) -> Outcome {
    let x = call.input(0)?;
    let (shape, rank) = (cx.shape(x), cx.rank(x));
    let old = call.opset < 13;
    let at = call.attrs.int_or("axis", if old { 1 } else { -1 })?;
    if rank == 0 {
        return Err(invalid("the input has no axis"));
    }
    // Old versions allow axis == rank: rows of one element.
    let past_end = old && at == rank as i64;
    let at = if past_end { rank } else { axis(at, rank)? };
    if !old || at + 1 == rank {
        return Ok(vec![one_axis(cx, call.op, x, at, "")?]);
    }
    let rows: usize = shape[..at].iter().product();
    let flat = cx.reshape(x, &[rows, shape[at..].iter().product()], "flat")?;
    let y = one_axis(cx, call.op, flat, 1, "rows")?;
    Ok(vec![cx.reshape(y, &shape, "")?])
}

fn one_axis(cx: &mut Cx, op: &str, x: ValueId, axis: usize, label: &str) -> Result<ValueId, Refusal> {
    match op {
        "Softmax" => cx.op(Op::Softmax { axis }, &[x], label),
        "LogSoftmax" => cx.op(Op::LogSoftmax { axis }, &[x], label),
        _ => {
            let depth = cx.shape(x)[axis];
            let at = cx.op(Op::ArgMax { axis, keep: false, last: false }, &[x], "argmax")?;
            let dtype = cx.dtype(x);
            let values = cx.tensor("values", Tensor::from_bytes(dtype, vec![2], encode(dtype, &[0.0, 1.0])));
            cx.op(Op::OneHot { axis, depth }, &[at, values], label)
        }
    }
}

fn top_k(cx: &mut Cx, call: &Call) -> Outcome {
    let x = call.input(0)?;
    let axis = axis(call.attrs.int_or("axis", -1)?, cx.rank(x))?;
    let k = cx.ints(call.input(1)?, "k")?.first().copied().unwrap_or(-1);
    let extent = cx.shape(x)[axis];
    let k = usize::try_from(k).ok().filter(|k| *k <= extent);
    let k = k.ok_or_else(|| invalid(format!("k is not between 0 and the extent {extent}")))?;
    let (largest, sorted) = (call.attrs.flag("largest", true)?, call.attrs.flag("sorted", true)?);
    cx.ops(Op::TopK { k, axis, largest, sorted }, &[Some(x)], "")
}

fn cum_sum(cx: &mut Cx, call: &Call) -> Outcome {
    let x = call.input(0)?;
    let at = cx.ints(call.input(1)?, "axis")?.first().copied().ok_or_else(|| invalid("the axis is empty"))?;
    let axis = axis(at, cx.rank(x))?;
    let (exclusive, reverse) = (call.attrs.flag("exclusive", false)?, call.attrs.flag("reverse", false)?);
    Ok(vec![cx.op(Op::CumSum { axis, exclusive, reverse }, &[x], "")?])
}

fn lp_norm(cx: &mut Cx, call: &Call) -> Outcome {
    let x = call.input(0)?;
    let axis = axis(call.attrs.int_or("axis", -1)?, cx.rank(x))?;
    let kind = match call.attrs.int_or("p", 2)? {
        1 => ReduceOp::L1,
        2 => ReduceOp::L2,
        p => return Err(invalid(format!("p is {p}, neither 1 nor 2"))),
    };
    let norm = cx.reduce(kind, x, &[axis], "norm")?;
    // As ONNX defines it: a row of zeros gives NaN.
    Ok(vec![cx.binary(BinaryOp::Div, x, norm, "")?])
}

fn mean_variance(cx: &mut Cx, call: &Call) -> Outcome {
    let x = call.input(0)?;
    let axes = axes(call.attrs.ints("axes")?.unwrap_or(&[0, 2, 3]), cx.rank(x))?;
    let mean = cx.reduce(ReduceOp::Mean, x, &axes, "mean")?;
    let centred = cx.binary(BinaryOp::Sub, x, mean, "centred")?;
    let square = cx.binary(BinaryOp::Mul, centred, centred, "square")?;
    let variance = cx.reduce(ReduceOp::Mean, square, &axes, "variance")?;
    let deviation = cx.unary(UnaryOp::Sqrt, variance, "deviation")?;
    let safe = cx.with_scalar(BinaryOp::Add, deviation, 1e-9, "safe")?;
    Ok(vec![cx.binary(BinaryOp::Div, centred, safe, "")?])
}
