//! A program on a device. In: program, SPIR-V, weights. Out: something that runs buckets. Promise: everything is checked, placed and
//! uploaded once; a run submits recorded commands and nothing else.

mod fill;
mod io;
mod run;
mod seen;
mod tune;

pub use seen::Seen;

use crate::check::check;
use crate::commands::{Recorded, Scope, Tape};
use crate::conveyor::Conveyor;
use crate::device::Device;
use crate::error::{Error, Kind, Result};
use crate::holding::Holding;
use crate::layout::{Layout, history_bytes, memory_plan, ring_bytes, token_bytes};
use crate::memory::{Buffer, Purpose};
use crate::program::{Bucket, Program, Tensor};
use crate::recorder::{Code, Part, Pipelines, RecordOptions, Recording};
use crate::residency::{Home, Moves, Offload, Residency, Wish};
use crate::step::Step;
use crate::submit::drain;
use crate::tuning::Tuning;
use crate::weights::WeightSource;
use seen::Watch;
use std::collections::HashMap;
use std::sync::Arc;

/// How an engine is set up.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    pub record: RecordOptions,
    /// Bytes of guard on both sides of every weight, state, arena and port, filled with NaN; see [`Engine::check_guards`]. With
    /// guards the arenas and outputs are filled too, so that reading what was never written shows.
    pub guard_bytes: u64,
    /// Most bytes of a segment, to see weights spread over several; zero is what the device allows.
    pub segment_bytes: u64,
    /// Uploads through staging buffers even where memory is mapped.
    pub staging: bool,
    /// Leaves matrix units alone: every kernel runs in the form for any device.
    pub no_matrix: bool,
    /// Bytes of weights that may lie in device memory; none is all of them.
    pub gpu_budget: Option<u64>,
    /// What becomes of the others.
    pub offload: Offload,
    /// Instead of a budget: at most so many bytes of weights that a decode step reads in the host's memory.
    pub away: Option<u64>,
    /// Weights with the host are copies, even where the driver would take the pool's own pages.
    pub host_copies: bool,
}

/// What crossed the bus and what was submitted, since the engine was made; and where weights are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    pub submissions: u64,
    /// Buckets run.
    pub replays: u64,
    /// Buckets recorded after loading.
    pub records: u64,
    pub dispatches: u64,
    pub to_device_bytes: u64,
    pub to_host_bytes: u64,
    /// Sizes of weights by home; these stand, the others add up.
    pub resident_bytes: u64,
    pub mapped_bytes: u64,
    pub streamed_bytes: u64,
    /// What is resident beyond the budget: zero.
    pub over_budget_bytes: u64,
    /// Weights that kernels read from host memory, each byte once a dispatch.
    pub read_in_place_bytes: u64,
    /// Weights copied to the device for the runs that use them.
    pub copied_in_bytes: u64,
    /// Weights that runs took from host memory either way, each byte once a run.
    pub distinct_bytes: u64,
}

/// Where a tensor of the pool is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Extent {
    pub name: String,
    /// As kernels see it; none for a tensor that is streamed.
    pub address: Option<u64>,
    pub bytes: u64,
    pub home: Home,
}

impl Counters {
    /// What came since `before`; sizes as they are now.
    pub fn since(&self, before: &Counters) -> Counters {
        self.sums(before, u64::wrapping_sub)
    }

    /// Two stretches together, the later one's sizes.
    pub fn and(&self, before: &Counters) -> Counters {
        self.sums(before, u64::wrapping_add)
    }

    fn sums(&self, other: &Counters, of: fn(u64, u64) -> u64) -> Counters {
        Counters {
            submissions: of(self.submissions, other.submissions),
            replays: of(self.replays, other.replays),
            records: of(self.records, other.records),
            dispatches: of(self.dispatches, other.dispatches),
            to_device_bytes: of(self.to_device_bytes, other.to_device_bytes),
            to_host_bytes: of(self.to_host_bytes, other.to_host_bytes),
            read_in_place_bytes: of(self.read_in_place_bytes, other.read_in_place_bytes),
            copied_in_bytes: of(self.copied_in_bytes, other.copied_in_bytes),
            distinct_bytes: of(self.distinct_bytes, other.distinct_bytes),
            ..*self
        }
    }
}

/// Called while weights are checked and uploaded: bytes done, bytes to do in all.
pub type Progress<'a> = &'a mut dyn FnMut(u64, u64);

/// One run of a bucket within a submission.
#[derive(Clone, Debug)]
pub struct Run {
    pub bucket: u32,
    pub part: Part,
    /// `Step` and token ids to set first, in the order of the queue; none leaves what the run before left.
    pub feed: Option<(Step, Vec<u32>)>,
}

pub struct Engine {
    recordings: HashMap<(u32, Part), Recording>,
    tail: Arc<Recorded>,
    pub(crate) device: Device,
    pub(crate) program: Program,
    pipelines: Pipelines,
    pub(crate) tuning: Tuning,
    layout: Layout,
    segments: Vec<Buffer>,
    holding: Holding,
    conveyor: Conveyor,
    step: Buffer,
    tokens: Buffer,
    ring: Buffer,
    history: Buffer,
    options: Options,
    watch: Option<Watch>,
    pub(crate) counters: Counters,
}

