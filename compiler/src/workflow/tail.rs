//! The policies that no kernel of ours stands for, cut out of a workflow. In: a workflow, its token loop, what probing saw. Out: their
//! calls in an order that can run, with where every input comes from. Promise: each is run as the workflow runs it, once a token; what
//! would need more than a step of the engine knows is refused with the policy and the reason.

use super::probe::{Script, Seen};
use super::recognise::Parts;
use super::schema::*;
use crate::error::Result;
use crate::graph::eval::Array;
use std::collections::HashMap;
use std::path::PathBuf;

/// What follows the decoder in every step, compiled as the package has it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Tail {
    pub calls: Vec<Call>,
    pub held: Vec<Held>,
    /// The logits that are sampled from, where policies alter them.
    pub logits: Option<Feed>,
    /// The token, where a policy draws it.
    pub token: Option<Feed>,
    /// Whether there is another step, where a policy decides it.
    pub goes_on: Option<Feed>,
}

/// One policy at one place.
#[derive(Clone, PartialEq, Debug)]
pub struct Call {
    pub component: Component,
    pub file: PathBuf,
    /// By input port.
    pub inputs: Vec<(String, Feed)>,
}

/// What a step leaves to the next.
#[derive(Clone, PartialEq, Debug)]
pub struct Held {
    pub cell: String,
    pub first: Array,
    pub next: Feed,
}

/// Where a value comes from.
#[derive(Clone, PartialEq, Debug)]
pub enum Feed {
    /// The same in every answer.
    Const(Array),
    /// The decoder's logits of this step's place.
    Logits,
    /// The token that our sampler has drawn.
    Token,
    /// Tokens drawn before this step.
    Counter,
    /// Tokens wanted.
    Limit,
    /// By index in `held`.
    Held(usize),
    /// An output of a call.
    Made(usize, String),
}

impl Tail {
    /// Whether a value is made of the token of this step or, through what is held, of those before.
    pub fn follows_tokens(&self, source: &Feed, sampler: &str) -> bool {
        let (mut todo, mut seen) = (vec![source.clone()], vec![]);
        while let Some(source) = todo.pop() {
            match &source {
                Feed::Token => return true,
                Feed::Made(i, _) if self.calls[*i].component.name == sampler => return true,
                _ if seen.contains(&source) => {}
                Feed::Made(i, _) => todo.extend(self.calls[*i].inputs.iter().map(|(_, s)| s.clone())),
                Feed::Held(i) => todo.push(self.held[*i].next.clone()),
                _ => {}
            }
            seen.push(source);
        }
        false
    }
}

/// What our kernels do, so that a cut ends there.
#[derive(Clone, Copy, Default)]
pub struct Known {
    pub logits: bool,
    pub sampler: bool,
    pub ending: bool,
}

/// Cuts policies out of a loop, value by value.
pub struct Cut<'a> {
    w: &'a Workflow,
    parts: &'a Parts<'a>,
    folder: &'a std::path::Path,
    /// Runs with prompts and limits that differ in everything.
    probes: &'a [(Script, Seen)],
    known: Known,
    pub tail: Tail,
    memo: HashMap<String, Feed>,
    /// What is held and has no `next` yet: the index, and the value's name.
    open: Vec<(usize, String)>,
}

