//! Where values live. In: a graph and its role. Out: for every value the memory behind it. Promise: aliases (reshapes, caches
//! written in place) share one place; every raw output has a place of its own.

use super::Kv;
use crate::error::{Error, Result};
use crate::graph::{self, DType, Graph, Op, PICTURES, ValueId, own_input, own_output, step_word};
use onnxcast_runtime::program::{Arg, Elem, Port, State};

/// The memory behind a value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Place {
    /// A buffer in the arena; the index is that of the value that owns it.
    Arena(ValueId),
    /// A constant: it gets a tensor of the pool when a kernel takes it as a plain value.
    Const(ValueId),
    Fixed(Arg),
}

pub struct Places {
    pub of: Vec<Place>,
    pub inputs: Vec<Port>,
    pub outputs: Vec<Port>,
}

/// The element type of a value on the device.
pub fn elem(dtype: DType) -> Elem {
    match dtype {
        DType::Bool => Elem::U32,
        d if d.is_float() => Elem::F32,
        _ => Elem::I32,
    }
}

/// Bytes of a value on the device.
pub fn bytes(graph: &Graph, value: ValueId) -> u64 {
    let ty = graph.ty(value);
    ty.elements() as u64 * elem(ty.dtype).bytes()
}

/// The value whose memory each value uses: itself, or what it reshapes or updates in place.
fn roots(graph: &Graph) -> Vec<ValueId> {
    let mut roots: Vec<ValueId> = (0..graph.values.len() as u32).map(ValueId).collect();
    for node in &graph.nodes {
        let aliases: &[(usize, usize)] = match node.op {
            Op::Reshape { .. } | Op::KvWrite => &[(0, 0)],
            Op::Qkv { .. } => &[(1, 4), (2, 5)],
            _ => &[],
        };
        for &(output, input) in aliases {
            if let (Some(&o), Some(i)) = (node.outputs.get(output), node.input(input)) {
                roots[o.0 as usize] = roots[i.0 as usize];
            }
        }
    }
    roots
}

/// Gives every raw output memory of its own: one that is an input, a constant or another output in disguise is copied.
pub fn own_outputs(graph: &mut Graph) -> Result<()> {
    let roots = roots(graph);
    let mut seen = vec![];
    for i in 0..graph.outputs.len() {
        let out = graph.outputs[i].clone();
        let root = roots[out.value.0 as usize];
        let produced = graph.producers().contains_key(&root);
        if produced && !seen.contains(&root) {
            seen.push(root);
            continue;
        }
        let shape = graph.shape(out.value).to_vec();
        let copy = graph.push(Op::Expand { shape }, &[Some(out.value)], &format!("{} (copy)", out.name))?;
        graph.outputs[i].value = copy[0];
    }
    Ok(())
}

/// Decides the place of every value. `states` are the program's, shared by its buckets.
pub fn assign(graph: &Graph, decoder: bool, kv: Kv, states: &mut Vec<State>) -> Result<Places> {
    let roots = roots(graph);
    let mut fixed: Vec<Option<Arg>> = vec![None; graph.values.len()];
    let (mut inputs, mut outputs) = (vec![], vec![]);
    if decoder {
        decoder_ports(graph, &roots, &mut fixed)?;
        for &v in &graph.inputs {
            if let Some(graph::Own::Held(_)) = own_input(graph.value(v)) {
                fixed[v.0 as usize] = Some(Arg::State(held(graph, v, states)?));
            }
        }
    } else {
        for &v in &graph.inputs {
            if is_picture_row(graph, v) {
                fixed[v.0 as usize] = Some(Arg::Step);
                continue;
            }
            fixed[v.0 as usize] = Some(Arg::Input(inputs.len() as u32));
            inputs.push(port(graph, v, &graph.value(v).name));
        }
        for (i, out) in graph.outputs.iter().enumerate() {
            fixed[roots[out.value.0 as usize].0 as usize] = Some(Arg::Output(i as u32));
            outputs.push(port(graph, out.value, &out.name));
        }
    }
    for s in &graph.states {
        let index = state(graph, s.input, kv, states)?;
        fixed[s.input.0 as usize] = Some(Arg::State(index));
        if roots[s.output.0 as usize] != s.input {
            return Err(Error::new("plan", "this cache is not written in place").at(graph.value(s.input).name.clone()));
        }
    }
    let of = roots
        .iter()
        .map(|&root| match fixed[root.0 as usize] {
            Some(arg) => Place::Fixed(arg),
            None if graph.constant(root).is_some() => Place::Const(root),
            None => Place::Arena(root),
        })
        .collect();
    Ok(Places { of, inputs, outputs })
}

