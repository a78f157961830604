//! Second moments of a layer's inputs, and their triangular factor. In: rows of activations. Out: H = X^T X / rows, and V with
//! H = V V^T. Promise: sums in a fixed order, on any number of threads; V exists for any activations.

use crate::error::{Error, Result};
use ndarray::linalg::general_mat_mul;
use ndarray::{ArrayView2, ArrayViewMut2, Axis, Slice};
use std::sync::Mutex;

/// Columns of the factor that are made at a time.
const BLOCK: usize = 32;
/// Rows of second moments that are made at a time.
const SIDE: usize = 128;

/// Mean squares of the columns of `x` [rows][k].
pub fn squares(x: &[f32], k: usize) -> Vec<f32> {
    let mut sums = vec![0.0f64; k];
    for row in x.chunks_exact(k.max(1)) {
        sums.iter_mut().zip(row).for_each(|(s, &v)| *s += f64::from(v) * f64::from(v));
    }
    let rows = (x.len() / k.max(1)).max(1) as f64;
    sums.into_iter().map(|s| (s / rows) as f32).collect()
}

/// X^T X / rows of `x` [rows][k], as [k][k].
pub fn second(x: &[f32], k: usize) -> Vec<f32> {
    let rows = x.len() / k.max(1);
    let mut out = vec![0.0; k * k];
    let Ok(all) = ArrayView2::from_shape((rows, k), &x[..rows * k]) else { return out };
    // What lies below the diagonal is what lies above it: a block has its columns from its own first one on. Early blocks are the
    // long ones, so threads take them in turn.
    let blocks = Mutex::new(out.chunks_mut((SIDE * k).max(1)).enumerate());
    let threads = std::thread::available_parallelism().map_or(1, |t| t.get());
    let work = || {
        loop {
            let next = blocks.lock().ok().and_then(|mut b| b.next());
            let Some((i, block)) = next else { break };
            let (from, count) = (i * SIDE, block.len() / k);
            let own = all.slice_axis(Axis(1), Slice::from(from..from + count));
            let later = all.slice_axis(Axis(1), Slice::from(from..));
            if let Ok(mut block) = ArrayViewMut2::from_shape((count, k), block) {
                let mut block = block.slice_axis_mut(Axis(1), Slice::from(from..));
                general_mat_mul(1.0 / rows.max(1) as f32, &own.t(), &later, 0.0, &mut block);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    for from in (0..k).step_by(SIDE) {
        for i in from + SIDE.min(k - from)..k {
            for j in from..from + SIDE {
                out[i * k + j] = out[j * k + i];
            }
        }
    }
    out
}

/// How far second moments are trusted.
#[derive(Clone, Copy, Debug)]
pub struct Trust {
    /// The share of correlations between columns that is dropped: few tokens show some that are not there.
    pub shrink: f64,
    /// The share of the mean square that is added to every column, so that none is free.
    pub damp: f64,
}

impl Trust {
    /// H as trusted, [k][k].
    pub fn apply(self, second: &[f32], k: usize) -> Vec<f64> {
        let mean = (0..k).map(|i| f64::from(second[i * k + i])).sum::<f64>() / k.max(1) as f64;
        let mut h: Vec<f64> = second.iter().map(|&v| f64::from(v) * (1.0 - self.shrink)).collect();
        for i in 0..k {
            h[i * k + i] = f64::from(second[i * k + i]) + self.damp * mean.max(f64::MIN_POSITIVE);
        }
        h
    }
}

/// The upper triangular V of H = V V^T, for a positive definite H [k][k]; zeros below its diagonal.
pub fn factor(mut h: Vec<f64>, k: usize) -> Result<Vec<f64>> {
    let mut to = k;
    while to > 0 {
        let from = to.saturating_sub(BLOCK);
        panel(&mut h, k, from..to)?;
        // What is left above and to the left loses what these columns explain.
        let known: Vec<f64> = (0..from).flat_map(|i| h[i * k + from..i * k + to].to_vec()).collect();
        let width = to - from;
        super::over_rows(&mut h[..from * k], k, |first, part| {
            let rows = part.len() / k;
            let columns = ArrayView2::from_shape((from, width), &known);
            let own = ArrayView2::from_shape((rows, width), &known[first * width..(first + rows) * width]);
            let part = ArrayViewMut2::from_shape((rows, k), part);
            if let (Ok(columns), Ok(own), Ok(mut part)) = (columns, own, part) {
                // Only columns from the first row's own on are ever read.
                let mut part = part.slice_axis_mut(Axis(1), Slice::from(first..from));
                let columns = columns.slice_axis(Axis(0), Slice::from(first..from));
                general_mat_mul(-1.0, &own, &columns.t(), 1.0, &mut part);
            }
        });
        to = from;
    }
    (0..k).for_each(|i| h[i * k..i * k + i].fill(0.0));
    Ok(h)
}

/// Columns `of` of V, whose later columns are done and already taken out of H.
fn panel(h: &mut [f64], k: usize, of: std::ops::Range<usize>) -> Result<()> {
    for j in of.clone().rev() {
        let (above, rest) = h.split_at_mut(j * k);
        let row = &mut rest[..of.end];
        let square = row[j] - row[j + 1..].iter().map(|v| v * v).sum::<f64>();
        if square.is_nan() || square <= 0.0 {
            return Err(Error::new(
                "calibration",
                format!("column {j}'s second moment is {square} once others are known"),
            )
            .hint("activations may be infinite or not numbers"));
        }
        let root = square.sqrt();
        row[j] = root;
        for up in above.chunks_exact_mut(k) {
            let known: f64 = up[j + 1..of.end].iter().zip(&row[j + 1..]).map(|(a, b)| a * b).sum();
            up[j] = (up[j] - known) / root;
        }
    }
    Ok(())
}
