//! Normalisation. In: x and its weights. Out: x over its own size. Promise: mean and squares are summed in f64.

use super::offsets::Offsets;
use super::{Args, Array, Values};
use crate::error::Result;
use crate::graph::{Norm, Op};

pub(super) fn eval(args: &Args) -> Result<Vec<Values>> {
    let x = args.get(0)?;
    let (axis, norm) = match *args.op {
        Op::LayerNorm { axis, eps } => (axis, Norm::Layer { eps }),
        Op::RmsNorm { axis, eps } => (axis, Norm::Rms { eps }),
        _ => return Err(args.err("is no norm")),
    };
    let mut v = x.to_f64();
    let n: usize = x.shape[axis..].iter().product();
    if n > 0 {
        v.chunks_exact_mut(n).for_each(|row| normalise(norm, row));
    }
    let weight = |i: usize| args.opt(i).map(|w: &Array| (w.to_f64(), Offsets::broadcast(&w.shape, &x.shape)));
    if let Some((w, places)) = weight(1) {
        v.iter_mut().zip(places).for_each(|(v, i)| *v *= w[i]);
    }
    if let Some((w, places)) = weight(2) {
        v.iter_mut().zip(places).for_each(|(v, i)| *v += w[i]);
    }
    Ok(vec![Values::F64(v)])
}

/// One row, before scale and bias.
pub(super) fn normalise(norm: Norm, row: &mut [f64]) {
    let n = row.len() as f64;
    let (mean, eps) = match norm {
        Norm::Rms { eps } => (0.0, eps),
        Norm::Layer { eps } => (row.iter().sum::<f64>() / n, eps),
    };
    let variance = row.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n;
    let scale = 1.0 / (variance + f64::from(eps)).sqrt();
    row.iter_mut().for_each(|x| *x = (*x - mean) * scale);
}
