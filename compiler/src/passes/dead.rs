//! Removes what nothing reads. In: any graph. Out: the same outputs. Promise: order and names of the rest are untouched.

use super::{Log, look};
use crate::error::Result;
use crate::graph::Graph;

pub fn run(graph: &mut Graph, log: &mut Log) -> Result<()> {
    let gone = sweep(graph);
    log.say(format!("removed {gone} dead nodes"));
    Ok(())
}

/// Drops dead nodes and returns how many.
pub fn sweep(graph: &mut Graph) -> usize {
    let live = look::live_nodes(graph, &graph.producers());
    let before = graph.nodes.len();
    let mut flags = live.into_iter();
    graph.nodes.retain(|_| flags.next().unwrap_or(true));
    before - graph.nodes.len()
}
