//! What the device reads of weights, on any Vulkan device.

mod common;

use common::*;
use onnxcast_runtime::audit::{self, Arm, Plan, Report, Verdict};
use onnxcast_runtime::engine::{Engine, Options, Seen};
use onnxcast_runtime::hasher::Hasher;
use onnxcast_runtime::program::*;
use onnxcast_runtime::recorder::{Code, Part};
use onnxcast_runtime::residency::{Home, Offload};
use onnxcast_runtime::session::{self, Session};
use onnxcast_runtime::weights::{PoolWriter, WeightSource};
use proptest::prelude::*;

/// A program of tensors alone.
fn tensors(lengths: &[u64]) -> Program {
    let tensor = |(i, &bytes): (usize, &u64)| Tensor {
        name: format!("t{i}").into(),
        layout: "rows_f32".into(),
        shape: vec![bytes as u32].into(),
        bytes,
    };
    Program {
        name: "tensors".into(),
        plan_hash: "00".into(),
        kernels: vec![].into(),
        variants: vec![].into(),
        tensors: lengths.iter().enumerate().map(tensor).collect::<Vec<_>>().into(),
        states: vec![].into(),
        buckets: vec![].into(),
        decoder: None,
    }
}

/// Bytes that repeat nowhere nearby.
fn bytes(seed: u64, length: u64) -> Vec<u8> {
    let mut x = seed | 1;
    let next = |_| {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        x as u8
    };
    (0..length).map(next).collect()
}

/// What the device says of tensors of these lengths, and what they were made of.
fn seen_and_made(seed: u64, lengths: &[u64], budget: Option<u64>, piece_words: u32) -> (Vec<u64>, Vec<u64>) {
    let program = tensors(lengths);
    let source = WeightSource::Bytes(lengths.iter().zip(seed..).map(|(&n, s)| bytes(s, n)).collect());
    let made = source.hashes(&program).unwrap();
    // Guards are no zeros, so that reading past an end shows.
    let options = Options { gpu_budget: budget, guard_bytes: 256, ..Default::default() };
    let mut engine = Engine::new(device(), program, &[], &source, options, &mut |_, _| {}).unwrap();
    let hasher = Hasher::new(device()).unwrap().in_pieces(piece_words);
    let seen = engine.hash_extents(&hasher, &|_| true).unwrap();
    assert!(seen.iter().map(|s| s.tensor).eq(0..lengths.len()));
    (seen.iter().map(|s| s.hash()).collect(), made)
}

#[test]
fn the_device_hashes_what_the_host_hashes_at_every_kind_of_length() {
    // Tails of every size, less and more than one round of one workgroup, more workgroups than are launched, nothing at all.
    let lengths = [0, 1, 2, 3, 4, 5, 15, 16, 17, 511, 2047, 2048, 2049, 70_001, (1 << 22) + 3, (5 << 20) + 6];
    for budget in [None, Some(0)] {
        let (seen, made) = seen_and_made(7, &lengths, budget, u32::MAX);
        assert_eq!(seen, made, "budget {budget:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn the_device_hashes_any_bytes_however_they_are_cut(
        seed in any::<u64>(),
        lengths in prop::collection::vec(0u64..20_000, 1..6),
        piece_words in 1u32..3_000,
        host in any::<bool>(),
    ) {
        let (seen, made) = seen_and_made(seed >> 8, &lengths, host.then_some(0), piece_words);
        prop_assert_eq!(seen, made);
    }
}

#[test]
fn homes_are_hashed_by_choice() {
    let lengths = [300, 5_000, 40];
    let source = WeightSource::Bytes(lengths.iter().map(|&n| bytes(3, n)).collect());
    let made = source.hashes(&tensors(&lengths)).unwrap();
    let options = Options { gpu_budget: Some(1024), ..Default::default() };
    let mut engine = Engine::new(device(), tensors(&lengths), &[], &source, options, &mut |_, _| {}).unwrap();
    let hasher = Hasher::new(device()).unwrap();
    let mut of = |wanted: Home| {
        let seen = engine.hash_extents(&hasher, &|home| home == wanted).unwrap();
        seen.iter().map(|s| (s.tensor, s.hash())).collect::<Vec<_>>()
    };
    assert_eq!(of(Home::Resident), [(0, made[0]), (2, made[2])]);
    assert_eq!(of(Home::Mapped), [(1, made[1])]);
}

/// Words of a tensor of which kernels use the first alone.
const QUIET_WORDS: u32 = 1024;

/// The decoder of `common`, whose sum begins with two weights: of `quiet` only the first word counts, of `loud` every bit.
fn decoder() -> (Program, Vec<Code>, WeightSource) {
    let (mut program, mut code) = decoder::decoder(64, 4);
    let glsl = format!(
        "{HEAD} layout(buffer_reference, std430, buffer_reference_align = 4) buffer Step {{ uint pos; uint rows; uint done; }};
        layout(push_constant) uniform P {{ Step s; U cache; F logits; U quiet; U loud; }};
        void main() {{
            uint v = gl_GlobalInvocationID.x;
            if (v >= {vocab} || s.done != 0) return;
            uint sum = quiet.v[0] + loud.v[0];
            for (uint i = 0; i < s.pos + s.rows; i++) sum = (sum + cache.v[i] * (i + 1)) % {vocab};
            logits.v[v] = -abs(float(int(v) - int(sum)));
        }}",
        vocab = decoder::VOCAB
    );
    (program.kernels.to_mut()[1], code[1]) = (kernel("score", 5, 0b100), compile("score", &glsl));
    for bucket in program.buckets.to_mut() {
        let score = &mut bucket.blocks.to_mut()[1].dispatches.to_mut()[0];
        score.args.to_mut().extend([Arg::Weight(0), Arg::Weight(1)]);
    }
    let tensor = |name: &'static str, words: u32| Tensor {
        name: name.into(),
        layout: "rows_i32".into(),
        shape: vec![words].into(),
        bytes: u64::from(words) * 4,
    };
    program.tensors = vec![tensor("quiet", QUIET_WORDS), tensor("loud", 1)].into();
    let quiet = (0..QUIET_WORDS).flat_map(|i| (i * 3 + 11).to_le_bytes()).collect();
    (program, code, WeightSource::Bytes(vec![quiet, 0u32.to_le_bytes().to_vec()]))
}

