//! What init makes of a folder, branch by branch: each text is a manifest.

use super::*;
use crate::manifest::Manifest;
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

const TREE: &str = env!("CARGO_MANIFEST_DIR");

/// models/tiny as onnxruntime-genai would have it: the graph, the tokenizer, and a genai_config.json that names its inputs.
fn package(change: impl FnOnce(&mut Value)) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("qwen-2.5");
    fs::create_dir(&folder).unwrap();
    for name in ["model.onnx", "tokenizer.json", "tokenizer_config.json", "generation_config.json"] {
        fs::copy(Path::new(TREE).join("../models/tiny").join(name), folder.join(name)).unwrap();
    }
    let mut config = json!({
        "model": {
            "context_length": 512, "eos_token_id": [258, 5], "type": "llama",
            "decoder": {
                "filename": "model.onnx", "num_hidden_layers": 2,
                "inputs": { "input_ids": "input_ids", "past_key_names": "past_key_values.%d.key",
                            "past_value_names": "past_key_values.%d.value" },
                "outputs": { "logits": "logits", "present_key_names": "present.%d.key",
                             "present_value_names": "present.%d.value" }
            }
        },
        "search": { "do_sample": true, "temperature": 0.7, "top_k": 20, "top_p": 0.8, "repetition_penalty": 1.05,
                    "max_length": 300, "min_length": 3, "num_beams": 1 }
    });
    change(&mut config);
    fs::write(folder.join("genai_config.json"), config.to_string()).unwrap();
    (dir, folder)
}

fn read(folder: &Path) -> Manifest {
    let text = manifest(folder, false).unwrap();
    Manifest::parse(&text, "m").unwrap_or_else(|e| panic!("{e}\n{text}"))
}

#[test]
fn a_genai_config_alone_says_context_stops_and_sampling() {
    let (_dir, folder) = package(|_| ());
    for onnx in [folder.clone(), folder.join("model.onnx")] {
        let m = read(&onnx);
        assert_eq!((m.title.as_str(), m.context), ("qwen-2.5", Some(300)));
        assert_eq!(m.buckets.iter().map(|b| b.rows).collect::<Vec<_>>(), [CHUNK, 1]);
        assert_eq!(m.buckets[1].dims["past_sequence_length"], 299);
        let text = m.text.unwrap();
        assert_eq!((text.stops, text.generation_config), (Some(vec![258, 5]), None));
        assert_eq!(text.tokenizer_config.as_deref(), Some("tokenizer_config.json"));
        let s = m.sampling.unwrap().settings().unwrap();
        assert_eq!((s.temperature, s.top_k, s.top_p, s.repeat_penalty), (0.7, 20, 0.8, 1.05));
    }
    assert!(manifest(&folder, false).unwrap().contains("# min_length = 3 is not kept: an answer may end earlier."));
}

#[test]
fn a_greedy_config_draws_nothing_and_a_missing_value_is_the_builders() {
    for (key, value) in [("do_sample", json!(false)), ("top_k", json!(1)), ("temperature", json!(0))] {
        let (_dir, folder) = package(|c| c["search"][key] = value);
        let s = read(&folder).sampling.unwrap().settings().unwrap();
        assert_eq!((s.temperature, s.repeat_penalty), (0.0, 1.05), "{key}");
    }
    let (_dir, folder) = package(|c| c["search"] = json!({ "do_sample": true, "top_p": 0 }));
    let s = read(&folder).sampling.unwrap().settings().unwrap();
    assert_eq!((s.temperature, s.top_k, s.top_p), (1.0, 50, 1.0));
    let (_dir, folder) = package(|c| c["search"] = Value::Null);
    assert_eq!(read(&folder).sampling, None);
}

