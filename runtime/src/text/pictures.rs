//! Pictures in prompts. In: texts with a mark where a picture is, or ids with a run of its token. Out: ids in which each picture's rows
//! stand. Promise: as many pictures are shown as are given, in their order; anything else is one error with both numbers.

use super::{Codec, Message};
use crate::error::{Error, Result};
use crate::model::{Picture, Token};

/// How a model's pictures stand in its prompts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Marks {
    /// The token that stands for a row: its id, and its text where there is a tokenizer. Once, it stands for a picture.
    id: u32,
    text: String,
    before: &'static str,
    after: &'static str,
    /// Rows of a picture.
    rows: usize,
}

impl Marks {
    /// Errors where the manifest's token is none of the tokenizer's.
    pub fn new(picture: &Picture, rows: u32, codec: Option<&Codec>) -> Result<Marks> {
        let unknown = |what: String| Error::input(what).at("key 'picture.token' of the manifest");
        let (id, text) = match (picture.token, codec) {
            (Token::Id(id), None) => (id, String::new()),
            (Token::Id(id), Some(codec)) => {
                let text = codec.token_text(id);
                (id, text.ok_or_else(|| unknown(format!("the tokenizer has no token {id}")))?)
            }
            (Token::Text(text), None) => return Err(unknown(format!("'{text}' needs a tokenizer, and there is none"))),
            (Token::Text(text), Some(codec)) => {
                let id = codec.token(text);
                (id.ok_or_else(|| unknown(format!("'{text}' is no token of the tokenizer")))?, text.to_owned())
            }
        };
        Ok(Marks { id, text, before: picture.before, after: picture.after, rows: rows.max(1) as usize })
    }

    /// What a template writes, and a user may write, where a picture is.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// A message whose pictures are parts for the template (`shown`), or marks in its text: those it has already, else in front.
    pub(super) fn placed(&self, message: &Message, shown: bool) -> Message {
        // An answer may have named the token.
        if message.role == "assistant" {
            return Message { content: message.content.replace(&self.text, ""), ..message.clone() };
        }
        let own = message.content.contains(&self.text);
        if message.pictures == 0 || shown && !own {
            return message.clone();
        }
        let front = if own { String::new() } else { self.text.repeat(message.pictures) };
        Message { role: message.role, content: front + &message.content, pictures: 0 }
    }

    /// Every mark as the tokens of a picture, and what stands around them.
    pub(super) fn expanded(&self, text: &str, pictures: usize) -> Result<String> {
        let marks = text.matches(&self.text).count();
        if marks != pictures {
            let what = format!("the prompt shows {marks} pictures ({}), and {pictures} are given", self.text);
            return Err(Error::input(what));
        }
        let rows = format!("{}{}{}", self.before, self.text.repeat(self.rows), self.after);
        Ok(text.replace(&self.text, &rows))
    }

