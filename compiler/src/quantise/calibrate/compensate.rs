//! Rounding in which later columns make up for the errors of earlier ones (GPTQ, arXiv 2210.17323, as nearest-plane rounding on a
//! factor of the second moments). In: rows, second moments. Out: codes. Promise: no row's output error is larger than that of
//! rounding to nearest, measured by the same moments.

use super::moments::{Trust, factor};
use crate::error::Result;
use crate::graph::quant::{Encoded, Grid, Quant};
use crate::quantise::salient::{self, Minds, Salient};
use ndarray::linalg::general_mat_mul;
use ndarray::{ArrayView2, ArrayViewMut2, Axis, Slice};

/// Codes and grids of some rows.
#[derive(Default)]
struct Rounded {
    codes: Vec<u8>,
    grids: Vec<Grid>,
}

/// What all rows share.
struct Plane<'a> {
    k: usize,
    quant: Quant,
    /// The factor V, [k][k].
    v: &'a [f32],
    /// Mean squares of the columns: how much an error counts when a grid is chosen.
    squares: &'a [f32],
    /// Which columns are salient: no error is left there, and none need be made up for.
    exact: &'a [bool],
}

/// What the inputs of a matrix are known by: second moments [k][k], and how far these are trusted.
#[derive(Clone, Copy)]
pub struct Known<'a> {
    pub second: &'a [f32],
    pub trust: Trust,
}

/// Codes of `rows` [n][k]. Salient columns are those that nearest codes miss most; a correction made after compensating would leave
/// what other columns did for these in place.
pub fn compensate(rows: &[f32], (n, k): (usize, usize), quant: Quant, inputs: Known) -> Result<(Encoded, Salient)> {
    quant.check(n, k)?;
    let Known { second, trust } = inputs;
    let v: Vec<f32> = factor(trust.apply(second, k), k)?.into_iter().map(|v| v as f32).collect();
    let mut squares: Vec<f32> = (0..k).map(|i| second[i * k + i]).collect();
    let (nearest, salient) = salient::nearest(rows, (n, k), quant, Minds { grids: &squares, columns: &squares })?;
    let nearest = nearest.decode();
    let mut exact = vec![false; k];
    for &c in &salient.columns {
        exact[c as usize] = true;
        squares[c as usize] = 0.0; // grids need not care
    }
    let plane = Plane { k, quant, v: &v, squares: &squares, exact: &exact };
    let threads = std::thread::available_parallelism().map_or(1, |t| t.get());
    let share = n.div_ceil(threads).max(1) * k;
    let parts: Vec<Rounded> = std::thread::scope(|scope| {
        let plane = &plane;
        let work: Vec<_> = rows
            .chunks(share)
            .zip(nearest.chunks(share))
            .map(|(rows, nearest)| scope.spawn(move || plane.round(rows, nearest)))
            .collect();
        // A thread that stops leaves codes out, which is found below.
        work.into_iter().map(|w| w.join().unwrap_or_default()).collect()
    });
    let (mut codes, mut grids) = (vec![], vec![]);
    for part in parts {
        codes.extend(part.codes);
        grids.extend(part.grids);
    }
    let encoded = Encoded::from_codes(quant, n, k, &codes, grids)?.corrected(rows, &salient.columns)?;
    Ok((encoded, salient))
}

