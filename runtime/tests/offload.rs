//! Weights beyond the budget, read in place or streamed, on any Vulkan device.

mod common;

use common::*;
use onnxcast_runtime::array::{Array, Data};
use onnxcast_runtime::device::{Device, Options as DeviceOptions};
use onnxcast_runtime::engine::{Engine, Options};
use onnxcast_runtime::error::Kind;
use onnxcast_runtime::layout::memory_plan;
use onnxcast_runtime::program::*;
use onnxcast_runtime::recorder::{Code, RecordOptions};
use onnxcast_runtime::residency::{Home, Offload, Residency, Wish};
use onnxcast_runtime::weights::{PoolWriter, WeightSource, append};
use std::path::{Path, PathBuf};

/// Values of a weight: 256 bytes.
const N: u32 = 64;

fn options(budget: u64, offload: Offload) -> Options {
    Options { gpu_budget: Some(budget), offload, ..Options::default() }
}

fn open(device: &Device, source: &WeightSource, options: Options) -> Engine {
    let (program, code, _) = layered(N);
    Engine::new(device, program, &code, source, options, &mut |_, _| {}).unwrap()
}

fn engine(options: Options) -> Engine {
    open(device(), &WeightSource::Bytes(layered(N).2), options)
}

fn x() -> Array {
    Array::f32(&[N as usize], &(0..N).map(|i| i as f32 + 0.5).collect::<Vec<_>>())
}

fn run(engine: &mut Engine) -> Vec<(String, Array)> {
    engine.run_raw(0, &[("x", &x())]).unwrap()
}

fn pool(folder: &Path) -> PathBuf {
    let (program, _, weights) = layered(N);
    let path = folder.join("layered.pool");
    let mut writer = PoolWriter::create(&path, &program, "").unwrap();
    weights.iter().for_each(|bytes| writer.write(bytes).unwrap());
    writer.finish().unwrap();
    path
}

fn source(path: &Path) -> WeightSource {
    WeightSource::find(path.to_str()).unwrap()
}

#[test]
fn weights_beyond_any_budget_give_the_same_numbers_read_in_place_and_streamed() {
    let want = run(&mut engine(Options::default()));
    for (budget, resident) in [(0, 0), (255, 0), (256, 1), (600, 2), (767, 2), (768, 3), (u64::MAX, 3)] {
        for offload in [Offload::Read, Offload::Stream, Offload::Auto] {
            let mut engine = engine(Options { guard_bytes: 256, ..options(budget, offload) });
            let homes: Vec<Home> = engine.weight_extents().iter().map(|e| e.home).collect();
            assert_eq!(homes.iter().filter(|h| **h == Home::Resident).count(), resident, "{budget} {offload:?}");
            assert!(homes.iter().take(resident).all(|h| *h == Home::Resident), "in order of use: {homes:?}");
            assert_eq!(run(&mut engine), want, "{budget} {offload:?}");
            engine.check_guards().unwrap();
        }
    }
}

#[test]
fn counters_tell_exactly_what_lies_where_and_what_a_run_moved() {
    let count = |offload, budget, runs: u64| {
        let mut engine = engine(options(budget, offload));
        (0..runs).for_each(|_| drop(run(&mut engine)));
        engine.counters()
    };
    let read = count(Offload::Read, 300, 3);
    assert_eq!((read.resident_bytes, read.mapped_bytes, read.streamed_bytes), (256, 512, 0));
    assert_eq!((read.read_in_place_bytes, read.copied_in_bytes, read.over_budget_bytes), (3 * 512, 0, 0));
    let streamed = count(Offload::Stream, 300, 3);
    assert_eq!((streamed.resident_bytes, streamed.mapped_bytes, streamed.streamed_bytes), (256, 0, 512));
    assert_eq!((streamed.read_in_place_bytes, streamed.copied_in_bytes, streamed.over_budget_bytes), (0, 3 * 512, 0));
    let all = count(Offload::Stream, 1 << 20, 3);
    assert_eq!((all.resident_bytes, all.read_in_place_bytes, all.copied_in_bytes), (768, 0, 0));
    // The first run is recorded when it is asked for, the others replay it, and a submission a run does.
    for counters in [read, streamed, all] {
        assert_eq!((counters.records, counters.replays, counters.dispatches), (1, 3, 30));
    }
    assert_eq!(streamed.submissions, all.submissions);
}

