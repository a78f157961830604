//! External data. In: the location entries of a tensor. Out: its extent of a mapped file. Promise: only files in the model's own
//! folder, only whole extents that lie inside the file and have exactly the tensor's size.

use super::mmap;
use crate::error::{Error, Result};
use crate::files::inside;
use bytes::Bytes;
use onnx_ir::TensorProto;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Where an external tensor says its bytes are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    pub location: String,
    pub offset: u64,
    pub length: Option<u64>,
}

/// Whether the tensor's data is in another file.
pub fn is_external(proto: &TensorProto) -> bool {
    proto.data_location.value() == 1
}

/// Reads the entries of an external tensor.
pub fn place(proto: &TensorProto) -> Result<Place> {
    let mut place = Place { location: String::new(), offset: 0, length: None };
    let number = |key: &str, value: &str| {
        value
            .parse::<u64>()
            .map_err(|_| Error::new("import", format!("external data: {key} '{value}' is not a number")))
    };
    for entry in &proto.external_data {
        match entry.key.as_str() {
            "location" => place.location = entry.value.clone(),
            "offset" => place.offset = number("offset", &entry.value)?,
            "length" => place.length = Some(number("length", &entry.value)?),
            // `checksum` and `basepath` say nothing about where the bytes are.
            _ => {}
        }
    }
    if place.location.is_empty() {
        return Err(Error::new("import", "external data without a location"));
    }
    Ok(place)
}

/// The files beside a model, each mapped once.
pub struct Files {
    folder: PathBuf,
    without: bool,
    open: RefCell<BTreeMap<String, Result<Option<Bytes>>>>,
}

impl Files {
    /// Files in `folder`. With `without`, a missing file is no error.
    pub fn new(folder: &Path, without: bool) -> Files {
        Files { folder: folder.to_path_buf(), without, open: RefCell::default() }
    }

    /// The bytes of an external tensor that takes `wanted` bytes; None where its file is missing and may be.
    pub fn extent(&self, proto: &TensorProto, wanted: usize) -> Result<Option<Bytes>> {
        let place = place(proto)?;
        if let Some(length) = place.length
            && length != wanted as u64
        {
            return Err(Error::new(
                "import",
                format!("external data: length {length} given, the shape takes {wanted} bytes"),
            ));
        }
        if wanted == 0 {
            return Ok(Some(Bytes::new())); // wherever that is
        }
        let Some(file) = self.file(&place.location)? else { return Ok(None) };
        let end = place.offset.checked_add(wanted as u64).filter(|end| *end <= file.len() as u64);
        match end {
            Some(end) => Ok(Some(file.slice(place.offset as usize..end as usize))),
            None => Err(Error::new(
                "import",
                format!(
                    "external data: {wanted} bytes at {} run past the end of '{}' ({} bytes)",
                    place.offset,
                    place.location,
                    file.len()
                ),
            )
            .hint("the data file may be truncated")),
        }
    }

    /// A data file by its location; None where it is missing and may be.
    pub fn file(&self, location: &str) -> Result<Option<Bytes>> {
        let mut open = self.open.borrow_mut();
        open.entry(location.to_string()).or_insert_with(|| self.open_file(location)).clone()
    }

    fn open_file(&self, location: &str) -> Result<Option<Bytes>> {
        let Some(path) = self.path(location)? else { return Ok(None) };
        if std::fs::metadata(&path).is_ok_and(|m| m.is_file() && m.len() == 0) {
            return Ok(Some(Bytes::new()));
        }
        let file = mmap::map(&path);
        file.map(Some).map_err(|e| Error::new("import", format!("external data: '{location}': {}", e.what)))
    }

    /// Where a data file is; None where it is missing and may be.
    pub fn path(&self, location: &str) -> Result<Option<PathBuf>> {
        let path = self.folder.join(relative(location)?);
        if std::fs::symlink_metadata(&path).is_err() {
            if self.without {
                return Ok(None);
            }
            return Err(Error::new("import", format!("external data: there is no file '{}'", path.display()))
                .hint("put the data file beside the model"));
        }
        self.stays_inside(&path, location)?;
        Ok(Some(path))
    }

    /// A symbolic link must not lead out of the model's folder.
    fn stays_inside(&self, path: &Path, location: &str) -> Result<()> {
        let real = |p: &Path| {
            p.canonicalize()
                .map_err(|e| Error::new("import", format!("external data: cannot resolve '{}': {e}", p.display())))
        };
        if real(path)?.starts_with(real(&self.folder)?) {
            return Ok(());
        }
        Err(Error::new("import", format!("external data: '{location}' leads out of the model's folder"))
            .hint("copy the data file beside the model instead of linking to it"))
    }
}

/// A location as a relative path without any step upwards, and without steps on the spot.
pub fn relative(location: &str) -> Result<PathBuf> {
    inside(location).ok_or_else(|| {
        Error::new("import", format!("external data: location '{location}' is not a plain relative path"))
            .hint("data files must lie in the model's folder")
    })
}

