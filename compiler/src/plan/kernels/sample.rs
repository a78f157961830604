//! The kernels that choose the next token. In: the size of the vocabulary. Out: calls that read `Operand::Logits` and leave what
//! `onnxcast_runtime::step` says. Promise: any vocabulary, spread over many workgroups.

use super::call::Builder;
use crate::error::{Error, Result};
use crate::graph::ValueId;
use crate::plan::{Call, Operand};
use onnxcast_runtime::program::Phase;

/// Threads of a workgroup; one a digit of a key in lib/draw.glsl.
const LOCAL: usize = 256;

/// Most workgroups that share a vocabulary; about as many as large devices run at once, and no more than threads of one.
const MOST_SLICES: usize = 128;

/// Fewest logits that are worth a workgroup.
const LEAST_SLICE: usize = 1024;

/// Words of a `Search` buffer and of its header, as in lib/draw.glsl.
const SEARCH_WORDS: u64 = 16 + 4 * 256;
const SEARCH_HEADER: u64 = 16;

/// Digits of the keys that top-k and top-p look for.
const DIGITS: usize = 8;

/// How workgroups share a vocabulary.
#[derive(Clone, Copy)]
struct Slices {
    vocab: usize,
    /// Logits a workgroup, a multiple of `LOCAL`.
    slice: usize,
    count: usize,
}

impl Slices {
    fn new(vocab: usize) -> Slices {
        let slice = vocab.div_ceil(MOST_SLICES).max(LEAST_SLICE).next_multiple_of(LOCAL);
        Slices { vocab, slice, count: vocab.div_ceil(slice).max(1) }
    }

    fn grid(&self) -> [u32; 3] {
        [self.count as u32, 1, 1]
    }

    /// A kernel of the drawing sampler.
    fn draw(&self, source: &'static str, name: &str) -> Builder {
        Builder::new(source, format!("{name}_n{}", self.vocab))
            .define("V", self.vocab)
            .define("SLICE", self.slice)
            .define("SLICES", self.count)
            .define("LOCAL", LOCAL)
    }
}

/// The calls of a sampler.
pub fn sample(vocab: usize, sampler: Phase) -> Result<Vec<Call>> {
    let slices = Slices::new(vocab);
    let calls = match sampler {
        Phase::Greedy => greedy(slices),
        Phase::Drawn => drawn(slices),
        Phase::Body | Phase::Head => Err(format!("{sampler:?} samples nothing")),
    };
    calls.map_err(|why| Error::new("kernels", why))
}

/// A token that is there already becomes the next.
pub fn take_token(token: ValueId, vocab: usize) -> Result<Call> {
    let b = Builder::new("take_token.comp", format!("take_token_n{vocab}"))
        .define("V", vocab)
        .read(Operand::Value(token))
        .write(Operand::Step)
        .write(Operand::Tokens)
        .write(Operand::Ring)
        .write(Operand::History);
    b.finish([1, 1, 1], format!("the graph's own token [{vocab}]")).map_err(|why| Error::new("kernels", why))
}

/// The best of each slice, then the best of those.
fn greedy(slices: Slices) -> Result<Vec<Call>, String> {
    let Slices { vocab, slice, count } = slices;
    let best = Operand::Scratch(0, count as u64 * 8);
    let parts = Builder::new("argmax.comp", format!("argmax_f32_n{vocab}"))
        .define("V", vocab)
        .define("SLICE", slice)
        .define("LOCAL", LOCAL)
        .read(Operand::Logits)
        .write(best.clone())
        .read(Operand::Step)
        .finish(slices.grid(), format!("best of each slice [{count}]"))?;
    let next = Builder::new("next_token.comp", format!("next_token_n{vocab}"))
        .define("V", vocab)
        .define("PARTS", count)
        .define("LOCAL", LOCAL)
        .read(best)
        .write(Operand::Step)
        .write(Operand::Tokens)
        .write(Operand::Ring)
        .write(Operand::History)
        .finish([1, 1, 1], format!("next token [{vocab}]"))?;
    Ok(vec![parts, next])
}

/// Penalty and temperature; eight digits of the last key that may be drawn; the mass of each slice; the token.
fn drawn(slices: Slices) -> Result<Vec<Call>, String> {
    let Slices { vocab, count, .. } = slices;
    let scaled = Operand::Scratch(0, vocab as u64 * 4);
    let tops = Operand::Scratch(1, count as u64 * 4);
    let parts = Operand::Scratch(2, count as u64 * 16);
    let found = Operand::Scratch(3, SEARCH_HEADER * 4);
    let search = |digit: usize| Operand::Scratch(4 + digit as u32 % 3, SEARCH_WORDS * 4);
    let scale = slices
        .draw("draw_scale.comp", "draw_scale")
        .read(Operand::Logits)
        .read(Operand::Step)
        .read(Operand::History)
        .write(scaled.clone())
        .write(tops.clone())
        .write(search(0))
        .write(search(1))
        .finish(slices.grid(), format!("penalty and temperature [{vocab}]"))?;
    let digit = |digit: usize| {
        slices
            .draw("draw_search.comp", "draw_search")
            .read(scaled.clone())
            .read(tops.clone())
            .read(Operand::Step)
            .read(search(digit))
            .write(search(digit + 1))
            .write(search(digit + 2))
            .finish(slices.grid(), format!("digit {digit} of top-k, then top-p"))
    };
    let sum = slices
        .draw("draw_sum.comp", "draw_sum")
        .read(scaled.clone())
        .read(tops.clone())
        .read(Operand::Step)
        .read(search(DIGITS))
        .write(found.clone())
        .write(parts.clone())
        .finish(slices.grid(), format!("mass of each slice [{count}]"))?;
    let pick = slices
        .draw("draw_pick.comp", "draw_pick")
        .read(scaled.clone())
        .read(found)
        .read(parts)
        .write(Operand::Step)
        .write(Operand::Tokens)
        .write(Operand::Ring)
        .write(Operand::History)
        .finish([1, 1, 1], format!("next token, drawn [{vocab}]"))?;
    let digits: Vec<Call> = (0..DIGITS).map(digit).collect::<Result<_, _>>()?;
    Ok([scale].into_iter().chain(digits).chain([sum, pick]).collect())
}
