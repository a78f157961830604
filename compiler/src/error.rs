//! The compiler's one error type. In: a stage, a place and a reason. Out: one readable message. Promise: says what, where, what to do.

use std::fmt;

/// An error with the stage it came from and, where known, the ONNX node or value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    pub stage: &'static str,
    pub place: Option<String>,
    pub what: String,
    pub hint: Option<String>,
}

impl Error {
    pub fn new(stage: &'static str, what: impl Into<String>) -> Error {
        Error { stage, place: None, what: what.into(), hint: None }
    }

    /// Names the ONNX node, value, file or manifest key. The innermost place wins.
    pub fn at(mut self, place: impl Into<String>) -> Error {
        self.place.get_or_insert(place.into());
        self
    }

    /// Says what to do.
    pub fn hint(mut self, hint: impl Into<String>) -> Error {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.stage)?;
        if let Some(place) = &self.place {
            write!(f, "{place}: ")?;
        }
        f.write_str(&self.what)?;
        if let Some(hint) = &self.hint {
            write!(f, "; {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

pub type Result<T, E = Error> = std::result::Result<T, E>;
