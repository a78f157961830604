//! Graphs as they stand, on the device: the three graphs of a small vision-language model, against what PyTorch recorded.

use onnxcast::job::{Job, Wish};
use onnxcast::pipeline;
use onnxcast_runtime::array::Array;
use onnxcast_runtime::engine::Engine;
use onnxcast_runtime::npz;
use std::collections::BTreeMap;
use std::path::PathBuf;

const DATA: &str = "tests/data";

const FOLDER: &str = "tests/data/smolvlm-tiny";

/// The token that stands for a row of the picture.
const IMAGE: i64 = 590;

/// Compiles a graph at `dims` and opens it on the first device.
fn engine(file: &str, dims: &[(&str, usize)]) -> Engine {
    engine_of(super::project().join(DATA).join(file), dims)
}

pub fn engine_of(onnx: PathBuf, dims: &[(&str, usize)]) -> Engine {
    let dims: BTreeMap<String, usize> = dims.iter().map(|(k, v)| (k.to_string(), *v)).collect();
    let (project, onnx) = (super::project(), Some(onnx));
    let wish = Wish { project, name: "raw".into(), onnx, dims: Some(dims), ..Wish::default() };
    let compiled = pipeline::compile(&Job::find(&wish).unwrap(), &mut |_| {}).unwrap();
    super::open(compiled.plan)
}

fn run(engine: &mut Engine, inputs: &[(&str, &Array)]) -> BTreeMap<String, Array> {
    engine.run_raw(0, inputs).unwrap().into_iter().collect()
}

/// Largest difference of two arrays; NaN counts as infinitely far.
pub fn distance(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    let apart = |(a, b): (&f64, &f64)| if (a - b).is_nan() { f64::INFINITY } else { (a - b).abs() };
    a.iter().zip(b).map(apart).fold(0.0, f64::max)
}

fn floats(array: &Array) -> Vec<f32> {
    array.data.to_f64().iter().map(|&x| x as f32).collect()
}

/// Keys and values of two layers, one after the other along the third axis.
fn grow(cache: &mut BTreeMap<String, Array>, rows: &BTreeMap<String, Array>) {
    for (name, new) in rows.iter().filter(|(n, _)| n.starts_with("present.")) {
        let name = name.replace("present", "past_key_values");
        let (heads, dim) = (new.shape[1], new.shape[3]);
        let old = cache.get(&name).map(|a| (a.shape[2], floats(a))).unwrap_or((0, vec![]));
        let (past, fresh) = (old.0, new.shape[2]);
        let (old, add) = (old.1, floats(new));
        let mut all = vec![];
        for h in 0..heads {
            all.extend_from_slice(&old[h * past * dim..][..past * dim]);
            all.extend_from_slice(&add[h * fresh * dim..][..fresh * dim]);
        }
        cache.insert(name, Array::f32(&[1, heads, past + fresh, dim], &all));
    }
}

/// Embeddings of tokens, picture rows in the place of picture tokens.
fn embed(tokens: &[i64], picture: &[f32]) -> Array {
    let mut embed = engine("smolvlm-tiny/embed.onnx", &[("sequence_length", tokens.len())]);
    let ids = Array::i64(&[1, tokens.len()], tokens);
    let out = &run(&mut embed, &[("input_ids", &ids)])["inputs_embeds"];
    let (width, mut rows) = (out.shape[2], floats(out));
    let places = tokens.iter().enumerate().filter(|(_, t)| **t == IMAGE).map(|(i, _)| i);
    for (place, row) in places.zip(picture.chunks_exact(width)) {
        rows[place * width..][..width].copy_from_slice(row);
    }
    Array::f32(&out.shape, &rows)
}

