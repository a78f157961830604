//! How tokens are chosen. In: what a person asks for. Out: what the sampling kernels read. Promise: values that make no sense are
//! refused by the name of their flag; temperature 0 without a repeat penalty is greedy.

use crate::error::{Error, Result};
use crate::step::Draw;

/// The lowest temperature that divides logits; anything below is a near tie of its own.
const LEAST_TEMPERATURE: f32 = 1e-6;

/// Settings of the drawing sampler; see [`Draw`] for what each does and in which order.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sampling {
    /// 0: the likeliest token, after the repeat penalty.
    pub temperature: f32,
    /// 0 or less: all tokens.
    pub top_k: i64,
    pub top_p: f32,
    pub min_p: f32,
    pub repeat_penalty: f32,
    pub seed: u64,
    /// What the random number counts: none is the token's place in the context, else the tokens of the answer, from this on.
    pub counter: Option<u32>,
}

impl Default for Sampling {
    /// Draws from the plain distribution of the model.
    fn default() -> Sampling {
        Sampling { temperature: 1.0, top_k: 0, top_p: 1.0, min_p: 0.0, repeat_penalty: 1.0, seed: 0, counter: None }
    }
}

impl Sampling {
    /// Refuses what no distribution has.
    pub fn check(&self) -> Result<()> {
        let refuse = |flag: &str, value: f32, range: &str| {
            Err(Error::usage(format!("{value} is not possible")).at(flag).hint(format!("give {range}")))
        };
        if !(self.temperature >= 0.0 && self.temperature.is_finite()) {
            return refuse("--temp", self.temperature, "0 (the likeliest token) or more");
        }
        if !(self.top_p > 0.0 && self.top_p <= 1.0) {
            return refuse("--top-p", self.top_p, "more than 0, at most 1 (all tokens)");
        }
        if !(0.0..=1.0).contains(&self.min_p) {
            return refuse("--min-p", self.min_p, "0 (all tokens) to 1");
        }
        if !(self.repeat_penalty > 0.0 && self.repeat_penalty.is_finite()) {
            return refuse("--repeat-penalty", self.repeat_penalty, "more than 0; 1 is none");
        }
        Ok(())
    }

    /// Whether the likeliest token of the plain logits is what these settings give.
    pub fn is_greedy(&self) -> bool {
        self.temperature == 0.0 && self.repeat_penalty == 1.0
    }

    /// What is added to a token's place to give its counter, for an answer to a prompt of so many tokens.
    pub fn offset(&self, prompt: u32) -> u32 {
        self.counter.map_or(0, |first| first.wrapping_sub(prompt))
    }

    /// The values that kernels read; the session adds `offset`.
    pub fn draw(&self) -> Draw {
        let likeliest = self.temperature == 0.0;
        let top_k = u32::try_from(self.top_k.max(0)).unwrap_or(u32::MAX);
        Draw {
            temperature: if likeliest { 1.0 } else { self.temperature.max(LEAST_TEMPERATURE) },
            top_k: if likeliest { 1 } else { top_k },
            top_p: self.top_p.max(1e-6),
            min_p: self.min_p,
            repeat_penalty: self.repeat_penalty,
            seed_low: self.seed as u32,
            seed_high: (self.seed >> 32) as u32,
            counter: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_make_no_sense_are_refused_by_their_flag() {
        let plain = Sampling::default();
        let bad = [
            ("--temp", Sampling { temperature: -0.1, ..plain }),
            ("--temp", Sampling { temperature: f32::NAN, ..plain }),
            ("--temp", Sampling { temperature: f32::INFINITY, ..plain }),
            ("--top-p", Sampling { top_p: 0.0, ..plain }),
            ("--top-p", Sampling { top_p: 1.5, ..plain }),
            ("--min-p", Sampling { min_p: -0.1, ..plain }),
            ("--min-p", Sampling { min_p: f32::NAN, ..plain }),
            ("--repeat-penalty", Sampling { repeat_penalty: 0.0, ..plain }),
        ];
        for (flag, sampling) in bad {
            let said = sampling.check().unwrap_err().to_string();
            assert!(said.starts_with(flag), "{sampling:?}: {said}");
        }
        Sampling { temperature: 0.0, top_k: -1, top_p: 1e-9, min_p: 1.0, repeat_penalty: 1.1, seed: 1, counter: None }
            .check()
            .unwrap();
    }

    #[test]
    fn temperature_zero_is_the_likeliest_token_with_and_without_a_penalty() {
        let zero = Sampling { temperature: 0.0, ..Sampling::default() };
        assert!(zero.is_greedy() && !Sampling::default().is_greedy());
        let penal = Sampling { repeat_penalty: 1.2, ..zero };
        assert!(!penal.is_greedy());
        assert_eq!((penal.draw().top_k, penal.draw().temperature), (1, 1.0));
    }

    #[test]
    fn a_seed_keeps_all_its_bits() {
        let draw = Sampling { seed: 0x0123_4567_89ab_cdef, ..Sampling::default() }.draw();
        assert_eq!((draw.seed_low, draw.seed_high), (0x89ab_cdef, 0x0123_4567));
    }
}
