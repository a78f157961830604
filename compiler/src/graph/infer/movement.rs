//! Types of indexing and movement. In: operand types. Out: the result's. Promise: every element has a place, or an error.

use super::{Args, broadcast, one};
use crate::error::Result;
use crate::graph::{Op, PadMode, ScatterOp, Ty};

pub(super) fn infer(args: &Args) -> Result<Vec<Ty>> {
    match args.op {
        Op::Gather { axis } => gather(args, *axis),
        Op::GatherElements { axis } => gather_elements(args, *axis),
        Op::GatherNd { batch } => gather_nd(args, *batch),
        Op::ScatterElements { axis, op } => scatter_elements(args, *axis, *op),
        Op::ScatterNd { op } => scatter_nd(args, *op),
        Op::OneHot { axis, depth } => one_hot(args, *axis, *depth),
        Op::Concat { axis } => concat(args, *axis),
        Op::Slice { begin, step, len } => slice(args, begin, step, len),
        Op::Split { axis, sizes } => split(args, *axis, sizes),
        Op::Transpose { perm } => transpose(args, perm),
        Op::Reshape { shape } => reshape(args, shape),
        Op::Expand { shape } => expand(args, shape),
        Op::Tile { repeats } => tile(args, repeats),
        Op::Pad { pads, .. } => pad(args, pads),
        _ => {
            let x = args.get(0)?;
            args.must(x.shape.len() >= 2, || format!("input must be a matrix, has shape {:?}", x.shape))?;
            Ok(vec![x.clone()])
        }
    }
}

fn gather(args: &Args, axis: usize) -> Result<Vec<Ty>> {
    let (data, indices) = (args.get(0)?, args.integer(1)?);
    args.axis(axis, data)?;
    let mut shape = data.shape[..axis].to_vec();
    shape.extend(&indices.shape);
    shape.extend(&data.shape[axis + 1..]);
    one(data.dtype, shape)
}

fn gather_elements(args: &Args, axis: usize) -> Result<Vec<Ty>> {
    let (data, indices) = (args.get(0)?, args.integer(1)?);
    args.axis(axis, data)?;
    within(args, axis, indices, data)?;
    one(data.dtype, indices.shape.clone())
}

/// `inner` has the rank of `outer`, and no larger extent off `axis`.
fn within(args: &Args, axis: usize, inner: &Ty, outer: &Ty) -> Result<()> {
    let fits = inner.shape.len() == outer.shape.len()
        && inner.shape.iter().zip(&outer.shape).enumerate().all(|(i, (a, b))| i == axis || a <= b);
    args.must(fits, || format!("indices {:?} do not fit data {:?} along axis {axis}", inner.shape, outer.shape))
}

fn gather_nd(args: &Args, batch: usize) -> Result<Vec<Ty>> {
    let (data, indices) = (args.get(0)?, args.integer(1)?);
    let (dr, ir) = (data.shape.len(), indices.shape.len());
    args.must(ir > batch && dr > batch && data.shape[..batch] == indices.shape[..batch], || {
        format!("indices {:?} and data {:?} do not share {batch} batch axes", indices.shape, data.shape)
    })?;
    let depth = indices.shape[ir - 1];
    args.must(batch + depth <= dr, || format!("indices of {depth} exceed data {:?}", data.shape))?;
    let mut shape = indices.shape[..ir - 1].to_vec();
    shape.extend(&data.shape[batch + depth..]);
    one(data.dtype, shape)
}

fn scatter_type(args: &Args, op: ScatterOp) -> Result<()> {
    args.same_dtype(0, 2)?;
    if op != ScatterOp::Set {
        args.number(0)?;
    }
    Ok(())
}

fn scatter_elements(args: &Args, axis: usize, op: ScatterOp) -> Result<Vec<Ty>> {
    let (data, indices, updates) = (args.get(0)?, args.integer(1)?, args.get(2)?);
    scatter_type(args, op)?;
    args.axis(axis, data)?;
    within(args, axis, indices, data)?;
    args.must(indices.shape == updates.shape, || {
        format!("indices {:?} and updates {:?} differ in shape", indices.shape, updates.shape)
    })?;
    Ok(vec![data.clone()])
}

fn scatter_nd(args: &Args, op: ScatterOp) -> Result<Vec<Ty>> {
    let (data, indices, updates) = (args.get(0)?, args.integer(1)?, args.get(2)?);
    scatter_type(args, op)?;
    let ir = indices.shape.len();
    args.must(ir > 0, || "indices must have rank 1 or more".into())?;
    let depth = indices.shape[ir - 1];
    args.must(depth <= data.shape.len(), || format!("indices of {depth} exceed data {:?}", data.shape))?;
    let mut wanted = indices.shape[..ir - 1].to_vec();
    wanted.extend(&data.shape[depth..]);
    args.must(updates.shape == wanted, || format!("updates must be {wanted:?}, are {:?}", updates.shape))?;
    Ok(vec![data.clone()])
}

