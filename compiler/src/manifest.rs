//! model.toml. In: its text, and those of the manifests it extends. Out: a checked manifest with every dimension a number. Promise:
//! an unknown key, a missing one or a wrong value is an error that names file and key. docs/manifest.md lists the keys.

mod extends;
mod picture;
mod sampling;
mod workflow;

pub use picture::{Law, Picture, Token};
pub use sampling::Table as Sampling;
pub use workflow::Table as Workflow;

use crate::error::{Error, Result};
use crate::graph::Activations;
use crate::import::Bindings;
use crate::quantise::Settings;
use crate::storage::{Kv, Precision, Storage};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Name of the manifest in a model's folder.
pub const MANIFEST: &str = "model.toml";

/// A model as its folder describes it.
#[derive(Clone, PartialEq, Debug)]
pub struct Manifest {
    /// Name of the model: that of its folder.
    pub name: String,
    pub title: String,
    pub source: String,
    pub licence: String,
    pub precision: Precision,
    /// What the cache is stored as; else as `precision` has it.
    pub kv: Option<Kv>,
    /// What products of a prompt may take x as; else what the graph takes.
    pub activations: Option<Activations>,
    /// How `int4` stores weights.
    pub quantise: Settings,
    /// Rows of the KV cache. Without it every graph runs as it stands.
    pub context: Option<usize>,
    /// Files that a graph may be in, by the name that buckets use; the first that is found counts.
    pub graphs: BTreeMap<String, Vec<String>>,
    pub buckets: Vec<Bucket>,
    pub text: Option<Text>,
    /// How tokens are drawn unless the command line says otherwise; greedily without it.
    pub sampling: Option<Sampling>,
    /// Metadata of a package that says how it runs.
    pub workflow: Option<Workflow>,
    /// Present when the model looks at pictures.
    pub picture: Option<Picture>,
    /// Golden file, beside the manifest.
    pub golden: Option<String>,
    /// Files by their path in `.cache/models/CACHE`, and where they come from.
    pub sources: BTreeMap<String, Source>,
    /// Where the model's files are; `.cache/models/CACHE` unless given.
    pub folder: Option<PathBuf>,
    /// Folders of the manifest and of those it extends, its own first; empty for one that is no file.
    pub homes: Vec<PathBuf>,
    /// Folder in `.cache/models`: the name of the manifest that gives the sources, so that those which extend it share one copy.
    pub cache: String,
}

/// One graph, or several that feed each other, at one set of shapes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bucket {
    pub name: String,
    /// Names of graphs; outputs of earlier ones go into later ones.
    pub graphs: Vec<String>,
    /// Inputs of later graphs by the earlier output that goes in, where the two have different names.
    pub edges: BTreeMap<String, String>,
    /// Runs as it stands even where it has a cache that `context` would manage.
    pub raw: bool,
    pub rows: usize,
    pub dims: Bindings,
}

/// A file on a server.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    pub url: String,
    /// As somebody verified it; without it the first download is recorded, and later ones are held to that.
    pub sha256: Option<String>,
}

/// Files that turn text into token ids and back; names within the model's folder.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Text {
    pub tokenizer: String,
    pub tokenizer_config: Option<String>,
    /// Chat template in a file of its own.
    pub template: Option<String>,
    /// False for a model that continues text: whatever template its files hold is left out.
    #[serde(default = "yes")]
    pub chat: bool,
    /// Token ids that end an answer; else `eos_token_id` of `generation_config`.
    pub stops: Option<Vec<u32>>,
    pub generation_config: Option<String>,
    /// Default system prompt.
    pub system: Option<String>,
}

