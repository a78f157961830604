//! Interactive chat. In: lines of a person, pictures. Out: answers, with the turns so far as context. Promise: a mistake or a full
//! context costs a line of advice, never the session.

use std::io::ErrorKind;
use std::path::Path;

use rustyline::error::ReadlineError;
use rustyline::{Behavior, Config, DefaultEditor};

use super::album::{Album, Shot, no_pictures};
use super::generate::{Answered, Request, generate};
use super::interrupt;
use super::out::{Out, remark, remark_to_person};
use crate::error::{Error, Kind, Result};
use crate::generator::Generator;
use crate::sampling::Sampling;
use crate::text::{Codec, Message};

const HELP: &str = "\
/reset  forget the turns so far
/help   show this
/exit   leave (also Ctrl-D)
Ctrl-C  end an answer";

const HELP_PICTURES: &str = "\
/image FILE  show a picture with the next message; may be repeated
";

/// What came from the person.
pub enum Line {
    Text(String),
    /// Ctrl-C at the prompt: the line is dropped.
    Dropped,
    End,
}

/// Where lines come from; the editor, or a script in tests.
pub trait Lines {
    fn next(&mut self) -> Result<Line>;
}

pub struct Editor(DefaultEditor);

impl Editor {
    /// Talks to the terminal itself, so that stdout has answers only.
    pub fn new() -> Result<Editor> {
        let config = Config::builder().behavior(Behavior::PreferTerm).auto_add_history(true).build();
        DefaultEditor::with_config(config).map(Editor).map_err(|e| terminal(&e))
    }
}

fn terminal(error: &ReadlineError) -> Error {
    Error::input(error.to_string()).at("terminal")
}

impl Lines for Editor {
    fn next(&mut self) -> Result<Line> {
        match self.0.readline("> ") {
            Ok(text) => Ok(Line::Text(text)),
            Err(ReadlineError::Interrupted) => Ok(Line::Dropped),
            Err(ReadlineError::Eof) => Ok(Line::End),
            Err(ReadlineError::Io(error)) if error.kind() == ErrorKind::InvalidData => {
                remark("That line is not UTF-8 and was dropped.");
                Ok(Line::Dropped)
            }
            Err(error) => Err(terminal(&error)),
        }
    }
}

/// The turns so far and how to answer the next.
pub struct Chat<'a> {
    pub codec: &'a Codec,
    pub system: Option<&'a str>,
    pub raw: bool,
    pub limit: Option<u32>,
    pub stop: &'a [String],
    /// How the session draws, to be shown.
    pub sampling: Option<Sampling>,
    turns: Vec<Message>,
    /// Where pictures go, for a model that takes them.
    pub album: Option<Album<'a>>,
    /// Pictures of the turns so far, and those for the next message.
    shots: Vec<Shot>,
    pub waiting: Vec<Shot>,
}

