//! The compiler's command line: what it writes, what it refuses, and that a failure leaves nothing behind.

use assert_cmd::assert::Assert;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

#[path = "cli/repack.rs"]
mod repack;

#[path = "cli/pictures.rs"]
mod pictures;

fn tree() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A project of its own with the model `tiny` in it.
fn project() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("models/tiny");
    fs::create_dir_all(&home).unwrap();
    for entry in fs::read_dir(tree().join("models/tiny")).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, home.join(path.file_name().unwrap())).unwrap();
    }
    dir
}

fn onnxcast(dir: &Path, args: &[&str]) -> Assert {
    let mut command = assert_cmd::Command::cargo_bin("onnxcast").unwrap();
    command.current_dir(dir).args(args).timeout(std::time::Duration::from_secs(120)).assert()
}

fn stdout(assert: &Assert) -> String {
    String::from_utf8(assert.get_output().stdout.clone()).unwrap()
}

/// The one line of a refusal. No panic, nothing on stdout.
fn refusal(dir: &Path, args: &[&str]) -> String {
    let assert = onnxcast(dir, args).code(1);
    let text = String::from_utf8(assert.get_output().stderr.clone()).unwrap();
    assert!(!text.contains("panicked"), "{args:?}: {text}");
    assert!(text.lines().any(|line| line.starts_with("onnxcast: ")), "{args:?}: {text}");
    text
}

/// Every path under a folder, with its size.
fn listing(dir: &Path) -> Vec<(PathBuf, u64)> {
    let mut out = vec![];
    let mut open = vec![dir.to_path_buf()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => open.push(path),
                false => out.push((path.clone(), fs::metadata(&path).unwrap().len())),
            }
        }
    }
    out.sort();
    out
}

#[test]
fn compiling_writes_the_folder_and_compiling_again_changes_nothing() {
    let dir = project();
    onnxcast(dir.path(), &["compile", "tiny"]).success();
    let read = |name: &str| fs::read(dir.path().join("generated/tiny").join(name)).unwrap();
    let names = ["main.rs", "program.rs", "kernels.rs", "graph.txt", "stamp", "weights.pool"];
    let first: Vec<Vec<u8>> = names.iter().map(|n| read(n)).collect();
    let files = listing(dir.path());
    onnxcast(dir.path(), &["compile", "tiny"]).success();
    assert_eq!(names.iter().map(|n| read(n)).collect::<Vec<_>>(), first);
    assert_eq!(listing(dir.path()), files, "nothing is left beside the folder");
}

#[test]
fn a_plan_without_weights_is_the_plan_with_weights() {
    let dir = project();
    onnxcast(dir.path(), &["compile", "tiny"]).success();
    let stamp = fs::read(dir.path().join("generated/tiny/stamp")).unwrap();
    fs::remove_file(dir.path().join("models/tiny/model.onnx.data")).unwrap();
    onnxcast(dir.path(), &["compile", "tiny", "--without-weights"]).success();
    assert_eq!(fs::read(dir.path().join("generated/tiny/stamp")).unwrap(), stamp);
    assert!(refusal(dir.path(), &["compile", "tiny"]).contains("model.onnx.data"));
}

