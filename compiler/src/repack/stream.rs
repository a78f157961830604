//! Bytes on their way. In: ranges of files. Out: files that hold them, aligned. Promise: two buffers of a mebibyte are all the memory
//! that is taken, whatever the size; zeros are not written but left out, so that a sparse file stays one.

use super::{ALIGNMENT, Progress, failed};
use crate::error::{Error, Result};
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

const BUFFER: usize = 1 << 20;

/// A file that is read, with its name for errors.
pub struct Source {
    file: File,
    path: PathBuf,
}

/// Opens a file to be read.
pub fn open(path: &Path) -> Result<Source> {
    Ok(Source { file: File::open(path).map_err(|e| failed(path, e))?, path: path.to_path_buf() })
}

impl Source {
    fn seek(&mut self, to: u64) -> Result<()> {
        self.file.seek(SeekFrom::Start(to)).map(|_| ()).map_err(|e| failed(&self.path, e))
    }

    fn fill(&mut self, buffer: &mut [u8]) -> Result<()> {
        self.file.read_exact(buffer).map_err(|e| failed(&self.path, e))
    }
}

/// A data file under construction.
pub struct Blob {
    /// Relative to the package.
    pub name: PathBuf,
    file: File,
    end: u64,
    /// Its end before the last range.
    before: u64,
}

impl Blob {
    /// An empty one below `root`.
    pub fn create(root: &Path, name: PathBuf) -> Result<Blob> {
        let path = root.join(&name);
        let file = File::create_new(&path).map_err(|e| failed(&path, e))?;
        Ok(Blob { name, file, end: 0, before: 0 })
    }

    /// Takes back what was appended last.
    pub fn forget(&mut self) -> Result<()> {
        self.end = self.before;
        // Cut off, so that zeros which are left out later are zeros.
        self.file.set_len(self.end).map_err(|e| failed(&self.name, e))
    }

    /// Name and size; None for one that nothing refers to, which goes.
    pub fn finish(self, root: &Path, needed: bool) -> Result<Option<(PathBuf, u64)>> {
        if !needed {
            fs::remove_file(root.join(&self.name)).map_err(|e| failed(&self.name, e))?;
            return Ok(None);
        }
        self.file.set_len(self.end).map_err(|e| failed(&self.name, e))?;
        Ok(Some((self.name, self.end)))
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let step = match bytes.iter().all(|b| *b == 0) {
            true => self.file.seek(SeekFrom::Current(bytes.len() as i64)).map(|_| ()),
            false => self.file.write_all(bytes),
        };
        step.map_err(|e| failed(&self.name, e))?;
        self.end += bytes.len() as u64;
        Ok(())
    }
}

/// Copies and compares, and tells how far it is.
pub struct Copier<'a> {
    a: Vec<u8>,
    b: Vec<u8>,
    done: u64,
    total: u64,
    progress: Progress<'a>,
}

impl Copier<'_> {
    /// One that will move `total` bytes.
    pub fn new(total: u64, progress: Progress<'_>) -> Copier<'_> {
        Copier { a: vec![0; BUFFER], b: vec![0; BUFFER], done: 0, total, progress }
    }

    fn step(&mut self, bytes: usize) {
        self.done += bytes as u64;
        (self.progress)(self.done.min(self.total), self.total);
    }

    /// Appends a range to a data file. Returns where it begins there, and its hash.
    pub fn append(&mut self, from: &mut Source, range: &Range<u64>, to: &mut Blob) -> Result<(u64, blake3::Hash)> {
        let offset = to.end.next_multiple_of(ALIGNMENT);
        to.file.seek(SeekFrom::Start(offset)).map_err(|e| failed(&to.name, e))?;
        (to.before, to.end) = (to.end, offset);
        from.seek(range.start)?;
        let mut hash = blake3::Hasher::new();
        let mut left = range.end - range.start;
        while left > 0 {
            let bytes = left.min(BUFFER as u64) as usize;
            from.fill(&mut self.a[..bytes])?;
            hash.update(&self.a[..bytes]);
            to.write(&self.a[..bytes])?;
            left -= bytes as u64;
            self.step(bytes);
        }
        Ok((offset, hash.finalize()))
    }

    /// Whether a range of one file is what stands at an offset of another.
    pub fn same(&mut self, from: &Path, range: Range<u64>, to: &Path, offset: u64) -> Result<bool> {
        let (mut from, mut to) = (open(from)?, open(to)?);
        from.seek(range.start)?;
        to.seek(offset)?;
        let mut left = range.end - range.start;
        while left > 0 {
            let bytes = left.min(BUFFER as u64) as usize;
            from.fill(&mut self.a[..bytes])?;
            to.fill(&mut self.b[..bytes])?;
            if self.a[..bytes] != self.b[..bytes] {
                return Ok(false);
            }
            left -= bytes as u64;
            self.step(bytes);
        }
        Ok(true)
    }

    /// Copies a file and compares the two.
    pub fn keep(&mut self, from: &Path, to: &Path) -> Result<()> {
        let bytes = fs::copy(from, to).map_err(|e| failed(from, e))?;
        let size = fs::metadata(from).map_err(|e| failed(from, e))?.len();
        if size == bytes && self.same(from, 0..bytes, to, 0)? {
            return Ok(());
        }
        Err(Error::new("repack", "the copy of this file is not equal to it").at(from.display().to_string()))
    }
}
