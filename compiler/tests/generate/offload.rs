//! A compiled decoder with weights beyond the budget: the same bits, the same tokens, whatever lies where.

use super::{generate, open_on, planned, skipped, words};
use onnxcast::plan::{self, Precision};
use onnxcast_runtime::device::{Device, Options as DeviceOptions};
use onnxcast_runtime::engine::{Engine, Options};
use onnxcast_runtime::generator::Generator;
use onnxcast_runtime::program::Part;
use onnxcast_runtime::recorder::Code;
use onnxcast_runtime::residency::Offload;
use onnxcast_runtime::sampling::Sampling;
use onnxcast_runtime::session::{self, Session};
use onnxcast_runtime::weights::{PoolWriter, WeightSource};
use std::path::{Path, PathBuf};

const TINY: &str = "models/tiny/model.onnx";
const CONTEXT: u32 = 64;

fn device() -> Device {
    Device::open(&DeviceOptions::default()).unwrap()
}

fn wish(budget: Option<u64>, offload: Offload) -> Options {
    Options { gpu_budget: budget, offload, ..Options::default() }
}

/// No budget, half of the weights and an odd byte, the largest tensor, not quite that, nothing, more than there is.
fn budgets(plan: &plan::Plan) -> Vec<Option<u64>> {
    let sizes: Vec<u64> = plan.program.tensors.iter().map(|t| t.bytes).collect();
    let (all, one) = (sizes.iter().sum::<u64>(), sizes.iter().max().copied().unwrap_or(0));
    vec![None, Some(all / 2 + 1), Some(one), Some(one - 1), Some(0), Some(10 * all)]
}

#[test]
fn logits_keep_every_bit_whatever_the_budget() {
    let device = device();
    let plan = || planned(TINY, CONTEXT as usize, 16, Precision::Fp16);
    let prompt: Vec<u32> = (3..40).collect();
    let mut want: Option<Vec<(u32, Vec<f32>)>> = None;
    for budget in budgets(&plan()) {
        for offload in [Offload::Read, Offload::Stream] {
            let mut engine = open_on(&device, plan(), Options { guard_bytes: 256, ..wish(budget, offload) });
            let got = generate(&mut engine, CONTEXT, &prompt, 12);
            engine.check_guards().unwrap();
            let counters = engine.counters();
            assert_eq!((counters.records, counters.over_budget_bytes), (0, 0), "{budget:?} {offload:?}");
            let moved = counters.read_in_place_bytes + counters.copied_in_bytes;
            // Two chunks, the last with the head, and eleven steps.
            let runs = [(0, Part::Body, 2), (0, Part::Whole, 1), (1, Part::Whole, 11)];
            let told = runs.iter().map(|&(b, part, times)| engine.moves(b, part).unwrap().bytes() * times).sum::<u64>();
            assert_eq!(moved, told, "{budget:?} {offload:?}");
            assert_eq!(moved == 0, counters.mapped_bytes + counters.streamed_bytes == 0, "{budget:?} {offload:?}");
            assert!(*want.get_or_insert(got.clone()) == got, "{budget:?} {offload:?}");
        }
    }
}

/// Tokens of two answers, the second to a prompt of one chunk on what the first left.
fn answer(engine: Engine, options: session::Options, stops: &[u32]) -> (Vec<u32>, Engine) {
    let mut session = Session::new(engine, stops, options).unwrap();
    let mut tokens = Vec::new();
    session.begin(&(3..30).collect::<Vec<_>>(), 16).unwrap();
    while session.advance(&mut tokens).unwrap().is_none() {}
    session.begin(&[5, 6, 7], 4).unwrap();
    while session.advance(&mut tokens).unwrap().is_none() {}
    (tokens, session.into_engine())
}

