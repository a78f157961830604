//! Arena offsets. In: rows, their barriers and buffer sizes. Out: a byte offset per buffer. Promise: two buffers alive at once
//! never overlap, and reuse never asks for a barrier that the data did not need.

use super::schedule::{Row, Slot};
use crate::error::{Error, Result};
use std::collections::{BTreeMap, HashMap};

/// Alignment of every arena offset.
pub const ALIGN: u64 = 256;

pub struct Arena {
    /// By buffer index.
    pub offsets: Vec<u64>,
    pub bytes: u64,
}

#[derive(Clone)]
struct Life {
    buffer: usize,
    first: usize,
    last: usize,
}

/// First fit, in order of first use. Time is counted in barriers: a buffer that is read in the epoch in which another is first
/// written would need a barrier that nothing else asks for, so those two do not share memory. A second round offers each buffer
/// the place that most buffers of its kind got in the first, so that the first layer looks like all others and rolls with them.
/// Where what comes before the layers is in the way, a third round lets it give way.
pub fn arena(rows: &[Row], barriers: &[bool], buffers: &[u64]) -> Result<Arena> {
    let lives = lives(rows, barriers, buffers.len())?;
    let first = fit(&lives, buffers, &vec![None; buffers.len()]);
    let kinds = kinds(rows, buffers.len());
    let wishes = usual(&kinds, &first.offsets);
    let second = fit(&lives, buffers, &wishes);
    let most = first.bytes;
    let second = if second.bytes <= most { second } else { first };
    let missed =
        |arena: &Arena| lives.iter().filter(|l| wishes[l.buffer].is_some_and(|w| w != arena.offsets[l.buffer])).count();
    let missed_second = missed(&second);
    if missed_second == 0 {
        return Ok(second);
    }
    let repeated = |buffer: usize| kinds.iter().filter(|k| **k == kinds[buffer]).count() > 2;
    let mut third_lives = lives.clone();
    third_lives.sort_by_key(|l| (!repeated(l.buffer), l.first));
    let third = fit(&third_lives, buffers, &wishes);
    Ok(if third.bytes <= most && missed(&third) < missed_second { third } else { second })
}

fn fit(lives: &[Life], buffers: &[u64], wishes: &[Option<u64>]) -> Arena {
    let mut out = Arena { offsets: vec![0; buffers.len()], bytes: 0 };
    let mut placed: Vec<(&Life, u64, u64)> = vec![];
    for life in lives {
        let size = buffers[life.buffer].max(1).next_multiple_of(ALIGN);
        let mut near: Vec<(u64, u64)> = vec![];
        for (other, start, end) in &placed {
            if other.first <= life.last && life.first <= other.last {
                near.push((*start, *end));
            }
        }
        near.sort_unstable();
        let free = |at: u64| near.iter().all(|&(start, end)| at + size <= start || end <= at);
        let at = match wishes[life.buffer] {
            Some(wish) if free(wish) => wish,
            _ => std::iter::once(0).chain(near.iter().map(|p| p.1)).find(|&at| free(at)).unwrap_or(out.bytes),
        };
        out.offsets[life.buffer] = at;
        out.bytes = out.bytes.max(at + size);
        placed.push((life, at, at + size));
    }
    out
}

/// Groups buffers: two are of one kind when equal kernels write them, or read them, through the same argument.
fn kinds(rows: &[Row], count: usize) -> Vec<usize> {
    let mut kind: Vec<usize> = (0..count).collect();
    let mut first: HashMap<(&str, [u32; 3], usize), usize> = HashMap::new();
    for row in rows {
        for (i, access) in row.args.iter().enumerate() {
            let Slot::Buffer(buffer) = access.slot else { continue };
            let known = kind[*first.entry((row.kernel.name.as_ref(), row.grid, i)).or_insert(buffer)];
            let own = kind[buffer];
            if known != own {
                kind.iter_mut().filter(|k| **k == own).for_each(|k| *k = known);
            }
        }
    }
    kind
}

/// For each buffer the most frequent offset of its kind; the lowest of those that are equally frequent.
fn usual(kinds: &[usize], offsets: &[u64]) -> Vec<Option<u64>> {
    let mut votes: HashMap<usize, BTreeMap<u64, usize>> = HashMap::new();
    for (kind, &at) in kinds.iter().zip(offsets) {
        *votes.entry(*kind).or_default().entry(at).or_insert(0) += 1;
    }
    let winner = |votes: &BTreeMap<u64, usize>| votes.iter().rev().max_by_key(|(_, n)| **n).map(|(&at, _)| at);
    kinds.iter().map(|k| votes.get(k).and_then(winner)).collect()
}

