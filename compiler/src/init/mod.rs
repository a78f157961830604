//! A first manifest. In: a user's ONNX file, or the folder of a model. Out: the text of a model.toml for it. Promise: a decoder with a KV
//! cache gets a prefill and a decode bucket; whatever could not be told from the files says so in a comment. docs/manifest.md, Init.

mod decoder;
mod genai;
mod place;
#[cfg(test)]
mod tests;
mod workflow;

pub use place::only_model;

use crate::error::Result;
use crate::import::{Inspection, inspect};
use decoder::Decoder;
use place::Place;
use std::fmt::Write;
use std::path::Path;

/// Rows of the cache and of a prompt chunk, where the model does not ask for fewer.
const CONTEXT: usize = 1024;
const CHUNK: usize = 128;

/// Extent of a symbol that is no part of a decoder, for the user to edit.
const GUESS: usize = 128;

/// A manifest for `onnx`. With `lossy`, keys of workflow metadata that nobody here knows are left out.
pub fn manifest(onnx: &Path, lossy: bool) -> Result<String> {
    let place = Place::of(onnx, Some(lossy))?;
    let inspection = inspect(&place.model)?;
    if let Some(config) = &place.genai {
        genai::check(config, &inspection, &place.graph)?;
    }
    let decoder = Decoder::of(&inspection);
    let mut out = head(&place, &inspection, if decoder.is_some() { "fp16" } else { "fp32" });
    match (decoder, &place.genai) {
        (Some(decoder), config) => {
            let context = match config {
                Some(config) => genai::context(config, &mut out),
                None => place.context()?,
            };
            let context =
                place.workflow.as_ref().and_then(|w| w.context).map_or(context, |most| context.min(most).max(2));
            let _ = writeln!(out, "context = {context}");
            place.write_folder_and_graph(&mut out);
            if let Some(w) = &place.workflow {
                workflow::write(w, lossy, &mut out);
            }
            out += "\n[dims]\n";
            for (symbol, value) in decoder.dims(&inspection) {
                let _ = writeln!(out, "{} = {value}", quoted(&symbol));
            }
            bucket(&mut out, "prefill", Some(CHUNK.min(context)));
            bucket(&mut out, "decode", Some(1));
            place.write_text(&mut out)?;
        }
        (None, Some(config)) => return Err(genai::no_cache(config)),
        (None, None) if place.workflow.is_some() => return Err(workflow::no_cache(&place.graph)),
        (None, None) => {
            place.write_folder_and_graph(&mut out);
            out += "\n[dims]\n";
            for symbol in &inspection.symbols {
                let (value, note) =
                    if symbol.to_lowercase().contains("batch") { (1, "") } else { (GUESS, "  # a guess") };
                let _ = writeln!(out, "{} = {value}{note}", quoted(symbol));
            }
            bucket(&mut out, "run", None);
        }
    }
    Ok(out)
}

/// A manifest for a graph that will be compiled as it stands; its dimensions come from the user.
pub fn raw(onnx: &Path) -> Result<String> {
    let place = Place::of(onnx, None)?;
    let inspection = inspect(&place.model)?;
    let mut out = head(&place, &inspection, "fp32");
    place.write_folder_and_graph(&mut out);
    bucket(&mut out, "run", None);
    Ok(out)
}

fn head(place: &Place, inspection: &Inspection, precision: &str) -> String {
    let source = format!(
        "{} ({})",
        place.graph,
        if inspection.producer.is_empty() { "producer unknown" } else { &inspection.producer }
    );
    format!(
        "title = {}\nsource = {}\nlicence = \"unknown\"\nprecision = \"{precision}\"\n",
        quoted(&place.title()),
        quoted(&source)
    )
}

fn bucket(out: &mut String, name: &str, rows: Option<usize>) {
    let _ = write!(out, "\n[[buckets]]\nname = \"{name}\"\ngraph = \"model\"\n");
    if let Some(rows) = rows {
        let _ = writeln!(out, "rows = {rows}");
    }
}

/// A TOML string.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_string()).to_string()
}
