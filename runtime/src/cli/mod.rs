//! The executable's command line. In: a model and the arguments. Out: answers on stdout, remarks on stderr, an exit code. Promise:
//! every failure is one line that says what to do, and none is a panic.

mod answer;
pub mod args;
mod chat;
pub mod generate;
mod info;
mod interrupt;
mod out;
mod profile;
#[cfg(test)]
mod script;
mod source;
