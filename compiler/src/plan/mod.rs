//! From graph to Program: numbers only, no text. In: fused graphs, one per bucket. Out: a `Program` and the recipe of its pool.
//! Promise: the same input gives the same numbers, and every hazard has a barrier.

mod assemble;
#[cfg(test)]
pub mod examples;
#[cfg(test)]
pub mod fake;
pub mod hazard;
pub mod kernels;
mod memory;
mod own;
mod places;
mod roll;
mod schedule;
pub mod weights;

pub use crate::bucket::BucketGraph;
pub use crate::lock::Lock;
pub use crate::storage::{Kv, Precision, Storage};
pub use assemble::{Plan, Request, assemble};

use crate::error::Result;
use crate::graph::quant::Quant;
use crate::graph::{Graph, Node, ValueId};
use onnxcast_runtime::program::{Kernel, Phase, Text};

/// Chooses kernels. The assembler asks it node by node; tests hand in their own.
pub trait Select {
    /// The calls that compute a node, in order. `Reshape` is never asked for: it is an alias.
    fn node(&self, graph: &Graph, node: &Node, storage: Storage) -> Result<Vec<Call>>;

    /// The calls of a sampler (`Phase::Greedy` or `Phase::Drawn`), which turn `Operand::Logits` into the next token: what they
    /// write stands in `onnxcast_runtime::step`.
    fn sample(&self, vocab: usize, sampler: Phase) -> Result<Vec<Call>>;
}

/// The kernels in the shader folder.
pub struct Shaders;

impl Select for Shaders {
    fn node(&self, graph: &Graph, node: &Node, storage: Storage) -> Result<Vec<Call>> {
        kernels::select(graph, node, storage)
    }

    fn sample(&self, vocab: usize, sampler: Phase) -> Result<Vec<Call>> {
        kernels::sample(vocab, sampler)
    }
}

/// One kernel launch before memory is planned: what `kernels::select` makes of a node.
#[derive(Clone, PartialEq, Debug)]
pub struct Call {
    pub kernel: Kernel,
    pub grid: [u32; 3],
    /// Other kernels for the same arguments and results, with their grids.
    pub variants: Vec<(Kernel, [u32; 3])>,
    /// In the order of the kernel's push constants. Which ones are written stands in `Kernel::writes`.
    pub args: Vec<Operand>,
    pub note: String,
}

/// An argument before it has an address.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Operand {
    /// An activation, a port or a state of the graph. On the device floats are f32, integers i32, bool u32 (0 or 1);
    /// states have the storage's KV type.
    Value(ValueId),
    /// Constants, packed.
    Weight(Packing),
    /// Scratch of this call alone or handed to the node's next call: an index and its bytes.
    Scratch(u32, u64),
    /// That many bytes, which hold a value as the product that takes it multiplies it, from the node that makes the value to that
    /// product. On devices without matrix units nobody touches them.
    Prepared(ValueId, u64),
    /// That many u32, zero before a call, which must leave them zero: for workgroups that wait for each other's results.
    Counters(u32),
    Step,
    Tokens,
    Logits,
    Ring,
    History,
}

/// How constants lie in the pool. Equal content in equal layout is stored once.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Packing {
    /// The constants, in the order in which their rows follow each other.
    pub parts: Vec<Part>,
    pub layout: Layout,
}

/// A constant of the graph. `transpose` takes a [k, n] matrix as n rows of k.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Part {
    pub value: ValueId,
    pub transpose: bool,
}

/// Byte layout of a packed tensor.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Layout {
    /// Row-major f32 / f16 (saturated) / i32; bool and integers as i32.
    F32,
    F16,
    I32,
    /// Codes, scales and the rest, section by section (docs/pool.md).
    Quant(Quant),
}

impl Layout {
    pub fn name(self) -> Text {
        match self {
            Layout::F32 => "rows_f32".into(),
            Layout::F16 => "rows_f16".into(),
            Layout::I32 => "rows_i32".into(),
            Layout::Quant(quant) => quant.name().into(),
        }
    }
}
