//! Joins gate and up projections with their activation. In: `act(Linear(x)) * Linear(x)`. Out: `GatedLinear`, with the norm of
//! x inside where nobody else reads it. Promise: both projections are bare and read the same x; else it declines.

use super::Log;
use super::fuse_linear::norm_of;
use super::look::{Found, Look, rewrite, substitute};
use crate::error::Result;
use crate::graph::{BinaryOp, Graph, Node, Op, UnaryOp, ValueId};

pub fn run(graph: &mut Graph, log: &mut Log) -> Result<()> {
    let gated = rewrite(graph, log, gated, substitute)?;
    let plain = rewrite(graph, log, |look, node| activated(look, node).into(), substitute)?;
    log.say(format!("{gated} gated layers, {plain} activations folded into a layer"));
    Ok(())
}

/// `act(linear)`, which the layer computes itself.
fn activated(look: &Look, node: &Node) -> Option<(Op, Vec<Option<ValueId>>)> {
    let (y, act) = activation(look, node.out())?;
    let linear = look.node(y)?;
    let Op::Linear { norm, bias, act: None, residual: false, nk } = linear.op else { return None };
    look.single(y).then(|| (Op::Linear { norm, bias, act: Some(act), residual: false, nk }, linear.inputs.clone()))
}

fn gated(look: &Look, node: &Node) -> Found<(Op, Vec<Option<ValueId>>)> {
    let sides = look.either(node.out(), BinaryOp::Mul).into_iter().flatten();
    for (a, up) in sides {
        let Some((gate, act)) = activation(look, a) else { continue };
        let (Some((x, wg, nk)), Some((y, wu, nk_up))) = (bare(look, gate), bare(look, up)) else { continue };
        if x != y || nk != nk_up || look.graph.ty(wg) != look.graph.ty(wu) {
            return Found::Declined("gate and up projections differ in input or weight layout".into());
        }
        if !look.single(a) || !look.single(gate) || !look.single(up) {
            return Found::Declined("a projection of the gated layer has other readers".into());
        }
        let mut inputs = vec![Some(x), Some(wg), Some(wu)];
        let mut norm = None;
        if let Some((raw, form, weights)) = norm_of(look, x)
            && look.uses(x) == 2
        {
            inputs[0] = Some(raw);
            inputs.extend(weights);
            norm = Some(form);
        }
        return Found::Yes((Op::GatedLinear { norm, act, nk }, inputs));
    }
    Found::No
}

fn activation(look: &Look, v: ValueId) -> Option<(ValueId, UnaryOp)> {
    let node = look.node(v)?;
    match node.op {
        Op::Unary(
            act @ (UnaryOp::Silu | UnaryOp::GeluErf | UnaryOp::GeluTanh | UnaryOp::QuickGelu | UnaryOp::Relu),
        ) => Some((node.input(0)?, act)),
        _ => None,
    }
}

fn bare(look: &Look, v: ValueId) -> Option<(ValueId, ValueId, bool)> {
    let node = look.node(v)?;
    match node.op {
        Op::Linear { norm: None, bias: false, act: None, residual: false, nk } => {
            Some((node.input(0)?, node.input(1)?, nk))
        }
        _ => None,
    }
}
