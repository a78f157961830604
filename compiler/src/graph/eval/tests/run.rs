use super::*;
use crate::error::Result;
use crate::graph::{BinaryOp, Graph, Output, Tensor, Ty, UnaryOp, ValueId, eval};
use std::collections::HashMap;

/// y = exp(x + 1), and z = -x.
fn graph() -> Result<(Graph, [ValueId; 3])> {
    let mut g = Graph::default();
    let x = g.add_input("x", Ty::new(DType::F32, &[2]));
    let one = g.add_const("one", Tensor::f32(&[], &[1.0]));
    let sum = g.push(Op::Binary(BinaryOp::Add), &[Some(x), Some(one)], "sum")?[0];
    let y = g.push(Op::Unary(UnaryOp::Exp), &[Some(sum)], "exp")?[0];
    let z = g.push(Op::Unary(UnaryOp::Neg), &[Some(x)], "neg")?[0];
    g.outputs = vec![Output { name: "y".into(), value: y }, Output { name: "z".into(), value: z }];
    Ok((g, [x, sum, y]))
}

#[test]
fn a_graph_gives_its_outputs_by_name() {
    let (g, _) = graph().unwrap();
    let out = eval::run(&g, &HashMap::from([("x".into(), Array::f32(&[2], &[-1.0, 0.0]))])).unwrap();
    assert_eq!(out["y"].to_f32(), [1.0, std::f32::consts::E]);
    assert_eq!(out["z"].to_f32(), [1.0, 0.0]);
}

#[test]
fn a_missing_or_misshapen_input_is_named() {
    let (g, _) = graph().unwrap();
    let said = eval::run(&g, &HashMap::new()).unwrap_err().to_string();
    assert!(said.contains("x: the graph's input is missing"), "{said}");
    let said = eval::run(&g, &HashMap::from([("x".into(), counting(&[3]))])).unwrap_err().to_string();
    assert!(said.contains("x: is f32[3], the graph takes f32[2]"), "{said}");
}

#[test]
fn values_computes_only_what_is_wanted_from_any_cut() {
    let (g, [_, sum, y]) = graph().unwrap();
    let out = eval::values(&g, HashMap::from([(sum, Array::f32(&[1], &[0.0]))]), &[y]).unwrap();
    assert_eq!(out[0].to_f32(), [1.0]);
    let said = eval::values(&g, HashMap::new(), &[y]).unwrap_err().to_string();
    assert!(said.contains("not given"), "{said}");
}

#[test]
fn every_type_survives_bytes() {
    for dtype in DType::ALL {
        let a = Array::new(dtype, vec![3], Values::F32(vec![0.0, 1.0, 2.0]));
        assert_eq!(Array::from_tensor(&a.to_tensor()).unwrap(), a, "{dtype}");
        assert_eq!(a.to_bytes().len(), 3 * dtype.bytes());
    }
    let low = ints(DType::U64, &[-1]);
    assert_eq!(Array::from_tensor(&low.to_tensor()).unwrap(), low);
}
