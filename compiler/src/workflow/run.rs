//! A workflow run to the letter. In: the workflow, its inputs, and whoever runs components. Out: what was emitted. Promise: steps run in
//! the order of the file, one request at a time, and nothing is recognised or skipped; slow, for comparing with.

use super::schema::*;
use super::yaml::Path;
use crate::error::Result;
use crate::graph::eval::{Array, Values};
use std::collections::HashMap;

/// Runs one component.
pub trait Invoker {
    /// Arrays by the component's input ports, in its order; the result by output ports.
    fn invoke(&mut self, component: &Component, inputs: &[(&str, &Array)]) -> Result<HashMap<String, Array>>;
}

/// What is known at a point of a run.
pub struct Run<'a> {
    w: &'a Workflow,
    pub values: HashMap<String, Array>,
    /// By output, in order.
    pub emitted: HashMap<String, Vec<Array>>,
    pub iterations: usize,
}

/// Runs a workflow. Inputs that are not given have their defaults.
pub fn run<'a>(w: &'a Workflow, given: HashMap<String, Array>, invoker: &mut dyn Invoker) -> Result<Run<'a>> {
    let mut run = Run { w, values: given, emitted: HashMap::new(), iterations: 0 };
    for input in &w.inputs {
        if !run.values.contains_key(&input.name) {
            let default = input.default.ok_or_else(|| input.path.bad("has no default, and was not given"))?;
            run.values.insert(input.name.clone(), filled(&input.contract, default));
        }
    }
    run.steps(&w.steps, invoker)?;
    Ok(run)
}

/// A scalar at every place of a contract, whose symbols are one.
pub fn filled(contract: &Contract, value: Scalar) -> Array {
    let shape: Vec<usize> = contract.shape.iter().map(|d| if let Dim::Fixed(n) = d { *n } else { 1 }).collect();
    let n = shape.iter().product();
    let data = match value {
        Scalar::Int(x) => Values::Int(vec![x; n]),
        Scalar::Float(x) => Values::F64(vec![x; n]),
        Scalar::Bool(x) => Values::Bool(vec![x; n]),
    };
    Array::new(contract.dtype, shape, data)
}

