//! Attention that leaves heads where projections put them. In: `Attention` between the transposes that sort rows by head and back, its
//! projections. Out: `RowAttention`, with q, k and v of one x in one `Linear`. Promise: weights are the same numbers, side by side.

use super::Log;
use super::look::{Look, rewrite, substitute};
use crate::error::Result;
use crate::graph::{DType, Data, Graph, Mask, Node, Op, Tensor, ValueId};

const BY_HEAD: [usize; 4] = [0, 2, 1, 3];

pub fn run(graph: &mut Graph, log: &mut Log) -> Result<()> {
    let rows = rewrite(graph, log, |look, node| beside(look, node).into(), in_rows)?;
    super::fold::quietly(graph, log)?;
    let packed = rewrite(graph, log, |look, node| projected(look, node).into(), pack)?;
    log.say(format!("{rows} attention blocks over rows, {packed} of them with one projection"));
    Ok(())
}

/// An attention whose heads lie side by side before and after.
struct Beside {
    op: Op,
    /// q, k and v as [b, rows, heads, dim].
    parts: [ValueId; 3],
    mask: Option<ValueId>,
}

fn beside(look: &Look, node: &Node) -> Option<Beside> {
    let y = look.transpose(node.out(), &BY_HEAD)?;
    let attention = look.node(y)?;
    let Op::Attention { heads, scale, mask, cap: 0.0 } = attention.op else { return None };
    if !look.single(y) {
        return None;
    }
    let part = |i: usize| look.transpose(attention.input(i)?, &BY_HEAD);
    let op = Op::RowAttention { heads, scale, mask, packed: false };
    Some(Beside { op, parts: [part(0)?, part(1)?, part(2)?], mask: attention.input(3) })
}

fn in_rows(graph: &mut Graph, mut at: usize, m: Beside) -> Result<()> {
    let (name, shape) = (graph.nodes[at].name.clone(), graph.shape(graph.nodes[at].out()).to_vec());
    let mut inputs = Vec::new();
    for (part, what) in m.parts.into_iter().zip(["q", "k", "v"]) {
        let [b, rows, heads, dim] = graph.shape(part)[..] else { return Ok(()) };
        let flat = Op::Reshape { shape: vec![b, rows, heads * dim] };
        inputs.push(Some(graph.insert(at, flat, &[Some(part)], &format!("{name}.{what}"))?[0]));
        at += 1;
    }
    inputs.extend(m.mask.map(Some));
    let y = graph.insert(at, m.op, &inputs, &name)?[0];
    substitute(graph, at + 1, (Op::Reshape { shape }, vec![Some(y)]))
}

/// Three projections of one x.
struct Projected {
    attention: Op,
    mask: Option<ValueId>,
    x: ValueId,
    nk: bool,
    weights: [ValueId; 3],
    biases: [Option<ValueId>; 3],
}

fn projected(look: &Look, node: &Node) -> Option<Projected> {
    let Op::RowAttention { heads, scale, mask, packed: false } = node.op else { return None };
    let one = |i: usize| {
        let y = node.input(i)?;
        let linear = look.node(y)?;
        let Op::Linear { norm: None, bias, act: None, residual: false, nk } = linear.op else { return None };
        let (x, w) = (linear.input(0)?, linear.input(1)?);
        let tensor = look.graph.constant(w)?;
        let plain = tensor.quant().is_none();
        let bias = if bias { Some(linear.input(2)?) } else { None };
        (look.single(y) && plain).then_some((x, w, nk, tensor.dtype, bias))
    };
    let [q, k, v] = [one(0)?, one(1)?, one(2)?];
    let alike = [&k, &v].iter().all(|o| (o.0, o.2, o.3) == (q.0, q.2, q.3));
    let biases = [q.4, k.4, v.4];
    let types: Vec<DType> = biases.iter().flatten().map(|b| look.graph.ty(*b).dtype).collect();
    if !alike || types.windows(2).any(|t| t[0] != t[1]) {
        return None;
    }
    let mask_input = (mask == Mask::Given).then(|| node.input(3)).flatten();
    let attention = Op::RowAttention { heads, scale, mask, packed: true };
    Some(Projected { attention, mask: mask_input, x: q.0, nk: q.2, weights: [q.1, k.1, v.1], biases })
}

fn pack(graph: &mut Graph, at: usize, m: Projected) -> Result<()> {
    let name = graph.nodes[at].name.clone();
    let mut inputs = vec![Some(m.x), side_by_side(graph, m.weights, if m.nk { 0 } else { 1 })];
    let bias = m.biases.iter().flatten().next().map(|b| graph.ty(*b).dtype);
    if let Some(dtype) = bias {
        let mut parts = m.weights;
        for (part, bias) in parts.iter_mut().zip(m.biases) {
            let n = graph.shape(*part)[if m.nk { 0 } else { 1 }];
            let zeros = || Tensor::from_bytes(dtype, vec![n], vec![0; n * dtype.bytes()]);
            *part = match bias {
                Some(bias) => bias,
                None => graph.add_const(format!("{name}.no_bias{n}"), zeros()),
            };
        }
        inputs.push(side_by_side(graph, parts, 0));
    }
    let linear = Op::Linear { norm: None, bias: bias.is_some(), act: None, residual: false, nk: m.nk };
    let y = graph.insert(at, linear, &inputs, &format!("{name}.qkv"))?[0];
    let mut inputs = vec![Some(y)];
    inputs.extend(m.mask.map(Some));
    substitute(graph, at + 1, (m.attention, inputs))
}

/// Three constants as one, joined along an axis; made when its data is first read.
fn side_by_side(graph: &mut Graph, parts: [ValueId; 3], axis: usize) -> Option<ValueId> {
    let tensors: Vec<Tensor> = parts.iter().map(|v| graph.constant(*v).cloned()).collect::<Option<_>>()?;
    let name = parts.map(|v| graph.value(v).name.as_str()).join("+");
    let first = &tensors[0];
    let mut shape = first.shape.clone();
    shape[axis] = tensors.iter().map(|t| t.shape[axis]).sum();
    let lines: usize = shape[..axis].iter().product();
    if tensors.iter().any(Tensor::is_absent) {
        let data = Data::Absent(name.clone());
        return Some(graph.add_const(name, Tensor { dtype: first.dtype, shape, data }));
    }
    let (dtype, source) = (first.dtype, first.clone());
    let make = move || {
        let mut out = Vec::new();
        for line in 0..lines {
            for t in &tensors {
                let bytes = t.bytes().unwrap_or_default();
                let size = bytes.len() / lines.max(1);
                out.extend_from_slice(&bytes[line * size..][..size]);
            }
        }
        out
    };
    Some(graph.add_const(name, Tensor::later(dtype, &source, shape, make)))
}
