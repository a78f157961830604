//! The token loop on any Vulkan device, with a decoder whose answers plain code can tell.

mod common;

use common::decoder::{VOCAB, decoder, next};
use common::device;
use onnxcast_runtime::cli::generate::{End, Request, generate};
use onnxcast_runtime::engine::{Engine, Options as EngineOptions};
use onnxcast_runtime::error::Kind;
use onnxcast_runtime::generator::{Generator, Scorer};
use onnxcast_runtime::session::{Options, Session};
use onnxcast_runtime::step::Done;
use onnxcast_runtime::weights::WeightSource;

const CONTEXT: u32 = 50;
const CHUNK: u32 = 8;

fn session_with(stops: &[u32], options: Options) -> Session {
    let (program, code) = decoder(CONTEXT, CHUNK);
    let guarded = EngineOptions { guard_bytes: 256, ..Default::default() };
    let engine = Engine::new(device(), program, &code, &WeightSource::none(), guarded, &mut |_, _| {}).unwrap();
    Session::new(engine, stops, options).unwrap()
}

fn session(stops: &[u32]) -> Session {
    session_with(stops, Options::default())
}

fn prompt(n: u32) -> Vec<u32> {
    (0..n).map(|i| (i * 31 + 5) % VOCAB).collect()
}

/// What the loop should answer.
fn expected(prompt: &[u32], stops: &[u32], limit: u32) -> (Vec<u32>, Done) {
    let mut all = prompt.to_vec();
    let mut out = Vec::new();
    loop {
        let token = next(&all);
        out.push(token);
        if stops.contains(&token) {
            return (out, Done::Stop);
        } else if out.len() as u32 == limit {
            return (out, Done::Limit);
        } else if all.len() as u32 == CONTEXT {
            return (out, Done::Context);
        }
        all.push(token);
    }
}

fn answer(session: &mut Session, prompt: &[u32], limit: u32) -> (Vec<u32>, Done) {
    session.begin(prompt, limit).unwrap();
    let mut tokens = Vec::new();
    for _ in 0..100 {
        if let Some(done) = session.advance(&mut tokens).unwrap() {
            session.engine().check_guards().unwrap();
            return (tokens, done);
        }
    }
    panic!("no end after {tokens:?}");
}

#[test]
fn prompts_of_any_length_below_the_context_answer_right() {
    let mut session = session(&[]);
    for n in [1, 2, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 2 * CHUNK + 1, CONTEXT - 2, CONTEXT - 1] {
        session.reset();
        assert_eq!(answer(&mut session, &prompt(n), 20), expected(&prompt(n), &[], 20), "a prompt of {n}");
    }
}

#[test]
fn a_prompt_that_fills_the_context_is_refused_with_both_numbers() {
    let mut session = session(&[]);
    for n in [CONTEXT, CONTEXT + 1, 1000] {
        let error = session.begin(&prompt(n), 1).unwrap_err();
        assert_eq!(error.kind, Kind::Input);
        assert!(error.to_string().contains(&n.to_string()) && error.to_string().contains("50"), "{error}");
    }
    assert_eq!(session.begin(&[], 1).unwrap_err().to_string(), "the prompt has no tokens");
    assert_eq!(session.begin(&[3, VOCAB], 1).unwrap_err().to_string(), "token 1 is 97, the vocabulary has 97");
}

#[test]
fn every_end_is_told_apart() {
    let p = prompt(5);
    let (free, done) = expected(&p, &[], u32::MAX);
    assert_eq!((done, free.len() as u32), (Done::Context, CONTEXT - 5 + 1));
    assert_eq!(answer(&mut session(&[]), &p, u32::MAX), (free.clone(), Done::Context));
    for limit in [1, 2, 8, 9, 10, 17] {
        assert_eq!(answer(&mut session(&[]), &p, limit), (free[..limit as usize].to_vec(), Done::Limit));
    }
    for at in [0, 1, 7, 8, 20] {
        let stops = [VOCAB + 1, free[at]];
        assert_eq!(answer(&mut session(&stops), &p, u32::MAX), expected(&p, &stops, u32::MAX));
    }
    assert_eq!(answer(&mut session(&[]), &p, 0), (vec![], Done::Limit));
}

#[test]
fn steps_and_submissions_ahead_change_no_token() {
    let want = expected(&prompt(11), &[], 30);
    for (steps, ahead, chunks) in [(1, 1, 1), (1, 4, 1), (3, 2, 2), (64, 1, 8), (9999, 99, 0)] {
        let mut session = session_with(&[], Options { steps, ahead, chunks, ..Default::default() });
        assert_eq!(answer(&mut session, &prompt(11), 30), want, "{steps} steps, {ahead} ahead");
    }
}

#[test]
fn rows_of_a_common_beginning_are_kept() {
    let mut session = session(&[]);
    let first = answer(&mut session, &prompt(20), 6).0;
    let turn: Vec<u32> = prompt(20).into_iter().chain(first).chain([7, 8, 9]).collect();
    assert_eq!(session.cached(), &turn[..25]);
    let before = session.engine().counters().replays;
    session.begin(&turn, 1).unwrap();
    assert_eq!(session.engine().counters().replays - before, 1, "only the last token and the new ones are run");
    let mut tokens = Vec::new();
    session.advance(&mut tokens).unwrap();
    assert_eq!(tokens, expected(&turn, &[], 1).0);
    let other: Vec<u32> = turn[..10].iter().copied().chain([1, 2]).collect();
    assert_eq!(answer(&mut session, &other, 9), expected(&other, &[], 9));
    assert_eq!(answer(&mut session, &other, 9), expected(&other, &[], 9), "the same prompt again");
}

