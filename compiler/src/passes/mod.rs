//! Rewrites. In: an imported graph. Out: the fused graph the plan takes. Promise: `eval` gives the same before and after; what
//! did not match is logged with its reason.

use crate::error::Result;
use crate::graph::{Graph, verify};

/// What passes did and declined, for `explain`.
#[derive(Default, Debug)]
pub struct Log {
    pub lines: Vec<String>,
}

impl Log {
    pub fn say(&mut self, line: impl Into<String>) {
        self.lines.push(line.into());
    }
}

/// A pass and why it stands where it does.
pub struct Pass {
    pub name: &'static str,
    pub why: &'static str,
    pub run: fn(&mut Graph, &mut Log) -> Result<()>,
}

/// The order for a decoder whose cache we manage.
pub const ORDER: &[Pass] = &[];

/// Runs passes in order, verifying after each.
pub fn run(graph: &mut Graph, order: &[Pass], log: &mut Log) -> Result<()> {
    for pass in order {
        (pass.run)(graph, log).map_err(|e| e.at(format!("pass {}", pass.name)))?;
        verify(graph).map_err(|e| e.at(format!("after pass {}", pass.name)))?;
    }
    Ok(())
}
