//! Puts the KV cache into one place. In: `Concat(past, new)`, or new rows written into a buffer, under causal attention. Out: `KvWrite` at row `pos` of a cache of
//! `past + new` rows, and `CachedAttention` over it. Promise: `present` outputs, whole or new rows only, become that write; a
//! cache that something else reads is an error.

use super::Log;
use super::look::Look;
use super::roles::{self, Chunk};
use crate::error::{Error, Result};
use crate::graph::eval::{self, Values};
use crate::graph::{Def, Graph, Mask, Op, State, Ty, ValueId, written};

/// An attention over two growing caches.
struct Block {
    node: usize,
    past: [ValueId; 2],
    new: [ValueId; 2],
    whole: [ValueId; 2],
}

pub fn run(graph: &mut Graph, log: &mut Log) -> Result<()> {
    let (Some(pos), Some(rows)) = (roles::input(graph, roles::POS), roles::input(graph, roles::ROWS)) else {
        return Err(Error::new("passes", "kv_in_place needs the roles pass before it"));
    };
    let mut count = 0;
    while let Some(block) = next(graph, log)? {
        replace(graph, block, pos, rows)?;
        count += 1;
    }
    super::dead::sweep(graph);
    let left: Vec<&str> =
        graph.outputs.iter().filter(|o| graph.shape(o.value).len() == 4).map(|o| o.name.as_str()).collect();
    if count == 0 || !left.is_empty() {
        let reason = log.lines.iter().rev().find(|l| l.contains("declined")).cloned().unwrap_or_default();
        return Err(Error::new(
            "passes",
            format!("{count} caches were put in place, outputs [{}] were not", left.join(", ")),
        )
        .hint(format!("onnxcast explain shows what did not match; last: {reason}")));
    }
    drop_unused_inputs(graph)?;
    log.say(format!("{count} layers keep their KV cache in place"));
    Ok(())
}

fn next(graph: &Graph, log: &mut Log) -> Result<Option<Block>> {
    let look = Look::new(graph);
    for (i, node) in graph.nodes.iter().enumerate() {
        let Op::Attention { mask, .. } = node.op else { continue };
        let (Some(k), Some(v)) = (node.input(1), node.input(2)) else { continue };
        let (Some(key), Some(value)) = (growing(&look, k), growing(&look, v)) else {
            log.say(format!("declined at {}: its keys and values are not a cache input and new rows", node.name));
            continue;
        };
        // One row that sees the whole cache and itself is causal.
        let one_row = node.input(0).is_some_and(|q| graph.shape(q)[2] == 1);
        if mask == Mask::Given || (mask == Mask::Full && !one_row) {
            return Err(Error::new(
                "passes",
                "the attention mask is neither causal nor a window, so it cannot generate",
            )
            .at(node.name.clone())
            .hint("compile the graph as it stands with dims="));
        }
        return Ok(Some(Block { node: i, past: [key.0, value.0], new: [key.1, value.1], whole: [k, v] }));
    }
    Ok(None)
}

/// A cache and its new rows, behind it or written into it.
fn growing(look: &Look, v: ValueId) -> Option<(ValueId, ValueId)> {
    let node = look.node(v)?;
    if let Some((past, new, takes, row)) = written(look.graph, node) {
        return at_positions(look.graph, takes, row).then_some((past, look.uncast(new)));
    }
    let (past, new) = (node.input(0)?, look.uncast(node.input(1)?));
    let grows = matches!(node.op, Op::Concat { axis: 2 }) && node.inputs.len() == 2;
    (grows && look.graph.inputs.contains(&past)).then_some((past, new))
}

/// Whether the slots that take new rows are those of the chunk's positions, in order, wherever it starts.
fn at_positions(graph: &Graph, takes: ValueId, row: ValueId) -> bool {
    let Ok(chunk) = Chunk::of(graph) else { return false };
    let most = chunk.total - chunk.rows;
    [0, most / 2, most].into_iter().all(|pos| {
        let Ok(values) = eval::values(graph, chunk.given(pos), &[takes, row]) else { return false };
        let [Values::Bool(takes), Values::Int(row)] = [&values[0].data, &values[1].data] else { return false };
        let slots = takes.len() == chunk.total && row.len() == chunk.total;
        let right = |slot: usize| match slot.checked_sub(pos).filter(|r| *r < chunk.rows) {
            Some(r) => takes[slot] && row[slot] == r as i64,
            None => !takes[slot],
        };
        slots && (0..chunk.total).all(right)
    })
}

