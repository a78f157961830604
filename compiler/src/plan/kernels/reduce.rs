//! Many elements to one, and orders. In: Softmax, LogSoftmax, Reduce, ArgMax, ArgMin, TopK, CumSum, LayerNorm, RmsNorm.
//! Out: one call each. Promise: sums in f32 (or wrapping integers) in a fixed order.

use super::call::{Builder, Cx, float, groups};
use super::elementwise::{define_integer, integer};
use super::walk::{Walk, broadcast, name, signed, strides, unsigned};
use crate::error::Result;
use crate::graph::{DType, Op, ReduceOp};
use crate::plan::{Call, Operand};

const LOCAL: usize = 64;

/// From how many elements on a reduction takes a workgroup.
const GROUP_FROM: usize = 64;

pub(super) fn calls(cx: &Cx) -> Result<Vec<Call>> {
    match &cx.node.op {
        Op::Softmax { axis } => softmax(cx, *axis, false),
        Op::LogSoftmax { axis } => softmax(cx, *axis, true),
        Op::Reduce { kind, axes, .. } => reduce(cx, *kind, axes),
        Op::ArgMax { axis, last, .. } => arg(cx, *axis, *last, true),
        Op::ArgMin { axis, last, .. } => arg(cx, *axis, *last, false),
        Op::TopK { k, axis, largest, .. } => top_k(cx, *k, *axis, *largest),
        Op::CumSum { axis, exclusive, reverse } => cumsum(cx, *axis, *exclusive, *reverse),
        Op::LayerNorm { axis, eps } => norm(cx, *axis, 2, *eps),
        Op::RmsNorm { axis, eps } => norm(cx, *axis, 1, *eps),
        _ => Err(cx.refuse("is no reduction")),
    }
}

/// The lines of a shape along an axis: how many, how long, how far apart their elements are.
struct Lines {
    count: usize,
    length: usize,
    step: usize,
}

fn lines(cx: &Cx, axis: usize) -> Result<Lines> {
    let x = cx.shape(0)?;
    let step: usize = x[axis + 1..].iter().product();
    Ok(Lines { count: x[..axis].iter().product::<usize>() * step, length: x[axis], step })
}

impl Lines {
    fn define(&self, b: Builder) -> Builder {
        b.define("LINES", self.count).define("LENGTH", self.length).define("STEP", self.step)
    }

    fn name(&self) -> String {
        format!("{}x{}by{}", self.count, self.length, self.step)
    }
}

/// The code of lib/order.glsl.
pub(super) fn order(dtype: DType) -> u32 {
    match dtype {
        d if d.is_float() => 0,
        d if integer(d).1 => 2,
        _ => 1,
    }
}

fn softmax(cx: &Cx, axis: usize, log: bool) -> Result<Vec<Call>> {
    let lines = lines(cx, axis)?;
    let label = format!("{}softmax_f32_{}", if log { "log_" } else { "" }, lines.name());
    let b = Builder::new("softmax.comp", label)
        .flag("LOG", log)
        .define("LOCAL", LOCAL)
        .read(cx.read(0)?)
        .write(Operand::Value(cx.node.out()));
    Ok(vec![lines.define(b).build(cx, groups(lines.count, 1))?])
}

fn reduce_code(kind: ReduceOp) -> u32 {
    match kind {
        ReduceOp::Sum => 0,
        ReduceOp::Mean => 1,
        ReduceOp::Max => 2,
        ReduceOp::Min => 3,
        ReduceOp::Prod => 4,
        ReduceOp::SumSquare => 5,
        ReduceOp::L1 => 6,
        ReduceOp::L2 => 7,
        ReduceOp::LogSum => 8,
        ReduceOp::LogSumExp => 9,
    }
}

fn reduce(cx: &Cx, kind: ReduceOp, axes: &[usize]) -> Result<Vec<Call>> {
    let x = cx.shape(0)?;
    let dtype = cx.dtype(0)?;
    if !dtype.is_float() && matches!(kind, ReduceOp::L2 | ReduceOp::LogSum | ReduceOp::LogSumExp) {
        return Err(cx.refuse(format!("{kind:?} of {dtype} has no kernel")));
    }
    let steps = strides(x);
    let pick = |wanted: bool| {
        let chosen: Vec<usize> = (0..x.len()).filter(|i| axes.contains(i) == wanted).collect();
        let dims: Vec<usize> = chosen.iter().map(|&i| x[i]).collect();
        Walk::new(&dims, &[chosen.iter().map(|&i| steps[i]).collect()])
    };
    let (mut kept, mut reduced) = (pick(false), pick(true));
    let rank = kept.dims.len().max(reduced.dims.len());
    kept.pad(rank);
    reduced.pad(rank);
    let count: usize = axes.iter().map(|&i| x[i]).product();
    let n: usize = cx.out_shape().iter().product();
    let group = count >= GROUP_FROM;
    let over = axes.iter().map(usize::to_string).collect::<Vec<_>>().join("_");
    let label = format!("reduce_{}_{dtype}_{}_axes{over}", format!("{kind:?}").to_lowercase(), name(x));
    let b = Builder::new("reduce.comp", label)
        .define("N", n)
        .define("COUNT", count)
        .define("R_DIMS", unsigned(&reduced.dims))
        .define("R_STRIDES", signed(&reduced.strides[0]))
        .define("KIND", reduce_code(kind))
        .flag("FLOAT", dtype.is_float())
        .flag("LOCAL_REDUCE", group)
        .read(cx.read(0)?)
        .write(Operand::Value(cx.node.out()));
    let b = kept.define(define_integer(b, dtype), &["STRIDES"]);
    Ok(vec![b.build(cx, groups(n, if group { 1 } else { LOCAL }))?])
}

