//! Products with constant weight rows. In: `Linear`, `GatedLinear`, `Qkv`. Out: one call each, or up to three where matrix units may serve.
//! Promise: one row takes the mat-vec form, more rows the tiled form, over the same packed weights.

use super::call::{Builder, Cx, Rows, float, groups};
use super::decoder::{kv_quantise, wide_enough};
use super::handed::{self, Handed, How};
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
#[derive(Clone, Copy)]
pub(super) struct Product {
    pub m: usize,
    pub k: usize,
    /// Units of four weight rows.
    pub units: usize,
    /// What it does to x before.
    pub norm: Option<Norm>,
    /// Weights that a thread loads at once.
    chunk: usize,
    /// Rows of a thread in the tiled form; 0: mat-vec.
    thread_rows: usize,
    split: Split,
    /// Where the product has a form for matrix units.
    pub form: Option<Form>,
}

/// The product that a node is; none where it is none.
pub(super) fn product(cx: &Cx) -> Result<Option<Product>> {
    Ok(weighed(cx)?.map(|(product, _)| product))
}

/// The same with its weights.
fn weighed(cx: &Cx) -> Result<Option<(Product, Rows)>> {
    let n = cx.out_shape().last().copied().unwrap_or(1);
    let (norm, weights, units, nk): (_, &[usize], _, _) = match cx.node.op {
        Op::Linear { norm, nk, .. } => (norm, &[1], n.div_ceil(4), nk),
        Op::GatedLinear { norm, nk, .. } => (norm, &[1, 2], n.div_ceil(2), nk),
        Op::Qkv { heads, norm, rope, nk, .. } => {
            let turn = turn(cx, heads.dim, rope)?;
            (norm, &[1, 2, 3], (heads.q + 2 * heads.kv) * turn.units, nk)
        }
        _ => return Ok(None),
    };
    let weights = cx.weights(weights, !nk)?;
    Ok(Some((Product::new(cx, rows(cx)?, (units, norm), &weights), weights)))
}

impl Product {
    fn new(cx: &Cx, (m, k): (usize, usize), (units, norm): (usize, Option<Norm>), weights: &Rows) -> Product {
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
        Product { m, k, units, norm, chunk, thread_rows, split: Split::new(units, k, chunk), form }
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
    fn calls(&self, cx: &Cx, b: Builder, o: &Operands) -> Result<Vec<Call>> {
        let &Product { m, k, units, norm, .. } = self;
        let Some(form) = self.form else {
            let call = b.define("HALVES", 0).build(cx, self.grid())?;
            let variants = self.variants(&call.kernel, norm.is_some());
            return Ok(vec![Call { variants, ..call }]);
        };
        let mut calls = Vec::new();
        let b = if form.halves == 1 { b.suffixed("_half") } else { b };
        let taken = handed::taken(cx)?;
        if taken.is_none() {
            calls.push(matrix::halves(cx, &form, (m, k), norm, (o, live(cx, m)))?);
        }
        let x = taken.map_or(form.scratch(m, k), |taken| taken.operand());
        let mut product = form.define(b.clone(), (m, k), units, x.clone());
        if taken.is_some_and(|taken| taken.how == How::Straight) {
            product = product.suffixed("_straight").matrix("UNSCALED", 1);
        }
        let on = handed::on(cx)?;
        if let Some(on) = on.filter(|_| form.splits == 1) {
            product = on.straight(product);
        }
        calls.push(product.build(cx, form.grid(m, units))?);
        if form.splits > 1 {
            let add = form.add_up(b.suffixed("_add_up"), x).read(form.partials(m, units));
            calls.push(self.add_up(cx, add, on)?);
        }
        Ok(calls)
    }

    /// The call that adds up parts of sums, by units or, where it prepares rows for the next product, by rows.
    fn add_up(&self, cx: &Cx, b: Builder, on: Option<Handed>) -> Result<Call> {
        let by_units = |units: usize| groups(self.m * units, TILE_LOCAL);
        match on {
            None => b.build(cx, by_units(self.units)),
            Some(on) => match on.how {
                How::Straight => on.straight(b).build(cx, by_units(self.units * on.padded() / on.k)),
                How::Rows(norm) => on.rows(cx, norm, b)?.build(cx, [self.m as u32, 1, 1]),
            },
        }
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

/// A norm as shaders have it: its code in lib/norm.glsl and its epsilon.
pub(super) fn norm_code(norm: Option<Norm>) -> (u32, String) {
    let (code, eps) = match norm {
        None => (0, 0.0),
        Some(Norm::Rms { eps }) => (1, eps),
        Some(Norm::Layer { eps }) => (2, eps),
    };
    (code, float(eps))
}

/// Adds NORM, EPS and the norm's weights.
pub(super) fn norm(cx: &Cx, b: Builder, norm: Option<Norm>, o: &Operands) -> Result<Builder> {
    let (code, eps) = norm_code(norm);
    let mut b = b.define("NORM", code).define("EPS", eps);
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
    let Op::Linear { norm: folded, bias, act, residual, .. } = cx.node.op else { return Ok(Vec::new()) };
    let Some((product @ Product { m, k, .. }, w)) = weighed(cx)? else { return Ok(Vec::new()) };
    let o = operands::linear(folded, bias, residual);
    let n = cx.out_shape().last().copied().unwrap_or(1);
    let name = format!(
        "{}_{}_m{m}_k{k}_n{n}{}{}{}{}",
        product.family(),
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
    let mut b = norm(cx, product.define(b), folded, &o)?;
    if let Some(i) = o.bias {
        b = b.read(cx.vectors(&[i])?);
    }
    if let Some(i) = o.residual {
        b = b.read(cx.read(i)?);
    }
    product.calls(cx, b, &o)
}

pub(super) fn gated(cx: &Cx) -> Result<Vec<Call>> {
    let Op::GatedLinear { norm: folded, act, .. } = cx.node.op else { return Ok(Vec::new()) };
    let Some((product @ Product { m, k, .. }, w)) = weighed(cx)? else { return Ok(Vec::new()) };
    let o = operands::gated(folded);
    let n = cx.out_shape().last().copied().unwrap_or(1);
    let (family, stored) = (product.family(), w.name());
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
    let b = norm(cx, product.define(b), folded, &o)?;
    product.calls(cx, b, &o)
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
    let Op::Qkv { heads, norm: folded, bias, rope, .. } = cx.node.op else { return Ok(Vec::new()) };
    let Heads { q, kv, dim } = heads;
    let o = operands::qkv(folded, bias, rope);
    let Some((product @ Product { m, k, .. }, w)) = weighed(cx)? else { return Ok(Vec::new()) };
    let turn = turn(cx, dim, rope)?;
    let context = cx.shape(4)?[2];
    let table = o.tables.map_or(Ok(1), |i| cx.shape(i).map(|s| s[0]))?;
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
    let mut b = norm(cx, product.define(b), folded, &o)?;
    if let Some(i) = o.bias {
        b = b.read(cx.vectors(&[i, i + 1, i + 2])?);
    }
    if let Some(i) = o.tables {
        b = b.read(cx.vectors(&[i])?).read(cx.vectors(&[i + 1])?);
    }
    let mut calls = product.calls(cx, b, &o)?;
    if coded {
        calls.push(kv_quantise(cx, (kv, dim, context, m), &[(fresh(0), caches[0]), (fresh(1), caches[1])], (6, 7))?);
    }
    Ok(calls)
}
