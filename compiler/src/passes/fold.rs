//! Removes nodes that change nothing and joins chains of movements. In: any graph. Out: the same values with fewer nodes.
//! Promise: elementwise identical results; no constant is copied.

use super::Log;
use super::look::{Look, rewrite};
use crate::error::Result;
use crate::graph::{self, BinaryOp, Graph, Node, Op, ValueId};

pub fn run(graph: &mut Graph, log: &mut Log) -> Result<()> {
    let (removed, joined) = quietly(graph, log)?;
    log.say(format!("removed {removed} nodes that change nothing, joined {joined} movements"));
    Ok(())
}

/// The pass itself, for others to clean up after themselves. Returns how many nodes went and how many movements were joined.
pub fn quietly(graph: &mut Graph, log: &mut Log) -> Result<(usize, usize)> {
    let (mut removed, mut joined) = (0, 0);
    loop {
        let aliases = rewrite(
            graph,
            log,
            |look, node| alias(look, node).into(),
            |graph, at, same: ValueId| {
                let out = graph.nodes[at].out();
                graph.replace_uses(out, same);
                Ok(())
            },
        )?;
        let joins = rewrite(
            graph,
            log,
            |look, node| join(look, node).into(),
            |graph, at, (op, input)| {
                graph.nodes[at].op = op;
                graph.nodes[at].inputs = vec![Some(input)];
                Ok(())
            },
        )?;
        (removed, joined) = (removed + aliases, joined + joins);
        if aliases + joins == 0 {
            break;
        }
    }
    Ok((removed, joined))
}

/// The value that a node's output equals, if it only repeats one of its inputs.
fn alias(look: &Look, node: &Node) -> Option<ValueId> {
    let x = node.input(0)?;
    let (from, to) = (look.graph.ty(x), look.graph.ty(node.out()));
    if node.outputs.len() != 1 {
        return None;
    }
    let same = from == to;
    match &node.op {
        Op::Reshape { .. } | Op::Expand { .. } | Op::Cast { .. } | Op::Pad { .. } if same => Some(x),
        Op::Tile { .. } if same => Some(x),
        Op::Slice { step, .. } if same && step.iter().all(|s| *s == 1) => Some(x),
        Op::Concat { .. } if same && node.inputs.len() == 1 => Some(x),
        Op::Transpose { perm } if perm.iter().enumerate().all(|(i, p)| i == *p) => Some(x),
        Op::Binary(op) => neutral(look, node, *op),
        _ => None,
    }
}

/// `x * 1`, `x / 1`, `x + 0`, `x - 0`, where the shape and type stay.
fn neutral(look: &Look, node: &Node, op: BinaryOp) -> Option<ValueId> {
    let (a, b) = (node.input(0)?, node.input(1)?);
    let out = look.graph.ty(node.out());
    let is = |v, n: f32| look.scalar(v) == Some(n);
    let pick = match op {
        BinaryOp::Mul if is(b, 1.0) => a,
        BinaryOp::Mul if is(a, 1.0) => b,
        BinaryOp::Div if is(b, 1.0) => a,
        BinaryOp::Add if is(b, 0.0) => a,
        BinaryOp::Add if is(a, 0.0) => b,
        BinaryOp::Sub if is(b, 0.0) => a,
        _ => return None,
    };
    (look.graph.ty(pick) == out).then_some(pick)
}

/// A movement of a movement, as one.
fn join(look: &Look, node: &Node) -> Option<(Op, ValueId)> {
    let inner = look.node(node.input(0)?)?;
    Some((graph::join(&inner.op, &node.op)?, inner.input(0)?))
}
