//! The matrix form of products with many rows. In: the shape of a product. Out: how matrix units cut it up, and the calls that
//! prepare its activations and add up what workgroups have shared. Promise: a tile divides k, or k is filled up with zeros; it fits the
//! shared memory that every device with such units grants.

use super::call::{Builder, Cx};
use super::linear::{norm, norm_name};
use crate::error::Result;
use crate::graph::Norm;
use crate::graph::operands::Operands;
use crate::plan::{Call, Operand};
use onnxcast_runtime::matrix::{MAX_SHARED_BYTES, MAX_THREADS};

/// Scratch that holds parts of sums; 0 has prepared rows, 1 and 2 those of an int8 cache.
const PARTIALS: u32 = 3;

/// Threads that prepare a row.
pub(super) const ROW_LOCAL: usize = 256;

/// Rows, columns and steps of a workgroup's tile, and how many subgroups share each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tile {
    pub m: usize,
    pub n: usize,
    pub k: usize,
    pub parts: [usize; 3],
}

/// How a product is cut up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Form {
    pub tile: Tile,
    /// Halves that a value of x becomes: two keep what f32 has.
    pub halves: usize,
    /// Workgroups that share the steps of a tile; their sums are added up by a call more.
    pub splits: usize,
}

/// A tile and what it takes on an H200 (docs/performance.md).
struct Rated {
    tile: Tile,
    /// Workgroups that a multiprocessor has at once without taking longer for each.
    beside: usize,
    /// Microseconds of a step with x as one half and as two; none where no such form is fast, or fits.
    us: [Option<f32>; 2],
}

const fn rated(m: usize, n: usize, k: usize, parts: [usize; 3], us: [Option<f32>; 2]) -> Rated {
    Rated { tile: Tile { m, n, k, parts }, beside: 1, us }
}

const RATED: [Rated; 12] = [
    rated(128, 192, 32, [2, 4, 1], [Some(1.08), Some(1.28)]),
    rated(128, 128, 64, [2, 4, 1], [Some(1.07), None]),
    rated(128, 96, 64, [4, 2, 1], [Some(0.98), None]),
    rated(96, 128, 64, [2, 4, 1], [Some(0.9), None]),
    rated(96, 128, 64, [2, 2, 2], [None, Some(1.24)]),
    rated(64, 128, 64, [2, 2, 2], [Some(0.86), Some(1.0)]),
    Rated { beside: 2, ..rated(64, 64, 64, [2, 2, 1], [Some(0.87), None]) },
    rated(64, 64, 64, [2, 2, 2], [None, Some(0.78)]),
    rated(64, 64, 128, [2, 2, 2], [Some(0.97), None]),
    rated(32, 64, 128, [1, 2, 4], [Some(0.75), Some(0.75)]),
    rated(32, 64, 64, [1, 2, 2], [Some(0.5), Some(0.5)]),
    rated(32, 64, 32, [1, 2, 1], [Some(0.4), Some(0.4)]),
];

/// Multiprocessors of a large device, and the microseconds that a workgroup takes beside its steps, and that adding parts of sums up takes in
/// any case and for each megabyte of them.
const PROCESSORS: usize = 132;
const ENDS: f32 = 2.7;
const ADDING: f32 = 3.7;
const ADDING_MEGABYTE: f32 = 0.25;

/// Most workgroups that share the steps of a tile, and fewest steps of each.
const MOST_SPLITS: usize = 9;
const FEWEST_STEPS: usize = 2;

impl Form {
    /// The form for `m` rows, of which values become `halves` halves, by `units` times four columns of sums over `k`: the one that should take
    /// a large device least time. None where the plain form serves.
    pub fn new(m: usize, units: usize, k: usize, halves: usize) -> Option<Form> {
        if m < 16 {
            return None;
        }
        let mut best: Option<(f32, Form)> = None;
        for Rated { tile, beside, us } in &RATED {
            let Some(us) = us[halves - 1] else { continue };
            // Sums that no step divides are filled up with zeros, by a sixteenth at most.
            if !k.is_multiple_of(8) || 16 * (tile.padded(k) - k) > k {
                continue;
            }
            let steps = tile.padded(k) / tile.k;
            for splits in (1..=MOST_SPLITS).filter(|s| *s == 1 || steps / s >= FEWEST_STEPS) {
                let form = Form { tile: *tile, halves, splits };
                // Two calls must pay for themselves.
                let worth = if splits > 1 { 1.08 } else { 1.0 };
                let time = worth * form.time(us, (m, units), (steps, *beside));
                if form.fits() && best.is_none_or(|(least, _)| time < least) {
                    best = Some((time, form));
                }
            }
        }
        best.map(|(_, form)| form)
    }

