//! The oracle: a plain interpreter. In: a graph and its inputs. Out: its outputs. Promise: integers exact, floats in f32 (f64
//! where the graph says so), no cleverness.

use super::{DType, Graph, Op, Tensor};
use crate::error::{Error, Result};
use std::collections::HashMap;

/// A value at run time.
#[derive(Clone, PartialEq, Debug)]
pub struct Array {
    pub dtype: DType,
    pub shape: Vec<usize>,
    pub data: Values,
}

/// Storage by kind: F32, F16 and BF16 as f32 (rounded to the type when a value is made), F64 as f64, all integers as i64 in
/// their type's range (U64 as its bits), Bool as bool.
#[derive(Clone, PartialEq, Debug)]
pub enum Values {
    F32(Vec<f32>),
    F64(Vec<f64>),
    Int(Vec<i64>),
    Bool(Vec<bool>),
}

impl Array {
    pub fn from_tensor(_t: &Tensor) -> Result<Array> {
        Err(Error::new("eval", "not written yet"))
    }

    pub fn to_tensor(&self) -> Tensor {
        Tensor::from_bytes(self.dtype, vec![0], vec![])
    }
}

/// Runs one operator.
pub fn node(op: &Op, _inputs: &[Option<&Array>]) -> Result<Vec<Array>> {
    Err(Error::new("eval", format!("no rule for {op:?}")))
}

/// Runs a graph. `inputs` holds graph inputs and state inputs by name; the result, outputs by name and state outputs by the
/// name of their input.
pub fn run(_graph: &Graph, _inputs: &HashMap<String, Array>) -> Result<HashMap<String, Array>> {
    Err(Error::new("eval", "not written yet"))
}
