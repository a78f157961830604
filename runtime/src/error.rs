//! The runtime's one error type. In: a kind, a place and a reason. Out: one readable message and an exit code. Promise: says
//! what, where, what to do.

use std::fmt;

/// Which part refused; decides the exit code of the executable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The reader of stdout went away: nobody is left to tell, so nothing is said.
    Closed = 0,
    /// A comparison with a reference went over its bound.
    Differs = 1,
    /// Flags that make no sense. Clap's own errors have the same code.
    Usage = 2,
    /// No Vulkan device, or one whose limits are too small.
    Device = 3,
    /// A weight pool that is missing, short, altered or of another model.
    Weights = 4,
    /// A prompt, template or file that cannot be used.
    Input = 5,
    /// The device failed while running.
    Run = 6,
    /// Ctrl-C; what was ready has been printed.
    Interrupted = 130,
}

/// An error with the kind it is of and, where known, the file, tensor or flag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    pub kind: Kind,
    pub place: Option<String>,
    pub what: String,
    pub hint: Option<String>,
}

impl Error {
    pub fn new(kind: Kind, what: impl Into<String>) -> Error {
        Error { kind, place: None, what: what.into(), hint: None }
    }

    pub fn usage(what: impl Into<String>) -> Error {
        Error::new(Kind::Usage, what)
    }

    pub fn device(what: impl Into<String>) -> Error {
        Error::new(Kind::Device, what)
    }

    pub fn weights(what: impl Into<String>) -> Error {
        Error::new(Kind::Weights, what)
    }

    pub fn input(what: impl Into<String>) -> Error {
        Error::new(Kind::Input, what)
    }

    pub fn run(what: impl Into<String>) -> Error {
        Error::new(Kind::Run, what)
    }

    /// Names the file, tensor or flag. The innermost place wins.
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
