//! The matrix form of kernels against the plain one, on a device with matrix units. In: products of a prompt at real and ragged sizes.
//! Promise: equal but for the last digits of f32 sums; where there are no matrix units the tests are counted as skipped.

use libtest_mimic::{Arguments, Failed, Trial};
use onnxcast::graph::{Graph, Norm, Rotary, UnaryOp};
use onnxcast::plan::{self, BucketGraph, Lock, Precision, Request, Shaders};
use onnxcast::shaders;
use onnxcast_runtime::array::Array;
use onnxcast_runtime::device::{Device, Options as DeviceOptions};
use onnxcast_runtime::engine::{Engine, Options};
use onnxcast_runtime::recorder::Code;
use onnxcast_runtime::step::Step;
use onnxcast_runtime::weights::WeightSource;

#[allow(dead_code)]
#[path = "kernels/nodes.rs"]
mod nodes;

const RMS: Option<Norm> = Some(Norm::Rms { eps: 1e-6 });

/// Outputs of the graph, and its cache, after a chunk of `rows` at `pos`.
fn run(device: &Device, graph: &Graph, (pos, rows): (u32, u32), no_matrix: bool) -> Result<Vec<Vec<f64>>, Failed> {
    let buckets =
        [BucketGraph { name: "run".into(), file: "one".into(), rows: 1, decoder: false, graph: graph.clone() }];
    let (lock, precision) = (Lock::default(), Precision::Fp16);
    let request = Request {
        name: "one",
        storage: precision.into(),
        context: None,
        buckets: &buckets,
        lock: &lock,
        select: &Shaders,
    };
    let program = plan::assemble(&request)?.program;
    let mut code = Vec::new();
    for kernel in program.kernels.iter() {
        let plain = Code::Words(shaders::compile(kernel)?.into());
        code.push(match shaders::compile_matrix(kernel)? {
            Some(words) => Code::Forms(Box::new(plain), Box::new(Code::Words(words.into()))),
            None => plain,
        });
    }
    if code.iter().all(|c| !matches!(c, Code::Forms(..))) {
        return Err("no kernel has a matrix form".into());
    }
    let options = Options { guard_bytes: 256, no_matrix, ..Options::default() };
    let mut engine = Engine::new(device, program, &code, &WeightSource::Synthetic(5), options, &mut |_, _| {})?;
    engine.reset_states()?;
    engine.set_step(&Step { pos, rows, ..bytemuck::Zeroable::zeroed() })?;
    let mut random = nodes::Random::new(9);
    let mut inputs = Vec::new();
    for &v in &graph.inputs {
        let value = graph.value(v);
        let array = match value.name.as_str() {
            "pos" => Array::i64(&[], &[pos.into()]),
            "rows" => Array::i64(&[], &[rows.into()]),
            _ => Array::f32(&value.ty.shape, &random.floats(value.ty.elements())),
        };
        inputs.push((value.name.clone(), array));
    }
    let inputs: Vec<(&str, &Array)> = inputs.iter().map(|(name, array)| (name.as_str(), array)).collect();
    let mut out: Vec<Vec<f64>> = engine.run_raw(0, &inputs)?.into_iter().map(|(_, y)| y.data.to_f64()).collect();
    for i in 0..graph.states.len() as u32 {
        let bytes = engine.read_state(i)?;
        out.push(bytes.as_chunks::<2>().0.iter().map(|b| half::f16::from_le_bytes(*b).to_f64()).collect());
    }
    engine.check_guards()?;
    Ok(out)
}

fn equal(device: &Device, graph: &Graph, at: (u32, u32)) -> Result<(), Failed> {
    let (plain, matrix) = (run(device, graph, at, true)?, run(device, graph, at, false)?);
    for (i, (want, got)) in plain.iter().zip(&matrix).enumerate() {
        let largest = want.iter().filter(|x| x.is_finite()).fold(0f64, |a, x| a.max(x.abs()));
        // Caches hold halves, which a last digit may move by one.
        let bound = largest * if i < graph.outputs.len() { 3e-5 } else { 1e-3 };
        for (j, (a, b)) in want.iter().zip(got).enumerate() {
            let same = (a - b).abs() <= bound || (a.is_nan() && b.is_nan());
            if !same {
                return Err(format!("output {i}, element {j}: {b} and not {a}").into());
            }
        }
    }
    Ok(())
}

/// A graph, and the position and live rows it runs at.
type Placed = (Graph, (u32, u32));

fn trials(device: &Device) -> Vec<Trial> {
    let skip = !device.limits().matrix;
    if skip {
        eprintln!("matrix: all tests skipped: '{}' has no matrix units", device.info().name);
    }
    let trial = |name: &str, graphs: fn() -> Vec<Placed>| {
        let device = device.clone();
        Trial::test(name, move || graphs().iter().try_for_each(|(graph, at)| equal(&device, graph, *at)))
            .with_ignored_flag(skip)
    };
    vec![
        trial("products_of_a_real_prompt", || {
            let linear = |k, n, norm| (nodes::linear(256, k, n, norm, None, norm.is_none(), true), (0, 0));
            vec![linear(896, 896, None), linear(4864, 896, None), (nodes::gated(256, 896, 4864, RMS), (0, 0))]
        }),
        trial("ragged_rows_and_columns", || {
            let linear = |m, k, n| (nodes::linear(m, k, n, RMS, Some(UnaryOp::Silu), true, true), (0, 0));
            vec![linear(16, 32, 1), linear(17, 64, 65), linear(255, 160, 130), linear(257, 576, 66)]
        }),
        trial("projections_of_padded_chunks_write_live_rows_only", || {
            let rope = Some(Rotary { rotary: 64, interleaved: false });
            let chunk = |rows, pos| (nodes::qkv(256, 896, nodes::heads(14, 2, 64), 300, rope, true), (pos, rows));
            vec![chunk(1, 0), chunk(17, 283), chunk(255, 3), chunk(256, 44)]
        }),
    ]
}

fn main() {
    let device = Device::open(&DeviceOptions::default()).unwrap_or_else(|e| panic!("these tests need a device: {e}"));
    libtest_mimic::run(&Arguments::from_args(), trials(&device)).exit();
}
