//! Decoders of com.microsoft operators, as onnxruntime-genai's builder writes them, against onnxruntime on the same file.

use super::*;

const FOLDER: &str = "tests/data/contrib/decoders";
const CONTEXT: usize = 64;

/// onnxruntime rounds activations to fp16 where the file does.
const BOUND: f64 = 0.1;

/// Teacher-forced: the largest difference of logits, and the steps whose best token differs though it is no near tie.
fn compare(name: &str, rows: usize, precision: Precision) -> (f64, Vec<usize>) {
    let reference = npz::read(&project().join(format!("{FOLDER}/{name}/reference.npz"))).unwrap();
    let array = |key: &str| reference.iter().find(|(name, _)| name == key).unwrap().1.data.to_f64();
    let ids = |key: &str| array(key).iter().map(|x| *x as u32).collect::<Vec<u32>>();
    let (prompt, tokens, logits) = (ids("prompt"), ids("tokens"), array("step_logits"));
    let mut engine = decoder(&format!("{FOLDER}/{name}/model.onnx"), CONTEXT, rows, precision);
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
    (far, wrong)
}

#[test]
fn a_genai_decoder_gives_what_onnxruntime_gives() {
    for (name, precision, bound) in [
        ("mid", Precision::Fp16, BOUND),
        ("point", Precision::Fp16, BOUND),
        ("float", Precision::Fp16, BOUND),
        ("wide", Precision::Fp32, 2e-3),
        ("head", Precision::Fp16, BOUND),
    ] {
        // The prompt in chunks, and in one.
        for rows in [4, 16] {
            let (far, wrong) = compare(name, rows, precision);
            assert!(far < bound && wrong.is_empty(), "{name}, {rows} rows: logits are {far} away, steps {wrong:?}");
        }
    }
}
