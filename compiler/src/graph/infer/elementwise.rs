//! Types of elementwise operators. In: operand types. Out: the broadcast type. Promise: numpy's broadcast rule, no type promotion.

use super::{Args, one};
use crate::error::Result;
use crate::graph::{BinaryOp, DType, Op, Ty, UnaryOp};

pub(super) fn infer(args: &Args) -> Result<Vec<Ty>> {
    match args.op {
        Op::Unary(f) => unary(args, *f),
        Op::Binary(f) => binary(args, *f),
        Op::Where => select(args),
        Op::Clip => clip(args),
        Op::Cast { to } => one(*to, args.get(0)?.shape.clone()),
        _ => Ok(vec![args.float(0)?.clone()]),
    }
}

fn unary(args: &Args, f: UnaryOp) -> Result<Vec<Ty>> {
    use UnaryOp::*;
    match f {
        Neg | Abs | Sign | Relu => Ok(vec![args.number(0)?.clone()]),
        BitNot => Ok(vec![args.integer(0)?.clone()]),
        IsNan | IsInf => one(DType::Bool, args.float(0)?.shape.clone()),
        Not => {
            let x = args.get(0)?;
            args.must(x.dtype == DType::Bool, || format!("input must be bool, is {}", x.dtype))?;
            Ok(vec![x.clone()])
        }
        _ => Ok(vec![args.float(0)?.clone()]),
    }
}

fn binary(args: &Args, f: BinaryOp) -> Result<Vec<Ty>> {
    use BinaryOp::*;
    let (a, b) = (args.get(0)?, args.get(1)?);
    let shape = args.broadcast(&[a, b])?;
    // The exponent of Pow alone may have a type of its own.
    if f != Pow {
        args.same_dtype(0, 1)?;
    }
    match f {
        Equal => return one(DType::Bool, shape),
        And | Or | Xor => {
            args.must(a.dtype == DType::Bool, || format!("inputs must be bool, are {}", a.dtype))?;
            return one(DType::Bool, shape);
        }
        BitAnd | BitOr | BitXor | ShiftLeft | ShiftRight => args.integer(0)?,
        _ => args.number(0)?,
    };
    args.number(1)?;
    let dtype = if matches!(f, Less | LessEq | Greater | GreaterEq) { DType::Bool } else { a.dtype };
    one(dtype, shape)
}

fn select(args: &Args) -> Result<Vec<Ty>> {
    let (cond, a, b) = (args.get(0)?, args.get(1)?, args.get(2)?);
    args.must(cond.dtype == DType::Bool, || format!("the condition must be bool, is {}", cond.dtype))?;
    args.same_dtype(1, 2)?;
    one(a.dtype, args.broadcast(&[cond, a, b])?)
}

fn clip(args: &Args) -> Result<Vec<Ty>> {
    let x = args.number(0)?;
    for i in 1..3 {
        if let Some(bound) = args.opt(i) {
            args.same_dtype(0, i)?;
            args.must(bound.elements() == 1, || format!("bound {i} must be a scalar, has shape {:?}", bound.shape))?;
        }
    }
    Ok(vec![x.clone()])
}
