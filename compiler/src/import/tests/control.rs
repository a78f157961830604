//! Branches and loops, in models built here.

use super::build::*;
use super::f32s;
use crate::graph::eval::{Array, run};
use onnx_ir::{GraphProto, TensorProto, ValueInfoProto};
use std::collections::HashMap;

/// The loop doubles `s` and gives what it was before: `most` times, or as long as it says.
fn doubling(most: &str, extra: Vec<ValueInfoProto>, initial: Vec<TensorProto>, condition: &str) -> GraphProto {
    let inputs = vec![value("i", INT, &[]), value("go", BOOL, &[]), value("s", FLOAT, &[2])];
    let body = vec![node("Identity", &[condition], &["on"]), node("Add", &["s", "s"], &["twice"])];
    let mut body = graph(body, inputs, &["on", "twice", "before"]);
    body.node.push(node("Identity", &["s"], &["before"]));
    let repeat = with_graph(node("Loop", &[most, "", "x"], &["y", "steps"]), "body", body);
    let inputs = [value("x", FLOAT, &[2])].into_iter().chain(extra).collect();
    let mut g = graph(vec![repeat], inputs, &["y", "steps"]);
    g.initializer = initial;
    g
}

#[test]
fn a_loop_of_known_length_unrolls_and_stacks_its_scans() {
    let g = import(doubling("n", vec![], vec![scalar("n", INT, &3i64.to_le_bytes())], "go")).unwrap();
    let out = run(&g, &HashMap::from([("x".to_string(), Array::f32(&[2], &[1.0, 3.0]))])).unwrap();
    assert_eq!(f32s(&out["y"]), [8.0, 24.0]);
    assert_eq!((out["steps"].shape.as_slice(), f32s(&out["steps"])), (&[3, 2][..], &[1., 3., 2., 6., 4., 12.][..]));
}

#[test]
fn a_loop_of_length_unknown_is_refused() {
    let said = import(doubling("n", vec![value("n", INT, &[])], vec![], "go")).unwrap_err().to_string();
    assert!(said.contains("its trip count ('n') depends on data"), "{said}");
}

#[test]
fn a_loop_that_data_ends_is_refused() {
    let stop = vec![value("stop", BOOL, &[])];
    let said = import(doubling("", stop, vec![], "stop")).unwrap_err().to_string();
    assert!(said.contains("its condition ('stop') depends on data"), "{said}");
}

#[test]
fn a_loop_without_an_end_is_refused() {
    let said = import(doubling("", vec![], vec![], "go")).unwrap_err().to_string();
    assert!(said.contains("it runs more than 4096 times"), "{said}");
}

#[test]
fn a_branch_is_taken_when_its_condition_is_known() {
    let side = |op: &str| graph(vec![node(op, &["x"], &["r"])], vec![], &["r"]);
    let choose =
        with_graph(with_graph(node("If", &["c"], &["y"]), "then_branch", side("Neg")), "else_branch", side("Abs"));
    let mut g = graph(vec![choose], vec![value("x", FLOAT, &[1])], &["y"]);
    g.initializer = vec![scalar("c", BOOL, &[1])];
    let g = import(g).unwrap();
    let out = run(&g, &HashMap::from([("x".to_string(), Array::f32(&[1], &[2.0]))])).unwrap();
    assert_eq!(f32s(&out["y"]), [-2.0]);
}
