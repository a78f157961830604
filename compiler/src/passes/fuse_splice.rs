//! Takes a token's row, or a picture's, in one. In: `Splice` of a table's lookup by the same tokens. Out: `Splice` that looks up itself.
//! Promise: a lookup that something else reads stays.

use super::Log;
use super::look::{Found, Look, rewrite, substitute};
use crate::error::Result;
use crate::graph::{Graph, Node, Op, ValueId};

pub fn run(graph: &mut Graph, log: &mut Log) -> Result<()> {
    let count = rewrite(graph, log, find, substitute)?;
    log.say(format!("{count} lookups take rows of pictures too"));
    Ok(())
}

fn find(look: &Look, node: &Node) -> Found<(Op, Vec<Option<ValueId>>)> {
    let Op::Splice { vocab, lookup: false } = node.op else { return Found::No };
    let (Some(x), Some(tokens)) = (node.input(0), node.input(1)) else { return Found::No };
    let Some(Node { op: Op::Gather { axis: 0 }, inputs, .. }) = look.node(x) else {
        return Found::Declined("its rows are computed from those of a table".into());
    };
    let [Some(table), ids] = inputs[..] else { return Found::No };
    let is_table = look.graph.constant(table).is_some() && look.graph.shape(table).len() == 2;
    if !is_table || ids != Some(tokens) || !look.single(x) {
        return Found::Declined("its rows are looked up otherwise, or read by others".into());
    }
    Found::Yes((Op::Splice { vocab, lookup: true }, vec![Some(table), Some(tokens), node.input(2)]))
}