impl Plane<'_> {
    /// Rounds `rows`; where `nearest` is no worse, a row takes that.
    fn round(&self, rows: &[f32], nearest: &[f32]) -> Rounded {
        let (k, group) = (self.k, usize::from(self.quant.group));
        let n = rows.len() / k;
        let mut out = Rounded { codes: vec![0; n * k], grids: vec![Grid::default(); n * (k / group)] };
        // Errors of the columns so far, and what they make of each column to come: sums over i < j of error_i V_ij.
        let (mut errors, mut owed) = (vec![0.0f32; n * k], vec![0.0f32; n * k]);
        let mut costs = vec![0.0f64; n];
        for from in (0..k).step_by(group) {
            for (r, cost) in costs.iter_mut().enumerate() {
                let at = r * k + from;
                let grid = &mut out.grids[r * (k / group) + from / group];
                let mut part = Columns { owed: &mut owed[at..at + group], errors: &mut errors[at..at + group] };
                *cost += self.group(from, &rows[at..at + group], grid, &mut out.codes[at..at + group], &mut part);
            }
            self.carry(from..from + group, from + group, &errors, &mut owed);
        }
        let exact: Vec<f64> = self.costs(rows, nearest);
        for r in (0..n).filter(|&r| exact[r] <= costs[r]) {
            self.take(&rows[r * k..][..k], r, &mut out);
        }
        out
    }

    /// One group of one row: its grid, then its codes one after the other. Returns the squared error that is left for good.
    fn group(&self, from: usize, row: &[f32], grid: &mut Grid, codes: &mut [u8], part: &mut Columns) -> f64 {
        let k = self.k;
        let diagonal = |i: usize| self.v[(from + i) * k + from + i];
        let wanted: Vec<f32> = row.iter().zip(&*part.owed).enumerate().map(|(i, (w, o))| w + o / diagonal(i)).collect();
        *grid = Grid::fit(self.quant, &wanted, &self.squares[from..from + row.len()]);
        let mut cost = 0.0;
        for i in 0..row.len() {
            // What a correction makes exact is to be near the weight itself.
            let owed = if self.exact[from + i] { 0.0 } else { part.owed[i] / diagonal(i) };
            let x = row[i] + owed;
            codes[i] = grid.code(self.quant, x);
            let error = if self.exact[from + i] { 0.0 } else { row[i] - grid.value(self.quant, codes[i]) };
            part.errors[i] = error;
            cost += f64::from(part.owed[i] + error * diagonal(i)).powi(2);
            let v = &self.v[(from + i) * k + from..][..row.len()];
            part.owed.iter_mut().zip(v).skip(i + 1).for_each(|(o, v)| *o += error * v);
        }
        cost
    }

    /// Adds what the errors of columns `of` make of all columns from `first` on.
    fn carry(&self, of: std::ops::Range<usize>, first: usize, errors: &[f32], owed: &mut [f32]) {
        let (k, n) = (self.k, errors.len() / self.k);
        let errors = ArrayView2::from_shape((n, k), errors);
        let v = ArrayView2::from_shape((k, k), self.v);
        let owed = ArrayViewMut2::from_shape((n, k), owed);
        if let (Ok(errors), Ok(v), Ok(mut owed)) = (errors, v, owed) {
            let errors = errors.slice_axis(Axis(1), Slice::from(of.clone()));
            let later = Slice::from(first..k);
            let v = v.slice_axis(Axis(0), Slice::from(of)).slice_axis_move(Axis(1), later);
            general_mat_mul(1.0, &errors, &v, 1.0, &mut owed.slice_axis_mut(Axis(1), later));
        }
    }

    /// The squared error of each row, |(row - other) V|^2.
    fn costs(&self, rows: &[f32], others: &[f32]) -> Vec<f64> {
        let (k, n) = (self.k, rows.len() / self.k);
        let errors: Vec<f32> = rows.iter().zip(others).map(|(a, b)| a - b).collect();
        let mut left = vec![0.0f32; n * k];
        for from in (0..k).step_by(usize::from(self.quant.group)) {
            self.carry(from..from + usize::from(self.quant.group), from, &errors, &mut left);
        }
        left.chunks_exact(k).map(|row| row.iter().map(|&v| f64::from(v).powi(2)).sum()).collect()
    }

    /// Rounds row `r` to nearest after all.
    fn take(&self, row: &[f32], r: usize, out: &mut Rounded) {
        let group = usize::from(self.quant.group);
        for (g, x) in row.chunks_exact(group).enumerate() {
            let grid = Grid::fit(self.quant, x, &self.squares[g * group..][..group]);
            out.grids[r * (self.k / group) + g] = grid;
            let codes = &mut out.codes[r * self.k + g * group..][..group];
            codes.iter_mut().zip(x).for_each(|(q, &x)| *q = grid.code(self.quant, x));
        }
    }
}

/// What is known of a row's columns in a group.
struct Columns<'a> {
    owed: &'a mut [f32],
    errors: &'a mut [f32],
}
