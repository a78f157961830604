//! Attention over a cache, and rotary embeddings. In: GroupQueryAttention, RotaryEmbedding. Out: turned heads, the cache with
//! the new rows, products, softmax and a mask, as exporters write them. Promise: a cache grows by the new rows, or, where its buffer is
//! as long as the whole sequence, takes them in at their positions.

use super::super::attention::{self as plain, FILL};
use super::sight::Cache;
use super::{Call, Cx, Outcome, Refusal, invalid, unsupported};
use crate::graph::{BinaryOp, DType, Op, UnaryOp, ValueId};

/// Heads of any model there is, and many more.
const MOST_HEADS: usize = 1 << 16;

/// Rows of heads [b, s, heads * d] as [b, heads, s, d].
fn split(cx: &mut Cx, x: ValueId, heads: usize, label: &str) -> Result<ValueId, Refusal> {
    plain::heads_first(cx, x, Some(heads), label)
}

/// Queries, keys and values, heads first: three inputs, or one that holds them side by side.
fn projections(cx: &mut Cx, call: &Call, heads: usize, kv: usize) -> Result<[ValueId; 3], Refusal> {
    let q = call.input(0)?;
    let &[_, _, width] = &cx.shape(q)[..] else {
        return Err(invalid(format!("its query must be [batch, sequence, width], is {:?}", cx.shape(q))));
    };
    let (q, k, v) = match (call.optional(1), call.optional(2)) {
        (Some(k), Some(v)) => (q, k, v),
        (None, None) => {
            let dim = width / (heads + 2 * kv);
            if dim * (heads + 2 * kv) != width {
                return Err(invalid(format!("{width} columns do not hold {heads} + 2 x {kv} heads")));
            }
            let k = cx.slice(q, 2, heads * dim, kv * dim, "key")?;
            let v = cx.slice(q, 2, (heads + kv) * dim, kv * dim, "value")?;
            (cx.slice(q, 2, 0, heads * dim, "query")?, k, v)
        }
        _ => return Err(invalid("key and value must both be given, or neither")),
    };
    Ok([split(cx, q, heads, "q")?, split(cx, k, kv, "k")?, split(cx, v, kv, "v")?])
}

/// How the cache lies, from the extents of past and whole sequence.
fn cache(cx: &Cx, call: &Call, rows: usize) -> Result<Cache, Refusal> {
    let past = call.optional(3).map_or(0, |p| cx.shape(p).get(2).copied().unwrap_or(0));
    let total = call.optional(6).and_then(|t| cx.ints(t, "total_sequence_length").ok()?.first().copied());
    let total = total.and_then(|t| usize::try_from(t).ok()).unwrap_or(past + rows);
    let inside = past > 0 && total <= past;
    if !inside && total != past + rows {
        return Err(invalid(format!("a sequence of {total} is neither {past} + {rows} rows nor inside {past}")));
    }
    let window = usize::try_from(call.attrs.int_or("local_window_size", -1)?).ok().filter(|w| *w > 0);
    Ok(Cache { last: call.input(5)?, past, rows, inside, window })
}

/// query, key, value, past key, past value, seqlens_k, total_sequence_length, cos, sin, position_ids, attention_bias, sinks.
pub(super) fn grouped(cx: &mut Cx, call: &Call) -> Outcome {
    let required = |name| {
        let count = plain::count(call, name)?.filter(|n| *n <= MOST_HEADS);
        count.ok_or_else(|| invalid(format!("{name} must be from 1 to {MOST_HEADS}")))
    };
    let (heads, kv) = (required("num_heads")?, required("kv_num_heads")?);
    refuse(call)?;
    let [mut q, mut k, v] = projections(cx, call, heads, kv)?;
    let rows = cx.shape(q)[2];
    let cache = cache(cx, call, rows)?;
    fits(cx, call, &cache, [q, k, v])?;
    if call.attrs.flag("do_rotary", false)? {
        let positions = match call.optional(9) {
            Some(p) => p,
            None => cache.positions(cx)?,
        };
        let tables = tables(cx, [call.input(7)?, call.input(8)?], positions)?;
        let turn = cx.shape(tables[0]).last().map(|half| 2 * half);
        let interleaved = call.attrs.flag("rotary_interleaved", false)?;
        q = plain::turned(cx, q, tables, turn, interleaved)?;
        k = plain::turned(cx, k, tables, turn, interleaved)?;
    }
    let k = joined(cx, &cache, call.optional(3), k, "present_key")?;
    let v = joined(cx, &cache, call.optional(4), v, "present_value")?;
    let y = attend(cx, call, &cache, [q, k, v])?;
    Ok(vec![y, k, v])
}

