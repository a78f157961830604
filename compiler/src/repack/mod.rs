//! A model without the bytes that nobody refers to. In: an ONNX file or a package's folder. Out: the same with fresh data files, aligned
//! and without gaps, and every other file as it was. Promise: compared byte for byte before it appears; whole or not at all; in memory
//! that does not grow with the data.

mod destination;
mod pieces;
mod stream;
#[cfg(test)]
mod tests;

use crate::error::{Error, Result};
use crate::import::{Package, Placed, Reference};
use destination::Destination;
use pieces::{Home, Homes, Pieces};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use stream::{Blob, Copier};

/// What every range of a fresh data file begins at a multiple of: a page, so that it can be mapped by itself.
pub const ALIGNMENT: u64 = 4096;

/// Hears how many of how many bytes are through.
pub type Progress<'a> = &'a mut dyn FnMut(u64, u64);

/// What became of a package.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// Old data files: name, size, bytes referred to.
    pub before: Vec<(PathBuf, u64, u64)>,
    /// New ones: name, size.
    pub after: Vec<(PathBuf, u64)>,
    pub tensors: usize,
    /// Bytes that stood several times and stand once now.
    pub shared_bytes: u64,
    /// Files that are neither models nor data.
    pub kept: usize,
}

/// Repacks `input`, a file or a folder, as `output`, which must not be there unless `force`.
pub fn repack(input: &Path, output: &Path, force: bool, progress: Progress) -> Result<Report> {
    let mut package = Package::open(input)?;
    let references = package.references()?;
    let sizes = package.blobs(&references)?;
    let destination = Destination::of(input, output, &package, sizes.keys(), force)?;
    let pieces = Pieces::of(&references);
    let kept: Vec<&PathBuf> = package.files.iter().filter(|f| !sizes.contains_key(*f)).collect();
    let kept_bytes: u64 = kept.iter().filter_map(|f| Some(fs::metadata(package.root.join(f)).ok()?.len())).sum();
    let mut copier = Copier::new(2 * pieces.bytes() + kept_bytes, progress);

    let part = destination.part()?;
    let names = destination.models(&package);
    for name in names.iter().chain(kept.iter().copied()) {
        folder_of(&part.0.join(name))?;
    }
    let mut writer =
        Writer { destination: &destination, part: &part.0, files: vec![], seen: HashMap::new(), shared_bytes: 0 };
    let mut homes = Homes::default();
    for (blob, readers) in readers(&package, &references) {
        let file = writer.file(blob)?;
        let from = package.root.join(blob);
        homes.put(blob, file, writer.pieces(&from, pieces.of_blob(blob), file, &readers, &mut copier)?);
    }
    let shared_bytes = writer.shared_bytes;
    homes.names = writer.files.iter().map(|f| f.name.clone()).collect();
    let needed = homes.needed(&references, &pieces);
    let mut after = vec![];
    for (i, file) in writer.files.into_iter().enumerate() {
        after.extend(file.finish(&part.0, needed.contains(&i))?);
    }
    for name in &kept {
        copier.keep(&package.root.join(name), &part.0.join(name))?;
    }
    let kept = kept.len();
    let mut order = references.iter();
    package.write(&part.0, &names, &mut |folder| {
        let home = order.next().and_then(|r| homes.of(r, &pieces));
        Ok(placed(home.ok_or_else(|| Error::new("repack", "the model changed while it was read"))?, folder))
    })?;
    let written = destination.written(&part.0);
    verify(&package.root, &references, &mut Package::open(&written)?, &mut copier)?;
    destination.appear(part)?;

    let used = |name: &PathBuf| pieces.of_blob(name).iter().map(|r| r.end - r.start).sum();
    let before = sizes.into_iter().map(|(name, bytes)| (name.clone(), bytes, used(&name))).collect();
    Ok(Report { before, after, tensors: references.len(), shared_bytes, kept })
}

