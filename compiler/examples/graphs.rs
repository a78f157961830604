//! Times a graph by dispatch. In: a device; arguments `FILE.onnx [a=1,b=2]` (as it stands, fp16) or `NAME BUCKET` (of models/NAME, every
//! row live). Out: milliseconds of three times ten runs, then microseconds by kernel. Promise: weights are made up, so graphs alone do.
#![allow(clippy::print_stdout)]

use onnxcast::job::{Job, Wish};
use onnxcast::pipeline;
use onnxcast::plan::{Plan, Precision};
use onnxcast::shaders;
use onnxcast_runtime::array::Array;
use onnxcast_runtime::device::{Device, Options as DeviceOptions};
use onnxcast_runtime::engine::{Engine, Options};
use onnxcast_runtime::recorder::{Code, Part, RecordOptions};
use onnxcast_runtime::step::Step;
use onnxcast_runtime::weights::WeightSource;
use std::collections::BTreeMap;
use std::time::Instant;

type Failure = Box<dyn std::error::Error>;

fn plan(first: &str, second: Option<&str>) -> Result<Plan, Failure> {
    let mut wish = Wish { project: ".".into(), name: "graphs".into(), without_weights: true, ..Wish::default() };
    if first.ends_with(".onnx") {
        let mut dims = BTreeMap::new();
        for pair in second.unwrap_or("").split(',').filter(|p| !p.is_empty()) {
            let (name, n) = pair.split_once('=').ok_or("dimensions are name=number")?;
            dims.insert(name.to_string(), n.parse()?);
        }
        wish.onnx = Some(first.into());
        wish.dims = Some(dims);
        wish.precision = Some(Precision::Fp16);
    } else {
        wish.name = first.into();
    }
    Ok(pipeline::compile(&Job::find(&wish)?, &mut |_| {})?.plan)
}

fn open(device: &Device, plan: &Plan, timestamps: bool, code: &[Code]) -> Result<Engine, Failure> {
    let record = RecordOptions { timestamps, ..RecordOptions::default() };
    let options = Options { record, ..Options::default() };
    let program = plan.program.clone();
    let mut engine = Engine::new(device, program, code, &WeightSource::Synthetic(1), options, &mut |_, _| {})?;
    engine.reset_states()?;
    Ok(engine)
}

/// Fills the inputs of a graph that runs as it stands, or lets every row of a chunk be live.
fn feed(engine: &mut Engine, bucket: usize) -> Result<(), Failure> {
    let ports: Vec<(String, Vec<usize>)> = engine.program().buckets[bucket]
        .inputs
        .iter()
        .map(|p| (p.name.to_string(), p.shape.iter().map(|&n| n as usize).collect()))
        .collect();
    if ports.is_empty() {
        return live(engine, bucket);
    }
    let arrays: Vec<(String, Array)> = ports
        .into_iter()
        .map(|(name, shape)| {
            let n = shape.iter().product::<usize>();
            let x: Vec<f32> = (0..n).map(|i| (i * 7919 % 2003) as f32 / 1001.0 - 1.0).collect();
            (name, Array::f32(&shape, &x))
        })
        .collect();
    let given: Vec<(&str, &Array)> = arrays.iter().map(|(n, a)| (n.as_str(), a)).collect();
    engine.run_raw(bucket as u32, &given)?;
    Ok(())
}

/// Every row of a chunk at the beginning of the cache is live: a run moves the position on.
fn live(engine: &mut Engine, bucket: usize) -> Result<(), Failure> {
    let rows = engine.program().buckets[bucket].rows;
    Ok(engine.set_step(&Step { pos: 0, rows, ..bytemuck::Zeroable::zeroed() })?)
}

fn again(engine: &mut Engine, bucket: usize) -> Result<(), Failure> {
    live(engine, bucket)?;
    Ok(engine.run(bucket as u32, Part::Whole)?)
}

fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (Some(first), second) = (args.first(), args.get(1)) else { return Err("FILE.onnx or a model's name".into()) };
    let plan = plan(first, second.map(String::as_str))?;
    let bucket =
        plan.program.buckets.iter().position(|b| Some(b.name.as_ref()) == second.map(String::as_str)).unwrap_or(0);
    let device = Device::open(&DeviceOptions::default())?;
    println!("{} {}: {}", first, plan.program.buckets[bucket].name, device.info().name);
    let mut code = Vec::new();
    for kernel in plan.program.kernels.iter() {
        let plain = Code::Words(shaders::compile(kernel)?.into());
        code.push(match shaders::compile_matrix(kernel)? {
            Some(words) => Code::Forms(Box::new(plain), Box::new(Code::Words(words.into()))),
            None => plain,
        });
    }
    let mut engine = open(&device, &plan, false, &code)?;
    feed(&mut engine, bucket)?;
    let start = Instant::now();
    while start.elapsed().as_millis() < 300 {
        again(&mut engine, bucket)?;
    }
    for _ in 0..3 {
        let mut times: Vec<f64> = Vec::new();
        for _ in 0..10 {
            live(&mut engine, bucket)?;
            let start = Instant::now();
            engine.run(bucket as u32, Part::Whole)?;
            times.push(start.elapsed().as_secs_f64() * 1e3);
        }
        times.sort_by(f64::total_cmp);
        println!("{:.3} ms ({:.3} to {:.3})", times[5], times[0], times[9]);
    }
    drop(engine);
    let mut engine = open(&device, &plan, true, &code)?;
    feed(&mut engine, bucket)?;
    for _ in 0..20 {
        again(&mut engine, bucket)?;
    }
    let mut by_kernel: BTreeMap<String, (usize, f64)> = BTreeMap::new();
    for timing in engine.timings(bucket as u32, Part::Whole)? {
        let sum = by_kernel.entry(timing.kernel.to_string()).or_default();
        *sum = (sum.0 + 1, sum.1 + timing.ns / 1e3);
    }
    let mut rows: Vec<(String, (usize, f64))> = by_kernel.into_iter().collect();
    rows.sort_by(|a, b| b.1.1.total_cmp(&a.1.1));
    println!(
        "{:.0} us in {} dispatches",
        rows.iter().map(|r| r.1.1).sum::<f64>(),
        rows.iter().map(|r| r.1.0).sum::<usize>()
    );
    for (kernel, (count, us)) in rows {
        println!("{us:9.1} us {count:4} x {:7.1}  {kernel}", us / count as f64);
    }
    Ok(())
}
