//! Gives a decoder's inputs their roles. In: a decoder graph as exported. Out: inputs renamed to `tokens`, `positions`,
//! `attention_mask`, `embeds`, `mask`, and the scalars `pos` and `rows` added. Promise: roles come from use and shape, not from
//! names; an input without a role is an error that lists it.

use super::Log;
use crate::error::{Error, Result};
use crate::graph::eval::{Array, Values};
use crate::graph::{DType, Graph, Node, Op, Ty, ValueId, growing_caches, is_buffer, step_word};
use std::collections::HashMap;

pub const TOKENS: &str = "tokens";
pub const POSITIONS: &str = "positions";
pub const ATTENTION_MASK: &str = "attention_mask";
pub const EMBEDS: &str = "embeds";
pub const MASK: &str = "mask";
pub use crate::graph::{POS, ROWS};

/// Refuses inputs of a graph that runs as it stands which would be taken for words of the `Step` buffer.
pub fn check_free(graph: &Graph) -> Result<()> {
    for value in graph.inputs.iter().map(|id| graph.value(*id)) {
        if step_word(value).is_some() {
            let what = "an int32 scalar of this name is a word of the runtime's own, and cannot be an input";
            return Err(Error::new("passes", what)
                .at(value.name.clone())
                .hint("give the input another name, or the shape [1]"));
        }
    }
    Ok(())
}

pub fn run(graph: &mut Graph, log: &mut Log) -> Result<()> {
    let past = growing_caches(graph);
    if past.is_empty() {
        return Err(Error::new("passes", "the graph has no KV cache: no input is extended along axis 2 by a Concat")
            .hint("compile it as it stands with dims=, and run it with `run`"));
    }
    let tokens = token_input(graph);
    let embeds = || graph.inputs.iter().copied().find(|v| graph.ty(*v).dtype.is_float() && graph.shape(*v).len() == 3);
    let rows = tokens.or_else(embeds).map(|t| graph.shape(t)[1]);
    let whole = |r| graph.shape(past[0])[2] + if is_buffer(graph, past[0]) { 0 } else { r };
    let total = rows.map(whole);
    let mut unknown = Vec::new();
    for id in graph.inputs.clone() {
        if past.contains(&id) {
            continue;
        }
        let role = if Some(id) == tokens { Some(TOKENS) } else { role(graph.ty(id), rows, total) };
        match role {
            Some(role) => {
                log.say(format!("input {} is {role}", graph.value(id).name));
                graph.values[id.0 as usize].name = role.to_string();
            }
            None => unknown.push(format!("{} {}", graph.value(id).name, graph.ty(id))),
        }
    }
    if !unknown.is_empty() {
        return Err(Error::new("passes", format!("no role in a decoder for input {}", unknown.join(", "))));
    }
    let scalar = Ty::new(DType::I32, &[]);
    graph.add_input(POS, scalar.clone());
    graph.add_input(ROWS, scalar);
    Ok(())
}

/// The rows that a decoder looks up for its tokens: the lookup's tokens and its result.
pub fn token_rows(graph: &Graph) -> Option<(ValueId, ValueId)> {
    let tokens = token_input(graph)?;
    let lookup = |n: &&Node| matches!(n.op, Op::Gather { axis: 0 }) && n.input(1) == Some(tokens);
    graph.nodes.iter().find(lookup).map(|n| (tokens, n.out()))
}

/// The integer input that indexes a constant table: of several, one whose table has a row for each logit, and of those the first.
fn token_input(graph: &Graph) -> Option<ValueId> {
    let lookups = graph.nodes.iter().filter_map(|n| {
        let (table, ids) = (n.input(0)?, n.input(1)?);
        let lookup = matches!(n.op, Op::Gather { axis: 0 }) && graph.constant(table).is_some();
        let fits = lookup && graph.shape(table).len() == 2 && graph.ty(table).dtype.is_float();
        (fits && graph.inputs.contains(&ids) && graph.shape(ids).len() == 2).then(|| (graph.shape(table)[0], ids))
    });
    let found: Vec<(usize, ValueId)> = lookups.collect();
    let has_logit = |rows: &usize| graph.outputs.iter().any(|o| graph.shape(o.value).last() == Some(rows));
    found.iter().find(|(rows, _)| has_logit(rows)).or(found.first()).map(|(_, ids)| *ids)
}

/// Positions have the extent of the chunk, a mask that of everything; past and rows are both above zero, so they differ.
fn role(ty: &Ty, rows: Option<usize>, total: Option<usize>) -> Option<&'static str> {
    match (ty.dtype.is_float(), ty.shape.as_slice()) {
        (false, [1, n] | [n]) if Some(*n) == rows && rows < total => Some(POSITIONS),
        (_, [1, n]) if Some(*n) == total => Some(ATTENTION_MASK),
        (true, [1, _, _]) => Some(EMBEDS),
        (_, [1, 1, m, n]) if Some(*n) == total && (*m == 1 || Some(*m) == rows) => Some(MASK),
        _ => None,
    }
}

/// The input with a role.
pub fn input(graph: &Graph, role: &str) -> Option<ValueId> {
    graph.inputs.iter().copied().find(|v| graph.value(*v).name == role)
}

