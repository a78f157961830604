//! The matrix form of kernels against the plain one. In: products of a prompt and attention at real and ragged sizes. Promise: equal but
//! for the last digits of f32 sums. A device without matrix units emulates them (lib/matrix_emulated.glsl): every tile, and small attention;
//! real sizes take units, and are counted as skipped there.

use libtest_mimic::{Arguments, Failed, Trial};
use onnxcast::graph::{Activations, DType, Graph, Heads, Mask, Node, Norm, Op, Rotary, UnaryOp};
use onnxcast::plan::kernels::{self, Form};
use onnxcast::plan::{self, BucketGraph, Call, Kv, Lock, Precision, Request, Select, Shaders, Storage};
use onnxcast::shaders;
use onnxcast_runtime::array::Array;
use onnxcast_runtime::device::{Device, Options as DeviceOptions};
use onnxcast_runtime::engine::{Engine, Options};
use onnxcast_runtime::program::Phase;
use onnxcast_runtime::recorder::Code;
use onnxcast_runtime::step::Step;
use onnxcast_runtime::weights::WeightSource;

#[allow(dead_code)]
#[path = "kernels/nodes.rs"]
mod nodes;

const RMS: Option<Norm> = Some(Norm::Rms { eps: 1e-6 });

/// How kernels run that have two forms.
#[derive(Clone, Copy, PartialEq)]
enum Runs {
    Plain,
    Units,
    Emulated,
}

/// The plan's kernels, but that products take a form where one is given.
struct Cut(Option<Form>);

impl Select for Cut {
    fn node(&self, graph: &Graph, node: &Node, storage: Storage) -> onnxcast::error::Result<Vec<Call>> {
        kernels::select_in(graph, node, storage, self.0)
    }

    fn sample(&self, vocab: usize, phase: Phase) -> onnxcast::error::Result<Vec<Call>> {
        Shaders.sample(vocab, phase)
    }
}

/// Outputs of the graph, and its cache, after a chunk of rows at a position.
fn run(device: &Device, placed: &Placed, runs: Runs) -> Result<Vec<Vec<f64>>, Failed> {
    let Placed { graph, at: (pos, rows), kv, form } = placed;
    let (pos, rows, kv, select) = (*pos, *rows, *kv, Cut(*form));
    let buckets =
        [BucketGraph { name: "run".into(), file: "one".into(), rows: 1, decoder: false, graph: graph.clone() }];
    let (lock, precision) = (Lock::default(), Precision::Fp16);
    let storage = Storage { precision, kv };
    let request = Request { name: "one", storage, context: None, buckets: &buckets, lock: &lock, select: &select };
    let program = plan::assemble(&request)?.program;
    if program.kernels.iter().all(|k| k.matrix.is_empty()) {
        return Err("no kernel has a matrix form".into());
    }
    let mut code = Vec::new();
    for kernel in program.kernels.iter() {
        let words = match runs {
            Runs::Plain => None,
            Runs::Units => shaders::compile_matrix(kernel)?,
            Runs::Emulated => shaders::compile_emulated(kernel)?,
        };
        code.push(Code::Words(words.map_or_else(|| shaders::compile(kernel), Ok)?.into()));
    }
    let options = Options { guard_bytes: 256, ..Options::default() };
    let mut engine = Engine::new(device, program, &code, &WeightSource::Synthetic(5), options, &mut |_, _| {})?;
    engine.reset_states()?;
    let mut random = nodes::Random::new(9);
    for (i, state) in graph.states.iter().enumerate() {
        let bytes = cache_bytes(&mut random, &graph.ty(state.input).shape, kv);
        engine.write_state(i as u32, &bytes)?;
    }
    engine.set_step(&Step { pos, rows, ..bytemuck::Zeroable::zeroed() })?;
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
    for i in 0..graph.states.len() as u32 * u32::from(kv == Kv::Fp16) {
        let bytes = engine.read_state(i)?;
        out.push(bytes.as_chunks::<2>().0.iter().map(|b| half::f16::from_le_bytes(*b).to_f64()).collect());
    }
    engine.check_guards()?;
    Ok(out)
}

/// Rows of a cache: halves, or codes and the scale of each row.
fn cache_bytes(random: &mut nodes::Random, shape: &[usize], kv: Kv) -> Vec<u8> {
    let n: usize = shape.iter().product();
    if kv == Kv::Fp16 {
        return random.floats(n).into_iter().flat_map(|x| half::f16::from_f32(x).to_le_bytes()).collect();
    }
    let mut bytes: Vec<u8> = (0..n).map(|_| random.int(1, 256) as u8).collect();
    bytes.resize(n.next_multiple_of(16), 0);
    bytes.extend((0..n / shape[3]).flat_map(|_| (0.01 + 0.005 * random.float()).to_le_bytes()));
    bytes
}

