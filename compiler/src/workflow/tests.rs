//! The package of tests/data/workflow (tools/modelgen/workflow.py), as it is and altered.

use super::schema::*;
use super::*;
use crate::graph::eval::{Array, Values};
use crate::metadata::fuzz;
use proptest::prelude::*;
use std::collections::HashMap;
use std::path::PathBuf;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/data/workflow")
}

fn text() -> String {
    std::fs::read_to_string(folder().join(METADATA)).unwrap()
}

fn altered(changes: &[(&str, &str)]) -> String {
    changes.iter().fold(text(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    })
}

fn refused(text: &str) -> String {
    let said = parse(text, false).map(|_| ()).unwrap_err().to_string();
    assert_eq!(said.lines().count(), 1, "{said}");
    said
}

fn understood(text: &str) -> Result<Understood> {
    understand(&parse(text, false).unwrap_or_else(|e| panic!("{e}")).document, &folder())
}

#[test]
fn the_annotated_twin_is_the_same_object() {
    let plain = load(&folder().join(METADATA), false).unwrap();
    let twin = load(&folder().join("inference_metadata.annotated.yaml"), false).unwrap();
    assert_ne!(text(), std::fs::read_to_string(folder().join("inference_metadata.annotated.yaml")).unwrap());
    assert_eq!(plain, twin);
}

#[test]
fn unknown_keys_are_refused_or_left_out_and_listed() {
    let extra = altered(&[
        ("    manifest:\n", "    colour: red\n    manifest:\n"),
        ("schema_version", "more: {a: 1}\nschema_version"),
    ]);
    assert!(refused(&extra).starts_with("workflow: pipeline.workflow.colour: is no key"), "{}", refused(&extra));
    let parsed = parse(&extra, true).unwrap();
    assert_eq!(parsed.ignored, ["pipeline.workflow.colour", "more"]);
    assert_eq!(parsed.document, parse(&text(), false).unwrap().document);
}

