//! Weights: what is copied, what is folded, what may be absent.

use super::build::*;
use crate::graph::{DType, Data, Graph, Op, print};
use crate::import::{Options, load};
use onnx_ir::{GraphProto, Message, NodeProto, TensorProto, ValueInfoProto};
use std::path::Path;

/// A half-precision [4, 2] weight in `w.bin`, turned around, cast and multiplied with.
fn turned(cast_first: bool) -> GraphProto {
    let (a, b) = if cast_first { ("Cast", "Transpose") } else { ("Transpose", "Cast") };
    let dress = |op: &str, x: &str, y: &str| -> NodeProto {
        let n = node(op, &[x], &[y]);
        if op == "Cast" { with_int(n, "to", FLOAT as i64) } else { n }
    };
    let nodes = vec![dress(a, "w", "a"), dress(b, "a", "b"), node("MatMul", &["x", "b"], &["y"])];
    let inputs: Vec<ValueInfoProto> = vec![value("x", FLOAT, &[1, 2])];
    let mut g = graph(nodes, inputs, &["y"]);
    g.initializer = vec![external("w", 10, &[4, 2], "w.bin")];
    g
}

fn external(name: &str, data_type: i32, dims: &[i64], file: &str) -> TensorProto {
    let mut t = TensorProto::new();
    (t.name, t.data_type, t.dims) = (name.into(), data_type, dims.to_vec());
    t.external_data.push(Default::default());
    (t.external_data[0].key, t.external_data[0].value) = ("location".into(), file.into());
    // EXTERNAL, by its number: the enum is not exported.
    let bytes = [t.write_to_bytes().unwrap(), vec![0x70, 1]].concat();
    TensorProto::parse_from_bytes(&bytes).unwrap()
}

fn folder(g: GraphProto, data: Option<&[u8]>) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("m.onnx"), model(17, g).write_to_bytes().unwrap()).unwrap();
    if let Some(data) = data {
        std::fs::write(dir.path().join("w.bin"), data).unwrap();
    }
    dir
}

fn read(dir: &Path, without_weights: bool) -> crate::error::Result<Graph> {
    load(&dir.join("m.onnx"), &Options { without_weights, ..Options::default() })
}

fn halves() -> Vec<u8> {
    (0..8).flat_map(|i| half::f16::from_f32(i as f32).to_le_bytes()).collect()
}

#[test]
fn a_cast_weight_is_a_constant_and_a_turned_one_keeps_its_transpose() {
    let dir = folder(turned(true), Some(&halves()));
    let g = read(dir.path(), false).unwrap();
    assert!(matches!(g.nodes[0].op, Op::Transpose { .. }), "{}", print(&g));
    assert_eq!(g.nodes.len(), 2);
    let weight = g.nodes[0].input(0).unwrap();
    assert_eq!(g.ty(weight).dtype, DType::F32);
    let out = outputs(&g, &[("x", &[1.0, 10.0])]);
    assert_eq!(super::f32s(&out["y"]), [10.0, 32.0, 54.0, 76.0]);
}

#[test]
fn the_graph_is_the_same_with_and_without_weights() {
    for cast_first in [true, false] {
        let with = folder(turned(cast_first), Some(&halves()));
        let without = folder(turned(cast_first), None);
        let (a, b) = (read(with.path(), false).unwrap(), read(without.path(), true).unwrap());
        let nodes = |g: &Graph| g.nodes.iter().map(|n| format!("{n:?}")).collect::<Vec<_>>();
        assert_eq!(nodes(&a), nodes(&b));
        let types = |g: &Graph| g.values.iter().map(|v| (v.name.clone(), v.ty.clone())).collect::<Vec<_>>();
        assert_eq!(types(&a), types(&b));
        let absent = b.values.iter().filter(|v| matches!(&v.def, crate::graph::Def::Const(t) if t.is_absent())).count();
        assert_eq!(absent, 1);
    }
}

#[test]
fn a_missing_data_file_is_an_error_that_names_tensor_and_file() {
    let dir = folder(turned(true), None);
    let said = read(dir.path(), false).unwrap_err().to_string();
    assert!(said.contains("tensor 'w'") && said.contains("w.bin"), "{said}");
}

#[test]
fn every_tensor_that_cannot_be_read_is_listed() {
    let mut g = turned(true);
    g.initializer[0].dims = vec![8, 2];
    g.initializer.push(floats("v", &[3], &[1.0]));
    g.node.push(node("Identity", &["v"], &["z"]));
    g.output.push(value("z", FLOAT, &[]));
    let dir = folder(g, Some(&halves()));
    let said = read(dir.path(), false).unwrap_err().to_string();
    assert!(said.contains("2 tensors") && said.contains("'w'") && said.contains("'v'"), "{said}");
}

#[test]
fn integers_and_scalars_are_needed_even_without_weights() {
    let mut g = graph(vec![node("Reshape", &["x", "s"], &["y"])], vec![value("x", FLOAT, &[2])], &["y"]);
    g.initializer = vec![external("s", INT, &[1], "w.bin")];
    let said = read(folder(g.clone(), None).path(), true).unwrap_err().to_string();
    assert!(said.contains("'s'") && said.contains("even without weights"), "{said}");
    assert!(read(folder(g, Some(&2i64.to_le_bytes())).path(), false).is_ok());
}

#[test]
fn unreferenced_weights_are_not_touched() {
    let mut g = graph(vec![node("Abs", &["x"], &["y"])], vec![value("x", FLOAT, &[1])], &["y"]);
    g.initializer = vec![external("gone", FLOAT, &[1 << 30], "gone.bin")];
    assert!(read(folder(g, None).path(), false).is_ok());
}

#[test]
fn weights_lie_in_the_mapped_file() {
    let dir = folder(turned(false), Some(&halves()));
    let g = read(dir.path(), false).unwrap();
    let weight = g.values.iter().find(|v| v.name == "w").unwrap();
    let crate::graph::Def::Const(t) = &weight.def else { panic!("{}", print(&g)) };
    assert!(matches!(&t.data, Data::Bytes(_, range) if range.len() == 16));
    assert_eq!(t.bytes().unwrap(), halves());
}
