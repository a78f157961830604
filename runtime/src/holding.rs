//! Weights in memory. In: homes of tensors, and their source. Out: segments on the device and with the host, the ring, and an address for
//! every tensor. Promise: what `info` plans is what is allocated, and no tensor spans two segments.

use crate::commands::{Recorded, Tape};
use crate::device::{Device, Limits};
use crate::error::{Error, Kind, Result};
use crate::ledger::Purpose;
use crate::memory::{Buffer, Region, guards_around, place};
use crate::pages::{self, Pages};
use crate::program::Program;
use crate::residency::{Home, Residency, SLOTS, Stage};
use crate::transfer::Uploader;
use crate::weights::WeightSource;
use std::collections::HashMap;
use std::sync::Arc;

/// Where the bytes of a segment come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Origin {
    /// Allocated and filled.
    Own(Purpose),
    /// Pages of the mapped pool from that address on, used where they are.
    Pages(usize),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Segment {
    bytes: u64,
    origin: Origin,
}

/// Segments before anything is allocated.
#[derive(Clone, Debug)]
pub(crate) struct HoldingPlan {
    segments: Vec<Segment>,
    /// Of every tensor, in pool order.
    regions: Vec<Region>,
    /// Slots of the ring; none where nothing is streamed.
    slots: Vec<Region>,
    guard: u64,
}

impl HoldingPlan {
    /// `pages` are the pool's own, if host weights are to be used where they are.
    pub fn new(
        program: &Program,
        limits: &Limits,
        guard: u64,
        residency: &Residency,
        pages: Option<&Pages>,
    ) -> Result<HoldingPlan> {
        let mut plan = HoldingPlan {
            segments: Vec::new(),
            regions: vec![Region::default(); program.tensors.len()],
            slots: Vec::new(),
            guard,
        };
        let at_home = |resident: bool| {
            let here = move |i: &usize| (residency.homes[*i] == Home::Resident) == resident;
            (0..program.tensors.len()).filter(here).collect::<Vec<usize>>()
        };
        plan.allocate(program, limits, &at_home(true), Purpose::Device)?;
        let host = at_home(false);
        let in_place = pages.and_then(|p| p.segments(&host, limits.import_align, limits.max_buffer_bytes));
        match in_place {
            Some((segments, regions)) => {
                let first = plan.segments.len();
                for (&i, region) in host.iter().zip(regions) {
                    plan.regions[i] = Region { segment: region.segment + first, ..region };
                }
                let own = |range: &std::ops::Range<usize>| Segment {
                    bytes: range.len() as u64,
                    origin: Origin::Pages(range.start),
                };
                plan.segments.extend(segments.iter().map(own));
            }
            None => plan.allocate(program, limits, &host, Purpose::Host)?,
        }
        if residency.slot_bytes > 0 {
            let sizes = [residency.slot_bytes; SLOTS];
            let (slots, ring) = place(&sizes, guard, limits.max_buffer_bytes)
                .map_err(|_| Error::new(Kind::Unfit, "a slot of the ring is larger than a buffer of the device"))?;
            let first = plan.segments.len();
            plan.slots = slots.into_iter().map(|r| Region { segment: r.segment + first, ..r }).collect();
            let segment = |bytes| Segment { bytes, origin: Origin::Own(Purpose::Ring) };
            plan.segments.extend(ring.into_iter().map(segment));
        }
        Ok(plan)
    }

    /// Adds segments of one purpose for some of the tensors.
    fn allocate(&mut self, program: &Program, limits: &Limits, tensors: &[usize], purpose: Purpose) -> Result<()> {
        let sizes: Vec<u64> = tensors.iter().map(|&i| program.tensors[i].bytes).collect();
        let (regions, segments) = place(&sizes, self.guard, limits.max_buffer_bytes).map_err(|i| {
            let (name, bytes, limit) = (&program.tensors[tensors[i]].name, sizes[i], limits.max_buffer_bytes);
            Error::new(Kind::Unfit, format!("'{name}' takes {bytes} bytes, the device allows {limit} a buffer"))
        })?;
        let first = self.segments.len();
        for (&i, region) in tensors.iter().zip(regions) {
            self.regions[i] = Region { segment: region.segment + first, ..region };
        }
        self.segments.extend(segments.into_iter().map(|bytes| Segment { bytes, origin: Origin::Own(purpose) }));
        Ok(())
    }

    /// Segments of a purpose, and their bytes.
    pub fn own(&self, purpose: Purpose) -> (usize, u64) {
        let own = || self.segments.iter().filter(|s| s.origin == Origin::Own(purpose));
        (own().count(), own().map(|s| s.bytes).sum())
    }
}

impl HoldingPlan {
    /// Of tensors on the device.
    pub fn resident_bytes(&self) -> u64 {
        let device = Origin::Own(Purpose::Device);
        self.regions.iter().filter(|r| self.segments[r.segment].origin == device).map(|r| r.bytes).sum()
    }
}

/// All weights of a program, in place.
pub(crate) struct Holding {
    device: Device,
    plan: HoldingPlan,
    pub residency: Residency,
    segments: Vec<Buffer>,
}

