//! From flags to something that runs. In: a model, the device and weights flags. Out: an engine, or a token session on it. Promise:
//! long work shows a bar where stderr is a terminal, and a CPU device is told once.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::args;
use super::generate::Generator;
use super::out::remark;
use crate::device::{self, Device, Pick};
use crate::engine::{self, Engine};
use crate::error::{Error, Kind, Result};
use crate::model::Model;
use crate::profile::Timing;
use crate::program::{Decoder, Program};
use crate::recorder::{Code, Part, RecordOptions};
use crate::step::{Done, MAX_STOPS, RING, Step};
use crate::verify::Scorer;
use crate::weights::WeightSource;

/// Decode steps a submission, where the flags do not say: enough to hide the cost of a submission, few enough to stream.
const STEPS: u32 = 8;

/// The device that the flags name.
pub fn device(flags: &args::Engine) -> Result<Device> {
    let pick = flags.device.as_deref().map_or(Pick::Auto, Pick::parse);
    let device = Device::open(&device::Options { pick, ..Default::default() })?;
    if let Some(warning) = device.warning() {
        remark(warning);
    }
    Ok(device)
}

/// The model on the device, its weights uploaded.
pub fn engine(model: &Model, program: Program, flags: &args::Engine, timestamps: bool) -> Result<Engine> {
    let weights = WeightSource::find(flags.weights.as_deref())?;
    let device = device(flags)?;
    let code: Vec<Code> = model.kernels.iter().map(|&load| Code::Load(load)).collect();
    let record = RecordOptions { timestamps, ..Default::default() };
    let options = engine::Options { record, ..Default::default() };
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

/// A conversation with an engine: which ids its cache holds, and the token loop.
pub struct Session {
    engine: Engine,
    decoder: Decoder,
    stops: Vec<u32>,
    steps: u32,
    /// Ids whose rows are in the cache.
    cached: Vec<u32>,
    /// Tokens sampled and read of the answer under way.
    read: u32,
    /// The latest of them, which has no row yet.
    last: Option<u32>,
}

impl Session {
    pub fn new(engine: Engine, stops: &[u32], steps: Option<u32>) -> Result<Session> {
        let decoder = engine.program().decoder.clone();
        let decoder = decoder.ok_or_else(|| Error::usage("this model generates no tokens"))?;
        if stops.len() > MAX_STOPS {
            return Err(Error::usage(format!("{} stop ids, at most {MAX_STOPS} are possible", stops.len())));
        }
        let steps = steps.unwrap_or(STEPS);
        Ok(Session { engine, decoder, stops: stops.to_vec(), steps, cached: Vec::new(), read: 0, last: None })
    }

    pub fn device_name(&self) -> &str {
        &self.engine.device().info().name
    }

    fn step(&self, pos: usize, rows: usize, limit: u32) -> Step {
        let mut stops = [0; MAX_STOPS];
        stops[..self.stops.len()].copy_from_slice(&self.stops);
        Step {
            pos: pos as u32,
            rows: rows as u32,
            done: 0,
            produced: 0,
            limit,
            context: self.decoder.context,
            stop_count: self.stops.len() as u32,
            reserved: 0,
            stops,
        }
    }

    /// Feeds `ids` from row `keep` on; the last run samples.
    fn feed(&mut self, ids: &[u32], keep: usize, limit: u32) -> Result<()> {
        self.cached.truncate(keep);
        let single = ids.len() - keep == 1;
        let bucket = if single { self.decoder.decode } else { self.decoder.prefill };
        let chunk = self.engine.program().buckets.get(bucket as usize).map_or(1, |b| b.rows.max(1)) as usize;
        let mut pos = keep;
        while pos < ids.len() {
            let piece = &ids[pos..ids.len().min(pos + chunk)];
            self.engine.set_step(&self.step(pos, piece.len(), limit))?;
            self.engine.set_tokens(piece)?;
            let whole = pos + piece.len() == ids.len();
            self.engine.run(bucket, if whole { Part::Whole } else { Part::Body })?;
            self.cached.extend_from_slice(piece);
            pos += piece.len();
        }
        (self.read, self.last) = (0, None);
        Ok(())
    }

    fn check(&self, ids: &[u32]) -> Result<()> {
        let context = self.decoder.context;
        if ids.is_empty() || ids.len() >= context as usize {
            let what = format!("{} tokens, the context holds {context} with at least one for the answer", ids.len());
            return Err(Error::input(what).at("prompt"));
        }
        Ok(())
    }

    /// Times of a prompt's last chunk and of `tokens` decode steps. Needs an engine with timestamps.
    pub fn profile(&mut self, prompt: &[u32], tokens: u32) -> Result<(Vec<Timing>, Vec<Vec<Timing>>)> {
        self.check(prompt)?;
        self.feed(prompt, 0, u32::MAX)?;
        let bucket = if prompt.len() == 1 { self.decoder.decode } else { self.decoder.prefill };
        let prefill = self.engine.timings(bucket, Part::Whole)?;
        let mut decode = Vec::new();
        for _ in 0..tokens {
            self.engine.run(self.decoder.decode, Part::Whole)?;
            decode.push(self.engine.timings(self.decoder.decode, Part::Whole)?);
        }
        self.cached.clear();
        Ok((prefill, decode))
    }
}

impl Generator for Session {
    fn begin(&mut self, ids: &[u32], limit: u32) -> Result<()> {
        self.check(ids)?;
        let same = self.cached.iter().zip(ids).take_while(|(a, b)| a == b).count();
        self.feed(ids, same.min(ids.len() - 1), limit)
    }

    fn advance(&mut self, tokens: &mut Vec<u32>) -> Result<Option<Done>> {
        // The prompt's own run has sampled the first token already.
        if self.read > 0 {
            let steps = self.steps.min(RING / 2) as usize;
            self.engine.start(&vec![(self.decoder.decode, Part::Whole); steps])?.wait()?;
        }
        let step = self.engine.step()?;
        while self.read < step.produced {
            let token = self.engine.ring(self.read)?;
            self.cached.extend(self.last.replace(token));
            self.read += 1;
            tokens.push(token);
        }
        match step.done {
            0 => Ok(None),
            d if d == Done::Stop as u32 => Ok(Some(Done::Stop)),
            d if d == Done::Limit as u32 => Ok(Some(Done::Limit)),
            d if d == Done::Context as u32 => Ok(Some(Done::Context)),
            other => Err(Error::new(Kind::Program, format!("the sampling kernel ended with the unknown code {other}"))),
        }
    }
}

impl Scorer for Session {
    fn prompt_logits(&mut self, ids: &[u32]) -> Result<Vec<f32>> {
        self.check(ids)?;
        self.feed(ids, 0, u32::MAX)?;
        self.engine.logits()
    }

    fn next_logits(&mut self, id: u32) -> Result<Vec<f32>> {
        let ids: Vec<u32> = self.cached.iter().copied().chain([id]).collect();
        self.feed(&ids, ids.len() - 1, u32::MAX)?;
        self.engine.logits()
    }
}
