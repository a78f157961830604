//! Whether a workflow makes sense by itself. In: a [`Document`]. Out: nothing. Promise: a name that names nothing, a value read before it
//! is set, a cycle, or a type that does not fit where it goes is one error with its path; no file but the metadata is looked at.

use super::schema::*;
use super::yaml::Path;
use crate::error::Result;
use crate::graph::DType;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Holds the document against itself.
pub fn check(document: &Document) -> Result<()> {
    let w = &document.workflow;
    unique(w)?;
    w.components.iter().try_for_each(bindings)?;
    groups(w)?;
    for o in &document.overrides {
        if !w.inputs.iter().any(|i| i.name == o.input) {
            return Err(o.path.bad(format!("the workflow has no input '{}'", o.input)));
        }
    }
    let mut scope = Scope { w, values: HashMap::new(), all: setters(&w.steps), emitted: HashSet::new(), depth: 0 };
    for input in &w.inputs {
        scope.values.insert(input.name.clone(), input.contract.clone());
    }
    scope.steps(&w.steps)?;
    let silent = w.outputs.iter().find(|o| !scope.emitted.contains(&o.name));
    if let Some(output) = silent {
        return Err(output.path.bad("no step emits it"));
    }
    if let Some(serving) = &w.serving {
        let known = |name: &str| w.state.iter().any(|c| c.name == name) || scope.values.contains_key(name);
        let named = [("active", Some(&serving.active)), ("done", Some(&serving.done))];
        for (key, name) in named.into_iter().chain([("accepted_len", serving.accepted.as_ref())]) {
            if let Some(name) = name.filter(|n| !known(n)) {
                return Err(serving.path.key(key).bad(format!("'{name}' names no value and no cell")));
            }
        }
    }
    Ok(())
}

/// A name is an input, a cell or a value, and no two of them.
fn unique(w: &Workflow) -> Result<()> {
    match w.state.iter().find(|c| w.inputs.iter().any(|i| i.name == c.name)) {
        Some(cell) => Err(cell.path.bad("an input has this name too")),
        None => Ok(()),
    }
}

fn bindings(c: &Component) -> Result<()> {
    let Some(contract) = &c.contract else { return Ok(()) };
    for (role, port) in &contract.bindings {
        if c.input(port).is_none() && c.output(port).is_none() {
            let what = format!("'{}' has no port '{port}'", c.name);
            return Err(contract.path.key("bindings").key(role).bad(what));
        }
    }
    Ok(())
}

fn groups(w: &Workflow) -> Result<()> {
    let all = || w.serving.iter().flat_map(|s| &s.groups);
    for cell in &w.state {
        if let Some(name) = &cell.group
            && !all().any(|g| g.name == *name)
        {
            return Err(cell.path.key("service_group").bad(format!("'{name}' is no group of serving.state_service")));
        }
    }
    for group in all() {
        if let Some(lengths) = &group.lengths
            && !w.state.iter().any(|c| c.name == *lengths)
        {
            return Err(group.path.key("logical_lengths").bad(format!("'{lengths}' is no state cell")));
        }
        group.ports.iter().try_for_each(|alias| grouped(w, group, alias))?;
    }
    Ok(())
}

fn grouped(w: &Workflow, group: &Group, alias: &Alias) -> Result<()> {
    let component = w.components.iter().find(|c| c.name == alias.component);
    let component = component.ok_or_else(|| alias.path.bad(format!("there is no component '{}'", alias.component)))?;
    let cell = w.state.iter().find(|c| c.name == alias.cell);
    let cell = cell.ok_or_else(|| alias.path.bad(format!("there is no state cell '{}'", alias.cell)))?;
    if cell.group.as_ref() != Some(&group.name) {
        return Err(alias.path.bad(format!("the cell does not say service_group: {}", group.name)));
    }
    let ends = [
        ("input", component.input(&alias.input), &alias.input),
        ("output", component.output(&alias.output), &alias.output),
    ];
    for (key, port, name) in ends {
        let path = alias.path.key(key);
        let port = port.ok_or_else(|| path.bad(format!("'{}' has no {key} '{name}'", component.name)))?;
        fits(&cell.contract, &port.contract).map_err(|why| path.bad(format!("cell and port differ: {why}")))?;
        if group.sequence_axis >= port.contract.shape.len() {
            return Err(group.path.key("sequence_axis").bad(format!("'{name}' has no axis {}", group.sequence_axis)));
        }
    }
    Ok(())
}

