//! A sampler of the package's own behind a decoder's logits. In: the sampler's graph, a fused decoder. Out: the decoder with a second
//! output, `token`, and an input `counter` where the sampler counts its draws. Promise: the graph is compiled as it is; what a device
//! cannot hold is refused with the policy, the node and the reason.

use super::recognise::Own;
use crate::error::{Error, Result};
use crate::graph::eval::{Array, Values};
use crate::graph::{BinaryOp, COUNTER, DType, Def, Graph, Node, Op, Output, Ty, ValueId, verify};
use crate::import::{self, Bindings, Options};
use crate::passes::{self, Log};
use std::collections::BTreeMap;

/// Adds the sampler to a decoder's fused graph.
pub fn attach(own: &Own, graph: &mut Graph) -> Result<()> {
    let place = |e: Error| Error {
        place: Some(format!("policy '{}', {}", own.component.name, e.place.unwrap_or_default())),
        ..e
    };
    let [logits] = graph.outputs.as_slice() else {
        return Err(refuse(own, "the decoder gives more than logits"));
    };
    let logits = logits.value;
    let vocab = graph.shape(logits).last().copied().unwrap_or(0);
    let mut sampler = load(own, vocab).map_err(place)?;
    passes::run(&mut sampler, passes::RAW_ORDER, &mut Log::default()).map_err(place)?;
    holdable(own, &sampler)?;
    merge(own, graph, logits, sampler)?;
    verify(graph).map_err(place)
}

fn refuse(own: &Own, what: &str) -> Error {
    let name = &own.component.name;
    Error::new("workflow", format!("{what}; it would be compiled as given, since {}", own.why))
        .at(format!("policy '{name}'"))
}

fn port(own: &Own, role: &str) -> Option<String> {
    own.component.playing(role).map(|p| p.name.clone())
}

/// The sampler at this vocabulary, with its settings as constants, and its token as the only output.
fn load(own: &Own, vocab: usize) -> Result<Graph> {
    let logits = port(own, "logits");
    let counter = port(own, "counter");
    let mut bind = Bindings::new();
    for p in import::inspect(&own.file)?.inputs {
        let extents = if Some(&p.name) == logits.as_ref() {
            vec![1, vocab]
        } else {
            vec![1; p.dims.as_ref().map_or(0, Vec::len)]
        };
        for (dim, extent) in p.dims.iter().flatten().zip(extents) {
            if dim.parse::<usize>().is_err() {
                bind.insert(dim.clone(), extent);
            }
        }
    }
    let fixed = own.given.iter().filter(|(name, _)| Some(name) != counter.as_ref());
    let fixed: BTreeMap<_, _> = fixed.map(|(name, array)| (name.clone(), array.to_tensor())).collect();
    let mut graph = import::load(&own.file, &Options { bind, fixed, ..Options::default() })?;
    let token = port(own, "token");
    graph.outputs.retain(|o| Some(&o.name) == token.as_ref());
    if graph.outputs.len() != 1 {
        return Err(Error::new("workflow", "gives no token"));
    }
    Ok(graph)
}

/// Integers have 32 bits on a device, and floats too.
fn holdable(own: &Own, sampler: &Graph) -> Result<()> {
    for node in &sampler.nodes {
        let values = node.inputs.iter().flatten().chain(&node.outputs);
        let wide = values.map(|v| sampler.ty(*v).dtype).find(|d| matches!(d, DType::U64 | DType::F64));
        if let Some(dtype) = wide {
            let what = format!(
                "node '{}' ({}) takes or gives {dtype}, and a device here has 32-bit numbers",
                node.name,
                node.op.name()
            );
            return Err(refuse(own, &what));
        }
    }
    Ok(())
}

/// Puts the sampler's nodes behind the logits.
fn merge(own: &Own, graph: &mut Graph, logits: ValueId, sampler: Graph) -> Result<()> {
    let (row, count) = (port(own, "logits"), port(own, "counter"));
    let mut map: Vec<ValueId> = vec![];
    for (i, value) in sampler.values.into_iter().enumerate() {
        let name = format!("{}/{}", own.component.name, value.name);
        let id = match value.def {
            Def::Input if sampler.inputs.contains(&ValueId(i as u32)) => {
                if Some(&value.name) == row.as_ref() {
                    logits_as(graph, logits, &value.ty, &name)?
                } else if Some(&value.name) == count.as_ref() {
                    counter(own, graph, &value.ty, &name)?
                } else {
                    return Err(refuse(own, &format!("nothing is known of its input '{}'", value.name)));
                }
            }
            def => graph.add_value(name, value.ty, def),
        };
        map.push(id);
    }
    let new = |v: ValueId| map[v.0 as usize];
    for node in sampler.nodes {
        let inputs = node.inputs.into_iter().map(|v| v.map(new)).collect();
        let outputs = node.outputs.into_iter().map(new).collect();
        let name = format!("{}/{}", own.component.name, node.name);
        graph.nodes.push(Node { op: node.op, inputs, outputs, name });
    }
    let token = sampler.outputs.first().map(|o| new(o.value));
    let token = token.filter(|v| graph.ty(*v).elements() == 1 && graph.ty(*v).dtype.is_int());
    let token = token.ok_or_else(|| refuse(own, "its token is not one integer"))?;
    graph.outputs.push(Output { name: "token".into(), value: token });
    Ok(())
}

/// The logits in the type and shape that the sampler takes.
fn logits_as(graph: &mut Graph, logits: ValueId, ty: &Ty, name: &str) -> Result<ValueId> {
    let mut value = logits;
    if graph.ty(value).dtype != ty.dtype {
        value = graph.push(Op::Cast { to: ty.dtype }, &[Some(value)], &format!("{name}.cast"))?[0];
    }
    Ok(graph.push(Op::Reshape { shape: ty.shape.clone() }, &[Some(value)], name)?[0])
}

/// The counter of this draw: how many were before, from where it begins.
fn counter(own: &Own, graph: &mut Graph, ty: &Ty, name: &str) -> Result<ValueId> {
    let given = own
        .given
        .iter()
        .find(|(port, _)| Some(port.as_str()) == own.component.playing("counter").map(|p| p.name.as_str()));
    let first = given.and_then(|(_, a)| a.to_ints().first().copied()).unwrap_or(0);
    if i32::try_from(first).is_err() {
        return Err(refuse(own, &format!("its counter begins with {first}")));
    }
    let drawn = graph.add_input(COUNTER, Ty::new(DType::I32, &[]));
    let cast = graph.push(Op::Cast { to: ty.dtype }, &[Some(drawn)], &format!("{name}.cast"))?[0];
    let begin = Array::new(ty.dtype, ty.shape.clone(), Values::Int(vec![first; ty.elements()]));
    let begin = graph.add_const(format!("{name}.first"), begin.to_tensor());
    Ok(graph.push(Op::Binary(BinaryOp::Add), &[Some(begin), Some(cast)], name)?[0])
}
