//! Decoders with quantised weights: the device against the interpreter on the same codes.

use super::*;
use onnxcast::graph::eval::{self, Array, Values};
use onnxcast::quantise::{self, Nearest, Settings};
use std::collections::HashMap;

const CONTEXT: usize = 64;

/// Every decoder export of the tree, with a prompt of its vocabulary.
fn exports() -> Vec<(String, Vec<u32>)> {
    let folder = project().join("tests/data/styles");
    let mut all: Vec<(String, Vec<u32>)> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|f| f.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "json"))
        .map(|p| {
            let text = std::fs::read_to_string(&p).unwrap();
            let reference: serde_json::Value = serde_json::from_str(&text).unwrap();
            let name = p.file_stem().unwrap().to_string_lossy().into_owned();
            (format!("tests/data/styles/{name}.onnx"), numbers(&reference["prompt"]))
        })
        .collect();
    for path in [
        "tests/data/qwen2-tiny-eager-legacy-op17/model.onnx",
        "tests/data/qwen2-tiny-eager-dynamo-op18/model.onnx",
        "tests/data/qwen2-tf4.49/qwen2-eager-ts.onnx",
        "models/tiny/model.onnx",
    ] {
        all.push((path.into(), vec![5, 9, 3, 21, 7, 30]));
    }
    all.sort();
    all
}

/// The interpreter's cache: every state of the graphs, by name.
fn states(bucket: &BucketGraph) -> HashMap<String, Array> {
    let zero = |s: &onnxcast::graph::State| {
        let value = bucket.graph.value(s.input);
        (value.name.clone(), Array::zeros(&value.ty))
    };
    bucket.graph.states.iter().map(zero).collect()
}

/// Runs a chunk and keeps the cache as the device does, in fp16. Gives the logits of its last row.
fn step(bucket: &BucketGraph, cache: &mut HashMap<String, Array>, pos: usize, tokens: &[u32]) -> Vec<f32> {
    let mut inputs = cache.clone();
    for &v in &bucket.graph.inputs {
        let value = bucket.graph.value(v);
        let array = match value.name.as_str() {
            "pos" => Array::scalar(pos as i32),
            "rows" => Array::scalar(tokens.len() as i32),
            _ => {
                let mut ids: Vec<i64> = tokens.iter().map(|&t| i64::from(t)).collect();
                ids.resize(value.ty.elements(), 0);
                Array::new(value.ty.dtype, value.ty.shape.clone(), Values::Int(ids))
            }
        };
        inputs.insert(value.name.clone(), array);
    }
    let mut out = eval::run(&bucket.graph, &inputs).unwrap();
    for (name, array) in cache.iter_mut() {
        let Some(Array { dtype, shape, data: Values::F32(mut rows) }) = out.remove(name) else { panic!("{name}") };
        rows.iter_mut().for_each(|x| *x = half::f16::from_f32(*x).to_f32());
        *array = Array::new(dtype, shape, Values::F32(rows));
    }
    out.into_values().next().unwrap().to_f32()
}

/// Logits of the interpreter after the prompt and after each of `tokens`.
fn by_eval(buckets: &[BucketGraph; 2], prompt: &[u32], tokens: &[u32]) -> Vec<Vec<f32>> {
    let mut cache = states(&buckets[0]);
    let (mut pos, mut all) = (0, vec![]);
    for piece in prompt.chunks(buckets[0].rows) {
        all = vec![step(&buckets[0], &mut cache, pos, piece)];
        pos += piece.len();
    }
    for token in tokens {
        all.push(step(&buckets[1], &mut cache, pos, &[*token]));
        pos += 1;
    }
    all
}

#[test]
fn every_decoder_in_int4_gives_what_the_interpreter_makes_of_the_same_codes() {
    let mut wrong = vec![];
    let (mut quantised, mut corrected) = (0, 0);
    // Alternating settings: all meanings of a code pass by, tables of both widths, and columns with corrections.
    let zeros = ["mid", "point", "min"];
    for (i, (path, prompt)) in exports().into_iter().enumerate() {
        let (zero, table_bits, salient) = (zeros[i % 3], [8, 4][i % 2], [4, 0][i % 2]);
        let text = format!("group = 32\nzero = \"{zero}\"\ntable_bits = {table_bits}\nsalient = {salient}\n");
        let settings: Settings = toml::from_str(&text).unwrap();
        let mut buckets = [("prefill", 4), ("decode", 1)].map(|(name, rows)| fused(&path, CONTEXT, name, rows));
        let report = quantise::run(&mut buckets, &Lock::default(), &settings, &mut Nearest::default()).unwrap();
        quantised += usize::from(report.rows.iter().any(|r| r.quant.is_some()));
        corrected += usize::from(report.rows.iter().any(|r| r.quant.is_some_and(|q| q.salient == 4)));
        let mut engine = open(assembled(&buckets, CONTEXT, Precision::Int4));
        let got = generate(&mut engine, CONTEXT as u32, &prompt, 8);
        let tokens: Vec<u32> = got[..7].iter().map(|(t, _)| *t).collect();
        for (i, (want, (token, logits))) in by_eval(&buckets, &prompt, &tokens).iter().zip(&got).enumerate() {
            let far = want.iter().zip(logits).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            let mut best: Vec<(usize, &f32)> = want.iter().enumerate().collect();
            best.sort_by(|a, b| b.1.total_cmp(a.1));
            let near_tie = best[0].1 - best[1].1 < 0.02;
            if far.is_nan() || far >= 1e-2 || (best[0].0 != *token as usize && !near_tie) {
                wrong.push(format!("{path}, step {i}: logits differ by {far}, token {token}, not {}", best[0].0));
                break;
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(quantised >= 5, "only {quantised} of the exports have anything to quantise");
    assert!(corrected >= 3, "only {corrected} of the exports have salient columns");
}
