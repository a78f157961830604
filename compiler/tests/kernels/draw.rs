//! Tokens drawn on the device against plain code: the same token, or a draw so near another that rounding decides.

use crate::device::device;
use crate::nodes::Random;
use crate::policy::{self, draw};
use crate::sample::{engine_of, engine_on};
use onnxcast_runtime::generator::Generator;
use onnxcast_runtime::sampling::Sampling;
use onnxcast_runtime::session::{Options, Session};
use onnxcast_runtime::step::Done;

const CONTEXT: usize = 64;

/// What rounding may decide.
const NEAR: f64 = 1e-5;

fn session(table: &[Vec<f32>], options: Options) -> Session {
    Session::new(engine_of(table, CONTEXT), &[], options).unwrap_or_else(|e| panic!("{e}"))
}

fn answer(session: &mut Session, prompt: &[u32], limit: u32) -> Vec<u32> {
    session.begin(prompt, limit).unwrap_or_else(|e| panic!("{e}"));
    let mut tokens = Vec::new();
    while session.advance(&mut tokens).unwrap_or_else(|e| panic!("{e}")).is_none() {}
    session.engine().check_guards().unwrap_or_else(|e| panic!("{e}"));
    tokens
}

/// Holds every token of an answer to plain code, given the tokens before it. Returns how many were too near to tell.
fn hold(table: &[Vec<f32>], prompt: &[u32], tokens: &[u32], sampling: &Sampling) -> usize {
    let mut context = prompt.to_vec();
    let mut near = 0;
    for &token in tokens {
        let logits = &table[*context.last().unwrap() as usize % table.len()];
        let want = draw(logits, &context, sampling);
        if token != want.token {
            assert!(want.margin < NEAR, "{sampling:?} after {context:?}: token {token}, not {want:?}");
            near += 1;
        }
        context.push(token);
    }
    near
}

/// Rows of logits of many shapes: flat, peaked, tied, coarse.
fn rows(random: &mut Random, count: usize, vocab: usize) -> Vec<Vec<f32>> {
    let one = |r: usize, random: &mut Random| {
        let spread = [0.5, 3.0, 12.0, 40.0][r % 4];
        let floats = random.floats(vocab);
        let coarse = r % 3 == 2;
        floats.iter().map(|x| if coarse { (x * spread).round() / 4.0 } else { x * spread }).collect()
    };
    (0..count).map(|r| one(r, random)).collect()
}

fn settings(random: &mut Random) -> Sampling {
    let mut pick = |list: &[f32]| list[random.int(0, list.len() as i64) as usize];
    Sampling {
        temperature: pick(&[0.3, 0.7, 1.0, 1.0, 1.6, 5.0]),
        top_k: pick(&[0.0, 0.0, 1.0, 2.0, 20.0, 40.0, 1000.0]) as i64,
        top_p: pick(&[0.01, 0.3, 0.8, 0.95, 1.0, 1.0]),
        min_p: pick(&[0.0, 0.0, 0.05, 0.4, 1.0]),
        repeat_penalty: pick(&[1.0, 1.0, 1.1, 1.5, 0.8]),
        counter: None,
        seed: random.bits(),
    }
}

#[test]
fn drawn_tokens_are_those_of_plain_code_for_any_setting() {
    let mut random = Random::new(11);
    let (mut near, mut all) = (0, 0);
    for vocab in [1usize, 2, 61, 1000, 3001] {
        // Tokens beyond the rows wrap around, so that a small table serves a large vocabulary.
        let table = rows(&mut random, vocab.min(24), vocab);
        let mut engine = Some(engine_of(&table, CONTEXT));
        for _ in 0..24 {
            let sampling = settings(&mut random);
            let options = Options { sampling: Some(sampling), ..Options::default() };
            let mut session = Session::new(engine.take().unwrap(), &[], options).unwrap();
            let prompt = [random.int(0, vocab as i64) as u32, 0];
            let tokens = answer(&mut session, &prompt, 12);
            near += hold(&table, &prompt, &tokens, &sampling);
            all += tokens.len();
            engine = Some(session.into_engine());
        }
    }
    println!("{near} of {all} draws lie within {NEAR} of another");
    assert!(all == 5 * 24 * 12 && near * 100 < all, "{near} of {all}");
}

