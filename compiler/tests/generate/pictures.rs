//! A vision-language model in one program: tower, embedding and decoder in graphs of their own, pictures in a state of the device;
//! against what PyTorch recorded.

use super::{answer, open, open_on, raw};
use onnxcast::graph::eval;
use onnxcast::job::{Job, Wish};
use onnxcast::pipeline;
use onnxcast::plan::{BucketGraph, Plan, Precision};
use onnxcast_runtime::array::Array;
use onnxcast_runtime::device::{self, Device};
use onnxcast_runtime::engine;
use onnxcast_runtime::generator::{Generator, Scorer};
use onnxcast_runtime::npz;

use onnxcast_runtime::sampling::Sampling;
use onnxcast_runtime::session::{self, Session};
use std::collections::{BTreeMap, HashMap};

/// A model of three graphs in a folder of tests/data.
#[derive(Clone, Copy)]
struct Model {
    folder: &'static str,
    /// The token that stands for a row of the picture in the reference's prompt.
    image: u32,
    vocab: u32,
}

const TINY: Model = Model { folder: "tests/data/smolvlm-tiny", image: 590, vocab: 600 };
/// Fewer key heads than heads, and another export's way of giving the cache's new rows.
const GROUPED: Model = Model { folder: "tests/data/smolvlm-gqa", image: 310, vocab: 320 };
const VOCAB: u32 = TINY.vocab;
/// Rows of a picture.
const ROWS: u32 = 4;

/// The job of the program with a prompt's chunks of `rows`.
fn job(model: Model, rows: usize, precision: Precision) -> Job {
    let (project, dir) = (super::project(), tempfile::tempdir().unwrap());
    let (text, manifest) =
        (std::fs::read_to_string(project.join(TINY.folder).join("model.toml")), dir.path().join("model.toml"));
    let chunk = "rows = 4\n";
    let text = text.unwrap();
    assert!(text.contains(chunk));
    std::fs::write(&manifest, text.replace(chunk, &format!("rows = {rows}\n"))).unwrap();
    let onnx = Some(project.join(model.folder));
    let (name, precision) = ("tiny-vlm".into(), Some(precision));
    Job::find(&Wish { project, name, manifest: Some(manifest), onnx, precision, ..Wish::default() }).unwrap()
}

fn planned(rows: usize) -> Plan {
    planned_as(TINY, rows, Precision::Fp32)
}

fn planned_as(model: Model, rows: usize, precision: Precision) -> Plan {
    pipeline::compile(&job(model, rows, precision), &mut |_| {}).unwrap().plan
}

fn session_of(plan: Plan) -> Session {
    Session::new(open(plan), &[], session::Options::default()).unwrap()
}

struct Reference {
    model: Model,
    arrays: BTreeMap<String, Array>,
}

impl Reference {
    fn read(model: Model) -> Reference {
        let arrays = npz::read(&super::project().join(model.folder).join("reference.npz")).unwrap();
        Reference { model, arrays: arrays.into_iter().collect() }
    }

    fn numbers(&self, name: &str) -> Vec<f64> {
        self.arrays[name].data.to_f64()
    }

    fn pixels(&self) -> Vec<f32> {
        self.numbers("pixel_values").iter().map(|x| *x as f32).collect()
    }

    fn tokens(&self) -> Vec<u32> {
        self.numbers("tokens").iter().map(|x| *x as u32).collect()
    }

    /// The prompt, with the rows of a slot where it has the picture's token.
    fn prompt(&self, slot: u32) -> Vec<u32> {
        let mut rows = self.model.vocab + slot * ROWS..;
        let id = |x: &f64| if *x as u32 == self.model.image { rows.next().unwrap() } else { *x as u32 };
        self.numbers("prompt").iter().map(id).collect()
    }
}

/// Another picture.
fn other(pixels: &[f32]) -> Vec<f32> {
    pixels.iter().rev().map(|x| 0.5 - x).collect()
}

