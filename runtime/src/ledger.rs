//! How much is allocated. In: allocations and frees. Out: bytes now, and the most there were. Promise: exact while threads allocate at
//! once.

use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes that we have allocated on a device, in whatever memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Allocated {
    pub now_bytes: u64,
    /// Most at one time.
    pub peak_bytes: u64,
}

/// Keeps [`Allocated`].
#[derive(Default)]
pub(crate) struct Ledger {
    pub now: AtomicU64,
    pub peak: AtomicU64,
}

impl Ledger {
    pub fn read(&self) -> Allocated {
        Allocated { now_bytes: self.now.load(Ordering::Relaxed), peak_bytes: self.peak.load(Ordering::Relaxed) }
    }
}
