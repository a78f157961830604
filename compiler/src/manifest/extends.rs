//! Manifests that extend another. In: a manifest's path. Out: its text and those of its parents, and the one table they make.
//! Promise: the child's keys win; a loop or a missing parent is an error that names both files.

use super::{is_name, unread};
use crate::error::{Error, Result};
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// Tables that are merged key by key; every other key of the child replaces the parent's as a whole.
const MERGED: [&str; 6] = ["graphs", "dims", "text", "sampling", "picture", "quantise"];

/// One manifest of a chain.
pub struct Link {
    pub name: String,
    path: PathBuf,
    pub text: String,
    table: Table,
}

impl Link {
    /// The folder it is in.
    pub fn home(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("."))
    }
}

/// A manifest, the one it extends, and so on.
pub fn chain(path: &Path, name: &str) -> Result<Vec<Link>> {
    let mut links = vec![link(path, name)?];
    while let Some((last, parent)) = parent(links.last())? {
        let mut names: Vec<&str> = links.iter().map(|l| l.name.as_str()).collect();
        let fail = |what: String| Error::new("manifest", what).at(format!("{}: key 'extends'", last.display()));
        if names.contains(&parent.as_str()) {
            names.push(&parent);
            return Err(fail(format!("{} is a loop", names.join(" -> "))));
        }
        let file = beside(&last, &parent);
        if !file.is_file() {
            return Err(fail(format!("'{parent}' is no model: there is no {}", file.display())));
        }
        links.push(link(&file, &parent)?);
    }
    Ok(links)
}

/// The table that a chain makes, without its `extends`.
pub fn merged(chain: &[Link]) -> Table {
    let mut out = Table::new();
    for link in chain.iter().rev() {
        for (key, value) in &link.table {
            match (value, out.get_mut(key)) {
                (Value::Table(own), Some(Value::Table(known))) if MERGED.contains(&key.as_str()) => {
                    known.extend(own.clone());
                }
                _ => {
                    out.insert(key.clone(), value.clone());
                }
            }
        }
    }
    out.remove("extends");
    out
}

/// Who gives the sources: the first of the chain that names any, else its end.
pub fn owner(chain: &[Link]) -> &str {
    let named = chain.iter().find(|l| l.table.contains_key("sources"));
    named.or(chain.last()).map_or("", |l| l.name.as_str())
}

fn link(path: &Path, name: &str) -> Result<Link> {
    let text = std::fs::read_to_string(path).map_err(|e| {
        Error::new("manifest", e.to_string()).at(path.display().to_string()).hint("`onnxcast init` writes a first one")
    })?;
    let table = text.parse::<Table>().map_err(|e| {
        let e = unread(&e, &text);
        Error { place: Some(format!("{}: {}", path.display(), e.place.unwrap_or_default())), ..e }
    })?;
    Ok(Link { name: name.into(), path: path.into(), text, table })
}

/// What a manifest extends, with its own path.
fn parent(link: Option<&Link>) -> Result<Option<(PathBuf, String)>> {
    let Some((link, value)) = link.and_then(|l| Some((l, l.table.get("extends")?))) else { return Ok(None) };
    let place = || format!("{}: key 'extends'", link.path.display());
    let name = value.as_str().ok_or_else(|| Error::new("manifest", "is no name of a model").at(place()))?;
    is_name(name).map_err(|e| e.at(place()))?;
    Ok(Some((link.path.clone(), name.to_string())))
}

/// The manifest of another model in the folder that holds this model's folder.
fn beside(path: &Path, name: &str) -> PathBuf {
    let home = path.parent().unwrap_or(Path::new("."));
    home.parent().unwrap_or(Path::new("..")).join(name).join(super::MANIFEST)
}
