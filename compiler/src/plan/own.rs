//! Policies of a package's own in a decoder's program. In: a decoder's graph. Out: what of it they are, and the calls around their nodes.
//! Promise: what a step reads of its state is what the step before left; once `done` is set nothing changes.

use super::{Call, kernels};
use crate::error::Result;
use crate::graph::words::{FIRST, GOES_ON, NEXT, TOKEN};
use crate::graph::{self, Graph, ValueId, own_input};
use std::collections::HashSet;

/// The parts of a decoder's graph that policies need (graph/words.rs names them).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Own {
    pub counter: Option<ValueId>,
    pub limit: Option<ValueId>,
    pub drawn: Option<ValueId>,
    /// What is held, its first value, and its next.
    pub held: Vec<[ValueId; 3]>,
    pub token: Option<ValueId>,
    pub goes_on: Option<ValueId>,
}

impl Own {
    pub fn of(graph: &Graph) -> Own {
        let output = |name: &str| graph.outputs.iter().skip(1).find(|o| o.name == name).map(|o| o.value);
        let mut own = Own { token: output(TOKEN), goes_on: output(GOES_ON), ..Own::default() };
        for &v in &graph.inputs {
            match own_input(graph.value(v)) {
                Some(graph::Own::Counter) => own.counter = Some(v),
                Some(graph::Own::Limit) => own.limit = Some(v),
                Some(graph::Own::Drawn) => own.drawn = Some(v),
                Some(graph::Own::Held(name)) => {
                    let ends = (output(&format!("{FIRST}{name}")), output(&format!("{NEXT}{name}")));
                    if let (Some(first), Some(next)) = ends {
                        own.held.push([v, first, next]);
                    }
                }
                None => {}
            }
        }
        own
    }

    /// Inputs that are filled at the begin of a step's head.
    pub fn inputs(&self) -> HashSet<ValueId> {
        let words = [self.counter, self.limit, self.drawn].into_iter().flatten();
        words.chain(self.held.iter().map(|h| h[0])).collect()
    }

    /// Before the head: words of the step, and at the first token what is held begins.
    pub fn begin(&self, graph: &Graph) -> Result<Vec<Call>> {
        let mut calls = vec![];
        for (word, name) in [(self.counter, "PRODUCED"), (self.limit, "LIMIT")] {
            if let Some(v) = word {
                calls.push(kernels::step_word(v, name)?);
            }
        }
        for &[held, first, _] in &self.held {
            calls.push(kernels::begin_held(graph, held, first)?);
        }
        Ok(calls)
    }

    /// After the token: the end, and what the next step finds.
    pub fn end(&self, graph: &Graph) -> Result<Vec<Call>> {
        let mut calls = vec![];
        let Some(counter) = self.counter else { return Ok(calls) };
        if let Some(v) = self.goes_on {
            calls.push(kernels::goes_on(v, counter)?);
        }
        for &[held, _, next] in &self.held {
            calls.push(kernels::keep_held(graph, [held, next, counter])?);
        }
        Ok(calls)
    }
}
