//! Perplexity of a text. In: a session, token ids, windows. Out: how well each next token was foreseen, alone and against another
//! program's distributions. Promise: teacher-forced, one row of logits at a time, the same numbers on every run of a device.

use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::generator::Scorer;
use crate::verify::{argmax, log_sum_exp};

/// Tokens `start..end`, of which `first..end` are scored; those before are context only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    pub start: usize,
    pub first: usize,
    pub end: usize,
}

/// Cuts `tokens` into windows of `window` that begin every `stride` tokens. A token is scored once, in the first window that holds
/// it, and never as the first of a window.
pub fn cut(tokens: usize, window: usize, stride: usize) -> Vec<Window> {
    let mut out = Vec::new();
    let (mut start, mut scored) = (0, 0);
    while scored < tokens {
        let end = (start + window).min(tokens);
        let first = scored.max(start + 1);
        if first < end {
            out.push(Window { start, first, end });
        }
        scored = end;
        start += stride.max(1);
    }
    out
}

/// Tokens that the windows score.
pub fn scored(windows: &[Window]) -> usize {
    windows.iter().map(|w| w.end - w.first).sum()
}

/// Runs the windows; `each` gets every scored token with the logits that foretold it, in order.
pub fn run(
    session: &mut dyn Scorer,
    ids: &[u32],
    windows: &[Window],
    each: &mut dyn FnMut(u32, &[f32]) -> Result<()>,
) -> Result<()> {
    for w in windows {
        let mut logits = session.prompt_logits(&ids[w.start..w.first])?;
        for (i, &id) in ids.iter().enumerate().take(w.end).skip(w.first) {
            each(id, &logits)?;
            if i + 1 < w.end {
                logits = session.next_logits(id)?;
            }
        }
    }
    Ok(())
}

/// What foretelling cost so far, in nats.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Score {
    pub tokens: usize,
    sum: f64,
    squares: f64,
}

impl Score {
    fn add(&mut self, nats: f64) {
        self.tokens += 1;
        self.sum += nats;
        self.squares += nats * nats;
    }

    /// Negative log likelihood of a token.
    pub fn mean(&self) -> f64 {
        self.sum / self.tokens.max(1) as f64
    }

    pub fn perplexity(&self) -> f64 {
        self.mean().exp()
    }

    /// Standard error of the perplexity, tokens taken as independent.
    pub fn error(&self) -> f64 {
        let n = self.tokens.max(2) as f64;
        let variance = (self.squares / n - self.mean().powi(2)).max(0.0);
        self.perplexity() * (variance / (n - 1.0)).sqrt()
    }

    fn json(&self) -> Value {
        json!({"perplexity": self.perplexity(), "standard_error": self.error(), "mean_nats": self.mean()})
    }
}

/// Scores of a program, and of another whose distributions are taken as the truth.
#[derive(Default)]
pub struct Scores {
    pub ours: Score,
    pub other: Score,
    /// Kullback-Leibler divergence of ours from the other's, a token each.
    divergences: Vec<f64>,
    same_best: usize,
}

impl Scores {
    /// Takes the logits that foretold `id`, ours and where there is another program its. Logits that are no numbers are an error.
    pub fn add(&mut self, id: u32, ours: &[f32], other: Option<&[f32]>) -> Result<()> {
        let q = nats(id, ours).map_err(|e| e.at(format!("scored token {}", self.ours.tokens)))?;
        self.ours.add(q.1);
        let Some(other) = other else { return Ok(()) };
        let p =
            nats(id, other).map_err(|e| e.at(format!("scored token {} of the other program", self.other.tokens)))?;
        self.other.add(p.1);
        let terms = other.iter().zip(ours).map(|(&a, &b)| {
            let (a, b) = (f64::from(a) - p.0, f64::from(b) - q.0);
            a.exp() * (a - b)
        });
        // Rounding may leave a hair below zero.
        self.divergences.push(terms.sum::<f64>().max(0.0));
        self.same_best += usize::from(argmax(ours) == argmax(other));
        Ok(())
    }

    /// Mean, 99th percentile and most of the divergence, and the share of tokens with the same best; none without another program.
    pub fn divergence(&self) -> Option<Divergence> {
        let mut sorted = self.divergences.clone();
        sorted.sort_by(f64::total_cmp);
        let n = sorted.len();
        let at = |share: f64| sorted.get(((n as f64 * share).ceil() as usize).saturating_sub(1)).copied();
        Some(Divergence {
            mean: sorted.iter().sum::<f64>() / n.max(1) as f64,
            p99: at(0.99)?,
            most: *sorted.last()?,
            same_best: self.same_best as f64 / n as f64,
        })
    }

