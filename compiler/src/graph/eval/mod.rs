//! The oracle: a plain interpreter. In: a graph and its inputs. Out: its outputs. Promise: integers exact, floats in f32 (f64
//! where the graph says so), no cleverness.

mod array;
mod elementwise;
mod fused;
mod indexing;
mod lookup;
mod movement;
mod norm;
mod offsets;
mod product;
mod reduce;
mod scalar;
#[cfg(test)]
mod tests;
mod window;

pub use array::{Array, Values};

use super::{Def, Graph, Op, Ty, ValueId, infer};
use crate::error::{Error, Result};
use std::borrow::Cow;
use std::collections::HashMap;

/// Of one result: 4 GiB of floats.
const MOST_ELEMENTS: usize = 1 << 30;

/// Runs one operator.
pub fn node(op: &Op, inputs: &[Option<&Array>]) -> Result<Vec<Array>> {
    let types: Vec<Option<Ty>> = inputs.iter().map(|i| i.map(Array::ty)).collect();
    let types: Vec<Option<&Ty>> = types.iter().map(Option::as_ref).collect();
    let out = infer(op, &types)?;
    if let Some(ty) = out.iter().find(|ty| ty.elements() > MOST_ELEMENTS) {
        let what = format!("{} gives {} elements, and {MOST_ELEMENTS} are taken here", op.name(), ty.elements());
        return Err(Error::new("eval", what));
    }
    let args = Args { op, inputs, out: &out };
    let values = match op {
        Op::Unary(_) | Op::Binary(_) | Op::Where | Op::Clip | Op::Cast { .. } => elementwise::eval(&args),
        Op::LeakyRelu { .. } | Op::Elu { .. } | Op::Celu { .. } | Op::Selu { .. } => elementwise::eval(&args),
        Op::Swish { .. } | Op::HardSigmoid { .. } | Op::ThresholdedRelu { .. } => elementwise::eval(&args),
        Op::MatMul | Op::Gemm { .. } => product::eval(&args),
        Op::Conv { .. } | Op::MaxPool { .. } | Op::AveragePool { .. } => window::eval(&args),
        Op::Softmax { .. } | Op::LogSoftmax { .. } | Op::Reduce { .. } | Op::ArgMax { .. } => reduce::eval(&args),
        Op::ArgMin { .. } | Op::TopK { .. } | Op::CumSum { .. } => reduce::eval(&args),
        Op::Gather { .. } | Op::GatherElements { .. } | Op::GatherNd { .. } => indexing::eval(&args),
        Op::ScatterElements { .. } | Op::ScatterNd { .. } | Op::OneHot { .. } => indexing::eval(&args),
        Op::Concat { .. } | Op::Slice { .. } | Op::Split { .. } | Op::Transpose { .. } => movement::eval(&args),
        Op::Reshape { .. } | Op::Expand { .. } | Op::Tile { .. } => movement::eval(&args),
        Op::Pad { .. } | Op::Trilu { .. } => movement::eval(&args),
        Op::LayerNorm { .. } | Op::RmsNorm { .. } => norm::eval(&args),
        Op::Linear { .. } | Op::GatedLinear { .. } | Op::Rope { .. } | Op::Attention { .. } => fused::eval(&args),
        Op::RowAttention { .. } | Op::KvWrite | Op::CachedAttention { .. } | Op::Qkv { .. } => fused::eval(&args),
        Op::Splice { .. } | Op::LastRow => fused::eval(&args),
    }?;
    debug_assert_eq!(values.len(), out.len());
    Ok(out.into_iter().zip(values).map(|(ty, v)| Array::new(ty.dtype, ty.shape, v)).collect())
}

/// What `Linear`, `GatedLinear` or `Qkv` multiplies with its weights, row after row: input 0, after the norm that is folded in.
pub fn multiplied(op: &Op, inputs: &[Option<&Array>]) -> Result<Vec<f32>> {
    fused::multiplied(&Args { op, inputs, out: &[] })
}

/// Runs a graph. `inputs` holds graph inputs and state inputs by name; the result, outputs by name and state outputs by the
/// name of their input.
pub fn run(graph: &Graph, inputs: &HashMap<String, Array>) -> Result<HashMap<String, Array>> {
    let mut given = HashMap::new();
    for id in graph.inputs.iter().copied().chain(graph.states.iter().map(|s| s.input)) {
        let value = graph.value(id);
        let array = inputs.get(&value.name).ok_or_else(|| {
            Error::new("eval", "the graph's input is missing").at(value.name.clone()).hint("give every graph input")
        })?;
        if array.ty() != value.ty {
            let (have, want) = (array.ty(), &value.ty);
            return Err(Error::new("eval", format!("is {have}, the graph takes {want}")).at(value.name.clone()));
        }
        given.insert(id, array.clone());
    }
    let outputs = graph.outputs.iter().map(|o| (o.name.clone(), o.value));
    let states = graph.states.iter().map(|s| (graph.value(s.input).name.clone(), s.output));
    let ends: Vec<(String, ValueId)> = outputs.chain(states).collect();
    let want: Vec<ValueId> = ends.iter().map(|(_, v)| *v).collect();
    let found = values(graph, given, &want)?;
    Ok(ends.into_iter().zip(found).map(|((name, _), array)| (name, array)).collect())
}

