//! A package with workflow metadata, on the device: what running its YAML to the letter gave in onnxruntime.

use super::{numbers, open, project};
use onnxcast::job::{Job, Wish};
use onnxcast::pipeline;
use onnxcast::storage::Precision;
use onnxcast::workflow::Drawer;
use onnxcast_runtime::engine::Engine;
use onnxcast_runtime::generator::Generator;
use onnxcast_runtime::sampling::Sampling;
use onnxcast_runtime::session::{Options, Session};
use serde_json::Value;
use std::path::Path;

/// The decoder of models/tiny with policies and metadata around it.
fn package(metadata: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let copy = |from: &Path, to: &str| std::fs::copy(from, dir.path().join(to)).unwrap();
    for file in ["model.onnx", "model.onnx.data", "tokenizer.json", "tokenizer_config.json"] {
        copy(&project().join("models/tiny").join(file), file);
    }
    std::fs::create_dir(dir.path().join("policies")).unwrap();
    for entry in std::fs::read_dir(project().join("tests/data/workflow/policies")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            copy(&path, &format!("policies/{}", path.file_name().unwrap().to_str().unwrap()));
        }
    }
    copy(&project().join("tests/data/workflow").join(metadata), "inference_metadata.yaml");
    dir
}

fn job(dir: &Path) -> Job {
    let (project, onnx) = (dir.join("project"), Some(dir.to_path_buf()));
    let wish = Wish { project, name: "packed".into(), onnx, precision: Some(Precision::Fp32), ..Wish::default() };
    Job::find(&wish).unwrap_or_else(|e| panic!("{e}"))
}

fn golden() -> Value {
    serde_json::from_slice(&std::fs::read(project().join("tests/data/workflow/golden.json")).unwrap()).unwrap()
}

fn answer(engine: Engine, stops: &[u32], options: Options, case: &Value) -> (Vec<u32>, Engine) {
    let prompt = numbers(&case["prompt"]);
    let mut session = Session::new(engine, stops, options).unwrap();
    session.begin(&prompt, case["max"].as_u64().unwrap() as u32).unwrap();
    let mut tokens = vec![];
    while session.advance(&mut tokens).unwrap().is_none() {}
    // The decoder of the workflow runs on the last token too; nobody sees it, and here it does not.
    assert_eq!(session.cached().len(), prompt.len() + tokens.len() - 1);
    (tokens, session.into_engine())
}

#[test]
fn a_package_answers_as_its_workflow_does_run_to_the_letter() {
    let dir = package("inference_metadata.yaml");
    let job = job(dir.path());
    let workflow = job.workflow.as_ref().unwrap();
    assert!(matches!(workflow.sampler, Drawer::Kernels(_)), "{:?}", workflow.sampler);
    let text = job.text.as_ref().unwrap();
    assert_eq!((job.manifest.context, text.stops.as_slice()), (Some(256), &[258][..]));
    let own = job.manifest.sampling.unwrap().settings().unwrap();
    assert_eq!((own.temperature, own.seed, own.counter), (0.0, 0, Some(0)));
    let plan = pipeline::compile(&job, &mut |_| {}).unwrap_or_else(|e| panic!("{e}")).plan;
    let mut engine = open(plan);
    for case in golden()["cases"].as_array().unwrap() {
        let float = |name: &str, or: f32| case[name].as_f64().map_or(or, |x| x as f32);
        let drawn = Sampling {
            temperature: float("temperature", 0.0),
            top_k: case["top_k"].as_i64().unwrap_or(0),
            top_p: float("top_p", 1.0),
            min_p: float("min_p", 0.0),
            seed: case["seed"].as_u64().unwrap_or(own.seed),
            ..own
        };
        let stops = case["stop"].as_u64().map_or(text.stops.clone(), |s| vec![s as u32]);
        let (tokens, back) = answer(engine, &stops, Options { sampling: Some(drawn), ..Options::default() }, case);
        assert_eq!(tokens, numbers(&case["tokens"]), "{case}");
        engine = back;
    }
}

#[test]
fn a_sampler_of_the_packages_own_is_compiled_behind_the_logits() {
    let dir = package("runner_up.yaml");
    let job = job(dir.path());
    assert!(matches!(job.workflow.as_ref().unwrap().sampler, Drawer::Own(_)));
    assert_eq!(job.manifest.sampling, None);
    let compiled = pipeline::compile(&job, &mut |_| {}).unwrap_or_else(|e| panic!("{e}"));
    let golden = golden();
    let (tokens, engine) = answer(open(compiled.plan), &[258], Options::default(), &golden["cases"][0]);
    assert_eq!(tokens, numbers(&golden["runner_up"]));
    let warm = Options { sampling: Some(Sampling::default()), ..Options::default() };
    let said = Session::new(engine, &[], warm).map(|_| ()).unwrap_err().to_string();
    assert!(said.contains("draws by a graph of its own"), "{said}");
}

