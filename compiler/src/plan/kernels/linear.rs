//! Products with constant weight rows. In: `Linear`, `GatedLinear`, `Qkv`. Out: one call each, or two where matrix units may serve.
//! Promise: one row takes the mat-vec form, more rows the tiled form, over the same packed weights.

use super::call::{Builder, Cx, Rows, float, groups};
use super::decoder::{kv_quantise, wide_enough};
use super::matrix::{self, Form};
use super::split::Split;
use super::unary;
use crate::error::Result;
use crate::graph::operands::{self, Operands};
use crate::graph::{Heads, Norm, Op, Rotary, UnaryOp};
use crate::plan::{Call, Layout, Operand};
use onnxcast_runtime::program::Kernel;

/// First of the two scratch buffers of rows for an int8 cache; the matrix form has buffer 0.
const FRESH: u32 = 1;

/// Threads of a tiled workgroup and units it covers.
const TILE_LOCAL: usize = 64;
const TILE_UNITS: usize = 16;

/// Form and grid of a product.
struct Shape {
    m: usize,
    k: usize,
    units: usize,
    /// Weights that a thread loads at once.
    chunk: usize,
    /// Rows of a thread in the tiled form; 0: mat-vec.
    thread_rows: usize,
    split: Split,
    /// Where the product has a form for matrix units.
    form: Option<Form>,
}

impl Shape {
    fn new(cx: &Cx, (m, k): (usize, usize), units: usize, weights: &Rows) -> Shape {
        let thread_rows = match m {
            1 => 0,
            2..=8 => 1,
            9..=16 => 2,
            17..=32 => 4,
            _ => 8,
        };
        let halves = cx.graph.activations.halves();
        let form = if weights.layout != Layout::F32 { Form::new(m, units, k, halves) } else { None };
        let form = form.map(|f| cx.form.unwrap_or(f));
        let chunk = weights.chunk();
        Shape { m, k, units, chunk, thread_rows, split: Split::new(units, k, chunk), form }
    }

    fn define(&self, b: Builder) -> Builder {
        let b = b.define("THREAD_ROWS", self.thread_rows);
        if self.thread_rows > 0 {
            return b.define("LOCAL", TILE_LOCAL);
        }
        let b = b.define("LOCAL", self.split.local).define("SLOTS", self.split.slots).define("UNITS", self.split.units);
        if self.split.walk > 0 { b.define("WALK", self.split.walk) } else { b }
    }

    /// The calls of a product whose other arguments are complete.
    fn calls(&self, cx: &Cx, b: Builder, folded: Option<Norm>, o: &Operands) -> Result<Vec<Call>> {
        let Some(form) = self.form else {
            let call = b.define("HALVES", 0).build(cx, self.grid())?;
            let variants = self.variants(&call.kernel, folded.is_some());
            return Ok(vec![Call { variants, ..call }]);
        };
        let halves = matrix::halves(cx, &form, (self.m, self.k), folded, (o, live(cx, self.m)))?;
        let b = if form.halves == 1 { b.suffixed("_half") } else { b };
        let product = form.define(b.clone(), self.m, self.k, self.units).build(cx, form.grid(self.m, self.units))?;
        if form.splits == 1 {
            return Ok(vec![halves, product]);
        }
        let add = form.add_up(b.suffixed("_add_up"), self.m, self.k).read(form.partials(self.m, self.units));
        Ok(vec![halves, product, add.build(cx, groups(self.m * self.units, TILE_LOCAL))?])
    }

    fn grid(&self) -> [u32; 3] {
        if self.thread_rows == 0 {
            return groups(self.units, self.split.units);
        }
        [self.units.div_ceil(TILE_UNITS) as u32, self.m.div_ceil(8 * self.thread_rows) as u32, 1]
    }

    /// The same mat-vec by larger and smaller workgroups. Threads share rows as before, so that sums are the same to the bit; where
    /// chunks are wide, the threads of a whole workgroup share the sum of squares that a norm takes.
    fn variants(&self, kernel: &Kernel, norm: bool) -> Vec<(Kernel, [u32; 3])> {
        if self.thread_rows > 0 || (norm && self.chunk > 8) {
            return Vec::new();
        }
        let of = |split: Split| {
            let mut kernel = kernel.clone();
            let values = [("LOCAL", split.local), ("UNITS", split.units)];
            for (name, value) in kernel.defines.to_mut().iter_mut() {
                if let Some((_, other)) = values.iter().find(|(of, _)| of == name) {
                    *value = other.to_string().into();
                }
            }
            kernel.name = format!("{}_by{}", kernel.name, split.units).into();
            (kernel, groups(self.units, split.units))
        };
        self.split.other(self.chunk).into_iter().map(of).collect()
    }

