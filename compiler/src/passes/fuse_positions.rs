//! Puts `pos` in the place of the positions. In: lookups of a table by position, once rope and masks are recognised. Out: lookups by
//! `pos + row`. Promise: the rows looked up are those of the export at every probe position, offsets included.

use super::Log;
use super::look::{Found, Look, rewrite};
use super::roles::{self, Chunk, Source};
use crate::error::{Error, Result};
use crate::graph::eval;
use crate::graph::{BinaryOp, DType, Graph, Node, Op, Tensor, ValueId};

pub fn run(graph: &mut Graph, log: &mut Log) -> Result<()> {
    let (chunk, Some(pos)) = (Chunk::of(graph)?, roles::input(graph, roles::POS)) else {
        return Err(Error::new("passes", "fuse_positions needs the roles pass before it"));
    };
    let count = rewrite(
        graph,
        log,
        |look, node| find(look, node, &chunk),
        |graph, at, offset| replace(graph, at, offset, pos),
    )?;
    log.say(format!("{count} tables looked up by position"));
    Ok(())
}

/// Position minus row number that a lookup's indices follow.
fn find(look: &Look, node: &Node, chunk: &Chunk) -> Found<i64> {
    let (Op::Gather { axis: 0 }, Some(table), Some(ids)) = (&node.op, node.input(0), node.input(1)) else {
        return Found::No;
    };
    let producers = look.graph.producers();
    let by_position = roles::source(look.graph, &producers, ids) == Source::Position;
    let ty = look.graph.ty(table);
    if !by_position || look.graph.constant(table).is_none() || ty.shape.len() != 2 || !ty.dtype.is_float() {
        return Found::No;
    }
    let past = chunk.total - chunk.rows;
    let mut offset = None;
    for pos in [0, 1, past / 2, past] {
        let Ok(values) = eval::values(look.graph, chunk.given(pos.min(past)), &[ids]) else { return Found::No };
        let found: Vec<i64> = values.iter().flat_map(|v| v.to_ints()).collect();
        let first = *offset.get_or_insert(found.first().map_or(0, |f| f - pos.min(past) as i64));
        let expected = (0..chunk.rows as i64).map(|i| pos.min(past) as i64 + i + first);
        if !found.iter().copied().eq(expected) {
            return Found::Declined("the indices are no constant distance from the position".into());
        }
    }
    Found::Yes(offset.unwrap_or(0))
}

fn replace(graph: &mut Graph, at: usize, offset: i64, pos: ValueId) -> Result<()> {
    let node = graph.nodes[at].clone();
    let (Some(table), Some(ids)) = (node.input(0), node.input(1)) else { return Ok(()) };
    let shape = graph.shape(ids).to_vec();
    let n: usize = shape.iter().product();
    let last = graph.shape(table)[0].saturating_sub(1) as i32;
    let ints = |values: Vec<i32>, shape: &[usize]| {
        Tensor::from_bytes(DType::I32, shape.to_vec(), values.into_iter().flat_map(i32::to_le_bytes).collect())
    };
    let rows = (0..n as i32).map(|i| i + offset as i32).collect();
    let rows = graph.add_const(format!("{}.row_numbers", node.name), ints(rows, &shape));
    let last = graph.add_const(format!("{}.last_row", node.name), ints(vec![last], &[]));
    let places =
        graph.insert(at, Op::Binary(BinaryOp::Add), &[Some(rows), Some(pos)], &format!("{}.places", node.name))?;
    // Padding rows of the last chunk may stand past the table; nobody reads what they give.
    let name = format!("{}.clamped", node.name);
    let ids = graph.insert(at + 1, Op::Binary(BinaryOp::Min), &[Some(places[0]), Some(last)], &name)?[0];
    super::look::substitute(graph, at + 2, (node.op, vec![Some(table), Some(ids)]))
}