impl<'a> Cut<'a> {
    pub fn new(
        w: &'a Workflow,
        parts: &'a Parts<'a>,
        folder: &'a std::path::Path,
        probes: &'a [(Script, Seen)],
        known: Known,
    ) -> Cut<'a> {
        Cut { w, parts, folder, probes, known, tail: Tail::default(), memo: HashMap::new(), open: vec![] }
    }

    /// A value of the loop's body, and all that it and what it holds are made of.
    pub fn cut(&mut self, name: &str) -> Result<Feed> {
        let source = self.value(name)?;
        while let Some((index, next)) = self.open.pop() {
            self.tail.held[index].next = self.value(&next)?;
        }
        Ok(source)
    }

    fn value(&mut self, name: &str) -> Result<Feed> {
        if let Some(source) = self.memo.get(name) {
            return Ok(source.clone());
        }
        let source = self.found(name)?;
        self.memo.insert(name.to_string(), source.clone());
        Ok(source)
    }

    fn found(&mut self, name: &str) -> Result<Feed> {
        let (w, parts, l) = (self.w, self.parts, self.parts.around);
        if self.known.logits && parts.read_by_sampler("logits") == Some(name) {
            return Ok(Feed::Logits);
        }
        if l.iteration.as_ref().is_some_and(|(n, _)| n == name) {
            return Ok(Feed::Counter);
        }
        if let Some(invoke) = parts.body.iter().find(|i| i.outputs.iter().any(|(_, v)| v == name)) {
            return self.made(invoke, name);
        }
        let Some(cell) = w.state.iter().find(|c| c.name == name) else { return self.constant(name) };
        let flag = |x: bool| Feed::Const(Array::bool(&vec![1; cell.contract.shape.len()], &[x]));
        let serving = |f: fn(&Serving) -> &String| w.serving.as_ref().is_some_and(|s| f(s) == name);
        if l.continue_when == name || (self.known.ending && serving(|s| &s.active)) {
            return Ok(flag(true)); // else the step would not be
        }
        if self.known.ending && serving(|s| &s.done) {
            return Ok(flag(false));
        }
        let Some(carry) = l.carried.iter().find(|c| c.cell == name) else { return self.constant(&cell.initializer) };
        if self.of_model(&carry.next) {
            return self.ahead(cell, &carry.next);
        }
        let Feed::Const(first) = self.constant(&cell.initializer)? else {
            return Err(cell.path.bad("begins with the limit of the answer, which differs from answer to answer"));
        };
        let index = self.tail.held.len();
        // Its own value until `cut` has found the next.
        self.tail.held.push(Held { cell: name.to_string(), first, next: Feed::Held(index) });
        self.open.push((index, carry.next.clone()));
        Ok(Feed::Held(index))
    }

    /// What a component gives.
    fn made(&mut self, invoke: &'a Invoke, name: &str) -> Result<Feed> {
        let (w, parts) = (self.w, self.parts);
        let missing = || w.path.key("components").bad(format!("there is no '{}'", invoke.component));
        let component = w.components.iter().find(|c| c.name == invoke.component).ok_or_else(missing)?;
        let port = invoke.outputs.iter().find(|(_, v)| v == name).map_or("", |(p, _)| p.as_str());
        let plays = |c: &Component, role: &str| c.playing(role).is_some_and(|p| p.name == port);
        if component.name == parts.model.name {
            return match port == parts.logits.name {
                true => Ok(Feed::Logits),
                false => Err(component.path.key("ports").key(port).bad("only a decoder's logits reach policies")),
            };
        }
        if component.name == parts.sampler.name && self.known.sampler {
            return match plays(component, "token") {
                true => Ok(Feed::Token),
                false => Err(component.path.key("ports").key(port).bad(format!(
                    "a policy that is compiled as given reads '{name}', and of a sampler that kernels stand for there is the token"
                ))),
            };
        }
        if parts.branched.contains(&invoke.component) {
            return Err(component.path.bad("runs in a branch, and a step on the device has none"));
        }
        let mut inputs = vec![];
        for port in &component.inputs {
            let value = invoke.input(&port.name).ok_or_else(|| port.path.bad("a port is open"))?;
            inputs.push((port.name.clone(), self.value(value)?));
        }
        let file = self.folder.join(&component.artifact);
        let call = Call { component: component.clone(), file, inputs };
        let made = Feed::Made(self.tail.calls.len(), port.to_string());
        for (port, value) in &invoke.outputs {
            self.memo.insert(value.clone(), Feed::Made(self.tail.calls.len(), port.clone()));
        }
        self.tail.calls.push(call);
        Ok(made)
    }

    /// Whether a value is made of what the decoder gives in this iteration, so that the next finds it.
    fn of_model(&self, name: &str) -> bool {
        let maker = self.parts.body.iter().find(|i| i.outputs.iter().any(|(_, v)| v == name));
        maker.is_some_and(|i| {
            i.component == self.parts.model.name || i.inputs.iter().any(|(_, value)| self.of_model(value))
        })
    }

    /// A cell that policies fill from the decoder, before the loop as at the end of each iteration: here the next step does so.
    fn ahead(&mut self, cell: &Cell, next: &str) -> Result<Feed> {
        if !self.alike(&cell.initializer, next) {
            let what =
                format!("begins as '{}' and goes on as '{next}', which are made in different ways", cell.initializer);
            return Err(cell.path.bad(what));
        }
        let before = self.tail.calls.len();
        let source = self.value(next)?;
        let early = |s: &Feed| matches!(s, Feed::Const(_) | Feed::Logits | Feed::Made(..));
        if let Some(call) = self.tail.calls[before..].iter().find(|c| !c.inputs.iter().all(|(_, s)| early(s))) {
            let what = "runs behind the decoder at the end of an iteration and reads what changes from step to step; a policy that does \
                        so must run before the sampler";
            return Err(call.component.path.bad(what));
        }
        Ok(source)
    }

    /// Whether the setup makes a value as the body makes another.
    fn alike(&self, setup: &str, body: &str) -> bool {
        let parts = self.parts;
        let made = |list: &[&'a Invoke], name: &str| {
            let maker = list.iter().find(|i| i.outputs.iter().any(|(_, v)| v == name)).copied()?;
            maker.outputs.iter().find(|(_, v)| v == name).map(|(port, _)| (maker, port.clone()))
        };
        match (made(&parts.setup, setup), made(&parts.body, body)) {
            (Some((a, from)), Some((b, to))) => {
                let same = a.component == b.component && from == to;
                let model = b.component == parts.model.name;
                let inputs =
                    || b.inputs.iter().all(|(port, value)| a.input(port).is_some_and(|v| self.alike(v, value)));
                same && (model || inputs())
            }
            (_, None) => setup == body,
            _ => false,
        }
    }

    /// A value that is there before the loop.
    fn constant(&self, name: &str) -> Result<Feed> {
        let (mut name, w) = (name, self.w);
        while let Some(cell) = w.state.iter().find(|c| c.name == name) {
            name = &cell.initializer;
        }
        let maker = self.parts.setup.iter().find(|i| i.outputs.iter().any(|(_, v)| v == name));
        let of = maker.map_or(String::new(), |i| format!(", from component '{}',", i.component));
        let path = w.path.key("steps");
        let all: Option<Vec<&Array>> = self.probes.iter().map(|(_, seen)| seen.values.get(name)).collect();
        let Some([first, rest @ ..]) = all.as_deref() else {
            return Err(path.bad(format!("'{name}'{of} is not known before the loop")));
        };
        if rest.iter().all(|a| a == first) {
            return Ok(Feed::Const((*first).clone()));
        }
        let limit = |(script, seen): &(Script, Seen)| seen.values[name].to_ints() == [script.limit];
        if first.dtype.is_int() && self.probes.iter().all(limit) {
            return Ok(Feed::Limit);
        }
        Err(path.bad(format!("'{name}'{of} depends on the prompt, and a policy that is compiled as given reads it")))
    }
}
