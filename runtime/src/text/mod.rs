//! Text in and out of token ids. In: a model's tokenizer, its config and chat template. Out: ids for prompts and text for answers.
//! Promise: no second BOS, no broken character, and stops are compared as ids, never as text.

pub mod config;
pub mod pictures;
pub mod stop;
pub mod stream;
pub mod template;
#[cfg(test)]
pub(crate) mod toy;

use tokenizers::Tokenizer;

use crate::error::{Error, Result};
use crate::step::MAX_STOPS;
use config::Config;
pub use pictures::Marks;
pub use stop::StopFilter;
pub use stream::Stream;
pub use template::{Message, Template};

/// Ids of a text by a tokenizer.json alone, as it stands and without special tokens: for tools that have no model at hand.
pub fn ids(tokenizer: &[u8], text: &str) -> Result<Vec<u32>> {
    let fail = |e: tokenizers::Error| Error::input(e.to_string()).at("tokenizer.json");
    let encoding = Tokenizer::from_bytes(tokenizer).and_then(|t| t.encode_fast(text, false));
    Ok(encoding.map_err(fail)?.get_ids().to_vec())
}

/// Whether a `tokenizer.json` can be read, for who puts it into an executable.
pub fn tokenizer_reads(tokenizer: &[u8]) -> Result<()> {
    Tokenizer::from_bytes(tokenizer)
        .map(|_| ())
        .map_err(|e| Error::input(format!("is no tokenizer that can be read: {e}")))
}

/// Whether a `tokenizer_config.json` can be read, and the chat template in it.
pub fn config_reads(config: &str) -> Result<()> {
    Config::parse(config)?.chat_template.map_or(Ok(()), |source| template_reads(&source))
}

/// Whether a chat template can be read.
pub fn template_reads(source: &str) -> Result<()> {
    Template::new(source).map(|_| ())
}

/// A model's text side, parsed.
pub struct Codec {
    tokenizer: Tokenizer,
    config: Config,
    template: Option<Template>,
    stops: Vec<u32>,
}

impl Codec {
    /// Errors name the file that does not parse.
    pub fn new(text: &crate::model::Text) -> Result<Codec> {
        let tokenizer =
            Tokenizer::from_bytes(text.tokenizer).map_err(|e| Error::input(e.to_string()).at("tokenizer.json"))?;
        let config = Config::parse(text.config)?;
        let source = text.template.or(config.chat_template.as_deref());
        let template = source.map(Template::new).transpose()?;
        let mut codec = Codec { tokenizer, config, template, stops: Vec::new() };
        codec.stops = codec.stop_ids(text.stops)?;
        Ok(codec)
    }

    /// The manifest's stops; failing those the config's `eos_token_id`, else the id of its `eos_token`, else none.
    fn stop_ids(&self, given: &[u32]) -> Result<Vec<u32>> {
        let mut ids = if !given.is_empty() {
            given.to_vec()
        } else if !self.config.eos_ids.is_empty() {
            self.config.eos_ids.clone()
        } else {
            self.config.eos_token.iter().filter_map(|t| self.tokenizer.token_to_id(t)).collect()
        };
        ids.sort_unstable();
        ids.dedup();
        if ids.len() > MAX_STOPS {
            let what = format!("{} stop ids, at most {MAX_STOPS} are possible", ids.len());
            return Err(Error::input(what).at("stops"));
        }
        Ok(ids)
    }

    /// Token ids that end an answer, ascending.
    pub fn stops(&self) -> &[u32] {
        &self.stops
    }

    pub fn has_template(&self) -> bool {
        self.template.is_some()
    }

    /// Ids of a conversation, the answer's opening included. The template writes its own BOS, so the tokenizer adds none.
    pub fn chat(&self, messages: &[Message]) -> Result<Vec<u32>> {
        self.ids(&self.rendered(messages)?, false)
    }

    /// As [`Codec::chat`], with a picture's tokens for each of the messages' pictures.
    pub fn chat_with(&self, messages: &[Message], marks: &Marks) -> Result<Vec<u32>> {
        let shown = self.template.as_ref().is_some_and(|t| t.shows_pictures(marks.text()));
        let placed: Vec<Message> = messages.iter().map(|m| marks.placed(m, shown)).collect();
        let pictures = messages.iter().map(|m| m.pictures).sum();
        self.ids(&marks.expanded(&self.rendered(&placed)?, pictures)?, false)
    }

    /// The conversation as text.
    fn rendered(&self, messages: &[Message]) -> Result<String> {
        let template = self.template.as_ref().ok_or_else(|| {
            Error::input("this model has no chat template").hint("give the prompt as it stands, with --raw")
        })?;
        let bos = self.config.bos_token.as_deref().unwrap_or_default();
        let eos = self.config.eos_token.as_deref().unwrap_or_default();
        template.render(messages, bos, eos)
    }

