//! Where a repacked model goes. In: both paths. Out: a place to write to, and the names there. Promise: no file of the input is at the
//! place or goes with what was there; what is there stays unless it is a model and the user insists.

use super::failed;
use crate::error::{Error, Result};
use crate::files::Part;
use crate::import::Package;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// A file with its data file beside it, or a folder.
pub enum Destination {
    File { model: PathBuf, data: PathBuf },
    Folder(PathBuf),
}

impl Destination {
    /// Checks that `output` may be written.
    pub fn of<'a>(
        input: &Path,
        output: &Path,
        package: &'a Package,
        blobs: impl Iterator<Item = &'a PathBuf>,
        force: bool,
    ) -> Result<Destination> {
        let Some(name) = output.file_name() else {
            return Err(refused(output, "is no name of a file or folder"));
        };
        if !input.is_dir() {
            let name = name.to_str().filter(|name| !name.contains([':', '\\']));
            let Some(name) = name else {
                return Err(refused(output, "has a name that a model cannot refer to a data file by")
                    .hint("name it without ':' and '\\', in UTF-8"));
            };
            let data = format!("{name}.data");
            let made = Destination::File { model: output.to_path_buf(), data: output.with_file_name(data) };
            let own: Vec<PathBuf> = package.models.iter().chain(blobs).map(|f| package.root.join(f)).collect();
            return made.file_is_free(&own, force).map(|()| made);
        }
        let (from, to) = (real(input)?, real(output)?);
        if to.starts_with(&from) || from.starts_with(&to) {
            let what = match (to == from, to.starts_with(&from)) {
                (true, _) => "is the input itself".to_string(),
                (_, true) => format!("lies in {}, which is to stay as it is", input.display()),
                _ => format!("holds {}, which is to stay as it is", input.display()),
            };
            return Err(refused(output, what).hint("name a folder beside it"));
        }
        folder_is_free(output, force).map(|()| Destination::Folder(output.to_path_buf()))
    }

    fn file_is_free(&self, own: &[PathBuf], force: bool) -> Result<()> {
        let Destination::File { model, data } = self else { return Ok(()) };
        for path in [model, data] {
            if path.is_dir() {
                return Err(refused(path, "is a folder").hint("the input is a file: name the new file"));
            }
            let there = real(path)?;
            for file in own {
                if real(file)? == there {
                    return Err(
                        refused(path, "belongs to the input, which is to stay as it is").hint("name another file")
                    );
                }
            }
            if fs::symlink_metadata(path).is_ok() && !force {
                return Err(refused(path, "is there already").hint("remove it, or give --force"));
            }
        }
        replaceable(model, data)
    }

    /// A folder to write to.
    pub fn part(&self) -> Result<Part> {
        let (Destination::File { model: path, .. } | Destination::Folder(path)) = self;
        Part::new(path)
    }

    /// The new name of each model, relative to the part.
    pub fn models(&self, package: &Package) -> Vec<PathBuf> {
        match self {
            Destination::Folder(_) => package.models.clone(),
            Destination::File { model, .. } => model.file_name().map(PathBuf::from).into_iter().collect(),
        }
    }

    /// The new data file of an old one, relative to the part.
    pub fn target(&self, blob: &Path) -> PathBuf {
        match self {
            Destination::Folder(_) => blob.to_path_buf(),
            Destination::File { data, .. } => data.file_name().map(PathBuf::from).unwrap_or_default(),
        }
    }

    /// What was written, to be read again.
    pub fn written(&self, part: &Path) -> PathBuf {
        match self {
            Destination::Folder(_) => part.to_path_buf(),
            Destination::File { model, .. } => part.join(model.file_name().unwrap_or_default()),
        }
    }

    /// Moves everything into place.
    pub fn appear(&self, part: Part) -> Result<()> {
        let Destination::File { model, data } = self else {
            let Destination::Folder(path) = self else { return Ok(()) };
            return part.into_place(path);
        };
        let new = |path: &Path| part.0.join(path.file_name().unwrap_or_default());
        // The model goes first and comes last, so that it never stands beside data that is not its own.
        if fs::symlink_metadata(model).is_ok() {
            fs::remove_file(model).map_err(|e| failed(model, e))?;
        }
        if new(data).is_file() {
            fs::rename(new(data), data).map_err(|e| failed(data, e))?;
        }
        fs::rename(new(model), model).map_err(|e| {
            let _ = fs::remove_file(data); // nothing refers to it; the error tells why
            failed(model, e)
        })
    }
}

fn refused(path: &Path, what: impl Into<String>) -> Error {
    Error::new("repack", what).at(path.display().to_string())
}

/// Whether what is there is a model, and the data file beside it one that it refers to.
fn replaceable(model: &Path, data: &Path) -> Result<()> {
    let there = |path: &Path| fs::symlink_metadata(path).ok();
    let mut referred = false;
    if let Some(meta) = there(model) {
        let old = Some(()).filter(|()| meta.is_file()).and_then(|()| Package::open(model).ok());
        let Some(mut old) = old else {
            return Err(refused(model, "is no ONNX model: it is not replaced").hint("name another file"));
        };
        old.scan(&mut |r| {
            referred |= r.is_ok_and(|r| data.file_name() == Some(r.blob.as_os_str()));
            Ok(())
        })?;
    }
    match there(data) {
        Some(meta) if !(referred && meta.is_file()) => {
            let what = "is no data file of the model that is to be replaced, and stays";
            Err(refused(data, what).hint("name another file"))
        }
        _ => Ok(()),
    }
}

/// A folder may go where it is empty or a package, and the user insists.
fn folder_is_free(path: &Path, force: bool) -> Result<()> {
    if fs::symlink_metadata(path).is_err() {
        return Ok(());
    }
    if !force {
        return Err(refused(path, "is there already").hint("remove it, or give --force"));
    }
    let replaceable = || -> std::io::Result<bool> {
        let entries = fs::read_dir(path)?.collect::<std::io::Result<Vec<_>>>()?;
        Ok(entries.is_empty() || entries.iter().any(|e| e.path().extension().is_some_and(|e| e == "onnx")))
    };
    match replaceable() {
        Ok(true) => Ok(()),
        Ok(false) => Err(refused(path, "is no folder of a model: it is not removed").hint("name another folder")),
        Err(e) => Err(failed(path, e)),
    }
}

/// A path without links and steps upwards, of which the end need not exist.
fn real(path: &Path) -> Result<PathBuf> {
    let mut rest: Vec<OsString> = vec![];
    let whole = std::path::absolute(path).map_err(|e| failed(path, e))?;
    let mut above = whole.as_path();
    loop {
        if let Ok(found) = above.canonicalize() {
            return Ok(rest.iter().rev().fold(found, |p, part| p.join(part)));
        }
        let (Some(parent), Some(name)) = (above.parent(), above.file_name()) else {
            return Err(refused(path, "is no path to write to"));
        };
        rest.push(name.to_os_string());
        above = parent;
    }
}
