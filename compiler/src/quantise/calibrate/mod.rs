//! Codes chosen by what a text makes of the model. In: tokens, groups in execution order. Out: codes with the least output error, or
//! more bits where that error passes a bound. Promise: a layer sees what the quantised layers before it give; the same text gives
//! the same codes on any number of threads.

mod compensate;
mod moments;
#[cfg(test)]
mod tests;
mod walk;

use super::settings::Method;
use super::{Encoding, Group, Role, Strategy, Use};
use crate::error::Result;
use crate::graph::Tensor;
use crate::graph::quant::{Encoded, Fit, Quant, Zero};
use crate::plan::BucketGraph;
use ndarray::ArrayView2;
use ndarray::linalg::general_mat_mul;
use walk::Walk;

/// Rows of activations that output errors are measured on.
const SAMPLE: usize = 256;
/// Rows of weights that are measured at once.
const PIECE: usize = 256;

/// How far correlations of a few thousand tokens are trusted; docs/quantisation.md has what else was tried.
const TRUST: moments::Trust = moments::Trust { shrink: 0.5, damp: 0.01 };

pub struct Calibrated {
    tokens: Vec<u32>,
    method: Method,
    /// Output error above which a group gets more bits.
    guard: f64,
    walk: Option<(usize, Walk)>,
}

impl Calibrated {
    /// Fails where no bucket is a decoder that a text can be run through.
    pub fn new(tokens: Vec<u32>, method: Method, guard: f64, buckets: &[BucketGraph]) -> Result<Calibrated> {
        let mut order: Vec<usize> = (0..buckets.len()).collect();
        order.sort_by_key(|&i| std::cmp::Reverse(buckets[i].rows));
        let mut walk = None;
        for (i, bucket) in order.iter().filter_map(|&i| Some((i, buckets.get(i)?))) {
            match Walk::new(bucket.graph.clone(), &tokens) {
                Ok(found) => {
                    walk = Some((i, found));
                    break;
                }
                Err(e) if i == order[order.len() - 1] => return Err(e.at(format!("bucket {}", bucket.name))),
                Err(_) => {}
            }
        }
        Ok(Calibrated { tokens, method, guard, walk })
    }

    /// From here on the walk computes with what was chosen.
    fn settle(&mut self, group: &Group, encoded: &Encoded) {
        let Some((bucket, walk)) = &mut self.walk else { return };
        let parts = group.split(encoded);
        for at in group.uses.iter().filter(|u| u.bucket == *bucket) {
            for (part, encoded) in at.parts.iter().zip(&parts) {
                walk.replace(part.value, Tensor::quantised(encoded.clone(), part.transposed));
            }
        }
    }

    /// Codes in `quant`, and their output error.
    fn codes(&self, group: &Group, rows: &[f32], quant: Quant, inputs: &Inputs) -> Result<(Encoded, f64)> {
        let (n, k) = (group.n(), group.k);
        let encoded = match self.method {
            Method::Gptq if quant.bits == 4 => {
                compensate::compensate(rows, n, k, quant, &moments::second(&inputs.x, k), TRUST)?
            }
            Method::Nearest => Encoded::nearest(rows, n, k, quant, &Fit::default())?,
            _ => Encoded::nearest(rows, n, k, quant, &Fit { importance: &inputs.squares, ..Fit::default() })?,
        };
        let error = output_error(&inputs.sample(k), k, rows, &encoded.decode());
        Ok((encoded, error))
    }
}

/// What a group's rows are multiplied with, [tokens][k].
struct Inputs {
    x: Vec<f32>,
    squares: Vec<f32>,
}

impl Inputs {
    /// Rows from all over the text.
    fn sample(&self, k: usize) -> Vec<f32> {
        let rows = self.x.len() / k.max(1);
        let step = rows.div_ceil(SAMPLE).max(1);
        self.x.chunks_exact(k.max(1)).step_by(step).flatten().copied().collect()
    }
}

