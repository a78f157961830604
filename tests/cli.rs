//! The executable's command line, on bin/tiny (`make model=tiny`): streams, exit codes, prompts from anywhere, subcommands.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use assert_cmd::assert::Assert;
use onnxcast_runtime::array::Array;
use onnxcast_runtime::npz;
use serde_json::Value;

fn project() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn binary() -> PathBuf {
    let path = project().join("bin/tiny");
    assert!(path.exists(), "bin/tiny is missing; run: make model=tiny");
    path
}

fn run(args: &[&str], stdin: &str) -> Assert {
    let mut command = assert_cmd::Command::new(binary());
    command.args(args).write_stdin(stdin).timeout(Duration::from_secs(120)).assert()
}

/// Stdout of a command that must succeed without a word on stderr, but for the warning of a CPU device.
fn said(args: &[&str], stdin: &str) -> String {
    let output = run(args, stdin).success().get_output().clone();
    let remarks = String::from_utf8(output.stderr).unwrap();
    assert!(remarks.lines().all(|line| line.contains("CPU device")), "{args:?}: {remarks}");
    String::from_utf8(output.stdout).unwrap()
}

/// The one line that a refused command says, without its program name.
fn refused(args: &[&str], stdin: &str, code: i32) -> String {
    let output = run(args, stdin).code(code).get_output().clone();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "", "{args:?}");
    let remarks = String::from_utf8(output.stderr).unwrap();
    let last = remarks.lines().last().unwrap_or_default();
    assert!(!remarks.contains("panicked"), "{args:?}: {remarks}");
    last.strip_prefix("tiny: ").unwrap_or(last).to_owned()
}

