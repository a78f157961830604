//! The `Step` buffer. In: what the host sets before a run. Out: what the sampling kernel leaves. Promise: the same layout as
//! `shaders/lib/step.glsl`, u32 words throughout.

use bytemuck::{Pod, Zeroable};

/// Most stop token ids a model may have.
pub const MAX_STOPS: usize = 16;

/// Entries of the token ring; a power of two, more than any submission produces.
pub const RING: u32 = 1024;

/// Position and token state that kernels read, so that command buffers are recorded once.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Pod, Zeroable)]
pub struct Step {
    /// Rows already in the KV cache; the position of this run's first row.
    pub pos: u32,
    /// Live rows of this run; a chunk's padding rows are computed but never stored.
    pub rows: u32,
    /// 0 running, else a [`Done`] code. The sampling kernel leaves everything alone when set.
    pub done: u32,
    /// Tokens sampled so far; the next goes to `ring[produced % RING]`.
    pub produced: u32,
    /// Tokens wanted.
    pub limit: u32,
    /// Rows the cache has.
    pub context: u32,
    pub stop_count: u32,
    pub reserved: u32,
    pub stops: [u32; MAX_STOPS],
}

/// Why generation ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Done {
    /// A stop token; it is the last one in the ring.
    Stop = 1,
    /// `limit` tokens were sampled.
    Limit = 2,
    /// The cache is full.
    Context = 3,
}
