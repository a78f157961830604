//! What the device reads of weights, on any Vulkan device.

mod common;

use common::*;
use onnxcast_runtime::audit::Hasher;
use onnxcast_runtime::engine::{Engine, Options};
use onnxcast_runtime::program::*;
use onnxcast_runtime::residency::Home;
use onnxcast_runtime::weights::WeightSource;
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
    (seen.into_iter().map(|s| s.hash).collect(), made)
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
        seen.iter().map(|s| (s.tensor, s.hash)).collect::<Vec<_>>()
    };
    assert_eq!(of(Home::Resident), [(0, made[0]), (2, made[2])]);
    assert_eq!(of(Home::Mapped), [(1, made[1])]);
}
