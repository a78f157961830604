//! The files that turn text into ids and back. In: the manifest's `[text]`, a way to read files. Out: their contents and the ids that end
//! an answer. Promise: a model that continues text has no template, whatever its files hold.

use crate::error::{Error, Result};
use crate::manifest::Text;
use crate::metadata;
use onnxcast_runtime::text;

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
            let hint = "list the ids under [text] stops";
            let none = || Error::new("manifest", "has no eos_token_id").at(name.clone()).hint(hint);
            metadata::stops(name, &file(name)?).map_err(|e| e.hint(hint))?.ok_or_else(none)?
        }
        (None, None) => {
            return Err(Error::new("manifest", "neither stops nor generation_config is given").at("key 'text'"));
        }
    };
    let files = TextFiles {
        tokenizer: file(&t.tokenizer)?,
        config: optional(&t.tokenizer_config)?.map(|json| if t.chat { json } else { without_template(json) }),
        template: optional(&t.template.clone().filter(|_| t.chat))?.map(unwrapped),
        stops,
        system: t.system.clone(),
    };
    files.read(t)?;
    Ok(files)
}

impl TextFiles {
    /// Reads them as the executable will, so that it does not meet a file that it cannot read.
    fn read(&self, t: &Text) -> Result<()> {
        let named = |name: &Option<String>, e: onnxcast_runtime::error::Error| {
            let name = name.clone().unwrap_or_else(|| t.tokenizer.clone());
            Err(Error::new("text", e.what)
                .at(name)
                .hint("the executable would refuse it: take the file of the model's own folder"))
        };
        let config = self.config.as_deref().map(String::from_utf8_lossy).unwrap_or_default();
        let template = self.template.as_deref().map(String::from_utf8_lossy);
        if let Err(e) = text::tokenizer_reads(&self.tokenizer) {
            return named(&None, e);
        }
        if let Err(e) = text::config_reads(&config) {
            return named(&t.tokenizer_config, e);
        }
        template.map_or(Ok(()), |source| text::template_reads(&source)).or_else(|e| named(&t.template, e))
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_may_stand_in_a_json_file() {
        for (file, template) in [("{\"chat_template\": \"{{ x }}\\n\"}", "{{ x }}\n"), ("{{ x }}", "{{ x }}")] {
            assert_eq!(unwrapped(file.as_bytes().to_vec()), template.as_bytes());
        }
    }
}
