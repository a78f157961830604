//! Times decode steps of models, one after another in one process. In: a device; names of folders in models/, `NAME` or `NAME@DEPTH`. Out: for
//! each tokens a second of three times 128 tokens behind DEPTH in the cache, five repetitions each, then, from an empty cache, microseconds by
//! kernel. Promise: weights are made up.
#![allow(clippy::print_stdout)]

use onnxcast::job::{Job, Wish};
use onnxcast::pipeline;
use onnxcast::plan::Plan;
use onnxcast::shaders;
use onnxcast_runtime::bench::{self, Lengths};
use onnxcast_runtime::device::{Device, Options as DeviceOptions};
use onnxcast_runtime::engine::{Engine, Options};
use onnxcast_runtime::program::{Kernel, Part};
use onnxcast_runtime::recorder::{Code, RecordOptions};
use onnxcast_runtime::session::{self, Session};
use onnxcast_runtime::weights::WeightSource;
use std::collections::BTreeMap;

type Failure = Box<dyn std::error::Error>;

fn plan(name: &str) -> Result<Plan, Failure> {
    let wish = Wish { project: ".".into(), name: name.into(), without_weights: true, ..Wish::default() };
    Ok(pipeline::compile(&Job::find(&wish)?, &mut |_| {})?.plan)
}

/// A kernel in its forms.
fn code(kernel: &Kernel) -> onnxcast::error::Result<Code> {
    let plain = Code::Words(shaders::compile(kernel)?.into());
    Ok(match shaders::compile_matrix(kernel)? {
        Some(words) => Code::Forms(Box::new(plain), Box::new(Code::Words(words.into()))),
        None => plain,
    })
}

/// On as many threads as there are cores.
fn codes(kernels: &[Kernel]) -> Result<Vec<Code>, Failure> {
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    let part = |part: &[Kernel]| part.iter().map(code).collect::<Result<Vec<_>, _>>();
    let parts = std::thread::scope(|scope| {
        let parts = kernels.chunks(kernels.len().div_ceil(threads).max(1));
        let handles: Vec<_> = parts.map(|p| scope.spawn(move || part(p))).collect();
        handles.into_iter().map(|h| h.join().map_err(|_| "a compiling thread panicked")).collect::<Result<Vec<_>, _>>()
    })?;
    Ok(parts.into_iter().collect::<Result<Vec<_>, _>>()?.concat())
}

fn speed(session: &mut Session, plan: &Plan, depth: u32) -> Result<String, Failure> {
    let lengths = Lengths { prompt: vec![], generate: vec![128], depth, repetitions: 5 };
    let mut rates = Vec::new();
    for _ in 0..3 {
        let rows = bench::measure(session, &plan.program, Part::Whole, &lengths, &mut |_| {})?;
        for row in rows {
            let mut times = row.times.clone();
            times.sort();
            rates.push(format!("{:.0}", f64::from(row.tokens) / times[times.len() / 2].as_secs_f64()));
        }
    }
    Ok(rates.join(" "))
}

/// Microseconds of a step by kernel, most first.
fn by_kernel(session: &mut Session) -> Result<Vec<(String, usize, f64)>, Failure> {
    const STEPS: u32 = 30;
    let (_, steps) = session.profile(&[1], STEPS)?;
    let mut sums: BTreeMap<String, (usize, f64)> = BTreeMap::new();
    for timing in steps.iter().skip(STEPS as usize / 3).flatten() {
        let sum = sums.entry(timing.kernel.clone()).or_default();
        *sum = (sum.0 + 1, sum.1 + timing.ns / 1e3);
    }
    let mut rows: Vec<_> = sums.into_iter().map(|(name, (count, us))| (name, count, us / count as f64)).collect();
    rows.sort_by(|a, b| (b.1 as f64 * b.2).total_cmp(&(a.1 as f64 * a.2)));
    Ok(rows)
}

fn main() -> Result<(), Failure> {
    let device = Device::open(&DeviceOptions::default())?;
    for arg in std::env::args().skip(1) {
        let (name, depth) = arg.split_once('@').unwrap_or((&arg, "0"));
        let plan = plan(name)?;
        let code = codes(&plan.program.kernels)?;
        let open = |timestamps| -> Result<Session, Failure> {
            let record = RecordOptions { timestamps, ..RecordOptions::default() };
            let options = Options { record, ..Options::default() };
            let weights = WeightSource::Synthetic(1);
            let engine = Engine::new(&device, plan.program.clone(), &code, &weights, options, &mut |_, _| {})?;
            Ok(Session::new(engine, &[], session::Options::default())?)
        };
        let mut session = open(false)?;
        println!("{arg}: {} t/s, {}", speed(&mut session, &plan, depth.parse()?)?, device.info().name);
        drop(session);
        for (kernel, count, us) in by_kernel(&mut open(true)?)? {
            println!("  {us:7.1} us x {count:5}  {kernel}");
        }
    }
    Ok(())
}