#[test]
fn a_real_vocabulary_is_drawn_from_as_a_whole() {
    let mut random = Random::new(5);
    let vocab = 151_936;
    let table = rows(&mut random, 3, vocab);
    let mut engine = Some(engine_of(&table, CONTEXT));
    let plain = Sampling { seed: 3, ..Sampling::default() };
    let cases = [
        plain,
        Sampling { top_p: 0.9, ..plain },
        Sampling { top_k: 50_000, top_p: 0.5, temperature: 3.0, ..plain },
        Sampling { temperature: 0.7, top_k: 20, top_p: 0.8, repeat_penalty: 1.1, ..plain },
    ];
    let mut near = 0;
    for sampling in cases {
        let options = Options { sampling: Some(sampling), ..Options::default() };
        let mut session = Session::new(engine.take().unwrap(), &[], options).unwrap();
        let tokens = answer(&mut session, &[2], 8);
        near += hold(&table, &[2], &tokens, &sampling);
        engine = Some(session.into_engine());
    }
    assert!(near <= 2, "{near} of 32 draws lie near another");
}

#[test]
fn tokens_depend_on_the_seed_and_not_on_steps_or_submissions() {
    let mut random = Random::new(2);
    let table = rows(&mut random, 24, 500);
    let with = |steps, ahead, seed| {
        let sampling = Sampling { temperature: 1.5, top_p: 0.95, repeat_penalty: 1.2, seed, ..Sampling::default() };
        let mut session = session(&table, Options { steps, ahead, chunks: 3, sampling: Some(sampling) });
        answer(&mut session, &[4, 5], 50)
    };
    let want = with(1, 1, 77);
    assert_eq!(want.len(), 50);
    for (steps, ahead) in [(1, 1), (2, 1), (7, 2), (32, 3)] {
        assert_eq!(with(steps, ahead, 77), want, "{steps} steps a submission, {ahead} ahead");
    }
    assert_ne!(with(8, 2, 78), want);
    assert_ne!(with(8, 2, 77 | 1 << 40), want, "the high half of a seed counts too");
}

#[test]
fn the_repeat_penalty_sees_the_whole_context_and_nothing_else() {
    let vocab = 40u32;
    let table = vec![vec![1.0f32; vocab as usize]; vocab as usize];
    // So large a penalty leaves what was not seen; the seed decides among that.
    let sampling = Sampling { repeat_penalty: 1e6, temperature: 0.01, seed: 9, ..Sampling::default() };
    let mut session = session(&table, Options { steps: 4, sampling: Some(sampling), ..Options::default() });
    let prompt: Vec<u32> = (0..10).collect();
    let fresh = |tokens: &[u32], context: &[u32]| {
        let mut seen = context.to_vec();
        for t in tokens {
            assert!(!seen.contains(t), "{t} was there already: {seen:?}");
            seen.push(*t);
        }
    };
    let first = answer(&mut session, &prompt, 20);
    fresh(&first, &prompt);
    hold(&table, &prompt, &first, &sampling);
    // Rows of the cache that are kept keep their tokens, and those that are not are forgotten.
    let other: Vec<u32> = prompt[..6].iter().copied().chain([30, 31]).collect();
    let second = answer(&mut session, &other, 30);
    fresh(&second, &other);
    assert!(second.iter().any(|t| prompt[6..].contains(t)), "tokens 6 to 9 are free again: {second:?}");
    hold(&table, &other, &second, &sampling);
    session.reset();
    let third = answer(&mut session, &[39], 20);
    assert_eq!(hold(&table, &[39], &third, &sampling), 0);
    fresh(&third, &[39]);
}

#[test]
fn temperature_zero_is_greedy_and_so_is_one_token_to_choose_from() {
    let mut random = Random::new(8);
    let table = rows(&mut random, 20, 700);
    let with = |sampling| answer(&mut session(&table, Options { sampling, ..Options::default() }), &[7], 40);
    let greedy = with(None);
    assert_eq!(with(Some(Sampling { temperature: 0.0, seed: 4, ..Sampling::default() })), greedy);
    assert_eq!(with(Some(Sampling { top_k: 1, seed: 4, ..Sampling::default() })), greedy);
    assert_eq!(with(Some(Sampling { top_p: 1e-6, min_p: 1.0, seed: 5, ..Sampling::default() })), greedy);
    let penal = Sampling { temperature: 0.0, repeat_penalty: 1.3, ..Sampling::default() };
    let tokens = with(Some(penal));
    assert_ne!(tokens, greedy);
    assert_eq!(hold(&table, &[7], &tokens, &Sampling { temperature: 1.0, top_k: 1, ..penal }), 0);
}