/// First and last epoch of each buffer, in order of first use.
fn lives(rows: &[Row], barriers: &[bool], count: usize) -> Result<Vec<Life>> {
    let mut index = vec![None; count];
    let mut out: Vec<Life> = vec![];
    let mut epoch = 0;
    for (row, &barrier) in rows.iter().zip(barriers) {
        epoch += usize::from(barrier);
        for access in &row.args {
            let Slot::Buffer(buffer) = access.slot else { continue };
            match index[buffer] {
                Some(i) => {
                    let life: &mut Life = &mut out[i];
                    life.last = epoch;
                }
                None if !row.args.iter().any(|a| a.slot == access.slot && a.writes) => {
                    let what = "a buffer is read before anything writes it";
                    return Err(Error::new("plan", what).at(row.note.clone()));
                }
                None => {
                    index[buffer] = Some(out.len());
                    out.push(Life { buffer, first: epoch, last: epoch });
                }
            }
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::super::schedule::{Access, barriers};
    use super::*;
    use onnxcast_runtime::program::{Kernel, Phase};

    fn row(reads: &[usize], writes: &[usize]) -> Row {
        let access = |writes| move |&b: &usize| Access { slot: Slot::Buffer(b), bytes: 4, writes };
        let args = reads.iter().map(access(false)).chain(writes.iter().map(access(true))).collect();
        let kernel = Kernel {
            name: "k".into(),
            source: "k".into(),
            defines: vec![].into(),
            args: 0,
            writes: 0,
            matrix: vec![].into(),
        };
        Row { kernel, grid: [1; 3], variants: vec![], args, note: "n".into(), phase: Phase::Body }
    }

    fn plan(rows: &[Row], buffers: &[u64]) -> Arena {
        arena(rows, &barriers(rows), buffers).unwrap()
    }

    #[test]
    fn a_chain_uses_two_places_in_turn() {
        let rows = [row(&[], &[0]), row(&[0], &[1]), row(&[1], &[2]), row(&[2], &[3])];
        let a = plan(&rows, &[1000, 1000, 1000, 1000]);
        assert_eq!((a.offsets, a.bytes), (vec![0, 1024, 0, 1024], 2048));
    }

    #[test]
    fn values_alive_at_once_do_not_overlap() {
        let rows = [row(&[], &[0]), row(&[0], &[1]), row(&[1], &[2]), row(&[0, 2], &[3])];
        let a = plan(&rows, &[256; 4]);
        assert_eq!(a.offsets, [0, 256, 512, 256]);
    }

    #[test]
    fn what_stands_before_the_layers_gives_way_to_them() {
        // Layers in two places by turns, behind a buffer so small that the first of them would be put elsewhere.
        let named = |name: &'static str, reads: &[usize], writes: &[usize]| {
            let mut row = row(reads, writes);
            row.kernel.name = name.into();
            row
        };
        let mut rows = vec![named("patches", &[], &[0]), named("first", &[0], &[1])];
        rows.extend((1..7).map(|i| named(if i % 2 == 1 { "up" } else { "down" }, &[i], &[i + 1])));
        let buffers = [256, 1024, 2048, 1024, 2048, 1024, 2048, 1024];
        let a = plan(&rows, &buffers);
        assert_eq!([a.offsets[1], a.offsets[3], a.offsets[5]], [a.offsets[7]; 3], "{:?}", a.offsets);
        assert_eq!([a.offsets[2], a.offsets[4]], [a.offsets[6]; 2], "{:?}", a.offsets);
    }

    #[test]
    fn reuse_does_not_cost_a_barrier() {
        // Buffer 1 is last read in the epoch in which 3 is written: they stay apart.
        let rows = [row(&[], &[0, 1]), row(&[1], &[2]), row(&[0], &[3])];
        assert_eq!(barriers(&rows), [true, true, false]);
        let a = plan(&rows, &[256; 4]);
        assert_eq!(a.offsets, [0, 256, 512, 768]);
    }

    #[test]
    fn a_value_nobody_writes_is_an_error() {
        let rows = [row(&[0], &[1])];
        assert!(arena(&rows, &[true], &[4, 4]).is_err());
    }
}
