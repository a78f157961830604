//! Stands in where no model was named, so that lints, tests and editors work on a fresh clone.

use std::process::ExitCode;

/// Says how to build a model.
pub fn run() -> ExitCode {
    eprintln!("no model was built into this executable; run: make model=NAME");
    ExitCode::from(2)
}
