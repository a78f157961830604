//! The spellings of a rotary embedding. In: a node. Out: what turns, by which tables, and how channels pair. Promise: both tables
//! have one row a position; which numbers they hold is not looked at here.

use super::super::look::Look;
use crate::graph::{BinaryOp, Node, Op, Rotary, UnaryOp, ValueId};

pub(super) struct Match {
    /// Its leading `form.rotary` channels turn.
    pub x: ValueId,
    pub cos: ValueId,
    pub sin: ValueId,
    pub form: Rotary,
    /// Heads stand before rows in x; else x is [1, rows, heads, dim].
    pub heads_first: bool,
    /// cos and sin hold every frequency twice.
    pub doubled: bool,
}

/// Channels `from, from + step, ..` of x, `len` of them.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Channels {
    pub x: ValueId,
    pub from: usize,
    pub step: usize,
    pub len: usize,
}

pub(super) fn find(look: &Look, node: &Node) -> Option<Match> {
    complex(look, node.out()).or_else(|| turned_beside(look, node.out()))
}

/// `x*cos + turned(x)*sin`.
fn turned_beside(look: &Look, v: ValueId) -> Option<Match> {
    let (a, b) = look.binary(v, BinaryOp::Add)?;
    [(a, b), (b, a)].into_iter().find_map(|(straight, crossed)| {
        let mut products = look.either(look.uncast(crossed), BinaryOp::Mul).into_iter().flatten();
        let (x, form, sin) = products.find_map(|(r, sin)| turned(look, r).map(|(x, form)| (x, form, sin)))?;
        let mut direct = look.either(look.uncast(straight), BinaryOp::Mul).into_iter().flatten();
        let (_, cos) = direct.find(|(y, _)| look.uncast(*y) == look.uncast(x))?;
        (look.graph.shape(x).last() == Some(&form.rotary)).then_some(())?;
        finish(look, x, cos, sin, form, true)
    })
}

/// The x of `(-second, first)`, put together as halves or as pairs.
fn turned(look: &Look, v: ValueId) -> Option<(ValueId, Rotary)> {
    let (minus, first) = joined(look, look.uncast(v))?;
    let second = look.unary(unshaped(look, minus), UnaryOp::Neg)?;
    paired(channels(look, first)?, channels(look, second)?, is_flat_join(look, v))
}

/// `(x1*cos - x2*sin, x2*cos + x1*sin)`, put together as halves or as pairs.
fn complex(look: &Look, v: ValueId) -> Option<Match> {
    let (real, imaginary) = joined(look, v)?;
    let (real, imaginary) = (unshaped(look, real), unshaped(look, imaginary));
    let (a, b) = look.binary(look.uncast(real), BinaryOp::Sub)?;
    let (c, d) = look.binary(look.uncast(imaginary), BinaryOp::Add)?;
    for (x1, cos) in factors(look, a) {
        for (x2, sin) in factors(look, b) {
            let (Some(first), Some(second)) = (channels(look, x1), channels(look, x2)) else { continue };
            let is = |v, x, t| factors(look, v).any(|pair| pair == (x, t));
            let crossed = (is(c, x1, sin) && is(d, x2, cos)) || (is(d, x1, sin) && is(c, x2, cos));
            if let (true, Some((x, form))) = (crossed, paired(first, second, is_flat_join(look, v))) {
                return finish(look, x, cos, sin, form, false);
            }
        }
    }
    None
}

/// Both orders of a product's operands, seen through casts.
fn factors<'l>(look: &'l Look, v: ValueId) -> impl Iterator<Item = (ValueId, ValueId)> + 'l {
    let pairs = look.either(look.uncast(v), BinaryOp::Mul).into_iter().flatten();
    pairs.map(|(a, b)| (look.uncast(a), look.uncast(b)))
}

/// The two parts of a concatenation of channels, or of pairs of channels: [.., n, 2] as [.., 2n].
fn joined(look: &Look, v: ValueId) -> Option<(ValueId, ValueId)> {
    let parts = |v, axis| match look.node(v) {
        Some(Node { op: Op::Concat { axis: a }, inputs, .. }) if *a == axis => match inputs[..] {
            [Some(x), Some(y)] => Some((x, y)),
            _ => None,
        },
        _ => None,
    };
    if is_flat_join(look, v) {
        return parts(look.uncast(v), 3);
    }
    let pairs = look.uncast(look.reshape(look.uncast(v))?);
    let (wide, flat) = (look.graph.shape(pairs), look.graph.shape(v));
    (wide.len() == 5 && wide[4] == 2 && flat.len() == 4 && flat[3] == 2 * wide[3]).then(|| parts(pairs, 4)).flatten()
}

