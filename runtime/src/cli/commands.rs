//! The subcommands. In: a model and parsed flags. Out: tables and verdicts on stdout. Promise: what each prints is described in its
//! help, and a failed comparison is an exit code of its own.

use std::path::Path;

use serde_json::json;

use super::answer::Setting;
use super::args;
use super::info::Info;
use super::open;
use super::out::{Out, remark, remark_to_person};
use super::profile::Runs;
use crate::engine::Engine;
use crate::error::{Error, Kind, Result};
use crate::model::Model;
use crate::program::{Bucket, Program};
use crate::recorder::Part;
use crate::session::{self, Session};
use crate::verify::{self, Case, Golden, Report};
use crate::{bench, device, host, npz};

/// A model and what its flags say about the device.
pub struct Call<'a> {
    pub model: &'a Model,
    pub setting: Setting<'a>,
    pub flags: &'a args::Engine,
}

impl Call<'_> {
    fn stops(&self) -> &[u32] {
        self.setting.codec.map_or(&[], |c| c.stops())
    }

    /// A session that measures; with `stops`, answers end where the model's do.
    pub fn session(&self, stops: bool, timestamps: bool) -> Result<Session> {
        let options = session::Options::default();
        let engine = self.engine(timestamps)?;
        self.session_on(engine, stops, options.steps)
    }

    /// A session for answers. A CPU device takes so long for a token that each is shown by itself; so does a link to the host, over
    /// which the weights of steps behind a stop token would come in vain.
    pub fn answering(&self) -> Result<Session> {
        const MUCH: u64 = 256 << 20;
        let engine = self.engine(false)?;
        let decode = self.setting.decoder()?.decode;
        let slow = engine.device().info().kind == "cpu" || engine.moves(decode, self.part())?.bytes() > MUCH;
        let steps = if slow { 1 } else { session::Options::default().steps };
        self.session_on(engine, true, steps)
    }

    fn engine(&self, timestamps: bool) -> Result<Engine> {
        self.setting.decoder()?;
        open::engine(self.model, self.setting.program.clone(), self.flags, timestamps)
    }

    fn session_on(&self, engine: Engine, stops: bool, steps: u32) -> Result<Session> {
        let steps = self.flags.steps.unwrap_or(steps);
        let options = session::Options { steps, sampling: self.setting.sampling, ..Default::default() };
        Session::new(engine, if stops { self.stops() } else { &[] }, options)
    }

    /// What a decode step runs.
    fn part(&self) -> Part {
        if self.setting.sampling.is_some() { Part::Drawn } else { Part::Whole }
    }

    pub fn bench(&self, options: &args::Bench, out: &mut Out) -> Result<()> {
        let mut session = self.session(false, false)?;
        let device = session.device_name().to_owned();
        let opened = session.engine().device();
        let memory = bench::Memory {
            allocated: Some(opened.allocated()),
            driver_bytes: opened.driver_bytes(),
            host: host::memory(),
        };
        let mut told = |test: &str| remark_to_person(&format!("{test} …"));
        let args::Bench { depth, repetitions, .. } = *options;
        let (prompt, generate) = (options.prompt.clone(), options.generate.clone());
        let lengths = bench::Lengths { prompt, generate, depth, repetitions };
        let model = &self.setting.program.name;
        let head = bench::Head { model, precision: self.model.card.precision, device: &device, memory };
        if options.steady {
            let program = self.setting.program;
            let all = bench::steady::measure(&mut session, program, &lengths, options.warmups, &mut told)?;
            return out.line(&bench::steady::print(&head, &all, options.output));
        }
        let mut rows = bench::measure(&mut session, self.setting.program, self.part(), &lengths, &mut told)?;
        rows.extend(bench::picture(&mut session, repetitions, &mut told)?);
        out.line(&bench::print(&head, &rows, options.output))
    }

    pub fn verify(&self, options: &args::Verify, out: &mut Out) -> Result<()> {
        if let Some(path) = options.golden.as_deref().filter(|p| p.extension().is_some_and(|e| e == "npz")) {
            return super::verify_rows::verify(self, path, options, out);
        }
        let golden = self.reference(options)?;
        let precision = self.model.card.precision;
        let bound = options.bound.or(golden.as_ref().map(|g| g.bound(precision)));
        let bound = bound.unwrap_or(verify::lengths_bound(precision));
        let mut session = self.session(true, false)?;
        let mut reports = Vec::new();
        let cases = golden.as_ref().map_or(&[][..], |g| &g.cases);
        for case in cases {
            let report = verify::compare(&mut session, case, bound)?;
            if !options.json {
                out.text(&report_text(&report))?;
            }
            reports.push(report);
        }
        let lengths = if options.lengths { self.lengths(cases, &mut session)? } else { Vec::new() };
        let lengths_bound = options.bound.unwrap_or(verify::lengths_bound(precision));
        if !options.json {
            for (tokens, worst) in &lengths {
                let mark = mark(*worst <= lengths_bound);
                out.line(&format!("{mark} prompt of {tokens} in chunks: max abs {worst}"))?;
            }
        }
        let made_by = golden.as_ref().map_or("single tokens", |g| &g.made_by);
        let checks = reports.len() + lengths.len();
        let passed = reports.iter().filter(|r| r.failures.is_empty()).count()
            + lengths.iter().filter(|(_, worst)| *worst <= lengths_bound).count();
        if options.json {
            let lengths: Vec<_> = lengths.iter().map(|(n, worst)| json!({"tokens": n, "max_abs": worst})).collect();
            out.json(&json!({
                "model": self.setting.program.name, "precision": precision, "bound": bound,
                "reference": made_by, "cases_skipped": golden.is_none(), "device": session.device_name(), "cases": reports, "lengths": lengths,
                "passed": passed == checks,
            }))?;
        } else {
            out.line(&format!("{passed} of {checks} within bounds of: {made_by}"))?;
        }
        if passed < checks {
            let what = format!("{} of {checks} comparisons went over their bound", checks - passed);
            return Err(Error::new(Kind::Differs, what).at("verify"));
        }
        Ok(())
    }

    /// The golden file; none where only what the program must agree with itself about can be compared.
    fn reference(&self, options: &args::Verify) -> Result<Option<Golden>> {
        let synthetic = self.flags.weights.as_deref().is_some_and(|w| w.starts_with("synthetic:"));
        let absent = options.golden.is_none() && self.model.golden.is_none();
        let coarser = self.model.card.precision == "int4" && options.golden.is_none() && options.bound.is_none();
        let (why, hint) = match (synthetic, absent, coarser) {
            (true, ..) => ("synthetic weights have no reference", "add --lengths"),
            (_, true, _) => {
                let hint = "give one with --golden (see docs/golden.md), or --lengths";
                ("this model was built without a golden file", hint)
            }
            (.., true) => {
                let hint = "see what that costs with eval-ppl --against, or give --bound X, --golden FILE or --lengths";
                ("the golden file is of the weights before they were quantised", hint)
            }
            _ => return self.golden(options.golden.as_deref()).map(Some),
        };
        if !options.lengths {
            return Err(Error::usage(why).at("verify").hint(hint));
        }
        remark(&format!("{why}: its cases are skipped"));
        Ok(None)
    }

    /// Prompts made of the golden ones, or of any tokens, up to the context.
    fn lengths(&self, cases: &[Case], session: &mut Session) -> Result<Vec<(u32, f32)>> {
        let decoder = self.setting.decoder()?;
        let chunk = self.setting.program.buckets.get(decoder.prefill as usize).map_or(1, |b| b.rows);
        let wanted = verify::lengths(chunk, decoder.context);
        let longest = wanted.last().copied().unwrap_or(0) as usize;
        let mut ids: Vec<u32> = cases.iter().flat_map(|c| &c.prompt_ids).copied().collect();
        if ids.is_empty() {
            ids = bench::ids(decoder.context, decoder.vocab, 0);
        }
        let ids: Vec<u32> = ids.into_iter().cycle().take(longest).collect();
        verify::chunks_against_tokens(session, &ids, &wanted)
    }

    fn golden(&self, path: Option<&Path>) -> Result<Golden> {
        if let Some(path) = path {
            let text = std::fs::read_to_string(path).map_err(|e| Error::input(e.to_string()).at(path.display()))?;
            return Golden::parse(&text).map_err(|e| e.at(path.display()));
        }
        Golden::parse(self.model.golden.unwrap_or_default())
    }

    pub fn info(&self, options: &args::Info, out: &mut Out) -> Result<()> {
        let device = open::device(self.flags, None);
        let mut info = Info::new(
            self.setting.program,
            &self.model.card,
            self.stops().to_vec(),
            device,
            (self.flags.wish(), options.link),
        );
        info.picture = self.setting.picture;
        if options.json { out.json(&info.json()) } else { out.text(&info.text()) }
    }

    pub fn profile(&self, options: &args::Profile, out: &mut Out) -> Result<()> {
        if options.registers {
            return self.registers(options.json, out);
        }
        let program = self.setting.program;
        let (mut all, device);
        if let Some(decoder) = &program.decoder {
            // One more than fits is enough for the session to refuse it.
            let ids = bench::ids(options.prompt.min(decoder.context), decoder.vocab, 0);
            let name = |bucket: u32| program.buckets.get(bucket as usize).map_or("", |b| b.name.as_ref());
            let mut session = self.session(false, true)?;
            device = session.device_name().to_owned();
            let (prefill, decode) = session.profile(&ids, options.tokens)?;
            let (rows, prompt) =
                (program.buckets.get(decoder.prefill as usize).map_or(1, |b| b.rows.max(1)), ids.len() as u32);
            let last = prompt.saturating_sub(1) / rows * rows;
            all = vec![Runs { bucket: name(decoder.prefill), depth: last, more: 0, runs: vec![prefill] }];
            all.push(Runs { bucket: name(decoder.decode), depth: prompt, more: 1, runs: decode });
            all.extend(profile_ports(program, session.engine(), options.tokens)?);
        } else {
            let mut engine = open::engine(self.model, program.clone(), self.flags, true)?;
            device = engine.device().info().name.clone();
            all = profile_ports(program, &mut engine, options.tokens)?;
        }
        if let Some(path) = &options.trace {
            let text = super::profile::trace(&all).to_string();
            std::fs::write(path, text).map_err(|e| Error::input(e.to_string()).at(path.display()))?;
            remark(&format!("wrote {}", path.display()));
        }
        if options.json {
            return out.json(&super::profile::json(&device, program, &all));
        }
        out.text(&all.iter().map(Runs::report).collect::<Vec<_>>().join("\n"))
    }

    pub fn run(&self, options: &args::Run) -> Result<()> {
        let program = self.setting.program;
        let bucket = runnable(program, options.bucket.as_deref())?;
        let inputs = options.inputs.as_deref().map(npz::read).transpose()?.unwrap_or_default();
        let mut engine = open::engine(self.model, program.clone(), self.flags, false)?;
        let ports: Vec<&str> = program.buckets[bucket].inputs.iter().map(|p| &*p.name).collect();
        // A missing array is an error; one too many cannot be a mistyped input, then.
        let (named, others): (Vec<_>, Vec<_>) =
            inputs.iter().map(|(name, array)| (name.as_str(), array)).partition(|(name, _)| ports.contains(name));
        for (name, _) in others {
            remark(&format!("{name}: no input of the graph, left out"));
        }
        let outputs = engine.run_raw(bucket as u32, &named)?;
        npz::write(&options.outputs, &outputs)
    }
}

