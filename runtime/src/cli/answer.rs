//! The default command. In: a prompt or a person. Out: one answer, or a chat. Promise: everything that can be refused without a
//! device is refused before one is opened.

use super::album::{Album, Shot, no_pictures};
use super::args::Args;
use super::chat::{Chat, Lines};
use super::generate::{End, Request, generate};
use super::interrupt;
use super::out::{Out, remark_to_person};
use super::source::{self, Source};
use crate::error::{Error, Kind, Result};
use crate::generator::Generator;
use crate::model::{Picture, Text};
use crate::program::{Decoder, Program};
use crate::sampling::Sampling;
use crate::text::Codec;

/// The model as far as answers need it.
pub struct Setting<'a> {
    pub program: &'a Program,
    pub text: Option<&'a Text>,
    pub codec: Option<&'a Codec>,
    /// What the model makes of pictures, if it takes any.
    pub picture: Option<&'a Picture>,
    /// None is greedy.
    pub sampling: Option<Sampling>,
}

impl Setting<'_> {
    /// Errors for a graph that generates nothing.
    pub fn decoder(&self) -> Result<&Decoder> {
        self.program.decoder.as_ref().ok_or_else(|| {
            let hint = format!("use: {} run --inputs FILE --outputs FILE", self.program.name);
            Error::usage("this model generates no tokens").hint(hint)
        })
    }
}

/// Answers `source`. `open` makes the session and `lines` the editor, each only when it is needed.
pub fn answer<G: Generator>(
    setting: &Setting,
    args: &Args,
    source: Source,
    open: impl FnOnce() -> Result<G>,
    lines: impl FnOnce() -> Result<Box<dyn Lines>>,
    out: &mut Out,
) -> Result<()> {
    let decoder = setting.decoder()?;
    if setting.codec.is_none() && !args.answer.stop.is_empty() {
        return Err(source::no_tokenizer().at("--stop"));
    }
    let mut album = Album::new(setting.picture, decoder, setting.codec)?;
    let shots = shots(album.as_ref(), args)?;
    if source == Source::Chat {
        return chat(setting, args, (album, shots), open, lines, out);
    }
    let marks = album.as_ref().map(|album| (&album.marks, shots.len()));
    let ids = source::ids(source, setting.codec, setting.text, &args.prompt, marks)?;
    check_ids(&ids, decoder)?;
    let Some(album) = &mut album else {
        return one_shot(setting, args, (&ids, &ids), &mut open()?, out);
    };
    let seats = album.seats(&shots).map_err(|e| e.at("--image"))?;
    let placed = album.place(&ids, &seats)?;
    let mut session = open()?;
    album.show(&shots, &seats, &mut session)?;
    one_shot(setting, args, (&ids, &placed), &mut session, out)
}

/// The pictures that the flags name.
fn shots(album: Option<&Album>, args: &Args) -> Result<Vec<Shot>> {
    match album {
        None if !args.prompt.images.is_empty() => Err(no_pictures("--image")),
        None => Ok(vec![]),
        Some(album) => args.prompt.images.iter().map(|path| album.load(path)).collect(),
    }
}

fn check_ids(ids: &[u32], decoder: &Decoder) -> Result<()> {
    if let Some(id) = ids.iter().find(|&&id| id >= decoder.vocab) {
        return Err(Error::input(format!("token id {id}, the vocabulary has {}", decoder.vocab)).at("prompt"));
    }
    if ids.len() >= decoder.context as usize {
        let what =
            format!("{} tokens, the context holds {} with at least one for the answer", ids.len(), decoder.context);
        return Err(Error::input(what).at("prompt").hint("shorten it"));
    }
    if ids.is_empty() {
        return Err(Error::input("has no tokens").at("prompt"));
    }
    Ok(())
}

/// Answers ids: as they were given, and with rows of pictures placed.
fn one_shot(
    setting: &Setting,
    args: &Args,
    (given, ids): (&[u32], &[u32]),
    session: &mut dyn Generator,
    out: &mut Out,
) -> Result<()> {
    let answer = &args.answer;
    let as_ids = !answer.json && (answer.ids || setting.codec.is_none());
    let mut first = true;
    let mut show = |tokens: &[u32], text: &str| {
        if answer.json {
            return Ok(());
        }
        if !as_ids {
            return out.text(text);
        }
        for token in tokens {
            out.text(&if std::mem::take(&mut first) { token.to_string() } else { format!(" {token}") })?;
        }
        Ok(())
    };
    let answering = interrupt::answering();
    let request = Request { ids, limit: answer.limit, stop: &answer.stop };
    let answered = generate(session, setting.codec, &request, &|| answering.asked(), &mut show)?;
    drop(answering);
    match answer.json {
        true => out.json(&answered.json(&setting.program.name, given, setting.sampling.as_ref()))?,
        false => out.text("\n")?,
    }
    remark_to_person(&answered.summary(setting.sampling.as_ref()));
    if answered.end == End::Interrupted {
        return Err(Error::new(Kind::Interrupted, "interrupted"));
    }
    Ok(())
}

