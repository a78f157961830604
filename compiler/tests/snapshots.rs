//! The generated code of the models in the tree, planned without weights. Accept changes with `make snap`.

use onnxcast::job::{Job, Wish};
use onnxcast::pipeline::{self, Compiled};
use onnxcast_runtime::program::Program;
use std::path::{Path, PathBuf};

// The snapshots are Rust: compiled here, they are what an executable would run.
#[rustfmt::skip]
#[path = "../../snapshots/smollm2/program.snap.rs"]
mod smollm2;
#[rustfmt::skip]
#[path = "../../snapshots/tiny/program.snap.rs"]
mod tiny;

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

fn compile(name: &str) -> Compiled {
    let wish = Wish { project: project(), name: name.into(), without_weights: true, ..Wish::default() };
    pipeline::compile(&Job::find(&wish).unwrap(), &mut |_| {}).unwrap()
}

fn file(compiled: &Compiled, name: &str) -> String {
    let found = compiled.files.iter().find(|(path, _)| path == Path::new(name)).unwrap();
    String::from_utf8(found.1.clone()).unwrap()
}

/// program.rs without the hash that changes with every weight.
fn program_text(compiled: &Compiled) -> String {
    file(compiled, "program.rs").replace(&*compiled.plan.program.plan_hash, "")
}

/// The planned program as the snapshot tells it.
fn planned(compiled: &Compiled) -> Program {
    Program { plan_hash: "".into(), ..compiled.plan.program.clone() }
}

fn in_folder(name: &str, check: impl FnOnce()) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(project().join("snapshots").join(name));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(check);
}

#[test]
fn the_printed_program_of_tiny_is_the_planned_one() {
    let compiled = compile("tiny");
    in_folder("tiny", || insta::assert_binary_snapshot!("program.rs", program_text(&compiled).into_bytes()));
    assert_eq!(tiny::program(), planned(&compiled));
}

#[test]
fn the_printed_program_of_smollm2_is_the_planned_one() {
    let compiled = compile("smollm2");
    in_folder("smollm2", || insta::assert_binary_snapshot!("program.rs", program_text(&compiled).into_bytes()));
    assert_eq!(smollm2::program(), planned(&compiled));
}

#[test]
fn the_fused_graph_of_tiny() {
    in_folder("tiny", || insta::assert_snapshot!("graph", compile("tiny").graphs));
}

#[test]
fn a_whole_model_stays_under_1500_lines() {
    for name in ["tiny", "smollm2"] {
        let compiled = compile(name);
        let lines = |file_name| file(&compiled, file_name).lines().count();
        let total = lines("program.rs") + lines("kernels.rs") + lines("main.rs");
        assert!(total < 1500, "{name}: {total} lines");
    }
}

#[test]
fn a_layer_takes_at_most_five_dispatches() {
    for bucket in compile("smollm2").plan.program.buckets.iter() {
        let layers: Vec<usize> =
            bucket.blocks.iter().filter(|b| b.table.len() == 30).map(|b| b.dispatches.len()).collect();
        assert_eq!(layers.len(), 1, "{}: one class of equal layers", bucket.name);
        assert!(layers[0] <= 5, "{}: {} dispatches", bucket.name, layers[0]);
    }
}

#[test]
fn two_compiles_give_the_same_bytes() {
    let (a, b) = (compile("tiny"), compile("tiny"));
    assert_eq!(a.files, b.files);
    assert_eq!(a.plan.program.plan_hash, b.plan.program.plan_hash);
}

#[test]
fn generated_code_names_no_folder_of_this_machine() {
    let place = project().display().to_string();
    for (path, bytes) in compile("tiny").files {
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains(&place), "{}", path.display());
    }
}
