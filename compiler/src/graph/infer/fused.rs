//! Types of norms and of the operators that passes make. In: operand types. Out: the result's. Promise: head geometry,
//! cache extents and weight shapes agree, or an error.

use super::{Args, broadcast, one};
use crate::error::Result;
use crate::graph::operands::{Operands, gated, linear, qkv};
use crate::graph::{DType, Heads, Mask, Norm, Op, Rotary, Ty, UnaryOp};

pub(super) fn infer(args: &Args) -> Result<Vec<Ty>> {
    match args.op {
        Op::LayerNorm { axis, .. } | Op::RmsNorm { axis, .. } => norm(args, *axis),
        Op::Linear { norm, bias, act, residual, nk } => {
            activation(args, *act)?;
            product(args, &linear(*norm, *bias, *residual), *norm, *nk)
        }
        Op::GatedLinear { norm, act, nk } => {
            activation(args, Some(*act))?;
            let out = product(args, &gated(*norm), *norm, *nk)?;
            let (gate, up) = (args.get(1)?, args.float(2)?);
            args.must(gate.shape == up.shape, || format!("gate {:?} and up {:?} differ", gate.shape, up.shape))?;
            Ok(out)
        }
        Op::Rope { form } => rope(args, *form),
        Op::Attention { heads, mask, .. } => attention(args, *heads, *mask),
        Op::RowAttention { heads, mask, packed, .. } => row_attention(args, *heads, *mask, *packed),
        Op::KvWrite => {
            let (cache, new) = (args.float(0)?, args.float(1)?);
            scalars(args, &[2, 3])?;
            cache_rows(args, cache, new)?;
            Ok(vec![cache.clone()])
        }
        Op::CachedAttention { heads, mask, .. } => cached_attention(args, *heads, *mask),
        Op::Qkv { heads, norm, bias, rope, nk } => project(args, *heads, &qkv(*norm, *bias, *rope), *rope, *norm, *nk),
        Op::Splice { lookup, .. } => splice(args, *lookup),
        _ => {
            let x = args.rank(0, 3)?;
            scalars(args, &[1])?;
            args.must(x.shape[0] == 1 && x.shape[1] > 0, || format!("x must be [1, s, k], is {:?}", x.shape))?;
            one(x.dtype, vec![1, 1, x.shape[2]])
        }
    }
}

fn splice(args: &Args, lookup: bool) -> Result<Vec<Ty>> {
    let (x, tokens, pictures) = (args.float(0)?, args.rank(1, 2)?, args.float(2)?);
    args.must(tokens.dtype.is_int() && tokens.shape[0] == 1, || format!("tokens must be [1, s], are {tokens}"))?;
    let k = x.shape.last().copied().unwrap_or(0);
    let rows = pictures.shape.get(2).copied().unwrap_or(0);
    args.must(rows > 0 && pictures.shape == [1, 1, rows, k], || {
        format!("pictures {:?} must be [1, 1, p, {k}]", pictures.shape)
    })?;
    let out = vec![1, tokens.shape[1], k];
    let fits = if lookup { x.shape.len() == 2 && x.shape[0] > 0 } else { x.shape == out };
    args.must(fits, || format!("x {:?} gives no rows {out:?}", x.shape))?;
    one(x.dtype, out)
}

fn norm(args: &Args, axis: usize) -> Result<Vec<Ty>> {
    let x = args.float(0)?;
    args.axis(axis, x)?;
    for i in 1..args.types.len() {
        let Some(w) = args.opt(i) else { continue };
        args.float(i)?;
        let fits = broadcast([x.shape.as_slice(), &w.shape]).is_some_and(|s| s == x.shape);
        args.must(fits, || format!("input {i} {:?} does not broadcast to {:?}", w.shape, x.shape))?;
    }
    Ok(vec![x.clone()])
}

fn activation(args: &Args, act: Option<UnaryOp>) -> Result<()> {
    use UnaryOp::*;
    let float_to_float = !matches!(act, Some(Not | BitNot | IsNan | IsInf));
    args.must(float_to_float, || format!("{act:?} is no activation"))
}

fn scalars(args: &Args, which: &[usize]) -> Result<()> {
    for &i in which {
        let ty = args.get(i)?;
        args.must(ty.dtype == DType::I32 && ty.shape.is_empty(), || {
            format!("input {i} must be an i32 scalar, is {}{:?}", ty.dtype, ty.shape)
        })?;
    }
    Ok(())
}