#[test]
fn extents_tell_addresses_of_what_kernels_can_always_see() {
    let addresses = |offload| {
        let extents = engine(options(256, offload)).weight_extents();
        extents.iter().map(|e| (e.name.clone(), e.bytes, e.home, e.address.is_some())).collect::<Vec<_>>()
    };
    let row = |name: &str, home, seen| (name.to_string(), 256, home, seen);
    let first = row("w0", Home::Resident, true);
    let mapped = |name| row(name, Home::Mapped, true);
    assert_eq!(addresses(Offload::Read), [first.clone(), mapped("w1"), mapped("w2")]);
    let streamed = |name| row(name, Home::Streamed, false);
    assert_eq!(addresses(Offload::Stream), [first, streamed("w1"), streamed("w2")]);
}

#[test]
fn barriers_timestamps_and_staging_change_no_bit_of_streamed_runs() {
    let want = run(&mut engine(Options::default()));
    let timed = device().limits().tick_ns > 0.0;
    let record = RecordOptions { full_barriers: true, timestamps: timed, stop_after: None };
    for offload in [Offload::Read, Offload::Stream] {
        let mut engine = engine(Options { record, staging: true, ..options(0, offload) });
        assert_eq!(run(&mut engine), want);
        let rows = engine.timings(0, Part::Whole);
        assert_eq!(rows.map_or(0, |r| r.len()), if timed { 10 } else { 0 });
    }
}

#[test]
fn a_run_may_stop_in_the_middle_of_its_stages() {
    let mut engine = engine(options(0, Offload::Stream));
    engine.set_record_options(RecordOptions { stop_after: Some(2), ..Default::default() });
    run(&mut engine);
    assert_eq!(engine.counters().copied_in_bytes, 256);
    assert_eq!(engine.read_arena(256, 8).unwrap(), floats(2, |i| i as f32 + 0.5 + i as f32));
}

#[test]
fn many_runs_go_through_the_ring_in_order() {
    // y of a run is x of the next: a slot filled too early or too late would show in the sum.
    let mut engine = engine(options(0, Offload::Stream));
    let mut plain = self::engine(Options::default());
    let (mut a, mut b) = (x(), x());
    for _ in 0..40 {
        let step = |engine: &mut Engine, x: &Array| engine.run_raw(0, &[("x", x)]).unwrap().swap_remove(0).1;
        (a, b) = (step(&mut engine, &a), step(&mut plain, &b));
    }
    assert_eq!(a, b);
    let Data::F32(values) = &a.data else { panic!("{a:?}") };
    assert_eq!(values[3], 3.5 + 40.0 * 18.0);
}

#[test]
fn weights_with_the_host_may_lie_in_several_segments() {
    let want = run(&mut engine(Options::default()));
    let plan = |offload, segment_bytes| Options { segment_bytes, guard_bytes: 256, ..options(256, offload) };
    // Room for states and ports, and for one weight with its guards.
    for segment_bytes in [2048, 2304] {
        for offload in [Offload::Read, Offload::Stream] {
            let mut engine = engine(plan(offload, segment_bytes));
            assert_eq!(run(&mut engine), want, "segments of {segment_bytes}");
            engine.check_guards().unwrap();
        }
    }
}

#[test]
fn a_pool_is_used_in_place_where_the_device_can_and_copied_where_it_cannot() {
    let folder = tempfile::tempdir().unwrap();
    let path = pool(folder.path());
    let want = run(&mut engine(Options::default()));
    for no_import in [false, true] {
        let device = Device::open(&DeviceOptions { no_import, ..Default::default() }).unwrap();
        let may = device.limits().import_align > 0;
        assert!(!(no_import && may));
        for offload in [Offload::Read, Offload::Stream] {
            let mut engine = open(&device, &source(&path), options(256, offload));
            // The source is gone, the pages stay.
            assert_eq!(run(&mut engine), want, "{offload:?}");
            if !may {
                assert!(!engine.uses_pages());
            }
            let (program, _, _) = layered(N);
            let wish = Wish { budget: Some(256), offload, ..Wish::default() };
            let residency = Residency::plan(&program, wish, device.limits()).unwrap();
            let plan = memory_plan(&program, device.limits(), &residency).unwrap();
            let copied = if engine.uses_pages() { 0 } else { plan.host_bytes };
            assert_eq!(device.allocated().now_bytes, plan.total_bytes + copied, "{offload:?} {no_import}");
            assert_eq!((plan.host_bytes, plan.weights_bytes), (512, 256));
            drop(engine);
            assert_eq!(device.allocated().now_bytes, 0);
        }
    }
}