fn equal(device: &Device, placed: &Placed) -> Result<(), Failed> {
    let units = if device.limits().matrix { Runs::Units } else { Runs::Emulated };
    let (plain, matrix) = (run(device, placed, Runs::Plain)?, run(device, placed, units)?);
    let Placed { graph, at, kv, form } = placed;
    // Keys and values that are no cache become halves, and so do the codes of values.
    let rounds =
        graph.nodes.iter().any(|n| matches!(n.op, Op::Attention { .. } | Op::RowAttention { .. })) || *kv == Kv::Int8;
    // So does x, where the graph's own products take halves.
    let exact = if rounds || graph.activations != Activations::F32 { 1e-3 } else { 3e-5 };
    for (i, (want, got)) in plain.iter().zip(&matrix).enumerate() {
        let largest = want.iter().filter(|x| x.is_finite()).fold(0f64, |a, x| a.max(x.abs()));
        // Caches hold halves, which a last digit may move by one.
        let bound = largest * if i < graph.outputs.len() { exact } else { 1e-3 };
        for (j, (a, b)) in want.iter().zip(got).enumerate() {
            let same = (a - b).abs() <= bound || (a.is_nan() && b.is_nan());
            if !same {
                let (node, shape) = (&graph.nodes[0], graph.shape(graph.nodes[0].out()));
                let what = format!("{} to {shape:?} at {at:?} {kv:?} {form:?}", node.op.name());
                return Err(format!("{what}: output {i}, element {j}: {b} and not {a}").into());
            }
        }
    }
    Ok(())
}

/// A graph, the position and live rows it runs at, what its cache holds, and a form for its products in place of the plan's.
struct Placed {
    graph: Graph,
    at: (u32, u32),
    kv: Kv,
    form: Option<Form>,
}

fn placed(graph: Graph, at: (u32, u32)) -> Placed {
    Placed { graph, at, kv: Kv::Fp16, form: None }
}

/// Products of a tile and a bit more in every direction, whole and with steps that are shared, in every tile that takes at most so many bytes.
fn tiles(shared_bytes: usize) -> Vec<Placed> {
    let mut all = vec![];
    for form in Form::measured().filter(|f| f.shared_bytes() <= shared_bytes) {
        let (m, n, k) = (form.tile.m + 5, form.tile.n + 6, 5 * form.tile.k - 8);
        let graph = nodes::linear(m, k, n, RMS, Some(UnaryOp::Silu), true, true);
        all.push(Placed { form: Some(form), ..placed(graph.clone(), (0, 0)) });
        // Others take as long to compile and share what these show.
        if form.tile.parts[0] > 1 {
            continue;
        }
        all.push(Placed { form: Some(Form { splits: 3, ..form }), ..placed(graph, (0, 0)) });
        let rope = Some(Rotary { rotary: 16, interleaved: false });
        let qkv = nodes::qkv(m, k, nodes::heads(3, 1, 16), 3 * m, rope, true);
        all.push(Placed { form: Some(form), ..placed(qkv, (2, m as u32 - 3)) });
    }
    let halves = |p: &Placed| p.form.is_some_and(|f| f.halves == 1);
    all.iter_mut().filter(|p| halves(p)).for_each(|p| p.graph.activations = Activations::F16);
    all
}

/// Attention of a chunk over a cache of `c` rows, at several places of it.
fn chunks(m: usize, heads: Heads, c: usize, mask: Mask) -> impl Iterator<Item = Placed> {
    let places = [(0, m), (c - m, m), (3, 1), (c - m - 1, m - 1)];
    places.into_iter().flat_map(move |(pos, rows)| {
        let at = (pos as u32, rows as u32);
        [Kv::Fp16, Kv::Int8].map(|kv| Placed { kv, ..placed(nodes::cached_attention(m, heads, c, mask), at) })
    })
}

/// Attention over given keys in one of its forms: heads apart, in rows, or packed.
fn attention(form: usize, [s, t]: [usize; 2], heads: Heads, mask: Mask) -> Placed {
    let mut b = nodes::Build::new((s + t + heads.dim) as u64);
    let Heads { q, kv, dim } = heads;
    let scale = 2.0 / (dim as f32).sqrt();
    let (op, mut inputs) = match form {
        0 => {
            let kv = [1, kv, t, dim];
            let inputs = vec![b.float("q", &[1, q, s, dim]), b.float("k", &kv), b.float("v", &kv)];
            (Op::Attention { heads, scale, mask, cap: 0.0 }, inputs)
        }
        1 => {
            let kv = [1, t, kv * dim];
            let inputs = vec![b.float("q", &[1, s, q * dim]), b.float("k", &kv), b.float("v", &kv)];
            (Op::RowAttention { heads, scale, mask, packed: false }, inputs)
        }
        _ => {
            let inputs = vec![b.float("x", &[1, s, (q + 2 * kv) * dim])];
            (Op::RowAttention { heads, scale, mask, packed: true }, inputs)
        }
    };
    if mask == Mask::Given {
        inputs.push(b.input("mask", DType::F32, &[s, t]));
    }
    placed(b.finish(op, &inputs, &[]), (0, 0))
}

