//! Runs cases. In: a case. Out: right, refused with a reason, or failed. Promise: a panic is a failure, not an end.

use crate::cases::{self, Case};
use crate::compare::difference;
use crate::device::{self, Trouble};
use crate::report::{Outcome, Verdict};
use onnxcast::error::Error;
use onnxcast::graph::eval::{self, Array};
use onnxcast::graph::{DType, Graph};
use onnxcast::import::{self, Options};
use onnxcast_runtime::device::Device;
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
            return Outcome { case: name.into(), operator, common: false, verdict, device: None };
        }
    };
    let (verdict, on_device) = guarded(|| verdict(&case)).unwrap_or_else(|panic| (Verdict::Failed(panic), None));
    Outcome { case: name.into(), operator: case.operator, common: case.common, verdict, device: on_device }
}

/// What `f` gives, or what it said when it panicked.
fn guarded<T>(f: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(f)).map_err(|panic| {
        let said = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
        format!("panicked: {}", said.unwrap_or("without a message"))
    })
}

/// The interpreter's verdict, and the device's where the interpreter was right.
fn verdict(case: &Case) -> (Verdict, Option<Verdict>) {
    let graph = match load(case) {
        Ok(graph) => graph,
        Err(e) => return (Verdict::Refused(reason(&e)), None),
    };
    let inputs: HashMap<String, Array> = case.inputs.iter().cloned().collect();
    let verdict = match eval::run(&graph, &inputs) {
        Ok(outputs) => judge(&outputs, case),
        Err(e) => Verdict::Failed(format!("eval: {e}")),
    };
    let device = device::device().filter(|_| verdict == Verdict::Right);
    let on_device = device.map(|d| guarded(|| on_device(d, &graph, &inputs, case)).unwrap_or_else(Verdict::Failed));
    (verdict, on_device)
}

fn on_device(device: &'static Device, graph: &Graph, inputs: &HashMap<String, Array>, case: &Case) -> Verdict {
    match device::run(device, graph, inputs) {
        Err(Trouble::Refused(why)) => Verdict::Refused(why),
        Err(Trouble::Failed(why)) => Verdict::Failed(why),
        Ok(mut outputs) => {
            for (name, want) in &case.outputs {
                // numpy has no bf16: it leaves the device as f32.
                if let Some(got) = outputs.get_mut(name).filter(|_| want.dtype == DType::BF16) {
                    *got = Array::new(DType::BF16, got.shape.clone(), got.data.clone());
                }
            }
            judge(&outputs, case)
        }
    }
}

fn judge(outputs: &HashMap<String, Array>, case: &Case) -> Verdict {
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