#[test]
fn a_failure_leaves_what_was_there() {
    let dir = project();
    onnxcast(dir.path(), &["compile", "tiny"]).success();
    let before = listing(dir.path());
    let onnx = dir.path().join("models/tiny/model.onnx");
    let whole = fs::read(&onnx).unwrap();
    let noise: Vec<u8> = (0..5000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    for (what, bytes) in [("empty", &[][..]), ("cut", &whole[..whole.len() / 2]), ("noise", &noise[..])] {
        fs::write(&onnx, bytes).unwrap();
        assert!(refusal(dir.path(), &["compile", "tiny"]).contains("model.onnx"), "{what}");
        refusal(dir.path(), &["support", "models/tiny/model.onnx"]);
        refusal(dir.path(), &["inspect", "models/tiny/model.onnx"]);
    }
    fs::write(&onnx, &whole).unwrap();
    assert_eq!(listing(dir.path()), before);
}

#[test]
fn altered_weights_are_held_against_the_lock() {
    let dir = project();
    let data = dir.path().join("models/tiny/model.onnx.data");
    let mut bytes = fs::read(&data).unwrap();
    bytes[100_000] ^= 0x40;
    fs::write(&data, &bytes).unwrap();
    let text = refusal(dir.path(), &["compile", "tiny"]);
    assert!(text.contains("models/tiny/weights.lock: 1 of ") && text.contains("delete the lock"), "{text}");
    assert!(!dir.path().join("generated/tiny").exists());
    fs::remove_file(dir.path().join("models/tiny/weights.lock")).unwrap();
    onnxcast(dir.path(), &["compile", "tiny"]).success();
}

#[test]
fn the_first_compile_of_a_model_without_a_lock_leaves_one_in_generated() {
    let dir = project();
    fs::remove_file(dir.path().join("models/tiny/weights.lock")).unwrap();
    let models = listing(&dir.path().join("models"));
    onnxcast(dir.path(), &["compile", "tiny"]).success();
    assert_eq!(listing(&dir.path().join("models")), models, "the user's tree stays as it was");
    let lock = fs::read_to_string(dir.path().join("generated/tiny/weights.lock")).unwrap();
    assert!(lock.contains("hash = "), "{lock}");
    onnxcast(dir.path(), &["compile", "tiny"]).success();
    assert_eq!(fs::read_to_string(dir.path().join("generated/tiny/weights.lock")).unwrap(), lock);
    let data = dir.path().join("models/tiny/model.onnx.data");
    let mut bytes = fs::read(&data).unwrap();
    bytes[100_000] ^= 0x40;
    fs::write(&data, &bytes).unwrap();
    let text = refusal(dir.path(), &["compile", "tiny"]);
    assert!(text.contains("generated/tiny/weights.lock: 1 of "), "{text}");
}

#[test]
fn a_plan_needs_neither_weights_nor_a_lock() {
    let dir = project();
    for file in ["weights.lock", "model.onnx.data", "tokenizer.json"] {
        fs::remove_file(dir.path().join("models/tiny").join(file)).unwrap();
    }
    onnxcast(dir.path(), &["compile", "tiny", "--without-weights"]).success();
    let read = |name: &str| fs::read_to_string(dir.path().join("generated/tiny").join(name)).unwrap();
    assert!(read("program.rs").contains("model.embed_tokens.weight"));
    assert!(read("main.rs").contains("text: None"), "what has no tokenizer takes ids");
    assert!(!dir.path().join("generated/tiny/weights.lock").exists(), "no hash is invented");
}

#[test]
fn a_variant_shares_the_files_of_what_it_extends() {
    let dir = project();
    fs::create_dir(dir.path().join("models/small")).unwrap();
    let toml = "extends = \"tiny\"\ncontext = 64\n[[buckets]]\nname = \"decode\"\ngraph = \"decoder\"\nrows = 1\n";
    fs::write(dir.path().join("models/small/model.toml"), toml).unwrap();
    onnxcast(dir.path(), &["compile", "small"]).success();
    let code = fs::read_to_string(dir.path().join("generated/small/program.rs")).unwrap();
    assert!(code.contains("context: 64") && !code.contains("prefill\""), "{code}");
    assert!(dir.path().join("generated/small/assets/tokenizer.json").exists());
}

#[test]
fn a_model_that_continues_text_has_no_template() {
    let dir = project();
    let toml = dir.path().join("models/tiny/model.toml");
    let config = || fs::read_to_string(dir.path().join("generated/tiny/assets/tokenizer_config.json")).unwrap();
    onnxcast(dir.path(), &["compile", "tiny"]).success();
    assert!(config().contains("chat_template"));
    fs::write(&toml, fs::read_to_string(&toml).unwrap() + "chat = false\n").unwrap();
    onnxcast(dir.path(), &["compile", "tiny"]).success();
    assert!(!config().contains("chat_template") && config().contains("eos_token"), "{}", config());
}

#[test]
fn sources_out_of_reach_are_one_line_and_files_put_in_place_are_enough() {
    let dir = project();
    let home = dir.path().join("models/tiny");
    // Nothing listens on port 1.
    let source = |name: &str| format!("\"{name}\" = {{ url = \"http://127.0.0.1:1/{name}\" }}\n");
    let names = ["model.onnx", "model.onnx.data", "tokenizer.json"];
    let toml = fs::read_to_string(home.join("model.toml")).unwrap();
    let sources: String = names.iter().map(|n| source(n)).collect();
    fs::write(home.join("model.toml"), format!("{toml}\n[sources]\n{sources}")).unwrap();
    let by_hand = "put model.onnx, model.onnx.data, tokenizer.json into .cache/models/tiny, or give onnx=FOLDER";
    let text = refusal(dir.path(), &["fetch", "tiny"]);
    assert!(text.lines().last().unwrap().contains(by_hand) && text.contains("cannot reach 127.0.0.1:1"), "{text}");
    let text = refusal(dir.path(), &["compile", "tiny"]);
    assert!(text.contains("`onnxcast fetch tiny` downloads it") && text.contains(by_hand), "{text}");
    onnxcast(dir.path(), &["compile", "tiny", "--without-weights"]).success();
    let cache = dir.path().join(".cache/models/tiny");
    fs::create_dir_all(&cache).unwrap();
    for name in names.into_iter().chain(["tokenizer_config.json", "generation_config.json"]) {
        fs::copy(home.join(name), cache.join(name)).unwrap();
    }
    onnxcast(dir.path(), &["fetch", "tiny"]).success();
    onnxcast(dir.path(), &["compile", "tiny"]).success();
    assert!(refusal(dir.path(), &["fetch", "nobody"]).contains("models/nobody/model.toml"));
}

#[test]
fn an_export_is_found_in_the_layout_it_was_published_in() {
    let dir = project();
    let (from, to) = (dir.path().join("models/tiny"), dir.path().join("export"));
    fs::create_dir_all(to.join("onnx")).unwrap();
    for file in ["model.onnx", "model.onnx.data"] {
        fs::rename(from.join(file), to.join("onnx").join(file)).unwrap();
    }
    for file in ["tokenizer.json", "tokenizer_config.json", "generation_config.json"] {
        fs::rename(from.join(file), to.join(file)).unwrap();
    }
    assert!(refusal(dir.path(), &["compile", "tiny"]).contains("models/tiny"));
    for onnx in ["export", "export/onnx", "export/onnx/model.onnx"] {
        onnxcast(dir.path(), &["compile", "tiny", "--onnx", onnx]).success();
    }
    fs::create_dir(dir.path().join("empty")).unwrap();
    assert!(refusal(dir.path(), &["compile", "tiny", "--onnx", "empty"]).contains("no .onnx file"));
    // A first manifest reads the same layout, and then the name is enough.
    onnxcast(dir.path(), &["init", "export", "--name", "mine"]).success();
    onnxcast(dir.path(), &["compile", "mine"]).success();
    assert!(dir.path().join("generated/mine/assets/tokenizer.json").exists());
}

#[test]
fn a_missing_data_file_is_one_line_with_how_many_tensors_want_it() {
    let dir = project();
    fs::remove_file(dir.path().join("models/tiny/model.onnx.data")).unwrap();
    let text = refusal(dir.path(), &["compile", "tiny"]);
    assert_eq!(text.matches("there is no file").count(), 1, "{text}");
    assert!(text.contains("model.onnx.data' (16 tensors, the first tensor 'model.embed_tokens.weight')"), "{text}");
}

#[test]
fn text_files_that_the_executable_could_not_use_are_refused_by_name() {
    let dir = project();
    let home = dir.path().join("models/tiny");
    let config = fs::read_to_string(home.join("tokenizer_config.json")).unwrap();
    let torn = config.replace("{% endfor %}", "{% endfur %}");
    assert_ne!(torn, config);
    for (file, bad, says) in [
        ("tokenizer.json", "{\"x\": 1}", "is no tokenizer that can be read"),
        ("tokenizer.json", "", "is no tokenizer that can be read"),
        ("tokenizer_config.json", torn.as_str(), "unknown statement endfur"),
        ("tokenizer_config.json", "{\"eos_token\": 3}", "eos_token is 3, not a token"),
        (
            "generation_config.json",
            "{\"eos_token_id\": 400}",
            "stop id 400 is past the vocabulary: the model gives 320 logits",
        ),
    ] {
        let good = fs::read(home.join(file)).unwrap();
        fs::write(home.join(file), bad).unwrap();
        let text = refusal(dir.path(), &["compile", "tiny"]);
        assert!(text.contains(says) && text.contains(file), "{file} as {bad:.60}: {text}");
        assert!(!dir.path().join("generated/tiny").exists());
        fs::write(home.join(file), good).unwrap();
    }
    let toml = fs::read_to_string(home.join("model.toml")).unwrap();
    fs::write(home.join("model.toml"), format!("{toml}template = \"chat.jinja\"\n")).unwrap();
    fs::write(home.join("chat.jinja"), "{% for m in messages %}{{ m.content").unwrap();
    assert!(refusal(dir.path(), &["compile", "tiny"]).contains("chat.jinja"));
}

#[test]
fn explain_and_graph_show_the_sampler_of_a_packages_own() {
    let dir = project();
    let (home, data) = (dir.path().join("models/tiny"), tree().join("tests/data/workflow"));
    fs::create_dir(home.join("policies")).unwrap();
    for entry in fs::read_dir(data.join("policies")).unwrap().map(|e| e.unwrap().path()).filter(|p| p.is_file()) {
        fs::copy(&entry, home.join("policies").join(entry.file_name().unwrap())).unwrap();
    }
    fs::copy(data.join("runner_up.yaml"), home.join("inference_metadata.yaml")).unwrap();
    fs::remove_file(home.join("model.toml")).unwrap();
    fs::rename(&home, dir.path().join("package")).unwrap();
    onnxcast(dir.path(), &["init", "package", "--name", "mine"]).success();
    assert!(stdout(&onnxcast(dir.path(), &["graph", "mine"]).success()).contains("token_sampler/"));
    let compiled = onnxcast(dir.path(), &["compile", "mine"]).success();
    drop(compiled);
    let nodes = |text: &str, bucket: &str| {
        let line = text.lines().find(|l| l.starts_with(&format!("# bucket {bucket}: "))).unwrap().to_string();
        line.split(' ').nth(3).unwrap().parse::<usize>().unwrap()
    };
    let own = nodes(&stdout(&onnxcast(dir.path(), &["explain", "mine"]).success()), "decode");
    fs::copy(data.join("inference_metadata.yaml"), dir.path().join("package/inference_metadata.yaml")).unwrap();
    let plain = nodes(&stdout(&onnxcast(dir.path(), &["explain", "mine"]).success()), "decode");
    assert!(own > plain, "{own} nodes with a sampler of its own, {plain} without");
}

#[test]
fn short_external_data_is_refused_with_the_tensor() {
    let dir = project();
    let data = dir.path().join("models/tiny/model.onnx.data");
    let bytes = fs::read(&data).unwrap();
    fs::write(&data, &bytes[..bytes.len() - 4]).unwrap();
    let text = refusal(dir.path(), &["compile", "tiny"]);
    assert!(text.contains("weight"), "{text}");
    assert!(!dir.path().join("generated/tiny").exists());
}

#[test]
fn wrong_manifests_and_names_are_one_line() {
    let dir = project();
    let toml = dir.path().join("models/tiny/model.toml");
    let text = fs::read_to_string(&toml).unwrap();
    fs::write(&toml, text.replace("precision", "precision_")).unwrap();
    let said = refusal(dir.path(), &["compile", "tiny"]);
    assert!(said.contains("models/tiny/model.toml") && said.contains("precision_"), "{said}");
    fs::write(&toml, text.replace("model.onnx", "other.onnx")).unwrap();
    assert!(refusal(dir.path(), &["compile", "tiny"]).contains("other.onnx"));
    assert!(refusal(dir.path(), &["compile", "nobody"]).contains("models/nobody/model.toml"));
    assert!(refusal(dir.path(), &["compile", "../x"]).contains("no model name"));
    onnxcast(dir.path(), &["compile", "tiny", "--precision", "fp8"]).code(2);
    onnxcast(dir.path(), &["compile", "tiny", "--activations", "bf16"]).code(2);
    onnxcast(dir.path(), &["compile", "tiny", "--dims", "a"]).code(2);
}

#[test]
fn a_file_where_the_folder_should_be_is_one_line() {
    let dir = project();
    fs::write(dir.path().join("generated"), "in the way").unwrap();
    assert!(refusal(dir.path(), &["compile", "tiny"]).contains("generated"));
    assert_eq!(fs::read(dir.path().join("generated")).unwrap(), b"in the way");
}

#[test]
fn a_model_of_the_users_own_gets_a_manifest() {
    let dir = project();
    let onnx = tree().join("tests/data/qwen2-tiny-eager-dynamo-op18").canonicalize().unwrap();
    let onnx = onnx.to_str().unwrap();
    onnxcast(dir.path(), &["compile", "mine", "--onnx", onnx]).success();
    let manifest = fs::read_to_string(dir.path().join("generated/mine/model.toml")).unwrap();
    assert!(
        manifest.contains("\"s70\" = \"rows\""),
        "dimensions are told by their use, not by their names\n{manifest}"
    );
    // From now on the name alone is enough, and the manifest stays.
    onnxcast(dir.path(), &["compile", "mine"]).success();
    assert_eq!(fs::read_to_string(dir.path().join("generated/mine/model.toml")).unwrap(), manifest);
    let code = fs::read_to_string(dir.path().join("generated/mine/main.rs")).unwrap();
    assert!(!code.contains(onnx), "generated code names no folder");
}

#[test]
fn init_writes_once() {
    let dir = project();
    let onnx = "models/tiny/model.onnx";
    onnxcast(dir.path(), &["init", onnx]).success();
    let path = dir.path().join("generated/tiny/model.toml");
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains("generation_config = \"generation_config.json\""), "{text}");
    assert!(refusal(dir.path(), &["init", onnx]).contains("is there already"));
    assert_eq!(stdout(&onnxcast(dir.path(), &["init", onnx, "-o", "-"]).success()), text);
}

