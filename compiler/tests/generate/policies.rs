//! The policies of a package as raw graphs: on the device they give what the interpreter does, but for the sampler, whose 64-bit words are
//! refused with their node.

use super::{open, project};
use onnxcast::error::Result;
use onnxcast::graph::eval::{self, Array, Values};
use onnxcast::graph::{DType, Graph};
use onnxcast::import::{self, Options};
use onnxcast::job::{Job, Wish};
use onnxcast::pipeline::{self, Compiled};
use onnxcast_runtime::array::{self, Data};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

/// What the symbols of the policies are here, and the number that a capacity is made of.
const DIMS: &[(&str, usize)] = &[
    ("batch", 1),
    ("prompt_sequence", 4),
    ("sequence", 4),
    ("context", 6),
    ("vocabulary", 17),
    ("num_eos", 3),
    ("max_iterations", 9),
];

/// Runs of a policy, each with other inputs.
const RUNS: usize = 8;

fn policies() -> Vec<PathBuf> {
    let home = project().join("tests/data/workflow/policies");
    let files = [home.clone(), home.join("fixed")].into_iter().flat_map(|f| std::fs::read_dir(f).unwrap());
    let mut paths: Vec<PathBuf> =
        files.map(|f| f.unwrap().path()).filter(|p| p.extension().is_some_and(|e| e == "onnx")).collect();
    paths.sort();
    paths
}

/// The symbols that a file has, and its inputs that shapes are made of.
fn dims(file: &Path) -> BTreeMap<String, usize> {
    let inputs = import::inspect(file).unwrap().inputs;
    let symbol = |name: &str| inputs.iter().any(|p| p.dims.iter().flatten().any(|d| d == name));
    let sized = |name: &str| file.ends_with("decoder_state_initializer.onnx") && name == "max_iterations";
    DIMS.iter().filter(|(n, _)| symbol(n) || sized(n)).map(|(n, x)| (n.to_string(), *x)).collect()
}

fn compile(file: &Path, dims: BTreeMap<String, usize>) -> Result<Compiled> {
    let wish =
        Wish { project: project(), name: "raw".into(), onnx: Some(file.into()), dims: Some(dims), ..Wish::default() };
    pipeline::compile(&Job::find(&wish)?, &mut |_| {})
}

/// Small numbers, so that ids meet stop ids and lengths meet limits; other ones in each run.
fn inputs(graph: &Graph, run: usize) -> HashMap<String, Array> {
    let mut at = run * 7919 + 1;
    let mut next = |below: usize| {
        at = at.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (at >> 33) % below
    };
    let given = graph.inputs.iter().map(|id| {
        let ty = graph.ty(*id).clone();
        let data = match ty.dtype {
            DType::Bool => Values::Bool((0..ty.elements()).map(|_| next(2) == 1).collect()),
            d if d.is_float() => Values::F32((0..ty.elements()).map(|_| next(256) as f32 / 16.0 - 8.0).collect()),
            _ => Values::Int((0..ty.elements()).map(|_| next(6) as i64).collect()),
        };
        (graph.value(*id).name.clone(), Array::new(ty.dtype, ty.shape, data))
    });
    given.collect()
}

fn to_device(array: &Array) -> array::Array {
    let data = match array.dtype {
        DType::Bool => Data::Bool(array.to_ints().iter().map(|x| *x != 0).collect()),
        d if d.is_float() => Data::F32(array.to_f32()),
        _ => Data::I64(array.to_ints()),
    };
    array::Array { shape: array.shape.clone(), data }
}

#[test]
fn every_policy_but_the_sampler_gives_on_the_device_what_the_interpreter_gives() {
    let mut ran = 0;
    for file in policies().iter().filter(|f| !f.ends_with("token_sampler.onnx")) {
        let dims = dims(file);
        let compiled = compile(file, dims.clone()).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let graph = import::load(file, &Options { bind: dims, ..Options::default() }).unwrap();
        let mut engine = open(compiled.plan);
        for run in 0..RUNS {
            let given = inputs(&graph, run);
            let wanted = eval::run(&graph, &given).unwrap();
            let arrays: Vec<(String, array::Array)> = given.iter().map(|(n, a)| (n.clone(), to_device(a))).collect();
            let arrays: Vec<(&str, &array::Array)> = arrays.iter().map(|(n, a)| (n.as_str(), a)).collect();
            let got: BTreeMap<String, array::Array> = engine.run_raw(0, &arrays).unwrap().into_iter().collect();
            assert_eq!((got.len(), graph.outputs.len()), (wanted.len(), wanted.len()), "{}", file.display());
            for (name, want) in wanted {
                let have = &got[&name];
                assert_eq!(have.shape, want.shape, "{}, {name}", file.display());
                assert_eq!(have.data.to_f64(), want.to_f64(), "{}, {name}, run {run}: {given:?}", file.display());
            }
        }
        ran += 1;
    }
    assert_eq!(ran, 17);
}

#[test]
fn the_sampler_is_refused_with_the_node_whose_words_have_64_bits() {
    let file = project().join("tests/data/workflow/policies/token_sampler.onnx");
    let said = compile(&file, dims(&file)).map(|_| ()).unwrap_err().to_string();
    let why = "gives uint64 values that can pass 32 bits, and a device here has 32-bit integers";
    assert!(said.starts_with("kernels: ") && said.contains(why), "{said}");
}
