//! Functions of single numbers. In: elements as f64 (or i64). Out: the result. Promise: f32 results are those of f64 arithmetic,
//! rounded once.

use crate::graph::{BinaryOp, DType, Op, UnaryOp};

pub fn unary(f: UnaryOp, x: f64) -> f64 {
    use UnaryOp::*;
    match f {
        Neg => -x,
        Abs => x.abs(),
        Sign if x == 0.0 || x.is_nan() => x,
        Sign => x.signum(),
        Exp => x.exp(),
        Log => x.ln(),
        Sqrt => x.sqrt(),
        Rsqrt => 1.0 / x.sqrt(),
        Reciprocal => 1.0 / x,
        Erf => libm::erf(x),
        Tanh => x.tanh(),
        Sigmoid => sigmoid(x),
        // Written so that NaN stays NaN.
        Relu if x < 0.0 => 0.0,
        Relu => x,
        Softplus => softplus(x),
        Softsign => x / (1.0 + x.abs()),
        Silu => x * sigmoid(x),
        GeluErf => 0.5 * x * (1.0 + libm::erf(x * std::f64::consts::FRAC_1_SQRT_2)),
        GeluTanh => 0.5 * x * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x * x * x)).tanh()),
        QuickGelu => x * sigmoid(1.702 * x),
        HardSwish => x * clamp(x / 6.0 + 0.5, 0.0, 1.0),
        Mish => x * softplus(x).tanh(),
        Sin => libm::sin(x), // tables made of it are hashed, so it must not depend on the system
        Cos => libm::cos(x),
        Tan => x.tan(),
        Asin => x.asin(),
        Acos => x.acos(),
        Atan => x.atan(),
        Sinh => x.sinh(),
        Cosh => x.cosh(),
        Asinh => libm::asinh(x),
        Acosh => libm::acosh(x),
        Atanh => libm::atanh(x),
        Floor => x.floor(),
        Ceil => x.ceil(),
        Round => x.round_ties_even(),
        Not | BitNot | IsNan | IsInf => f64::NAN,
    }
}

pub fn unary_int(f: UnaryOp, x: i64, dtype: DType) -> i64 {
    use UnaryOp::*;
    let negative = x < 0 && dtype != DType::U64;
    match f {
        Neg => x.wrapping_neg(),
        Abs if negative => x.wrapping_neg(),
        Sign if negative => -1,
        Sign => i64::from(x != 0),
        Relu if negative => 0,
        BitNot => !x,
        _ => x,
    }
}

/// The functions that carry attributes.
pub fn activation(op: &Op, x: f64) -> f64 {
    match *op {
        Op::LeakyRelu { alpha } if x < 0.0 => f64::from(alpha) * x,
        Op::Elu { alpha } if x < 0.0 => f64::from(alpha) * x.exp_m1(),
        Op::Celu { alpha } if x < 0.0 => f64::from(alpha) * (x / f64::from(alpha)).exp_m1(),
        Op::Selu { alpha, gamma } if x <= 0.0 => f64::from(gamma) * f64::from(alpha) * x.exp_m1(),
        Op::Selu { gamma, .. } => f64::from(gamma) * x,
        Op::Swish { alpha } => x * sigmoid(f64::from(alpha) * x),
        Op::HardSigmoid { alpha, beta } => clamp(f64::from(alpha) * x + f64::from(beta), 0.0, 1.0),
        Op::ThresholdedRelu { alpha } if x <= f64::from(alpha) => 0.0,
        _ => x,
    }
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

/// NaN stays NaN; a low bound above the high one gives the high one.
pub fn clamp(x: f64, low: f64, high: f64) -> f64 {
    let x = if x < low { low } else { x };
    if x > high { high } else { x }
}

pub fn binary(f: BinaryOp, a: f64, b: f64) -> f64 {
    use BinaryOp::*;
    match f {
        Add => a + b,
        Sub => a - b,
        Mul => a * b,
        Div => a / b,
        Pow => a.powf(b),
        Min | Max if a.is_nan() || b.is_nan() => f64::NAN,
        Min => a.min(b),
        Max => a.max(b),
        Mod => {
            let r = a % b;
            if r != 0.0 && (r < 0.0) != (b < 0.0) { r + b } else { r }
        }
        Fmod => a % b,
        PRelu if a < 0.0 => a * b,
        PRelu => a,
        _ => f64::NAN,
    }
}

/// Integer arithmetic; None where it has no result (division by zero).
pub fn binary_int(f: BinaryOp, a: i64, b: i64, dtype: DType) -> Option<i64> {
    use BinaryOp::*;
    let unsigned = dtype == DType::U64;
    Some(match f {
        Add => a.wrapping_add(b),
        Sub => a.wrapping_sub(b),
        Mul => a.wrapping_mul(b),
        Div | Mod | Fmod if b == 0 => return None,
        Div if unsigned => (a as u64 / b as u64) as i64,
        Div => a.wrapping_div(b),
        Mod | Fmod if unsigned => (a as u64 % b as u64) as i64,
        Mod => {
            let r = a.wrapping_rem(b);
            if r != 0 && (r < 0) != (b < 0) { r + b } else { r }
        }
        Fmod => a.wrapping_rem(b),
        Pow => power(a, b)?,
        Min => {
            if less(a, b, dtype) {
                a
            } else {
                b
            }
        }
        Max => {
            if less(a, b, dtype) {
                b
            } else {
                a
            }
        }
        BitAnd => a & b,
        BitOr => a | b,
        BitXor => a ^ b,
        ShiftLeft | ShiftRight if !(0..8 * dtype.bytes() as i64).contains(&b) => 0,
        ShiftLeft => a << b,
        ShiftRight if unsigned => (a as u64 >> b) as i64,
        ShiftRight => a >> b,
        PRelu if a < 0 && !unsigned => a.wrapping_mul(b),
        PRelu => a,
        _ => return None,
    })
}

/// Wrapping power; a negative exponent truncates, so that all but 1 and -1 give 0.
fn power(base: i64, exponent: i64) -> Option<i64> {
    if exponent < 0 {
        return match base {
            0 => None,
            1 => Some(1),
            -1 => Some(if exponent % 2 == 0 { 1 } else { -1 }),
            _ => Some(0),
        };
    }
    let (mut out, mut square, mut left) = (1i64, base, exponent);
    while left > 0 {
        if left & 1 == 1 {
            out = out.wrapping_mul(square);
        }
        square = square.wrapping_mul(square);
        left >>= 1;
    }
    Some(out)
}

fn less(a: i64, b: i64, dtype: DType) -> bool {
    if dtype == DType::U64 { (a as u64) < b as u64 } else { a < b }
}

pub fn compare(f: BinaryOp, a: f64, b: f64) -> bool {
    use BinaryOp::*;
    match f {
        Less => a < b,
        LessEq => a <= b,
        Greater => a > b,
        GreaterEq => a >= b,
        _ => a == b,
    }
}

pub fn compare_int(f: BinaryOp, a: i64, b: i64, dtype: DType) -> bool {
    use BinaryOp::*;
    match f {
        Less => less(a, b, dtype),
        LessEq => !less(b, a, dtype),
        Greater => less(b, a, dtype),
        GreaterEq => !less(a, b, dtype),
        _ => a == b,
    }
}
