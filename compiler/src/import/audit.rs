//! How much of its data files a model uses. In: a model or a folder of them. Out: by data file what is referred to, what overlaps, what
//! nobody refers to, and how it is aligned. Promise: nothing is read of the data, so a sparse file of any size costs nothing.

use super::package::{Package, Reference, past_end};
use super::proto::Model;
use crate::error::Result;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// One external data file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DataFile {
    pub location: String,
    /// Its size; None when it is not there or may not be read.
    pub bytes: Option<u64>,
    /// Bytes that tensors refer to, each counted once.
    pub referenced: u64,
    pub tensors: usize,
    /// How many different ranges the tensors refer to.
    pub ranges: usize,
    /// Pairs of tensors whose extents share bytes without being equal.
    pub overlaps: Vec<(String, String)>,
    /// Gaps that no tensor refers to, alignment included.
    pub unreferenced: Vec<Range<u64>>,
    /// Largest power of two, up to 65,536, that every offset is a multiple of.
    pub alignment: u64,
}

/// What the models at a path refer to.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Audit {
    pub models: Vec<String>,
    pub files: Vec<DataFile>,
    /// Tensors that cannot be read, with the reason.
    pub problems: Vec<String>,
}

/// Audits an ONNX file, or all those in a folder, whose references are counted together.
pub fn audit(path: &Path) -> Result<Audit> {
    let mut package = Package::open(path)?;
    let (files, problems) = of_package(&mut package)?;
    Ok(Audit { models: package.models.iter().map(|m| m.display().to_string()).collect(), files, problems })
}

/// The data files of a model that is read already, and what is wrong with them.
pub fn of_model(model: &mut Model) -> (Vec<DataFile>, Vec<String>) {
    let mut package = Package::one(&model.folder, std::mem::take(&mut model.proto));
    let found = of_package(&mut package);
    model.proto = package.into_proto();
    found.unwrap_or_else(|e| (vec![], vec![e.to_string()]))
}

fn of_package(package: &mut Package) -> Result<(Vec<DataFile>, Vec<String>)> {
    let (mut blobs, mut problems) = (BTreeMap::<PathBuf, Vec<Reference>>::new(), vec![]);
    package.scan(&mut |r| {
        match r {
            Ok(r) => blobs.entry(r.blob.clone()).or_default().push(r),
            Err(e) => problems.push(format!("{}: {}", e.place.unwrap_or_default(), e.what)),
        }
        Ok(())
    })?;
    let mut files = vec![];
    for (blob, mut list) in blobs {
        list.sort_by(|a, b| (a.range.start, a.range.end, &a.tensor).cmp(&(b.range.start, b.range.end, &b.tensor)));
        let location = blob.display().to_string();
        let bytes = list.first().and_then(|r| {
            package.size(r).unwrap_or_else(|e| {
                problems.push(format!("file '{location}': {}", e.what));
                None
            })
        });
        if bytes.is_none() && list.iter().any(|r| !r.range.is_empty()) {
            problems.push(format!("file '{location}': cannot be read"));
        }
        let short = list.iter().filter_map(|r| Some(format!("tensor '{}': {}", r.tensor, past_end(r, bytes?)?)));
        problems.extend(short);
        let extents: Vec<_> = list.into_iter().map(|r| (r.range, r.tensor)).collect();
        files.push(coverage(location, bytes, &extents));
    }
    Ok((files, problems))
}

/// Coverage of one file by sorted extents.
fn coverage(location: String, bytes: Option<u64>, list: &[(Range<u64>, String)]) -> DataFile {
    let mut file = DataFile { location, bytes, tensors: list.len(), ..DataFile::default() };
    let mut end = 0u64;
    let most = bytes.unwrap_or(u64::MAX);
    // The extent that reaches furthest so far: whoever starts before its end shares bytes with it.
    let mut furthest: Option<&(Range<u64>, String)> = None;
    for item in list {
        let (extent, name) = item;
        if extent.start > end {
            file.unreferenced.push(end..extent.start.min(most));
        }
        if let Some((other, first)) = furthest
            && extent.start < other.end
            && extent != other
            && !extent.is_empty()
        {
            file.overlaps.push((first.clone(), name.clone()));
        }
        file.referenced += extent.end.min(most).saturating_sub(extent.start.max(end));
        if extent.end > end {
            end = extent.end;
            furthest = Some(item);
        }
    }
    file.unreferenced.retain(|r| !r.is_empty());
    if let Some(total) = bytes.filter(|total| *total > end) {
        file.unreferenced.push(end..total);
    }
    let mut ranges: Vec<&Range<u64>> = list.iter().map(|(r, _)| r).filter(|r| !r.is_empty()).collect();
    ranges.dedup();
    file.ranges = ranges.len();
    let bits = ranges.iter().fold(1u64 << 16, |bits, r| bits | r.start);
    file.alignment = 1 << bits.trailing_zeros();
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extents(list: &[(u64, u64)]) -> Vec<(Range<u64>, String)> {
        list.iter().enumerate().map(|(i, (a, b))| (*a..*b, format!("t{i}"))).collect()
    }

    #[test]
    fn gaps_before_between_and_after_are_unreferenced() {
        let file = coverage("f".into(), Some(100), &extents(&[(10, 20), (20, 30), (50, 60)]));
        assert_eq!(file.unreferenced, [0..10, 30..50, 60..100]);
        assert_eq!((file.referenced, file.tensors, file.alignment), (30, 3, 2));
        assert!(file.overlaps.is_empty());
    }

    #[test]
    fn shared_bytes_are_counted_once_and_partial_sharing_is_reported() {
        let file = coverage("f".into(), None, &extents(&[(0, 40), (0, 40), (30, 50), (45, 60)]));
        assert_eq!((file.referenced, file.ranges), (60, 3));
        let names = |a: &str, b: &str| (a.to_string(), b.to_string());
        assert_eq!(file.overlaps, [names("t0", "t2"), names("t2", "t3")]);
    }

    #[test]
    fn what_is_past_the_end_of_a_file_is_not_counted() {
        let file = coverage("f".into(), Some(50), &extents(&[(0, 40), (40, 64), (80, 90)]));
        assert_eq!((file.referenced, file.unreferenced), (50, vec![]));
    }

    #[test]
    fn empty_tensors_refer_to_nothing() {
        let file = coverage("f".into(), Some(8), &extents(&[(0, 8), (3, 3)]));
        assert_eq!((file.referenced, file.tensors, file.ranges, file.alignment), (8, 2, 1, 1 << 16));
        assert!(file.overlaps.is_empty() && file.unreferenced.is_empty());
    }
}
