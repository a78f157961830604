//! Operators of com.microsoft. In: the nodes that onnxruntime's optimiser and model builders write. Out: what exporters write without
//! them, so that the same fusions match; packed weights as quantised constants. Promise: docs/contrib.md says which forms are read; any
//! other is refused with a reason.

mod attention;
mod elementwise;
mod many;
mod norm;
mod packed;
mod sight;

use super::{Call, Cx, Outcome, Refusal, Rule, invalid, unsupported};

/// The domain.
pub const DOMAIN: &str = "com.microsoft";

/// The rule of an operator.
pub fn rule(op: &str) -> Option<Rule> {
    Some(match op {
        "MatMulNBits" => packed::product,
        "GatherBlockQuantized" => packed::lookup,
        "GroupQueryAttention" => attention::grouped,
        "MultiHeadAttention" => many::headed,
        "RotaryEmbedding" => attention::rotary,
        "SimplifiedLayerNormalization" => return super::norm::rule(op),
        "SkipSimplifiedLayerNormalization" => norm::skip_rms,
        "SkipLayerNormalization" => norm::skip_layer,
        "BiasGelu" | "FastGelu" | "QuickGelu" | "Gelu" => elementwise::gelu,
        _ => return None,
    })
}
