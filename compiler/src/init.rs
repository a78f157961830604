//! A first manifest. In: a user's ONNX file or folder. Out: the text of a model.toml for it. Promise: a decoder with a KV cache
//! gets a prefill and a decode bucket; whatever could not be told from the file says so in a comment.

use crate::error::{Error, Result};
use crate::import::{Inspection, Port, inspect};
use crate::texts;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Rows of the cache and of a prompt chunk, where the model does not ask for fewer.
const CONTEXT: usize = 1024;
const CHUNK: usize = 128;

/// Extent of a symbol that is no part of a decoder, for the user to edit.
const GUESS: usize = 128;

/// A manifest for `onnx`.
pub fn manifest(onnx: &Path) -> Result<String> {
    let place = Place::of(onnx)?;
    let inspection = inspect(&place.model)?;
    let decoder = Decoder::of(&inspection);
    let mut out = head(&place, &inspection, if decoder.is_some() { "fp16" } else { "fp32" });
    match decoder {
        Some(decoder) => {
            let context = place.context();
            let _ = writeln!(out, "context = {context}");
            place.write_folder_and_graph(&mut out);
            out += "\n[dims]\n";
            for (symbol, value) in decoder.dims(&inspection) {
                let _ = writeln!(out, "{} = {value}", quoted(&symbol));
            }
            bucket(&mut out, "prefill", Some(CHUNK.min(context)));
            bucket(&mut out, "decode", Some(1));
            place.write_text(&mut out);
        }
        None => {
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
    let place = Place::of(onnx)?;
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

/// Where the model's files are.
struct Place {
    model: PathBuf,
    /// Holds the tokenizer, if there is one; the graph is in it or one folder below.
    folder: PathBuf,
    /// The graph's path in `folder`.
    graph: String,
}

impl Place {
    fn of(onnx: &Path) -> Result<Place> {
        let model = if onnx.is_dir() { only_model(onnx)? } else { onnx.to_path_buf() };
        let near = model.parent().unwrap_or(Path::new("")).to_path_buf();
        let above = near.parent().map(Path::to_path_buf);
        let has = |folder: &Path| folder.join("tokenizer.json").is_file();
        let folder = match above {
            Some(above) if !has(&near) && has(&above) => above,
            _ => near,
        };
        let graph = model.strip_prefix(&folder).unwrap_or(&model).display().to_string();
        Ok(Place { model, folder, graph })
    }

    fn title(&self) -> String {
        let stem = |p: &Path| p.file_stem().map(|s| s.to_string_lossy().into_owned());
        let name = stem(&self.model).filter(|n| n != "model");
        name.or_else(|| self.folder.file_name().map(|n| n.to_string_lossy().into_owned())).unwrap_or("model".into())
    }

    fn json(&self, name: &str) -> Option<serde_json::Value> {
        serde_json::from_slice(&std::fs::read(self.folder.join(name)).ok()?).ok()
    }

    fn context(&self) -> usize {
        let most = self.json("config.json").and_then(|c| c.get("max_position_embeddings")?.as_u64());
        most.map_or(CONTEXT, |n| CONTEXT.min(n as usize)).max(2)
    }

    fn write_folder_and_graph(&self, out: &mut String) {
        let folder = std::path::absolute(&self.folder).unwrap_or_else(|_| self.folder.clone());
        let _ = write!(
            out,
            "folder = {}\n\n[graphs]\nmodel = {}\n",
            quoted(&folder.display().to_string()),
            quoted(&self.graph)
        );
    }

    fn write_text(&self, out: &mut String) {
        let has = |name: &str| self.folder.join(name).is_file();
        if !has("tokenizer.json") {
            *out += "\n# No tokenizer.json beside the model: the executable takes --prompt-ids only.\n";
            return;
        }
        *out += "\n[text]\ntokenizer = \"tokenizer.json\"\n";
        if has("tokenizer_config.json") {
            *out += "tokenizer_config = \"tokenizer_config.json\"\n";
        }
        if has("chat_template.jinja") {
            *out += "template = \"chat_template.jinja\"\n";
        }
        let stops = |name: &&&str| std::fs::read(self.folder.join(name)).is_ok_and(|b| texts::stops(&b).is_some());
        match ["generation_config.json", "genai_config.json", "config.json"].iter().find(stops) {
            Some(name) => *out += &format!("generation_config = \"{name}\"\n"),
            None => *out += "stops = []  # no eos_token_id was found: list the ids that end an answer\n",
        }
    }
}

/// The one model of a folder.
pub fn only_model(folder: &Path) -> Result<PathBuf> {
    let fail = |e: std::io::Error| Error::new("init", e.to_string()).at(folder.display().to_string());
    for fixed in ["model.onnx", "onnx/model.onnx"] {
        if folder.join(fixed).is_file() {
            return Ok(folder.join(fixed));
        }
    }
    let mut found = vec![];
    for entry in std::fs::read_dir(folder).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        if path.extension().is_some_and(|e| e == "onnx") {
            found.push(path);
        }
    }
    found.sort();
    match found.as_slice() {
        [one] => Ok(one.clone()),
        [] => Err(Error::new("init", "there is no .onnx file").at(folder.display().to_string())),
        many => {
            let names: Vec<String> =
                many.iter().filter_map(|p| Some(p.file_name()?.to_string_lossy().into_owned())).collect();
            let what = format!("{} models: {}", many.len(), names.join(", "));
            Err(Error::new("init", what).at(folder.display().to_string()).hint("name one of the files"))
        }
    }
}

/// The symbols of a decoder, by what they mean.
struct Decoder {
    past: String,
    rows: Option<String>,
}

impl Decoder {
    /// A model with 4-D float inputs whose third extent is a symbol, and integer inputs [batch, rows].
    fn of(inspection: &Inspection) -> Option<Decoder> {
        let caches: Vec<&Vec<String>> =
            inspection.inputs.iter().filter(|p| is_float(p)).filter_map(|p| p.dims.as_ref()).collect();
        let past = caches.iter().find(|d| d.len() == 4 && is_symbol(&d[2]) && d[2] != d[3])?[2].clone();
        let rows = inspection.inputs.iter().filter(|p| !is_float(p) && !p.name.contains("mask")).find_map(|p| {
            let dims = p.dims.as_ref()?;
            (dims.len() == 2 && is_symbol(&dims[1]) && dims[1] != past).then(|| dims[1].clone())
        });
        Some(Decoder { past, rows })
    }

    fn dims(&self, inspection: &Inspection) -> BTreeMap<String, String> {
        let meaning = |symbol: &String| {
            if *symbol == self.past {
                "\"context - rows\"".to_string()
            } else if Some(symbol) == self.rows.as_ref() {
                "\"rows\"".to_string()
            } else if self.is_mask_length(symbol, inspection) {
                "\"context\"".to_string()
            } else {
                "1".to_string()
            }
        };
        inspection.symbols.iter().map(|s| (s.clone(), meaning(s))).collect()
    }

    /// A symbol that is the second extent of an integer input or the last of a mask, and nobody's first.
    fn is_mask_length(&self, symbol: &String, inspection: &Inspection) -> bool {
        let dims = || inspection.inputs.iter().filter_map(|p| p.dims.as_ref());
        dims().any(|d| d.len() > 1 && d.last() == Some(symbol)) && !dims().any(|d| d.first() == Some(symbol))
    }
}

fn is_float(port: &Port) -> bool {
    port.dtype.contains("FLOAT") || port.dtype.contains("float") || port.dtype.contains("DOUBLE")
}

fn is_symbol(dim: &str) -> bool {
    dim.parse::<u64>().is_err()
}

/// A TOML string.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_string()).to_string()
}
