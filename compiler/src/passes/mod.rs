//! Rewrites. In: an imported graph. Out: the fused graph the plan takes. Promise: `eval` gives the same before and after, but
//! for what a pass's own promise names (`widen` rounding; `roles`, `kv_in_place` and `last_row` what goes in and out); what did not
//! match is logged with its reason.

mod attend;
mod dead;
mod fold;
mod fuse_act;
mod fuse_attention;
mod fuse_linear;
mod fuse_mlp;
mod fuse_norm;
mod fuse_positions;
mod fuse_qkv;
mod fuse_rope;
mod fuse_splice;
mod kv_in_place;
mod last_row;
mod look;
mod moves;
mod patches;
pub mod roles;
mod rows;
mod split_linear;
mod widen;

pub use widen::take;

use crate::error::Result;
use crate::graph::{Graph, verify};

/// What passes did and declined, for `explain`.
#[derive(Default, Debug)]
pub struct Log {
    pub lines: Vec<String>,
}

impl Log {
    pub fn say(&mut self, line: impl Into<String>) {
        self.lines.push(line.into());
    }
}

/// A pass and why it stands where it does.
pub struct Pass {
    pub name: &'static str,
    pub why: &'static str,
    pub run: fn(&mut Graph, &mut Log) -> Result<()>,
}

macro_rules! pass {
    ($run:path, $name:literal, $why:literal) => {
        Pass { name: $name, why: $why, run: $run }
    };
}

/// The order for a decoder whose cache we manage.
pub const ORDER: &[Pass] = &[
    pass!(roles::run, "roles", "every later pass asks for tokens, positions and the cache by role"),
    pass!(fold::run, "fold", "fewer spellings for the matchers"),
    pass!(fuse_norm::run, "fuse_norm", "before linear layers, which take norms in"),
    pass!(fuse_linear::run, "fuse_linear", "projections are recognised as Linear from here on"),
    pass!(split_linear::run, "split_linear", "several projections packed in one matrix become those projections"),
    pass!(widen::run, "widen", "after weights have found their layers, where they may stay narrow"),
    pass!(fuse_norm::run, "fuse_norm", "norms whose input came in another float type than their result"),
    pass!(fuse_act::run, "fuse_act", "before layers that take activations in"),
    pass!(fuse_rope::run, "fuse_rope", "while positions are still an input"),
    pass!(fuse_attention::run, "fuse_attention", "while the mask is still computed in the graph"),
    pass!(fuse_positions::run, "fuse_positions", "what rope and masks left of the positions: learned embeddings"),
    pass!(kv_in_place::run, "kv_in_place", "needs recognised attention; frees masks, positions and present outputs"),
    pass!(fold::run, "fold", "joins the transposes that rope and attention left"),
    pass!(fuse_mlp::run, "fuse_mlp", "takes norms that gate and up share"),
    pass!(fuse_qkv::run, "fuse_qkv", "takes norms that q, k and v share"),
    pass!(last_row::run, "last_row", "before the head's norm is folded"),
    pass!(fuse_splice::run, "fuse_splice", "casts between a table and its rows are gone"),
    pass!(fuse_linear::residual, "fuse_residual", "after the passes that want bare projections"),
    pass!(fuse_linear::norm, "fuse_head_norm", "what is left: the head"),
    pass!(dead::run, "dead", "nothing unread reaches the plan"),
];

/// The order for a graph that runs as it stands: inputs and outputs untouched, every mask honoured as it is given.
pub const RAW_ORDER: &[Pass] = &[
    pass!(fold::run, "fold", "nodes that change nothing cost a dispatch each"),
    pass!(fuse_norm::run, "fuse_norm", "before linear layers, which take norms in"),
    pass!(fuse_linear::run, "fuse_linear", "projections are recognised as Linear from here on"),
    pass!(split_linear::run, "split_linear", "several projections packed in one matrix become those projections"),
    pass!(patches::run, "patches", "a filter lies narrow as other weights do"),
    pass!(widen::inside, "widen", "after weights have found their layers, where they may stay narrow"),
    pass!(fuse_act::run, "fuse_act", "before layers that take activations in"),
    pass!(attend::run, "attend", "while scores still lie between two products"),
    pass!(fold::run, "fold", "joins the transposes that attention and patches left"),
    pass!(rows::run, "rows", "heads stay where projections put them, and projections of one x are one"),
    pass!(moves::run, "moves", "what is moved several times over is moved once"),
    pass!(fuse_mlp::run, "fuse_mlp", "takes norms that gate and up share, and activations"),
    pass!(fuse_linear::residual, "fuse_residual", "after the passes that want bare projections"),
    pass!(fuse_linear::norm, "fuse_norms", "norms with one reader"),
    pass!(fold::run, "fold", "movements that others left side by side"),
    pass!(dead::run, "dead", "nothing unread reaches the plan"),
];

/// Runs passes in order, verifying after each.
pub fn run(graph: &mut Graph, order: &[Pass], log: &mut Log) -> Result<()> {
    for pass in order {
        log.lines.push(format!("[{}]", pass.name));
        (pass.run)(graph, log).map_err(|e| e.at(format!("pass {}", pass.name)))?;
        verify(graph).map_err(|e| e.at(format!("after pass {}", pass.name)))?;
    }
    Ok(())
}

#[cfg(test)]
mod raw_tests;
#[cfg(test)]
mod tests;
