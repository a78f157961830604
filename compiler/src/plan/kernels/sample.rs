//! The kernels that choose the next token. In: the size of the vocabulary. Out: calls that read `Operand::Logits` and leave what
//! `onnxcast_runtime::step` says. Promise: any vocabulary, spread over many workgroups.

use super::call::Builder;
use crate::error::{Error, Result};
use crate::plan::{Call, Operand};

/// Threads of a workgroup.
const LOCAL: usize = 256;

/// Most workgroups that share a vocabulary; about as many as large devices run at once.
const MOST_SLICES: usize = 128;

/// Fewest logits that are worth a workgroup.
const LEAST_SLICE: usize = 1024;

/// How workgroups share a vocabulary.
#[derive(Clone, Copy)]
struct Slices {
    /// Logits a workgroup, a multiple of `LOCAL`.
    slice: usize,
    count: usize,
}

impl Slices {
    fn new(vocab: usize) -> Slices {
        let slice = vocab.div_ceil(MOST_SLICES).max(LEAST_SLICE).next_multiple_of(LOCAL);
        Slices { slice, count: vocab.div_ceil(slice).max(1) }
    }
}

/// Greedy sampling: the best of each slice, then the best of those.
pub fn sample(vocab: usize) -> Result<Vec<Call>> {
    let slices = Slices::new(vocab);
    let best = Operand::Scratch(0, slices.count as u64 * 8);
    let parts = Builder::new("argmax.comp", format!("argmax_f32_n{vocab}"))
        .define("V", vocab)
        .define("SLICE", slices.slice)
        .define("LOCAL", LOCAL)
        .read(Operand::Logits)
        .write(best.clone())
        .read(Operand::Step)
        .finish([slices.count as u32, 1, 1], format!("best of each slice [{}]", slices.count));
    let next = Builder::new("next_token.comp", format!("next_token_n{vocab}"))
        .define("V", vocab)
        .define("PARTS", slices.count)
        .define("LOCAL", LOCAL)
        .read(best)
        .write(Operand::Step)
        .write(Operand::Tokens)
        .write(Operand::Ring)
        .finish([1, 1, 1], format!("next token [{vocab}]"));
    [parts, next].into_iter().map(|call| call.map_err(|why| Error::new("kernels", why))).collect()
}
