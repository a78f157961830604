//! Which dispatch reads which weights. In: a program. Out: for every run its dispatches with their weights, and the order in which
//! tensors are first used. Promise: read from the program alone, in the order in which a recording dispatches.

use crate::check::column;
use crate::cost::row_bytes;
use crate::program::{Arg, Bucket, Part, Program};
use crate::recorder::places;
use std::collections::HashSet;

/// A weight that a dispatch reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Use {
    pub tensor: usize,
    /// Some rows are looked up; the rest is not read.
    pub lookup: bool,
    /// What is read, each byte counted once.
    pub bytes: u64,
}

/// How a program uses its weights.
pub(crate) struct Uses<'a> {
    program: &'a Program,
}

impl<'a> Uses<'a> {
    pub fn new(program: &'a Program) -> Uses<'a> {
        Uses { program }
    }

    /// The weights of every dispatch of a run, in order.
    pub fn run(&self, bucket: &Bucket, part: Part) -> Vec<Vec<Use>> {
        places(bucket, part)
            .iter()
            .map(|place| {
                let block = &bucket.blocks[place.block as usize];
                let dispatch = &block.dispatches[place.dispatch as usize];
                let row = &block.table[place.repetition as usize];
                let kernel = self.program.kernels.get(dispatch.kernel as usize);
                let lookup = kernel.is_some_and(|k| k.source.starts_with("gather"));
                let weights = dispatch.args.iter().filter_map(|&arg| match column(arg, row) {
                    Ok(Arg::Weight(i)) => self.weight(i, lookup, bucket.rows),
                    _ => None,
                });
                weights.collect()
            })
            .collect()
    }

    fn weight(&self, index: u32, lookup: bool, rows: u32) -> Option<Use> {
        let tensor = self.program.tensors.get(index as usize)?;
        let looked_up = row_bytes(self.program, index) * u64::from(rows);
        let bytes = if lookup { looked_up.min(tensor.bytes) } else { tensor.bytes };
        Some(Use { tensor: index as usize, lookup, bytes })
    }

    /// All tensors, by first use in a decode step, then in a chunk of a prompt, then in the other buckets. What is only looked up comes
    /// after those, since a run reads few of its bytes; what nothing reads comes last.
    pub fn order(&self) -> Vec<usize> {
        let program = self.program;
        let decoder = program.decoder.as_ref();
        let first = decoder.map(|d| [d.decode as usize, d.prefill as usize]);
        let others = (0..program.buckets.len()).filter(|i| first.is_none_or(|f| !f.contains(i)));
        let buckets = first.into_iter().flatten().chain(others).filter_map(|i| program.buckets.get(i));
        let all = buckets.flat_map(|b| [Part::Whole, Part::Drawn].into_iter().flat_map(|part| self.run(b, part)));
        let uses: Vec<Use> = all.flatten().collect();
        let by_lookup = |lookup: bool| uses.iter().filter(move |u| u.lookup == lookup).map(|u| u.tensor);
        let mut seen = HashSet::new();
        by_lookup(false).chain(by_lookup(true)).chain(0..program.tensors.len()).filter(|&t| seen.insert(t)).collect()
    }
}
