//! Files in memory. In: a path. Out: its bytes, mapped. Promise: only regular, non-empty files; the one unsafe module of the compiler.
#![allow(unsafe_code)]

use crate::error::{Error, Result};
use bytes::Bytes;
use std::fs::File;
use std::path::Path;

/// Maps a regular file read-only. Slices of the result share the mapping.
pub fn map(path: &Path) -> Result<Bytes> {
    let fail = |what: String| Error::new("import", what).at(path.display().to_string());
    let meta = std::fs::metadata(path).map_err(|e| fail(format!("cannot read the file: {e}")))?;
    if !meta.is_file() {
        return Err(fail("this is not a regular file".into()));
    }
    if meta.len() == 0 {
        return Err(fail("the file is empty (0 bytes)".into()));
    }
    let file = File::open(path).map_err(|e| fail(format!("cannot open the file: {e}")))?;
    // SAFETY: the mapping is private and read-only, and is only read through `&[u8]`. A model file that another process
    // rewrites while we compile would change under us; that is outside of what a compiler can defend against, as with any mapped input.
    let map = unsafe { memmap2::MmapOptions::new().map(&file) };
    Ok(Bytes::from_owner(map.map_err(|e| fail(format!("cannot map the file: {e}")))?))
}