/// One run of the decoder over `embeds` after `past` rows; returns the last row of logits.
fn decode(embeds: &Array, past: usize, cache: &mut BTreeMap<String, Array>) -> Vec<f64> {
    let rows = embeds.shape[1];
    let total = past + rows;
    let dims = [("sequence_length", rows), ("past_sequence_length", past), ("total_sequence_length", total)];
    let mut decoder = engine("smolvlm-tiny/decoder.onnx", &dims);
    let visible = |i: usize, t: usize| if t <= past + i { 0.0 } else { -1e4 };
    let mask: Vec<f32> = (0..rows).flat_map(|i| (0..total).map(move |t| visible(i, t))).collect();
    let mask = Array::f32(&[1, 1, rows, total], &mask);
    let positions = Array::i64(&[1, rows], &(past as i64..total as i64).collect::<Vec<_>>());
    if past == 0 {
        for layer in 0..2 {
            for part in ["key", "value"] {
                cache.insert(format!("past_key_values.{layer}.{part}"), Array::f32(&[1, 4, 0, 16], &[]));
            }
        }
    }
    let caches = cache.iter().map(|(name, array)| (name.as_str(), array));
    let own = [("inputs_embeds", embeds), ("attention_mask", &mask), ("position_ids", &positions)];
    let inputs: Vec<(&str, &Array)> = own.into_iter().chain(caches).collect();
    let out = run(&mut decoder, &inputs);
    grow(cache, &out);
    let logits = out["logits"].data.to_f64();
    logits[logits.len() - 600..].to_vec()
}

#[test]
fn a_vision_language_model_in_three_graphs_gives_its_reference() {
    let reference: BTreeMap<String, Array> =
        npz::read(&super::project().join(FOLDER).join("reference.npz")).unwrap().into_iter().collect();
    let list = |name: &str| reference[name].data.to_f64().iter().map(|&x| x as i64).collect::<Vec<_>>();
    let picture = run(&mut engine("smolvlm-tiny/vision.onnx", &[]), &[("pixel_values", &reference["pixel_values"])]);
    let picture = &picture["image_embeds"];
    assert!(distance(&picture.data.to_f64(), &reference["image_embeds"].data.to_f64()) < 1e-4);

    let (prompt, tokens) = (list("prompt"), list("tokens"));
    let steps = reference["step_logits"].data.to_f64();
    let mut cache = BTreeMap::new();
    let mut past = 0;
    let mut next = embed(&prompt, &floats(picture));
    for (i, token) in tokens.iter().take(2).enumerate() {
        let logits = decode(&next, past, &mut cache);
        let far = distance(&logits, &steps[i * 600..][..600]);
        assert!(far < 1e-4, "step {i}: logits are {far} away");
        past += next.shape[1];
        next = embed(&[*token], &[]);
    }
}

/// A tower of another family: a class token, erf-GELU, a scale behind every block, and a decoder of transposed convolutions.
#[test]
fn a_vision_transformer_from_a_wheel_equals_onnxruntime() {
    let folder = super::project().join(".cache/vit");
    let (model, reference) = (folder.join("vit_s_focus.onnx"), folder.join("reference.npz"));
    if !model.is_file() || !reference.is_file() {
        return super::skipped("a vision transformer from a wheel", "tools/fetch_vit.sh has not run");
    }
    let reference: BTreeMap<String, Array> = npz::read(&reference).unwrap().into_iter().collect();
    let mut engine = engine_of(model, &[("batch_size", 1)]);
    let got = run(&mut engine, &[("input_image", &reference["input_image"])]);
    let far = distance(&got["output_importance"].data.to_f64(), &reference["output_importance"].data.to_f64());
    assert!(far < 1e-4, "the map is {far} away");
}

#[test]
fn an_export_of_an_older_transformers_gives_its_outputs() {
    let path = super::project().join(DATA).join("qwen2-tf4.49/qwen2-eager-ts.onnx.npz");
    let reference: BTreeMap<String, Array> = npz::read(&path).unwrap().into_iter().collect();
    let dims = [("batch_size", 1), ("sequence_length", 3), ("past_sequence_length", 5), ("total_sequence_length", 8)];
    let mut decoder = engine("qwen2-tf4.49/qwen2-eager-ts.onnx", &dims);
    let inputs: Vec<(&str, &Array)> =
        reference.iter().filter(|(n, _)| !n.starts_with("out.")).map(|(n, a)| (n.as_str(), a)).collect();
    let got = run(&mut decoder, &inputs);
    let wanted: Vec<(&str, &Array)> =
        reference.iter().filter_map(|(n, a)| Some((n.strip_prefix("out.")?, a))).collect();
    assert_eq!(wanted.len(), 5);
    for (name, want) in wanted {
        let far = distance(&got[name].data.to_f64(), &want.data.to_f64());
        assert!(far < 1e-3, "{name} is {far} away");
    }
}
