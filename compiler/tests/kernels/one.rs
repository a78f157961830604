//! One node on the interpreter and on the device. In: an operator and its operands. Out: nothing, or the difference. Promise: random
//! operands are the same every time.

use crate::device::{Arrays, Bound, check};
use crate::nodes::Random;
use onnxcast::graph::eval::{Array, Values};
use onnxcast::graph::{DType, Graph, Op, Output, Ty};
use onnxcast::plan::Precision;

pub const LOOSE: Bound = Bound { absolute: 2e-5, relative: 1e-4 };

/// A one-node graph over inputs `x0`, `x1`.. of these arrays (None: an absent operand), run on both and compared.
pub fn one(op: Op, arrays: &[Option<Array>], bound: Bound) {
    let mut graph = Graph { name: "one".into(), ..Graph::default() };
    let mut inputs = Arrays::new();
    let mut operands = Vec::new();
    for (i, array) in arrays.iter().enumerate() {
        operands.push(array.as_ref().map(|a| {
            inputs.insert(format!("x{i}"), a.clone());
            graph.add_input(format!("x{i}"), a.ty())
        }));
    }
    let what = format!("{op:?} of {:?}", arrays.iter().flatten().map(|a| (a.dtype, &a.shape)).collect::<Vec<_>>());
    let outputs = graph.push(op, &operands, "node").unwrap_or_else(|e| panic!("{what}: {e}"));
    for (i, value) in outputs.into_iter().enumerate() {
        graph.outputs.push(Output { name: format!("y{i}"), value });
    }
    check(&what, &graph, Precision::Fp32, &inputs, bound);
}

pub fn random(seed: u64, dtype: DType, shape: &[usize]) -> Option<Array> {
    Some(Random::new(seed).array(&Ty::new(dtype, shape)))
}

pub fn floats(seed: u64, shape: &[usize]) -> Option<Array> {
    random(seed, DType::F32, shape)
}

pub fn ints(shape: &[usize], values: &[i64]) -> Option<Array> {
    Some(Array::i64(shape, values))
}

/// Values with the edges of f32 among them.
pub fn edges(scale: f32) -> Option<Array> {
    let mut v: Vec<f32> = Random::new(3).floats(119).iter().map(|x| x * scale).collect();
    v.extend([0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, f32::INFINITY, f32::NEG_INFINITY, f32::NAN]);
    Some(Array::new(DType::F32, vec![v.len()], Values::F32(v)))
}
