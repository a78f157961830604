//! Patch embeddings as linear layers. In: `Conv` whose kernel is its stride. Out: a `Linear` over patches, gathered by one movement.
//! Promise: weights are the numbers of the filter, in their order, with zeros up to a whole number of eight columns.

use super::Log;
use super::look::{Found, Look, rewrite, substitute};
use crate::error::Result;
use crate::graph::{Graph, Node, Op, PadMode, Tensor, ValueId};

/// Columns come in whole numbers of this where they are many: then loads are wide.
const COLUMNS: usize = 8;

struct Match {
    inputs: [ValueId; 2],
    bias: Option<ValueId>,
    kernel: Vec<usize>,
}

pub fn run(graph: &mut Graph, log: &mut Log) -> Result<()> {
    let count = rewrite(graph, log, find, replace)?;
    log.say(format!("{count} convolutions are linear layers over patches"));
    Ok(())
}

fn find(look: &Look, node: &Node) -> Found<Match> {
    let Op::Conv { window, group } = &node.op else { return Found::No };
    let (Some(x), Some(w)) = (node.input(0), node.input(1)) else { return Found::No };
    let bias = node.input(2);
    let (kernel, extents) = (&window.kernel, &look.graph.shape(x)[2..]);
    if *kernel != window.strides || kernel.iter().all(|k| *k == 1) {
        return Found::No;
    }
    let any = extents.iter().zip(kernel).all(|(e, k)| e >= k);
    let plain = *group == 1 && any && window.pads.iter().all(|p| *p == 0) && window.dilations.iter().all(|d| *d == 1);
    let constant = |v: ValueId| look.graph.constant(v).is_some();
    let (w, bias) = (look.uncast(w), bias.map(|b| look.uncast(b)));
    if !plain || !constant(w) || !bias.is_none_or(constant) {
        return Found::Declined("its patches reach over its edges, or its filter is no constant".into());
    }
    Found::Yes(Match { inputs: [x, w], bias, kernel: kernel.clone() })
}

fn replace(graph: &mut Graph, mut at: usize, m: Match) -> Result<()> {
    let node = graph.nodes[at].clone();
    let ([mut x, w], n) = (m.inputs, m.kernel.len());
    let (mut shape, out) = (graph.shape(x).to_vec(), graph.shape(node.out()).to_vec());
    let mut add = |graph: &mut Graph, op: Op, inputs: &[Option<ValueId>], what: &str| -> Result<ValueId> {
        let y = graph.insert(at, op, inputs, &format!("{}.{what}", node.name))?[0];
        at += 1;
        Ok(y)
    };
    // What no patch covers goes first.
    let covered: Vec<usize> = out[2..].iter().zip(&m.kernel).map(|(o, k)| o * k).collect();
    if covered != shape[2..] {
        shape.splice(2.., covered);
        let op = Op::Slice { begin: vec![0; n + 2], step: vec![1; n + 2], len: shape.clone() };
        x = add(graph, op, &[Some(x)], "covered")?;
    }
    // [b, c, gh, p, gw, p] -> [b, gh, gw, c, p, p] -> [b, patches, c * p * p].
    let mut cut = shape[..2].to_vec();
    cut.extend(m.kernel.iter().zip(&shape[2..]).flat_map(|(k, e)| [e / k, *k]));
    let mut perm = vec![0];
    perm.extend((0..n).map(|i| 2 + 2 * i));
    perm.push(1);
    perm.extend((0..n).map(|i| 3 + 2 * i));
    let (patches, columns): (usize, usize) = (out[2..].iter().product(), graph.shape(w)[1..].iter().product());
    let cut = add(graph, Op::Reshape { shape: cut }, &[Some(x)], "cut")?;
    let moved = add(graph, Op::Transpose { perm }, &[Some(cut)], "patches")?;
    let mut rows = add(graph, Op::Reshape { shape: vec![shape[0], patches, columns] }, &[Some(moved)], "rows")?;
    let more = if columns > 8 * COLUMNS { columns.next_multiple_of(COLUMNS) - columns } else { 0 };
    if more > 0 {
        let pads = vec![0, 0, 0, 0, 0, more as i64];
        rows = add(graph, Op::Pad { mode: PadMode::Constant, pads }, &[Some(rows)], "padded")?;
    }
    let weight = matrix(graph, w, more);
    let mut inputs = vec![Some(rows), weight];
    inputs.extend(m.bias.map(Some));
    let linear = Op::Linear { norm: None, bias: m.bias.is_some(), act: None, residual: false, nk: true };
    let y = add(graph, linear, &inputs, "linear")?;
    let y = add(graph, Op::Transpose { perm: vec![0, 2, 1] }, &[Some(y)], "channels")?;
    substitute(graph, at, (Op::Reshape { shape: out }, vec![Some(y)]))
}

/// A filter [n, ..] as n rows, `more` zeros at the end of each.
fn matrix(graph: &mut Graph, filter: ValueId, more: usize) -> Option<ValueId> {
    let tensor = graph.constant(filter)?.clone();
    let name = format!("{}.rows", graph.value(filter).name);
    let (n, k) = (tensor.shape[0], tensor.shape[1..].iter().product::<usize>());
    let shape = vec![n, k + more];
    if more == 0 {
        return Some(graph.add_const(name, Tensor { shape, ..tensor }));
    }
    let (dtype, source) = (tensor.dtype, tensor.clone());
    let make = move || {
        let line = k * dtype.bytes();
        let zeros = vec![0; more * dtype.bytes()];
        source.bytes().unwrap_or_default().chunks(line.max(1)).flat_map(|row| [row, &zeros].concat()).collect()
    };
    Some(graph.add_const(name, Tensor::later(dtype, &tensor, shape, make)))
}
