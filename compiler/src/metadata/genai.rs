//! genai_config.json, as onnxruntime-genai's model builder writes it. In: its bytes. Out: file, names, token ids, context and search
//! defaults of a decoder. Promise: what is not one decoder in one graph is refused by the key that says so.

use super::fields::{At, Document};
use super::generation::Generation;
use crate::error::{Error, Result};
use crate::files::inside;

/// The file's name.
pub const FILE: &str = "genai_config.json";

/// A decoder.
#[derive(Clone, PartialEq, Debug)]
pub struct Genai {
    /// `model.type`, such as qwen2.
    pub kind: String,
    /// The graph's file, within the folder.
    pub filename: String,
    pub context_length: Option<usize>,
    pub layers: Option<usize>,
    pub names: Names,
    /// `model.eos_token_id`, and what `search` says.
    pub generation: Generation,
}

/// Names of a graph's inputs and outputs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Names {
    pub input_ids: String,
    pub logits: String,
    pub past_key: Numbered,
    pub past_value: Numbered,
    pub present_key: Numbered,
    pub present_value: Numbered,
}

/// A name with the number of a layer in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Numbered {
    pub key: &'static str,
    before: String,
    after: String,
}

impl Numbered {
    pub fn of_layer(&self, layer: usize) -> String {
        format!("{}{layer}{}", self.before, self.after)
    }

    fn read(side: Option<&At>, key: &'static str, default: &str) -> Result<Numbered> {
        let at = side.and_then(|s| s.get(key));
        let text = at.as_ref().map(|at| at.text()).transpose()?.unwrap_or(default);
        match (text.split_once("%d"), &at) {
            (Some((before, after)), _) if !after.contains('%') && !before.contains('%') => {
                Ok(Numbered { key, before: before.into(), after: after.into() })
            }
            (_, Some(at)) => Err(at.bad(format!("expected a string with %d once, found '{text}'"))),
            (_, None) => Err(Error::new("config", format!("'{default}' holds no %d")).at(key)),
        }
    }
}

/// Sections that stand for something else than one decoder in one graph.
const OTHERS: [(&str, &str); 8] = [
    ("encoder", "models with an encoder (speech, translation) are not supported"),
    ("encoder_decoder_init", "models with an encoder (speech, translation) are not supported"),
    ("vision", "models of several graphs need a manifest of their own (docs/manifest.md, Pictures)"),
    ("speech", "models that hear are not supported"),
    ("embedding", "models of several graphs need a manifest of their own (docs/manifest.md, Buckets)"),
    ("joiner", "transducers are not supported"),
    ("vad", "models that hear are not supported"),
    ("pipeline", "a model cut into a pipeline of graphs is not supported: export it as one graph"),
];

/// The same of the decoder's section.
const OTHER_DECODERS: [(&str, &str); 2] = [
    ("pipeline", "a decoder cut into a pipeline of graphs is not supported: export it as one graph"),
    ("sliding_window", "a decoder that is fed window by window is not supported: export it as one graph"),
];

impl Genai {
    pub fn parse(bytes: &[u8]) -> Result<Genai> {
        let document = Document::parse(FILE, bytes)?;
        let root = document.root();
        root.need("model", "an object")?;
        let model = root.object("model")?.ok_or_else(|| root.bad("expected a key 'model'"))?;
        refuse(&model, &OTHERS)?;
        model.need("decoder", "an object")?;
        let decoder = model.object("decoder")?.ok_or_else(|| model.bad("expected a key 'decoder'"))?;
        refuse(&decoder, &OTHER_DECODERS)?;
        let count = |at: &At, key: &str| at.get(key).map(|n| n.whole(1, 1 << 24).map(|n| n as usize)).transpose();
        for key in ["head_size", "hidden_size", "num_attention_heads", "num_key_value_heads"] {
            count(&decoder, key)?;
        }
        for key in ["bos_token_id", "pad_token_id"] {
            model.get(key).map(|id| id.id()).transpose()?;
        }
        count(&model, "vocab_size")?;
        let filename = decoder.need("filename", "the name of the .onnx file")?;
        let name = filename.text()?;
        if name.is_empty() || inside(name).is_none() {
            return Err(filename.bad(format!("'{name}' is no file within the folder")));
        }
        let search = root.object("search")?;
        Ok(Genai {
            kind: model.get("type").map(|t| t.text()).transpose()?.unwrap_or_default().to_string(),
            filename: name.to_string(),
            context_length: count(&model, "context_length")?,
            layers: count(&decoder, "num_hidden_layers")?,
            names: Names::read(&decoder)?,
            generation: Generation::of(&model, search.as_ref())?,
        })
    }
}

