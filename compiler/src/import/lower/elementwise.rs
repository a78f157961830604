//! Elementwise operators. In: ONNX nodes of opset 11 to 24. Out: unary, binary, Where, Clip and Cast. Promise: operand types agree.

use super::{Call, Cx, Outcome, Refusal, Rule, invalid, unsupported};
use crate::graph::{BinaryOp, DType, Op, Tensor, UnaryOp, ValueId};
use crate::import::weights::{Storage, storage, type_name};

/// The rule of an operator of this family.
pub fn rule(op: &str) -> Option<Rule> {
    Some(match op {
        _ if unary_op(op).is_some() => unary,
        _ if binary_op(op).is_some() => binary,
        "Max" | "Min" | "Sum" | "Mean" => variadic,
        "LeakyRelu" | "Elu" | "Celu" | "Selu" | "Swish" | "HardSigmoid" | "ThresholdedRelu" | "Gelu" => activation,
        "Shrink" => shrink,
        "IsInf" => is_inf,
        "Mod" => modulo,
        "Pow" => power,
        "BitShift" => shift,
        "Where" => where_,
        "Clip" => clip,
        "Cast" | "CastLike" => cast,
        "Identity" => |_, call| Ok(vec![call.input(0)?]),
        "Dropout" => dropout,
        _ => return None,
    })
}

fn unary_op(op: &str) -> Option<UnaryOp> {
    use UnaryOp::*;
    const TABLE: &[(&str, UnaryOp)] = &[
        ("Neg", Neg),
        ("Abs", Abs),
        ("Sign", Sign),
        ("Exp", Exp),
        ("Log", Log),
        ("Sqrt", Sqrt),
        ("Reciprocal", Reciprocal),
        ("Erf", Erf),
        ("Tanh", Tanh),
        ("Sigmoid", Sigmoid),
        ("Relu", Relu),
        ("Softplus", Softplus),
        ("Softsign", Softsign),
        ("HardSwish", HardSwish),
        ("Mish", Mish),
        ("Sin", Sin),
        ("Cos", Cos),
        ("Tan", Tan),
        ("Asin", Asin),
        ("Acos", Acos),
        ("Atan", Atan),
        ("Sinh", Sinh),
        ("Cosh", Cosh),
        ("Asinh", Asinh),
        ("Acosh", Acosh),
        ("Atanh", Atanh),
        ("Floor", Floor),
        ("Ceil", Ceil),
        ("Round", Round),
        ("Not", Not),
        ("BitwiseNot", BitNot),
        ("IsNaN", IsNan),
    ];
    TABLE.iter().find(|(name, _)| *name == op).map(|(_, u)| *u)
}

fn binary_op(op: &str) -> Option<BinaryOp> {
    use BinaryOp::*;
    const TABLE: &[(&str, BinaryOp)] = &[
        ("Add", Add),
        ("Sub", Sub),
        ("Mul", Mul),
        ("Div", Div),
        ("And", And),
        ("Or", Or),
        ("Xor", Xor),
        ("Equal", Equal),
        ("Less", Less),
        ("LessOrEqual", LessEq),
        ("Greater", Greater),
        ("GreaterOrEqual", GreaterEq),
        ("BitwiseAnd", BitAnd),
        ("BitwiseOr", BitOr),
        ("BitwiseXor", BitXor),
        ("PRelu", PRelu),
    ];
    TABLE.iter().find(|(name, _)| *name == op).map(|(_, b)| *b)
}

fn unary(cx: &mut Cx, call: &Call) -> Outcome {
    let op = unary_op(call.op).ok_or_else(|| unsupported("unknown operator"))?;
    Ok(vec![cx.unary(op, call.input(0)?, "")?])
}

fn binary(cx: &mut Cx, call: &Call) -> Outcome {
    let op = binary_op(call.op).ok_or_else(|| unsupported("unknown operator"))?;
    Ok(vec![cx.binary(op, call.input(0)?, call.input(1)?, "")?])
}

