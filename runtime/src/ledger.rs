//! What memory is for, and how much is allocated. In: allocations and frees. Out: bytes now, and the most there were. Promise: exact
//! while threads allocate at once.

use std::sync::atomic::{AtomicU64, Ordering};

/// Where a buffer lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    /// Device-local; visible to the host only where all memory is.
    Device,
    /// Written by the host in small pieces, read by kernels: device-local and host-visible where there is such memory.
    Shared,
    /// Written by the device, read by the host: cached host memory where there is such memory.
    Readback,
    /// Source of copies to the device.
    Staging,
    /// Weights that stay with the host: kernels read them in place, or they are copied from there.
    Host,
    /// Device-local; filled on the copy queue, read on the compute queue.
    Ring,
}

impl Purpose {
    /// In errors.
    pub fn what(self) -> &'static str {
        match self {
            Purpose::Device => "weights",
            Purpose::Host => "weights in host memory",
            Purpose::Ring => "the ring of streamed weights",
            Purpose::Shared | Purpose::Readback | Purpose::Staging => "copies",
        }
    }
}

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
