//! Inputs that are words of the `Step` buffer. In: a value. Out: which word it is. Promise: passes, plan and quantising agree on it.

use super::{DType, Ty, Value};

/// Position of the chunk's first row, i32 scalar.
pub const POS: &str = "pos";
/// Live rows of the chunk, i32 scalar.
pub const ROWS: &str = "rows";

/// Tokens drawn before, i32 scalar: an input of a decoder with a sampler of its own, filled before it.
pub const COUNTER: &str = "counter";

/// Whether an input is the count of tokens drawn.
pub fn is_counter(value: &Value) -> bool {
    value.name == COUNTER && value.ty == Ty::new(DType::I32, &[])
}

/// The word of the `Step` buffer that an input is, if it is one.
pub fn step_word(value: &Value) -> Option<u32> {
    let named = [POS, ROWS].iter().position(|name| value.name == *name)?;
    (value.ty == Ty::new(DType::I32, &[])).then_some(named as u32)
}