    /// Every tile that is measured to be fast somewhere, with the halves that it is fast for, its steps not shared.
    pub fn measured() -> impl Iterator<Item = Form> {
        let halves = |r: &'static Rated| (1..=2).filter(|h| r.us[h - 1].is_some());
        RATED.iter().flat_map(move |r| halves(r).map(|halves| Form { tile: r.tile, halves, splits: 1 }))
    }

    /// Microseconds, where a step takes `us`.
    fn time(&self, us: f32, (m, units): (usize, usize), (steps, beside): (usize, usize)) -> f32 {
        let groups: usize = self.grid(m, units).iter().map(|&n| n as usize).product();
        let each = steps.div_ceil(self.splits) as f32 * us + ENDS;
        let adding = match self.splits {
            1 => 0.0,
            splits => ADDING + ADDING_MEGABYTE * (splits * m * units * 16) as f32 / 1e6,
        };
        groups.div_ceil(PROCESSORS * beside) as f32 * each + adding
    }

    /// Tiles of rows, tiles of columns, parts of the steps.
    pub fn grid(&self, m: usize, units: usize) -> [u32; 3] {
        let Tile { m: down, n: across, .. } = self.tile;
        [m.div_ceil(down) as u32, units.div_ceil(across / 4) as u32, self.splits as u32]
    }

    /// What a workgroup takes of shared memory.
    pub fn shared_bytes(&self) -> usize {
        let t = &self.tile;
        let steps = (self.halves * t.m + t.n) * (t.k / 8 + 1);
        let sums = t.subgroups() * 16 * (t.n / (4 * t.parts[1]) + 1);
        16 * steps.max(sums)
    }

    /// What lib/matmul_matrix.glsl asks of a form.
    pub fn fits(&self) -> bool {
        let t = &self.tile;
        let whole = |size: usize, parts: usize| size > 0 && size.is_multiple_of(16 * parts);
        [t.m, t.n, t.k].into_iter().zip(t.parts).all(|(size, parts)| whole(size, parts))
            && 32 * t.subgroups() <= MAX_THREADS as usize
            && self.shared_bytes() <= MAX_SHARED_BYTES as usize
    }

    /// Adds the matrix form to a product, whose last arguments are the prepared x and, where steps are shared, parts of sums.
    pub(super) fn define(&self, b: Builder, (m, k): (usize, usize), units: usize, x: Operand) -> Builder {
        let t = &self.tile;
        let padded = self.padded(k);
        let b = self.prepared(b.matrix("MATRIX", 1).matrix("ROWS", self.rows(m)));
        let b = if padded > k { b.matrix("K_PADDED", padded) } else { b };
        let b = b
            .matrix("TILE_M", t.m)
            .matrix("TILE_N", t.n)
            .matrix("TILE_K", t.k)
            .matrix("PARTS_M", t.parts[0])
            .matrix("PARTS_N", t.parts[1])
            .matrix("PARTS_K", t.parts[2])
            .read(x);
        if self.splits > 1 { b.write(self.partials(m, units)) } else { b }
    }

    /// The call that adds up what workgroups have shared, with the arguments of the product.
    pub(super) fn add_up(&self, b: Builder, x: Operand) -> Builder {
        self.prepared(b.matrix("MATRIX", 1)).define("ADD_UP", 1).read(x)
    }

    fn prepared(&self, b: Builder) -> Builder {
        b.define("HALVES", self.halves).define("SPLITS", self.splits)
    }

    pub(super) fn partials(&self, m: usize, units: usize) -> Operand {
        Operand::Scratch(PARTIALS, (self.splits * m * units * 16) as u64)
    }

    /// Prepared rows come up to a whole tile.
    pub(super) fn rows(&self, m: usize) -> usize {
        m.next_multiple_of(self.tile.m)
    }

    /// Columns of prepared rows.
    pub(super) fn padded(&self, k: usize) -> usize {
        self.tile.padded(k)
    }

