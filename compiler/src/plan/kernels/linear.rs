//! Products with constant weight rows. In: `Linear`, `GatedLinear`, `Qkv`. Out: one call each, or two where matrix units may serve.
//! Promise: one row takes the mat-vec form, more rows the tiled form, over the same packed weights.

use super::call::{Builder, Cx, float, groups};
use super::matrix::{self, Tile};
use super::unary;
use crate::error::Result;
use crate::graph::operands::{self, Operands};
use crate::graph::{Heads, Norm, Op, Rotary, UnaryOp};
use crate::plan::{Call, Layout, Operand};

/// Threads of a mat-vec workgroup, and units (four weight rows) it covers.
const MATVEC_LOCAL: usize = 32;
const MATVEC_UNITS: usize = 1;

/// Threads of a tiled workgroup and units it covers.
const TILE_LOCAL: usize = 64;
const TILE_UNITS: usize = 16;

/// Form and grid of a product.
struct Shape {
    m: usize,
    k: usize,
    units: usize,
    /// Rows of a thread in the tiled form; 0: mat-vec.
    thread_rows: usize,
    /// Where the product has a form for matrix units.
    tile: Option<Tile>,
}

impl Shape {
    fn new((m, k): (usize, usize), units: usize, weights: Layout) -> Shape {
        let thread_rows = match m {
            1 => 0,
            2..=8 => 1,
            9..=16 => 2,
            17..=32 => 4,
            _ => 8,
        };
        let tile = if weights == Layout::F16 { Tile::new(m, units, k) } else { None };
        Shape { m, k, units, thread_rows, tile }
    }

    fn define(&self, b: Builder) -> Builder {
        let local = if self.thread_rows == 0 { MATVEC_LOCAL } else { TILE_LOCAL };
        b.define("THREAD_ROWS", self.thread_rows).define("LOCAL", local).define("UNITS", MATVEC_UNITS)
    }

    /// The calls of a product whose other arguments are complete.
    fn calls(&self, cx: &Cx, b: Builder, folded: Option<Norm>, o: &Operands) -> Result<Vec<Call>> {
        let Some(tile) = self.tile else { return Ok(vec![b.define("HALVES", 0).build(cx, self.grid())?]) };
        let halves = matrix::halves(cx, (self.m, self.k), folded, o, live(cx, self.m))?;
        let product = tile.define(b, self.m, self.k).build(cx, tile.grid(self.m, self.units))?;
        Ok(vec![halves, product])
    }

    fn grid(&self) -> [u32; 3] {
        if self.thread_rows == 0 {
            return groups(self.units, MATVEC_UNITS);
        }
        [self.units.div_ceil(TILE_UNITS) as u32, self.m.div_ceil(8 * self.thread_rows) as u32, 1]
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
    let shape = Shape::new((m, k), n.div_ceil(4), w.layout);
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
    let shape = Shape::new((m, k), n.div_ceil(2), w.layout);
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
    if !quads && cx.kv_bits() == 16 {
        return Err(
            cx.refuse(format!("a head of {dim} with {rotary} rotary channels has no fp16 cache kernel; use fp32"))
        );
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
    let shape = Shape::new((m, k), (q + 2 * kv) * turn.units, w.layout);
    let name = format!("qkv_{}_m{m}_k{k}_h{q}_{kv}_d{dim}_c{context}{}", w.name(), norm_name(folded));
    let ((pos, pos_word), (rows, rows_word)) = (cx.word(6)?, cx.word(7)?);
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
        .write(Operand::Value(cx.node.outputs[1]))
        .write(Operand::Value(cx.node.outputs[2]))
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
    shape.calls(cx, b, folded, &o)
}
