//! Decoders end to end in one process: ONNX file, fused graph, plan, SPIR-V, device; tokens against recorded references.

use onnxcast::graph::Activations;
use onnxcast::import::{self, Options};
use onnxcast::passes::{self, Log};
use onnxcast::plan::{self, BucketGraph, Kv, Lock, Precision, Request, Shaders, Storage};
use onnxcast::shaders;
use onnxcast_runtime::cost;
use onnxcast_runtime::device::{self, Device};
use onnxcast_runtime::engine::{self, Engine};
use onnxcast_runtime::generator::Generator;
use onnxcast_runtime::npz;
use onnxcast_runtime::program::{Elem, Kernel, State};
use onnxcast_runtime::recorder::{Code, Part, RecordOptions};
use onnxcast_runtime::sampling::Sampling;
use onnxcast_runtime::session::{self, Session};
use onnxcast_runtime::step::Step;
use onnxcast_runtime::weights::WeightSource;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

#[path = "generate/contrib.rs"]
mod contrib;
#[path = "generate/long.rs"]
mod long;
#[path = "generate/offload.rs"]
mod offload;
#[path = "generate/pictures.rs"]
mod pictures;
#[path = "generate/policies.rs"]
mod policies;
#[path = "generate/quantised.rs"]
mod quantised;
#[path = "generate/raw.rs"]
mod raw;
#[path = "../../tests/common/skipped.rs"]
mod skipped;
#[path = "generate/workflow.rs"]
mod workflow;

use skipped::skipped;

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A decoder of the tree with a prefill bucket of `rows` and a decode bucket, on the first device.
fn decoder(path: &str, context: usize, rows: usize, precision: Precision) -> Engine {
    open(planned(path, context, rows, precision))
}

fn planned(path: &str, context: usize, rows: usize, storage: impl Into<Storage>) -> plan::Plan {
    planned_in(path, context, &[("prefill", rows), ("decode", 1)], storage)
}

fn planned_in(path: &str, context: usize, buckets: &[(&str, usize)], storage: impl Into<Storage>) -> plan::Plan {
    let buckets: Vec<BucketGraph> = buckets.iter().map(|&(name, rows)| fused(path, context, name, rows)).collect();
    assembled(&buckets, context, storage)
}

/// The fused graph of a decoder at `s` rows.
fn fused(path: &str, context: usize, name: &str, s: usize) -> BucketGraph {
    let named = [("batch_size", 1), ("sequence_length", s), ("past_sequence_length", context - s)];
    let totals = [("total_sequence_length", context), ("s70", s), ("s15", context - s), ("s53", context)];
    let bind = named.into_iter().chain(totals).map(|(k, v)| (k.to_string(), v)).collect();
    let options = Options { bind, ..Options::default() };
    let mut graph = import::load_decoder(&project().join(path), &options).unwrap();
    passes::run(&mut graph, passes::ORDER, &mut Log::default()).unwrap();
    BucketGraph { name: name.into(), file: "decoder".into(), rows: s, decoder: true, graph }
}

fn assembled(buckets: &[BucketGraph], context: usize, storage: impl Into<Storage>) -> plan::Plan {
    let storage = storage.into();
    let lock = Lock::default();
    let request = Request { name: "test", storage, context: Some(context), buckets, lock: &lock, select: &Shaders };
    plan::assemble(&request).unwrap()
}

/// Packs the weights, compiles the kernels, uploads both.
fn open(plan: plan::Plan) -> Engine {
    open_on(&Device::open(&device::Options::default()).unwrap(), plan, engine::Options::default())
}

fn open_on(device: &Device, plan: plan::Plan, options: engine::Options) -> Engine {
    let weights = plan.pool.iter().map(|packed| {
        let mut bytes = Vec::new();
        plan::weights::pack(packed, &mut |piece| {
            bytes.extend_from_slice(piece);
            Ok(())
        })
        .unwrap();
        bytes
    });
    let weights = WeightSource::Bytes(weights.collect());
    let code: Vec<Code> = plan.program.kernels.iter().map(|k| Code::Words(words(k).into())).collect();
    Engine::new(device, plan.program, &code, &weights, options, &mut |_, _| {}).unwrap()
}