/// What is wrong, what becomes of the text, and what the error begins with.
const MALFORMED: &[(&str, &str, &str)] = &[
    ("schema_version: \"1.0\"", "schema_version: \"2.0\"", "schema_version: version 2.0 is not known"),
    ("schema_version: \"1.0\"\n", "", "schema_version: is missing"),
    ("schema_version: \"1.0\"", "schema_version: \"1.0\"\nmodel: {io: {inputs: []}}", "model.io: a section `model.io`"),
    ("pipeline:\n", "pipeline:\n  model: {io: 1}\n", "pipeline.model.io: a section `model.io`"),
    ("      - workflow_ssa", "      - time_travel", "pipeline.workflow.manifest.capabilities[0]: 'time_travel'"),
    (
        "    outputs:\n      tokens:",
        "    outputs: 3\n    x:\n      tokens:",
        "pipeline.workflow.outputs: a table is wanted",
    ),
    (
        "artifact: model.onnx",
        "artifact: ../model.onnx",
        "pipeline.workflow.components.model.implementation.artifact: '../model.onnx' is no file",
    ),
    ("artifact: model.onnx", "artifact: /model.onnx", "pipeline.workflow.components.model.implementation.artifact: "),
    (
        "          kind: onnx\n          artifact: policies/termination.onnx",
        "          kind: adapter\n          artifact: x",
        "pipeline.workflow.components.termination.implementation.kind: 'adapter'",
    ),
    (
        "component: token_to_slot",
        "component: token_to_slit",
        "pipeline.workflow.steps[0].steps[1].component: there is no 'token_to_slit'",
    ),
    (
        "          token: sample.body\n        outputs:\n          slot",
        "          token: sample.head\n        outputs:\n          slot",
        "pipeline.workflow.steps[0].steps[1].inputs.token: 'sample.head' names no",
    ),
    (
        "          token: sample.body\n        outputs:\n          slot",
        "          token: token.body\n        outputs:\n          slot",
        "pipeline.workflow.steps[0].steps[1].inputs.token: a cycle: 'token.body'",
    ),
    (
        "          left: cache_lengths\n",
        "          left: decoder.body.last_logits\n",
        "pipeline.workflow.steps[0].steps[6].inputs.left: 'decoder.body.last_logits' is read before",
    ),
    (
        "          left: cache_lengths\n",
        "          left: active\n",
        "pipeline.workflow.steps[0].steps[6].inputs.left: 'active' does not fit",
    ),
    (
        "          slot: sample.slot",
        "          slot: sample.body",
        "pipeline.workflow.steps[0].steps[1].outputs.slot: 'sample.body' is set a second time",
    ),
    (
        "          slot: sample.slot",
        "          slat: sample.slot",
        "pipeline.workflow.steps[0].steps[1].outputs.slat: ",
    ),
    (
        "        value: token.body\n",
        "        value: logits\n",
        "pipeline.workflow.steps[0].steps[8].value: 'logits' does not fit the output",
    ),
    (
        "        output: tokens\n",
        "        output: words\n",
        "pipeline.workflow.steps[0].steps[8].output: there is no output 'words'",
    ),
    ("        mode: append\n", "        mode: shout\n", "pipeline.workflow.steps[0].steps[8].mode: 'shout' is none of"),
    (
        "      continue_when: active",
        "      continue_when: logits",
        "pipeline.workflow.steps[0].continue_when: one bool a row is wanted",
    ),
    (
        "      max_iterations: request.max_iterations\n      carried",
        "      max_iterations: active\n      carried",
        "pipeline.workflow.steps[0].max_iterations: one i64",
    ),
    (
        "      - cell: token\n",
        "      - cell: tok\n",
        "pipeline.workflow.steps[0].carried[0].cell: there is no state cell 'tok'",
    ),
    (
        "      - cell: token\n        next: token.body",
        "      - cell: token\n        next: loop.done",
        "pipeline.workflow.steps[0].carried[0].next: 'loop.done' does not fit",
    ),
    (
        "        initializer: package.zero_batch",
        "        initializer: accepted_len",
        "pipeline.workflow.state.accepted_len.initializer: a cycle",
    ),
    (
        "        service_group: decoder_cache",
        "        service_group: other",
        "pipeline.workflow.state.cache_0.service_group: 'other' is no group",
    ),
    (
        "            logical_lengths: cache_lengths",
        "            logical_lengths: nothing",
        "pipeline.workflow.serving.state_service.groups.decoder_cache.logical_lengths: ",
    ),
    (
        "                  input: past_key_values.0.key\n",
        "                  input: past_key_values.9.key\n",
        "pipeline.workflow.serving.state_service.groups.decoder_cache.ports.model.cache_0.input: ",
    ),
    (
        "      active: active\n      done: done\n      accepted_len",
        "      active: live\n      done: done\n      accepted_len",
        "pipeline.workflow.serving.active: 'live' names no",
    ),
    (
        "            temperature: temperature\n",
        "            temperature: heat\n",
        "pipeline.workflow.components.token_sampler.contract.bindings.temperature: ",
    ),
    (
        "      input: request.top_p",
        "      input: request.top_q",
        "generation.overrides.top_p.input: the workflow has no input",
    ),
    ("        default: 258", "        default: 2.5", "pipeline.workflow.inputs.\"request.eos_ids\".default: is no i64"),
    (
        "        source:\n          kind: literal",
        "        source:\n          kind: oracle",
        "pipeline.workflow.inputs.\"package.one_token\".source.kind: 'oracle'",
    ),
    (
        "    steps:\n    - kind: loop",
        "    steps:\n    - kind: circle",
        "pipeline.workflow.steps[0].kind: 'circle' is none of",
    ),
    (
        "        scope: invocation",
        "        scope: session",
        "pipeline.workflow.state.token.scope: state of scope 'session'",
    ),
    (
        "          - batch\n",
        "          - 4\n",
        "pipeline.workflow.inputs.\"request.input_ids\".contract.batch_layout.axis: a batch of 4",
    ),
];

