//! How threads share a product of one row. In: units, columns and what a thread loads at once. Out: a workgroup's threads and units.
//! Promise: a workgroup fits any device, and variants of a split give the same sums to the bit.

use std::ops::RangeInclusive;

/// Threads and shared memory of a mat-vec's workgroup.
const MIN_LOCAL: usize = 32;
const MAX_LOCAL: usize = 512;
const SHARED_BYTES: usize = 16 << 10;

/// How the threads of a mat-vec share its work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Split {
    /// Threads of a workgroup.
    pub local: usize,
    /// Threads that share the columns of a row.
    pub slots: usize,
    /// Units (four weight rows) of a workgroup.
    pub units: usize,
    /// Chunks of a phase, where threads go along their rows in phases (lib/walk.glsl) instead of having all of them under way at
    /// once; 0: they do not.
    pub walk: usize,
}

/// Most threads that share a row where rows are few, where they are many, and where there are many but not enough of them to fill
/// a device with long rows.
const FEW_ROWS: usize = 320;
const MANY_ROWS: usize = 64;
const FAIR_ROWS: usize = 128;
/// Units from which on rows are many: enough workgroups for any device without splitting rows far; and long rows of them.
const MANY_UNITS: usize = 1200;
const MANY_LONG_UNITS: usize = 3000;
/// Units of a vocabulary: a thread takes two at once, and the device stays full.
const HUGE_UNITS: usize = 10_000;
/// Columns from which on rows are long, and very long.
const LONG: usize = 2048;
const VERY_LONG: usize = 8192;
/// Threads that share a row where they walk along it, the fewest and most, and where rows are few and where they are many.
const WALK_SLOTS: RangeInclusive<usize> = 16..=40;
const WALKERS: usize = 32;
const WALKERS_MANY: usize = 16;
/// Units of a walking workgroup: as many as prepare x at one go, more for a vocabulary, and for very long rows as many as
/// leave a workgroup to each of this many multiprocessors.
const WALK_GROUPS: usize = 4;
const WALK_GROUPS_HUGE: usize = 8;
const PROCESSORS: usize = 128;
const WALK_LOCAL: usize = 240;
/// Units from which on walking pays, and up to which, where rows are short, this many workgroups are enough.
const WALK_UNITS: usize = 200;
const WALK_UNITS_FEW: usize = 400;
const WALK_FEW: usize = 75;
/// Units up to which a workgroup rather takes a row at once, where it can.
const ONCE_UNITS: usize = 600;
/// Chunks that a workgroup hands over at once where they are wide: they fit shared memory.
const TILE_CHUNKS: usize = 160;
/// Chunks of a row that a thread takes at most, and those it takes rather than more threads than is best.
const MOST_CHUNKS: usize = 8;
const FAIR_CHUNKS: usize = 5;

impl Split {
    /// For `units` units of `k` columns, of which a thread loads `chunk` at once. Rows divide evenly where they can: then addresses
    /// differ by constants. The numbers are measured: docs/performance.md.
    pub fn new(units: usize, k: usize, chunk: usize) -> Split {
        let many = units >= MANY_UNITS;
        let huge = units >= HUGE_UNITS;
        if let Some(split) = Split::walking(units, k, chunk) {
            return split;
        }
        let long = many && !huge && k >= LONG && chunk == 8;
        let narrow = match (long, units >= MANY_LONG_UNITS) {
            (true, false) => FAIR_ROWS,
            _ if huge || !many => FEW_ROWS,
            _ => MANY_ROWS,
        };
        let most = if chunk > 8 { TILE_CHUNKS } else { narrow };
        let chunks = k.div_ceil(chunk);
        let even = |n: &usize| chunks.is_multiple_of(*n);
        let n = (1..=MOST_CHUNKS).filter(even).find(|n| chunks / n <= most);
        let n = n.or_else(|| (2..=FAIR_CHUNKS).rev().find(even).filter(|n| chunk == 8 && chunks / n <= FEW_ROWS));
        let slots = n.map_or(most.min(128), |n| chunks / n);
        let pairs = huge || long && units >= MANY_LONG_UNITS && slots <= MANY_ROWS;
        let depth = if pairs && slots > 1 { 2 } else { 1 };
        let threads = match depth {
            2 if !huge => 128,
            _ if huge && chunk == 32 => 112,
            _ => 224,
        };
        let groups = if many { (threads / slots).clamp(1, 4) } else { 1 + usize::from(chunk > 8) };
        // A thread ends a unit, so there are no more units than threads.
        let groups = groups.max(48usize.div_ceil(slots));
        Split { local: groups * slots, slots, units: groups * depth, walk: 0 }
    }