#[test]
fn a_turn_that_rewrites_earlier_text_costs_the_rows_from_there_on() {
    let mut session = session(&[]);
    let first = answer(&mut session, &prompt(20), 6).0;
    let chunks = |session: &mut Session, ids: &[u32]| {
        let before = session.engine().counters();
        assert_eq!(answer(session, ids, 1), expected(ids, &[], 1));
        let after = session.engine().counters();
        (after.replays - before.replays, after.to_device_bytes - before.to_device_bytes)
    };
    // A step, and each token for the kernels and for the history.
    let cost = |runs: u64, tokens: u64| (runs, runs * 128 + tokens * 8);
    let turn: Vec<u32> = prompt(20).into_iter().chain(first).chain([7, 8]).collect();
    assert_eq!(chunks(&mut session, &turn), cost(1, 3), "the last token had no row yet");
    let rewritten: Vec<u32> = turn[..17].iter().copied().chain([90, 91]).chain(turn[20..].to_vec()).collect();
    assert_eq!(chunks(&mut session, &rewritten), cost(2, 10), "from row 17 on, though later text is the same");
    assert_eq!(chunks(&mut session, &rewritten), cost(1, 1), "nothing is new but the head wants the last row");
    assert_eq!(chunks(&mut session, &rewritten[..5]), cost(1, 1), "a shorter text");
    session.reset();
    assert_eq!(chunks(&mut session, &rewritten), cost(4, 27), "after a reset all of it");
}

#[test]
fn an_interrupt_or_a_stop_ends_within_the_submissions_under_way() {
    let (steps, ahead) = (4, 2);
    let mut session = session_with(&[], Options { steps, ahead, ..Default::default() });
    let request = Request { ids: &prompt(3), limit: None, stop: &[] };
    let shown = std::cell::Cell::new(0);
    let mut show = |tokens: &[u32], _: &str| {
        shown.set(shown.get() + tokens.len());
        Ok(())
    };
    let before = session.engine().counters().replays;
    // Asked after the first token: one more submission is read, none is begun.
    let answered = generate(&mut session, None, &request, &|| shown.get() >= 1, &mut show).unwrap();
    assert_eq!((answered.end, answered.tokens.len()), (End::Interrupted, 1));
    let run = session.engine().counters().replays - before;
    assert!(run <= 1 + u64::from(steps) * ahead as u64, "{run} runs");
    let turn: Vec<u32> = prompt(3).into_iter().chain(answered.tokens).chain([8]).collect();
    assert_eq!(answer(&mut session, &turn, 5), expected(&turn, &[], 5));
}

#[test]
fn an_answer_left_in_the_middle_does_no_harm() {
    let mut session = session(&[]);
    session.begin(&prompt(4), u32::MAX).unwrap();
    let mut tokens = Vec::new();
    for _ in 0..3 {
        assert_eq!(session.advance(&mut tokens).unwrap(), None);
    }
    assert_eq!(tokens, expected(&prompt(4), &[], 17).0);
    let turn: Vec<u32> = prompt(4).into_iter().chain(tokens).chain([50]).collect();
    assert_eq!(answer(&mut session, &turn, 5), expected(&turn, &[], 5));
}

#[test]
fn teacher_forcing_takes_the_given_token_not_the_sampled_one() {
    let mut session = session(&[]);
    let mut all = prompt(9);
    let mut logits = session.prompt_logits(&all).unwrap();
    for token in [3, 90, 3, 14] {
        let best = (0..VOCAB).max_by(|&a, &b| logits[a as usize].total_cmp(&logits[b as usize])).unwrap();
        assert_eq!((logits.len() as u32, best), (VOCAB, next(&all)));
        logits = session.next_logits(token).unwrap();
        all.push(token);
    }
    assert_eq!(session.cached(), all);
}

#[test]
fn decode_moves_token_ids_and_nothing_else() {
    let mut session = session_with(&[], Options { steps: 8, ahead: 2, chunks: 8, ..Default::default() });
    session.begin(&prompt(5), 33).unwrap();
    let before = session.engine().counters();
    let mut tokens = Vec::new();
    while session.advance(&mut tokens).unwrap().is_none() {}
    let after = session.engine().counters();
    assert_eq!(tokens.len(), 33);
    assert_eq!(after.submissions - before.submissions, 4);
    assert_eq!(after.to_device_bytes, before.to_device_bytes);
    // 32 token ids and, once at the end, how far the sampler came.
    assert_eq!(after.to_host_bytes - before.to_host_bytes, 32 * 4 + 16);
}

#[test]
fn a_session_may_be_dropped_while_steps_are_under_way() {
    for _ in 0..5 {
        let mut session = session_with(&[], Options { steps: 40, ahead: 1, chunks: 8, ..Default::default() });
        session.begin(&prompt(4), u32::MAX).unwrap();
        session.advance(&mut Vec::new()).unwrap();
    }
}
