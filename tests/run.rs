//! A graph that is no decoder as an executable: bin/vision (`make model=vision onnx=tests/data/smolvlm-tiny/vision.onnx`).

use std::path::{Path, PathBuf};
use std::time::Duration;

use assert_cmd::assert::Assert;
use onnxcast_runtime::array::{Array, Data};
use onnxcast_runtime::npz;

const REFERENCE: &str = "tests/data/smolvlm-tiny/reference.npz";

fn project() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn run(args: &[&Path]) -> Assert {
    let binary = project().join("bin/vision");
    assert!(binary.exists(), "bin/vision is missing; run: make test");
    let mut command = assert_cmd::Command::new(binary);
    command.arg("run").args(args).timeout(Duration::from_secs(120)).assert()
}

fn refused(args: &[&Path], code: i32) -> String {
    let output = run(args).code(code).get_output().clone();
    let remarks = String::from_utf8(output.stderr).unwrap();
    remarks.lines().last().unwrap_or_default().trim_start_matches("vision: ").to_owned()
}

fn find<'a>(arrays: &'a [(String, Array)], name: &str) -> &'a Array {
    &arrays.iter().find(|(n, _)| n == name).unwrap().1
}

fn flags<'a>(inputs: &'a Path, outputs: &'a Path) -> [&'a Path; 4] {
    [Path::new("--inputs"), inputs, Path::new("--outputs"), outputs]
}

#[test]
fn outputs_come_under_the_graphs_names_and_equal_the_reference() {
    let folder = tempfile::tempdir().unwrap();
    let (inputs, outputs) = (project().join(REFERENCE), folder.path().join("out.npz"));
    let output = run(&flags(&inputs, &outputs)).success().get_output().clone();
    assert!(output.stdout.is_empty());
    assert!(String::from_utf8_lossy(&output.stderr).contains("image_embeds: no input of the graph, left out"));
    let (got, want) = (npz::read(&outputs).unwrap(), npz::read(&inputs).unwrap());
    assert_eq!(got.len(), 1);
    let (got, want) = (find(&got, "image_embeds"), find(&want, "image_embeds"));
    assert_eq!(got.shape, want.shape);
    let pairs = got.data.to_f64().into_iter().zip(want.data.to_f64());
    let worst = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(worst < 1e-4, "{worst}");
}

#[test]
fn a_missing_or_misshapen_input_is_refused_by_name_and_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let (inputs, outputs) = (folder.path().join("in.npz"), folder.path().join("out.npz"));
    assert!(refused(&[Path::new("--outputs"), &outputs], 6).contains("'pixel_values'"));
    let array = |shape: &[usize]| Array { shape: shape.to_vec(), data: Data::F32(vec![0.0; shape.iter().product()]) };
    npz::write(&inputs, &[("pixel_values".to_owned(), array(&[1, 3, 8, 8]))]).unwrap();
    let what = refused(&flags(&inputs, &outputs), 6);
    assert!(what.contains("pixel_values") && what.contains("[1, 3, 8, 8]"), "{what}");
    assert!(!outputs.exists() && PathBuf::from(folder.path()).read_dir().unwrap().count() == 1);
}

#[test]
fn outputs_that_cannot_be_written_are_an_error() {
    let inputs = project().join(REFERENCE);
    let what = refused(&flags(&inputs, Path::new("/no/such/folder/out.npz")), 6);
    assert!(what.starts_with("/no/such/folder/out.npz: "), "{what}");
}

#[test]
fn the_other_commands_say_that_there_are_no_tokens() {
    let mut command = assert_cmd::Command::new(project().join("bin/vision"));
    let output = command.arg("hello").assert().code(2).get_output().clone();
    assert!(String::from_utf8_lossy(&output.stderr).contains("use: vision run --inputs"));
}
