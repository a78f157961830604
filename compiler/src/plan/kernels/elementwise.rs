//! One value per element. In: unary, binary, Where, Clip, Cast and the activations with parameters. Out: one call each.
//! Promise: numpy's broadcast; every type's own arithmetic, but for 64-bit integers, which are 32-bit on the device (`wide` refuses what passes).

use super::call::{Builder, Cx, float, groups};
use super::unary;
use super::walk::{Walk, broadcast, name, strides};
use crate::error::Result;
use crate::graph::{BinaryOp, DType, Op, UnaryOp};
use crate::plan::{Call, Operand};

const LOCAL: usize = 256;

/// Width of an integer type on the device, and whether it is unsigned.
pub(super) fn integer(dtype: DType) -> (u32, bool) {
    match dtype {
        DType::I8 => (8, false),
        DType::I16 => (16, false),
        DType::U8 => (8, true),
        DType::U16 => (16, true),
        DType::U32 | DType::U64 | DType::Bool => (32, true),
        _ => (32, false),
    }
}

/// Adds BITS and UNSIGNED.
pub(super) fn define_integer(b: Builder, dtype: DType) -> Builder {
    let (bits, unsigned) = integer(dtype);
    b.define("BITS", bits).flag("UNSIGNED", unsigned)
}

pub(super) fn unary_op(cx: &Cx, op: UnaryOp) -> Result<Vec<Call>> {
    let dtype = cx.dtype(0)?;
    let n: usize = cx.out_shape().iter().product();
    let kind = match (op, dtype) {
        (UnaryOp::IsNan | UnaryOp::IsInf, d) if d.is_float() => 1,
        (UnaryOp::Not, DType::Bool) => 3,
        (_, d) if d.is_float() => 0,
        (UnaryOp::Neg | UnaryOp::Abs | UnaryOp::Sign | UnaryOp::Relu | UnaryOp::BitNot, d) if d != DType::Bool => 2,
        (UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::Round, d) if d != DType::Bool => 2,
        _ => return Err(cx.refuse(format!("{op:?} of {dtype} has no kernel"))),
    };
    let code = match op {
        UnaryOp::Not => 35,
        UnaryOp::BitNot => 36,
        _ => unary::code(op).ok_or_else(|| cx.refuse(format!("{op:?} has no code")))?,
    };
    let b = Builder::new("unary.comp", format!("{}_{dtype}_n{n}", format!("{op:?}").to_lowercase()))
        .define("N", n)
        .define("OP", code)
        .define("KIND", kind)
        .read(cx.read(0)?)
        .write(Operand::Value(cx.node.out()));
    Ok(vec![define_integer(b, dtype).build(cx, groups(n, LOCAL))?])
}

pub(super) fn activation(cx: &Cx) -> Result<Vec<Call>> {
    let (form, alpha, beta) = match cx.node.op {
        Op::LeakyRelu { alpha } => (0, alpha, 0.0),
        Op::Elu { alpha } => (1, alpha, 0.0),
        Op::Celu { alpha } => (2, alpha, 0.0),
        Op::Selu { alpha, gamma } => (3, alpha, gamma),
        Op::Swish { alpha } => (4, alpha, 0.0),
        Op::HardSigmoid { alpha, beta } => (5, alpha, beta),
        Op::ThresholdedRelu { alpha } => (6, alpha, 0.0),
        _ => return Err(cx.refuse("is no activation")),
    };
    if !cx.dtype(0)?.is_float() {
        return Err(cx.refuse(format!("of {} has no kernel", cx.dtype(0)?)));
    }
    let n: usize = cx.out_shape().iter().product();
    let b = Builder::new("activation.comp", format!("{}_f32_n{n}", cx.node.op.name().to_lowercase()))
        .define("N", n)
        .define("FORM", form)
        .define("ALPHA", float(alpha))
        .define("BETA", float(beta))
        .read(cx.read(0)?)
        .write(Operand::Value(cx.node.out()));
    Ok(vec![b.build(cx, groups(n, LOCAL))?])
}

fn binary_code(op: BinaryOp) -> u32 {
    use BinaryOp::*;
    match op {
        Add => 0,
        Sub => 1,
        Mul => 2,
        Div => 3,
        Pow => 4,
        Min => 5,
        Max => 6,
        Mod => 7,
        Fmod => 8,
        And => 9,
        Or => 10,
        Xor => 11,
        Equal => 12,
        Less => 13,
        LessEq => 14,
        Greater => 15,
        GreaterEq => 16,
        BitAnd => 17,
        BitOr => 18,
        BitXor => 19,
        ShiftLeft => 20,
        ShiftRight => 21,
        PRelu => 22,
    }
}