    /// Puts rows of the device in the place of tokens: the k-th picture is that of slot `slots[k]`, and row `r` of slot `s` has
    /// the id `vocab + s * rows + r`.
    pub fn place(&self, ids: &mut [u32], slots: &[u32], vocab: u32) -> Result<()> {
        let Marks { id: token, rows, .. } = *self;
        let found = ids.iter().filter(|&&id| id == token).count();
        if found != slots.len() * rows {
            let what = format!("the prompt has {found} image tokens, the pictures give {} x {rows}", slots.len());
            return Err(Error::input(what));
        }
        let runs: Vec<usize> = ids.chunk_by(|a, b| a == b).filter(|run| run[0] == token).map(<[u32]>::len).collect();
        if runs.iter().any(|n| n % rows != 0) {
            let what = format!("the prompt has image tokens in runs of {runs:?}, and a picture is {rows} of them");
            return Err(Error::input(what));
        }
        for (i, id) in ids.iter_mut().filter(|id| **id == token).enumerate() {
            *id = vocab + slots[i / rows] * rows as u32 + (i % rows) as u32;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::toy;
    use super::*;

    /// The template of SmolVLM and SmolVLM2, which takes contents as parts only.
    const PARTS: &str = "<s>{% for message in messages %}{{message['role'] | capitalize}}\
        {% if message['content'][0]['type'] == 'image' %}{{':'}}{% else %}{{': '}}{% endif %}\
        {% for line in message['content'] %}{% if line['type'] == 'text' %}{{line['text']}}\
        {% elif line['type'] == 'image' %}{{ '<image>' }}{% endif %}{% endfor %}</s>\n{% endfor %}\
        {% if add_generation_prompt %}{{ 'Assistant:' }}{% endif %}";

    /// Contents as texts only.
    const PLAIN: &str = "{% for m in messages %}{{ m.role[0] + ':' + m.content + ';' }}{% endfor %}";

    /// Contents as either.
    const BOTH: &str = "{% for m in messages %}{% if m.content is string %}[{{ m.content }}]{% else %}{% for part in m.content %}\
        {% if part.type == 'image' or 'image' in part %}(<image>){% else %}[{{ part.text }}]{% endif %}{% endfor %}{% endif %}{% endfor %}";

    fn codec(template: &str) -> Codec {
        toy::codec_with_image(&serde_json::json!({ "chat_template": template }).to_string())
    }

    /// The prompt of a chat, its rows as `*`.
    fn chat(template: &str, messages: &[Message]) -> Result<String> {
        let codec = codec(template);
        let ids = codec.chat_with(messages, &Marks::new(&toy::LAW, 2, Some(&codec))?)?;
        let spelt = |id: &u32| match *id {
            toy::IMAGE => "*".to_owned(),
            toy::BOS => "<s>".to_owned(),
            toy::EOS => "</s>".to_owned(),
            byte => char::from(byte as u8).to_string(),
        };
        Ok(ids.iter().map(spelt).collect())
    }

    fn user(text: &str, pictures: usize) -> Message {
        Message { pictures, ..Message::user(text) }
    }

    #[test]
    fn a_template_of_parts_shows_pictures_before_the_text_and_turns_without_any() {
        let turns = [Message::system("S"), user("What?", 1), Message::assistant("A cat."), user("And now?", 2)];
        let text = chat(PARTS, &turns).unwrap();
        assert_eq!(
            text,
            "<s>System: S</s>\nUser:{**}What?</s>\nAssistant: A cat.</s>\nUser:{**}{**}And now?</s>\nAssistant:"
        );
        assert_eq!(chat(PARTS, &[user("Hi", 0)]).unwrap(), "<s>User: Hi</s>\nAssistant:");
        let plain = codec(PARTS).chat(&[user("Hi", 0)]).unwrap();
        assert_eq!(plain.len(), "User: Hi\nAssistant:".len() + 2);
    }

    #[test]
    fn a_template_that_knows_no_pictures_gets_them_in_front_of_the_text() {
        assert_eq!(chat(PLAIN, &[user("What?", 2)]).unwrap(), "u:{**}{**}What?;");
    }

    #[test]
    fn a_template_that_takes_both_gets_parts_only_with_pictures() {
        assert_eq!(chat(BOTH, &[user("a", 0), user("b", 1)]).unwrap(), "[a]({**})[b]");
    }

    #[test]
    fn marks_in_a_text_say_where_its_pictures_go() {
        for template in [PLAIN, BOTH, PARTS] {
            let text = chat(template, &[user("is <image> like <image>?", 2)]).unwrap();
            assert!(text.contains("is {**} like {**}?"), "{text}");
            let answered = [user("a", 1), Message::assistant("an <image>"), user("b", 0)];
            assert_eq!(chat(template, &answered).unwrap().matches('*').count(), 2, "an answer shows none");
        }
        let error = chat(PARTS, &[user("is <image> like <image>?", 1)]).unwrap_err().to_string();
        assert_eq!(error, "the prompt shows 2 pictures (<image>), and 1 are given");
        assert!(chat(PLAIN, &[user("<image>", 0)]).unwrap_err().to_string().ends_with("and 0 are given"));
    }

    #[test]
    fn a_raw_text_has_its_marks_or_its_pictures_in_front() {
        let codec = toy::codec_with_image(r#"{"bos_token":"<s>","add_bos_token":true}"#);
        let marks = Marks::new(&toy::LAW, 1, Some(&codec)).unwrap();
        let rows = |text: &str, n| codec.raw_with(text, n, &marks).unwrap();
        let id = toy::id;
        assert_eq!(rows("a<image>", 1), [toy::BOS, id(b'a'), id(b'{'), toy::IMAGE, id(b'}')]);
        assert_eq!(rows("a", 1), [toy::BOS, id(b'{'), toy::IMAGE, id(b'}'), id(b'a')]);
    }

    #[test]
    fn runs_of_the_token_become_rows_of_the_pictures_slots() {
        let marks = Marks::new(&Picture { token: Token::Id(9), ..toy::LAW }, 2, None).unwrap();
        let place = |ids: &[u32], slots: &[u32]| {
            let mut ids = ids.to_vec();
            marks.place(&mut ids, slots, 100).map(|()| ids)
        };
        assert_eq!(place(&[1, 9, 9, 2, 9, 9, 9, 9], &[1, 0, 1]).unwrap(), [1, 102, 103, 2, 100, 101, 102, 103]);
        assert_eq!(place(&[1, 2], &[]).unwrap(), [1, 2]);
        let error = |ids: &[u32], slots: &[u32]| place(ids, slots).unwrap_err().to_string();
        assert_eq!(error(&[9, 9, 9], &[0, 1]), "the prompt has 3 image tokens, the pictures give 2 x 2");
        assert_eq!(error(&[9, 9], &[]), "the prompt has 2 image tokens, the pictures give 0 x 2");
        let split = error(&[9, 1, 9, 9, 9], &[0, 1]);
        assert_eq!(split, "the prompt has image tokens in runs of [1, 3], and a picture is 2 of them");
    }

    #[test]
    fn a_token_that_the_tokenizer_lacks_is_named() {
        let with = |token| Marks::new(&Picture { token, ..toy::LAW }, 2, Some(&toy::codec("", &[])));
        let error = with(Token::Text("<image>")).unwrap_err().to_string();
        assert_eq!(error, "key 'picture.token' of the manifest: '<image>' is no token of the tokenizer");
        assert!(with(Token::Id(999)).unwrap_err().to_string().ends_with("the tokenizer has no token 999"));
        let alone = Marks::new(&toy::LAW, 2, None).unwrap_err().to_string();
        assert!(alone.ends_with("'<image>' needs a tokenizer, and there is none"), "{alone}");
    }
}