/// Answers of a package whose policies are compiled as given, to the requests that onnxruntime was given.
fn answers(name: &str, settings: bool) {
    let dir = package(&format!("{name}.yaml"));
    let job = job(dir.path());
    assert!(job.workflow.as_ref().unwrap().tail.is_some());
    let compiled = pipeline::compile(&job, &mut |_| {}).unwrap_or_else(|e| panic!("{e}"));
    let stops = &job.text.as_ref().unwrap().stops;
    let mut engine = open(compiled.plan);
    for case in golden()[name].as_array().unwrap() {
        let sampling = case["temperature"].as_f64().filter(|_| settings).map(|temperature| Sampling {
            temperature: temperature as f32,
            top_k: case["top_k"].as_i64().unwrap_or(0),
            top_p: case["top_p"].as_f64().unwrap_or(1.0) as f32,
            min_p: case["min_p"].as_f64().unwrap_or(0.0) as f32,
            seed: case["seed"].as_u64().unwrap_or(0),
            counter: Some(0),
            ..Sampling::default()
        });
        for steps in [8, 1] {
            let (tokens, back) = answer(engine, stops, Options { sampling, steps, ..Options::default() }, case);
            assert_eq!(tokens, numbers(&case["tokens"]), "{name}, {steps} steps a submission: {case}");
            engine = back;
        }
    }
}

#[test]
fn a_termination_policy_of_the_packages_own_ends_answers() {
    answers("ending", true);
}

#[test]
fn policies_between_logits_and_sampler_are_compiled_in_front_of_it() {
    answers("processed", true);
}

#[test]
fn processors_sampler_and_termination_may_all_be_the_packages_own() {
    answers("all_own", false);
}

#[test]
fn an_application_ends_an_answer_before_a_policy_does() {
    let dir = package("ending.yaml");
    let job = job(dir.path());
    let said = std::fs::read_to_string(dir.path().join("project/generated/packed/model.toml")).unwrap_or_default();
    assert_eq!(job.text.as_ref().unwrap().stops, [] as [u32; 0], "{said}");
    let mut engine = open(pipeline::compile(&job, &mut |_| {}).unwrap_or_else(|e| panic!("{e}")).plan);
    let all = numbers(&golden()["ending"][0]["tokens"]);
    let request = |max: u32| serde_json::json!({"prompt": [72, 101, 108, 108, 111], "max": max});
    // The policy ends it two tokens before the limit; an id of the application's ends it earlier still.
    for (stops, max, count) in
        [(vec![all[3]], 24, 4), (vec![], 5, 3), (vec![all[8]], 24, 9), (vec![], 24, 9), (vec![], u32::MAX, 9)]
    {
        let (tokens, back) = answer(engine, &stops, Options::default(), &request(max));
        assert_eq!(tokens, all[..count], "stops {stops:?}, at most {max}");
        engine = back;
    }
}

#[test]
fn metadata_that_contradicts_the_graph_is_refused_with_both() {
    let dir = package("inference_metadata.yaml");
    let file = dir.path().join("inference_metadata.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    let swapped = text
        .replace("past_key_values.0.key", "past_key_values.8.key")
        .replace("past_key_values.1.key", "past_key_values.0.key");
    assert_ne!(text, swapped);
    std::fs::write(&file, swapped.replace("past_key_values.8.key", "past_key_values.1.key")).unwrap();
    let refused = || pipeline::compile(&job(dir.path()), &mut |_| {}).map(|_| ()).unwrap_err().to_string();
    // Each cache still gets back what was left for it, so by itself the workflow makes sense.
    let said = refused();
    let crossed = "'present.0.key' continues 'past_key_values.0.key' in the graph, and a group of state gives it back to 'past_key_values.1.key'";
    assert!(said.contains(crossed), "{said}");
    std::fs::write(&file, &text).unwrap();
    for (from, to, says) in [
        (
            "role: key\n                  layer: 0",
            "role: value\n                  layer: 0",
            "is the role value here, and key by its use",
        ),
        (
            "role: value\n                  layer: 1",
            "role: value\n                  layer: 0",
            "is the layer 0 here, and 1 by its use",
        ),
        (
            "role: value\n                  layer: 1",
            "role: noise\n                  layer: 1",
            "is the role noise here, and value by its use",
        ),
    ] {
        assert!(text.contains(from), "{from}");
        std::fs::write(&file, text.replacen(from, to, 1)).unwrap();
        let said = refused();
        assert!(said.contains(says) && said.contains("pipeline.workflow.serving.state_service.groups."), "{said}");
    }
    std::fs::write(&file, &text).unwrap();
    let model = dir.path().join("model.onnx");
    let (name, other) = (b"past_key_values.1.value", b"past_key_values.7.value");
    let mut bytes = std::fs::read(&model).unwrap();
    for at in 0..bytes.len() - name.len() {
        if bytes[at..].starts_with(name) {
            bytes[at..at + name.len()].copy_from_slice(other);
        }
    }
    std::fs::write(&model, bytes).unwrap();
    let said = refused();
    assert!(said.contains("a group of state has 'past_key_values.1.value', and the graph's caches are"), "{said}");
    std::fs::write(&model, []).unwrap();
    let said = onnxcast::workflow::read(&file, false).map(|_| ()).unwrap_err().to_string();
    assert!(said.contains("(model.onnx): the file is empty (0 bytes)"), "{said}");
    std::fs::remove_file(&model).unwrap();
    let said = onnxcast::workflow::read(&file, false).map(|_| ()).unwrap_err().to_string();
    assert!(said.contains("there is no file 'model.onnx' in the package"), "{said}");
}
