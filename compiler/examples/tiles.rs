//! Times the matrix form of prompt products in several tiles. In: a device with matrix units; arguments `M K N linear|gated`, any number of times, none for
//! those of Qwen2.5-0.5B. Out: a line a tile: workgroups, median microseconds, largest difference from the plain form. Promise:
//! weights come from memory, not from the cache: as many copies are used in turn as fill it.
#![allow(clippy::print_stdout)]

use onnxcast::graph::{DType, Data, Graph, Node, Norm, Op, Output, Tensor, Ty, UnaryOp};
use onnxcast::plan::{self, BucketGraph, Call, Lock, Precision, Request, Select, Shaders, Storage};
use onnxcast::shaders;
use onnxcast_runtime::array::Array;
use onnxcast_runtime::device::{Device, Options as DeviceOptions};
use onnxcast_runtime::engine::{Engine, Options};
use onnxcast_runtime::program::Phase;
use onnxcast_runtime::recorder::{Code, Part, RecordOptions};
use onnxcast_runtime::weights::WeightSource;

type Failure = Box<dyn std::error::Error>;

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Linear,
    Normed,
    Gated,
}

#[derive(Clone, Copy)]
struct Shape {
    m: usize,
    k: usize,
    n: usize,
    kind: Kind,
}

/// TILE_M, TILE_N, TILE_K, PARTS_M, PARTS_N, PARTS_K, HALVES.
type Tile = [usize; 7];

/// The kernels of the plan with another tile.
struct Tiled(Option<Tile>);

impl Select for Tiled {
    fn node(&self, graph: &Graph, node: &Node, storage: Storage) -> onnxcast::error::Result<Vec<Call>> {
        let mut calls = Shaders.node(graph, node, storage)?;
        let Some(tile) = self.0 else { return Ok(calls) };
        for call in &mut calls {
            let halves = tile[6].to_string();
            for (name, value) in call.kernel.defines.to_mut() {
                if name == "HALVES" {
                    *value = halves.clone().into();
                }
            }
            let names = ["TILE_M", "TILE_N", "TILE_K", "PARTS_M", "PARTS_N", "PARTS_K"];
            for (name, value) in call.kernel.matrix.to_mut() {
                if let Some(i) = names.iter().position(|n| n == name) {
                    *value = tile[i].to_string().into();
                }
            }
            if call.kernel.source != "halves.comp" {
                let shape = graph.shape(node.out());
                let (m, n) = (shape[1], shape[2]);
                let columns = if matches!(node.op, Op::GatedLinear { .. }) { 2 * n } else { n };
                call.grid = [columns.div_ceil(tile[1]) as u32, m.div_ceil(tile[0]) as u32, 1];
            }
        }
        Ok(calls)
    }

    fn sample(&self, vocab: usize, phase: Phase) -> onnxcast::error::Result<Vec<Call>> {
        Shaders.sample(vocab, phase)
    }
}

fn graph(shape: Shape, copies: usize) -> onnxcast::error::Result<Graph> {
    let Shape { m, k, n, kind } = shape;
    let mut graph = Graph { name: "tiles".into(), ..Graph::default() };
    let x = graph.add_input("x", Ty::new(DType::F32, &[1, m, k]));
    let scale = graph.add_const("scale", Tensor::f32(&[k], &vec![1.0; k]));
    for i in 0..copies {
        let mut absent = |name: &str| {
            let name = format!("{name}{i}");
            let mut tensor = Tensor::f32(&[0], &[]);
            tensor.shape = vec![n, k];
            tensor.data = Data::Absent(name.clone());
            Some(graph.add_const(name, tensor))
        };
        let norm = Some(Norm::Rms { eps: 1e-6 });
        let (op, inputs) = match kind {
            Kind::Gated => {
                let op = Op::GatedLinear { norm, act: UnaryOp::Silu, nk: true };
                (op, vec![Some(x), absent("gate"), absent("up"), Some(scale)])
            }
            _ => {
                let norm = norm.filter(|_| kind == Kind::Normed);
                let op = Op::Linear { norm, bias: false, act: None, residual: false, nk: true };
                let mut inputs = vec![Some(x), absent("w")];
                inputs.extend(norm.map(|_| Some(scale)));
                (op, inputs)
            }
        };
        let value = graph.push(op, &inputs, &format!("y{i}"))?[0];
        graph.outputs.push(Output { name: format!("y{i}"), value });
    }
    Ok(graph)
}

struct Timed {
    groups: [u32; 3],
    /// Microseconds of the preparation and of the product.
    us: [f64; 2],
    y: Vec<f32>,
}

