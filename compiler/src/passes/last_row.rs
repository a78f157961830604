//! Runs the head on the last live row only. In: a decoder whose logits come from a `Linear`. Out: `LastRow` before the head,
//! where a chunk has more rows than one.
//! Promise: only the rest of the path (norm, head) moves to one row; logits become [1, 1, vocab].

use super::Log;
use super::look::Look;
use super::roles;
use crate::error::{Error, Result};
use crate::graph::{Graph, Node, Op, ValueId};

pub fn run(graph: &mut Graph, log: &mut Log) -> Result<()> {
    let Some(rows) = roles::input(graph, roles::ROWS) else {
        return Err(Error::new("passes", "last_row needs the roles pass before it"));
    };
    let [output] = &graph.outputs[..] else {
        let names: Vec<&str> = graph.outputs.iter().map(|o| o.name.as_str()).collect();
        return Err(Error::new(
            "passes",
            format!("a decoder has one output besides its cache, this one has {names:?}"),
        ));
    };
    let (mut top, name) = (output.value, output.name.clone());
    let look = Look::new(graph);
    let mut chain: Vec<usize> = Vec::new();
    while let Some(i) = look.index(top) {
        let node = &graph.nodes[i];
        if is_last_slice(graph, node) {
            top = node.input(0).unwrap_or(top);
            break;
        }
        let rowwise = match node.op {
            Op::Linear { residual: false, .. } | Op::RmsNorm { .. } | Op::LayerNorm { .. } => true,
            Op::Cast { .. } | Op::Unary(_) => true,
            Op::Binary(_) => node.input(1).is_some_and(|c| look.scalar(c).is_some()),
            _ => false,
        };
        match node.input(0) {
            Some(x) if rowwise && look.single(top) => {
                chain.push(i);
                top = x;
            }
            _ => break,
        }
    }
    let is_head = |i: &usize| matches!(graph.nodes[*i].op, Op::Linear { .. });
    if !chain.iter().any(is_head) {
        return Err(Error::new("passes", "the logits do not come from a linear layer").at(name));
    }
    let nodes: Vec<_> = chain.iter().rev().map(|i| graph.nodes[*i].clone()).collect();
    let mut x: ValueId = top;
    if graph.shape(top).get(1) != Some(&1) {
        x = graph.push(Op::LastRow, &[Some(top), Some(rows)], "last_row")?[0];
    }
    for node in nodes {
        // The device computes in f32 throughout, so a cast of the logits is dropped here.
        if matches!(node.op, Op::Cast { .. }) {
            continue;
        }
        let mut inputs = node.inputs.clone();
        inputs[0] = Some(x);
        x = graph.push(node.op, &inputs, &node.name)?[0];
    }
    graph.outputs[0].value = x;
    graph.outputs[0].name = "logits".to_string();
    super::dead::sweep(graph);
    log.say(format!("{name} is computed for the last row only"));
    Ok(())
}

/// An export that computes the last row only takes the chunk's last; ours takes the last live one.
fn is_last_slice(graph: &Graph, node: &Node) -> bool {
    let (Op::Slice { begin, len, .. }, Some(x)) = (&node.op, node.input(0)) else { return false };
    match (graph.shape(x), &begin[..], &len[..]) {
        ([1, s, k], [0, first, 0], [1, 1, n]) => *first as usize + 1 == *s && n == k,
        _ => false,
    }
}
