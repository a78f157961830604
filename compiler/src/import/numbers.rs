//! Inputs that are one whole number. In: a model, numbers by name. Out: those inputs as constants. Promise: a shape that is made of such a
//! number, as a policy that makes room for so many tokens has it, is known when compiling; nothing else becomes a constant.

use super::Bindings;
use super::bind::{Dim, declared};
use super::proto::Model;
use crate::graph::{DType, Tensor};
use std::collections::BTreeMap;

/// ONNX's numbers of int64 and int32.
const INTEGERS: [(i32, DType); 2] = [(7, DType::I64), (6, DType::I32)];

/// Names, types and shapes of the inputs that are one integer.
fn ones(model: &Model) -> Vec<(String, DType, Vec<usize>)> {
    let one = |info| {
        let d = declared(info).ok()?;
        let dtype = INTEGERS.iter().find(|(code, _)| *code == d.data_type)?.1;
        let dims = d.dims?;
        let single = dims.iter().all(|dim| matches!(dim, Dim::Fixed(1)));
        (single && dims.len() <= 1).then(|| (d.name, dtype, vec![1; dims.len()]))
    };
    model.proto.graph.input.iter().filter_map(one).collect()
}

/// Their names.
pub fn names(model: &Model) -> Vec<String> {
    ones(model).into_iter().map(|(name, _, _)| name).collect()
}

/// Those that `bind` gives a number.
pub fn constants(model: &Model, bind: &Bindings) -> BTreeMap<String, Tensor> {
    let named = ones(model).into_iter().filter_map(|(name, dtype, shape)| Some((bind.get(&name)?, name, dtype, shape)));
    let tensor = |(n, name, dtype, shape): (&usize, String, DType, Vec<usize>)| {
        let bytes = (*n as u64).to_le_bytes()[..dtype.bytes()].to_vec();
        (name, Tensor::from_bytes(dtype, shape, bytes))
    };
    named.map(tensor).collect()
}
