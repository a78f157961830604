//! Finds rotary embeddings. In: `x*cos + rotate_half(x)*sin` and the two-halves form, cos and sin any function of the position.
//! Out: `Rope` over tables of all positions. Promise: the tables are the graph's own values, evaluated position by position, so
//! every scaling of the frequencies is kept; a row that depends on more than its position is refused.

use super::Log;
use super::look::{Found, Look, rewrite};
use super::roles::{self, Chunk};
use crate::error::{Error, Result};
use crate::graph::eval::{self, Array, Values};
use crate::graph::{BinaryOp, Graph, Node, Op, Rotary, Tensor, UnaryOp, ValueId};
use std::collections::HashMap;

struct Match {
    x: ValueId,
    cos: ValueId,
    sin: ValueId,
    /// Heads stand before rows in x; else x is [1, rows, heads, dim].
    heads_first: bool,
    /// cos and sin repeat each frequency in both halves.
    doubled: bool,
}

pub fn run(graph: &mut Graph, log: &mut Log) -> Result<()> {
    let chunk = Chunk::of(graph)?;
    let Some(pos) = roles::input(graph, roles::POS) else {
        return Err(Error::new("passes", "fuse_rope needs the roles pass before it"));
    };
    let tables = tables(graph, &chunk)?;
    let count = rewrite(
        graph,
        log,
        |look, node| match (halves(look, node)).or_else(|| rotate_half(look, node)) {
            Some(m) if tables.contains_key(&m.cos) && tables.contains_key(&m.sin) => Found::Yes(m),
            Some(m) => Found::Declined(format!(
                "cos {} or sin {} is no function of the position alone",
                look.graph.value(m.cos).name,
                look.graph.value(m.sin).name
            )),
            None => Found::No,
        },
        |graph, at, m| replace(graph, at, m, pos, &tables),
    )?;
    log.say(format!("{count} rotary embeddings, tables of {} positions", chunk.total));
    Ok(())
}

fn replace(
    graph: &mut Graph,
    mut at: usize,
    m: Match,
    pos: ValueId,
    tables: &HashMap<ValueId, Vec<f32>>,
) -> Result<()> {
    let old = graph.nodes[at].out();
    let name = graph.nodes[at].name.clone();
    let dim = *graph.shape(m.x).last().unwrap_or(&0);
    let cos = table(graph, m.cos, &tables[&m.cos], dim, m.doubled, "cos");
    let sin = table(graph, m.sin, &tables[&m.sin], dim, m.doubled, "sin");
    let swap = Op::Transpose { perm: vec![0, 2, 1, 3] };
    let mut x = m.x;
    if !m.heads_first {
        x = graph.insert(at, swap.clone(), &[Some(x)], &format!("{name}.heads"))?[0];
        at += 1;
    }
    let form = Rotary { rotary: dim, interleaved: false };
    let mut out = graph.insert(at, Op::Rope { form }, &[Some(x), Some(cos), Some(sin), Some(pos)], &name)?[0];
    if !m.heads_first {
        out = graph.insert(at + 1, swap, &[Some(out)], &format!("{name}.rows"))?[0];
    }
    graph.replace_uses(old, out);
    Ok(())
}

/// The constant [positions, dim / 2]; made once for all layers that share the value.
fn table(graph: &mut Graph, of: ValueId, rows: &[f32], dim: usize, doubled: bool, kind: &str) -> ValueId {
    let name = format!("{}.{kind}_table", graph.value(of).name);
    if let Some(i) = graph.values.iter().position(|v| v.name == name) {
        return ValueId(i as u32);
    }
    let width = if doubled { dim } else { dim / 2 };
    let half: Vec<f32> = rows.chunks(width).flat_map(|r| &r[..dim / 2]).copied().collect();
    graph.add_const(name, Tensor::f32(&[half.len() / (dim / 2), dim / 2], &half))
}

/// `x*cos + concat(-x2, x1)*sin`.
fn rotate_half(look: &Look, node: &Node) -> Option<Match> {
    let (a, b) = look.binary(node.out(), BinaryOp::Add)?;
    [(a, b), (b, a)].into_iter().find_map(|(straight, turned)| {
        let products = look.either(look.uncast(turned), BinaryOp::Mul).into_iter().flatten();
        let (x, sin) = products.filter_map(|(r, sin)| Some((rotated(look, r)?, sin))).next()?;
        let direct = look.either(look.uncast(straight), BinaryOp::Mul).into_iter().flatten();
        let (_, cos) = direct.filter(|(y, _)| look.uncast(*y) == look.uncast(x)).next()?;
        finish(look, x, cos, sin, true)
    })
}

/// The x of `concat(-x[half..], x[..half])`.
fn rotated(look: &Look, v: ValueId) -> Option<ValueId> {
    let node = look.node(look.uncast(v))?;
    let Op::Concat { axis: 3 } = node.op else { return None };
    let (minus, first) = (look.unary(node.input(0)?, UnaryOp::Neg)?, node.input(1)?);
    let (x, from, _) = half(look, minus)?;
    let (y, start, _) = half(look, first)?;
    let dim = *look.graph.shape(x).last()?;
    (x == y && from == dim / 2 && start == 0 && node.inputs.len() == 2).then_some(x)
}

