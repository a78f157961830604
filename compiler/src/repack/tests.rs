//! Random models over random data files: what is repacked is what was there, and what cannot be is an error. `ONNXCAST_FUZZ_SECONDS=120`
//! runs them that long.

use crate::import::{Package, audit};
use crate::metadata::fuzz::run;
use crate::repack::repack;
use onnx_ir::{GraphProto, Message, ModelProto, TensorProto};
use proptest::prelude::*;
use std::fs;
use std::path::Path;

/// An external tensor with these entries.
fn tensor(data_type: i32, dims: Vec<i64>, entries: &[(&str, String)]) -> TensorProto {
    let mut t = TensorProto::new();
    (t.name, t.data_type, t.dims) = ("w".into(), data_type, dims);
    for (key, value) in entries {
        t.external_data.push(Default::default());
        if let Some(entry) = t.external_data.last_mut() {
            (entry.key, entry.value) = ((*key).into(), value.clone());
        }
    }
    // EXTERNAL, by its number: the enum is not exported.
    TensorProto::parse_from_bytes(&[t.write_to_bytes().unwrap(), vec![0x70, 1]].concat()).unwrap()
}

fn write(path: &Path, tensors: Vec<TensorProto>) {
    let mut model = ModelProto::new();
    model.graph = Some(GraphProto { initializer: tensors, ..Default::default() }).into();
    fs::write(path, model.write_to_bytes().unwrap()).unwrap();
}

/// The bytes of every reference, read without the code under test's streams.
fn contents(path: &Path) -> Vec<Vec<u8>> {
    let mut package = Package::open(path).unwrap();
    let references = package.references().unwrap();
    let read = |r: &crate::import::Reference| {
        if r.range.is_empty() {
            return vec![]; // wherever that is
        }
        let file = fs::read(package.root.join(&r.blob)).unwrap();
        file[r.range.start as usize..r.range.end as usize].to_vec()
    };
    references.iter().map(read).collect()
}

#[test]
fn random_ranges_of_random_files_come_out_as_they_were() {
    // Few different bytes, so that equal ranges occur.
    let file = || prop::collection::vec(0..2u8, 200..9000);
    let range = (any::<bool>(), 0..180usize, 0..200usize, 0..40u8);
    run((file(), file(), prop::collection::vec(range, 1..12)), |(a, b, ranges)| {
        let dir = tempfile::tempdir().unwrap();
        let old = dir.path().join("old");
        fs::create_dir(&old).unwrap();
        let tensors = ranges.iter().map(|(which, start, length, scale)| {
            let (name, size) = if *which { ("a.bin", a.len()) } else { ("sub/b.bin", b.len()) };
            let start = (start * (1 + usize::from(*scale))).min(size);
            let length = (*length * (1 + usize::from(*scale))).min(size - start);
            let entries = [("location", name.to_string()), ("offset", start.to_string())];
            tensor(2, vec![length as i64], &entries)
        });
        write(&old.join("m.onnx"), tensors.collect());
        fs::create_dir(old.join("sub")).unwrap();
        fs::write(old.join("a.bin"), &a).unwrap();
        fs::write(old.join("sub/b.bin"), &b).unwrap();
        let new = dir.path().join("new");
        let report = repack(&old, &new, false, &mut |_, _| ()).unwrap();
        prop_assert_eq!(contents(&new), contents(&old));
        let (before, after) = (audit(&old).unwrap(), audit(&new).unwrap());
        let used = |a: &crate::import::Audit| a.files.iter().map(|f| f.referenced).sum::<u64>();
        prop_assert!(used(&after) <= used(&before));
        prop_assert_eq!(report.tensors, ranges.len());
        // Once more changes nothing: what is packed is packed.
        let again = dir.path().join("again");
        repack(&new, &again, false, &mut |_, _| ()).unwrap();
        for file in fs::read_dir(&new).unwrap().map(|e| e.unwrap().path()).filter(|p| p.is_file()) {
            prop_assert_eq!(fs::read(&file).unwrap(), fs::read(again.join(file.file_name().unwrap())).unwrap());
        }
        Ok(())
    });
}

#[test]
fn entries_of_any_kind_are_read_or_refused_by_tensor() {
    let text = || prop_oneof!["[0-9]{1,20}", "[-./a-z0-9\\\\:]{0,9}", Just("w.bin".to_string())];
    let dims = prop::collection::vec(prop_oneof![0..9i64, any::<i64>()], 0..4);
    run((0..30i32, dims, text(), text(), prop::option::of(text())), |(data_type, dims, location, offset, length)| {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("w.bin"), [1; 64]).unwrap();
        let mut entries = vec![("location", location), ("offset", offset)];
        entries.extend(length.map(|l| ("length", l)));
        write(&dir.path().join("m.onnx"), vec![tensor(data_type, dims, &entries)]);
        let out = dir.path().join("out/m.onnx");
        match repack(&dir.path().join("m.onnx"), &out, false, &mut |_, _| ()) {
            Ok(_) => prop_assert_eq!(contents(&out), contents(&dir.path().join("m.onnx"))),
            Err(e) => {
                let said = e.to_string();
                let placed = said.contains("tensor 'w'") || said.contains("w.bin") || said.contains(&entries[0].1);
                prop_assert!(placed && said.lines().count() == 1, "{}", said);
                prop_assert!(!out.exists());
            }
        }
        prop_assert!(audit(&dir.path().join("m.onnx")).is_ok());
        Ok(())
    });
}

#[test]
fn noise_is_no_model() {
    run(prop::collection::vec(any::<u8>(), 1..200), |bytes| {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("m.onnx");
        fs::write(&path, &bytes).unwrap();
        if let Err(e) = repack(&path, &dir.path().join("n.onnx"), false, &mut |_, _| ()) {
            prop_assert!(e.to_string().lines().count() == 1, "{}", e);
        }
        Ok(())
    });
}
