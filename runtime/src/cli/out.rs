//! Stdout and stderr. In: results and remarks. Out: bytes on the right stream. Promise: results alone go to stdout, at once, and
//! a reader that goes away is an end, not a panic.

use std::io::{self, ErrorKind, IsTerminal, Write};

use crate::error::{Error, Kind, Result};

/// Where results go. Tests give a buffer.
pub struct Out<'a> {
    sink: &'a mut dyn Write,
}

impl<'a> Out<'a> {
    pub fn new(sink: &'a mut dyn Write) -> Out<'a> {
        Out { sink }
    }

    /// Writes and flushes, so that a stream of tokens is seen as it comes.
    pub fn text(&mut self, text: &str) -> Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        self.sink.write_all(text.as_bytes()).and_then(|()| self.sink.flush()).map_err(|e| closed(&e))
    }

    pub fn line(&mut self, text: &str) -> Result<()> {
        self.text(&format!("{text}\n"))
    }

    /// Raw bytes, for another program to read.
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.sink.write_all(bytes).and_then(|()| self.sink.flush()).map_err(|e| closed(&e))
    }

    /// One JSON value on a line of its own.
    pub fn json(&mut self, value: &serde_json::Value) -> Result<()> {
        self.line(&value.to_string())
    }
}

fn closed(error: &io::Error) -> Error {
    match error.kind() {
        ErrorKind::BrokenPipe => Error::new(Kind::Closed, "the reader of stdout went away"),
        _ => Error::other(error.to_string()).at("stdout"),
    }
}

/// A remark on stderr. Failing to write one is no reason to fail.
pub fn remark(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// A remark that only a person wants.
pub fn remark_to_person(text: &str) {
    if io::stderr().is_terminal() {
        remark(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Gone;

    impl Write for Gone {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_reader_that_went_away_is_a_quiet_end() {
        let error = Out::new(&mut Gone).line("x").unwrap_err();
        assert_eq!(error.kind, Kind::Closed);
        assert_eq!(error.exit_code(), 0);
    }
}