impl<'a> Chat<'a> {
    pub fn new(
        codec: &'a Codec,
        system: Option<&'a str>,
        raw: bool,
        limit: Option<u32>,
        stop: &'a [String],
    ) -> Chat<'a> {
        let (turns, shots, waiting) = (Vec::new(), Vec::new(), Vec::new());
        Chat { codec, system, raw, limit, stop, sampling: None, turns, album: None, shots, waiting }
    }

    /// Until the person leaves. Errors of one turn are told and the turn is taken back; a lost device or stdout ends it.
    pub fn talk(&mut self, session: &mut dyn Generator, lines: &mut dyn Lines, out: &mut Out) -> Result<()> {
        remark_to_person("Type a message; /help for commands.");
        loop {
            let text = match lines.next()? {
                Line::End => return Ok(()),
                Line::Dropped => continue,
                Line::Text(text) => text,
            };
            let pictures = !self.waiting.is_empty();
            match text.trim() {
                "" => {}
                "/exit" | "/quit" => return Ok(()),
                "/help" if self.album.is_some() => remark(&format!("{HELP_PICTURES}{HELP}")),
                "/help" => remark(HELP),
                "/reset" => {
                    self.turns.clear();
                    self.shots.clear();
                    self.waiting.clear();
                    remark("The turns so far are forgotten.");
                }
                command if command.split_whitespace().next() == Some("/image") => {
                    let shot = self.image(command.trim_start_matches("/image").trim());
                    shot.map_or_else(|e| remark(&e.to_string()), |shot| self.waiting.push(shot));
                }
                command if command.starts_with('/') => remark(&format!("{command}: no such command; /help lists them")),
                message => match self.turn(message, session, out) {
                    Ok(answered) => remark_to_person(&answered.summary(self.sampling.as_ref())),
                    Err(error) if matches!(error.kind, Kind::Input | Kind::Usage) => {
                        remark(&error.to_string());
                        if pictures {
                            remark(
                                "This message was taken back with its pictures; /image shows them again, /reset forgets all.",
                            );
                        } else if !self.turns.is_empty() {
                            remark("This message was taken back; /reset makes room.");
                        }
                    }
                    Err(error) => return Err(error),
                },
            }
        }
    }

    /// Reads a picture for the next message. Terminals put quotes around what is dropped on them.
    fn image(&self, file: &str) -> Result<Shot> {
        let album = self.album.as_ref().ok_or_else(|| no_pictures("/image"))?;
        let quoted = ['"', '\''].iter().find_map(|&q| file.strip_prefix(q)?.strip_suffix(q));
        match quoted.unwrap_or(file) {
            "" => Err(Error::usage("/image FILE shows a picture with the next message")),
            file => album.load(Path::new(file)),
        }
    }

    /// One message and its answer; both become part of the context unless there was an error.
    fn turn(&mut self, message: &str, session: &mut dyn Generator, out: &mut Out) -> Result<Answered> {
        let earlier = if self.raw { 0 } else { self.shots.len() };
        self.shots.truncate(earlier);
        self.shots.append(&mut self.waiting);
        let said = Message { pictures: self.shots.len() - earlier, ..Message::user(message) };
        let answered = self.answer(said, session, out);
        if answered.is_err() {
            self.turns.pop_if(|m| m.role == "user");
            self.shots.truncate(earlier);
        }
        answered
    }

    fn answer(&mut self, said: Message, session: &mut dyn Generator, out: &mut Out) -> Result<Answered> {
        let mut ids = if self.raw {
            match &self.album {
                Some(album) => self.codec.raw_with(&said.content, said.pictures, &album.marks)?,
                None => self.codec.raw(&said.content)?,
            }
        } else {
            self.turns.push(said);
            self.prompt()?
        };
        if let Some(album) = &mut self.album {
            let hint = "/reset forgets all of them";
            let seats = album.seats(&self.shots).map_err(|e| e.hint(hint))?;
            ids = album.place(&ids, &seats)?;
            album.show(&self.shots, &seats, session)?;
        }
        let answering = interrupt::answering();
        let request = Request { ids: &ids, limit: self.limit, stop: self.stop };
        let mut show = |_: &[u32], text: &str| out.text(text);
        let answered = generate(session, Some(self.codec), &request, &|| answering.asked(), &mut show)?;
        out.text("\n")?;
        if !self.raw {
            self.turns.push(Message::assistant(answered.text.clone()));
        }
        Ok(answered)
    }

    fn prompt(&self) -> Result<Vec<u32>> {
        let system = self.system.map(Message::system);
        let messages: Vec<Message> = system.into_iter().chain(self.turns.iter().cloned()).collect();
        match &self.album {
            Some(album) => self.codec.chat_with(&messages, &album.marks),
            None => self.codec.chat(&messages),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::album;
    use super::super::script::Script;
    use super::*;
    use crate::step::Done;
    use crate::text::toy;
    use std::collections::VecDeque;

    struct Typed(VecDeque<&'static str>);

    impl Lines for Typed {
        fn next(&mut self) -> Result<Line> {
            Ok(self.0.pop_front().map_or(Line::End, |text| Line::Text(text.to_owned())))
        }
    }

    const TEMPLATE: &str = r#"{"chat_template":"{% for m in messages %}{{ m.role[0] }}:{{ m.content }};{% endfor %}"}"#;

    fn answer(text: &str) -> (Vec<u32>, Done) {
        (toy::ids(text).into_iter().chain([toy::EOS]).collect(), Done::Stop)
    }

    fn talk(script: &mut Script, system: Option<&str>, raw: bool, lines: &[&'static str]) -> (String, Vec<String>) {
        let codec = toy::codec(TEMPLATE, &[toy::EOS]);
        let (mut printed, mut lines) = (Vec::new(), Typed(lines.iter().copied().collect()));
        let mut chat = Chat::new(&codec, system, raw, None, &[]);
        chat.talk(script, &mut lines, &mut Out::new(&mut printed)).unwrap();
        let prompts = script.prompts.iter().map(|ids| codec.decode(ids).unwrap()).collect();
        (String::from_utf8(printed).unwrap(), prompts)
    }

    #[test]
    fn each_turn_sees_the_ones_before() {
        let mut script = Script::new(vec![answer("yo"), answer("bye")]);
        let (printed, prompts) = talk(&mut script, Some("S"), false, &["hi", "", "  more ", "/exit", "never"]);
        assert_eq!(printed, "yo\nbye\n");
        assert_eq!(prompts, ["s:S;u:hi;", "s:S;u:hi;a:yo;u:more;"]);
    }

    #[test]
    fn reset_forgets_the_turns_but_not_the_system_prompt() {
        let mut script = Script::new(vec![answer("yo"), answer("bye")]);
        let (_, prompts) = talk(&mut script, Some("S"), false, &["hi", "/reset", "/nonsense", "again"]);
        assert_eq!(prompts, ["s:S;u:hi;", "s:S;u:again;"]);
    }

    #[test]
    fn a_message_that_does_not_fit_is_taken_back_and_the_chat_goes_on() {
        let mut script = Script::new(vec![answer("yo")]);
        script.context = 8;
        let (printed, prompts) = talk(&mut script, None, false, &["much too long", "hi"]);
        assert_eq!((printed.as_str(), prompts), ("yo\n", vec!["u:hi;".to_owned()]));
    }

    #[test]
    fn raw_lines_stand_alone() {
        let mut script = Script::new(vec![answer("1"), answer("2")]);
        let (_, prompts) = talk(&mut script, None, true, &["a", "b"]);
        assert_eq!(prompts, ["a", "b"]);
    }

    #[test]
    fn pictures_stand_before_the_next_message_and_in_later_prompts() {
        let folder = tempfile::tempdir().unwrap();
        let line = |n: u8| &*format!("/image {}", album::tests::dot(folder.path(), n)).leak();
        let codec = toy::codec_with_image(TEMPLATE);
        let album = Album::new(Some(&toy::LAW), &album::tests::EYES, Some(&codec)).unwrap();
        let mut script = Script::new(["1", "2", "3", "4"].map(answer).into());
        let lines = [line(7), "hi", "more", line(8), line(9), "too many", line(8), "both", "/reset", line(8), "again"];
        let mut chat = Chat::new(&codec, None, false, None, &[]);
        chat.album = album;
        chat.talk(&mut script, &mut Typed(lines.into()), &mut Out::new(&mut Vec::new())).unwrap();
        // Rows of slot 0 are 300 and 301, those of slot 1 302 and 303.
        let shown = |ids: &Vec<u32>| -> String {
            ids.iter().map(|id| if *id < 256 { char::from(*id as u8).into() } else { format!("<{id}>") }).collect()
        };
        let prompts: Vec<String> = script.prompts.iter().map(shown).collect();
        let first = "u:{<300><301>}hi;";
        assert_eq!(
            prompts,
            [
                first.to_owned(),
                format!("{first}a:1;u:more;"),
                format!("{first}a:1;u:more;a:2;u:{{<302><303>}}both;"),
                "u:{<302><303>}again;".to_owned(),
            ]
        );
        assert_eq!(script.shown, [(0, 7.0), (1, 8.0)], "the same picture again, and a refusal, are no look");
    }

    #[test]
    fn a_picture_that_cannot_be_shown_costs_a_line_of_advice() {
        let mut script = Script::new(vec![answer("yo")]);
        let (printed, prompts) = talk(&mut script, None, false, &["/image x.png", "/image", "hi"]);
        assert_eq!((printed.as_str(), prompts), ("yo\n", vec!["u:hi;".to_owned()]));
    }

    #[test]
    fn a_failing_device_ends_the_chat() {
        let codec = toy::codec(TEMPLATE, &[toy::EOS]);
        let (mut printed, mut lines) = (Vec::new(), Typed(["a", "b"].into()));
        let mut chat = Chat::new(&codec, None, false, None, &[]);
        let error = chat.talk(&mut Script::new(vec![]), &mut lines, &mut Out::new(&mut printed)).unwrap_err();
        assert_eq!(error.kind, Kind::Other);
    }
}
