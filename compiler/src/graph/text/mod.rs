//! Text form. In: a graph, or its text. Out: the other. Promise: `parse(print(g))` prints the same.
//!
//! One thing a line; `#` begins the ONNX name, where it differs from the value's identifier:
//! ```text
//! graph tiny
//! input %x: f32[2,4]
//! state %past: f32[1,1,8,4] -> %present
//! const %half: f32[] = 0.5
//! const %w: f32[4,4] = random(7)          # model.layers.0.mlp.up.weight
//! %0: f32[2,4] = MatMul(%x, %w)           # /layers.0/MatMul
//! %y = Mul(%0, %half)
//! output %y                               # logits
//! ```
//! A node's types may be left out. A constant is a number, a list, `fill(v)`, `iota(start)`, `random(seed)` or
//! `random(seed, scale)`; `...` is one whose data is not written, as all of more than eight elements are printed; the name of a
//! layout, such as `q4_g32_mid`, one that the pool keeps quantised.

mod attrs;
mod parse;
mod print;
#[cfg(test)]
mod tests;

pub use parse::parse;
pub use print::print;

/// Constants up to this many elements are printed in full.
const INLINE: usize = 8;

/// The name that stands for elided data.
const ELIDED: &str = "...";

/// Whether a name can stand as an identifier.
fn is_identifier(name: &str) -> bool {
    let sound = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.');
    sound && name.len() <= 24 && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}
