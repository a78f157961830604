//! Activations. In: BiasGelu, FastGelu, QuickGelu, Gelu. Out: our activation, behind a sum where there is a bias. Promise: the form of
//! GELU is the operator's: erf, tanh or a sigmoid.

use super::{Call, Cx, Outcome};
use crate::graph::{BinaryOp, Op, UnaryOp};

pub(super) fn gelu(cx: &mut Cx, call: &Call) -> Outcome {
    let mut x = call.input(0)?;
    if let (Some(bias), true) = (call.optional(1), matches!(call.op, "BiasGelu" | "FastGelu")) {
        x = cx.binary(BinaryOp::Add, x, bias, "biased")?;
    }
    let act = match call.op {
        "BiasGelu" | "Gelu" => UnaryOp::GeluErf,
        "FastGelu" => UnaryOp::GeluTanh,
        _ => match call.attrs.float_or("alpha", 1.702)? {
            1.0 => UnaryOp::Silu,
            1.702 => UnaryOp::QuickGelu,
            alpha => return Ok(vec![cx.op(Op::Swish { alpha }, &[x], "")?]),
        },
    };
    Ok(vec![cx.unary(act, x, "")?])
}