fn variadic(cx: &mut Cx, call: &Call) -> Outcome {
    let inputs = call.all()?;
    let op = match call.op {
        "Max" => BinaryOp::Max,
        "Min" => BinaryOp::Min,
        _ => BinaryOp::Add,
    };
    let (&first, rest) = inputs.split_first().ok_or_else(|| invalid("it has no inputs"))?;
    let mut total = first;
    for (i, &next) in rest.iter().enumerate() {
        let label = if i + 1 == rest.len() && call.op != "Mean" { String::new() } else { format!("part{i}") };
        total = cx.binary(op, total, next, &label)?;
    }
    if call.op == "Mean" {
        total = cx.with_scalar(BinaryOp::Div, total, inputs.len() as f64, "")?;
    }
    Ok(vec![total])
}

fn activation(cx: &mut Cx, call: &Call) -> Outcome {
    let x = call.input(0)?;
    let alpha = |default| call.attrs.float_or("alpha", default);
    let op = match call.op {
        "LeakyRelu" => Op::LeakyRelu { alpha: alpha(0.01)? },
        "Elu" => Op::Elu { alpha: alpha(1.0)? },
        "Celu" => Op::Celu { alpha: alpha(1.0)? },
        "Selu" => Op::Selu { alpha: alpha(1.673_263_2)?, gamma: call.attrs.float_or("gamma", 1.050_701)? },
        "HardSigmoid" => Op::HardSigmoid { alpha: alpha(0.2)?, beta: call.attrs.float_or("beta", 0.5)? },
        "ThresholdedRelu" => Op::ThresholdedRelu { alpha: alpha(1.0)? },
        "Swish" => match alpha(1.0)? {
            1.0 => Op::Unary(UnaryOp::Silu),
            alpha => Op::Swish { alpha },
        },
        _ => match call.attrs.text_or("approximate", "none")? {
            "none" => Op::Unary(UnaryOp::GeluErf),
            "tanh" => Op::Unary(UnaryOp::GeluTanh),
            other => return Err(unsupported(format!("Gelu approximation '{other}' is not supported"))),
        },
    };
    Ok(vec![cx.op(op, &[x], "")?])
}

/// y = x + bias below -lambd, x - bias above lambd, else 0.
fn shrink(cx: &mut Cx, call: &Call) -> Outcome {
    let x = call.input(0)?;
    let (bias, lambd) = (call.attrs.float_or("bias", 0.0)? as f64, call.attrs.float_or("lambd", 0.5)? as f64);
    let below = cx.with_scalar(BinaryOp::Less, x, -lambd, "below")?;
    let above = cx.with_scalar(BinaryOp::Greater, x, lambd, "above")?;
    let plus = cx.with_scalar(BinaryOp::Add, x, bias, "plus")?;
    let minus = cx.with_scalar(BinaryOp::Sub, x, bias, "minus")?;
    let zero = cx.scalar(cx.dtype(x), 0.0);
    let rest = cx.op(Op::Where, &[above, minus, zero], "rest")?;
    Ok(vec![cx.op(Op::Where, &[below, plus, rest], "")?])
}

fn is_inf(cx: &mut Cx, call: &Call) -> Outcome {
    let x = call.input(0)?;
    let y = match (call.attrs.flag("detect_negative", true)?, call.attrs.flag("detect_positive", true)?) {
        (true, true) => cx.unary(UnaryOp::IsInf, x, "")?,
        (true, false) => cx.with_scalar(BinaryOp::Equal, x, f64::NEG_INFINITY, "")?,
        (false, true) => cx.with_scalar(BinaryOp::Equal, x, f64::INFINITY, "")?,
        (false, false) => {
            let no = cx.scalar(DType::Bool, 0.0);
            cx.expand(no, &cx.shape(x), "")?
        }
    };
    Ok(vec![y])
}

