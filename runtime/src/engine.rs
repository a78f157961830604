//! A program on a device. In: program, SPIR-V, weights. Out: something that runs buckets. Promise: everything is checked, placed and
//! uploaded once; a run submits recorded commands and nothing else.

use crate::check::check;
use crate::commands::{self, Recorded, Scope, Tape, Ticket};
use crate::device::Device;
use crate::error::{Error, Kind, Result};
use crate::layout::{GUARD_WORD, Layout, Slab, history_bytes, ring_bytes, token_bytes};
use crate::memory::{Buffer, Purpose, Region};
use crate::program::{Bucket, Program, Tensor};
use crate::recorder::{Addresses, Code, Part, Pipelines, RecordOptions, Recorder, Recording};
use crate::residency::{Home, Offload, Residency};
use crate::step::{RING, Step};
use crate::transfer::{self, Uploader};
use crate::weights::WeightSource;
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
    layout: Layout,
    slabs: Vec<Buffer>,
    step: Buffer,
    tokens: Buffer,
    ring: Buffer,
    history: Buffer,
    options: Options,
    residency: Residency,
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
        let residency = Residency::plan(&program, options.gpu_budget, options.offload)?;
        let layout = Layout::new(&program, &limits, options.guard_bytes, &residency)?;
        layout.fits(device)?;
        let pipelines = Pipelines::new(device, &program, code, device.limits().matrix && !options.no_matrix)?;
        let slab = |s: &Slab| Buffer::new(device, s.bytes, s.purpose, s.what);
        let slabs: Vec<Buffer> = layout.slabs.iter().map(slab).collect::<Result<_>>()?;
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
            layout,
            slabs,
            options,
            residency,
            counters: Counters::default(),
        };
        engine.count_homes();
        engine.clear(true)?;
        engine.upload(weights, &mut |done, total| progress(checking + done, checking + total))?;
        engine.record_all()?;
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

    fn count_homes(&mut self) {
        let standing = self.residency.standing(&self.program);
        self.counters = Counters {
            resident_bytes: standing.resident_bytes,
            mapped_bytes: standing.mapped_bytes,
            streamed_bytes: standing.streamed_bytes,
            over_budget_bytes: self.residency.over_budget_bytes(&self.program),
            ..self.counters
        };
    }

    /// Where every tensor of the pool is, in its order.
    pub fn weight_extents(&self) -> Vec<Extent> {
        let all = self.program.tensors.iter().zip(&self.residency.homes).zip(&self.layout.weights);
        let extent = |((tensor, &home), region): ((&Tensor, &Home), &Region)| Extent {
            name: tensor.name.to_string(),
            address: (home != Home::Streamed).then(|| self.address(region)),
            bytes: tensor.bytes,
            home,
        };
        all.map(extent).collect()
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

    /// Sets states to zero; at first use also guards and, with guards, arenas and ports to NaN.
    fn clear(&mut self, first: bool) -> Result<()> {
        let mut tape = Tape::new(&self.device)?;
        tape.barrier(Scope::All, Scope::All);
        let guarded = self.options.guard_bytes > 0;
        if first && guarded {
            for slab in &self.slabs {
                tape.fill(slab, 0, slab.bytes(), GUARD_WORD);
            }
        } else if first {
            for region in self.layout.scratch() {
                tape.fill(&self.slabs[region.slab], region.offset, region.bytes.next_multiple_of(4), 0);
            }
        }
        tape.barrier(Scope::All, Scope::All);
        for region in &self.layout.states {
            tape.fill(&self.slabs[region.slab], region.offset, region.bytes.next_multiple_of(4), 0);
        }
        tape.barrier(Scope::All, Scope::All);
        self.submit(&[tape.end()?])?.wait()
    }

    /// Forgets all states: KV caches and what buckets hand to each other.
    pub fn reset_states(&mut self) -> Result<()> {
        self.clear(false)
    }

    fn upload(&mut self, weights: &WeightSource, progress: Progress) -> Result<()> {
        let total: u64 = self.program.tensors.iter().map(|t| t.bytes).sum();
        let mut uploader = Uploader::new(&self.device, self.options.staging, u64::MAX);
        progress(0, total);
        for (i, region) in self.layout.weights.iter().enumerate() {
            let slab = &self.slabs[region.slab];
            let mut at = region.offset;
            weights.read(&self.program, i, &mut |piece| {
                uploader.write(slab, at, piece)?;
                at += piece.len() as u64;
                progress(uploader.bytes, total);
                Ok(())
            })?;
        }
        self.counters.to_device_bytes += uploader.finish()?;
        Ok(())
    }

    pub(crate) fn submit(&mut self, commands: &[Arc<Recorded>]) -> Result<Ticket> {
        self.counters.submissions += 1;
        commands::submit(&self.device, commands)
    }

    /// Submits runs in one go, then the barrier that lets the host read.
    pub(crate) fn start(&mut self, runs: &[Run]) -> Result<Ticket> {
        let mut commands = Vec::with_capacity(runs.len() + 1);
        for run in runs {
            if let Some((step, tokens)) = &run.feed {
                commands.push(self.feed(step, tokens)?);
            }
            let recording = self.recording(run.bucket, run.part)?;
            let (dispatches, in_place) = (recording.places.len() as u64, recording.in_place_bytes);
            commands.push(recording.commands.clone());
            self.counters.dispatches += dispatches;
            self.counters.read_in_place_bytes += in_place;
        }
        self.counters.replays += runs.len() as u64;
        commands.push(self.tail.clone());
        self.submit(&commands)
    }

    /// Commands that set `Step`, token ids and their part of the history when the queue comes to them.
    fn feed(&mut self, step: &Step, tokens: &[u32]) -> Result<Arc<Recorded>> {
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
    fn record_all(&mut self) -> Result<()> {
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
        let bucket = self.bucket(index)?;
        let list = |regions: &[Region]| regions.iter().map(|r| self.address(r)).collect::<Vec<u64>>();
        let ports = &self.layout.ports[index as usize];
        let addresses = Addresses {
            weights: &list(&self.layout.weights),
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
        let Engine { device, program, pipelines, residency, .. } = self;
        let recorder = Recorder { device, program, pipelines, options: self.options.record };
        let mut recording = recorder.record(bucket, part, &addresses)?;
        recording.in_place_bytes = residency.in_place_bytes(program, bucket, part);
        Ok(recording)
    }

    fn address(&self, region: &Region) -> u64 {
        self.slabs[region.slab].address() + region.offset
    }

    /// Changes how buckets are recorded; they are recorded anew at their next run.
    pub fn set_record_options(&mut self, record: RecordOptions) {
        if record != self.options.record {
            self.options.record = record;
            self.recordings.clear();
        }
    }

    /// Sets the `Step` buffer. Nothing may be running.
    pub fn set_step(&mut self, step: &Step) -> Result<()> {
        self.counters.to_device_bytes += size_of::<Step>() as u64;
        self.step.write(0, bytemuck::bytes_of(step))
    }

    /// Reads the `Step` buffer. Nothing may be running.
    pub fn step(&mut self) -> Result<Step> {
        let mut step: Step = bytemuck::Zeroable::zeroed();
        self.counters.to_host_bytes += size_of::<Step>() as u64;
        self.step.read(0, bytemuck::bytes_of_mut(&mut step))?;
        Ok(step)
    }

    /// `pos`, `rows`, `done` and `produced` of the `Step` buffer. Nothing may be running.
    pub fn progress(&mut self) -> Result<[u32; 4]> {
        let mut words = [0; 4];
        self.counters.to_host_bytes += size_of_val(&words) as u64;
        self.step.read(0, bytemuck::bytes_of_mut(&mut words))?;
        Ok(words)
    }

    /// Sets the token ids of the next run. Nothing may be running.
    pub fn set_tokens(&mut self, tokens: &[u32]) -> Result<()> {
        self.counters.to_device_bytes += tokens.len() as u64 * 4;
        self.tokens.write(0, bytemuck::cast_slice(tokens))
    }

    /// Ring entries `first..first + count`, written by runs that have finished.
    pub fn ring_range(&mut self, first: u32, count: u32) -> Result<Vec<u32>> {
        let mut out = vec![0u32; count as usize];
        self.counters.to_host_bytes += u64::from(count) * 4;
        let mut at = first % RING;
        for piece in pieces(&mut out, at) {
            self.ring.read(u64::from(at) * 4, bytemuck::cast_slice_mut(piece))?;
            at = 0;
        }
        Ok(out)
    }

    /// Entry `index % RING` of the ring.
    pub fn ring(&mut self, index: u32) -> Result<u32> {
        self.ring_range(index, 1).map(|tokens| tokens[0])
    }

    /// The logits that the last `Head` left.
    pub fn logits(&mut self) -> Result<Vec<f32>> {
        let mut out = vec![0f32; (self.layout.logits.bytes / 4) as usize];
        let region = self.layout.logits;
        self.download(&region, 0, bytemuck::cast_slice_mut(&mut out))?;
        Ok(out)
    }

    /// Bytes of a state, from its beginning.
    pub fn read_state(&mut self, index: u32) -> Result<Vec<u8>> {
        let missing = || Error::new(Kind::Usage, format!("there is no state {index}"));
        let region = *self.layout.states.get(index as usize).ok_or_else(missing)?;
        let mut out = vec![0u8; region.bytes as usize];
        self.download(&region, 0, &mut out)?;
        Ok(out)
    }

    /// Sets a state's bytes, from its beginning.
    pub fn write_state(&mut self, index: u32, bytes: &[u8]) -> Result<()> {
        let missing = || Error::new(Kind::Usage, format!("there is no state {index}"));
        let region = *self.layout.states.get(index as usize).ok_or_else(missing)?;
        if bytes.len() as u64 > region.bytes {
            return Err(Error::new(Kind::Usage, format!("{} bytes for a state of {}", bytes.len(), region.bytes)));
        }
        self.write_region(&region, bytes)
    }

    /// Bytes of the arena that buckets share, as the last run left them.
    pub fn read_arena(&mut self, offset: u64, bytes: u64) -> Result<Vec<u8>> {
        let region = self.layout.arena;
        if offset.checked_add(bytes).is_none_or(|end| end > region.bytes) {
            return Err(Error::new(Kind::Usage, format!("bytes {offset}+{bytes} of an arena of {}", region.bytes)));
        }
        let mut out = vec![0u8; bytes as usize];
        self.download(&region, offset, &mut out)?;
        Ok(out)
    }

    /// Sets the bytes of the one input that a bucket has. The bucket may not be running.
    pub(crate) fn write_input(&mut self, bucket: u32, bytes: &[u8]) -> Result<()> {
        match self.port_regions(bucket)?.inputs[..] {
            [region] if region.bytes == bytes.len() as u64 => self.write_region(&region, bytes),
            _ => Err(Error::new(Kind::Usage, format!("{} bytes are no input of bucket {bucket}", bytes.len()))),
        }
    }

    pub(crate) fn write_region(&mut self, region: &Region, bytes: &[u8]) -> Result<()> {
        let mut uploader = Uploader::new(&self.device, self.options.staging, bytes.len() as u64);
        uploader.write(&self.slabs[region.slab], region.offset, bytes)?;
        self.counters.to_device_bytes += uploader.finish()?;
        Ok(())
    }

    pub(crate) fn download(&mut self, region: &Region, offset: u64, out: &mut [u8]) -> Result<()> {
        self.counters.to_host_bytes += out.len() as u64;
        self.counters.submissions += 1;
        transfer::download(&self.device, &self.slabs[region.slab], region.offset + offset, out)
    }

    pub(crate) fn port_regions(&self, bucket: u32) -> Result<crate::layout::Ports> {
        let missing = || Error::new(Kind::Usage, format!("there is no bucket {bucket}"));
        self.layout.ports.get(bucket as usize).cloned().ok_or_else(missing)
    }

    /// Looks at the guard bytes around everything. Fails with the first that a kernel wrote over.
    pub fn check_guards(&mut self) -> Result<()> {
        for (what, region) in self.layout.guards() {
            let mut bytes = vec![0u8; region.bytes as usize];
            self.download(&region, 0, &mut bytes)?;
            let touched = bytes.chunks_exact(4).position(|w| w != GUARD_WORD.to_le_bytes());
            if let Some(word) = touched {
                let what = format!("a kernel wrote outside: guard {what}, byte {} of {}", word * 4, region.bytes);
                return Err(Error::new(Kind::Program, what));
            }
        }
        Ok(())
    }
}

/// Entries of the ring from `at` on, cut where it begins anew.
fn pieces(entries: &mut [u32], at: u32) -> impl Iterator<Item = &mut [u32]> {
    let (first, rest) = entries.split_at_mut(entries.len().min((RING - at) as usize));
    std::iter::once(first).chain(rest.chunks_mut(RING as usize))
}

impl Drop for Engine {
    fn drop(&mut self) {
        // Submissions may be under way whose tickets others hold; they reach our buffers by address alone.
        commands::drain(&self.device);
    }
}