#[test]
fn a_pool_inside_an_executable_is_used_in_place_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = pool(folder.path());
    let image = folder.path().join("program");
    std::fs::write(&image, vec![7u8; 12_345]).unwrap();
    append(&image, &path).unwrap();
    let want = run(&mut engine(Options::default()));
    for (budget, offload) in [(0, Offload::Read), (0, Offload::Stream), (256, Offload::Read)] {
        let mut inside = open(device(), &source(&image), options(budget, offload));
        assert_eq!(run(&mut inside), want);
        let beside = open(device(), &source(&path), options(budget, offload));
        assert_eq!(inside.uses_pages(), beside.uses_pages());
    }
}

#[test]
fn what_the_pool_holds_is_what_kernels_read() {
    // Altered on disk after the check: pages that are used in place show it, a copy does not.
    let folder = tempfile::tempdir().unwrap();
    let path = pool(folder.path());
    let mut engine = open(device(), &source(&path), options(0, Offload::Read));
    let before = run(&mut engine);
    let bytes = std::fs::read(&path).unwrap();
    let at = bytes.len() - 4;
    use std::os::unix::fs::FileExt;
    std::fs::OpenOptions::new()
        .write(true)
        .open(&path)
        .unwrap()
        .write_all_at(&9e9f32.to_le_bytes(), at as u64)
        .unwrap();
    assert_eq!(run(&mut engine)[0] != before[0], engine.uses_pages());
}

#[test]
fn copies_go_through_the_compute_queue_where_there_is_no_other() {
    let device = Device::open(&DeviceOptions { one_queue: true, ..Default::default() }).unwrap();
    assert!(!device.limits().copies_aside);
    let source = WeightSource::Bytes(layered(N).2);
    let want = run(&mut engine(Options::default()));
    for offload in [Offload::Read, Offload::Stream, Offload::Auto] {
        let mut engine = open(&device, &source, options(0, offload));
        assert_eq!(run(&mut engine), want);
        if offload == Offload::Auto {
            assert!(engine.weight_extents().iter().all(|e| e.home == Home::Mapped));
        }
    }
}

#[test]
fn an_engine_may_be_dropped_or_fail_at_any_point_and_nothing_stays_allocated() {
    let device = Device::open(&DeviceOptions::default()).unwrap();
    let (mut program, code, weights) = layered(N);
    program.tensors.to_mut()[2].bytes = 4;
    let source = WeightSource::Bytes(weights);
    let made = Engine::new(&device, program, &code, &source, options(0, Offload::Stream), &mut |_, _| {});
    assert_eq!(made.err().unwrap().kind, Kind::Weights);
    assert_eq!(device.allocated().now_bytes, 0);
    drop(open(&device, &source, options(0, Offload::Stream)));
    assert_eq!(device.allocated().now_bytes, 0);
}

#[test]
fn a_dispatch_that_streams_more_than_a_buffer_holds_is_refused_with_a_way_out() {
    let (mut program, mut code, weights) = layered(N);
    let (kernel, add_code) = add(N);
    // A dispatch of two weights, in a slot that may hold one.
    program.kernels.to_mut().push(Kernel { name: "two".into(), ..kernel });
    code.push(add_code);
    let args = vec![Arg::Weight(1), Arg::Weight(2), Arg::Arena(0)];
    let body = &mut program.buckets.to_mut()[0].blocks.to_mut()[0].dispatches.to_mut()[0];
    *body = Dispatch { kernel: 2, args: args.into(), ..body.clone() };
    let made = |offload| {
        let codes: &[Code] = &code;
        let options = Options { segment_bytes: 256, ..options(0, offload) };
        let source = WeightSource::Bytes(weights.clone());
        Engine::new(device(), program.clone(), codes, &source, options, &mut |_, _| {})
    };
    let error = made(Offload::Stream).err().unwrap().to_string();
    assert!(error.contains("reads 512 B of weights that are to be streamed, a buffer takes 256 B"), "{error}");
    assert!(error.contains("--offload read"), "{error}");
}
