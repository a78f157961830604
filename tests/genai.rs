//! A folder as onnxruntime-genai's model builder writes it, through `make model=tiny-genai onnx=tests/data/genai`: no manifest but the one
//! that `onnxcast init` makes of genai_config.json. What the executable answers is what onnxruntime answered.

use assert_cmd::Command;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Duration;

fn project() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn said(args: &[&str]) -> String {
    let path: PathBuf = project().join("bin/tiny-genai");
    assert!(path.exists(), "bin/tiny-genai is missing; run: make model=tiny-genai onnx=tests/data/genai");
    let run = Command::new(path).args(args).timeout(Duration::from_secs(120)).assert().success();
    String::from_utf8(run.get_output().stdout.clone()).unwrap()
}

fn golden() -> Value {
    serde_json::from_slice(&std::fs::read(project().join("tests/data/genai/golden.json")).unwrap()).unwrap()
}

#[test]
fn the_executable_answers_as_onnxruntime_did() {
    let golden = golden();
    let cases = golden["cases"].as_array().unwrap();
    for case in cases {
        let count = case["tokens"].as_array().unwrap().len().to_string();
        let prompt = case["prompt"].as_str().unwrap();
        let json: Value = serde_json::from_str(&said(&["--json", "-n", &count, "-p", prompt])).unwrap();
        for key in ["prompt_ids", "tokens"] {
            assert_eq!(json[key], case[key], "{prompt:?}: {key}");
        }
        // Bytes at the end that are no whole character are not shown.
        let whole = |text: &Value| text.as_str().unwrap().trim_end_matches('\u{fffd}').to_owned();
        assert_eq!(json["text"], whole(&case["text"]), "{prompt:?}");
        let ended = if case["stop"] == "eos" { "stop_token" } else { "length" };
        assert_eq!(json["stop"]["reason"], ended, "{prompt:?}");
    }
    assert!(
        cases.iter().any(|c| c["stop"] == "eos")
            && cases.iter().any(|c| c["prompt_ids"].as_array().unwrap().len() > 128)
    );
}

#[test]
fn its_logits_are_onnxruntimes() {
    let file = project().join("tests/data/genai/golden.json");
    let report: Value = serde_json::from_str(&said(&["verify", "--golden", file.to_str().unwrap(), "--json"])).unwrap();
    assert_eq!(report["passed"], true, "{report}");
}

#[test]
fn its_manifest_is_what_init_makes_of_the_folder() {
    let made = tempfile::tempdir().unwrap();
    let run = Command::new(project().join("bin/onnxcast"))
        .current_dir(made.path())
        .args(["init", project().join("tests/data/genai").to_str().unwrap(), "--name", "tiny-genai"])
        .timeout(Duration::from_secs(60))
        .assert();
    run.success();
    let text = |path: PathBuf| std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let manifest = text(made.path().join("generated/tiny-genai/model.toml"));
    for line in ["context = 256", "precision = \"fp16\"", "stops = [258]"] {
        assert!(manifest.contains(line), "{line} in\n{manifest}");
    }
    let info: Value = serde_json::from_str(&said(&["info", "--json"])).unwrap();
    assert_eq!(info["context"], 256, "{info}");
}
