//! Recording and replaying. In: buckets and what to feed them. Out: submissions. Promise: a bucket is recorded once, at load or at first
//! use, and replayed from then on.

use super::{Engine, Run};
use crate::commands::{Recorded, Scope, Tape};
use crate::conveyor::Leg;
use crate::error::{Error, Kind, Result};
use crate::memory::Region;
use crate::program::Bucket;
use crate::recorder::{Addresses, Part, RecordOptions, RecordedLeg, Recorder, Recording};
use crate::step::Step;
use crate::submit::{self, Ticket};
use crate::tuning::Tuning;
use std::sync::Arc;

impl Engine {
    pub(crate) fn submit(&mut self, commands: &[Arc<Recorded>]) -> Result<Ticket> {
        self.counters.submissions += 1;
        submit::submit(&self.device, commands)
    }

    /// Submits runs in one go, then the barrier that lets the host read.
    pub(crate) fn start(&mut self, runs: &[Run]) -> Result<Ticket> {
        let mut legs = Vec::with_capacity(runs.len() + 1);
        for run in runs {
            if let Some((step, tokens)) = &run.feed {
                legs.push(Leg { load: None, commands: vec![self.feed(step, tokens)?] });
            }
            let mut watching = self.watching(run.bucket, run.part).into_iter();
            let recording = self.recording(run.bucket, run.part)?;
            let (dispatches, moves) = (recording.places.len() as u64, recording.moves);
            let distinct = recording.distinct_bytes;
            let leg = |leg: &RecordedLeg| Leg {
                load: leg.load.clone(),
                commands: std::iter::once(leg.commands.clone()).chain(watching.next()).collect(),
            };
            legs.extend(recording.legs.iter().map(leg));
            self.counters.dispatches += dispatches;
            self.counters.read_in_place_bytes += moves.in_place_bytes;
            self.counters.copied_in_bytes += moves.copied_bytes;
            self.counters.distinct_bytes += distinct;
        }
        self.counters.replays += runs.len() as u64;
        legs.push(Leg { load: None, commands: vec![self.tail.clone()] });
        self.counters.submissions += 1;
        self.conveyor.submit(legs)
    }

    /// Commands that set `Step`, token ids and their part of the history when the queue comes to them.
    pub(super) fn feed(&mut self, step: &Step, tokens: &[u32]) -> Result<Arc<Recorded>> {
        let mut tape = Tape::new(&self.device)?;
        tape.barrier(Scope::All, Scope::All);
        let ids = bytemuck::cast_slice(tokens);
        tape.update(&self.step, 0, bytemuck::bytes_of(step));
        if !tokens.is_empty() {
            tape.update(&self.tokens, 0, ids);
            tape.update(&self.history, u64::from(step.pos) * 4, ids);
        }
        self.counters.to_device_bytes += size_of::<Step>() as u64 + 2 * ids.len() as u64;
        tape.end()
    }

    /// Runs one bucket and waits.
    pub fn run(&mut self, bucket: u32, part: Part) -> Result<()> {
        self.start(&[Run { bucket, part, feed: None }])?.wait()
    }

    /// Records what a decoder runs, so that nothing is recorded between tokens; other buckets are recorded at first use.
    pub(super) fn record_all(&mut self) -> Result<()> {
        let Some(decoder) = &self.program.decoder else { return Ok(()) };
        let (prefill, decode) = (decoder.prefill, decoder.decode);
        let picture = decoder.pictures.map(|p| (p.bucket, Part::Whole));
        let parts = [Part::Body, Part::Whole, Part::Drawn];
        let runs: Vec<_> = [prefill, decode].into_iter().flat_map(|b| parts.map(|p| (b, p))).chain(picture).collect();
        runs.into_iter().try_for_each(|(bucket, part)| self.recording(bucket, part).map(|_| ()))
    }

    /// The recording of a bucket, made at first use.
    pub(crate) fn recording(&mut self, bucket: u32, part: Part) -> Result<&Recording> {
        if !self.recordings.contains_key(&(bucket, part)) {
            let made = self.record(bucket, part)?;
            self.counters.records += 1;
            self.recordings.insert((bucket, part), made);
        }
        let missing = || Error::new(Kind::Other, "a recording vanished");
        self.recordings.get(&(bucket, part)).ok_or_else(missing)
    }

    fn record(&self, index: u32, part: Part) -> Result<Recording> {
        self.recorder(index, &self.tuning, |recorder, bucket, addresses| recorder.record(bucket, part, addresses))
    }

    /// Hands a bucket to what records it.
    pub(super) fn recorder<F>(&self, index: u32, tuning: &Tuning, record: F) -> Result<Recording>
    where
        F: FnOnce(&Recorder, &Bucket, &Addresses) -> Result<Recording>,
    {
        let bucket = self.bucket(index)?;
        let list = |regions: &[Region]| regions.iter().map(|r| self.address(r)).collect::<Vec<u64>>();
        let ports = &self.layout.ports[index as usize];
        let addresses = Addresses {
            holding: &self.holding,
            states: &list(&self.layout.states),
            inputs: &list(&ports.inputs),
            outputs: &list(&ports.outputs),
            arena: self.address(&self.layout.arena),
            step: self.step.address(),
            tokens: self.tokens.address(),
            logits: self.address(&self.layout.logits),
            ring: self.ring.address(),
            history: self.history.address(),
        };
        let Engine { device, program, pipelines, .. } = self;
        record(&Recorder { device, program, pipelines, tuning, options: self.options.record }, bucket, &addresses)
    }

    fn address(&self, region: &Region) -> u64 {
        self.segments[region.segment].address() + region.offset
    }

    /// Changes how buckets are recorded; they are recorded anew at their next run.
    pub fn set_record_options(&mut self, record: RecordOptions) {
        if record != self.options.record {
            self.options.record = record;
            self.recordings.clear();
        }
    }
}
