//! One float type for what kernels compute. In: a graph with fp16 or bf16 values. Out: the same in f32, casts between float types
//! gone. Promise: matrices and norm weights stay as narrow as they lie in the file; `Graph::activations` says what the linear layers took. The device computes in f32 whatever the export
//! says, so eval of the widened graph differs from eval of the export by the export's own rounding.

use super::Log;
use super::look::{Look, rewrite};
use crate::error::Result;
use crate::graph::eval::Array;
use crate::graph::{Activations, DType, Def, Graph, Node, Op, Tensor, ValueId};

pub fn run(graph: &mut Graph, log: &mut Log) -> Result<()> {
    widen(graph, log, &[])
}

/// The same for a graph whose inputs and outputs keep their types: casts stand behind the ones and before the others.
pub fn inside(graph: &mut Graph, log: &mut Log) -> Result<()> {
    let narrow = |graph: &Graph, v: ValueId| is_narrow(graph.ty(v).dtype);
    let mut ports: Vec<ValueId> = Vec::new();
    for i in 0..graph.outputs.len() {
        let v = graph.outputs[i].value;
        if !narrow(graph, v) || graph.constant(v).is_some() || graph.inputs.contains(&v) {
            continue;
        }
        let to = graph.ty(v).dtype;
        let name = format!("{}.cast", graph.outputs[i].name);
        let cast = graph.push(Op::Cast { to }, &[Some(v)], &name)?[0];
        graph.outputs[i].value = cast;
        ports.push(cast);
    }
    for v in graph.inputs.clone() {
        if narrow(graph, v) {
            let name = format!("{}.wide", graph.value(v).name);
            let wide = graph.insert(0, Op::Cast { to: DType::F32 }, &[Some(v)], &name)?[0];
            let outputs = graph.outputs.clone();
            graph.replace_uses(v, wide);
            graph.nodes[0].inputs = vec![Some(v)];
            graph.outputs = outputs;
            ports.push(v);
        }
    }
    ports.extend(graph.outputs.iter().map(|o| o.value).filter(|v| graph.constant(*v).is_some()));
    widen(graph, log, &ports)
}

/// The manifest's word on activations, which goes before the export's. Behind the passes, none of which asks.
pub fn take(graph: &mut Graph, asked: Activations, log: &mut Log) {
    let (own, name) = (graph.activations.name(), asked.name());
    log.lines.push("[activations]".into());
    log.say(match asked {
        _ if asked == graph.activations => format!("{name} is asked for, and what linear layers take anyway"),
        Activations::F32 => {
            format!("linear layers take {own}; fp32 is asked for, so kernels for many rows keep f32's digits")
        }
        _ => format!("linear layers take {own}; {name} is asked for, and so may kernels for many rows"),
    });
    graph.activations = asked;
}

fn widen(graph: &mut Graph, log: &mut Log, ports: &[ValueId]) -> Result<()> {
    graph.activations = multiplied(graph);
    if graph.activations != Activations::F32 {
        let name = graph.activations.name();
        log.say(format!("linear layers multiply activations in {name}, and so may kernels for many rows"));
    }
    let wide = constants(graph, ports);
    let mut values = 0;
    for (i, value) in graph.values.iter_mut().enumerate() {
        let port = ports.contains(&ValueId(i as u32));
        if is_narrow(value.ty.dtype) && !matches!(value.def, Def::Const(_)) && !port {
            value.ty.dtype = DType::F32;
            values += 1;
        }
    }
    for node in &mut graph.nodes {
        if let Op::Cast { to } = &mut node.op
            && is_narrow(*to)
            && !node.outputs.iter().any(|v| ports.contains(v))
        {
            *to = DType::F32;
        }
    }
    let casts = rewrite(
        graph,
        log,
        |look, node| repeated(look, node).into(),
        |graph, at, same: ValueId| {
            let out = graph.nodes[at].out();
            graph.replace_uses(out, same);
            Ok(())
        },
    )?;
    log.say(format!("{values} values and {wide} constants are f32 now, {casts} casts are gone"));
    Ok(())
}

/// What all linear layers of the graph take: f32 where any does or there is none, else bf16 where any does.
fn multiplied(graph: &Graph) -> Activations {
    let layers = graph.nodes.iter().filter(|n| matches!(n.op, Op::Linear { .. })).filter_map(|n| n.input(0));
    let types = layers.map(|x| match graph.ty(x).dtype {
        DType::F16 => Activations::F16,
        DType::BF16 => Activations::Bf16,
        _ => Activations::F32,
    });
    types.min().unwrap_or_default()
}

fn is_narrow(dtype: DType) -> bool {
    matches!(dtype, DType::F16 | DType::BF16)
}

/// The input of a cast to the type it has.
fn repeated(look: &Look, node: &Node) -> Option<ValueId> {
    let x = node.input(0)?;
    let same = matches!(node.op, Op::Cast { .. }) && look.graph.ty(x) == look.graph.ty(node.out());
    same.then_some(x)
}

/// Widens constants that some reader takes in the type of its other operands; they are converted when first read.
fn constants(graph: &mut Graph, ports: &[ValueId]) -> usize {
    let mut strict = vec![false; graph.values.len()];
    for node in &graph.nodes {
        let weights = match node.op {
            Op::Linear { .. } | Op::LayerNorm { .. } | Op::RmsNorm { .. } => 1,
            _ => 0,
        };
        for (i, v) in node.inputs.iter().enumerate() {
            if let Some(v) = v {
                strict[v.0 as usize] |= weights == 0 || i == 0;
            }
        }
    }
    for v in graph.outputs.iter().map(|o| o.value).filter(|v| !ports.contains(v)) {
        strict[v.0 as usize] = true;
    }
    let mut count = 0;
    for (value, strict) in graph.values.iter_mut().zip(strict) {
        if let Def::Const(tensor) = &mut value.def
            && strict
            && is_narrow(tensor.dtype)
        {
            let from = tensor.clone();
            let wide = move || {
                let read = Array::from_tensor(&from).map(|a| a.to_f32());
                read.unwrap_or_default().into_iter().flat_map(f32::to_le_bytes).collect()
            };
            *tensor = Tensor::later(DType::F32, tensor, tensor.shape.clone(), wide);
            value.ty.dtype = DType::F32;
            count += 1;
        }
    }
    count
}
