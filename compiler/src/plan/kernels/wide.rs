//! 64-bit integers on a device whose integers have 32 bits. In: a node. Out: nothing. Promise: arithmetic whose values can pass 32 bits is
//! refused with the reason; what only moves or compares numbers that fit is not.
//!
//! int64 is what exporters give to ids, lengths and positions: its values are held in 32 bits, ports refuse others (runtime/src/array.rs),
//! and a constant past them is a sentinel that only comparisons and selections may see. uint64 is what they give to words that wrap.

use super::call::Cx;
use crate::error::Result;
use crate::graph::eval::{Array, Values};
use crate::graph::{BinaryOp, DType, Op, ReduceOp, UnaryOp, ValueId};

/// A factor from which on the product of an int64 value of three digits passes 32 bits: multipliers of generators, not strides.
const LARGE_FACTOR: i64 = 1 << 24;

pub(super) fn held(cx: &Cx) -> Result<()> {
    let wide = |d: DType| matches!(d, DType::I64 | DType::U64);
    let Some(&out) = cx.node.outputs.first() else { return Ok(()) };
    let to = cx.graph.ty(out).dtype;
    if to == DType::U64 && makes_words(cx)? {
        return Err(cx.refuse("gives uint64 values that can pass 32 bits, and a device here has 32-bit integers"));
    }
    if !wide(to) || !computes(&cx.node.op) {
        return Ok(());
    }
    for id in cx.node.inputs.iter().flatten() {
        let Some(values) = constant(cx, *id) else { continue };
        let name = &cx.graph.value(*id).name;
        if let Some(x) = values.iter().find(|x| !fits(**x, to)) {
            let shown = if to == DType::U64 { (*x as u64).to_string() } else { x.to_string() };
            return Err(cx.refuse(format!("the constant '{name}' has {shown}, and a device here has 32-bit integers")));
        }
        let large = values.iter().find(|x| x.abs() >= LARGE_FACTOR);
        if let (Op::Binary(BinaryOp::Mul), Some(x)) = (&cx.node.op, large) {
            let what = format!("the factor {x} ('{name}') makes {to} values that can pass 32 bits");
            return Err(cx.refuse(format!("{what}, and a device here has 32-bit integers")));
        }
    }
    Ok(())
}

/// Elements of a constant of few numbers; None for what is no constant, or has no data here.
fn constant(cx: &Cx, id: ValueId) -> Option<Vec<i64>> {
    let tensor = cx.graph.constant(id).filter(|t| matches!(t.dtype, DType::I64 | DType::U64))?;
    match Array::from_tensor(tensor).ok()?.data {
        Values::Int(values) => Some(values),
        _ => None,
    }
}

fn fits(x: i64, dtype: DType) -> bool {
    i32::try_from(x).is_ok() && (dtype != DType::U64 || x >= 0)
}

/// Whether a uint64 result can be larger than all its operands, or is one that a sign was lost in.
fn makes_words(cx: &Cx) -> Result<bool> {
    use BinaryOp::{Add, Mul, Pow, ShiftLeft, Sub};
    Ok(match &cx.node.op {
        Op::Binary(op) => matches!(op, Add | Sub | Mul | Pow | ShiftLeft),
        Op::Unary(op) => matches!(op, UnaryOp::Neg | UnaryOp::BitNot),
        Op::Reduce { kind, .. } => !matches!(kind, ReduceOp::Max | ReduceOp::Min | ReduceOp::Mean),
        Op::CumSum { .. } | Op::MatMul | Op::Gemm { .. } => true,
        Op::Cast { .. } => !matches!(cx.dtype(0)?, DType::Bool | DType::U8 | DType::U16 | DType::U32),
        _ => false,
    })
}

/// Operators that calculate with numbers, and do not only move or compare them.
fn computes(op: &Op) -> bool {
    use BinaryOp::{And, Equal, Greater, GreaterEq, Less, LessEq, Max, Min, Or, Xor};
    match op {
        Op::Binary(op) => !matches!(op, And | Equal | Greater | GreaterEq | Less | LessEq | Max | Min | Or | Xor),
        Op::Reduce { kind, .. } => !matches!(kind, ReduceOp::Max | ReduceOp::Min),
        Op::CumSum { .. } | Op::MatMul | Op::Gemm { .. } => true,
        _ => false,
    }
}
