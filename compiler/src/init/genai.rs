//! What genai_config.json makes of a manifest. In: the file and the graph that it names. Out: context, stops, sampler settings. Promise: a
//! name that the graph does not have is an error that names the key; a setting that we do not keep says so in a comment.

use super::CONTEXT;
use crate::error::{Error, Result};
use crate::import::{Inspection, Port};
use crate::metadata::{Genai, Generation, Numbered};
use std::fmt::Write;

/// The longest context that is taken without being asked for: a cache of it is memory.
const MOST_CONTEXT: usize = 8192;

/// How many tokens are drawn from where a config that draws does not say.
const TOP_K: u64 = 50;

/// Holds the names against the graph's.
pub fn check(config: &Genai, inspection: &Inspection, graph: &str) -> Result<()> {
    let names = &config.names;
    let has = |ports: &[Port], name: &str| ports.iter().any(|p| p.name == name);
    if !has(&inspection.inputs, &names.input_ids) {
        return Err(missing("inputs.input_ids", &names.input_ids, "input", graph));
    }
    if !has(&inspection.outputs, &names.logits) {
        return Err(missing("outputs.logits", &names.logits, "output", graph));
    }
    let layered = |name: &Numbered, side: &str, ports: &[Port], what: &str| {
        let layers = 0..config.layers.unwrap_or(1);
        match layers.map(|l| name.of_layer(l)).find(|n| !has(ports, n)) {
            Some(first) => Err(missing(&format!("{side}.{}", name.key), &first, what, graph)),
            None => Ok(()),
        }
    };
    for name in [&names.past_key, &names.past_value] {
        layered(name, "inputs", &inspection.inputs, "input")?;
    }
    for name in [&names.present_key, &names.present_value] {
        layered(name, "outputs", &inspection.outputs, "output")?;
    }
    if let Some(layers) = config.layers
        && has(&inspection.inputs, &names.past_key.of_layer(layers))
    {
        let what = format!("{layers} layers, and {graph} has an input '{}'", names.past_key.of_layer(layers));
        return Err(at("num_hidden_layers", what));
    }
    Ok(())
}

fn at(key: &str, what: String) -> Error {
    Error::new("config", what).at(format!("genai_config.json: model.decoder.{key}"))
}

fn missing(key: &str, name: &str, what: &str, graph: &str) -> Error {
    at(key, format!("'{name}' is no {what} of {graph}")).hint(format!("`onnxcast inspect` lists its {what}s"))
}

/// A cache whose length is a number, or none.
pub fn no_cache(config: &Genai) -> Error {
    at(
        &format!("inputs.{}", config.names.past_key.key),
        format!(
            "'{}' is no cache [batch, heads, length, channels] whose length is a symbol",
            config.names.past_key.of_layer(0)
        ),
    )
}

/// Rows of the cache; writes why they are fewer than the model could have.
pub fn context(config: &Genai, out: &mut String) -> usize {
    let asked = config.generation.max_length.filter(|n| *n > 0).map(|n| n as usize);
    let longest = config.context_length.into_iter().chain(asked).min().unwrap_or(CONTEXT);
    if longest > MOST_CONTEXT {
        let _ = writeln!(out, "# genai_config.json allows {longest}; the cache takes memory for every row.");
    }
    longest.clamp(2, MOST_CONTEXT)
}

/// `[sampling]`: how the program draws when nobody says how.
pub fn write_sampling(g: &Generation, out: &mut String) {
    let notes = [
        ("num_beams", g.num_beams.filter(|n| *n > 1), "one beam is followed"),
        ("min_length", g.min_length.filter(|n| *n > 0), "an answer may end earlier"),
        ("no_repeat_ngram_size", g.no_repeat_ngram_size.filter(|n| *n > 0), "repeats are not looked for"),
    ];
    let mut keys = String::new();
    for (key, value, note) in notes {
        if let Some(value) = value {
            let _ = writeln!(keys, "# {key} = {value} is not kept: {note}.");
        }
    }
    let draws = g.do_sample == Some(true) && g.top_k != Some(1) && g.temperature != Some(0.0);
    if draws {
        let _ = writeln!(keys, "temperature = {}", float(g.temperature.unwrap_or(1.0)));
        let _ = writeln!(keys, "top_k = {}", g.top_k.unwrap_or(TOP_K));
        // A top_p of 0 is none, as of 1.
        let _ = writeln!(keys, "top_p = {}", float(g.top_p.filter(|p| *p > 0.0).unwrap_or(1.0)));
        if let Some(min_p) = g.min_p {
            let _ = writeln!(keys, "min_p = {}", float(min_p));
        }
    }
    if let Some(penalty) = g.repetition_penalty.filter(|p| *p != 1.0) {
        let _ = writeln!(keys, "repeat_penalty = {}", float(penalty));
    }
    if !keys.is_empty() {
        let _ = write!(out, "\n[sampling]\n{keys}");
    }
}

/// A number that TOML takes for a float.
fn float(x: f32) -> String {
    format!("{x:?}")
}
