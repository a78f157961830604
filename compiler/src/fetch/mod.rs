//! Sources of a model. In: the files that its manifest names by address. Out: the same files in a folder, and a record of what came.
//! Promise: a file is there whole and as the manifest or the record knows it, or not at all; a cut download goes on where it stopped.

mod download;
mod part;
mod record;

pub use download::Patience;

use crate::error::{Error, Result};
use crate::manifest::{Manifest, Source};
use download::{Client, Trouble};
use record::{Record, Row};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// What happens while files are fetched.
#[derive(Debug)]
pub enum Event<'a> {
    /// A file begins; so many bytes of it are here from last time.
    Begins { file: &'a str, host: &'a str, here: u64 },
    /// Bytes that are here, of how many.
    Bytes { done: u64, total: Option<u64> },
    /// The connection ended and another is tried.
    Again { why: &'a str },
    /// The file's hash is computed.
    Checking { file: &'a str },
    /// The file is in place.
    Done { file: &'a str, sha256: &'a str, verified: bool },
}

/// Where a model's sources are kept.
#[derive(Clone, Debug)]
pub struct Place {
    pub folder: PathBuf,
    /// The record of downloads: beside the folder, so that it outlives it.
    pub record: PathBuf,
}

impl Place {
    pub fn of(project: &Path, manifest: &Manifest) -> Place {
        let models = project.join(".cache").join("models");
        Place { folder: models.join(&manifest.cache), record: models.join(format!("{}.sources.lock", manifest.cache)) }
    }
}

/// Fetches what is missing and checks what is new.
pub fn fetch(manifest: &Manifest, place: &Place, patience: &Patience, hear: &mut dyn FnMut(Event)) -> Result<()> {
    let mut record = Record::load(&place.record)?;
    let client = Client::new(patience);
    for (name, source) in &manifest.sources {
        let path = place.folder.join(name);
        let bytes = path.metadata().ok().filter(|m| m.is_file()).map(|m| m.len());
        if bytes.is_some() && record.get(name).is_some_and(|row| Some(row.bytes) == bytes && row.suits(source)) {
            continue;
        }
        if bytes.is_none() {
            client.download(name, source, &path, hear).map_err(|t| told(t, name, manifest, place))?;
        }
        let row = checked(name, source, &path, &record, &place.record, hear)?;
        hear(Event::Done { file: name, sha256: &row.sha256, verified: row.verified });
        record.set(name, row);
        record.save()?;
    }
    Ok(())
}

/// Holds a file against the manifest's hash, or else against the record's. One that does not fit is put aside.
fn checked(
    name: &str,
    source: &Source,
    path: &Path,
    known: &Record,
    kept: &Path,
    hear: &mut dyn FnMut(Event),
) -> Result<Row> {
    hear(Event::Checking { file: name });
    let (sha256, bytes) = sha256(path)?;
    let recorded = known.get(name).map(|row| row.sha256.as_str());
    let (expected, whose) = match (&source.sha256, recorded) {
        (Some(given), _) => (given.as_str(), "the manifest says".to_string()),
        (None, Some(first)) => (first, format!("{} recorded", kept.display())),
        (None, None) => (sha256.as_str(), String::new()),
    };
    if expected != sha256 {
        let aside = part::beside(path, ".wrong");
        std::fs::rename(path, &aside).map_err(|e| failed(path, &e))?;
        let what = format!("has sha256 {sha256}, and {whose} {expected}; it is now {}", aside.display());
        let hint = match &source.sha256 {
            Some(_) => "download it again; if the file was changed on purpose, change sha256 in the manifest".into(),
            None => format!("if the file was changed on purpose, delete its row in {}", kept.display()),
        };
        return Err(Error::new("fetch", what).at(path.display().to_string()).hint(hint));
    }
    Ok(Row { url: source.url.clone(), bytes, sha256, verified: source.sha256.is_some() })
}

/// Hash and length of a file.
fn sha256(path: &Path) -> Result<(String, u64)> {
    let mut file = File::open(path).map_err(|e| failed(path, &e))?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    let mut bytes = 0;
    loop {
        match file.read(&mut buffer).map_err(|e| failed(path, &e))? {
            0 => break,
            n => {
                hasher.update(&buffer[..n]);
                bytes += n as u64;
            }
        }
    }
    Ok((hasher.finalize().iter().map(|b| format!("{b:02x}")).collect(), bytes))
}

/// One line: what went wrong, and which files can be put where instead.
fn told(trouble: Trouble, name: &str, manifest: &Manifest, place: &Place) -> Error {
    match trouble {
        Trouble::Here(e) => e,
        Trouble::There(what) => Error::new("fetch", what).at(name.to_string()).hint(by_hand(manifest, place)),
    }
}

/// How to do without a download.
pub fn by_hand(manifest: &Manifest, place: &Place) -> String {
    let missing: Vec<&str> =
        manifest.sources.keys().map(String::as_str).filter(|n| !place.folder.join(n).is_file()).collect();
    format!("put {} into {}, or give onnx=FOLDER with these files", missing.join(", "), place.folder.display())
}

fn failed(path: &Path, e: &std::io::Error) -> Error {
    Error::new("fetch", e.to_string()).at(path.display().to_string())
}

#[cfg(test)]
mod tests;