impl Holding {
    /// Allocates. Host weights are used in the pool's own pages where the driver takes these, else copied.
    pub fn new(
        device: &Device,
        program: &Program,
        limits: &Limits,
        guard: u64,
        residency: Residency,
        weights: &WeightSource,
    ) -> Result<Holding> {
        let pages = weights.pages().filter(|_| Holding::wants_pages(weights, limits, guard));
        let plan = HoldingPlan::new(program, limits, guard, &residency, pages.as_ref())?;
        let made = |plan: &HoldingPlan| {
            let one = |s: &Segment| match (s.origin, &pages) {
                (Origin::Pages(start), Some(pages)) => pages::import(device, pages, start, s.bytes),
                (Origin::Own(purpose), _) => Buffer::new(device, s.bytes, purpose, purpose.what()),
                (Origin::Pages(_), None) => Err(Error::new(Kind::Other, "pages without a pool")),
            };
            plan.segments.iter().map(one).collect::<Result<Vec<Buffer>>>()
        };
        let in_place = plan.segments.iter().any(|s| matches!(s.origin, Origin::Pages(_)));
        let (plan, segments) = match made(&plan) {
            Ok(segments) => (plan, segments),
            Err(_) if in_place => {
                let copied = HoldingPlan::new(program, limits, guard, &residency, None)?;
                let segments = made(&copied)?;
                (copied, segments)
            }
            Err(error) => return Err(error),
        };
        Ok(Holding { device: device.clone(), plan, residency, segments })
    }

    /// Whether host weights are to be the pool's own pages: the driver may still refuse these. Nothing can stand guard between tensors
    /// of a file.
    pub fn wants_pages(weights: &WeightSource, limits: &Limits, guard: u64) -> bool {
        guard == 0 && limits.import_align > 0 && matches!(weights, WeightSource::Pool(_))
    }

    /// Everything that is allocated for weights, to be filled with guards.
    pub fn own(&self) -> impl Iterator<Item = &Buffer> {
        let all = self.plan.segments.iter().zip(&self.segments);
        all.filter(|(s, _)| matches!(s.origin, Origin::Own(_))).map(|(_, buffer)| buffer)
    }

    /// Whether host weights are the pool's own pages.
    pub fn in_pages(&self) -> bool {
        self.plan.segments.iter().any(|s| matches!(s.origin, Origin::Pages(_)))
    }

    /// Hands the bytes of every tensor to where it lives, unless they are there.
    pub fn upload(
        &self,
        program: &Program,
        weights: &WeightSource,
        uploader: &mut Uploader,
        told: &mut dyn FnMut(u64),
    ) -> Result<()> {
        let mut done = 0;
        for (i, region) in self.plan.regions.iter().enumerate() {
            if !matches!(self.plan.segments[region.segment].origin, Origin::Pages(_)) {
                let mut at = region.offset;
                let buffer = &self.segments[region.segment];
                weights.read(program, i, &mut |piece| {
                    uploader.write(buffer, at, piece)?;
                    at += piece.len() as u64;
                    told(done + at - region.offset);
                    Ok(())
                })?;
            }
            done += region.bytes;
            told(done);
        }
        Ok(())
    }

    /// The address of a tensor where it lives, with the host if it is streamed.
    pub fn address(&self, tensor: usize) -> Option<u64> {
        let region = self.plan.regions.get(tensor)?;
        Some(self.segments[region.segment].address() + region.offset)
    }

    /// Where a tensor lies that was copied into host memory.
    pub fn host(&self, tensor: usize) -> Option<(&Buffer, Region)> {
        let region = *self.plan.regions.get(tensor)?;
        let copied = self.plan.segments[region.segment].origin == Origin::Own(Purpose::Host);
        copied.then_some((&self.segments[region.segment], region))
    }

    /// Addresses of what a stage loads.
    pub fn loaded(&self, stage: &Stage) -> HashMap<usize, u64> {
        let Some(slot) = self.plan.slots.get(stage.slot) else { return HashMap::new() };
        let base = self.segments[slot.segment].address() + slot.offset;
        stage.load.iter().map(|&(tensor, offset)| (tensor, base + offset)).collect()
    }

    /// Commands for the copy queue that fill a stage's slot; none where it loads nothing.
    pub fn load(&self, stage: &Stage) -> Result<Option<Arc<Recorded>>> {
        let Some(slot) = self.plan.slots.get(stage.slot).filter(|_| !stage.load.is_empty()) else { return Ok(None) };
        let mut tape = Tape::aside(&self.device)?;
        for (segment, pieces) in self.pieces(stage, slot) {
            tape.copy_all(&self.segments[segment], &self.segments[slot.segment], &pieces);
        }
        tape.end().map(Some)
    }

    /// Source segments and (from, to, bytes) of copies; tensors that lie alike in both are one copy.
    fn pieces(&self, stage: &Stage, slot: &Region) -> Vec<(usize, Vec<[u64; 3]>)> {
        let mut out: Vec<(usize, Vec<[u64; 3]>)> = Vec::new();
        for &(tensor, offset) in &stage.load {
            let region = self.plan.regions[tensor];
            let (from, to) = (region.offset, slot.offset + offset);
            let index = out.iter().position(|(segment, _)| *segment == region.segment);
            let index = index.unwrap_or_else(|| {
                out.push((region.segment, Vec::new()));
                out.len() - 1
            });
            let pieces = &mut out[index].1;
            match pieces.last_mut() {
                // What lies between them is padding, less than an alignment.
                Some([f, t, n])
                    if from > *f && to > *t && from - *f == to - *t && from - *f - *n < crate::memory::ALIGN =>
                {
                    *n = from - *f + region.bytes;
                }
                _ => pieces.push([from, to, region.bytes]),
            }
        }
        out
    }

    /// Every guard with its name and buffer.
    pub fn guards(&self) -> Vec<(String, &Buffer, Region)> {
        let tensors = self.plan.regions.iter().enumerate().map(|(i, r)| (format!("weight {i}"), r));
        let slots = self.plan.slots.iter().enumerate().map(|(i, r)| (format!("slot {i}"), r));
        let around = |(what, region): (String, &Region)| guards_around(what, region, self.plan.guard);
        tensors.chain(slots).flat_map(around).map(|(what, r)| (what, &self.segments[r.segment], r)).collect()
    }
}
