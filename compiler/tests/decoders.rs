//! Every decoder export of the tree, from file to fused graph.

use onnxcast::graph::{Graph, Op};
use onnxcast::import::{self, Keep, Options, Part};
use onnxcast::passes::{self, Log};
use std::collections::BTreeMap;
use std::path::Path;

fn graph(path: &str, dims: &[(&str, usize)]) -> Result<Graph, String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    let bind = dims.iter().map(|(k, v)| (k.to_string(), *v)).collect();
    let options = Options { bind, without_weights: true, ..Options::default() };
    let mut graph = import::load_decoder(&path, &options).map_err(|e| e.to_string())?;
    let mut log = Log::default();
    passes::run(&mut graph, passes::ORDER, &mut log).map_err(|e| format!("{e}\n{}", log.lines.join("\n")))?;
    Ok(graph)
}

fn names(graph: &Graph) -> Vec<String> {
    graph.nodes.iter().map(|n| format!("{:?}", n.op).split([' ', '{']).next().unwrap().to_string()).collect()
}

/// The fused graph of an embedding and a decoder in files of their own.
fn composed(folder: &str, dims: &[(&str, usize)]) -> Result<Graph, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder);
    let bind = dims.iter().map(|(k, v)| (k.to_string(), *v)).collect();
    let options = Options { bind, without_weights: true, ..Options::default() };
    let part = |name: &str| {
        let graph = import::load_decoder(&folder.join(format!("{name}.onnx")), &options).unwrap();
        Part { name: name.into(), graph }
    };
    let parts = vec![part("embed"), part("decoder")];
    let mut graph = import::compose(parts, &BTreeMap::new(), Keep::Last).map_err(|e| e.to_string())?.graph;
    let mut log = Log::default();
    passes::run(&mut graph, passes::ORDER, &mut log).map_err(|e| format!("{e}\n{}", log.lines.join("\n")))?;
    Ok(graph)
}

fn ops(path: &str, dims: &[(&str, usize)]) -> Vec<String> {
    names(&graph(path, dims).unwrap_or_else(|e| panic!("{e}")))
}

