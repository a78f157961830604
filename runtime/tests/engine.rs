//! The engine on any Vulkan device, with a program written by hand.

mod common;

use bytemuck::Zeroable;
use common::*;
use onnxcast_runtime::array::{Array, Data};
use onnxcast_runtime::device::{Device, Options as DeviceOptions};
use onnxcast_runtime::engine::{Engine, Options};
use onnxcast_runtime::error::Kind;
use onnxcast_runtime::layout::memory_plan;
use onnxcast_runtime::program::*;
use onnxcast_runtime::recorder::{Part, RecordOptions};
use onnxcast_runtime::residency::Residency;
use onnxcast_runtime::step::Step;
use onnxcast_runtime::weights::{PoolWriter, WeightSource};

fn engine(n: u32, options: Options) -> Engine {
    let (program, code, weights) = layered(n);
    Engine::new(device(), program, &code, &WeightSource::Bytes(weights), options, &mut |_, _| {}).unwrap()
}

fn x(n: u32) -> Array {
    Array::f32(&[n as usize], &(0..n).map(|i| i as f32 + 0.5).collect::<Vec<_>>())
}

fn f32s(array: &Array) -> &[f32] {
    match &array.data {
        Data::F32(v) => v,
        other => panic!("not f32: {other:?}"),
    }
}

#[test]
fn a_rolled_block_runs_once_per_row_of_its_table() {
    for n in [1, 63, 64, 65, 1000] {
        let mut engine = engine(n, Options::default());
        let out = engine.run_raw(0, &[("x", &x(n))]).unwrap();
        let want: Vec<f32> = (0..n).map(|i| i as f32 + 0.5 + (i * 6) as f32).collect();
        assert_eq!((out[0].0.as_str(), f32s(&out[0].1)), ("y", &want[..]), "n = {n}");
    }
}

#[test]
fn a_new_engine_stands_at_the_beginning_whatever_its_memory_held() {
    let elsewhere = Step { pos: 1 << 30, rows: 77, done: 5, ..Step::zeroed() };
    for _ in 0..20 {
        let mut engine = engine(3, Options::default());
        assert_eq!(engine.step().unwrap(), Step::zeroed());
        engine.set_step(&elsewhere).unwrap();
    }
}

#[test]
fn states_outlive_a_run_until_they_are_reset() {
    let mut engine = engine(3, Options::default());
    let first = engine.run_raw(0, &[("x", &x(3))]).unwrap();
    let second = engine.run_raw(0, &[("x", &x(3))]).unwrap();
    let twice: Vec<f32> = f32s(&first[1].1).iter().map(|v| v * 2.0).collect();
    assert_eq!(f32s(&second[1].1), twice);
    engine.reset_states().unwrap();
    let third = engine.run_raw(0, &[("x", &x(3))]).unwrap();
    assert_eq!(f32s(&third[1].1), f32s(&first[1].1));
}

#[test]
fn staging_and_full_barriers_change_no_bit() {
    let plain = engine(513, Options::default()).run_raw(0, &[("x", &x(513))]).unwrap();
    let record = RecordOptions { full_barriers: true, ..Default::default() };
    let other = Options { staging: true, record, ..Default::default() };
    assert_eq!(engine(513, other).run_raw(0, &[("x", &x(513))]).unwrap(), plain);
}

#[test]
fn guards_stay_untouched_by_good_kernels_and_catch_a_bad_one() {
    let guarded = Options { guard_bytes: 512, ..Default::default() };
    let mut good = engine(65, guarded);
    good.run_raw(0, &[("x", &x(65))]).unwrap();
    good.check_guards().unwrap();

    let (mut program, mut code, weights) = layered(65);
    let (_, bad) = copy(65, 3);
    code[1] = bad;
    program.kernels.to_mut()[1].name = "copy_too_far".into();
    let mut engine =
        Engine::new(device(), program, &code, &WeightSource::Bytes(weights), guarded, &mut |_, _| {}).unwrap();
    engine.run_raw(0, &[("x", &x(65))]).unwrap();
    let error = engine.check_guards().unwrap_err();
    assert_eq!(error.kind, Kind::Program);
    assert!(error.to_string().contains("guard after"), "{error}");
}

#[test]
fn stopping_early_leaves_the_arena_of_that_dispatch() {
    let mut engine = engine(4, Options::default());
    engine.set_record_options(RecordOptions { stop_after: Some(2), ..Default::default() });
    engine.run_raw(0, &[("x", &x(4))]).unwrap();
    let sum = engine.read_arena(256, 16).unwrap();
    assert_eq!(sum, floats(4, |i| i as f32 + 0.5 + i as f32));
}

#[test]
fn timings_name_every_dispatch_and_add_up() {
    if device().limits().tick_ns == 0.0 {
        return skipped::skipped("timings_name_every_dispatch_and_add_up", "the device has no timestamps");
    }
    let record = RecordOptions { timestamps: true, ..Default::default() };
    let mut engine = engine(1000, Options { record, ..Default::default() });
    engine.run_raw(0, &[("x", &x(1000))]).unwrap();
    let rows = engine.timings(0, Part::Whole).unwrap();
    assert_eq!(rows.len(), 1 + 3 * 2 + 3);
    assert_eq!((rows[3].kernel.as_str(), rows[3].note.as_str()), ("add_f32_1000", "layer 1 add"));
    let end = rows.last().map(|r| r.start_ns + r.ns).unwrap();
    assert!(end > 0.0 && (rows.iter().map(|r| r.ns).sum::<f64>() - end).abs() < 1.0, "{rows:?}");
}