fn golden() -> Value {
    let text = std::fs::read_to_string(project().join("models/tiny/golden.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn words(ids: &Value) -> Vec<String> {
    ids.as_array().unwrap().iter().map(Value::to_string).collect()
}

#[test]
fn answers_are_the_references_tokens() {
    for case in golden()["cases"].as_array().unwrap() {
        let tokens = words(&case["tokens"]);
        let count = tokens.len().to_string();
        let prompt = case["prompt"].as_str().unwrap();
        assert_eq!(said(&["--ids", "-n", &count, "-p", prompt], ""), tokens.join(" ") + "\n", "{prompt:?}");
        let ids = words(&case["prompt_ids"]).join(",");
        assert_eq!(said(&["--ids", "-n", &count, "--prompt-ids", &ids], ""), tokens.join(" ") + "\n", "{prompt:?}");
    }
}

#[test]
fn a_prompt_comes_as_argument_flag_file_or_stdin_with_the_same_answer() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("prompt.txt");
    std::fs::write(&file, "list the colours\n").unwrap();
    let plain = said(&["list the colours", "-n", "8"], "");
    assert!(plain.ends_with('\n') && plain.len() > 1, "{plain:?}");
    assert_eq!(said(&["-p", "list the colours", "-n", "8"], ""), plain);
    assert_eq!(said(&["-f", file.to_str().unwrap(), "-n", "8"], ""), plain);
    assert_eq!(said(&["-", "-n", "8"], "list the colours\n"), plain);
    assert_eq!(said(&["-n", "8"], "list the colours"), plain);
}

#[test]
fn the_number_of_steps_a_submission_changes_nothing() {
    let one = said(&["hello", "--ids", "-n", "40", "--steps", "1"], "");
    assert_eq!(said(&["hello", "--ids", "-n", "40", "--steps", "7"], ""), one);
    assert_eq!(said(&["hello", "--ids", "-n", "40", "--steps", "256"], ""), one);
}

#[test]
fn a_budget_and_how_weights_beyond_it_are_read_change_nothing() {
    let answer = |more: &[&str]| said(&[&["--prompt-ids", "5,6,7,8", "-n", "12", "--ids"], more].concat(), "");
    let want = answer(&[]);
    for budget in ["0", "100K", "0.3M", "6G"] {
        for offload in ["read", "stream", "auto"] {
            let got = answer(&["--gpu-budget", budget, "--offload", offload, "--steps", "8"]);
            assert_eq!(got, want, "{budget} {offload}");
        }
    }
}

#[test]
fn info_tells_what_each_way_with_weights_beyond_the_budget_keeps_and_moves() {
    let text = said(&["info", "--gpu-budget", "100K", "--link", "51"], "");
    for part in [
        "weights beyond a budget of 100.0 KiB",
        "read      stream        auto",
        "ms a step at 51 GB/s",
        "with the host:",
    ] {
        assert!(text.contains(part), "{part:?} in\n{text}");
    }
    let json: Value = serde_json::from_str(&said(&["info", "--gpu-budget", "100K", "--json"], "")).unwrap();
    let homes =
        |way: &Value| ["resident_bytes", "mapped_bytes", "streamed_bytes"].map(|key| way[key].as_u64().unwrap());
    let ways: Vec<[u64; 3]> = json["offload"]["ways"].as_array().unwrap().iter().map(homes).collect();
    assert_eq!(ways.len(), 3);
    assert!(ways.iter().all(|way| way[0] <= 100 << 10), "{ways:?}");
    let all = ways[0].iter().sum::<u64>();
    assert!(ways.iter().all(|way| way.iter().sum::<u64>() == all), "{ways:?}");
    assert!(!said(&["info"], "").contains("weights beyond"));
}

#[test]
fn json_has_ids_text_and_the_reason() {
    let case = &golden()["cases"][0];
    let json: Value = serde_json::from_str(&said(&["--json", "-p", case["prompt"].as_str().unwrap()], "")).unwrap();
    assert_eq!((&json["prompt_ids"], &json["tokens"]), (&case["prompt_ids"], &case["tokens"]));
    assert_eq!(json["stop"]["reason"], "stop_token");
    let short: Value = serde_json::from_str(&said(&["--json", "-n", "2", "x"], "")).unwrap();
    assert_eq!((&short["stop"]["reason"], &short["timings"]["tokens"]), (&"length".into(), &2.into()));
}

#[test]
fn the_context_end_is_a_reason_of_its_own() {
    let ids = vec!["5"; 290].join(",");
    let json: Value = serde_json::from_str(&said(&["--json", "--prompt-ids", &ids], "")).unwrap();
    let reason = json["stop"]["reason"].as_str().unwrap();
    // 300 rows: the last token needs none.
    let (tokens, most) = (json["tokens"].as_array().unwrap().len(), 300 - 290 + 1);
    assert!(
        reason == "context" && tokens == most || reason == "stop_token" && tokens < most,
        "{reason}, {tokens} tokens"
    );
}

#[test]
fn a_stop_text_ends_the_answer_before_it() {
    let whole: Value = serde_json::from_str(&said(&["--json", "-n", "40", "hello"], "")).unwrap();
    let text = whole["text"].as_str().unwrap();
    let stop: String = text.chars().skip(3).take(2).collect();
    let before = &text[..text.find(&stop).unwrap()];
    assert_eq!(said(&["-n", "40", "--stop", &stop, "hello"], ""), format!("{before}\n"));
}

#[test]
fn a_drawn_answer_is_repeated_by_its_seed_whatever_goes_into_a_submission() {
    let drawn = |more: &[&str]| -> Value {
        let line = ["--json", "-n", "40", "--temp", "1.5", "--top-p", "0.95", "--repeat-penalty", "1.1", "hello"];
        let line: Vec<&str> = line.iter().chain(more).copied().collect();
        serde_json::from_str(&said(&line, "")).unwrap()
    };
    let first = drawn(&[]);
    let seed = first["sampling"]["seed"].as_u64().unwrap().to_string();
    for steps in ["1", "2", "7", "32"] {
        let again = drawn(&["--seed", &seed, "--steps", steps]);
        assert_eq!(again["tokens"], first["tokens"], "seed {seed}, {steps} steps a submission");
    }
    let greedy: Value = serde_json::from_str(&said(&["--json", "-n", "40", "hello"], "")).unwrap();
    assert_eq!(greedy["sampling"], Value::Null);
}

#[test]
fn raw_prompts_skip_the_template() {
    let ids = |args: &[&str]| serde_json::from_str::<Value>(&said(args, "")).unwrap()["prompt_ids"].clone();
    assert_eq!(ids(&["--json", "-n", "1", "--raw", "list"]), serde_json::json!([75, 274, 83]));
    let system = ids(&["--json", "-n", "1", "--system", "brief", "list"]);
    assert!(system.as_array().unwrap().len() > ids(&["--json", "-n", "1", "list"]).as_array().unwrap().len());
}

#[test]
fn flags_that_make_no_sense_have_code_2() {
    assert!(refused(&["--temp=-0.7", "x"], "", 2).starts_with("--temp: -0.7 is not possible"));
    assert!(refused(&["--top-p", "0.9", "x"], "", 2).starts_with("--top-p: has no effect at temperature 0"));
    assert!(refused(&["run", "--outputs", "x.npz"], "", 2).contains("generates tokens"));
    assert!(refused(&["bench", "-p", "4000"], "", 2).contains("context of 300"));
    for line in
        [&["--nonsense"][..], &["x", "-n", "0"], &["a", "-p", "b"], &["--prompt-ids", "x"], &["bench", "-o", "x"]]
    {
        run(line, "").code(2);
    }
}

#[test]
fn a_device_that_is_not_there_has_code_3() {
    assert!(refused(&["--device", "99", "x"], "", 3).contains("no device 99"));
    assert!(refused(&["--device", "no such card", "x"], "", 3).contains("no such card"));
}

#[test]
fn weights_that_are_not_ours_have_code_5() {
    let manifest = project().join("Cargo.toml");
    assert!(refused(&["--weights", "/no/such/pool", "x"], "", 5).contains("/no/such/pool"));
    assert!(refused(&["--weights", manifest.to_str().unwrap(), "x"], "", 5).contains("Cargo.toml"));
}

#[test]
fn prompts_that_cannot_be_used_have_code_6() {
    assert!(refused(&["-f", "/no/such/file"], "", 6).starts_with("/no/such/file: "));
    assert_eq!(refused(&["-"], "", 6), "stdin: is empty");
    assert!(refused(&["--prompt-ids", "320"], "", 6).contains("vocabulary has 320"));
    let long = vec!["5"; 300].join(",");
    assert!(refused(&["--prompt-ids", &long], "", 6).contains("300 tokens, the context holds 300"));
}

#[test]
fn verify_passes_and_an_altered_reference_has_code_9() {
    let report = said(&["verify", "--lengths"], "");
    assert!(report.lines().all(|line| !line.starts_with("FAIL")), "{report}");
    assert!(report.contains("prompt of 299 in chunks"), "{report}");
    let mut golden = golden();
    golden["cases"][0]["steps"][1]["logits"][0] = 99.0.into();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("golden.json");
    std::fs::write(&file, golden.to_string()).unwrap();
    let output = run(&["verify", "--golden", file.to_str().unwrap()], "").code(9).get_output().clone();
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("FAIL"), "{output:?}");
}

