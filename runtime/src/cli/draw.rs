//! Flags of the sampler. In: what the command line says. Out: settings, none for greedy. Promise: a flag that would have no effect is
//! refused, and a seed that was not given is made up here, so that it can be shown.

use std::hash::{BuildHasher, RandomState};

use clap::Args as ClapArgs;
use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::sampling::Sampling;

#[derive(ClapArgs, Debug, Default, Clone)]
pub struct Draw {
    /// Draw tokens at this temperature; it is applied before all filters [default: the model's, else 0, the likeliest token]
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub temp: Option<f32>,
    /// Draw from the K likeliest tokens; 0 is all [default: 0]
    #[arg(long, value_name = "K", allow_hyphen_values = true)]
    pub top_k: Option<i64>,
    /// Draw from the fewest tokens that hold this much of the probability [default: 1]
    #[arg(long, value_name = "P", allow_hyphen_values = true)]
    pub top_p: Option<f32>,
    /// Draw from tokens at least this many times as likely as the likeliest [default: 0]
    #[arg(long, value_name = "P", allow_hyphen_values = true)]
    pub min_p: Option<f32>,
    /// Make tokens of the context less likely: divide their logits by this where positive, multiply where negative [default: 1]
    #[arg(long, value_name = "X", allow_hyphen_values = true)]
    pub repeat_penalty: Option<f32>,
    /// Seed of the draws; the same seed gives the same answer [default: made up and shown]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
}

impl Draw {
    /// What the flags ask for, over the model's own settings; none is greedy.
    pub fn sampling(&self, model: Option<&Sampling>) -> Result<Option<Sampling>> {
        let plain = model.copied().unwrap_or(Sampling { temperature: 0.0, ..Sampling::default() });
        let sampling = Sampling {
            temperature: self.temp.unwrap_or(plain.temperature),
            top_k: self.top_k.unwrap_or(plain.top_k),
            top_p: self.top_p.unwrap_or(plain.top_p),
            min_p: self.min_p.unwrap_or(plain.min_p),
            repeat_penalty: self.repeat_penalty.unwrap_or(plain.repeat_penalty),
            // A package that counts its draws by itself has its seed too.
            seed: self.seed.or(plain.counter.map(|_| plain.seed)).unwrap_or_else(made_up),
            counter: plain.counter,
        };
        sampling.check()?;
        if sampling.temperature == 0.0 {
            let given = [
                ("--top-k", self.top_k.is_some()),
                ("--top-p", self.top_p.is_some()),
                ("--min-p", self.min_p.is_some()),
                ("--seed", self.seed.is_some()),
            ];
            if let Some((flag, _)) = given.into_iter().find(|(_, given)| *given) {
                let what = "has no effect at temperature 0, where the likeliest token is taken";
                return Err(Error::usage(what).at(flag).hint("give --temp too, such as 0.7"));
            }
        }
        Ok(Some(sampling).filter(|s| !s.is_greedy()))
    }
}

/// Short enough to type, and exact in JSON.
fn made_up() -> u64 {
    RandomState::new().hash_one(std::process::id()) >> 32
}

/// What a summary for a person adds: enough to repeat the answer.
pub fn remark(sampling: Option<&Sampling>) -> String {
    match sampling {
        Some(s) if s.temperature > 0.0 => format!("; seed {}", s.seed),
        _ => String::new(),
    }
}

/// The settings for a program; null when greedy.
pub fn json(sampling: Option<&Sampling>) -> Value {
    let Some(s) = sampling else { return Value::Null };
    json!({
        "temperature": s.temperature, "top_k": s.top_k, "top_p": s.top_p, "min_p": s.min_p,
        "repeat_penalty": s.repeat_penalty, "seed": s.seed,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_flags_and_temperature_zero_are_greedy() {
        assert_eq!(Draw::default().sampling(None).unwrap(), None);
        assert_eq!(Draw { temp: Some(0.0), ..Draw::default() }.sampling(None).unwrap(), None);
        let penal = Draw { repeat_penalty: Some(1.1), ..Draw::default() }.sampling(None).unwrap().unwrap();
        assert_eq!((penal.temperature, penal.repeat_penalty, remark(Some(&penal))), (0.0, 1.1, String::new()));
    }

    #[test]
    fn flags_go_over_the_models_own_settings_one_by_one() {
        let own = Sampling { temperature: 0.7, top_k: 20, top_p: 0.8, ..Sampling::default() };
        let drawn = |draw: Draw| draw.sampling(Some(&own)).unwrap();
        let plain = drawn(Draw { seed: Some(5), ..Draw::default() });
        assert_eq!(plain, Some(Sampling { seed: 5, ..own }));
        let warmer = drawn(Draw { temp: Some(1.5), top_k: Some(0), seed: Some(5), ..Draw::default() });
        assert_eq!(warmer, Some(Sampling { temperature: 1.5, top_k: 0, seed: 5, ..own }));
        assert_eq!(drawn(Draw { temp: Some(0.0), ..Draw::default() }), None, "greedy is one flag away");
        assert!(Draw { temp: Some(0.0), seed: Some(1), ..Draw::default() }.sampling(Some(&own)).is_err());
    }

    #[test]
    fn flags_that_would_do_nothing_are_refused() {
        for (flag, draw) in [
            ("--top-k", Draw { top_k: Some(40), ..Draw::default() }),
            ("--top-p", Draw { top_p: Some(0.9), temp: Some(0.0), ..Draw::default() }),
            ("--min-p", Draw { min_p: Some(0.1), ..Draw::default() }),
            ("--seed", Draw { seed: Some(1), ..Draw::default() }),
        ] {
            let said = draw.sampling(None).unwrap_err().to_string();
            assert!(said.starts_with(&format!("{flag}: has no effect")), "{said}");
        }
    }

    #[test]
    fn values_that_make_no_sense_are_refused() {
        let warm = Draw { temp: Some(0.8), ..Draw::default() };
        for (flag, draw) in [
            ("--temp", Draw { temp: Some(-1.0), ..Draw::default() }),
            ("--temp", Draw { temp: Some(f32::NAN), ..Draw::default() }),
            ("--top-p", Draw { top_p: Some(0.0), ..warm.clone() }),
            ("--top-p", Draw { top_p: Some(1.1), ..warm.clone() }),
            ("--min-p", Draw { min_p: Some(2.0), ..warm.clone() }),
            ("--repeat-penalty", Draw { repeat_penalty: Some(-1.0), ..warm.clone() }),
        ] {
            let said = draw.sampling(None).unwrap_err().to_string();
            assert!(said.starts_with(&format!("{flag}: ")) && said.contains("is not possible"), "{said}");
        }
        assert_eq!(Draw { top_k: Some(-1), ..warm }.sampling(None).unwrap().unwrap().top_k, -1);
    }

    #[test]
    fn a_seed_is_shown_whether_given_or_made_up() {
        let given = Draw { temp: Some(1.0), seed: Some(42), ..Draw::default() }.sampling(None).unwrap();
        assert_eq!((remark(given.as_ref()).as_str(), &json(given.as_ref())["seed"]), ("; seed 42", &json!(42)));
        let seeds: std::collections::BTreeSet<u64> = (0..8).map(|_| made_up()).collect();
        assert!(seeds.len() > 1 && seeds.iter().all(|s| *s <= u64::from(u32::MAX)), "{seeds:?}");
    }
}
