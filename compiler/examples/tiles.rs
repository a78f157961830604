//! Times the matrix form of prompt products cut up in several ways. In: a device with matrix units; arguments `M K N LAYOUT linear|normed|gated FORMS`, any
//! number of times (layouts: `f16`, or as docs/pool.md names quantised ones; FORMS: `-` for a list, or forms as they are printed, with commas between).
//! Out: a line a form, fastest first: rows, columns and steps of a tile, its parts, halves of x, splits; workgroups; median microseconds of what
//! comes before the product, of the product and of adding up; TFLOP/s; largest difference from the plain form, in proportion. Promise: weights come from memory: as
//! many copies are used in turn as fill the cache.
#![allow(clippy::print_stdout)]

use onnxcast::graph::quant::Quant;
use onnxcast::graph::{DType, Data, Graph, Node, Norm, Op, Output, Tensor, Ty, UnaryOp};
use onnxcast::plan::kernels::{Form, Tile, select_in};
use onnxcast::plan::{self, BucketGraph, Call, Lock, Precision, Request, Select, Shaders, Storage};
use onnxcast::shaders;
use onnxcast_runtime::array::Array;
use onnxcast_runtime::device::{Device, Options as DeviceOptions};
use onnxcast_runtime::engine::{Engine, Options};
use onnxcast_runtime::program::Phase;
use onnxcast_runtime::recorder::{Code, Part, RecordOptions};
use onnxcast_runtime::weights::WeightSource;

type Failure = Box<dyn std::error::Error>;

#[derive(Clone, Copy)]
struct Shape {
    m: usize,
    k: usize,
    n: usize,
    quant: Option<Quant>,
    normed: bool,
    gated: bool,
}

/// The kernels of the plan, but that each graph has the form that its name is the number of.
struct Cut<'a>(&'a [Option<Form>]);

impl Select for Cut<'_> {
    fn node(&self, graph: &Graph, node: &Node, storage: Storage) -> onnxcast::error::Result<Vec<Call>> {
        let number: usize = graph.name.parse().unwrap_or(0);
        let mut calls = select_in(graph, node, storage, self.0[number])?;
        for call in &mut calls {
            call.kernel.name = format!("{}_form{number}", call.kernel.name).into();
        }
        Ok(calls)
    }

    fn sample(&self, vocab: usize, phase: Phase) -> onnxcast::error::Result<Vec<Call>> {
        Shaders.sample(vocab, phase)
    }
}

fn graph(shape: Shape, copies: usize, number: usize) -> onnxcast::error::Result<Graph> {
    let Shape { m, k, n, quant, normed, gated } = shape;
    let mut graph = Graph { name: number.to_string(), ..Graph::default() };
    let x = graph.add_input("x", Ty::new(DType::F32, &[1, m, k]));
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
            (Op::GatedLinear { norm, act: UnaryOp::Silu, nk: true }, vec![Some(x), absent("gate"), absent("up")])
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
    form: Option<Form>,
    /// Microseconds of the preparation, of the product, of adding up.
    us: [f64; 3],
    y: Vec<f64>,
}

/// All forms in one program, a bucket each, so that they share weights and the device never idles between them.
fn run(device: &Device, shape: Shape, forms: &[Option<Form>], plain: bool) -> Result<Vec<Timed>, Failure> {
    let copies = if plain { 1 } else { (80_000_000 / bytes(shape)).clamp(2, 12) };
    let mut buckets = Vec::new();
    for number in 0..forms.len() {
        let graph = graph(shape, copies, number)?;
        buckets.push(BucketGraph { name: format!("b{number}"), file: "one".into(), rows: 1, decoder: false, graph });
    }
    let precision = if shape.quant.is_some() { Precision::Int4 } else { Precision::Fp16 };
    let (lock, select) = (Lock::default(), Cut(forms));
    let request = Request {
        name: "tiles",
        storage: precision.into(),
        context: None,
        buckets: &buckets,
        lock: &lock,
        select: &select,
    };
    let program = plan::assemble(&request)?.program;
    let mut code = Vec::new();
    for kernel in program.kernels.iter() {
        let words = if plain { None } else { shaders::compile_matrix(kernel)? };
        code.push(Code::Words(words.map_or_else(|| shaders::compile(kernel), Ok)?.into()));
    }
    let record = RecordOptions { full_barriers: true, timestamps: true, ..Default::default() };
    let options = Options { record, ..Options::default() };
    let mut engine = Engine::new(device, program, &code, &WeightSource::Synthetic(1), options, &mut |_, _| {})?;
    let x: Vec<f32> = (0..shape.m * shape.k).map(|i| ((i * 7919 % 2003) as f32 / 1001.0 - 1.0) * 2.0).collect();
    let x = Array::f32(&[1, shape.m, shape.k], &x);
    let mut out = Vec::new();
    for (number, form) in forms.iter().enumerate() {
        let bucket = number as u32;
        let y = engine.run_raw(bucket, &[("x", &x)])?;
        // An idle device slows its clock down.
        let start = std::time::Instant::now();
        while !plain && start.elapsed().as_millis() < if number == 0 { 300 } else { 25 } {
            engine.run(bucket, Part::Whole)?;
        }
        let mut times: [Vec<f64>; 3] = Default::default();
        for _ in 0..if plain { 1 } else { 6 } {
            engine.run(bucket, Part::Whole)?;
            for timing in engine.timings(bucket, Part::Whole)?.iter().skip(2) {
                let before = timing.kernel.starts_with("hal");
                let which = if before { 0 } else { 1 + usize::from(timing.kernel.contains("add_up")) };
                times[which].push(timing.ns / 1e3);
            }
        }
        let us = times.map(|mut t| {
            t.sort_by(f64::total_cmp);
            t.get(t.len() / 2).copied().unwrap_or(0.0)
        });
        let y = y.iter().find(|(name, _)| name == "y0").map_or(Vec::new(), |(_, y)| y.data.to_f64());
        out.push(Timed { form: *form, us, y });
    }
    Ok(out)
}

