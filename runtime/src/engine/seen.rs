//! Weights as the device reads them. In: an engine. Out: sums for the hash of every tensor, taken where kernels load it: standing, or in
//! the very runs that compute with it. Promise: read through the addresses that kernels are given, streamed weights in their slot of the ring.

use super::Engine;
use crate::commands::Recorded;
use crate::error::{Error, Kind, Result};
use crate::hasher::{Hasher, Sums};
use crate::program::Part;
use crate::residency::{Home, Uses};
use crate::weights::hash::{self, hash64};
use std::sync::Arc;

/// What the device read of a tensor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seen {
    /// In pool order.
    pub tensor: usize,
    /// How often it was read.
    pub times: u64,
    bytes: u64,
    sums: [u32; 2],
}

impl Seen {
    /// Whether every time it was the bytes of this hash.
    pub fn is(&self, hash: u64) -> bool {
        self.hash() == self.wanted(hash)
    }

    /// The hash of what was read; of several rounds, what their sums give.
    pub fn hash(&self) -> u64 {
        hash::finish(self.sums[0], self.sums[1], self.bytes)
    }

    /// What [`Seen::hash`] is of bytes of this hash.
    pub fn wanted(&self, hash: u64) -> u64 {
        let [low, high] = hash::sums(hash, self.bytes, self.times);
        hash::finish(low, high, self.bytes)
    }
}

/// Hashes taken in the runs of one bucket.
pub(super) struct Watch {
    bucket: (u32, Part),
    /// Of each sum; a tensor that is loaded twice a run has two.
    tensors: Vec<usize>,
    sums: Sums,
    /// What follows each leg of the run.
    legs: Vec<Arc<Recorded>>,
    runs: u64,
}

impl Engine {
    /// Hashes of the tensors whose home is wanted, where they lie, behind everything that was submitted before. A streamed tensor lies
    /// with the host.
    pub fn hash_extents(&mut self, hasher: &Hasher, wanted: &dyn Fn(Home) -> bool) -> Result<Vec<Seen>> {
        let homes = self.holding.residency.homes.iter().enumerate();
        let tensors: Vec<usize> = homes.filter(|(_, home)| wanted(**home)).map(|(i, _)| i).collect();
        let memory = tensors.iter().map(|&i| self.memory(i)).collect::<Result<Vec<_>>>()?;
        self.counters.submissions += 1;
        let sums = hasher.hash(&memory)?;
        let seen = tensors.iter().zip(&memory).zip(sums);
        Ok(seen.map(|((&tensor, &(_, bytes)), sums)| Seen { tensor, times: 1, bytes, sums }).collect())
    }

    /// From here on, what a run of this bucket reads of weights with the host is hashed behind the kernels that read it, in the same
    /// submission and, if it is streamed, in the same slot. Rows that are looked up are left out.
    pub fn watch(&mut self, hasher: &Hasher, bucket: u32, part: Part) -> Result<()> {
        let legs = self.recording(bucket, part)?.legs.len();
        let uses = Uses::new(&self.program).run(self.bucket(bucket)?, part);
        let residency = &self.holding.residency;
        let stages = residency.stages(&self.program, &uses);
        if stages.len() != legs {
            return Err(Error::new(Kind::Program, format!("{} stages and {legs} legs", stages.len())));
        }
        let mapped = |u: &&crate::residency::Use| !u.lookup && residency.homes[u.tensor] == Home::Mapped;
        let mut in_place: Vec<usize> = uses.iter().flatten().filter(mapped).map(|u| u.tensor).collect();
        in_place.sort_unstable();
        in_place.dedup();
        let count = stages.iter().map(|s| s.load.len()).sum::<usize>() + in_place.len();
        let sums = hasher.sums(count)?;
        let (mut tensors, mut tapes) = (Vec::with_capacity(count), Vec::with_capacity(legs));
        for (i, stage) in stages.iter().enumerate() {
            let loaded = self.holding.loaded(stage);
            let mut here: Vec<(usize, u64)> =
                stage.load.iter().filter_map(|(t, _)| Some((*t, *loaded.get(t)?))).collect();
            if i + 1 == stages.len() {
                here.extend(in_place.iter().filter_map(|&t| Some((t, self.holding.address(t)?))));
            }
            let mut tape = hasher.tape()?;
            for (tensor, address) in here {
                hasher.record(&mut tape, address, self.program.tensors[tensor].bytes, sums.at(tensors.len()))?;
                tensors.push(tensor);
            }
            tapes.push(tape.end()?);
        }
        self.watch = Some(Watch { bucket: (bucket, part), tensors, sums, legs: tapes, runs: 0 });
        Ok(())
    }

    /// Ends [`Engine::watch`]. Nothing may be running.
    pub fn watched(&mut self) -> Result<Vec<Seen>> {
        let Some(watch) = self.watch.take() else { return Ok(Vec::new()) };
        let seen = |(&tensor, sums): (&usize, [u32; 2])| {
            let bytes = self.program.tensors[tensor].bytes;
            Seen { tensor, times: watch.runs, bytes, sums }
        };
        Ok(watch.tensors.iter().zip(watch.sums.read()?).map(seen).collect())
    }

    /// What follows each leg of a run; nothing where it is not watched.
    pub(super) fn watching(&mut self, bucket: u32, part: Part) -> Vec<Arc<Recorded>> {
        match &mut self.watch {
            Some(watch) if watch.bucket == (bucket, part) => {
                watch.runs += 1;
                watch.legs.clone()
            }
            _ => Vec::new(),
        }
    }

    fn memory(&self, tensor: usize) -> Result<(u64, u64)> {
        let found = self.holding.address(tensor).zip(self.program.tensors.get(tensor));
        let missing = || Error::new(Kind::Usage, format!("there is no tensor {tensor}"));
        found.map(|(address, t)| (address, t.bytes)).ok_or_else(missing)
    }

    /// hash64 of what the host itself reads of a tensor now; none where that is on the device or in the pool's pages.
    pub fn host_hash(&self, tensor: usize) -> Result<Option<u64>> {
        let Some((buffer, region)) = self.holding.host(tensor) else { return Ok(None) };
        let mut bytes = vec![0; region.bytes as usize];
        buffer.read(region.offset, &mut bytes)?;
        Ok(Some(hash64(&bytes)))
    }

    /// Turns over a bit in the middle of a tensor in host memory, to see that it is noticed. The pool's own pages are left alone. Nothing
    /// may be running.
    pub fn alter(&mut self, tensor: usize) -> Result<()> {
        let absent = || Error::new(Kind::Usage, format!("tensor {tensor} has no copy in host memory"));
        let (buffer, region) = self.holding.host(tensor).filter(|(_, r)| r.bytes > 0).ok_or_else(absent)?;
        let (at, mut byte) = (region.offset + region.bytes / 2, [0]);
        buffer.read(at, &mut byte)?;
        buffer.write(at, &[byte[0] ^ 1])
    }
}
