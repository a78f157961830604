//! Variants of kernels against each other, on the device, with the weights that they read. In: an engine before its first run. Out: the
//! fastest of each, kept for later starts. Promise: it takes no longer than `MOST`; a kernel that there was no time for is the program's
//! own, and measured at a later start; states are as before.

use super::Engine;
use crate::error::Result;
use crate::kept::Choices;
use crate::program::Variant;
use crate::program::places::{Place, places};
use crate::recorder::Part;
use crate::residency::Home;
use crate::step::Step;
use crate::tuning::{Tuning, variants};
use bytemuck::Zeroable;
use std::time::{Duration, Instant};

/// The longest that a start waits for measurements.
const MOST: Duration = Duration::from_millis(1500);

/// Dispatches of a measurement: all layers' at most, so that weights come from memory as in a run.
const DISPATCHES: usize = 32;

/// Measurements of a kernel and each of its variants, in turns; the shortest counts.
const ROUNDS: usize = 3;

/// A variant is taken where it needs at most this part of the time.
const CLEARLY: f64 = 0.97;

impl Engine {
    /// Measures what is not known yet.
    pub(super) fn tune(&mut self) -> Result<()> {
        let device = self.device.clone();
        let Some(kept) = &device.inner.kept else { return Ok(()) };
        let open = self.tuning.open().to_vec();
        if open.is_empty()
            || device.limits().tick_ns == 0.0
            || self.holding.residency.homes.iter().any(|home| *home != Home::Resident)
        {
            return Ok(());
        }
        let (begun, mut found) = (Instant::now(), Choices::default());
        let step = Step { rows: 1, ..Step::zeroed() };
        let feed = self.feed(&step, &[])?;
        self.submit(&[feed])?.wait()?;
        for kernel in open {
            let before = begun.elapsed();
            let Some(best) = self.fastest(kernel)? else { continue };
            found.insert(self.program.kernels[kernel as usize].name.to_string(), best);
            // The next is likely to take as long as this one.
            if begun.elapsed() * 2 - before > MOST {
                break;
            }
        }
        kept.choose(found);
        self.tuning = Tuning::new(&self.program, Some(&kept.choices()));
        self.clear(false)
    }

    /// The name of the fastest form of a kernel; none where no bucket runs it.
    fn fastest(&mut self, kernel: u32) -> Result<Option<String>> {
        let Some((bucket, uses)) = self.uses(kernel) else { return Ok(None) };
        let blocks = &self.program.buckets[bucket as usize].blocks;
        let own = &blocks[uses[0].block as usize].dispatches[uses[0].dispatch as usize];
        let mut forms = vec![Variant { of: kernel, by: kernel, grid: own.grid }];
        forms.extend(variants(&self.program, kernel).cloned());
        let mut times = vec![f64::INFINITY; forms.len()];
        for _ in 0..ROUNDS {
            for (form, time) in forms.iter().zip(&mut times) {
                *time = time.min(self.time(bucket, &uses, form)?);
            }
        }
        let mut best = 0;
        for i in 1..forms.len() {
            if times[i] < times[best] && times[i] < CLEARLY * times[0] {
                best = i;
            }
        }
        Ok(Some(self.program.kernels[forms[best].by as usize].name.to_string()))
    }

    /// The dispatches of a kernel in the first bucket that runs it.
    fn uses(&self, kernel: u32) -> Option<(u32, Vec<Place>)> {
        self.program.buckets.iter().enumerate().find_map(|(i, bucket)| {
            let of = |p: &Place| bucket.blocks[p.block as usize].dispatches[p.dispatch as usize].kernel == kernel;
            let uses: Vec<Place> = places(bucket, Part::Whole).into_iter().filter(of).take(DISPATCHES).collect();
            (!uses.is_empty()).then_some((i as u32, uses))
        })
    }

    /// Nanoseconds of those dispatches in one form, a barrier after each.
    fn time(&mut self, bucket: u32, uses: &[Place], form: &Variant) -> Result<f64> {
        let mut tuning = Tuning::default();
        tuning.choose(form);
        let made =
            self.recorder(bucket, &tuning, |recorder, bucket, addresses| recorder.repeat(bucket, uses, addresses))?;
        let commands: Vec<_> = made.legs.iter().map(|leg| leg.commands.clone()).collect();
        self.submit(&commands)?.wait()?;
        Ok(made.ends_ns(&self.device)?.last().copied().unwrap_or(f64::INFINITY))
    }
}
