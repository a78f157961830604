//! Which kernels run a node. In: a node and how weights and cache are stored. Out: its calls, in order. Promise: a call is complete but for
//! addresses; what no kernel covers is refused with the reason.
//!
//! What the plan must know:
//! - The outputs of `KvWrite` and the cache outputs of `Qkv` are the same memory as the cache that goes in.
//! - `pos` and `rows`, graph inputs of a decoder, are words of the Step buffer; kernels get the buffer's address.
//! - In a decoder, rows past `step.rows` of any activation are left as they were, and nobody reads them.

mod attention;
mod call;
mod decoder;
mod elementwise;
mod handed;
mod indexing;
mod linear;
mod matrix;
mod movement;
mod policy;
mod product;
mod reduce;
mod sample;
mod split;
mod unary;
mod walk;
mod wide;

use super::{Call, Storage};
use crate::error::{Error, Result};
use crate::graph::{DType, Graph, Node, Op};
use call::Cx;
pub(super) use call::MAX_GROUPS;
pub use matrix::{Form, Tile};
pub use policy::{begin_held, drawn, goes_on, keep_held, step_word};
pub use sample::{sample, take_token};

/// The calls that compute `node`. Empty: the output is input 0 under another shape, in the same memory.
pub fn select(graph: &Graph, node: &Node, storage: impl Into<Storage>) -> Result<Vec<Call>> {
    select_in(graph, node, storage, None)
}

/// The same, but that products of many rows that matrix units may serve take the form that is given.
pub fn select_in(graph: &Graph, node: &Node, storage: impl Into<Storage>, form: Option<Form>) -> Result<Vec<Call>> {
    let cx = Cx { graph, node, storage: storage.into(), form };
    known_types(&cx)?;
    if node.outputs.iter().all(|&v| graph.ty(v).elements() == 0) {
        return Ok(Vec::new());
    }
    wide::held(&cx)?;
    match &node.op {
        Op::Linear { .. } => linear::linear(&cx),
        Op::GatedLinear { .. } => linear::gated(&cx),
        Op::Qkv { .. } => linear::qkv(&cx),
        Op::CachedAttention { .. } => decoder::cached_attention(&cx),
        Op::Attention { .. } | Op::RowAttention { .. } => attention::given(&cx),
        Op::KvWrite => decoder::kv_write(&cx),
        Op::Rope { .. } => decoder::rope(&cx),
        Op::LastRow => decoder::last_row(&cx),
        Op::Splice { lookup: true, .. } => decoder::gather_rows(&cx),
        Op::Splice { .. } => decoder::splice(&cx),
        Op::Gather { axis: 0 } if is_table(&cx)? => decoder::gather_rows(&cx),
        Op::Reshape { .. } => Ok(Vec::new()),
        op => generic(&cx, op),
    }
}

/// Operators of any graph, fused or not.
fn generic(cx: &Cx, op: &Op) -> Result<Vec<Call>> {
    match op {
        Op::Unary(f) => elementwise::unary_op(cx, *f),
        Op::Binary(f) => elementwise::binary_op(cx, *f),
        Op::Where => elementwise::select_op(cx),
        Op::Clip => elementwise::clip(cx),
        Op::Cast { .. } => elementwise::cast(cx),
        Op::LeakyRelu { .. } | Op::Elu { .. } | Op::Celu { .. } | Op::Selu { .. } => elementwise::activation(cx),
        Op::Swish { .. } | Op::HardSigmoid { .. } | Op::ThresholdedRelu { .. } => elementwise::activation(cx),
        Op::MatMul | Op::Gemm { .. } | Op::Conv { .. } => product::calls(cx),
        Op::MaxPool { .. } | Op::AveragePool { .. } => product::calls(cx),
        Op::Gather { .. } | Op::GatherElements { .. } | Op::GatherNd { .. } => indexing::calls(cx),
        Op::ScatterElements { .. } | Op::ScatterNd { .. } | Op::OneHot { .. } => indexing::calls(cx),
        Op::Transpose { .. } | Op::Slice { .. } | Op::Expand { .. } | Op::Tile { .. } => movement::calls(cx),
        Op::Split { .. } | Op::Concat { .. } | Op::Pad { .. } | Op::Trilu { .. } => movement::calls(cx),
        Op::Softmax { .. } | Op::LogSoftmax { .. } | Op::Reduce { .. } | Op::CumSum { .. } => reduce::calls(cx),
        Op::ArgMax { .. } | Op::ArgMin { .. } | Op::TopK { .. } => reduce::calls(cx),
        Op::LayerNorm { .. } | Op::RmsNorm { .. } => reduce::calls(cx),
        // `select` has placed these.
        Op::Linear { .. } | Op::GatedLinear { .. } | Op::Qkv { .. } | Op::Rope { .. } | Op::Splice { .. } => {
            Err(fused(cx))
        }
        Op::Attention { .. } | Op::RowAttention { .. } | Op::CachedAttention { .. } => Err(fused(cx)),
        Op::KvWrite | Op::LastRow | Op::Reshape { .. } => Err(fused(cx)),
    }
}

fn fused(cx: &Cx) -> Error {
    cx.refuse("no kernel stands for it alone")
}

/// Device types exist for all but f64.
fn known_types(cx: &Cx) -> Result<()> {
    let values = cx.node.inputs.iter().flatten().chain(&cx.node.outputs);
    for &v in values {
        if cx.graph.ty(v).dtype == DType::F64 {
            return Err(cx.refuse(format!("'{}' is float64, which kernels do not have", cx.graph.value(v).name)));
        }
    }
    Ok(())
}

/// A constant 2-D float table that a gather reads rows of.
fn is_table(cx: &Cx) -> Result<bool> {
    let table = cx.input(0)?;
    Ok(cx.graph.constant(table).is_some() && cx.dtype(0)?.is_float() && cx.shape(0)?.len() == 2)
}
