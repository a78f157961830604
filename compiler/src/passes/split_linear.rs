//! Takes packed projections apart. In: a `Linear` whose outputs are only read in parts, by `Split` or `Slice` of the last axis. Out: a
//! `Linear` a part. Promise: a part's weights are the same numbers; rows that lie together are not copied.

use super::Log;
use super::look::{Look, rewrite};
use crate::error::Result;
use crate::graph::{Data, Graph, Node, Op, Tensor, ValueId};
use std::ops::Range;
use std::sync::Arc;

/// A node that reads parts of a layer's columns, and which.
struct Match {
    linear: Node,
    parts: Vec<(ValueId, Range<usize>)>,
}

pub fn run(graph: &mut Graph, log: &mut Log) -> Result<()> {
    let count = rewrite(graph, log, |look, node| find(look, node).into(), replace)?;
    log.say(format!("{count} packed projections taken apart"));
    super::fuse_linear::bias(graph, log)
}

fn find(look: &Look, node: &Node) -> Option<Match> {
    let parts = parts(look.graph, node)?;
    let y = node.input(0)?;
    let linear = look.node(y)?;
    let Op::Linear { norm: None, act: None, residual: false, .. } = linear.op else { return None };
    let constant = linear.inputs[1..].iter().flatten().all(|w| look.graph.constant(*w).is_some());
    let mut readers = look.graph.nodes.iter().filter(|n| n.inputs.contains(&Some(y)));
    let only_parts = readers.all(|n| self::parts(look.graph, n).is_some());
    let shown = look.graph.outputs.iter().any(|o| o.value == y);
    (constant && only_parts && !shown).then(|| Match { linear: linear.clone(), parts })
}

/// The columns of its input that each output of a split or slice holds.
fn parts(graph: &Graph, node: &Node) -> Option<Vec<(ValueId, Range<usize>)>> {
    let shape = graph.shape(node.input(0)?);
    let (width, lead) = shape.split_last()?;
    match &node.op {
        Op::Split { axis, sizes } if *axis == lead.len() => {
            let ends = sizes.iter().scan(0, |end, n| {
                *end += n;
                Some(*end - n..*end)
            });
            Some(node.outputs.iter().copied().zip(ends).collect())
        }
        Op::Slice { begin, step, len } => {
            let (n, outer) = len.split_last()?;
            let (at, before) = begin.split_last()?;
            let plain = outer == lead && before.iter().all(|b| *b == 0) && step.iter().all(|s| *s == 1) && n < width;
            plain.then(|| vec![(node.out(), *at as usize..*at as usize + n)])
        }
        _ => None,
    }
}

fn replace(graph: &mut Graph, at: usize, m: Match) -> Result<()> {
    let Op::Linear { nk, .. } = m.linear.op else { return Ok(()) };
    for (i, (out, columns)) in m.parts.into_iter().enumerate() {
        let mut inputs = m.linear.inputs.clone();
        for (slot, input) in inputs.iter_mut().enumerate().skip(1) {
            let whole = *input;
            *input = whole.map(|w| part(graph, w, &columns, slot == 1 && !nk));
        }
        let name = graph.value(out).name.clone();
        let new = graph.insert(at + i, m.linear.op.clone(), &inputs, &name)?[0];
        graph.replace_uses(out, new);
    }
    Ok(())
}

/// Rows of a quantised matrix, whose codes stay where they are.
fn quantised(whole: &Tensor, of: &Range<usize>, name: &str, shape: Vec<usize>) -> Tensor {
    match (whole.encoded(), whole.quant()) {
        (Some(encoded), _) => Tensor::quantised(Arc::new(encoded.rows(of.start, of.end)), false),
        (None, Some(quant)) => Tensor::absent_quantised(name.to_string(), shape, quant),
        (None, None) => Tensor { dtype: whole.dtype, shape, data: Data::Absent(name.to_string()) },
    }
}

/// Rows (of a vector or an [n, k] matrix) or columns (of a [k, n] matrix) of a constant.
fn part(graph: &mut Graph, whole: ValueId, of: &Range<usize>, columns: bool) -> ValueId {
    let name = format!("{}[{}..{}]", graph.value(whole).name, of.start, of.end);
    if let Some(known) = graph.values.iter().position(|v| v.name == name) {
        return ValueId(known as u32);
    }
    let Some(tensor) = graph.constant(whole).cloned() else { return whole };
    let size = tensor.dtype.bytes();
    let mut shape = tensor.shape.clone();
    let axis = if columns { 1 } else { 0 };
    let line = shape[1..].iter().product::<usize>();
    shape[axis] = of.len();
    let part = match (&tensor.data, columns) {
        (Data::Quantised(_), false) => quantised(&tensor, of, &name, shape),
        _ if tensor.is_absent() => Tensor { dtype: tensor.dtype, shape, data: Data::Absent(name.clone()) },
        (Data::Bytes(owner, range), false) => {
            let (from, to) = (range.start + of.start * line * size, range.start + of.end * line * size);
            Tensor { dtype: tensor.dtype, shape, data: Data::Bytes(owner.clone(), from..to) }
        }
        (_, columns) => {
            let (whole, of) = (tensor.clone(), of.clone());
            let make = move || {
                let bytes = whole.bytes().unwrap_or_default();
                if !columns {
                    return bytes[of.start * line * size..of.end * line * size].to_vec();
                }
                bytes.chunks(line * size).flat_map(|row| &row[of.start * size..of.end * size]).copied().collect()
            };
            Tensor::later(tensor.dtype, &tensor, shape, make)
        }
    };
    graph.add_const(name, part)
}
