//! The compiler's graph. In: nodes with numeric shapes. Out: the same, edited by passes. Promise: SSA, topologically ordered,
//! every value typed; `verify` says so between all passes.

mod caches;
mod dtype;
pub mod eval;
#[cfg(test)]
mod grow;
mod infer;
mod join;
mod names;
mod op;
pub mod operands;
pub mod quant;
mod tensor;
mod text;
mod verify;
pub mod words;

pub use caches::{growing_caches, is_buffer, written};
pub use dtype::DType;
pub use infer::{broadcast, infer};
pub use join::join;
pub use op::{BinaryOp, Heads, Mask, Norm, Op, PadMode, ReduceOp, Rotary, ScatterOp, UnaryOp, Window};
pub use tensor::{Data, Tensor, digest};
pub use text::{parse, print};
pub use verify::verify;
pub use words::{Own, POS, ROWS, own_input, own_output, step_word};

use crate::error::Result;
use std::collections::HashMap;

/// Name of the state that holds the rows of pictures, [1, 1, rows, channels] in f32 on the device.
pub const PICTURES: &str = "pictures";

/// Index of a value in its graph.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ValueId(pub u32);

/// Element type and numeric shape of a value.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Ty {
    pub dtype: DType,
    pub shape: Vec<usize>,
}

impl Ty {
    pub fn new(dtype: DType, shape: &[usize]) -> Ty {
        Ty { dtype, shape: shape.to_vec() }
    }

    pub fn elements(&self) -> usize {
        self.shape.iter().fold(1, |n, d| n.saturating_mul(*d))
    }

    pub fn bytes(&self) -> usize {
        self.elements() * self.dtype.bytes()
    }
}

impl std::fmt::Display for Ty {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let dims: Vec<String> = self.shape.iter().map(usize::to_string).collect();
        write!(f, "{}[{}]", self.dtype, dims.join(","))
    }
}

/// Where a value comes from.
#[derive(Clone, Debug)]
pub enum Def {
    Input,
    Const(Tensor),
    /// Written by the node that lists it among its outputs.
    Node,
}

/// A value: its ONNX name (or one derived from it), its type and origin.
#[derive(Clone, Debug)]
pub struct Value {
    pub name: String,
    pub ty: Ty,
    pub def: Def,
}

/// One operation. `name` is the ONNX node name (of the last node, where a pass fused several).
#[derive(Clone, Debug)]
pub struct Node {
    pub op: Op,
    pub inputs: Vec<Option<ValueId>>,
    pub outputs: Vec<ValueId>,
    pub name: String,
}

impl Node {
    /// Input `i`, where present.
    pub fn input(&self, i: usize) -> Option<ValueId> {
        self.inputs.get(i).copied().flatten()
    }

    /// The first output. Every node has one.
    pub fn out(&self) -> ValueId {
        self.outputs[0]
    }
}

/// A graph output under the name its users know.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Output {
    pub name: String,
    pub value: ValueId,
}

/// A cache that lives on the device: what `input` holds when a run begins, `output` holds when it ends, in the same memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct State {
    pub input: ValueId,
    pub output: ValueId,
}

#[derive(Clone, Default, Debug)]
pub struct Graph {
    pub name: String,
    pub values: Vec<Value>,
    /// In execution order.
    pub nodes: Vec<Node>,
    pub inputs: Vec<ValueId>,
    pub outputs: Vec<Output>,
    /// Made by `kv_in_place`; state inputs and outputs are not in `inputs` and `outputs`.
    pub states: Vec<State>,
    /// In which type the export, or instead of it the manifest, takes what linear layers multiply: so may kernels for many rows.
    pub activations: Activations,
}

/// What a graph's linear layers multiply, the most exacting first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub enum Activations {
    #[default]
    F32,
    /// 8 bits of digits, the range of f32.
    Bf16,
    /// 11 bits of digits, up to 65,504.
    F16,
}

impl Activations {
    /// Halves that keep what such a value has: two for f32. One for bf16 needs a scale.
    pub fn halves(self) -> usize {
        if self == Activations::F32 { 2 } else { 1 }
    }

