//! Comparison with a reference. In: a golden file (docs/golden.md) and a session. Out: how far logits and tokens are apart. Promise:
//! every step is fed the reference's tokens, so one early difference does not hide or excuse the rest.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::generator::Scorer;

const FORMAT: &str = "onnxcast-golden-1";

#[derive(Deserialize)]
pub struct Golden {
    format: String,
    /// Of the reference's weights and activations.
    pub precision: String,
    pub made_by: String,
    pub cases: Vec<Case>,
}

#[derive(Deserialize)]
pub struct Case {
    pub prompt: String,
    pub prompt_ids: Vec<u32>,
    pub tokens: Vec<u32>,
    /// One a token: best logit less second best.
    pub margins: Vec<f32>,
    pub steps: Vec<Step>,
}

/// The distribution that chose one token.
#[derive(Deserialize)]
pub struct Step {
    pub logsumexp: f64,
    pub ids: Vec<u32>,
    pub logits: Vec<f32>,
}

impl Golden {
    pub fn parse(text: &str) -> Result<Golden> {
        let wrong = |what: String| Error::input(what).at("golden file");
        let golden: Golden = serde_json::from_str(text).map_err(|e| wrong(e.to_string()))?;
        if golden.format != FORMAT {
            return Err(wrong(format!("format {:?}, this program reads {FORMAT:?}", golden.format)));
        }
        if golden.cases.is_empty() {
            return Err(wrong("there are no cases in it".into()));
        }
        for (i, case) in golden.cases.iter().enumerate() {
            let tokens = case.tokens.len();
            let whole = case.steps.iter().all(|s| s.ids.len() == s.logits.len() && !s.ids.is_empty());
            if case.prompt_ids.is_empty() || case.margins.len() != tokens || case.steps.len() != tokens || !whole {
                return Err(wrong(format!("case {i}: tokens, margins and steps do not match")));
            }
        }
        Ok(golden)
    }

    /// Largest difference allowed: what storage of weights and the reference's own arithmetic explain.
    pub fn bound(&self, precision: &str) -> f32 {
        match (precision, self.precision.as_str()) {
            (_, "fp16") => 0.1,
            ("fp32", _) => 2e-3,
            _ => 0.05,
        }
    }
}

/// A token that the reference did not choose.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Other {
    pub step: usize,
    pub golden: u32,
    pub ours: u32,
    /// The reference's best logit less its second.
    pub margin: f32,
    /// Our logit of our token less that of the golden one.
    pub gap: f32,
}

#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub prompt: String,
    pub steps: usize,
    /// Largest difference of a logit, and its step.
    pub max_abs: f32,
    pub max_abs_step: usize,
    pub max_logsumexp: f64,
    /// Smallest cosine of our logits with the reference's, over the recorded ids.
    pub min_cosine: f64,
    /// First teacher-forced step whose best token differs.
    pub first_other: Option<Other>,
    /// Tokens that a free run on the device had in common with the reference before the first near tie.
    pub free_equal: usize,
    pub free_compared: usize,
    pub failures: Vec<String>,
}

/// Runs a case. Non-finite logits are failures, never passed over.
pub fn compare(session: &mut dyn Scorer, case: &Case, bound: f32) -> Result<Report> {
    let mut report = Report {
        prompt: case.prompt.clone(),
        steps: case.steps.len(),
        max_abs: 0.0,
        max_abs_step: 0,
        max_logsumexp: 0.0,
        min_cosine: 1.0,
        first_other: None,
        free_equal: 0,
        free_compared: 0,
        failures: Vec::new(),
    };
    for i in 0..case.steps.len() {
        let logits = match i.checked_sub(1) {
            None => session.prompt_logits(&case.prompt_ids)?,
            Some(before) => session.next_logits(case.tokens[before])?,
        };
        report.step(i, case, &logits, bound)?;
    }
    report.free_run(session, case, bound)?;
    if !(f64::from(report.max_abs) <= f64::from(bound) && report.max_logsumexp <= f64::from(bound)) {
        let what = format!(
            "logits differ by {} (step {}), logsumexp by {:.6}; bound {bound}",
            report.max_abs, report.max_abs_step, report.max_logsumexp
        );
        report.failures.push(what);
    }
    Ok(report)
}

