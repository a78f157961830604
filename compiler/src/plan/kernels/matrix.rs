//! The matrix form of products with many rows. In: the shape of a product. Out: how matrix units cut it up, and the call that
//! prepares its activations. Promise: a tile divides k, or k is filled up
//! with zeros; it fits the shared memory that every device with such units grants, and
//! its subgroups share its loads evenly.

use super::call::{Builder, Cx};
use super::linear::{norm, norm_name};
use crate::error::Result;
use crate::graph::Norm;
use crate::graph::operands::Operands;
use crate::plan::{Call, Operand};
use onnxcast_runtime::matrix::{MAX_SHARED_BYTES, MAX_THREADS};

/// Halves that a value of x becomes: two keep what f32 has.
const HALVES: usize = 2;

/// Rows of prepared activations come in multiples of this, which every tile divides.
const ROWS: usize = 128;

/// Threads that prepare a row.
const ROW_LOCAL: usize = 256;

/// Rows, columns and steps of a workgroup's tile, and how many subgroups share each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Tile {
    pub m: usize,
    pub n: usize,
    pub k: usize,
    pub parts: [usize; 3],
}

const fn tile(m: usize, n: usize, k: usize, parts: [usize; 3]) -> Tile {
    Tile { m, n, k, parts }
}

/// Reads its operands fewest times; serves where all of it fits a large device at once, and hardly leaves a part of it idle.
const HUGE: Tile = tile(128, 192, 32, [2, 4, 1]);
const HUGE_GROUPS: std::ops::RangeInclusive<usize> = 80..=132;

/// Serves where there are enough of it.
const LARGE: Tile = tile(64, 128, 64, [2, 2, 2]);
const ENOUGH_GROUPS: usize = 90;

/// Fill a large device; the first that divides k serves.
const SMALL: [Tile; 3] = [tile(32, 64, 128, [1, 2, 4]), tile(32, 64, 64, [1, 2, 2]), tile(32, 64, 32, [1, 2, 1])];

impl Tile {
    /// The tile for `m` rows by `units` times four columns of sums over `k`; None where the plain form serves.
    pub fn new(m: usize, units: usize, k: usize) -> Option<Tile> {
        if m < 16 {
            return None;
        }
        let even = |t: &Tile| t.fits() && k.is_multiple_of(t.k);
        // Sums that no step divides are filled up with zeros, by a sixteenth at most.
        let filled = |t: &Tile| t.fits() && k.is_multiple_of(8) && 16 * (t.padded(k) - k) <= k;
        let groups = |t: &Tile| t.grid(m, units).iter().product::<u32>() as usize;
        let huge = m >= HUGE.m && HUGE_GROUPS.contains(&groups(&HUGE));
        let large = groups(&LARGE) >= ENOUGH_GROUPS;
        let many = [(huge, HUGE), (large, LARGE)].into_iter().find(|(enough, t)| *enough && (even(t) || filled(t)));
        let few = || SMALL.into_iter().find(even).or_else(|| SMALL.into_iter().find(filled));
        many.map(|(_, t)| t).or_else(few)
    }

    /// Columns of prepared activations: k up to a whole number of steps.
    fn padded(&self, k: usize) -> usize {
        k.next_multiple_of(self.k)
    }

    pub fn grid(&self, m: usize, units: usize) -> [u32; 3] {
        [units.div_ceil(self.n / 4) as u32, m.div_ceil(self.m) as u32, 1]
    }

    fn threads(&self) -> usize {
        32 * self.parts.iter().product::<usize>()
    }

    fn shared_bytes(&self) -> usize {
        (HALVES * self.m + self.n) * (self.k / 8 + 1) * 16 + self.threads() / 32 * 16 * 20 * 4
    }

