//! From flags to something that runs. In: a model, the device and weights flags. Out: an engine. Promise:
//! long work shows a bar where stderr is a terminal, and a CPU device is told once.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::args;
use super::out::remark;
use crate::device::{self, Device, Pick};
use crate::engine::{self, Engine};
use crate::error::Result;
use crate::kept;
use crate::model::{Forms, Model};
use crate::program::Program;
use crate::recorder::{Code, RecordOptions};
use crate::residency::Wish;
use crate::weights::WeightSource;

/// The device that the flags name. Pipelines are kept for a `model` by name, unless the flags say otherwise.
pub fn device(flags: &args::Engine, model: Option<&str>) -> Result<Device> {
    let place = |model: &str| Some(kept::Place { folder: kept::folder()?, model: model.into() });
    let kept = model.filter(|_| !flags.no_cache).and_then(place);
    opened(device::Options { no_import: flags.no_import, kept, ..Default::default() }, flags)
}

/// The same device for what its driver tells of kernels; nothing is kept of it.
pub fn telling(flags: &args::Engine) -> Result<Device> {
    opened(device::Options { statistics: true, ..Default::default() }, flags)
}

fn opened(options: device::Options, flags: &args::Engine) -> Result<Device> {
    let pick = flags.device.as_deref().map_or(Pick::Auto, Pick::parse);
    let device = Device::open(&device::Options { pick, ..options })?;
    if let Some(warning) = device.warning() {
        remark(warning);
    }
    Ok(device)
}

pub fn code(forms: &Forms) -> Code {
    let plain = Code::Load(forms.plain);
    match forms.matrix {
        Some(units) => Code::Forms(Box::new(plain), Box::new(Code::Load(units))),
        None => plain,
    }
}

/// The model on the device, its weights uploaded.
pub fn engine(model: &Model, program: Program, flags: &args::Engine, timestamps: bool) -> Result<Engine> {
    let record = RecordOptions { timestamps, ..Default::default() };
    let Wish { budget: gpu_budget, offload, .. } = flags.wish();
    let options = engine::Options { record, gpu_budget, offload, ..Default::default() };
    Opener::new(model, &program.name, flags)?.engine(program, options)
}

/// Opens engines, one after another, on the same device with the same weights.
pub struct Opener {
    pub device: Device,
    pub weights: WeightSource,
    code: Vec<Code>,
    no_matrix: bool,
}

impl Opener {
    /// `name` is the program's.
    pub fn new(model: &Model, name: &str, flags: &args::Engine) -> Result<Opener> {
        let weights = WeightSource::find(flags.weights.as_deref())?;
        let device = device(flags, Some(name))?;
        let code = model.kernels.iter().map(code).collect();
        Ok(Opener { device, weights, code, no_matrix: flags.no_matrix })
    }

    /// An engine with weights where the options say.
    pub fn engine(&self, program: Program, options: engine::Options) -> Result<Engine> {
        let options = engine::Options { no_matrix: self.no_matrix, ..options };
        with_bar(|progress| Engine::new(&self.device, program, &self.code, &self.weights, options, progress))
    }
}

fn with_bar(load: impl FnOnce(engine::Progress) -> Result<Engine>) -> Result<Engine> {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {bytes}/{total_bytes}") {
        bar.set_style(style);
    }
    bar.set_message("weights");
    let mut progress = |done, total| {
        bar.set_length(total);
        bar.set_position(done);
    };
    let engine = load(&mut progress);
    bar.finish_and_clear();
    engine
}
