//! Which kernels run a node. In: a node and the precision. Out: its calls, in order. Promise: a call is complete but for
//! addresses; what no kernel covers is refused with the reason.
//!
//! What the plan must know:
//! - The outputs of `KvWrite` and the cache outputs of `Qkv` are the same memory as the cache that goes in.
//! - `pos` and `rows`, graph inputs of a decoder, are words of the Step buffer; kernels get the buffer's address.
//! - In a decoder, rows past `step.rows` of any activation are left as they were, and nobody reads them.

mod call;
mod decoder;
mod linear;
mod unary;

use super::{Call, Operand, Precision};
use crate::error::Result;
use crate::graph::{DType, Graph, Node, Op};
use call::{Builder, Cx};

/// The calls that compute `node`. Empty: the output is input 0 under another shape, in the same memory.
pub fn select(graph: &Graph, node: &Node, precision: Precision) -> Result<Vec<Call>> {
    let cx = Cx { graph, node, precision };
    known_types(&cx)?;
    match &node.op {
        Op::Linear { .. } => linear::linear(&cx),
        Op::GatedLinear { .. } => linear::gated(&cx),
        Op::Qkv { .. } => linear::qkv(&cx),
        Op::CachedAttention { .. } => decoder::cached_attention(&cx),
        Op::KvWrite => decoder::kv_write(&cx),
        Op::Rope { .. } => decoder::rope(&cx),
        Op::LastRow => decoder::last_row(&cx),
        Op::Gather { axis: 0 } if is_table(&cx)? => decoder::gather_rows(&cx),
        Op::Reshape { .. } => Ok(Vec::new()),
        _ => Err(cx.refuse("no kernel")),
    }
}

/// Greedy sampling of the logits: what it writes stands in `onnxcast_runtime::step`.
pub fn sample(vocab: usize) -> Result<Vec<Call>> {
    let call = Builder::new("argmax.comp", format!("argmax_f32_n{vocab}"))
        .define("V", vocab)
        .define("LOCAL", 256)
        .read(Operand::Logits)
        .write(Operand::Step)
        .write(Operand::Tokens)
        .write(Operand::Ring)
        .finish([1, 1, 1], format!("next token [{vocab}]"))
        .map_err(|why| crate::error::Error::new("kernels", why))?;
    Ok(vec![call])
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