#[test]
fn a_graph_compiles_as_it_stands() {
    let dir = project();
    let dims = "batch_size=1,sequence_length=3,past_sequence_length=5,total_sequence_length=8";
    onnxcast(dir.path(), &["compile", "tiny", "--dims", dims]).success();
    let code = fs::read_to_string(dir.path().join("generated/tiny/program.rs")).unwrap();
    for port in ["input_ids", "past_key_values.0.key", "present.1.value", "logits"] {
        assert!(code.contains(&format!("\"{port}\"")), "{port}");
    }
    let text = refusal(dir.path(), &["compile", "tiny", "--dims", "sequence_length=3"]);
    assert!(text.contains("past_sequence_length") && text.contains("batch_size"), "all that is missing: {text}");
    let text = refusal(dir.path(), &["compile", "tiny", "--dims", &format!("{dims},sequence_lenght=3")]);
    assert!(text.contains("sequence_lenght"), "{text}");
}

#[test]
fn support_lists_and_inspect_shows() {
    let dir = project();
    let onnx = "models/tiny/model.onnx";
    let text = stdout(&onnxcast(dir.path(), &["support", onnx]).success());
    assert!(text.ends_with(" nodes, 0 unsupported\n"), "{text}");
    let json: serde_json::Value =
        serde_json::from_str(&stdout(&onnxcast(dir.path(), &["support", onnx, "--json"]).success())).unwrap();
    assert_eq!(json["supported"], true);
    let text = stdout(&onnxcast(dir.path(), &["inspect", onnx]).success());
    assert!(text.contains("symbols  batch_size, past_sequence_length"), "{text}");
    let json: serde_json::Value =
        serde_json::from_str(&stdout(&onnxcast(dir.path(), &["inspect", onnx, "--json"]).success())).unwrap();
    assert_eq!(json["external"][0]["location"], "model.onnx.data");
}

