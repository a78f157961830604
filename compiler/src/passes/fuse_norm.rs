//! Finds RMS and layer normalisation written out in primitive operators. In: means, squares and roots. Out: `RmsNorm`,
//! `LayerNorm`. Promise: the last axis, an epsilon inside the root, a scale of the axis' length; else it declines.

use super::Log;
use super::look::{Found, Look, rewrite, substitute};
use crate::error::Result;
use crate::graph::{BinaryOp, Graph, Node, Op, ReduceOp, UnaryOp, ValueId};

type Match = (Op, Vec<Option<ValueId>>);

pub fn run(graph: &mut Graph, log: &mut Log) -> Result<()> {
    let count = rewrite(graph, log, find, substitute)?;
    log.say(format!("{count} norms"));
    Ok(())
}

fn find(look: &Look, node: &Node) -> Found<Match> {
    if let Some(m) = with_bias(look, node.out()) {
        return Found::Yes(m);
    }
    scaled(look, node.out()).into()
}

/// `layer_norm(x) * scale + bias`, where the scaled form has been fused already.
fn with_bias(look: &Look, v: ValueId) -> Option<Match> {
    look.either(v, BinaryOp::Add).into_iter().flatten().find_map(|(y, bias)| {
        let node = look.node(y)?;
        let Op::LayerNorm { axis, eps } = node.op else { return None };
        let (x, scale) = (node.input(0)?, node.input(1)?);
        let fits = node.input(2).is_none() && look.single(y) && is_weight(look, bias, *look.graph.shape(x).last()?);
        fits.then(|| (Op::LayerNorm { axis, eps }, vec![Some(x), Some(scale), Some(bias)]))
    })
}

/// `normed(x) * scale`.
fn scaled(look: &Look, v: ValueId) -> Option<Match> {
    look.either(v, BinaryOp::Mul).into_iter().flatten().find_map(|(y, scale)| {
        let (x, eps, centred) = normed(look, look.uncast(y))?;
        let shape = look.graph.shape(x);
        let width = *shape.last()?;
        if !is_weight(look, scale, width) || look.graph.ty(v).dtype != look.graph.ty(x).dtype {
            return None;
        }
        let axis = shape.len() - 1;
        let op = if centred { Op::LayerNorm { axis, eps } } else { Op::RmsNorm { axis, eps } };
        Some((op, vec![Some(x), Some(scale)]))
    })
}

fn is_weight(look: &Look, v: ValueId, width: usize) -> bool {
    let v = look.uncast(v);
    look.graph.constant(v).is_some() && look.graph.shape(v) == [width]
}

/// `x * rsqrt(mean(x^2) + eps)` in its spellings. Returns x (or the uncentred x), eps, and whether the mean was subtracted.
fn normed(look: &Look, y: ValueId) -> Option<(ValueId, f32, bool)> {
    let product = look.either(y, BinaryOp::Mul).into_iter().flatten();
    let mut forms: Vec<(ValueId, ValueId)> =
        product.filter_map(|(x, r)| Some((x, inverse_root(look, look.uncast(r))?))).collect();
    if let Some((x, root)) = look.binary(y, BinaryOp::Div)
        && let Some(inner) = root_of(look, look.uncast(root))
    {
        forms.push((x, inner));
    }
    forms.into_iter().find_map(|(x, inner)| {
        let (mean, eps) = look.with_scalar(inner, BinaryOp::Add)?;
        let square = mean_of(look, mean)?;
        let base = square_of(look, look.uncast(square))?;
        let same = look.uncast(base) == look.uncast(x);
        same.then_some(())?;
        match centred(look, look.uncast(x)) {
            Some(raw) => Some((raw, eps, true)),
            None => Some((look.uncast(x), eps, false)),
        }
    })
}

fn centred(look: &Look, d: ValueId) -> Option<ValueId> {
    let (x, mean) = look.binary(d, BinaryOp::Sub)?;
    (look.uncast(mean_of(look, look.uncast(mean))?) == look.uncast(x)).then(|| look.uncast(x))
}

/// The value under `1 / sqrt(v)`.
fn inverse_root(look: &Look, r: ValueId) -> Option<ValueId> {
    if let Some(v) = look.unary(r, UnaryOp::Rsqrt) {
        return Some(v);
    }
    if let Some(root) = look.unary(r, UnaryOp::Reciprocal) {
        return root_of(look, look.uncast(root));
    }
    if let Some((one, root)) = look.binary(r, BinaryOp::Div)
        && look.scalar(one) == Some(1.0)
    {
        return root_of(look, look.uncast(root));
    }
    let (v, power) = look.binary(r, BinaryOp::Pow)?;
    (look.scalar(power) == Some(-0.5)).then_some(v)
}

fn root_of(look: &Look, v: ValueId) -> Option<ValueId> {
    if let Some(x) = look.unary(v, UnaryOp::Sqrt) {
        return Some(x);
    }
    let (x, power) = look.binary(v, BinaryOp::Pow)?;
    (look.scalar(power) == Some(0.5)).then_some(x)
}

fn square_of(look: &Look, v: ValueId) -> Option<ValueId> {
    if let Some((a, b)) = look.binary(v, BinaryOp::Mul) {
        return (a == b).then_some(a);
    }
    let (x, power) = look.binary(v, BinaryOp::Pow)?;
    (look.scalar(power) == Some(2.0)).then_some(x)
}

/// The input of a mean over the last axis that keeps it.
fn mean_of(look: &Look, v: ValueId) -> Option<ValueId> {
    let node = look.node(v)?;
    let x = node.input(0)?;
    match &node.op {
        Op::Reduce { kind: ReduceOp::Mean, axes, keep: true } if axes == &[look.graph.shape(x).len() - 1] => Some(x),
        _ => None,
    }
}
