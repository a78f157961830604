//! Which prompt. In: the flags and stdin. Out: text, ids, or that a person wants to chat. Promise: text that is no UTF-8 or empty is
//! refused with the name of its source.

use std::io::Read;
use std::path::Path;

use super::args::Prompt;
use crate::error::{Error, Result};
use crate::model::Text;
use crate::text::{Codec, Marks, Message};

#[derive(Debug, PartialEq, Eq)]
pub enum Source {
    Text(String),
    Ids(Vec<u32>),
    Chat,
}

/// Reads the prompt that the flags name; `stdin` only where they say so or stdin is no terminal.
pub fn source(prompt: &Prompt, stdin: &mut dyn Read, stdin_is_terminal: bool) -> Result<Source> {
    if let Some(ids) = &prompt.prompt_ids {
        return Ok(Source::Ids(ids.0.clone()));
    }
    let (text, place) = match (&prompt.positional, &prompt.text, &prompt.file) {
        (Some(dash), ..) if dash == "-" => (read(stdin, "stdin")?, "stdin".to_owned()),
        (Some(text), ..) | (_, Some(text), _) => (text.clone(), "prompt".to_owned()),
        (_, _, Some(path)) => (read_file(path)?, path.display().to_string()),
        _ if stdin_is_terminal => return Ok(Source::Chat),
        _ => (read(stdin, "stdin")?, "stdin".to_owned()),
    };
    if text.is_empty() {
        return Err(Error::input("is empty").at(place));
    }
    Ok(Source::Text(text))
}

fn read_file(path: &Path) -> Result<String> {
    let place = path.display().to_string();
    let mut file = std::fs::File::open(path).map_err(|e| Error::input(e.to_string()).at(&place))?;
    read(&mut file, &place)
}

/// All text, without the line end that editors and `echo` leave.
fn read(from: &mut dyn Read, place: &str) -> Result<String> {
    let mut bytes = Vec::new();
    from.read_to_end(&mut bytes).map_err(|e| Error::input(e.to_string()).at(place))?;
    let mut text = String::from_utf8(bytes).map_err(|_| Error::input("is not UTF-8 text").at(place))?;
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    Ok(text)
}

/// The prompt's ids: as a first chat turn, or as it stands with `--raw` and for models without a template. A model that takes pictures
/// has marks for them, and so many of them here.
pub fn ids(
    source: Source,
    codec: Option<&Codec>,
    model: Option<&Text>,
    prompt: &Prompt,
    pictures: Option<(&Marks, usize)>,
) -> Result<Vec<u32>> {
    let text = match source {
        Source::Ids(ids) => return Ok(ids),
        Source::Text(text) => text,
        Source::Chat => String::new(),
    };
    let codec = codec.ok_or_else(no_tokenizer)?;
    if prompt.raw || !codec.has_template() {
        if prompt.system.is_some() {
            return Err(Error::usage("this model has no chat template to put it in").at("--system"));
        }
        return match pictures {
            Some((marks, count)) => codec.raw_with(&text, count, marks),
            None => codec.raw(&text),
        };
    }
    let system = prompt.system.as_deref().or(model.and_then(|m| m.system));
    let turn = Message { pictures: pictures.map_or(0, |(_, count)| count), ..Message::user(text) };
    let turns: Vec<Message> = system.map(Message::system).into_iter().chain([turn]).collect();
    match pictures {
        Some((marks, _)) => codec.chat_with(&turns, marks),
        None => codec.chat(&turns),
    }
}

pub fn no_tokenizer() -> Error {
    Error::usage("this model has no tokenizer").hint("give token ids with --prompt-ids")
}

#[cfg(test)]
mod tests {
    use super::super::args::Ids;
    use super::*;
    use crate::text::toy;

    fn from(prompt: Prompt, stdin: &[u8], terminal: bool) -> Result<Source> {
        source(&prompt, &mut { stdin }, terminal)
    }

    fn text(text: &str) -> Source {
        Source::Text(text.into())
    }

    #[test]
    fn without_a_prompt_a_person_chats_and_a_pipe_is_read() {
        assert_eq!(from(Prompt::default(), b"", true).unwrap(), Source::Chat);
        assert_eq!(from(Prompt::default(), b"piped\n", false).unwrap(), text("piped"));
    }

    #[test]
    fn a_dash_reads_stdin_even_from_a_terminal() {
        let prompt = Prompt { positional: Some("-".into()), ..Prompt::default() };
        assert_eq!(from(prompt, b"two\nlines\r\n", true).unwrap(), text("two\nlines"));
    }

    #[test]
    fn stdin_is_left_alone_when_the_prompt_is_given() {
        let prompt = Prompt { text: Some("-".into()), ..Prompt::default() };
        assert_eq!(from(prompt, b"other", false).unwrap(), text("-"));
    }

    #[test]
    fn empty_and_binary_prompts_are_refused_by_the_name_of_their_source() {
        assert_eq!(from(Prompt::default(), b"\n", false).unwrap_err().to_string(), "stdin: is empty");
        assert_eq!(from(Prompt::default(), b"\xff", false).unwrap_err().to_string(), "stdin: is not UTF-8 text");
        let prompt = Prompt { file: Some("no/such/file".into()), ..Prompt::default() };
        assert!(from(prompt, b"", false).unwrap_err().to_string().starts_with("no/such/file: "));
    }

    #[test]
    fn ids_need_no_tokenizer_and_text_does() {
        let prompt = Prompt { prompt_ids: Some(Ids(vec![4, 5])), ..Prompt::default() };
        let source = from(Prompt { prompt_ids: Some(Ids(vec![4, 5])), ..Prompt::default() }, b"", true).unwrap();
        assert_eq!(ids(source, None, None, &prompt, None).unwrap(), [4, 5]);
        let error = ids(text("a"), None, None, &Prompt::default(), None).unwrap_err();
        assert!(error.to_string().contains("--prompt-ids"), "{error}");
    }

    const TEMPLATE: &str = r#"{"chat_template":"{% for m in messages %}{{ m.role[0] }}:{{ m.content }};{% endfor %}"}"#;

    #[test]
    fn a_given_system_prompt_goes_before_the_models_own() {
        let codec = toy::codec(TEMPLATE, &[]);
        let model = Text { tokenizer: b"", config: "", template: None, stops: &[], system: Some("own") };
        let said = |prompt: &Prompt| {
            codec.decode(&ids(text("hi"), Some(&codec), Some(&model), prompt, None).unwrap()).unwrap()
        };
        assert_eq!(said(&Prompt::default()), "s:own;u:hi;");
        assert_eq!(said(&Prompt { system: Some("given".into()), ..Prompt::default() }), "s:given;u:hi;");
        assert_eq!(said(&Prompt { raw: true, ..Prompt::default() }), "hi");
    }

    #[test]
    fn a_base_model_completes_the_text_and_refuses_a_system_prompt() {
        let codec = toy::codec("", &[]);
        assert_eq!(ids(text("hi"), Some(&codec), None, &Prompt::default(), None).unwrap(), toy::ids("hi"));
        let prompt = Prompt { system: Some("s".into()), ..Prompt::default() };
        assert!(ids(text("hi"), Some(&codec), None, &prompt, None).unwrap_err().to_string().starts_with("--system: "));
    }
}
