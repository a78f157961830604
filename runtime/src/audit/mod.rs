//! What the device really reads. In: weights in whatever memory. Out: their hashes as kernels see them. Promise: held against hashes
//! that were taken before the device was given the bytes, never against the same memory read again.

mod hasher;
mod seen;

pub use hasher::Hasher;
pub use seen::Seen;
