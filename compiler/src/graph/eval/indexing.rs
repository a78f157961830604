//! Gathers and scatters. In: data and integer indices. Out: elements at computed places. Promise: negative indices wrap, an
//! index outside its axis is an error.

use super::offsets::strides;
use super::{Args, Array, Values};
use crate::error::Result;
use crate::graph::{Op, ScatterOp};

pub(super) fn eval(args: &Args) -> Result<Vec<Values>> {
    let data = args.get(0)?;
    let values = match args.op {
        Op::Gather { axis } => data.data.pick(gather(args, data, *axis)?.into_iter()),
        Op::GatherElements { axis } => {
            let indices = args.get(1)?;
            data.data.pick(elements(args, &data.shape, *axis, indices)?.into_iter())
        }
        Op::GatherNd { batch } => data.data.pick(blocks(args, data, *batch)?.into_iter()),
        Op::ScatterElements { axis, op } => {
            let places = elements(args, &data.shape, *axis, args.get(1)?)?;
            scatter(args, data, &places, args.get(2)?, *op)?
        }
        Op::ScatterNd { op } => scatter(args, data, &blocks(args, data, 0)?, args.get(2)?, *op)?,
        Op::OneHot { axis, depth } => one_hot(args, *axis, *depth)?,
        _ => return Err(args.err("has no indices")),
    };
    Ok(vec![values])
}

fn gather(args: &Args, data: &Array, axis: usize) -> Result<Vec<usize>> {
    let extent = data.shape[axis];
    let outer: usize = data.shape[..axis].iter().product();
    let inner: usize = data.shape[axis + 1..].iter().product();
    let indices: Vec<usize> = args.ints(1)?.iter().map(|&i| args.index(i, extent)).collect::<Result<_>>()?;
    let mut places = Vec::with_capacity(outer * indices.len() * inner);
    for o in 0..outer {
        for &i in &indices {
            let start = (o * extent + i) * inner;
            places.extend(start..start + inner);
        }
    }
    Ok(places)
}

/// For each element of `indices` its place in an array of `shape`: the same coordinates, but for `axis`.
fn elements(args: &Args, shape: &[usize], axis: usize, indices: &Array) -> Result<Vec<usize>> {
    let steps = strides(shape);
    let counting = strides(&indices.shape);
    let place = |(flat, &index): (usize, &i64)| {
        let mut place = args.index(index, shape[axis])? * steps[axis] as usize;
        for (i, &extent) in indices.shape.iter().enumerate() {
            if i != axis {
                place += flat / counting[i] as usize % extent * steps[i] as usize;
            }
        }
        Ok(place)
    };
    args.ints(1)?.iter().enumerate().map(place).collect()
}

/// Places of the blocks that the index tuples of input 1 name, block after block.
fn blocks(args: &Args, data: &Array, batch: usize) -> Result<Vec<usize>> {
    let indices = args.get(1)?;
    let lead = &indices.shape[..indices.shape.len() - 1];
    let depth = indices.shape[lead.len()];
    let steps = strides(&data.shape);
    let inner: usize = data.shape[batch + depth..].iter().product();
    let batches: usize = lead[..batch].iter().product();
    let whole: usize = data.shape[batch..].iter().product();
    let tuples: usize = lead[batch..].iter().product();
    let all = args.ints(1)?;
    let mut places = Vec::with_capacity(batches * tuples * inner);
    for b in 0..batches {
        for t in 0..tuples {
            let tuple = &all[(b * tuples + t) * depth..][..depth];
            let mut start = b * whole;
            for (d, &i) in tuple.iter().enumerate() {
                start += args.index(i, data.shape[batch + d])? * steps[batch + d] as usize;
            }
            places.extend(start..start + inner);
        }
    }
    Ok(places)
}

fn scatter(args: &Args, data: &Array, places: &[usize], updates: &Array, op: ScatterOp) -> Result<Values> {
    fn apply<T: Copy>(data: &[T], places: &[usize], updates: &[T], f: impl Fn(T, T) -> T) -> Vec<T> {
        let mut out = data.to_vec();
        for (&at, &v) in places.iter().zip(updates) {
            out[at] = f(out[at], v);
        }
        out
    }
    macro_rules! floats {
        ($kind:ident, $x:expr, $u:expr) => {
            Values::$kind(apply($x, places, $u, |a, b| match op {
                ScatterOp::Set => b,
                ScatterOp::Add => a + b,
                ScatterOp::Mul => a * b,
                ScatterOp::Max => a.max(b),
                ScatterOp::Min => a.min(b),
            }))
        };
    }
    Ok(match (&data.data, &updates.data) {
        (Values::F32(x), Values::F32(u)) => floats!(F32, x, u),
        (Values::F64(x), Values::F64(u)) => floats!(F64, x, u),
        (Values::Int(x), Values::Int(u)) => Values::Int(apply(x, places, u, |a, b| match op {
            ScatterOp::Set => b,
            ScatterOp::Add => a.wrapping_add(b),
            ScatterOp::Mul => a.wrapping_mul(b),
            ScatterOp::Max => a.max(b),
            ScatterOp::Min => a.min(b),
        })),
        (Values::Bool(x), Values::Bool(u)) => Values::Bool(apply(x, places, u, |_, b| b)),
        _ => return Err(args.err("data and updates differ in type")),
    })
}

fn one_hot(args: &Args, axis: usize, depth: usize) -> Result<Values> {
    let indices = args.get(0)?;
    let wanted = indices.to_ints();
    let inner: usize = indices.shape[axis..].iter().product();
    let outer: usize = indices.shape[..axis].iter().product();
    let mut places = Vec::with_capacity(wanted.len() * depth);
    for o in 0..outer {
        for d in 0..depth as i64 {
            // Outside [-depth, depth) every position is off.
            places.extend((0..inner).map(|i| {
                let index = wanted[o * inner + i];
                usize::from(index == d || index == d - depth as i64)
            }));
        }
    }
    Ok(args.get(1)?.data.pick(places.into_iter()))
}
