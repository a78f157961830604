//! Decoders of com.microsoft operators, as onnxruntime-genai's builder writes them, against onnxruntime on the same file.

use super::*;

const FOLDER: &str = "tests/data/contrib/decoders";
const CONTEXT: usize = 64;

/// onnxruntime rounds activations to fp16 where the file does.
const BOUND: f64 = 0.1;

/// A decoder as the pipeline plans it, parts that lie together in one layout.
fn opened(name: &str, rows: usize, precision: Precision) -> Engine {
    let path = format!("{FOLDER}/{name}.onnx");
    let mut buckets = [("prefill", rows), ("decode", 1)].map(|(name, rows)| fused(&path, CONTEXT, name, rows));
    onnxcast::quantise::align(&mut buckets);
    open(assembled(&buckets, CONTEXT, precision))
}

/// Teacher-forced: the largest difference of logits, and the steps whose best token differs though it is no near tie.
fn compare(name: &str, rows: usize, precision: Precision) -> (f64, Vec<usize>) {
    let reference = npz::read(&project().join(format!("{FOLDER}/{name}.npz"))).unwrap();
    let array = |key: &str| reference.iter().find(|(name, _)| name == key).unwrap().1.data.to_f64();
    let ids = |key: &str| array(key).iter().map(|x| *x as u32).collect::<Vec<u32>>();
    let (prompt, tokens, logits) = (ids("prompt"), ids("tokens"), array("step_logits"));
    let mut engine = opened(name, rows, precision);
    let wide = logits.len() / tokens.len();
    let (mut far, mut wrong): (f64, _) = (0.0, vec![]);
    for (step, want) in logits.chunks_exact(wide).enumerate() {
        let fed: Vec<u32> = prompt.iter().chain(&tokens[..step]).copied().collect();
        let (token, row) = generate(&mut engine, CONTEXT as u32, &fed, 1).remove(0);
        let row: Vec<f64> = row.iter().map(|x| f64::from(*x)).collect();
        far = far.max(raw::distance(&row, want));
        let mut best = want.to_vec();
        best.sort_by(|a, b| b.total_cmp(a));
        if token != tokens[step] && best[0] - best[1] >= BOUND {
            wrong.push(step);
        }
    }
    // The decode bucket, whose attention and products are kernels of their own.
    let free: Vec<u32> = generate(&mut engine, CONTEXT as u32, &prompt, 6).iter().map(|(token, _)| *token).collect();
    let near = |step: usize| {
        let mut row = logits[step * wide..][..wide].to_vec();
        row.sort_by(|a, b| b.total_cmp(a));
        row[0] - row[1] < BOUND
    };
    let first = (0..6).find(|i| free[*i] != tokens[*i]);
    wrong.extend(first.filter(|i| !near(*i)));
    (far, wrong)
}

#[test]
fn a_genai_decoder_gives_what_onnxruntime_gives() {
    for (name, precision, bound) in [
        ("mid/model", Precision::Fp16, BOUND),
        ("point/model", Precision::Fp16, BOUND),
        ("float/model", Precision::Fp16, BOUND),
        ("wide/model", Precision::Fp32, 2e-3),
        ("head/model", Precision::Fp16, BOUND),
    ] {
        // The prompt in chunks, and in one.
        for rows in if name == "mid/model" { vec![4, 16] } else { vec![4] } {
            let (far, wrong) = compare(name, rows, precision);
            assert!(far < bound && wrong.is_empty(), "{name}, {rows} rows: logits are {far} away, steps {wrong:?}");
        }
    }
}

#[test]
fn other_forms_of_attention_and_projections_give_it_too() {
    for name in ["window", "softcap", "outside", "packed", "mixed", "buffer"] {
        let (far, wrong) = compare(&format!("mid/{name}"), 4, Precision::Fp16);
        assert!(far < BOUND && wrong.is_empty(), "{name}: logits are {far} away, steps {wrong:?}");
    }
}

