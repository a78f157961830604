//! Weights to few bits. In: the fused graphs of all buckets, the lock, the settings. Out: the same graphs, in which matrices and the
//! embedding table are quantised constants, and a report. Promise: equal content gets equal codes, once, wherever it stands;
//! without weights the lock decides.

mod align;
mod calibrate;
mod choose;
mod groups;
mod nearest;
mod report;
mod reuse;
mod salient;
mod settings;
#[cfg(test)]
mod tests;
mod widths;

pub use align::align;
pub use calibrate::Calibrated;
pub use choose::strategy;
pub use groups::{Group, Part, Role, Use, halve, matrices};
pub use nearest::Nearest;
pub use report::{Report, Row};
pub use reuse::forget;
pub use salient::Salient;
pub use settings::{Method, Settings, ZeroName};
pub use widths::widen;

use crate::bucket::{BucketGraph, scope};
use crate::error::Result;
use crate::graph::quant::{Encoded, Fit, Quant};
use crate::graph::{DType, Def, Tensor};
use crate::lock::Lock;
use crate::plan::{Layout, weights::half_rows};
use std::sync::Arc;

/// How codes are found. Everything else (which constants, in which layout, where they go) is decided here.
pub trait Strategy {
    /// The word that the lock keeps for it, and what else its codes depend on.
    fn name(&self) -> String;

    /// Runs before anything is encoded. It may change constants of the graphs, such as the scale of a norm and the columns of the
    /// matrices behind it, as long as the function stays the same; every use of a constant in every bucket alike.
    fn prepare(&mut self, _buckets: &mut [BucketGraph], _groups: &[Group]) -> Result<()> {
        Ok(())
    }

    /// Codes of a group in `quant`, or in another layout of the same group size that suits it better. `rows` are its values as
    /// fp16 holds them, [n][k], part after part.
    fn encode(&mut self, group: &Group, rows: &[f32], quant: Quant) -> Result<Encoding>;
}

/// What a strategy made of a group.
pub struct Encoding {
    /// None: it stays in fp16.
    pub encoded: Option<Encoded>,
    /// |X (W - Wq)^T| / |X W^T| for the inputs X of a calibration, where there was one.
    pub output_error: Option<f64>,
    /// Why it is stored otherwise than asked for.
    pub why: String,
    /// Which columns keep fp16 accuracy.
    pub salient: Salient,
}

impl From<(Encoded, Salient)> for Encoding {
    fn from((encoded, salient): (Encoded, Salient)) -> Encoding {
        Encoding { encoded: Some(encoded), output_error: None, why: String::new(), salient }
    }
}

/// What became of one group.
enum Outcome {
    Quantised(Vec<Arc<Encoded>>),
    /// Only its layout is known.
    Absent(Quant),
    Kept,
}

/// Quantises every group of constants that are multiplied with activations or looked up.
pub fn run(
    buckets: &mut [BucketGraph],
    lock: &Lock,
    settings: &Settings,
    strategy: &mut dyn Strategy,
) -> Result<Report> {
    let groups = groups::find(buckets, lock)?;
    strategy.prepare(buckets, &groups)?;
    let named = settings.named(&strategy.name());
    // Without weights nothing is decided anew.
    let before = lock.quantise.clone().filter(|_| groups.iter().all(|g| g.sources.is_none()));
    let mut report = Report { settings: Some(before.unwrap_or(named)), ..Report::default() };
    for group in &groups {
        let outcome = encode(buckets, lock, settings, strategy, (group, &mut report))?;
        for at in &group.uses {
            for (i, part) in at.parts.iter().enumerate() {
                let scope = scope(buckets, &buckets[at.bucket]);
                let names = scope.names(&part.lock_name);
                let value = &mut buckets[at.bucket].graph.values[part.value.0 as usize];
                let Def::Const(tensor) = &mut value.def else { continue };
                match &outcome {
                    Outcome::Quantised(encoded) => *tensor = Tensor::quantised(encoded[i].clone(), part.transposed),
                    Outcome::Absent(quant) => {
                        let origin = tensor.absent_name().unwrap_or(&value.name).to_string();
                        *tensor = Tensor::absent_quantised(origin, tensor.shape.clone(), *quant);
                    }
                    Outcome::Kept => *tensor = halved(tensor),
                }
                value.ty.dtype = tensor.dtype;
                let source = group.sources.as_ref().map(|s| s[i].clone());
                let source = source.or_else(|| scope.find(lock, &part.lock_name)?.source.clone());
                report.notes.push((names, outcome.store(), source));
            }
        }
    }
    Ok(report)
}

