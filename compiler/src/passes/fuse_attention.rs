//! Finds scaled dot-product attention. In: products, softmax, scale, mask, repeated KV heads. Out: `Attention`. Promise: the
//! mask is recognised by its values at probe positions, never by the nodes that made it; one that is neither full, causal nor a
//! window stays an input.

use super::Log;
use super::look::{Found, Look, rewrite, substitute};
use super::roles::{self, Chunk};
use crate::error::Result;
use crate::graph::eval::{self, Values};
use crate::graph::{BinaryOp, Graph, Heads, Mask, Node, Op, UnaryOp, ValueId};
use std::cell::RefCell;
use std::collections::HashMap;

/// Scores at or under this are masked; FACTS of the field: exporters fill with -1e4 and less.
const MASKED: f32 = -1e3;

pub fn run(graph: &mut Graph, log: &mut Log) -> Result<()> {
    let masks = Masks { chunk: Chunk::of(graph).ok(), known: RefCell::default() };
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
fn softmax(look: &Look, p: ValueId) -> Option<ValueId> {
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

fn block(look: &Look, scores: ValueId, v: ValueId, masks: &Masks) -> Result<(Op, Vec<Option<ValueId>>), String> {
    let (product, mask, outer) = masked(look, scores)?;
    let (q, kt) =
        look.node(product).and_then(|n| Some((n.input(0)?, n.input(1)?))).ok_or("no product under the softmax")?;
    let (q, q_scale) = scaled(look, q);
    let (kt, kt_scale) = scaled(look, kt);
    let k = look.transpose(kt, &[0, 1, 3, 2]).ok_or("the keys of the product are not a transpose")?;
    let (k, k_scale) = scaled(look, k);
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
    let scale = outer * q_scale * kt_scale * k_scale;
    let kind = match mask {
        None => Mask::Full,
        Some(m) => masks.kind(look, m, *rows, *total),
    };
    let mut inputs = vec![Some(q), Some(k), Some(v)];
    if kind == Mask::Given {
        inputs.push(mask);
    }
    Ok((Op::Attention { heads, scale, mask: kind }, inputs))
}

/// `scale * product [+ mask]`: the product, the mask, the scale.
fn masked(look: &Look, scores: ValueId) -> Result<(ValueId, Option<ValueId>, f32), String> {
    let scores = look.uncast(scores);
    let is_product = |v: ValueId| matches!(look.node(v), Some(Node { op: Op::MatMul, .. }));
    let (plain, scale) = scaled(look, scores);
    if is_product(plain) {
        return Ok((plain, None, scale));
    }
    for (s, m) in look.either(scores, BinaryOp::Add).into_iter().flatten() {
        let (plain, scale) = scaled(look, look.uncast(s));
        if is_product(plain) {
            return Ok((plain, Some(look.uncast(m)), scale));
        }
    }
    Err("the softmax is not over a scaled product plus a mask".into())
}

/// `v` without the constant factors around it.
fn scaled(look: &Look, v: ValueId) -> (ValueId, f32) {
    let (mut v, mut scale) = (look.uncast(v), 1.0);
    loop {
        if let Some((x, s)) = look.with_scalar(v, BinaryOp::Mul) {
            (v, scale) = (look.uncast(x), scale * s);
        } else if let Some((x, d)) = look.binary(v, BinaryOp::Div)
            && let Some(s) = look.scalar(d)
        {
            (v, scale) = (look.uncast(x), scale / s);
        } else {
            return (v, scale);
        }
    }
}

/// The heads before `repeat_kv`: reshape [1, kv, 1, t, d], expand to [1, kv, rep, t, d], reshape [1, kv*rep, t, d].
fn unrepeat(look: &Look, v: ValueId) -> ValueId {
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

/// Recognises masks, each value once.
struct Masks {
    chunk: Option<Chunk>,
    known: RefCell<HashMap<ValueId, Mask>>,
}

impl Masks {
    fn kind(&self, look: &Look, mask: ValueId, rows: usize, total: usize) -> Mask {
        if let Some(kind) = self.known.borrow().get(&mask) {
            return *kind;
        }
        let kind = self.probe(look, mask, rows, total).unwrap_or(Mask::Given);
        self.known.borrow_mut().insert(mask, kind);
        kind
    }

    fn probe(&self, look: &Look, mask: ValueId, rows: usize, total: usize) -> Option<Mask> {
        let graph = look.graph;
        if graph.value(mask).name == roles::MASK && graph.inputs.contains(&mask) {
            return Some(Mask::Causal);
        }
        let chunk = self.chunk.as_ref()?;
        if !roles::is_positional(graph, &graph.producers(), mask) || chunk.rows != rows || chunk.total != total {
            return None;
        }
        let past = total - rows;
        let full = live(graph, chunk, mask, past)?;
        let at = |i: usize, j: usize| full[i * total + j];
        let window = (0..total).rev().take_while(|j| at(rows - 1, *j)).count();
        let kind = match window {
            w if w == total => Mask::Causal,
            w => Mask::Window(w),
        };
        let reach = if let Mask::Window(w) = kind { w } else { total };
        let mut probes = vec![past];
        if kind == Mask::Causal {
            probes.extend([0, past / 2, past.saturating_sub(1)]);
        }
        let holds = probes.into_iter().all(|pos| {
            let Some(seen) = live(graph, chunk, mask, pos) else { return false };
            (0..rows).all(|i| {
                (0..total).all(|j| {
                    let now = past + i;
                    let filled = j < pos || j >= past;
                    seen[i * total + j] == (j <= now && now - j < reach && filled)
                })
            })
        });
        if holds { Some(kind) } else { full.iter().all(|x| *x).then_some(Mask::Full).filter(|_| rows > 1) }
    }
}

/// Which of [rows, total] the mask lets through for a chunk at `pos`.
fn live(graph: &Graph, chunk: &Chunk, mask: ValueId, pos: usize) -> Option<Vec<bool>> {
    let value = eval::values(graph, chunk.given(pos), &[mask]).ok()?.pop()?;
    let Values::F32(data) = value.data else { return None };
    let size = chunk.rows * chunk.total;
    (data.len() == size).then(|| data.iter().map(|x| *x > MASKED).collect())
}
