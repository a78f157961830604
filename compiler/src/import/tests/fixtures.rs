//! Real exports. Each is imported at several shapes, evaluated, and held against what PyTorch gave.

use super::*;
use crate::graph::Op;

/// The names a decoder export gives its symbols.
struct Symbols {
    path: &'static str,
    reference: &'static str,
    batch: Option<&'static str>,
    seq: &'static str,
    past: &'static str,
    total: &'static str,
}

const LEGACY: Symbols = Symbols {
    path: "qwen2-tiny-eager-legacy-op17/model.onnx",
    reference: "qwen2-tiny-eager-legacy-op17/reference.npz",
    batch: Some("batch_size"),
    seq: "sequence_length",
    past: "past_sequence_length",
    total: "total_sequence_length",
};

const DYNAMO: Symbols = Symbols {
    path: "qwen2-tiny-eager-dynamo-op18/model.onnx",
    reference: "qwen2-tiny-eager-dynamo-op18/reference.npz",
    batch: None,
    seq: "s70",
    past: "s15",
    total: "s53",
};

fn decoder(s: &Symbols, seq: usize, past: usize) -> Graph {
    let mut bind = vec![(s.seq, seq), (s.past, past), (s.total, seq + past)];
    bind.extend(s.batch.map(|b| (b, 1)));
    import(s.path, &bind)
}

/// Runs a decoder over `ids` after what `cache` holds; gives the logits and replaces the cache.
fn step(s: &Symbols, ids: &[i64], cache: &mut HashMap<String, Array>) -> Vec<f32> {
    let past = cache.values().next().map_or(0, |a| a.shape[2]);
    let graph = decoder(s, ids.len(), past);
    let n = ids.len();
    let positions: Vec<i64> = (past..past + n).map(|p| p as i64).collect();
    let mut inputs = HashMap::from([
        ("input_ids".to_string(), i64s(&[1, n], ids)),
        ("attention_mask".to_string(), i64s(&[1, past + n], &vec![1; past + n])),
        ("position_ids".to_string(), i64s(&[1, n], &positions)),
    ]);
    for id in &graph.inputs {
        let value = graph.value(*id);
        if value.name.starts_with("past_key_values") {
            let empty = || floats(&value.ty.shape, vec![]);
            inputs.insert(value.name.clone(), cache.remove(&value.name).unwrap_or_else(empty));
        }
    }
    let out = eval(&graph, inputs);
    for (name, array) in &out {
        if let Some(rest) = name.strip_prefix("present") {
            cache.insert(format!("past_key_values{rest}"), array.clone());
        }
    }
    f32s(&out["logits"]).to_vec()
}

/// Prefill and several teacher-forced steps.
fn follows_the_reference(s: &Symbols) {
    let reference = npz::read(&data(s.reference));
    let ints = |name: &str| match &reference[name].data {
        Values::Int(v) => v.clone(),
        other => panic!("{other:?}"),
    };
    let (prompt, tokens) = (ints("prompt"), ints("tokens"));
    let mut cache = HashMap::new();
    let logits = step(s, &prompt, &mut cache);
    assert!(apart(&logits, f32s(&reference["prefill_logits"])) < 1e-4);
    let rows = f32s(&reference["step_logits"]);
    let vocab = rows.len() / tokens.len();
    for i in 0..4 {
        let logits = step(s, &tokens[i..i + 1], &mut cache);
        let wanted = &rows[(i + 1) * vocab..(i + 2) * vocab];
        assert!(apart(&logits, wanted) < 1e-4, "step {i}: {}", apart(&logits, wanted));
    }
}

#[test]
fn a_torchscript_decoder_follows_the_reference() {
    follows_the_reference(&LEGACY);
}

#[test]
fn a_dynamo_decoder_follows_the_reference() {
    follows_the_reference(&DYNAMO);
}

