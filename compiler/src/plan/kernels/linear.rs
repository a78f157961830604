//! Products with constant weight rows. In: `Linear`, `GatedLinear`, `Qkv`. Out: one call each, or two where matrix units may serve.
//! Promise: one row takes the mat-vec form, more rows the tiled form, over the same packed weights.

use super::call::{Builder, Cx, Rows, float, groups};
use super::decoder::{kv_quantise, wide_enough};
use super::matrix::{self, Form};
use super::unary;
use crate::error::Result;
use crate::graph::operands::{self, Operands};
use crate::graph::{Heads, Norm, Op, Rotary, UnaryOp};
use crate::plan::{Call, Layout, Operand};
use onnxcast_runtime::program::Kernel;
use std::ops::RangeInclusive;

/// First of the two scratch buffers of rows for an int8 cache; the matrix form has buffer 0.
const FRESH: u32 = 1;

/// Threads of a tiled workgroup and units it covers.
const TILE_LOCAL: usize = 64;
const TILE_UNITS: usize = 16;

/// Threads and shared memory of a mat-vec's workgroup.
const MIN_LOCAL: usize = 32;
const MAX_LOCAL: usize = 512;
const SHARED_BYTES: usize = 16 << 10;

/// How the threads of a mat-vec share its work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Split {
    /// Threads of a workgroup.
    local: usize,
    /// Threads that share the columns of a row.
    slots: usize,
    /// Units (four weight rows) of a workgroup.
    units: usize,
    /// Chunks of a phase, where threads go along their rows in phases (lib/walk.glsl) instead of having all of them under way at
    /// once; 0: they do not.
    walk: usize,
}

/// Most threads that share a row where rows are few, where they are many, and where there are many but not enough of them to fill
/// a device with long rows.
const FEW_ROWS: usize = 320;
const MANY_ROWS: usize = 64;
const FAIR_ROWS: usize = 128;
/// Units from which on rows are many: enough workgroups for any device without splitting rows far; and long rows of them.
const MANY_UNITS: usize = 1200;
const MANY_LONG_UNITS: usize = 3000;
/// Units of a vocabulary: a thread takes two at once, and the device stays full.
const HUGE_UNITS: usize = 10_000;
/// Columns from which on rows are long, and very long.
const LONG: usize = 2048;
const VERY_LONG: usize = 8192;
/// Threads that share a row where they walk along it, the fewest and most, and where rows are few and where they are many.
const WALK_SLOTS: RangeInclusive<usize> = 16..=40;
const WALKERS: usize = 32;
const WALKERS_MANY: usize = 16;
/// Units of a walking workgroup: as many as prepare x at one go, more for a vocabulary, and for very long rows as many as
/// leave a workgroup to each of this many multiprocessors.
const WALK_GROUPS: usize = 4;
const WALK_GROUPS_HUGE: usize = 8;
const PROCESSORS: usize = 128;
const WALK_LOCAL: usize = 240;
/// Units from which on walking pays, and up to which, where rows are short, this many workgroups are enough.
const WALK_UNITS: usize = 200;
const WALK_UNITS_FEW: usize = 400;
const WALK_FEW: usize = 75;
/// Units up to which a workgroup rather takes a row at once, where it can.
const ONCE_UNITS: usize = 600;
/// Chunks that a workgroup hands over at once where they are wide: they fit shared memory.
const TILE_CHUNKS: usize = 160;
/// Chunks of a row that a thread takes at most, and those it takes rather than more threads than is best.
const MOST_CHUNKS: usize = 8;
const FAIR_CHUNKS: usize = 5;