/// Largest distance to the reference's logits along its tokens.
fn far_from(session: &mut Session, reference: &Reference, slot: u32) -> f64 {
    let mut got = vec![session.prompt_logits(&reference.prompt(slot)).unwrap()];
    let tokens = reference.tokens();
    for token in &tokens[..tokens.len() - 1] {
        got.push(session.next_logits(*token).unwrap());
    }
    let got: Vec<f64> = got.concat().iter().map(|x| f64::from(*x)).collect();
    raw::distance(&got, &reference.numbers("step_logits"))
}

fn looks_and_answers(model: Model) {
    let reference = Reference::read(model);
    let mut session = session_of(planned_as(model, 4, Precision::Fp32));
    let pictures = session.pictures().unwrap();
    assert_eq!((pictures.rows, pictures.slots), (ROWS, 3));
    session.show(1, &reference.pixels()).unwrap();

    let bytes = session.engine().read_state(pictures.state).unwrap();
    let state: Vec<f64> = bytes.as_chunks::<4>().0.iter().map(|b| f64::from(f32::from_le_bytes(*b))).collect();
    let embeds = reference.numbers("image_embeds");
    let slots: Vec<&[f64]> = state.chunks_exact(embeds.len()).collect();
    assert!(raw::distance(slots[1], &embeds) < 1e-4);
    assert!(slots[0].iter().chain(slots[2]).all(|x| *x == 0.0), "other slots are left alone");

    let (tokens, _) = answer(&mut session, &reference.prompt(1), 20);
    assert_eq!(tokens, reference.tokens());
    let far = far_from(&mut session, &reference, 1);
    assert!(far < 1e-4, "logits are {far} away");
}

#[test]
fn one_program_looks_at_a_picture_and_answers_as_the_reference_does() {
    looks_and_answers(TINY);
}

#[test]
fn so_does_one_of_fewer_key_heads_from_another_export() {
    looks_and_answers(GROUPED);
}

#[test]
fn chunks_may_cut_through_a_picture() {
    let reference = Reference::read(TINY);
    for rows in [1, 3, 16] {
        let mut session = session_of(planned(rows));
        session.show(0, &reference.pixels()).unwrap();
        let far = far_from(&mut session, &reference, 0);
        assert!(far < 1e-4, "in chunks of {rows}, logits are {far} away");
    }
}