/// Matrices that take a way of their own: padded columns, another order of columns, two bits, scales in f32.
#[test]
fn a_product_or_lookup_as_it_stands_gives_what_onnxruntime_gives() {
    for name in [
        "product-4-32-ragged",
        "product-4-32-order",
        "product-4-128-short",
        "product-2-64-packed",
        "product-8-64-ragged",
        "product-4-16",
        "lookup-4-16-packed-odd",
        "gqa-softcap",
        "gqa-buffer-prompt",
        "mha-past-causal",
    ] {
        let file = format!("tests/data/contrib/ops/{name}");
        let arrays = npz::read(&project().join(format!("{file}.npz"))).unwrap();
        let mut engine = raw::engine_of(project().join(format!("{file}.onnx")), &[]);
        let inputs: Vec<_> =
            arrays.iter().filter(|(n, _)| !n.starts_with("out.")).map(|(n, a)| (n.as_str(), a)).collect();
        let results = engine.run_raw(0, &inputs).unwrap();
        for (key, got) in results.into_iter() {
            let want = &arrays.iter().find(|(n, _)| *n == format!("out.{key}")).unwrap().1;
            let far = raw::distance(&got.data.to_f64(), &want.data.to_f64());
            assert!(far < 1e-4, "{name}: {key} is {far} away");
        }
    }
}

/// The logits after each of `tokens`, which follow the prompt whatever the program says: those that chose the first, and so on.
fn forced(engine: &mut Engine, context: u32, prompt: &[u32], tokens: &[u32]) -> Vec<Vec<f32>> {
    let mut rows = vec![generate(engine, context, prompt, 1).remove(0).1];
    for (i, token) in tokens[..tokens.len() - 1].iter().enumerate() {
        let step = Step {
            pos: (prompt.len() + i) as u32,
            rows: 1,
            limit: context,
            context,
            draw: Sampling::default().draw(),
            ..bytemuck::Zeroable::zeroed()
        };
        engine.set_step(&step).unwrap();
        engine.set_tokens(&[*token]).unwrap();
        engine.run(1, Part::Whole).unwrap();
        rows.push(engine.logits().unwrap());
    }
    rows
}

fn best(row: &[f32]) -> u32 {
    let mut top = 0;
    for (i, x) in row.iter().enumerate() {
        top = if *x > row[top] { i } else { top };
    }
    top as u32
}

/// SmolLM2's own weights in this form, one file a recipe (`tools/contrib.py --smollm2`), against onnxruntime on the same file.
#[test]
fn smollm2_as_a_genai_export_gives_what_onnxruntime_gives() {
    const SIZE: usize = 128;
    for (name, precision) in [("exact", Precision::Fp32), ("fp16", Precision::Fp16), ("fp16-head", Precision::Fp16)] {
        let path = format!(".cache/models/smollm2-genai/{name}/model.onnx");
        if !project().join(&path).exists() {
            skipped(&format!("smollm2 as a genai export, {name}"), "tools/contrib.py --smollm2 has not run");
            continue;
        }
        let text = project().join(format!("tests/data/contrib/smollm2/{name}.json"));
        let golden: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(text).unwrap()).unwrap();
        let mut engine = open(planned(&path, SIZE, 32, precision));
        // All prompts are told apart by the exact one alone; what fp16 changes shows in two.
        let cases = golden.as_array().unwrap().iter().take(if name == "exact" { usize::MAX } else { 2 });
        for case in cases {
            let (prompt, tokens) = (numbers(&case["prompt_ids"]), numbers(&case["tokens"]));
            let rows = forced(&mut engine, SIZE as u32, &prompt, &tokens);
            for pair in case["first_top5"].as_array().unwrap() {
                let (id, want) = (pair[0].as_u64().unwrap() as usize, pair[1].as_f64().unwrap());
                let far = (f64::from(rows[0][id]) - want).abs();
                assert!(far < BOUND, "{name}, {}: the logit of {id} is {far} away", case["prompt"]);
            }
            for (step, (row, token)) in rows.iter().zip(&tokens).enumerate() {
                let margin = case["margins"][step].as_f64().unwrap();
                let bound = if name == "exact" { 0.02 } else { BOUND };
                assert!(best(row) == *token || margin < bound, "{name}, {}: step {step} by {margin}", case["prompt"]);
            }
        }
    }
}
