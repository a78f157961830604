//! Normalisation. In: LayerNormalization, RMSNormalization, group, instance and batch norm. Out: `LayerNorm`, `RmsNorm`, or plain
//! arithmetic. Promise: scales have the shape our operators ask for.

use super::{Call, Cx, Outcome, Refusal, Rule, axis, invalid, unsupported};
use crate::graph::{BinaryOp, DType, Op, ReduceOp, Tensor, UnaryOp, ValueId};
use crate::import::read::encode;

/// The rule of an operator of this family.
pub fn rule(op: &str) -> Option<Rule> {
    Some(match op {
        "LayerNormalization" => layer_norm,
        // Real exports put SimplifiedLayerNormalization into ai.onnx, where no standard knows it.
        "RMSNormalization" | "SimplifiedLayerNormalization" => rms_norm,
        "BatchNormalization" => batch_norm,
        "InstanceNormalization" => instance_norm,
        "GroupNormalization" => group_norm,
        "LRN" => lrn,
        _ => return None,
    })
}

/// `scale` as the trailing shape of x from `axis`; None when it also varies over leading axes.
fn fitted(cx: &mut Cx, scale: ValueId, trailing: &[usize], label: &str) -> Result<Option<ValueId>, Refusal> {
    let mut shape = cx.shape(scale);
    while shape.len() > trailing.len() && shape[0] == 1 {
        shape.remove(0);
    }
    if shape.len() > trailing.len() {
        return Ok(None);
    }
    let flat = cx.reshape(scale, &shape, label)?;
    cx.expand(flat, trailing, label).map(Some)
}

fn layer_norm(cx: &mut Cx, call: &Call) -> Outcome {
    let (x, scale) = (call.input(0)?, call.input(1)?);
    let shape = cx.shape(x);
    let axis = axis(call.attrs.int_or("axis", -1)?, shape.len())?;
    let eps = call.attrs.float_or("epsilon", 1e-5)?;
    let fit = fitted(cx, scale, &shape[axis..], "scale")?;
    let bias = call.optional(2);
    let fit_bias = match bias {
        Some(b) => fitted(cx, b, &shape[axis..], "bias")?.map(Some),
        None => Some(None),
    };
    let y = match (fit, fit_bias) {
        (Some(scale), Some(bias)) => {
            let mut inputs = vec![Some(x), Some(scale)];
            inputs.extend(bias.map(Some));
            cx.ops(Op::LayerNorm { axis, eps }, &inputs, "")?.first().copied().ok_or_else(|| invalid("no result"))?
        }
        _ => spread_norm(cx, x, axis, eps, scale, bias)?,
    };
    let mut out = vec![y];
    if call.wants(1) || call.wants(2) {
        out.extend(moments(cx, x, axis, eps)?);
    }
    Ok(out)
}

/// A layer norm whose scale or bias varies over leading axes.
fn spread_norm(
    cx: &mut Cx,
    x: ValueId,
    axis: usize,
    eps: f32,
    scale: ValueId,
    bias: Option<ValueId>,
) -> Result<ValueId, Refusal> {
    let trailing = cx.shape(x)[axis..].to_vec();
    let dtype = cx.dtype(x);
    let one = cx.scalar(dtype, 1.0);
    let ones = cx.expand(one, &trailing, "ones")?;
    let plain = cx.op(Op::LayerNorm { axis, eps }, &[x, ones], "plain")?;
    let scaled = cx.binary(BinaryOp::Mul, plain, scale, if bias.is_some() { "scaled" } else { "" })?;
    match bias {
        Some(b) => cx.binary(BinaryOp::Add, scaled, b, ""),
        None => Ok(scaled),
    }
}

/// Mean and 1 / sqrt(variance + eps), in f32 (`stash_type` 1).
fn moments(cx: &mut Cx, x: ValueId, axis: usize, eps: f32) -> Result<[ValueId; 2], Refusal> {
    let axes: Vec<usize> = (axis..cx.rank(x)).collect();
    let x = if cx.dtype(x) == DType::F64 { x } else { cx.cast(x, DType::F32, "x32")? };
    let mean = cx.reduce(ReduceOp::Mean, x, &axes, "mean")?;
    let centred = cx.binary(BinaryOp::Sub, x, mean, "centred")?;
    Ok([mean, inverse_deviation(cx, centred, &axes, eps)?])
}

