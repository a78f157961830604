//! Finds activations written out. In: products with sigmoid, erf or tanh of the same x. Out: `Silu`, `QuickGelu`, `GeluErf`,
//! `GeluTanh`. Promise: constants within rounding of the function's own, else the nodes stay as they are.

use super::Log;
use super::look::{Look, rewrite, substitute};
use crate::error::Result;
use crate::graph::{BinaryOp, Graph, Node, Op, UnaryOp, ValueId};
use std::f32::consts::{FRAC_1_SQRT_2, FRAC_2_PI};

pub fn run(graph: &mut Graph, log: &mut Log) -> Result<()> {
    let count = rewrite(graph, log, |look, node| find(look, node).into(), substitute)?;
    log.say(format!("{count} activations"));
    Ok(())
}

fn find(look: &Look, node: &Node) -> Option<(Op, Vec<Option<ValueId>>)> {
    let Op::Binary(BinaryOp::Mul | BinaryOp::Div) = node.op else { return None };
    let (factors, scale) = look.factors(node.out());
    let [a, b] = factors[..] else { return None };
    [(a, b), (b, a)].into_iter().find_map(|(x, gate)| {
        let act = sigmoid(look, x, gate, scale).or_else(|| gelu(look, x, gate, scale))?;
        (look.graph.ty(x) == look.graph.ty(node.out())).then(|| (Op::Unary(act), vec![Some(x)]))
    })
}

fn near(a: f32, b: f32) -> bool {
    (a - b).abs() <= 2e-3 * b.abs()
}

/// `x * sigmoid(c * x)`.
fn sigmoid(look: &Look, x: ValueId, gate: ValueId, scale: f32) -> Option<UnaryOp> {
    let (inner, c) = look.scaled(look.unary(gate, UnaryOp::Sigmoid)?);
    let act = match c {
        1.0 => UnaryOp::Silu,
        c if (c - 1.702).abs() < 1e-4 => UnaryOp::QuickGelu,
        _ => return None,
    };
    (inner == x && scale == 1.0).then_some(act)
}

/// `0.5 * x * (1 + erf(x / sqrt(2)))`, or tanh of `sqrt(2 / pi) * (x + 0.044715 * x^3)` in place of erf.
fn gelu(look: &Look, x: ValueId, gate: ValueId, scale: f32) -> Option<UnaryOp> {
    let (curve, one) = look.with_scalar(gate, BinaryOp::Add)?;
    let curve = look.uncast(curve);
    if scale != 0.5 || one != 1.0 {
        return None;
    }
    if let Some(inner) = look.unary(curve, UnaryOp::Erf) {
        let (base, c) = look.scaled(inner);
        return (base == x && near(c, FRAC_1_SQRT_2)).then_some(UnaryOp::GeluErf);
    }
    let (factors, c) = look.factors(look.unary(curve, UnaryOp::Tanh)?);
    let cubic = match factors[..] {
        [sum] => look
            .either(sum, BinaryOp::Add)
            .into_iter()
            .flatten()
            .any(|(a, b)| look.uncast(a) == x && cube(look, b, x, 3)),
        [a, b] => [(a, b), (b, a)].into_iter().any(|(a, b)| {
            let sum = look.with_scalar(b, BinaryOp::Add);
            a == x && sum.is_some_and(|(square, one)| one == 1.0 && cube(look, square, x, 2))
        }),
        _ => false,
    };
    (cubic && near(c, FRAC_2_PI.sqrt())).then_some(UnaryOp::GeluTanh)
}

/// `0.044715 * x^n`.
fn cube(look: &Look, v: ValueId, x: ValueId, n: usize) -> bool {
    let (factors, c) = look.factors(v);
    factors.len() == n && factors.iter().all(|f| *f == x) && near(c, 0.044715)
}