fn run(device: &Device, shape: Shape, tile: Option<Tile>, plain: bool) -> Result<Timed, Failure> {
    let bytes = shape.n * shape.k * 2 * if shape.kind == Kind::Gated { 2 } else { 1 };
    let copies = if plain { 1 } else { (80_000_000 / bytes).clamp(2, 16) };
    let graph = graph(shape, copies)?;
    let bucket = BucketGraph { name: "run".into(), file: "one".into(), rows: 1, decoder: false, graph };
    let (lock, buckets, select) = (Lock::default(), [bucket], Tiled(tile));
    let precision = Precision::Fp16;
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
        let words = shaders::compile_matrix(kernel)?.filter(|_| !plain);
        code.push(Code::Words(words.map_or_else(|| shaders::compile(kernel), Ok)?.into()));
    }
    let record = RecordOptions { full_barriers: true, timestamps: true, ..Default::default() };
    let options = Options { record, ..Options::default() };
    let groups = program.buckets[0].blocks.iter().flat_map(|b| b.dispatches.iter()).map(|d| d.grid).next_back();
    let mut engine = Engine::new(device, program, &code, &WeightSource::Synthetic(1), options, &mut |_, _| {})?;
    let x: Vec<f32> = (0..shape.m * shape.k).map(|i| ((i * 7919 % 2003) as f32 / 1001.0 - 1.0) * 2.0).collect();
    let x = Array::f32(&[1, shape.m, shape.k], &x);
    let out = engine.run_raw(0, &[("x", &x)])?;
    // An idle device slows its clock down.
    let start = std::time::Instant::now();
    while start.elapsed().as_millis() < 100 {
        engine.run(0, Part::Whole)?;
    }
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..if plain { 2 } else { 5 } {
        engine.run(0, Part::Whole)?;
        for timing in engine.timings(0, Part::Whole)?.iter().skip(2) {
            times[usize::from(!timing.kernel.starts_with("halves"))].push(timing.ns / 1e3);
        }
    }
    let us = times.map(|mut t| {
        t.sort_by(f64::total_cmp);
        t.get(t.len() / 2).copied().unwrap_or(0.0)
    });
    let y = out.iter().find(|(name, _)| name == "y0").map_or(Vec::new(), |(_, y)| y.data.to_f64());
    Ok(Timed { groups: groups.unwrap_or([0; 3]), us, y: y.iter().map(|y| *y as f32).collect() })
}

fn tiles(shape: Shape) -> Vec<Tile> {
    let mut all = Vec::new();
    for [m, n, k, a, b, c] in TILES {
        all.push([m, n, k, a, b, c, 2]);
    }
    all.retain(|&[m, n, k, a, b, c, halves]| {
        let threads = 32 * a * b * c;
        let shared = (halves * m + n) * (k / 8 + 1) * 16 + a * b * c * 1280;
        let even = |rows: usize| (rows * k / 8).is_multiple_of(threads);
        let columns = if shape.kind == Kind::Gated { 2 * shape.n } else { shape.n };
        let groups = shape.m.div_ceil(m) * columns.div_ceil(n);
        (50..700).contains(&groups) && shape.k.is_multiple_of(k) && even(m * halves) && even(n) && shared <= 49152
    });
    all
}

const TILES: [[usize; 6]; 29] = [
    [128, 128, 32, 2, 2, 1],
    [128, 192, 32, 2, 4, 1],
    [128, 192, 32, 2, 2, 1],
    [128, 64, 32, 2, 2, 1],
    [64, 128, 32, 2, 2, 1],
    [64, 128, 32, 1, 4, 1],
    [64, 256, 32, 1, 4, 1],
    [128, 128, 32, 2, 4, 1],
    [128, 128, 32, 4, 2, 1],
    [128, 128, 32, 2, 2, 2],
    [128, 128, 64, 2, 4, 1],
    [128, 128, 64, 4, 2, 1],
    [128, 64, 32, 4, 2, 1],
    [128, 64, 64, 4, 2, 1],
    [128, 64, 64, 2, 2, 2],
    [64, 128, 64, 2, 4, 1],
    [64, 128, 64, 2, 2, 2],
    [64, 64, 64, 2, 2, 1],
    [64, 64, 64, 2, 2, 2],
    [64, 64, 128, 2, 2, 2],
    [64, 32, 64, 2, 1, 4],
    [64, 32, 128, 2, 1, 4],
    [32, 64, 64, 1, 2, 2],
    [32, 64, 64, 1, 2, 4],
    [32, 64, 128, 1, 2, 4],
    [32, 64, 128, 1, 2, 2],
    [32, 32, 128, 1, 1, 8],
    [32, 32, 128, 1, 1, 4],
    [32, 32, 256, 1, 1, 8],
];

fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (linear, normed, gated) = (Kind::Linear, Kind::Normed, Kind::Gated);
    let mut shapes = vec![
        Shape { m: 256, k: 896, n: 4864, kind: gated },
        Shape { m: 256, k: 4864, n: 896, kind: linear },
        Shape { m: 256, k: 896, n: 1152, kind: normed },
        Shape { m: 256, k: 896, n: 896, kind: linear },
    ];
    if !args.is_empty() {
        shapes.clear();
    }
    for group in args.chunks(4) {
        let [m, k, n, kind] = group else { return Err("shapes are M K N linear|gated".into()) };
        let kind = if kind == "gated" { gated } else { linear };
        shapes.push(Shape { m: m.parse()?, k: k.parse()?, n: n.parse()?, kind });
    }
    let device = Device::open(&DeviceOptions::default())?;
    println!("{}: matrix units {}", device.info().name, device.limits().matrix);
    for shape in shapes {
        let plain = run(&device, shape, None, true)?;
        println!("{} x {} x {}: plain {:.1} us", shape.m, shape.k, shape.n, plain.us[1]);
        if !device.limits().matrix {
            continue;
        }
        let largest = plain.y.iter().fold(0.0f32, |a, y| a.max(y.abs()));
        for tile in tiles(shape) {
            match run(&device, shape, Some(tile), false) {
                Ok(timed) => {
                    let off = timed.y.iter().zip(&plain.y).map(|(a, b)| (a - b).abs()).fold(0.0f32, f32::max);
                    let [x, y, _] = timed.groups;
                    let [prepare, us] = timed.us;
                    println!("{tile:?} {:4} groups, {prepare:5.1} + {us:6.1} us, off {:.1e}", x * y, off / largest);
                }
                Err(e) => println!("{tile:?}: {e}"),
            }
        }
    }
    Ok(())
}
