//! Attention and rotary embedding of opset 23 and 24. In: the fused ONNX operators. Out: products, softmax and masks. Promise: the
//! same graph an exporter writes without those operators, so that the same fusions match.

use super::elementwise::dtype;
use super::{Call, Cx, Outcome, Refusal, Rule, bounded, invalid};
use crate::graph::{BinaryOp, DType, Op, PadMode, Tensor, UnaryOp, ValueId};
use crate::import::read::encode;

/// The rule of an operator of this family.
pub fn rule(op: &str) -> Option<Rule> {
    Some(match op {
        "Attention" => attention,
        "RotaryEmbedding" => rotary,
        _ => return None,
    })
}

/// What a masked score is set to: far below every real score, and a row of nothing else stays finite.
pub(super) const FILL: f64 = -1e4;

/// Integers above zero; absent and 0 are the same.
pub(super) fn count(call: &Call, name: &str) -> Result<Option<usize>, Refusal> {
    match call.attrs.int_or(name, 0)? {
        0 => Ok(None),
        n => usize::try_from(n).map(Some).map_err(|_| invalid(format!("{name} is negative"))),
    }
}

/// [b, s, heads * d] as [b, heads, s, d].
pub(super) fn heads_first(cx: &mut Cx, x: ValueId, heads: Option<usize>, label: &str) -> Result<ValueId, Refusal> {
    let shape = cx.shape(x);
    match (shape.as_slice(), heads) {
        ([_, _, _, _], _) => Ok(x),
        ([b, s, width], Some(heads)) if width % heads == 0 => {
            let split = cx.reshape(x, &[*b, *s, heads, width / heads], &format!("{label}_split"))?;
            cx.transpose(split, &[0, 2, 1, 3], &format!("{label}_heads"))
        }
        _ => Err(invalid(format!("{label} of shape {shape:?} does not divide into {heads:?} heads"))),
    }
}

fn attention(cx: &mut Cx, call: &Call) -> Outcome {
    let flat = cx.rank(call.input(0)?) == 3;
    let (q_heads, kv_heads) = (count(call, "q_num_heads")?, count(call, "kv_num_heads")?);
    let q = heads_first(cx, call.input(0)?, q_heads, "q")?;
    let k = heads_first(cx, call.input(1)?, kv_heads, "k")?;
    let v = heads_first(cx, call.input(2)?, kv_heads, "v")?;
    let past = call.optional(4).map_or(0, |p| cx.shape(p).get(2).copied().unwrap_or(0));
    let k = present(cx, call.optional(4), k, "present_key")?;
    let v = present(cx, call.optional(5), v, "present_value")?;
    let mode = call.attrs.int_or("qk_matmul_output_mode", 0)?;
    let mut scores = scaled(cx, call, q, k)?;
    let mut shown = scores;
    // Only a caller who looks at the masked scores can tell minus infinity from a large negative number.
    let fill = if call.wants(3) && matches!(mode, 1 | 2) { f64::NEG_INFINITY } else { FILL };
    scores = masked(cx, call, scores, past, fill)?;
    shown = if mode == 1 { scores } else { shown };
    if let Some(cap) = call.attrs.float("softcap")?.filter(|c| *c > 0.0) {
        let small = cx.with_scalar(BinaryOp::Div, scores, cap as f64, "uncapped")?;
        let bent = cx.unary(UnaryOp::Tanh, small, "bent")?;
        scores = cx.with_scalar(BinaryOp::Mul, bent, cap as f64, "capped")?;
    }
    shown = if mode == 2 { scores } else { shown };
    let own = cx.dtype(q);
    let precise = match call.attrs.int("softmax_precision")?.filter(|t| *t != 0) {
        Some(t) => dtype(t)?,
        None => own,
    };
    let scores = cx.cast(scores, precise, "precise")?;
    let probabilities = cx.op(Op::Softmax { axis: 3 }, &[scores], "probabilities")?;
    let value_type = cx.dtype(v);
    let probabilities = cx.cast(probabilities, value_type, "weights")?;
    shown = if mode == 3 { cx.cast(probabilities, own, "shown")? } else { shown };
    let spread = repeat(cx, v, cx.shape(q)[1], "v")?;
    let mut y = cx.op(Op::MatMul, &[probabilities, spread], if flat { "heads" } else { "" })?;
    if flat {
        let shape = cx.shape(y);
        let rows = cx.transpose(y, &[0, 2, 1, 3], "rows")?;
        y = cx.reshape(rows, &[shape[0], shape[2], shape[1] * shape[3]], "")?;
    }
    Ok(vec![y, k, v, shown])
}

/// The cache with the new rows behind it.
pub(super) fn present(cx: &mut Cx, past: Option<ValueId>, new: ValueId, label: &str) -> Result<ValueId, Refusal> {
    match past {
        Some(past) => cx.op(Op::Concat { axis: 2 }, &[past, new], label),
        None => Ok(new),
    }
}