/// SPIR-V of a kernel; the decoders of this file share most of theirs.
fn words(kernel: &Kernel) -> Vec<u32> {
    static KNOWN: Mutex<BTreeMap<String, Vec<u32>>> = Mutex::new(BTreeMap::new());
    let key = format!("{} {:?}", kernel.source, kernel.defines);
    let mut known = KNOWN.lock().unwrap();
    known.entry(key).or_insert_with(|| shaders::compile(kernel).unwrap()).clone()
}

/// Greedy tokens after a prompt, and the logits of each step.
fn generate(engine: &mut Engine, context: u32, prompt: &[u32], count: u32) -> Vec<(u32, Vec<f32>)> {
    engine.reset_states().unwrap();
    let chunk = engine.program().buckets[0].rows as usize;
    let mut pos = 0;
    let pieces: Vec<&[u32]> = prompt.chunks(chunk).collect();
    for (i, piece) in pieces.iter().enumerate() {
        let step = Step {
            pos,
            rows: piece.len() as u32,
            done: 0,
            produced: 0,
            limit: count + 1,
            context,
            draw: Sampling::default().draw(),
            ..bytemuck::Zeroable::zeroed()
        };
        engine.set_step(&step).unwrap();
        engine.set_tokens(piece).unwrap();
        let part = if i + 1 == pieces.len() { Part::Whole } else { Part::Body };
        engine.run(0, part).unwrap();
        pos += piece.len() as u32;
    }
    let mut out = vec![(engine.ring(0).unwrap(), engine.logits().unwrap())];
    for i in 1..count {
        engine.run(1, Part::Whole).unwrap();
        out.push((engine.ring(i).unwrap(), engine.logits().unwrap()));
    }
    out
}

fn numbers(value: &serde_json::Value) -> Vec<u32> {
    value.as_array().unwrap().iter().map(|v| v.as_u64().unwrap() as u32).collect()
}

#[test]
fn the_qwen2_exports_give_their_reference_tokens_and_logits() {
    for folder in ["tests/data/qwen2-tiny-eager-legacy-op17", "tests/data/qwen2-tiny-eager-dynamo-op18"] {
        let config = std::fs::read_to_string(project().join(folder).join("config.json")).unwrap();
        let config: serde_json::Value = serde_json::from_str(&config).unwrap();
        let (prompt, want) = (numbers(&config["prompt"]), numbers(&config["greedy_tokens"]));
        let reference = npz::read(&project().join(folder).join("reference.npz")).unwrap();
        let (_, logits) = reference.iter().find(|(name, _)| name == "step_logits").unwrap();
        let logits = logits.data.to_f64();
        let mut engine = decoder(&format!("{folder}/model.onnx"), 64, 4, Precision::Fp32);
        let got = generate(&mut engine, 64, &prompt, want.len() as u32);
        let tokens: Vec<u32> = got.iter().map(|(t, _)| *t).collect();
        assert_eq!(tokens, want, "{folder}");
        for (i, ((_, row), expected)) in got.iter().zip(logits.chunks_exact(got[0].1.len())).enumerate() {
            let row: Vec<f64> = row.iter().map(|x| f64::from(*x)).collect();
            let far = raw::distance(&row, expected);
            assert!(far < 1e-3, "{folder}, step {i}: logits are {far} away");
        }
    }
}

#[test]
fn the_tiny_decoder_gives_its_golden_tokens() {
    let golden = std::fs::read_to_string(project().join("models/tiny/golden.json")).unwrap();
    let golden: serde_json::Value = serde_json::from_str(&golden).unwrap();
    let mut engine = decoder("models/tiny/model.onnx", 256, 16, Precision::Fp32);
    for case in golden["cases"].as_array().unwrap() {
        let (prompt, want) = (numbers(&case["prompt_ids"]), numbers(&case["tokens"]));
        let got = generate(&mut engine, 256, &prompt, want.len() as u32);
        let tokens: Vec<u32> = got.iter().map(|(t, _)| *t).collect();
        assert_eq!(tokens, want, "{}", case["prompt"]);
    }
}

/// Greedy tokens of a session, and the submissions, runs and dispatches it took to the first of them.
fn answer(session: &mut Session, prompt: &[u32], limit: u32) -> (Vec<u32>, [u64; 3]) {
    let before = session.engine().counters();
    session.begin(prompt, limit).unwrap();
    let after = session.engine().counters();
    let mut tokens = Vec::new();
    while session.advance(&mut tokens).unwrap().is_none() {}
    let spent = |f: fn(&engine::Counters) -> u64| f(&after) - f(&before);
    (tokens, [spent(|c| c.submissions), spent(|c| c.replays), spent(|c| c.dispatches)])
}