pub(super) fn binary_op(cx: &Cx, op: BinaryOp) -> Result<Vec<Call>> {
    use BinaryOp::*;
    let (a, b) = (cx.dtype(0)?, cx.dtype(1)?);
    if a != b && op != Pow {
        return Err(cx.refuse(format!("{op:?} of {a} and {b} has no kernel")));
    }
    let out = cx.out_shape();
    let (sa, sb) = (cx.shape(0)?, cx.shape(1)?);
    let walk = Walk::new(out, &[broadcast(sa, out), broadcast(sb, out)]);
    let n: usize = out.iter().product();
    let label = format!("{}_{a}_{}_{}", format!("{op:?}").to_lowercase(), name(sa), name(sb));
    let label = if a == b { label } else { format!("{label}_{b}") };
    let call = Builder::new("binary.comp", label)
        .define("N", n)
        .define("OP", binary_code(op))
        .flag("A_FLOAT", a.is_float())
        .flag("B_FLOAT", b.is_float())
        .flag("COMPARE", matches!(op, Equal | Less | LessEq | Greater | GreaterEq))
        .read(cx.read(0)?)
        .read(cx.read(1)?)
        .write(Operand::Value(cx.node.out()));
    let call = walk.define(define_integer(call, a), &["A_STRIDES", "B_STRIDES"]);
    Ok(vec![call.build(cx, groups(n, LOCAL))?])
}

pub(super) fn select_op(cx: &Cx) -> Result<Vec<Call>> {
    let out = cx.out_shape();
    let shapes = [cx.shape(0)?, cx.shape(1)?, cx.shape(2)?];
    let walk = Walk::new(out, &shapes.map(|s| broadcast(s, out)));
    let n: usize = out.iter().product();
    let b = Builder::new("where.comp", format!("where_{}", shapes.map(name).join("_")))
        .define("N", n)
        .read(cx.read(0)?)
        .read(cx.read(1)?)
        .read(cx.read(2)?)
        .write(Operand::Value(cx.node.out()));
    let b = walk.define(b, &["C_STRIDES", "A_STRIDES", "B_STRIDES"]);
    Ok(vec![b.build(cx, groups(n, LOCAL))?])
}

pub(super) fn clip(cx: &Cx) -> Result<Vec<Call>> {
    let dtype = cx.dtype(0)?;
    let n: usize = cx.out_shape().iter().product();
    let (low, high) = (cx.node.input(1), cx.node.input(2));
    let sides = format!("{}{}", if low.is_some() { "l" } else { "" }, if high.is_some() { "h" } else { "" });
    let mut b = Builder::new("clip.comp", format!("clip_{dtype}_n{n}_{sides}"))
        .define("N", n)
        .flag("FLOAT", dtype.is_float())
        .flag("UNSIGNED", integer(dtype).1)
        .flag("LOW", low.is_some())
        .flag("HIGH", high.is_some())
        .read(cx.read(0)?)
        .write(Operand::Value(cx.node.out()));
    for bound in [low, high].into_iter().flatten() {
        b = b.read(cx.operand(bound));
    }
    Ok(vec![b.build(cx, groups(n, LOCAL))?])
}

pub(super) fn cast(cx: &Cx) -> Result<Vec<Call>> {
    let (from, to) = (cx.dtype(0)?, cx.out_dtype());
    let n: usize = cx.out_shape().iter().product();
    let from_code = match from {
        d if d.is_float() => 0,
        d if integer(d).1 => 2,
        _ => 1,
    };
    let to_code = match to {
        DType::F32 => 0,
        DType::F16 => 1,
        DType::BF16 => 2,
        DType::Bool => 3,
        _ => 4,
    };
    let b = Builder::new("cast.comp", format!("cast_{from}_{to}_n{n}"))
        .define("N", n)
        .define("FROM", from_code)
        .define("TO", to_code)
        .read(cx.read(0)?)
        .write(Operand::Value(cx.node.out()));
    Ok(vec![define_integer(b, to).build(cx, groups(n, LOCAL))?])
}

/// An identical copy of an operand of `n` 32-bit words.
pub(super) fn copy(cx: &Cx, from: Operand, n: usize) -> Result<Call> {
    let line = strides(&[n]);
    let walk = Walk::new(&[n], &[line.clone(), line]);
    let b = Builder::new("copy.comp", format!("copy_n{n}"))
        .define("N", n)
        .define("FROM", 0)
        .define("TO", 0)
        .read(from)
        .write(Operand::Value(cx.node.out()));
    walk.define(b, &["FROM_STRIDES", "TO_STRIDES"]).build(cx, groups(n, LOCAL))
}
