//! Where weights live. In: a program, a budget of device memory, a way for the rest. Out: a home for every tensor, the ring's size, and
//! what runs then move. Promise: no device is asked, resident tensors never take more than the budget, and what is predicted is what an
//! engine does.

mod away;
mod bytes;
mod cut;
#[cfg(test)]
mod tests;
mod uses;

use crate::device::Limits;
use crate::error::{Error, Kind, Result};
use crate::memory::{ALIGN, human};
use crate::program::{Bucket, Part, Program};
pub(crate) use away::away;
pub use bytes::Bytes;
pub(crate) use cut::{Stage, cut};
use std::collections::BTreeMap;
pub(crate) use uses::{Use, Uses};

/// Where a tensor's bytes are while the program runs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Home {
    /// In device memory, uploaded once.
    Resident,
    /// In host memory, where kernels read it in place.
    Mapped,
    /// In host memory, copied to the device for each run that uses it. Rows that are looked up are read in place.
    Streamed,
}

impl Home {
    pub fn name(self) -> &'static str {
        match self {
            Home::Resident => "resident",
            Home::Mapped => "mapped",
            Home::Streamed => "streamed",
        }
    }
}

/// What becomes of weights that the budget leaves out.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Offload {
    /// What is predicted to be faster (docs/offload.md).
    #[default]
    Auto,
    /// Kernels read them in place.
    Read,
    /// They are copied ahead of the kernels that read them.
    Stream,
}

/// What `--gpu-budget` and `--offload` ask for; the default keeps everything on the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Wish {
    /// Bytes of weights that may lie in device memory; none is all of them.
    pub budget: Option<u64>,
    /// What becomes of the others.
    pub offload: Offload,
    /// Instead of a budget: at most so many bytes of weights that a decode step reads in the host's memory.
    pub away: Option<u64>,
}

/// Of a slot of the ring, unless one dispatch needs more: long enough a copy that starting it costs nothing.
const SLOT_BYTES: u64 = 32 << 20;
/// Slots of the ring: some are filled while one is read. Two keep the link busy while every dispatch waits for it; more let copies go
/// ahead while a run is at its resident weights.
pub(crate) const SLOTS: usize = 4;

/// A home for every tensor of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Residency {
    pub homes: Vec<Home>,
    pub budget: Option<u64>,
    /// Bytes of a slot of the ring; zero where nothing is streamed.
    pub slot_bytes: u64,
}

/// Sizes by home.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Standing {
    pub resident_bytes: u64,
    pub mapped_bytes: u64,
    pub streamed_bytes: u64,
}

/// What a run moves between host and device for its weights.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Moves {
    /// Read by kernels in host memory, each byte counted once a dispatch.
    pub in_place_bytes: u64,
    /// Copied into the ring.
    pub copied_bytes: u64,
}

impl Moves {
    pub fn bytes(&self) -> u64 {
        self.in_place_bytes + self.copied_bytes
    }
}

impl Residency {
    /// Everything on the device.
    pub fn resident(program: &Program) -> Residency {
        Residency { homes: vec![Home::Resident; program.tensors.len()], budget: None, slot_bytes: 0 }
    }

    /// Tensors in order of first use become resident while they fit what is left of the budget; the rest goes as the wish says.
    pub fn plan(program: &Program, wish: Wish, limits: &Limits) -> Result<Residency> {
        let uses = Uses::new(program);
        let mut homes = uses.homes_beyond(wish.offload, limits);
        if let Some(most) = wish.away {
            let away = away(program, most).map_err(|why| Error::new(Kind::Usage, why))?;
            for (_, home) in homes.iter_mut().enumerate().filter(|(i, _)| !away.contains(i)) {
                *home = Home::Resident;
            }
            return Residency::sized(program, homes, None, limits);
        }
        let Some(budget) = wish.budget else { return Ok(Residency::resident(program)) };
        let mut left = budget;
        for tensor in uses.order() {
            let takes = device_bytes(program.tensors[tensor].bytes);
            if takes <= left {
                left -= takes;
                homes[tensor] = Home::Resident;
            }
        }
        Residency::sized(program, homes, Some(budget), limits)
    }

    fn sized(program: &Program, homes: Vec<Home>, budget: Option<u64>, limits: &Limits) -> Result<Residency> {
        let mut planned = Residency { homes, budget, slot_bytes: 0 };
        planned.slot_bytes = planned.slot(program);
        if planned.slot_bytes > limits.max_buffer_bytes {
            let (slot, most) = (human(planned.slot_bytes), human(limits.max_buffer_bytes));
            let what = format!("a dispatch reads {slot} of weights that are to be streamed, a buffer takes {most}");
            return Err(Error::new(Kind::Unfit, what).hint("use --offload read"));
        }
        Ok(planned)
    }