fn modulo(cx: &mut Cx, call: &Call) -> Outcome {
    let (a, b) = (call.input(0)?, call.input(1)?);
    let fmod = call.attrs.flag("fmod", false)?;
    if !fmod && cx.dtype(a).is_float() {
        return Err(invalid("fmod must be 1 for floating point operands"));
    }
    Ok(vec![cx.binary(if fmod { BinaryOp::Fmod } else { BinaryOp::Mod }, a, b, "")?])
}

/// The result has the base's type; the operands may differ.
fn power(cx: &mut Cx, call: &Call) -> Outcome {
    let (base, exponent) = (call.input(0)?, call.input(1)?);
    let (to, from) = (cx.dtype(base), cx.dtype(exponent));
    if to == from {
        return Ok(vec![cx.binary(BinaryOp::Pow, base, exponent, "")?]);
    }
    let common = if to.is_float() || !from.is_float() { to } else { from };
    let (a, b) = (cx.cast(base, common, "base")?, cx.cast(exponent, common, "exponent")?);
    let y = cx.binary(BinaryOp::Pow, a, b, "power")?;
    Ok(vec![cx.cast(y, to, "")?])
}

fn shift(cx: &mut Cx, call: &Call) -> Outcome {
    let op = match call.attrs.text("direction")? {
        Some("LEFT") => BinaryOp::ShiftLeft,
        Some("RIGHT") => BinaryOp::ShiftRight,
        other => return Err(invalid(format!("direction {other:?} is neither LEFT nor RIGHT"))),
    };
    Ok(vec![cx.binary(op, call.input(0)?, call.input(1)?, "")?])
}

fn where_(cx: &mut Cx, call: &Call) -> Outcome {
    Ok(vec![cx.op(Op::Where, &[call.input(0)?, call.input(1)?, call.input(2)?], "")?])
}

fn clip(cx: &mut Cx, call: &Call) -> Outcome {
    let x = call.input(0)?;
    if call.optional(1).is_none() && call.optional(2).is_none() {
        return Ok(vec![x]);
    }
    cx.ops(Op::Clip, &[Some(x), call.optional(1), call.optional(2)], "")
}

/// The graph type of an ONNX element type named by an attribute.
pub fn dtype(data_type: i64) -> Result<DType, Refusal> {
    let number = i32::try_from(data_type).unwrap_or(-1);
    match storage(number) {
        Ok(Storage::Plain(d)) => Ok(d),
        _ => Err(unsupported(format!("elements of type {} are not supported", type_name(number)))),
    }
}

fn cast(cx: &mut Cx, call: &Call) -> Outcome {
    let x = call.input(0)?;
    let to = match call.op {
        "CastLike" => cx.dtype(call.input(1)?),
        _ => dtype(call.attrs.int("to")?.ok_or_else(|| invalid("attribute 'to' is missing"))?)?,
    };
    Ok(vec![cx.cast(x, to, "")?])
}

fn dropout(cx: &mut Cx, call: &Call) -> Outcome {
    let x = call.input(0)?;
    if let Some(training) = call.optional(2)
        && cx.ints(training, "training_mode")?.iter().any(|t| *t != 0)
    {
        let ratio = match call.optional(1) {
            Some(r) => cx.floats(r, "ratio")?.first().copied().unwrap_or(0.5),
            None => 0.5,
        };
        if ratio != 0.0 {
            return Err(unsupported("Dropout in training mode is random"));
        }
    }
    let mut out = vec![x];
    if call.wants(1) {
        out.push(all_true(cx, x)?);
    }
    Ok(out)
}

fn all_true(cx: &mut Cx, like: ValueId) -> Result<ValueId, Refusal> {
    let yes = cx.tensor("true", Tensor::from_bytes(DType::Bool, vec![], vec![1]));
    cx.expand(yes, &cx.shape(like), "mask")
}
