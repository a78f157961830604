//! Places from index tensors. In: Gather*, Scatter*, OneHot. Out: one call, scatters two: a copy, then the updates.
//! Promise: negative indices wrap, those out of range are clamped; updates apply in order, so results do not vary.

use super::call::{Builder, Cx, groups};
use super::elementwise::{copy, integer};
use super::walk::{Walk, name, signed, strides, unsigned};
use crate::error::Result;
use crate::graph::{DType, Op, ScatterOp};
use crate::plan::{Call, Operand};

const WIDE: usize = 256;
const NARROW: usize = 64;

pub(super) fn calls(cx: &Cx) -> Result<Vec<Call>> {
    match &cx.node.op {
        Op::Gather { axis } => gather(cx, *axis),
        Op::GatherElements { axis } => gather_elements(cx, *axis),
        Op::GatherNd { batch } => gather_nd(cx, *batch),
        Op::ScatterElements { axis, op } => scatter_elements(cx, *axis, *op),
        Op::ScatterNd { op } => scatter_nd(cx, *op),
        Op::OneHot { axis, depth } => one_hot(cx, *axis, *depth),
        _ => Err(cx.refuse("has no indices")),
    }
}

fn gather(cx: &Cx, axis: usize) -> Result<Vec<Call>> {
    let (data, index) = (cx.shape(0)?, cx.shape(1)?);
    if data[axis] == 0 {
        return Err(cx.refuse("the axis has no element"));
    }
    let n: usize = cx.out_shape().iter().product();
    let count: usize = index.iter().product();
    let b = Builder::new("gather.comp", format!("gather_{}_axis{axis}_n{count}", name(data)))
        .define("N", n)
        .define("COUNT", count)
        .define("INNER", data[axis + 1..].iter().product::<usize>())
        .define("EXTENT", data[axis])
        .read(cx.read(0)?)
        .read(cx.read(1)?)
        .write(Operand::Value(cx.node.out()));
    Ok(vec![b.build(cx, groups(n, WIDE))?])
}

fn gather_elements(cx: &Cx, axis: usize) -> Result<Vec<Call>> {
    let (data, index) = (cx.shape(0)?, cx.shape(1)?);
    let n: usize = index.iter().product();
    let mut steps = strides(data);
    let axis_stride = std::mem::replace(&mut steps[axis], 0);
    let b = Builder::new("gather_elements.comp", format!("gather_elements_{}_axis{axis}_{}", name(data), name(index)))
        .define("N", n)
        .define("AXIS_STRIDE", axis_stride)
        .define("EXTENT", data[axis])
        .read(cx.read(0)?)
        .read(cx.read(1)?)
        .write(Operand::Value(cx.node.out()));
    let b = Walk::new(index, &[steps]).define(b, &["DATA_STRIDES"]);
    Ok(vec![b.build(cx, groups(n, WIDE))?])
}

/// Adds DEPTH and the extents and strides of the axes a tuple names.
fn define_tuple(b: Builder, data: &[usize], batch: usize, depth: usize) -> Builder {
    let steps = strides(data);
    let extents: Vec<i64> = data[batch..batch + depth].iter().map(|&d| d as i64).collect();
    let steps: Vec<usize> = steps[batch..batch + depth].iter().map(|&s| s as usize).collect();
    b.define("DEPTH", depth).define("EXTENTS", signed(&extents)).define("STRIDES", unsigned(&steps))
}

fn gather_nd(cx: &Cx, batch: usize) -> Result<Vec<Call>> {
    let (data, index) = (cx.shape(0)?, cx.shape(1)?);
    let lead = &index[..index.len() - 1];
    let depth = index[lead.len()];
    let n: usize = cx.out_shape().iter().product();
    if depth == 0 {
        return Err(cx.refuse("index tuples are empty"));
    }
    let b = Builder::new("gather_nd.comp", format!("gather_nd_{}_{}_b{batch}", name(data), name(index)))
        .define("N", n)
        .define("TUPLES", lead[batch..].iter().product::<usize>())
        .define("INNER", data[batch + depth..].iter().product::<usize>())
        .define("WHOLE", data[batch..].iter().product::<usize>())
        .read(cx.read(0)?)
        .read(cx.read(1)?)
        .write(Operand::Value(cx.node.out()));
    Ok(vec![define_tuple(b, data, batch, depth).build(cx, groups(n, WIDE))?])
}

