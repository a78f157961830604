//! Recording. In: a bucket of a checked program and the addresses of everything. Out: replayable command buffers, one for all that stays
//! on the device. Promise: the dispatches of the program in their order, with its barriers and no other work.

use crate::commands::{Recorded, Scope, Tape};
use crate::conveyor::Load;
use crate::device::Device;
use crate::error::{Error, Kind, Result};
use crate::holding::Holding;
pub use crate::program::Part;
use crate::program::places::{Place, column, places};
use crate::program::{Arg, Bucket, Program};
use crate::residency::{Moves, Stage, Uses};
use crate::spirv;
use crate::tuning::Tuning;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use vulkano::pipeline::layout::{PipelineLayoutCreateInfo, PushConstantRange};
use vulkano::pipeline::{
    ComputePipeline, PipelineLayout, PipelineShaderStageCreateInfo, compute::ComputePipelineCreateInfo,
};
use vulkano::query::{QueryPool, QueryPoolCreateInfo, QueryResultFlags, QueryType};
use vulkano::shader::spirv::bytes_to_words;
use vulkano::shader::{ShaderModule, ShaderModuleCreateInfo, ShaderStages, SpecializationConstant};

/// A kernel's code.
#[derive(Clone)]
pub enum Code {
    /// SPIR-V words.
    Words(Cow<'static, [u32]>),
    /// The `load` function that `vulkano_shaders::shader!` makes.
    Load(crate::model::Load),
    /// The form for any device, and the one for devices with matrix units.
    Forms(Box<Code>, Box<Code>),
}

impl Code {
    /// What a device with or without matrix units runs.
    pub fn form(&self, matrix: bool) -> &Code {
        match self {
            Code::Forms(plain, units) => (if matrix { units } else { plain }).form(matrix),
            code => code,
        }
    }

    /// SPIR-V as bytes, as a compiler gives it.
    pub fn from_bytes(bytes: &[u8]) -> Result<Code> {
        let words = bytes_to_words(bytes).map_err(|e| Error::new(Kind::Program, format!("not SPIR-V: {e}")))?;
        Ok(Code::Words(Cow::Owned(words.into_owned())))
    }
}

/// How to record; the default is the program as it stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RecordOptions {
    /// A barrier before every dispatch. Must give bit-identical results; a test holds plans to it.
    pub full_barriers: bool,
    /// A timestamp after every dispatch, for profiles.
    pub timestamps: bool,
    /// Records only that many dispatches of a run.
    pub stop_after: Option<usize>,
}

/// Addresses of everything that an [`Arg`] can mean in one bucket.
pub(crate) struct Addresses<'a> {
    pub holding: &'a Holding,
    pub states: &'a [u64],
    pub inputs: &'a [u64],
    pub outputs: &'a [u64],
    pub arena: u64,
    pub step: u64,
    pub tokens: u64,
    pub logits: u64,
    pub ring: u64,
    pub history: u64,
}

impl Addresses<'_> {
    /// `loaded` are the weights in the ring; a lookup reads its rows where the weights live.
    fn of(&self, arg: Arg, loaded: &HashMap<usize, u64>, lookup: bool) -> Result<u64> {
        let at = |list: &[u64], i: u32| list.get(i as usize).copied();
        let found = match arg {
            Arg::Weight(i) => match loaded.get(&(i as usize)) {
                Some(&address) if !lookup => Some(address),
                _ => self.holding.address(i as usize),
            },
            Arg::State(i) => at(self.states, i),
            Arg::Input(i) => at(self.inputs, i),
            Arg::Output(i) => at(self.outputs, i),
            Arg::Arena(offset) => self.arena.checked_add(offset),
            Arg::Column(_) => None,
            Arg::Step => Some(self.step),
            Arg::Tokens => Some(self.tokens),
            Arg::Logits => Some(self.logits),
            Arg::Ring => Some(self.ring),
            Arg::History => Some(self.history),
        };
        found.ok_or_else(|| Error::new(Kind::Program, format!("{arg:?} has no address")))
    }
}

/// A bucket recorded once.
pub(crate) struct Recording {
    pub legs: Vec<RecordedLeg>,
    pub places: Vec<Place>,
    /// Weights that a run moves.
    pub moves: Moves,
    /// Those with the host that it needs, each byte once.
    pub distinct_bytes: u64,
    pub timestamps: Option<Arc<QueryPool>>,
}

