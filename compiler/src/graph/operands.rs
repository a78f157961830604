//! Where the operands of fused operators stand. In: their flags. Out: input indices. Promise: `infer`, `eval`, passes and plan
//! agree on the order because all ask here.

use super::{Norm, Op, Rotary};

/// Input indices of an operator; None where the operator has no such operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Operands {
    /// Scale of the folded norm.
    pub scale: Option<usize>,
    /// Bias of the folded layer norm.
    pub shift: Option<usize>,
    /// First bias of the product (`Qkv`: bq, then bk and bv).
    pub bias: Option<usize>,
    pub residual: Option<usize>,
    /// The cos table; sin follows.
    pub tables: Option<usize>,
    /// How many inputs there are in all.
    pub count: usize,
}

impl Operands {
    /// Index of the next operand when `wanted`; `n` inputs are taken.
    fn take(&mut self, wanted: bool, n: usize) -> Option<usize> {
        let at = self.count;
        self.count += if wanted { n } else { 0 };
        wanted.then_some(at)
    }

    fn norm(&mut self, norm: Option<Norm>) {
        self.scale = self.take(norm.is_some(), 1);
        self.shift = self.take(matches!(norm, Some(Norm::Layer { .. })), 1);
    }
}

/// Operands of `Linear`: x, w, then these.
pub fn linear(norm: Option<Norm>, bias: bool, residual: bool) -> Operands {
    let mut o = Operands { count: 2, ..Operands::default() };
    o.norm(norm);
    o.bias = o.take(bias, 1);
    o.residual = o.take(residual, 1);
    o
}

/// Operands of `GatedLinear`: x, gate, up, then these.
pub fn gated(norm: Option<Norm>) -> Operands {
    let mut o = Operands { count: 3, ..Operands::default() };
    o.norm(norm);
    o
}

/// Operands of `Qkv`: x, wq, wk, wv, k cache, v cache, pos, rows, then these.
pub fn qkv(norm: Option<Norm>, bias: bool, rope: Option<Rotary>) -> Operands {
    let mut o = Operands { count: 8, ..Operands::default() };
    o.norm(norm);
    o.bias = o.take(bias, 3);
    o.tables = o.take(rope.is_some(), 2);
    o
}

/// Fewest and most inputs an operator takes. Those up to the fewest are all required.
pub fn arity(op: &Op) -> (usize, usize) {
    let exact = |n| (n, n);
    match op {
        Op::Unary(_) | Op::LeakyRelu { .. } | Op::Elu { .. } | Op::Celu { .. } | Op::Selu { .. } => exact(1),
        Op::Swish { .. } | Op::HardSigmoid { .. } | Op::ThresholdedRelu { .. } | Op::Cast { .. } => exact(1),
        Op::MaxPool { .. } | Op::AveragePool { .. } | Op::Softmax { .. } | Op::LogSoftmax { .. } => exact(1),
        Op::Reduce { .. } | Op::ArgMax { .. } | Op::ArgMin { .. } | Op::TopK { .. } | Op::CumSum { .. } => exact(1),
        Op::Slice { .. } | Op::Split { .. } | Op::Transpose { .. } | Op::Reshape { .. } => exact(1),
        Op::Expand { .. } | Op::Tile { .. } | Op::Trilu { .. } => exact(1),
        Op::Binary(_) | Op::MatMul | Op::Gather { .. } | Op::GatherElements { .. } | Op::GatherNd { .. } => exact(2),
        Op::OneHot { .. } | Op::RmsNorm { .. } | Op::LastRow => exact(2),
        Op::Where | Op::ScatterElements { .. } | Op::ScatterNd { .. } | Op::Splice { .. } => exact(3),
        Op::Clip => (1, 3),
        Op::Gemm { .. } | Op::Conv { .. } | Op::LayerNorm { .. } => (2, 3),
        Op::Concat { .. } => (1, usize::MAX),
        Op::Pad { .. } => (1, 2),
        Op::Linear { norm, bias, residual, .. } => exact(linear(*norm, *bias, *residual).count),
        Op::GatedLinear { norm, .. } => exact(gated(*norm).count),
        Op::Rope { .. } | Op::KvWrite | Op::CachedAttention { .. } => exact(4),
        Op::Attention { mask, .. } => exact(if *mask == super::Mask::Given { 4 } else { 3 }),
        Op::RowAttention { mask, packed, .. } => {
            exact(if *packed { 1 } else { 3 } + if *mask == super::Mask::Given { 1 } else { 0 })
        }
        Op::Qkv { norm, bias, rope, .. } => exact(qkv(*norm, *bias, *rope).count),
    }
}
