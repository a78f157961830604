//! So much and no more with the host. In: a program, and how many bytes of weights a decode step may read there. Out: which tensors leave
//! the device. Promise: no device is asked; tensors that a step reads a few rows of stay.

use super::Uses;
use crate::memory::decimal;
use crate::program::{Part, Program};
use std::collections::HashSet;

/// From the first layer on, as many tensors as fit, in pool order; those that are too large make way for smaller ones behind them. An error
/// says why there are none.
pub(crate) fn away(program: &Program, most: u64) -> Result<Vec<usize>, String> {
    let decode = program.decoder.as_ref().and_then(|d| program.buckets.get(d.decode as usize));
    let uses = decode.map(|bucket| Uses::new(program).run(bucket, Part::Whole)).unwrap_or_default();
    let mut seen = HashSet::new();
    let whole = uses.into_iter().flatten().filter(|u| !u.lookup && u.bytes > 0);
    let step: Vec<(usize, u64)> = whole.filter(|u| seen.insert(u.tensor)).map(|u| (u.tensor, u.bytes)).collect();
    let all: u64 = step.iter().map(|(_, bytes)| bytes).sum();
    if all < most {
        return Err(format!("a step of this model reads {}", decimal(all)));
    }
    let mut left = most;
    let mut tensors = Vec::new();
    for (tensor, bytes) in step {
        if bytes <= left {
            left -= bytes;
            tensors.push(tensor);
        }
    }
    if tensors.is_empty() {
        return Err("no tensor is that small".into());
    }
    tensors.sort_unstable();
    Ok(tensors)
}
