//! Execution order. In: the nodes of a graph, in any order. Out: indices in an order that can run. Promise: every name is written
//! once and before it is read; a true cycle is an error that names its nodes.

use super::proto::bodies;
use crate::error::{Error, Result};
use onnx_ir::{GraphProto, NodeProto};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};

/// How errors call a node: its name, or its operator and place.
pub fn label(node: &NodeProto, index: usize) -> String {
    if node.name.is_empty() { format!("{}#{index}", node.op_type) } else { node.name.clone() }
}

/// Values that a node reads: its inputs, and what the bodies inside it take from around them.
pub fn reads(node: &NodeProto) -> HashSet<&str> {
    let mut names: HashSet<&str> = node.input.iter().map(String::as_str).filter(|n| !n.is_empty()).collect();
    for body in node.attribute.iter().flat_map(bodies) {
        names.extend(free(body));
    }
    names
}

/// Names that a body reads and does not define.
fn free(body: &GraphProto) -> HashSet<&str> {
    let mut names: HashSet<&str> = body.node.iter().flat_map(reads).collect();
    names.extend(body.output.iter().map(|o| o.name.as_str()));
    for own in body.initializer.iter().map(|t| t.name.as_str()).chain(body.input.iter().map(|i| i.name.as_str())) {
        names.remove(own);
    }
    for own in body.node.iter().flat_map(|n| &n.output) {
        names.remove(own.as_str());
    }
    names
}

/// Sorts nodes, keeping the given order wherever it can run. `outer` says which names exist before the first node.
pub fn sort(nodes: &[NodeProto], outer: &dyn Fn(&str) -> bool) -> Result<Vec<usize>> {
    let writers = writers(nodes, outer)?;
    let mut waits = vec![0usize; nodes.len()];
    let mut readers: Vec<Vec<usize>> = vec![vec![]; nodes.len()];
    let mut missing = vec![];
    for (i, node) in nodes.iter().enumerate() {
        for name in reads(node) {
            match writers.get(name) {
                Some(&w) => {
                    waits[i] += 1;
                    readers[w].push(i);
                }
                None if outer(name) => {}
                None => missing.push(format!("'{name}' (read by {})", label(node, i))),
            }
        }
    }
    if !missing.is_empty() {
        missing.sort();
        return Err(Error::new("import", format!("values that nothing writes: {}", missing.join(", "))));
    }
    let mut ready: BinaryHeap<Reverse<usize>> = (0..nodes.len()).filter(|i| waits[*i] == 0).map(Reverse).collect();
    let mut order = Vec::with_capacity(nodes.len());
    while let Some(Reverse(i)) = ready.pop() {
        order.push(i);
        for &r in &readers[i] {
            waits[r] -= 1;
            if waits[r] == 0 {
                ready.push(Reverse(r));
            }
        }
    }
    if order.len() < nodes.len() {
        return Err(cycle(nodes, &writers, &waits));
    }
    Ok(order)
}

/// Which node writes each name; all names written twice in one error.
fn writers<'a>(nodes: &'a [NodeProto], outer: &dyn Fn(&str) -> bool) -> Result<HashMap<&'a str, usize>> {
    let mut writers: HashMap<&str, usize> = HashMap::new();
    let mut twice = vec![];
    for (i, node) in nodes.iter().enumerate() {
        for name in node.output.iter().map(String::as_str).filter(|n| !n.is_empty()) {
            if let Some(first) = writers.insert(name, i) {
                twice.push(format!("'{name}' by {} and {}", label(&nodes[first], first), label(node, i)));
            } else if outer(name) {
                twice.push(format!("'{name}' by {}, and it is an input or initializer", label(node, i)));
            }
        }
    }
    if twice.is_empty() {
        return Ok(writers);
    }
    Err(Error::new("import", format!("values written more than once: {}", twice.join(", "))))
}

/// Names the nodes of one cycle among those that never became ready.
fn cycle(nodes: &[NodeProto], writers: &HashMap<&str, usize>, waits: &[usize]) -> Error {
    let stuck = |i: usize| waits[i] > 0;
    // Every stuck node reads from a stuck node, so walking backwards must meet a node again.
    let before = |i: usize| {
        let mut from: Vec<usize> =
            reads(&nodes[i]).iter().filter_map(|n| writers.get(n).copied()).filter(|w| stuck(*w)).collect();
        from.sort();
        from.first().copied()
    };
    let mut path: Vec<usize> = (0..nodes.len()).find(|i| stuck(*i)).into_iter().collect();
    while let Some(next) = path.last().and_then(|i| before(*i)) {
        if let Some(start) = path.iter().position(|i| *i == next) {
            let mut names: Vec<String> = path[start..].iter().rev().map(|i| label(&nodes[*i], *i)).collect();
            names.push(names[0].clone());
            return Error::new("import", format!("the graph has a cycle: {}", names.join(" -> ")));
        }
        path.push(next);
    }
    Error::new("import", "the graph has a cycle")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, inputs: &[&str], outputs: &[&str]) -> NodeProto {
        NodeProto {
            name: name.into(),
            op_type: "Add".into(),
            input: inputs.iter().map(|s| s.to_string()).collect(),
            output: outputs.iter().map(|s| s.to_string()).collect(),
            ..Default::default()
        }
    }

    fn x(name: &str) -> bool {
        name == "x"
    }

    #[test]
    fn sorted_nodes_stay_and_unsorted_ones_move_as_little_as_possible() {
        let nodes = [node("a", &["x"], &["1"]), node("b", &["1"], &["2"]), node("c", &["x"], &["3"])];
        assert_eq!(sort(&nodes, &x).unwrap(), [0, 1, 2]);
        let nodes = [node("b", &["1"], &["2"]), node("c", &["2"], &["3"]), node("a", &["x"], &["1"])];
        assert_eq!(sort(&nodes, &x).unwrap(), [2, 0, 1]);
    }

    #[test]
    fn a_cycle_names_its_nodes_and_no_others() {
        let nodes = [
            node("head", &["x", "3"], &["0"]),
            node("a", &["x", "3"], &["1"]),
            node("b", &["1"], &["2"]),
            node("c", &["2"], &["3"]),
            node("tail", &["0"], &["4"]),
        ];
        let e = sort(&nodes, &x).unwrap_err().to_string();
        assert!(
            e.contains("a -> b -> c -> a") || e.contains("b -> c -> a -> b") || e.contains("c -> a -> b -> c"),
            "{e}"
        );
        assert!(!e.contains("head") && !e.contains("tail"), "{e}");
    }

    #[test]
    fn every_double_write_is_listed() {
        let nodes = [node("a", &["x"], &["1"]), node("b", &["x"], &["1"]), node("c", &["x"], &["x"])];
        let e = sort(&nodes, &x).unwrap_err().to_string();
        assert!(e.contains("'1' by a and b") && e.contains("'x' by c"), "{e}");
    }

    #[test]
    fn every_unwritten_value_is_listed_with_its_reader() {
        let nodes = [node("a", &["x", "ghost"], &["1"]), node("", &["wraith"], &["2"])];
        let e = sort(&nodes, &x).unwrap_err().to_string();
        assert!(e.contains("'ghost' (read by a)") && e.contains("'wraith' (read by Add#1)"), "{e}");
    }

    #[test]
    fn absent_optional_inputs_and_outputs_are_not_names() {
        let nodes = [node("a", &["x", "", ""], &["1", ""]), node("b", &["1", ""], &["2", ""])];
        assert_eq!(sort(&nodes, &x).unwrap(), [0, 1]);
    }
}