/// For every value the outputs' step, and what that step reads.
fn setters(steps: &[Step]) -> HashMap<String, Vec<String>> {
    let mut out = HashMap::new();
    let mut open: Vec<&Step> = steps.iter().collect();
    while let Some(step) = open.pop() {
        match &step.kind {
            StepKind::Sequence(steps) => open.extend(steps),
            StepKind::Invoke(invoke) => {
                let reads: Vec<String> = invoke.inputs.iter().map(|(_, v)| v.clone()).collect();
                out.extend(invoke.outputs.iter().map(|(_, v)| (v.clone(), reads.clone())));
            }
            StepKind::Loop(l) => open.extend(l.setup.iter().chain(&l.steps)),
            StepKind::Branch(b) => {
                open.extend(b.cases.iter().map(|(_, s)| s).chain(&b.default));
                for (name, given, default) in &b.outputs {
                    out.insert(name.clone(), given.iter().map(|(_, v)| v.clone()).chain(default.clone()).collect());
                }
            }
            StepKind::Emit(_) => {}
        }
    }
    out
}

/// What is known where a step stands.
struct Scope<'a> {
    w: &'a Workflow,
    values: HashMap<String, Contract>,
    /// Every value that any step sets, with what it is made of.
    all: HashMap<String, Vec<String>>,
    emitted: HashSet<String>,
    /// Loops around.
    depth: usize,
}

