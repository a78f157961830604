//! What generates. In: token ids. Out: tokens, a submission's worth at a time, or logits. Promise: whoever measures, compares or talks
//! asks this and no more of a session.

use crate::engine::Counters;
use crate::error::{Error, Result};
use crate::step::Done;

/// What the token loop asks of a session.
pub trait Generator {
    /// Makes the cache hold `ids`, keeping rows that are right already, and samples the first of at most `limit` tokens.
    /// Errors when the ids do not fit the context.
    fn begin(&mut self, ids: &[u32], limit: u32) -> Result<()>;

    /// Appends the tokens of one more submission; the reason once the answer has ended.
    fn advance(&mut self, tokens: &mut Vec<u32>) -> Result<Option<Done>>;

    /// Has the tower look at pixels and keep the picture's rows in a slot. What the cache holds of the picture before is forgotten.
    fn show(&mut self, slot: u32, pixels: &[f32]) -> Result<()> {
        let _ = (slot, pixels);
        Err(Error::usage("this model takes no pictures"))
    }

    /// Lets nothing be kept for the prompt that comes next.
    fn forget(&mut self) {}

    /// What crossed the bus so far.
    fn counters(&self) -> Counters {
        Counters::default()
    }
}

impl<G: Generator + ?Sized> Generator for &mut G {
    fn begin(&mut self, ids: &[u32], limit: u32) -> Result<()> {
        (**self).begin(ids, limit)
    }

    fn advance(&mut self, tokens: &mut Vec<u32>) -> Result<Option<Done>> {
        (**self).advance(tokens)
    }

    fn show(&mut self, slot: u32, pixels: &[f32]) -> Result<()> {
        (**self).show(slot, pixels)
    }

    fn forget(&mut self) {
        (**self).forget()
    }

    fn counters(&self) -> Counters {
        (**self).counters()
    }
}

/// A session that shows its logits.
pub trait Scorer: Generator {
    /// Forgets everything and takes `ids` in chunks, as a prompt; the logits of the last.
    fn prompt_logits(&mut self, ids: &[u32]) -> Result<Vec<f32>>;

    /// Takes one more token through a decode step; its logits.
    fn next_logits(&mut self, id: u32) -> Result<Vec<f32>>;
}
