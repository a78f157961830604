//! A decoder run node by node over a whole text. In: a bucket's graph, tokens. Out: what any node multiplies with its weights, over
//! all tokens. Promise: one layer's values are held at a time, and what is replaced before a node runs is what it computes with.

use crate::error::{Error, Result};
use crate::graph::eval::{self, Array, Values};
use crate::graph::{Data, Def, Graph, Op, Tensor, ValueId};
use crate::passes::roles;
use std::collections::HashMap;

/// Tokens that see each other, at most. Longer windows cost time in attention and change second moments little.
const WINDOW: usize = 512;

pub struct Walk {
    graph: Graph,
    sequences: Vec<Vec<Chunk>>,
    /// The first node that has not run.
    next: usize,
    /// How many of the nodes that have not run read a value.
    left: Vec<usize>,
}

/// Consecutive tokens that the graph takes at once, and the values it has of them.
struct Chunk {
    /// Rows that hold tokens; the rest is padding.
    rows: usize,
    live: HashMap<ValueId, Array>,
}

impl Walk {
    /// Takes a graph whose only inputs are tokens, `pos` and `rows`. Anything else is an error that says what it has.
    pub fn new(graph: Graph, tokens: &[u32]) -> Result<Walk> {
        let known = [roles::TOKENS, roles::POS, roles::ROWS];
        if let Some(other) = graph.inputs.iter().map(|v| &graph.value(*v).name).find(|n| !known.contains(&n.as_str())) {
            return Err(Error::new("calibration", format!("the graph needs '{other}', which a text does not give")));
        }
        // A state that no node writes is filled from elsewhere (pictures) and limits no window.
        let cache = graph.states.iter().find(|s| s.output != s.input);
        let (Some(input), Some(cache)) = (roles::input(&graph, roles::TOKENS), cache) else {
            return Err(Error::new("calibration", "the graph is no decoder of tokens with a cache"));
        };
        let window = WINDOW.min(graph.shape(cache.input)[2]);
        let rows = graph.shape(input)[1].max(1);
        let mut left = vec![0; graph.values.len()];
        graph.nodes.iter().flat_map(|n| n.inputs.iter().flatten()).for_each(|v| left[v.0 as usize] += 1);
        // What the head takes its last row from is asked for whole.
        let whole = graph.nodes.iter().filter(|n| n.op == Op::LastRow).filter_map(|n| n.input(0));
        whole.for_each(|v| left[v.0 as usize] += 1);
        let chunk = |(i, ids): (usize, &[u32])| Chunk { rows: ids.len(), live: given(&graph, ids, i * rows) };
        let sequence = |ids: &[u32]| ids.chunks(rows).enumerate().map(chunk).collect();
        let sequences = tokens.chunks(window).map(sequence).collect();
        Ok(Walk { graph, sequences, next: 0, left })
    }

    /// What node `at` multiplies with its weights, [tokens][k]. Nodes before it run now, if they have not yet.
    pub fn multiplied(&mut self, at: usize) -> Result<Vec<f32>> {
        while self.next < at {
            self.step()?;
        }
        let node = &self.graph.nodes[at];
        let consts = self.constants(at)?;
        let first = node.input(0).map(|v| self.whole(v));
        let mut out = vec![];
        for chunk in self.sequences.iter().flatten() {
            let mut inputs: Vec<Option<&Array>> = consts.iter().map(Option::as_ref).collect();
            let x = first.and_then(|v| chunk.live.get(&v)).ok_or_else(|| gone(&node.name))?;
            inputs[0] = Some(x);
            let rows = eval::multiplied(&node.op, &inputs).map_err(|e| e.at(node.name.clone()))?;
            let all: usize = x.shape[..x.shape.len() - 1].iter().product();
            out.extend_from_slice(&rows[..rows.len() / all.max(1) * chunk.rows]);
        }
        Ok(out)
    }

    /// Nodes that have not run yet compute with `tensor` in place of a constant.
    pub fn replace(&mut self, value: ValueId, tensor: Tensor) {
        let slot = &mut self.graph.values[value.0 as usize];
        slot.ty.dtype = tensor.dtype;
        slot.def = Def::Const(tensor);
    }

    /// The value that a last row is taken from, or the value itself.
    fn whole(&self, v: ValueId) -> ValueId {
        let source = self.graph.nodes.iter().find(|n| n.op == Op::LastRow && n.outputs.contains(&v));
        source.and_then(|n| n.input(0)).unwrap_or(v)
    }