#[test]
fn answers_are_the_same_however_many_steps_a_submission_takes_and_wherever_they_end() {
    let device = device();
    let open = |options| open_on(&device, planned(TINY, CONTEXT as usize, 16, Precision::Fp32), options);
    let drawn = Some(Sampling { temperature: 0.9, top_k: 20, seed: 7, ..Sampling::default() });
    let ways = [None, drawn].map(|sampling| session::Options { sampling, ..Default::default() });
    // What comes without a budget, to the end and to a stop token.
    let mut engine = open(Options::default());
    let mut want = Vec::new();
    for way in ways {
        let (whole, e) = answer(engine, way, &[]);
        let stop = whole[9];
        let (stopped, e) = answer(e, way, &[stop]);
        engine = e;
        assert_eq!(whole.len(), 20);
        want.push((way, whole, stop, stopped));
    }
    for offload in [Offload::Read, Offload::Stream] {
        let mut engine = open(wish(Some(4096), offload));
        for (way, whole, stop, stopped) in &want {
            for (steps, ahead) in [(1, 1), (8, 2), (5, 3)] {
                let options = session::Options { steps, ahead, ..*way };
                let (tokens, e) = answer(engine, options, &[]);
                let (short, e) = answer(e, options, &[*stop]);
                engine = e;
                assert_eq!((&tokens, &short), (whole, stopped), "{offload:?} {steps} {ahead}");
            }
        }
        assert_eq!(engine.counters().records, 0);
    }
}

/// Writes the plan's weights.
fn pool(plan: &plan::Plan, folder: &Path) -> PathBuf {
    let path = folder.join("tiny.pool");
    let mut writer = PoolWriter::create(&path, &plan.program, "").unwrap();
    for packed in &plan.pool {
        let mut bytes = Vec::new();
        plan::weights::pack(packed, &mut |piece| {
            bytes.extend_from_slice(piece);
            Ok(())
        })
        .unwrap();
        writer.write(&bytes).unwrap();
    }
    writer.finish().unwrap();
    path
}

fn code(plan: &plan::Plan) -> Vec<Code> {
    plan.program.kernels.iter().map(|k| Code::Words(words(k).into())).collect()
}

#[test]
fn a_pool_in_a_file_gives_the_same_bits_read_in_place_copied_and_streamed() {
    let plan = planned(TINY, CONTEXT as usize, 16, Precision::Fp16);
    let folder = tempfile::tempdir().unwrap();
    let path = pool(&plan, folder.path());
    let code = code(&plan);
    let mut want = None;
    for no_import in [false, true] {
        let device = Device::open(&DeviceOptions { no_import, ..Default::default() }).unwrap();
        for options in [wish(None, Offload::Auto), wish(Some(9000), Offload::Read), wish(Some(0), Offload::Stream)] {
            let source = WeightSource::find(path.to_str()).unwrap();
            let made = Engine::new(&device, plan.program.clone(), &code, &source, options, &mut |_, _| {});
            let mut engine = made.unwrap();
            drop(source);
            let got = generate(&mut engine, CONTEXT, &[4, 8, 15, 16, 23, 42], 6);
            assert!(*want.get_or_insert(got.clone()) == got, "{options:?}");
        }
        assert_eq!(device.allocated().now_bytes, 0);
    }
}

#[test]
fn the_validation_layer_has_nothing_to_say_about_streaming() {
    let device = match Device::open(&DeviceOptions { validation: true, ..Default::default() }) {
        Err(e) if e.to_string().contains("VK_LAYER") => {
            return skipped("the_validation_layer_has_nothing_to_say_about_streaming", e);
        }
        other => other.unwrap(),
    };
    let plan = planned(TINY, CONTEXT as usize, 16, Precision::Fp16);
    let folder = tempfile::tempdir().unwrap();
    let source = WeightSource::find(pool(&plan, folder.path()).to_str()).unwrap();
    let code = code(&plan);
    for offload in [Offload::Read, Offload::Stream] {
        let options = wish(Some(5000), offload);
        let mut engine = Engine::new(&device, plan.program.clone(), &code, &source, options, &mut |_, _| {}).unwrap();
        generate(&mut engine, CONTEXT, &(3..40).collect::<Vec<_>>(), 5);
    }
    assert_eq!(device.validation_messages(), Vec::<String>::new());
}
