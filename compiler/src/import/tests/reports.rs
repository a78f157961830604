//! `support` and `inspect` on real exports and on models that are beyond us.

use super::build::*;
use super::data;
use crate::import::{Options, inspect, support};
use onnx_ir::Message;

#[test]
fn real_exports_are_supported_without_bindings() {
    for path in [
        "qwen2-tiny-eager-legacy-op17/model.onnx",
        "qwen2-tiny-eager-dynamo-op18/model.onnx",
        "qwen2-tf4.49/qwen2-eager-ts.onnx",
        "smolvlm-tiny/vision.onnx",
        "smolvlm-tiny/embed.onnx",
        "smolvlm-tiny/decoder.onnx",
    ] {
        let report = support(&data(path), &Options::default()).unwrap();
        let refused: Vec<_> = report.refused().collect();
        assert!(report.is_supported(), "{path}: {refused:?} with {:?}", report.assumed);
    }
}

#[test]
fn a_report_lists_every_node_and_says_what_it_assumed() {
    let nodes = vec![named(node("Det", &["x"], &["a"]), "bad"), named(node("Neg", &["x"], &["b"]), "good")];
    let mut g = graph(nodes, vec![symbolic(value("x", FLOAT, &[1, 2]), 0, "rows")], &["a", "b"]);
    g.node[0].domain = "com.example".into();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m.onnx");
    std::fs::write(&path, model(17, g).write_to_bytes().unwrap()).unwrap();
    let report = support(&path, &Options::default()).unwrap();
    assert_eq!(report.nodes.len(), 2);
    assert!(!report.is_supported());
    let bad = report.refused().next().unwrap();
    assert_eq!((bad.name.as_str(), bad.unsupported), ("bad", true));
    assert!(bad.reason.as_ref().unwrap().contains("com.example.Det"), "{bad:?}");
    assert_eq!(report.assumed.keys().collect::<Vec<_>>(), ["rows"]);
}

#[test]
fn an_inspection_tells_inputs_symbols_and_operators() {
    let seen = inspect(&data("qwen2-tiny-eager-dynamo-op18/model.onnx")).unwrap();
    assert_eq!(seen.symbols.iter().collect::<Vec<_>>(), ["s15", "s53", "s70"]);
    assert_eq!(seen.opsets[""], 18);
    let ids = &seen.inputs[0];
    assert_eq!((ids.name.as_str(), ids.dtype.as_str()), ("input_ids", "int64"));
    assert_eq!(ids.dims.as_deref().unwrap(), ["1", "s70"]);
    let present = &seen.outputs[1];
    assert_eq!(present.dims.as_deref().unwrap()[2], "s15 + s70");
    assert_eq!(seen.operators["Softmax"], 2);
    assert!(seen.external.is_empty() && seen.problems.is_empty());
}

#[test]
fn an_inspection_counts_operators_that_are_beyond_us() {
    let mut nodes = vec![node("Fancy", &["x"], &["y"])];
    nodes[0].domain = "com.example".into();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m.onnx");
    std::fs::write(&path, model(17, graph(nodes, vec![value("x", FLOAT, &[1])], &["y"])).write_to_bytes().unwrap())
        .unwrap();
    let seen = inspect(&path).unwrap();
    assert_eq!(seen.operators["com.example.Fancy"], 1);
}