/// Adds OP and FLOAT; refuses what 32-bit words cannot merge.
fn define_merge(cx: &Cx, b: Builder, op: ScatterOp) -> Result<Builder> {
    let dtype = cx.out_dtype();
    let narrow = !dtype.is_float() && (integer(dtype).0 < 32 || matches!(dtype, DType::U32 | DType::U64 | DType::Bool));
    if narrow && op != ScatterOp::Set {
        return Err(cx.refuse(format!("{op:?} of {dtype} has no kernel")));
    }
    let code = match op {
        ScatterOp::Set => 0,
        ScatterOp::Add => 1,
        ScatterOp::Mul => 2,
        ScatterOp::Max => 3,
        ScatterOp::Min => 4,
    };
    Ok(b.define("OP", code).flag("FLOAT", dtype.is_float()))
}

fn merge_name(op: ScatterOp) -> String {
    format!("{op:?}").to_lowercase()
}

fn scatter_elements(cx: &Cx, axis: usize, op: ScatterOp) -> Result<Vec<Call>> {
    let (data, index) = (cx.shape(0)?, cx.shape(1)?);
    let mut calls = vec![copy(cx, cx.read(0)?, data.iter().product())?];
    let without =
        |v: &[usize]| -> Vec<usize> { v.iter().enumerate().filter(|(i, _)| *i != axis).map(|(_, &d)| d).collect() };
    let pick =
        |v: Vec<i64>| -> Vec<i64> { v.iter().enumerate().filter(|(i, _)| *i != axis).map(|(_, &s)| s).collect() };
    let (y_steps, u_steps) = (strides(data), strides(index));
    let lines = without(index);
    let n: usize = lines.iter().product();
    if n * index[axis] == 0 {
        return Ok(calls);
    }
    let label = format!("scatter_{}_{}_axis{axis}_{}_{}", merge_name(op), name(data), name(index), cx.out_dtype());
    let b = Builder::new("scatter_elements.comp", label)
        .define("N", n)
        .define("LENGTH", index[axis])
        .define("U_STEP", u_steps[axis])
        .define("Y_STEP", y_steps[axis])
        .define("EXTENT", data[axis])
        .read(cx.read(1)?)
        .read(cx.read(2)?)
        .write(Operand::Value(cx.node.out()));
    let b = Walk::new(&lines, &[pick(u_steps), pick(y_steps)]).define(b, &["U_STRIDES", "Y_STRIDES"]);
    calls.push(define_merge(cx, b, op)?.build(cx, groups(n, NARROW))?);
    Ok(calls)
}

fn scatter_nd(cx: &Cx, op: ScatterOp) -> Result<Vec<Call>> {
    let (data, index) = (cx.shape(0)?, cx.shape(1)?);
    let mut calls = vec![copy(cx, cx.read(0)?, data.iter().product())?];
    let depth = index[index.len() - 1];
    let tuples: usize = index[..index.len() - 1].iter().product();
    if depth == 0 {
        return Err(cx.refuse("index tuples are empty"));
    }
    let inner: usize = data[depth..].iter().product();
    if tuples * inner == 0 {
        return Ok(calls);
    }
    let label = format!("scatter_nd_{}_{}_{}_{}", merge_name(op), name(data), name(index), cx.out_dtype());
    let b = Builder::new("scatter_nd.comp", label)
        .define("TUPLES", tuples)
        .define("INNER", inner)
        .read(cx.read(1)?)
        .read(cx.read(2)?)
        .write(Operand::Value(cx.node.out()));
    let b = define_merge(cx, define_tuple(b, data, 0, depth), op)?;
    calls.push(b.build(cx, groups(inner, NARROW))?);
    Ok(calls)
}

fn one_hot(cx: &Cx, axis: usize, depth: usize) -> Result<Vec<Call>> {
    let index = cx.shape(0)?;
    if cx.dtype(0)?.is_float() {
        return Err(cx.refuse("float indices have no kernel"));
    }
    let n: usize = cx.out_shape().iter().product();
    let b = Builder::new("one_hot.comp", format!("one_hot_{}_axis{axis}_d{depth}", name(index)))
        .define("N", n)
        .define("DEPTH", depth)
        .define("INNER", index[axis..].iter().product::<usize>())
        .read(cx.read(0)?)
        .read(cx.read(1)?)
        .write(Operand::Value(cx.node.out()));
    Ok(vec![b.build(cx, groups(n, WIDE))?])
}
