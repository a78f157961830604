//! The abstract interpretation. In: a parsed model and its options. Out: the graph so far and a report on every node. Promise:
//! nodes run in a valid order, each once; one refused node does not hide the next.

mod control;

use super::attrs::{Attrs, Given};
use super::bind::{self, declared};
use super::external::{self, Files};
use super::functions::{self, Functions};
use super::lower::{self, Call, Cx, Refusal, invalid, unsupported};
use super::order::{self, label, reads};
use super::proto::{Model, Opsets, domain_name};
use super::{Bindings, Options, weights};
use crate::error::{Error, Result};
use crate::graph::{Graph, Output, Tensor, ValueId};
use onnx_ir::{GraphProto, NodeProto, TensorProto};
use std::collections::{HashMap, HashSet};

/// Function calls and branches may nest this deep.
const MAX_DEPTH: usize = 32;
/// Nodes that a model may have once its functions are expanded.
const MAX_NODES: usize = 1 << 18;

/// What became of one ONNX node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeReport {
    pub name: String,
    pub op: String,
    /// "" for ai.onnx.
    pub domain: String,
    pub opset: i64,
    /// Why it cannot be imported; None when it can, or when that hangs on a node before it.
    pub reason: Option<String>,
    /// Whether the operator or this use of it is beyond us, as against a model that is wrong at these shapes.
    pub unsupported: bool,
}

/// The outcome of a walk.
pub struct Walked {
    pub graph: Graph,
    pub nodes: Vec<NodeReport>,
    /// Symbols that were given a value for the sake of a report.
    pub assumed: Bindings,
}

impl Walked {
    /// One line for each node with a reason.
    pub fn problems(&self) -> Vec<String> {
        let line = |n: &NodeReport| {
            let domain = if n.domain.is_empty() { "ai.onnx" } else { &n.domain };
            n.reason.as_ref().map(|r| format!("node '{}' ({}, {domain} {}): {r}", n.name, n.op, n.opset))
        };
        self.nodes.iter().filter_map(line).collect()
    }
}

/// What a name stands for.
#[derive(Clone, Debug)]
pub enum Slot {
    Value(ValueId),
    Sequence(Vec<ValueId>),
    /// A result of a node that was refused.
    Unknown,
}

struct Scope<'a> {
    slots: HashMap<&'a str, Slot>,
    /// Attributes of the function call around this body.
    given: Given<'a>,
    opsets: &'a Opsets,
    prefix: String,
    /// A branch sees the names around it, a function body does not.
    sees_outer: bool,
}

struct Walker<'a> {
    cx: Cx,
    files: &'a Files,
    functions: &'a Functions<'a>,
    scopes: Vec<Scope<'a>>,
    reports: Vec<NodeReport>,
}

/// Lowers a model. `assume` gives unbound symbols a value (reports only).
pub fn walk(model: &Model, options: &Options, assume: Option<&dyn Fn(&str) -> usize>) -> Result<Walked> {
    let graph = &*model.proto.graph;
    let files = Files::new(&model.folder, options.without_weights);
    let functions = functions::table(&model.proto);
    let mut walker = Walker {
        cx: Cx::new(&graph.name),
        files: &files,
        functions: &functions,
        scopes: vec![Scope {
            slots: HashMap::new(),
            given: Given::new(),
            opsets: &model.opsets,
            prefix: String::new(),
            sees_outer: false,
        }],
        reports: vec![],
    };
    let assumed = walker.inputs(graph, options, assume)?;
    walker.run(graph)?;
    walker.outputs(graph)?;
    Ok(Walked { graph: walker.cx.graph, nodes: walker.reports, assumed })
}

impl<'a> Walker<'a> {
    fn lookup(&self, name: &str) -> Option<&Slot> {
        for scope in self.scopes.iter().rev() {
            if let Some(slot) = scope.slots.get(name) {
                return Some(slot);
            }
            if !scope.sees_outer {
                break;
            }
        }
        None
    }