impl Scope<'_> {
    fn steps(&mut self, steps: &[Step]) -> Result<()> {
        steps.iter().try_for_each(|s| self.step(s))
    }

    fn step(&mut self, step: &Step) -> Result<()> {
        match &step.kind {
            StepKind::Sequence(steps) => self.steps(steps),
            StepKind::Invoke(invoke) => self.invoke(invoke, &step.path),
            StepKind::Loop(l) => self.looped(l, &step.path),
            StepKind::Branch(b) => self.branch(b, &step.path),
            StepKind::Emit(emit) => self.emit(emit, &step.path),
        }
    }

    /// The type of a value that is read here; `sets` is what the reading step sets itself.
    fn read(&self, name: &str, sets: &[&str], path: &Path) -> Result<Contract> {
        if let Some(contract) = self.values.get(name) {
            return Ok(contract.clone());
        }
        if self.w.state.iter().any(|c| c.name == name) {
            return Err(path.bad(format!("cell '{name}' is read before its loop begins")));
        }
        if !self.all.contains_key(name) {
            return Err(path.bad(format!("'{name}' names no input, no cell and no value that a step sets")));
        }
        if let Some(through) = sets.iter().find(|s| self.needs(name, s)) {
            return Err(path.bad(format!("a cycle: '{name}' is made of '{through}', which this step sets")));
        }
        Err(path.bad(format!("'{name}' is read before it is set")))
    }

    /// Whether a value is made of another.
    fn needs(&self, value: &str, of: &str) -> bool {
        let mut seen = HashSet::new();
        let mut open = vec![value];
        while let Some(next) = open.pop() {
            if next == of {
                return true;
            }
            if seen.insert(next) {
                open.extend(self.all.get(next).into_iter().flatten().map(String::as_str));
            }
        }
        false
    }

    fn set(&mut self, name: &str, contract: Contract, path: &Path) -> Result<()> {
        let taken = self.w.state.iter().any(|c| c.name == name) || self.w.inputs.iter().any(|i| i.name == name);
        if taken || self.values.insert(name.to_string(), contract).is_some() {
            return Err(path.bad(format!("'{name}' is set a second time")));
        }
        Ok(())
    }

    fn invoke(&mut self, invoke: &Invoke, path: &Path) -> Result<()> {
        let component = self.w.components.iter().find(|c| c.name == invoke.component);
        let component = component.ok_or_else(|| {
            let known: Vec<&str> = self.w.components.iter().map(|c| c.name.as_str()).collect();
            path.key("component").bad(format!(
                "there is no '{}'; components are {}",
                invoke.component,
                known.join(", ")
            ))
        })?;
        let sets: Vec<&str> = invoke.outputs.iter().map(|(_, v)| v.as_str()).collect();
        let mut symbols: BTreeMap<String, Dim> = BTreeMap::new();
        for (port, value) in &invoke.inputs {
            let at = path.key("inputs").key(port);
            let port = component.input(port).ok_or_else(|| {
                let known: Vec<&str> = component.inputs.iter().map(|p| p.name.as_str()).collect();
                at.bad(format!("'{}' has no such input; it has {}", component.name, known.join(", ")))
            })?;
            let have = self.read(value, &sets, &at)?;
            fits(&have, &port.contract).map_err(|why| at.bad(format!("'{value}' does not fit: {why}")))?;
            bind(&mut symbols, &have, &port.contract).map_err(|why| at.bad(why))?;
        }
        if let Some(open) = component.inputs.iter().find(|p| invoke.input(&p.name).is_none()) {
            return Err(path.key("inputs").key(&open.name).bad(format!("'{}' needs this input", component.name)));
        }
        for (port, value) in &invoke.outputs {
            let at = path.key("outputs").key(port);
            let port = component.output(port).ok_or_else(|| {
                let known: Vec<&str> = component.outputs.iter().map(|p| p.name.as_str()).collect();
                at.bad(format!("'{}' has no such output; it has {}", component.name, known.join(", ")))
            })?;
            let dim = |dim: &Dim| match dim {
                Dim::Symbol(s) => symbols.get(s).cloned().unwrap_or_else(|| dim.clone()),
                fixed => fixed.clone(),
            };
            let shape = port.contract.shape.iter().map(dim).collect();
            self.set(value, Contract { shape, ..port.contract.clone() }, &at)?;
        }
        Ok(())
    }

    fn looped(&mut self, l: &Loop, path: &Path) -> Result<()> {
        if self.depth > 0 {
            return Err(path.bad("a loop in a loop is not run here"));
        }
        self.steps(&l.setup)?;
        self.initial()?;
        self.depth += 1;
        for cell in &self.w.state {
            self.values.insert(cell.name.clone(), cell.contract.clone());
        }
        if let Some((name, contract)) = &l.iteration {
            self.set(name, contract.clone(), &path.key("iteration").key("value"))?;
        }
        let asked = path.key("continue_when");
        let have = self.read(&l.continue_when, &[], &asked)?;
        kind(&have, DType::Bool).map_err(|why| asked.bad(why))?;
        let limit = path.key("max_iterations");
        let have = self.read(&l.max_iterations, &[], &limit)?;
        kind(&have, DType::I64).map_err(|why| limit.bad(why))?;
        self.steps(&l.steps)?;
        let mut seen = HashSet::new();
        for carry in &l.carried {
            let cell = self.w.state.iter().find(|c| c.name == carry.cell);
            let cell =
                cell.ok_or_else(|| carry.path.key("cell").bad(format!("there is no state cell '{}'", carry.cell)))?;
            if !seen.insert(&carry.cell) {
                return Err(carry.path.key("cell").bad(format!("'{}' is carried twice", carry.cell)));
            }
            let at = carry.path.key("next");
            let next = self.read(&carry.next, &[], &at)?;
            fits(&next, &cell.contract)
                .map_err(|why| at.bad(format!("'{}' does not fit the cell: {why}", carry.next)))?;
        }
        self.depth -= 1;
        Ok(())
    }

    /// Cells begin with a value that is there after the setup, or with another cell's beginning.
    fn initial(&self) -> Result<()> {
        for cell in &self.w.state {
            let at = cell.path.key("initializer");
            let mut from = &cell.initializer;
            let mut seen = vec![&cell.name];
            while let Some(other) = self.w.state.iter().find(|c| c.name == *from) {
                if seen.contains(&from) {
                    let names: Vec<&str> = seen.iter().map(|s| s.as_str()).collect();
                    return Err(at.bad(format!("a cycle: {} begin with each other", names.join(", "))));
                }
                seen.push(from);
                from = &other.initializer;
            }
            let have = self.read(from, &[], &at)?;
            fits(&have, &cell.contract).map_err(|why| at.bad(format!("'{from}' does not fit the cell: {why}")))?;
            if let Recurrence::Bounded { max, .. } = &cell.recurrence {
                let at = cell.path.key("recurrence").key("max");
                kind(&self.read(max, &[], &at)?, DType::I64).map_err(|why| at.bad(why))?;
            }
        }
        Ok(())
    }

    fn branch(&mut self, b: &Branch, path: &Path) -> Result<()> {
        self.read(&b.predicate, &[], &path.key("predicate"))?;
        let before = self.values.clone();
        let mut made: Vec<(String, HashMap<String, Contract>)> = vec![];
        for (word, step) in &b.cases {
            self.values = before.clone();
            self.step(step)?;
            made.push((word.clone(), std::mem::take(&mut self.values)));
        }
        let mut other = None;
        if let Some(step) = &b.default {
            self.values = before.clone();
            self.step(step)?;
            other = Some(std::mem::take(&mut self.values));
        }
        self.values = before;
        for (name, given, default) in &b.outputs {
            let at = path.key("outputs").key(name);
            let mut contract: Option<Contract> = None;
            for (word, values) in &made {
                let from = given.iter().find(|(w, _)| w == word).map(|(_, v)| v);
                let from = from.ok_or_else(|| at.key("cases").key(word).bad("is missing"))?;
                join(&mut contract, values.get(from), from, &at.key("cases").key(word))?;
            }
            if let Some(values) = &other {
                let from = default.as_ref().ok_or_else(|| at.key("default").bad("is missing"))?;
                join(&mut contract, values.get(from), from, &at.key("default"))?;
            }
            if let Some(contract) = contract {
                self.set(name, contract, &at)?;
            }
        }
        Ok(())
    }

    fn emit(&mut self, emit: &Emit, path: &Path) -> Result<()> {
        let at = path.key("value");
        let have = self.read(&emit.value, &[], &at)?;
        let output = self.w.outputs.iter().find(|o| o.name == emit.output);
        let output = output.ok_or_else(|| path.key("output").bad(format!("there is no output '{}'", emit.output)))?;
        fits(&have, &output.contract)
            .map_err(|why| at.bad(format!("'{}' does not fit the output: {why}", emit.value)))?;
        if let Some(when) = &emit.when {
            let at = path.key("when");
            kind(&self.read(when, &[], &at)?, DType::Bool).map_err(|why| at.bad(why))?;
        }
        if let Some(length) = &emit.valid_length {
            let at = path.key("valid_length");
            kind(&self.read(length, &[], &at)?, DType::I64).map_err(|why| at.bad(why))?;
        }
        self.emitted.insert(emit.output.clone());
        Ok(())
    }
}

