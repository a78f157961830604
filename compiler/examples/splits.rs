//! Times the mat-vec form of products in several splits. In: a device; arguments `K N LAYOUT linear|normed|gated`, any number of times
//! (layouts: `f16`, or as docs/pool.md names quantised ones). Out: a line a split, fastest first: threads, threads a row, units a workgroup, median microseconds
//! of a dispatch with its barrier, GB/s of weights, largest difference from the plan's own split. Promise: weights come from memory: as many copies are used in turn as fill the cache.
#![allow(clippy::print_stdout)]

use onnxcast::graph::quant::Quant;
use onnxcast::graph::{DType, Data, Graph, Node, Norm, Op, Output, Tensor, Ty, UnaryOp};
use onnxcast::plan::{self, BucketGraph, Call, Lock, Precision, Request, Select, Shaders, Storage};
use onnxcast::shaders;
use onnxcast_runtime::array::Array;
use onnxcast_runtime::device::{Device, Options as DeviceOptions};
use onnxcast_runtime::engine::{Engine, Options};
use onnxcast_runtime::program::{Kernel, Phase};
use onnxcast_runtime::recorder::{Code, Part, RecordOptions};
use onnxcast_runtime::weights::WeightSource;

type Failure = Box<dyn std::error::Error>;

#[derive(Clone, Copy)]
struct Shape {
    k: usize,
    n: usize,
    quant: Option<Quant>,
    normed: bool,
    gated: bool,
}

/// LOCAL, SLOTS, UNITS, and WALK.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Split(usize, usize, usize, usize);

/// The kernels of the plan, but that each graph has the split that its name is the number of.
struct Divided<'a>(&'a [Option<Split>]);

impl Select for Divided<'_> {
    fn node(&self, graph: &Graph, node: &Node, storage: Storage) -> onnxcast::error::Result<Vec<Call>> {
        let mut calls = Shaders.node(graph, node, storage)?;
        let number: usize = graph.name.parse().unwrap_or(0);
        let Some(Split(local, slots, units, walk)) = self.0[number] else { return Ok(calls) };
        for call in &mut calls {
            call.kernel.name = format!("{}_{local}_{slots}_{units}_{walk}", call.kernel.name).into();
            for (name, value) in call.kernel.defines.to_mut() {
                match name.as_ref() {
                    "LOCAL" => *value = local.to_string().into(),
                    "SLOTS" => *value = slots.to_string().into(),
                    "UNITS" => *value = units.to_string().into(),
                    _ => {}
                }
            }
            let defines = call.kernel.defines.to_mut();
            defines.retain(|(name, _)| name != "WALK");
            if walk > 0 {
                defines.push(("WALK".into(), walk.to_string().into()));
            }
            let n = graph.shape(node.out())[2];
            let all = if matches!(node.op, Op::GatedLinear { .. }) { n.div_ceil(2) } else { n.div_ceil(4) };
            call.grid = [all.div_ceil(units) as u32, 1, 1];
        }
        Ok(calls)
    }

    fn sample(&self, vocab: usize, phase: Phase) -> onnxcast::error::Result<Vec<Call>> {
        Shaders.sample(vocab, phase)
    }
}

fn graph(shape: Shape, copies: usize, number: usize) -> onnxcast::error::Result<Graph> {
    let Shape { k, n, quant, normed, gated } = shape;
    let mut graph = Graph { name: number.to_string(), ..Graph::default() };
    let x = graph.add_input("x", Ty::new(DType::F32, &[1, 1, k]));
    let scale = graph.add_const("scale", Tensor::f32(&[k], &vec![1.0; k]));
    for i in 0..copies {
        let mut absent = |name: &str| {
            let name = format!("{name}{i}");
            let tensor = match quant {
                Some(quant) => Tensor::absent_quantised(name.clone(), vec![n, k], quant),
                None => {
                    let mut tensor = Tensor::f32(&[0], &[]);
                    tensor.shape = vec![n, k];
                    tensor.data = Data::Absent(name.clone());
                    tensor
                }
            };
            Some(graph.add_const(name, tensor))
        };
        let norm = normed.then_some(Norm::Rms { eps: 1e-6 });
        let (op, mut inputs) = if gated {
            let op = Op::GatedLinear { norm, act: UnaryOp::Silu, nk: true };
            (op, vec![Some(x), absent("gate"), absent("up")])
        } else {
            let op = Op::Linear { norm, bias: false, act: None, residual: false, nk: true };
            (op, vec![Some(x), absent("w")])
        };
        inputs.extend(norm.map(|_| Some(scale)));
        let value = graph.push(op, &inputs, &format!("y{i}"))?[0];
        graph.outputs.push(Output { name: format!("y{i}"), value });
    }
    Ok(graph)
}