fn refuse(at: &At, others: &[(&str, &str)]) -> Result<()> {
    for (key, why) in others {
        // The builder leaves empty lists and objects where there is nothing.
        if let Some(found) = at.get(key).filter(|found| !found.is_empty()) {
            return Err(found.bad(*why));
        }
    }
    Ok(())
}

impl Names {
    fn read(decoder: &At) -> Result<Names> {
        let (inputs, outputs) = (decoder.object("inputs")?, decoder.object("outputs")?);
        let name = |side: Option<&At>, key: &str, default: &str| -> Result<String> {
            Ok(side.and_then(|s| s.get(key)).map(|at| at.text()).transpose()?.unwrap_or(default).to_string())
        };
        for side in [&inputs, &outputs].into_iter().flatten() {
            for key in ["past_names", "present_names"] {
                if let Some(found) = side.get(key) {
                    return Err(found.bad("a cache with keys and values in one tensor is not supported"));
                }
            }
        }
        for key in ["attention_mask", "position_ids"] {
            name(inputs.as_ref(), key, "")?;
        }
        let (inputs, outputs) = (inputs.as_ref(), outputs.as_ref());
        Ok(Names {
            input_ids: name(inputs, "input_ids", "input_ids")?,
            logits: name(outputs, "logits", "logits")?,
            past_key: Numbered::read(inputs, "past_key_names", "past_key_values.%d.key")?,
            past_value: Numbered::read(inputs, "past_value_names", "past_key_values.%d.value")?,
            present_key: Numbered::read(outputs, "present_key_names", "present.%d.key")?,
            present_value: Numbered::read(outputs, "present_value_names", "present.%d.value")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// What the builder writes, with one key replaced.
    fn config(path: &str, value: Value) -> Vec<u8> {
        let mut root = json!({
            "model": {
                "bos_token_id": 1, "context_length": 512, "type": "qwen2", "vocab_size": 320,
                "eos_token_id": [258, 2], "pad_token_id": 256, "vision": null,
                "decoder": {
                    "session_options": { "log_id": "onnxruntime-genai", "provider_options": [] },
                    "filename": "model.onnx", "head_size": 16, "hidden_size": 64, "num_attention_heads": 4,
                    "num_hidden_layers": 2, "num_key_value_heads": 2, "pipeline": [],
                    "inputs": { "input_ids": "ids", "past_key_names": "past.%d.k", "past_value_names": "past.%d.v" },
                    "outputs": { "logits": "scores" }
                }
            },
            "search": { "do_sample": true, "temperature": 0.5, "top_k": 20, "top_p": 0.9, "min_length": 0,
                        "max_length": 512, "repetition_penalty": 1.1, "num_beams": 1 }
        });
        let pointer = format!("/{}", path.replace('.', "/"));
        if !path.is_empty() {
            let (parent, key) = pointer.rsplit_once('/').unwrap();
            root.pointer_mut(parent).unwrap()[key] = value;
        }
        root.to_string().into_bytes()
    }

    #[test]
    fn names_ids_and_defaults_are_read() {
        let read = Genai::parse(&config("", Value::Null)).unwrap();
        assert_eq!((read.kind.as_str(), read.filename.as_str()), ("qwen2", "model.onnx"));
        assert_eq!((read.context_length, read.layers), (Some(512), Some(2)));
        assert_eq!((read.names.input_ids.as_str(), read.names.logits.as_str()), ("ids", "scores"));
        assert_eq!(read.names.past_value.of_layer(11), "past.11.v");
        assert_eq!(read.names.present_key.of_layer(1), "present.1.key", "what is not named has the builder's name");
        assert_eq!(read.generation.eos.as_deref(), Some(&[258, 2][..]));
        assert_eq!((read.generation.top_k, read.generation.repetition_penalty), (Some(20), Some(1.1)));
        let one = Genai::parse(&config("model.eos_token_id", json!(7))).unwrap();
        assert_eq!(one.generation.eos.as_deref(), Some(&[7][..]));
    }

    #[test]
    fn a_wrong_value_is_one_error_with_file_and_path() {
        for (path, value, said) in [
            ("model", json!(1), "model: expected an object, found 1"),
            ("model.decoder", Value::Null, "model.decoder: expected an object, and the key is missing"),
            ("model.decoder.filename", json!(["a"]), "model.decoder.filename: expected a string, found a list"),
            (
                "model.decoder.filename",
                json!("../m.onnx"),
                "model.decoder.filename: '../m.onnx' is no file within the folder",
            ),
            ("model.decoder.inputs", json!("x"), "model.decoder.inputs: expected an object, found a string"),
            (
                "model.decoder.inputs.past_key_names",
                json!("past.key"),
                "model.decoder.inputs.past_key_names: expected a string with %d once, found 'past.key'",
            ),
            (
                "model.decoder.outputs.present_value_names",
                json!("%d.%d"),
                "model.decoder.outputs.present_value_names: expected a string with %d once, found '%d.%d'",
            ),
            (
                "model.eos_token_id",
                json!([1, -2]),
                "model.eos_token_id[1]: expected a whole number from 0 to 4294967295, found -2",
            ),
            (
                "model.eos_token_id",
                json!("</s>"),
                "model.eos_token_id: expected a token id or a list of them, found a string",
            ),
            (
                "model.context_length",
                json!(0),
                "model.context_length: expected a whole number from 1 to 16777216, found 0",
            ),
            (
                "model.pad_token_id",
                json!(1.5),
                "model.pad_token_id: expected a whole number from 0 to 4294967295, found 1.5",
            ),
            ("search", json!([]), "search: expected an object, found a list"),
            ("search.do_sample", json!("yes"), "search.do_sample: expected true or false, found a string"),
            ("search.temperature", json!(-1), "search.temperature: expected a number, 0 or more, found -1"),
            ("search.top_p", json!(1.5), "search.top_p: expected a number, 0 to 1, found 1.5"),
            ("search.repetition_penalty", json!(0), "search.repetition_penalty: expected more than 0, found 0"),
        ] {
            let error = Genai::parse(&config(path, value)).unwrap_err();
            assert_eq!(error.to_string(), format!("config: genai_config.json: {said}"));
        }
        for text in ["", "{", "[]", "\"x\"", "{\"model\": {}}"] {
            let said = Genai::parse(text.as_bytes()).unwrap_err().to_string();
            assert!(said.starts_with("config: genai_config.json: "), "{said}");
        }
    }

    #[test]
    fn what_is_no_single_decoder_is_refused_by_name() {
        for (path, value, why) in [
            ("model.encoder", json!({ "filename": "e.onnx" }), "model.encoder: models with an encoder"),
            ("model.vision", json!({ "filename": "v.onnx" }), "model.vision: models of several graphs"),
            ("model.decoder.pipeline", json!([{ "a": {} }]), "model.decoder.pipeline: a decoder cut into a pipeline"),
            ("model.decoder.sliding_window", json!({ "window_size": 64 }), "model.decoder.sliding_window: "),
            (
                "model.decoder.inputs.past_names",
                json!("past_%d"),
                "model.decoder.inputs.past_names: a cache with keys and",
            ),
        ] {
            let said = Genai::parse(&config(path, value)).unwrap_err().to_string();
            assert!(said.contains(why), "{said}");
        }
    }
}
