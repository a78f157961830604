//! Operators that passes make. In: their operands. Out: what the operators they replaced would give. Promise: f32 throughout,
//! softmax rows finite, cache rows past the live ones untouched.

use super::norm::normalise;
use super::product::{dot, multiply_kn, multiply_nk};
use super::{Args, Values, scalar};
use crate::error::Result;
use crate::graph::operands::{Operands, gated, linear, qkv};
use crate::graph::{Heads, Mask, Norm, Op, Rotary, UnaryOp};
use std::borrow::Cow;

pub(super) fn eval(args: &Args) -> Result<Vec<Values>> {
    Ok(match *args.op {
        Op::Linear { norm, bias, act, residual, nk } => {
            vec![Values::F32(linear_rows(args, &linear(norm, bias, residual), norm, act, nk)?)]
        }
        Op::GatedLinear { norm, act, nk } => vec![Values::F32(gated_rows(args, norm, act, nk)?)],
        Op::Rope { form } => {
            let x = args.get(0)?;
            let mut v = args.f32s(0)?.into_owned();
            turn(args, &mut v, [x.shape[2], x.shape[3]], form, 1, args.int(3)?)?;
            vec![Values::F32(v)]
        }
        Op::Attention { heads, scale, mask, cap } => vec![Values::F32(attention(args, heads, [scale, cap], mask)?)],
        Op::RowAttention { heads, scale, mask, packed } => {
            vec![Values::F32(row_attention(args, heads, scale, mask, packed)?)]
        }
        Op::KvWrite => {
            let span = Span { pos: args.int(2)?, rows: args.int(3)? };
            vec![Values::F32(written(args, 0, &args.f32s(1)?, args.get(1)?.shape[2], span)?)]
        }
        Op::CachedAttention { heads, scale, mask, cap } => {
            vec![Values::F32(cached_attention(args, heads, [scale, cap], mask)?)]
        }
        Op::Qkv { heads, norm, bias, rope, nk } => project(args, heads, &qkv(norm, bias, rope), norm, rope, nk)?,
        Op::Splice { vocab, lookup } => vec![Values::F32(splice(args, vocab, lookup)?)],
        _ => {
            let (x, rows) = (args.get(0)?, args.int(1)?);
            let (s, k) = (x.shape[1], x.shape[2]);
            if rows < 1 || rows > s as i64 {
                return Err(args.err(format!("{rows} live rows of {s}")));
            }
            let start = (rows as usize - 1) * k;
            vec![x.data.pick(start..start + k)]
        }
    })
}

/// Rows of x, or of a table, and of pictures in the places of ids past the vocabulary.
fn splice(args: &Args, vocab: usize, lookup: bool) -> Result<Vec<f32>> {
    let (x, tokens, pictures) = (args.f32s(0)?, args.ints(1)?, args.f32s(2)?);
    let k = args.out[0].shape[2];
    let rows = args.get(2)?.shape[2];
    let mut out = Vec::with_capacity(tokens.len() * k);
    for (i, &token) in tokens.iter().enumerate() {
        let row = match token - vocab as i64 {
            picture @ 0.. => &pictures[(picture as usize).min(rows - 1) * k..][..k],
            _ if lookup => {
                let height = args.get(0)?.shape[0] as i64;
                let at = (if token < 0 { token + height } else { token }).clamp(0, height - 1);
                &x[at as usize * k..][..k]
            }
            _ => &x[i * k..][..k],
        };
        out.extend_from_slice(row);
    }
    Ok(out)
}

/// What a node multiplies with its weights: input 0, after the norm that is folded in.
pub(super) fn multiplied(args: &Args) -> Result<Vec<f32>> {
    let (operands, norm) = match *args.op {
        Op::Linear { norm, bias, residual, .. } => (linear(norm, bias, residual), norm),
        Op::GatedLinear { norm, .. } => (gated(norm), norm),
        Op::Qkv { norm, bias, rope, .. } => (qkv(norm, bias, rope), norm),
        _ => return Err(args.err("is no product with weights")),
    };
    Ok(normed(args, &operands, norm)?.into_owned())
}

