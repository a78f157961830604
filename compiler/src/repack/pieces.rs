//! What to keep of data files, and where it goes. In: references. Out: by file, disjoint ranges in order; then a home for each. Promise:
//! tensors that share bytes go on sharing them, so nothing grows.

use crate::import::Reference;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Disjoint ranges by data file, in order.
#[derive(Default, Debug)]
pub struct Pieces(BTreeMap<PathBuf, Vec<Range<u64>>>);

impl Pieces {
    /// Ranges that share bytes become one piece; such that only touch stay apart, as each is to be aligned.
    pub fn of(references: &[Reference]) -> Pieces {
        let mut all: BTreeMap<PathBuf, Vec<Range<u64>>> = BTreeMap::new();
        for r in references.iter().filter(|r| !r.range.is_empty()) {
            all.entry(r.blob.clone()).or_default().push(r.range.clone());
        }
        for ranges in all.values_mut() {
            ranges.sort_by_key(|r| (r.start, r.end));
            let mut joined: Vec<Range<u64>> = vec![];
            for range in ranges.drain(..) {
                match joined.last_mut() {
                    Some(last) if range.start < last.end => last.end = last.end.max(range.end),
                    _ => joined.push(range),
                }
            }
            *ranges = joined;
        }
        Pieces(all)
    }

    pub fn of_blob(&self, blob: &Path) -> &[Range<u64>] {
        self.0.get(blob).map_or(&[], Vec::as_slice)
    }

    /// All of them together.
    pub fn bytes(&self) -> u64 {
        self.0.values().flatten().map(|r| r.end - r.start).sum()
    }

    /// The piece that a reference is in; None for one of no bytes.
    fn index(&self, r: &Reference) -> Option<usize> {
        let after = self.of_blob(&r.blob).partition_point(|piece| piece.start <= r.range.start);
        after.checked_sub(1).filter(|_| !r.range.is_empty())
    }
}

/// Where a piece begins: which of the new files, and at which byte.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Home {
    pub file: usize,
    pub offset: u64,
}

/// Homes of all pieces.
#[derive(Default, Debug)]
pub struct Homes {
    /// Names of the new files.
    pub names: Vec<PathBuf>,
    of_piece: BTreeMap<PathBuf, Vec<Home>>,
    /// The file that stands for a data file where a tensor has no bytes.
    of_nothing: BTreeMap<PathBuf, usize>,
}

impl Homes {
    /// Homes of a data file's pieces, in their order; `file` is its own successor.
    pub fn put(&mut self, blob: &Path, file: usize, homes: Vec<Home>) {
        self.of_piece.insert(blob.to_path_buf(), homes);
        self.of_nothing.insert(blob.to_path_buf(), file);
    }

    fn home(&self, r: &Reference, pieces: &Pieces) -> Option<Home> {
        let Some(piece) = pieces.index(r) else {
            return Some(Home { file: *self.of_nothing.get(&r.blob)?, offset: 0 });
        };
        let home = self.of_piece.get(&r.blob)?.get(piece)?;
        let inside = r.range.start - pieces.of_blob(&r.blob).get(piece)?.start;
        Some(Home { file: home.file, offset: home.offset + inside })
    }

    /// New file and offset of a tensor.
    pub fn of(&self, r: &Reference, pieces: &Pieces) -> Option<(&Path, u64)> {
        let home = self.home(r, pieces)?;
        Some((self.names.get(home.file)?, home.offset))
    }

    /// The new files that a tensor refers to.
    pub fn needed(&self, references: &[Reference], pieces: &Pieces) -> BTreeSet<usize> {
        references.iter().filter_map(|r| Some(self.home(r, pieces)?.file)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn references(ranges: &[(u64, u64)]) -> Vec<Reference> {
        let one = |&(start, end): &(u64, u64)| Reference {
            model: 0,
            tensor: format!("t{start}"),
            blob: "b".into(),
            range: start..end,
        };
        ranges.iter().map(one).collect()
    }

    #[test]
    fn ranges_that_share_bytes_move_together_and_neighbours_do_not() {
        let list = references(&[(30, 50), (0, 40), (50, 60), (0, 40), (70, 70), (35, 36)]);
        let pieces = Pieces::of(&list);
        assert_eq!(pieces.of_blob(Path::new("b")), [0..50, 50..60]);
        assert_eq!(pieces.bytes(), 60);
        let mut homes = Homes { names: vec!["n".into(), "m".into()], ..Homes::default() };
        homes.put(Path::new("b"), 1, vec![Home { file: 0, offset: 4096 }, Home { file: 0, offset: 8192 }]);
        let at: Vec<(&str, u64)> =
            list.iter().map(|r| homes.of(r, &pieces).map(|(f, at)| (f.to_str().unwrap(), at)).unwrap()).collect();
        assert_eq!(at, [("n", 4126), ("n", 4096), ("n", 8192), ("n", 4096), ("m", 0), ("n", 4131)]);
        assert_eq!(homes.needed(&list, &pieces), BTreeSet::from([0, 1]));
        assert_eq!(homes.needed(&list[..4], &pieces), BTreeSet::from([0]));
    }
}