fn arg(cx: &Cx, axis: usize, last: bool, largest: bool) -> Result<Vec<Call>> {
    let lines = lines(cx, axis)?;
    let dtype = cx.dtype(0)?;
    let side = format!("{}{}", if largest { "max" } else { "min" }, if last { "_last" } else { "" });
    let b = Builder::new("arg_extreme.comp", format!("arg_{side}_{dtype}_{}", lines.name()))
        .define("KIND", order(dtype))
        .flag("LARGEST", largest)
        .flag("LAST", last)
        .define("LOCAL", LOCAL)
        .read(cx.read(0)?)
        .write(Operand::Value(cx.node.out()));
    Ok(vec![lines.define(b).build(cx, groups(lines.count, 1))?])
}

fn top_k(cx: &Cx, k: usize, axis: usize, largest: bool) -> Result<Vec<Call>> {
    let lines = lines(cx, axis)?;
    let dtype = cx.dtype(0)?;
    let n = lines.count * lines.length;
    let side = if largest { "largest" } else { "smallest" };
    let b = Builder::new("top_k.comp", format!("top{k}_{side}_{dtype}_{}", lines.name()))
        .define("N", n)
        .define("LENGTH", lines.length)
        .define("STEP", lines.step)
        .define("K", k)
        .define("KIND", order(dtype))
        .flag("LARGEST", largest)
        .read(cx.read(0)?)
        .write(Operand::Value(cx.node.outputs[0]))
        .write(Operand::Value(cx.node.outputs[1]));
    Ok(vec![b.build(cx, groups(n, LOCAL))?])
}

fn cumsum(cx: &Cx, axis: usize, exclusive: bool, reverse: bool) -> Result<Vec<Call>> {
    let lines = lines(cx, axis)?;
    let dtype = cx.dtype(0)?;
    let how = format!("{}{}", if exclusive { "_exclusive" } else { "" }, if reverse { "_reverse" } else { "" });
    let b = Builder::new("cumsum.comp", format!("cumsum{how}_{dtype}_{}", lines.name()))
        .flag("EXCLUSIVE", exclusive)
        .flag("REVERSE", reverse)
        .flag("FLOAT", dtype.is_float())
        .read(cx.read(0)?)
        .write(Operand::Value(cx.node.out()));
    Ok(vec![lines.define(define_integer(b, dtype)).build(cx, groups(lines.count, LOCAL))?])
}

fn norm(cx: &Cx, axis: usize, code: u32, eps: f32) -> Result<Vec<Call>> {
    let x = cx.shape(0)?;
    let rows: usize = x[..axis].iter().product();
    let length: usize = x[axis..].iter().product();
    let scale = broadcast(cx.shape(1)?, x);
    let shift = cx.node.input(2);
    let shift_strides = shift.map_or(vec![0; x.len()], |v| broadcast(cx.graph.shape(v), x));
    let walk = Walk::new(x, &[scale, shift_strides]);
    let family = if code == 1 { "rms_norm" } else { "layer_norm" };
    let shapes = name(cx.shape(1)?);
    let label = format!("{family}_f32_{}_axis{axis}_{shapes}{}", name(x), if shift.is_some() { "_shift" } else { "" });
    let mut b = Builder::new("norm.comp", label)
        .define("ROWS", rows)
        .define("LENGTH", length)
        .define("NORM", code)
        .define("EPS", float(eps))
        .flag("SHIFT", shift.is_some())
        .define("LOCAL", LOCAL)
        .read(cx.read(0)?)
        .write(Operand::Value(cx.node.out()))
        .read(cx.read(1)?);
    if let Some(v) = shift {
        b = b.read(cx.operand(v));
    }
    Ok(vec![walk.define(b, &["SCALE_STRIDES", "SHIFT_STRIDES"]).build(cx, groups(rows, 1))?])
}
