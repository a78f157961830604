//! Weights as kernels see them. In: an engine. Out: the hash of every tensor where it is now. Promise: read by the device, through the
//! addresses that its kernels are given.

use super::Hasher;
use crate::engine::{Engine, Extent};
use crate::error::Result;
use crate::residency::Home;

/// What the device read of a tensor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seen {
    /// In pool order.
    pub tensor: usize,
    pub hash: u64,
}

impl Engine {
    /// hash64 of the tensors whose home is wanted, behind everything that was submitted before.
    pub fn hash_extents(&mut self, hasher: &Hasher, wanted: &dyn Fn(Home) -> bool) -> Result<Vec<Seen>> {
        let extents = self.weight_extents();
        let here = |(i, e): (usize, &Extent)| Some((i, (e.address?, e.bytes))).filter(|_| wanted(e.home));
        let (tensors, memory): (Vec<usize>, Vec<(u64, u64)>) = extents.iter().enumerate().filter_map(here).unzip();
        let hashes = hasher.hash(&memory)?;
        self.counters.submissions += 1;
        Ok(tensors.into_iter().zip(hashes).map(|(tensor, hash)| Seen { tensor, hash }).collect())
    }
}