fn inverse_deviation(cx: &mut Cx, centred: ValueId, axes: &[usize], eps: f32) -> Result<ValueId, Refusal> {
    let square = cx.binary(BinaryOp::Mul, centred, centred, "square")?;
    let variance = cx.reduce(ReduceOp::Mean, square, axes, "variance")?;
    let safe = cx.with_scalar(BinaryOp::Add, variance, eps as f64, "safe")?;
    let root = cx.unary(UnaryOp::Sqrt, safe, "deviation")?;
    cx.unary(UnaryOp::Reciprocal, root, "inverse")
}

fn rms_norm(cx: &mut Cx, call: &Call) -> Outcome {
    let (x, scale) = (call.input(0)?, call.input(1)?);
    let axis = axis(call.attrs.int_or("axis", -1)?, cx.rank(x))?;
    call.refuse_output(1, "inverse standard deviation")?;
    Ok(vec![rms(cx, x, scale, axis, call.attrs.float_or("epsilon", 1e-5)?)?])
}

pub(super) fn rms(cx: &mut Cx, x: ValueId, scale: ValueId, axis: usize, eps: f32) -> Result<ValueId, Refusal> {
    let shape = cx.shape(x);
    // The scale may be wider than x (f32 scales of f16 models); the result has x's type.
    let dtype = cx.dtype(x);
    let scale = cx.cast(scale, dtype, "scale")?;
    if let Some(scale) = fitted(cx, scale, &shape[axis..], "scale")? {
        return cx.op(Op::RmsNorm { axis, eps }, &[x, scale], "");
    }
    let one = cx.scalar(dtype, 1.0);
    let ones = cx.expand(one, &shape[axis..], "ones")?;
    let plain = cx.op(Op::RmsNorm { axis, eps }, &[x, ones], "plain")?;
    cx.binary(BinaryOp::Mul, plain, scale, "")
}

/// A per-channel vector as [1, c, 1, ..] for an input of `rank`.
fn channels(cx: &mut Cx, v: ValueId, rank: usize, label: &str) -> Result<ValueId, Refusal> {
    let mut shape = vec![1; rank];
    if rank < 2 {
        return Err(invalid("the input must have rank 2 or more"));
    }
    shape[1] = cx.shape(v).iter().product();
    cx.reshape(v, &shape, label)
}

fn batch_norm(cx: &mut Cx, call: &Call) -> Outcome {
    let x = call.input(0)?;
    if call.attrs.flag("training_mode", false)? {
        return Err(unsupported("BatchNormalization in training mode is not supported"));
    }
    (1..5).try_for_each(|i| call.refuse_output(i, "a training statistic"))?;
    let eps = call.attrs.float_or("epsilon", 1e-5)?;
    let (rank, dtype) = (cx.rank(x), cx.dtype(x));
    let mut operand = |i: usize| -> Result<ValueId, Refusal> {
        let v = cx.cast(call.input(i)?, dtype, "operand")?;
        channels(cx, v, rank, "channels")
    };
    let (scale, bias, mean, variance) = (operand(1)?, operand(2)?, operand(3)?, operand(4)?);
    let safe = cx.with_scalar(BinaryOp::Add, variance, eps as f64, "safe")?;
    let root = cx.unary(UnaryOp::Sqrt, safe, "deviation")?;
    let factor = cx.binary(BinaryOp::Div, scale, root, "factor")?;
    let centred = cx.binary(BinaryOp::Sub, x, mean, "centred")?;
    let scaled = cx.binary(BinaryOp::Mul, centred, factor, "scaled")?;
    Ok(vec![cx.binary(BinaryOp::Add, scaled, bias, "")?])
}

fn instance_norm(cx: &mut Cx, call: &Call) -> Outcome {
    let x = call.input(0)?;
    let eps = call.attrs.float_or("epsilon", 1e-5)?;
    let shape = cx.shape(x);
    if shape.len() < 3 {
        return Err(invalid(format!("the input must have rank 3 or more, has shape {shape:?}")));
    }
    let plain = rows_norm(cx, x, &[shape[0], shape[1], shape[2..].iter().product()], eps)?;
    let plain = cx.reshape(plain, &shape, "plain")?;
    let scale = channels(cx, call.input(1)?, shape.len(), "scale")?;
    let bias = channels(cx, call.input(2)?, shape.len(), "bias")?;
    let scaled = cx.binary(BinaryOp::Mul, plain, scale, "scaled")?;
    Ok(vec![cx.binary(BinaryOp::Add, scaled, bias, "")?])
}