fn one_hot(args: &Args, axis: usize, depth: usize) -> Result<Vec<Ty>> {
    let (indices, values) = (args.number(0)?, args.get(1)?);
    args.must(values.shape == [2], || format!("values must be [off, on], have shape {:?}", values.shape))?;
    args.must(axis <= indices.shape.len(), || format!("axis {axis} is past rank {}", indices.shape.len() + 1))?;
    let mut shape = indices.shape.clone();
    shape.insert(axis, depth);
    one(values.dtype, shape)
}

fn concat(args: &Args, axis: usize) -> Result<Vec<Ty>> {
    let first = args.get(0)?;
    args.axis(axis, first)?;
    let mut shape = first.shape.clone();
    for i in 1..args.types.len() {
        let ty = args.get(i)?;
        args.same_dtype(0, i)?;
        let fits = ty.shape.len() == shape.len()
            && ty.shape.iter().zip(&shape).enumerate().all(|(d, (a, b))| d == axis || a == b);
        args.must(fits, || format!("input {i} {:?} does not join {:?} on axis {axis}", ty.shape, first.shape))?;
        shape[axis] += ty.shape[axis];
    }
    one(first.dtype, shape)
}

fn slice(args: &Args, begin: &[i64], step: &[i64], len: &[usize]) -> Result<Vec<Ty>> {
    let x = args.get(0)?;
    let rank = x.shape.len();
    args.must(begin.len() == rank && step.len() == rank && len.len() == rank, || {
        format!("begin, step and len must have {rank} entries")
    })?;
    for (i, &extent) in x.shape.iter().enumerate() {
        let (extent, begin, step) = (extent as i128, i128::from(begin[i]), i128::from(step[i]));
        let last = begin + step * (len[i] as i128 - 1);
        let inside = step != 0 && (len[i] == 0 || (0..extent).contains(&begin) && (0..extent).contains(&last));
        args.must(inside, || format!("axis {i}: {} from {begin} by {step} leave extent {extent}", len[i]))?;
    }
    one(x.dtype, len.to_vec())
}

fn split(args: &Args, axis: usize, sizes: &[usize]) -> Result<Vec<Ty>> {
    let x = args.get(0)?;
    args.axis(axis, x)?;
    let sum = sizes.iter().try_fold(0usize, |n, &s| n.checked_add(s));
    args.must(!sizes.is_empty() && sum == Some(x.shape[axis]), || {
        format!("sizes {sizes:?} do not add up to {}", x.shape[axis])
    })?;
    let part = |&size: &usize| {
        let mut shape = x.shape.clone();
        shape[axis] = size;
        Ty { dtype: x.dtype, shape }
    };
    Ok(sizes.iter().map(part).collect())
}

fn transpose(args: &Args, perm: &[usize]) -> Result<Vec<Ty>> {
    let x = args.get(0)?;
    let mut sorted = perm.to_vec();
    sorted.sort_unstable();
    args.must(sorted.iter().copied().eq(0..x.shape.len()), || {
        format!("{perm:?} is no permutation of {} axes", x.shape.len())
    })?;
    one(x.dtype, perm.iter().map(|&p| x.shape[p]).collect())
}

fn reshape(args: &Args, shape: &[usize]) -> Result<Vec<Ty>> {
    let x = args.get(0)?;
    let count = shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d));
    args.must(count == Some(x.elements()), || format!("{:?} does not reshape to {shape:?}", x.shape))?;
    one(x.dtype, shape.to_vec())
}

fn expand(args: &Args, shape: &[usize]) -> Result<Vec<Ty>> {
    let x = args.get(0)?;
    let fits = broadcast([shape, &x.shape]).is_some_and(|s| s == shape);
    args.must(fits, || format!("{:?} does not broadcast to {shape:?}", x.shape))?;
    one(x.dtype, shape.to_vec())
}

fn tile(args: &Args, repeats: &[usize]) -> Result<Vec<Ty>> {
    let x = args.get(0)?;
    args.must(repeats.len() == x.shape.len(), || format!("repeats {repeats:?} do not fit {:?}", x.shape))?;
    let shape: Option<Vec<usize>> = x.shape.iter().zip(repeats).map(|(&d, &r)| d.checked_mul(r)).collect();
    one(x.dtype, shape.ok_or_else(|| args.err("the result is too large"))?)
}

fn pad(args: &Args, pads: &[i64]) -> Result<Vec<Ty>> {
    let x = args.get(0)?;
    let rank = x.shape.len();
    args.must(pads.len() == 2 * rank, || format!("pads must have {} entries, have {}", 2 * rank, pads.len()))?;
    if let Some(value) = args.opt(1) {
        args.same_dtype(0, 1)?;
        args.must(value.elements() == 1, || format!("the value must be a scalar, has shape {:?}", value.shape))?;
    }
    let constant = matches!(args.op, Op::Pad { mode: PadMode::Constant, .. });
    let mut shape = Vec::with_capacity(rank);
    for (i, &extent) in x.shape.iter().enumerate() {
        let size = extent as i128 + i128::from(pads[i]) + i128::from(pads[rank + i]);
        args.must((0..=isize::MAX as i128).contains(&size), || format!("axis {i} would have {size} elements"))?;
        args.must(constant || extent > 0 || size == 0, || format!("axis {i} is empty: nothing to repeat"))?;
        shape.push(size as usize);
    }
    one(x.dtype, shape)
}