fn audited(arms: &[Arm], fault: Option<&str>) -> Result<Report, onnxcast_runtime::error::Error> {
    let (program, code, weights) = decoder();
    let plan = Plan {
        arms: arms.to_vec(),
        ways: vec![Offload::Read, Offload::Stream],
        prompt: vec![5, 6, 7, 8, 9],
        tokens: 12,
        repeat: 2,
        host_copies: false,
        fault: fault.map(Into::into),
    };
    let mut open = |options| {
        let engine = Engine::new(device(), program.clone(), &code, &weights, options, &mut |_, _| {})?;
        Session::new(engine, &[], session::Options::default())
    };
    audit::run(&program, &weights, &plan, &mut open, &mut |_| {})
}

#[test]
fn a_sound_device_is_clean_in_every_arm_and_counters_say_what_a_step_read() {
    let report = audited(&[Arm::Bytes(4), Arm::Bytes(4096), Arm::Bytes(5000), Arm::All], None).unwrap();
    assert_eq!(report.verdict(), Verdict::Clean, "{}", report.text());
    let read: Vec<u64> = report.arms.iter().map(|row| row.step_bytes).collect();
    assert_eq!(read, [4, 4096, 4100, 4, 4096, 4100]);
    assert_eq!((report.baseline.step_bytes, report.baseline.tensors, report.left_out.len()), (0, 2, 1));
    // Before, during and after, of every tensor with the host.
    assert!(report.arms.iter().all(|row| row.compared == 3 * row.tensors), "{}", report.text());
    assert!(report.arms.iter().all(|row| row.tokens == report.baseline.tokens && row.ms_per_token[0] > 0.0));
}

#[test]
fn a_bit_that_no_token_shows_is_caught_by_its_hash_and_the_tensor_is_named() {
    let report = audited(&[Arm::Bytes(4), Arm::Bytes(4096)], Some("quiet")).unwrap();
    let error = report.result().unwrap_err();
    assert_eq!((report.verdict(), error.exit_code()), (Verdict::Stale, 10));
    assert!(error.to_string().contains("'quiet' during the tokens is not what was packed"), "{error}");
    assert!(report.arms.iter().all(|row| row.parted.is_none()), "{}", report.text());
    // The arms that leave the tensor on the device are clean; the others have it during and after the tokens, not before.
    let when = report.arms.iter().map(|row| row.stale.iter().map(|s| s.when).collect::<Vec<_>>());
    let after = vec!["during the tokens", "after the tokens"];
    assert_eq!(when.collect::<Vec<_>>(), [vec![], after.clone(), vec![], after]);
    assert!(
        report.arms.iter().flat_map(|row| &row.stale).all(|s| s.host_is_right == Some(false) && s.tensor == "quiet")
    );
}