/// Output columns of weight `i` for `k` input columns.
fn columns(args: &Args, i: usize, k: usize, nk: bool) -> Result<usize> {
    args.float(i)?;
    let w = args.rank(i, 2)?;
    let (n, wk) = if nk { (w.shape[0], w.shape[1]) } else { (w.shape[1], w.shape[0]) };
    args.must(wk == k, || format!("weight {i} {:?} takes {wk} columns, x has {k}", w.shape))?;
    Ok(n)
}

fn vector(args: &Args, i: usize, n: usize) -> Result<()> {
    let ty = args.float(i)?;
    args.must(ty.shape == [n], || format!("input {i} must be [{n}], is {:?}", ty.shape))
}

/// Scale and shift of a folded norm over `k` columns.
fn folded(args: &Args, o: &Operands, norm: Option<Norm>, k: usize) -> Result<()> {
    debug_assert_eq!(norm.map_or(0, Norm::inputs), o.scale.iter().chain(&o.shift).count());
    for i in o.scale.iter().chain(&o.shift) {
        vector(args, *i, k)?;
    }
    Ok(())
}

fn product(args: &Args, o: &Operands, norm: Option<Norm>, nk: bool) -> Result<Vec<Ty>> {
    let x = args.float(0)?;
    let Some((&k, lead)) = x.shape.split_last() else {
        return Err(args.err("x must have rank 1 or more"));
    };
    let n = columns(args, 1, k, nk)?;
    folded(args, o, norm, k)?;
    if let Some(i) = o.bias {
        vector(args, i, n)?;
    }
    let mut shape = lead.to_vec();
    shape.push(n);
    if let Some(i) = o.residual {
        let r = args.float(i)?;
        args.must(r.shape == shape && r.dtype == x.dtype, || {
            format!("the residual must be {}{shape:?}, is {}{:?}", x.dtype, r.dtype, r.shape)
        })?;
    }
    one(x.dtype, shape)
}

fn tables(args: &Args, at: usize, form: Rotary, dim: usize) -> Result<()> {
    args.must(form.rotary.is_multiple_of(2) && form.rotary <= dim, || {
        format!("{} rotary channels do not fit a head of {dim}", form.rotary)
    })?;
    let (cos, sin) = (args.float(at)?, args.float(at + 1)?);
    args.must(cos.shape.len() == 2 && cos.shape == sin.shape && cos.shape[1] == form.rotary / 2, || {
        format!("cos {:?} and sin {:?} must be [positions, {}]", cos.shape, sin.shape, form.rotary / 2)
    })?;
    args.must(cos.shape[0] > 0, || "the tables have no row".into())
}

fn rope(args: &Args, form: Rotary) -> Result<Vec<Ty>> {
    args.float(0)?;
    let x = args.rank(0, 4)?;
    tables(args, 1, form, x.shape[3])?;
    scalars(args, &[3])?;
    Ok(vec![x.clone()])
}

fn grouped(args: &Args, heads: Heads) -> Result<()> {
    args.must(heads.kv > 0 && heads.q.is_multiple_of(heads.kv), || {
        format!("{} query heads do not share {} key heads", heads.q, heads.kv)
    })
}

fn attention(args: &Args, heads: Heads, mask: Mask) -> Result<Vec<Ty>> {
    grouped(args, heads)?;
    let (q, k, v) = (args.float(0)?, args.float(1)?, args.float(2)?);
    args.rank(0, 4)?;
    args.rank(1, 4)?;
    let (b, s, t) = (q.shape[0], q.shape[2], k.shape[2]);
    args.must(q.shape == [b, heads.q, s, heads.dim], || format!("q {:?} does not fit {heads:?}", q.shape))?;
    let kv = [b, heads.kv, t, heads.dim];
    args.must(k.shape == kv && v.shape == kv, || format!("k {:?} and v {:?} must be {kv:?}", k.shape, v.shape))?;
    masked(args, mask, 3, [b, heads.q, s, t])?;
    Ok(vec![q.clone()])
}

/// Checks the mask of attention over scores of a shape; a given one is input `at`.
fn masked(args: &Args, mask: Mask, at: usize, scores: [usize; 4]) -> Result<()> {
    let [_, _, s, t] = scores;
    args.must(s <= t || !matches!(mask, Mask::Causal | Mask::Window(_)), || {
        format!("{s} causal queries exceed {t} keys")
    })?;
    if mask == Mask::Given {
        let m = args.float(at)?;
        let fits = broadcast([&scores[..], &m.shape]).is_some_and(|x| x == scores);
        args.must(fits, || format!("the mask {:?} does not broadcast to {scores:?}", m.shape))?;
    }
    Ok(())
}

