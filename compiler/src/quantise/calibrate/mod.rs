//! Codes chosen by what a text makes of the model. In: tokens, groups in execution order. Out: codes with the least output error, or
//! more bits where that error passes a bound. Promise: a layer sees what the quantised layers before it give; the same text gives
//! the same codes on any number of threads.

mod compensate;
mod moments;
#[cfg(test)]
mod tests;
mod walk;

use super::salient::{self, Minds};
use super::settings::Method;
use super::{Encoding, Group, Role, Salient, Strategy};
use crate::bucket::BucketGraph;
use crate::error::{Error, Result};
use crate::graph::quant::{Encoded, Quant, Zero};
use crate::graph::{Graph, Tensor};
use compensate::{Known, compensate};
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
    /// The bucket that runs, as it was before anything was quantised.
    bucket: usize,
    exact: Graph,
    walk: Walk,
}

impl Calibrated {
    /// Fails where no bucket is a decoder that a text can be run through.
    pub fn new(tokens: Vec<u32>, method: Method, guard: f64, buckets: &[BucketGraph]) -> Result<Calibrated> {
        let mut order: Vec<usize> = (0..buckets.len()).filter(|i| buckets[*i].decoder).collect();
        order.sort_by_key(|&i| std::cmp::Reverse(buckets[i].rows));
        let mut refused = Error::new("calibration", "no bucket is a decoder");
        for bucket in order {
            let exact = buckets[bucket].graph.clone();
            match Walk::new(exact.clone(), &tokens) {
                Ok(walk) => return Ok(Calibrated { tokens, method, guard, bucket, exact, walk }),
                Err(e) => refused = e,
            }
        }
        Err(refused)
    }

    /// From here on the walk computes with what was chosen.
    fn settle(&mut self, group: &Group, encoded: &Encoded) {
        let parts = group.split(encoded);
        for at in group.uses.iter().filter(|u| u.bucket == self.bucket) {
            for (part, encoded) in at.parts.iter().zip(&parts) {
                self.walk.replace(part.value, Tensor::quantised(encoded.clone(), part.transposed));
            }
        }
    }

    /// What the group is multiplied with; none where this bucket does not multiply with it, or eight bits make it needless.
    fn inputs(&mut self, group: &Group, quant: Quant) -> Result<Option<Inputs>> {
        let product = group.uses.iter().find(|u| u.bucket == self.bucket && u.input.is_some());
        let x = match (product, group.role) {
            (Some(at), Role::Linear) => self.walk.multiplied(at.node)?,
            // Lookup and head share codes, which the first layer needs: the head's inputs are those of the exact model.
            (Some(at), Role::Table) if quant.bits < 8 => {
                Walk::new(self.exact.clone(), &self.tokens)?.multiplied(at.node)?
            }
            _ => return Ok(None),
        };
        let importance = moments::squares(&x, group.k);
        Ok(Some(Inputs { x, importance }))
    }

    /// Codes in `quant`, and their output error.
    fn codes(&self, group: &Group, rows: &[f32], quant: Quant, inputs: &Inputs) -> Result<(Encoded, Salient, f64)> {
        let (n, k, columns) = (group.n(), group.k, inputs.importance.as_slice());
        let (encoded, salient) = match self.method {
            Method::Gptq if quant.bits == 4 && group.role == Role::Linear => {
                let second = moments::second(&inputs.x, k);
                compensate(rows, (n, k), quant, Known { second: &second, trust: TRUST })?
            }
            // The codes mind no inputs; the choice of columns does.
            Method::Nearest => salient::nearest(rows, (n, k), quant, Minds { grids: &[], columns })?,
            _ => salient::nearest(rows, (n, k), quant, Minds { grids: columns, columns })?,
        };
        let error = output_error(&inputs.sample(k), k, rows, &encoded.decode());
        Ok((encoded, salient, error))
    }
}

/// What a group's rows are multiplied with, [tokens][k].
struct Inputs {
    x: Vec<f32>,
    /// How much an error of each column counts.
    importance: Vec<f32>,
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
        let Some(inputs) = self.inputs(group, quant)? else {
            let made = salient::nearest(rows, (group.n(), group.k), quant, Minds::default())?;
            self.settle(group, &made.0);
            return Ok(Encoding::from(made));
        };
        let (mut encoded, mut salient, first) = self.codes(group, rows, quant, &inputs)?;
        let (mut error, mut why) = (first, String::new());
        if first > self.guard && quant.bits < 8 {
            let finer = Quant { bits: 8, zero: Zero::Mid, salient: 0, ..quant };
            (encoded, salient, error) = self.codes(group, rows, finer, &inputs)?;
            why = format!("4 bits leave an output error of {:.1} %", 100.0 * first);
        }
        if error > self.guard {
            why = format!("{} bits leave an output error of {:.1} %", encoded.quant().bits, 100.0 * error);
            return Ok(Encoding { encoded: None, output_error: None, why, salient: Salient::default() });
        }
        self.settle(group, &encoded);
        Ok(Encoding { encoded: Some(encoded), output_error: Some(error), why, salient })
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
