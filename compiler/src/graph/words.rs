//! Inputs that are words of the `Step` buffer. In: a value. Out: which word it is. Promise: passes, plan and quantising agree on it.

use super::{DType, Ty, Value};

/// Position of the chunk's first row, i32 scalar.
pub const POS: &str = "pos";
/// Live rows of the chunk, i32 scalar.
pub const ROWS: &str = "rows";

/// Tokens drawn before this step, i32 scalar: with the next two an input of a decoder with policies of its own, filled before they run.
pub const COUNTER: &str = "counter";
/// Tokens wanted, i32 scalar.
pub const LIMIT: &str = "limit";
/// The token that our sampler has drawn, i32 scalar.
pub const DRAWN: &str = "drawn";

/// Before the name of an input that policies hold from step to step, and of the outputs that are its first value and its next.
pub const HELD: &str = "held/";
pub const FIRST: &str = "first/";
pub const NEXT: &str = "next/";

/// Names of a decoder's outputs that policies make: the next token, and whether there is another step.
pub const TOKEN: &str = "token";
pub const GOES_ON: &str = "goes_on";

/// Whether an output besides the logits is one of a decoder's policies.
pub fn own_output(name: &str) -> bool {
    name == TOKEN || name == GOES_ON || name.starts_with(FIRST) || name.starts_with(NEXT)
}

/// What an input is that a decoder's policies read, where it is such a one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Own<'a> {
    Counter,
    Limit,
    Drawn,
    Held(&'a str),
}

/// Whether an input is one of a decoder's policies.
pub fn own_input(value: &Value) -> Option<Own<'_>> {
    if let Some(name) = value.name.strip_prefix(HELD) {
        return Some(Own::Held(name));
    }
    let word = [(COUNTER, Own::Counter), (LIMIT, Own::Limit), (DRAWN, Own::Drawn)];
    let word = word.into_iter().find(|(name, _)| value.name == *name)?.1;
    (value.ty == Ty::new(DType::I32, &[])).then_some(word)
}

/// The word of the `Step` buffer that an input is, if it is one.
pub fn step_word(value: &Value) -> Option<u32> {
    let named = [POS, ROWS].iter().position(|name| value.name == *name)?;
    (value.ty == Ty::new(DType::I32, &[])).then_some(named as u32)
}