/// Input 0, its rows normalised where a norm is folded in.
fn normed<'a>(args: &Args<'a>, o: &Operands, norm: Option<Norm>) -> Result<Cow<'a, [f32]>> {
    let x = args.f32s(0)?;
    let Some(norm) = norm else { return Ok(x) };
    let shape = &args.get(0)?.shape;
    let k = shape[shape.len() - 1];
    let scale = o.scale.map(|i| args.f32s(i)).transpose()?;
    let shift = o.shift.map(|i| args.f32s(i)).transpose()?;
    let mut out = Vec::with_capacity(x.len());
    for row in x.chunks_exact(k.max(1)) {
        let mut row: Vec<f64> = row.iter().map(|&v| f64::from(v)).collect();
        normalise(norm, &mut row);
        for (i, v) in row.into_iter().enumerate() {
            let scaled = v * scale.as_ref().map_or(1.0, |s| f64::from(s[i]));
            out.push((scaled + shift.as_ref().map_or(0.0, |s| f64::from(s[i]))) as f32);
        }
    }
    Ok(out.into())
}

/// x [m, k] times weight input `i`: [m, n].
fn times(args: &Args, x: &[f32], i: usize, nk: bool) -> Result<Vec<f32>> {
    let (shape, w) = (&args.get(i)?.shape, args.f32s(i)?);
    let (n, k) = if nk { (shape[0], shape[1]) } else { (shape[1], shape[0]) };
    let m = x.len().checked_div(k).unwrap_or(0);
    let mut out = vec![0.0; m * n];
    match nk {
        true => multiply_nk(x, &w, k, n, &mut out),
        false => multiply_kn(x, &w, k, n, &mut out),
    }
    Ok(out)
}

/// Adds input `i` to every row.
fn add_bias(args: &Args, rows: &mut [f32], i: usize) -> Result<()> {
    let bias = args.f32s(i)?;
    rows.iter_mut().zip(bias.iter().cycle()).for_each(|(v, b)| *v += b);
    Ok(())
}

fn activate(f: UnaryOp, v: f32) -> f32 {
    scalar::unary(f, f64::from(v)) as f32
}

fn linear_rows(args: &Args, o: &Operands, norm: Option<Norm>, act: Option<UnaryOp>, nk: bool) -> Result<Vec<f32>> {
    let mut y = times(args, &normed(args, o, norm)?, 1, nk)?;
    y.resize(args.out[0].elements(), 0.0);
    if let Some(i) = o.bias {
        add_bias(args, &mut y, i)?;
    }
    if let Some(f) = act {
        y.iter_mut().for_each(|v| *v = activate(f, *v));
    }
    if let Some(i) = o.residual {
        y.iter_mut().zip(args.f32s(i)?.iter()).for_each(|(v, r)| *v += r);
    }
    Ok(y)
}

fn gated_rows(args: &Args, norm: Option<Norm>, act: UnaryOp, nk: bool) -> Result<Vec<f32>> {
    let x = normed(args, &gated(norm), norm)?;
    let (mut gate, up) = (times(args, &x, 1, nk)?, times(args, &x, 2, nk)?);
    gate.iter_mut().zip(up).for_each(|(g, u)| *g = activate(act, *g) * u);
    gate.resize(args.out[0].elements(), 0.0);
    Ok(gate)
}

/// Turns rows of heads [.., s, dim] in place: row `i` by row `pos + i` of the tables at inputs `at` and `at + 1`. Rows past
/// the tables are padding; they take the last row.
fn turn(args: &Args, v: &mut [f32], [s, dim]: [usize; 2], form: Rotary, at: usize, pos: i64) -> Result<()> {
    let (cos, sin) = (args.f32s(at)?, args.f32s(at + 1)?);
    let half = form.rotary / 2;
    let last = args.get(at)?.shape[0] - 1;
    let pos = usize::try_from(pos).map_err(|_| args.err(format!("position {pos} is negative")))?;
    for (i, row) in v.chunks_exact_mut(dim.max(1)).enumerate() {
        let table = (pos + i % s).min(last) * half;
        for j in 0..half {
            let (a, b) = if form.interleaved { (2 * j, 2 * j + 1) } else { (j, j + half) };
            let (c, s) = (cos[table + j], sin[table + j]);
            let (x, y) = (row[a], row[b]);
            row[a] = x * c - y * s;
            row[b] = y * c + x * s;
        }
    }
    Ok(())
}

/// One head's keys and values: t rows of `dim`.
struct Rows<'a> {
    k: &'a [f32],
    v: &'a [f32],
    dim: usize,
}