/// Keys and values have the queries' rows, and a cache those of all heads.
fn fits(cx: &Cx, call: &Call, cache: &Cache, [q, k, v]: [ValueId; 3]) -> Result<(), Refusal> {
    let (queries, keys) = (cx.shape(q), cx.shape(k));
    let [batch, _, rows, dim] = queries[..] else { return Ok(()) };
    let heads = keys.get(1).copied().unwrap_or(0);
    for (what, new, past) in [("key", k, call.optional(3)), ("value", v, call.optional(4))] {
        let wanted = [batch, heads, rows, dim];
        if cx.shape(new) != wanted {
            let shape = cx.shape(new);
            return Err(invalid(format!("its {what}, heads first, is {shape:?}, and its query asks for {wanted:?}")));
        }
        let wanted = [batch, heads, cache.past, dim];
        if let Some(past) = past.filter(|p| cx.shape(*p) != wanted) {
            return Err(invalid(format!("its past {what} of shape {:?} should be {wanted:?}", cx.shape(past))));
        }
    }
    Ok(())
}

fn refuse(call: &Call) -> Result<(), Refusal> {
    call.refuse_output(3, "the scores")?;
    if call.optional(11).is_some() || call.attrs.flag("smooth_softmax", false)? {
        return Err(unsupported("attention sinks and smooth_softmax are not supported"));
    }
    for name in ["k_quant_type", "v_quant_type"] {
        if !matches!(call.attrs.text_or(name, "NONE")?, "NONE") {
            return Err(unsupported(format!(
                "a quantised cache ({name}) is not supported; kv = \"int8\" of the manifest is"
            )));
        }
    }
    Ok(())
}

/// cos and sin rows [b, 1, s, half] at `positions`.
fn tables(cx: &mut Cx, caches: [ValueId; 2], positions: ValueId) -> Result<[ValueId; 2], Refusal> {
    let mut row = |cache: ValueId, label: &str| {
        cx.once(format!("{label} of {cache:?} at {positions:?}"), |cx| plain::table(cx, cache, Some(positions), label))
    };
    Ok([row(caches[0], "cos")?, row(caches[1], "sin")?])
}

/// The cache with the new rows: behind it, or at their positions in it.
fn joined(cx: &mut Cx, cache: &Cache, past: Option<ValueId>, new: ValueId, label: &str) -> Result<ValueId, Refusal> {
    if !cache.inside {
        return plain::present(cx, past, new, label);
    }
    let past = past.ok_or_else(|| invalid("a cache buffer is missing"))?;
    if cx.shape(new).first() != Some(&1) {
        return Err(unsupported("a cache buffer of more than one batch is not supported"));
    }
    let (takes, row) = cache.places(cx)?;
    let picked = cx.op(Op::Gather { axis: 2 }, &[new, row], "placed")?;
    cx.op(Op::Where, &[takes, picked, past], label)
}