/// What the graph's inputs hold for a chunk of `rows` tokens whose first stands at `pos`, with the cache's `total - rows` past
/// slots filled up to `pos`: the state that the engine stands for.
pub struct Chunk {
    positions: Option<(ValueId, Ty)>,
    /// Which slots are live.
    live: Option<(ValueId, Ty)>,
    /// Which slots each row sees.
    mask: Option<(ValueId, Ty)>,
    pub rows: usize,
    pub total: usize,
    /// The cache is a buffer for the whole sequence: the chunk's rows lie in it at their positions, not behind it.
    pub inside: bool,
}

impl Chunk {
    pub fn of(graph: &Graph) -> Result<Chunk> {
        let typed = |role| input(graph, role).map(|v| (v, graph.ty(v).clone()));
        // Rows of pictures are a state that a decoder only reads.
        let kept = || graph.states.iter().find(|s| s.output != s.input).map(|s| s.input);
        let past = growing_caches(graph).into_iter().next().or_else(kept);
        let lead = input(graph, TOKENS).or_else(|| input(graph, EMBEDS));
        let (Some(past), Some(lead)) = (past, lead) else {
            return Err(Error::new("passes", "the decoder has neither token ids nor embeddings as input"));
        };
        let rows = graph.shape(lead)[1];
        let inside = is_buffer(graph, past);
        let total = graph.shape(past)[2] + if inside { 0 } else { rows };
        let [positions, live, mask] = [POSITIONS, ATTENTION_MASK, MASK].map(typed);
        Ok(Chunk { positions, live, mask, rows, total, inside })
    }

    /// Values for `positions`, `attention_mask` and `mask` when the chunk starts at `pos` (at most `total - rows`).
    pub fn given(&self, pos: usize) -> HashMap<ValueId, Array> {
        let mut given = HashMap::new();
        let past = self.total - self.rows;
        if let Some((v, ty)) = &self.positions {
            let ids = (pos..pos + self.rows).map(|p| p as i64).collect();
            given.insert(*v, Array::new(ty.dtype, ty.shape.clone(), Values::Int(ids)));
        }
        if let Some((v, ty)) = &self.live {
            let end = if self.inside { pos + self.rows } else { pos };
            let live = (0..self.total).map(|slot| slot < end || (slot >= past && !self.inside));
            let data = Values::Bool(live.collect());
            given.insert(*v, Array::new(ty.dtype, ty.shape.clone(), data));
        }
        if let Some((v, ty)) = &self.mask {
            given.insert(*v, self.visible(pos, ty));
        }
        given
    }

    /// The mask of a causal decoder: cache slots come first, then the chunk's rows. One that adds to scores hides by a low number.
    /// A single row for all of a larger chunk tells live slots alone.
    fn visible(&self, pos: usize, ty: &Ty) -> Array {
        let (past, rows) = (self.total - self.rows, ty.shape[2]);
        let sees = |at: usize| {
            let (row, slot) = (at / self.total, at % self.total);
            if self.inside {
                return slot < pos + if rows < self.rows { self.rows } else { row + 1 };
            }
            slot < pos || (slot >= past && (rows < self.rows || slot - past <= row))
        };
        let seen = (0..rows * self.total).map(sees);
        let data = match ty.dtype.is_float() {
            true => Values::F32(seen.map(|seen| if seen { 0.0 } else { HIDDEN }).collect()),
            false => Values::Bool(seen.collect()),
        };
        Array::new(ty.dtype, ty.shape.clone(), data)
    }
}

/// What hides a slot in a mask that is added to scores.
const HIDDEN: f32 = -1e4;

/// What a value depends on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// Constants alone.
    Constant,
    /// Constants and inputs that a [`Chunk`] gives.
    Position,
    /// Anything else.
    Other,
}

pub fn source(graph: &Graph, producers: &HashMap<ValueId, usize>, v: ValueId) -> Source {
    let mut open = vec![v];
    let mut seen = std::collections::HashSet::new();
    let mut found = Source::Constant;
    while let Some(v) = open.pop() {
        if !seen.insert(v) || graph.constant(v).is_some() {
            continue;
        }
        match producers.get(&v) {
            Some(&i) => open.extend(graph.nodes[i].inputs.iter().flatten()),
            None if [POSITIONS, ATTENTION_MASK, MASK].contains(&graph.value(v).name.as_str()) => {
                found = Source::Position
            }
            None => return Source::Other,
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_that_would_be_read_from_the_step_is_refused_and_its_look_alikes_are_not() {
        for (dtype, shape, free) in
            [(DType::I32, vec![], false), (DType::I64, vec![], true), (DType::I32, vec![1], true)]
        {
            let mut graph = Graph::default();
            graph.add_input("rows", Ty::new(dtype, &shape));
            let told = check_free(&graph).map_err(|e| e.to_string());
            assert_eq!(told.is_ok(), free, "{dtype:?} {shape:?}: {told:?}");
            assert!(free || told.is_err_and(|e| e.contains("rows") && e.contains("another name")));
        }
    }
}