/// Dispatches that run once a slot of the ring is full, or at once.
pub(crate) struct RecordedLeg {
    pub load: Option<Load>,
    pub commands: Arc<Recorded>,
}

/// One pipeline per kernel, made on as many threads as there are cores.
pub(crate) struct Pipelines {
    layout: Arc<PipelineLayout>,
    /// None for what nothing runs.
    kernels: Vec<Option<Arc<ComputePipeline>>>,
}

/// The id of the specialization constant that receives the subgroup size, where a kernel declares it.
pub const SUBGROUP_SIZE_ID: u32 = 0;

impl Pipelines {
    /// Of the kernels that `tuning` needs. `matrix` takes the forms for matrix units, where kernels have one.
    pub fn new(
        device: &Device,
        program: &Program,
        code: &[Code],
        (matrix, tuning): (bool, &Tuning),
    ) -> Result<Pipelines> {
        if code.len() != program.kernels.len() {
            let what = format!("{} kernels and {} SPIR-V modules", program.kernels.len(), code.len());
            return Err(Error::new(Kind::Program, what));
        }
        let layout = pipeline_layout(device)?;
        let one = |i: usize| {
            if !tuning.needs(program, i as u32) {
                return Ok(None);
            }
            let made = pipeline(device, &layout, code[i].form(matrix));
            made.map(Some).map_err(|e| e.at(format!("kernel '{}'", program.kernels[i].name)))
        };
        let kernels = on_all_cores(code.len(), one)?;
        Ok(Pipelines { layout, kernels })
    }

    fn get(&self, kernel: u32) -> Result<&Arc<ComputePipeline>> {
        let missing = || Error::new(Kind::Program, format!("kernel {kernel} has no pipeline"));
        self.kernels.get(kernel as usize).and_then(Option::as_ref).ok_or_else(missing)
    }
}

/// What `one` makes of each number below `count`, in order, on as many threads as there are cores.
pub(crate) fn on_all_cores<T: Send>(count: usize, one: impl Fn(usize) -> Result<T> + Sync) -> Result<Vec<T>> {
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get()).min(count.max(1));
    let parts: Vec<Result<Vec<(usize, T)>>> = std::thread::scope(|scope| {
        let one = &one;
        let work = move |t: usize| (t..count).step_by(threads).map(|i| Ok((i, one(i)?))).collect();
        let handles: Vec<_> = (0..threads).map(|t| scope.spawn(move || work(t))).collect();
        let crashed = || Err(Error::new(Kind::Other, "a pipeline compiler thread panicked"));
        handles.into_iter().map(|h| h.join().unwrap_or_else(|_| crashed())).collect()
    });
    let mut all: Vec<(usize, T)> = parts.into_iter().collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
    all.sort_by_key(|(i, _)| *i);
    Ok(all.into_iter().map(|(_, made)| made).collect())
}

/// The layout of every kernel: addresses as push constants.
pub(crate) fn pipeline_layout(device: &Device) -> Result<Arc<PipelineLayout>> {
    let range = PushConstantRange { stages: ShaderStages::COMPUTE, offset: 0, size: 128 };
    let info = PipelineLayoutCreateInfo { push_constant_ranges: vec![range], ..Default::default() };
    PipelineLayout::new(device.inner.vk.clone(), info).map_err(|e| Error::vulkan("pipeline layout", e))
}

pub(crate) fn pipeline(device: &Device, layout: &Arc<PipelineLayout>, code: &Code) -> Result<Arc<ComputePipeline>> {
    let info = ComputePipelineCreateInfo::stage_layout(stage(device, code)?, layout.clone());
    let cache = device.inner.kept.as_ref().map(|kept| kept.cache().clone());
    ComputePipeline::new(device.inner.vk.clone(), cache, info).map_err(|e| Error::vulkan("pipeline", e))
}

