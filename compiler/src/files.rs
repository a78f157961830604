//! Files that appear whole or not at all. In: a path and what is to be there. Out: the file. Promise: written or copied beside its
//! place and moved, so that nobody meets half of it.

use crate::error::{Error, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// Puts a file with these bytes there.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    put(path, |part| fs::write(part, bytes))
}

/// Puts a copy of `from` there.
pub fn copy(from: &Path, path: &Path) -> Result<()> {
    put(path, |part| fs::copy(from, part).map(|_| ()))
}

fn put(path: &Path, make: impl FnOnce(&Path) -> std::io::Result<()>) -> Result<()> {
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    let done = make(&part).and_then(|()| fs::rename(&part, path));
    done.map_err(|e| {
        let _ = fs::remove_file(&part); // the first error is the one to tell
        Error::new("output", e.to_string()).at(path.display().to_string())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_written_leaves_the_old_file_and_no_other() {
        let folder = std::env::temp_dir().join(format!("onnxcast-files-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("a");
        replace(&path, b"old").unwrap();
        assert!(copy(&folder.join("missing"), &path).is_err());
        assert_eq!(fs::read(&path).unwrap(), b"old");
        copy(&path, &folder.join("b")).unwrap();
        assert_eq!(fs::read(folder.join("b")).unwrap(), b"old");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
        fs::remove_dir_all(&folder).unwrap();
    }
}
