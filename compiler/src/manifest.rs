//! The manifest. In: `models/NAME/model.toml`. Out: graphs, buckets, precision, text files, with paths resolved. Promise: every key
//! is known, every error names the file and the key.

use crate::error::{Error, Result};
use crate::plan::Precision;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The name of the file in a model's folder.
pub const FILE: &str = "model.toml";

/// A model as its folder describes it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    pub title: String,
    /// Where the weights come from, for `info`.
    pub source: String,
    pub licence: String,
    /// `fp32` or `fp16`: storage of weights and KV cache.
    pub precision: String,
    /// Rows of the KV cache, prompt and answer together.
    pub context: usize,
    /// Folder of the source files, relative to the manifest; without it `.cache/models/NAME` of the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<PathBuf>,
    /// Golden file for `verify`, in the manifest's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub golden: Option<PathBuf>,
    pub graphs: BTreeMap<String, GraphSpec>,
    pub buckets: Vec<BucketSpec>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<TextSpec>,
}

/// An ONNX file and what its symbolic dimensions mean.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GraphSpec {
    /// In the source folder.
    pub file: PathBuf,
    /// The same graph without its external data, in the manifest's folder: enough for a plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outline: Option<PathBuf>,
    #[serde(default)]
    pub dims: BTreeMap<String, Dim>,
}

/// A dimension: a number, or what it is in a bucket.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Dim {
    Number(usize),
    /// `rows`, `past` (context less rows) or `context`.
    Role(String),
}

/// A graph at one set of shapes.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BucketSpec {
    pub name: String,
    pub graph: String,
    /// Tokens a run takes.
    pub rows: usize,
    /// Over the graph's.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub dims: BTreeMap<String, Dim>,
}

/// Files of the text side, in the source folder.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextSpec {
    pub tokenizer: PathBuf,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<PathBuf>,
    /// Token ids that end an answer.
    pub stops: Vec<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
}

/// A manifest with its place.
#[derive(Clone, Debug)]
pub struct Model {
    pub name: String,
    /// Folder of the manifest.
    pub home: PathBuf,
    /// Folder of the source files.
    pub sources: PathBuf,
    pub manifest: Manifest,
}

impl Model {
    /// Finds `NAME` under the project's `models` or `generated`. `onnx` replaces the source folder (or is the one graph file).
    pub fn find(project: &Path, name: &str, onnx: Option<&Path>) -> Result<Model> {
        let homes = [project.join("models").join(name), project.join("generated").join(name)];
        let home = homes.iter().find(|h| h.join(FILE).is_file()).ok_or_else(|| {
            Error::new("manifest", format!("there is no model '{name}'"))
                .at(homes[0].join(FILE).display().to_string())
                .hint("write a manifest, or give onnx=PATH to have one made")
        })?;
        Model::open(project, name, home, onnx)
    }

    fn open(project: &Path, name: &str, home: &Path, onnx: Option<&Path>) -> Result<Model> {
        let file = home.join(FILE);
        let text = std::fs::read_to_string(&file)
            .map_err(|e| Error::new("manifest", e.to_string()).at(file.display().to_string()))?;
        let manifest = Manifest::parse(&text).map_err(|e| e.at(file.display().to_string()))?;
        let sources = match (onnx, &manifest.folder) {
            (Some(path), _) if path.is_file() => path.parent().unwrap_or(Path::new(".")).to_path_buf(),
            (Some(path), _) => path.to_path_buf(),
            (None, Some(folder)) => home.join(folder),
            (None, None) => project.join(".cache").join("models").join(name),
        };
        Ok(Model { name: name.to_string(), home: home.to_path_buf(), sources, manifest })
    }
}

impl Manifest {
    pub fn parse(text: &str) -> Result<Manifest> {
        let manifest: Manifest =
            toml::from_str(text).map_err(|e| Error::new("manifest", e.to_string().trim_end().to_string()))?;
        manifest.check()?;
        Ok(manifest)
    }

