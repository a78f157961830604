//! Recognises masks by their values. In: what an attention block adds to its scores or selects them by. Out: full, causal, a window,
//! or given. Promise: a kind is what the graph computes at every probe position; the nodes that compute it are not looked at.

use super::super::look::Look;
use super::super::roles::{self, Chunk, Source};
use crate::graph::eval::{self, Array, Values};
use crate::graph::{Graph, Mask, ValueId};
use std::cell::RefCell;
use std::collections::HashMap;

/// Scores at or under this are masked: exporters fill with -1e4 and less.
pub(super) const MASKED: f32 = -1e3;

/// One thing that hides keys.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(in super::super) enum Term {
    /// Added to the scores.
    Add(ValueId),
    /// Keys where it is true are seen.
    Seen(ValueId),
    /// Keys where it is true are hidden.
    Hidden(ValueId),
}

impl Term {
    fn value(self) -> ValueId {
        match self {
            Term::Add(v) | Term::Seen(v) | Term::Hidden(v) => v,
        }
    }
}

/// Each combination is probed once.
pub(super) struct Masks {
    chunk: Option<Chunk>,
    known: RefCell<HashMap<Vec<Term>, Option<Mask>>>,
}

impl Masks {
    pub fn new(chunk: Option<Chunk>) -> Masks {
        Masks { chunk, known: RefCell::default() }
    }

    pub fn kind(&self, look: &Look, terms: &[Term], [rows, total]: [usize; 2]) -> Result<Mask, String> {
        if terms.is_empty() {
            return Ok(Mask::Full);
        }
        let known = self.known.borrow().get(terms).copied();
        let kind = known.unwrap_or_else(|| self.probe(look.graph, terms, rows, total));
        self.known.borrow_mut().insert(terms.to_vec(), kind);
        match (kind, terms) {
            (Some(kind), _) => Ok(kind),
            (None, [Term::Add(_)]) => Ok(Mask::Given),
            (None, _) => Err("its masks together are neither causal nor a window".into()),
        }
    }

    fn probe(&self, graph: &Graph, terms: &[Term], rows: usize, total: usize) -> Option<Mask> {
        let chunk = self.chunk.as_ref().filter(|c| c.rows == rows && c.total == total)?;
        let producers = graph.producers();
        let sources: Vec<Source> = terms.iter().map(|t| roles::source(graph, &producers, t.value())).collect();
        if sources.contains(&Source::Other) {
            return None;
        }
        let past = total - rows;
        let full = seen(graph, chunk, terms, past)?;
        let reach = (0..total).rev().take_while(|j| full[(rows - 1) * total + j]).count();
        let kind = if reach == total { Mask::Causal } else { Mask::Window(reach) };
        // A constant holds for a full cache only, and a window counts slots, which are positions only then.
        let moves = (kind == Mask::Causal || chunk.inside) && sources.contains(&Source::Position);
        let probes = [past, 0, past / 2, past.saturating_sub(1)];
        let holds = probes.into_iter().take(if moves { 4 } else { 1 }).all(|pos| {
            let Some(seen) = seen(graph, chunk, terms, pos) else { return false };
            (0..rows * total).all(|at| {
                let (first, j) = (if chunk.inside { pos } else { past }, at % total);
                let now = first + at / total;
                seen[at] == (j <= now && now - j < reach && (chunk.inside || j < pos || j >= past))
            })
        });
        if holds { Some(kind) } else { (rows > 1 && full.iter().all(|x| *x)).then_some(Mask::Full) }
    }
}

/// Which of [rows, total] all terms let through for a chunk at `pos`.
fn seen(graph: &Graph, chunk: &Chunk, terms: &[Term], pos: usize) -> Option<Vec<bool>> {
    let wanted: Vec<ValueId> = terms.iter().map(|t| t.value()).collect();
    let values = eval::values(graph, chunk.given(pos), &wanted).ok()?;
    let mut all = vec![true; chunk.rows * chunk.total];
    for (term, value) in terms.iter().zip(&values) {
        let grid = grid(value, chunk.rows, chunk.total)?;
        for (i, seen) in all.iter_mut().enumerate() {
            let one = match (term, &value.data) {
                (Term::Add(_), Values::F32(x)) => x[grid(i)] > MASKED,
                (Term::Seen(_), Values::Bool(x)) => x[grid(i)],
                (Term::Hidden(_), Values::Bool(x)) => !x[grid(i)],
                _ => return None,
            };
            *seen &= one;
        }
    }
    Some(all)
}

/// Where element `i` of [rows, total] stands in a value that broadcasts to it.
fn grid(value: &Array, rows: usize, total: usize) -> Option<impl Fn(usize) -> usize + use<>> {
    let shape = &value.shape;
    let (m, n) = match shape[..] {
        [.., m, n] => (m, n),
        [n] => (1, n),
        [] => (1, 1),
    };
    let fits = shape.iter().product::<usize>() == m * n && (m == 1 || m == rows) && (n == 1 || n == total);
    fits.then_some(move |i: usize| (if m == 1 { 0 } else { i / total }) * n + if n == 1 { 0 } else { i % total })
}
