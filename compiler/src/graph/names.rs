//! Operator names. In: an operator. Out: its name, and back. Promise: the same word in text, errors and listings.

use super::{BinaryOp, Op, PadMode, ReduceOp, ScatterOp, UnaryOp};

macro_rules! names {
    ($($kind:ident { $($name:ident),* $(,)? })*) => {$(
        impl $kind {
            pub const ALL: &'static [$kind] = &[$($kind::$name),*];

            pub fn name(self) -> &'static str {
                match self { $($kind::$name => stringify!($name)),* }
            }

            /// Inverse of `name`.
            pub fn parse(name: &str) -> Option<$kind> {
                $kind::ALL.iter().copied().find(|k| k.name() == name)
            }
        }
    )*};
}

names! {
    UnaryOp {
        Neg, Abs, Sign, Exp, Log, Sqrt, Rsqrt, Reciprocal, Erf, Tanh, Sigmoid, Relu, Softplus, Softsign, Silu, GeluErf,
        GeluTanh, QuickGelu, HardSwish, Mish, Sin, Cos, Tan, Asin, Acos, Atan, Sinh, Cosh, Asinh, Acosh, Atanh, Floor, Ceil,
        Round, Not, BitNot, IsNan, IsInf,
    }
    BinaryOp {
        Add, Sub, Mul, Div, Pow, Min, Max, Mod, Fmod, And, Or, Xor, Equal, Less, LessEq, Greater, GreaterEq, BitAnd, BitOr,
        BitXor, ShiftLeft, ShiftRight, PRelu,
    }
    ReduceOp { Sum, Mean, Max, Min, Prod, SumSquare, L1, L2, LogSum, LogSumExp }
    ScatterOp { Set, Add, Mul, Max, Min }
    PadMode { Constant, Reflect, Edge, Wrap }
}

impl Op {
    /// The operator's name; for `Unary` and `Binary` that of the function.
    pub fn name(&self) -> &'static str {
        match self {
            Op::Unary(f) => f.name(),
            Op::Binary(f) => f.name(),
            Op::LeakyRelu { .. } => "LeakyRelu",
            Op::Elu { .. } => "Elu",
            Op::Celu { .. } => "Celu",
            Op::Selu { .. } => "Selu",
            Op::Swish { .. } => "Swish",
            Op::HardSigmoid { .. } => "HardSigmoid",
            Op::ThresholdedRelu { .. } => "ThresholdedRelu",
            Op::Where => "Where",
            Op::Clip => "Clip",
            Op::Cast { .. } => "Cast",
            Op::MatMul => "MatMul",
            Op::Gemm { .. } => "Gemm",
            Op::Conv { .. } => "Conv",
            Op::MaxPool { .. } => "MaxPool",
            Op::AveragePool { .. } => "AveragePool",
            Op::Softmax { .. } => "Softmax",
            Op::LogSoftmax { .. } => "LogSoftmax",
            Op::Reduce { .. } => "Reduce",
            Op::ArgMax { .. } => "ArgMax",
            Op::ArgMin { .. } => "ArgMin",
            Op::TopK { .. } => "TopK",
            Op::CumSum { .. } => "CumSum",
            Op::Gather { .. } => "Gather",
            Op::GatherElements { .. } => "GatherElements",
            Op::GatherNd { .. } => "GatherNd",
            Op::ScatterElements { .. } => "ScatterElements",
            Op::ScatterNd { .. } => "ScatterNd",
            Op::Concat { .. } => "Concat",
            Op::Slice { .. } => "Slice",
            Op::Split { .. } => "Split",
            Op::Transpose { .. } => "Transpose",
            Op::Reshape { .. } => "Reshape",
            Op::Expand { .. } => "Expand",
            Op::Tile { .. } => "Tile",
            Op::Pad { .. } => "Pad",
            Op::Trilu { .. } => "Trilu",
            Op::OneHot { .. } => "OneHot",
            Op::LayerNorm { .. } => "LayerNorm",
            Op::RmsNorm { .. } => "RmsNorm",
            Op::Linear { .. } => "Linear",
            Op::GatedLinear { .. } => "GatedLinear",
            Op::Rope { .. } => "Rope",
            Op::Attention { .. } => "Attention",
            Op::RowAttention { .. } => "RowAttention",
            Op::KvWrite => "KvWrite",
            Op::CachedAttention { .. } => "CachedAttention",
            Op::Qkv { .. } => "Qkv",
            Op::Splice { .. } => "Splice",
            Op::LastRow => "LastRow",
        }
    }
}
