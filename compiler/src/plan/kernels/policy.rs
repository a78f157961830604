//! The kernels around policies of a package's own. In: values of a decoder's graph. Out: calls. Promise: one that changes what outlives
//! the step does so only in a step that had a token.

use super::call::{Builder, groups};
use crate::error::{Error, Result};
use crate::graph::{Graph, ValueId};
use crate::plan::{Call, Operand};

/// Threads of a workgroup.
const LOCAL: usize = 64;

fn made(b: Builder, grid: [u32; 3], note: String) -> Result<Call> {
    b.finish(grid, note).map_err(|why| Error::new("kernels", why))
}

/// A word of the step (its name in lib/step.glsl), as a value.
pub fn step_word(value: ValueId, word: &str) -> Result<Call> {
    let name = word.to_lowercase();
    let b = Builder::new("step_word.comp", format!("step_word_{name}")).define("WORD", format!("STEP_{word}"));
    made(b.read(Operand::Step).write(Operand::Value(value)), [1, 1, 1], format!("{name} of the step"))
}

/// The token that our sampler has drawn, as a value.
pub fn drawn(value: ValueId) -> Result<Call> {
    let b = Builder::new("drawn_token.comp", "drawn_token".to_string());
    made(b.read(Operand::Tokens).write(Operand::Value(value)), [1, 1, 1], "the token drawn".into())
}

/// Whether there is another step.
pub fn goes_on(value: ValueId, counter: ValueId) -> Result<Call> {
    let b = Builder::new("goes_on.comp", "goes_on".to_string())
        .read(Operand::Value(value))
        .read(Operand::Value(counter))
        .write(Operand::Step)
        .write(Operand::Ring);
    made(b, [1, 1, 1], "whether there is another step".into())
}

/// Before the first token a state is what it begins with.
pub fn begin_held(graph: &Graph, held: ValueId, first: ValueId) -> Result<Call> {
    let n = graph.ty(held).elements();
    let b = Builder::new("begin_held.comp", format!("begin_held_n{n}"))
        .define("N", n)
        .define("LOCAL", LOCAL)
        .read(Operand::Value(first))
        .write(Operand::Value(held))
        .read(Operand::Step);
    made(b, groups(n, LOCAL), format!("{} begins [{n}]", graph.value(held).name))
}

/// After a token a state, which is first, is what policies made of it, which is second; third, the tokens drawn before.
pub fn keep_held(graph: &Graph, [held, next, counter]: [ValueId; 3]) -> Result<Call> {
    let n = graph.ty(held).elements();
    let b = Builder::new("keep_held.comp", format!("keep_held_n{n}"))
        .define("N", n)
        .define("LOCAL", LOCAL)
        .read(Operand::Value(next))
        .write(Operand::Value(held))
        .read(Operand::Value(counter))
        .read(Operand::Step);
    made(b, groups(n, LOCAL), format!("{} for the next step [{n}]", graph.value(held).name))
}
