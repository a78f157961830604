//! Quantised operators of ai.onnx. In: (De)QuantizeLinear, integer products. Out: casts and plain arithmetic. Promise: rounding is
//! half to even, saturation is the type's.

use super::elementwise::dtype;
use super::{Call, Cx, Outcome, Refusal, Rule, axis, invalid, unsupported};
use crate::graph::{BinaryOp, DType, Op, ReduceOp, UnaryOp, ValueId};

/// The rule of an operator of this family.
pub fn rule(op: &str) -> Option<Rule> {
    Some(match op {
        "DequantizeLinear" => dequantize,
        "QuantizeLinear" => quantize,
        "DynamicQuantizeLinear" => dynamic,
        "MatMulInteger" => matmul_integer,
        "QLinearMatMul" => matmul_linear,
        _ => return None,
    })
}

/// A scale or zero point as something that broadcasts against x.
fn spread(cx: &mut Cx, call: &Call, x: &[usize], p: ValueId, label: &str) -> Result<ValueId, Refusal> {
    let shape = cx.shape(p);
    if shape.iter().product::<usize>() == 1 {
        return cx.reshape(p, &[], label);
    }
    let at = axis(call.attrs.int_or("axis", 1)?, x.len())?;
    if shape.len() == 1 && shape[0] == x[at] {
        let mut wide = vec![1; x.len()];
        wide[at] = x[at];
        return cx.reshape(p, &wide, label);
    }
    let block = usize::try_from(call.attrs.int_or("block_size", 0)?).unwrap_or(0);
    let fits = shape.len() == x.len()
        && block > 0
        && (0..x.len()).all(|i| shape[i] == if i == at { x[i].div_ceil(block) } else { x[i] });
    if !fits {
        return Err(invalid(format!("{label} of shape {shape:?} does not fit an input of shape {x:?}")));
    }
    let mut split = shape.clone();
    split.insert(at + 1, 1);
    let rows = cx.reshape(p, &split, label)?;
    split[at + 1] = block;
    let rows = cx.expand(rows, &split, label)?;
    let mut whole = shape.clone();
    whole[at] *= block;
    let rows = cx.reshape(rows, &whole, label)?;
    cx.slice(rows, at, 0, x[at], label)
}

fn dequantize(cx: &mut Cx, call: &Call) -> Outcome {
    let (x, scale) = (call.input(0)?, call.input(1)?);
    let shape = cx.shape(x);
    let to = match call.attrs.int_or("output_dtype", 0)? {
        0 => cx.dtype(scale),
        t => dtype(t)?,
    };
    let mut centred = x;
    if let Some(zero) = call.optional(2) {
        let zero = spread(cx, call, &shape, zero, "zero_point")?;
        let (wide, zero) = (cx.cast(x, DType::I32, "x32")?, cx.cast(zero, DType::I32, "zero32")?);
        centred = cx.binary(BinaryOp::Sub, wide, zero, "centred")?;
    }
    let scale = spread(cx, call, &shape, scale, "scale")?;
    let (value, scale) = (cx.cast(centred, DType::F32, "value")?, cx.cast(scale, DType::F32, "scale32")?);
    let y = cx.binary(BinaryOp::Mul, value, scale, "scaled")?;
    Ok(vec![cx.cast(y, to, "")?])
}

/// round(x) + zero, saturated to an integer type.
fn saturate(cx: &mut Cx, x: ValueId, zero: Option<ValueId>, to: DType) -> Result<ValueId, Refusal> {
    let (low, high) = match to {
        DType::I8 => (-128.0, 127.0),
        DType::U8 => (0.0, 255.0),
        DType::I16 => (-32768.0, 32767.0),
        DType::U16 => (0.0, 65535.0),
        other => return Err(unsupported(format!("quantising to {other} is not supported"))),
    };
    let mut y = cx.unary(UnaryOp::Round, x, "rounded")?;
    if let Some(zero) = zero {
        let zero = cx.cast(zero, DType::F32, "zero32")?;
        y = cx.binary(BinaryOp::Add, y, zero, "shifted")?;
    }
    let (low, high) = (cx.scalar(DType::F32, low), cx.scalar(DType::F32, high));
    let y = cx.ops(Op::Clip, &[Some(y), Some(low), Some(high)], "saturated")?;
    let y = y.first().copied().ok_or_else(|| invalid("no result"))?;
    cx.cast(y, to, "")
}

