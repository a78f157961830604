//! inspect --external-data and repack: what is counted, what is kept, what is refused, and that a failure leaves nothing.

use super::{listing, onnxcast, project, refusal, stdout};
use onnx_ir::{GraphProto, Message, ModelProto, TensorProto};
use std::fs;
use std::path::Path;

/// An f32 tensor of `n` whose bytes are at the place; none where `location` is empty.
fn tensor(name: &str, n: i64, location: &str, offset: u64) -> TensorProto {
    let mut t = TensorProto::new();
    (t.name, t.data_type, t.dims) = (name.into(), 1, vec![n]);
    if location.is_empty() {
        t.raw_data = (0..n).flat_map(|i| (i as f32).to_le_bytes()).collect::<Vec<u8>>().into();
        return t;
    }
    for (key, value) in [("location", location), ("offset", &offset.to_string()), ("checksum", "of the old file")] {
        t.external_data.push(Default::default());
        let entry = t.external_data.last_mut().unwrap();
        (entry.key, entry.value) = (key.into(), value.into());
    }
    // EXTERNAL, by its number: the enum is not exported.
    TensorProto::parse_from_bytes(&[t.write_to_bytes().unwrap(), vec![0x70, 1]].concat()).unwrap()
}

fn model(path: &Path, tensors: Vec<TensorProto>) {
    let mut proto = ModelProto::new();
    proto.ir_version = 10;
    proto.graph = Some(GraphProto { name: "g".into(), initializer: tensors, ..Default::default() }).into();
    proto.opset_import.push(Default::default());
    proto.opset_import[0].version = 99; // whatever the version, weights are weights
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, proto.write_to_bytes().unwrap()).unwrap();
}

/// Name, location, offset and bytes of each external tensor.
fn contents(path: &Path) -> Vec<(String, String, u64, Vec<u8>)> {
    let proto = ModelProto::parse_from_bytes(&fs::read(path).unwrap()).unwrap();
    let one = |t: &TensorProto| {
        let entry = |key: &str| t.external_data.iter().find(|e| e.key == key).map(|e| e.value.clone());
        let location = entry("location")?;
        let offset: usize = entry("offset").map_or(0, |o| o.parse().unwrap());
        let bytes = t.dims.iter().product::<i64>() as usize * 4;
        let file = fs::read(path.with_file_name(&location)).unwrap();
        Some((t.name.clone(), location, offset as u64, file[offset..offset + bytes].to_vec()))
    };
    proto.graph.initializer.iter().filter_map(one).collect()
}