#[test]
fn a_program_of_one_bucket_takes_a_prompt_token_by_token_and_answers_alike() {
    let session = |buckets: &[(&str, usize)]| {
        let plan = planned_in("models/tiny/model.onnx", 128, buckets, Precision::Fp32);
        let of = |part| cost::run(&plan.program, &plan.program.buckets[0], part).dispatches;
        let costs = [of(Part::Body), of(Part::Whole)];
        (Session::new(open(plan), &[], session::Options::default()).unwrap(), costs)
    };
    let (mut two, _) = session(&[("prefill", 16), ("decode", 1)]);
    let (mut single, [body, whole]) = session(&[("decode", 1)]);
    let prompt: Vec<u32> = (0..90).map(|i| i * 37 % 320).collect();
    let (want, _) = answer(&mut two, &prompt, 20);
    let (got, [submissions, runs, dispatches]) = answer(&mut single, &prompt, 20);
    assert_eq!(got, want);
    assert_eq!((submissions, runs), (3, 90), "32 tokens a submission, a run each");
    assert_eq!(dispatches, 89 * body + whole, "the head runs once");
    // The second turn runs what is new: the last token of the answer has no row yet.
    let turn: Vec<u32> = prompt.iter().copied().chain(want.iter().copied()).chain([3, 4]).collect();
    let (want, _) = answer(&mut two, &turn, 8);
    let (got, [submissions, runs, _]) = answer(&mut single, &turn, 8);
    assert_eq!((got, submissions, runs), (want, 1, 3));
}

const INT8_CACHE: Storage = Storage { precision: Precision::Fp16, kv: Kv::Int8 };

/// Logits of the tiny decoder after a prompt in chunks of `rows`, for a prompt that fills three chunks of 16.
fn after_prompt(rows: usize, storage: impl Into<Storage>) -> Vec<Vec<f32>> {
    let mut engine = open(planned("models/tiny/model.onnx", 64, rows, storage));
    let prompts = [3..40, 100..141, 7..11].map(|ids: std::ops::Range<u32>| ids.collect::<Vec<_>>());
    prompts.iter().map(|prompt| generate(&mut engine, 64, prompt, 1).remove(0).1).collect()
}

/// The largest difference of two rows of logits, and the largest logit.
fn apart(a: &[Vec<f32>], b: &[Vec<f32>]) -> (f32, f32) {
    let pairs = || a.iter().flatten().zip(b.iter().flatten());
    (pairs().map(|(a, b)| (a - b).abs()).fold(0.0, f32::max), pairs().map(|(a, _)| a.abs()).fold(0.0, f32::max))
}

#[test]
fn an_int8_cache_stays_close_to_an_fp16_one_and_chunks_do_not_matter() {
    let coded = after_prompt(16, INT8_CACHE);
    let (far, most) = apart(&after_prompt(16, Precision::Fp16), &coded);
    assert!(far > 0.0 && far < 0.01 * most, "logits of up to {most} are {far} apart");
    let (far, _) = apart(&after_prompt(1, INT8_CACHE), &coded);
    assert!(far < 0.001 * most, "token by token, logits of up to {most} are {far} apart");
}

#[test]
fn plain_forms_give_the_same_bits_whatever_matrix_units_would_take() {
    let after = |activations: Option<Activations>| {
        let mut buckets =
            [("prefill", 16), ("decode", 1)].map(|(name, rows)| fused("models/tiny/model.onnx", 64, name, rows));
        for b in buckets.iter_mut().filter(|_| activations.is_some()) {
            passes::take(&mut b.graph, activations.unwrap_or_default(), &mut Log::default());
        }
        let plan = assembled(&buckets, 64, Precision::Fp16);
        let taken = cost::activations(&plan.program).name();
        (taken, generate(&mut open(plan), 64, &(3..40).collect::<Vec<u32>>(), 2))
    };
    let (own, one) = (after(None), after(Some(Activations::F16)));
    assert_eq!((own.0, one.0), (Some("fp32"), Some("fp16")));
    assert_eq!(own.1, one.1);
}

