//! Whether a workflow is the token loop that our engine runs. In: a workflow, its policy graphs. Out: nothing, or the first thing in which
//! it differs. Promise: all policies run, together, as the workflow says, over a model and a sampler that answer by a script; what the
//! model is shown, what is emitted and when it ends must be what the engine does.

use super::graphs::Graphs;
use super::recognise::Parts;
use super::run::{self, Invoker};
use super::schema::*;
use crate::error::{Error, Result};
use crate::graph::DType;
use crate::graph::eval::{Array, Values};
use std::collections::HashMap;

/// A conversation to try: lengths, and which tokens the sampler gives.
#[derive(Clone)]
pub struct Script {
    pub prompt: usize,
    pub limit: i64,
    pub tokens: Vec<i64>,
    /// The model gives the logits of the last row alone.
    pub alone: bool,
}

impl Script {
    /// The prompt's tokens; prompts of two lengths differ in them.
    fn ids(&self) -> Vec<i64> {
        (0..self.prompt).map(|i| 1 + ((i * 3 + self.prompt) % 7) as i64).collect()
    }
}

/// Logits a row in the script's model, where the metadata does not say.
const VOCAB: usize = 8;

/// Logits a row in the script's model.
pub fn vocab(parts: &Parts) -> usize {
    match parts.logits.contract.shape.last() {
        Some(Dim::Fixed(n)) if *n > 0 => *n,
        _ => VOCAB,
    }
}

/// The logits of a row in a run of the model: any numbers, the same each time.
fn row(call: usize, row: usize, vocab: usize) -> impl Iterator<Item = f32> {
    let seed = (call * 131 + row + 1) as u32;
    (0..vocab as u32).map(move |i| {
        let mixed = (i.wrapping_mul(0x9e37_79b9) ^ seed.wrapping_mul(0x85eb_ca6b)).wrapping_mul(0xc2b2_ae35);
        (mixed >> 16) as f32 / 4096.0 - 8.0
    })
}

/// What the sampler was shown besides logits, at each iteration.
pub type Shown = Vec<HashMap<String, Array>>;

/// What a run left.
pub struct Seen {
    pub shown: Shown,
    pub values: HashMap<String, Array>,
    /// Runs of the model.
    pub calls: usize,
    pub emitted: Vec<i64>,
    /// How the logits that are sampled from differ from the model's, where they do.
    pub altered: Option<String>,
    /// How it ends, where that is otherwise than at a stop id or the limit.
    pub otherwise: Option<String>,
    problem: Option<Error>,
}

/// Runs one script and holds everything seen against the engine's law.
pub fn hold(w: &Workflow, parts: &Parts, graphs: &mut Graphs, script: &Script, stops: &[i64]) -> Result<Seen> {
    let mut seen = watch(w, parts, graphs, script)?;
    if let Some(problem) = seen.problem.take() {
        return Err(problem);
    }
    let stop = script.tokens.iter().position(|t| stops.contains(t)).map_or(usize::MAX, |i| i + 1);
    let wanted = &script.tokens[..stop.min(script.limit.max(0) as usize).min(script.tokens.len())];
    let drawn = &script.tokens[..seen.shown.len().min(script.tokens.len())];
    let case = format!(
        "after a prompt of {} tokens, with a limit of {}, stop ids {stops:?} and the draws {:?}",
        script.prompt, script.limit, script.tokens
    );
    if seen.emitted != drawn {
        let what = format!("{case}, it emits {:?}, and the token loop emits {drawn:?}", seen.emitted);
        return Err(w.path.key("steps").bad(what).hint(parts.ending_hint()));
    }
    if seen.emitted != wanted {
        let (ours, theirs) = (wanted.len(), drawn.len());
        seen.otherwise =
            Some(format!("{case}, it ends at token {theirs}, and at ids and the limit it would at {ours}"));
    }
    Ok(seen)
}

/// Runs one script.
pub fn watch(w: &Workflow, parts: &Parts, graphs: &mut Graphs, script: &Script) -> Result<Seen> {
    let mut stage = Stage { parts, graphs, script, calls: 0, draws: 0, shown: vec![], altered: None, problem: None };
    let prompt = script.ids();
    let given = HashMap::from([
        (
            parts.prompt.name.clone(),
            Array::new(parts.prompt.contract.dtype, vec![1, prompt.len()], Values::Int(prompt)),
        ),
        (parts.limit.name.clone(), Array::new(parts.limit.contract.dtype, vec![1], Values::Int(vec![script.limit]))),
    ]);
    let ran = run::run(w, given, &mut stage)?;
    let emitted = ran.ints(&parts.output);
    let Stage { shown, calls, altered, problem, .. } = stage;
    Ok(Seen { values: ran.values, shown, calls, emitted, altered, otherwise: None, problem })
}

struct Stage<'a> {
    parts: &'a Parts<'a>,
    graphs: &'a mut Graphs,
    script: &'a Script,
    /// Of the model, so far.
    calls: usize,
    /// Of the sampler.
    draws: usize,
    shown: Shown,
    altered: Option<String>,
    problem: Option<Error>,
}

impl Invoker for Stage<'_> {
    fn invoke(&mut self, component: &Component, inputs: &[(&str, &Array)]) -> Result<HashMap<String, Array>> {
        if component.name == self.parts.model.name {
            self.model(inputs)
        } else if component.name == self.parts.sampler.name {
            self.sampler(inputs)
        } else {
            self.graphs.invoke(component, inputs)
        }
    }
}

