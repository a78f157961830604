//! Output types. In: an operator and its input types. Out: a type per output. Promise: exact, or an error that says why.

use super::{Op, Ty};
use crate::error::{Error, Result};

/// The output types of `op` on these inputs (None: an absent optional input).
pub fn infer(op: &Op, _inputs: &[Option<&Ty>]) -> Result<Vec<Ty>> {
    Err(Error::new("infer", format!("no rule for {op:?}")))
}
