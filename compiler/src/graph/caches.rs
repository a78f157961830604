//! KV caches of a graph as exported. In: a graph. Out: the inputs that are caches. Promise: told by use, not by name.

use super::{Graph, Node, Op, ValueId};

/// Inputs [1, heads, past, dim] that a Concat along axis 2 extends by the chunk's rows, or a Where writes them into.
pub fn growing_caches(graph: &Graph) -> Vec<ValueId> {
    let kept = graph.nodes.iter().filter_map(|n| extended(n).or_else(|| written(graph, n).map(|(past, ..)| past)));
    kept.filter(|v| graph.inputs.contains(v) && graph.shape(*v).len() == 4).collect()
}

fn extended(node: &Node) -> Option<ValueId> {
    let two = matches!(node.op, Op::Concat { axis: 2 }) && node.inputs.len() == 2;
    if two { node.input(0) } else { None }
}

/// A buffer that takes new rows in: the buffer, the rows, which slot takes one, and which row that is. `where(takes, rows[row], buffer)`.
pub fn written(graph: &Graph, node: &Node) -> Option<(ValueId, ValueId, ValueId, ValueId)> {
    let (Op::Where, Some(takes), Some(picked), Some(past)) = (&node.op, node.input(0), node.input(1), node.input(2))
    else {
        return None;
    };
    if !graph.inputs.contains(&past) || graph.shape(past) != graph.shape(node.out()) {
        return None;
    }
    let pick = graph.nodes.iter().find(|n| n.outputs.contains(&picked))?;
    let rows = matches!(pick.op, Op::Gather { axis: 2 });
    if rows { Some((past, pick.input(0)?, takes, pick.input(1)?)) } else { None }
}

/// Whether a cache is a buffer for the whole sequence, which takes new rows in.
pub fn is_buffer(graph: &Graph, cache: ValueId) -> bool {
    graph.nodes.iter().any(|n| written(graph, n).is_some_and(|(past, ..)| past == cache))
}