    /// The constants among a node's inputs.
    fn constants(&self, at: usize) -> Result<Vec<Option<Array>>> {
        let read = |v: &Option<ValueId>| match v.and_then(|v| self.graph.constant(v)) {
            Some(tensor) => Array::from_tensor(tensor).map(Some),
            None => Ok(None),
        };
        self.graph.nodes[at].inputs.iter().map(read).collect()
    }

    /// Runs one node over all chunks, sequences side by side.
    fn step(&mut self) -> Result<()> {
        let consts = self.constants(self.next)?;
        let (graph, at) = (&self.graph, self.next);
        let threads = std::thread::available_parallelism().map_or(1, |t| t.get());
        let share = self.sequences.len().div_ceil(threads).max(1);
        let run = |sequences: &mut [Vec<Chunk>]| -> Result<()> {
            for chunks in sequences {
                for i in 0..chunks.len() {
                    let made = made(graph, at, &consts, &chunks[..=i])?;
                    chunks[i].live.extend(graph.nodes[at].outputs.iter().copied().zip(made));
                }
            }
            Ok(())
        };
        std::thread::scope(|scope| {
            let work: Vec<_> = self.sequences.chunks_mut(share).map(|part| scope.spawn(|| run(part))).collect();
            let stopped = |_| Err(Error::new("calibration", "a thread stopped").at(graph.nodes[at].name.clone()));
            work.into_iter().try_for_each(|w| w.join().unwrap_or_else(stopped))
        })?;
        self.next += 1;
        self.forget(at);
        Ok(())
    }

    /// Drops what no later node reads: values of chunks, and the decoded weights of this node.
    fn forget(&mut self, at: usize) {
        let node = self.graph.nodes[at].clone();
        for v in node.inputs.iter().flatten() {
            self.left[v.0 as usize] = self.left[v.0 as usize].saturating_sub(1);
        }
        for v in node.inputs.iter().flatten().chain(&node.outputs).filter(|v| self.left[v.0 as usize] == 0) {
            self.sequences.iter_mut().flatten().for_each(|c| drop(c.live.remove(v)));
            let value = &mut self.graph.values[v.0 as usize];
            if let Def::Const(tensor) = &mut value.def {
                tensor.data = Data::Absent(value.name.clone());
            }
        }
    }
}

/// The outputs of node `at` for the last of `chunks`, whose caches are those that the one before it left.
fn made(graph: &Graph, at: usize, consts: &[Option<Array>], chunks: &[Chunk]) -> Result<Vec<Array>> {
    let node = &graph.nodes[at];
    let Some((chunk, before)) = chunks.split_last() else { return Ok(vec![]) };
    let mut empty: Vec<Option<Array>> = vec![];
    for v in &node.inputs {
        let state = v.and_then(|v| graph.states.iter().find(|s| s.input == v));
        // A state that the graph only reads never changes.
        let first = state.filter(|s| before.is_empty() || s.output == s.input);
        empty.push(first.map(|s| Array::zeros(graph.ty(s.input))));
    }
    let mut inputs = vec![];
    for (i, v) in node.inputs.iter().enumerate() {
        let state = v.and_then(|v| graph.states.iter().find(|s| s.input == v));
        let left = state.and_then(|s| before.last()?.live.get(&s.output));
        let known = consts[i].as_ref().or(empty[i].as_ref()).or(left);
        let found = known.or_else(|| v.and_then(|v| chunk.live.get(&v)));
        if v.is_some() && found.is_none() {
            return Err(gone(&node.name));
        }
        inputs.push(found);
    }
    eval::node(&node.op, &inputs).map_err(|e| e.at(node.name.clone()))
}

fn gone(node: &str) -> Error {
    Error::new("calibration", "an input is not there when it is needed").at(node.to_string())
}

/// The graph's inputs for tokens that start at `pos`.
fn given(graph: &Graph, ids: &[u32], pos: usize) -> HashMap<ValueId, Array> {
    let value = |&v: &ValueId| {
        let ty = graph.ty(v);
        let mut data: Vec<i64> = match graph.value(v).name.as_str() {
            roles::POS => vec![pos as i64],
            roles::ROWS => vec![ids.len() as i64],
            _ => ids.iter().map(|&id| i64::from(id)).collect(),
        };
        data.resize(ty.elements(), 0);
        (v, Array::new(ty.dtype, ty.shape.clone(), Values::Int(data)))
    };
    graph.inputs.iter().map(value).collect()
}