/// Times of the buckets that have ports, on whatever these hold.
fn profile_ports<'a>(program: &'a Program, engine: &mut Engine, times: u32) -> Result<Vec<Runs<'a>>> {
    let mut all = Vec::new();
    for (i, bucket) in program.buckets.iter().enumerate().filter(|(_, b)| !b.outputs.is_empty()) {
        let mut runs = Vec::new();
        for _ in 0..times {
            engine.run(i as u32, Part::Whole)?;
            runs.push(engine.timings(i as u32, Part::Whole)?);
        }
        all.push(Runs { bucket: &bucket.name, depth: 0, more: 0, runs });
    }
    Ok(all)
}

/// The bucket that is meant: the one of that name, else the first, of those that have ports.
fn runnable(program: &Program, name: Option<&str>) -> Result<usize> {
    let has_ports = |b: &Bucket| !b.outputs.is_empty();
    let names: Vec<&str> = program.buckets.iter().filter(|b| has_ports(b)).map(|b| &*b.name).collect();
    let error = match name {
        None if program.decoder.is_none() => return Ok(0),
        None => Error::usage("this model generates tokens and has no inputs of its own"),
        Some(name) => match program.buckets.iter().position(|b| b.name == name) {
            Some(i) if has_ports(&program.buckets[i]) => return Ok(i),
            Some(_) => Error::usage(format!("bucket '{name}' generates tokens and has no inputs of its own")),
            None => Error::usage(format!("there is no bucket '{name}'")),
        },
    };
    let prompt = format!("give it a prompt: {} \"…\"", program.name);
    Err(error.hint(match (names.is_empty(), program.decoder.is_some()) {
        (true, _) => prompt,
        (false, true) => format!("{prompt}, or run one of its graphs with --bucket: {}", names.join(", ")),
        (false, false) => format!("have {}", names.join(", ")),
    }))
}