    fn family(&self) -> &'static str {
        if self.thread_rows == 0 { "matvec" } else { "matmul" }
    }
}

/// Adds NORM, EPS and the norm's weights.
pub(super) fn norm(cx: &Cx, b: Builder, norm: Option<Norm>, o: &Operands) -> Result<Builder> {
    let (code, eps) = match norm {
        None => (0, 0.0),
        Some(Norm::Rms { eps }) => (1, eps),
        Some(Norm::Layer { eps }) => (2, eps),
    };
    let mut b = b.define("NORM", code).define("EPS", float(eps));
    for i in o.scale.iter().chain(&o.shift) {
        b = b.read(cx.vectors(&[*i])?);
    }
    Ok(b)
}

/// What the name of a kernel says about its norm.
pub(super) fn norm_name(norm: Option<Norm>) -> &'static str {
    match norm {
        None => "",
        Some(Norm::Rms { .. }) => "_rms",
        Some(Norm::Layer { .. }) => "_layer",
    }
}

fn act_code(cx: &Cx, act: Option<UnaryOp>) -> Result<u32> {
    act.map_or(Ok(unary::NONE), |a| unary::code(a).ok_or_else(|| cx.refuse(format!("{a:?} is no activation"))))
}

fn act_name(act: Option<UnaryOp>) -> String {
    act.map_or(String::new(), |a| format!("_{a:?}").to_lowercase())
}

/// Rows and columns of x: all leading axes together, and the last.
fn rows(cx: &Cx) -> Result<(usize, usize)> {
    let x = cx.shape(0)?;
    match x.split_last() {
        Some((&k, lead)) if k > 0 => Ok((lead.iter().product(), k)),
        _ => Err(cx.refuse(format!("x {x:?} has no columns"))),
    }
}

/// True when the rows of x are the rows of the step, of which only the live ones matter.
fn live(cx: &Cx, m: usize) -> bool {
    let step_rows = cx.graph.nodes.iter().find_map(|n| match n.op {
        Op::Qkv { .. } => n.input(0).map(|x| cx.graph.shape(x)[1]),
        Op::KvWrite => n.input(1).map(|x| cx.graph.shape(x)[2]),
        _ => None,
    });
    cx.generates() && (m == 1 || step_rows == Some(m))
}

pub(super) fn linear(cx: &Cx) -> Result<Vec<Call>> {
    let Op::Linear { norm: folded, bias, act, residual, nk } = cx.node.op else { return Ok(Vec::new()) };
    let o = operands::linear(folded, bias, residual);
    let (m, k) = rows(cx)?;
    let n = cx.out_shape().last().copied().unwrap_or(1);
    let w = cx.weights(&[1], !nk)?;
    let shape = Shape::new(cx, (m, k), n.div_ceil(4), &w);
    let name = format!(
        "{}_{}_m{m}_k{k}_n{n}{}{}{}{}",
        shape.family(),
        w.name(),
        norm_name(folded),
        if bias { "_bias" } else { "" },
        act_name(act),
        if residual { "_add" } else { "" },
    );
    let b = Builder::new("linear.comp", name)
        .define("M", m)
        .define("K", k)
        .define("N", n)
        .weights(&w, n)
        .define("ACT", act_code(cx, act)?)
        .flag("BIAS", bias)
        .flag("RESIDUAL", residual)
        .read(cx.read(0)?)
        .read(w.operand)
        .write(Operand::Value(cx.node.out()))
        .live(live(cx, m));
    let mut b = norm(cx, shape.define(b), folded, &o)?;
    if let Some(i) = o.bias {
        b = b.read(cx.vectors(&[i])?);
    }
    if let Some(i) = o.residual {
        b = b.read(cx.read(i)?);
    }
    shape.calls(cx, b, folded, &o)
}