#[test]
fn whatever_is_malformed_is_one_error_that_names_its_key() {
    for (from, to, says) in MALFORMED.iter().filter(|(_, _, says)| !says.is_empty()) {
        let said = refused(&altered(&[(from, to)]));
        assert!(said.starts_with(&format!("workflow: {says}")), "{from:?} as {to:?}: {said}");
    }
    let file = folder().join("nothing.yaml");
    assert!(load(&file, false).unwrap_err().to_string().contains("nothing.yaml"));
}

#[test]
fn the_token_loop_is_recognised_with_growing_and_with_fixed_caches() {
    let grown = understood(&text()).unwrap_or_else(|e| panic!("{e}"));
    let fixed = altered(&[
        ("policies/decoder_state_initializer", "policies/fixed/decoder_state_initializer"),
        ("policies/decoder_step_update", "policies/fixed/decoder_step_update"),
    ]);
    assert_eq!(understood(&fixed).unwrap_or_else(|e| panic!("{e}")), grown);
    assert_eq!((grown.stops.as_slice(), grown.context), (&[258][..], Some(256)));
    let s = grown.sampling;
    assert_eq!((s.temperature, s.top_k, s.top_p, s.min_p, s.seed, s.counter), (1.0, 1, 1.0, 0.0, 0, Some(0)));
    assert_eq!(grown.sampler, Drawer::Kernels(Agreement { rows: 48, near: 0 }));
    let how = |name: &str| grown.lines.iter().find(|l| l[0] == name).unwrap()[2].clone();
    assert!(how("model").ends_with("its last run, whose logits nobody reads, is skipped"), "{}", how("model"));
    assert!(how("decoder_state_initializer").starts_with("skipped"));
    assert!(how("termination").starts_with("kernel") && how("cache_length_update").starts_with("kernel"));
    assert_eq!((grown.caches.len(), grown.caches[1].layer), (4, Some(0)));
}

#[test]
fn a_workflow_that_does_something_else_is_refused_with_what_it_does() {
    for (changes, says) in [
        (
            vec![(
                "          position_ids: position_ids\n          past_key",
                "          position_ids: decoder_step.position_ids\n          past_key",
            )],
            "run 1 after the prompt's shows 'model' positions [6] and not [5] as position_ids, from 'decoder_step.position_ids' of \
             component 'decoder_step_update'",
        ),
        (vec![("        when: active\n", "        when: package.not_done\n")], "it emits [], and the token loop emits"),
        (
            vec![
                ("          past_key_values.0.key: cache_0\n", "          past_key_values.0.key: cache_1\n"),
                ("        next: decoder.body.present.0.value", "        next: decoder.setup.present.0.value"),
            ],
            "a cache that is not what the run before left",
        ),
        (
            vec![(
                "          eos_lengths: termination.eos_lengths\n          iteration",
                "          eos_lengths: package.zero_batch\n          iteration",
            )],
            "",
        ),
        (
            vec![(
                "      - cell: rng_counter\n        next: sample.next_counter",
                "      - cell: rng_counter\n        next: rng_counter",
            )],
            "the counter does not grow by one a token",
        ),
        (
            vec![
                (
                    "          left: cache_lengths\n          right: package.one_token",
                    "          left: cache_lengths\n          right: package.zero_batch",
                ),
                ("policies/decoder_state_initializer", "policies/fixed/decoder_state_initializer"),
                ("policies/decoder_step_update", "policies/fixed/decoder_step_update"),
            ],
            "as attention_mask, from 'decoder_step.attention_mask' of component 'decoder_step_update'",
        ),
        (
            vec![(
                "    temperature:\n      input: request.temperature",
                "    temperature:\n      input: request.top_p",
            )],
            "sets 'request.top_p', and the workflow reads 'request.temperature' for it",
        ),
        (
            vec![("policies/token_to_slot.onnx", "policies/token_to_slit.onnx")],
            "there is no file 'policies/token_to_slit.onnx' in the package",
        ),
        (vec![("policies/token_to_slot.onnx", "policies/token_state_update.onnx")], "has no such port; it has current"),
    ] {
        if says.is_empty() {
            continue;
        }
        let said = understood(&altered(&changes)).map(|_| ()).unwrap_err().to_string();
        assert!(said.contains(says), "{changes:?}\n{said}");
        assert!(said.lines().count() == 1 && said.starts_with("workflow: "), "{said}");
    }
}

