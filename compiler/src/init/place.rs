//! Where a user's model is. In: a file or a folder. Out: the graph, the folder with the texts, and what the configuration files there say.
//! Promise: a file that is there and cannot be read is an error that names the key.

use super::{CONTEXT, genai, quoted};
use crate::error::{Error, Result};
use crate::metadata::{self, Document, Genai, Generation};
use crate::workflow::{self, METADATA, Understood};
use std::fmt::Write;
use std::path::{Path, PathBuf};

const CONFIG: &str = "config.json";
const GENERATION: &str = "generation_config.json";
const TOKENIZER_CONFIG: &str = "tokenizer_config.json";

/// Where the model's files are.
pub struct Place {
    pub model: PathBuf,
    /// Holds the tokenizer, if there is one; the graph is in it or one folder below.
    folder: PathBuf,
    /// The graph's path in `folder`.
    pub graph: String,
    /// genai_config.json, where it is there and names this graph.
    pub genai: Option<Genai>,
    /// How the package says that it runs.
    pub workflow: Option<Understood>,
}

impl Place {
    /// With `workflow`, metadata of that kind is read too; whether unknown keys in it are left out.
    pub fn of(onnx: &Path, workflow: Option<bool>) -> Result<Place> {
        let near = if onnx.is_dir() { onnx } else { onnx.parent().unwrap_or(Path::new("")) };
        let metadata = near.join(METADATA);
        let Some(lossy) = workflow.filter(|_| metadata.is_file()) else { return Place::plain(onnx) };
        let understood = workflow::read(&metadata, lossy)?;
        let model = near.join(&understood.model);
        if !onnx.is_dir() && onnx.file_name() != model.file_name() {
            // A graph that the metadata does not name is a model of its own.
            return Place::plain(onnx);
        }
        let place = match bytes(near, metadata::GENAI)? {
            Some(_) => Place::plain(onnx)?,
            None if model.is_file() => Place {
                graph: understood.model.clone(),
                model,
                folder: near.to_path_buf(),
                genai: None,
                workflow: None,
            },
            None => {
                let what = format!("there is no file '{}'", understood.model);
                return Err(Error::new("workflow", what).at(format!("{METADATA}: pipeline.workflow.components")));
            }
        };
        if place.graph != understood.model {
            let what = format!("names '{}', and {METADATA} runs '{}'", place.graph, understood.model);
            return Err(Error::new("config", what).at(format!("{}: model.decoder.filename", metadata::GENAI)));
        }
        Ok(Place { workflow: Some(understood), ..place })
    }

    fn plain(onnx: &Path) -> Result<Place> {
        let near = if onnx.is_dir() { onnx } else { onnx.parent().unwrap_or(Path::new("")) };
        if let Some(bytes) = bytes(near, metadata::GENAI)? {
            let config = Genai::parse(&bytes)?;
            let model = near.join(&config.filename);
            // A graph that the config does not name is a model of its own.
            if onnx.is_dir() || onnx.file_name() == Path::new(&config.filename).file_name() {
                return Place::named(near, model, config);
            }
        }
        let model = if onnx.is_dir() { only_model(onnx)? } else { onnx.to_path_buf() };
        let near = model.parent().unwrap_or(Path::new("")).to_path_buf();
        let above = near.parent().map(Path::to_path_buf);
        let has = |folder: &Path| folder.join("tokenizer.json").is_file();
        let folder = match above {
            Some(above) if !has(&near) && has(&above) => above,
            _ => near,
        };
        let graph = model.strip_prefix(&folder).unwrap_or(&model).display().to_string();
        Ok(Place { model, folder, graph, genai: None, workflow: None })
    }

    /// The folder of a genai_config.json, with the graph that it names.
    fn named(folder: &Path, model: PathBuf, config: Genai) -> Result<Place> {
        if !model.is_file() {
            let what = format!("there is no file '{}'", model.display());
            return Err(Error::new("config", what).at(format!("{}: model.decoder.filename", metadata::GENAI)));
        }
        let graph = config.filename.clone();
        Ok(Place { model, folder: folder.to_path_buf(), graph, genai: Some(config), workflow: None })
    }