/// What two branches give under one name has one type.
fn join(whole: &mut Option<Contract>, found: Option<&Contract>, name: &str, path: &Path) -> Result<()> {
    let found = found.ok_or_else(|| path.bad(format!("the case sets no '{name}'")))?;
    match whole {
        None => *whole = Some(found.clone()),
        Some(known) => fits(found, known).map_err(|why| path.bad(format!("differs from the case before: {why}")))?,
    }
    Ok(())
}

/// A value of one element a row, of this type.
fn kind(have: &Contract, dtype: DType) -> Result<(), String> {
    let scalar = have.shape.len() <= 1;
    if have.dtype == dtype && scalar {
        Ok(())
    } else {
        Err(format!("one {dtype} a row is wanted, and it is {}", shown(have)))
    }
}

/// Whether a value of one type may go where another is wanted. Symbols are the business of those who use them; numbers must be equal.
fn fits(have: &Contract, want: &Contract) -> Result<(), String> {
    let axes = have.shape.iter().zip(&want.shape);
    let mut pairs = axes.map(|(a, b)| (number(a), number(b)));
    let clash = pairs.any(|(a, b)| matches!((a, b), (Some(a), Some(b)) if a != b));
    if have.dtype != want.dtype || have.shape.len() != want.shape.len() || clash {
        return Err(format!("it is {}, and {} is wanted", shown(have), shown(want)));
    }
    Ok(())
}

/// A symbol of a component stands for one number in an invocation.
fn bind(symbols: &mut BTreeMap<String, Dim>, have: &Contract, want: &Contract) -> Result<(), String> {
    for (dim, symbol) in have.shape.iter().zip(&want.shape) {
        let Dim::Symbol(symbol) = symbol else { continue };
        match symbols.get(symbol) {
            Some(known) => {
                if let (Some(a), Some(b)) = (number(known), number(dim))
                    && a != b
                {
                    return Err(format!("'{symbol}' would be {a} and {b}"));
                }
            }
            None => {
                symbols.insert(symbol.clone(), dim.clone());
            }
        }
    }
    Ok(())
}

/// A dimension where it is known: requests run one at a time.
fn number(dim: &Dim) -> Option<usize> {
    match dim {
        Dim::Fixed(n) => Some(*n),
        Dim::Symbol(s) if is_batch(s) => Some(1),
        Dim::Symbol(_) => None,
    }
}

/// Whether a symbol is the number of requests.
pub fn is_batch(symbol: &str) -> bool {
    symbol == "batch" || symbol == "batch_size"
}

fn shown(c: &Contract) -> String {
    let dims: Vec<String> = c
        .shape
        .iter()
        .map(|d| match d {
            Dim::Fixed(n) => n.to_string(),
            Dim::Symbol(s) => s.clone(),
        })
        .collect();
    format!("{}[{}]", c.dtype, dims.join(","))
}
