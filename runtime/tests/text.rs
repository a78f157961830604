//! The tiny model's tokenizer and template against its golden file, which other software wrote.

use std::path::Path;

use onnxcast_runtime::model::Text;
use onnxcast_runtime::text::{Codec, Message, Stream};
use onnxcast_runtime::verify::Golden;

fn file(name: &str) -> &'static str {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../models/tiny").join(name);
    std::fs::read_to_string(path).unwrap().leak()
}

fn codec() -> Codec {
    let (tokenizer, config) = (file("tokenizer.json").as_bytes(), file("tokenizer_config.json"));
    Codec::new(&Text { tokenizer, config, template: None, stops: &[], system: None }).unwrap()
}

#[test]
fn prompts_become_the_ids_that_the_reference_was_fed() {
    let codec = codec();
    for case in Golden::parse(file("golden.json")).unwrap().cases {
        assert_eq!(codec.chat(&[Message::user(&case.prompt)]).unwrap(), case.prompt_ids, "{:?}", case.prompt);
    }
}

#[test]
fn streamed_answers_join_to_the_reference_text() {
    let codec = codec();
    let golden: serde_json::Value = serde_json::from_str(file("golden.json")).unwrap();
    for case in golden["cases"].as_array().unwrap() {
        let tokens: Vec<u32> = case["tokens"].as_array().unwrap().iter().map(|t| t.as_u64().unwrap() as u32).collect();
        let mut stream = Stream::new(&codec);
        let streamed: String = tokens.iter().map(|&t| stream.push(t).unwrap()).collect();
        let text = case["text"].as_str().unwrap();
        // A character that never came to its end is not shown.
        assert_eq!(streamed, text.trim_end_matches('\u{fffd}'), "{:?}", case["prompt"]);
    }
}

#[test]
fn the_stop_is_the_configs_eos_token() {
    assert_eq!(codec().stops(), [258]);
}