impl Split {
    /// For `units` units of `k` columns, of which a thread loads `chunk` at once. Rows divide evenly where they can: then addresses
    /// differ by constants. The numbers are measured: docs/performance.md.
    fn new(units: usize, k: usize, chunk: usize) -> Split {
        let many = units >= MANY_UNITS;
        let huge = units >= HUGE_UNITS;
        if let Some(split) = Split::walking(units, k, chunk) {
            return split;
        }
        let long = many && !huge && k >= LONG && chunk == 8;
        let narrow = match (long, units >= MANY_LONG_UNITS) {
            (true, false) => FAIR_ROWS,
            _ if huge || !many => FEW_ROWS,
            _ => MANY_ROWS,
        };
        let most = if chunk > 8 { TILE_CHUNKS } else { narrow };
        let chunks = k.div_ceil(chunk);
        let even = |n: &usize| chunks.is_multiple_of(*n);
        let n = (1..=MOST_CHUNKS).filter(even).find(|n| chunks / n <= most);
        let n = n.or_else(|| (2..=FAIR_CHUNKS).rev().find(even).filter(|n| chunk == 8 && chunks / n <= FEW_ROWS));
        let slots = n.map_or(most.min(128), |n| chunks / n);
        let pairs = huge || long && units >= MANY_LONG_UNITS && slots <= MANY_ROWS;
        let depth = if pairs && slots > 1 { 2 } else { 1 };
        let threads = match depth {
            2 if !huge => 128,
            _ if huge && chunk == 32 => 112,
            _ => 224,
        };
        let groups = if many { (threads / slots).clamp(1, 4) } else { 1 + usize::from(chunk > 8) };
        // A thread ends a unit, so there are no more units than threads.
        let groups = groups.max(48usize.div_ceil(slots));
        Split { local: groups * slots, slots, units: groups * depth, walk: 0 }
    }

    /// Twice, or else half, as many units a workgroup, shared among threads in the same way, where that suits a device.
    fn other(&self, chunk: usize) -> Option<Split> {
        let by = |twice: usize| {
            let (local, units) = (self.local * twice / 2, self.units * twice / 2);
            Split { local, units, ..*self }
        };
        let whole = |s: &Split| s.local.is_multiple_of(s.slots) && (s.units * s.slots).is_multiple_of(s.local.max(1));
        let fits = |s: &Split| (MIN_LOCAL..=MAX_LOCAL).contains(&s.local) && s.shared_bytes(chunk) <= SHARED_BYTES;
        let both = if self.local.is_multiple_of(2) && self.units.is_multiple_of(2) { vec![4, 1] } else { vec![4] };
        let same = |s: &Split| chunk == 8 || (self.fills_once(chunk) && s.fills_once(chunk));
        both.into_iter().map(by).find(|s| whole(s) && fits(s) && same(s))
    }

    /// Whether the threads of a workgroup prepare a tile of x at one go. Then which of its columns share a step does not depend on how
    /// many they are.
    fn fills_once(&self, chunk: usize) -> bool {
        let eights = chunk / 8;
        self.slots * self.walk.max(1) * eights <= self.local / eights * eights
    }

    /// For rows of 4-bit codes, where there are enough of them: x is prepared once for the units of a workgroup, and a thread's next
    /// loads are under way while it multiplies.
    fn walking(units: usize, k: usize, chunk: usize) -> Option<Split> {
        let chunks = k / chunk;
        let once = k >= LONG && units < ONCE_UNITS && chunks <= TILE_CHUNKS;
        let vocabulary = k < LONG && units >= HUGE_UNITS;
        if chunk != 32 || units < WALK_UNITS || !k.is_multiple_of(chunk) || vocabulary || once {
            return None;
        }
        let split = |best: usize, groups: usize, walk: usize| {
            let even = WALK_SLOTS.filter(|slots| chunks.is_multiple_of(slots * walk));
            let slots = even.min_by_key(|slots| slots.abs_diff(best))?;
            Some(Split { local: groups * slots, slots, units: groups, walk })
        };
        let groups = units.div_ceil(PROCESSORS).clamp(WALK_GROUPS, 10);
        let far =
            split(WALK_LOCAL / groups, groups, 2).filter(|s| k >= VERY_LONG && s.shared_bytes(chunk) <= SHARED_BYTES);
        let (best, groups) = match units {
            _ if units < WALK_UNITS_FEW && k < LONG => (WALKERS, units.div_ceil(WALK_FEW)),
            _ if units < MANY_LONG_UNITS => (WALKERS, WALK_GROUPS),
            _ if units < HUGE_UNITS => (WALKERS_MANY, WALK_GROUPS),
            _ => (WALKERS_MANY, WALK_GROUPS_HUGE),
        };
        far.or_else(|| split(best, groups, 1))
    }

