//! Greedy sampling closes the loop on the device: a decoder whose logits are a table row, chosen by the last token.

use crate::device::device;
use onnxcast::graph::{BinaryOp, DType, Graph, Op, Output, Tensor, Ty};
use onnxcast::plan::{self, BucketGraph, Lock, Precision, Request, Shaders};
use onnxcast_runtime::device::Device;
use onnxcast_runtime::engine::{Engine, Options};
use onnxcast_runtime::recorder::{Code, Part, RecordOptions};
use onnxcast_runtime::step::{Done, Step};
use onnxcast_runtime::weights::WeightSource;

/// A decoder of one row: logits are row `token` of the table.
fn engine(table: &[Vec<f32>]) -> Engine {
    engine_of(table, 8)
}

/// Tokens beyond the table's rows begin anew.
pub fn engine_of(table: &[Vec<f32>], context: usize) -> Engine {
    engine_on(device(), table, context, false)
}

pub fn engine_on(device: &Device, table: &[Vec<f32>], context: usize, full_barriers: bool) -> Engine {
    let vocab = table[0].len();
    let mut graph = Graph { name: "table".into(), ..Graph::default() };
    let tokens = graph.add_input("tokens", Ty::new(DType::I64, &[1, 1]));
    let flat: Vec<f32> = table.concat();
    let weights = graph.add_const("table", Tensor::f32(&[table.len(), vocab], &flat));
    let rows = graph.add_const("rows", Tensor::i64(&[], &[table.len() as i64]));
    let row = graph.push(Op::Binary(BinaryOp::Mod), &[Some(tokens), Some(rows)], "row").expect("a remainder");
    let out = graph.push(Op::Gather { axis: 0 }, &[Some(weights), Some(row[0])], "logits").expect("a gather");
    graph.outputs.push(Output { name: "logits".into(), value: out[0] });
    let buckets = [BucketGraph { name: "decode".into(), file: "table".into(), rows: 1, decoder: true, graph }];
    let lock = Lock::default();
    let precision = Precision::Fp32;
    let request = Request {
        name: "t",
        storage: precision.into(),
        context: Some(context),
        buckets: &buckets,
        lock: &lock,
        select: &Shaders,
    };
    let plan = plan::assemble(&request).unwrap_or_else(|e| panic!("{e}"));
    let compile = |k| Code::Words(crate::spirv::compile(k).0.into());
    let code: Vec<Code> = plan.program.kernels.iter().map(compile).collect();
    let weights = plan.pool.iter().map(crate::device::packed).collect();
    let record = RecordOptions { full_barriers, ..RecordOptions::default() };
    let options = Options { guard_bytes: 256, record, ..Options::default() };
    Engine::new(device, plan.program, &code, &WeightSource::Bytes(weights), options, &mut |_, _| {})
        .unwrap_or_else(|e| panic!("{e}"))
}

fn step(limit: u32, stops: &[u32]) -> Step {
    let mut step = Step { rows: 1, limit, context: 8, stop_count: stops.len() as u32, ..bytemuck::Zeroable::zeroed() };
    step.stops[..stops.len()].copy_from_slice(stops);
    step
}

/// Runs `runs` steps from token 0 and returns the step buffer and the ring.
fn generate(engine: &mut Engine, step: &Step, runs: u32) -> (Step, Vec<u32>) {
    engine.set_step(step).expect("a step");
    engine.set_tokens(&[0]).expect("tokens");
    for _ in 0..runs {
        engine.run(0, Part::Whole).expect("a run");
    }
    engine.check_guards().unwrap_or_else(|e| panic!("{e}"));
    let after = engine.step().expect("a step");
    let ring = (0..after.produced).map(|i| engine.ring(i).expect("a token")).collect();
    (after, ring)
}

/// Token t is followed by t + 1, and the last by 0.
fn counting(vocab: usize) -> Vec<Vec<f32>> {
    (0..vocab).map(|t| (0..vocab).map(|v| if v == (t + 1) % vocab { 1.0 } else { -1.0 }).collect()).collect()
}

#[test]
fn each_token_feeds_the_next_step() {
    let mut engine = engine(&counting(5));
    let (after, ring) = generate(&mut engine, &step(100, &[]), 7);
    assert_eq!(ring, [1, 2, 3, 4, 0, 1, 2]);
    assert_eq!((after.pos, after.rows, after.done), (7, 1, 0));
}

#[test]
fn a_stop_token_is_kept_and_ends_all_later_steps() {
    let mut engine = engine(&counting(5));
    let (after, ring) = generate(&mut engine, &step(100, &[9, 3]), 6);
    assert_eq!((after.done, ring.as_slice()), (Done::Stop as u32, &[1, 2, 3][..]));
    assert_eq!((after.pos, after.produced), (3, 3));
}

#[test]
fn the_limit_and_the_context_end_generation() {
    let mut engine = engine(&counting(5));
    let (after, ring) = generate(&mut engine, &step(2, &[]), 4);
    assert_eq!((after.done, ring.len()), (Done::Limit as u32, 2));
    let (after, ring) = generate(&mut engine, &step(100, &[]), 12);
    assert_eq!((after.done, after.pos, ring.len()), (Done::Context as u32, 8, 8));
}

#[test]
fn the_lowest_index_wins_and_nan_never_does() {
    for vocab in [1usize, 2, 7, 33, 255, 257, 1000, 2500, 5001] {
        let mut row = vec![-3.0f32; vocab];
        row[vocab / 2] = 4.0;
        row[vocab - 1] = 4.0;
        row[0] = f32::NAN;
        let mut engine = engine(&[row]);
        let want = if vocab < 2 { 0 } else { (vocab / 2) as u32 };
        assert_eq!(generate(&mut engine, &step(100, &[]), 1).1, [want], "vocabulary {vocab}");
    }
}

#[test]
fn real_vocabularies_are_searched_whole() {
    for vocab in [49152usize, 151936] {
        for at in [0, 1, vocab / 3, vocab - 2, vocab - 1] {
            let mut row: Vec<f32> = (0..vocab).map(|i| ((i * 7919) % 1000) as f32 / 1000.0).collect();
            row[at] = 1.5;
            let mut engine = engine(&[row]);
            assert_eq!(generate(&mut engine, &step(100, &[]), 1).1, [at as u32], "vocabulary {vocab}");
        }
    }
}
