//! Streamed weights on their way. In: legs of runs, some with a copy that fills a slot of the ring first. Out: submissions to both queues.
//! Promise: a slot is filled only after the leg before has read it, and read only after it was filled; the host waits for nothing.

use crate::commands::Recorded;
use crate::device::Device;
use crate::error::{Error, Kind, Result};
use crate::residency::SLOTS;
use crate::submit::{Batch, Point, Ticket, Timeline, release, submit_aside, submit_batches};
use std::sync::Arc;

/// Commands of the copy queue that fill a slot.
#[derive(Clone)]
pub(crate) struct Load {
    pub copy: Arc<Recorded>,
    pub slot: usize,
}

/// A part of a run that starts once its slot is full.
pub(crate) struct Leg {
    pub load: Option<Load>,
    pub commands: Vec<Arc<Recorded>>,
}

/// Where both queues will be when all that was submitted has run.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Count {
    copied: u64,
    used: u64,
    /// What `used` is once the last reader of a slot has run.
    free: [u64; SLOTS],
}

/// What a leg waits for and announces; `None` stands for no wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Turn {
    /// The copy waits for this count of `used`, and leaves this count of `copied`.
    copy: (Option<u64>, u64),
    /// The kernels leave this count of `used`.
    used: u64,
}

impl Count {
    /// The next leg that fills a slot.
    fn turn(&mut self, slot: usize) -> Turn {
        let slot = slot % SLOTS;
        let free = self.free[slot];
        self.copied += 1;
        self.used += 1;
        self.free[slot] = self.used;
        Turn { copy: ((free > 0).then_some(free), self.copied), used: self.used }
    }
}

pub(crate) struct Conveyor {
    device: Device,
    copied: Timeline,
    used: Timeline,
    count: Count,
    broken: bool,
}

impl Conveyor {
    pub fn new(device: &Device) -> Result<Conveyor> {
        let (copied, used) = (Timeline::new(device)?, Timeline::new(device)?);
        Ok(Conveyor { device: device.clone(), copied, used, count: Count::default(), broken: false })
    }

    /// Submits legs in order.
    pub fn submit(&mut self, legs: Vec<Leg>) -> Result<Ticket> {
        if self.broken {
            return Err(Error::new(Kind::Other, "streaming ended with an earlier submission that failed"));
        }
        let one_queue = !self.device.limits().copies_aside;
        let (mut copies, mut kernels) = (Vec::new(), Vec::new());
        let mut count = self.count;
        for leg in joined(legs) {
            let mut batch = Batch { commands: leg.commands, ..Batch::default() };
            if let Some(load) = leg.load {
                let turn = count.turn(load.slot);
                let point = |timeline: &Timeline, value| Some(Point { timeline: timeline.clone(), value });
                let wait = turn.copy.0.and_then(|value| point(&self.used, value));
                let copy = Batch { commands: vec![load.copy], wait, signal: point(&self.copied, turn.copy.1) };
                // A queue must not wait for what comes behind in it: on one queue each copy stands right before its kernels.
                if one_queue { &mut kernels } else { &mut copies }.push(copy);
                batch.wait = point(&self.copied, turn.copy.1);
                batch.signal = point(&self.used, turn.used);
            }
            kernels.push(batch);
        }
        if !copies.is_empty() {
            submit_aside(&self.device, &copies)?;
        }
        self.count = count;
        let mut ticket = submit_batches(&self.device, kernels).inspect_err(|_| self.give_up())?;
        ticket.keep(copies);
        Ok(ticket)
    }

    /// Copies were submitted that wait for kernels that were not: lets them run out.
    fn give_up(&mut self) {
        self.broken = true;
        release(&self.device, &self.used, self.count.used);
    }
}

/// Legs that wait for nothing go with those before that do not either.
fn joined(legs: Vec<Leg>) -> Vec<Leg> {
    let mut out: Vec<Leg> = Vec::with_capacity(legs.len());
    for leg in legs {
        match out.last_mut() {
            Some(last) if last.load.is_none() && leg.load.is_none() => last.commands.extend(leg.commands),
            _ => out.push(leg),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_filled_again_once_its_last_reader_is_through() {
        let mut count = Count::default();
        let turns: Vec<Turn> = [0, 1, 0, 1, 0, 0].into_iter().map(|slot| count.turn(slot)).collect();
        let waits: Vec<Option<u64>> = turns.iter().map(|t| t.copy.0).collect();
        assert_eq!(waits, [None, None, Some(1), Some(2), Some(3), Some(5)]);
        assert!(turns.iter().zip(1..).all(|(t, n)| t.copy.1 == n && t.used == n), "{turns:?}");
    }
}