    pub fn title(&self) -> String {
        let stem = |p: &Path| p.file_stem().map(|s| s.to_string_lossy().into_owned());
        let name = stem(&self.model).filter(|n| n != "model");
        let real = self.folder.canonicalize().unwrap_or_else(|_| self.folder.clone());
        name.or_else(|| real.file_name().map(|n| n.to_string_lossy().into_owned())).unwrap_or("model".into())
    }

    pub fn context(&self) -> Result<usize> {
        let Some(bytes) = bytes(&self.folder, CONFIG)? else { return Ok(CONTEXT) };
        let document = Document::parse(CONFIG, &bytes)?;
        let most = document.root().get("max_position_embeddings").map(|n| n.whole(1, 1 << 32)).transpose()?;
        Ok(most.map_or(CONTEXT, |n| CONTEXT.min(n as usize)).max(2))
    }

    pub fn write_folder_and_graph(&self, out: &mut String) {
        let folder = std::path::absolute(&self.folder).unwrap_or_else(|_| self.folder.clone());
        let _ = write!(
            out,
            "folder = {}\n\n[graphs]\nmodel = {}\n",
            quoted(&folder.display().to_string()),
            quoted(&self.graph)
        );
    }

    /// What the files say of stops and sampling: genai_config.json before generation_config.json before config.json, key by key.
    fn generation(&self) -> Result<Generation> {
        let mut out = self.genai.as_ref().map(|g| g.generation.clone()).unwrap_or_default();
        for name in [GENERATION, CONFIG] {
            if let Some(bytes) = bytes(&self.folder, name)? {
                let said = Generation::parse(name, &bytes)?;
                // Sampler settings in config.json are leftovers of an old library.
                out = out.or(if name == CONFIG { Generation { eos: said.eos, ..Generation::default() } } else { said });
            }
        }
        Ok(out)
    }

    /// `[text]` and `[sampling]`.
    pub fn write_text(&self, out: &mut String) -> Result<()> {
        let generation = self.generation()?;
        let has = |name: &str| self.folder.join(name).is_file();
        if !has("tokenizer.json") {
            *out += "\n# No tokenizer.json beside the model: the executable takes --prompt-ids only.\n";
        } else {
            *out += "\n[text]\ntokenizer = \"tokenizer.json\"\n";
            if let Some(bytes) = bytes(&self.folder, TOKENIZER_CONFIG)? {
                metadata::check_tokenizer_config(TOKENIZER_CONFIG, &bytes)?;
                let _ = writeln!(out, "tokenizer_config = \"{TOKENIZER_CONFIG}\"");
            }
            if has("chat_template.jinja") {
                *out += "template = \"chat_template.jinja\"\n";
            }
            self.write_stops(&generation, out);
        }
        if let Some(w) = &self.workflow {
            super::workflow::write_sampling(w, out)?;
        } else if self.genai.is_some() {
            genai::write_sampling(&generation, out);
        }
        Ok(())
    }

    /// Ids that end an answer: by the file that names them, or one by one where no other reader would find them.
    fn write_stops(&self, generation: &Generation, out: &mut String) {
        if self.workflow.as_ref().is_some_and(|w| w.ending.is_some()) {
            *out += "stops = []  # a policy of the package ends answers in its own way\n";
            return;
        }
        // Where the application gives the ids, it is genai_config.json that says which.
        let own = self.workflow.as_ref().map(|w| &w.stops).filter(|_| self.genai.is_none() || generation.eos.is_none());
        if let Some(stops) = own {
            let _ = writeln!(out, "stops = {stops:?}");
            return;
        }
        let _ = match (&generation.eos, &self.genai) {
            (Some(ids), Some(_)) => writeln!(out, "stops = {ids:?}"),
            (Some(_), None) => {
                let names = |name: &&&str| {
                    let bytes = std::fs::read(self.folder.join(name));
                    bytes.is_ok_and(|b| matches!(metadata::stops(name, &b), Ok(Some(_))))
                };
                let file = [GENERATION, CONFIG].iter().find(names).unwrap_or(&CONFIG);
                writeln!(out, "generation_config = \"{file}\"")
            }
            (None, _) => writeln!(out, "stops = []  # no eos_token_id was found: list the ids that end an answer"),
        };
    }
}

/// A file of the folder; None where there is none.
fn bytes(folder: &Path, name: &str) -> Result<Option<Vec<u8>>> {
    let path = folder.join(name);
    match std::fs::read(&path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(Error::new("config", e.to_string()).at(path.display().to_string())),
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
