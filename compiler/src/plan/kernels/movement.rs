//! Elements that change their place. In: Transpose, Slice, Split, Concat, Expand, Tile, Pad, Trilu. Out: strided copies.
//! Promise: any 32-bit element, any rank; empty parts make no call.

use super::call::{Builder, Cx, groups};
use super::walk::{Walk, name, signed, strides, unsigned};
use crate::error::Result;
use crate::graph::{Op, PadMode, ValueId};
use crate::plan::{Call, Operand};

const LOCAL: usize = 256;

/// One strided copy.
struct Move {
    label: String,
    from: Operand,
    to: ValueId,
    dims: Vec<usize>,
    from_at: i64,
    from_strides: Vec<i64>,
    to_at: i64,
    to_strides: Vec<i64>,
}

impl Move {
    fn build(self, cx: &Cx) -> Result<Call> {
        let n: usize = self.dims.iter().product();
        let walk = Walk::new(&self.dims, &[self.from_strides, self.to_strides]);
        let b = Builder::new("copy.comp", self.label)
            .define("N", n)
            .define("FROM", self.from_at)
            .define("TO", self.to_at)
            .read(self.from)
            .write(Operand::Value(self.to));
        walk.define(b, &["FROM_STRIDES", "TO_STRIDES"]).build(cx, groups(n, LOCAL))
    }
}

/// A copy that fills the output in order.
fn into_output(cx: &Cx, label: String, dims: &[usize], from_at: i64, from_strides: Vec<i64>) -> Result<Vec<Call>> {
    let to_strides = strides(dims);
    let (from, to) = (cx.read(0)?, cx.node.out());
    let dims = dims.to_vec();
    Ok(vec![Move { label, from, to, dims, from_at, from_strides, to_at: 0, to_strides }.build(cx)?])
}

pub(super) fn transpose(cx: &Cx, perm: &[usize]) -> Result<Vec<Call>> {
    let x = cx.shape(0)?;
    let steps = strides(x);
    let label = format!("transpose_{}_to{}", name(x), perm.iter().map(usize::to_string).collect::<String>());
    into_output(cx, label, cx.out_shape(), 0, perm.iter().map(|&p| steps[p]).collect())
}

pub(super) fn slice(cx: &Cx, begin: &[i64], step: &[i64]) -> Result<Vec<Call>> {
    let x = cx.shape(0)?;
    let steps = strides(x);
    let at = begin.iter().zip(&steps).map(|(b, s)| b * s).sum();
    let from = step.iter().zip(&steps).map(|(k, s)| k * s).collect();
    let part = |v: &[i64]| v.iter().map(|n| n.to_string().replace('-', "m")).collect::<Vec<_>>().join("x");
    let label = format!("slice_{}_at{}_by{}_{}", name(x), part(begin), part(step), name(cx.out_shape()));
    into_output(cx, label, cx.out_shape(), at, from)
}

pub(super) fn expand(cx: &Cx) -> Result<Vec<Call>> {
    let x = cx.shape(0)?;
    let out = cx.out_shape();
    let label = format!("expand_{}_{}", name(x), name(out));
    into_output(cx, label, out, 0, super::walk::broadcast(x, out))
}

pub(super) fn tile(cx: &Cx, repeats: &[usize]) -> Result<Vec<Call>> {
    let x = cx.shape(0)?;
    // Each axis is its repetitions, which do not move, around its extent.
    let dims: Vec<usize> = repeats.iter().zip(x).flat_map(|(&r, &d)| [r, d]).collect();
    let from = strides(x).iter().flat_map(|&s| [0, s]).collect();
    into_output(cx, format!("tile_{}_by{}", name(x), name(repeats)), &dims, 0, from)
}

pub(super) fn split(cx: &Cx, axis: usize, sizes: &[usize]) -> Result<Vec<Call>> {
    let x = cx.shape(0)?;
    let steps = strides(x);
    let mut begin = 0;
    let mut calls = Vec::new();
    for (i, &size) in sizes.iter().enumerate() {
        let mut dims = x.to_vec();
        dims[axis] = size;
        let from_at = begin as i64 * steps[axis];
        begin += size;
        if dims.contains(&0) {
            continue;
        }
        let label = format!("split_{}_axis{axis}_at{}_{size}", name(x), begin - size);
        let (from, to) = (cx.read(0)?, cx.node.outputs[i]);
        let to_strides = strides(&dims);
        calls.push(
            Move { label, from, to, dims, from_at, from_strides: steps.clone(), to_at: 0, to_strides }.build(cx)?,
        );
    }
    Ok(calls)
}

