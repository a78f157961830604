//! A file under download. In: bytes as they come. Out: FILE.part, and beside it what a later run must know to go on. Promise: FILE
//! appears whole or not at all, and two runs never write to one part.

use super::failed;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

pub struct Part {
    file: File,
    path: PathBuf,
    state: State,
    len: u64,
}

/// What the server said of the file when the part was begun.
#[derive(Clone, Default, PartialEq, Debug, Serialize, Deserialize)]
pub struct State {
    pub url: String,
    /// Strong ETag or date: tells the server which version the part is of.
    pub validator: Option<String>,
    pub total: Option<u64>,
}

/// `path` with something after its name.
pub fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name: OsString = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

impl Part {
    /// Opens or creates the part of `target` and takes it for this process.
    pub fn open(target: &Path) -> Result<Part> {
        let path = beside(target, ".part");
        let fail = |e: std::io::Error| failed(&path, &e);
        if let Some(folder) = target.parent() {
            fs::create_dir_all(folder).map_err(|e| failed(folder, &e))?;
        }
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).map_err(fail)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Error::new("fetch", "another download of it is under way").at(path.display().to_string()));
            }
            Err(TryLockError::Error(e)) => return Err(fail(e)),
        }
        let len = file.seek(SeekFrom::End(0)).map_err(fail)?;
        let state = fs::read(state_path(target)).ok().and_then(|b| serde_json::from_slice(&b).ok()).unwrap_or_default();
        Ok(Part { file, path: target.to_path_buf(), state, len })
    }

    pub fn len(&self) -> u64 {
        self.len
    }

    pub fn state(&self) -> &State {
        &self.state
    }

    /// Drops what is here; the bytes that follow are the file's first.
    pub fn restart(&mut self, state: State) -> Result<()> {
        let fail = |e: std::io::Error| failed(&beside(&self.path, ".part"), &e);
        self.file.set_len(0).and_then(|()| self.file.seek(SeekFrom::Start(0))).map_err(fail)?;
        self.len = 0;
        let text = serde_json::to_vec(&state).map_err(|e| Error::new("fetch", e.to_string()))?;
        let place = state_path(&self.path);
        fs::write(&place, text).map_err(|e| failed(&place, &e))?;
        self.state = state;
        Ok(())
    }

    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(|e| failed(&beside(&self.path, ".part"), &e))?;
        self.len += bytes.len() as u64;
        Ok(())
    }

    /// Moves the file to its place.
    pub fn finish(self) -> Result<()> {
        let part = beside(&self.path, ".part");
        self.file.sync_all().and_then(|()| fs::rename(&part, &self.path)).map_err(|e| failed(&part, &e))?;
        let _ = fs::remove_file(state_path(&self.path)); // without its part it says nothing to anybody
        Ok(())
    }
}

fn state_path(target: &Path) -> PathBuf {
    beside(target, ".part.json")
}
