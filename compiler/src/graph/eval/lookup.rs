//! Rows of a constant table. In: a lookup. Out: its rows. Promise: no other row is read, so that a table of any size can be asked for
//! one row at a time.

use super::{Array, Values};
use crate::error::{Error, Result};
use crate::graph::{Def, Graph, Node, Op, Tensor, ValueId};
use std::collections::HashMap;

/// The result of a lookup in a constant matrix at indices that are in `live`; None for every other node.
pub(super) fn rows(graph: &Graph, live: &HashMap<ValueId, Array>, node: &Node) -> Result<Option<Array>> {
    let (Op::Gather { axis: 0 }, Some(table), Some(at)) = (&node.op, node.input(0), node.input(1)) else {
        return Ok(None);
    };
    let (Def::Const(tensor), Some(Array { data: Values::Int(indices), shape, .. })) =
        (&graph.value(table).def, live.get(&at))
    else {
        return Ok(None);
    };
    let &[height, width] = &tensor.shape[..] else { return Ok(None) };
    if live.contains_key(&table) || indices.len() >= height {
        return Ok(None);
    }
    let row = |i: &i64| {
        let at = if *i < 0 { i + height as i64 } else { *i };
        usize::try_from(at).ok().filter(|at| *at < height).ok_or_else(|| {
            Error::new("eval", format!("Gather: index {i} is outside an axis of {height}")).at(node.name.clone())
        })
    };
    let picked = indices.iter().map(row).collect::<Result<Vec<usize>>>()?;
    let shape = [shape.as_slice(), &[width]].concat();
    if let Some(encoded) = tensor.encoded().filter(|e| e.shape() == (height, width)) {
        let mut out = vec![0.0; picked.len() * width];
        for (i, out) in picked.iter().zip(out.chunks_mut(width.max(1))) {
            encoded.row(*i, out);
        }
        return Ok(Some(Array::new(tensor.dtype, shape, Values::F32(out))));
    }
    let bytes = tensor.bytes().map_err(|e| e.at(graph.value(table).name.clone()))?;
    let line = width * tensor.dtype.bytes();
    let picked: Vec<u8> = picked.iter().flat_map(|i| &bytes[i * line..][..line]).copied().collect();
    Array::from_tensor(&Tensor::from_bytes(tensor.dtype, shape, picked)).map(Some)
}
