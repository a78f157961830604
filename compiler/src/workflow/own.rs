//! Policies of the package's own around a decoder's logits. In: the policies, cut out of the workflow, and a fused decoder. Out: the
//! decoder with them behind its logits, under the names of graph/words.rs. Promise: the graphs are compiled as they are; what a device
//! cannot hold is refused with the policy, the node and the reason.

use super::tail::{Call, Feed, Tail};
use crate::error::{Error, Result};
use crate::graph::eval::Array;
use crate::graph::words::{COUNTER, DRAWN, FIRST, GOES_ON, HELD, LIMIT, NEXT, TOKEN};
use crate::graph::{DType, Def, Graph, Node, Op, Output, Ty, ValueId, verify};
use crate::import::{self, Bindings, Options, Port};
use crate::passes::{self, Log};
use std::collections::{BTreeMap, HashMap};

/// Adds the policies to a decoder's fused graph.
pub fn attach(tail: &Tail, graph: &mut Graph) -> Result<()> {
    let [logits] = graph.outputs.as_slice() else {
        return Err(Error::new("workflow", "the decoder gives more than logits, and policies follow those"));
    };
    let logits = logits.value;
    let mut build = Build { graph, logits, words: HashMap::new(), held: vec![], made: vec![] };
    for held in &tail.held {
        narrow(&held.first, &format!("state '{}'", held.cell))?;
        let ty = Ty::new(held.first.dtype, &held.first.shape);
        let input = build.graph.add_input(format!("{HELD}{}", held.cell), ty);
        build.held.push(input);
    }
    for (i, call) in tail.calls.iter().enumerate() {
        let place = |e: Error| {
            let at = e.place.as_ref().map_or(String::new(), |p| format!(", {p}"));
            Error { place: Some(format!("policy '{}'{at}", call.component.name)), ..e }
        };
        let made = build.call(tail, i, call).map_err(place)?;
        build.made.push(made);
    }
    build.ends(tail)?;
    if !tail.held.is_empty() || tail.goes_on.is_some() {
        build.value(&Feed::Counter); // tells whether a step had a token
    }
    verify(graph)
}

struct Build<'a> {
    graph: &'a mut Graph,
    /// The decoder's.
    logits: ValueId,
    words: HashMap<&'static str, ValueId>,
    held: Vec<ValueId>,
    /// By call, the outputs that are read.
    made: Vec<HashMap<String, ValueId>>,
}

impl Build<'_> {
    /// The value of a source that is no constant.
    fn value(&mut self, source: &Feed) -> Option<ValueId> {
        let word = match source {
            Feed::Const(_) => return None,
            Feed::Logits => return Some(self.logits),
            Feed::Held(i) => return self.held.get(*i).copied(),
            Feed::Made(i, port) => return self.made.get(*i)?.get(port).copied(),
            Feed::Counter => COUNTER,
            Feed::Limit => LIMIT,
            Feed::Token => DRAWN,
        };
        let graph = &mut *self.graph;
        Some(*self.words.entry(word).or_insert_with(|| graph.add_input(word, Ty::new(DType::I32, &[]))))
    }

    /// The nodes of one policy. Returns its outputs that anything reads.
    fn call(&mut self, tail: &Tail, index: usize, call: &Call) -> Result<HashMap<String, ValueId>> {
        let inputs: Vec<(&str, Option<ValueId>)> =
            call.inputs.iter().map(|(port, s)| (port.as_str(), self.value(s))).collect();
        let ports = import::inspect(&call.file)?.inputs;
        let mut bind = Bindings::new();
        for ((port, value), (_, source)) in inputs.iter().zip(&call.inputs) {
            let rank = rank(&ports, port);
            let shape = match (source, value) {
                (Feed::Const(array), _) => array.shape.clone(),
                (_, Some(v)) => fitting(self.graph.shape(*v), rank),
                _ => return Err(Error::new("workflow", format!("nothing is known of its input '{port}'"))),
            };
            let dims = ports.iter().find(|p| p.name == *port).and_then(|p| p.dims.as_ref());
            for (dim, extent) in dims.into_iter().flatten().zip(shape) {
                if dim.parse::<usize>().is_err() {
                    bind.insert(dim.clone(), extent);
                }
            }
        }
        let mut fixed = BTreeMap::new();
        for (port, source) in &call.inputs {
            if let Feed::Const(array) = source {
                fixed.insert(port.clone(), array.to_tensor());
            }
        }
        let mut policy = import::load(&call.file, &Options { bind, fixed, ..Options::default() })?;
        policy.outputs.retain(|o| reads(tail, index, &o.name));
        passes::run(&mut policy, passes::RAW_ORDER, &mut Log::default())?;
        holdable(&policy)?;
        self.merge(&call.component.name, policy, &inputs)
    }

    /// Puts a policy's nodes behind those that are there.
    fn merge(
        &mut self,
        name: &str,
        policy: Graph,
        inputs: &[(&str, Option<ValueId>)],
    ) -> Result<HashMap<String, ValueId>> {
        let graph = &mut *self.graph;
        let mut map: Vec<ValueId> = vec![];
        for (i, value) in policy.values.into_iter().enumerate() {
            let label = format!("{name}/{}", value.name);
            let id = match value.def {
                Def::Input if policy.inputs.contains(&ValueId(i as u32)) => {
                    let given = inputs.iter().find(|(port, _)| *port == value.name).and_then(|(_, v)| *v);
                    let unknown = || Error::new("workflow", format!("nothing is known of its input '{}'", value.name));
                    shaped(graph, given.ok_or_else(unknown)?, &value.ty, &label)?
                }
                def => graph.add_value(label, value.ty, def),
            };
            map.push(id);
        }
        let new = |v: ValueId| map[v.0 as usize];
        for node in policy.nodes {
            let inputs = node.inputs.into_iter().map(|v| v.map(new)).collect();
            let outputs = node.outputs.into_iter().map(new).collect();
            graph.nodes.push(Node { op: node.op, inputs, outputs, name: format!("{name}/{}", node.name) });
        }
        Ok(policy.outputs.into_iter().map(|o| (o.name, new(o.value))).collect())
    }

    /// The outputs of the whole.
    fn ends(&mut self, tail: &Tail) -> Result<()> {
        let ty = self.graph.ty(self.logits).clone();
        if let Some(logits) = self.end(tail.logits.as_ref(), |t| t.elements() == ty.elements(), "logits")? {
            self.graph.outputs[0].value = shaped(self.graph, logits, &ty, "processed")?;
        }
        let one = |t: &Ty| t.elements() == 1 && (t.dtype.is_int() || t.dtype == DType::Bool);
        for (source, name) in [(&tail.token, TOKEN), (&tail.goes_on, GOES_ON)] {
            if let Some(value) = self.end(source.as_ref(), one, name)? {
                self.graph.outputs.push(Output { name: name.into(), value });
            }
        }
        for (held, &input) in tail.held.iter().zip(&self.held.clone()) {
            let ty = self.graph.ty(input).clone();
            let name = &held.cell;
            // A step reads what all hold before any of them changes, so what is another's value is copied.
            let next = match self.end(Some(&held.next), |t| *t == ty, name)? {
                Some(v) => v,
                None => self.graph.add_const(format!("{name}.next"), held.first.to_tensor()),
            };
            let shape = ty.shape.clone();
            let next = self.graph.push(Op::Expand { shape }, &[Some(next)], &format!("{NEXT}{name}"))?[0];
            let first = self.graph.add_const(format!("{FIRST}{name}"), held.first.to_tensor());
            self.graph.outputs.push(Output { name: format!("{FIRST}{name}"), value: first });
            self.graph.outputs.push(Output { name: format!("{NEXT}{name}"), value: next });
        }
        Ok(())
    }

    /// The value of an end, held against what it must be.
    fn end(&mut self, source: Option<&Feed>, fits: impl Fn(&Ty) -> bool, name: &str) -> Result<Option<ValueId>> {
        let Some(source) = source else { return Ok(None) };
        let refuse = |what: String| Err(Error::new("workflow", what).at(format!("policies, '{name}'")));
        let value = match source {
            Feed::Const(array) => {
                narrow(array, name)?;
                self.graph.add_const(format!("{name}.given"), array.to_tensor())
            }
            _ => match self.value(source) {
                Some(v) => v,
                None => return refuse("no policy gives it".into()),
            },
        };
        let ty = self.graph.ty(value);
        if !fits(ty) {
            return refuse(format!("it is {ty}, which is not what a step takes"));
        }
        Ok(Some(value))
    }
}