/// How far two vectors point apart: 1 is not at all.
fn cosine(a: &[f64], b: &[f64]) -> f64 {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

#[test]
fn weights_in_fewer_bits_give_nearly_the_same() {
    let reference = Reference::read(TINY);
    let steps = reference.numbers("step_logits");
    for (precision, least) in [(Precision::Fp16, 0.9999), (Precision::Int4, 0.95)] {
        let plan = planned_as(TINY, 4, precision);
        let lookups = plan.program.kernels.iter().filter(|k| k.defines.iter().any(|(name, _)| name == "PICTURES"));
        let sources: Vec<&str> = lookups.map(|k| &*k.source).collect();
        assert_eq!(
            sources,
            ["gather_rows.comp", "gather_rows.comp"],
            "{precision:?}: a chunk's and a token's, in one dispatch each"
        );
        let mut session = session_of(plan);
        session.show(0, &reference.pixels()).unwrap();
        let logits = session.prompt_logits(&reference.prompt(0)).unwrap();
        let logits: Vec<f64> = logits.iter().map(|x| f64::from(*x)).collect();
        let near = cosine(&logits, &steps[..logits.len()]);
        assert!(near > least, "{precision:?}: cosine {near}");
    }
}

#[test]
fn a_second_question_runs_no_tower_and_a_new_picture_in_the_slot_forgets_the_old_one() {
    let reference = Reference::read(TINY);
    let plan = planned(4);
    let tower =
        onnxcast_runtime::cost::run(&plan.program, &plan.program.buckets[0], onnxcast_runtime::recorder::Part::Whole);
    let mut session = session_of(plan);
    let (mine, theirs) = (reference.pixels(), other(&reference.pixels()));
    session.show(0, &theirs).unwrap();
    session.show(2, &mine).unwrap();
    let prompt = reference.prompt(2);
    let (first, _) = answer(&mut session, &prompt, 20);
    assert_eq!(first, reference.tokens(), "of two pictures the one that is asked about");

    // Behind the picture another question: what was computed up to it stays.
    let second: Vec<u32> = prompt[..7].iter().copied().chain([50, 60, 70]).collect();
    let (answered, [_, runs, dispatches]) = answer(&mut session, &second, 6);
    assert_eq!(runs, 1, "three rows in one chunk");
    assert!(dispatches < tower.dispatches + 30, "{dispatches} dispatches; the tower alone has {}", tower.dispatches);

    // The same picture in another slot gives the same rows under other ids.
    session.show(0, &mine).unwrap();
    let elsewhere: Vec<u32> = second.iter().map(|id| if *id >= VOCAB { id - 2 * ROWS } else { *id }).collect();
    let (same, [_, runs, _]) = answer(&mut session, &elsewhere, 6);
    assert_eq!((same, runs), (answered.clone(), 2), "rows from the picture on are new");

    session.show(0, &theirs).unwrap();
    assert_eq!(session.cached(), &elsewhere[..3], "only what stands before the picture is still right");
    let (changed, [_, runs, _]) = answer(&mut session, &elsewhere, 6);
    assert_eq!(runs, 2);
    assert_ne!(changed, answered);
}

#[test]
fn only_token_ids_cross_the_bus_after_the_picture() {
    let reference = Reference::read(TINY);
    let mut session = session_of(planned(4));
    let before = session.engine().counters();
    session.show(0, &reference.pixels()).unwrap();
    let shown = session.engine().counters();
    let pixels = 4 * reference.pixels().len() as u64;
    assert!(shown.to_device_bytes - before.to_device_bytes < pixels + 256);
    assert_eq!(shown.to_host_bytes, before.to_host_bytes, "rows of a picture stay on the device");
    session.begin(&reference.prompt(0), 20).unwrap();
    let begun = session.engine().counters();
    let mut tokens = vec![];
    while session.advance(&mut tokens).unwrap().is_none() {}
    let done = session.engine().counters();
    assert_eq!(tokens.len(), 20);
    assert_eq!(done.to_device_bytes, begun.to_device_bytes);
    assert_eq!(done.to_host_bytes - begun.to_host_bytes, 19 * 4 + 16, "tokens, and how it ended");
}

#[test]
fn rows_of_pictures_that_are_not_there_are_refused() {
    let reference = Reference::read(TINY);
    let mut session = session_of(planned(4));
    let refused = |session: &mut Session, ids: &[u32]| session.begin(ids, 1).unwrap_err().to_string();
    let e = refused(&mut session, &reference.prompt(1));
    assert!(e.contains("token 3 is 604, a row of picture 2, and no such picture was shown"), "{e}");
    let e = refused(&mut session, &[1, VOCAB + 3 * ROWS]);
    assert!(e.contains("token 1 is 612, the vocabulary has 600, and rows of pictures go to 611"), "{e}");
    let e = session.show(3, &reference.pixels()).unwrap_err().to_string();
    assert!(e.contains("picture 4 of 3 that fit at once"), "{e}");
    let e = session.show(0, &[0.0; 7]).unwrap_err().to_string();
    assert!(e.contains("7 values for pixels of shape [1, 3, 48, 48]"), "{e}");
    session.show(1, &reference.pixels()).unwrap();
    assert_eq!(answer(&mut session, &reference.prompt(1), 20).0, reference.tokens());
}

#[test]
fn a_repeat_penalty_counts_rows_of_pictures_for_no_token() {
    let reference = Reference::read(TINY);
    let device = Device::open(&device::Options::default()).unwrap();
    let options = engine::Options { guard_bytes: 256, ..engine::Options::default() };
    let engine = open_on(&device, planned(4), options);
    let sampling = Sampling { repeat_penalty: 1.5, temperature: 1e-3, ..Sampling::default() };
    let options = session::Options { sampling: Some(sampling), ..session::Options::default() };
    let mut session = Session::new(engine, &[], options).unwrap();
    session.show(2, &reference.pixels()).unwrap();
    let prompt = reference.prompt(2);
    let (tokens, _) = answer(&mut session, &prompt, 20);
    session.engine().check_guards().unwrap();

    // The host's account of the same: every token of the context counts once, whatever its id.
    let mut ids = prompt.clone();
    let mut logits = session.prompt_logits(&prompt).unwrap();
    for token in tokens {
        ids.iter().filter(|id| **id < VOCAB).collect::<std::collections::BTreeSet<_>>().into_iter().for_each(|id| {
            let x = &mut logits[*id as usize];
            *x = if *x > 0.0 { *x / 1.5 } else { *x * 1.5 };
        });
        let best = (0..logits.len()).max_by(|a, b| logits[*a].total_cmp(&logits[*b])).unwrap();
        assert_eq!(token as usize, best, "after {} tokens", ids.len());
        ids.push(token);
        logits = session.next_logits(token).unwrap();
    }
}

#[test]
fn graphs_that_are_no_decoders_run_with_their_ports_beside_it() {
    let reference = Reference::read(TINY);
    let mut engine = open(planned(4));
    let mut run = |bucket: &str, inputs: &[(&str, &Array)]| -> BTreeMap<String, Array> {
        let bucket = engine.bucket_index(bucket).unwrap();
        engine.run_raw(bucket, inputs).unwrap().into_iter().collect()
    };
    let out = run("vision", &[("pixel_values", &reference.arrays["pixel_values"])]);
    assert!(raw::distance(&out["image_embeds"].data.to_f64(), &reference.numbers("image_embeds")) < 1e-4);
    let out = run("embed", &[("input_ids", &Array::i64(&[1, 5], &[1, 2, 3, 4, 5]))]);
    assert_eq!(out["inputs_embeds"].shape, [1, 5, 64]);
}

/// Numbers of an array that differ from element to element.
fn noise(shape: &[usize], seed: u32) -> Array {
    let count = shape.iter().product::<usize>() as u32;
    let one =
        |i: u32| (i.wrapping_mul(2_654_435_761).wrapping_add(seed.wrapping_mul(40_503)) >> 8) as f32 / (1 << 24) as f32;
    Array::f32(shape, &(0..count).map(|i| one(i) - 0.5).collect::<Vec<_>>())
}

#[test]
fn a_decoder_that_runs_as_it_stands_honours_any_mask() {
    let job = job(TINY, 4, Precision::Fp32);
    let graphs: Vec<BucketGraph> = pipeline::import(&job).unwrap();
    let graph = &graphs.iter().find(|b| b.name == "as-it-stands").unwrap().graph;
    let mut inputs: Vec<(String, Array)> = vec![];
    for (i, v) in graph.inputs.iter().enumerate() {
        let (name, shape) = (graph.value(*v).name.clone(), graph.shape(*v));
        let array = match name.as_str() {
            // Positions out of order, and a mask that is neither causal nor a window.
            "position_ids" => Array::i64(shape, &[9, 2, 5]),
            "attention_mask" => {
                let hidden = |i: usize| if i % 5 == 1 || i % 7 == 3 { -1e4 } else { 0.25 };
                Array::f32(shape, &(0..21).map(hidden).collect::<Vec<f32>>())
            }
            _ => noise(shape, i as u32),
        };
        inputs.push((name, array));
    }
    let given: Vec<(&str, &Array)> = inputs.iter().map(|(name, array)| (name.as_str(), array)).collect();
    let mut engine = open(planned(4));
    let bucket = engine.bucket_index("as-it-stands").unwrap();
    let got: BTreeMap<String, Array> = engine.run_raw(bucket, &given).unwrap().into_iter().collect();
    let plain = |(name, array): &(String, Array)| {
        let floats: Vec<f32> = array.data.to_f64().iter().map(|x| *x as f32).collect();
        let values = match name.as_str() {
            "position_ids" => eval::Values::Int(floats.iter().map(|x| *x as i64).collect()),
            _ => eval::Values::F32(floats),
        };
        let dtype = graph.inputs.iter().map(|v| graph.value(*v)).find(|v| v.name == *name).unwrap().ty.dtype;
        (name.clone(), eval::Array::new(dtype, array.shape.clone(), values))
    };
    let want = eval::run(graph, &inputs.iter().map(plain).collect::<HashMap<_, _>>()).unwrap();
    for (name, want) in want {
        let far = raw::distance(&got[&name].data.to_f64(), &want.to_f64());
        assert!(far < 1e-4, "{name} is {far} away");
    }
}