impl Strategy for Calibrated {
    fn name(&self) -> String {
        format!("{} on {} tokens", self.method.name(), self.tokens.len())
    }

    fn encode(&mut self, group: &Group, rows: &[f32], quant: Quant) -> Result<Encoding> {
        let here = |u: &&Use| u.input.is_some() && self.walk.as_ref().is_some_and(|(bucket, _)| *bucket == u.bucket);
        let at = group.uses.iter().find(here).map(|u| u.node);
        let (Role::Linear, Some(at), Some((_, walk))) = (group.role, at, &mut self.walk) else {
            let encoded = Encoded::nearest(rows, group.n(), group.k, quant, &Fit::default())?;
            self.settle(group, &encoded);
            return Ok(Encoding::from(encoded));
        };
        let x = walk.multiplied(at)?;
        let inputs = Inputs { squares: moments::squares(&x, group.k), x };
        let (mut encoded, first) = self.codes(group, rows, quant, &inputs)?;
        let (mut error, mut why) = (first, String::new());
        if first > self.guard && quant.bits < 8 {
            let finer = Quant { bits: 8, zero: Zero::Mid, ..quant };
            (encoded, error) = self.codes(group, rows, finer, &inputs)?;
            why = format!("4 bits leave an output error of {:.1} %", 100.0 * first);
        }
        if error > self.guard {
            why = format!("{} bits leave an output error of {:.1} %", encoded.quant().bits, 100.0 * error);
            return Ok(Encoding { encoded: None, output_error: None, why });
        }
        self.settle(group, &encoded);
        Ok(Encoding { encoded: Some(encoded), output_error: Some(error), why })
    }
}

/// |X (W - Wq)^T| / |X W^T| for X [rows][k], W and Wq [n][k].
fn output_error(x: &[f32], k: usize, exact: &[f32], got: &[f32]) -> f64 {
    let pieces: Vec<(&[f32], &[f32])> = exact.chunks(PIECE * k).zip(got.chunks(PIECE * k)).collect();
    let mut sums = vec![[0.0f64; 2]; pieces.len()];
    over_rows(&mut sums, 1, |first, sums| {
        for (sums, (exact, got)) in sums.iter_mut().zip(&pieces[first..]) {
            let differences: Vec<f32> = exact.iter().zip(*got).map(|(a, b)| a - b).collect();
            *sums = [squared(x, k, &differences), squared(x, k, exact)];
        }
    });
    let [error, whole] = sums.iter().fold([0.0, 0.0], |t, s| [t[0] + s[0], t[1] + s[1]]);
    if whole > 0.0 { (error / whole).sqrt() } else { 0.0 }
}

/// |X W^T|^2.
fn squared(x: &[f32], k: usize, w: &[f32]) -> f64 {
    let (rows, n) = (x.len() / k, w.len() / k);
    let mut y = ndarray::Array2::<f32>::zeros((rows, n));
    if let (Ok(x), Ok(w)) = (ArrayView2::from_shape((rows, k), x), ArrayView2::from_shape((n, k), w)) {
        general_mat_mul(1.0, &x, &w.t(), 0.0, &mut y);
    }
    y.iter().map(|&v| f64::from(v).powi(2)).sum()
}

/// Hands shares of `data`, rows of `width`, to threads with the number of their first row. What a row gets must not depend on
/// which rows stand beside it.
fn over_rows<T: Send>(data: &mut [T], width: usize, work: impl Fn(usize, &mut [T]) + Sync) {
    let threads = std::thread::available_parallelism().map_or(1, |t| t.get());
    let share = (data.len() / width.max(1)).div_ceil(threads).max(1);
    std::thread::scope(|scope| {
        for (i, part) in data.chunks_mut(share * width.max(1)).enumerate() {
            let work = &work;
            scope.spawn(move || work(i * share, part));
        }
    });
}