impl Rows<'_> {
    /// What one query row gathers. `bias` is added to a key's score; None hides the key.
    fn attend(&self, q: &[f32], [scale, cap]: [f32; 2], bias: impl Fn(usize) -> Option<f32>, out: &mut [f32]) {
        let keys = self.k.chunks_exact(self.dim).enumerate();
        let score = |k| {
            let score = dot(q, k) * scale;
            if cap > 0.0 { cap * (score / cap).tanh() } else { score }
        };
        let scores: Vec<(usize, f32)> = keys.filter_map(|(j, k)| bias(j).map(|b| (j, score(k) + b))).collect();
        let max = scores.iter().map(|s| s.1).fold(f32::NEG_INFINITY, f32::max);
        if max == f32::NEG_INFINITY {
            return out.fill(0.0);
        }
        let weights: Vec<(usize, f64)> = scores.iter().map(|&(j, s)| (j, f64::from(s - max).exp())).collect();
        let sum: f64 = weights.iter().map(|w| w.1).sum();
        let mut total = vec![0.0f64; self.dim];
        for (j, w) in weights {
            let row = &self.v[j * self.dim..][..self.dim];
            total.iter_mut().zip(row).for_each(|(t, &v)| *t += w * f64::from(v));
        }
        out.iter_mut().zip(total).for_each(|(o, t)| *o = (t / sum) as f32);
    }
}

/// Whether a query at `at` may see the key at `key`.
fn sees(mask: Mask, at: i64, key: usize) -> bool {
    let key = key as i64;
    match mask {
        Mask::Full | Mask::Given => true,
        Mask::Causal => key <= at,
        Mask::Window(n) => key <= at && key > at - n as i64,
    }
}

fn attention(args: &Args, heads: Heads, scale: [f32; 2], mask: Mask) -> Result<Vec<f32>> {
    let (q, k, v) = (args.f32s(0)?, args.f32s(1)?, args.f32s(2)?);
    let (shape, t) = (&args.get(0)?.shape, args.get(1)?.shape[2]);
    let additive = additive(args, mask, 3, [shape[0], heads.q, shape[2], t])?;
    Ok(attend_heads(heads, scale, mask, [&q, &k, &v], [shape[2], t], additive.as_deref()))
}

/// The mask at input `at`, where one is given, for every score.
fn additive(args: &Args, mask: Mask, at: usize, scores: [usize; 4]) -> Result<Option<Vec<f32>>> {
    if mask != Mask::Given {
        return Ok(None);
    }
    let all = args.f32s(at)?;
    Ok(Some(super::offsets::Offsets::broadcast(&args.get(at)?.shape, &scores).map(|i| all[i]).collect()))
}

/// q [b, hq, s, d], k and v [b, hkv, t, d]; the scale of scores, and their cap.
fn attend_heads(
    heads: Heads,
    scale: [f32; 2],
    mask: Mask,
    [q, k, v]: [&[f32]; 3],
    [s, t]: [usize; 2],
    additive: Option<&[f32]>,
) -> Vec<f32> {
    let dim = heads.dim;
    let mut out = vec![0.0; q.len()];
    if dim == 0 {
        return out;
    }
    for (r, (q, out)) in q.chunks_exact(dim).zip(out.chunks_exact_mut(dim)).enumerate() {
        let (b, h, i) = (r / s / heads.q, r / s % heads.q, r % s);
        let start = (b * heads.kv + h / (heads.q / heads.kv)) * t * dim;
        let rows = Rows { k: &k[start..][..t * dim], v: &v[start..][..t * dim], dim };
        let at = t as i64 - s as i64 + i as i64;
        let bias = |j: usize| sees(mask, at, j).then(|| additive.map_or(0.0, |a| a[r * t + j]));
        rows.attend(q, scale, bias, out);
    }
    out
}

/// Heads that lie side by side in rows are sorted by head, and the results put back into rows.
fn row_attention(args: &Args, heads: Heads, scale: f32, mask: Mask, packed: bool) -> Result<Vec<f32>> {
    let Heads { q, kv, dim } = heads;
    let shape = &args.get(0)?.shape;
    let (b, s) = (shape[0], shape[1]);
    let t = if packed { s } else { args.get(1)?.shape[1] };
    let part = |i: usize, rows: usize, h: usize, first: usize| -> Result<Vec<f32>> {
        let x = args.f32s(if packed { 0 } else { i })?;
        let width = if packed { (q + 2 * kv) * dim } else { h * dim };
        let strides = [rows * width, dim, width, 1].map(|n| n as isize);
        let first = if packed { first } else { 0 };
        Ok(super::offsets::Offsets::new(&[b, h, rows, dim], &strides, first as isize).map(|i| x[i]).collect())
    };
    let parts = [part(0, s, q, 0)?, part(1, t, kv, q * dim)?, part(2, t, kv, (q + kv) * dim)?];
    let additive = additive(args, mask, if packed { 1 } else { 3 }, [b, q, s, t])?;
    let y = attend_heads(heads, [scale, 0.0], mask, [&parts[0], &parts[1], &parts[2]], [s, t], additive.as_deref());
    let strides = [q * s * dim, dim, s * dim, 1].map(|n| n as isize);
    Ok(super::offsets::Offsets::new(&[b, s, q, dim], &strides, 0).map(|i| y[i]).collect())
}

