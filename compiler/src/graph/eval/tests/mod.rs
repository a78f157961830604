//! Sentences about the oracle. Each file covers the family it is named after.

mod elementwise;
mod fused;
mod movement;
mod product;
mod reduce;
mod run;

use super::{Array, Values, node};
use crate::graph::{DType, Op};

/// The only output of an operator that must succeed.
fn one(op: Op, inputs: &[&Array]) -> Array {
    let inputs: Vec<Option<&Array>> = inputs.iter().map(|a| Some(*a)).collect();
    node(&op, &inputs).unwrap().remove(0)
}

/// The message of an operator that must fail.
fn refusal(op: Op, inputs: &[&Array]) -> String {
    let inputs: Vec<Option<&Array>> = inputs.iter().map(|a| Some(*a)).collect();
    node(&op, &inputs).unwrap_err().to_string()
}

fn ints(dtype: DType, values: &[i64]) -> Array {
    Array::new(dtype, vec![values.len()], Values::Int(values.to_vec()))
}

fn floats(dtype: DType, values: &[f32]) -> Array {
    Array::new(dtype, vec![values.len()], Values::F32(values.to_vec()))
}

/// 0, 1, 2, .. as f32.
fn counting(shape: &[usize]) -> Array {
    let n: usize = shape.iter().product();
    Array::f32(shape, &(0..n).map(|i| i as f32).collect::<Vec<_>>())
}
