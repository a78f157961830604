//! Turns products with constant matrices into `Linear`, then folds bias, activation-free residual and leading norm in.
//! In: MatMul, Gemm, Add. Out: `Linear`. Promise: weights are used as they lie (`nk` tells), never transposed here.

use super::Log;
use super::look::{Look, rewrite, substitute};
use crate::error::Result;
use crate::graph::{BinaryOp, Graph, Node, Norm, Op, ValueId};

type Match = (Op, Vec<Option<ValueId>>);

pub fn run(graph: &mut Graph, log: &mut Log) -> Result<()> {
    let products = rewrite(graph, log, |look, node| product(look, node).into(), substitute)?;
    let flat = rewrite(graph, log, |look, node| flat(look, node).into(), unflatten)?;
    log.say(format!("{products} linear layers, {flat} of them on flattened rows"));
    bias(graph, log)
}

/// Folds `linear + bias`.
pub fn bias(graph: &mut Graph, log: &mut Log) -> Result<()> {
    let count = rewrite(graph, log, |look, node| with_bias(look, node).into(), substitute)?;
    log.say(format!("{count} biases folded"));
    Ok(())
}

/// A layer on [rows, k] that were [1, rows, k] or heads before, as Gemm wants them: (what is reshaped, the rows with a batch axis).
fn flat(look: &Look, node: &Node) -> Option<(ValueId, Vec<usize>)> {
    let (Op::Linear { norm: None, residual: false, .. }, Some(x)) = (&node.op, node.input(0)) else { return None };
    let (base, [m, k]) = (look.reshape(x)?, look.graph.shape(x)) else { return None };
    let batched = matches!(look.graph.shape(base), [1, s, ..] if s == m);
    batched.then(|| (base, vec![1, *m, *k]))
}

fn unflatten(graph: &mut Graph, mut at: usize, (base, shape): (ValueId, Vec<usize>)) -> Result<()> {
    let node = graph.nodes[at].clone();
    let mut inputs = node.inputs.clone();
    inputs[0] = Some(base);
    if graph.shape(base) != shape {
        inputs[0] = Some(graph.insert(at, Op::Reshape { shape }, &[Some(base)], &format!("{}.rows", node.name))?[0]);
        at += 1;
    }
    let y = graph.insert(at, node.op.clone(), &inputs, &node.name)?[0];
    let shape = graph.shape(node.out()).to_vec();
    substitute(graph, at + 1, (Op::Reshape { shape }, vec![Some(y)]))
}

/// Folds `linear + residual`. Runs after the passes that look for bare projections.
pub fn residual(graph: &mut Graph, log: &mut Log) -> Result<()> {
    let count = rewrite(graph, log, |look, node| with_residual(look, node).into(), substitute)?;
    log.say(format!("{count} residual adds folded"));
    Ok(())
}

/// Folds a norm into the one `Linear` that reads it.
pub fn norm(graph: &mut Graph, log: &mut Log) -> Result<()> {
    let count = rewrite(graph, log, |look, node| with_norm(look, node).into(), substitute)?;
    log.say(format!("{count} norms folded into a linear layer"));
    Ok(())
}

fn plain(nk: bool) -> Op {
    Op::Linear { norm: None, bias: false, act: None, residual: false, nk }
}

fn product(look: &Look, node: &Node) -> Option<Match> {
    let (x, w) = (node.input(0)?, node.input(1)?);
    if look.graph.constant(x).is_some() {
        return None;
    }
    match node.op {
        Op::MatMul => {
            let (weight, nk) = matrix(look, w)?;
            (look.graph.shape(x).len() >= 2).then(|| (plain(nk), vec![Some(x), Some(weight)]))
        }
        Op::Gemm { alpha: 1.0, beta: 1.0, trans_a: false, trans_b } => {
            let (weight, nk) = matrix(look, w)?;
            let nk = nk != trans_b;
            let width = look.graph.shape(node.out())[1];
            match node.input(2) {
                None => Some((plain(nk), vec![Some(x), Some(weight)])),
                Some(c) if look.graph.constant(look.uncast(c)).is_some() && look.graph.shape(c) == [width] => {
                    let op = Op::Linear { norm: None, bias: true, act: None, residual: false, nk };
                    Some((op, vec![Some(x), Some(weight), Some(look.uncast(c))]))
                }
                Some(_) => None,
            }
        }
        _ => None,
    }
}

/// A constant matrix, and whether its rows are the product's outputs.
fn matrix(look: &Look, w: ValueId) -> Option<(ValueId, bool)> {
    let w = look.uncast(w);
    if let Some(inner) = look.transpose(w, &[1, 0]) {
        let (m, nk) = matrix(look, inner)?;
        return Some((m, !nk));
    }
    (look.graph.constant(w).is_some() && look.graph.shape(w).len() == 2).then_some((w, false))
}

fn with_bias(look: &Look, node: &Node) -> Option<Match> {
    look.either(node.out(), BinaryOp::Add).into_iter().flatten().find_map(|(y, b)| {
        let linear = look.node(y)?;
        let Op::Linear { norm, bias: false, act: None, residual: false, nk } = linear.op else { return None };
        let width = *look.graph.shape(y).last()?;
        let bias = look.uncast(b);
        if !look.single(y) || look.graph.constant(bias).is_none() || look.graph.shape(bias) != [width] {
            return None;
        }
        let mut inputs = linear.inputs.clone();
        inputs.push(Some(bias));
        Some((Op::Linear { norm, bias: true, act: None, residual: false, nk }, inputs))
    })
}

fn with_residual(look: &Look, node: &Node) -> Option<Match> {
    let found = look.either(node.out(), BinaryOp::Add).into_iter().flatten().filter_map(|(y, r)| {
        let linear = look.node(y)?;
        let Op::Linear { norm, bias, act, residual: false, nk } = linear.op else { return None };
        let fits = look.single(y) && look.graph.ty(y) == look.graph.ty(r);
        let mut inputs = linear.inputs.clone();
        inputs.push(Some(r));
        fits.then_some((look.index(y)?, (Op::Linear { norm, bias, act, residual: true, nk }, inputs)))
    });
    // Where both operands are linear layers, the later one takes the sum: the earlier is ready by then.
    found.max_by_key(|(index, _)| *index).map(|(_, m)| m)
}

fn with_norm(look: &Look, node: &Node) -> Option<Match> {
    let Op::Linear { norm: None, bias, act, residual, nk } = node.op else { return None };
    let (x, norm, weights) = norm_of(look, node.input(0)?)?;
    if !look.single(node.input(0)?) {
        return None;
    }
    let mut inputs = vec![Some(x), node.input(1)];
    inputs.extend(weights);
    inputs.extend(node.inputs.iter().skip(2));
    Some((Op::Linear { norm: Some(norm), bias, act, residual, nk }, inputs))
}

/// The norm that made `v`: its input, its form, its weights in the order that fused operators take them.
pub fn norm_of(look: &Look, v: ValueId) -> Option<(ValueId, Norm, Vec<Option<ValueId>>)> {
    let node = look.node(v)?;
    let x = node.input(0)?;
    let last = look.graph.shape(x).len().checked_sub(1)?;
    let scale = look.uncast(node.input(1)?);
    match node.op {
        Op::RmsNorm { axis, eps } if axis == last => Some((x, Norm::Rms { eps }, vec![Some(scale)])),
        Op::LayerNorm { axis, eps } if axis == last => {
            let bias = look.uncast(node.input(2)?);
            Some((x, Norm::Layer { eps }, vec![Some(scale), Some(bias)]))
        }
        _ => None,
    }
}
