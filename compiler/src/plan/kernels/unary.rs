//! Codes of `lib/unary.glsl`. In: a `UnaryOp`. Out: its number there. Promise: a test holds both lists together.

use crate::graph::UnaryOp;

/// The code for "no function".
pub(super) const NONE: u32 = 0;

/// The code of a float function; None for those of integers and bool.
pub(super) fn code(op: UnaryOp) -> Option<u32> {
    use UnaryOp::*;
    Some(match op {
        Neg => 1,
        Abs => 2,
        Sign => 3,
        Exp => 4,
        Log => 5,
        Sqrt => 6,
        Rsqrt => 7,
        Reciprocal => 8,
        Erf => 9,
        Tanh => 10,
        Sigmoid => 11,
        Relu => 12,
        Softplus => 13,
        Softsign => 14,
        Silu => 15,
        GeluErf => 16,
        GeluTanh => 17,
        QuickGelu => 18,
        HardSwish => 19,
        Mish => 20,
        Sin => 21,
        Cos => 22,
        Tan => 23,
        Asin => 24,
        Acos => 25,
        Atan => 26,
        Sinh => 27,
        Cosh => 28,
        Asinh => 29,
        Acosh => 30,
        Atanh => 31,
        Floor => 32,
        Ceil => 33,
        Round => 34,
        IsNan => 37,
        IsInf => 38,
        Not | BitNot => return None,
    })
}