fn quantize(cx: &mut Cx, call: &Call) -> Outcome {
    let (x, scale) = (call.input(0)?, call.input(1)?);
    let shape = cx.shape(x);
    let zero = call.optional(2);
    let to = match (zero, call.attrs.int_or("output_dtype", 0)?) {
        (Some(z), _) if cx.is_packed(z) => {
            return Err(unsupported("quantising to types under 8 bits is not supported"));
        }
        (Some(z), _) => cx.dtype(z),
        (None, 0) => DType::U8,
        (None, t) => dtype(t)?,
    };
    let scale = spread(cx, call, &shape, scale, "scale")?;
    let (value, scale) = (cx.cast(x, DType::F32, "value")?, cx.cast(scale, DType::F32, "scale32")?);
    let scaled = cx.binary(BinaryOp::Div, value, scale, "scaled")?;
    let zero = match zero {
        Some(z) => Some(spread(cx, call, &shape, z, "zero_point")?),
        None => None,
    };
    Ok(vec![saturate(cx, scaled, zero, to)?])
}

fn dynamic(cx: &mut Cx, call: &Call) -> Outcome {
    let x = call.input(0)?;
    let axes: Vec<usize> = (0..cx.rank(x)).collect();
    let extreme = |cx: &mut Cx, kind, op, label: &str| {
        let e = cx.reduce(kind, x, &axes, label)?;
        let e = cx.reshape(e, &[], label)?;
        cx.with_scalar(op, e, 0.0, label)
    };
    let high = extreme(cx, ReduceOp::Max, BinaryOp::Max, "high")?;
    let low = extreme(cx, ReduceOp::Min, BinaryOp::Min, "low")?;
    let span = cx.binary(BinaryOp::Sub, high, low, "span")?;
    let scale = cx.with_scalar(BinaryOp::Div, span, 255.0, "scale")?;
    let steps = cx.binary(BinaryOp::Div, low, scale, "steps")?;
    let zero = cx.unary(UnaryOp::Neg, steps, "zero")?;
    let zero = saturate(cx, zero, None, DType::U8)?;
    let scaled = cx.binary(BinaryOp::Div, x, scale, "scaled")?;
    Ok(vec![saturate(cx, scaled, Some(zero), DType::U8)?, scale, zero])
}

/// An integer operand as i32, less its zero point; `rows`: a vector of zero points is one a row of the left operand.
fn centred(cx: &mut Cx, x: ValueId, zero: Option<ValueId>, rows: bool, label: &str) -> Result<ValueId, Refusal> {
    let wide = cx.cast(x, DType::I32, label)?;
    let Some(mut zero) = zero else { return Ok(wide) };
    let shape = cx.shape(zero);
    if let (true, [n]) = (rows, shape.as_slice())
        && *n > 1
    {
        zero = cx.reshape(zero, &[*n, 1], label)?;
    }
    let zero = cx.cast(zero, DType::I32, label)?;
    cx.binary(BinaryOp::Sub, wide, zero, label)
}

fn matmul_integer(cx: &mut Cx, call: &Call) -> Outcome {
    let a = centred(cx, call.input(0)?, call.optional(2), true, "a")?;
    let b = centred(cx, call.input(1)?, call.optional(3), false, "b")?;
    Ok(vec![cx.op(Op::MatMul, &[a, b], "")?])
}

/// (a - za) (b - zb) * sa * sb / sy + zy.
fn matmul_linear(cx: &mut Cx, call: &Call) -> Outcome {
    let a = centred(cx, call.input(0)?, call.optional(2), true, "a")?;
    let b = centred(cx, call.input(3)?, call.optional(5), false, "b")?;
    let product = cx.op(Op::MatMul, &[a, b], "product")?;
    let mut value = cx.cast(product, DType::F32, "value")?;
    for (i, op, rows) in [(1, BinaryOp::Mul, true), (4, BinaryOp::Mul, false), (6, BinaryOp::Div, true)] {
        let mut scale = cx.cast(call.input(i)?, DType::F32, "scale")?;
        if let (true, [n]) = (rows, cx.shape(scale).as_slice())
            && *n > 1
        {
            scale = cx.reshape(scale, &[*n, 1], "scale")?;
        }
        value = cx.binary(op, value, scale, "scaled")?;
    }
    let zero = call.input(7)?;
    let to = cx.dtype(zero);
    if to == DType::I8 {
        return Err(unsupported("int8 results are refused: ONNX's text saturates them, its test data wraps"));
    }
    Ok(vec![saturate(cx, value, Some(zero), to)?])
}
