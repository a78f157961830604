//! Tests of the front end as a whole: real exports against their references, small hand-made models against their meaning.

mod build;
mod control;
mod fixtures;
mod hostile;
mod models;
mod npz;
mod reports;
mod weights;

use crate::graph::eval::{Array, Values, run};
use crate::graph::{DType, Graph};
use crate::import::{Options, load};
use std::collections::HashMap;
use std::path::PathBuf;

/// A file of tests/data.
fn data(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/data").join(path)
}

fn options(bind: &[(&str, usize)]) -> Options {
    Options { bind: bind.iter().map(|(k, v)| (k.to_string(), *v)).collect(), ..Options::default() }
}

fn import(path: &str, bind: &[(&str, usize)]) -> Graph {
    load(&data(path), &options(bind)).unwrap_or_else(|e| panic!("{e}"))
}

fn f32s(a: &Array) -> &[f32] {
    match &a.data {
        Values::F32(v) => v,
        other => panic!("not f32: {other:?}"),
    }
}

fn i64s(shape: &[usize], values: &[i64]) -> Array {
    Array::new(DType::I64, shape.to_vec(), Values::Int(values.to_vec()))
}

fn floats(shape: &[usize], values: Vec<f32>) -> Array {
    Array::new(DType::F32, shape.to_vec(), Values::F32(values))
}

/// Largest absolute difference; different lengths or a NaN count as infinite.
fn apart(a: &[f32], b: &[f32]) -> f32 {
    if a.len() != b.len() {
        return f32::INFINITY;
    }
    a.iter().zip(b).fold(0.0, |m, (x, y)| if (x - y).is_nan() { f32::INFINITY } else { m.max((x - y).abs()) })
}

fn eval(graph: &Graph, inputs: HashMap<String, Array>) -> HashMap<String, Array> {
    run(graph, &inputs).unwrap_or_else(|e| panic!("{e}"))
}
