//! Every decoder export of the tree, from file to fused graph.

use onnxcast::import::{self, Options};
use onnxcast::passes::{self, Log};
use std::path::Path;

fn ops(path: &str, dims: &[(&str, usize)]) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    let bind = dims.iter().map(|(k, v)| (k.to_string(), *v)).collect();
    let options = Options { bind, without_weights: true, ..Options::default() };
    let mut graph = import::load(&path, &options).unwrap_or_else(|e| panic!("{e}"));
    let mut log = Log::default();
    if let Err(e) = passes::run(&mut graph, passes::ORDER, &mut log) {
        panic!("{e}\n{}\n{}", log.lines.join("\n"), onnxcast::graph::print(&graph));
    }
    graph.nodes.iter().map(|n| format!("{:?}", n.op).split([' ', '{']).next().unwrap().to_string()).collect()
}

/// Gather, then five operators a layer, then the head.
fn fused(layers: usize) -> Vec<String> {
    let layer = ["Qkv", "CachedAttention", "Linear", "GatedLinear", "Linear"];
    let body = std::iter::repeat_n(layer, layers).flatten();
    ["Gather"].into_iter().chain(body).chain(["LastRow", "Linear"]).map(String::from).collect()
}

#[test]
fn every_export_ends_in_the_same_fused_graph() {
    let dims = |s: usize| {
        let named = [
            ("batch_size", 1),
            ("sequence_length", s),
            ("past_sequence_length", 64 - s),
            ("total_sequence_length", 64),
        ];
        let numbered = [("s70", s), ("s15", 64 - s), ("s53", 64)];
        named.into_iter().chain(numbered).collect::<Vec<_>>()
    };
    for path in [
        "tests/data/qwen2-tiny-eager-legacy-op17/model.onnx",
        "tests/data/qwen2-tiny-eager-dynamo-op18/model.onnx",
        "tests/data/qwen2-tf4.49/qwen2-eager-ts.onnx",
        "models/tiny/model.onnx",
    ] {
        for s in [1, 16] {
            assert_eq!(ops(path, &dims(s)), fused(2), "{path} at {s} rows");
        }
    }
}

#[test]
fn the_default_model_has_five_operators_a_layer() {
    for s in [1, 128] {
        let dims = [
            ("batch_size", 1),
            ("sequence_length", s),
            ("past_sequence_length", 1024 - s),
            ("total_sequence_length", 1024),
        ];
        assert_eq!(ops("models/smollm2/model.onnx", &dims), fused(30));
    }
}

/// Every spelling of tests/data/styles, by name.
fn styles() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/styles");
    let files = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path());
    let mut names: Vec<String> = files
        .filter(|p| p.extension().is_some_and(|e| e == "onnx"))
        .map(|p| p.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn every_style_ends_in_the_same_fused_graph() {
    let mut wrong = Vec::new();
    for name in styles() {
        for s in [1, 16] {
            let dims = [
                ("batch_size", 1),
                ("sequence_length", s),
                ("past_sequence_length", 64 - s),
                ("total_sequence_length", 64),
            ];
            let got = std::panic::catch_unwind(|| ops(&format!("tests/data/styles/{name}.onnx"), &dims));
            match got {
                Err(_) => wrong.push(format!("{name} {s}: panic")),
                Ok(got) if got != fused(2) => wrong.push(format!("{name} {s}: {got:?}")),
                _ => {}
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