    /// As the graph's text has it.
    pub fn name(self) -> &'static str {
        match self {
            Activations::F32 => "fp32",
            Activations::Bf16 => "bf16",
            Activations::F16 => "fp16",
        }
    }

    pub fn parse(name: &str) -> Option<Activations> {
        [Activations::F32, Activations::Bf16, Activations::F16].into_iter().find(|a| a.name() == name)
    }

    /// What a manifest may ask for; bf16 is what an export may have.
    pub fn asked(name: &str) -> Option<Activations> {
        Activations::parse(name).filter(|a| *a != Activations::Bf16)
    }
}

impl Graph {
    pub fn value(&self, id: ValueId) -> &Value {
        &self.values[id.0 as usize]
    }

    pub fn ty(&self, id: ValueId) -> &Ty {
        &self.value(id).ty
    }

    pub fn shape(&self, id: ValueId) -> &[usize] {
        &self.ty(id).shape
    }

    /// The constant behind a value, if it is one.
    pub fn constant(&self, id: ValueId) -> Option<&Tensor> {
        match &self.value(id).def {
            Def::Const(t) => Some(t),
            _ => None,
        }
    }

    pub fn add_value(&mut self, name: impl Into<String>, ty: Ty, def: Def) -> ValueId {
        let id = ValueId(self.values.len() as u32);
        self.values.push(Value { name: name.into(), ty, def });
        id
    }

    pub fn add_input(&mut self, name: impl Into<String>, ty: Ty) -> ValueId {
        let id = self.add_value(name, ty, Def::Input);
        self.inputs.push(id);
        id
    }

    pub fn add_const(&mut self, name: impl Into<String>, tensor: Tensor) -> ValueId {
        let ty = Ty { dtype: tensor.dtype, shape: tensor.shape.clone() };
        self.add_value(name, ty, Def::Const(tensor))
    }

    /// Appends a node; its output types come from [`infer`]. Returns its outputs.
    pub fn push(&mut self, op: Op, inputs: &[Option<ValueId>], name: &str) -> Result<Vec<ValueId>> {
        self.insert(self.nodes.len(), op, inputs, name)
    }

    /// Inserts a node before index `at`; its inputs must be defined before that.
    pub fn insert(&mut self, at: usize, op: Op, inputs: &[Option<ValueId>], name: &str) -> Result<Vec<ValueId>> {
        let types: Vec<Option<&Ty>> = inputs.iter().map(|i| i.map(|v| self.ty(v))).collect();
        let out = infer(&op, &types).map_err(|e| e.at(name.to_string()))?;
        let many = out.len() > 1;
        let outputs: Vec<ValueId> = out
            .into_iter()
            .enumerate()
            .map(|(i, ty)| {
                let label = if many { format!("{name}.{i}") } else { name.to_string() };
                self.add_value(label, ty, Def::Node)
            })
            .collect();
        let node = Node { op, inputs: inputs.to_vec(), outputs: outputs.clone(), name: name.to_string() };
        self.nodes.insert(at, node);
        Ok(outputs)
    }

    /// Every use of `old`, by nodes, graph outputs and state outputs, becomes a use of `new`.
    pub fn replace_uses(&mut self, old: ValueId, new: ValueId) {
        for node in &mut self.nodes {
            for input in node.inputs.iter_mut().flatten() {
                if *input == old {
                    *input = new;
                }
            }
        }
        for out in &mut self.outputs {
            if out.value == old {
                out.value = new;
            }
        }
        for state in &mut self.states {
            if state.output == old {
                state.output = new;
            }
        }
    }

    /// For every value the index of the node that writes it.
    pub fn producers(&self) -> HashMap<ValueId, usize> {
        let mut map = HashMap::new();
        for (i, node) in self.nodes.iter().enumerate() {
            for &out in &node.outputs {
                map.insert(out, i);
            }
        }
        map
    }

    /// How often each value is read, by nodes, outputs and states. Indexed by value.
    pub fn use_counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.values.len()];
        let reads = self.nodes.iter().flat_map(|n| n.inputs.iter().flatten().copied());
        let ends = self.outputs.iter().map(|o| o.value).chain(self.states.iter().map(|s| s.output));
        for v in reads.chain(ends) {
            counts[v.0 as usize] += 1;
        }
        counts
    }
}