    fn check(&self) -> Result<()> {
        self.precision()?;
        let fail = |what: String| Err(Error::new("manifest", what));
        if self.buckets.is_empty() {
            return fail("buckets: there is none".into());
        }
        for bucket in &self.buckets {
            let at = format!("buckets.{}", bucket.name);
            if !self.graphs.contains_key(&bucket.graph) {
                return fail(format!("{at}: there is no graph '{}'", bucket.graph));
            }
            if bucket.rows == 0 || bucket.rows > self.context {
                return fail(format!(
                    "{at}: rows = {}, which is not between 1 and the context of {}",
                    bucket.rows, self.context
                ));
            }
            self.bindings(bucket)?;
        }
        let names: std::collections::BTreeSet<&str> = self.buckets.iter().map(|b| b.name.as_str()).collect();
        if names.len() != self.buckets.len() {
            return fail("buckets: two have the same name".into());
        }
        Ok(())
    }

    pub fn precision(&self) -> Result<Precision> {
        match self.precision.as_str() {
            "fp32" => Ok(Precision::Fp32),
            "fp16" => Ok(Precision::Fp16),
            other => Err(Error::new("manifest", format!("precision: '{other}' is neither fp32 nor fp16"))),
        }
    }

    /// Numbers for the symbolic dimensions of a bucket's graph.
    pub fn bindings(&self, bucket: &BucketSpec) -> Result<BTreeMap<String, usize>> {
        let graph = self.graphs.get(&bucket.graph).map(|g| g.dims.clone()).unwrap_or_default();
        let dims = graph.into_iter().chain(bucket.dims.clone());
        dims.map(|(name, dim)| {
            let value = match &dim {
                Dim::Number(n) => *n,
                Dim::Role(role) => match role.as_str() {
                    "rows" => bucket.rows,
                    "past" => self.context - bucket.rows,
                    "context" => self.context,
                    other => {
                        let what = format!("dims.{name}: '{other}' is neither a number nor rows, past or context");
                        return Err(Error::new("manifest", what));
                    }
                },
            };
            Ok((name, value))
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = r#"
title = "T"
source = "here"
licence = "MIT"
precision = "fp16"
context = 64

[graphs.decoder]
file = "model.onnx"
dims = { batch_size = 1, sequence_length = "rows", past_sequence_length = "past", total = "context" }

[[buckets]]
name = "prefill"
graph = "decoder"
rows = 16

[[buckets]]
name = "decode"
graph = "decoder"
rows = 1
dims = { batch_size = 2 }
"#;

    fn error(from: &str, to: &str) -> String {
        Manifest::parse(&SMALL.replace(from, to)).unwrap_err().to_string()
    }

    #[test]
    fn roles_of_dimensions_become_numbers_by_bucket() {
        let m = Manifest::parse(SMALL).unwrap();
        let prefill = m.bindings(&m.buckets[0]).unwrap();
        assert_eq!(prefill["past_sequence_length"], 48);
        assert_eq!((prefill["sequence_length"], prefill["total"], prefill["batch_size"]), (16, 64, 1));
        assert_eq!(m.bindings(&m.buckets[1]).unwrap()["batch_size"], 2);
    }

    #[test]
    fn an_unknown_key_is_named() {
        assert!(error("licence =", "license =").contains("license"));
    }

    #[test]
    fn wrong_values_are_named_with_their_key() {
        assert!(error("\"fp16\"", "\"fp8\"").contains("precision: 'fp8'"));
        assert!(error("rows = 16", "rows = 65").contains("buckets.prefill: rows = 65"));
        assert!(error("\"past\"", "\"past + 1\"").contains("dims.past_sequence_length"));
        assert!(
            error("graph = \"decoder\"\nrows = 1\n", "graph = \"encoder\"\nrows = 1\n").contains("no graph 'encoder'")
        );
        assert!(error("name = \"decode\"", "name = \"prefill\"").contains("same name"));
    }
}