#[test]
fn an_older_transformers_export_with_a_scattered_mask_matches_its_reference() {
    let bind = [("batch_size", 1), ("sequence_length", 3), ("past_sequence_length", 5), ("total_sequence_length", 8)];
    let graph = import("qwen2-tf4.49/qwen2-eager-ts.onnx", &bind);
    let reference = npz::read(&data("qwen2-tf4.49/qwen2-eager-ts.onnx.npz"));
    let out = eval(&graph, reference.clone());
    assert_eq!(out.len(), 5);
    for (name, array) in out {
        let wanted = &reference[&format!("out.{name}")];
        assert_eq!(array.shape, wanted.shape, "{name}");
        assert!(apart(f32s(&array), f32s(wanted)) < 1e-4, "{name}");
    }
}

#[test]
fn a_vision_tower_matches_its_reference() {
    let reference = npz::read(&data("smolvlm-tiny/reference.npz"));
    let graph = import("smolvlm-tiny/vision.onnx", &[]);
    let pixels = HashMap::from([("pixel_values".to_string(), reference["pixel_values"].clone())]);
    let out = eval(&graph, pixels);
    assert!(apart(f32s(&out["image_embeds"]), f32s(&reference["image_embeds"])) < 1e-4);
}

#[test]
fn a_decoder_of_embeddings_with_pictures_matches_its_reference() {
    let reference = npz::read(&data("smolvlm-tiny/reference.npz"));
    let Values::Int(prompt) = reference["prompt"].data.clone() else { panic!("prompt") };
    let n = prompt.len();
    let embed = import("smolvlm-tiny/embed.onnx", &[("sequence_length", n)]);
    let out = eval(&embed, HashMap::from([("input_ids".to_string(), i64s(&[1, n], &prompt))]));
    let mut rows = f32s(&out["inputs_embeds"]).to_vec();
    let width = rows.len() / n;
    let pictures = f32s(&reference["image_embeds"]).chunks(width);
    let places = prompt.iter().enumerate().filter(|(_, t)| **t == 590).map(|(i, _)| i);
    for (i, picture) in places.zip(pictures) {
        rows[i * width..(i + 1) * width].copy_from_slice(picture);
    }
    let bind = [("sequence_length", n), ("past_sequence_length", 0), ("total_sequence_length", n)];
    let graph = import("smolvlm-tiny/decoder.onnx", &bind);
    let positions: Vec<i64> = (0..n as i64).collect();
    let mask = (0..n * n).map(|i| if i % n > i / n { -1e4 } else { 0.0 }).collect();
    let mut inputs = HashMap::from([
        ("inputs_embeds".to_string(), floats(&[1, n, width], rows)),
        ("attention_mask".to_string(), floats(&[1, 1, n, n], mask)),
        ("position_ids".to_string(), i64s(&[1, n], &positions)),
    ]);
    for id in &graph.inputs {
        let value = graph.value(*id);
        if value.name.starts_with("past") {
            inputs.insert(value.name.clone(), floats(&value.ty.shape, vec![]));
        }
    }
    let out = eval(&graph, inputs);
    let logits = f32s(&out["logits"]);
    let vocab = logits.len() / n;
    assert!(apart(&logits[(n - 1) * vocab..], &f32s(&reference["step_logits"])[..vocab]) < 1e-4);
}

#[test]
fn no_shape_arithmetic_is_left_in_a_decoder() {
    for s in [&LEGACY, &DYNAMO] {
        let graph = decoder(s, 1, 7);
        for node in &graph.nodes {
            // A weight matrix that the exporter turned around is the one thing left to the plan.
            let weight = matches!(&node.op, Op::Transpose { perm } if *perm == [1, 0]);
            let computed = node.inputs.iter().flatten().any(|i| graph.constant(*i).is_none());
            assert!(computed || weight, "{} ({:?}) could have been folded", node.name, node.op);
        }
        assert!(graph.nodes.len() < 170, "{} nodes", graph.nodes.len());
    }
}

#[test]
fn two_imports_are_equal() {
    let text = |s| crate::graph::print(&decoder(s, 3, 5));
    assert_eq!(text(&LEGACY), text(&LEGACY));
    assert_eq!(text(&DYNAMO), text(&DYNAMO));
}
