//! Operators of com.microsoft, one by one: the interpreter against what onnxruntime gave (tests/data/contrib/ops, tools/contrib.py).

use onnxcast::graph::DType;
use onnxcast::graph::eval::{self, Array, Values};
use onnxcast::import::{self, Options};
use onnxcast_runtime::{array, npz};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/contrib/ops")
}

/// Every case, by name.
fn cases() -> Vec<String> {
    let files = std::fs::read_dir(folder()).unwrap().map(|f| f.unwrap().path());
    let names = files.filter(|p| p.extension().is_some_and(|e| e == "onnx"));
    let mut names: Vec<String> = names.map(|p| p.file_stem().unwrap().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// An array of the file in the type that the graph takes.
fn given(of: &array::Array, dtype: DType) -> Array {
    let numbers = of.data.to_f64();
    let data = match dtype.is_float() {
        true => Values::F64(numbers),
        false => Values::Int(numbers.iter().map(|x| *x as i64).collect()),
    };
    Array::new(dtype, of.shape.clone(), data)
}

/// Largest difference of an output from the reference, and the bound: a few roundings of the output's type.
fn compare(name: &str) -> Result<(), String> {
    let graph = import::load(&folder().join(format!("{name}.onnx")), &Options::default()).map_err(|e| e.to_string())?;
    let arrays = npz::read(&folder().join(format!("{name}.npz"))).unwrap();
    let array = |key: &str| arrays.iter().find(|(n, _)| n == key).map(|(_, a)| a);
    let mut inputs = HashMap::new();
    for v in &graph.inputs {
        let value = graph.value(*v);
        inputs.insert(value.name.clone(), given(array(&value.name).unwrap(), value.ty.dtype));
    }
    let outputs = eval::run(&graph, &inputs).map_err(|e| e.to_string())?;
    for (key, got) in &outputs {
        let want = array(&format!("out.{key}")).ok_or(format!("no reference for {key}"))?;
        if got.shape != want.shape {
            return Err(format!("{key} has shape {:?}, not {:?}", got.shape, want.shape));
        }
        let (got, want) = (got.to_f64(), want.data.to_f64());
        let most = want.iter().fold(1.0f64, |m, x| m.max(x.abs()));
        let bound =
            most * if graph.outputs.iter().any(|o| graph.ty(o.value).dtype == DType::F16) { 4e-3 } else { 1e-5 };
        let far = got.iter().zip(&want).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        if far.is_nan() || far > bound {
            return Err(format!("{key} is {far} away, the bound is {bound}"));
        }
    }
    if outputs.is_empty() { Err("no output".into()) } else { Ok(()) }
}

#[test]
fn every_form_of_an_operator_gives_what_onnxruntime_gives() {
    let cases = cases();
    let wrong: Vec<String> =
        cases.iter().filter_map(|name| compare(name).err().map(|why| format!("{name}: {why}"))).collect();
    assert!(wrong.is_empty(), "{} of {} cases:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
    assert!(cases.len() > 60, "only {} cases", cases.len());
}