impl Run<'_> {
    fn steps(&mut self, steps: &[Step], invoker: &mut dyn Invoker) -> Result<()> {
        steps.iter().try_for_each(|s| self.step(s, invoker))
    }

    fn step(&mut self, step: &Step, invoker: &mut dyn Invoker) -> Result<()> {
        match &step.kind {
            StepKind::Sequence(steps) => self.steps(steps, invoker),
            StepKind::Invoke(invoke) => self.invoke(invoke, &step.path, invoker),
            StepKind::Loop(l) => self.looped(l, &step.path, invoker),
            StepKind::Branch(b) => self.branch(b, &step.path, invoker),
            StepKind::Emit(emit) => self.emit(emit, &step.path),
        }
    }

    fn read(&self, name: &str, path: &Path) -> Result<&Array> {
        self.values.get(name).ok_or_else(|| path.bad(format!("'{name}' has no value here")))
    }

    /// The one element of a value.
    fn scalar(&self, name: &str, path: &Path) -> Result<i64> {
        let all = self.read(name, path)?.to_ints();
        all.first().copied().ok_or_else(|| path.bad(format!("'{name}' is empty")))
    }

    fn invoke(&mut self, invoke: &Invoke, path: &Path, invoker: &mut dyn Invoker) -> Result<()> {
        let component = self.w.components.iter().find(|c| c.name == invoke.component);
        let component = component.ok_or_else(|| path.key("component").bad("names no component"))?;
        let mut inputs = vec![];
        for port in &component.inputs {
            let value = invoke.input(&port.name).ok_or_else(|| path.key("inputs").bad("a port is open"))?;
            inputs.push((port.name.as_str(), self.read(value, path)?));
        }
        let mut made = invoker.invoke(component, &inputs).map_err(|e| {
            let what = format!("'{}' ({}): {}", component.name, component.artifact, e.to_string().replace("\n ", ";"));
            path.bad(what)
        })?;
        for (port, value) in &invoke.outputs {
            let array = made.remove(port).ok_or_else(|| {
                path.key("outputs").key(port).bad(format!("{} gives no such output", component.artifact))
            })?;
            self.values.insert(value.clone(), array);
        }
        Ok(())
    }

    fn looped(&mut self, l: &Loop, path: &Path, invoker: &mut dyn Invoker) -> Result<()> {
        self.steps(&l.setup, invoker)?;
        for cell in &self.w.state {
            let mut from = &cell.initializer;
            while let Some(other) = self.w.state.iter().find(|c| c.name == *from) {
                from = &other.initializer;
            }
            let first = self.read(from, &cell.path)?.clone();
            self.values.insert(cell.name.clone(), first);
        }
        let limit = self.scalar(&l.max_iterations, &path.key("max_iterations"))?;
        for i in 0..limit.max(0) {
            if self.scalar(&l.continue_when, &path.key("continue_when"))? == 0 {
                break;
            }
            if let Some((name, contract)) = &l.iteration {
                self.values.insert(name.clone(), filled(contract, Scalar::Int(i)));
            }
            self.steps(&l.steps, invoker)?;
            self.iterations += 1;
            let next = l.carried.iter().map(|c| Ok((c.cell.clone(), self.read(&c.next, &c.path)?.clone())));
            let next: Vec<(String, Array)> = next.collect::<Result<_>>()?;
            self.values.extend(next);
        }
        Ok(())
    }

    fn branch(&mut self, b: &Branch, path: &Path, invoker: &mut dyn Invoker) -> Result<()> {
        let value = self.read(&b.predicate, path)?;
        let first = self.scalar(&b.predicate, &path.key("predicate"))?;
        let word = match value.data {
            Values::Bool(_) => (first != 0).to_string(),
            _ => first.to_string(),
        };
        let case = b.cases.iter().find(|(w, _)| *w == word).map(|(_, s)| s);
        let taken = case.or(b.default.as_ref());
        let step = taken.ok_or_else(|| path.key("cases").bad(format!("there is no case '{word}'")))?;
        self.step(step, invoker)?;
        for (name, given, default) in &b.outputs {
            let from = given.iter().find(|(w, _)| case.is_some() && *w == word).map(|(_, v)| v).or(default.as_ref());
            let from = from.ok_or_else(|| path.key("outputs").key(name).bad("the case gives nothing for it"))?;
            let array = self.read(from, path)?.clone();
            self.values.insert(name.clone(), array);
        }
        Ok(())
    }

    fn emit(&mut self, emit: &Emit, path: &Path) -> Result<()> {
        if let Some(when) = &emit.when
            && self.scalar(when, &path.key("when"))? == 0
        {
            return Ok(());
        }
        let mut value = self.read(&emit.value, &path.key("value"))?.clone();
        if let Some(length) = &emit.valid_length {
            let n = self.scalar(length, &path.key("valid_length"))?.max(0) as usize;
            value = first_of(&value, n);
        }
        let list = self.emitted.entry(emit.output.clone()).or_default();
        if emit.mode == "replace" {
            list.clear();
        }
        list.push(value);
        Ok(())
    }

    /// What an output has of whole numbers, one after the other.
    pub fn ints(&self, output: &str) -> Vec<i64> {
        self.emitted.get(output).into_iter().flatten().flat_map(Array::to_ints).collect()
    }
}

/// The first entries of the last axis. Of one request there is one row.
fn first_of(value: &Array, n: usize) -> Array {
    let ints = value.to_ints();
    let kept = n.min(ints.len());
    let mut shape = vec![1; value.shape.len().max(1)];
    let last = shape.len() - 1;
    shape[last] = kept;
    Array::new(value.dtype, shape, Values::Int(ints[..kept].to_vec()))
}
