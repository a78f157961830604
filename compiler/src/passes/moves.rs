//! Movements in a row as one. In: a transpose of a reshape of a transpose. Out: one transpose between reshapes, which cost nothing.
//! Promise: the same elements in the same places; where axes do not split evenly nothing changes.

use super::Log;
use super::look::{Look, rewrite, substitute};
use crate::error::Result;
use crate::graph::{Graph, Node, Op, ValueId};

pub fn run(graph: &mut Graph, log: &mut Log) -> Result<()> {
    let mut total = 0;
    loop {
        let count = rewrite(graph, log, |look, node| find(look, node).into(), replace)?;
        super::fold::quietly(graph, log)?;
        total += count;
        if count == 0 {
            break;
        }
    }
    log.say(format!("{total} transposes joined"));
    Ok(())
}

struct Match {
    x: ValueId,
    view: Vec<usize>,
    perm: Vec<usize>,
}

fn find(look: &Look, node: &Node) -> Option<Match> {
    let Op::Transpose { perm: last } = &node.op else { return None };
    let y = node.input(0)?;
    let inner = look.reshape(y)?;
    let first = look.node(inner)?;
    let Op::Transpose { perm } = &first.op else { return None };
    if !look.single(y) || !look.single(inner) {
        return None;
    }
    let x = first.input(0)?;
    let (view, perm) = joined(look.graph.shape(x), perm, look.graph.shape(y), last)?;
    Some(Match { x, view, perm })
}

fn replace(graph: &mut Graph, at: usize, m: Match) -> Result<()> {
    let (name, shape) = (graph.nodes[at].name.clone(), graph.shape(graph.nodes[at].out()).to_vec());
    let view = graph.insert(at, Op::Reshape { shape: m.view }, &[Some(m.x)], &format!("{name}.view"))?[0];
    let moved = graph.insert(at + 1, Op::Transpose { perm: m.perm }, &[Some(view)], &format!("{name}.moved"))?[0];
    substitute(graph, at + 2, (Op::Reshape { shape }, vec![Some(moved)]))
}

/// A stretch of an axis: how many elements, and how far apart in memory.
type Part = (usize, usize);

/// The reshape and the permutation that do what `perm`, a reshape to `middle` and `last` do to x.
fn joined(x: &[usize], perm: &[usize], middle: &[usize], last: &[usize]) -> Option<(Vec<usize>, Vec<usize>)> {
    let mut step = x.iter().product::<usize>();
    let axes: Vec<Part> = x
        .iter()
        .map(|&n| {
            step /= n.max(1);
            (n, step)
        })
        .collect();
    let groups = regrouped(perm.iter().map(|&p| axes[p]).collect(), middle)?;
    let mut parts: Vec<Part> = Vec::new();
    for part in last.iter().flat_map(|&axis| &groups[axis]) {
        match parts.last_mut() {
            Some(before) if before.1 == part.0 * part.1 => *before = (before.0 * part.0, part.1),
            _ => parts.push(*part),
        }
    }
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by_key(|&i| std::cmp::Reverse(parts[i].1));
    let view = order.iter().map(|&i| parts[i].0).collect();
    let perm = (0..parts.len()).map(|i| order.iter().position(|&o| o == i)).collect::<Option<_>>()?;
    Some((view, perm))
}

/// Parts in their order, cut up and gathered so that they make the axes of `shape`.
fn regrouped(parts: Vec<Part>, shape: &[usize]) -> Option<Vec<Vec<Part>>> {
    let mut left: Vec<Part> = parts.into_iter().filter(|p| p.0 != 1).rev().collect();
    let mut groups = Vec::new();
    for &extent in shape {
        let (mut group, mut wanted) = (Vec::new(), extent);
        while wanted > 1 {
            let (n, step) = left.pop()?;
            if wanted.is_multiple_of(n) {
                group.push((n, step));
                wanted /= n;
            } else if n.is_multiple_of(wanted) {
                let rest = n / wanted;
                group.push((wanted, step * rest));
                left.push((rest, step));
                wanted = 1;
            } else {
                return None;
            }
        }
        groups.push(group);
    }
    left.is_empty().then_some(groups)
}
