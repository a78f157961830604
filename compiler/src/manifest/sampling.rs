//! `[sampling]` of model.toml. In: its keys. Out: how the executable draws tokens unless told otherwise. Promise: a value that no
//! distribution has is refused by its key.

use onnxcast_runtime::sampling::Sampling;
use serde::{Deserialize, Serialize};

/// The keys; what is missing is as the runtime has it without any.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    pub temperature: Option<f32>,
    pub top_k: Option<u32>,
    pub top_p: Option<f32>,
    pub min_p: Option<f32>,
    pub repeat_penalty: Option<f32>,
    /// Both or none: the seed, and the counter of an answer's first draw.
    pub seed: Option<u64>,
    pub counter: Option<u32>,
}

impl Table {
    /// The settings, or the key that is wrong and why.
    pub fn settings(&self) -> Result<Sampling, (&'static str, String)> {
        let plain = Sampling::default();
        let got = Sampling {
            temperature: self.temperature.unwrap_or(0.0),
            top_k: self.top_k.map_or(plain.top_k, i64::from),
            top_p: self.top_p.unwrap_or(plain.top_p),
            min_p: self.min_p.unwrap_or(plain.min_p),
            repeat_penalty: self.repeat_penalty.unwrap_or(plain.repeat_penalty),
            seed: self.seed.unwrap_or(plain.seed),
            counter: self.counter,
        };
        let wrong = [
            ("temperature", got.temperature, got.temperature >= 0.0 && got.temperature.is_finite(), "0 or more"),
            ("top_p", got.top_p, got.top_p > 0.0 && got.top_p <= 1.0, "more than 0, at most 1"),
            ("min_p", got.min_p, (0.0..=1.0).contains(&got.min_p), "0 to 1"),
            (
                "repeat_penalty",
                got.repeat_penalty,
                got.repeat_penalty > 0.0 && got.repeat_penalty.is_finite(),
                "more than 0",
            ),
        ];
        if self.seed.is_some() != self.counter.is_some() {
            let key = if self.seed.is_some() { "counter" } else { "seed" };
            return Err((key, "is missing: seed and counter together make draws that repeat".into()));
        }
        match wrong.into_iter().find(|(_, _, fine, _)| !fine) {
            Some((key, value, _, range)) => Err((key, format!("{value} is not possible; {range} is"))),
            None => Ok(got),
        }
    }
}