/// A kernel's code, specialised to the device.
pub(crate) fn stage(device: &Device, code: &Code) -> Result<PipelineShaderStageCreateInfo> {
    let vk = &device.inner.vk;
    if let Code::Words(words) = code {
        let (needed, found) = (spirv::shared_bytes(words), u64::from(device.limits().shared_bytes));
        if needed > found {
            let what = format!("takes {needed} bytes of shared memory, device '{}' has {found}", device.info().name);
            return Err(Error::new(Kind::Unfit, what).hint("choose another with --device"));
        }
    }
    let module = match code {
        Code::Load(load) => load(vk.clone()),
        Code::Words(words) => module(device, words),
        Code::Forms(..) => return Err(Error::new(Kind::Program, "a kernel whose form was not chosen")),
    }
    .map_err(|e| Error::vulkan("SPIR-V", e))?;
    let subgroup = device.limits().subgroup;
    let tuned = module.specialization_constants().contains_key(&SUBGROUP_SIZE_ID);
    let constants = tuned.then_some((SUBGROUP_SIZE_ID, SpecializationConstant::U32(subgroup)));
    let module =
        module.specialize(constants.into_iter().collect()).map_err(|e| Error::new(Kind::Program, e.to_string()))?;
    let entry =
        module.entry_point("main").ok_or_else(|| Error::new(Kind::Program, "the SPIR-V has no entry 'main'"))?;
    let mut stage = PipelineShaderStageCreateInfo::new(entry);
    let properties = vk.physical_device().properties();
    let fixed = properties.required_subgroup_size_stages.is_some_and(|s| s.intersects(ShaderStages::COMPUTE));
    // A device of one size needs no asking, and asking would limit workgroups to maxComputeWorkgroupSubgroups.
    let varies = properties.min_subgroup_size != properties.max_subgroup_size;
    if tuned && fixed && varies && vk.enabled_features().subgroup_size_control {
        stage.required_subgroup_size = Some(subgroup);
    }
    Ok(stage)
}

#[allow(unsafe_code)]
fn module(device: &Device, words: &[u32]) -> Result<Arc<ShaderModule>, vulkano::Validated<vulkano::VulkanError>> {
    let info = ShaderModuleCreateInfo::new(words);
    // SAFETY: the words come from a SPIR-V compiler, and spirv-val passes over every shader in the tests.
    unsafe { ShaderModule::new(device.inner.vk.clone(), info) }
}

/// What all buckets of a program are recorded with.
pub(crate) struct Recorder<'a> {
    pub device: &'a Device,
    pub program: &'a Program,
    pub pipelines: &'a Pipelines,
    pub tuning: &'a Tuning,
    pub options: RecordOptions,
}

impl Recorder<'_> {
    /// Records a bucket.
    pub fn record(&self, bucket: &Bucket, part: Part, addresses: &Addresses) -> Result<Recording> {
        let mut places = places(bucket, part);
        places.truncate(self.options.stop_after.unwrap_or(usize::MAX));
        let timestamps = if self.options.timestamps { Some(timestamp_pool(self.device, places.len())?) } else { None };
        let mut uses = Uses::new(self.program).run(bucket, part);
        uses.truncate(places.len());
        let residency = &addresses.holding.residency;
        let moves = residency.moves_of(self.program, &uses);
        let distinct_bytes = residency.distinct_bytes(&uses);
        let mut stages = residency.stages(self.program, &uses);
        if stages.is_empty() {
            // A run of nothing is a run too.
            stages.push(Stage { dispatches: 0..0, slot: 0, load: Vec::new() });
        }
        let run = Run { recorder: self, bucket, places: &places, addresses, timestamps: &timestamps };
        let legs = stages.iter().map(|stage| run.leg(stage)).collect::<Result<_>>()?;
        Ok(Recording { legs, places, moves, distinct_bytes, timestamps })
    }

    /// Some dispatches of a bucket alone, each behind a barrier, between two timestamps.
    pub fn repeat(&self, bucket: &Bucket, places: &[Place], addresses: &Addresses) -> Result<Recording> {
        let (timestamps, mut tape) = (Some(timestamp_pool(self.device, 1)?), Tape::new(self.device)?);
        let run = Run { recorder: self, bucket, places, addresses, timestamps: &None };
        let mark = |tape: &mut Tape, index| timestamps.iter().for_each(|pool| tape.timestamp(pool, index));
        timestamps.iter().for_each(|pool| tape.reset_timestamps(pool));
        tape.barrier(Scope::All, Scope::Compute);
        mark(&mut tape, 0);
        let mut bound = None;
        for index in 0..places.len() {
            run.dispatch(&mut tape, index, true, &mut bound, &HashMap::new())?;
            tape.barrier(Scope::Compute, Scope::Compute);
        }
        mark(&mut tape, 1);
        let legs = vec![RecordedLeg { load: None, commands: tape.end()? }];
        Ok(Recording { legs, places: places.to_vec(), moves: Moves::default(), distinct_bytes: 0, timestamps })
    }
}

