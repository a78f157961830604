//! Pictures on the command line of bin/tiny-vlm (`make model=tiny-vlm`): files of every kind, where they go in a prompt, what is refused.

use std::path::Path;
use std::time::Duration;

use assert_cmd::assert::Assert;
use onnxcast_runtime::array::Data;
use onnxcast_runtime::npz;
use serde_json::{Value, json};

const PICTURE: &str = "tests/data/smolvlm-tiny/picture.png";
const PROMPT: &str = "1,5,9,590,590,590,590,33,71,12";

fn project() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn run(model: &str, args: &[&str]) -> Assert {
    let binary = project().join("bin").join(model);
    assert!(binary.exists(), "bin/{model} is missing; run: make model={model}");
    let mut command = assert_cmd::Command::new(binary);
    command.current_dir(project()).args(args).timeout(Duration::from_secs(120)).assert()
}

fn said(args: &[&str]) -> String {
    String::from_utf8(run("tiny-vlm", args).success().get_output().stdout.clone()).unwrap()
}

/// The one line of a refusal, without the program's name.
fn refused(model: &str, args: &[&str], code: i32) -> String {
    let output = run(model, args).code(code).get_output().clone();
    let remarks = String::from_utf8(output.stderr).unwrap();
    assert!(output.stdout.is_empty() && !remarks.contains("panicked"), "{args:?}: {remarks}");
    remarks.lines().last().unwrap_or_default().trim_start_matches(&format!("{model}: ")).to_owned()
}

fn tokens(picture: &str) -> String {
    said(&["--image", picture, "--prompt-ids", PROMPT, "--ids", "-n", "8"])
}

#[test]
fn the_same_picture_under_a_wrong_name_or_as_pixels_gives_the_same_answer() {
    let folder = tempfile::tempdir().unwrap();
    let [renamed, pixels] = ["picture.jpg", "pixels.npy"].map(|n| folder.path().join(n).display().to_string());
    std::fs::copy(project().join(PICTURE), &renamed).unwrap();
    let arrays = npz::read(&project().join("tests/data/smolvlm-tiny/reference.npz")).unwrap();
    let (_, array) = arrays.iter().find(|(name, _)| name == "pixel_values").unwrap();
    let Data::F32(values) = &array.data else { panic!("pixels are floats") };
    // numpy's format: a header of 128 bytes, then the values.
    let head = format!("{:<117}\n", "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3, 48, 48), }");
    let mut file = [b"\x93NUMPY\x01\x00", &(head.len() as u16).to_le_bytes()[..], head.as_bytes()].concat();
    file.extend(values.iter().flat_map(|v| v.to_le_bytes()));
    std::fs::write(&pixels, file).unwrap();
    let answer = tokens(PICTURE);
    assert_eq!((tokens(&renamed), tokens(&pixels)), (answer.clone(), answer));
}

#[test]
fn every_kind_of_picture_is_looked_at() {
    for name in ["rgba.png", "grey16.png", "cmyk.jpg", "animated.webp"] {
        let count = tokens(&format!("tests/data/pictures/{name}")).split(' ').count();
        assert_eq!(count, 8, "{name}");
    }
}

#[test]
fn pictures_of_a_text_stand_before_it_or_where_it_says() {
    let prompt = |args: &[&str]| -> Vec<i64> {
        let json: Value = serde_json::from_str(&said(&[args, &["--json", "-n", "1"]].concat())).unwrap();
        json["prompt_ids"].as_array().unwrap().iter().map(|id| id.as_i64().unwrap()).collect()
    };
    let plain = prompt(&["Hi"]);
    let at = |ids: &[i64]| ids.iter().position(|&id| id == 588);
    let seen = prompt(&["--image", PICTURE, "Hi"]);
    let row = [588, 589, 590, 590, 590, 590, 588];
    let start = at(&seen).unwrap();
    assert_eq!((seen[start..start + 7].to_vec(), at(&plain)), (row.to_vec(), None));
    let two = prompt(&["--image", PICTURE, "--image", "tests/data/pictures/dot.png", "is <image> like <image>?"]);
    assert_eq!(two.iter().filter(|&&id| id == 590).count(), 8);
    let raw = prompt(&["--raw", "--image", PICTURE, "Hi"]);
    assert_eq!(raw[..7], row);
    let uneven = refused("tiny-vlm", &["--image", PICTURE, "is <image> like <image>?"], 6);
    assert_eq!(uneven, "the prompt shows 2 pictures (<image>), and 1 are given");
}

#[test]
fn image_tokens_and_pictures_that_do_not_match_are_told_with_both_numbers() {
    let ids = "1,590,590,590,590,590,590,590";
    let args = ["--image", PICTURE, "--image", "tests/data/pictures/dot.png", "--prompt-ids", ids];
    assert_eq!(refused("tiny-vlm", &args, 6), "the prompt has 7 image tokens, the pictures give 2 x 4");
    let none = refused("tiny-vlm", &["--prompt-ids", PROMPT], 6);
    assert_eq!(none, "the prompt has 4 image tokens, the pictures give 0 x 4");
}

#[test]
fn bad_pictures_are_one_line_each() {
    let folder = tempfile::tempdir().unwrap();
    let whole = std::fs::read(project().join(PICTURE)).unwrap();
    let mut huge = whole.clone();
    huge[16..24].copy_from_slice(&[0, 0, 0x9c, 0x40, 0, 0, 0x9c, 0x40]);
    let refused_as = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name).display().to_string();
        std::fs::write(&path, bytes).unwrap();
        let line = refused("tiny-vlm", &["--image", &path, "Hi"], 6);
        line.strip_prefix(&format!("{path}: ")).unwrap_or_else(|| panic!("{line}")).to_owned()
    };
    let read = "JPEG, PNG, WebP and .npy are read";
    assert_eq!(refused_as("a.png", b""), format!("is empty; {read}"));
    assert_eq!(refused_as("a.jpg", b"Dear Sir,"), format!("is no picture; {read}"));
    assert_eq!(refused_as("b.png", b"GIF89a\x01\0\x01\0"), format!("is a GIF file; {read}"));
    assert!(refused_as("huge.png", &huge).starts_with("has 40000x40000 pixels; 67 million and"));
    assert!(refused_as("cut.png", &whole[..whole.len() / 2]).ends_with("save it anew as PNG"));
    let missing = refused("tiny-vlm", &["--image", "no/such.png", "Hi"], 6);
    assert!(missing.starts_with("no/such.png: No such file"), "{missing}");
}

#[test]
fn more_pictures_than_fit_are_refused_and_so_is_any_by_a_model_without_eyes() {
    let names = ["dot.png", "rgb.png", "grey.png", "rgba.png"].map(|n| format!("tests/data/pictures/{n}"));
    let args: Vec<&str> = names.iter().flat_map(|n| ["--image", n]).chain(["Hi"]).collect();
    assert_eq!(refused("tiny-vlm", &args, 2), "--image: 4 pictures are shown, and 3 fit at once");
    let blind = refused("tiny", &["--image", PICTURE, "--prompt-ids", "1"], 2);
    assert_eq!(blind, "--image: this model takes no pictures");
}

#[test]
fn info_says_what_pictures_the_model_takes() {
    let line = "  pictures        3 at once, resized to 48 x 48 (lanczos), 4 rows each";
    assert!(said(&["info"]).lines().any(|l| l == line), "{}", said(&["info"]));
    let json: Value = serde_json::from_str(&said(&["info", "--json"])).unwrap();
    assert_eq!(json["pictures"], json!({"at_once": 3, "rows": 4, "size": [48, 48], "resample": "lanczos"}));
}