/// Makes the folder that a file is to be in.
fn folder_of(path: &Path) -> Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(|e| failed(folder, e))
}

fn failed(path: &Path, e: std::io::Error) -> Error {
    Error::new("repack", e.to_string()).at(path.display().to_string())
}

/// A home as a model in `folder` names it.
fn placed((file, offset): (&Path, u64), folder: &Path) -> Placed {
    let inside = file.strip_prefix(folder).unwrap_or(file);
    let parts: Vec<_> = inside.components().map(|c| c.as_os_str().to_string_lossy()).collect();
    Placed { location: parts.join("/"), offset }
}

/// The new data files while they are written.
struct Writer<'a> {
    destination: &'a Destination,
    part: &'a Path,
    files: Vec<Blob>,
    seen: HashMap<(u64, blake3::Hash), Vec<Home>>,
    shared_bytes: u64,
}

impl Writer<'_> {
    /// The file that a data file's pieces go to.
    fn file(&mut self, blob: &Path) -> Result<usize> {
        let target = self.destination.target(blob);
        if let Some(file) = self.files.iter().position(|f| f.name == target) {
            return Ok(file);
        }
        folder_of(&self.part.join(&target))?;
        self.files.push(Blob::create(self.part, target)?);
        Ok(self.files.len() - 1)
    }

    /// Streams pieces into `file`; one that is in a file already which every reader can name is not kept a second time.
    fn pieces(
        &mut self,
        from: &Path,
        ranges: &[Range<u64>],
        file: usize,
        readers: &Folders,
        copier: &mut Copier,
    ) -> Result<Vec<Home>> {
        let mut source = stream::open(from)?;
        let mut homes = vec![];
        for range in ranges {
            let (offset, hash) = copier.append(&mut source, range, &mut self.files[file])?;
            let bytes = range.end - range.start;
            let known = self.seen.entry((bytes, hash)).or_default();
            let nameable = |home: &&Home| readers.iter().all(|folder| self.files[home.file].name.starts_with(folder));
            if let Some(home) = known.iter().find(nameable) {
                homes.push(home.clone());
                self.files[file].forget()?;
                self.shared_bytes += bytes;
                continue;
            }
            known.push(Home { file, offset });
            homes.push(Home { file, offset });
        }
        Ok(homes)
    }
}

/// Folders of the models that refer to a data file.
type Folders<'a> = BTreeSet<&'a Path>;

/// Which models' folders a data file is referred to from.
fn readers<'a>(package: &'a Package, references: &'a [Reference]) -> BTreeMap<&'a Path, Folders<'a>> {
    let mut out: BTreeMap<&Path, Folders> = BTreeMap::new();
    for r in references {
        out.entry(&r.blob).or_default().insert(package.folder(r.model));
    }
    out
}

/// Holds every tensor of the new package against the old one's bytes.
fn verify(root: &Path, old: &[Reference], new: &mut Package, copier: &mut Copier) -> Result<()> {
    let written = new.references()?;
    if old.len() != written.len() {
        return Err(Error::new("repack", format!("{} tensors were written of {}", written.len(), old.len())));
    }
    let mut pairs = BTreeSet::new();
    for (a, b) in old.iter().zip(&written) {
        if a.tensor != b.tensor || a.range.end - a.range.start != b.range.end - b.range.start {
            let what = "what was written is not what was read";
            return Err(Error::new("repack", what).at(format!("tensor '{}'", a.tensor)));
        }
        pairs.insert((&a.blob, &b.blob, a.range.start, a.range.end, b.range.start));
    }
    for (a, b, start, end, at) in pairs {
        let (from, to) = (root.join(a), new.root.join(b));
        if !copier.same(&from, start..end, &to, at)? {
            let what = format!("bytes {start} to {end} were not written as they were read");
            return Err(Error::new("repack", what)
                .at(from.display().to_string())
                .hint("run it again; does something else write to the file?"));
        }
    }
    Ok(())
}