/// x as `rows` (three axes), each row of the last axis normalised.
fn rows_norm(cx: &mut Cx, x: ValueId, rows: &[usize; 3], eps: f32) -> Result<ValueId, Refusal> {
    let flat = cx.reshape(x, rows, "rows")?;
    let dtype = cx.dtype(x);
    let one = cx.scalar(dtype, 1.0);
    let ones = cx.expand(one, &rows[2..], "ones")?;
    cx.op(Op::LayerNorm { axis: 2, eps }, &[flat, ones], "normalised")
}

/// Opset 18 scales per group, opset 21 per channel.
fn group_norm(cx: &mut Cx, call: &Call) -> Outcome {
    let (x, scale, bias) = (call.input(0)?, call.input(1)?, call.input(2)?);
    let eps = call.attrs.float_or("epsilon", 1e-5)?;
    let shape = cx.shape(x);
    let groups = call.attrs.int("num_groups")?.and_then(|g| usize::try_from(g).ok()).filter(|g| *g > 0);
    let groups = groups.ok_or_else(|| invalid("num_groups must be at least 1"))?;
    if shape.len() < 2 || !shape[1].is_multiple_of(groups) {
        return Err(invalid(format!("shape {shape:?} does not divide into {groups} groups")));
    }
    let per_group = shape[1..].iter().product::<usize>() / groups;
    let rows = [shape[0], groups, per_group];
    let plain = rows_norm(cx, x, &rows, eps)?;
    if call.opset < 21 {
        let (scale, bias) = (cx.reshape(scale, &[1, groups, 1], "scale")?, cx.reshape(bias, &[1, groups, 1], "bias")?);
        let scaled = cx.binary(BinaryOp::Mul, plain, scale, "scaled")?;
        let shifted = cx.binary(BinaryOp::Add, scaled, bias, "shifted")?;
        return Ok(vec![cx.reshape(shifted, &shape, "")?]);
    }
    let plain = cx.reshape(plain, &shape, "plain")?;
    let (scale, bias) = (channels(cx, scale, shape.len(), "scale")?, channels(cx, bias, shape.len(), "bias")?);
    let scaled = cx.binary(BinaryOp::Mul, plain, scale, "scaled")?;
    Ok(vec![cx.binary(BinaryOp::Add, scaled, bias, "")?])
}

/// y = x / (bias + alpha / size * sum of squares over `size` channels) ^ beta.
fn lrn(cx: &mut Cx, call: &Call) -> Outcome {
    let x = call.input(0)?;
    let shape = cx.shape(x);
    let size = call.attrs.int("size")?.and_then(|s| usize::try_from(s).ok()).filter(|s| (1..=1024).contains(s));
    let size = size.ok_or_else(|| invalid("size must be between 1 and 1024"))?;
    if shape.len() < 2 {
        return Err(invalid("the input must have rank 2 or more"));
    }
    let (alpha, beta) = (call.attrs.float_or("alpha", 1e-4)? as f64, call.attrs.float_or("beta", 0.75)? as f64);
    let square = cx.binary(BinaryOp::Mul, x, x, "square")?;
    let mut pads = vec![0i64; 2 * shape.len()];
    pads[1] = ((size - 1) / 2) as i64;
    pads[shape.len() + 1] = (size - 1 - (size - 1) / 2) as i64;
    let padded = cx.op(Op::Pad { mode: crate::graph::PadMode::Constant, pads }, &[square], "padded")?;
    let mut sum = cx.slice(padded, 1, 0, shape[1], "window")?;
    for i in 1..size {
        let next = cx.slice(padded, 1, i, shape[1], "window")?;
        sum = cx.binary(BinaryOp::Add, sum, next, "sum")?;
    }
    let scaled = cx.with_scalar(BinaryOp::Mul, sum, alpha / size as f64, "scaled")?;
    let base = cx.with_scalar(BinaryOp::Add, scaled, call.attrs.float_or("bias", 1.0)? as f64, "base")?;
    let dtype = cx.dtype(x);
    let exponent = cx.tensor("beta", Tensor::from_bytes(dtype, vec![], encode(dtype, &[beta])));
    let power = cx.binary(BinaryOp::Pow, base, exponent, "power")?;
    Ok(vec![cx.binary(BinaryOp::Div, x, power, "")?])
}