fn bytes(shape: Shape) -> usize {
    let rows = if shape.gated { 2 * shape.n } else { shape.n };
    shape.quant.map_or(2 * rows * shape.k, |q| q.sections(rows, shape.k).bytes)
}

struct Timed {
    split: Split,
    us: f64,
    y: Vec<f64>,
}

/// On as many threads as there are cores: a program here is a hundred kernels.
fn compiled(kernels: &[Kernel]) -> Result<Vec<Code>, Failure> {
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    let part = |part: &[Kernel]| part.iter().map(shaders::compile).collect::<Result<Vec<_>, _>>();
    let parts = std::thread::scope(|scope| {
        let handles: Vec<_> =
            kernels.chunks(kernels.len().div_ceil(threads).max(1)).map(|p| scope.spawn(move || part(p))).collect();
        handles.into_iter().map(|h| h.join().map_err(|_| "a compiling thread panicked")).collect::<Result<Vec<_>, _>>()
    })?;
    let words = parts.into_iter().collect::<Result<Vec<_>, _>>()?.concat();
    Ok(words.into_iter().map(|words| Code::Words(words.into())).collect())
}

/// All splits in one program, a bucket each, so that they share weights and the device never idles between them.
fn run(device: &Device, shape: Shape, splits: &[Option<Split>]) -> Result<Vec<Timed>, Failure> {
    let copies = (150_000_000 / bytes(shape)).clamp(2, 24);
    let mut buckets = Vec::new();
    for number in 0..splits.len() {
        let graph = graph(shape, copies, number)?;
        buckets.push(BucketGraph { name: format!("b{number}"), file: "one".into(), rows: 1, decoder: false, graph });
    }
    let precision = if shape.quant.is_some() { Precision::Int4 } else { Precision::Fp16 };
    let (lock, select) = (Lock::default(), Divided(splits));
    let request = Request {
        name: "splits",
        storage: precision.into(),
        context: None,
        buckets: &buckets,
        lock: &lock,
        select: &select,
    };
    let program = plan::assemble(&request)?.program;
    let define = |kernel: usize, name: &str| -> usize {
        let found = program.kernels[kernel].defines.iter().find(|(n, _)| n == name);
        found.and_then(|(_, v)| v.parse().ok()).unwrap_or(0)
    };
    let shown: Vec<Split> = program
        .buckets
        .iter()
        .map(|b| b.blocks[0].dispatches[0].kernel as usize)
        .map(|k| Split(define(k, "LOCAL"), define(k, "SLOTS"), define(k, "UNITS"), define(k, "WALK")))
        .collect();
    let code = compiled(&program.kernels)?;
    let record = RecordOptions { full_barriers: true, timestamps: true, ..Default::default() };
    let options = Options { record, ..Options::default() };
    let mut engine = Engine::new(device, program, &code, &WeightSource::Synthetic(1), options, &mut |_, _| {})?;
    let x: Vec<f32> = (0..shape.k).map(|i| ((i * 7919 % 2003) as f32 / 1001.0 - 1.0) * 2.0).collect();
    let x = Array::f32(&[1, 1, shape.k], &x);
    let mut out = Vec::new();
    for (number, split) in shown.into_iter().enumerate() {
        let bucket = number as u32;
        let y = engine.run_raw(bucket, &[("x", &x)])?;
        // An idle device slows its clock down.
        let start = std::time::Instant::now();
        while start.elapsed().as_millis() < if number == 0 { 400 } else { 25 } {
            engine.run(bucket, Part::Whole)?;
        }
        let mut times = Vec::new();
        for _ in 0..8 {
            engine.run(bucket, Part::Whole)?;
            times.extend(engine.timings(bucket, Part::Whole)?.iter().skip(1).map(|t| t.ns / 1e3));
        }
        times.sort_by(f64::total_cmp);
        let us = times.get(times.len() / 2).copied().unwrap_or(0.0);
        let y = y.iter().find(|(name, _)| name == "y0").map_or(Vec::new(), |(_, y)| y.data.to_f64());
        out.push(Timed { split, us, y });
    }
    Ok(out)
}