impl Report {
    fn step(&mut self, i: usize, case: &Case, logits: &[f32], bound: f32) -> Result<()> {
        let step = &case.steps[i];
        let pick = |&id: &u32| logits.get(id as usize).copied();
        let ours: Option<Vec<f32>> = step.ids.iter().map(pick).collect();
        let (Some(ours), Some(golden)) = (ours, pick(&case.tokens[i])) else {
            let what = format!("step {i} names a token beyond the vocabulary of {}", logits.len());
            return Err(Error::input(what).at("golden file").hint("is it another model's?"));
        };
        let worst = ours.iter().zip(&step.logits).map(|(a, b)| (a - b).abs()).fold(0.0, larger);
        if worse(worst.into(), self.max_abs.into()) {
            (self.max_abs, self.max_abs_step) = (worst, i);
        }
        let off = (log_sum_exp(logits) - step.logsumexp).abs();
        if worse(off, self.max_logsumexp) {
            self.max_logsumexp = off;
        }
        self.min_cosine = self.min_cosine.min(cosine(&ours, &step.logits));
        let best = argmax(logits);
        if best != case.tokens[i] {
            let gap = logits.get(best as usize).copied().unwrap_or(f32::NAN) - golden;
            let other = Other { step: i, golden: case.tokens[i], ours: best, margin: case.margins[i], gap };
            if other.margin >= bound {
                self.failures.push(format!(
                    "step {i}: token {best} instead of {}, which the reference prefers by {}; ours is ahead by {gap}",
                    other.golden, other.margin
                ));
            }
            self.first_other.get_or_insert(other);
        }
        Ok(())
    }

    /// A greedy run on the device, several steps a submission, up to the first step that the reference itself nearly tied.
    fn free_run(&mut self, session: &mut dyn Scorer, case: &Case, bound: f32) -> Result<()> {
        let sure = case.margins.iter().take_while(|&&m| m >= bound).count();
        let mut tokens = Vec::new();
        session.begin(&case.prompt_ids, case.tokens.len() as u32)?;
        while session.advance(&mut tokens)?.is_none() {}
        self.free_compared = sure;
        self.free_equal = tokens.iter().zip(&case.tokens).take(sure).take_while(|(a, b)| a == b).count();
        if self.free_equal < sure {
            let got = tokens.get(self.free_equal).map_or("nothing".to_owned(), u32::to_string);
            let wanted = case.tokens[self.free_equal];
            self.failures.push(format!("free run: token {} is {got} instead of {wanted}", self.free_equal));
        }
        Ok(())
    }
}

/// NaN is worse than anything.
pub(crate) fn worse(a: f64, b: f64) -> bool {
    a.is_nan() || a > b
}

pub(crate) fn larger(a: f32, b: f32) -> f32 {
    if worse(a.into(), b.into()) { a } else { b }
}

/// The lowest of the best, as the sampling kernel has it.
pub fn argmax(logits: &[f32]) -> u32 {
    let best =
        logits.iter().enumerate().fold((0, f32::NEG_INFINITY), |best, (i, &x)| if x > best.1 { (i, x) } else { best });
    best.0 as u32
}

pub(crate) fn log_sum_exp(logits: &[f32]) -> f64 {
    let top = f64::from(logits.iter().copied().fold(f32::NEG_INFINITY, f32::max));
    top + logits.iter().map(|&x| (f64::from(x) - top).exp()).sum::<f64>().ln()
}

pub(crate) fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |x: &[f32], y: &[f32]| x.iter().zip(y).map(|(&p, &q)| f64::from(p) * f64::from(q)).sum::<f64>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt().max(f64::MIN_POSITIVE)
}

/// How far a prompt in chunks may be from the same token by token: the order of sums differs, the weights do not.
pub fn lengths_bound(precision: &str) -> f32 {
    if precision == "fp32" { 2e-3 } else { 0.05 }
}

/// Prompt lengths at which chunks begin, end and overflow.
pub fn lengths(chunk: u32, context: u32) -> Vec<u32> {
    let wanted = [1, 2, chunk.saturating_sub(1), chunk, chunk + 1, 2 * chunk + 1, context.saturating_sub(1)];
    let mut list: Vec<u32> = wanted.into_iter().filter(|n| (1..context).contains(n)).collect();
    list.sort_unstable();
    list.dedup();
    list
}

/// Largest logit difference between a prompt taken in chunks and token by token, for each of `lengths` (ascending).
pub fn chunks_against_tokens(session: &mut dyn Scorer, ids: &[u32], lengths: &[u32]) -> Result<Vec<(u32, f32)>> {
    let mut singles = Vec::new();
    for (i, &id) in ids.iter().enumerate() {
        let logits = if i == 0 { session.prompt_logits(&[id])? } else { session.next_logits(id)? };
        if lengths.contains(&(i as u32 + 1)) {
            singles.push(logits);
        }
    }
    let mut rows = Vec::new();
    for (&length, single) in lengths.iter().zip(&singles) {
        let chunked = session.prompt_logits(&ids[..length as usize])?;
        let worst = chunked.iter().zip(single).map(|(a, b)| (a - b).abs()).fold(0.0, larger);
        rows.push((length, worst));
    }
    Ok(rows)
}

#[cfg(test)]
#[path = "verify_tests.rs"]
mod tests;
