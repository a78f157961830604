//! NAME.sources.lock. In: what was downloaded. Out: the same at a later time. Promise: a file whose hash nobody vouched for is marked
//! so, and its later downloads are held to the first.

use super::failed;
use crate::error::{Error, Result};
use crate::manifest::Source;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What is known of one file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    pub url: String,
    pub bytes: u64,
    pub sha256: String,
    /// The manifest gave the hash. Otherwise it is that of the first file that came.
    pub verified: bool,
}

impl Row {
    /// Whether a file of this row is what the manifest asks for.
    pub fn suits(&self, source: &Source) -> bool {
        match &source.sha256 {
            Some(sha256) => self.verified && *sha256 == self.sha256,
            None => true,
        }
    }
}

pub struct Record {
    path: PathBuf,
    rows: BTreeMap<String, Row>,
}

const HEAD: &str = "\
# Files that onnxcast downloaded. Where the manifest gives no sha256, the hash of the first download stands here, verified = false, and
# later downloads are held to it. Delete a row to accept another file.
";

impl Record {
    pub fn load(path: &Path) -> Result<Record> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(e) => return Err(failed(path, &e)),
        };
        let rows = toml::from_str(&text).map_err(|e: toml::de::Error| {
            Error::new("fetch", e.message().replace('\n', ", "))
                .at(path.display().to_string())
                .hint("delete the file to begin anew")
        })?;
        Ok(Record { path: path.to_path_buf(), rows })
    }

    pub fn get(&self, name: &str) -> Option<&Row> {
        self.rows.get(name)
    }

    pub fn set(&mut self, name: &str, row: Row) {
        self.rows.insert(name.to_string(), row);
    }

    pub fn save(&self) -> Result<()> {
        let rows = toml::to_string(&self.rows).map_err(|e| Error::new("fetch", e.to_string()))?;
        crate::files::replace(&self.path, format!("{HEAD}\n{rows}").as_bytes())
    }
}
