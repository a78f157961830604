//! Which dispatch reads which weights. In: a program. Out: for every run its dispatches with their weights, and the order in which
//! tensors are first used. Promise: read from the program alone, in the order in which a recording dispatches.

use super::{Home, Offload};
use crate::cost::looked_up_bytes;
use crate::device::Limits;
use crate::program::places::{column, places};
use crate::program::{Arg, Bucket, Kernel, Part, Phase, Program};
use std::collections::HashSet;

/// A weight that a dispatch reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Use {
    pub tensor: usize,
    /// Some rows are looked up; the rest is not read.
    pub lookup: bool,
    /// Read for the last row of a chunk alone.
    pub head: bool,
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
                let lookup = kernel.is_some_and(Kernel::looks_up);
                let weights = dispatch.args.iter().filter_map(|&arg| match column(arg, row) {
                    Ok(Arg::Weight(i)) => self.weight(i, lookup, bucket.rows, block.phase != Phase::Body),
                    _ => None,
                });
                weights.collect()
            })
            .collect()
    }

    fn weight(&self, index: u32, lookup: bool, rows: u32, head: bool) -> Option<Use> {
        let tensor = self.program.tensors.get(index as usize)?;
        let bytes = if lookup { looked_up_bytes(self.program, index, rows) } else { tensor.bytes };
        Some(Use { tensor: index as usize, lookup, head, bytes })
    }

    /// All tensors, by first use in a decode step, then in a chunk of a prompt, then in the other buckets. What is only looked up comes
    /// after those, since a run reads few of its bytes; what nothing reads comes last.
    pub fn order(&self) -> Vec<usize> {
        let program = self.program;
        let uses = self.all();
        let by_lookup = |lookup: bool| uses.iter().filter(move |u| u.lookup == lookup).map(|u| u.tensor);
        let mut seen = HashSet::new();
        by_lookup(false).chain(by_lookup(true)).chain(0..program.tensors.len()).filter(|&t| seen.insert(t)).collect()
    }

    /// All uses, those of a decode step first.
    fn all(&self) -> Vec<Use> {
        let program = self.program;
        let decoder = program.decoder.as_ref();
        let first = decoder.map(|d| [d.decode as usize, d.prefill as usize]);
        let others = (0..program.buckets.len()).filter(|i| first.is_none_or(|f| !f.contains(i)));
        let buckets = first.into_iter().flatten().chain(others).filter_map(|i| program.buckets.get(i));
        let all = buckets.flat_map(|b| [Part::Whole, Part::Drawn].into_iter().flat_map(|part| self.run(b, part)));
        all.flatten().collect()
    }

    /// Where tensors go that are not resident. What is only looked up is read in place, since a run reads few of its bytes. Left to
    /// choose, so is everything where memory is all one or no queue copies beside kernels; else what the layers use is streamed,
    /// which overlaps with computing and crosses the link once however many rows a chunk has, and what is read for one row alone is
    /// read in place: it takes the link as long either way, and is so large that the ring would have to grow for it.
    pub fn homes_beyond(&self, offload: Offload, limits: &Limits) -> Vec<Home> {
        let streams = match offload {
            Offload::Auto => limits.copies_aside && !limits.unified,
            Offload::Read => false,
            Offload::Stream => true,
        };
        let mut homes = vec![Home::Mapped; self.program.tensors.len()];
        let heads_too = offload == Offload::Stream;
        for u in self.all().iter().filter(|u| streams && !u.lookup && (heads_too || !u.head)) {
            homes[u.tensor] = Home::Streamed;
        }
        homes
    }
}
