//! What stands in memory before anything runs. In: weights. Out: weights in place, states of zeros, guards. Promise: with guards, what a
//! kernel writes outside shows, and so does reading what was never written.

use super::{Engine, Progress};
use crate::commands::{Scope, Tape};
use crate::error::{Error, Kind, Result};
use crate::layout::GUARD_WORD;
use crate::transfer::{self, Uploader};
use crate::weights::WeightSource;

impl Engine {
    /// Sets states to zero; at first use also what a run goes by (step, token ids, history), and guards and, with guards, arenas and
    /// ports to NaN.
    pub(super) fn clear(&mut self, first: bool) -> Result<()> {
        let mut tape = Tape::new(&self.device)?;
        tape.barrier(Scope::All, Scope::All);
        let guarded = self.options.guard_bytes > 0;
        if first && guarded {
            for segment in self.segments.iter().chain(self.holding.own()) {
                tape.fill(segment, 0, segment.bytes(), GUARD_WORD);
            }
        } else if first {
            for region in self.layout.scratch() {
                tape.fill(&self.segments[region.segment], region.offset, region.bytes.next_multiple_of(4), 0);
            }
        }
        if first {
            for buffer in [&self.step, &self.tokens, &self.history] {
                tape.fill(buffer, 0, buffer.bytes(), 0);
            }
        }
        tape.barrier(Scope::All, Scope::All);
        for region in &self.layout.states {
            tape.fill(&self.segments[region.segment], region.offset, region.bytes.next_multiple_of(4), 0);
        }
        tape.barrier(Scope::All, Scope::All);
        self.submit(&[tape.end()?])?.wait()
    }

    /// Forgets all states: KV caches and what buckets hand to each other.
    pub fn reset_states(&mut self) -> Result<()> {
        self.clear(false)
    }

    pub(super) fn upload(&mut self, weights: &WeightSource, progress: Progress) -> Result<()> {
        let total: u64 = self.program.tensors.iter().map(|t| t.bytes).sum();
        progress(0, total);
        let mut uploader = Uploader::new(&self.device, self.options.staging, u64::MAX);
        self.holding.upload(&self.program, weights, &mut uploader, &mut |done| progress(done, total))?;
        self.counters.to_device_bytes += uploader.finish()?;
        Ok(())
    }

    /// Looks at the guard bytes around everything. Fails with the first that a kernel wrote over.
    pub fn check_guards(&mut self) -> Result<()> {
        let own = self.layout.guards().into_iter().map(|(what, r)| (what, self.segments[r.segment].clone(), r));
        let held = self.holding.guards().into_iter().map(|(what, buffer, r)| (what, buffer.clone(), r));
        for (what, buffer, region) in own.chain(held).collect::<Vec<_>>() {
            let mut bytes = vec![0u8; region.bytes as usize];
            self.counters.to_host_bytes += region.bytes;
            self.counters.submissions += 1;
            transfer::download(&self.device, &buffer, region.offset, &mut bytes)?;
            let touched = bytes.chunks_exact(4).position(|w| w != GUARD_WORD.to_le_bytes());
            if let Some(word) = touched {
                let what = format!("a kernel wrote outside: guard {what}, byte {} of {}", word * 4, region.bytes);
                return Err(Error::new(Kind::Program, what));
            }
        }
        Ok(())
    }
}