    /// Twice, or else half, as many units a workgroup, shared among threads in the same way, where that suits a device.
    pub fn other(&self, chunk: usize) -> Option<Split> {
        let by = |twice: usize| {
            let (local, units) = (self.local * twice / 2, self.units * twice / 2);
            Split { local, units, ..*self }
        };
        let whole = |s: &Split| s.local.is_multiple_of(s.slots) && (s.units * s.slots).is_multiple_of(s.local.max(1));
        let fits = |s: &Split| (MIN_LOCAL..=MAX_LOCAL).contains(&s.local) && s.shared_bytes(chunk) <= SHARED_BYTES;
        let both = if self.local.is_multiple_of(2) && self.units.is_multiple_of(2) { vec![4, 1] } else { vec![4] };
        let same = |s: &Split| chunk == 8 || (self.fills_once(chunk) && s.fills_once(chunk));
        both.into_iter().map(by).find(|s| whole(s) && fits(s) && same(s))
    }

    /// Whether the threads of a workgroup prepare a tile of x at one go. Then which of its columns share a step does not depend on how
    /// many they are.
    fn fills_once(&self, chunk: usize) -> bool {
        let eights = chunk / 8;
        self.slots * self.walk.max(1) * eights <= self.local / eights * eights
    }

    /// For rows of 4-bit codes, where there are enough of them: x is prepared once for the units of a workgroup, and a thread's next
    /// loads are under way while it multiplies.
    fn walking(units: usize, k: usize, chunk: usize) -> Option<Split> {
        let chunks = k / chunk;
        let once = k >= LONG && units < ONCE_UNITS && chunks <= TILE_CHUNKS;
        let vocabulary = k < LONG && units >= HUGE_UNITS;
        if chunk != 32 || units < WALK_UNITS || !k.is_multiple_of(chunk) || vocabulary || once {
            return None;
        }
        let split = |best: usize, groups: usize, walk: usize| {
            let even = WALK_SLOTS.filter(|slots| chunks.is_multiple_of(slots * walk));
            let slots = even.min_by_key(|slots| slots.abs_diff(best))?;
            Some(Split { local: groups * slots, slots, units: groups, walk })
        };
        let groups = units.div_ceil(PROCESSORS).clamp(WALK_GROUPS, 10);
        let far =
            split(WALK_LOCAL / groups, groups, 2).filter(|s| k >= VERY_LONG && s.shared_bytes(chunk) <= SHARED_BYTES);
        let (best, groups) = match units {
            _ if units < WALK_UNITS_FEW && k < LONG => (WALKERS, units.div_ceil(WALK_FEW)),
            _ if units < MANY_LONG_UNITS => (WALKERS, WALK_GROUPS),
            _ if units < HUGE_UNITS => (WALKERS_MANY, WALK_GROUPS),
            _ => (WALKERS_MANY, WALK_GROUPS_HUGE),
        };
        far.or_else(|| split(best, groups, 1))
    }

