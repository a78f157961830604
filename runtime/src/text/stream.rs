//! Streaming decode. In: token ids one by one. Out: text as soon as it is complete. Promise: the pieces joined are the text of all
//! the ids, and no piece ends inside a character.

use super::Codec;
use crate::error::Result;

/// Tokens whose text may still change: a character has four bytes at most, so three more tokens complete any beginning of one.
const LONGEST_WAIT: usize = 4;

/// A window over the latest ids. Text is read as the difference between two decodings of the window, because a tokenizer may
/// write a token differently at the start of a text.
pub struct Stream<'a> {
    codec: &'a Codec,
    window: Vec<u32>,
    /// Ids of the window whose text is out.
    read: usize,
    /// Bytes of the window's text that are out.
    printed: usize,
}

impl<'a> Stream<'a> {
    pub fn new(codec: &'a Codec) -> Stream<'a> {
        Stream { codec, window: Vec::new(), read: 0, printed: 0 }
    }

    /// The text that `id` completes; empty while a character is unfinished.
    pub fn push(&mut self, id: u32) -> Result<String> {
        self.window.push(id);
        let text = self.codec.decode(&self.window)?;
        if !text.ends_with(char::REPLACEMENT_CHARACTER) {
            let piece = text.get(self.printed..).unwrap_or_default().to_owned();
            self.slide(text.len())?;
            return Ok(piece);
        }
        if self.window.len() - self.read <= LONGEST_WAIT {
            return Ok(String::new());
        }
        // The bytes are no character, and waiting longer would show nothing for ever: only the last may still be one.
        let safe = text.len() - char::REPLACEMENT_CHARACTER.len_utf8();
        let piece = text.get(self.printed..safe).unwrap_or_default().to_owned();
        self.printed = self.printed.max(safe);
        Ok(piece)
    }

    /// Keeps the latest ids that have text of their own, so that what follows is never at the start of a text.
    fn slide(&mut self, length: usize) -> Result<()> {
        let rest = self.codec.decode(&self.window[self.read..])?;
        if rest.is_empty() {
            self.printed = length;
        } else {
            self.window.drain(..self.read);
            self.printed = rest.len();
        }
        self.read = self.window.len();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::toy;
    use super::*;

    fn pieces(codec: &Codec, ids: &[u32]) -> Vec<String> {
        let mut stream = Stream::new(codec);
        ids.iter().map(|&id| stream.push(id).unwrap()).collect()
    }

    #[test]
    fn a_character_split_over_four_tokens_comes_out_whole() {
        let codec = toy::codec("", &[]);
        assert_eq!(pieces(&codec, &toy::ids("a🦀b")), ["a", "", "", "", "🦀", "b"]);
    }

    #[test]
    fn an_unfinished_character_at_the_end_is_not_shown() {
        let codec = toy::codec("", &[]);
        let ids = toy::ids("né");
        assert_eq!(pieces(&codec, &ids[..2]).concat(), "n");
    }

    #[test]
    fn bytes_that_never_become_a_character_do_not_silence_the_stream() {
        let codec = toy::codec("", &[]);
        let mut ids = vec![toy::id(0xff); 6];
        ids.extend(toy::ids("ok"));
        assert_eq!(pieces(&codec, &ids).concat(), codec.decode(&ids).unwrap());
    }

    #[test]
    fn special_tokens_are_silent_and_do_not_eat_the_space_after_them() {
        let codec = toy::codec_with_word_spaces();
        let ids = [toy::WORD_A, toy::WORD_EOS, toy::WORD_B];
        assert_eq!(pieces(&codec, &ids), ["a", "", " b"]);
    }

    #[test]
    fn the_pieces_of_any_text_join_to_the_text() {
        let codec = toy::codec("", &[]);
        for text in ["", "plain", "naïve café", "日本語 text", "e\u{301}\u{200d}👩‍👩‍👧 x", "\u{fffd}a"]
        {
            assert_eq!(pieces(&codec, &toy::ids(text)).concat(), text);
        }
    }
}
