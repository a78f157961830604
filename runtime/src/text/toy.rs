//! A toy tokenizer for tests. In: nothing. Out: a codec with one token per byte. Promise: `<s>` and `</s>` are its only special
//! tokens.

use super::Codec;
use crate::model::{Picture, Resample, Token};
use serde_json::{Map, Value, json};

pub const BOS: u32 = 256;
pub const EOS: u32 = 257;
/// A special token of `codec_with_image` alone.
pub const IMAGE: u32 = 258;
pub const WORD_A: u32 = 1;
pub const WORD_B: u32 = 2;
pub const WORD_EOS: u32 = 3;

/// Id of a byte.
pub fn id(byte: u8) -> u32 {
    u32::from(byte)
}

/// One id a byte of `text`.
pub fn ids(text: &str) -> Vec<u32> {
    text.bytes().map(id).collect()
}

/// The character that byte-level tokenizers show for a byte (GPT-2's table).
fn shown(byte: u8) -> char {
    let plain = |b: u8| matches!(b, b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff);
    if plain(byte) {
        return char::from(byte);
    }
    let before = (0..byte).filter(|&b| !plain(b)).count();
    char::from_u32(256 + before as u32).unwrap()
}

fn special(id: u32, content: &str) -> Value {
    json!({"id": id, "content": content, "single_word": false, "lstrip": false, "rstrip": false,
           "normalized": false, "special": true})
}

fn byte_tokenizer() -> Value {
    let vocab: Map<String, Value> = (0..=255u8).map(|b| (shown(b).to_string(), json!(id(b)))).collect();
    json!({
        "version": "1.0",
        "added_tokens": [special(BOS, "<s>"), special(EOS, "</s>")],
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
        "decoder": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
        "model": {"type": "BPE", "vocab": vocab, "merges": []},
    })
}

fn leak(value: &Value) -> &'static [u8] {
    value.to_string().leak().as_bytes()
}

fn build(tokenizer: &Value, config: &str, stops: &[u32]) -> Codec {
    let text = crate::model::Text {
        tokenizer: leak(tokenizer),
        config: config.to_owned().leak(),
        template: None,
        stops: stops.to_vec().leak(),
        system: None,
    };
    Codec::new(&text).unwrap()
}

pub fn codec(config: &str, stops: &[u32]) -> Codec {
    build(&byte_tokenizer(), config, stops)
}

/// With a token for a row of a picture.
pub fn codec_with_image(config: &str) -> Codec {
    let mut tokenizer = byte_tokenizer();
    let tokens = [(BOS, "<s>"), (EOS, "</s>"), (IMAGE, "<image>")];
    tokenizer["added_tokens"] = tokens.iter().map(|(id, text)| special(*id, text)).collect();
    build(&tokenizer, config, &[])
}

/// Its post-processor puts `<s>` before every text.
pub fn codec_with_bos_processor(config: &str) -> Codec {
    let mut tokenizer = byte_tokenizer();
    tokenizer["post_processor"] = json!({
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
        "special_tokens": {"<s>": {"id": "<s>", "ids": [BOS], "tokens": ["<s>"]}},
    });
    build(&tokenizer, config, &[])
}

/// SentencePiece style: words carry their space in front, and a text loses the first one.
pub fn codec_with_word_spaces() -> Codec {
    let tokenizer = json!({
        "version": "1.0",
        "added_tokens": [{"id": WORD_EOS, "content": "</s>", "single_word": false, "lstrip": false, "rstrip": false,
                          "normalized": false, "special": true}],
        "decoder": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true},
        "model": {"type": "WordLevel", "vocab": {"<unk>": 0, "▁a": WORD_A, "▁b": WORD_B, "</s>": WORD_EOS}, "unk_token": "<unk>"},
    });
    build(&tokenizer, "", &[])
}

/// A tower of one pixel, whose value stays as it is.
pub const LAW: Picture = Picture {
    height: 1,
    width: 1,
    resample: Resample::Nearest,
    rescale: 1.0,
    mean: [0.0; 3],
    std: [1.0; 3],
    token: Token::Text("<image>"),
    before: "{",
    after: "}",
};
