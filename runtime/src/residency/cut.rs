//! Runs in stages. In: the streamed tensors of each dispatch, and the size of a slot. Out: stages of neighbouring dispatches with what a
//! slot holds for them. Promise: every dispatch is in one stage, in order, and finds all its streamed tensors in that stage's slot.

use super::SLOTS;
use std::ops::Range;

/// Dispatches that run once a slot is full.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Stage {
    pub dispatches: Range<usize>,
    /// Which slot, where anything is loaded.
    pub slot: usize,
    /// Tensors with their offsets in the slot, in order of use.
    pub load: Vec<(usize, u64)>,
}

/// A stage takes as many dispatches as its slot has room for. Dispatches before the first and after the last that take anything from
/// the ring are stages of their own: those wait for no copy, and these keep no slot from being filled.
pub(crate) fn cut(sets: &[Vec<usize>], slot_bytes: u64, bytes: &dyn Fn(usize) -> u64) -> Vec<Stage> {
    let takes = |set: &Vec<usize>| !set.is_empty();
    let first = sets.iter().position(takes).unwrap_or(sets.len());
    let end = sets.iter().rposition(takes).map_or(first, |last| last + 1);
    let idle = |dispatches: Range<usize>| Stage { dispatches, slot: 0, load: Vec::new() };
    let mut stages = vec![idle(0..first)];
    let (mut stage, mut used) = (idle(first..first), 0);
    for (i, set) in sets.iter().enumerate().take(end).skip(first) {
        let missing = |stage: &Stage| {
            let mut more: Vec<usize> = Vec::new();
            for &t in set {
                if !more.contains(&t) && !stage.load.iter().any(|(have, _)| *have == t) {
                    more.push(t);
                }
            }
            more
        };
        let mut more = missing(&stage);
        if used + more.iter().map(|&t| bytes(t)).sum::<u64>() > slot_bytes && !stage.dispatches.is_empty() {
            let slot = (stage.slot + 1) % SLOTS;
            stages.push(std::mem::replace(&mut stage, Stage { dispatches: i..i, slot, load: Vec::new() }));
            used = 0;
            more = missing(&stage);
        }
        for t in more {
            stage.load.push((t, used));
            used += bytes(t);
        }
        stage.dispatches.end = i + 1;
    }
    stages.push(stage);
    stages.push(idle(end..sets.len()));
    stages.retain(|s| !s.dispatches.is_empty());
    stages
}