impl Engine {
    /// Checks, compiles, allocates, uploads.
    pub fn new(
        device: &Device,
        program: Program,
        code: &[Code],
        weights: &WeightSource,
        options: Options,
        progress: Progress,
    ) -> Result<Engine> {
        check(&program, device.limits())?;
        let bytes: u64 = program.tensors.iter().map(|t| t.bytes).sum();
        // Checking and uploading each go over all bytes once.
        let checking = if weights.is_checked_in_full() { bytes } else { 0 };
        weights.check(&program, &mut |done, _| progress(done, checking + bytes))?;
        let mut limits = device.limits().clone();
        if options.segment_bytes > 0 {
            limits.max_buffer_bytes = limits.max_buffer_bytes.min(options.segment_bytes);
        }
        if options.host_copies {
            limits.import_align = 0;
        }
        let wish = Wish { budget: options.gpu_budget, offload: options.offload, away: options.away };
        let residency = Residency::plan(&program, wish, &limits)?;
        let in_pages = Holding::wants_pages(weights, &limits, options.guard_bytes);
        memory_plan(&program, &limits, &residency)?.fits(device, in_pages)?;
        let layout = Layout::new(&program, &limits, options.guard_bytes)?;
        let known = device.inner.kept.as_ref().map(|kept| kept.choices());
        let tuning = Tuning::new(&program, known.as_ref());
        let matrix = device.limits().matrix && !options.no_matrix;
        let pipelines = Pipelines::new(device, &program, code, (matrix, &tuning))?;
        let holding = Holding::new(device, &program, &limits, options.guard_bytes, residency, weights)?;
        let segment = |&bytes: &u64| Buffer::new(device, bytes, Purpose::Device, "states and activations");
        let segments: Vec<Buffer> = layout.segments.iter().map(segment).collect::<Result<_>>()?;
        let mut tape = Tape::new(device)?;
        tape.barrier(Scope::All, Scope::Host);
        let mut engine = Engine {
            recordings: HashMap::new(),
            tail: tape.end()?,
            step: Buffer::new(device, size_of::<Step>() as u64, Purpose::Shared, "the step")?,
            tokens: Buffer::new(device, token_bytes(&program), Purpose::Shared, "token ids")?,
            ring: Buffer::new(device, ring_bytes(), Purpose::Readback, "sampled tokens")?,
            history: Buffer::new(device, history_bytes(&program), Purpose::Device, "the context's tokens")?,
            device: device.clone(),
            program,
            pipelines,
            tuning,
            layout,
            segments,
            holding,
            conveyor: Conveyor::new(device)?,
            options,
            watch: None,
            counters: Counters::default(),
        };
        engine.count_homes()?;
        engine.clear(true)?;
        engine.upload(weights, &mut |done, total| progress(checking + done, checking + total))?;
        engine.tune()?;
        engine.record_all()?;
        device.keep();
        engine.counters.records = 0;
        Ok(engine)
    }

    pub fn program(&self) -> &Program {
        &self.program
    }

    pub fn device(&self) -> &Device {
        &self.device
    }

    pub fn counters(&self) -> Counters {
        self.counters
    }

    fn count_homes(&mut self) -> Result<()> {
        let residency = &self.holding.residency;
        let (standing, over) = (residency.standing(&self.program), residency.over_budget_bytes(&self.program));
        if over > 0 {
            return Err(Error::new(Kind::Other, format!("resident weights go {over} bytes beyond the budget")));
        }
        self.counters = Counters {
            resident_bytes: standing.resident_bytes,
            mapped_bytes: standing.mapped_bytes,
            streamed_bytes: standing.streamed_bytes,
            over_budget_bytes: over,
            ..self.counters
        };
        Ok(())
    }

    /// Where every tensor of the pool is, in its order.
    pub fn weight_extents(&self) -> Vec<Extent> {
        let all = self.program.tensors.iter().zip(&self.holding.residency.homes).enumerate();
        let extent = |(i, (tensor, &home)): (usize, (&Tensor, &Home))| Extent {
            name: tensor.name.to_string(),
            address: self.holding.address(i).filter(|_| home != Home::Streamed),
            bytes: tensor.bytes,
            home,
        };
        all.map(extent).collect()
    }

    /// What a run moves between host and device for its weights.
    pub fn moves(&self, bucket: u32, part: Part) -> Result<Moves> {
        Ok(self.holding.residency.moves(&self.program, self.bucket(bucket)?, part))
    }

    /// Whether weights with the host are the pool's own pages; else they are a copy.
    pub fn uses_pages(&self) -> bool {
        self.holding.in_pages()
    }

    /// Index of a bucket by name.
    pub fn bucket_index(&self, name: &str) -> Result<u32> {
        let names = || self.program.buckets.iter().map(|b| b.name.as_ref()).collect::<Vec<_>>().join(", ");
        let found = self.program.buckets.iter().position(|b| b.name == name);
        found.map(|i| i as u32).ok_or_else(|| {
            Error::new(Kind::Usage, format!("there is no bucket '{name}'")).hint(format!("have {}", names()))
        })
    }

    pub(crate) fn bucket(&self, index: u32) -> Result<&Bucket> {
        let missing = || Error::new(Kind::Usage, format!("there is no bucket {index}"));
        self.program.buckets.get(index as usize).ok_or_else(missing)
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // Submissions may be under way whose tickets others hold; they reach our buffers by address alone.
        drain(&self.device);
    }
}