    /// What lib/matmul_matrix.glsl asks of a tile.
    fn fits(&self) -> bool {
        let chunks = self.k / 8;
        let threads = self.threads();
        let whole = |size: usize, parts: usize| size.is_multiple_of(16 * parts);
        ROWS.is_multiple_of(self.m)
            && [(self.m, 0), (self.n, 1), (self.k, 2)].iter().all(|&(size, i)| whole(size, self.parts[i]))
            && threads.is_multiple_of(chunks)
            && (self.m * HALVES * chunks).is_multiple_of(threads)
            && (self.n * chunks).is_multiple_of(threads)
            && threads <= MAX_THREADS as usize
            && self.shared_bytes() <= MAX_SHARED_BYTES as usize
    }

    /// Adds the matrix form to a product, whose last argument is the prepared x.
    pub fn define(&self, b: Builder, m: usize, k: usize) -> Builder {
        let padded = self.padded(k);
        let b = b.define("HALVES", HALVES).matrix("MATRIX", 1).matrix("ROWS", rows(m));
        let b = if padded > k { b.matrix("K_PADDED", padded) } else { b };
        b.matrix("TILE_M", self.m)
            .matrix("TILE_N", self.n)
            .matrix("TILE_K", self.k)
            .matrix("PARTS_M", self.parts[0])
            .matrix("PARTS_N", self.parts[1])
            .matrix("PARTS_K", self.parts[2])
            .read(scratch(m, padded))
    }
}

fn rows(m: usize) -> usize {
    m.next_multiple_of(ROWS)
}

fn scratch(m: usize, k: usize) -> Operand {
    Operand::Scratch(0, (rows(m) * (HALVES * k * 2 + 4)) as u64)
}

/// The call before a product that has a matrix form: the rows of input 0, normalised, as halves.
pub(super) fn halves(
    cx: &Cx,
    tile: &Tile,
    (m, k): (usize, usize),
    folded: Option<Norm>,
    (o, live): (&Operands, bool),
) -> Result<Call> {
    let padded = tile.padded(k);
    let more = if padded > k { format!("_to{padded}") } else { String::new() };
    let b = Builder::new("halves.comp", format!("halves_m{m}_k{k}{more}{}", norm_name(folded)))
        .define("M", m)
        .define("K", k)
        .define("ROWS", rows(m))
        .define("HALVES", HALVES)
        .define("LOCAL", ROW_LOCAL)
        .matrix("MATRIX", 1)
        .read(cx.read(0)?)
        .write(scratch(m, padded))
        .live(live);
    let b = if padded > k { b.define("K_PADDED", padded) } else { b };
    norm(cx, b, folded, o)?.build(cx, [m as u32, 1, 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tile_fits_a_device_with_matrix_units() {
        for tile in SMALL.into_iter().chain([LARGE, HUGE]) {
            assert!(tile.fits(), "{tile:?} takes {} bytes", tile.shared_bytes());
        }
    }

    #[test]
    fn few_rows_and_odd_sums_take_the_plain_form() {
        assert_eq!(Tile::new(15, 224, 896), None);
        assert_eq!(Tile::new(256, 224, 8), None);
        assert_eq!(Tile::new(256, 224, 1148), None, "rows of whole vectors only");
        assert!(Tile::new(16, 224, 896).is_some());
    }

    #[test]
    fn sums_that_no_step_divides_are_filled_up() {
        let tile = Tile::new(729, 288, 4304).unwrap();
        assert_eq!(tile.padded(4304) % tile.k, 0);
        assert!(Tile::new(729, 1076, 1152).is_some_and(|t| t.padded(1152) == 1152));
        assert!(Tile::new(729, 288, 592).is_some());
    }

    #[test]
    fn the_products_of_a_prompt_fill_a_large_device() {
        for (units, k) in [(224, 4864), (224, 896), (288, 896), (2432, 896)] {
            let tile = Tile::new(256, units, k).unwrap();
            let groups: u32 = tile.grid(256, units).iter().product();
            assert!(groups >= 80, "{units} units of {k}: {groups} workgroups of {tile:?}");
        }
    }
}