fn replace(graph: &mut Graph, block: Block, pos: ValueId, rows: ValueId) -> Result<()> {
    let Op::Attention { heads, scale, mask, cap } = graph.nodes[block.node].op else { return Ok(()) };
    let q = graph.nodes[block.node].input(0);
    let (old, name) = (graph.nodes[block.node].out(), graph.nodes[block.node].name.clone());
    drop_present(graph, &block);
    let mut caches = Vec::new();
    let mut at = block.node;
    for i in 0..2 {
        let ty = Ty { dtype: graph.ty(block.past[i]).dtype, shape: graph.shape(block.whole[i]).to_vec() };
        let label = graph.value(block.past[i]).name.clone();
        let cache = graph.add_value(label.clone(), ty, Def::Input);
        let inputs = [Some(cache), Some(block.new[i]), Some(pos), Some(rows)];
        let written = graph.insert(at, Op::KvWrite, &inputs, &format!("{label}.write"))?[0];
        at += 1;
        graph.states.push(State { input: cache, output: written });
        graph.inputs.retain(|v| *v != block.past[i]);
        caches.push(Some(written));
    }
    let mask = if mask == Mask::Full { Mask::Causal } else { mask };
    let cached = Op::CachedAttention { heads, scale, mask, cap };
    let out = graph.insert(at, cached, &[q, caches[0], caches[1], Some(pos)], &name)?[0];
    let (hq, s, d) = (heads.q, graph.shape(old)[2], heads.dim);
    // Readers of the attention expect heads before rows; the transpose back is joined with theirs by `fold`.
    let split =
        graph.insert(at + 1, Op::Reshape { shape: vec![1, s, hq, d] }, &[Some(out)], &format!("{name}.split"))?[0];
    let swap = Op::Transpose { perm: vec![0, 2, 1, 3] };
    let turned = graph.insert(at + 2, swap, &[Some(split)], &format!("{name}.heads"))?[0];
    graph.replace_uses(old, turned);
    graph.nodes.remove(at + 3);
    Ok(())
}

/// Outputs that show the cache go: the whole of it, or its new rows, before or after they were joined.
fn drop_present(graph: &mut Graph, block: &Block) {
    let look = Look::new(graph);
    let shows = |v: ValueId, i: usize| {
        let v = look.uncast(v);
        let (whole, new) = (block.whole[i], block.new[i]);
        let past = graph.shape(whole)[2] - graph.shape(new)[2];
        let last_rows = || match look.node(v).map(|n| (&n.op, n.input(0))) {
            Some((Op::Slice { begin, .. }, Some(x))) => {
                look.uncast(x) == whole && graph.shape(v) == graph.shape(new) && begin[2] as usize == past
            }
            _ => false,
        };
        v == whole || v == new || last_rows()
    };
    let keep: Vec<bool> = graph.outputs.iter().map(|o| !(shows(o.value, 0) || shows(o.value, 1))).collect();
    let mut keep = keep.into_iter();
    graph.outputs.retain(|_| keep.next().unwrap_or(true));
}

/// Inputs that the fused graph no longer reads (masks, positions) go; one that is still read has no value in a generation.
fn drop_unused_inputs(graph: &mut Graph) -> Result<()> {
    let uses = graph.use_counts();
    let known = [roles::TOKENS, roles::EMBEDS, roles::POS, roles::ROWS];
    let is_known = |v: &ValueId| known.contains(&graph.value(*v).name.as_str());
    let read: Vec<&str> = graph
        .inputs
        .iter()
        .filter(|v| uses[v.0 as usize] > 0 && !is_known(v))
        .map(|v| graph.value(*v).name.as_str())
        .collect();
    if !read.is_empty() {
        return Err(Error::new("passes", format!("inputs {} are still read after fusion", read.join(", ")))
            .hint("onnxcast explain shows which attention or rotary embedding did not match"));
    }
    let keep: Vec<ValueId> = graph.inputs.iter().copied().filter(is_known).collect();
    graph.inputs = keep;
    Ok(())
}