#[test]
fn synthetic_weights_are_held_against_themselves_alone() {
    let what = refused(&["verify", "--weights", "synthetic:1"], "", 2);
    assert_eq!(what, "verify: synthetic weights have no reference; add --lengths");
    let output = run(&["verify", "--lengths", "--weights", "synthetic:1"], "").success().get_output().clone();
    let (report, remarks) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(report.ends_with("7 of 7 within bounds of: single tokens\n"), "{report}");
    assert!(remarks.contains("its cases are skipped"), "{remarks}");
}

#[test]
fn verify_takes_whole_rows_of_logits_and_an_altered_row_has_code_9() {
    let folder = tempfile::tempdir().unwrap();
    let (text, reference) = (folder.path().join("text"), folder.path().join("rows.npz"));
    std::fs::write(&text, "list the colours").unwrap();
    let shown: Value = serde_json::from_str(&said(&["--json", "-n", "1", "--raw", "list the colours"], "")).unwrap();
    let ids: Vec<i64> = shown["prompt_ids"].as_array().unwrap().iter().map(|id| id.as_i64().unwrap()).collect();
    let rows = ids.len() - 1;
    // What the program streams to another one: a header of 52 bytes, then the row before each token but the first.
    let flags = ["eval-ppl", "--stream-logits", "--text", text.to_str().unwrap()];
    let bytes = run(&flags, "").success().get_output().stdout[52..].to_vec();
    let mut logits: Vec<f32> = bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    let verify = |logits: &[f32], code: i32| {
        let at: Vec<i64> = (0..rows as i64).collect();
        let list = |values: &[i64]| Array::i64(&[values.len()], values);
        let arrays = [
            ("ids", list(&ids)),
            ("at", list(&at)),
            ("prompts", list(&[2, 3])),
            ("steps", list(&[rows as i64 - 2])),
            ("logits", Array::f32(&[rows, 320], logits)),
        ];
        npz::write(&reference, &arrays.map(|(name, array)| (name.to_owned(), array))).unwrap();
        let flags = ["verify", "--json", "--golden", reference.to_str().unwrap()];
        let output = run(&flags, "").code(code).get_output().stdout.clone();
        serde_json::from_slice::<Value>(&output).unwrap()
    };
    let same = verify(&logits, 0);
    assert_eq!((&same["passed"], &same["prompts"][1]["prompt_tokens"]), (&true.into(), &3.into()));
    assert!(same["prompts"][0]["min_cosine"].as_f64().unwrap() > 0.999_999, "{same}");
    logits[2 * 320] += 50.0;
    let altered = verify(&logits, 9);
    assert_eq!((&altered["passed"], &altered["prompts"][1]["min_cosine_step"]), (&false.into(), &0.into()));
}