    /// What prepared rows take, with or without their factors.
    pub(super) fn prepared_bytes(&self, m: usize, k: usize, scaled: bool) -> u64 {
        (self.rows(m) * (self.halves * self.padded(k) * 2 + if scaled { 4 } else { 0 })) as u64
    }

    /// Where a product prepares its rows itself.
    pub(super) fn scratch(&self, m: usize, k: usize) -> Operand {
        Operand::Scratch(0, self.prepared_bytes(m, k, true))
    }
}

impl Tile {
    /// Columns of prepared activations: k up to a whole number of steps.
    fn padded(&self, k: usize) -> usize {
        k.next_multiple_of(self.k)
    }

    fn subgroups(&self) -> usize {
        self.parts.iter().product()
    }
}

/// The call before a product that has a matrix form: the rows of input 0, normalised, as halves.
pub(super) fn halves(
    cx: &Cx,
    form: &Form,
    (m, k): (usize, usize),
    folded: Option<Norm>,
    (o, live): (&Operands, bool),
) -> Result<Call> {
    let padded = form.tile.padded(k);
    let more = if padded > k { format!("_to{padded}") } else { String::new() };
    let name = if form.halves == 1 { "half" } else { "halves" };
    let b = Builder::new("halves.comp", format!("{name}_m{m}_k{k}{more}{}", norm_name(folded)))
        .define("M", m)
        .define("K", k)
        .define("ROWS", form.rows(m))
        .define("HALVES", form.halves)
        .define("LOCAL", ROW_LOCAL)
        .matrix("MATRIX", 1)
        .read(cx.read(0)?)
        .write(form.scratch(m, k))
        .live(live);
    let b = if padded > k { b.define("K_PADDED", padded) } else { b };
    norm(cx, b, folded, o)?.build(cx, [m as u32, 1, 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(m: usize, columns: usize, k: usize, halves: usize) -> Option<([usize; 3], usize)> {
        Form::new(m, columns / 4, k, halves).map(|f| ([f.tile.m, f.tile.n, f.tile.k], f.splits))
    }

    #[test]
    fn every_tile_fits_a_device_with_matrix_units() {
        assert!(Form::measured().count() >= RATED.len());
        for form in Form::measured() {
            assert!(form.fits(), "{form:?} takes {} bytes", form.shared_bytes());
        }
    }

    #[test]
    fn few_rows_and_odd_sums_take_the_plain_form() {
        assert_eq!(form(15, 896, 896, 2), None);
        assert_eq!(form(256, 896, 8, 2), None);
        assert_eq!(form(256, 896, 1148, 1), None, "rows of whole vectors only");
        assert!(form(16, 896, 896, 1).is_some());
    }

    #[test]
    fn sums_that_no_step_divides_are_filled_up() {
        let padded = |m, columns: usize, k| {
            Form::new(m, columns / 4, k, 2).map(|f| (f.tile.padded(k) % f.tile.k, f.tile.padded(k)))
        };
        assert!(padded(729, 1152, 4304).is_some_and(|(rest, k)| rest == 0 && k < 4304 + 128));
        assert_eq!(padded(729, 4304, 1152).map(|p| p.1), Some(1152));
        assert!(padded(729, 1152, 592).is_some());
    }

    #[test]
    fn a_form_is_the_one_that_was_measured_to_be_fastest() {
        assert_eq!(form(256, 9728, 896, 1), Some(([96, 128, 64], 1)));
        assert_eq!(form(256, 9728, 896, 2), Some(([128, 192, 32], 1)));
        assert_eq!(form(256, 896, 4864, 1), Some(([128, 128, 64], 9)));
        assert_eq!(form(256, 1152, 896, 1), Some(([64, 64, 128], 1)));
        assert_eq!(form(256, 27648, 5120, 1), Some(([128, 128, 64], 1)));
        assert_eq!(form(256, 5120, 13824, 1), Some(([128, 128, 64], 3)));
        assert_eq!(form(256, 5120, 5120, 2), Some(([96, 128, 64], 1)));
        assert_eq!(form(128, 16384, 2048, 2), Some(([64, 128, 64], 1)));
        assert_eq!(form(729, 3456, 1152, 1), Some(([96, 128, 64], 1)));
        assert_eq!(form(729, 1152, 4304, 1), Some(([128, 128, 64], 2)));
    }
}
