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
pub struct Script {
    pub prompt: usize,
    pub limit: i64,
    pub tokens: Vec<i64>,
}

/// Logits a row in the script's model.
const VOCAB: usize = 8;

/// What the sampler was shown besides logits, at each iteration.
pub type Shown = Vec<HashMap<String, Array>>;

/// What a run left.
pub struct Seen {
    pub shown: Shown,
    pub values: HashMap<String, Array>,
    /// Runs of the model.
    pub calls: usize,
    pub emitted: Vec<i64>,
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
    if seen.emitted != wanted {
        let what = format!(
            "after a prompt of {} tokens, with a limit of {}, stop ids {stops:?} and the draws {:?}, it emits {:?}, and the token \
             loop emits {wanted:?}",
            script.prompt, script.limit, script.tokens, seen.emitted
        );
        return Err(w.path.key("steps").bad(what).hint(parts.ending_hint()));
    }
    Ok(seen)
}

/// Runs one script.
pub fn watch(w: &Workflow, parts: &Parts, graphs: &mut Graphs, script: &Script) -> Result<Seen> {
    let mut stage = Stage { parts, graphs, script, calls: 0, draws: 0, shown: vec![], problem: None };
    let prompt: Vec<i64> = (0..script.prompt as i64).map(|i| 3 + i % 4).collect();
    let given = HashMap::from([
        (
            parts.prompt.name.clone(),
            Array::new(parts.prompt.contract.dtype, vec![1, prompt.len()], Values::Int(prompt)),
        ),
        (parts.limit.name.clone(), Array::new(parts.limit.contract.dtype, vec![1], Values::Int(vec![script.limit]))),
    ]);
    let ran = run::run(w, given, &mut stage)?;
    let emitted = ran.ints(&parts.output);
    Ok(Seen { shown: stage.shown, values: ran.values, calls: stage.calls, emitted, problem: stage.problem })
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
                    0 => (0..rows as i64).map(|i| 3 + i % 4).collect(),
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
        let logits: Vec<f32> = (0..rows * VOCAB).map(|i| (100 * self.calls + i / VOCAB) as f32).collect();
        let dtype = parts.logits.contract.dtype;
        let mut made =
            HashMap::from([(parts.logits.name.clone(), Array::new(dtype, vec![1, rows, VOCAB], Values::F32(logits)))]);
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
        let wanted = (100 * self.calls.saturating_sub(1) + rows.saturating_sub(1)) as f64;
        let logits = find("logits").map(Array::to_f64).unwrap_or_default();
        if logits.len() != VOCAB || logits[0] != wanted {
            let what =
                format!("draw {} is shown other logits than those of the last row of the run before", self.draws);
            self.problem.get_or_insert(parts.sampler.path.bad(what));
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