/// Rows `pos..pos + rows` of a cache.
#[derive(Clone, Copy)]
struct Span {
    pos: i64,
    rows: i64,
}

/// The cache at input `i` after the first live rows of `new` [heads, s, dim] went in.
fn written(args: &Args, i: usize, new: &[f32], s: usize, span: Span) -> Result<Vec<f32>> {
    let shape = &args.get(i)?.shape;
    let (heads, c, dim) = (shape[1], shape[2], shape[3]);
    let Span { pos, rows } = span;
    if pos < 0 || rows < 0 || rows > s as i64 || pos + rows > c as i64 {
        return Err(args.err(format!("{rows} rows of {s} at row {pos} do not fit a cache of {c}")));
    }
    let (pos, rows) = (pos as usize, rows as usize);
    let mut cache = args.f32s(i)?.into_owned();
    for h in 0..heads {
        let from = &new[h * s * dim..][..rows * dim];
        cache[(h * c + pos) * dim..][..rows * dim].copy_from_slice(from);
    }
    Ok(cache)
}

fn cached_attention(args: &Args, heads: Heads, scale: [f32; 2], mask: Mask) -> Result<Vec<f32>> {
    let (q, k, v) = (args.f32s(0)?, args.f32s(1)?, args.f32s(2)?);
    let (s, c, dim, pos) = (args.get(0)?.shape[2], args.get(1)?.shape[2], heads.dim, args.int(3)?);
    let mut out = vec![0.0; q.len()];
    if dim == 0 {
        return Ok(out);
    }
    for (r, q) in q.chunks_exact(dim).enumerate() {
        let (h, i) = (r / s, r % s);
        let start = h / (heads.q / heads.kv) * c * dim;
        let rows = Rows { k: &k[start..][..c * dim], v: &v[start..][..c * dim], dim };
        let to = &mut out[(i * heads.q + h) * dim..][..dim];
        rows.attend(q, scale, |j| sees(mask, pos + i as i64, j).then_some(0.0), to);
    }
    Ok(out)
}

/// [s, heads * dim] as [heads, s, dim].
fn by_head(rows: &[f32], s: usize, heads: usize, dim: usize) -> Vec<f32> {
    let strides = [dim as isize, (heads * dim) as isize, 1];
    super::offsets::Offsets::new(&[heads, s, dim], &strides, 0).map(|i| rows[i]).collect()
}

fn project(
    args: &Args,
    heads: Heads,
    o: &Operands,
    norm: Option<Norm>,
    rope: Option<Rotary>,
    nk: bool,
) -> Result<Vec<Values>> {
    let x = normed(args, o, norm)?;
    let (s, dim) = (args.get(0)?.shape[1], heads.dim);
    let span = Span { pos: args.int(6)?, rows: args.int(7)? };
    let mut made = Vec::with_capacity(3);
    for (i, h) in [heads.q, heads.kv, heads.kv].into_iter().enumerate() {
        let mut y = times(args, &x, 1 + i, nk)?;
        y.resize(s * h * dim, 0.0);
        if let Some(bias) = o.bias {
            add_bias(args, &mut y, bias + i)?;
        }
        let mut y = by_head(&y, s, h, dim);
        if let (Some(form), Some(at), true) = (rope, o.tables, i < 2) {
            turn(args, &mut y, [s, dim], form, at, span.pos)?;
        }
        made.push(y);
    }
    let (v, k) = (made.pop().unwrap_or_default(), made.pop().unwrap_or_default());
    let q = made.pop().unwrap_or_default();
    let (k, v) = (written(args, 4, &k, s, span)?, written(args, 5, &v, s, span)?);
    Ok(vec![Values::F32(q), Values::F32(k), Values::F32(v)])
}
