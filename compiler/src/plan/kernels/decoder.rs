//! The rest of a decoder. In: `CachedAttention`, `KvWrite`, `Rope`, `LastRow`, `Splice`, an embedding `Gather`. Out: one call each.
//! Promise: cache rows outside the live ones are neither read nor written.

use super::attention::{Parts, QUERY_ROWS};
use super::call::{Builder, Cx, float, groups};
use super::handed;
use crate::error::Result;
use crate::graph::{Heads, Mask, Op, PICTURES, ValueId};
use crate::plan::{Call, Operand};

const LOCAL: usize = 64;

pub(super) fn cached_attention(cx: &Cx) -> Result<Vec<Call>> {
    let Op::CachedAttention { heads, scale, mask, cap } = cx.node.op else { return Ok(Vec::new()) };
    let Heads { q, kv, dim } = heads;
    let m = cx.shape(0)?[2];
    let context = cx.shape(1)?[2];
    let window = match mask {
        Mask::Causal => 0,
        Mask::Window(n) => n,
        Mask::Full | Mask::Given => return Err(cx.refuse(format!("mask {mask:?} over a cache has no kernel"))),
    };
    let bits = cx.kv_bits();
    wide_enough(cx, dim, 4)?;
    if m == 1 && dim.is_multiple_of(8) && dim <= 512 {
        return split_attention(cx, heads, context, (scale, cap), window);
    }
    let (pos, pos_word) = cx.word(3)?;
    let query_rows = if m == 1 { 1 } else { QUERY_ROWS };
    let parts = parts(cx, m, heads);
    let group_rows = parts.map_or(query_rows, |p| p.rows());
    let name =
        format!("attend_{}_m{m}_h{q}_{kv}_d{dim}_c{context}{}{}", cx.kv_name(), window_name(window), cap_name(cap));
    let b = Builder::new("cached_attention.comp", name)
        .define("M", m)
        .define("HQ", q)
        .define("HKV", kv)
        .define("D", dim)
        .define("C", context)
        .define("KV_BITS", bits)
        .define("SCALE", float(scale))
        .define("WINDOW", window)
        .define("POS_WORD", pos_word)
        .define("QUERY_ROWS", query_rows)
        .define("GROUP_ROWS", group_rows)
        .define("LOCAL", attention_threads(cx, dim)?)
        .read(Operand::Value(cx.input(0)?))
        .read(Operand::Value(cx.input(1)?))
        .read(Operand::Value(cx.input(2)?))
        .write(Operand::Value(cx.node.out()))
        .read(pos)
        .live(cx.generates());
    let b = capped(b, cap);
    let b = parts.into_iter().fold(b, |b, p| p.define(b));
    let b = handed::on(cx)?.into_iter().fold(b, |b, on| on.straight(b));
    Ok(vec![b.build(cx, [q as u32, m.div_ceil(group_rows) as u32, 1])?])
}

/// How the matrix form of attention over a cache shares work; none where there is no such form.
fn parts(cx: &Cx, m: usize, heads: Heads) -> Option<Parts> {
    if cx.kv_bits() < 32 { Parts::new(m, heads.dim, heads.q) } else { None }
}

/// Rows and columns that the matrix form writes.
pub(super) fn matrix_rows(cx: &Cx) -> Result<Option<(usize, usize)>> {
    let Op::CachedAttention { heads, .. } = cx.node.op else { return Ok(None) };
    let m = cx.shape(0)?[2];
    Ok(parts(cx, m, heads).map(|_| (m, heads.q * heads.dim)))
}

/// Most workgroups that share a head.
const MAX_SPLITS: usize = 32;