/// `concat(x1*cos - x2*sin, x2*cos + x1*sin)`.
fn halves(look: &Look, node: &Node) -> Option<Match> {
    let Op::Concat { axis: 3 } = node.op else { return None };
    let (real, imaginary) = (node.input(0)?, node.input(1)?);
    let (a, b) = look.binary(real, BinaryOp::Sub)?;
    let (x, x1, cos) = factor(look, a, 0)?;
    let (y, x2, sin) = factor(look, b, 1)?;
    let (c, d) = look.binary(imaginary, BinaryOp::Add)?;
    let uses = |v: ValueId, half: ValueId, t: ValueId| {
        look.either(v, BinaryOp::Mul).into_iter().flatten().any(|(p, q)| p == half && q == t)
    };
    let crossed = (uses(c, x1, sin) && uses(d, x2, cos)) || (uses(d, x1, sin) && uses(c, x2, cos));
    (x == y && crossed && node.inputs.len() == 2).then(|| finish(look, x, cos, sin, false)).flatten()
}

/// `half of x times table`: (x, the half, the table), where the half is the first (0) or second (1).
fn factor(look: &Look, v: ValueId, which: usize) -> Option<(ValueId, ValueId, ValueId)> {
    look.either(v, BinaryOp::Mul).into_iter().flatten().find_map(|(part, table)| {
        let (x, from, len) = half(look, part)?;
        let dim = *look.graph.shape(x).last()?;
        (from == which * dim / 2 && len == dim / 2).then_some((x, part, table))
    })
}

/// Input, first channel and length of a slice or split along the last of four axes.
fn half(look: &Look, v: ValueId) -> Option<(ValueId, usize, usize)> {
    let node = look.node(v)?;
    let x = node.input(0)?;
    let shape = look.graph.shape(x);
    let out = look.graph.shape(v);
    let [.., dim] = shape else { return None };
    let from = match &node.op {
        Op::Slice { begin, step, len } => {
            let whole = len[..3] == shape[..3] && begin[..3].iter().all(|b| *b == 0) && step.iter().all(|s| *s == 1);
            whole.then(|| begin[3] as usize)?
        }
        Op::Split { axis: 3, sizes } => {
            let i = node.outputs.iter().position(|o| *o == v)?;
            sizes[..i].iter().sum()
        }
        _ => return None,
    };
    let len = *out.last()?;
    (shape.len() == 4 && len * 2 == *dim).then_some((x, from, len))
}

fn finish(look: &Look, x: ValueId, cos: ValueId, sin: ValueId, doubled: bool) -> Option<Match> {
    let [1, a, b, dim] = look.graph.shape(x) else { return None };
    let width = if doubled { *dim } else { dim / 2 };
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
    let heads_first = fits(cos)?;
    (fits(sin)? == heads_first).then_some(Match { x, cos, sin, heads_first, doubled })
}

/// For every value that a product uses and that is a function of the position: its rows for positions 0..total.
fn tables(graph: &Graph, chunk: &Chunk) -> Result<HashMap<ValueId, Vec<f32>>> {
    let producers = graph.producers();
    let mut wanted: Vec<ValueId> = Vec::new();
    for node in graph.nodes.iter().filter(|n| n.op == Op::Binary(BinaryOp::Mul)) {
        for v in node.inputs.iter().flatten().copied() {
            let other = node.inputs.iter().flatten().any(|o| !roles::is_positional(graph, &producers, *o));
            let shape = graph.shape(v);
            let plausible =
                other && shape.len() >= 3 && shape.iter().product::<usize>() == chunk.rows * shape[shape.len() - 1];
            if plausible
                && !wanted.contains(&v)
                && graph.ty(v).dtype.is_float()
                && roles::is_positional(graph, &producers, v)
            {
                wanted.push(v);
            }
        }
    }
    let mut rows: Vec<Vec<f32>> = vec![Vec::new(); wanted.len()];
    let past = chunk.total - chunk.rows;
    for start in (0..chunk.total).step_by(chunk.rows) {
        let pos = start.min(past);
        let values = eval::values(graph, chunk.given(pos), &wanted)?;
        for (row, value) in rows.iter_mut().zip(&values) {
            let data = floats(value)?;
            let width = data.len() / chunk.rows;
            row.extend(&data[(start - pos) * width..]);
        }
    }
    let mut found = HashMap::new();
    let probe = past / 2;
    let values = eval::values(graph, chunk.given(probe), &wanted)?;
    for ((v, row), value) in wanted.into_iter().zip(rows).zip(&values) {
        let data = floats(value)?;
        let width = data.len() / chunk.rows;
        if row[probe * width..probe * width + data.len()] == *data {
            found.insert(v, row);
        }
    }
    Ok(found)
}

fn floats(array: &Array) -> Result<&[f32]> {
    match &array.data {
        Values::F32(x) => Ok(x),
        _ => Err(Error::new("passes", "a rotary table is not f32")),
    }
}