fn trials(device: &Device) -> Vec<Trial> {
    let skip = !device.limits().matrix;
    if skip {
        eprintln!("matrix: real sizes skipped, the rest emulated: '{}' has no matrix units", device.info().name);
    }
    let anywhere = |name: &str, graphs: fn(&Device) -> Vec<Placed>| {
        let device = device.clone();
        Trial::test(name, move || graphs(&device).iter().try_for_each(|p| equal(&device, p)))
    };
    let trial = |name: &str, graphs: fn(&Device) -> Vec<Placed>| anywhere(name, graphs).with_ignored_flag(skip);
    vec![
        anywhere("every_tile_that_fits_the_device", |device| {
            let all = tiles(device.limits().shared_bytes as usize);
            assert!(all.len() >= 20, "{} products", all.len());
            all
        }),
        anywhere("attention_of_small_heads", |_| {
            let mut all: Vec<Placed> = chunks(65, nodes::heads(3, 1, 16), 300, Mask::Window(50)).collect();
            all.extend(chunks(17, nodes::heads(2, 2, 8), 100, Mask::Causal));
            for mask in [Mask::Full, Mask::Causal, Mask::Window(20), Mask::Given] {
                all.extend((0..3).map(|form| attention(form, [50, 50], nodes::heads(4, 2, 16), mask)));
            }
            all
        }),
        trial("products_of_a_real_prompt", |_| {
            let linear = |k, n, norm| placed(nodes::linear(256, k, n, norm, None, norm.is_none(), true), (0, 0));
            let gated = placed(nodes::gated(256, 896, 4864, RMS), (0, 0));
            vec![linear(896, 896, None), linear(4864, 896, None), gated]
        }),
        trial("products_of_a_picture", |_| {
            let norm = Some(Norm::Layer { eps: 1e-6 });
            let linear = |k, n, norm, act| placed(nodes::linear(729, k, n, norm, act, norm.is_none(), false), (0, 0));
            let up = linear(1152, 4304, norm, Some(UnaryOp::GeluTanh));
            vec![linear(1152, 3456, norm, None), up, linear(4304, 1152, None, None), linear(592, 1152, None, None)]
        }),
        trial("ragged_rows_and_columns", |_| {
            let linear = |m, k, n| placed(nodes::linear(m, k, n, RMS, Some(UnaryOp::Silu), true, true), (0, 0));
            vec![
                linear(16, 32, 1),
                linear(17, 64, 65),
                linear(255, 160, 130),
                linear(257, 576, 66),
                linear(33, 1016, 40),
            ]
        }),
        trial("projections_of_padded_chunks_write_live_rows_only", |_| {
            let rope = Some(Rotary { rotary: 64, interleaved: false });
            let qkv = || nodes::qkv(256, 896, nodes::heads(14, 2, 64), 300, rope, true);
            let chunk = |rows, pos| placed(qkv(), (pos, rows));
            vec![chunk(1, 0), chunk(17, 283), chunk(255, 3), chunk(256, 44)]
        }),
        trial("products_of_a_graph_in_halves", |_| {
            let linear = |m, k, n, norm: Option<Norm>| {
                placed(nodes::linear(m, k, n, norm, None, norm.is_none(), norm.is_none()), (0, 0))
            };
            let qkv = || nodes::qkv(256, 896, nodes::heads(14, 2, 64), 300, None, true);
            let mut all = vec![
                linear(256, 4864, 896, None),
                linear(128, 2048, 6144, RMS),
                linear(729, 4304, 1152, None),
                linear(257, 576, 66, RMS),
                linear(33, 1016, 40, RMS),
                linear(17, 96, 65, RMS),
                placed(nodes::gated(256, 896, 4864, RMS), (0, 0)),
                placed(nodes::gated(300, 5120, 104, RMS), (0, 0)),
                placed(qkv(), (17, 283)),
                placed(qkv(), (255, 3)),
            ];
            all.iter_mut().for_each(|p| p.graph.activations = Activations::F16);
            all
        }),
        trial("attention_of_chunks_over_a_cache", |_| {
            let mut all: Vec<Placed> = vec![];
            all.extend(chunks(256, nodes::heads(14, 2, 64), 300, Mask::Causal));
            all.extend(chunks(128, nodes::heads(32, 32, 64), 512, Mask::Causal));
            all.extend(chunks(40, nodes::heads(4, 2, 128), 300, Mask::Causal));
            all.extend(chunks(33, nodes::heads(2, 1, 72), 300, Mask::Window(7)));
            all
        }),
        trial("attention_over_given_keys", |_| {
            let mut all = Vec::new();
            for (rows, h) in [([729, 729], (16, 16, 72)), ([257, 257], (6, 6, 64)), ([33, 33], (2, 1, 128))] {
                for mask in [Mask::Full, Mask::Causal, Mask::Window(20), Mask::Given] {
                    all.extend((0..3).map(|form| attention(form, rows, nodes::heads(h.0, h.1, h.2), mask)));
                }
            }
            all.push(attention(1, [40, 500], nodes::heads(3, 3, 24), Mask::Given));
            all.push(attention(0, [100, 31], nodes::heads(2, 2, 40), Mask::Full));
            all
        }),
    ]
}

fn main() {
    let device = Device::open(&DeviceOptions::default()).unwrap_or_else(|e| panic!("these tests need a device: {e}"));
    libtest_mimic::run(&Arguments::from_args(), trials(&device)).exit();
}
