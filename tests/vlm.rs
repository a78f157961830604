//! A model that looks at pictures as an executable: bin/tiny-vlm (`make model=tiny-vlm`), against what PyTorch said
//! (tests/data/smolvlm-tiny).

use std::path::Path;
use std::time::Duration;

use assert_cmd::assert::Assert;
use onnxcast_runtime::array::{Array, Data};
use onnxcast_runtime::npz;
use serde_json::Value;

/// Rows of a picture, and the vocabulary's size: the id of the first row.
const ROWS: i64 = 4;
const VOCAB: i64 = 600;

fn project() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn data(file: &str) -> String {
    project().join("tests/data/smolvlm-tiny").join(file).display().to_string()
}

fn run(args: &[&str]) -> Assert {
    let binary = project().join("bin/tiny-vlm");
    assert!(binary.exists(), "bin/tiny-vlm is missing; run: make model=tiny-vlm");
    assert_cmd::Command::new(binary).args(args).timeout(Duration::from_secs(120)).assert()
}

fn said(args: &[&str]) -> String {
    String::from_utf8(run(args).success().get_output().stdout.clone()).unwrap()
}

fn told() -> Value {
    serde_json::from_str(&std::fs::read_to_string(data("config.json")).unwrap()).unwrap()
}

fn numbers(list: &Value) -> Vec<i64> {
    list.as_array().unwrap().iter().map(|n| n.as_i64().unwrap()).collect()
}

fn joined(ids: &[i64], by: &str) -> String {
    ids.iter().map(i64::to_string).collect::<Vec<_>>().join(by)
}

/// PyTorch's arrays.
fn reference(name: &str) -> Array {
    let arrays = npz::read(Path::new(&data("reference.npz"))).unwrap();
    arrays.into_iter().find(|(n, _)| n == name).unwrap().1
}

#[test]
fn a_picture_and_a_prompt_give_pytorchs_twenty_tokens() {
    let (prompt, tokens) = (numbers(&told()["prompt"]), numbers(&told()["greedy_tokens"]));
    assert_eq!(tokens.len(), 20);
    let (picture, ids) = (data("picture.png"), joined(&prompt, ","));
    let args = ["--image", &picture, "--prompt-ids", &ids, "--ids", "-n", "20"];
    assert_eq!(said(&args), joined(&tokens, " ") + "\n");
    let one_at_a_time = [&args[..], &["--steps", "1"]].concat();
    assert_eq!(said(&one_at_a_time), joined(&tokens, " ") + "\n");
}

#[test]
fn the_tower_alone_is_within_a_ten_thousandth_of_pytorch() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.npz");
    said(&["run", "--bucket", "vision", "--inputs", &data("reference.npz"), "--outputs", out.to_str().unwrap()]);
    let (got, want) = (npz::read(&out).unwrap(), reference("image_embeds"));
    assert_eq!(got[0].1.shape, want.shape);
    let pairs = got[0].1.data.to_f64().into_iter().zip(want.data.to_f64());
    let worst = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(worst < 1e-4, "{worst}");
}

#[test]
fn text_alone_verifies_against_its_golden_file() {
    let report = said(&["verify", "--lengths"]);
    assert!(report.lines().all(|line| !line.starts_with("FAIL")), "{report}");
    assert!(report.contains("prompt of 95 in chunks"), "{report}");
}

/// Every step's whole row of logits, teacher-forced: in a golden file a row of a picture is an id past the vocabulary.
#[test]
fn rows_of_logits_after_a_picture_verify_and_another_picture_is_seen() {
    let image_token = told()["image_token_id"].as_i64().unwrap();
    let mut row = VOCAB..VOCAB + ROWS;
    let named = |id: i64| if id == image_token { row.next().unwrap() } else { id };
    let mut ids: Vec<i64> = numbers(&told()["prompt"]).into_iter().map(named).collect();
    let prompt = ids.len() as i64;
    let tokens = numbers(&told()["greedy_tokens"]);
    ids.extend(&tokens[..tokens.len() - 1]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rows.npz");
    let verify = |pixels: Array, code: i32| {
        let list = |values: &[i64]| Array::i64(&[values.len()], values);
        let at: Vec<i64> = (prompt - 1..ids.len() as i64).collect();
        let arrays = [
            ("ids", list(&ids)),
            ("at", list(&at)),
            ("prompts", list(&[prompt])),
            ("steps", list(&[tokens.len() as i64])),
            ("logits", reference("step_logits")),
            ("pictures", pixels),
        ];
        npz::write(&file, &arrays.map(|(name, array)| (name.to_owned(), array))).unwrap();
        let args = ["verify", "--golden", file.to_str().unwrap(), "--bound", "0.002", "--json"];
        let output = run(&args).code(code).get_output().clone();
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let report = verify(reference("pixel_values"), 0);
    assert_eq!((&report["passed"], &report["prompts"][0]["steps"]), (&true.into(), &20.into()));
    let mut other = reference("pixel_values");
    let Data::F32(values) = &mut other.data else { panic!("pixels are floats") };
    values.iter_mut().for_each(|v| *v = -*v);
    assert_eq!(verify(other, 9)["passed"], false);
}
