//! Runs the head on the last live row only. In: a decoder whose logits come from a `Linear`. Out: `LastRow` before the head.
//! Promise: only the rest of the path (norm, head) moves to one row; logits become [1, 1, vocab].

use super::Log;
use super::look::Look;
use super::roles;
use crate::error::{Error, Result};
use crate::graph::{Graph, Op, ValueId};

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
        let rowwise = matches!(
            node.op,
            Op::Linear { residual: false, .. } | Op::Cast { .. } | Op::RmsNorm { .. } | Op::LayerNorm { .. }
        );
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
    let mut x: ValueId = graph.push(Op::LastRow, &[Some(top), Some(rows)], "last_row")?[0];
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