/// Gather, then five operators a layer, then the head, of a chunk's last row.
fn fused(layers: usize, rows: usize) -> Vec<String> {
    let layer = ["Qkv", "CachedAttention", "Linear", "GatedLinear", "Linear"];
    let body = std::iter::repeat_n(layer, layers).flatten();
    let head: &[&str] = if rows == 1 { &["Linear"] } else { &["LastRow", "Linear"] };
    ["Gather"].into_iter().chain(body).chain(head.iter().copied()).map(String::from).collect()
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
        "tests/data/contrib/decoders/mid/model.onnx",
        "tests/data/contrib/decoders/point/model.onnx",
        "tests/data/contrib/decoders/mid/window.onnx",
        "tests/data/contrib/decoders/mid/softcap.onnx",
        "tests/data/contrib/decoders/mid/outside.onnx",
        "tests/data/contrib/decoders/mid/packed.onnx",
        "tests/data/contrib/decoders/mid/mixed.onnx",
        "tests/data/contrib/decoders/mid/buffer.onnx",
    ] {
        for s in [1, 16] {
            assert_eq!(ops(path, &dims(s)), fused(2, s), "{path} at {s} rows");
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
        assert_eq!(ops("models/smollm2/model.onnx", &dims), fused(30, s));
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

fn dims(s: usize) -> [(&'static str, usize); 4] {
    [("batch_size", 1), ("sequence_length", s), ("past_sequence_length", 64 - s), ("total_sequence_length", 64)]
}

/// What a style ends in: the usual five operators a layer, but for architectures that have no fused form.
fn expected(style: &str, rows: usize) -> Vec<String> {
    let layer: &[&str] = match style {
        "qk-norm" => &[
            "RmsNorm",
            "Linear",
            "Linear",
            "Linear",
            "Reshape",
            "RmsNorm",
            "Transpose",
            "Rope",
            "Reshape",
            "RmsNorm",
            "Transpose",
            "Rope",
            "Reshape",
            "Transpose",
            "KvWrite",
            "KvWrite",
            "CachedAttention",
            "Linear",
            "GatedLinear",
            "Linear",
        ],
        "gpt2" | "gpt2-past" => &["Qkv", "CachedAttention", "Linear", "Linear", "Linear"],
        _ => return fused(2, rows),
    };
    let learned: &[&str] = match style {
        "qk-norm" => &["Gather"],
        _ => &["Gather", "Binary(Add)", "Binary(Min)", "Gather", "Binary(Add)"],
    };
    let body = std::iter::repeat_n(layer, 2).flatten();
    let head: &[&str] = if rows == 1 { &["Linear"] } else { &["LastRow", "Linear"] };
    learned.iter().chain(body).chain(head).map(|s| s.to_string()).collect()
}

#[test]
fn every_style_ends_in_the_same_fused_graph() {
    let mut wrong = Vec::new();
    for name in styles() {
        for s in [1, 16] {
            match graph(&format!("tests/data/styles/{name}.onnx"), &dims(s)) {
                Err(e) => wrong.push(format!("{name} at {s} rows: {e}")),
                Ok(g) if names(&g) != expected(&name, s) => wrong.push(format!("{name} at {s} rows: {:?}", names(&g))),
                Ok(_) => {}
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The nodes in text form, values numbered as they come up. The order in which weights lie is layout; the scale has the digits
/// that an fp16 export leaves.
fn text(graph: &Graph) -> String {
    let mut graph = graph.clone();
    for node in &mut graph.nodes {
        if let Op::CachedAttention { scale, .. } = &mut node.op {
            *scale = (*scale * 1e3).round() / 1e3;
        }
    }
    let mut known: Vec<String> = Vec::new();
    let mut out = String::new();
    for line in onnxcast::graph::print(&graph).lines().filter(|l| l.starts_with('%')) {
        for (i, piece) in line.split(" #").next().unwrap().replace(" nk", "").split('%').skip(1).enumerate() {
            let end = piece.find([',', ')', ':', ' ']).unwrap_or(piece.len());
            let (name, rest) = piece.split_at(end);
            let number = known.iter().position(|k| k == name).unwrap_or_else(|| {
                known.push(name.to_string());
                known.len() - 1
            });
            out += &format!("{}%{number}{rest}", if i == 0 { "\n" } else { "" });
        }
    }
    out
}

#[test]
fn spellings_of_one_function_end_in_the_same_text() {
    let read = |name: &str, s| text(&graph(&format!("tests/data/styles/{name}.onnx"), &dims(s)).unwrap());
    let same = [
        ["torchscript", "dynamo dynamo-fp16 dynamo-rows onnx23 onnx23-flat onnx23-causal cumsum-fill past-only packed"],
        ["torchscript-bias", "torchscript-fp16"],
        ["partial", "onnx23-partial"],
    ];
    for s in [1, 16] {
        for [first, others] in same {
            let want = read(first, s);
            assert!(want.lines().count() > 10, "{want}");
            for other in others.split(' ') {
                assert_eq!(read(other, s), want, "{other} at {s} rows");
            }
        }
    }
}

#[test]
fn a_decoder_of_embeddings_with_new_rows_as_present_ends_in_the_same_layers() {
    for s in [1, 16] {
        let got = ops("tests/data/smolvlm-tiny/decoder.onnx", &dims(s));
        assert_eq!(got, fused(2, s)[1..], "{s} rows");
    }
}

#[test]
fn an_embedding_and_a_decoder_in_two_files_end_in_the_same_fused_graph() {
    for s in [1, 16] {
        let graph = composed("tests/data/smolvlm-tiny", &dims(s)).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(names(&graph), fused(2, s), "{s} rows");
        let inputs: Vec<&str> = graph.inputs.iter().map(|v| graph.value(*v).name.as_str()).collect();
        assert_eq!(inputs, ["tokens", "pos", "rows"], "the mask is no input any more");
    }
}
