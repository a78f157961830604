//! Runs cases. In: a case. Out: right, refused with a reason, or failed. Promise: a panic is a failure, not an end.

use crate::cases::{self, Case};
use crate::compare::difference;
use crate::report::{Outcome, Verdict};
use onnxcast::error::Error;
use onnxcast::graph::eval::{self, Array};
use onnxcast::graph::{DType, Graph};
use onnxcast::import::{self, Options};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Runs every case, on as many threads as there are cores.
pub fn all(folder: &Path, names: &[String]) -> Vec<Outcome> {
    let quiet = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(names.len()));
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(name) = names.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let outcome = one(folder, name);
                    if let Ok(mut done) = done.lock() {
                        done.push(outcome);
                    }
                }
            });
        }
    });
    std::panic::set_hook(quiet);
    let mut outcomes = done.into_inner().unwrap_or_default();
    outcomes.sort_by(|a, b| a.case.cmp(&b.case));
    outcomes
}

fn one(folder: &Path, name: &str) -> Outcome {
    let case = match cases::read(folder, name) {
        Ok(case) => case,
        Err(foreign) => {
            let (operator, verdict) = (foreign.operator, Verdict::Refused(foreign.why));
            return Outcome { case: name.into(), operator, common: false, verdict };
        }
    };
    let verdict = catch_unwind(AssertUnwindSafe(|| verdict(&case))).unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
        Verdict::Failed(format!("panicked: {}", said.unwrap_or("without a message")))
    });
    Outcome { case: name.into(), operator: case.operator, common: case.common, verdict }
}

fn verdict(case: &Case) -> Verdict {
    let graph = match load(case) {
        Ok(graph) => graph,
        Err(e) => return Verdict::Refused(reason(&e)),
    };
    let inputs: HashMap<String, Array> = case.inputs.iter().cloned().collect();
    let outputs = match eval::run(&graph, &inputs) {
        Ok(outputs) => outputs,
        Err(e) => return Verdict::Failed(format!("eval: {e}")),
    };
    for (name, want) in &case.outputs {
        let found = match outputs.get(name) {
            Some(got) => difference(got, want),
            None => Some("is not an output of the graph".into()),
        };
        if let Some(what) = found {
            return Verdict::Failed(format!("{name}: {what}"));
        }
    }
    Verdict::Right
}

/// Imports the model: as it stands, else with its small integer operands (shapes, axes, counts) as constants, else with every
/// scalar so, else with every vector beside the first input (scales, conditions).
fn load(case: &Case) -> Result<Graph, Error> {
    type Fixed = fn(usize, &Array) -> bool;
    let shape_like: Fixed = |_, a| a.shape.len() <= 1 && matches!(a.dtype, DType::I64 | DType::I32);
    let scalar: Fixed = |_, a| a.shape.is_empty();
    let beside: Fixed = |i, a| i > 0 && a.shape.len() <= 1;
    let with = |fixed: &[Fixed]| {
        let inputs = case.inputs.iter().enumerate();
        let chosen = inputs.filter(|(i, (_, a))| fixed.iter().any(|f| f(*i, a)));
        let fixed = chosen.map(|(_, (name, a))| (name.clone(), a.to_tensor())).collect();
        import::load(&case.model, &Options { fixed, ..Options::default() })
    };
    let attempts: [&[Fixed]; 3] = [&[shape_like], &[shape_like, scalar], &[shape_like, scalar, beside]];
    with(&[]).or_else(|first| attempts.iter().find_map(|fixed| with(fixed).ok()).ok_or(first))
}

/// The first reason, without the node that it is about.
fn reason(error: &Error) -> String {
    let line = error.what.lines().find(|l| l.trim_start().starts_with("node ")).unwrap_or(&error.what).trim();
    line.split_once("): ").map_or(line, |(_, reason)| reason).to_string()
}
