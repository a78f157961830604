//! Gives positions back to a decoder that counts them from the length of its cache. In: the graph at its own extents, where they
//! have become constants, and the same export with an empty cache and a chunk as long as the context. Out: `position_ids` as an
//! input, and lookups by it. Promise: a constant is replaced only where the long graph has the same numbers in those rows.

use crate::error::Result;
use crate::graph::eval::{self, Array};
use crate::graph::{DType, Def, Graph, Op, Ty, ValueId};
use std::collections::HashMap;

/// Numbers at or under this belong to a mask, which has kinds of its own.
const MASKED: f32 = -1e3;
/// Longest table of all positions.
const MAX_ELEMENTS: usize = 1 << 24;

/// A value that lists something for each row of the chunk, and the same for each position.
struct Rows {
    value: ValueId,
    /// [positions, what one row holds]
    all: Array,
}

/// Returns how many values became lookups.
pub fn restore(graph: &mut Graph, long: &Graph, rows: usize) -> Result<usize> {
    let mut positions = None;
    let mut count = 0;
    // Row numbers first: what is looked up by them then is no constant any more.
    for lookups in [true, false] {
        for found in found(graph, long, rows, lookups) {
            let input =
                *positions.get_or_insert_with(|| graph.add_input("position_ids", Ty::new(DType::I64, &[1, rows])));
            look_up(graph, found, input)?;
            count += 1;
        }
    }
    Ok(count)
}

fn look_up(graph: &mut Graph, Rows { value, all }: Rows, positions: ValueId) -> Result<()> {
    let name = graph.value(value).name.clone();
    let shape = graph.shape(value).to_vec();
    let table = graph.add_const(format!("{name}.all_positions"), all.to_tensor());
    let inputs = [Some(table), Some(positions)];
    let at = graph.nodes.iter().position(|n| n.inputs.contains(&Some(value))).unwrap_or(0);
    let picked = graph.insert(at, Op::Gather { axis: 0 }, &inputs, &format!("{name}.picked"))?[0];
    let new = graph.insert(at + 1, Op::Reshape { shape }, &[Some(picked)], &format!("{name}.at_positions"))?[0];
    graph.replace_uses(value, new);
    Ok(())
}

fn found(graph: &Graph, long: &Graph, rows: usize, lookups: bool) -> Vec<Rows> {
    let names = unique_names(long);
    let fixed_long = fixed(long);
    let mut out = Vec::new();
    for value in frontier(graph, lookups) {
        let Some(&other) = names.get(graph.value(value).name.as_str()) else { continue };
        let (short, wide) = (graph.ty(value), long.ty(other));
        let differing = differing(&short.shape, &wide.shape);
        let Some(axis) = differing.filter(|a| short.shape[*a] == rows && wide.dtype == short.dtype) else { continue };
        let lead = short.shape[..axis].iter().all(|d| *d == 1);
        if !lead || !fixed_long[other.0 as usize] || wide.elements() > MAX_ELEMENTS {
            continue;
        }
        let read = |g: &Graph, v| eval::values(g, HashMap::new(), &[v]).ok().and_then(|mut a| a.pop());
        let (Some(here), Some(mut all)) = (read(graph, value), read(long, other)) else { continue };
        if agrees(&here, &all) {
            all.shape = vec![wide.shape[axis], wide.shape[axis + 1..].iter().product()];
            out.push(Rows { value, all });
        }
    }
    out
}

/// Whether the last rows of `all` are `here`, and neither is a mask.
fn agrees(here: &Array, all: &Array) -> bool {
    let (here, all) = (here.to_f64(), all.to_f64());
    all.ends_with(&here) && all.iter().all(|x| *x > f64::from(MASKED))
}

/// The one axis in which two shapes differ.
fn differing(a: &[usize], b: &[usize]) -> Option<usize> {
    let mut axes = a.iter().zip(b).enumerate().filter(|(_, (x, y))| x != y).map(|(i, _)| i);
    let first = axes.next().filter(|_| a.len() == b.len())?;
    axes.next().is_none().then_some(first)
}

fn unique_names(graph: &Graph) -> HashMap<&str, ValueId> {
    let mut names: HashMap<&str, Option<ValueId>> = HashMap::new();
    for (i, value) in graph.values.iter().enumerate() {
        names.entry(&value.name).and_modify(|v| *v = None).or_insert(Some(ValueId(i as u32)));
    }
    names.into_iter().filter_map(|(n, v)| Some((n, v?))).collect()
}

/// For every value whether constants alone decide it.
fn fixed(graph: &Graph) -> Vec<bool> {
    let mut fixed: Vec<bool> = graph.values.iter().map(|v| matches!(v.def, Def::Const(_))).collect();
    for node in &graph.nodes {
        let all = node.inputs.iter().flatten().all(|v| fixed[v.0 as usize]);
        node.outputs.iter().for_each(|v| fixed[v.0 as usize] = all);
    }
    fixed
}

/// Fixed values that others read, in order, each once: row numbers of lookups, or floats.
fn frontier(graph: &Graph, lookups: bool) -> Vec<ValueId> {
    let fixed = fixed(graph);
    let mut found = Vec::new();
    for node in &graph.nodes {
        let lookup = matches!(node.op, Op::Gather { axis: 0 });
        let open = node.outputs.iter().any(|v| !fixed[v.0 as usize]);
        for (i, v) in node.inputs.iter().enumerate() {
            let Some(v) = *v else { continue };
            let fits = match lookups {
                true => lookup && i == 1 && graph.ty(v).dtype.is_int(),
                false => open && graph.ty(v).dtype.is_float(),
            };
            if fixed[v.0 as usize] && fits && !found.contains(&v) {
                found.push(v);
            }
        }
    }
    found
}