/// The metadata with another default of one input.
fn with_default(input: &str, value: i64) -> String {
    let text = text();
    let at = text.find(&format!("      {input}:\n")).unwrap();
    let from = at + text[at..].find("        default: ").unwrap();
    let to = from + text[from..].find('\n').unwrap();
    format!("{}        default: {value}{}", &text[..from], &text[to..])
}

#[test]
fn numbers_that_no_program_can_hold_are_refused_where_they_stand() {
    for (input, value, says) in [
        ("package.max_context", 0, "pipeline.workflow.state.cache_0.recurrence.max: 'package.max_context' is 0"),
        ("package.max_context", -7, "'package.max_context' is -7: a cache of that many rows holds no token"),
        ("request.top_k", 1 << 40, "pipeline.workflow.components.token_sampler: its top_k is 1099511627776"),
        ("request.top_k", -(1 << 33), "its top_k is -8589934592, and 32 bits are kept of it"),
    ] {
        let said = understood(&with_default(input, value)).map(|_| ()).unwrap_err().to_string();
        assert!(said.starts_with("workflow: ") && said.contains(says), "{input} = {value}: {said}");
    }
}

#[test]
fn a_sampler_that_draws_otherwise_is_compiled_as_given() {
    let own = |text: &str| {
        let understood = understood(text).unwrap_or_else(|e| panic!("{e}"));
        let Drawer::Own(why) = understood.sampler else { panic!("{:?}", understood.sampler) };
        (why, understood.tail.unwrap().calls.pop().unwrap())
    };
    let (why, call) = own(&altered(&[("id: onnx-genai.token-sampler", "id: acme.sampler")]));
    assert_eq!(
        (why.as_str(), call.component.artifact.as_str()),
        ("contract acme.sampler@2 is not known", "policies/token_sampler.onnx")
    );
    let input = |name: &str| call.inputs.iter().find(|(n, _)| n == name).unwrap().1.clone();
    assert_eq!(input("top_k"), Feed::Const(Array::i64(&[1], &[1])));
    assert_eq!((input("logits"), input("counter")), (Feed::Logits, Feed::Held(0)));
    assert_eq!(
        (input("active"), input("done")),
        (Feed::Const(Array::bool(&[1], &[true])), Feed::Const(Array::bool(&[1], &[false])))
    );
    let runner_up = std::fs::read_to_string(folder().join("runner_up.yaml")).unwrap();
    assert_eq!(own(&runner_up).0, "contract acme.runner-up@1 is not known");
    let claimed = runner_up
        .replace("id: acme.runner-up", "id: onnx-genai.token-sampler")
        .replace("version: \"1\"", "version: \"2\"");
    let why = own(&claimed).0;
    assert!(why.starts_with("its graph draws otherwise than the contract says: row "), "{why}");
}

/// Another package of the same folder.
fn other(name: &str) -> String {
    std::fs::read_to_string(folder().join(name)).unwrap()
}