/// A one-node ONNX file: y = OP(x), x f32 [2].
fn one_node(op: &str) -> Vec<u8> {
    let field = |tag: u8, body: &[u8]| [&[tag, body.len() as u8], body].concat();
    let value = |name: &str| {
        let shape = field(0x12, &field(0x0a, &[0x08, 2]));
        let ty = field(0x12, &field(0x0a, &[&[0x08, 1], &shape[..]].concat()));
        [field(0x0a, name.as_bytes()), ty].concat()
    };
    let node = [field(0x0a, b"x"), field(0x12, b"y"), field(0x1a, b"n"), field(0x22, op.as_bytes())].concat();
    let graph = [field(0x0a, &node), field(0x12, b"g"), field(0x5a, &value("x")), field(0x62, &value("y"))].concat();
    [vec![0x08, 8], field(0x3a, &graph), field(0x42, &[0x10, 17])].concat()
}

#[test]
fn support_fails_where_a_node_is_not_covered() {
    let dir = project();
    fs::write(dir.path().join("good.onnx"), one_node("Relu")).unwrap();
    fs::write(dir.path().join("bad.onnx"), one_node("Det")).unwrap();
    onnxcast(dir.path(), &["support", "good.onnx"]).success();
    let run = onnxcast(dir.path(), &["support", "bad.onnx"]).failure();
    let text = String::from_utf8_lossy(&run.get_output().stdout).into_owned();
    assert!(text.contains("Det") && text.contains("1 unsupported"), "{text}");
}