    /// As [`Codec::raw`], with a picture's tokens for each of `pictures`.
    pub fn raw_with(&self, text: &str, pictures: usize, marks: &Marks) -> Result<Vec<u32>> {
        let message = marks.placed(&Message { pictures, ..Message::user(text) }, false);
        self.raw(&marks.expanded(&message.content, pictures)?)
    }

    /// The id of a text that is one token.
    pub fn token(&self, text: &str) -> Option<u32> {
        self.tokenizer.token_to_id(text)
    }

    /// The text of a token, as it stands in the vocabulary.
    pub fn token_text(&self, id: u32) -> Option<String> {
        self.tokenizer.id_to_token(id)
    }

    /// Ids of a text as it stands, with the BOS where the model wants one and the text has none.
    pub fn raw(&self, text: &str) -> Result<Vec<u32>> {
        let mut ids = self.ids(text, true)?;
        let bos = self.config.bos_token.as_deref().and_then(|t| self.tokenizer.token_to_id(t));
        let Some(bos) = bos else { return Ok(ids) };
        if self.config.add_bos == Some(true) && ids.first() != Some(&bos) {
            ids.insert(0, bos);
        }
        if ids.starts_with(&[bos, bos]) {
            ids.remove(0);
        }
        Ok(ids)
    }

    fn ids(&self, text: &str, special: bool) -> Result<Vec<u32>> {
        let encoding = self.tokenizer.encode_fast(text, special);
        Ok(encoding.map_err(|e| Error::input(e.to_string()).at("prompt"))?.get_ids().to_vec())
    }

    /// Text of `ids`, special tokens left out; an incomplete character shows as U+FFFD.
    pub fn decode(&self, ids: &[u32]) -> Result<String> {
        self.tokenizer.decode(ids, true).map_err(|e| Error::other(e.to_string()).at("tokenizer"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_text_gets_one_bos_whether_or_not_it_brings_its_own() {
        let codec = toy::codec(r#"{"bos_token":"<s>","eos_token":"</s>","add_bos_token":true}"#, &[]);
        assert_eq!(codec.raw("a").unwrap(), [toy::BOS, toy::id(b'a')]);
        assert_eq!(codec.raw("<s>a").unwrap(), [toy::BOS, toy::id(b'a')]);
    }

    #[test]
    fn raw_text_gets_no_bos_where_the_model_wants_none() {
        let codec = toy::codec(r#"{"bos_token":"<s>","add_bos_token":false}"#, &[]);
        assert_eq!(codec.raw("a").unwrap(), [toy::id(b'a')]);
    }

    #[test]
    fn a_bos_of_the_post_processor_does_not_double_the_one_in_the_text() {
        let codec = toy::codec_with_bos_processor(r#"{"bos_token":"<s>"}"#);
        assert_eq!(codec.raw("a").unwrap(), [toy::BOS, toy::id(b'a')]);
        assert_eq!(codec.raw("<s>a").unwrap(), [toy::BOS, toy::id(b'a')]);
    }

    #[test]
    fn a_template_with_bos_gives_one_bos() {
        let config = r#"{"bos_token":"<s>","chat_template":"{{ bos_token }}{{ messages[0].content }}"}"#;
        let codec = toy::codec_with_bos_processor(config);
        assert_eq!(codec.chat(&[Message::user("a")]).unwrap(), [toy::BOS, toy::id(b'a')]);
    }

    #[test]
    fn stops_come_from_the_manifest_then_the_config_then_the_eos_token() {
        let config = r#"{"eos_token":{"content":"</s>"},"eos_token_id":[7,5,7]}"#;
        assert_eq!(toy::codec(config, &[9, 3]).stops(), [3, 9]);
        assert_eq!(toy::codec(config, &[]).stops(), [5, 7]);
        assert_eq!(toy::codec(r#"{"eos_token":"</s>"}"#, &[]).stops(), [toy::EOS]);
        assert_eq!(toy::codec("", &[]).stops(), [0u32; 0]);
    }

    #[test]
    fn chat_without_a_template_says_what_to_do() {
        let error = toy::codec("", &[]).chat(&[Message::user("a")]).unwrap_err();
        assert!(error.to_string().contains("--raw"), "{error}");
    }

    #[test]
    fn a_broken_tokenizer_is_an_error_that_names_the_file() {
        let text = crate::model::Text { tokenizer: b"{", config: "", template: None, stops: &[], system: None };
        let error = Codec::new(&text).err().unwrap();
        assert!(error.to_string().starts_with("tokenizer.json: "), "{error}");
    }
}
