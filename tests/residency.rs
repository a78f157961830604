//! `residency` and `bench --steady` of built executables, on bin/tiny and bin/smollm2 (`make model=NAME`): verdicts and exit codes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

fn binary(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("bin").join(name);
    assert!(path.exists(), "bin/{name} is missing; run: make model={name}");
    path
}

/// Stdout and the last line of stderr of a command that must end with that code.
fn ended(name: &str, args: &[&str], code: i32) -> (String, String) {
    let mut command = assert_cmd::Command::new(binary(name));
    let output = command.args(args).timeout(Duration::from_secs(300)).assert().code(code).get_output().clone();
    let remarks = String::from_utf8(output.stderr).unwrap();
    assert!(!remarks.contains("panicked"), "{args:?}: {remarks}");
    let last = remarks.lines().last().unwrap_or_default().to_owned();
    (String::from_utf8(output.stdout).unwrap(), last)
}

fn json(name: &str, args: &[&str], code: i32) -> Value {
    serde_json::from_str(&ended(name, args, code).0).unwrap()
}

/// Names that a refusal offers.
fn some_tensor() -> String {
    let (_, error) = ended("tiny", &["residency", "--arms", "all", "--fault", "no such tensor"], 2);
    assert!(error.starts_with("tiny: --fault: there is no tensor 'no such tensor'; such as "), "{error}");
    error.split("such as ").nth(1).unwrap().split(", ").next().unwrap().to_owned()
}

#[test]
fn a_sound_device_is_clean_in_every_arm_both_ways() {
    let args = ["residency", "--arms", "20K,40K,all,1T", "-n", "6", "-r", "2"];
    let (text, _) = ended("tiny", &args, 0);
    assert!(text.lines().last().unwrap().starts_with("clean: 6 arms, up to "), "{text}");
    assert!(text.contains("| baseline | on the device | 0 B |"), "{text}");
    assert!(text.contains("left out 1099.512 GB: a step of this model reads "), "{text}");
    let report = json("tiny", &[&args[..], &["--json"]].concat(), 0);
    assert_eq!((&report["verdict"], report["arms"].as_array().unwrap().len()), (&"clean".into(), 6));
    for arm in report["arms"].as_array().unwrap() {
        let (read, host) = (arm["step_bytes"].as_u64().unwrap(), arm["host_bytes"].as_u64().unwrap());
        assert!(read > 0 && host > 0, "{arm}");
        assert!(arm["arm"] == "all" || read <= 40 << 10, "{arm}");
        assert!(arm["moved_bytes"].as_u64() >= Some(read), "{arm}");
        assert!(arm["hashes_compared"].as_u64() >= arm["tensors_hashed"].as_u64().map(|n| 2 * n), "{arm}");
        assert_eq!(arm["tokens"], report["baseline"]["tokens"]);
    }
}

#[test]
fn synthetic_weights_have_the_hashes_of_what_was_made() {
    let args = ["residency", "--weights", "synthetic:3", "--arms", "all", "-n", "4", "-r", "1", "--json"];
    let report = json("tiny", &args, 0);
    assert_eq!(report["verdict"], "clean");
    assert!(report["baseline"]["hashes_compared"].as_u64() > Some(10), "{report}");
}

#[test]
fn an_altered_bit_is_stale_data_with_the_tensors_name_and_code_10() {
    let tensor = some_tensor();
    for weights in [&[][..], &["--weights", "synthetic:3"]] {
        let args = ["residency", "--arms", "all", "-n", "4", "-r", "1", "--fault", &tensor];
        let (text, error) = ended("tiny", &[&args[..], weights].concat(), 10);
        let verdict = text.lines().last().unwrap();
        assert!(verdict.starts_with("stale data in 2 of 2 arms, first in all read in place, a copy: "), "{text}");
        assert!(verdict.contains(&format!("'{tensor}'")) && error.ends_with(verdict), "{verdict}\n{error}");
        let report = json("tiny", &[&args[..], weights, &["--json"]].concat(), 10);
        assert_eq!(report["verdict"], "stale data");
        assert_eq!(report["arms"][1]["stale"][0]["tensor"], tensor.as_str());
        // The next run makes its copy anew: nothing was altered for good.
        ended("tiny", &[&["residency", "--arms", "all", "-n", "4", "-r", "1"], weights].concat(), 0);
    }
}

#[test]
fn what_makes_no_sense_has_code_2_and_says_so() {
    let said = |args: &[&str]| ended("tiny", &[&["residency"], args].concat(), 2).1;
    assert!(said(&["--arms", "1K", "--gpu-budget", "0"]).contains("--gpu-budget: residency sets budgets itself"));
    assert!(said(&["--arms", "1T"]).contains("--arms: no arm can be run (1099.512 GB: a step of this model reads "));
    assert!(said(&["--arms", "all", "-n", "100000"]).contains("do not fit the context of 300"));
    for arms in ["0", "lots", "1e9", "4K,,8K"] {
        ended("tiny", &["residency", "--arms", arms], 2);
    }
}

#[test]
fn a_model_of_real_weights_is_clean_with_some_of_them_streamed() {
    let args = ["residency", "--offload", "stream", "--arms", "24M", "-n", "3", "-r", "1", "-p", "Hello", "--json"];
    let report = json("smollm2", &args, 0);
    assert_eq!((&report["verdict"], report["arms"].as_array().unwrap().len()), (&"clean".into(), 1));
    // No more than the arm, although tables of angles are read by every layer.
    let step = report["arms"][0]["step_bytes"].as_u64().unwrap();
    assert!(step > 20_000_000 && step < 24 << 20, "{report}");
}

#[test]
fn steady_runs_agree_and_nothing_is_recorded_between_tokens() {
    let args = ["bench", "--steady", "-n", "5,9", "-d", "3", "-r", "2", "--warmups", "1"];
    for (budget, moves) in [(&[][..], ""), (&["--gpu-budget", "0", "--offload", "stream"], "streamed")] {
        let report = json("tiny", &[&args[..], &["-o", "json"], budget].concat(), 0);
        let counters = &report[1]["counters"];
        assert_eq!((&report[1]["test"], &counters["replays"]), (&"tg9@3".into(), &18.into()), "{report}");
        assert_eq!((&counters["recordings"], &counters["over_budget_bytes"]), (&0.into(), &0.into()));
        let streamed = counters["streamed_bytes_per_token"].as_f64().unwrap();
        assert_eq!(streamed > 0.0, moves == "streamed", "{report}");
        assert_eq!(counters["resident_bytes"].as_u64().unwrap() > 0, moves.is_empty());
        assert_eq!(report[1]["tokens"].as_array().unwrap().len(), 10);
    }
    let (table, _) = ended("tiny", &args, 0);
    assert!(table.lines().any(|line| line == "| recordings | 0 | 0 |"), "{table}");
    let (csv, _) = ended("tiny", &[&args[..], &["-o", "csv"]].concat(), 0);
    assert!(csv.lines().count() == 3 && csv.lines().nth(1).unwrap().contains(",tg5@3,2,"), "{csv}");
    ended("tiny", &["bench", "--warmups", "1"], 2);
}
