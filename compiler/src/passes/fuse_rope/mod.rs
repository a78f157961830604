//! Finds rotary embeddings. In: the spellings of `forms`, cos and sin any function of the position. Out: `Rope` over tables of all
//! positions. Promise: the tables are the graph's own values, evaluated position by position, so every scaling of the
//! frequencies is kept; a row that depends on more than its position is refused.

mod forms;
mod tables;

use super::Log;
use super::look::{Found, Look, rewrite, substitute};
use super::roles::{self, Chunk, Source};
use crate::error::{Error, Result};
use crate::graph::{DType, Data, Graph, Node, Op, Rotary, Tensor, ValueId};
use forms::Match;
use tables::{Table, Tables};

pub fn run(graph: &mut Graph, log: &mut Log) -> Result<()> {
    let chunk = Chunk::of(graph)?;
    let Some(pos) = roles::input(graph, roles::POS) else {
        return Err(Error::new("passes", "fuse_rope needs the roles pass before it"));
    };
    let tables = tables::find(graph, &chunk)?;
    refuse_constants(graph)?;
    let count = rewrite(
        graph,
        log,
        |look, node| match forms::find(look, node) {
            None => Found::No,
            Some(m) => match (half(look, &tables, &m, m.cos), half(look, &tables, &m, m.sin)) {
                (Ok(cos), Ok(sin)) => Found::Yes((m, cos, sin)),
                (Err(why), _) | (_, Err(why)) => Found::Declined(why),
            },
        },
        |graph, at, (m, cos, sin)| replace(graph, at, &m, [&cos, &sin], pos),
    )?;
    let partial = rewrite(graph, log, |look, node| partial(look, node).into(), widen_rope)?;
    log.say(format!("{count} rotary embeddings, {partial} of them partial, tables of {} positions", chunk.total));
    Ok(())
}

/// Tables that are the same for every chunk hold for one length of the cache only.
fn refuse_constants(graph: &Graph) -> Result<()> {
    let (look, producers) = (Look::new(graph), graph.producers());
    let constant = |v| roles::source(graph, &producers, v) == Source::Constant;
    match graph.nodes.iter().find(|n| forms::find(&look, n).is_some_and(|m| constant(m.cos) && !constant(m.x))) {
        None => Ok(()),
        Some(node) => Err(Error::new("passes", "the rotary embedding turns by numbers that no position decides")
            .at(node.name.clone())
            .hint("import the decoder with import::load_decoder, or export it with a position_ids input")),
    }
}

/// Rows [positions][rotary / 2] of a table: where each frequency stands twice, the first of the two.
fn half(look: &Look, tables: &Tables, m: &Match, of: ValueId) -> Result<Table, String> {
    let name = &look.graph.value(of).name;
    let found = tables.get(&of).ok_or_else(|| format!("{name} is no function of the position alone"))?;
    let (n, rows, known) = (m.form.rotary / 2, &found.rows, found.known);
    if !m.doubled {
        return Ok(Table { rows: rows.clone(), known });
    }
    let places = |j: usize| if m.form.interleaved { (2 * j, 2 * j + 1) } else { (j, j + n) };
    let twice = rows.chunks(2 * n).all(|r| (0..n).all(|j| r[places(j).0] == r[places(j).1]));
    if !twice {
        return Err(format!("{name} does not hold every frequency twice"));
    }
    let rows = rows.chunks(2 * n).flat_map(|r| (0..n).map(|j| r[places(j).0])).collect();
    Ok(Table { rows, known })
}