#[test]
fn bench_prints_a_row_for_each_test_in_every_form() {
    let flags = ["bench", "-p", "8", "-n", "4", "-r", "2", "--weights", "synthetic:7", "-o"];
    let with = |form| said(&[&flags[..], &[form]].concat(), "");
    let rows: Value = serde_json::from_str(&with("json")).unwrap();
    let tests: Vec<&str> = rows.as_array().unwrap().iter().map(|r| r["test"].as_str().unwrap()).collect();
    assert_eq!(tests, ["pp8", "tg4"]);
    assert!(
        rows[1]["weight_bytes_per_token"].as_f64().unwrap() > 1e5 && rows[1]["seconds"].as_array().unwrap().len() == 2
    );
    // Four token ids and, once, how far the sampler came: 4 words.
    let bus = |way: &str| rows[1][way].as_f64().unwrap();
    assert_eq!((bus("host_to_device_bytes_per_token"), bus("device_to_host_bytes_per_token")), (0.0, 8.0));
    // `info` foretells what is allocated, and nothing is kept of what loading took.
    let info: Value = serde_json::from_str(&said(&["info", "--json"], "")).unwrap();
    let (foretold, memory) = (info["memory"]["total_bytes"].as_f64().unwrap(), &rows[1]["memory"]);
    let allocated = memory["allocated_bytes"].as_f64().unwrap();
    assert!((allocated / foretold - 1.0).abs() < 0.05, "{allocated} for {foretold}");
    assert!(memory["host_after"]["anon_bytes"].as_u64().unwrap() > 0, "{memory}");
    assert_eq!((with("md").lines().count(), with("csv").lines().count()), (4, 3));
}

