//! Types of reductions along axes. In: the operand type. Out: the result's. Promise: indices are i64, everything else keeps its type.

use super::{Args, one};
use crate::error::Result;
use crate::graph::{DType, Op, ReduceOp, Ty};

pub(super) fn infer(args: &Args) -> Result<Vec<Ty>> {
    match args.op {
        Op::Softmax { axis } | Op::LogSoftmax { axis } => {
            let x = args.float(0)?;
            args.axis(*axis, x)?;
            Ok(vec![x.clone()])
        }
        Op::CumSum { axis, .. } => {
            let x = args.number(0)?;
            args.axis(*axis, x)?;
            Ok(vec![x.clone()])
        }
        Op::Reduce { kind, axes, keep } => {
            let x = if matches!(kind, ReduceOp::Max | ReduceOp::Min) { args.get(0)? } else { args.number(0)? };
            one(x.dtype, reduced(args, x, axes, *keep)?)
        }
        Op::ArgMax { axis, keep, .. } | Op::ArgMin { axis, keep, .. } => {
            let x = args.number(0)?;
            let shape = reduced(args, x, &[*axis], *keep)?;
            args.must(x.shape[*axis] > 0, || format!("axis {axis} is empty"))?;
            one(DType::I64, shape)
        }
        Op::TopK { k, axis, .. } => {
            let x = args.number(0)?;
            args.axis(*axis, x)?;
            args.must(*k <= x.shape[*axis], || format!("k {k} exceeds the extent {}", x.shape[*axis]))?;
            let mut shape = x.shape.clone();
            shape[*axis] = *k;
            Ok(vec![Ty { dtype: x.dtype, shape: shape.clone() }, Ty { dtype: DType::I64, shape }])
        }
        _ => Err(args.err("is no reduction")),
    }
}

fn reduced(args: &Args, x: &Ty, axes: &[usize], keep: bool) -> Result<Vec<usize>> {
    for (i, axis) in axes.iter().enumerate() {
        args.axis(*axis, x)?;
        args.must(!axes[..i].contains(axis), || format!("axis {axis} is named twice"))?;
    }
    let extents = x.shape.iter().enumerate();
    Ok(match keep {
        true => extents.map(|(i, &d)| if axes.contains(&i) { 1 } else { d }).collect(),
        false => extents.filter(|(i, _)| !axes.contains(i)).map(|(_, &d)| d).collect(),
    })
}