#[test]
fn support_of_a_model_counts_by_bucket_and_graph() {
    let text = stdout(&onnxcast(&tree(), &["support", "smolvlm2"]).success());
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().take(4).collect()).collect();
    assert_eq!(
        rows[1..6],
        [
            ["vision", "vision", "1286", "0"],
            ["prefill", "embed", "1", "0"],
            ["prefill", "decoder", "3043", "0"],
            ["decode", "embed", "1", "0"],
            ["decode", "decoder", "3043", "0"],
        ]
    );
    assert!(text.ends_with("7374 nodes, 0 unsupported, all on the GPU\n"), "{text}");
    let json = stdout(&onnxcast(&tree(), &["support", "smolvlm2", "--json"]).success());
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["supported"], true);
    assert!(json["graphs"][4]["bucket_dispatches"].as_u64().unwrap() < 130, "five a layer and a few around them");
}

#[test]
fn support_of_a_model_names_the_bucket_of_a_node_that_is_not_covered() {
    let dir = project();
    let manifest = dir.path().join("models/bad/model.toml");
    fs::create_dir_all(manifest.parent().unwrap()).unwrap();
    fs::write(manifest.with_file_name("m.onnx"), one_node("Det")).unwrap();
    let text = "title = ''\nsource = ''\nlicence = ''\nprecision = 'fp32'\ngraphs = { g = 'm.onnx' }\nbuckets = [{ name = 'b', graph = 'g' }]";
    fs::write(manifest, text).unwrap();
    let run = onnxcast(dir.path(), &["support", "bad"]).failure();
    let text = String::from_utf8_lossy(&run.get_output().stdout).into_owned();
    assert!(text.contains("b g: Det") && text.ends_with("1 nodes, 1 unsupported\n"), "{text}");
}