/// Computes the values in `want`, and nothing that they do not need. `given` may preset any value, inner ones included; types
/// of given inputs are taken as they come, so a subgraph can be probed at other extents.
pub fn values(graph: &Graph, given: HashMap<ValueId, Array>, want: &[ValueId]) -> Result<Vec<Array>> {
    let needed = needed(graph, &given, want);
    let mut left = vec![0usize; graph.values.len()];
    for (i, node) in graph.nodes.iter().enumerate() {
        if needed[i] {
            node.inputs.iter().flatten().for_each(|v| left[v.0 as usize] += 1);
        }
    }
    want.iter().for_each(|v| left[v.0 as usize] += 1);
    let mut live = given;
    for (i, step) in graph.nodes.iter().enumerate() {
        if !needed[i] {
            continue;
        }
        let made = match lookup::rows(graph, &live, step)? {
            Some(rows) => vec![rows],
            None => {
                let read: Vec<Option<Cow<Array>>> =
                    step.inputs.iter().map(|v| v.map(|v| read(graph, &live, v)).transpose()).collect::<Result<_>>()?;
                let read: Vec<Option<&Array>> = read.iter().map(Option::as_deref).collect();
                node(&step.op, &read).map_err(|e| e.at(step.name.clone()))?
            }
        };
        for v in step.inputs.iter().flatten() {
            left[v.0 as usize] -= 1;
            if left[v.0 as usize] == 0 {
                live.remove(v);
            }
        }
        for (&v, array) in step.outputs.iter().zip(made) {
            if left[v.0 as usize] > 0 && !live.contains_key(&v) {
                live.insert(v, array);
            }
        }
    }
    want.iter().map(|&v| read(graph, &live, v).map(Cow::into_owned)).collect()
}

/// For every node, whether `want` depends on it once `given` is known.
fn needed(graph: &Graph, given: &HashMap<ValueId, Array>, want: &[ValueId]) -> Vec<bool> {
    let mut open = vec![false; graph.values.len()];
    want.iter().for_each(|v| open[v.0 as usize] = true);
    let mut needed = vec![false; graph.nodes.len()];
    for (i, node) in graph.nodes.iter().enumerate().rev() {
        needed[i] = node.outputs.iter().any(|v| open[v.0 as usize] && !given.contains_key(v));
        if needed[i] {
            node.inputs.iter().flatten().for_each(|v| open[v.0 as usize] = true);
        }
    }
    needed
}

fn read<'a>(graph: &Graph, live: &'a HashMap<ValueId, Array>, id: ValueId) -> Result<Cow<'a, Array>> {
    if let Some(array) = live.get(&id) {
        return Ok(Cow::Borrowed(array));
    }
    let value = graph.value(id);
    match &value.def {
        Def::Const(t) => Array::from_tensor(t).map(Cow::Owned).map_err(|e| e.at(value.name.clone())),
        Def::Input => Err(Error::new("eval", "an input is needed and not given").at(value.name.clone())),
        Def::Node => Err(Error::new("eval", "is read before it is written").at(value.name.clone())),
    }
}

/// One operator's inputs, checked by `infer`, and the types it owes.
struct Args<'a> {
    op: &'a Op,
    inputs: &'a [Option<&'a Array>],
    out: &'a [Ty],
}

impl<'a> Args<'a> {
    fn err(&self, what: impl std::fmt::Display) -> Error {
        Error::new("eval", format!("{}: {what}", self.op.name()))
    }

    fn get(&self, i: usize) -> Result<&'a Array> {
        self.opt(i).ok_or_else(|| self.err(format!("input {i} is required")))
    }

    fn opt(&self, i: usize) -> Option<&'a Array> {
        self.inputs.get(i).copied().flatten()
    }

    fn ints(&self, i: usize) -> Result<&'a [i64]> {
        match &self.get(i)?.data {
            Values::Int(v) => Ok(v),
            _ => Err(self.err(format!("input {i} must be an integer"))),
        }
    }

    /// The value of an integer scalar.
    fn int(&self, i: usize) -> Result<i64> {
        self.ints(i)?.first().copied().ok_or_else(|| self.err(format!("input {i} is empty")))
    }

    /// Floats as f32, whatever their type.
    fn f32s(&self, i: usize) -> Result<Cow<'a, [f32]>> {
        match &self.get(i)?.data {
            Values::F32(v) => Ok(Cow::Borrowed(v)),
            Values::F64(v) => Ok(v.iter().map(|&x| x as f32).collect()),
            _ => Err(self.err(format!("input {i} must be floating point"))),
        }
    }

    /// An index that may count from the end, as one that does not.
    fn index(&self, i: i64, extent: usize) -> Result<usize> {
        let at = if i < 0 { i + extent as i64 } else { i };
        match usize::try_from(at) {
            Ok(at) if at < extent => Ok(at),
            _ => Err(self.err(format!("index {i} is outside an axis of {extent}"))),
        }
    }
}
