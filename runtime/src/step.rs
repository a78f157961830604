//! The `Step` buffer. In: what the host sets before a run. Out: what the sampling kernel leaves. Promise: the same layout as
//! `shaders/lib/step.glsl`, u32 words throughout.

use bytemuck::{Pod, Zeroable};

/// Most addresses that fit a kernel's push constants.
pub const MAX_ARGS: usize = 16;

/// Most stop token ids a model may have.
pub const MAX_STOPS: usize = 16;

/// Entries of the token ring; a power of two, more than any submission produces.
pub const RING: u32 = 1024;

/// Position and token state that kernels read, so that command buffers are recorded once.
///
/// Protocol. Before a run the host sets all fields and `Tokens[0..rows]`. The last dispatch of a `Head` phase samples token `t`
/// and, when `done` was 0: `pos += rows`, `rows = 1`, `Tokens[0] = t`, `ring[produced % RING] = t`, `produced += 1`; then, first
/// match: `t` among the stops gives `Stop`, `produced == limit` gives `Limit`, `pos == context` gives `Context`. While `done` is
/// set, nothing above changes and no state is written, so that replays under way do no harm: `pos` may be the cache's end.
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