fn replace(graph: &mut Graph, mut at: usize, m: &Match, halves: [&Table; 2], pos: ValueId) -> Result<()> {
    let old = graph.nodes[at].out();
    let name = graph.nodes[at].name.clone();
    let cos = table(graph, m.cos, halves[0], m.form.rotary / 2, "cos");
    let sin = table(graph, m.sin, halves[1], m.form.rotary / 2, "sin");
    let swap = Op::Transpose { perm: vec![0, 2, 1, 3] };
    let mut x = m.x;
    let shape = graph.shape(x).to_vec();
    if shape.last() != Some(&m.form.rotary) {
        let len = [&shape[..3], &[m.form.rotary]].concat();
        let part = Op::Slice { begin: vec![0; 4], step: vec![1; 4], len };
        x = graph.insert(at, part, &[Some(x)], &format!("{name}.turning"))?[0];
        at += 1;
    }
    if !m.heads_first {
        x = graph.insert(at, swap.clone(), &[Some(x)], &format!("{name}.heads"))?[0];
        at += 1;
    }
    let mut out = graph.insert(at, Op::Rope { form: m.form }, &[Some(x), Some(cos), Some(sin), Some(pos)], &name)?[0];
    if !m.heads_first {
        out = graph.insert(at + 1, swap, &[Some(out)], &format!("{name}.rows"))?[0];
    }
    graph.replace_uses(old, out);
    Ok(())
}

/// The constant [positions, width]; made once for all that turn by the same numbers.
fn table(graph: &mut Graph, of: ValueId, table: &Table, width: usize, kind: &str) -> ValueId {
    let shape = vec![table.rows.len() / width.max(1), width];
    let suffix = format!(".{kind}_table");
    let name = format!("{}{suffix}", graph.value(of).name);
    let tensor = match table.known {
        true => Tensor::f32(&shape, &table.rows),
        false => Tensor { dtype: DType::F32, shape, data: Data::Absent(name.clone()) },
    };
    let same = |v: &crate::graph::Value| match &v.def {
        crate::graph::Def::Const(t) if t.is_absent() => v.name == name && t.shape == tensor.shape,
        crate::graph::Def::Const(t) => {
            v.name.ends_with(&suffix) && t.shape == tensor.shape && t.bytes().ok() == tensor.bytes().ok()
        }
        _ => false,
    };
    if let Some(i) = graph.values.iter().position(same) {
        return ValueId(i as u32);
    }
    graph.add_const(name, tensor)
}

/// A rotary embedding of the leading channels of each head, beside channels that pass.
struct Partial {
    x: ValueId,
    form: Rotary,
    tables: [Option<ValueId>; 3],
    heads_first: bool,
}

/// `concat(rope(x[..r]), x[r..])`.
fn partial(look: &Look, node: &Node) -> Option<Partial> {
    let (Op::Concat { axis: 3 }, [Some(turned), Some(rest)]) = (&node.op, &node.inputs[..]) else { return None };
    let swap = [0, 2, 1, 3];
    let (rope, heads_first) = match look.transpose(*turned, &swap) {
        Some(inner) => (inner, false),
        None => (*turned, true),
    };
    let rope = look.node(rope)?;
    let Op::Rope { form } = rope.op else { return None };
    let part = rope.input(0)?;
    let part = if heads_first { part } else { look.transpose(part, &swap)? };
    let (turning, passing) = (forms::channels(look, part)?, forms::channels(look, *rest)?);
    let dim = *look.graph.shape(turning.x).last()?;
    let fits = turning.x == passing.x
        && (turning.from, turning.step, turning.len) == (0, 1, form.rotary)
        && (passing.from, passing.step, passing.len) == (form.rotary, 1, dim - form.rotary);
    fits.then_some(Partial { x: turning.x, form, tables: [rope.input(1), rope.input(2), rope.input(3)], heads_first })
}

fn widen_rope(graph: &mut Graph, at: usize, m: Partial) -> Result<()> {
    let [cos, sin, pos] = m.tables;
    if m.heads_first {
        return substitute(graph, at, (Op::Rope { form: m.form }, vec![Some(m.x), cos, sin, pos]));
    }
    let name = graph.nodes[at].name.clone();
    let swap = Op::Transpose { perm: vec![0, 2, 1, 3] };
    let x = graph.insert(at, swap.clone(), &[Some(m.x)], &format!("{name}.heads"))?[0];
    let y = graph.insert(at + 1, Op::Rope { form: m.form }, &[Some(x), cos, sin, pos], &name)?[0];
    substitute(graph, at + 2, (swap, vec![Some(y)]))
}
