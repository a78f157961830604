//! From graph to Program: numbers only, no text. In: fused graphs, one per bucket. Out: a `Program` and the recipe of its pool.
//! Promise: the same input gives the same numbers, and every hazard has a barrier.

pub mod kernels;

use crate::graph::ValueId;
use onnxcast_runtime::program::Kernel;

/// Storage of weights and KV cache. Sums, norms, softmax and the residual stream are f32 in each.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Precision {
    Fp32,
    Fp16,
}

/// One kernel launch before memory is planned: what `kernels::select` makes of a node.
#[derive(Clone, PartialEq, Debug)]
pub struct Call {
    pub kernel: Kernel,
    pub grid: [u32; 3],
    /// In the order of the kernel's push constants. Which ones are written stands in `Kernel::writes`.
    pub args: Vec<Operand>,
    pub note: String,
}

/// An argument before it has an address.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Operand {
    /// An activation, a port or a state of the graph. On the device floats are f32, integers i32, bool u32 (0 or 1);
    /// states have the precision's KV type.
    Value(ValueId),
    /// Constants, packed.
    Weight(Packing),
    /// Scratch of this call alone or handed to the node's next call: an index and its bytes.
    Scratch(u32, u64),
    Step,
    Tokens,
    Logits,
    Ring,
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
}

impl Layout {
    pub fn name(self) -> &'static str {
        match self {
            Layout::F32 => "rows_f32",
            Layout::F16 => "rows_f16",
            Layout::I32 => "rows_i32",
        }
    }
}