pub(super) fn concat(cx: &Cx, axis: usize) -> Result<Vec<Call>> {
    let out = cx.out_shape();
    let steps = strides(out);
    let mut begin = 0;
    let mut calls = Vec::new();
    for i in 0..cx.node.inputs.len() {
        let dims = cx.shape(i)?.to_vec();
        let to_at = begin as i64 * steps[axis];
        let label = format!("concat_{}_axis{axis}_at{begin}_{}", name(out), dims[axis]);
        begin += dims[axis];
        if dims.contains(&0) {
            continue;
        }
        let (from, to) = (cx.read(i)?, cx.node.out());
        let from_strides = strides(&dims);
        calls.push(
            Move { label, from, to, dims, from_at: 0, from_strides, to_at, to_strides: steps.clone() }.build(cx)?,
        );
    }
    Ok(calls)
}

pub(super) fn pad(cx: &Cx, mode: PadMode, pads: &[i64]) -> Result<Vec<Call>> {
    let x = cx.shape(0)?;
    let out = cx.out_shape();
    let n: usize = out.iter().product();
    if x.contains(&0) && mode != PadMode::Constant {
        return Err(cx.refuse(format!("{mode:?} needs elements, x is {x:?}")));
    }
    let (code, mode_name) = match mode {
        PadMode::Constant => (0, "constant"),
        PadMode::Reflect => (1, "reflect"),
        PadMode::Edge => (2, "edge"),
        PadMode::Wrap => (3, "wrap"),
    };
    // An axis of one stands for no axes at all.
    let scalar = out.is_empty();
    let list = |v: &[usize]| if scalar { vec![1] } else { v.to_vec() };
    let begins = if scalar { vec![0] } else { pads[..out.len()].to_vec() };
    let steps = if scalar { vec![1] } else { strides(x) };
    let value = cx.node.input(1);
    let at = begins.iter().map(|n| n.to_string().replace('-', "m")).collect::<Vec<_>>().join("x");
    let filled = if value.is_some() { "_value" } else { "" };
    let mut b = Builder::new("pad.comp", format!("pad_{mode_name}_{}_{}_at{at}{filled}", name(x), name(out)))
        .define("N", n)
        .define("RANK", list(out).len())
        .define("DIMS", unsigned(&list(out)))
        .define("X_DIMS", signed(&list(x).iter().map(|&d| d as i64).collect::<Vec<_>>()))
        .define("X_STRIDES", signed(&steps))
        .define("BEGINS", signed(&begins))
        .define("MODE", code)
        .flag("VALUE", value.is_some())
        .read(cx.read(0)?)
        .write(Operand::Value(cx.node.out()));
    if let Some(v) = value {
        b = b.read(cx.operand(v));
    }
    Ok(vec![b.build(cx, groups(n, LOCAL))?])
}

pub(super) fn trilu(cx: &Cx, upper: bool, k: i64) -> Result<Vec<Call>> {
    let x = cx.shape(0)?;
    let n: usize = x.iter().product();
    let (rows, columns) = (x[x.len() - 2], x[x.len() - 1]);
    // Beyond the matrix every diagonal is alike.
    let k = k.clamp(-(rows as i64) - 1, columns as i64 + 1);
    let side = if upper { "u" } else { "l" };
    let label = format!("trilu_{side}_{}_k{}", name(x), k.to_string().replace('-', "m"));
    let b = Builder::new("trilu.comp", label)
        .define("N", n)
        .define("ROWS", rows)
        .define("COLUMNS", columns)
        .flag("UPPER", upper)
        .define("K", format!("({k})"))
        .read(cx.read(0)?)
        .write(Operand::Value(cx.node.out()));
    Ok(vec![b.build(cx, groups(n, LOCAL))?])
}

pub(super) fn calls(cx: &Cx) -> Result<Vec<Call>> {
    match &cx.node.op {
        Op::Transpose { perm } => transpose(cx, perm),
        Op::Slice { begin, step, .. } => slice(cx, begin, step),
        Op::Expand { .. } => expand(cx),
        Op::Tile { repeats } => tile(cx, repeats),
        Op::Split { axis, sizes } => split(cx, *axis, sizes),
        Op::Concat { axis } => concat(cx, *axis),
        Op::Pad { mode, pads } => pad(cx, *mode, pads),
        Op::Trilu { upper, k } => trilu(cx, *upper, *k),
        _ => Err(cx.refuse("moves nothing")),
    }
}