#[test]
fn a_termination_policy_that_decides_otherwise_is_cut_out_with_what_it_holds() {
    let u = understood(&other("ending.yaml")).unwrap_or_else(|e| panic!("{e}"));
    assert!(matches!(u.sampler, Drawer::Kernels(_)) && u.stops.is_empty(), "{:?} {:?}", u.sampler, u.stops);
    let (why, tail) = (u.ending.unwrap(), u.tail.unwrap());
    assert!(why.contains("it ends at token 2, and at ids and the limit it would at 4"), "{why}");
    assert_eq!((&tail.logits, &tail.token), (&None, &None));
    let held: Vec<&str> = tail.held.iter().map(|h| h.cell.as_str()).collect();
    assert_eq!(held, ["before", "total", "done"]);
    let ending = &tail.calls[0];
    let fed: Vec<&Feed> = ending.inputs.iter().map(|(_, feed)| feed).collect();
    let active = Feed::Const(Array::bool(&[1], &[true]));
    let law = [&Feed::Token, &Feed::Held(0), &Feed::Held(1), &Feed::Counter, &Feed::Limit, &active];
    assert_eq!((ending.component.artifact.as_str(), fed.as_slice()), ("policies/ending.onnx", &law[..]));
}

#[test]
fn policies_between_logits_and_sampler_are_cut_out_with_what_they_hold() {
    let u = understood(&other("processed.yaml")).unwrap_or_else(|e| panic!("{e}"));
    assert!(matches!(u.sampler, Drawer::Kernels(_)) && u.ending.is_none() && u.stops == [258]);
    let tail = u.tail.unwrap();
    let names: Vec<&str> = tail.calls.iter().map(|c| c.component.name.as_str()).collect();
    assert_eq!(names, ["last_token_logits", "count_penalty", "count_update"]);
    assert_eq!(tail.held.len(), 1);
    assert_eq!((tail.held[0].cell.as_str(), &tail.held[0].first), ("counts", &Array::f32(&[1, 320], &[0.0; 320])));
    assert_eq!((tail.logits, tail.token, tail.goes_on), (Some(Feed::Made(1, "processed".into())), None, None));
    let line = u.lines.iter().find(|l| l[0] == "count_penalty").unwrap();
    assert!(line[2].starts_with("compiled as given: draw 0 is shown "), "{}", line[2]);
}

#[test]
fn what_a_step_cannot_know_is_refused_with_who_asks_for_it() {
    for (file, from, to, says) in [
        (
            "ending.yaml",
            "initializer: package.one_token",
            "initializer: initializer.cache_lengths",
            "'initializer.cache_lengths', from component 'decoder_state_initializer', depends on the prompt, and a policy that is \
             compiled as given reads it",
        ),
        (
            "ending.yaml",
            "initializer: package.one_token",
            "initializer: termination.max_iterations",
            "before: begins with the limit of the answer",
        ),
    ] {
        let text = other(file);
        assert!(text.contains(from), "{from}");
        let said = understood(&text.replace(from, to)).map(|_| ()).unwrap_err().to_string();
        assert!(said.contains(says), "{said}");
        assert!(said.contains("policies are compiled as given, since after a prompt of 5 tokens"), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}

#[test]
fn a_thousand_draws_of_the_policy_are_those_of_the_contract() {
    let document = load(&folder().join(METADATA), false).unwrap().document;
    let sampler = document.workflow.components.iter().find(|c| c.name == "token_sampler").unwrap();
    let mut graphs = Graphs::of(&folder());
    let (mut rows, mut near) = (0, 0);
    for (count, vocab) in [(600, 64), (300, 321), (100, 1500)] {
        let agreement = compare(&mut graphs, sampler, count, vocab).unwrap().unwrap_or_else(|why| panic!("{why}"));
        rows += agreement.rows;
        near += agreement.near;
    }
    println!("{rows} draws, {near} within {NEAR} of another token");
    assert!(rows == 1000 && near < 10, "{near}");
}

/// The decoder that the fixture was made with, and the policies.
struct Package(Graphs, Graphs);

impl Invoker for Package {
    fn invoke(&mut self, c: &Component, inputs: &[(&str, &Array)]) -> Result<HashMap<String, Array>> {
        if c.name == "model" { self.1.invoke(c, inputs) } else { self.0.invoke(c, inputs) }
    }
}

#[test]
fn run_to_the_letter_the_interpreter_emits_what_onnxruntime_did() {
    let golden: serde_json::Value =
        serde_json::from_slice(&std::fs::read(folder().join("golden.json")).unwrap()).unwrap();
    let document = load(&folder().join(METADATA), false).unwrap().document;
    let mut package = Package(Graphs::of(&folder()), Graphs::of(&folder().join("../../../models/tiny")));
    for case in [0, 3, 5].map(|i| &golden["cases"][i]) {
        let ints =
            |v: &serde_json::Value| v.as_array().unwrap().iter().map(|x| x.as_i64().unwrap()).collect::<Vec<_>>();
        let (prompt, tokens) = (ints(&case["prompt"]), ints(&case["tokens"]));
        let mut given = HashMap::from([
            ("request.input_ids".to_string(), Array::i64(&[1, prompt.len()], &prompt)),
            ("request.max_iterations".to_string(), Array::i64(&[1], &[case["max"].as_i64().unwrap()])),
        ]);
        for name in ["temperature", "top_p", "min_p"] {
            if let Some(x) = case[name].as_f64() {
                given.insert(format!("request.{name}"), Array::f32(&[1], &[x as f32]));
            }
        }
        for (name, key) in [("top_k", "top_k"), ("seed", "seed"), ("eos_ids", "stop")] {
            if let Some(n) = case[key].as_i64() {
                let shape = if key == "stop" { vec![1, 1] } else { vec![1] };
                let array = Array::new(crate::graph::DType::I64, shape, Values::Int(vec![n]));
                given.insert(format!("request.{name}"), array);
            }
        }
        let ran = run(&document.workflow, given, &mut package).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(ran.ints("tokens"), tokens);
        assert_eq!(ran.iterations, tokens.len(), "a run of the model follows the last token, and nothing reads it");
    }
}

#[test]
fn every_policy_is_supported() {
    for folder in [folder().join("policies"), folder().join("policies/fixed")] {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                let report = crate::import::support(&path, &crate::import::Options::default()).unwrap();
                let refused: Vec<_> = report.refused().collect();
                assert!(refused.is_empty() && !report.nodes.is_empty(), "{}: {refused:?}", path.display());
            }
        }
    }
}

