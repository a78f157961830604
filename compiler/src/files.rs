//! Files and folders that appear whole or not at all. In: a path and what is to be there. Out: the file or folder. Promise: written or
//! copied beside its place and moved, so that nobody meets half of it.

use crate::error::{Error, Result};
use std::fs;
use std::path::{Component, Path, PathBuf};

/// The folder of a model's generated files.
pub fn folder(project: &Path, name: &str) -> PathBuf {
    project.join("generated").join(name)
}

/// A file's name as a path without any step upwards, and without steps on the spot; none where it is no plain relative path.
pub fn inside(name: &str) -> Option<PathBuf> {
    let path = Path::new(name);
    let plain = path.components().all(|c| matches!(c, Component::Normal(_) | Component::CurDir));
    // A backslash or a drive letter would be absolute or a step upwards on another system.
    let plain = plain && !name.contains(['\\', '\0', ':']);
    plain.then(|| path.components().filter(|c| matches!(c, Component::Normal(_))).collect())
}

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
        failed(path, e)
    })
}

/// A folder under construction beside its target; removed unless it is moved into place.
pub struct Part(pub PathBuf, Option<fs::File>);

impl Part {
    /// An empty folder; those above it are made.
    pub fn new(target: &Path) -> Result<Part> {
        let parent = target.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        remove_abandoned(parent, &name);
        let part = parent.join(format!(".{name}.{}.part", std::process::id()));
        fs::create_dir_all(&part).map_err(|e| failed(&part, e))?;
        // Held as long as it is written: on a file system of several machines the number alone says little.
        let held = fs::File::open(&part).ok().filter(|folder| folder.try_lock().is_ok());
        Ok(Part(part, held))
    }

    /// Moves it to where the target is, which goes.
    pub fn into_place(self, target: &Path) -> Result<()> {
        let old = self.0.with_extension("old");
        let had = target.exists();
        if had {
            fs::rename(target, &old).map_err(|e| failed(target, e))?;
        }
        if let Err(e) = fs::rename(&self.0, target) {
            if had {
                let _ = fs::rename(&old, target); // back to what was there; the error below tells why
            }
            return Err(failed(target, e));
        }
        if had {
            fs::remove_dir_all(&old).map_err(|e| failed(&old, e))?;
        }
        Ok(())
    }
}

/// Removes what a process left of this target that was stopped while it wrote.
fn remove_abandoned(parent: &Path, name: &str) {
    let alive = |id: u32| id == std::process::id() || Path::new(&format!("/proc/{id}")).exists();
    let numbered = |file: &str| {
        let id = file.strip_prefix('.')?.strip_prefix(name)?.strip_prefix('.')?.strip_suffix(".part")?;
        id.parse::<u32>().ok()
    };
    // Without /proc nobody can tell.
    if !Path::new("/proc/self").exists() {
        return;
    }
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let Some(id) = numbered(&entry.file_name().to_string_lossy()) else { continue };
        let free = || fs::File::open(entry.path()).is_ok_and(|folder| folder.try_lock().is_ok());
        if !alive(id) && entry.path().is_dir() && free() {
            let _ = fs::remove_dir_all(entry.path()); // what cannot go stays, and is in nobody's way
        }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.1 = None;
        let _ = fs::remove_dir_all(&self.0); // gone already when it was moved into place
    }
}

fn failed(path: &Path, e: std::io::Error) -> Error {
    Error::new("output", e.to_string()).at(path.display().to_string())
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