fn splits(shape: Shape) -> Vec<Split> {
    let chunk = shape.quant.map_or(8, |q| 128 / usize::from(q.bits));
    let all = if shape.gated { shape.n.div_ceil(2) } else { shape.n.div_ceil(4) };
    let chunks = shape.k / chunk;
    let mut out = Vec::new();
    for each in (1..=12).filter(|n| chunks.is_multiple_of(*n)) {
        let slots = chunks / each;
        for groups in [1, 2, 4, 8] {
            for depth in [1, 2, 4] {
                let (local, units) = (groups * slots, groups * depth);
                let shared = 16 * units * slots + 4 * local + if chunk > 8 { 4 * chunk * slots } else { 0 };
                let fits = (48..=512).contains(&local) && units <= local && shared <= 49152;
                if fits && depth * each <= 8 && (60..5000).contains(&all.div_ceil(units)) {
                    out.push(Split(local, slots, units, 0));
                }
            }
        }
    }
    if chunk > 8 {
        out.extend(walks(shape.k, chunk, all));
    }
    out
}

/// Splits of the walking form.
fn walks(k: usize, chunk: usize, all: usize) -> Vec<Split> {
    let mut out = Vec::new();
    for walk in [1, 2] {
        for slots in (14..=43).filter(|s| (k / chunk).is_multiple_of(s * walk)) {
            for groups in [1, 2, 3, 4, 6, 8, 10, 12, 16] {
                let local = groups * slots;
                let shared = 16 * local + 4 * local + 8 * slots * walk * chunk;
                if (48..=512).contains(&local) && shared <= 48 << 10 && (60..10_000).contains(&all.div_ceil(groups)) {
                    out.push(Split(local, slots, groups, walk));
                }
            }
        }
    }
    out
}

fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let device = Device::open(&DeviceOptions::default())?;
    println!("{}", device.info().name);
    for group in args.chunks(4) {
        let [k, n, layout, kind] = group else { return Err("shapes are K N LAYOUT linear|normed|gated".into()) };
        let quant = if layout == "f16" { None } else { Some(Quant::parse(layout).ok_or("no such layout")?) };
        let shape = Shape { k: k.parse()?, n: n.parse()?, quant, normed: kind != "linear", gated: kind == "gated" };
        let mut tried = vec![None];
        tried.extend(splits(shape).into_iter().map(Some));
        let mut all = run(&device, shape, &tried)?;
        let base = all.remove(0);
        let rate = |us: f64| bytes(shape) as f64 / us / 1e3;
        println!("{k} x {n} {layout} {kind}: plan {:?} {:.1} us, {:.0} GB/s", base.split, base.us, rate(base.us));
        let largest = base.y.iter().fold(0.0f64, |a, y| a.max(y.abs()));
        all.sort_by(|a, b| a.us.total_cmp(&b.us));
        for timed in all.iter().take(8) {
            let off = timed.y.iter().zip(&base.y).map(|(a, b)| (a - b).abs()).fold(0.0f64, f64::max);
            println!("  {:?} {:.1} us, {:.0} GB/s, off {:.1e}", timed.split, timed.us, rate(timed.us), off / largest);
        }
    }
    Ok(())
}
