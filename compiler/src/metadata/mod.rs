//! Configuration files of other tools. In: a file's bytes. Out: a plain struct of what we use of it. Promise: any bytes give a struct or
//! one error that names the file and the key with its path; nothing is looked up or decided here.

mod fields;
#[cfg(test)]
pub(crate) mod fuzz;
mod genai;
mod generation;
mod preprocessor;

pub use fields::{At, Document};
pub use genai::{FILE as GENAI, Genai, Names, Numbered};
pub use generation::{Generation, check_tokenizer_config, stops};
pub use preprocessor::Preprocessor;
