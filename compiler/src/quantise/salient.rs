//! Columns that keep fp16 accuracy. In: rows, how much a column's error counts, how many columns. Out: codes with corrections.
//! Promise: all rows share the columns, those whose error would count most; equal errors take the first; none is asked for, none is
//! chosen.

use crate::error::{Error, Result};
use crate::graph::quant::{Encoded, Fit, Quant};

/// Of so many columns one may be salient: with more, eight bits are smaller.
const SHARE: usize = 8;

/// What a choice of columns was made on.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Salient {
    /// Ascending.
    pub columns: Vec<u32>,
    /// Their part of the squared error that counts.
    pub share: f64,
    /// Errors counted by the mean squares of inputs.
    pub by_input: bool,
}

/// Refuses more columns than a matrix of `k` may have.
pub fn check(salient: u16, k: usize) -> Result<()> {
    if usize::from(salient) > k / SHARE {
        let what = format!("salient is {salient}; {k} columns allow for {} at most", k / SHARE);
        return Err(Error::new("quantise", what).hint("lower salient under [quantise], or --salient"));
    }
    Ok(())
}

/// The columns of `rows` [n][k] in which `encoded` misses most, counted by `importance`, which may be empty.
pub fn choose(rows: &[f32], encoded: &Encoded, importance: &[f32], count: u16) -> Salient {
    let (n, k) = encoded.shape();
    if count == 0 || k == 0 {
        return Salient::default();
    }
    let mut scores = vec![0.0f64; k];
    let mut got = vec![0.0; k];
    for (i, exact) in rows.chunks_exact(k).enumerate().take(n) {
        encoded.row(i, &mut got);
        scores.iter_mut().zip(exact.iter().zip(&got)).for_each(|(s, (a, b))| *s += f64::from(a - b).powi(2));
    }
    scores.iter_mut().zip(importance).for_each(|(s, w)| *s *= f64::from(*w));
    let mut order: Vec<u32> = (0..k as u32).collect();
    order.sort_by(|&a, &b| scores[b as usize].total_cmp(&scores[a as usize]).then(a.cmp(&b)));
    order.truncate(count.into());
    order.sort_unstable();
    let (kept, all) = (order.iter().map(|&c| scores[c as usize]).sum::<f64>(), scores.iter().sum::<f64>());
    let share = if all > 0.0 { kept / all } else { 0.0 };
    Salient { columns: order, share, by_input: !importance.is_empty() }
}

/// What a choice minds: each may be empty, and then all columns count alike.
#[derive(Clone, Copy, Default)]
pub struct Minds<'a> {
    /// How much a column's error counts in the grids.
    pub grids: &'a [f32],
    /// How much it counts when salient columns are chosen.
    pub columns: &'a [f32],
}

/// The nearest codes: once for all columns, and once more for those that are not salient, whose grids need not care for the others.
pub fn nearest(rows: &[f32], (n, k): (usize, usize), quant: Quant, minds: Minds) -> Result<(Encoded, Salient)> {
    let importance = minds.grids;
    let plain = Quant { salient: 0, ..quant };
    let first = Encoded::nearest(rows, n, k, plain, &Fit { importance, ..Fit::default() })?;
    if quant.salient == 0 {
        return Ok((first, Salient::default()));
    }
    let salient = choose(rows, &first, minds.columns, quant.salient);
    let encoded = Encoded::nearest(rows, n, k, quant, &Fit { importance, salient: &salient.columns })?;
    Ok((encoded, salient))
}

impl Salient {
    /// How many, and why these; nothing where there are none.
    pub fn text(&self) -> String {
        let what = if self.by_input { "error over the inputs" } else { "error" };
        match self.columns.len() {
            0 => String::new(),
            n => format!("{n} columns in fp16 had {:.1} % of the squared {what}", 100.0 * self.share),
        }
    }
}