#[test]
fn the_memory_plan_is_what_an_engine_allocates_and_nothing_outlives_it() {
    let device = Device::open(&DeviceOptions::default()).unwrap();
    let (program, code, weights) = layered(5000);
    let plan = memory_plan(&program, device.limits(), &Residency::resident(&program)).unwrap();
    let source = WeightSource::Bytes(weights);
    let options = Options { staging: true, ..Default::default() };
    let mut engine = Engine::new(&device, program, &code, &source, options, &mut |_, _| {}).unwrap();
    let loaded = device.allocated();
    assert_eq!(loaded.now_bytes, plan.total_bytes);
    assert!(loaded.peak_bytes > loaded.now_bytes, "staging buffers are gone: {loaded:?}");
    let values = vec![1.0; 5000];
    engine.run_raw(0, &[("x", &Array::f32(&[5000], &values))]).unwrap();
    assert_eq!(device.allocated().now_bytes, loaded.now_bytes);
    eprintln!("allocated {}, the driver says {:?}", loaded.now_bytes, device.driver_bytes());
    drop(engine);
    assert_eq!(device.allocated().now_bytes, 0);
}

#[test]
fn counters_count_what_crosses_the_bus() {
    let mut engine = engine(64, Options::default());
    let before = engine.counters();
    engine.run(0, Part::Whole).unwrap();
    let after = engine.counters();
    assert_eq!((after.submissions - before.submissions, after.replays, after.dispatches), (1, 1, 10));
    assert_eq!((after.to_device_bytes, after.to_host_bytes), (before.to_device_bytes, before.to_host_bytes));
    assert_eq!(before.to_device_bytes, 3 * 64 * 4);
}

#[test]
fn inputs_must_be_complete_and_known_and_one_error_lists_all() {
    let mut engine = engine(2, Options::default());
    let missing = engine.run_raw(0, &[]).unwrap_err();
    assert_eq!((missing.kind, missing.to_string().as_str()), (Kind::Input, "input 'x' (float32 [2]) is missing"));
    let both = engine.run_raw(0, &[("x", &x(3)), ("z", &x(2))]).unwrap_err();
    assert_eq!(both.to_string(), "there is no input 'z' (have x); input 'x': shape [3] given, [2] expected");
}

#[test]
fn a_program_that_contradicts_itself_is_refused_before_it_runs() {
    let refuse = |change: fn(&mut Program), part: &str| {
        let (mut program, code, weights) = layered(8);
        change(&mut program);
        let made =
            Engine::new(device(), program, &code, &WeightSource::Bytes(weights), Options::default(), &mut |_, _| {});
        let error = made.err().unwrap();
        assert!(error.to_string().contains(part), "{error}");
    };
    refuse(
        |p| p.buckets.to_mut()[0].blocks.to_mut()[1].dispatches.to_mut()[0].args.to_mut()[1] = Arg::Weight(9),
        "weight 9 of 3",
    );
    refuse(
        |p| p.buckets.to_mut()[0].blocks.to_mut()[1].dispatches.to_mut()[0].args.to_mut()[1] = Arg::Column(4),
        "column 4",
    );
    refuse(|p| p.buckets.to_mut()[0].blocks.to_mut()[0].dispatches.to_mut()[0].grid[0] = 0, "0 workgroups on axis 0");
    refuse(|p| p.buckets.to_mut()[0].arena_bytes = 256, "arena byte 256 of 256");
    refuse(|p| p.kernels.to_mut()[0].args = 2, "takes 2 addresses, 3 given");
    refuse(|p| p.tensors.to_mut()[1].bytes = 4, "tensor 'w1' takes 4 bytes, 32 bytes given");
    refuse(
        |p| p.buckets.to_mut()[0].blocks.to_mut()[0].dispatches.to_mut()[0].args.to_mut()[0] = Arg::Ring,
        "no decoder",
    );
}

#[test]
fn a_pool_gives_the_numbers_that_bytes_give_and_progress_ends_at_its_total() {
    let (program, code, weights) = layered(700);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("layered.pool");
    let mut writer = PoolWriter::create(&path, &program, "").unwrap();
    weights.iter().for_each(|bytes| writer.write(bytes).unwrap());
    writer.finish().unwrap();
    let source = WeightSource::find(path.to_str()).unwrap();
    let (mut last, mut backwards) = ((0, 0), false);
    let mut progress = |done, total| {
        backwards |= done < last.0;
        last = (done, total);
    };
    let mut from_pool = Engine::new(device(), program, &code, &source, Options::default(), &mut progress).unwrap();
    assert_eq!((last, backwards), ((2 * 3 * 2800, 2 * 3 * 2800), false));
    let want = engine(700, Options::default()).run_raw(0, &[("x", &x(700))]).unwrap();
    assert_eq!(from_pool.run_raw(0, &[("x", &x(700))]).unwrap(), want);
}

#[test]
fn synthetic_weights_are_finite_and_the_same_every_time() {
    let run = |seed| {
        let (program, code, _) = layered(64);
        let weights = WeightSource::Synthetic(seed);
        let mut engine = Engine::new(device(), program, &code, &weights, Options::default(), &mut |_, _| {}).unwrap();
        engine.run_raw(0, &[("x", &x(64))]).unwrap()
    };
    let once = run(5);
    assert!(f32s(&once[0].1).iter().all(|v| v.is_finite()));
    assert_eq!(run(5), once);
    assert_ne!(run(6), once);
}

#[test]
fn weights_may_lie_in_several_segments() {
    let n = 700;
    let want = engine(n, Options::default()).run_raw(0, &[("x", &x(n))]).unwrap();
    for segment_bytes in [6144, 7168, 12288] {
        let spread = Options { segment_bytes, guard_bytes: 256, ..Default::default() };
        let mut engine = engine(n, spread);
        assert_eq!(engine.run_raw(0, &[("x", &x(n))]).unwrap(), want, "segments of {segment_bytes}");
        engine.check_guards().unwrap();
    }
}