    fn define(&mut self, name: &'a str, slot: Slot) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.slots.insert(name, slot);
        }
    }

    /// Declares the graph inputs: numbers for their symbols, constants for those that are fixed.
    fn inputs(
        &mut self,
        graph: &'a GraphProto,
        options: &Options,
        assume: Option<&dyn Fn(&str) -> usize>,
    ) -> Result<Bindings> {
        // Before IR version 4 every initializer was also listed as an input.
        let constants: HashSet<&str> = graph.initializer.iter().map(|t| t.name.as_str()).collect();
        let infos: Vec<_> = graph.input.iter().filter(|i| !constants.contains(i.name.as_str())).collect();
        let inputs = infos.iter().map(|i| declared(i)).collect::<Result<Vec<_>>>()?;
        let unknown: Vec<&String> = options.fixed.keys().filter(|n| inputs.iter().all(|i| i.name != **n)).collect();
        if !unknown.is_empty() {
            return Err(Error::new(
                "import",
                format!("fixed values for inputs that the graph does not have: {unknown:?}"),
            ));
        }
        let bound = bind::bind(&inputs, options, assume)?;
        for (info, ty) in infos.into_iter().zip(bound.types) {
            let name = self.cx.unique(&info.name);
            if name != info.name {
                return Err(Error::new("import", format!("two graph inputs are called '{}'", info.name)));
            }
            let id = match options.fixed.get(&info.name) {
                Some(t) if t.dtype != ty.dtype => {
                    let what = format!("input '{}' is {} and its fixed value {}", info.name, ty.dtype, t.dtype);
                    return Err(Error::new("import", what));
                }
                Some(t) => self.cx.graph.add_const(name, t.clone()),
                None => self.cx.graph.add_input(name, ty),
            };
            self.define(&info.name, Slot::Value(id));
        }
        Ok(bound.assumed)
    }

    fn outputs(&mut self, graph: &'a GraphProto) -> Result<()> {
        let broken = self.reports.iter().any(|r| r.reason.is_some());
        for out in &graph.output {
            match self.lookup(&out.name) {
                Some(Slot::Value(id)) => {
                    let output = Output { name: out.name.clone(), value: *id };
                    self.cx.graph.outputs.push(output);
                }
                Some(Slot::Unknown) if broken => {}
                Some(Slot::Sequence(_)) => {
                    return Err(Error::new(
                        "import",
                        format!("graph output '{}' is a sequence, which is not supported", out.name),
                    ));
                }
                _ => return Err(Error::new("import", format!("nothing writes the graph output '{}'", out.name))),
            }
        }
        Ok(())
    }

    /// Lowers a graph in the scope that stands on top.
    fn run(&mut self, graph: &'a GraphProto) -> Result<()> {
        if !graph.sparse_initializer.is_empty() {
            return Err(Error::new("import", "sparse initializers are not supported"));
        }
        let mut initializers: HashMap<&str, &TensorProto> = HashMap::new();
        for t in &graph.initializer {
            if initializers.insert(&t.name, t).is_some() {
                return Err(Error::new("import", format!("two initializers are called '{}'", t.name)));
            }
        }
        let results: Vec<&str> = graph.output.iter().map(|o| o.name.as_str()).collect();
        let known = |name: &str| initializers.contains_key(name) || self.lookup(name).is_some();
        let order = order::sort(&graph.node, &known)?;
        let (live, needed) = live(&graph.node, &order, &results);
        self.weights(graph, &needed)?;
        self.body(&graph.node, &live, &needed)
    }

    /// Adds the initializers that somebody reads. All that cannot be read stand in one error.
    fn weights(&mut self, graph: &'a GraphProto, needed: &HashSet<&str>) -> Result<()> {
        let mut problems: Vec<Error> = vec![];
        for proto in graph.initializer.iter().filter(|t| needed.contains(t.name.as_str())) {
            let name = format!("{}{}", self.prefix(), proto.name);
            match self.weight(&name, proto) {
                Ok(id) => self.define(&proto.name, Slot::Value(id)),
                Err(e) => problems.push(e),
            }
        }
        let n = problems.len();
        let mut reasons: Vec<(Error, usize)> = vec![];
        for e in problems {
            match reasons.iter_mut().find(|(first, _)| first.what == e.what) {
                Some((_, count)) => *count += 1,
                None => reasons.push((e, 1)),
            }
        }
        let line = |(e, count): &(Error, usize)| {
            let place = e.place.as_deref().unwrap_or("?");
            let more = if *count > 1 { format!(" and {} more", count - 1) } else { String::new() };
            format!("{place}{more}: {}", e.what)
        };
        match reasons.as_slice() {
            [] => Ok(()),
            [(only, 1)] => Err(only.clone()),
            [(first, n)] => {
                let what = format!("{} ({n} tensors, the first {})", first.what, first.place.as_deref().unwrap_or("?"));
                Err(Error { what, place: None, ..first.clone() })
            }
            [(first, _), ..] => {
                let lines: Vec<String> = reasons.iter().map(line).collect();
                let e = Error::new("import", format!("{n} tensors cannot be read:\n  {}", lines.join("\n  ")));
                Err(Error { hint: first.hint.clone(), ..e })
            }
        }
    }

    fn weight(&mut self, name: &str, proto: &TensorProto) -> Result<ValueId> {
        let tensor = weights::tensor(proto, self.files)?;
        self.check_present(&tensor, &proto.name)?;
        let id = self.cx.weight(name, tensor, external::is_external(proto));
        if matches!(weights::storage(proto.data_type), Ok(weights::Storage::Packed { .. })) {
            self.cx.set_packed(id);
        }
        Ok(id)
    }

    /// Integers and scalars steer shapes, so they must be there even when weights are not.
    fn check_present(&self, tensor: &Tensor, name: &str) -> Result<()> {
        if tensor.is_absent() && !lower::needs_no_data(tensor) {
            return Err(Error::new(
                "import",
                "its external data is missing, and integers and scalars are needed even without weights",
            )
            .at(format!("tensor '{name}'")));
        }
        Ok(())
    }

    fn prefix(&self) -> &str {
        self.scopes.last().map_or("", |s| s.prefix.as_str())
    }

    fn body(&mut self, nodes: &'a [NodeProto], live: &[usize], needed: &HashSet<&str>) -> Result<()> {
        for &i in live {
            if self.reports.len() >= MAX_NODES {
                return Err(Error::new("import", format!("more than {MAX_NODES} nodes once functions are expanded")));
            }
            self.node(&nodes[i], i, needed);
        }
        Ok(())
    }

    fn node(&mut self, node: &'a NodeProto, index: usize, needed: &HashSet<&str>) {
        let domain = domain_name(&node.domain);
        let version = self.scopes.iter().rev().find_map(|s| s.opsets.get(domain)).copied();
        let place = self.reports.len();
        self.reports.push(NodeReport {
            name: format!("{}{}", self.prefix(), label(node, index)),
            op: node.op_type.clone(),
            domain: domain.to_string(),
            opset: version.unwrap_or(1),
            reason: None,
            unsupported: false,
        });
        let outcome = self.step(node, place, needed);
        let slots = outcome.unwrap_or_else(|refusal| {
            self.reports[place].reason = Some(refusal.reason);
            self.reports[place].unsupported = refusal.unsupported;
            vec![]
        });
        for (i, name) in node.output.iter().enumerate().filter(|(_, n)| !n.is_empty()) {
            let slot = slots.get(i).cloned().unwrap_or(Slot::Unknown);
            if matches!(slot, Slot::Unknown) && needed.contains(name.as_str()) && !slots.is_empty() && i >= slots.len()
            {
                self.reports[place].reason = Some(format!("its output {i} is not supported"));
                self.reports[place].unsupported = true;
            }
            self.define(name, slot);
        }
    }

    /// Lowers one node: a function call, a branch, a sequence operator, or a plain operator.
    fn step(&mut self, node: &'a NodeProto, place: usize, needed: &HashSet<&str>) -> Result<Vec<Slot>, Refusal> {
        let functions = self.functions;
        let function = functions::find(functions, node);
        let domain = domain_name(&node.domain);
        let inputs: Vec<Option<Slot>> = node.input.iter().map(|n| self.lookup(n).cloned()).collect();
        if inputs.iter().flatten().any(|s| matches!(s, Slot::Unknown)) {
            let known = function.is_some() || is_control(domain, &node.op_type);
            return if known { Ok(vec![]) } else { lower::find(domain, &node.op_type).map(|_| vec![]) };
        }
        let given = self.scopes.last().map(|s| s.given.clone()).unwrap_or_default();
        let attrs = Attrs::new(node, &given);
        let name = self.reports[place].name.clone();
        if let Some(function) = function {
            return self.call(function, inputs, attrs, &name);
        }
        if domain.is_empty() {
            match node.op_type.as_str() {
                "If" => return self.branch(&inputs, &attrs, &name),
                "Loop" => return self.repeat(&inputs, &attrs, &name),
                "Scan" => return Err(unsupported("Scan is not supported; export with its loop unrolled")),
                op if lower::sequence::is_sequence(op) => {
                    self.cx.at = name;
                    return lower::sequence::lower(&mut self.cx, op, &inputs, &attrs);
                }
                _ => {}
            }
        }
        let rule = lower::find(domain, &node.op_type)?;
        let mut values = vec![];
        for slot in inputs {
            match slot {
                Some(Slot::Value(id)) => values.push(Some(id)),
                None => values.push(None),
                _ => return Err(unsupported("an input is a sequence, which this operator does not take")),
            }
        }
        self.cx.at = name;
        let call = Call {
            op: &node.op_type,
            opset: self.reports[place].opset,
            inputs: values,
            wanted: node.output.iter().map(|n| !n.is_empty() && needed.contains(n.as_str())).collect(),
            attrs,
            files: self.files,
        };
        let first_new = self.cx.graph.values.len();
        let ids = rule(&mut self.cx, &call)?;
        let prefix = self.prefix().to_string();
        for (id, name) in ids.iter().zip(&node.output).filter(|(_, n)| !n.is_empty()) {
            self.cx.rename(*id, first_new, &format!("{prefix}{name}"));
        }
        Ok(ids.into_iter().map(Slot::Value).collect())
    }

    /// Runs `body` in a new scope and gives the slots of `results`.
    fn nested(
        &mut self,
        scope: Scope<'a>,
        results: impl Iterator<Item = &'a str>,
        body: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<Vec<Slot>, Refusal> {
        if self.scopes.len() >= MAX_DEPTH {
            return Err(invalid(format!("functions and branches nest deeper than {MAX_DEPTH}")));
        }
        self.scopes.push(scope);
        let outcome = body(self).map(|()| results.map(|n| self.lookup(n).cloned().unwrap_or(Slot::Unknown)).collect());
        self.scopes.pop();
        Ok(outcome?)
    }
}

/// Operators that the walk itself knows.
pub fn is_control(domain: &str, op: &str) -> bool {
    domain.is_empty() && (matches!(op, "If" | "Loop" | "Scan") || lower::sequence::is_sequence(op))
}

/// Of the sorted nodes those that the results need, and every name that is read.
fn live<'n>(nodes: &'n [NodeProto], order: &[usize], results: &[&'n str]) -> (Vec<usize>, HashSet<&'n str>) {
    let mut needed: HashSet<&str> = results.iter().copied().collect();
    let mut live = vec![];
    for &i in order.iter().rev() {
        if nodes[i].output.iter().any(|o| !o.is_empty() && needed.contains(o.as_str())) {
            needed.extend(reads(&nodes[i]));
            live.push(i);
        }
    }
    live.reverse();
    (live, needed)
}