fn is_flat_join(look: &Look, v: ValueId) -> bool {
    matches!(look.node(look.uncast(v)), Some(Node { op: Op::Concat { axis: 3 }, .. }))
}

/// How two sets of channels pair: (i, i + n) put together as halves, (2i, 2i + 1) as pairs.
fn paired(first: Channels, second: Channels, halves: bool) -> Option<(ValueId, Rotary)> {
    let n = first.len;
    let same = first.x == second.x && n == second.len && first.from == 0;
    let form = Rotary { rotary: 2 * n, interleaved: !halves };
    let fits = match halves {
        true => first.step == 1 && second.step == 1 && second.from == n,
        false => first.step == 2 && second.step == 2 && second.from == 1,
    };
    (same && fits).then_some((first.x, form))
}

/// `v` without a reshape that only adds or drops an axis of one.
fn unshaped(look: &Look, v: ValueId) -> ValueId {
    let v = look.uncast(v);
    match look.reshape(v) {
        Some(x) if squeezed(look.graph.shape(x)) == squeezed(look.graph.shape(v)) => look.uncast(x),
        _ => v,
    }
}

fn squeezed(shape: &[usize]) -> Vec<usize> {
    shape.iter().copied().filter(|d| *d != 1).collect()
}

/// Which channels of which [1, a, b, dim] `v` holds: a slice or split of the last axis, a strided one, or one of each pair.
pub(super) fn channels(look: &Look, v: ValueId) -> Option<Channels> {
    let v = unshaped(look, v);
    let node = look.node(v)?;
    let x = node.input(0)?;
    let shape = look.graph.shape(x);
    let (last, lead) = shape.split_last()?;
    let (from, step, len) = match &node.op {
        Op::Slice { begin, step, len } => {
            let (n, outer) = len.split_last()?;
            let whole = outer == lead && begin[..lead.len()].iter().all(|b| *b == 0);
            let forward = step[..lead.len()].iter().all(|s| *s == 1) && step[lead.len()] > 0;
            (whole && forward).then(|| (begin[lead.len()] as usize, step[lead.len()] as usize, *n))?
        }
        Op::Split { axis, sizes } if *axis == lead.len() => {
            let i = node.outputs.iter().position(|o| *o == v)?;
            (sizes[..i].iter().sum(), 1, sizes[i])
        }
        Op::Gather { axis } if *axis == lead.len() => {
            let i = look.scalar(node.input(1)?)?;
            let i = if i < 0.0 { i + *last as f32 } else { i };
            (i as usize, 1, 1)
        }
        _ => return None,
    };
    if shape.len() == 4 {
        return Some(Channels { x, from, step, len });
    }
    // One of each pair: [1, a, b, n, 2] over [1, a, b, 2n].
    let base = look.reshape(x)?;
    let ([_, _, _, n, 2], [_, _, _, dim]) = (shape, look.graph.shape(base)) else { return None };
    (len == 1 && *dim == 2 * n).then_some(Channels { x: base, from, step: 2, len: *n })
}

fn finish(look: &Look, x: ValueId, cos: ValueId, sin: ValueId, form: Rotary, doubled: bool) -> Option<Match> {
    let [1, a, b, _] = look.graph.shape(x) else { return None };
    let width = if doubled { form.rotary } else { form.rotary / 2 };
    let fits = |v: ValueId| {
        let shape = look.graph.shape(v);
        let lead = &shape[..shape.len().saturating_sub(3)];
        if !lead.iter().all(|d| *d == 1) || shape.last() != Some(&width) {
            return None;
        }
        match shape[shape.len().checked_sub(3)?..] {
            [1, s, _] if s == *b => Some(true),
            [s, 1, _] if s == *a => Some(false),
            _ => None,
        }
    };
    let (cos, sin) = (look.uncast(cos), look.uncast(sin));
    let heads_first = fits(cos)?;
    (fits(sin)? == heads_first).then_some(Match { x, cos, sin, form, heads_first, doubled })
}