/// A form in eight numbers.
fn parse(text: &str) -> Result<Form, Failure> {
    let numbers: Vec<usize> = text.split('.').map(str::parse).collect::<Result<_, _>>()?;
    let [m, n, k, a, b, c, halves, splits] = numbers[..] else { return Err("a form is eight numbers".into()) };
    Ok(Form { tile: Tile { m, n, k, parts: [a, b, c] }, halves, splits })
}

fn printed(form: Form) -> String {
    let Tile { m, n, k, parts: [a, b, c] } = form.tile;
    format!("{m}.{n}.{k}.{a}.{b}.{c}.{}.{}", form.halves, form.splits)
}

const TILES: [[usize; 6]; 12] = [
    [256, 128, 32, 4, 2, 1],
    [128, 256, 32, 2, 4, 1],
    [128, 192, 32, 2, 4, 1],
    [128, 128, 32, 2, 2, 1],
    [128, 128, 64, 2, 2, 1],
    [128, 128, 32, 2, 4, 1],
    [128, 64, 64, 2, 2, 1],
    [64, 128, 64, 2, 2, 1],
    [64, 128, 64, 2, 2, 2],
    [64, 64, 64, 2, 2, 1],
    [64, 64, 64, 2, 2, 2],
    [32, 64, 128, 1, 2, 4],
];

fn forms(shape: Shape) -> Vec<Form> {
    let mut out = Vec::new();
    for [m, n, k, a, b, c] in TILES {
        for (halves, splits) in [(1, 1), (2, 1), (1, 4), (2, 4)] {
            let form = Form { tile: Tile { m, n, k, parts: [a, b, c] }, halves, splits };
            let columns = if shape.gated { 2 * shape.n } else { shape.n };
            let groups: u32 = form.grid(shape.m, columns / 4).iter().product();
            if form.fits() && (50..1500).contains(&groups) && shape.k.is_multiple_of(k) {
                out.push(form);
            }
        }
    }
    out
}

fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let device = Device::open(&DeviceOptions::default())?;
    println!("{}: matrix units {}", device.info().name, device.limits().matrix);
    for group in args.chunks(6) {
        let [m, k, n, layout, kind, list] = group else {
            return Err("shapes are M K N LAYOUT linear|normed|gated FORMS".into());
        };
        let quant = if layout == "f16" { None } else { Some(Quant::parse(layout).ok_or("no such layout")?) };
        let (m, k, n) = (m.parse()?, k.parse()?, n.parse()?);
        let shape = Shape { m, k, n, quant, normed: kind != "linear", gated: kind == "gated" };
        let mut tried = vec![None];
        match list.as_str() {
            "-" => tried.extend(forms(shape).into_iter().map(Some)),
            list => {
                for text in list.split(',') {
                    tried.extend(Some(parse(text)?).filter(Form::fits).map(Some));
                }
            }
        }
        let plain = run(&device, shape, &[None], true)?.remove(0);
        let mut all = if device.limits().matrix { run(&device, shape, &tried, false)? } else { Vec::new() };
        println!("{m} x {k} x {n} {layout} {kind}: plain {:.0} us", plain.us[1]);
        let largest = plain.y.iter().fold(0.0f64, |a, y| a.max(y.abs()));
        let whole = |t: &Timed| t.us[1] + t.us[2];
        all.sort_by(|a, b| whole(a).total_cmp(&whole(b)));
        for timed in &all {
            let off = timed.y.iter().zip(&plain.y).map(|(a, b)| (a - b).abs()).fold(0.0f64, f64::max) / largest;
            let columns = if shape.gated { 2 * n } else { n };
            let groups = timed.form.map_or(0, |f| f.grid(m, columns.div_ceil(4)).iter().product());
            let [before, us, after] = timed.us;
            let name = timed.form.map_or("plan".to_string(), printed);
            let rate = 2.0 * (m * k * columns) as f64 / (us + after) / 1e6;
            println!(
                "  {name} {groups} groups, {before:.1} + {us:.1} + {after:.1} us, {rate:.0} TFLOP/s, off {off:.1e}"
            );
        }
    }
    Ok(())
}
