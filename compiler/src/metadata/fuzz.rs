//! Any bytes give a struct or an error that names the file: configs that are noise, and good ones with a few keys turned into something
//! else. `ONNXCAST_FUZZ_SECONDS=120` runs them that long.

use super::*;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Runs a property for a moment, or for as long as the environment says.
pub fn run<S: Strategy>(strategy: S, property: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let asked = std::env::var("ONNXCAST_FUZZ_SECONDS").ok().and_then(|s| s.parse().ok());
    let end = asked.map(|s: u64| Instant::now() + Duration::from_secs(s));
    loop {
        let mut runner = TestRunner::new(Config { cases: 256, failure_persistence: None, ..Config::default() });
        runner.run(&strategy, &property).unwrap();
        if end.is_none_or(|end| Instant::now() > end) {
            return;
        }
    }
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[%a-z./\\\\]{0,8}".prop_map(Value::from),
        Just(json!("past.%d.k")),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[a-z_]{1,6}", inner, 0..3).prop_map(|m| json!(m)),
        ]
    })
}

/// What the model builder writes, all keys that are read among them.
fn good() -> Value {
    json!({
        "model": {
            "bos_token_id": 1, "context_length": 512, "eos_token_id": [258], "pad_token_id": 256, "type": "x",
            "vocab_size": 320, "encoder": null, "vision": null, "pipeline": null,
            "decoder": {
                "filename": "model.onnx", "head_size": 16, "hidden_size": 64, "num_attention_heads": 4, "pipeline": null,
                "num_hidden_layers": 2, "num_key_value_heads": 2, "sliding_window": null,
                "inputs": { "input_ids": "i", "attention_mask": "a", "position_ids": "p", "past_names": null,
                            "past_key_names": "k.%d", "past_value_names": "v.%d" },
                "outputs": { "logits": "l", "present_key_names": "k.%d", "present_value_names": "v.%d" }
            }
        },
        "search": { "do_sample": false, "temperature": 1.0, "top_k": 1, "top_p": 1.0, "min_p": 0.1, "min_length": 0,
                    "max_length": 512, "repetition_penalty": 1.0, "num_beams": 1, "no_repeat_ngram_size": 0 },
        "bos_token": "<s>", "eos_token": { "content": "</s>" }, "pad_token": null, "add_bos_token": true,
        "do_center_crop": false, "size": { "longest_edge": 8 }, "resample": 1, "do_rescale": true, "rescale_factor": 0.5,
        "do_normalize": true, "image_mean": [0.5, 0.5, 0.5], "image_std": 0.5,
        "chat_template": [{ "name": "a", "template": "b" }], "eos_token_id": 7, "do_sample": true, "temperature": 0.5
    })
}

/// The `at`-th value of a document, counted depth first, replaced.
fn replace(value: &mut Value, at: &mut usize, with: &Value) {
    if *at == 0 {
        *value = with.clone();
        *at = usize::MAX;
        return;
    }
    *at -= 1;
    let children: Vec<&mut Value> = match value {
        Value::Array(list) => list.iter_mut().collect(),
        Value::Object(keys) => keys.values_mut().collect(),
        _ => vec![],
    };
    for child in children {
        replace(child, at, with);
        if *at == usize::MAX {
            return;
        }
    }
}

fn check(bytes: &[u8]) -> Result<(), TestCaseError> {
    let named = |file: &str, error: Option<crate::error::Error>| {
        let Some(error) = error else { return Ok(()) };
        let said = error.to_string();
        prop_assert!(said.starts_with(&format!("config: {file}")) && said.lines().count() == 1, "{}", said);
        Ok(())
    };
    named("genai_config.json", Genai::parse(bytes).err())?;
    named("g.json", Generation::parse("g.json", bytes).err())?;
    if let Ok(p) = Preprocessor::parse("p.json", bytes) {
        let errors = [p.size().err(), p.resample().err(), p.rescale().err(), p.mean().err(), p.std().err()];
        errors.into_iter().try_for_each(|e| named("p.json", e))?;
    }
    named("t.json", check_tokenizer_config("t.json", bytes).err())
}

#[test]
fn noise_is_read_or_refused_by_file() {
    run(prop::collection::vec(any::<u8>(), 0..64), |bytes| check(&bytes));
}

#[test]
fn a_config_with_values_of_another_kind_is_read_or_refused_by_file_and_key() {
    run(prop::collection::vec((0..75usize, value()), 1..4), |changes| {
        let mut config = good();
        changes.iter().for_each(|(at, with)| replace(&mut config, &mut at.clone(), with));
        check(config.to_string().as_bytes())
    });
}

#[test]
fn a_config_cut_or_altered_anywhere_is_read_or_refused_by_file() {
    run((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u8>()), |(cut, at, byte)| {
        let mut bytes = good().to_string().into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        check(&bytes)?;
        bytes.truncate(cut.index(bytes.len()));
        check(&bytes)
    });
}