#[cfg(test)]
mod tests {
    use super::super::weights::tensor;
    use super::*;
    use onnx_ir::{Message, ModelProto};

    /// A tensor of `floats` f32 whose data is at the given place.
    fn proto(location: &str, offset: &str, length: Option<&str>, floats: i64) -> TensorProto {
        let mut bytes = vec![];
        let mut entry = |key: &str, value: &str| {
            // StringStringEntryProto { key = 1, value = 2 } inside TensorProto.external_data = 13.
            let mut e = vec![0x0a, key.len() as u8];
            e.extend(key.as_bytes());
            e.extend([0x12, value.len() as u8]);
            e.extend(value.as_bytes());
            bytes.extend([0x6a, e.len() as u8]);
            bytes.extend(e);
        };
        entry("location", location);
        entry("offset", offset);
        if let Some(length) = length {
            entry("length", length);
        }
        bytes.extend([0x70, 1]); // data_location = EXTERNAL
        let mut t = TensorProto::parse_from_bytes(&bytes).unwrap();
        t.name = "w".into();
        t.data_type = 1;
        t.dims = vec![floats];
        t
    }

    fn folder() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let bytes: Vec<u8> = (0..8u32).flat_map(|i| (i as f32).to_le_bytes()).collect();
        std::fs::write(dir.path().join("w.bin"), bytes).unwrap();
        dir
    }

    fn refused(dir: &Path, t: &TensorProto, why: &str) {
        let e = tensor(t, &Files::new(dir, false)).unwrap_err().to_string();
        assert!(e.contains("tensor 'w'") && e.contains(why), "{e}");
    }

    #[test]
    fn an_extent_in_the_middle_is_read_without_its_neighbours() {
        let dir = folder();
        let t = tensor(&proto("w.bin", "8", Some("12"), 3), &Files::new(dir.path(), false)).unwrap();
        assert_eq!(super::super::read::floats(&t).unwrap(), [2.0, 3.0, 4.0]);
    }

    #[test]
    fn unsafe_locations_are_refused() {
        let dir = folder();
        let outside = dir.path().join("w.bin").display().to_string();
        for location in ["../w.bin", "a/../../w.bin", &outside, "..", "a\\..\\w.bin", "C:w.bin"] {
            refused(dir.path(), &proto(location, "0", None, 8), "not a plain relative path");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_out_of_the_folder_is_refused_and_one_inside_is_not() {
        let (dir, other) = (folder(), folder());
        std::os::unix::fs::symlink(other.path().join("w.bin"), dir.path().join("out.bin")).unwrap();
        refused(dir.path(), &proto("out.bin", "0", None, 8), "out of the model's folder");
        std::os::unix::fs::symlink("w.bin", dir.path().join("in.bin")).unwrap();
        assert!(tensor(&proto("in.bin", "0", None, 8), &Files::new(dir.path(), false)).is_ok());
    }

    #[test]
    fn ranges_that_do_not_fit_are_refused() {
        let dir = folder();
        refused(dir.path(), &proto("w.bin", "0", Some("8"), 3), "length 8 given");
        refused(dir.path(), &proto("w.bin", "0", Some("16"), 3), "length 16 given");
        refused(dir.path(), &proto("w.bin", "28", Some("8"), 2), "run past the end");
        refused(dir.path(), &proto("w.bin", "18446744073709551615", None, 2), "run past the end");
        refused(dir.path(), &proto("w.bin", "-4", None, 2), "not a number");
        refused(dir.path(), &proto("", "0", None, 2), "without a location");
    }

    #[test]
    fn a_tensor_without_elements_needs_no_bytes_wherever_it_says_they_are() {
        let dir = folder();
        let t = tensor(&proto("w.bin", "4096", Some("0"), 0), &Files::new(dir.path(), false)).unwrap();
        assert_eq!(t.bytes().unwrap().len(), 0);
    }

    #[test]
    fn folders_and_empty_files_are_no_data() {
        let dir = folder();
        std::fs::create_dir(dir.path().join("sub")).unwrap();
        refused(dir.path(), &proto("sub", "0", None, 1), "not a regular file");
        std::fs::write(dir.path().join("empty.bin"), []).unwrap();
        refused(dir.path(), &proto("empty.bin", "0", None, 1), "run past the end");
    }

    #[test]
    fn a_missing_file_is_an_error_unless_weights_are_not_wanted() {
        let dir = folder();
        let t = proto("gone.bin", "0", None, 8);
        refused(dir.path(), &t, "there is no file");
        assert!(tensor(&t, &Files::new(dir.path(), true)).unwrap().is_absent());
        // What can be checked is checked all the same.
        assert!(tensor(&proto("../gone.bin", "0", None, 8), &Files::new(dir.path(), true)).is_err());
        assert!(ModelProto::new().graph.is_none());
    }
}