fn chat<'a, G: Generator>(
    setting: &Setting<'a>,
    args: &Args,
    (album, shots): (Option<Album<'a>>, Vec<Shot>),
    open: impl FnOnce() -> Result<G>,
    lines: impl FnOnce() -> Result<Box<dyn Lines>>,
    out: &mut Out,
) -> Result<()> {
    let codec = setting.codec.ok_or_else(source::no_tokenizer)?;
    if args.answer.json || args.answer.ids {
        let flag = if args.answer.json { "--json" } else { "--ids" };
        return Err(Error::usage("a chat prints text").at(flag).hint("give a prompt"));
    }
    let raw = args.prompt.raw || !codec.has_template();
    if raw && args.prompt.system.is_some() {
        return Err(Error::usage("this model has no chat template to put it in").at("--system"));
    }
    if raw && !args.prompt.raw {
        remark_to_person("This model has no chat template: it continues each line by itself.");
    }
    let system = args.prompt.system.as_deref().or(setting.text.and_then(|t| t.system));
    let mut session = open()?;
    let mut chat = Chat::new(codec, system, raw, args.answer.limit, &args.answer.stop);
    chat.sampling = setting.sampling;
    chat.album = album;
    chat.waiting = shots;
    chat.talk(&mut session, lines()?.as_mut(), out)
}

#[cfg(test)]
mod tests {
    use super::super::album;
    use super::super::chat::Line;
    use super::super::script::Script;
    use super::*;
    use crate::cost::tests::toy as program;
    use crate::step::Done;
    use crate::text::toy;
    use clap::Parser;

    const TEMPLATE: &str = r#"{"chat_template":"{% for m in messages %}{{ m.content }};{% endfor %}"}"#;

    struct NoLines;

    impl Lines for NoLines {
        fn next(&mut self) -> Result<Line> {
            Ok(Line::End)
        }
    }

    fn bytes_program() -> Program {
        let decoder = Decoder { context: 16, vocab: 258, decode: 1, prefill: 0, pictures: None };
        Program { decoder: Some(decoder), ..program() }
    }

    /// Stdout of a command line that a scripted session answers with `hi</s>`.
    fn said(program: &Program, codec: Option<&Codec>, line: &[&str], source: Source) -> Result<String> {
        let args = Args::try_parse_from(std::iter::once(&"toy").chain(line)).unwrap();
        let mut printed = Vec::new();
        let setting = Setting { program, text: None, codec, picture: None, sampling: args.sampling(None)? };
        let script = || Ok(Script::new(vec![(toy::ids("hi").into_iter().chain([toy::EOS]).collect(), Done::Stop)]));
        answer(&setting, &args, source, script, || Ok(Box::new(NoLines)), &mut Out::new(&mut printed))?;
        Ok(String::from_utf8(printed).unwrap())
    }

    fn text(text: &str) -> Source {
        Source::Text(text.into())
    }

    #[test]
    fn an_answer_is_text_ids_or_json() {
        let (program, codec) = (bytes_program(), toy::codec(TEMPLATE, &[]));
        assert_eq!(said(&program, Some(&codec), &["x"], text("x")).unwrap(), "hi\n");
        assert_eq!(said(&program, Some(&codec), &["x", "--ids"], text("x")).unwrap(), "104 105 257\n");
        let json: serde_json::Value =
            serde_json::from_str(&said(&program, Some(&codec), &["x", "--json"], text("x")).unwrap()).unwrap();
        assert_eq!((&json["text"], &json["prompt_ids"]), (&"hi".into(), &serde_json::json!([120, 59])));
    }

    #[test]
    fn the_json_form_says_how_tokens_were_drawn() {
        let (program, codec) = (bytes_program(), toy::codec(TEMPLATE, &[]));
        let json = |line: &[&str]| -> serde_json::Value {
            serde_json::from_str(&said(&program, Some(&codec), line, text("x")).unwrap()).unwrap()
        };
        assert_eq!(json(&["x", "--json"])["sampling"], serde_json::Value::Null);
        let drawn = json(&["x", "--json", "--temp", "0.5", "--top-k", "4", "--seed", "9"]);
        let want = serde_json::json!({
            "temperature": 0.5, "top_k": 4, "top_p": 1.0, "min_p": 0.0, "repeat_penalty": 1.0, "seed": 9
        });
        assert_eq!(drawn["sampling"], want);
        assert!(json(&["x", "--json", "--temp", "0.5"])["sampling"]["seed"].is_u64(), "a made up seed is shown");
    }

