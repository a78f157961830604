//! Leftovers. In: a graph after folding. Out: the same without nodes and values that nothing reads. Promise: inputs and outputs
//! stay, in order and under their names.

use crate::graph::{Graph, Value, ValueId};

/// Drops what no output needs and numbers the values anew.
pub fn sweep(mut graph: Graph) -> Graph {
    let mut live = vec![false; graph.values.len()];
    for id in graph.inputs.iter().copied().chain(graph.outputs.iter().map(|o| o.value)) {
        live[id.0 as usize] = true;
    }
    let mut kept = vec![];
    for node in std::mem::take(&mut graph.nodes).into_iter().rev() {
        if node.outputs.iter().any(|o| live[o.0 as usize]) {
            for id in node.inputs.iter().flatten().chain(&node.outputs) {
                live[id.0 as usize] = true;
            }
            kept.push(node);
        }
    }
    kept.reverse();
    let mut new_id = vec![ValueId(0); graph.values.len()];
    let mut values: Vec<Value> = vec![];
    for (i, value) in std::mem::take(&mut graph.values).into_iter().enumerate().filter(|(i, _)| live[*i]) {
        new_id[i] = ValueId(values.len() as u32);
        values.push(value);
    }
    let renumber = |id: &mut ValueId| *id = new_id[id.0 as usize];
    for node in &mut kept {
        node.inputs.iter_mut().flatten().for_each(renumber);
        node.outputs.iter_mut().for_each(renumber);
    }
    graph.inputs.iter_mut().for_each(renumber);
    graph.outputs.iter_mut().for_each(|o| renumber(&mut o.value));
    graph.values = values;
    graph.nodes = kept;
    graph
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{DType, Def, Node, Op, Output, Ty, UnaryOp};

    #[test]
    fn what_nothing_reads_goes_and_the_rest_is_numbered_anew() {
        let mut g = Graph::default();
        let unused = g.add_input("unused", Ty::new(DType::F32, &[1]));
        let ty = Ty::new(DType::F32, &[1]);
        let dead = g.add_value("dead", ty.clone(), Def::Node);
        let x = g.add_input("x", ty.clone());
        let y = g.add_value("y", ty, Def::Node);
        for (out, name) in [(dead, "n0"), (y, "n1")] {
            let op = Op::Unary(UnaryOp::Exp);
            g.nodes.push(Node { op, inputs: vec![Some(x)], outputs: vec![out], name: name.into() });
        }
        g.outputs.push(Output { name: "y".into(), value: y });
        let g = sweep(g);
        let names: Vec<&str> = g.values.iter().map(|v| v.name.as_str()).collect();
        assert_eq!(names, ["unused", "x", "y"]);
        assert_eq!((g.inputs[0], g.nodes.len(), g.nodes[0].inputs[0]), (unused, 1, Some(ValueId(1))));
        assert_eq!(g.outputs[0].value, ValueId(2));
    }
}