fn yes() -> bool {
    true
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    title: String,
    source: String,
    licence: String,
    precision: String,
    kv: Option<String>,
    activations: Option<String>,
    #[serde(default)]
    quantise: Settings,
    context: Option<usize>,
    graphs: BTreeMap<String, Names>,
    #[serde(default)]
    dims: BTreeMap<String, Dim>,
    buckets: Vec<FileBucket>,
    text: Option<Text>,
    sampling: Option<Sampling>,
    workflow: Option<Workflow>,
    picture: Option<Picture>,
    golden: Option<String>,
    #[serde(default)]
    sources: BTreeMap<String, Source>,
    folder: Option<PathBuf>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileBucket {
    name: String,
    graph: Names,
    #[serde(default)]
    edges: BTreeMap<String, String>,
    #[serde(default)]
    raw: bool,
    rows: Option<usize>,
    #[serde(default)]
    dims: BTreeMap<String, Dim>,
}

/// One name, or a list of them.
#[derive(Clone, Deserialize)]
#[serde(untagged)]
enum Names {
    One(String),
    List(Vec<String>),
}

impl From<Names> for Vec<String> {
    fn from(names: Names) -> Vec<String> {
        match names {
            Names::One(name) => vec![name],
            Names::List(list) => list,
        }
    }
}

/// A dimension: a number, or a sum of numbers, `rows` and `context`.
#[derive(Clone, Deserialize)]
#[serde(untagged)]
enum Dim {
    Number(usize),
    Sum(String),
}

impl Manifest {
    /// Reads a manifest file and those it extends. The model is called `name`.
    pub fn load(path: &Path, name: &str) -> Result<Manifest> {
        let chain = extends::chain(path, name)?;
        let placed = |e: Error| match e.place {
            Some(key) => Error { place: Some(format!("{}: {key}", path.display())), ..e },
            None => e.at(path.display().to_string()),
        };
        let file = match chain.as_slice() {
            // One text alone keeps its line numbers.
            [own] => file(&own.text),
            _ => toml::Value::Table(extends::merged(&chain)).try_into().map_err(|e: toml::de::Error| unread(&e, "")),
        };
        let manifest = file.and_then(|f| Manifest::of(f, name)).map_err(placed)?;
        let homes = chain.iter().map(|link| link.home().to_path_buf()).collect();
        Ok(Manifest { homes, cache: extends::owner(&chain).to_string(), ..manifest })
    }

    /// Reads a manifest's text; one that extends another needs `load`.
    pub fn parse(text: &str, name: &str) -> Result<Manifest> {
        Manifest::of(file(text)?, name)
    }

    fn of(file: File, name: &str) -> Result<Manifest> {
        let precision = Precision::parse(&file.precision)
            .ok_or_else(|| bad("precision", format!("'{}' is none of fp32, fp16, int4", file.precision)))?;
        let known = |kv: &String| Kv::parse(kv).ok_or_else(|| bad("kv", format!("'{kv}' is none of fp32, fp16, int8")));
        let kv = file.kv.as_ref().map(known).transpose()?;
        let known = |name: &String| {
            Activations::asked(name).ok_or_else(|| bad("activations", format!("'{name}' is none of fp32, fp16")))
        };
        let activations = file.activations.as_ref().map(known).transpose()?;
        let mut buckets = vec![];
        for b in &file.buckets {
            buckets.push(bucket(&file, b).map_err(|e| e.at(format!("bucket '{}'", b.name)))?);
        }
        let manifest = Manifest {
            name: name.to_string(),
            title: file.title,
            source: file.source,
            licence: file.licence,
            precision,
            kv,
            activations,
            quantise: file.quantise,
            context: file.context,
            graphs: file.graphs.into_iter().map(|(graph, files)| (graph, files.into())).collect(),
            buckets,
            text: file.text,
            sampling: file.sampling,
            workflow: file.workflow,
            picture: file.picture,
            golden: file.golden,
            sources: file.sources,
            folder: file.folder,
            homes: vec![],
            cache: name.to_string(),
        };
        manifest.check()?;
        Ok(manifest)
    }

    /// How weights and cache are stored.
    pub fn storage(&self) -> Storage {
        let default = Storage::from(self.precision);
        Storage { kv: self.kv.unwrap_or(default.kv), ..default }
    }

    /// Takes from a preprocessor_config.json what `[picture]` leaves open.
    pub fn fill_picture(&mut self, file: &str, json: &[u8]) -> Result<()> {
        self.picture.as_mut().map_or(Ok(()), |picture| picture.fill(file, json))?;
        self.check()
    }

    fn check(&self) -> Result<()> {
        is_name(&self.name)?;
        if self.kv.is_some() && self.context.is_none() {
            return Err(bad("kv", "without a context there is no cache to store"));
        }
        self.quantise.check().map_err(|what| bad("quantise", what))?;
        if let Some(name) = self.graphs.keys().find(|name| name.contains(['+', '/']) || !is_word(name)) {
            let what = format!("'{name}' is no name of a graph: it has none of '+', '/' and ',', and no line ends");
            return Err(bad("graphs", what));
        }
        if self.buckets.is_empty() {
            return Err(bad("buckets", "at least one is needed"));
        }
        for (name, source) in &self.sources {
            source.check(name).map_err(|what| bad(&format!("sources.\"{name}\""), what))?;
        }
        let mut names: Vec<&str> = self.buckets.iter().map(|b| b.name.as_str()).collect();
        if let Some(name) = names.iter().find(|name| !is_word(name)) {
            return Err(bad(
                "buckets",
                format!("'{name}' is no name of a bucket: it has neither commas nor line ends"),
            ));
        }
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|p| p[0] == p[1]) {
            return Err(bad("buckets", format!("two are called '{}'", pair[0])));
        }
        if let Some(Err((key, what))) = self.sampling.map(|s| s.settings()) {
            return Err(bad(&format!("sampling.{key}"), what));
        }
        if let Some(picture) = &self.picture {
            picture.check(self).map_err(|(key, what)| bad(&format!("picture.{key}"), what))?;
        }
        if let Some(context) = self.context
            && !(1..=1 << 20).contains(&context)
        {
            return Err(bad("context", format!("{context} rows; 1 to {} are possible", 1 << 20)));
        }
        Ok(())
    }
}

