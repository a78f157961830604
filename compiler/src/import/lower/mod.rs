//! ONNX operators to ours. In: one node with its inputs lowered. Out: its results. Promise: opset differences end here; what is
//! not supported is refused with a reason, never approximated.

mod attention;
mod contrib;
mod cx;
mod einsum;
mod elementwise;
mod fold;
mod indexing;
mod movement;
mod norm;
mod product;
mod quantised;
mod reduce;
mod resize;
pub mod sequence;
mod shapes;

pub use cx::{Cx, needs_no_data};

use super::attrs::Attrs;
use super::external::Files;
use crate::error::Error;
use crate::graph::ValueId;

/// Why a node is not lowered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    pub reason: String,
    /// The operator or this use of it is beyond us; otherwise the node itself is wrong (at these shapes).
    pub unsupported: bool,
}

/// We cannot do this.
pub fn unsupported(reason: impl Into<String>) -> Refusal {
    Refusal { reason: reason.into(), unsupported: true }
}

/// The model is wrong here.
pub fn invalid(reason: impl Into<String>) -> Refusal {
    Refusal { reason: reason.into(), unsupported: false }
}

impl From<Error> for Refusal {
    fn from(e: Error) -> Refusal {
        let place = e.place.map(|p| format!("{p}: ")).unwrap_or_default();
        let hint = e.hint.map(|h| format!("; {h}")).unwrap_or_default();
        invalid(format!("{place}{}{hint}", e.what))
    }
}

/// The results of a node, one per ONNX output (trailing ones may be left out where nobody asks).
pub type Outcome = Result<Vec<ValueId>, Refusal>;

/// One node to lower.
pub struct Call<'a> {
    pub op: &'a str,
    pub opset: i64,
    pub inputs: Vec<Option<ValueId>>,
    /// Whether each output is read by anyone; at least one entry.
    pub wanted: Vec<bool>,
    pub attrs: Attrs<'a>,
    pub files: &'a Files,
}

impl Call<'_> {
    /// A required input.
    pub fn input(&self, i: usize) -> Result<ValueId, Refusal> {
        self.optional(i).ok_or_else(|| invalid(format!("input {i} is missing")))
    }

    pub fn optional(&self, i: usize) -> Option<ValueId> {
        self.inputs.get(i).copied().flatten()
    }

    /// All inputs, none of them absent.
    pub fn all(&self) -> Result<Vec<ValueId>, Refusal> {
        (0..self.inputs.len()).map(|i| self.input(i)).collect()
    }

    pub fn wants(&self, output: usize) -> bool {
        self.wanted.get(output).copied().unwrap_or(false)
    }

    /// Refuses when output `i` is used.
    pub fn refuse_output(&self, i: usize, what: &str) -> Result<(), Refusal> {
        if self.wants(i) { Err(unsupported(format!("its output {i} ({what}) is not supported"))) } else { Ok(()) }
    }
}

/// `axis` of a tensor of `rank`, negative ones counted from the end.
pub fn axis(axis: i64, rank: usize) -> Result<usize, Refusal> {
    let at = if axis < 0 { axis.checked_add(rank as i64) } else { Some(axis) };
    let at = at.and_then(|a| usize::try_from(a).ok()).filter(|a| *a < rank);
    at.ok_or_else(|| invalid(format!("axis {axis} is out of range for rank {rank}")))
}

/// Several axes, sorted; one given twice is an error.
pub fn axes(list: &[i64], rank: usize) -> Result<Vec<usize>, Refusal> {
    let mut out = list.iter().map(|a| axis(*a, rank)).collect::<Result<Vec<usize>, _>>()?;
    out.sort();
    if out.windows(2).any(|w| w[0] == w[1]) {
        return Err(invalid(format!("axes {list:?} name one axis twice")));
    }
    Ok(out)
}

/// The most elements of a constant that a rule makes from nothing.
pub const MAX_MADE: usize = 1 << 24;

/// Refuses to make a constant of more elements than that.
pub fn bounded(elements: usize, what: &str) -> Result<usize, Refusal> {
    if elements <= MAX_MADE {
        Ok(elements)
    } else {
        Err(unsupported(format!("{what} of {elements} elements is too large")))
    }
}

/// A lowering rule.
pub type Rule = fn(&mut Cx, &Call) -> Outcome;

/// The rule of an operator, or why there is none.
pub fn find(domain: &str, op: &str) -> Result<Rule, Refusal> {
    let rule = match domain {
        "" => elementwise::rule(op)
            .or_else(|| reduce::rule(op))
            .or_else(|| product::rule(op))
            .or_else(|| shapes::rule(op))
            .or_else(|| movement::rule(op))
            .or_else(|| indexing::rule(op))
            .or_else(|| norm::rule(op))
            .or_else(|| attention::rule(op))
            .or_else(|| quantised::rule(op))
            .or_else(|| resize::rule(op))
            .or_else(|| einsum::rule(op)),
        contrib::DOMAIN => contrib::rule(op),
        _ => None,
    };
    let full = if domain.is_empty() { op.to_string() } else { format!("{domain}.{op}") };
    rule.ok_or_else(|| unsupported(format!("operator {full} is not supported")))
}
