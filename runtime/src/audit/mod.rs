//! Do kernels read what was packed? In: a decoder, its weights, arms of how much of them stays with the host. Out: a verdict for every
//! arm. Promise: what the device read is held against hashes that were taken before it was given the bytes, never against the same
//! memory read again (docs/residency.md).

mod arms;
mod experiment;
mod report;

pub use arms::{Arm, usual};
pub use experiment::{Plan, run};
pub use report::{Report, Row, Stale, Verdict};