    /// What the form of lib/matvec.glsl takes of shared memory, the norm's part included.
    fn shared_bytes(&self, chunk: usize) -> usize {
        let &Split { local, slots, units, walk } = self;
        let (eights, tiles, span) = (chunk / 8, if walk > 0 { 2 } else { 1 }, slots * walk.max(1));
        let room = tiles * eights * (span + 2);
        let sums = if walk > 0 { eights } else { 0 };
        let tile = if chunk > 8 { 24 * room + 4 * tiles * span * (sums + 1) } else { 0 };
        let apart = if chunk > 8 && walk != 1 && units * slots <= room && local <= room {
            0
        } else {
            16 * units * slots + 4 * local
        };
        tile + apart + 16 * units
    }
}

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
        let halves = if cx.graph.halves { 1 } else { 2 };
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

#[cfg(test)]
mod tests {
    use super::{SHARED_BYTES, Split};

    #[test]
    fn threads_divide_rows_evenly_where_they_can() {
        let split = |units, k, chunk| {
            let s = Split::new(units, k, chunk);
            (s.local, s.slots, s.units)
        };
        assert_eq!(split(224, 896, 8), (112, 112, 1));
        assert_eq!(split(224, 4864, 8), (304, 304, 1));
        assert_eq!(split(2432, 896, 8), (224, 56, 4));
        assert_eq!(split(6912, 5120, 8), (128, 128, 1));
        assert_eq!(split(224, 4864, 32), (304, 152, 2), "at once");
        assert_eq!(split(224, 896, 32), (84, 28, 3), "one phase");
        assert_eq!(split(288, 896, 32), (112, 28, 4), "one phase");
        assert_eq!(split(37984, 896, 32), (112, 28, 8), "a vocabulary of short rows does not walk");
        assert_eq!(split(6912, 5120, 32), (64, 16, 4), "ten phases");
        assert_eq!(split(1280, 13824, 32), (240, 24, 10), "nine phases of two chunks");
        assert_eq!(split(38016, 5120, 32), (128, 16, 8));
        assert_eq!(split(37984, 896, 8), (224, 112, 4));
        assert_eq!(split(37984, 896, 16), (224, 56, 8));
        assert_eq!(split(512, 2048, 32), (128, 64, 2));
        assert_eq!(split(512, 8192, 32), (128, 32, 4), "four phases of two chunks");
        assert_eq!(split(4096, 2048, 8), (128, 64, 4));
        assert_eq!(split(1536, 2048, 8), (128, 128, 1));
        assert_eq!(split(2432, 896, 32), (112, 28, 4));
        assert_eq!(split(3, 8 * 331, 8), (128, 128, 1), "a prime above what a workgroup takes");
        assert_eq!(split(1, 3, 8), (48, 1, 48), "columns one by one");
    }

    #[test]
    fn variants_share_rows_in_the_same_way() {
        let others = |units, k, chunk| {
            let split = Split::new(units, k, chunk);
            let of = |s: Split| {
                assert_eq!((s.slots, s.walk), (split.slots, split.walk));
                assert_eq!(s.units * split.local, split.units * s.local, "threads work on as many units at once");
                s.units
            };
            (split.units, split.other(chunk).into_iter().map(of).collect::<Vec<_>>())
        };
        assert_eq!(others(2432, 896, 8), (4, vec![8]));
        assert_eq!(others(224, 896, 8), (1, vec![2]));
        assert_eq!(others(224, 4864, 8), (1, vec![]), "608 threads are too many");
    }

    #[test]
    fn a_workgroup_stays_small_enough_for_any_device() {
        for chunk in [8, 16, 32] {
            for units in [1, 300, 5000, 40_000] {
                for k in (chunk..20000).step_by(chunk) {
                    let s = Split::new(units, k, chunk);
                    let sound = s.units <= s.local && (s.units * s.slots).is_multiple_of(s.local);
                    assert!(s.local <= 512 && sound, "{units} units of {k}: {s:?}");
                    let shared = s.shared_bytes(chunk);
                    assert!(shared <= SHARED_BYTES, "{units} units of {k}: {shared} bytes");
                }
            }
        }
    }
}