impl Stage<'_> {
    /// Keeps the first thing that differs.
    fn wrong(&mut self, port: &str, what: String) {
        let value = self.parts.fed_by(self.calls == 0, port);
        let run =
            if self.calls == 0 { "the prompt's run".into() } else { format!("run {} after the prompt's", self.calls) };
        let from = value.map_or(String::new(), |(value, by)| format!(", from '{value}' of {by}"));
        let model = self.parts.model;
        let text = format!("{run} shows '{}' {what} as {port}{from}", model.name);
        self.problem
            .get_or_insert(model.path.key("ports").bad(text).hint("this workflow is no loop that the engine runs"));
    }

    /// Holds what the model is shown against what our engine computes at this place.
    fn model(&mut self, inputs: &[(&str, &Array)]) -> Result<HashMap<String, Array>> {
        let parts = self.parts;
        let rows = if self.calls == 0 { self.script.prompt } else { 1 };
        let pos = if self.calls == 0 { 0 } else { self.script.prompt + self.calls - 1 };
        for (name, array) in inputs {
            let ints = array.to_ints();
            if *name == parts.tokens.name {
                let wanted: Vec<i64> = match self.calls {
                    0 => self.script.ids(),
                    n => vec![self.script.tokens.get(n - 1).copied().unwrap_or(-1)],
                };
                if ints != wanted {
                    self.wrong(name, format!("tokens {ints:?} and not {wanted:?}"));
                }
            } else if parts.positions.is_some_and(|p| p.name == *name) {
                let wanted: Vec<i64> = (pos..pos + rows).map(|p| p as i64).collect();
                if ints != wanted {
                    self.wrong(name, format!("positions {ints:?} and not {wanted:?}"));
                }
            } else if parts.mask.is_some_and(|p| p.name == *name) {
                let live = |(i, x): (usize, &i64)| (*x != 0) == (i < pos + rows);
                if ints.len() < pos + rows || !ints.iter().enumerate().all(live) {
                    self.wrong(name, format!("a mask {ints:?} and not one of {} live rows", pos + rows));
                }
            } else if let Some(n) = parts.caches.iter().position(|c| c.input == *name) {
                // Before the prompt nothing of a cache is seen.
                let left = |calls: usize| (calls * parts.caches.len() + n) as f64;
                if self.calls > 0 && array.to_f64().first() != Some(&left(self.calls - 1)) {
                    self.wrong(name, "a cache that is not what the run before left there".into());
                }
            } else {
                return Err(parts.model.path.key("ports").key(name).bad("has no role in a token loop").hint(
                    "token_ids, attention_mask, position_ids, logits are the roles; caches stand in serving.state_service",
                ));
            }
        }
        let vocab = vocab(parts);
        let first = if self.script.alone { rows.saturating_sub(1) } else { 0 };
        let logits: Vec<f32> = (first..rows).flat_map(|r| row(self.calls, r, vocab)).collect();
        let logits = Array::new(parts.logits.contract.dtype, vec![1, rows - first, vocab], Values::F32(logits));
        let mut made = HashMap::from([(parts.logits.name.clone(), logits)]);
        for (n, cache) in parts.caches.iter().enumerate() {
            let port = parts.model.output(&cache.output);
            let (dtype, rank) = port.map_or((DType::F32, 4), |p| (p.contract.dtype, p.contract.shape.len()));
            made.insert(
                cache.output.clone(),
                Array::new(dtype, vec![1; rank], Values::Int(vec![(self.calls * parts.caches.len() + n) as i64])),
            );
        }
        self.calls += 1;
        Ok(made)
    }

    /// Gives the script's next token, once it has been shown the right logits.
    fn sampler(&mut self, inputs: &[(&str, &Array)]) -> Result<HashMap<String, Array>> {
        let parts = self.parts;
        let find = |role: &str| {
            let port = parts.sampler.playing(role)?;
            inputs.iter().find(|(n, _)| *n == port.name).map(|(_, a)| *a)
        };
        let rows = if self.calls == 1 { self.script.prompt } else { 1 };
        let wanted = row(self.calls.saturating_sub(1), rows.saturating_sub(1), vocab(parts));
        let wanted =
            Array::new(parts.logits.contract.dtype, vec![vocab(parts)], Values::F32(wanted.collect())).to_f64();
        let logits = find("logits").map(Array::to_f64).unwrap_or_default();
        if logits.len() != wanted.len() {
            let what =
                format!("draw {} is shown {} logits, and the model gives {}", self.draws, logits.len(), wanted.len());
            self.problem.get_or_insert(parts.sampler.path.bad(what));
        } else if let Some(i) = (0..wanted.len()).find(|&i| logits[i] != wanted[i]) {
            self.altered.get_or_insert(format!(
                "draw {} is shown {} as logit {i} and not {}, which the last row of the model's run before has",
                self.draws, logits[i], wanted[i]
            ));
        }
        let flag = |role: &str, value: bool| find(role).is_none_or(|a| a.to_ints() == [i64::from(value)]);
        if !flag("active", true) || !flag("done", false) {
            let what = format!("draw {} happens while the row is not active, or done", self.draws);
            self.problem.get_or_insert(parts.sampler.path.bad(what));
        }
        let token = self.script.tokens.get(self.draws).copied().unwrap_or(-1);
        self.draws += 1;
        let one = |port: &Port, x: i64| {
            Array::new(port.contract.dtype, vec![1; port.contract.shape.len()], Values::Int(vec![x]))
        };
        let mut made = HashMap::new();
        for port in &parts.sampler.outputs {
            let value = if parts.sampler.playing("token").is_some_and(|p| p.name == port.name) {
                token
            } else if let Some(counter) = find("counter") {
                counter.to_ints().first().copied().unwrap_or(0).wrapping_add(1)
            } else {
                0
            };
            made.insert(port.name.clone(), one(port, value));
        }
        self.shown.push(inputs.iter().map(|(n, a)| (n.to_string(), (*a).clone())).collect());
        Ok(made)
    }
}
