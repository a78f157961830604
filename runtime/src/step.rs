//! The `Step` buffer. In: what the host sets before a run. Out: what the sampling kernel leaves. Promise: the same layout as
//! `shaders/lib/step.glsl`, u32 words throughout.

use bytemuck::{Pod, Zeroable};

/// Most addresses that fit a kernel's push constants.
pub const MAX_ARGS: usize = 16;

/// Most stop token ids a model may have.
pub const MAX_STOPS: usize = 16;

/// Entries of the token ring; a power of two, more than any submission produces.
pub const RING: u32 = 1024;

/// Marks the entry of a token with which a policy of the package's own ended the answer; the rest of it is the token.
pub const RING_ENDS: u32 = 1 << 31;

/// Position and token state that kernels read, so that command buffers are recorded once.
///
/// Protocol. Before a run the host sets all fields, `Tokens[0..rows]` and `History[pos..pos + rows]`. The last dispatch of a sampler
/// chooses token `t` and, when `done` was 0: `pos += rows`, `rows = 1`, `Tokens[0] = t`, `History[pos] = t` where there is such a
/// row, `ring[produced % RING] = t`, `produced += 1`; then, first match: `t` among the stops gives `Stop`, `produced == limit` gives
/// `Limit`, `pos == context` gives `Context`. Where a policy of the package's own decides about the end, it follows the sampler: to end the
/// answer it adds `RING_ENDS` to the token's entry and gives `Stop`. While `done` is set, nothing above changes and no state is written, so that replays
/// under way do no harm: `pos` may be the cache's end.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Debug, Pod, Zeroable)]
pub struct Step {
    /// Rows already in the KV cache; the position of this run's first row. For a tower the row of the pictures' state where its own begin.
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
    pub draw: Draw,
}

/// How the `Drawn` sampler chooses. In this order: tokens of the context are made less likely by `repeat_penalty`; logits are
/// divided by `temperature`; those stay that are at least `min_p` times as likely as the best, of these the `top_k` likeliest, of
/// these the fewest likeliest that hold `top_p` of the probability; among what is left, with probabilities that add up to one, the
/// token is the first whose cumulated probability reaches a random number. Between equals the lower token comes first.
///
/// That number comes from Threefry-2x64-20 with key `seed` and counter `pos + counter`, where `pos` is the place the token will have in
/// the context: it depends on nothing else.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Debug, Pod, Zeroable)]
pub struct Draw {
    /// Above zero.
    pub temperature: f32,
    /// 0: all.
    pub top_k: u32,
    /// Above zero; 1: all.
    pub top_p: f32,
    /// 0: all.
    pub min_p: f32,
    /// 1: none. Logits of tokens in the cache are divided by it where positive, multiplied where negative.
    pub repeat_penalty: f32,
    pub seed_low: u32,
    pub seed_high: u32,
    /// Added to the place, with 32 bits.
    pub counter: u32,
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