#[test]
fn explain_and_graph_need_no_weights() {
    let dir = project();
    fs::remove_file(dir.path().join("models/tiny/model.onnx.data")).unwrap();
    let text = stdout(&onnxcast(dir.path(), &["explain", "tiny"]).success());
    assert!(text.contains("[kv_in_place]") && text.contains("# bucket decode"), "{text}");
    let text = stdout(&onnxcast(dir.path(), &["graph", "tiny", "--bucket", "decode"]).success());
    assert!(text.starts_with("# bucket decode, 1 rows, graph decoder, decoder\ngraph "), "{text}");
    let dot = stdout(&onnxcast(dir.path(), &["graph", "tiny", "--dot"]).success());
    assert!(dot.starts_with("digraph \"prefill\" {"), "{dot}");
    assert!(refusal(dir.path(), &["graph", "tiny", "--bucket", "x"]).contains("prefill, decode"));
}

#[test]
fn pack_writes_a_pool_and_attach_wants_an_executable() {
    let dir = project();
    onnxcast(dir.path(), &["pack", "tiny", "-o", "tiny.pool"]).success();
    onnxcast(dir.path(), &["compile", "tiny"]).success();
    let pool = fs::read(dir.path().join("tiny.pool")).unwrap();
    assert_eq!(fs::read(dir.path().join("generated/tiny/weights.pool")).unwrap(), pool);
    assert!(refusal(dir.path(), &["attach", "tiny", "nothing"]).contains("no such executable"));
    let exe = dir.path().join("exe");
    fs::write(&exe, b"not really").unwrap();
    onnxcast(dir.path(), &["attach", "tiny", "exe"]).success();
    assert!(fs::metadata(&exe).unwrap().len() > pool.len() as u64);
    onnxcast(dir.path(), &["attach", "tiny", "exe", "--pool", "beside"]).success();
    assert_eq!(fs::read(dir.path().join("tiny.pool")).unwrap(), pool);
    assert!(refusal(dir.path(), &["pack", "tiny", "-o", "no/such/folder.pool"]).contains("no/such/folder.pool"));
}