/// A decoder reads token ids, `pos` and `rows`, and gives one row of logits.
fn decoder_ports(graph: &Graph, roots: &[ValueId], fixed: &mut [Option<Arg>]) -> Result<()> {
    for &v in &graph.inputs {
        let value = graph.value(v);
        // Filled before the head, in the arena or a state.
        if own_input(value).is_some() {
            continue;
        }
        let arg = match value.ty.dtype {
            _ if step_word(value).is_some() => Arg::Step,
            dtype if !dtype.is_float() && !fixed.contains(&Some(Arg::Tokens)) => Arg::Tokens,
            _ => {
                let what = "a decoder whose cache is managed takes token ids alone, and this input is left over";
                return Err(Error::new("plan", what)
                    .at(value.name.clone())
                    .hint("see `onnxcast explain` for the pass that declined, or compile with dims=… to run the graph as it stands"));
            }
        };
        fixed[v.0 as usize] = Some(arg);
    }
    let others: Vec<&str> = graph.outputs.iter().skip(1).map(|o| o.name.as_str()).collect();
    let (Some(logits), true) = (graph.outputs.first(), others.iter().all(|name| own_output(name))) else {
        let what = format!("a decoder gives logits alone, this graph gives {} besides", others.join(", "));
        return Err(Error::new("plan", what));
    };
    fixed[roots[logits.value.0 as usize].0 as usize] = Some(Arg::Logits);
    Ok(())
}

/// Whether an input says where the rows of a picture go: it is no port, but a word of the step.
fn is_picture_row(graph: &Graph, input: ValueId) -> bool {
    let value = graph.value(input);
    let makes_pictures = graph.states.iter().any(|s| s.output != s.input && graph.value(s.input).name == PICTURES);
    makes_pictures && step_word(value).is_some()
}

fn port(graph: &Graph, v: ValueId, name: &str) -> Port {
    let ty = graph.ty(v);
    Port {
        name: name.to_string().into(),
        numpy: numpy(ty.dtype).into(),
        elem: elem(ty.dtype),
        shape: ty.shape.iter().map(|&d| d as u32).collect(),
    }
}

/// The type's name in numpy; bfloat16 has none there and travels as float32.
fn numpy(dtype: DType) -> &'static str {
    match dtype {
        DType::F32 | DType::BF16 => "float32",
        DType::F16 => "float16",
        DType::F64 => "float64",
        DType::I8 => "int8",
        DType::I16 => "int16",
        DType::I32 => "int32",
        DType::I64 => "int64",
        DType::U8 => "uint8",
        DType::U16 => "uint16",
        DType::U32 => "uint32",
        DType::U64 => "uint64",
        DType::Bool => "bool",
    }
}

/// The index of a state that policies hold.
fn held(graph: &Graph, input: ValueId, states: &mut Vec<State>) -> Result<u32> {
    let value = graph.value(input);
    let shape = value.ty.shape.iter().map(|&d| d as u32).collect();
    let new = State { name: value.name.clone().into(), bytes: bytes(graph, input), shape, dtype: elem(value.ty.dtype) };
    shared(new, states)
}

/// The index of a cache among the program's states.
fn state(graph: &Graph, input: ValueId, kv: Kv, states: &mut Vec<State>) -> Result<u32> {
    let value = graph.value(input);
    let (elements, width) = (value.ty.elements() as u64, value.ty.shape.last().copied().unwrap_or(1).max(1) as u64);
    let kv = if value.name == PICTURES { Kv::Fp32 } else { kv };
    let (dtype, bytes) = match kv {
        Kv::Fp32 => (Elem::F32, 4 * elements),
        Kv::Fp16 => (Elem::F16, 2 * elements),
        // As shaders/lib/cache.glsl has it: codes, then an f32 scale a row.
        Kv::Int8 => (Elem::Q8, elements.next_multiple_of(16) + 4 * (elements / width)),
    };
    let new = State {
        name: value.name.clone().into(),
        bytes,
        shape: value.ty.shape.iter().map(|&d| d as u32).collect(),
        dtype,
    };
    shared(new, states)
}

/// Buckets share states by name.
fn shared(new: State, states: &mut Vec<State>) -> Result<u32> {
    match states.iter().position(|s| s.name == new.name) {
        Some(i) if states[i] == new => Ok(i as u32),
        Some(i) => {
            let what = format!("buckets disagree on this state: {:?} and {:?}", states[i].shape, new.shape);
            Err(Error::new("plan", what).at(new.name.to_string()))
        }
        None => {
            states.push(new);
            Ok(states.len() as u32 - 1)
        }
    }
}