#[test]
fn what_genai_config_leaves_open_is_in_the_next_file() {
    let (_dir, folder) = package(|c| {
        c["model"]["eos_token_id"] = Value::Null;
        c["search"]["top_p"] = Value::Null;
    });
    fs::write(folder.join("generation_config.json"), "{\"eos_token_id\": 9, \"top_p\": 0.25, \"top_k\": 3}").unwrap();
    let m = read(&folder);
    assert_eq!(m.text.unwrap().stops, Some(vec![9]));
    let s = m.sampling.unwrap().settings().unwrap();
    assert_eq!((s.top_p, s.top_k), (0.25, 20));
    fs::remove_file(folder.join("generation_config.json")).unwrap();
    fs::write(folder.join("config.json"), "{\"eos_token_id\": [4], \"top_p\": 0.5}").unwrap();
    let m = read(&folder);
    assert_eq!((m.text.unwrap().stops, m.sampling.unwrap().top_p), (Some(vec![4]), Some(1.0)));
}

#[test]
fn a_file_whose_list_of_stops_is_empty_is_not_the_one_to_be_read() {
    let (_dir, folder) = package(|_| ());
    fs::remove_file(folder.join("genai_config.json")).unwrap();
    fs::write(folder.join("generation_config.json"), "{\"eos_token_id\": []}").unwrap();
    fs::write(folder.join("config.json"), "{\"eos_token_id\": [4]}").unwrap();
    assert_eq!(read(&folder).text.unwrap().generation_config.as_deref(), Some("config.json"));
}

#[test]
fn a_long_context_is_kept_within_reason_and_said() {
    let (_dir, folder) = package(|c| {
        c["model"]["context_length"] = json!(32768);
        c["search"] = json!({ "max_length": 32768 });
    });
    assert_eq!(read(&folder).context, Some(8192));
    assert!(manifest(&folder, false).unwrap().contains("# genai_config.json allows 32768;"));
}

#[test]
fn names_that_the_graph_does_not_have_are_refused_by_key() {
    let refused = |change: &dyn Fn(&mut Value), said: &str| {
        let (_dir, folder) = package(change);
        let error = manifest(&folder, false).unwrap_err().to_string();
        assert!(error.starts_with(&format!("config: genai_config.json: model.decoder.{said}")), "{error}");
    };
    refused(
        &|c| c["model"]["decoder"]["inputs"]["past_key_names"] = json!("past.%d.key"),
        "inputs.past_key_names: 'past.0.key' is no input of model.onnx",
    );
    refused(
        &|c| c["model"]["decoder"]["num_hidden_layers"] = json!(3),
        "inputs.past_key_names: 'past_key_values.2.key' is no input",
    );
    refused(
        &|c| c["model"]["decoder"]["num_hidden_layers"] = json!(1),
        "num_hidden_layers: 1 layers, and model.onnx has",
    );
    refused(&|c| c["model"]["decoder"]["outputs"]["logits"] = json!("scores"), "outputs.logits: 'scores' is no output");
    refused(&|c| c["model"]["decoder"]["inputs"]["input_ids"] = json!("ids"), "inputs.input_ids: 'ids' is no input");
    refused(&|c| c["model"]["decoder"]["filename"] = json!("other.onnx"), "filename: there is no file '");
}

#[test]
fn a_damaged_file_beside_the_graph_is_refused_by_its_name() {
    for name in ["genai_config.json", "generation_config.json", "tokenizer_config.json"] {
        let (_dir, folder) = package(|_| ());
        fs::write(folder.join(name), "{ \"a\": ").unwrap();
        let error = manifest(&folder, false).unwrap_err().to_string();
        assert!(error.starts_with(&format!("config: {name}: this is no JSON: ")), "{error}");
    }
}

#[test]
fn models_without_a_genai_config_get_manifests_too() {
    for (path, context) in [
        ("../models/tiny", Some(512)),
        ("../tests/data/qwen2-tiny-eager-dynamo-op18", Some(CONTEXT)),
        ("../tests/data/smolvlm-tiny/vision.onnx", None),
    ] {
        let onnx = Path::new(TREE).join(path);
        assert_eq!(read(&onnx).context, context, "{path}");
        assert!(Manifest::parse(&raw(&onnx).unwrap(), "m").is_ok(), "{path}");
    }
}
