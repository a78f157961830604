//! Tables of the values that depend on the position alone. In: a graph and its chunk. Out: for every such value that products
//! use, a row for each position. Promise: a value whose row depends on where its chunk starts is not among them.

use super::super::roles::{self, Chunk, Source};
use crate::error::Result;
use crate::graph::eval;
use crate::graph::{BinaryOp, Graph, Op, ValueId};
use std::collections::HashMap;

/// Rows of positions 0.., one after the other.
pub(super) type Tables = HashMap<ValueId, Vec<f32>>;

pub(super) fn find(graph: &Graph, chunk: &Chunk) -> Result<Tables> {
    let wanted = wanted(graph, chunk);
    let mut rows: Vec<Vec<f32>> = vec![Vec::new(); wanted.len()];
    let past = chunk.total - chunk.rows;
    for start in (0..chunk.total).step_by(chunk.rows) {
        let pos = start.min(past);
        let values = eval::values(graph, chunk.given(pos), &wanted)?;
        for (row, value) in rows.iter_mut().zip(&values) {
            let data = value.to_f32();
            let width = data.len() / chunk.rows;
            row.extend(&data[(start - pos) * width..]);
        }
    }
    let probe = past / 2;
    let values = eval::values(graph, chunk.given(probe), &wanted)?;
    let same = |rows: &[f32], again: &[f32]| {
        let at = probe * (again.len() / chunk.rows);
        rows[at..at + again.len()] == *again
    };
    let all = wanted.into_iter().zip(rows).zip(&values);
    Ok(all.filter(|((_, rows), value)| same(rows, &value.to_f32())).map(|(found, _)| found).collect())
}

/// Positional operands of products with what is not positional, one row a position of the chunk.
fn wanted(graph: &Graph, chunk: &Chunk) -> Vec<ValueId> {
    let producers = graph.producers();
    let source = |v: ValueId| roles::source(graph, &producers, v);
    let mut wanted: Vec<ValueId> = Vec::new();
    for node in graph.nodes.iter().filter(|n| n.op == Op::Binary(BinaryOp::Mul)) {
        let (Some(a), Some(b)) = (node.input(0), node.input(1)) else { continue };
        for (v, other) in [(a, b), (b, a)] {
            let v = uncast(graph, &producers, v);
            let shape = graph.shape(v);
            let rows = shape.len() >= 3 && shape.iter().product::<usize>() == chunk.rows * shape[shape.len() - 1];
            let known = wanted.contains(&v) || !graph.ty(v).dtype.is_float();
            if rows && !known && source(v) == Source::Position && source(other) == Source::Other {
                wanted.push(v);
            }
        }
    }
    wanted
}

/// The value before casts between float types, as the forms see it.
fn uncast(graph: &Graph, producers: &HashMap<ValueId, usize>, mut v: ValueId) -> ValueId {
    while let Some(node) = producers.get(&v).map(|i| &graph.nodes[*i]) {
        match (&node.op, node.input(0)) {
            (Op::Cast { to }, Some(x)) if to.is_float() && graph.ty(x).dtype.is_float() => v = x,
            _ => break,
        }
    }
    v
}