/// Tiny in fp16, and the same as a model of its own in int4.
fn project_of_two() -> TempDir {
    let dir = project();
    let manifest = fs::read_to_string(dir.path().join("models/tiny/model.toml")).unwrap();
    assert!(manifest.contains("precision = \"fp32\""));
    let other = dir.path().join("models/tiny-int4");
    fs::create_dir_all(&other).unwrap();
    for name in ["tiny", "tiny-int4"] {
        let precision = if name == "tiny" { "precision = \"fp16\"" } else { "precision = \"int4\"" };
        let text = manifest.replace("precision = \"fp32\"", precision);
        fs::write(dir.path().join("models").join(name).join("model.toml"), text).unwrap();
    }
    for entry in fs::read_dir(dir.path().join("models/tiny")).unwrap() {
        let path = entry.unwrap().path();
        let target = other.join(path.file_name().unwrap());
        if !target.exists() && path.extension().is_none_or(|e| e != "lock") {
            fs::copy(&path, target).unwrap();
        }
    }
    dir
}

#[test]
fn a_compiled_pool_is_quantised_without_its_onnx_file_as_a_compile_would() {
    let dir = project_of_two();
    let read = |name: &str| fs::read(dir.path().join("generated").join(name)).unwrap();
    onnxcast(dir.path(), &["compile", "tiny-int4"]).success();
    let (pool, program, report) =
        (read("tiny-int4/weights.pool"), read("tiny-int4/program.rs"), read("tiny-int4/quantise.txt"));
    onnxcast(dir.path(), &["compile", "tiny"]).success();
    for name in ["model.onnx", "model.onnx.data"] {
        fs::remove_file(dir.path().join("models/tiny").join(name)).unwrap();
    }
    fs::remove_dir_all(dir.path().join("models/tiny-int4")).unwrap();
    fs::remove_dir_all(dir.path().join("generated/tiny-int4")).unwrap();
    let pool_file = "generated/tiny/weights.pool";
    onnxcast(dir.path(), &["quantize", pool_file, "--name", "tiny-int4"]).success();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).lines().skip(1).collect::<Vec<_>>().join("\n");
    assert_eq!(text(&read("tiny-int4/program.rs")), text(&program), "all but the line that names the source");
    assert!(read("tiny-int4/weights.pool") == pool, "the pools differ");
    assert_eq!(read("tiny-int4/quantise.txt"), report);
    for name in ["assets/tokenizer.json", "assets/golden.json", "assets/card.json", "weights.lock"] {
        assert!(dir.path().join("generated/tiny-int4").join(name).is_file(), "{name}");
    }
    onnxcast(dir.path(), &["quantize", pool_file, "--name", "wide", "--group", "32", "--zero", "mid"]).success();
    assert!(String::from_utf8(read("wide/program.rs")).unwrap().contains("q4_g32_mid"));
    let again = refusal(dir.path(), &["quantize", "generated/wide/weights.pool", "--name", "twice"]);
    assert!(again.contains("quantised already"), "{again}");
    fs::copy(dir.path().join(pool_file), dir.path().join("stray.pool")).unwrap();
    fs::remove_dir_all(dir.path().join("generated/tiny")).unwrap();
    fs::remove_dir_all(dir.path().join("models/tiny")).unwrap();
    let lost = refusal(dir.path(), &["quantize", "stray.pool", "--name", "lost"]);
    assert!(lost.contains("generated/tiny/assets") && !dir.path().join("generated/lost").exists(), "{lost}");
}

