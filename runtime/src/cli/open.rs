//! From flags to something that runs. In: a model, the device and weights flags. Out: an engine. Promise:
//! long work shows a bar where stderr is a terminal, and a CPU device is told once.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::args;
use super::out::remark;
use crate::device::{self, Device, Pick};
use crate::engine::{self, Engine};
use crate::error::Result;
use crate::model::{Forms, Model};
use crate::program::Program;
use crate::recorder::{Code, RecordOptions};
use crate::weights::WeightSource;

/// The device that the flags name.
pub fn device(flags: &args::Engine) -> Result<Device> {
    let pick = flags.device.as_deref().map_or(Pick::Auto, Pick::parse);
    let device = Device::open(&device::Options { pick, ..Default::default() })?;
    if let Some(warning) = device.warning() {
        remark(warning);
    }
    Ok(device)
}

fn code(forms: &Forms) -> Code {
    let plain = Code::Load(forms.plain);
    match forms.matrix {
        Some(units) => Code::Forms(Box::new(plain), Box::new(Code::Load(units))),
        None => plain,
    }
}

/// The model on the device, its weights uploaded.
pub fn engine(model: &Model, program: Program, flags: &args::Engine, timestamps: bool) -> Result<Engine> {
    let weights = WeightSource::find(flags.weights.as_deref())?;
    let device = device(flags)?;
    let code: Vec<Code> = model.kernels.iter().map(code).collect();
    let record = RecordOptions { timestamps, ..Default::default() };
    let gpu_budget = flags.gpu_budget.map(|b| b.0);
    let (no_matrix, offload) = (flags.no_matrix, flags.offload);
    let options = engine::Options { record, no_matrix, gpu_budget, offload, ..Default::default() };
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {bytes}/{total_bytes}") {
        bar.set_style(style);
    }
    bar.set_message("weights");
    let mut progress = |done, total| {
        bar.set_length(total);
        bar.set_position(done);
    };
    let engine = Engine::new(&device, program, &code, &weights, options, &mut progress);
    bar.finish_and_clear();
    engine
}