    /// What a slot must hold: the streamed weights of any dispatch, and where that is little, enough for copies to be worth starting.
    fn slot(&self, program: &Program) -> u64 {
        let uses = Uses::new(program);
        let (mut largest, mut run_bytes) = (0, 0);
        for run in runs(program).map(|(bucket, part)| uses.run(bucket, part)) {
            let sets: Vec<u64> = run.iter().map(|dispatch| self.set_bytes(program, dispatch)).collect();
            largest = largest.max(sets.iter().copied().max().unwrap_or(0));
            run_bytes = run_bytes.max(sets.iter().sum());
        }
        largest.max(SLOT_BYTES.min(run_bytes.div_ceil(2 * SLOTS as u64).next_multiple_of(ALIGN)))
    }

    /// What the streamed weights of a dispatch take of a slot.
    fn set_bytes(&self, program: &Program, dispatch: &[Use]) -> u64 {
        let mut tensors: Vec<usize> = dispatch.iter().filter(|u| self.is_copied(u)).map(|u| u.tensor).collect();
        tensors.sort_unstable();
        tensors.dedup();
        tensors.iter().map(|&t| device_bytes(program.tensors[t].bytes)).sum()
    }

    fn is_copied(&self, u: &Use) -> bool {
        !u.lookup && self.homes[u.tensor] == Home::Streamed
    }

    fn is_read_in_place(&self, u: &Use) -> bool {
        match self.homes[u.tensor] {
            Home::Resident => false,
            Home::Mapped => true,
            Home::Streamed => u.lookup,
        }
    }

    /// The stages of a run, each with what is copied before it.
    pub(crate) fn stages(&self, program: &Program, run: &[Vec<Use>]) -> Vec<Stage> {
        let sets: Vec<Vec<usize>> = run
            .iter()
            .map(|dispatch| dispatch.iter().filter(|u| self.is_copied(u)).map(|u| u.tensor).collect())
            .collect();
        cut(&sets, self.slot_bytes, &|t| device_bytes(program.tensors[t].bytes))
    }

    /// What a run moves.
    pub fn moves(&self, program: &Program, bucket: &Bucket, part: Part) -> Moves {
        self.moves_of(program, &Uses::new(program).run(bucket, part))
    }

    pub(crate) fn moves_of(&self, program: &Program, run: &[Vec<Use>]) -> Moves {
        let in_place = run.iter().flatten().filter(|u| self.is_read_in_place(u));
        let stages = self.stages(program, run);
        let copied = stages.iter().flat_map(|s| &s.load).map(|&(t, _)| program.tensors[t].bytes);
        Moves { in_place_bytes: in_place.map(|u| u.bytes).sum(), copied_bytes: copied.sum() }
    }

    /// Of weights with the host, what a run reads there or has copied from there, each byte counted once however many dispatches read it.
    pub(crate) fn distinct_bytes(&self, run: &[Vec<Use>]) -> u64 {
        let mut most = BTreeMap::new();
        for u in run.iter().flatten().filter(|u| self.homes[u.tensor] != Home::Resident) {
            let bytes: &mut u64 = most.entry(u.tensor).or_default();
            *bytes = u.bytes.max(*bytes);
        }
        most.values().sum()
    }

    /// Device memory of the ring, which stands beside the budget.
    pub fn ring_bytes(&self) -> u64 {
        self.slot_bytes * SLOTS as u64
    }

    /// Bytes of the program's tensors by home.
    pub fn standing(&self, program: &Program) -> Standing {
        let sum = |home| {
            let there = program.tensors.iter().zip(&self.homes).filter(|(_, h)| **h == home);
            there.map(|(t, _)| t.bytes).sum()
        };
        Standing {
            resident_bytes: sum(Home::Resident),
            mapped_bytes: sum(Home::Mapped),
            streamed_bytes: sum(Home::Streamed),
        }
    }

    /// How far what is resident goes beyond the budget: nothing, ever.
    pub fn over_budget_bytes(&self, program: &Program) -> u64 {
        let Some(budget) = self.budget else { return 0 };
        let there = program.tensors.iter().zip(&self.homes).filter(|(_, h)| **h == Home::Resident);
        there.map(|(t, _)| device_bytes(t.bytes)).sum::<u64>().saturating_sub(budget)
    }
}

/// Every run that an engine can record.
fn runs(program: &Program) -> impl Iterator<Item = (&Bucket, Part)> {
    program.buckets.iter().flat_map(|b| [Part::Body, Part::Whole, Part::Drawn].map(|part| (b, part)))
}

/// What a tensor takes of a budget or a slot: its bytes and those that alignment costs.
pub fn device_bytes(bytes: u64) -> u64 {
    bytes.max(4).next_multiple_of(ALIGN)
}
