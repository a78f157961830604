//! How a model is meant to be asked: generation_config.json, config.json, `search` of genai_config.json. In: their keys. Out: stop ids and
//! sampler settings, as far as they say. Promise: a value that makes no sense is an error; what is merely unknown is left alone.

use super::fields::{At, Document};
use crate::error::Result;

/// What a file says; None where it says nothing.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Generation {
    /// Ids that end an answer.
    pub eos: Option<Vec<u32>>,
    pub do_sample: Option<bool>,
    pub temperature: Option<f32>,
    pub top_k: Option<u64>,
    pub top_p: Option<f32>,
    pub min_p: Option<f32>,
    pub repetition_penalty: Option<f32>,
    /// Prompt and answer together.
    pub min_length: Option<u64>,
    pub max_length: Option<u64>,
    pub num_beams: Option<u64>,
    pub no_repeat_ngram_size: Option<u64>,
}

impl Generation {
    /// Reads a file of its own.
    pub fn parse(file: &str, bytes: &[u8]) -> Result<Generation> {
        let document = Document::parse(file, bytes)?;
        let root = document.root();
        Generation::of(&root, Some(&root))
    }

    /// Reads the ids from one object and the rest from another.
    pub fn of(ids: &At, search: Option<&At>) -> Result<Generation> {
        let get = |key: &str| search.and_then(|s| s.get(key));
        let whole = |key: &str| get(key).map(|at| at.whole(0, u32::MAX.into())).transpose();
        let number = |key: &str, most: f64| get(key).map(|at| at.number(0.0, most)).transpose();
        let penalty = number("repetition_penalty", f64::from(f32::MAX))?;
        if let (Some(at), Some(penalty)) = (get("repetition_penalty"), penalty)
            && !(penalty > 0.0 && penalty.is_finite())
        {
            return Err(at.bad(format!("expected more than 0, found {penalty}")));
        }
        Ok(Generation {
            eos: eos(ids)?,
            do_sample: get("do_sample").map(|at| at.flag()).transpose()?,
            temperature: number("temperature", f64::from(f32::MAX))?,
            top_k: whole("top_k")?,
            top_p: number("top_p", 1.0)?,
            min_p: number("min_p", 1.0)?,
            repetition_penalty: penalty,
            min_length: whole("min_length")?,
            max_length: whole("max_length")?,
            num_beams: whole("num_beams")?,
            no_repeat_ngram_size: whole("no_repeat_ngram_size")?,
        })
    }

    /// What this one says, and where it says nothing, what the other does.
    pub fn or(self, other: Generation) -> Generation {
        Generation {
            eos: self.eos.or(other.eos),
            do_sample: self.do_sample.or(other.do_sample),
            temperature: self.temperature.or(other.temperature),
            top_k: self.top_k.or(other.top_k),
            top_p: self.top_p.or(other.top_p),
            min_p: self.min_p.or(other.min_p),
            repetition_penalty: self.repetition_penalty.or(other.repetition_penalty),
            min_length: self.min_length.or(other.min_length),
            max_length: self.max_length.or(other.max_length),
            num_beams: self.num_beams.or(other.num_beams),
            no_repeat_ngram_size: self.no_repeat_ngram_size.or(other.no_repeat_ngram_size),
        }
    }
}

/// The ids that a file of its own says end an answer, also in the section `model` of a genai_config.json; nothing else of it is read.
pub fn stops(file: &str, bytes: &[u8]) -> Result<Option<Vec<u32>>> {
    let document = Document::parse(file, bytes)?;
    let root = document.root();
    match (eos(&root)?, root.get("model")) {
        (None, Some(model)) => eos(&model),
        (found, _) => Ok(found),
    }
}

/// An empty list says as little as none.
fn eos(ids: &At) -> Result<Option<Vec<u32>>> {
    Ok(ids.get("eos_token_id").map(|at| at.ids()).transpose()?.filter(|ids| !ids.is_empty()))
}

/// Refuses a tokenizer_config.json that an executable would not read.
pub fn check_tokenizer_config(file: &str, bytes: &[u8]) -> Result<()> {
    let document = Document::parse(file, bytes)?;
    let root = document.root();
    for key in ["bos_token", "eos_token", "pad_token"] {
        let Some(token) = root.get(key) else { continue };
        if token.is_object() {
            token.need("content", "a string")?.text()?;
        } else {
            token.text()?;
        }
    }
    root.get("add_bos_token").map(|at| at.flag()).transpose()?;
    match root.get("chat_template") {
        Some(list) if list.is_list() => {
            for item in list.items() {
                item.need("name", "a string")?.text()?;
                item.need("template", "a string")?.text()?;
            }
        }
        Some(text) => drop(text.text()?),
        None => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_file_that_says_something_counts_key_by_key() {
        let first = Generation::parse("a.json", b"{\"temperature\": 0.5, \"eos_token_id\": null}").unwrap();
        let second = Generation::parse("b.json", b"{\"temperature\": 0.7, \"top_k\": 9, \"eos_token_id\": 3}").unwrap();
        let both = first.or(second);
        assert_eq!((both.temperature, both.top_k, both.eos), (Some(0.5), Some(9), Some(vec![3])));
    }

    #[test]
    fn stops_are_a_number_or_a_list_and_an_empty_list_is_none() {
        let read = |text: &str| stops("c.json", text.as_bytes());
        assert_eq!(read("{\"eos_token_id\": 2}").unwrap(), Some(vec![2]));
        assert_eq!(read("{\"eos_token_id\": [7, 2]}").unwrap(), Some(vec![7, 2]));
        assert_eq!(read("{\"model\": {\"eos_token_id\": 5}}").unwrap(), Some(vec![5]));
        for text in ["{}", "{\"eos_token_id\": null}", "{\"eos_token_id\": []}", "{\"model\": {\"eos_token_id\": []}}"]
        {
            assert_eq!(read(text).unwrap(), None, "{text}");
        }
        for text in ["[", "{\"eos_token_id\": -1}", "{\"eos_token_id\": [1, \"x\"]}"] {
            assert!(read(text).unwrap_err().to_string().starts_with("config: c.json: "), "{text}");
        }
    }

    #[test]
    fn a_tokenizer_config_has_tokens_and_templates_of_every_known_spelling() {
        let check = |text: &str| check_tokenizer_config("tokenizer_config.json", text.as_bytes());
        for text in [
            "{}",
            "{\"bos_token\": null, \"chat_template\": \"{{ x }}\"}",
            "{\"bos_token\": {\"content\": \"<s>\"}, \"chat_template\": [{\"name\": \"a\", \"template\": \"b\"}]}",
        ] {
            check(text).unwrap();
        }
        for (text, said) in [
            ("{\"bos_token\": 5}", "bos_token: expected a string, found 5"),
            ("{\"eos_token\": {\"id\": 5}}", "eos_token.content: expected a string, and the key is missing"),
            ("{\"chat_template\": [{\"name\": 1}]}", "chat_template[0].name: expected a string, found 1"),
            ("{\"add_bos_token\": 1}", "add_bos_token: expected true or false, found 1"),
        ] {
            assert_eq!(check(text).unwrap_err().to_string(), format!("config: tokenizer_config.json: {said}"));
        }
    }
}
