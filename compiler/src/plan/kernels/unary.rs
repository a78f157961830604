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

#[cfg(test)]
mod tests {
    use super::code;
    use crate::graph::UnaryOp::{self, *};

    /// `GeluErf` as GLSL spells it: `GELU_ERF`.
    fn shouted(name: &str) -> String {
        let mut out = String::new();
        for (i, c) in name.chars().enumerate() {
            if c.is_uppercase() && i > 0 {
                out.push('_');
            }
            out.extend(c.to_uppercase());
        }
        out
    }

    #[test]
    fn codes_are_those_of_the_shader() {
        let text = crate::shaders::text("lib/unary.glsl").unwrap_or_default();
        let all: [UnaryOp; 36] = [
            Neg, Abs, Sign, Exp, Log, Sqrt, Rsqrt, Reciprocal, Erf, Tanh, Sigmoid, Relu, Softplus, Softsign, Silu,
            GeluErf, GeluTanh, QuickGelu, HardSwish, Mish, Sin, Cos, Tan, Asin, Acos, Atan, Sinh, Cosh, Asinh, Acosh,
            Atanh, Floor, Ceil, Round, IsNan, IsInf,
        ];
        for op in all {
            let line = format!("const uint UNARY_{} = {}u;", shouted(&format!("{op:?}")), code(op).unwrap_or(0));
            assert!(text.contains(&line), "lib/unary.glsl lacks '{line}'");
        }
    }
}