/// One query row: workgroups share the keys of a head, and as many work as there are live stretches of keys.
fn split_attention(
    cx: &Cx,
    heads: Heads,
    context: usize,
    (scale, cap): (f32, f32),
    window: usize,
) -> Result<Vec<Call>> {
    let Heads { q, kv, dim } = heads;
    let bits = cx.kv_bits();
    let local = 128;
    // Keys a thread has under way: up to 128 registers of keys and values.
    let keys = if bits == 32 || dim <= 64 { 8 } else { 16 };
    let stretches = context.div_ceil(local / (dim / 8) * keys);
    // Each workgroup has two stretches at the full context; fewer are not shared at all, see lib/split_attention.glsl.
    let splits = if stretches > 2 { stretches.div_ceil(2).min(MAX_SPLITS) } else { 1 };
    let (pos, pos_word) = cx.word(3)?;
    let name =
        format!("attend_{}_m1_h{q}_{kv}_d{dim}_c{context}{}{}", cx.kv_name(), window_name(window), cap_name(cap));
    let mut b = Builder::new("split_attention.comp", name)
        .define("HQ", q)
        .define("HKV", kv)
        .define("D", dim)
        .define("C", context)
        .define("KV_BITS", bits)
        .define("SCALE", float(scale))
        .define("WINDOW", window)
        .define("POS_WORD", pos_word)
        .define("LOCAL", local)
        .define("KEYS", keys)
        .define("SPLITS", splits)
        .read(Operand::Value(cx.input(0)?))
        .read(Operand::Value(cx.input(1)?))
        .read(Operand::Value(cx.input(2)?))
        .write(Operand::Value(cx.node.out()))
        .read(pos);
    b = capped(b, cap);
    if splits > 1 {
        b = b.write(Operand::Scratch(0, (q * splits * (dim + 2) * 4) as u64)).write(Operand::Counters(q as u32));
    }
    Ok(vec![b.live(cx.generates()).build(cx, [q as u32, splits as u32, 1])?])
}

/// Threads of an attention workgroup: a thread keeps four channels, or one where the head is no multiple of four.
pub(super) fn attention_threads(cx: &Cx, dim: usize) -> Result<usize> {
    let groups = if dim.is_multiple_of(4) { dim / 4 } else { dim };
    match groups {
        0..=64 => Ok(64),
        65..=128 => Ok(128),
        _ => Err(cx.refuse(format!("a head of {dim} channels has no attention kernel"))),
    }
}

/// Adds SOFTCAP where scores are bent.
pub(super) fn capped(b: Builder, cap: f32) -> Builder {
    if cap > 0.0 { b.define("SOFTCAP", float(cap)) } else { b }
}

pub(super) fn cap_name(cap: f32) -> String {
    if cap > 0.0 { format!("_cap{cap}").replace('.', "p") } else { String::new() }
}

fn window_name(window: usize) -> String {
    if window == 0 { String::new() } else { format!("_w{window}") }
}

pub(super) fn kv_write(cx: &Cx) -> Result<Vec<Call>> {
    let (cache, new) = (cx.shape(0)?, cx.shape(1)?);
    let (heads, context, dim, m) = (cache[1], cache[2], cache[3], new[2]);
    // Rows of pictures lie there as they came.
    let pictures = cx.graph.value(cx.input(0)?).name == PICTURES;
    let bits = if pictures { 32 } else { cx.kv_bits() };
    if !pictures {
        wide_enough(cx, dim, 2)?;
    }
    if bits == 8 {
        return Ok(vec![kv_quantise(cx, (heads, dim, context, m), &[(cx.read(1)?, cx.node.out())], (2, 3))?]);
    }
    let ((pos, pos_word), (rows, rows_word)) = (cx.word(2)?, cx.word(3)?);
    let b = Builder::new("kv_write.comp", format!("kv_write_f{bits}_m{m}_h{heads}_d{dim}_c{context}"))
        .define("M", m)
        .define("HKV", heads)
        .define("D", dim)
        .define("C", context)
        .define("KV_BITS", bits)
        .define("POS_WORD", pos_word)
        .define("ROWS_WORD", rows_word)
        .read(cx.read(1)?)
        .write(Operand::Value(cx.node.out()))
        .read(pos)
        .read(rows);
    let width = if bits == 16 { 2 } else { 1 };
    Ok(vec![b.build(cx, groups(heads * m * dim / width, LOCAL))?])
}

/// Refuses heads whose channels do not come in whole words, `halves` channels at a time where they are fp16.
pub(super) fn wide_enough(cx: &Cx, dim: usize, halves: usize) -> Result<()> {
    let (words, name) = match cx.kv_bits() {
        8 => (4, "int8"),
        16 => (halves, "fp16"),
        _ => return Ok(()),
    };
    if dim.is_multiple_of(words) {
        return Ok(());
    }
    Err(cx.refuse(format!("a head of {dim} channels has no {name} cache kernel; use kv = \"fp32\"")))
}

