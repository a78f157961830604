//! `tokenizer_config.json`. In: its text, or nothing. Out: the few keys that matter. Promise: every spelling found in the field
//! (string, object, list, null, missing) reads; anything else is an error that names the key.

use serde_json::Value;

use crate::error::{Error, Result};

#[derive(Debug, Default, PartialEq)]
pub struct Config {
    pub bos_token: Option<String>,
    pub eos_token: Option<String>,
    pub eos_ids: Vec<u32>,
    /// `add_bos_token`; none leaves the choice to the tokenizer's post-processor.
    pub add_bos: Option<bool>,
    pub chat_template: Option<String>,
}

impl Config {
    /// An empty text is a config without keys.
    pub fn parse(text: &str) -> Result<Config> {
        if text.trim().is_empty() {
            return Ok(Config::default());
        }
        let root: Value = serde_json::from_str(text).map_err(|e| wrong(&e.to_string()))?;
        Ok(Config {
            bos_token: token(&root, "bos_token")?,
            eos_token: token(&root, "eos_token")?,
            eos_ids: eos_ids(root.get("eos_token_id"))?,
            add_bos: root.get("add_bos_token").and_then(Value::as_bool),
            chat_template: template(&root)?,
        })
    }
}

fn wrong(what: &str) -> Error {
    Error::input(what).at("tokenizer_config.json")
}

/// A token is a string or an object with `content`.
fn token(root: &Value, key: &str) -> Result<Option<String>> {
    match root.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(s)) => Ok(Some(s.clone())),
        Some(Value::Object(o)) => match o.get("content").and_then(Value::as_str) {
            Some(s) => Ok(Some(s.to_owned())),
            None => Err(wrong(&format!("{key} is an object without content"))),
        },
        Some(other) => Err(wrong(&format!("{key} is {other}, not a token"))),
    }
}

/// `eos_token_id` as configs have it: a number, a list, null or absent.
pub fn eos_ids(value: Option<&Value>) -> Result<Vec<u32>> {
    let one = |v: &Value| {
        let id = v.as_u64().and_then(|n| u32::try_from(n).ok());
        id.ok_or_else(|| Error::input(format!("eos_token_id holds {v}, not a token id")))
    };
    match value {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(list)) => list.iter().map(one).collect(),
        Some(v) => Ok(vec![one(v)?]),
    }
}

/// One template, or several with names, of which `default` is the one for chat.
fn template(root: &Value) -> Result<Option<String>> {
    let named = |list: &[Value]| {
        let wanted = list.iter().find(|t| t["name"] == "default").or(list.first());
        wanted.and_then(|t| t["template"].as_str()).map(str::to_owned)
    };
    match root.get("chat_template") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(s)) => Ok(Some(s.clone())),
        Some(Value::Array(list)) => match named(list) {
            Some(s) => Ok(Some(s)),
            None => Err(wrong("chat_template is a list without templates")),
        },
        Some(_) => Err(wrong("chat_template is neither a text nor a list")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn eos_may_be_a_number_a_list_null_or_missing() {
        assert_eq!(eos_ids(Some(&json!(2))).unwrap(), [2]);
        assert_eq!(eos_ids(Some(&json!([2, 3]))).unwrap(), [2, 3]);
        assert_eq!(eos_ids(Some(&json!(null))).unwrap(), [0u32; 0]);
        assert_eq!(eos_ids(None).unwrap(), [0u32; 0]);
        assert!(eos_ids(Some(&json!(-1))).is_err());
        assert!(eos_ids(Some(&json!([1, "x"]))).is_err());
    }

    #[test]
    fn a_named_list_gives_the_default_template() {
        let text = r#"{"chat_template":[{"name":"tool_use","template":"T"},{"name":"default","template":"D"}]}"#;
        assert_eq!(Config::parse(text).unwrap().chat_template.as_deref(), Some("D"));
    }

    #[test]
    fn a_token_may_be_an_object() {
        let config = Config::parse(r#"{"bos_token":{"content":"<s>","lstrip":false},"eos_token":null}"#).unwrap();
        assert_eq!((config.bos_token.as_deref(), config.eos_token), (Some("<s>"), None));
    }

    #[test]
    fn what_cannot_be_a_token_is_named() {
        let error = Config::parse(r#"{"bos_token":5}"#).unwrap_err();
        assert_eq!(error.to_string(), "tokenizer_config.json: bos_token is 5, not a token");
    }
}
