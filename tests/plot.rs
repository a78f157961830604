//! `make bench plot=1` on bin/tiny (`make model=tiny`): a picture that has every row.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(".cache/bench").join(name)
}

fn rows(name: &str, of: fn(&Value) -> &Value) -> usize {
    let json: Value = serde_json::from_slice(&std::fs::read(file(name)).unwrap()).unwrap();
    of(&json).as_array().unwrap().len()
}

#[test]
fn a_bench_with_a_plot_leaves_a_picture_with_a_point_for_every_row() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    assert!(root.join("bin/tiny").exists(), "bin/tiny is missing; run: make model=tiny");
    let _ = std::fs::remove_file(file("tiny.svg"));
    let mut command = Command::new("tools/bench.sh");
    command.current_dir(root).args(["tiny", "-p", "8", "-n", "4", "-r", "1"]).env("plot", "1").env("bandwidth", "20");
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("bench: wrote .cache/bench/tiny.svg"), "{said}");
    let expect = rows("tiny.bench.json", |json| json) + rows("tiny.profile.json", |json| &json["kernels"]);
    let count = "import sys, xml.etree.ElementTree as e; print(sum(1 for c in e.parse(sys.argv[1]).iter() if c.get('class') == 'point'))";
    let points = Command::new("python3").args(["-c", count]).arg(file("tiny.svg")).output().unwrap();
    assert!(points.status.success(), "{}", String::from_utf8_lossy(&points.stderr));
    assert_eq!(String::from_utf8_lossy(&points.stdout).trim(), expect.to_string());
    assert!(expect > 10, "{expect}");
}
