//! The runtime's one error type. In: a kind, a sentence, a hint. Out: one readable line and an exit code. Promise: the kind alone
//! decides the exit code, and the line says what, where, what to do.

use std::fmt;
use vulkano::{Validated, VulkanError};

/// What went wrong, as far as a caller may want to tell apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Anything without a kind of its own.
    Other,
    /// The caller asked for something that cannot be (a flag, a name, a prompt over the context).
    Usage,
    /// No Vulkan loader, no driver, or no such device.
    NoDevice,
    /// The device lacks a feature or a limit that the program needs.
    Unfit,
    /// The weight pool is missing, short, altered or of another program.
    Weights,
    /// A prompt, template, file or array that cannot be used.
    Input,
    OutOfMemory,
    /// The driver gave the device up: reset, watchdog, fault in a kernel.
    DeviceLost,
    /// The program contradicts itself; a compiler's mistake, not a user's.
    Program,
    /// A comparison with a reference went over its bound.
    Differs,
    /// The device read other bytes than those it was given.
    Stale,
    /// The reader of stdout went away: nobody is left to tell, so nothing is said.
    Closed,
    /// Ctrl-C; what was ready has been printed.
    Interrupted,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error {
    pub kind: Kind,
    pub what: String,
    pub hint: Option<String>,
}

impl Error {
    pub fn new(kind: Kind, what: impl Into<String>) -> Error {
        Error { kind, what: what.into(), hint: None }
    }

    pub fn usage(what: impl Into<String>) -> Error {
        Error::new(Kind::Usage, what)
    }

    pub fn input(what: impl Into<String>) -> Error {
        Error::new(Kind::Input, what)
    }

    pub fn other(what: impl Into<String>) -> Error {
        Error::new(Kind::Other, what)
    }

    /// Says what to do.
    pub fn hint(mut self, hint: impl Into<String>) -> Error {
        self.hint = Some(hint.into());
        self
    }

    /// Puts the place in front: `place: what`.
    pub fn at(mut self, place: impl fmt::Display) -> Error {
        self.what = format!("{place}: {}", self.what);
        self
    }

    /// The process exit code; listed in docs/exit-codes.md.
    pub fn exit_code(&self) -> u8 {
        match self.kind {
            Kind::Other | Kind::Program => 1,
            Kind::Usage => 2,
            Kind::NoDevice => 3,
            Kind::Unfit => 4,
            Kind::Weights => 5,
            Kind::Input => 6,
            Kind::OutOfMemory => 7,
            Kind::DeviceLost => 8,
            Kind::Differs => 9,
            Kind::Stale => 10,
            Kind::Closed => 0,
            Kind::Interrupted => 130,
        }
    }

    /// An error of a Vulkan call, under what the call was for.
    pub fn vulkan(doing: &str, error: impl Into<Validated<VulkanError>>) -> Error {
        match error.into() {
            Validated::Error(e) => Error::from_code(doing, e),
            Validated::ValidationError(e) => {
                let text = e.to_string().replace('\n', " ");
                let plain = text.split(" (Vulkan VUIDs").next().unwrap_or(&text);
                Error::new(Kind::Unfit, format!("{doing}: {plain}"))
            }
        }
    }

    fn from_code(doing: &str, e: VulkanError) -> Error {
        match e {
            VulkanError::OutOfDeviceMemory => Error::new(Kind::OutOfMemory, format!("{doing}: out of device memory"))
                .hint("close other programs on the device, or choose another with --device"),
            VulkanError::OutOfHostMemory => Error::new(Kind::OutOfMemory, format!("{doing}: out of host memory")),
            VulkanError::DeviceLost => Error::new(Kind::DeviceLost, format!("{doing}: the device was lost"))
                .hint("a driver reset, or work too long for its watchdog; see the system log"),
            other => Error::new(Kind::Other, format!("{doing}: {other}")),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        match &self.hint {
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {}

pub type Result<T, E = Error> = std::result::Result<T, E>;
