//! Finds scaled dot-product attention. In: products, softmax, scale, mask, repeated KV heads. Out: `Attention`. Promise: the
//! mask is recognised by its values at probe positions, never by the nodes that made it; one that is neither full, causal nor a
//! window stays an input.

mod masks;

use super::Log;
use super::look::{Found, Look, rewrite, substitute};
use super::roles::Chunk;
use crate::error::Result;
use crate::graph::{BinaryOp, Graph, Heads, Mask, Node, Op, UnaryOp, ValueId};
pub(super) use masks::Term;
use masks::{MASKED, Masks};

pub fn run(graph: &mut Graph, log: &mut Log) -> Result<()> {
    let masks = Masks::new(Chunk::of(graph).ok());
    let count = rewrite(graph, log, |look, node| find(look, node, &masks), substitute)?;
    log.say(format!("{count} attention blocks"));
    Ok(())
}

fn find(look: &Look, node: &Node, masks: &Masks) -> Found<(Op, Vec<Option<ValueId>>)> {
    let Op::MatMul = node.op else { return Found::No };
    let (Some(p), Some(v)) = (node.input(0), node.input(1)) else { return Found::No };
    let Some(softmax) = softmax(look, p) else { return Found::No };
    match block(look, softmax, v, masks) {
        Ok(m) => Found::Yes(m),
        Err(why) => Found::Declined(why),
    }
}

/// The scores under a softmax over the last axis, seen through casts and NaN guards.
pub(super) fn softmax(look: &Look, p: ValueId) -> Option<ValueId> {
    let p = look.uncast(p);
    let node = look.node(p)?;
    match node.op {
        Op::Where => {
            let (test, kept) = (node.input(0)?, node.input(2)?);
            let inner = look.unary(test, UnaryOp::IsNan)?;
            (look.uncast(inner) == look.uncast(kept)).then(|| softmax(look, kept)).flatten()
        }
        Op::Softmax { axis } if axis + 1 == look.graph.shape(p).len() => node.input(0),
        _ => None,
    }
}

fn block(look: &Look, under: ValueId, v: ValueId, masks: &Masks) -> Result<(Op, Vec<Option<ValueId>>), String> {
    let Scores { product, scale, cap, terms } =
        scores(look, under).ok_or("the softmax is not over a scaled product and masks")?;
    let (q, kt) =
        look.node(product).and_then(|n| Some((n.input(0)?, n.input(1)?))).ok_or("no product under the softmax")?;
    let (q, q_scale) = look.scaled(q);
    let (kt, kt_scale) = look.scaled(kt);
    let k = look.transpose(kt, &[0, 1, 3, 2]).ok_or("the keys of the product are not a transpose")?;
    let (k, k_scale) = look.scaled(k);
    let (q_shape, v_shape) = (look.graph.shape(q).to_vec(), look.graph.shape(v).to_vec());
    let ([1, hq, rows, dim], [1, hv, total, dv]) = (&q_shape[..], &v_shape[..]) else {
        return Err(format!("q {q_shape:?} and v {v_shape:?} are not one batch of heads"));
    };
    if dim != dv || hq != hv || look.graph.shape(k) != [1, *hq, *total, *dim] {
        return Err(format!("q {q_shape:?}, k {:?}, v {v_shape:?} differ in heads", look.graph.shape(k)));
    }
    let (k, v) = (unrepeat(look, k), unrepeat(look, v));
    if look.graph.shape(k) != look.graph.shape(v) {
        return Err("keys and values repeat their heads differently".into());
    }
    let heads = Heads { q: *hq, kv: look.graph.shape(k)[1], dim: *dim };
    let scale = snapped(scale * q_scale * kt_scale * k_scale, *dim);
    let kind = masks.kind(look, &terms, [*rows, *total])?;
    let mut inputs = vec![Some(q), Some(k), Some(v)];
    if let (Mask::Given, [Term::Add(mask)]) = (kind, &terms[..]) {
        inputs.push(Some(*mask));
    }
    Ok((Op::Attention { heads, scale, mask: kind, cap }, inputs))
}

/// The product under a softmax, its scale, and what hides keys on the way.
pub(super) struct Scores {
    pub product: ValueId,
    pub scale: f32,
    /// What scores are bent to, `cap * tanh(score / cap)`; 0: they are not.
    pub cap: f32,
    pub terms: Vec<Term>,
}

/// `scale * product`, then any number of `+ mask`, `where(seen, scores, fill)` and `where(hidden, fill, scores)`.
pub(super) fn scores(look: &Look, v: ValueId) -> Option<Scores> {
    let v = look.uncast(v);
    let (product, scale) = look.scaled(v);
    if matches!(look.node(product), Some(Node { op: Op::MatMul, .. })) {
        return Some(Scores { product, scale, cap: 0.0, terms: Vec::new() });
    }
    if let Some(capped) = capped(look, v) {
        return Some(capped);
    }
    let with = |inner: ValueId, term: Term| {
        let mut s = scores(look, inner)?;
        s.terms.push(term);
        Some(s)
    };
    let node = look.node(v)?;
    if node.op != Op::Where {
        let sums = look.either(v, BinaryOp::Add).into_iter().flatten();
        return sums.into_iter().find_map(|(s, m)| with(s, Term::Add(look.uncast(m))));
    }
    let (test, yes, no) = (node.input(0)?, node.input(1)?, node.input(2)?);
    let fill = |v| look.scalar(v).is_some_and(|x| x <= MASKED);
    if fill(no) {
        return with(yes, Term::Seen(test));
    }
    fill(yes).then(|| with(no, Term::Hidden(test))).flatten()
}

/// `cap * tanh(scale * product / cap)`, the division in any spelling.
fn capped(look: &Look, v: ValueId) -> Option<Scores> {
    let (bent, cap) = look.scaled(v);
    let inner = look.unary(look.uncast(bent), UnaryOp::Tanh)?;
    let (product, scale) = look.scaled(look.uncast(inner));
    let fits = cap > 0.0 && matches!(look.node(product), Some(Node { op: Op::MatMul, .. }));
    fits.then(|| Scores { product, scale: scale * cap, cap, terms: Vec::new() })
}

/// Within rounding of `1 / sqrt(dim)` it is that, however an exporter split the factor.
pub(super) fn snapped(scale: f32, dim: usize) -> f32 {
    let usual = (dim as f32).sqrt().recip();
    if (scale / usual - 1.0).abs() < 1e-6 { usual } else { scale }
}

/// The heads before `repeat_kv`: reshape [1, kv, 1, t, d], expand to [1, kv, rep, t, d], reshape [1, kv*rep, t, d].
pub(super) fn unrepeat(look: &Look, v: ValueId) -> ValueId {
    let inner = || {
        let wide = look.reshape(look.uncast(v))?;
        let node = look.node(wide)?;
        let Op::Expand { shape } = &node.op else { return None };
        let narrow = node.input(0)?;
        let base = look.reshape(narrow)?;
        let ([1, kv, _, t, d], [1, kv2, 1, t2, d2]) = (&shape[..], look.graph.shape(narrow)) else { return None };
        let same = (kv, t, d) == (kv2, t2, d2) && look.graph.shape(base) == [1, *kv, *t, *d];
        same.then_some(base)
    };
    inner().unwrap_or(look.uncast(v))
}