/// softmax(q k^T * scale, where seen) v, as rows of heads.
fn attend(cx: &mut Cx, call: &Call, cache: &Cache, [q, k, v]: [ValueId; 3]) -> Result<ValueId, Refusal> {
    let [b, heads, rows, dim] = cx.shape(q)[..] else { return Err(invalid("queries must have rank 4")) };
    let scale = call.attrs.float("scale")?.filter(|s| *s != 0.0).map_or(1.0 / (dim as f64).sqrt(), f64::from);
    let all = plain::repeat(cx, k, heads, "k")?;
    let turned = cx.transpose(all, &[0, 1, 3, 2], "k_turned")?;
    let product = cx.op(Op::MatMul, &[q, turned], "qk")?;
    let product = cx.cast(product, DType::F32, "precise")?;
    let mut scores = cx.with_scalar(BinaryOp::Mul, product, scale, "scores")?;
    if let Some(cap) = call.attrs.float("softcap")?.filter(|c| *c > 0.0) {
        let small = cx.with_scalar(BinaryOp::Div, scores, cap.into(), "uncapped")?;
        let bent = cx.unary(UnaryOp::Tanh, small, "bent")?;
        scores = cx.with_scalar(BinaryOp::Mul, bent, cap.into(), "capped")?;
    }
    if let Some(bias) = call.optional(10) {
        let bias = cx.cast(bias, DType::F32, "bias")?;
        scores = cx.binary(BinaryOp::Add, scores, bias, "biased")?;
    }
    let seen = cache.seen(cx)?;
    let fill = cx.scalar(DType::F32, FILL);
    let masked = cx.op(Op::Where, &[seen, scores, fill], "masked")?;
    let probabilities = cx.op(Op::Softmax { axis: 3 }, &[masked], "probabilities")?;
    let own = cx.dtype(v);
    let probabilities = cx.cast(probabilities, own, "weights")?;
    let all = plain::repeat(cx, v, heads, "v")?;
    let y = cx.op(Op::MatMul, &[probabilities, all], "heads")?;
    let wide = cx.shape(y)[3];
    plain::rows_again(cx, y, &[b, rows, heads * wide])
}

/// x, position_ids, cos, sin.
pub(super) fn rotary(cx: &mut Cx, call: &Call) -> Outcome {
    let (x, given) = (call.input(0)?, call.input(1)?);
    let caches = [call.input(2)?, call.input(3)?];
    if call.attrs.float_or("scale", 1.0)? != 1.0 {
        return Err(unsupported("a rotary embedding with a scale is not supported"));
    }
    if call.attrs.flag("is_packed_batching", false)? {
        return Err(unsupported("packed batches are not supported"));
    }
    let shape = cx.shape(x);
    let half = cx.shape(caches[0]).last().copied().unwrap_or(0);
    let turn = plain::count(call, "rotary_embedding_dim")?;
    let heads = match (plain::count(call, "num_heads")?, shape.as_slice()) {
        (None, [_, _, width]) if half > 0 => width / (2 * half),
        (heads, _) => heads.unwrap_or(1),
    };
    let whole = split(cx, x, heads, "x")?;
    let &[b, _, rows, _] = &cx.shape(whole)[..] else { return Err(invalid("the input must have rank 3 or 4")) };
    let positions = if cx.graph.ty(given).elements() == 1 && b * rows != 1 {
        // The position of the first row.
        cx.once(format!("positions from {given:?} {b} {rows}"), |cx| {
            let first = cx.reshape(given, &[1, 1], "first")?;
            let count: Vec<i64> = (0..b * rows).map(|i| (i % rows) as i64).collect();
            let count = cx.tensor("count", crate::graph::Tensor::i64(&[b, rows], &count));
            cx.binary(BinaryOp::Add, first, count, "positions")
        })?
    } else {
        cx.reshape(given, &[b, rows], "positions")?
    };
    let tables = tables(cx, caches, positions)?;
    let turn = turn.or(Some(2 * half));
    let y = plain::turned(cx, whole, tables, turn, call.attrs.flag("interleaved", false)?)?;
    Ok(vec![plain::rows_again(cx, y, &shape)?])
}