/// Key or value heads repeated for grouped queries: [b, hkv, t, d] as [b, hq, t, d].
pub(super) fn repeat(cx: &mut Cx, x: ValueId, heads: usize, label: &str) -> Result<ValueId, Refusal> {
    let [b, own, t, d] = cx.shape(x)[..] else { return Err(invalid("keys and values must have rank 4")) };
    if own == heads {
        return Ok(x);
    }
    if own == 0 || !heads.is_multiple_of(own) {
        return Err(invalid(format!("{heads} query heads cannot share {own} key heads")));
    }
    let grouped = cx.reshape(x, &[b, own, 1, t, d], &format!("{label}_grouped"))?;
    let spread = cx.expand(grouped, &[b, own, heads / own, t, d], &format!("{label}_spread"))?;
    cx.reshape(spread, &[b, heads, t, d], &format!("{label}_repeated"))
}

fn scaled(cx: &mut Cx, call: &Call, q: ValueId, k: ValueId) -> Result<ValueId, Refusal> {
    let [_, heads, _, dim] = cx.shape(q)[..] else { return Err(invalid("queries must have rank 4")) };
    let k = repeat(cx, k, heads, "k")?;
    let turned = cx.transpose(k, &[0, 1, 3, 2], "k_turned")?;
    let scale = call.attrs.float("scale")?.filter(|s| *s != 0.0).map_or(1.0 / (dim as f64).sqrt(), |s| s as f64);
    let product = cx.op(Op::MatMul, &[q, turned], "qk")?;
    cx.with_scalar(BinaryOp::Mul, product, scale, "scores")
}

/// Scores with the mask, the causal bias and the padding of the cache applied.
fn masked(cx: &mut Cx, call: &Call, scores: ValueId, past: usize, fill: f64) -> Result<ValueId, Refusal> {
    let [b, _, rows, keys] = cx.shape(scores)[..] else { return Err(invalid("scores must have rank 4")) };
    let own = cx.dtype(scores);
    let mut scores = scores;
    if let Some(mask) = call.optional(3) {
        let bias = mask_bias(cx, mask, keys, own, fill)?;
        scores = cx.binary(BinaryOp::Add, scores, bias, "masked")?;
    }
    if call.attrs.flag("is_causal", false)? {
        let hidden = |i: usize| if i % keys > past + i / keys { fill } else { 0.0 };
        let elements = bounded(rows.saturating_mul(keys), "a causal mask")?;
        let bias: Vec<f64> = (0..elements).map(hidden).collect();
        let bias = cx.tensor("causal", Tensor::from_bytes(own, vec![rows, keys], encode(own, &bias)));
        scores = cx.binary(BinaryOp::Add, scores, bias, "causally_masked")?;
    }
    if let Some(lengths) = call.optional(6) {
        let positions: Vec<i64> = (0..bounded(keys, "a list of positions")? as i64).collect();
        let positions = cx.tensor("positions", Tensor::i64(&[keys], &positions));
        let lengths = cx.cast(lengths, DType::I64, "lengths")?;
        let lengths = cx.reshape(lengths, &[b, 1, 1, 1], "lengths")?;
        let live = cx.binary(BinaryOp::Less, positions, lengths, "live")?;
        let bias = bool_bias(cx, live, own, fill)?;
        scores = cx.binary(BinaryOp::Add, scores, bias, "padding_masked")?;
    }
    Ok(scores)
}

pub(super) fn bool_bias(cx: &mut Cx, keep: ValueId, dtype: DType, fill: f64) -> Result<ValueId, Refusal> {
    let (zero, fill) = (cx.scalar(dtype, 0.0), cx.scalar(dtype, fill));
    cx.op(Op::Where, &[keep, zero, fill], "bias")
}

/// A mask as an additive bias over all keys; keys past the end of a short mask are hidden.
fn mask_bias(cx: &mut Cx, mask: ValueId, keys: usize, dtype: DType, fill: f64) -> Result<ValueId, Refusal> {
    let shape = cx.shape(mask);
    let short = shape.last().map_or(0, |n| keys.saturating_sub(*n));
    let is_bool = cx.dtype(mask) == DType::Bool;
    let mut mask = mask;
    // A mask of one column is broadcast like any other extent of 1 only when there is one key.
    if short > 0 {
        let mut pads = vec![0i64; 2 * shape.len()];
        pads[2 * shape.len() - 1] = short as i64;
        let value = if is_bool { cx.scalar(DType::Bool, 0.0) } else { cx.scalar(cx.dtype(mask), fill) };
        mask = cx.op(Op::Pad { mode: PadMode::Constant, pads }, &[mask, value], "mask_padded")?;
    }
    if is_bool { bool_bias(cx, mask, dtype, fill) } else { cx.cast(mask, dtype, "mask") }
}