#[test]
fn an_int8_cache_is_planned_with_a_scale_a_row() {
    let plan = planned("models/tiny/model.onnx", 64, 16, INT8_CACHE);
    let states: Vec<_> = plan.program.states.iter().filter(|s| s.shape.len() == 4).collect();
    let rows = |s: &State| s.shape[..3].iter().product::<u32>();
    assert!(!states.is_empty() && states.iter().all(|s| s.dtype == Elem::Q8));
    assert!(states.iter().all(|s| s.bytes == u64::from(rows(s) * (s.shape[3] + 4))), "{states:?}");
    let quantised = plan.program.kernels.iter().filter(|k| k.source == "kv_quantise.comp").count();
    assert_eq!(quantised, 2, "one kernel a bucket for keys and values of all layers");
}

/// Bits of the tiny decoder's logits over 12 steps.
fn tiny_bits(device: &Device, storage: impl Into<Storage>, record: RecordOptions) -> Vec<u32> {
    let plan = planned("models/tiny/model.onnx", 64, 16, storage);
    let options = engine::Options { record, guard_bytes: 256, ..engine::Options::default() };
    let mut engine = open_on(device, plan, options);
    let prompt: Vec<u32> = (3..40).collect();
    let steps = generate(&mut engine, 64, &prompt, 12);
    engine.run(1, Part::Drawn).unwrap();
    assert_eq!(engine.step().unwrap().produced, 13);
    engine.check_guards().unwrap();
    steps.iter().flat_map(|(_, logits)| logits.iter().map(|x| x.to_bits())).collect()
}

#[test]
fn a_barrier_before_every_dispatch_changes_no_bit() {
    let device = Device::open(&device::Options::default()).unwrap();
    for storage in [Precision::Fp16.into(), INT8_CACHE] {
        let planned = tiny_bits(&device, storage, RecordOptions::default());
        assert_eq!(planned.len(), 12 * 320);
        let full = RecordOptions { full_barriers: true, ..RecordOptions::default() };
        assert!(planned == tiny_bits(&device, storage, full), "{storage:?}");
    }
}

#[test]
fn a_compiled_decoder_gives_the_validation_layer_nothing_to_say() {
    let device = match Device::open(&device::Options { validation: true, ..Default::default() }) {
        Err(e) if e.to_string().contains("VK_LAYER") => {
            return skipped("a_compiled_decoder_gives_the_validation_layer_nothing_to_say", e);
        }
        other => other.unwrap(),
    };
    tiny_bits(&device, INT8_CACHE, RecordOptions::default());
    tiny_bits(&device, Precision::Fp16, RecordOptions::default());
    assert_eq!(device.validation_messages(), Vec::<String>::new());
}

#[test]
fn every_style_gives_its_reference_tokens_and_logits() {
    let folder = project().join("tests/data/styles");
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|f| f.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "json"))
        .map(|p| p.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    names.sort();
    let mut wrong = Vec::new();
    for name in names {
        let reference = std::fs::read_to_string(folder.join(format!("{name}.json"))).unwrap();
        let reference: serde_json::Value = serde_json::from_str(&reference).unwrap();
        let (prompt, want) = (numbers(&reference["prompt"]), numbers(&reference["tokens"]));
        // References of fp16 graphs ran in fp16 themselves.
        let bound = if name.ends_with("fp16") { 0.1 } else { 0.02 };
        let mut engine = decoder(&format!("tests/data/styles/{name}.onnx"), 64, 4, Precision::Fp32);
        let got = generate(&mut engine, 64, &prompt, want.len() as u32);
        for (i, ((token, logits), rows)) in got.iter().zip(reference["logits"].as_array().unwrap()).enumerate() {
            let rows: Vec<f32> = rows.as_array().unwrap().iter().map(|x| x.as_f64().unwrap() as f32).collect();
            let apart = |(a, b): (&f32, &f32)| if (a - b).is_nan() { f32::INFINITY } else { (a - b).abs() };
            let gap = logits.iter().zip(&rows).map(apart).fold(0.0, f32::max);
            let mut best = rows.clone();
            best.sort_by(|a, b| b.total_cmp(a));
            if gap >= bound {
                wrong.push(format!("{name}, step {i}: logits differ by {gap}"));
                break;
            }
            if *token != want[i] {
                // A near-tie may fall either way; from there on the texts differ.
                if best[0] - best[1] >= bound {
                    wrong.push(format!("{name}, step {i}: token {token}, not {}", want[i]));
                }
                break;
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