#[test]
fn salient_columns_are_the_same_from_a_pool_as_from_a_compile() {
    let dir = project_of_two();
    let pool = || fs::read(dir.path().join("generated/tiny-int4/weights.pool")).unwrap();
    let manifest = dir.path().join("models/tiny-int4/model.toml");
    let plain = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, plain.replace("[graphs]", "[quantise]\nsalient = 3\n\n[graphs]")).unwrap();
    onnxcast(dir.path(), &["compile", "tiny-int4"]).success();
    let (from_key, program) = (pool(), fs::read_to_string(dir.path().join("generated/tiny-int4/program.rs")).unwrap());
    assert!(program.contains("_s3"));
    fs::write(&manifest, plain).unwrap();
    onnxcast(dir.path(), &["pack", "tiny-int4", "--salient", "3", "-o", "flag.pool"]).success();
    assert!(fs::read(dir.path().join("flag.pool")).unwrap() == from_key, "the key and the flag differ");
    let many = refusal(dir.path(), &["pack", "tiny-int4", "--salient", "999", "-o", "many.pool"]);
    assert!(many.contains("salient is 999") && many.contains("at most"), "{many}");
    onnxcast(dir.path(), &["compile", "tiny"]).success();
    fs::remove_dir_all(dir.path().join("models/tiny-int4")).unwrap();
    fs::remove_dir_all(dir.path().join("generated/tiny-int4")).unwrap();
    let pool_file = "generated/tiny/weights.pool";
    onnxcast(dir.path(), &["quantize", pool_file, "--name", "tiny-int4", "--salient", "3"]).success();
    assert!(pool() == from_key, "the pools differ");
}

#[test]
fn weights_are_quantised_once_and_the_manifest_s_lock_is_left_to_its_own_precision() {
    let dir = project_of_two();
    let at = |name: &str| dir.path().join("generated").join(name);
    onnxcast(dir.path(), &["compile", "tiny-int4"]).success();
    let (pool, report) =
        (fs::read(at("tiny-int4/weights.pool")).unwrap(), fs::read(at("tiny-int4/quantise.txt")).unwrap());
    let stamp = fs::read(at("tiny-int4/stamp")).unwrap();
    onnxcast(dir.path(), &["compile", "tiny-int4"]).success();
    assert!(fs::read(at("tiny-int4/weights.pool")).unwrap() == pool);
    assert_eq!(fs::read(at("tiny-int4/quantise.txt")).unwrap(), report);
    assert_eq!(fs::read(at("tiny-int4/stamp")).unwrap(), stamp);
    // A pool that is gone is made anew from the weights.
    fs::remove_file(at("tiny-int4/weights.pool")).unwrap();
    onnxcast(dir.path(), &["compile", "tiny-int4"]).success();
    assert!(fs::read(at("tiny-int4/weights.pool")).unwrap() == pool);
    let lock = fs::read(dir.path().join("models/tiny/weights.lock")).unwrap();
    onnxcast(dir.path(), &["compile", "tiny", "--precision", "int4"]).success();
    assert_eq!(fs::read(dir.path().join("models/tiny/weights.lock")).unwrap(), lock);
    assert!(at("tiny/quantise.txt").is_file());
}