/// The devices, numbered as `--device` takes them.
pub fn list_devices(out: &mut Out) -> Result<()> {
    for (i, d) in device::list()?.iter().enumerate() {
        let memory = crate::memory::human(d.heap_bytes);
        let mut line = format!("{i}: {} ({}, Vulkan {}, {memory}, {})", d.name, d.kind, d.api, d.driver);
        if d.matrix {
            line.push_str("; matrix units");
        }
        if !d.lacks.is_empty() {
            line.push_str(&format!("; lacks {}", d.lacks.join(", ")));
        }
        out.line(&line)?;
    }
    Ok(())
}

pub fn mark(ok: bool) -> &'static str {
    if ok { "ok  " } else { "FAIL" }
}

fn report_text(r: &Report) -> String {
    let mut out = format!(
        "{} {:?}: {} steps, logits max abs {} (step {}), logsumexp {:.6}, cosine {:.7}; free run {} of {}\n",
        mark(r.failures.is_empty()),
        r.prompt,
        r.steps,
        r.max_abs,
        r.max_abs_step,
        r.max_logsumexp,
        r.min_cosine,
        r.free_equal,
        r.free_compared
    );
    if let Some(o) = &r.first_other {
        out.push_str(&format!(
            "     first other token at step {}: {} for {}, reference margin {}, our gap {}\n",
            o.step, o.ours, o.golden, o.margin, o.gap
        ));
    }
    for failure in &r.failures {
        out.push_str(&format!("     {failure}\n"));
    }
    out
}