/// Rows of f32 to codes in the caches they belong to, one or two. `at` are the inputs that say where: pos and rows.
pub(super) fn kv_quantise(
    cx: &Cx,
    (heads, dim, context, m): (usize, usize, usize, usize),
    rows: &[(Operand, ValueId)],
    at: (usize, usize),
) -> Result<Call> {
    let ((pos, pos_word), (count, rows_word)) = (cx.word(at.0)?, cx.word(at.1)?);
    let mut b = Builder::new("kv_quantise.comp", format!("kv_q8_m{m}_h{heads}_d{dim}_c{context}_n{}", rows.len()))
        .define("M", m)
        .define("HKV", heads)
        .define("D", dim)
        .define("C", context)
        .flag("PAIR", rows.len() > 1)
        .define("POS_WORD", pos_word)
        .define("ROWS_WORD", rows_word)
        .define("LOCAL", (dim / 4).next_power_of_two().clamp(32, 256));
    for (fresh, cache) in rows {
        b = b.read(fresh.clone()).write(Operand::Value(*cache));
    }
    b.read(pos).read(count).live(cx.generates()).build(cx, [m as u32, heads as u32, rows.len() as u32])
}

pub(super) fn rope(cx: &Cx) -> Result<Vec<Call>> {
    let Op::Rope { form } = cx.node.op else { return Ok(Vec::new()) };
    let x = cx.shape(0)?;
    let (heads, m, dim) = (x[0] * x[1], x[2], x[3]);
    let (pos, pos_word) = cx.word(3)?;
    let b = Builder::new("rope.comp", format!("rope_f32_h{heads}_m{m}_d{dim}_r{}", form.rotary))
        .define("M", m)
        .define("HEADS", heads)
        .define("D", dim)
        .define("ROTARY", form.rotary)
        .define("TABLE", cx.shape(1)?[0])
        .flag("INTERLEAVED", form.interleaved)
        .define("POS_WORD", pos_word)
        .read(cx.read(0)?)
        .read(cx.read(1)?)
        .read(cx.read(2)?)
        .write(Operand::Value(cx.node.out()))
        .read(pos);
    Ok(vec![b.build(cx, groups(heads * m * dim, LOCAL))?])
}

pub(super) fn last_row(cx: &Cx) -> Result<Vec<Call>> {
    let x = cx.shape(0)?;
    let (m, k) = (x[1], x[2]);
    let (rows, word) = cx.word(1)?;
    let b = Builder::new("last_row.comp", format!("last_row_f32_m{m}_k{k}"))
        .define("M", m)
        .define("K", k)
        .define("ROWS_WORD", word)
        .read(cx.read(0)?)
        .read(rows)
        .write(Operand::Value(cx.node.out()));
    Ok(vec![b.build(cx, groups(k, LOCAL))?])
}

/// Rows of a constant float table, stored in the precision's type; those of pictures where the operator splices them in.
pub(super) fn gather_rows(cx: &Cx) -> Result<Vec<Call>> {
    let table = cx.shape(0)?;
    let (rows, k) = (table[0], table[1]);
    let index = cx.input(1)?;
    let m = cx.graph.ty(index).elements();
    let w = cx.weights(&[0], false)?;
    let live = cx.generates() && cx.graph.inputs.contains(&index);
    let name = format!("gather_{}_m{m}_k{k}_rows{rows}", w.name());
    let pictures = match cx.node.op {
        Op::Splice { vocab, .. } => Some((vocab, cx.shape(2)?[2])),
        _ => None,
    };
    let mut b = match pictures {
        Some((vocab, count)) => Builder::new("gather_rows.comp", format!("{name}_pictures{count}"))
            .define("VOCAB", vocab)
            .define("PICTURES", count),
        None => Builder::new("gather_rows.comp", name),
    };
    b = b.define("M", m).define("K", k).define("ROWS", rows).weights(&w, rows);
    b = b.read(w.operand).read(cx.read(1)?).write(Operand::Value(cx.node.out()));
    if pictures.is_some() {
        b = b.read(cx.read(2)?);
    }
    Ok(vec![b.live(live).build(cx, groups(m * k, LOCAL))?])
}

/// Rows of pictures among rows that are computed elsewhere.
pub(super) fn splice(cx: &Cx) -> Result<Vec<Call>> {
    let Op::Splice { vocab, .. } = cx.node.op else { return Ok(Vec::new()) };
    let (x, pictures) = (cx.shape(0)?, cx.shape(2)?[2]);
    let (m, k) = (x[1], x[2]);
    let b = Builder::new("splice.comp", format!("splice_f32_m{m}_k{k}_pictures{pictures}"))
        .define("M", m)
        .define("K", k)
        .define("VOCAB", vocab)
        .define("PICTURES", pictures)
        .read(cx.read(0)?)
        .read(cx.read(1)?)
        .write(Operand::Value(cx.node.out()))
        .read(cx.read(2)?)
        .live(cx.generates());
    Ok(vec![b.build(cx, groups(m * k, LOCAL))?])
}