#[test]
fn noise_is_read_or_refused_in_one_line() {
    fuzz::run("[-a-z0-9:{}\\[\\],&*!|>'\"#% \n\t~?.]{0,80}", |text| {
        if let Err(e) = parse(&text, false) {
            prop_assert_eq!(e.to_string().lines().count(), 1, "{}", e);
        }
        Ok(())
    });
}

#[test]
fn metadata_with_lines_cut_doubled_swapped_or_altered_is_read_or_refused_in_one_line() {
    let lines: Vec<String> = text().lines().map(str::to_string).collect();
    let edit = (any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..6u8, "[ a-z0-9:._-]{0,9}");
    fuzz::run(prop::collection::vec(edit, 1..4), |edits| {
        let mut lines = lines.clone();
        for (at, other, kind, word) in &edits {
            let (at, other) = (at.index(lines.len()), other.index(lines.len()));
            match kind {
                0 => drop(lines.remove(at)),
                1 => lines.insert(at, lines[other].clone()),
                2 => lines.swap(at, other),
                // A value of another line, under this line's key.
                3 => {
                    let value = lines[other].split_once(": ").map_or(String::new(), |(_, v)| v.to_string());
                    let key = lines[at].split_once(':').map_or(lines[at].clone(), |(k, _)| k.to_string());
                    lines[at] = format!("{key}: {value}");
                }
                4 => lines[at] += word,
                _ => lines.truncate(at.max(1)),
            }
        }
        match parse(&lines.join("\n"), false) {
            Err(e) => prop_assert_eq!(e.to_string().lines().count(), 1, "{}", e),
            // What makes sense by itself is understood or refused, and never a panic.
            Ok(parsed) => {
                if let Err(e) = understand(&parsed.document, &folder()) {
                    prop_assert_eq!(e.to_string().lines().count(), 1, "{}", e);
                }
            }
        }
        Ok(())
    });
}
