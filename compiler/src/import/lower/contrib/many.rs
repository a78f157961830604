//! Attention of many heads. In: MultiHeadAttention. Out: heads, products, softmax and masks, as exporters write them. Promise: packed
//! projections are taken apart first; a key that is masked away counts as nothing.

use super::super::attention::{self as plain, FILL};
use super::super::bounded;
use super::{Call, Cx, Outcome, Refusal, invalid, unsupported};
use crate::graph::{BinaryOp, DType, Op, Tensor, ValueId};

/// query, key, value, bias, key_padding_mask, attention_bias, past_key, past_value.
pub(super) fn headed(cx: &mut Cx, call: &Call) -> Outcome {
    let heads = plain::count(call, "num_heads")?.ok_or_else(|| invalid("num_heads must be at least 1"))?;
    call.refuse_output(3, "the scores")?;
    if call.optional(8).is_some() || call.optional(9).is_some() {
        return Err(unsupported("past_sequence_length and cache_indirection are not supported"));
    }
    let parts = parts(cx, call, heads)?;
    let [q, k, v] = biased(cx, call, parts, heads)?;
    let past = call.optional(6).map_or(0, |p| cx.shape(p).get(2).copied().unwrap_or(0));
    let k = plain::present(cx, call.optional(6), k, "present_key")?;
    let v = plain::present(cx, call.optional(7), v, "present_value")?;
    let y = attend(cx, call, [q, k, v], past)?;
    Ok(vec![y, k, v])
}

/// Part `i` of a packed input [b, s, heads, parts, d], heads first.
fn part(cx: &mut Cx, x: ValueId, i: usize, label: &str) -> Result<ValueId, Refusal> {
    let [b, s, heads, _, d] = cx.shape(x)[..] else { return Err(invalid("a packed input must have rank 5")) };
    let one = cx.slice(x, 3, i, 1, label)?;
    let rows = cx.reshape(one, &[b, s, heads, d], label)?;
    cx.transpose(rows, &[0, 2, 1, 3], label)
}

/// Queries, keys and values, heads first.
fn parts(cx: &mut Cx, call: &Call, heads: usize) -> Result<[ValueId; 3], Refusal> {
    let q = call.input(0)?;
    match (call.optional(1), call.optional(2)) {
        (None, None) if cx.rank(q) == 5 => Ok([part(cx, q, 0, "q")?, part(cx, q, 1, "k")?, part(cx, q, 2, "v")?]),
        (Some(kv), None) if cx.rank(kv) == 5 => {
            let q = plain::heads_first(cx, q, Some(heads), "q")?;
            Ok([q, part(cx, kv, 0, "k")?, part(cx, kv, 1, "v")?])
        }
        (Some(k), Some(v)) => {
            let mut split = |x, label| plain::heads_first(cx, x, Some(heads), label);
            Ok([split(q, "q")?, split(k, "k")?, split(v, "v")?])
        }
        _ => Err(invalid("its query, key and value are neither three inputs, nor packed in one or two of rank 5")),
    }
}

/// Each with its share of the bias [q, k, v side by side] added.
fn biased(cx: &mut Cx, call: &Call, parts: [ValueId; 3], heads: usize) -> Result<[ValueId; 3], Refusal> {
    let Some(bias) = call.optional(3) else { return Ok(parts) };
    let mut out = parts;
    let mut from = 0;
    for (i, x) in parts.into_iter().enumerate() {
        let dim = cx.shape(x)[3];
        if cx.shape(bias).first().is_none_or(|n| *n < from + heads * dim) {
            return Err(invalid(format!("a bias of shape {:?} is too short", cx.shape(bias))));
        }
        let own = cx.slice(bias, 0, from, heads * dim, "bias")?;
        let own = cx.reshape(own, &[1, heads, 1, dim], "bias")?;
        out[i] = cx.binary(BinaryOp::Add, x, own, "biased")?;
        from += heads * dim;
    }
    Ok(out)
}

fn attend(cx: &mut Cx, call: &Call, [q, k, v]: [ValueId; 3], past: usize) -> Result<ValueId, Refusal> {
    let ([b, heads, rows, dim], [_, _, keys, _]) = (&cx.shape(q)[..], &cx.shape(k)[..]) else {
        return Err(invalid("queries and keys must have rank 4"));
    };
    let (b, heads, rows, keys, dim) = (*b, *heads, *rows, *keys, *dim);
    let scale = call.attrs.float("scale")?.filter(|s| *s != 0.0).map_or(1.0 / (dim as f64).sqrt(), f64::from);
    let turned = cx.transpose(k, &[0, 1, 3, 2], "k_turned")?;
    let product = cx.op(Op::MatMul, &[q, turned], "qk")?;
    let product = cx.cast(product, DType::F32, "precise")?;
    let mut scores = cx.with_scalar(BinaryOp::Mul, product, scale, "scores")?;
    if let Some(bias) = call.optional(5) {
        let bias = cx.cast(bias, DType::F32, "extra")?;
        scores = cx.binary(BinaryOp::Add, scores, bias, "biased")?;
    }
    let fill = f64::from(call.attrs.float_or("mask_filter_value", FILL as f32)?).max(FILL);
    if call.attrs.flag("unidirectional", false)? {
        bounded(rows.saturating_mul(keys), "a causal mask")?;
        let seen: Vec<u8> = (0..rows * keys).map(|i| u8::from(i % keys <= past + i / keys)).collect();
        let seen = cx.tensor("causal", Tensor::from_bytes(DType::Bool, vec![rows, keys], seen));
        scores = hidden(cx, seen, scores, fill)?;
    }
    if let Some(mask) = call.optional(4) {
        let seen = padding(cx, mask, [b, rows, keys])?;
        scores = hidden(cx, seen, scores, fill)?;
    }
    let probabilities = cx.op(Op::Softmax { axis: 3 }, &[scores], "probabilities")?;
    let own = cx.dtype(v);
    let probabilities = cx.cast(probabilities, own, "weights")?;
    let y = cx.op(Op::MatMul, &[probabilities, v], "heads")?;
    let wide = cx.shape(y)[3];
    plain::rows_again(cx, y, &[b, rows, heads * wide])
}

fn hidden(cx: &mut Cx, seen: ValueId, scores: ValueId, fill: f64) -> Result<ValueId, Refusal> {
    let fill = cx.scalar(DType::F32, fill);
    cx.op(Op::Where, &[seen, scores, fill], "masked")
}

/// Which keys are live: lengths [b], a mask [b, keys], or one for each query, [b, rows, keys].
fn padding(cx: &mut Cx, mask: ValueId, [b, rows, keys]: [usize; 3]) -> Result<ValueId, Refusal> {
    let shape = cx.shape(mask);
    if shape == [b] {
        let places: Vec<i64> = (0..keys as i64).collect();
        let places = cx.tensor("places", Tensor::i64(&[keys], &places));
        let lengths = cx.cast(mask, DType::I64, "lengths")?;
        let lengths = cx.reshape(lengths, &[b, 1, 1, 1], "lengths")?;
        return cx.binary(BinaryOp::Less, places, lengths, "live");
    }
    let wide = match shape[..] {
        [n, m] if n == b && m == keys => [b, 1, 1, keys],
        [n, r, m] if n == b && r == rows && m == keys => [b, 1, rows, keys],
        _ => return Err(unsupported(format!("a key_padding_mask of shape {shape:?} is not supported"))),
    };
    let mask = cx.reshape(mask, &wide, "mask")?;
    let zero = cx.scalar(cx.dtype(mask), 0.0);
    cx.binary(BinaryOp::Greater, mask, zero, "live")
}