#[test]
fn a_bit_that_changes_tokens_is_still_told_as_stale_data() {
    let report = audited(&[Arm::All], Some("loud")).unwrap();
    assert_eq!(report.verdict(), Verdict::Stale);
    assert!(report.arms.iter().all(|row| row.parted.is_some()), "{}", report.text());
}

#[test]
fn faults_and_arms_that_make_no_sense_are_refused_before_anything_runs() {
    let refused = |arms: &[Arm], fault| audited(arms, fault).err().unwrap().to_string();
    assert!(refused(&[Arm::All], Some("lod")).starts_with("--fault: there is no tensor 'lod'"));
    assert!(refused(&[Arm::Bytes(4)], Some("quiet")).starts_with("--fault: no arm takes 'quiet' off the device"));
    let none = refused(&[Arm::Bytes(2), Arm::Bytes(9000)], None);
    assert!(
        none.starts_with(
            "--arms: no arm can be run (2 B: no tensor is that small; 9.0 kB: a step of this model reads 4.1 kB)"
        ),
        "{none}"
    );
}

/// What the engine says of one tensor where it lies.
fn look(engine: &mut Engine, tensor: usize) -> Seen {
    let hasher = Hasher::new(device()).unwrap();
    engine.hash_extents(&hasher, &|_| true).unwrap()[tensor]
}

#[test]
fn a_page_of_the_pool_that_is_altered_behind_its_mapping_is_seen_by_the_device() {
    let (program, code, weights) = decoder();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("toy.pool");
    let mut writer = PoolWriter::create(&path, &program, "").unwrap();
    for i in 0..2 {
        weights.read(&program, i, &mut |piece| writer.write(piece)).unwrap();
    }
    writer.finish().unwrap();
    let source = WeightSource::find(path.to_str()).unwrap();
    let packed = source.hashes(&program).unwrap();
    let options = Options { gpu_budget: Some(0), offload: Offload::Read, ..Options::default() };
    let mut engine = Engine::new(device(), program.clone(), &code, &source, options, &mut |_, _| {}).unwrap();
    if !engine.uses_pages() {
        let test = "a_page_of_the_pool_that_is_altered_behind_its_mapping_is_seen_by_the_device";
        return skipped::skipped(test, "the driver does not take the pool's pages");
    }
    assert!(look(&mut engine, 0).is(packed[0]));
    let mut file = std::fs::read(&path).unwrap();
    let at = file.windows(8).position(|w| w == [11, 0, 0, 0, 14, 0, 0, 0]).unwrap();
    file[at + 2001] ^= 0x40;
    // In place: a new file would leave the mapping its old pages.
    let mut open = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    std::io::Write::write_all(&mut open, &file).unwrap();
    assert!(!look(&mut engine, 0).is(packed[0]));
    assert!(look(&mut engine, 1).is(packed[1]));
    // The copy that another engine makes is asked of the same hashes, which nothing has read again.
    assert_eq!(source.hashes(&program).unwrap(), packed);
}

#[test]
fn runs_are_watched_leg_by_leg_and_only_while_it_is_asked_for() {
    let (program, code, weights) = decoder();
    let packed = weights.hashes(&program).unwrap();
    for offload in [Offload::Read, Offload::Stream] {
        let options = Options { gpu_budget: Some(0), offload, ..Options::default() };
        let mut engine = Engine::new(device(), program.clone(), &code, &weights, options, &mut |_, _| {}).unwrap();
        let hasher = Hasher::new(device()).unwrap();
        let runs = |engine: &mut Engine, n: usize| (0..n).for_each(|_| engine.run(1, Part::Whole).unwrap());
        runs(&mut engine, 2);
        engine.watch(&hasher, 1, Part::Whole).unwrap();
        runs(&mut engine, 5);
        engine.run(0, Part::Whole).unwrap();
        let seen = engine.watched().unwrap();
        assert_eq!(seen.iter().map(|s| (s.tensor, s.times)).collect::<Vec<_>>(), [(0, 5), (1, 5)]);
        assert!(seen.iter().all(|s| s.is(packed[s.tensor])), "{offload:?}: {seen:?}");
        // One of several reads that was wrong is enough.
        engine.watch(&hasher, 1, Part::Whole).unwrap();
        runs(&mut engine, 2);
        engine.alter(0).unwrap();
        runs(&mut engine, 1);
        let seen = engine.watched().unwrap();
        assert_eq!(seen.iter().map(|s| s.is(packed[s.tensor])).collect::<Vec<_>>(), [false, true], "{offload:?}");
        assert!(engine.watched().unwrap().is_empty());
        assert_eq!(engine.host_hash(1).unwrap(), Some(packed[1]));
    }
}
