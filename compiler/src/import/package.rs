//! A model with its companions. In: an ONNX file, or a folder. Out: its models, what of which data file each of their tensors is, and
//! all other files. Promise: a range lies inside its file and has exactly its tensor's size, or there is one error that names the tensor.

use super::external::{self, Files, is_external, relative};
use super::weights::{shape, storage, type_name};
use super::{mmap, proto, tensors};
use crate::error::{Error, Result};
use onnx_ir::{Message, ModelProto, TensorProto};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Models and files, by paths relative to `root`.
pub struct Package {
    pub root: PathBuf,
    pub models: Vec<PathBuf>,
    /// All files of the folder that are no models, data files among them; none where the package is one file.
    pub files: Vec<PathBuf>,
    protos: Vec<ModelProto>,
}

/// The bytes of one tensor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reference {
    /// Which of the package's models.
    pub model: usize,
    pub tensor: String,
    /// The data file, relative to the root.
    pub blob: PathBuf,
    pub range: Range<u64>,
}

/// Where a tensor's bytes are put.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Placed {
    /// Relative to the folder of the model, parts joined by `/`.
    pub location: String,
    pub offset: u64,
}

impl Package {
    /// Reads the models; data files are not opened.
    pub fn open(path: &Path) -> Result<Package> {
        let (root, models, files) = if path.is_dir() {
            let (models, files) = walk(path)?;
            (path.to_path_buf(), models, files)
        } else {
            let root = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
            (root.to_path_buf(), path.file_name().map(PathBuf::from).into_iter().collect(), vec![])
        };
        if models.is_empty() {
            return Err(Error::new("import", "there is no .onnx file").at(path.display().to_string()));
        }
        let read = |name: &PathBuf| {
            let path = root.join(name);
            mmap::map(&path).and_then(|b| proto::message(&b)).map_err(|e| e.at(path.display().to_string()))
        };
        let protos = models.iter().map(read).collect::<Result<_>>()?;
        Ok(Package { root, models, files, protos })
    }

    /// A package of one model that is read already.
    pub(super) fn one(folder: &Path, proto: ModelProto) -> Package {
        Package { root: folder.to_path_buf(), models: vec![PathBuf::new()], files: vec![], protos: vec![proto] }
    }

    pub(super) fn into_proto(self) -> ModelProto {
        self.protos.into_iter().next().unwrap_or_default()
    }

    /// The folder of a model, relative to the root.
    pub fn folder(&self, model: usize) -> &Path {
        self.models[model].parent().unwrap_or(Path::new(""))
    }

    /// What each external tensor refers to, in the order of the files. `each` hears of every one, or why it cannot be read.
    pub fn scan(&mut self, each: &mut dyn FnMut(Result<Reference>) -> Result<()>) -> Result<()> {
        for model in 0..self.models.len() {
            let folder = self.folder(model).to_path_buf();
            let shown = self.models[model].display().to_string();
            let named = |t: &TensorProto| match shown.as_str() {
                "" => format!("tensor '{}'", t.name),
                model => format!("{model}: tensor '{}'", t.name),
            };
            tensors::each(&mut self.protos[model], &mut |t| {
                if !is_external(t) {
                    return Ok(());
                }
                let read = reference(t).map(|(location, range)| Reference {
                    model,
                    tensor: t.name.clone(),
                    blob: folder.join(location),
                    range,
                });
                each(read.map_err(|e| e.at(named(t))))
            })?;
        }
        Ok(())
    }

    /// What [`Package::scan`] finds; a range past the end of its file is an error too.
    pub fn references(&mut self) -> Result<Vec<Reference>> {
        let mut out = vec![];
        self.scan(&mut |r| r.map(|r| out.push(r)))?;
        let blobs = self.blobs(&out)?;
        for r in &out {
            if let Some(what) = blobs.get(&r.blob).and_then(|size| past_end(r, *size)) {
                return Err(Error::new("import", what)
                    .at(format!("{}: tensor '{}'", self.models[r.model].display(), r.tensor))
                    .hint("the data file may be truncated"));
            }
        }
        Ok(out)
    }

    /// The size of every data file that is referred to.
    pub fn blobs(&self, references: &[Reference]) -> Result<BTreeMap<PathBuf, u64>> {
        let mut out = BTreeMap::new();
        for r in references {
            if !out.contains_key(&r.blob) {
                out.insert(r.blob.clone(), self.size(r)?.ok_or_else(|| missing(&self.root.join(&r.blob), &r.tensor))?);
            }
        }
        Ok(out)
    }

    /// The size of a reference's data file; None where there is none.
    pub fn size(&self, r: &Reference) -> Result<Option<u64>> {
        // A link may lead wherever it wants inside of the model's folder; where another model may look is another matter.
        let folder = self.folder(r.model);
        let location = r.blob.strip_prefix(folder).unwrap_or(&r.blob);
        let files = Files::new(&self.root.join(folder), true);
        let Some(path) = files.path(&location.to_string_lossy())? else { return Ok(None) };
        let meta = std::fs::metadata(&path).map_err(|e| Error::new("import", e.to_string()));
        let meta = meta.map_err(|e| e.at(path.display().to_string()))?;
        if !meta.is_file() {
            return Err(Error::new("import", "this is not a regular file").at(path.display().to_string()));
        }
        Ok(Some(meta.len()))
    }