impl Source {
    fn check(&self, name: &str) -> Result<(), String> {
        let inside = Path::new(name).components().all(|c| matches!(c, std::path::Component::Normal(_)));
        if name.is_empty() || name.ends_with('/') || !inside {
            return Err("is no path inside the model's folder".into());
        }
        if !["https://", "http://"].iter().any(|scheme| self.url.starts_with(scheme)) {
            return Err(format!("'{}' is neither https:// nor http://", self.url));
        }
        let digit = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
        match &self.sha256 {
            Some(hash) if hash.len() != 64 || !hash.chars().all(digit) => {
                Err(format!("'{hash}' is no sha256: 64 hex digits in lower case are"))
            }
            _ => Ok(()),
        }
    }
}

fn file(text: &str) -> Result<File> {
    toml::from_str(text).map_err(|e| unread(&e, text))
}

/// What TOML says, with the line where there is one.
fn unread(e: &toml::de::Error, text: &str) -> Error {
    let line = e.span().and_then(|s| Some(text.get(..s.start)?.lines().count().max(1)));
    let error = Error::new("manifest", e.message().replace('\n', ", "));
    line.filter(|_| !text.is_empty()).map_or(error.clone(), |l| error.at(format!("line {l}")))
}

/// A model's name becomes a file and a folder, and nothing else.
pub fn is_name(name: &str) -> Result<()> {
    let fine = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || name.starts_with('.') || !name.chars().all(fine) {
        let what = format!("'{name}' is no model name: letters, digits, '-', '_' and '.' are");
        return Err(Error::new("manifest", what));
    }
    Ok(())
}

/// Names of buckets and graphs stand between commas on a line of a pool.
fn is_word(name: &str) -> bool {
    !name.is_empty() && !name.contains(|c: char| c == ',' || c.is_control())
}

fn bad(key: &str, what: impl Into<String>) -> Error {
    Error::new("manifest", what).at(format!("key '{key}'"))
}

fn bucket(file: &File, b: &FileBucket) -> Result<Bucket> {
    let graphs: Vec<String> = b.graph.clone().into();
    if graphs.is_empty() {
        return Err(bad("graph", "the list is empty"));
    }
    for (i, graph) in graphs.iter().enumerate() {
        if !file.graphs.contains_key(graph) {
            let known: Vec<_> = file.graphs.keys().map(String::as_str).collect();
            return Err(bad("graph", format!("'{graph}' is not among [graphs]: {}", known.join(", "))));
        }
        if graphs[..i].contains(graph) {
            return Err(bad("graph", format!("'{graph}' is listed twice")));
        }
    }
    if graphs.len() == 1 && !b.edges.is_empty() {
        return Err(bad("edges", "a bucket of one graph has none"));
    }
    let rows = b.rows.unwrap_or(1);
    if rows == 0 {
        return Err(bad("rows", "a run takes at least one token"));
    }
    if let Some(context) = file.context.filter(|c| rows > *c) {
        return Err(bad("rows", format!("{rows} rows, and the context has {context}")));
    }
    let mut dims = Bindings::new();
    for (name, dim) in file.dims.iter().chain(&b.dims) {
        let value = match dim {
            Dim::Number(n) => *n,
            Dim::Sum(text) => sum(text, rows, file.context).map_err(|what| bad(&format!("dims.{name}"), what))?,
        };
        dims.insert(name.clone(), value);
    }
    Ok(Bucket { name: b.name.clone(), graphs, edges: b.edges.clone(), raw: b.raw, rows, dims })
}

/// `context - rows` and the like.
fn sum(text: &str, rows: usize, context: Option<usize>) -> Result<usize, String> {
    let spaced = text.replace('+', " + ").replace('-', " - ");
    let mut total = 0i64;
    let mut sign = Some(1);
    for word in spaced.split_whitespace() {
        match (word, sign) {
            ("+", None) => sign = Some(1),
            ("-", None) => sign = Some(-1),
            (_, None) | ("+" | "-", Some(_)) => return Err(format!("'{text}' is no sum")),
            (term, Some(s)) => {
                let value = match term {
                    "rows" => rows as i64,
                    "context" => context.ok_or("'context' is used here and not set")? as i64,
                    n => n.parse::<u32>().map_err(|_| format!("'{n}' is neither a number, rows nor context"))?.into(),
                };
                total += s * value;
                sign = None;
            }
        }
    }
    match sign {
        None => usize::try_from(total).map_err(|_| format!("'{text}' is negative: {total}")),
        Some(_) => Err(format!("'{text}' is no sum")),
    }
}

#[cfg(test)]
mod tests;