/// cos or sin rows as [b, 1, s, half], picked by position where there are positions.
pub(super) fn table(cx: &mut Cx, cache: ValueId, positions: Option<ValueId>, label: &str) -> Result<ValueId, Refusal> {
    let rows = match positions {
        Some(p) => cx.op(Op::Gather { axis: 0 }, &[cache, p], label)?,
        None => cache,
    };
    let [b, s, half] = cx.shape(rows)[..] else {
        return Err(invalid(format!("{label} rows must be [batch, sequence, half], are {:?}", cx.shape(rows))));
    };
    cx.reshape(rows, &[b, 1, s, half], &format!("{label}_rows"))
}

fn rotary(cx: &mut Cx, call: &Call) -> Outcome {
    let x = call.input(0)?;
    let shape = cx.shape(x);
    let cos = table(cx, call.input(1)?, call.optional(3), "cos")?;
    let sin = table(cx, call.input(2)?, call.optional(3), "sin")?;
    let whole = heads_first(cx, x, count(call, "num_heads")?, "x")?;
    let turn = count(call, "rotary_embedding_dim")?;
    let y = turned(cx, whole, [cos, sin], turn, call.attrs.flag("interleaved", false)?)?;
    Ok(vec![rows_again(cx, y, &shape)?])
}

/// Heads [b, heads, s, d] as x of `shape` has them: side by side where that has rank 3.
pub(super) fn rows_again(cx: &mut Cx, y: ValueId, shape: &[usize]) -> Result<ValueId, Refusal> {
    if shape.len() != 3 {
        return Ok(y);
    }
    let rows = cx.transpose(y, &[0, 2, 1, 3], "rows")?;
    cx.reshape(rows, shape, "")
}

/// The leading `turn` channels (all of them unless given) of heads [b, heads, s, d] turned by tables [b, 1, s, turn / 2].
pub(super) fn turned(
    cx: &mut Cx,
    whole: ValueId,
    [cos, sin]: [ValueId; 2],
    turn: Option<usize>,
    interleaved: bool,
) -> Result<ValueId, Refusal> {
    let [b, heads, s, dim] = cx.shape(whole)[..] else { return Err(invalid("the input must have rank 3 or 4")) };
    let turn = turn.unwrap_or(dim);
    if turn > dim || !turn.is_multiple_of(2) || cx.shape(cos).last() != Some(&(turn / 2)) {
        return Err(invalid(format!(
            "{turn} channels of {dim} cannot be turned by tables of shape {:?}",
            cx.shape(cos)
        )));
    }
    let part = cx.slice(whole, 3, 0, turn, "turning")?;
    let (x1, x2) = if interleaved { (every_other(cx, part, 0)?, every_other(cx, part, 1)?) } else { halves(cx, part)? };
    let (a, b2) = (cx.binary(BinaryOp::Mul, x1, cos, "x1_cos")?, cx.binary(BinaryOp::Mul, x2, sin, "x2_sin")?);
    let (c, d) = (cx.binary(BinaryOp::Mul, x1, sin, "x1_sin")?, cx.binary(BinaryOp::Mul, x2, cos, "x2_cos")?);
    let mut real = cx.binary(BinaryOp::Sub, a, b2, "real")?;
    let mut imaginary = cx.binary(BinaryOp::Add, c, d, "imaginary")?;
    if interleaved {
        real = cx.reshape(real, &[b, heads, s, turn / 2, 1], "real_pairs")?;
        imaginary = cx.reshape(imaginary, &[b, heads, s, turn / 2, 1], "imaginary_pairs")?;
    }
    let axis = if interleaved { 4 } else { 3 };
    let mut y = cx.op(Op::Concat { axis }, &[real, imaginary], "turned")?;
    y = cx.reshape(y, &[b, heads, s, turn], "turned")?;
    if turn < dim {
        let rest = cx.slice(whole, 3, turn, dim - turn, "rest")?;
        y = cx.op(Op::Concat { axis: 3 }, &[y, rest], "joined")?;
    }
    Ok(y)
}

fn halves(cx: &mut Cx, x: ValueId) -> Result<(ValueId, ValueId), Refusal> {
    let half = cx.shape(x)[3] / 2;
    Ok((cx.slice(x, 3, 0, half, "x1")?, cx.slice(x, 3, half, half, "x2")?))
}

fn every_other(cx: &mut Cx, x: ValueId, from: i64) -> Result<ValueId, Refusal> {
    let mut len = cx.shape(x);
    len[3] /= 2;
    cx.op(Op::Slice { begin: vec![0, 0, 0, from], step: vec![1, 1, 1, 2], len }, &[x], "every_other")
}