/// A run being recorded.
struct Run<'a> {
    recorder: &'a Recorder<'a>,
    bucket: &'a Bucket,
    places: &'a [Place],
    addresses: &'a Addresses<'a>,
    timestamps: &'a Option<Arc<QueryPool>>,
}

impl Run<'_> {
    fn leg(&self, stage: &Stage) -> Result<RecordedLeg> {
        let holding = self.addresses.holding;
        let (load, loaded) = (holding.load(stage)?, holding.loaded(stage));
        let mut tape = Tape::new(self.recorder.device)?;
        let begins = stage.dispatches.start == 0;
        if let (Some(pool), true) = (self.timestamps, begins) {
            tape.reset_timestamps(pool);
        }
        // What the last submission, the last replay or leg in this one, or the copy wrote.
        tape.barrier(Scope::All, Scope::Compute);
        if let (Some(pool), true) = (self.timestamps, begins) {
            tape.timestamp(pool, 0);
        }
        let mut bound = None;
        for i in stage.dispatches.clone() {
            let barrier = i > stage.dispatches.start;
            self.dispatch(&mut tape, i, barrier, &mut bound, &loaded)?;
        }
        let load = load.map(|copy| Load { copy, slot: stage.slot });
        Ok(RecordedLeg { load, commands: tape.end()? })
    }

    fn dispatch(
        &self,
        tape: &mut Tape,
        index: usize,
        barrier: bool,
        bound: &mut Option<u32>,
        loaded: &HashMap<usize, u64>,
    ) -> Result<()> {
        let (place, Recorder { program, pipelines, options, tuning, .. }) = (&self.places[index], self.recorder);
        let block = &self.bucket.blocks[place.block as usize];
        let dispatch = &block.dispatches[place.dispatch as usize];
        let kernel = &program.kernels[dispatch.kernel as usize];
        if barrier && (dispatch.barrier || options.full_barriers) {
            tape.barrier(Scope::Compute, Scope::Compute);
        }
        let (runs, grid) = tuning.stands_for(dispatch.kernel, dispatch.grid);
        if *bound != Some(runs) {
            tape.bind(pipelines.get(runs)?);
            *bound = Some(runs);
        }
        let row = &block.table[place.repetition as usize];
        let of = |&arg: &Arg| self.addresses.of(column(arg, row)?, loaded, kernel.looks_up());
        let args: Result<Vec<u64>> = dispatch.args.iter().map(of).collect();
        let args = args.map_err(|e| e.at(format!("{}: {}", kernel.name, dispatch.note)))?;
        tape.push(&pipelines.layout, &args);
        tape.dispatch(grid);
        if let Some(pool) = self.timestamps {
            tape.timestamp(pool, index as u32 + 1);
        }
        Ok(())
    }
}

fn timestamp_pool(device: &Device, dispatches: usize) -> Result<Arc<QueryPool>> {
    if device.limits().tick_ns == 0.0 {
        return Err(Error::new(Kind::Unfit, format!("device '{}' has no timestamps", device.info().name)));
    }
    let info = QueryPoolCreateInfo {
        query_count: dispatches as u32 + 1,
        ..QueryPoolCreateInfo::query_type(QueryType::Timestamp)
    };
    QueryPool::new(device.inner.vk.clone(), info).map_err(|e| Error::vulkan("timestamps", e))
}

impl Recording {
    /// Nanoseconds from the start of the last run to the end of each dispatch. The run must have finished.
    pub fn ends_ns(&self, device: &Device) -> Result<Vec<f64>> {
        let Some(pool) = &self.timestamps else { return Ok(Vec::new()) };
        let mut ticks = vec![0u64; pool.query_count() as usize];
        pool.get_results(0..pool.query_count(), &mut ticks, QueryResultFlags::WAIT)
            .map_err(|e| Error::vulkan("reading timestamps", e))?;
        let start = ticks.first().copied().unwrap_or(0);
        let tick = f64::from(device.limits().tick_ns);
        Ok(ticks.iter().skip(1).map(|t| t.wrapping_sub(start) as f64 * tick).collect())
    }
}