fn row_attention(args: &Args, heads: Heads, mask: Mask, packed: bool) -> Result<Vec<Ty>> {
    grouped(args, heads)?;
    args.float(0)?;
    let q = args.rank(0, 3)?;
    let (b, s, width) = (q.shape[0], q.shape[1], heads.q * heads.dim);
    let row = if packed { width + 2 * heads.kv * heads.dim } else { width };
    args.must(q.shape[2] == row, || format!("rows {:?} do not fit {heads:?}, which take {row}", q.shape))?;
    let mut t = s;
    if !packed {
        let (k, v) = (args.float(1)?, args.float(2)?);
        t = args.rank(1, 3)?.shape[1];
        let kv = [b, t, heads.kv * heads.dim];
        args.must(k.shape == kv && v.shape == kv, || format!("k {:?} and v {:?} must be {kv:?}", k.shape, v.shape))?;
    }
    masked(args, mask, if packed { 1 } else { 3 }, [b, heads.q, s, t])?;
    one(q.dtype, vec![b, s, width])
}

/// `cache` [1, h, c, d] takes rows like `new` [1, h, s, d].
fn cache_rows(args: &Args, cache: &Ty, new: &Ty) -> Result<()> {
    let (c, n) = (&cache.shape, &new.shape);
    let fits = c.len() == 4 && n.len() == 4 && c[0] == 1 && n[0] == 1 && c[1] == n[1] && c[3] == n[3];
    args.must(fits, || format!("rows {n:?} do not go into a cache {c:?}"))
}

fn is_cache<'a>(args: &Args<'a>, i: usize, heads: Heads) -> Result<&'a Ty> {
    let ty = args.float(i)?;
    let fits = ty.shape.len() == 4 && ty.shape == [1, heads.kv, ty.shape[2], heads.dim];
    args.must(fits, || format!("cache {i} {:?} must be [1, {}, c, {}]", ty.shape, heads.kv, heads.dim))?;
    Ok(ty)
}

fn cached_attention(args: &Args, heads: Heads, mask: Mask) -> Result<Vec<Ty>> {
    grouped(args, heads)?;
    args.must(matches!(mask, Mask::Causal | Mask::Window(_)), || format!("{mask:?} is no mask for a cache"))?;
    args.float(0)?;
    let q = args.rank(0, 4)?;
    let s = q.shape[2];
    args.must(q.shape == [1, heads.q, s, heads.dim], || format!("q {:?} does not fit {heads:?}", q.shape))?;
    let (k, v) = (is_cache(args, 1, heads)?, is_cache(args, 2, heads)?);
    args.must(k.shape == v.shape, || format!("caches {:?} and {:?} differ", k.shape, v.shape))?;
    scalars(args, &[3])?;
    one(q.dtype, vec![1, s, heads.q * heads.dim])
}

fn project(
    args: &Args,
    heads: Heads,
    o: &Operands,
    rope: Option<Rotary>,
    norm: Option<Norm>,
    nk: bool,
) -> Result<Vec<Ty>> {
    grouped(args, heads)?;
    let x = args.float(0)?;
    args.must(x.shape.len() == 3 && x.shape[0] == 1, || format!("x must be [1, s, k], is {:?}", x.shape))?;
    let (s, k) = (x.shape[1], x.shape[2]);
    for (i, h) in [heads.q, heads.kv, heads.kv].into_iter().enumerate() {
        let n = columns(args, 1 + i, k, nk)?;
        args.must(n == h * heads.dim, || format!("weight {} gives {n} columns, not {h} x {}", 1 + i, heads.dim))?;
        if let Some(bias) = o.bias {
            vector(args, bias + i, n)?;
        }
    }
    let (kc, vc) = (is_cache(args, 4, heads)?, is_cache(args, 5, heads)?);
    args.must(kc.shape == vc.shape, || format!("caches {:?} and {:?} differ", kc.shape, vc.shape))?;
    scalars(args, &[6, 7])?;
    folded(args, o, norm, k)?;
    if let (Some(at), Some(form)) = (o.tables, rope) {
        tables(args, at, form, heads.dim)?;
    }
    let q = Ty { dtype: x.dtype, shape: vec![1, heads.q, s, heads.dim] };
    Ok(vec![q, kc.clone(), vc.clone()])
}
