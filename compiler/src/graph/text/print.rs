//! Graph to text. In: a graph. Out: its text. Promise: the same whether or not weights are at hand, and stable.

use super::{INLINE, attrs, is_identifier};
use crate::graph::eval::{Array, Values};
use crate::graph::{Activations, DType, Def, Graph, Node, Tensor, ValueId};
use std::collections::{HashMap, HashSet};
use std::fmt::Write;

/// The text of a graph. Values that nothing reads or writes are left out.
pub fn print(graph: &Graph) -> String {
    let order = order(graph);
    let names = identifiers(graph, &order);
    let id = |v: ValueId| names.get(&v).map_or("_", String::as_str);
    let mut lines = vec![(format!("graph {}", quoted(&graph.name)), None)];
    if graph.activations != Activations::default() {
        lines.push((format!("activations {}", graph.activations.name()), None));
    }
    for &v in &graph.inputs {
        lines.push((format!("input %{}: {}", id(v), graph.ty(v)), note(graph, v, id(v))));
    }
    for state in &graph.states {
        let (v, ty) = (state.input, graph.ty(state.input));
        lines.push((format!("state %{}: {ty} -> %{}", id(v), id(state.output)), note(graph, v, id(v))));
    }
    for &v in &order {
        if let Def::Const(t) = &graph.value(v).def {
            lines.push((format!("const %{}: {} = {}", id(v), graph.ty(v), data(t)), note(graph, v, id(v))));
        }
    }
    for node in &graph.nodes {
        lines.push((operation(graph, node, &id), node_note(graph, node, &id)));
    }
    for out in &graph.outputs {
        let same = graph.value(out.value).name == out.name;
        lines.push((format!("output %{}", id(out.value)), (!same).then(|| quoted(&out.name))));
    }
    let mut text = String::new();
    for (line, note) in lines {
        text.push_str(&line);
        if let Some(note) = note {
            let _ = write!(text, "  # {note}");
        }
        text.push('\n');
    }
    text
}

/// Every value that the text shows, in the order of its lines.
fn order(graph: &Graph) -> Vec<ValueId> {
    let mut order = Vec::new();
    let mut seen = HashSet::new();
    let mut add = |v: ValueId| {
        if seen.insert(v) {
            order.push(v);
        }
    };
    graph.inputs.iter().copied().chain(graph.states.iter().map(|s| s.input)).for_each(&mut add);
    let is_const = |v: &ValueId| matches!(graph.value(*v).def, Def::Const(_));
    let reads = graph.nodes.iter().flat_map(|n| n.inputs.iter().flatten().copied());
    let ends = graph.outputs.iter().map(|o| o.value).chain(graph.states.iter().map(|s| s.output));
    reads.chain(ends).filter(is_const).for_each(&mut add);
    graph.nodes.iter().flat_map(|n| n.outputs.iter().copied()).for_each(&mut add);
    order
}

/// The value's own name where it is short and its own, else a number.
fn identifiers(graph: &Graph, order: &[ValueId]) -> HashMap<ValueId, String> {
    let mut count: HashMap<&str, usize> = HashMap::new();
    for &v in order {
        *count.entry(&graph.value(v).name).or_default() += 1;
    }
    let mut next = 0;
    let mut names = HashMap::new();
    for &v in order {
        let name = &graph.value(v).name;
        let own = is_identifier(name) && count.get(name.as_str()) == Some(&1);
        let id = if own {
            name.clone()
        } else {
            next += 1;
            (next - 1).to_string()
        };
        names.insert(v, id);
    }
    names
}

/// A name as a comment holds it: bare, or a JSON string where it has spaces or the like.
fn quoted(name: &str) -> String {
    let bare = !name.is_empty() && !name.contains(['"', ',', '\\', '#']) && name != "->";
    match bare && name.chars().all(|c| !c.is_whitespace() && !c.is_control()) {
        true => name.to_string(),
        false => serde_json::Value::from(name).to_string(),
    }
}

fn note(graph: &Graph, v: ValueId, id: &str) -> Option<String> {
    let name = &graph.value(v).name;
    (name != id).then(|| quoted(name))
}

/// The node's name, then its outputs' names where the reader could not derive them.
fn node_note<'a>(graph: &Graph, node: &Node, id: &impl Fn(ValueId) -> &'a str) -> Option<String> {
    let derivable = |(i, &v): (usize, &ValueId)| {
        let name = &graph.value(v).name;
        name == id(v) || *name == derived(&node.name, i, node.outputs.len())
    };
    if !node.outputs.iter().enumerate().all(derivable) {
        let all: Vec<String> = node.outputs.iter().map(|&v| quoted(&graph.value(v).name)).collect();
        return Some(format!("{} -> {}", quoted(&node.name), all.join(", ")));
    }
    let first = node.outputs.first().map(|&v| id(v));
    (first != Some(&node.name)).then(|| quoted(&node.name))
}

/// The name that output `i` of `count` gets from its node.
pub(super) fn derived(node: &str, i: usize, count: usize) -> String {
    if count > 1 { format!("{node}.{i}") } else { node.to_string() }
}

fn operation<'a>(graph: &Graph, node: &Node, id: &impl Fn(ValueId) -> &'a str) -> String {
    let outputs: Vec<String> = node.outputs.iter().map(|&v| format!("%{}: {}", id(v), graph.ty(v))).collect();
    let inputs: Vec<String> = node.inputs.iter().map(|i| i.map_or("_".into(), |v| format!("%{}", id(v)))).collect();
    let mut line = format!("{} = {}({})", outputs.join(", "), node.op.name(), inputs.join(", "));
    for (key, value) in attrs::pairs(&node.op).0 {
        line += &if value.is_empty() { format!(" {key}") } else { format!(" {key}={value}") };
    }
    line
}

fn data(t: &Tensor) -> String {
    if let Some(quant) = t.quant() {
        return quant.name();
    }
    let small = t.len() <= INLINE && !t.is_absent();
    let Some(array) = small.then(|| Array::from_tensor(t).ok()).flatten() else {
        return super::ELIDED.into();
    };
    let items: Vec<String> = match &array.data {
        Values::F32(v) => v.iter().map(|x| format!("{x:?}")).collect(),
        Values::F64(v) => v.iter().map(|x| format!("{x:?}")).collect(),
        Values::Int(v) if t.dtype == DType::U64 => v.iter().map(|&x| (x as u64).to_string()).collect(),
        Values::Int(v) => v.iter().map(i64::to_string).collect(),
        Values::Bool(v) => v.iter().map(bool::to_string).collect(),
    };
    if t.shape.is_empty() { items.concat() } else { format!("[{}]", items.join(",")) }
}
