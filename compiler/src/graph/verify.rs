//! Invariants. In: a graph. Out: nothing, or the first breach. Promise: runs between all passes, in release builds too.

use super::{Def, Graph, Node, Ty, ValueId, infer};
use crate::error::{Error, Result};
use std::collections::HashSet;

/// Checks that every value is written once, before it is read, with the type that `infer` gives; that inputs, outputs and
/// states are what they claim; and that constants hold as many bytes as their type says.
pub fn verify(graph: &Graph) -> Result<()> {
    let check = Check { graph };
    let mut known = check.sources()?;
    for (i, node) in graph.nodes.iter().enumerate() {
        let place = if node.name.is_empty() { format!("node {i}") } else { node.name.clone() };
        check.node(node, &mut known).map_err(|e| e.at(place))?;
    }
    check.ends(&known)
}

struct Check<'a> {
    graph: &'a Graph,
}

fn breach(what: impl Into<String>) -> Error {
    Error::new("verify", what)
}

impl Check<'_> {
    fn exists(&self, v: ValueId) -> Result<()> {
        match self.graph.values.len() > v.0 as usize {
            true => Ok(()),
            false => Err(breach(format!("value {} does not exist", v.0))),
        }
    }

    /// How errors call a value.
    fn name(&self, v: ValueId) -> String {
        format!("'{}' (value {})", self.graph.value(v).name, v.0)
    }

    /// Inputs and constants: what is known before the first node.
    fn sources(&self) -> Result<Vec<bool>> {
        let graph = self.graph;
        let mut known = vec![false; graph.values.len()];
        let mut names = HashSet::new();
        for v in graph.inputs.iter().copied().chain(graph.states.iter().map(|s| s.input)) {
            self.exists(v)?;
            if !matches!(graph.value(v).def, Def::Input) {
                return Err(breach(format!("{} is listed as an input and is none", self.name(v))));
            }
            if std::mem::replace(&mut known[v.0 as usize], true) {
                return Err(breach(format!("{} is listed twice as an input", self.name(v))));
            }
            if !names.insert(graph.value(v).name.as_str()) {
                return Err(breach(format!("two inputs are called '{}'", graph.value(v).name)));
            }
        }
        for (i, value) in graph.values.iter().enumerate() {
            if let Def::Const(t) = &value.def {
                self.constant(ValueId(i as u32), t)?;
                known[i] = true;
            }
        }
        Ok(known)
    }

    fn constant(&self, v: ValueId, t: &super::Tensor) -> Result<()> {
        let ty = self.graph.ty(v);
        if (t.dtype, &t.shape) != (ty.dtype, &ty.shape) {
            let held = Ty { dtype: t.dtype, shape: t.shape.clone() };
            return Err(breach(format!("{} is {ty}, its data is {held}", self.name(v))));
        }
        if let super::Data::Bytes(_, range) = &t.data
            && range.len() != ty.bytes()
        {
            return Err(breach(format!("{} needs {} bytes, has {}", self.name(v), ty.bytes(), range.len())));
        }
        Ok(())
    }

    fn node(&self, node: &Node, known: &mut [bool]) -> Result<()> {
        for &v in node.inputs.iter().flatten() {
            self.exists(v)?;
            if !known[v.0 as usize] {
                let why = match self.graph.value(v).def {
                    Def::Input => "an input that the graph does not list",
                    _ => "not written before",
                };
                return Err(breach(format!("reads {}, {why}", self.name(v))));
            }
        }
        let types: Vec<Option<&Ty>> = node.inputs.iter().map(|i| i.map(|v| self.graph.ty(v))).collect();
        let want = infer(&node.op, &types)?;
        if want.len() != node.outputs.len() {
            return Err(breach(format!(
                "{} makes {} outputs, the node lists {}",
                node.op.name(),
                want.len(),
                node.outputs.len()
            )));
        }
        for (&v, ty) in node.outputs.iter().zip(&want) {
            self.exists(v)?;
            if !matches!(self.graph.value(v).def, Def::Node) {
                return Err(breach(format!("writes {}, which is an input or a constant", self.name(v))));
            }
            if std::mem::replace(&mut known[v.0 as usize], true) {
                return Err(breach(format!("writes {} a second time", self.name(v))));
            }
            if self.graph.ty(v) != ty {
                return Err(breach(format!("{} is {}, the operator makes {ty}", self.name(v), self.graph.ty(v))));
            }
        }
        Ok(())
    }

    /// Outputs and states.
    fn ends(&self, known: &[bool]) -> Result<()> {
        let graph = self.graph;
        let mut names = HashSet::new();
        for out in &graph.outputs {
            self.exists(out.value)?;
            if !known[out.value.0 as usize] {
                return Err(breach(format!("output '{}' is never written", out.name)));
            }
            if !names.insert(out.name.as_str()) {
                return Err(breach(format!("two outputs are called '{}'", out.name)));
            }
        }
        let mut written = HashSet::new();
        for state in &graph.states {
            self.exists(state.output)?;
            let name = self.name(state.input);
            if !known[state.output.0 as usize] {
                return Err(breach(format!("state {name} is never written")));
            }
            let (held, left) = (graph.ty(state.input), graph.ty(state.output));
            if held != left {
                return Err(breach(format!("state {name} is {held} and becomes {left}")));
            }
            if !written.insert(state.output) {
                return Err(breach(format!("state {name} shares its output with another")));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{BinaryOp, DType, Op, Output, State, Tensor, UnaryOp, parse};

    fn graph() -> Graph {
        let text = "input %x: f32[2]\nstate %old: f32[2] -> %new\nconst %c: f32[] = 2\n\
                    %y = Mul(%x, %c)\n%new = Add(%old, %y)\noutput %y";
        parse(text).unwrap()
    }

    fn said(g: &Graph) -> String {
        verify(g).unwrap_err().to_string()
    }

    #[test]
    fn a_sound_graph_passes() {
        verify(&graph()).unwrap();
        verify(&Graph::default()).unwrap();
    }

    #[test]
    fn nodes_must_stand_after_what_they_read() {
        let mut g = graph();
        g.nodes.swap(0, 1);
        assert!(said(&g).contains("reads 'y' (value 3), not written before"), "{}", said(&g));
    }

    #[test]
    fn a_value_is_written_once() {
        let mut g = graph();
        let again = g.nodes[0].clone();
        g.nodes.push(again);
        assert!(said(&g).contains("y: writes 'y' (value 3) a second time"), "{}", said(&g));
    }

    #[test]
    fn inputs_and_constants_are_not_written() {
        let mut g = graph();
        g.nodes[0].outputs[0] = g.inputs[0];
        assert!(said(&g).contains("which is an input or a constant"), "{}", said(&g));
    }

    #[test]
    fn types_are_those_that_infer_gives() {
        let mut g = graph();
        g.values[3].ty.shape = vec![3];
        assert!(said(&g).contains("is f32[3], the operator makes f32[2]"), "{}", said(&g));
        let mut g = graph();
        g.nodes[0].op = Op::Unary(UnaryOp::Exp);
        assert!(said(&g).contains("takes 1 inputs, has 2"), "{}", said(&g));
        g.nodes[0].op = Op::Binary(BinaryOp::Less);
        assert!(said(&g).contains("is f32[2], the operator makes bool[2]"), "{}", said(&g));
    }

    #[test]
    fn inputs_are_listed_and_stand_alone() {
        let mut g = graph();
        g.inputs.clear();
        assert!(said(&g).contains("an input that the graph does not list"), "{}", said(&g));
        let mut g = graph();
        g.inputs.push(g.inputs[0]);
        assert!(said(&g).contains("listed twice"), "{}", said(&g));
        let mut g = graph();
        g.values[1].name = "x".into();
        assert!(said(&g).contains("two inputs are called 'x'"), "{}", said(&g));
        let mut g = graph();
        g.inputs.push(g.nodes[0].out());
        assert!(said(&g).contains("listed as an input and is none"), "{}", said(&g));
    }

    #[test]
    fn outputs_exist_under_names_of_their_own() {
        let mut g = graph();
        g.outputs.push(g.outputs[0].clone());
        assert!(said(&g).contains("two outputs are called 'y'"), "{}", said(&g));
        let mut g = graph();
        let ghost = g.add_value("ghost", Ty::new(DType::F32, &[]), Def::Node);
        g.outputs.push(Output { name: "z".into(), value: ghost });
        assert!(said(&g).contains("output 'z' is never written"), "{}", said(&g));
        g.outputs[1].value = ValueId(99);
        assert!(said(&g).contains("value 99 does not exist"), "{}", said(&g));
    }

    #[test]
    fn a_state_keeps_its_type_and_its_output() {
        let mut g = graph();
        let half = g.push(Op::Cast { to: DType::F16 }, &[Some(g.states[0].output)], "half").unwrap()[0];
        g.states[0].output = half;
        assert!(said(&g).contains("is f32[2] and becomes f16[2]"), "{}", said(&g));
        let mut g = graph();
        let second = g.add_value("more", Ty::new(DType::F32, &[2]), Def::Input);
        g.states.push(State { input: second, output: g.states[0].output });
        assert!(said(&g).contains("shares its output"), "{}", said(&g));
    }

    #[test]
    fn constants_hold_what_their_type_says() {
        let mut g = graph();
        g.values[2].def = Def::Const(Tensor::f32(&[1], &[2.0]));
        assert!(said(&g).contains("is f32[], its data is f32[1]"), "{}", said(&g));
        let short = Tensor { dtype: DType::F32, shape: vec![], ..Tensor::from_bytes(DType::U8, vec![1], vec![0]) };
        g.values[2].def = Def::Const(short);
        assert!(said(&g).contains("needs 4 bytes, has 1"), "{}", said(&g));
    }
}