#[test]
fn what_is_no_number_is_never_drawn() {
    let mut row = vec![f32::NAN; 2000];
    row[1500] = 1.0;
    row[700] = f32::NEG_INFINITY;
    for (value, sampling) in [
        (1.0, Sampling::default()),
        (1.0, Sampling { top_p: 0.5, ..Sampling::default() }),
        (f32::INFINITY, Sampling { top_k: 5, temperature: 2.0, ..Sampling::default() }),
    ] {
        row[1500] = value;
        let tokens =
            answer(&mut session(&[row.clone()], Options { sampling: Some(sampling), ..Options::default() }), &[0], 9);
        assert_eq!(tokens, [1500; 9], "{sampling:?}");
    }
    let none =
        Options { sampling: Some(Sampling { top_p: 0.5, top_k: 7, ..Sampling::default() }), ..Options::default() };
    assert_eq!(answer(&mut session(&[vec![f32::NAN; 9]], none), &[0], 3), [0; 3]);
}

#[test]
fn a_full_barrier_before_every_dispatch_draws_the_same() {
    let mut random = Random::new(21);
    let table = rows(&mut random, 24, 4000);
    let sampling = Sampling {
        temperature: 1.3,
        top_k: 200,
        top_p: 0.9,
        min_p: 0.001,
        repeat_penalty: 1.1,
        seed: 6,
        counter: None,
    };
    let with = |full_barriers| {
        let engine = engine_on(device(), &table, CONTEXT, full_barriers);
        let options = Options { sampling: Some(sampling), ..Options::default() };
        answer(&mut Session::new(engine, &[], options).unwrap(), &[1], 50)
    };
    assert_eq!(with(false), with(true));
}

#[test]
fn a_stop_token_ends_a_drawn_answer() {
    let table = vec![vec![0.0f32; 8]; 8];
    let options = Options { sampling: Some(Sampling { seed: 1, ..Sampling::default() }), ..Options::default() };
    let free = answer(&mut session(&table, options), &[0], 40);
    let at = free.iter().position(|&t| t == 5).expect("one of forty draws of eight");
    let mut stopped = Session::new(engine_of(&table, CONTEXT), &[5], options).unwrap();
    stopped.begin(&[0], 40).unwrap();
    let mut tokens = Vec::new();
    let done = loop {
        if let Some(done) = stopped.advance(&mut tokens).unwrap() {
            break done;
        }
    };
    assert_eq!((done, tokens.as_slice()), (Done::Stop, &free[..=at]));
}

#[test]
fn the_shader_of_the_generator_gives_the_same_bits() {
    let mut random = Random::new(4);
    let mut cases: Vec<[u64; 4]> = vec![[0; 4], [u64::MAX; 4]];
    cases.extend((0..200).map(|_| [random.bits(), random.bits(), random.bits(), random.bits()]));
    let got = crate::generator::words(&cases);
    for (case, got) in cases.iter().zip(got) {
        assert_eq!(got, policy::threefry([case[0], case[1]], [case[2], case[3]]), "{case:x?}");
    }
}

#[test]
fn random_words_become_floats_as_the_host_rounds_them() {
    let mut random = Random::new(6);
    let mut words: Vec<u64> = vec![0, 1, 2047, 2048, 4096, u64::MAX, u64::MAX - 2048, 1 << 63, (1 << 63) | 2048];
    for bit in 11..64 {
        // Halfway between two floats, and a little beside.
        let one = 1u64 << bit;
        for low in [0, 1 << bit.max(24) >> 24, 3 << bit.max(24) >> 24, (1 << bit.max(24) >> 24) + 2048] {
            words.extend([one | low, (one | low).wrapping_add(1 << 11), one.wrapping_sub(low)]);
        }
    }
    words.extend((0..500).map(|i| random.bits() >> (i % 64)));
    let got = crate::generator::units(&words);
    for (word, got) in words.iter().zip(got) {
        assert_eq!(got.to_bits(), policy::unit(*word).to_bits(), "{word:#x}: {got}");
    }
}