const TEXT: &str = "tests/data/text/eval.txt";

#[test]
fn perplexity_is_the_references_and_the_same_program_does_not_diverge() {
    let flags = ["eval-ppl", "--text", TEXT, "--tokens", "1000", "--json", "--against", "bin/tiny"];
    let json: Value = serde_json::from_str(&said(&flags, "")).unwrap();
    // tools/golden.py ppl models/tiny tests/data/text/eval.txt --window 300 --tokens 1000
    let (reference, ours) = (1_996.631_814_508, json["perplexity"].as_f64().unwrap());
    assert!((ours / reference - 1.0).abs() < 1e-5, "{ours}");
    assert_eq!((&json["window"], &json["tokens"], &json["scored"]), (&300.into(), &1000.into(), &996.into()));
    let against = &json["against"];
    assert_eq!((&against["perplexity"], &against["same_best"]), (&json["perplexity"], &1.0.into()));
    assert_eq!(against["kl"], serde_json::json!({"mean": 0.0, "p99": 0.0, "max": 0.0}));
}

#[test]
fn overlapping_windows_score_more_tokens_and_text_says_which() {
    let flags = ["eval-ppl", "--text", TEXT, "--tokens", "60", "--window", "20", "--stride", "10"];
    let text = said(&flags, "");
    assert!(text.starts_with("tiny fp32: 60 tokens of tests/data/text/eval.txt in windows of 20, one every 10; 59 sc"));
    assert_eq!(said(&flags, ""), text);
}

#[test]
fn perplexity_against_a_pool_runs_this_program_on_it() {
    let pool = "generated/tiny/weights.pool";
    let text = said(&["eval-ppl", "--text", TEXT, "--tokens", "40", "--against", pool], "");
    assert!(text.ends_with("same best token: 100.00 %\n"), "{text}");
}

#[test]
fn perplexity_against_what_is_no_program_of_ours_is_refused() {
    let against = |path: &str, code: i32| {
        let flags = ["eval-ppl", "--text", TEXT, "--tokens", "8", "--against", path];
        refused(&flags, "", code)
    };
    assert!(against("no/such", 2).starts_with("--against: no/such: "));
    assert!(against("Cargo.toml", 2).contains("is it an executable or a pool"));
    assert!(against("/bin/true", 1).contains("ended early, with exit code 0"));
    let seeded = ["eval-ppl", "--text", TEXT, "--window", "301"];
    assert_eq!(refused(&seeded, "", 2), "--window: 301 tokens, the context holds 300");
}

#[test]
fn info_names_licence_memory_and_limits() {
    let text = said(&["info"], "");
    for part in ["Apache-2.0", "context         300 tokens", "weights", "largest buffer", "push constants"] {
        assert!(text.contains(part), "{part:?} in {text}");
    }
    let json: Value = serde_json::from_str(&said(&["info", "--json"], "")).unwrap();
    assert!(json["limits"].as_array().unwrap().iter().all(|l| l["met"] == true), "{json}");
}

#[test]
fn profile_tells_kernels_and_writes_a_trace() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.json");
    let output = run(&["profile", "-n", "2", "--trace", file.to_str().unwrap()], "").success().get_output().clone();
    let report = String::from_utf8(output.stdout).unwrap();
    assert!(
        report.contains("decode: 2 runs") && report.contains("kernel\n") && report.contains("layer 1\n"),
        "{report}"
    );
    let trace: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert!(trace["traceEvents"].as_array().unwrap().len() > 10);
}

