//! Files that nobody meant: truncated, mutated, random, enormous. Each must end in a graph or an error, soon.

use super::build::*;
use super::data;
use crate::import::{Options, inspect, load, load_bytes, support, tensor_file};
use onnx_ir::Message;
use proptest::prelude::*;
use std::path::Path;
use std::time::{Duration, Instant};

/// Importing must end quickly; whether in a graph or an error does not matter.
fn survives(bytes: &[u8], options: &Options) {
    let start = Instant::now();
    let _outcome = load_bytes(bytes, Path::new("."), options);
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[test]
fn files_that_are_no_models_are_errors_with_the_path() {
    let dir = tempfile::tempdir().unwrap();
    let cases: [(&str, &[u8]); 5] = [
        ("empty.onnx", b""),
        ("text.onnx", b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"),
        ("zeros.onnx", &[0; 64]),
        ("ones.onnx", &[0xff; 64]),
        ("html.onnx", b"<!DOCTYPE html><html></html>"),
    ];
    for (name, bytes) in cases {
        let path = dir.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let said = load(&path, &Options::default()).unwrap_err().to_string();
        assert!(said.contains(name), "{said}");
        assert!(support(&path, &Options::default()).is_err() && inspect(&path).is_err() && tensor_file(&path).is_err());
    }
    for path in [dir.path().join("missing.onnx"), dir.path().to_path_buf()] {
        let said = load(&path, &Options::default()).unwrap_err().to_string();
        assert!(said.contains(&path.display().to_string()), "{said}");
    }
}

#[test]
fn every_truncation_of_a_model_is_an_error_or_a_graph() {
    let bytes = std::fs::read(data("smolvlm-tiny/embed.onnx")).unwrap();
    for n in (0..bytes.len()).step_by(997).chain(0..200).chain(bytes.len() - 200..bytes.len()) {
        survives(&bytes[..n], &Options::default());
    }
}

#[test]
fn shapes_beyond_all_memory_are_refused_before_anything_is_made() {
    let huge = i64::MAX;
    let with_shape = |op: &str, dims: &[i64]| {
        let mut g = graph(vec![node(op, &["x", "s"], &["y"])], vec![value("x", FLOAT, &[1])], &["y"]);
        g.initializer = vec![longs("s", &[dims.len() as i64], dims)];
        g
    };
    for g in [
        with_shape("Reshape", &[huge, huge]),
        with_shape("Expand", &[huge, 2]),
        with_shape("Tile", &[huge]),
        with_shape("Pad", &[huge, huge]),
        graph(vec![node("Neg", &["x"], &["y"])], vec![value("x", FLOAT, &[huge, huge])], &["y"]),
    ] {
        assert!(import(g).is_err());
    }
}

#[test]
fn a_range_without_end_is_refused() {
    let mut g = graph(vec![node("Range", &["a", "b", "c"], &["y"])], vec![], &["y"]);
    for (step, limit) in [(1, i64::MAX), (0, 5), (-1, i64::MIN)] {
        g.initializer = vec![longs("a", &[], &[0]), longs("b", &[], &[limit]), longs("c", &[], &[step])];
        let said = import(g.clone()).unwrap_err().to_string();
        assert!(said.contains("range"), "{said}");
    }
}

#[test]
fn folding_a_giant_window_is_left_to_run_time() {
    let pool = with_ints(node("MaxPool", &["w"], &["y"]), "kernel_shape", &[1 << 20, 1 << 20]);
    let pads = with_ints(pool, "pads", &[1 << 19, 1 << 19, 1 << 19, 1 << 19]);
    let mut g = graph(vec![pads], vec![], &["y"]);
    g.initializer = vec![floats("w", &[1, 1, 2, 2], &[1.0; 4])];
    survives(&model(17, g).write_to_bytes().unwrap(), &Options::default());
}

#[test]
fn functions_that_double_at_every_level_are_stopped() {
    let mut m = model(17, graph(vec![node("F0", &["x"], &["y"])], vec![value("x", FLOAT, &[1])], &["y"]));
    m.graph.mut_or_insert_default().node[0].domain = "local".into();
    for i in 0..30 {
        m.functions.push(Default::default());
        let f = &mut m.functions[i];
        (f.name, f.domain) = (format!("F{i}"), "local".into());
        (f.input, f.output) = (vec!["x".into()], vec!["y".into()]);
        let next = format!("F{}", i + 1);
        f.node = vec![node(&next, &["x"], &["a"]), node(&next, &["a"], &["y"])];
        f.node.iter_mut().for_each(|n| n.domain = "local".into());
    }
    m.functions[29].node = vec![node("Neg", &["x"], &["y"])];
    m.functions[29].opset_import.push(Default::default());
    m.functions[29].opset_import[0].version = 17;
    let start = Instant::now();
    let said = import_model(&m, &Options::default()).unwrap_err().to_string();
    assert!(said.contains("once functions are expanded"), "{said}");
    assert!(start.elapsed() < Duration::from_secs(20), "{said}");
}

/// Positions are taken modulo the length.
fn mutate(bytes: &mut Vec<u8>, edits: &[(usize, u8, u8)]) {
    for &(at, kind, byte) in edits {
        if bytes.is_empty() {
            return;
        }
        let at = at % bytes.len();
        match kind % 5 {
            0 => bytes.truncate(at),
            1 => drop(bytes.remove(at)),
            2 => bytes.insert(at, byte),
            3 => bytes[at] ^= 1 << (byte % 8),
            _ => bytes[at] = byte,
        }
    }
}

/// A small decoder-like graph with every kind of structure: symbols, initializers, subgraphs of shape arithmetic, a function.
fn sample() -> Vec<u8> {
    let nodes = vec![
        node("Shape", &["x"], &["shape"]),
        node("Gather", &["shape", "one"], &["n"]),
        node("Range", &["zero", "n", "step"], &["positions"]),
        with_int(node("Cast", &["positions"], &["row"]), "to", FLOAT as i64),
        node("Add", &["x", "row"], &["sum"]),
        with_ints(node("Transpose", &["sum"], &["turned"]), "perm", &[1, 0]),
        node("MatMul", &["sum", "turned"], &["square"]),
        with_int(node("Softmax", &["square"], &["y"]), "axis", -1),
    ];
    let mut g = graph(nodes, vec![symbolic(value("x", FLOAT, &[2, 3]), 1, "a + b")], &["y"]);
    g.initializer = vec![longs("one", &[], &[1]), longs("zero", &[], &[0]), longs("step", &[], &[1])];
    model(17, g).write_to_bytes().unwrap()
}

fn bound() -> Options {
    Options { bind: [("a".to_string(), 1), ("b".to_string(), 2)].into(), ..Options::default() }
}

#[test]
fn the_sample_itself_imports() {
    assert!(load_bytes(&sample(), Path::new("."), &bound()).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mutated_models_are_errors_or_graphs(edits in prop::collection::vec((any::<usize>(), any::<u8>(), any::<u8>()), 1..6)) {
        let mut bytes = sample();
        mutate(&mut bytes, &edits);
        survives(&bytes, &bound());
    }

    #[test]
    fn random_bytes_are_errors(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        survives(&bytes, &bound());
    }

    #[test]
    fn operands_of_any_value_are_errors_or_graphs(
        op in prop::sample::select(vec!["Reshape", "Expand", "Tile", "Pad", "Slice", "Split", "Squeeze", "Unsqueeze", "TopK", "Resize", "Trilu"]),
        values in prop::collection::vec(prop_oneof![-4i64..9, any::<i64>()], 0..4),
        more in prop::collection::vec(prop_oneof![-4i64..9, any::<i64>()], 0..4),
        opset in 11i64..25,
    ) {
        let mut g = graph(vec![node(op, &["x", "s", "t"], &["y"])], vec![value("x", FLOAT, &[2, 3])], &["y"]);
        g.initializer = vec![longs("s", &[values.len() as i64], &values), longs("t", &[more.len() as i64], &more)];
        survives(&model(opset, g).write_to_bytes().unwrap(), &Options::default());
    }

    #[test]
    fn dimension_texts_of_any_kind_are_errors_or_graphs(text in "[a-c0-9+*/%() ,\\-]{0,12}") {
        let g = graph(vec![node("Neg", &["x"], &["y"])], vec![symbolic(value("x", FLOAT, &[2, 3]), 1, &text)], &["y"]);
        survives(&model(17, g).write_to_bytes().unwrap(), &bound());
    }
}
