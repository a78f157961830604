//! The files that turn text into ids and back. In: the manifest's `[text]`, a way to read files. Out: their contents and the ids that end
//! an answer. Promise: a model that continues text has no template, whatever its files hold.

use crate::error::{Error, Result};
use crate::manifest::Text;

/// Contents of the text files.
#[derive(Clone, Debug)]
pub struct TextFiles {
    pub tokenizer: Vec<u8>,
    pub config: Option<Vec<u8>>,
    pub template: Option<Vec<u8>>,
    pub stops: Vec<u32>,
    pub system: Option<String>,
}

/// Reads what the manifest names; `read` finds a file by name and reads it.
pub fn gather(t: &Text, read: &dyn Fn(&str) -> Result<Vec<u8>>) -> Result<TextFiles> {
    let file = |name: &String| read(name);
    let optional = |name: &Option<String>| name.as_ref().map(&file).transpose();
    let stops = match (&t.stops, &t.generation_config) {
        (Some(stops), _) => stops.clone(),
        (None, Some(name)) => {
            let bytes = file(name)?;
            stops(&bytes).ok_or_else(|| {
                let what = "has no usable eos_token_id";
                Error::new("manifest", what).at(name.clone()).hint("list the ids under [text] stops")
            })?
        }
        (None, None) => {
            return Err(Error::new("manifest", "neither stops nor generation_config is given").at("key 'text'"));
        }
    };
    Ok(TextFiles {
        tokenizer: file(&t.tokenizer)?,
        config: optional(&t.tokenizer_config)?.map(|json| if t.chat { json } else { without_template(json) }),
        template: optional(&t.template.clone().filter(|_| t.chat))?.map(unwrapped),
        stops,
        system: t.system.clone(),
    })
}

/// A tokenizer's config without its chat template. What is no JSON object is left to whoever reads it.
fn without_template(json: Vec<u8>) -> Vec<u8> {
    match serde_json::from_slice(&json) {
        Ok(serde_json::Value::Object(mut keys)) => {
            keys.remove("chat_template");
            serde_json::Value::Object(keys).to_string().into_bytes()
        }
        _ => json,
    }
}

/// A chat template by itself, also out of the `chat_template.json` of models that take pictures.
fn unwrapped(template: Vec<u8>) -> Vec<u8> {
    let json: Option<serde_json::Value> = serde_json::from_slice(&template).ok();
    let inner = json.as_ref().and_then(|j| j.get("chat_template")?.as_str()).map(|s| s.as_bytes().to_vec());
    inner.unwrap_or(template)
}

/// `eos_token_id` of a config file: a number or a list.
pub fn stops(json: &[u8]) -> Option<Vec<u32>> {
    let value: serde_json::Value = serde_json::from_slice(json).ok()?;
    let eos = value.get("eos_token_id").or_else(|| value.get("model")?.get("eos_token_id"))?;
    let id = |v: &serde_json::Value| v.as_u64().and_then(|n| u32::try_from(n).ok());
    match eos {
        serde_json::Value::Array(list) => list.iter().map(id).collect(),
        one => id(one).map(|n| vec![n]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_may_stand_in_a_json_file() {
        for (file, template) in [("{\"chat_template\": \"{{ x }}\\n\"}", "{{ x }}\n"), ("{{ x }}", "{{ x }}")] {
            assert_eq!(unwrapped(file.as_bytes().to_vec()), template.as_bytes());
        }
    }

    #[test]
    fn stops_are_a_number_or_a_list() {
        assert_eq!(stops(b"{\"eos_token_id\": 2}"), Some(vec![2]));
        assert_eq!(stops(b"{\"eos_token_id\": [7, 2]}"), Some(vec![7, 2]));
        assert_eq!(stops(b"{\"model\": {\"eos_token_id\": 5}}"), Some(vec![5]));
        for text in ["{}", "{\"eos_token_id\": null}", "{\"eos_token_id\": -1}", "[", "{\"eos_token_id\": [1, \"x\"]}"]
        {
            assert_eq!(stops(text.as_bytes()), None, "{text}");
        }
    }
}