    #[test]
    fn a_model_without_a_tokenizer_prints_ids() {
        let ids = || Source::Ids(vec![1, 2]);
        assert_eq!(said(&bytes_program(), None, &["--prompt-ids", "1,2"], ids()).unwrap(), "104 105 257\n");
        let error = said(&bytes_program(), None, &["--prompt-ids", "1,2", "--stop", "x"], ids()).unwrap_err();
        assert!(error.to_string().starts_with("--stop: "), "{error}");
    }

    #[test]
    fn a_prompt_that_fills_the_context_is_refused_with_both_numbers() {
        let codec = toy::codec("", &[]);
        assert!(said(&bytes_program(), Some(&codec), &["x"], text(&"x".repeat(15))).is_ok());
        let error = said(&bytes_program(), Some(&codec), &["x"], text(&"x".repeat(16))).unwrap_err();
        assert!(error.to_string().starts_with("prompt: 16 tokens, the context holds 16"), "{error}");
    }

    #[test]
    fn an_id_beyond_the_vocabulary_is_refused() {
        let error = said(&bytes_program(), None, &["--prompt-ids", "258"], Source::Ids(vec![258])).unwrap_err();
        assert_eq!(error.to_string(), "prompt: token id 258, the vocabulary has 258");
    }

    #[test]
    fn a_graph_that_generates_nothing_points_to_run() {
        let program = Program { decoder: None, ..program() };
        let error = said(&program, None, &["x"], text("x")).unwrap_err();
        assert!(error.to_string().contains("toy run --inputs"), "{error}");
    }

    /// The prompt and the pictures that a command line with pictures gives a session, and what it prints.
    fn looked(line: &[&str], source: Source) -> Result<(Script, String)> {
        let args = Args::try_parse_from(std::iter::once(&"toy").chain(line)).unwrap();
        let program = Program { decoder: Some(album::tests::EYES), ..program() };
        let codec = toy::codec_with_image(TEMPLATE);
        let (codec, picture) = (Some(&codec), Some(&toy::LAW));
        let setting = Setting { program: &program, text: None, codec, picture, sampling: None };
        let mut script = Script::new(vec![(toy::ids("hi"), Done::Stop)]);
        let mut printed = Vec::new();
        answer(&setting, &args, source, || Ok(&mut script), || Ok(Box::new(NoLines)), &mut Out::new(&mut printed))?;
        Ok((script, String::from_utf8(printed).unwrap()))
    }

    #[test]
    fn pictures_of_the_command_line_stand_before_the_prompt_or_where_its_ids_say() {
        let folder = tempfile::tempdir().unwrap();
        let [a, b] = [5, 6].map(|n| album::tests::dot(folder.path(), n));
        let (script, _) = looked(&["x", "--image", &a], text("x")).unwrap();
        assert_eq!(script.prompts, [[123, 300, 301, 125, 120, 59]]);
        let ids = || Source::Ids(vec![1, 258, 258, 258, 258, 258, 258]);
        let (script, printed) = looked(&["--json", "--image", &b, "--image", &a, "--image", &b], ids()).unwrap();
        assert_eq!(
            (script.prompts, script.shown),
            (vec![vec![1, 300, 301, 302, 303, 300, 301]], vec![(0, 6.0), (1, 5.0)])
        );
        let json: serde_json::Value = serde_json::from_str(&printed).unwrap();
        assert_eq!(json["prompt_ids"], serde_json::json!([1, 258, 258, 258, 258, 258, 258]));
        let error = looked(&["--image", &a], ids()).err().unwrap().to_string();
        assert_eq!(error, "the prompt has 6 image tokens, the pictures give 1 x 2");
    }

    #[test]
    fn pictures_that_cannot_be_shown_are_refused_before_a_session_is_opened() {
        let folder = tempfile::tempdir().unwrap();
        let pictures = [1, 2, 3].map(|n| album::tests::dot(folder.path(), n));
        let line: Vec<&str> = pictures.iter().flat_map(|p| ["--image", p]).collect();
        let error = looked(&line, text("x")).err().unwrap();
        assert_eq!((error.exit_code(), error.what.as_str()), (2, "--image: 3 pictures are shown, and 2 fit at once"));
        let error = looked(&["--image", "no/such.png"], text("x")).err().unwrap();
        assert!(error.exit_code() == 6 && error.what.starts_with("no/such.png: "), "{error}");
        let codec = toy::codec("", &[]);
        let error = said(&bytes_program(), Some(&codec), &["x", "--image", "a.png"], text("x")).unwrap_err();
        assert_eq!(error.to_string(), "--image: this model takes no pictures");
    }

    #[test]
    fn a_chat_prints_no_json() {
        let codec = toy::codec(TEMPLATE, &[]);
        let error = said(&bytes_program(), Some(&codec), &["--json"], Source::Chat).unwrap_err();
        assert_eq!(error.kind, Kind::Usage);
        assert_eq!(said(&bytes_program(), Some(&codec), &[], Source::Chat).unwrap(), "");
    }
}
