//! Qwen2.5's tokenizer and template against cases that other software wrote: Python's tokenizers and jinja2.

use std::path::Path;

use onnxcast_runtime::model::Text;
use onnxcast_runtime::text::{Codec, Message, Stream, Template};
use serde_json::Value;

fn file(name: &str) -> &'static str {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/qwen2.5").join(name);
    std::fs::read_to_string(path).unwrap().leak()
}

fn codec() -> Codec {
    let (tokenizer, config) = (file("tokenizer.json").as_bytes(), file("tokenizer_config.json"));
    Codec::new(&Text { tokenizer, config, template: None, stops: &[151645, 151643], system: None }).unwrap()
}

fn cases() -> Vec<Value> {
    serde_json::from_str(file("cases.json")).unwrap()
}

fn ids(case: &Value) -> Vec<u32> {
    case["ids"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap() as u32).collect()
}

/// The turns of a chat; none for a raw text.
fn turns(case: &Value) -> Option<Vec<Message>> {
    let text = |v: &Value| v.as_str().unwrap().to_string();
    let turn = |m: &Value| Message { role: text(&m["role"]).leak(), content: text(&m["content"]), pictures: 0 };
    Some(case["messages"].as_array()?.iter().map(turn).collect())
}

#[test]
fn the_template_writes_chatml_with_the_models_own_system_prompt_or_the_given_one() {
    let config: Value = serde_json::from_str(file("tokenizer_config.json")).unwrap();
    let template = Template::new(config["chat_template"].as_str().unwrap()).unwrap();
    let mut seen = 0;
    for case in cases() {
        let Some(turns) = turns(&case) else { continue };
        assert_eq!(template.render(&turns, "", "<|im_end|>").unwrap(), case["text"].as_str().unwrap());
        seen += 1;
    }
    assert!(seen >= 4);
    let text = template.render(&[Message::user("Hi")], "", "").unwrap();
    let expect = "<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.<|im_end|>\n\
        <|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n";
    assert_eq!(text, expect);
}

#[test]
fn chats_and_raw_texts_become_the_reference_ids() {
    let codec = codec();
    for case in cases() {
        let found = match turns(&case) {
            Some(turns) => codec.chat(&turns).unwrap(),
            None => codec.raw(case["raw"].as_str().unwrap()).unwrap(),
        };
        assert_eq!(found, ids(&case), "{}", case["text"]);
    }
}

#[test]
fn special_tokens_have_the_ids_that_the_manifests_stop_at() {
    let codec = codec();
    assert_eq!(codec.stops(), [151643, 151645]);
    assert_eq!(codec.raw("<|endoftext|><|im_start|><|im_end|>").unwrap(), [151643, 151644, 151645]);
    assert_eq!(codec.decode(&[151644, 13048, 151645]).unwrap(), "Hi", "none of them is shown");
}

#[test]
fn a_streamed_answer_is_the_text_of_its_ids() {
    let codec = codec();
    for case in cases() {
        let ids = ids(&case);
        let mut stream = Stream::new(&codec);
        let streamed: String = ids.iter().map(|&id| stream.push(id).unwrap()).collect();
        assert_eq!(streamed, codec.decode(&ids).unwrap());
    }
}
