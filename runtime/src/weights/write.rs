//! Writing a pool. In: a program, the graph's text, each tensor's bytes in order. Out: a pool file. Promise: the file appears whole or
//! not at all; the same input gives the same bytes.

use super::hash::Hash64;
use super::pool::{DATA_ALIGN, Entry, Index, PROLOGUE, TENSOR_ALIGN, prologue, refuse};
use crate::error::{Error, Kind, Result};
use crate::program::Program;
use std::fs::{self, File};
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Writes tensors one after another; see [`PoolWriter::write`].
pub struct PoolWriter {
    file: BufWriter<File>,
    path: PathBuf,
    part: PathBuf,
    index: Index,
    graph: String,
    data: u64,
    /// The tensor being written and how much of it there is.
    current: usize,
    filled: u64,
    blake3: blake3::Hasher,
    hash64: Hash64,
    finished: bool,
}

impl PoolWriter {
    /// Starts a pool for `program` next to `path`; `finish` moves it there.
    pub fn create(path: &Path, program: &Program, graph: &str) -> Result<PoolWriter> {
        let mut offset = 0u64;
        let mut tensors = Vec::with_capacity(program.tensors.len());
        for t in program.tensors.iter() {
            let end = offset.checked_add(t.bytes).and_then(|e| e.checked_next_multiple_of(TENSOR_ALIGN));
            tensors.push(Entry {
                name: t.name.to_string(),
                layout: t.layout.to_string(),
                shape: t.shape.to_vec(),
                offset,
                bytes: t.bytes,
                blake3: "0".repeat(64),
                hash64: "0".repeat(16),
            });
            offset = end.ok_or_else(|| Error::new(Kind::Program, format!("tensor '{}' is too large", t.name)))?;
        }
        let index = Index { program: program.name.to_string(), plan_hash: program.plan_hash.to_string(), tensors };
        // Hashes have a fixed width, so the index keeps its length when they are filled in.
        let head = PROLOGUE as u64 + text(&index)?.len() as u64 + graph.len() as u64;
        let data = head.next_multiple_of(DATA_ALIGN);
        let mut part = path.as_os_str().to_owned();
        part.push(".part");
        let part = PathBuf::from(part);
        let failed = |e| refuse(&part.display().to_string(), e);
        let file = File::create(&part).map_err(failed)?;
        let mut writer = PoolWriter {
            file: BufWriter::with_capacity(1 << 20, file),
            path: path.to_path_buf(),
            part: part.clone(),
            index,
            graph: graph.to_string(),
            data,
            current: 0,
            filled: 0,
            blake3: blake3::Hasher::new(),
            hash64: Hash64::default(),
            finished: false,
        };
        writer.file.seek(SeekFrom::Start(data)).map_err(failed)?;
        writer.close_full()?;
        Ok(writer)
    }

    /// The tensor that the next bytes belong to; none when all are there.
    pub fn next(&self) -> Option<usize> {
        (self.current < self.index.tensors.len()).then_some(self.current)
    }

    /// Appends bytes to the current tensor, in pieces of any size; a full tensor makes the next one current.
    pub fn write(&mut self, piece: &[u8]) -> Result<()> {
        // Codes come section by section, and the last section of the last tensor may be empty.
        if piece.is_empty() {
            return Ok(());
        }
        let Some(entry) = self.index.tensors.get(self.current) else {
            let what = format!("{} bytes after the last tensor", piece.len());
            return Err(Error::new(Kind::Program, what).at(self.path.display()));
        };
        let room = entry.bytes - self.filled;
        if piece.len() as u64 > room {
            let what = format!(
                "tensor '{}' takes {} bytes, {} given",
                entry.name,
                entry.bytes,
                self.filled + piece.len() as u64
            );
            return Err(Error::new(Kind::Program, what).at(self.path.display()));
        }
        self.file.write_all(piece).map_err(|e| refuse(&self.part.display().to_string(), e))?;
        self.blake3.update(piece);
        self.hash64.update(piece);
        self.filled += piece.len() as u64;
        self.close_full()
    }

    /// Closes the current tensor and empty ones after it.
    fn close_full(&mut self) -> Result<()> {
        while let Some(entry) = self.index.tensors.get_mut(self.current) {
            if self.filled < entry.bytes {
                break;
            }
            entry.blake3 = self.blake3.finalize().to_hex().to_string();
            entry.hash64 = format!("{:016x}", std::mem::take(&mut self.hash64).finish());
            self.blake3.reset();
            let end = entry.offset + entry.bytes;
            let gap = (end.next_multiple_of(TENSOR_ALIGN) - end) as usize;
            let zeros = [0u8; TENSOR_ALIGN as usize];
            self.file.write_all(&zeros[..gap]).map_err(|e| refuse(&self.part.display().to_string(), e))?;
            (self.filled, self.current) = (0, self.current + 1);
        }
        Ok(())
    }

    /// Writes the head and moves the file to its place. Returns its size.
    pub fn finish(mut self) -> Result<u64> {
        if let Some(entry) = self.index.tensors.get(self.current) {
            let what = format!("tensor '{}' has {} of its {} bytes", entry.name, self.filled, entry.bytes);
            return Err(Error::new(Kind::Program, what).at(self.path.display()));
        }
        let failed = |e: std::io::Error| refuse(&self.part.display().to_string(), e);
        let end = self.index.tensors.last().map_or(0, |t| (t.offset + t.bytes).next_multiple_of(TENSOR_ALIGN));
        let size = self.data + end;
        let index = text(&self.index)?;
        let head = prologue(&index, self.graph.as_bytes(), self.data, size);
        self.file.seek(SeekFrom::Start(0)).map_err(failed)?;
        for piece in [&head[..], &index, self.graph.as_bytes()] {
            self.file.write_all(piece).map_err(failed)?;
        }
        self.file.flush().map_err(failed)?;
        self.file.get_ref().set_len(size).map_err(failed)?;
        fs::rename(&self.part, &self.path).map_err(failed)?;
        self.finished = true;
        Ok(size)
    }
}

impl Drop for PoolWriter {
    fn drop(&mut self) {
        if !self.finished {
            // Best effort: the error that stopped the writer is the one to tell.
            let _ = fs::remove_file(&self.part);
        }
    }
}

fn text(index: &Index) -> Result<Vec<u8>> {
    let mut out = serde_json::to_vec_pretty(index).map_err(|e| Error::new(Kind::Other, e.to_string()))?;
    out.push(b'\n');
    Ok(out)
}
