//! Graphviz. In: a graph. Out: its nodes and the values between them. Promise: weights are left out, ONNX names stay.

use crate::graph::{Graph, ValueId};
use std::fmt::Write;

/// The graph as graphviz text.
pub fn dot(graph: &Graph, title: &str) -> String {
    let mut out = format!("digraph {} {{\n  rankdir=TB; node [shape=box, fontname=monospace];\n", quoted(title));
    let producers = graph.producers();
    let name = |v: ValueId| match producers.get(&v) {
        Some(i) => format!("n{i}"),
        None => format!("v{}", v.0),
    };
    let states = graph.states.iter().map(|s| s.input);
    for v in graph.inputs.iter().copied().chain(states) {
        let label = format!("{} {}", graph.value(v).name, graph.ty(v));
        let _ = writeln!(out, "  v{} [label={}, shape=ellipse];", v.0, quoted(&label));
    }
    for (i, node) in graph.nodes.iter().enumerate() {
        let op: String = format!("{:?}", node.op).chars().take_while(|c| c.is_alphanumeric()).collect();
        let _ = writeln!(out, "  n{i} [label={}];", quoted(&format!("{op}\n{}", node.name)));
        for &v in node.inputs.iter().flatten().filter(|v| graph.constant(**v).is_none()) {
            let _ = writeln!(out, "  {} -> n{i} [label={}];", name(v), quoted(&graph.ty(v).to_string()));
        }
    }
    for (i, o) in graph.outputs.iter().enumerate() {
        let _ = writeln!(out, "  o{i} [label={}, shape=ellipse];", quoted(&o.name));
        let _ = writeln!(out, "  {} -> o{i} [label={}];", name(o.value), quoted(&graph.ty(o.value).to_string()));
    }
    out + "}\n"
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}