    /// What the form of lib/matvec.glsl takes of shared memory, the norm's part included.
    fn shared_bytes(&self, chunk: usize) -> usize {
        let &Split { local, slots, units, walk } = self;
        let (eights, tiles, span) = (chunk / 8, if walk > 0 { 2 } else { 1 }, slots * walk.max(1));
        let room = tiles * eights * (span + 2);
        let sums = if walk > 0 { eights } else { 0 };
        let tile = if chunk > 8 { 24 * room + 4 * tiles * span * (sums + 1) } else { 0 };
        let apart = if chunk > 8 && walk != 1 && units * slots <= room && local <= room {
            0
        } else {
            16 * units * slots + 4 * local
        };
        tile + apart + 16 * units
    }
}

#[cfg(test)]
mod tests {
    use super::{SHARED_BYTES, Split};

    #[test]
    fn threads_divide_rows_evenly_where_they_can() {
        let split = |units, k, chunk| {
            let s = Split::new(units, k, chunk);
            (s.local, s.slots, s.units)
        };
        assert_eq!(split(224, 896, 8), (112, 112, 1));
        assert_eq!(split(224, 4864, 8), (304, 304, 1));
        assert_eq!(split(2432, 896, 8), (224, 56, 4));
        assert_eq!(split(6912, 5120, 8), (128, 128, 1));
        assert_eq!(split(224, 4864, 32), (304, 152, 2), "at once");
        assert_eq!(split(224, 896, 32), (84, 28, 3), "one phase");
        assert_eq!(split(288, 896, 32), (112, 28, 4), "one phase");
        assert_eq!(split(37984, 896, 32), (112, 28, 8), "a vocabulary of short rows does not walk");
        assert_eq!(split(6912, 5120, 32), (64, 16, 4), "ten phases");
        assert_eq!(split(1280, 13824, 32), (240, 24, 10), "nine phases of two chunks");
        assert_eq!(split(38016, 5120, 32), (128, 16, 8));
        assert_eq!(split(37984, 896, 8), (224, 112, 4));
        assert_eq!(split(37984, 896, 16), (224, 56, 8));
        assert_eq!(split(512, 2048, 32), (128, 64, 2));
        assert_eq!(split(512, 8192, 32), (128, 32, 4), "four phases of two chunks");
        assert_eq!(split(4096, 2048, 8), (128, 64, 4));
        assert_eq!(split(1536, 2048, 8), (128, 128, 1));
        assert_eq!(split(2432, 896, 32), (112, 28, 4));
        assert_eq!(split(3, 8 * 331, 8), (128, 128, 1), "a prime above what a workgroup takes");
        assert_eq!(split(1, 3, 8), (48, 1, 48), "columns one by one");
    }

    #[test]
    fn variants_share_rows_in_the_same_way() {
        let others = |units, k, chunk| {
            let split = Split::new(units, k, chunk);
            let of = |s: Split| {
                assert_eq!((s.slots, s.walk), (split.slots, split.walk));
                assert_eq!(s.units * split.local, split.units * s.local, "threads work on as many units at once");
                s.units
            };
            (split.units, split.other(chunk).into_iter().map(of).collect::<Vec<_>>())
        };
        assert_eq!(others(2432, 896, 8), (4, vec![8]));
        assert_eq!(others(224, 896, 8), (1, vec![2]));
        assert_eq!(others(224, 4864, 8), (1, vec![]), "608 threads are too many");
    }

    #[test]
    fn a_workgroup_stays_small_enough_for_any_device() {
        for chunk in [8, 16, 32] {
            for units in [1, 300, 5000, 40_000] {
                for k in (chunk..20000).step_by(chunk) {
                    let s = Split::new(units, k, chunk);
                    let sound = s.units <= s.local && (s.units * s.slots).is_multiple_of(s.local);
                    assert!(s.local <= 512 && sound, "{units} units of {k}: {s:?}");
                    let shared = s.shared_bytes(chunk);
                    assert!(shared <= SHARED_BYTES, "{units} units of {k}: {shared} bytes");
                }
            }
        }
    }
}