impl Outcome {
    fn store(&self) -> String {
        match self {
            Outcome::Quantised(parts) => parts.first().map_or(String::new(), |p| p.quant().name()),
            Outcome::Absent(quant) => quant.name(),
            Outcome::Kept => Layout::F16.name().into_owned(),
        }
    }
}

/// Decides what becomes of a group and adds its row to the report.
fn encode(
    buckets: &[BucketGraph],
    lock: &Lock,
    settings: &Settings,
    strategy: &mut dyn Strategy,
    (group, report): (&Group, &mut Report),
) -> Result<Outcome> {
    let wish = match group.role {
        Role::Table => settings.table(),
        Role::Linear => settings.linear(),
    };
    let mut row = Row::new(group, buckets);
    let Some(quant) = wish.fitted(group.k) else {
        row.why = format!("{} columns are no multiple of 32", group.k);
        report.rows.push(row);
        return Ok(Outcome::Kept);
    };
    salient::check(quant.salient, group.k).map_err(|e| e.at(group.name()))?;
    let outcome = if group.sources.is_some() {
        let rows = group.rows(buckets)?;
        let mut made = strategy.encode(group, &rows, quant).map_err(|e| e.at(group.name()))?;
        if made.output_error.is_none() {
            made = guarded(made, group, &rows, settings.guard)?;
        }
        (row.output_error, row.why, row.salient) = (made.output_error, made.why, made.salient.text());
        match made.encoded {
            Some(encoded) => {
                row.error = Some(relative(&encoded, &rows));
                row.store(encoded.quant());
                Outcome::Quantised(group.split(&encoded))
            }
            None => Outcome::Kept,
        }
    } else {
        match group.stored(buckets, lock) {
            Some(store) => match Quant::parse(&store) {
                Some(quant) => {
                    row.store(quant);
                    Outcome::Absent(quant)
                }
                None => {
                    row.why = "the lock says so".into();
                    Outcome::Kept
                }
            },
            None => {
                row.store(quant);
                Outcome::Absent(quant)
            }
        }
    };
    report.rows.push(row);
    Ok(outcome)
}

/// Holds a group that nobody calibrated to the bound by its weights' own error: more bits, then fp16.
fn guarded(made: Encoding, group: &Group, rows: &[f32], bound: f64) -> Result<Encoding> {
    let Some((encoded, error)) = made.encoded.as_ref().map(|e| (e, relative(e, rows))).filter(|(_, e)| *e > bound)
    else {
        return Ok(made);
    };
    let why = format!("{} bits leave an error of {:.1} %", encoded.quant().bits, 100.0 * error);
    let wide = Quant { bits: 8, salient: 0, ..encoded.quant() };
    let again = Encoded::nearest(rows, group.n(), group.k, wide, &Fit::default())?;
    let encoded = (relative(&again, rows) <= bound).then_some(again);
    Ok(Encoding { encoded, output_error: None, why, salient: Salient::default() })
}

/// Root of the squared error over the squared weights.
fn relative(encoded: &Encoded, rows: &[f32]) -> f64 {
    let (error, whole) = encoded.error(rows);
    if whole > 0.0 { (error / whole).sqrt() } else { 0.0 }
}

/// A matrix that stays in fp16, with the values it will have there, so that the interpreter computes with the same.
fn halved(tensor: &Tensor) -> Tensor {
    let from = tensor.clone();
    let make = move || {
        let rows = half_rows(&from, false).unwrap_or_default();
        bytemuck::cast_slice(&rows).to_vec()
    };
    Tensor::later(DType::F32, tensor, tensor.shape.clone(), make)
}