    pub fn json(&self) -> Value {
        let mut out = self.ours.json();
        if let Some(d) = self.divergence() {
            out["against"] = self.other.json();
            out["against"]["perplexity_ratio"] = json!(self.ours.perplexity() / self.other.perplexity());
            out["against"]["kl"] = json!({"mean": d.mean, "p99": d.p99, "max": d.most});
            out["against"]["same_best"] = json!(d.same_best);
        }
        out
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Divergence {
    pub mean: f64,
    pub p99: f64,
    pub most: f64,
    pub same_best: f64,
}

/// The row's normaliser and the cost of `id` under it.
fn nats(id: u32, logits: &[f32]) -> Result<(f64, f64)> {
    let missing = || Error::input(format!("token {id} is beyond the {} logits", logits.len()));
    let logit = f64::from(*logits.get(id as usize).ok_or_else(missing)?);
    let norm = log_sum_exp(logits);
    if !norm.is_finite() || !logit.is_finite() {
        return Err(Error::other("the logits are no numbers"));
    }
    Ok((norm, norm - logit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generator::Generator;
    use crate::step::Done;

    #[test]
    fn windows_without_overlap_score_all_but_their_first_token() {
        let w = |start, first, end| Window { start, first, end };
        assert_eq!(cut(10, 4, 4), [w(0, 1, 4), w(4, 5, 8), w(8, 9, 10)]);
        assert_eq!(cut(9, 4, 4), [w(0, 1, 4), w(4, 5, 8)]);
        assert_eq!((scored(&cut(10, 4, 4)), scored(&cut(9, 4, 4)), cut(1, 4, 4).len()), (7, 6, 0));
    }

    #[test]
    fn overlapping_windows_score_every_token_but_the_first_once() {
        for (tokens, window, stride) in [(10, 4, 2), (11, 4, 3), (100, 32, 1), (5, 8, 8), (7, 4, 2)] {
            let scored: Vec<usize> = cut(tokens, window, stride).iter().flat_map(|w| w.first..w.end).collect();
            assert_eq!(scored, (1..tokens).collect::<Vec<_>>(), "{tokens} {window} {stride}");
        }
    }

    /// Logits that tell how many tokens a row was made from; keeps them.
    #[derive(Default)]
    struct Counting {
        seen: Vec<u32>,
    }

    impl Generator for Counting {
        fn begin(&mut self, _: &[u32], _: u32) -> Result<()> {
            Ok(())
        }

        fn advance(&mut self, _: &mut Vec<u32>) -> Result<Option<Done>> {
            Ok(Some(Done::Limit))
        }
    }

    impl Scorer for Counting {
        fn prompt_logits(&mut self, ids: &[u32]) -> Result<Vec<f32>> {
            self.seen = ids.to_vec();
            Ok(self.seen.iter().map(|&i| i as f32).collect())
        }

        fn next_logits(&mut self, id: u32) -> Result<Vec<f32>> {
            self.seen.push(id);
            Ok(self.seen.iter().map(|&i| i as f32).collect())
        }
    }

    #[test]
    fn a_token_is_scored_by_the_logits_of_all_tokens_before_it_in_its_window() {
        let ids: Vec<u32> = (10..17).collect();
        let mut rows = Vec::new();
        let mut each = |id: u32, logits: &[f32]| {
            rows.push((id, logits.iter().map(|&x| x as u32).collect::<Vec<_>>()));
            Ok(())
        };
        run(&mut Counting::default(), &ids, &cut(7, 4, 3), &mut each).unwrap();
        let before = |range: std::ops::Range<u32>| range.collect::<Vec<u32>>();
        let expected = [
            (11, before(10..11)),
            (12, before(10..12)),
            (13, before(10..13)),
            (14, before(13..14)),
            (15, before(13..15)),
            (16, before(13..16)),
        ];
        assert_eq!(rows, expected);
    }

    #[test]
    fn even_logits_have_the_perplexity_of_their_number() {
        let mut scores = Scores::default();
        for id in 0..4 {
            scores.add(id, &[7.0; 4], None).unwrap();
        }
        assert!((scores.ours.perplexity() - 4.0).abs() < 1e-9 && scores.ours.error() < 1e-6);
        assert_eq!(scores.divergence(), None);
    }

    #[test]
    fn divergence_is_taken_from_the_other_program_and_is_zero_for_the_same() {
        let mut scores = Scores::default();
        // p = (1/2, 1/2), q = (3/4, 1/4): KL(p, q) = ln(2 / sqrt 3).
        let (p, q) = ([0.0, 0.0], [3f32.ln(), 0.0]);
        scores.add(0, &q, Some(&p)).unwrap();
        scores.add(1, &p, Some(&p)).unwrap();
        let d = scores.divergence().unwrap();
        let expected = (2.0 / 3f64.sqrt()).ln();
        assert!((d.most - expected).abs() < 1e-6 && (d.mean - expected / 2.0).abs() < 1e-6, "{d:?}");
        assert_eq!((d.p99, d.same_best), (d.most, 1.0));
        scores.add(0, &[0.0, 1.0], Some(&[1.0, 0.0])).unwrap();
        assert!((scores.divergence().unwrap().same_best - 2.0 / 3.0).abs() < 1e-9);
    }

    #[test]
    fn logits_that_are_no_numbers_are_an_error_with_their_place() {
        let mut scores = Scores::default();
        scores.add(0, &[0.0, 1.0], None).unwrap();
        let error = scores.add(0, &[0.0, f32::NAN], None).unwrap_err();
        assert_eq!(error.to_string(), "scored token 1: the logits are no numbers");
        assert!(scores.add(9, &[0.0], None).unwrap_err().to_string().contains("beyond the 1 logits"));
    }
}
