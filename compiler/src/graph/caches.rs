//! KV caches of a graph as exported. In: a graph. Out: the inputs that are caches. Promise: told by use, not by name.

use super::{Graph, Op, ValueId};

/// Inputs [1, heads, past, dim] that a Concat along axis 2 extends by the chunk's rows.
pub fn growing_caches(graph: &Graph) -> Vec<ValueId> {
    let extended = graph.nodes.iter().filter(|n| matches!(n.op, Op::Concat { axis: 2 }) && n.inputs.len() == 2);
    let first = extended.filter_map(|n| n.input(0));
    first.filter(|v| graph.inputs.contains(v) && graph.shape(*v).len() == 4).collect()
}