pub(super) fn gated(cx: &Cx) -> Result<Vec<Call>> {
    let Op::GatedLinear { norm: folded, act, nk } = cx.node.op else { return Ok(Vec::new()) };
    let o = operands::gated(folded);
    let (m, k) = rows(cx)?;
    let n = cx.out_shape().last().copied().unwrap_or(1);
    let w = cx.weights(&[1, 2], !nk)?;
    let shape = Shape::new(cx, (m, k), n.div_ceil(2), &w);
    let (family, stored) = (shape.family(), w.name());
    let name = format!("gated_{family}_{stored}_m{m}_k{k}_n{n}{}{}", norm_name(folded), act_name(Some(act)));
    let b = Builder::new("gated_linear.comp", name)
        .define("M", m)
        .define("K", k)
        .define("N", n)
        .weights(&w, 2 * n)
        .define("ACT", act_code(cx, Some(act))?)
        .read(cx.read(0)?)
        .read(w.operand)
        .write(Operand::Value(cx.node.out()))
        .live(live(cx, m));
    let b = norm(cx, shape.define(b), folded, &o)?;
    shape.calls(cx, b, folded, &o)
}

/// How RoPE lays the channels of a head into units of four weight rows.
struct Turn {
    rotary: usize,
    interleaved: bool,
    /// Neighbouring channels share a unit; without it a unit holds one pair or one channel.
    quads: bool,
    units: usize,
}

fn turn(cx: &Cx, dim: usize, rope: Option<Rotary>) -> Result<Turn> {
    let (rotary, interleaved) = rope.map_or((0, false), |r| (r.rotary, r.interleaved));
    let quads = rotary.is_multiple_of(4) && dim.is_multiple_of(4);
    wide_enough(cx, dim, 4)?;
    if !quads && cx.kv_bits() == 16 {
        let what = format!("a head of {dim} with {rotary} rotary channels has no fp16 cache kernel; use kv = \"fp32\"");
        return Err(cx.refuse(what));
    }
    let units = if quads { dim / 4 } else { rotary / 2 + (dim - rotary) };
    Ok(Turn { rotary, interleaved, quads, units })
}

pub(super) fn qkv(cx: &Cx) -> Result<Vec<Call>> {
    let Op::Qkv { heads, norm: folded, bias, rope, nk } = cx.node.op else { return Ok(Vec::new()) };
    let Heads { q, kv, dim } = heads;
    let o = operands::qkv(folded, bias, rope);
    let (m, k) = rows(cx)?;
    let turn = turn(cx, dim, rope)?;
    let context = cx.shape(4)?[2];
    let table = o.tables.map_or(Ok(1), |i| cx.shape(i).map(|s| s[0]))?;
    let w = cx.weights(&[1, 2, 3], !nk)?;
    let shape = Shape::new(cx, (m, k), (q + 2 * kv) * turn.units, &w);
    let name = format!("qkv_{}_m{m}_k{k}_h{q}_{kv}_d{dim}_c{context}{}", w.name(), norm_name(folded));
    let ((pos, pos_word), (rows, rows_word)) = (cx.word(6)?, cx.word(7)?);
    // An int8 cache takes whole rows, so they go to scratch first.
    let fresh = |i: u32| Operand::Scratch(FRESH + i, (kv * m * dim * 4) as u64);
    let caches = [cx.node.outputs[1], cx.node.outputs[2]];
    let coded = cx.kv_bits() == 8;
    let [k_rows, v_rows] = if coded { [fresh(0), fresh(1)] } else { caches.map(Operand::Value) };
    let b = Builder::new("qkv.comp", name)
        .define("M", m)
        .define("K", k)
        .define("HQ", q)
        .define("HKV", kv)
        .define("D", dim)
        .define("C", context)
        .weights(&w, (q + 2 * kv) * dim)
        .define("KV_BITS", cx.kv_bits())
        .flag("BIAS", bias)
        .define("ROTARY", turn.rotary)
        .define("TABLE", table)
        .flag("INTERLEAVED", turn.interleaved)
        .flag("QUADS", turn.quads)
        .define("POS_WORD", pos_word)
        .define("ROWS_WORD", rows_word)
        .read(cx.read(0)?)
        .read(w.operand)
        .write(Operand::Value(cx.node.outputs[0]))
        .write(k_rows)
        .write(v_rows)
        .read(pos)
        .read(rows)
        .live(live(cx, m));
    let mut b = norm(cx, shape.define(b), folded, &o)?;
    if let Some(i) = o.bias {
        b = b.read(cx.vectors(&[i, i + 1, i + 2])?);
    }
    if let Some(i) = o.tables {
        b = b.read(cx.vectors(&[i])?).read(cx.vectors(&[i + 1])?);
    }
    let mut calls = shape.calls(cx, b, folded, &o)?;
    if coded {
        calls.push(kv_quantise(cx, (kv, dim, context, m), &[(fresh(0), caches[0]), (fresh(1), caches[1])], (6, 7))?);
    }
    Ok(calls)
}
