//! The dispatches of a run. In: a bucket and the phases that run. Out: where each dispatch stands, in order, and its arguments. Promise: the
//! order in which a recording dispatches.

use super::{Arg, Bucket, Part};
use crate::error::{Error, Kind, Result};

/// Where a dispatch stands in the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    pub block: u32,
    pub repetition: u32,
    pub dispatch: u32,
}

/// The dispatches of a run in order.
pub fn places(bucket: &Bucket, part: Part) -> Vec<Place> {
    let mut out = Vec::new();
    for (b, block) in bucket.blocks.iter().enumerate() {
        if !part.has(block.phase) {
            continue;
        }
        for repetition in 0..block.table.len() as u32 {
            for dispatch in 0..block.dispatches.len() as u32 {
                out.push(Place { block: b as u32, repetition, dispatch });
            }
        }
    }
    out
}

/// What an argument means in a repetition.
pub fn column(arg: Arg, row: &[Arg]) -> Result<Arg> {
    let wrong = |what: String| Error::new(Kind::Program, what);
    let Arg::Column(c) = arg else { return Ok(arg) };
    match row.get(c as usize) {
        None => Err(wrong(format!("there is no column {c} in a table of {}", row.len()))),
        Some(Arg::Column(_)) => Err(wrong(format!("column {c} of the table is itself a column"))),
        Some(&found) => Ok(found),
    }
}
