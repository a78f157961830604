//! Workflow metadata of a package. In: a folder with `inference_metadata.yaml`. Out: what it says of running the package, checked.
//! Promise: one error names the file and the key; nothing that was understood is left out, and what was left out is listed.
//!
//! The stages, in order: `yaml` reads text as a tree, `read` makes it types (`schema`), `check` holds the names and types in it against
//! each other. `recognise` finds our token loop in it and has `probe` (`run` over `graphs`) and `sampler` (`draw`) show that it is; `given`
//! says which policies no kernel stands for, `tail` cuts those out, and `own` puts them behind the decoder's logits; `hold` compares what
//! is said of the decoder with its graph.

mod check;
pub mod draw;
mod given;
mod graphs;
mod hold;
mod own;
mod probe;
mod read;
mod recognise;
mod run;
mod sampler;
pub mod schema;
mod tail;
mod yaml;

pub use graphs::Graphs;
pub use hold::{hold, hold_caches};
pub use own::attach;
pub use recognise::{Cache, Drawer, Ports, Understood, understand};
pub use run::{Invoker, Run, run};
pub use sampler::{Agreement, NEAR, compare};
pub use tail::{Call, Feed, Held, Tail};

use crate::error::{Error, Result};
use schema::Document;
use std::path::Path;

/// Name of the metadata in a package's folder.
pub const METADATA: &str = "inference_metadata.yaml";

/// A document, and the keys in it that were left out because nobody here knows them.
#[derive(Clone, PartialEq, Debug)]
pub struct Parsed {
    pub document: Document,
    pub ignored: Vec<String>,
}

/// Reads a package's metadata. With `lossy`, unknown keys are left out and listed.
pub fn load(file: &Path, lossy: bool) -> Result<Parsed> {
    let bytes =
        std::fs::read(file).map_err(|e| Error::new("workflow", e.to_string()).at(file.display().to_string()))?;
    let name = file.file_name().map_or(METADATA.into(), |n| n.to_string_lossy());
    let text = std::str::from_utf8(&bytes)
        .map_err(|e| Error::new("workflow", format!("byte {} is no UTF-8", e.valid_up_to())).at(name.to_string()))?;
    parse(text, lossy).map_err(|e| within(&name, e))
}

/// Reads and understands a package's metadata.
pub fn read(file: &Path, lossy: bool) -> Result<Understood> {
    let Parsed { document, ignored } = load(file, lossy)?;
    let name = file.file_name().map_or(METADATA.into(), |n| n.to_string_lossy());
    let folder = file.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let understood = understand(&document, folder).map_err(|e| within(&name, e))?;
    hold::decoder_is_a_model(&understood, folder).map_err(|e| within(&name, e))?;
    Ok(Understood { ignored, ..understood })
}

/// An error of a document, with the name of its file before the place in it.
pub fn within(file: &str, e: Error) -> Error {
    let place = e.place.as_ref().map_or(file.to_string(), |p| format!("{file}: {p}"));
    Error { place: Some(place), ..e }
}

/// Parses and checks a document.
pub fn parse(text: &str, lossy: bool) -> Result<Parsed> {
    let node = yaml::parse(text)?;
    let reading = yaml::Reading { lossy, ..yaml::Reading::default() };
    let document = read::document(&read::root(&node, &reading))?;
    check::check(&document)?;
    Ok(Parsed { document, ignored: reading.ignored.into_inner() })
}

#[cfg(test)]
mod tests;