/// Whether an output of a call is read.
fn reads(tail: &Tail, call: usize, port: &str) -> bool {
    let it = |s: &Feed| matches!(s, Feed::Made(i, p) if *i == call && p == port);
    let inputs = tail.calls.iter().flat_map(|c| &c.inputs).map(|(_, s)| s);
    let ends = [&tail.logits, &tail.token, &tail.goes_on].into_iter().flatten();
    inputs.chain(ends).chain(tail.held.iter().map(|h| &h.next)).any(it)
}

fn rank(ports: &[Port], name: &str) -> usize {
    ports.iter().find(|p| p.name == name).and_then(|p| p.dims.as_ref()).map_or(1, Vec::len)
}

/// A shape at another rank: ones come and go in front.
fn fitting(shape: &[usize], rank: usize) -> Vec<usize> {
    let ones = shape.iter().take_while(|d| **d == 1).count();
    let kept = &shape[ones.min(shape.len().saturating_sub(rank))..];
    let mut out = vec![1; rank.saturating_sub(kept.len())];
    out.extend(kept);
    out
}

/// A value in the type and shape that its reader takes.
fn shaped(graph: &mut Graph, value: ValueId, ty: &Ty, name: &str) -> Result<ValueId> {
    let mut value = value;
    if graph.ty(value).dtype != ty.dtype {
        value = graph.push(Op::Cast { to: ty.dtype }, &[Some(value)], &format!("{name}.cast"))?[0];
    }
    if graph.shape(value) != ty.shape {
        value = graph.push(Op::Reshape { shape: ty.shape.clone() }, &[Some(value)], name)?[0];
    }
    Ok(value)
}

/// Integers have 32 bits on a device, and floats too.
fn holdable(policy: &Graph) -> Result<()> {
    for node in &policy.nodes {
        let values = node.inputs.iter().flatten().chain(&node.outputs);
        let wide = values.map(|v| policy.ty(*v).dtype).find(|d| matches!(d, DType::U64 | DType::F64));
        if let Some(dtype) = wide {
            return Err(Error::new(
                "workflow",
                format!(
                    "node '{}' ({}) takes or gives {dtype}, and a device here has 32-bit numbers; it would be compiled as given, as no \
                     kernel stands for it",
                    node.name,
                    node.op.name()
                ),
            ));
        }
    }
    Ok(())
}

/// What is held and given fits 32 bits.
fn narrow(array: &Array, name: &str) -> Result<()> {
    let wide = matches!(array.dtype, DType::U64 | DType::F64)
        || array.dtype.is_int() && array.to_ints().iter().any(|n| i32::try_from(*n).is_err());
    if wide {
        let what = format!("it begins with a {} that 32 bits do not hold", array.dtype);
        return Err(Error::new("workflow", what).at(name.to_string()));
    }
    Ok(())
}
