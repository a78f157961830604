//! Decoders to generate with. In: a file and its dimensions. Out: its graph, with positions as an input. Promise: an export that
//! counts positions from the length of its cache, and so has them as constants at one length, is read a second time with an empty
//! cache and a chunk as long as the context; everything else is read as it stands.

use super::bind::{Dim, declared};
use super::expr::Expr;
use super::proto::{self, Model};
use super::{Bindings, Options, finish, positions};
use crate::error::Result;
use crate::graph::{Graph, growing_caches, is_buffer};
use std::path::Path;

/// Imports a decoder whose cache we manage.
pub fn load_decoder(path: &Path, options: &Options) -> Result<Graph> {
    let model = proto::read(path)?;
    let place = |e: crate::error::Error| e.at(path.display().to_string());
    let mut graph = finish(&model, options).map_err(place)?;
    if let Some((rows, long)) = long_bindings(&model, &graph, options)? {
        let options = Options { bind: long, ..options.clone() };
        // A file that cannot be read at those extents keeps its constants; the passes say where they are in the way.
        if let Ok(long) = finish(&model, &options) {
            positions::restore(&mut graph, &long, rows).map_err(place)?;
        }
    }
    Ok(graph)
}

/// Rows of the chunk, and dimensions with an empty cache and a chunk as long as cache and chunk together; None for a graph with
/// positions among its inputs, or without a cache.
fn long_bindings(model: &Model, graph: &Graph, options: &Options) -> Result<Option<(usize, Bindings)>> {
    let shapes = || graph.inputs.iter().map(|v| (graph.ty(*v).dtype.is_float(), graph.shape(*v)));
    let growing = growing_caches(graph).into_iter().next().filter(|v| !is_buffer(graph, *v));
    let past = growing.map_or(0, |v| graph.shape(v)[2]);
    let chunks: Vec<usize> = shapes().filter(|(float, s)| !float && s.len() == 2).map(|(_, s)| s[1]).collect();
    let embeds = shapes().find_map(|(float, s)| (float && s.len() == 3).then(|| s[1]));
    let Some(rows) = embeds.or(chunks.iter().copied().min()) else { return Ok(None) };
    // Beside the token ids, or the embeddings that stand for them.
    let takes_positions = chunks.iter().filter(|n| **n == rows).count() > usize::from(embeds.is_none());
    if past == 0 || takes_positions {
        return Ok(None);
    }
    let mut bind = options.bind.clone();
    for info in &model.proto.graph.input {
        let input = declared(info)?;
        let symbols = input.dims.iter().flatten().enumerate().filter_map(|(axis, dim)| match dim {
            Dim::Symbolic(name, Expr::Symbol(_)) => Some((axis, name)),
            _ => None,
        });
        for (axis, name) in symbols {
            match (input.dims.as_ref().map_or(0, Vec::len), axis, options.bind.get(name)) {
                (4, 2, Some(n)) if *n == past => bind.insert(name.clone(), 0),
                (2, 1, Some(n)) if *n == rows => bind.insert(name.clone(), past + rows),
                _ => None,
            };
        }
    }
    Ok((bind != options.bind).then_some((rows, bind)))
}