    /// Writes each model below `to` under its new name. `place` is asked where each tensor's bytes are, in the order of
    /// [`Package::scan`], and hears the folder of the model that wants to know.
    pub fn write(
        &mut self,
        to: &Path,
        names: &[PathBuf],
        place: &mut dyn FnMut(&Path) -> Result<Placed>,
    ) -> Result<()> {
        for ((old, name), proto) in self.models.iter().zip(names).zip(&mut self.protos) {
            let folder = name.parent().unwrap_or(Path::new(""));
            let mut moved = false;
            tensors::each(proto, &mut |t| {
                if is_external(t) {
                    moved = true;
                    set(t, place(folder)?)?;
                }
                Ok(())
            })?;
            let (from, path) = (self.root.join(old), to.join(name));
            let failed = |what: String| Error::new("output", what).at(path.display().to_string());
            if !moved {
                // What refers to nothing stays as it is, byte for byte.
                std::fs::copy(&from, &path).map_err(|e| failed(e.to_string()))?;
                continue;
            }
            let mut file = std::fs::File::create(&path).map_err(|e| failed(e.to_string()))?;
            proto.write_to_writer(&mut file).map_err(|e| failed(e.to_string()))?;
        }
        Ok(())
    }
}

fn missing(path: &Path, tensor: &str) -> Error {
    let what = format!("external data of tensor '{tensor}': there is no such file");
    Error::new("import", what).at(path.display().to_string())
}

/// Why a range is not all there.
pub fn past_end(r: &Reference, size: u64) -> Option<String> {
    let Range { start, end } = r.range;
    let short = end > size && !r.range.is_empty();
    short.then(|| {
        let blob = r.blob.display();
        format!("external data: {} bytes at {start} run past the end of '{blob}' ({size} bytes)", end - start)
    })
}

/// Location and range of an external tensor.
fn reference(t: &TensorProto) -> Result<(PathBuf, Range<u64>)> {
    let place = external::place(t)?;
    let bad = |what: String| Error::new("import", format!("external data: {what}"));
    let wanted = stored_bytes(t)?;
    let length = match (place.length, wanted) {
        (Some(length), Some(wanted)) if length != wanted => {
            return Err(bad(format!("length {length} given, the shape takes {wanted} bytes")));
        }
        (None, None) => {
            return Err(bad(format!("no length given, and {} has no fixed size", type_name(t.data_type))));
        }
        (given, wanted) => wanted.or(given).unwrap_or(0),
    };
    let end = place.offset.checked_add(length);
    let end = end.ok_or_else(|| bad(format!("{length} bytes at {} are past any file", place.offset)))?;
    Ok((relative(&place.location)?, place.offset..end))
}

/// Bytes that a tensor takes in a file; None for an element type whose size is not known.
fn stored_bytes(t: &TensorProto) -> Result<Option<u64>> {
    let elements: usize = shape(&t.dims)?.iter().product();
    let bytes = match t.data_type {
        14 => elements * 8,         // complex64
        15 => elements * 16,        // complex128
        17..=20 | 24 => elements,   // float8 of every kind
        23 => elements.div_ceil(2), // float4e2m1
        other => match storage(other) {
            Ok(storage) => storage.bytes(elements),
            Err(_) => return Ok(None),
        },
    };
    Ok(Some(bytes as u64))
}

/// Rewrites where a tensor's bytes are. A checksum was one of the whole old file, and goes.
fn set(t: &mut TensorProto, placed: Placed) -> Result<()> {
    let length = reference(t)?.1;
    let entries = [
        ("location", placed.location),
        ("offset", placed.offset.to_string()),
        ("length", (length.end - length.start).to_string()),
    ];
    // Each key once, whatever was there.
    t.external_data.retain(|e| !["checksum", "location", "offset", "length"].contains(&e.key.as_str()));
    for (key, value) in entries {
        t.external_data.push(Default::default());
        if let Some(entry) = t.external_data.last_mut() {
            (entry.key, entry.value) = (key.into(), value);
        }
    }
    Ok(())
}

/// The .onnx files below a folder, and all others; links to files count as files.
fn walk(root: &Path) -> Result<(Vec<PathBuf>, Vec<PathBuf>)> {
    let (mut models, mut files, mut open) = (vec![], vec![], vec![PathBuf::new()]);
    while let Some(folder) = open.pop() {
        let here = root.join(&folder);
        let failed = |what: String, path: &Path| Error::new("import", what).at(path.display().to_string());
        for entry in std::fs::read_dir(&here).map_err(|e| failed(e.to_string(), &here))? {
            let entry = entry.map_err(|e| failed(e.to_string(), &here))?;
            let name = folder.join(entry.file_name());
            let path = root.join(&name);
            let meta = std::fs::metadata(&path).map_err(|e| failed(e.to_string(), &path))?;
            let link = entry.file_type().is_ok_and(|t| t.is_symlink());
            match (meta.is_dir(), meta.is_file()) {
                (true, _) if link => return Err(failed("is a link to a folder, which is not followed".into(), &path)),
                (true, _) => open.push(name),
                (_, true) if name.extension().is_some_and(|e| e == "onnx") => models.push(name),
                (_, true) => files.push(name),
                _ => return Err(failed("is neither a file nor a folder".into(), &path)),
            }
        }
    }
    models.sort();
    files.sort();
    Ok((models, files))
}