#[test]
fn profile_has_rows_of_json_with_what_kernels_read() {
    let json: Value = serde_json::from_str(&said(&["profile", "-n", "2", "--json"], "")).unwrap();
    let rows = json["kernels"].as_array().unwrap();
    let sum = |bucket: &str, what: &str| -> f64 {
        let of = rows.iter().filter(|r| r["bucket"] == bucket);
        of.map(|r| r[what].as_f64().unwrap() * r["dispatches"].as_f64().unwrap()).sum()
    };
    let info: Value = serde_json::from_str(&said(&["info", "--json"], "")).unwrap();
    for bucket in info["buckets"].as_array().unwrap() {
        let name = bucket["name"].as_str().unwrap();
        let dispatches: f64 =
            rows.iter().filter(|r| r["bucket"] == name).map(|r| r["dispatches"].as_f64().unwrap()).sum();
        assert_eq!(dispatches, bucket["dispatches"].as_f64().unwrap(), "{name}");
        // `info` counts a tensor once a run; the tables of positions are read in every layer.
        let (summed, told) = (sum(name, "weight_bytes_each"), bucket["weight_bytes"].as_f64().unwrap());
        assert!(summed >= told && summed < 1.5 * told, "{name}: {summed} for {told}");
        assert!(sum(name, "cache_bytes_each") > 0.0 && sum(name, "us_each") > 0.0, "{name}");
    }
}

#[test]
fn registers_are_told_or_their_lack_is_one_line_with_code_4() {
    let output = run(&["profile", "--registers", "--json"], "").get_output().clone();
    let remarks = String::from_utf8(output.stderr).unwrap();
    if output.status.success() {
        let json: Value = serde_json::from_slice(&output.stdout).unwrap();
        let kernels = json["kernels"].as_array().unwrap();
        assert!(!kernels.is_empty() && kernels.iter().all(|k| k["executables"][0]["statistics"].is_object()), "{json}");
    } else {
        assert_eq!((output.status.code(), output.stdout.len(), remarks.lines().count()), (Some(4), 0, 1), "{remarks}");
        assert!(remarks.contains("lacks VK_KHR_pipeline_executable_properties"), "{remarks}");
    }
}

#[test]
fn devices_are_listed_by_number() {
    assert!(said(&["--list-devices"], "").starts_with("0: "));
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let mut child = Command::new(binary())
        .args(["--steps", "1", "--ids", "--prompt-ids", "5"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0u8; 1];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let output = child.wait_with_output().unwrap();
    let remarks = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !remarks.contains("panicked"), "{:?} {remarks}", output.status);
}

#[test]
fn an_interrupt_keeps_the_text_and_has_code_130() {
    let mut child = Command::new(binary())
        .args(["--steps", "1", "--ids", "--prompt-ids", "5"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let mut printed = vec![0u8; 1];
    stdout.read_exact(&mut printed).unwrap();
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    stdout.read_to_end(&mut printed).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let printed = String::from_utf8(printed).unwrap();
    let tokens = printed.split_whitespace().count();
    assert!(printed.ends_with('\n') && (1..300).contains(&tokens), "{printed:?}");
}

/// What the terminal switches on whenever it waits for a line.
const WAITING: &str = "\u{1b}[?2004h";

#[test]
fn a_terminal_gets_a_chat() {
    let mut child = Command::new("script")
        .args(["-qec", &format!("{} -n 4", binary().display()), "/dev/null"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut bytes = Vec::new();
    let mut until = |prompts: usize| {
        let mut byte = [0];
        loop {
            let screen = String::from_utf8_lossy(&bytes).into_owned();
            if screen.matches(WAITING).count() == prompts || stdout.read(&mut byte).unwrap() == 0 {
                return screen;
            }
            bytes.push(byte[0]);
        }
    };
    for (i, line) in ["hello", "/help", "/reset", "/nonsense", "/exit"].iter().enumerate() {
        until(i + 1);
        writeln!(stdin, "{line}").unwrap();
    }
    let screen = until(usize::MAX);
    assert!(child.wait().unwrap().success(), "{screen}");
    for part in
        ["/help for commands", "answer 4 tokens", "forget the turns", "are forgotten", "/nonsense: no such command"]
    {
        assert!(screen.contains(part), "{part:?} in {screen}");
    }
}