fn noise(bytes: usize, seed: u32) -> Vec<u8> {
    (0..bytes as u32).map(|i| ((i ^ seed).wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

fn json(dir: &Path, path: &str) -> serde_json::Value {
    let text = stdout(&onnxcast(dir, &["inspect", path, "--external-data", "--json"]).success());
    serde_json::from_str(&text).unwrap()
}

/// Moves every tensor's data `by` bytes on, behind a prefix that takes no room on the disk.
fn double(home: &Path) -> u64 {
    let (onnx, data) = (home.join("model.onnx"), home.join("model.onnx.data"));
    let bytes = fs::read(&data).unwrap();
    let by = bytes.len() as u64;
    let mut proto = ModelProto::parse_from_bytes(&fs::read(&onnx).unwrap()).unwrap();
    for t in &mut proto.graph.as_mut().unwrap().initializer {
        for entry in t.external_data.iter_mut().filter(|e| e.key == "offset") {
            entry.value = (entry.value.parse::<u64>().unwrap() + by).to_string();
        }
    }
    fs::write(onnx, proto.write_to_bytes().unwrap()).unwrap();
    let file = fs::File::create(&data).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &bytes, by).unwrap();
    by
}

#[test]
fn a_doubled_data_file_is_halved_and_gives_the_same_program_and_pool() {
    let dir = project();
    onnxcast(dir.path(), &["compile", "tiny"]).success();
    let made = || ["stamp", "weights.pool"].map(|f| fs::read(dir.path().join("generated/tiny").join(f)).unwrap());
    let first = made();
    let half = double(&dir.path().join("models/tiny"));
    let seen = &json(dir.path(), "models/tiny")["external"][0];
    assert_eq!(seen["bytes"], 2 * half);
    assert_eq!(seen["unreferenced"][0], serde_json::json!([0, half]));
    assert!(seen["referenced"].as_u64().unwrap() <= half);
    let text = stdout(&onnxcast(dir.path(), &["inspect", "models/tiny", "--external-data"]).success());
    assert!(text.contains(" of 2,064,384 bytes referenced (") && text.contains("[0, 1,032,192)"), "{text}");

    onnxcast(dir.path(), &["repack", "models/tiny", "half"]).success();
    let written = fs::metadata(dir.path().join("half/model.onnx.data")).unwrap().len();
    assert!(written <= half, "{written} bytes");
    let seen = &json(dir.path(), "half")["external"][0];
    assert!(seen["alignment"].as_u64().unwrap() >= 4096 && seen["overlaps"].as_array().unwrap().is_empty(), "{seen}");
    // From the doubled file and from the half: the same plan, the same pool, of what is referred to alone.
    for onnx in ["models/tiny", "half"] {
        fs::remove_dir_all(dir.path().join("generated")).unwrap();
        onnxcast(dir.path(), &["compile", "tiny", "--onnx", onnx]).success();
        assert!(made() == first, "{onnx}");
    }
}

#[test]
fn what_a_stopped_repack_left_goes_with_the_next_one_and_what_another_writes_stays() {
    let dir = project();
    let mut gone = std::process::Command::new("true").spawn().unwrap();
    gone.wait().unwrap();
    let part = |id: u32| dir.path().join(format!(".half.{id}.part"));
    let (left, mine) = (part(gone.id()), part(std::process::id()));
    let other = dir.path().join(format!(".halves.{}.part", gone.id()));
    for folder in [&left, &mine, &other] {
        fs::create_dir(folder).unwrap();
        fs::write(folder.join("model.onnx.data"), "half of it").unwrap();
    }
    onnxcast(dir.path(), &["repack", "models/tiny", "half"]).success();
    assert!(!left.exists() && mine.exists() && other.exists());
    assert!(dir.path().join("half/model.onnx").exists());
}

#[test]
fn a_package_keeps_its_companions_and_its_models_share_equal_ranges() {
    let dir = tempfile::tempdir().unwrap();
    let (old, new) = (dir.path().join("old"), dir.path().join("new"));
    model(
        &old.join("model.onnx"),
        vec![
            tensor("a", 100, "model.onnx.data", 64),
            tensor("again", 100, "model.onnx.data", 64),
            tensor("half of a and on", 100, "model.onnx.data", 264),
            tensor("inline", 3, "", 0),
            tensor("nothing", 0, "model.onnx.data", 7),
            tensor("b", 2000, "./parts/b.bin", 0),
        ],
    );
    model(&old.join("second.onnx"), vec![tensor("b", 2000, "copy.bin", 40), tensor("zeros", 5000, "copy.bin", 10_000)]);
    model(&old.join("policies/p.onnx"), vec![tensor("b", 2000, "own.bin", 0)]);
    model(&old.join("policies/plain.onnx"), vec![tensor("inline", 2, "", 0)]);
    fs::create_dir(old.join("parts")).unwrap();
    let b = noise(8000, 9);
    fs::write(old.join("model.onnx.data"), noise(1000, 1)).unwrap();
    fs::write(old.join("parts/b.bin"), &b).unwrap();
    fs::write(old.join("copy.bin"), [vec![7; 40], b.clone(), vec![0; 30_000]].concat()).unwrap();
    fs::write(old.join("policies/own.bin"), &b).unwrap();
    let companions = [
        ("genai_config.json", "{}"),
        ("tokenizer.json", "{ \"x\": 1 }\n"),
        ("inference_metadata.yaml", "a: 1\r\n"),
        ("inference_metadata.annotated.yaml", "# why\na: 1\n"),
        ("policies/notes.txt", ""),
    ];
    companions.iter().for_each(|(name, text)| fs::write(old.join(name), text).unwrap());
    let before = listing(&old);

    let said = stdout(&onnxcast(dir.path(), &["repack", "old", "new"]).success());
    assert!(said.contains("equal  8 tensors byte for byte, 5 other files"), "{said}");
    assert_eq!(listing(&old), before);
    for (name, text) in companions {
        assert_eq!(fs::read(new.join(name)).unwrap(), text.as_bytes(), "{name}");
    }
    let plain = "policies/plain.onnx";
    assert_eq!(fs::read(new.join(plain)).unwrap(), fs::read(old.join(plain)).unwrap());
    for name in ["model.onnx", "second.onnx", "policies/p.onnx"] {
        let (was, is) = (contents(&old.join(name)), contents(&new.join(name)));
        assert_eq!(was.len(), is.len());
        for (was, is) in was.iter().zip(&is) {
            assert!(was.0 == is.0 && was.3 == is.3, "{name}: {}", was.0);
        }
        let bytes = fs::read(new.join(name)).unwrap();
        assert!(!bytes.windows(8).any(|w| w == b"checksum"), "{name}: a checksum of the old file");
    }
    let place = |model: &str, i: usize| contents(&new.join(model)).swap_remove(i);
    assert_eq!((place("model.onnx", 0).2, place("model.onnx", 2).2), (0, 200), "what overlapped still does");
    assert_eq!(place("second.onnx", 0).1, place("model.onnx", 4).1, "one copy for both models");
    assert_eq!(place("policies/p.onnx", 0).1, "own.bin", "which this one cannot name");
    let seen = json(dir.path(), "new");
    let referenced: u64 = seen["external"].as_array().unwrap().iter().map(|f| f["referenced"].as_u64().unwrap()).sum();
    assert_eq!(referenced, 600 + 8000 + 8000 + 20_000);
}

#[test]
fn one_file_is_repacked_with_its_data_beside_it() {
    let dir = tempfile::tempdir().unwrap();
    model(&dir.path().join("m.onnx"), vec![tensor("a", 10, "x/a.bin", 8), tensor("b", 10, "b.bin", 0)]);
    fs::create_dir(dir.path().join("x")).unwrap();
    fs::write(dir.path().join("x/a.bin"), noise(100, 1)).unwrap();
    fs::write(dir.path().join("b.bin"), noise(40, 2)).unwrap();
    onnxcast(dir.path(), &["repack", "m.onnx", "out/n.onnx"]).success();
    let (was, is) = (contents(&dir.path().join("m.onnx")), contents(&dir.path().join("out/n.onnx")));
    assert!(was.iter().zip(&is).all(|(a, b)| a.3 == b.3 && b.1 == "n.onnx.data"), "{is:?}");
    let names: Vec<String> =
        listing(&dir.path().join("out")).into_iter().map(|(p, _)| p.display().to_string()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    for out in ["m.onnx", "b.bin", "./x/../m.onnx"] {
        assert!(refusal(dir.path(), &["repack", "m.onnx", out, "--force"]).contains("belongs to the input"), "{out}");
    }
    assert!(refusal(dir.path(), &["repack", "m.onnx", "out/n.onnx"]).contains("is there already"));
    assert!(refusal(dir.path(), &["repack", "m.onnx", "out"]).contains("is a folder"));
    onnxcast(dir.path(), &["repack", "b/../m.onnx", "out/n.onnx", "--force"]).code(1);
    // What is no model stays, whatever is asked.
    fs::write(dir.path().join("letter.txt"), "dear").unwrap();
    fs::write(dir.path().join("p.onnx.data"), "dear").unwrap();
    assert!(refusal(dir.path(), &["repack", "m.onnx", "letter.txt", "--force"]).contains("is no ONNX model"));
    assert!(refusal(dir.path(), &["repack", "m.onnx", "p.onnx", "--force"]).contains("is no data file of the model"));
    assert!(refusal(dir.path(), &["repack", "m.onnx", "q:1.onnx"]).contains("cannot refer to a data file"));
    assert_eq!(fs::read_to_string(dir.path().join("letter.txt")).unwrap(), "dear");
    assert_eq!(fs::read_to_string(dir.path().join("p.onnx.data")).unwrap(), "dear");
    onnxcast(dir.path(), &["repack", "m.onnx", "out/n.onnx", "--force"]).success();
}

/// A package of one tensor of `bytes`, of which the file has `there`.
fn package(dir: &Path, bytes: usize, there: usize) {
    model(&dir.join("in/model.onnx"), vec![tensor("w", bytes as i64 / 4, "w.bin", 0)]);
    fs::write(dir.join("in/w.bin"), noise(there, 3)).unwrap();
}

#[test]
fn a_place_that_holds_the_input_or_something_else_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    package(dir.path(), 400, 400);
    fs::create_dir(dir.path().join("home")).unwrap();
    fs::write(dir.path().join("home/letter.txt"), "dear").unwrap();
    std::os::unix::fs::symlink("in", dir.path().join("link")).unwrap();
    let before = listing(dir.path());
    let deep = dir.path().join("in/../in/deep/er");
    let said = |out: &str| refusal(dir.path(), &["repack", "in", out, "--force"]);
    assert!(said("in").contains("is the input itself"));
    assert!(said("link").contains("is the input itself"));
    assert!(said(deep.to_str().unwrap()).contains("lies in in"));
    assert!(said("../").contains("holds in") || said("../").contains("no name"), "{}", said("../"));
    assert!(said(dir.path().to_str().unwrap()).contains("holds in"));
    assert!(said("home").contains("is no folder of a model"));
    assert!(refusal(dir.path(), &["repack", "in", "home"]).contains("is there already"));
    assert_eq!(listing(dir.path()), before);
    onnxcast(dir.path(), &["repack", "in", "out"]).success();
    fs::write(dir.path().join("out/stale"), "").unwrap();
    onnxcast(dir.path(), &["repack", "in", "out", "--force"]).success();
    assert_eq!(listing(&dir.path().join("out")).len(), 2, "the old folder is gone as a whole");
}

#[test]
fn a_short_file_is_one_error_that_names_tensor_and_sizes() {
    let dir = tempfile::tempdir().unwrap();
    package(dir.path(), 400, 399);
    let before = listing(dir.path());
    let said = refusal(dir.path(), &["repack", "in", "out"]);
    assert!(
        said.contains("tensor 'w': external data: 400 bytes at 0 run past the end of 'w.bin' (399 bytes)"),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1);
    let said = refusal(dir.path(), &["inspect", "in", "--external-data"]);
    assert!(said.contains("1 tensors or files cannot be read"), "{said}");
    fs::remove_file(dir.path().join("in/w.bin")).unwrap();
    assert!(
        refusal(dir.path(), &["repack", "in", "out"])
            .contains("in/w.bin: external data of tensor 'w': there is no such file")
    );
    assert_eq!(listing(dir.path()).len(), before.len() - 1, "nothing appeared");
}

#[test]
fn a_disk_that_is_full_leaves_nothing_behind() {
    let dir = tempfile::tempdir().unwrap();
    package(dir.path(), 40_000, 40_000);
    let before = listing(dir.path());
    let said = limited(dir.path(), "trap '' XFSZ; ulimit -f 16", 1);
    assert!(said.contains("repack: w.bin: "), "{said}");
    assert_eq!(listing(dir.path()), before);
    let folders = fs::read_dir(dir.path()).unwrap().count();
    assert_eq!(folders, 1, "no half of it either");
}

#[test]
fn memory_does_not_grow_with_the_data() {
    let dir = tempfile::tempdir().unwrap();
    package(dir.path(), 1 << 30, 4096);
    // A gibibyte that takes no room: a process with a quarter of it to its name repacks it.
    fs::File::options().write(true).open(dir.path().join("in/w.bin")).unwrap().set_len(1 << 30).unwrap();
    limited(dir.path(), "ulimit -v 262144", 0);
    let out = fs::metadata(dir.path().join("out/w.bin")).unwrap();
    assert_eq!(out.len(), 1 << 30);
    let blocks = std::os::unix::fs::MetadataExt::blocks(&out);
    assert!(blocks < 1 << 14, "{blocks} blocks: zeros are left out");
}

/// Repacks `in` as `out` in a shell with limits. Returns what was said.
fn limited(dir: &Path, limits: &str, code: i32) -> String {
    let binary = assert_cmd::cargo::cargo_bin("onnxcast");
    let script = format!("{limits}; exec '{}' repack in out", binary.display());
    let run = std::process::Command::new("sh").args(["-c", &script]).current_dir(dir).output().unwrap();
    let said = String::from_utf8_lossy(&run.stderr).into_owned();
    assert_eq!(run.status.code(), Some(code), "{said}");
    said
}
