//! The generated code of the models in the tree, planned without weights. Accept changes with `make snap`.

use onnxcast::graph::Activations;
use onnxcast::job::{Job, Wish};
use onnxcast::pipeline::{self, Compiled};
use onnxcast::plan::Precision;
use onnxcast_runtime::cost;
use onnxcast_runtime::program::{Arg, Block, Dispatch, Part, Program};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

// The snapshots are Rust: compiled here, they are what an executable would run.
#[rustfmt::skip]
#[path = "../../snapshots/qwen/program.snap.rs"]
mod qwen;
#[rustfmt::skip]
#[path = "../../snapshots/qwen-base/program.snap.rs"]
mod qwen_base;
#[rustfmt::skip]
#[path = "../../snapshots/qwen-base-256/program.snap.rs"]
mod qwen_base_256;
#[rustfmt::skip]
#[path = "../../snapshots/qwen-int4/program.snap.rs"]
mod qwen_int4;
#[rustfmt::skip]
#[path = "../../snapshots/qwen-single/program.snap.rs"]
mod qwen_single;
#[rustfmt::skip]
#[path = "../../snapshots/qwen14b/program.snap.rs"]
mod qwen14b;
#[rustfmt::skip]
#[path = "../../snapshots/smollm2/program.snap.rs"]
mod smollm2;
#[rustfmt::skip]
#[path = "../../snapshots/smolvlm2/program.snap.rs"]
mod smolvlm2;
#[rustfmt::skip]
#[path = "../../snapshots/smolvlm2-int4/program.snap.rs"]
mod smolvlm2_int4;
#[rustfmt::skip]
#[path = "../../snapshots/tiny/program.snap.rs"]
mod tiny;
#[rustfmt::skip]
#[path = "../../snapshots/tiny-vlm/program.snap.rs"]
mod tiny_vlm;

/// Every model in the tree, with the program that its snapshot holds and its number of layers.
type Known = (&'static str, fn() -> Program, usize);
const MODELS: [Known; 11] = [
    ("qwen", qwen::program, 24),
    ("qwen-base", qwen_base::program, 24),
    ("qwen-base-256", qwen_base_256::program, 24),
    ("qwen-int4", qwen_int4::program, 24),
    ("qwen-single", qwen_single::program, 24),
    ("qwen14b", qwen14b::program, 48),
    ("smollm2", smollm2::program, 30),
    ("smolvlm2", smolvlm2::program, 24),
    ("smolvlm2-int4", smolvlm2_int4::program, 24),
    ("tiny", tiny::program, 2),
    ("tiny-vlm", tiny_vlm::program, 2),
];

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

fn compile(name: &str, activations: Option<Activations>) -> Compiled {
    let wish = Wish { project: project(), name: name.into(), without_weights: true, activations, ..Wish::default() };
    pipeline::compile(&Job::find(&wish).unwrap(), &mut |_| {}).unwrap()
}

/// Every model, compiled once for all tests.
fn models() -> impl Iterator<Item = (&'static Known, &'static Compiled)> {
    static COMPILED: LazyLock<Vec<Compiled>> =
        LazyLock::new(|| MODELS.iter().map(|(name, ..)| compile(name, None)).collect());
    MODELS.iter().zip(COMPILED.iter())
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
fn the_printed_program_is_the_planned_one() {
    for ((name, ..), compiled) in models() {
        in_folder(name, || insta::assert_binary_snapshot!("program.rs", program_text(compiled).into_bytes()));
    }
    // Only the names: a whole program is no message.
    let differ = models().filter(|((_, printed, _), compiled)| printed() != planned(compiled));
    let names: Vec<&str> = differ.map(|((name, ..), _)| *name).collect();
    assert!(names.is_empty(), "{names:?}: accepted snapshots count from the next build on");
}

/// Bytes of activations and ports that the dispatches of a whole run touch, every argument once a dispatch.
fn activation_bytes(compiled: &Compiled, bucket: usize) -> u64 {
    let plan = &compiled.plan;
    let mut extents = plan.extents[bucket].iter();
    let mut bytes = 0;
    for block in plan.program.buckets[bucket].blocks.iter() {
        for row in block.table.iter() {
            for dispatch in block.dispatches.iter() {
                // Extents are of all dispatches, those of the other sampler too.
                for (arg, extent) in dispatch.args.iter().zip(extents.next().unwrap()) {
                    let arg = if let Arg::Column(c) = arg { row[*c as usize] } else { *arg };
                    let moved = matches!(arg, Arg::Arena(_) | Arg::Input(_) | Arg::Output(_));
                    bytes += if moved && Part::Whole.has(block.phase) { *extent } else { 0 };
                }
            }
        }
    }
    assert!(extents.next().is_none());
    bytes
}

/// Speed on one machine is noise on another; these are not. A change here is either meant, and stands in the commit that means it, or a
/// mistake that no other test sees.
#[test]
fn what_a_run_of_every_bucket_costs_changes_on_purpose_alone() {
    let mut lines = vec![];
    for ((name, ..), compiled) in models() {
        lines.extend((0..compiled.plan.program.buckets.len()).map(|i| run_cost(name, compiled, i)));
    }
    // What products of many rows take changes those buckets alone.
    for name in ["qwen", "smolvlm2"] {
        let compiled = compile(name, Some(Activations::F16));
        let buckets = compiled.plan.program.buckets.iter().enumerate();
        let many = buckets.filter(|(_, b)| b.name != "decode");
        lines.extend(many.map(|(i, _)| run_cost(&format!("{name}, activations in fp16:"), &compiled, i)));
    }
    in_folder("", || insta::assert_snapshot!("counts", lines.join("\n")));
}

fn run_cost(name: &str, compiled: &Compiled, i: usize) -> String {
    let program = &compiled.plan.program;
    let bucket = &program.buckets[i];
    let cost = cost::run(program, bucket, Part::Whole);
    format!(
        "{name} {} of {}: {} dispatches, {} barriers, {} bytes of weights, {} of cache a row, {} of activations",
        bucket.name,
        bucket.rows,
        cost.dispatches,
        cost.barriers,
        cost.weight_bytes,
        cost::cache_row_bytes(program),
        activation_bytes(compiled, i)
    )
}

#[test]
fn every_model_of_the_tree_has_a_snapshot() {
    let mut names: Vec<String> = std::fs::read_dir(project().join("models"))
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.join("model.toml").is_file())
        .map(|p| p.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(names, MODELS.map(|(name, ..)| name));
}

#[test]
fn the_fused_graph_of_tiny() {
    in_folder("tiny", || insta::assert_snapshot!("graph", compile("tiny", None).graphs));
}

#[test]
fn a_whole_model_stays_under_1500_lines() {
    for ((name, ..), compiled) in models() {
        let lines = |file_name| file(compiled, file_name).lines().count();
        let total = lines("program.rs") + lines("kernels.rs") + lines("main.rs");
        assert!(total < 1500, "{name}: {total} lines");
    }
}

#[test]
fn a_layer_takes_at_most_five_dispatches_and_a_prompt_two_more_around_each_product() {
    for ((name, _, count), compiled) in models() {
        let program = &compiled.plan.program;
        let decoder = program.decoder.as_ref().unwrap();
        for index in [decoder.prefill, decoder.decode] {
            let bucket = &program.buckets[index as usize];
            // The last layer has no other behind it to prepare rows for, so it may stand alone.
            let all = |b: &&Block| b.table.len() == *count || *count > 2 && b.table.len() == count - 1;
            let layers: Vec<&Block> = bucket.blocks.iter().filter(all).collect();
            assert_eq!(layers.len(), 1, "{name} {}: one class of equal layers", bucket.name);
            let prepares = |d: &&Dispatch| program.kernels[d.kernel as usize].source == "halves.comp";
            let prepared = layers[0].dispatches.iter().filter(prepares).count();
            assert!(prepared <= if bucket.rows == 1 { 0 } else { 4 }, "{name} {}: {prepared}", bucket.name);
            // Those that add up what workgroups of a product have shared.
            let adds =
                |d: &&Dispatch| program.kernels[d.kernel as usize].defines.iter().any(|(name, _)| name == "ADD_UP");
            let added = layers[0].dispatches.iter().filter(adds).count();
            assert!(prepared + added <= if bucket.rows == 1 { 0 } else { 6 }, "{name} {}: {added}", bucket.name);
            let others = layers[0].dispatches.len() - prepared - added;
            assert!(others <= 5, "{name} {}: {others} dispatches", bucket.name);
        }
    }
}

/// A head that is a Transpose of the embedding reads the embedding's own tensor, whether or not there are weights to compare; one of
/// its own is a second table.
#[test]
fn a_tied_table_is_in_the_pool_once() {
    for ((name, ..), compiled) in models().filter(|((name, ..), _)| !name.starts_with("tiny")) {
        let program = &compiled.plan.program;
        let vocab = program.decoder.as_ref().unwrap().vocab;
        let tables = program.tensors.iter().filter(|t| t.shape.first() == Some(&vocab)).count();
        let pool: u64 = program.tensors.iter().map(|t| t.bytes).sum();
        let (expect, most) = match *name {
            "qwen14b" => (2, 8_340_000_000),
            "smolvlm2" => (2, 4_500_000_000),
            "smolvlm2-int4" => (2, 1_250_000_000),
            _ => (1, 988_600_000),
        };
        assert_eq!(tables, expect, "{name}");
        assert!(pool < most, "{name}: {pool} bytes");
    }
}

#[test]
fn a_tied_head_is_one_table_however_the_export_stores_it() {
    let dir = tempfile::tempdir().unwrap();
    let manifest = dir.path().join("model.toml");
    let tiny = std::fs::read_to_string(project().join("models/tiny/model.toml")).unwrap();
    let short = tiny.replace("context = 300", "context = 64").replace("rows = 128", "rows = 16");
    let (head, _) = short.split_once("[text]").unwrap();
    std::fs::write(&manifest, head.replace("golden = \"golden.json\"\n", "")).unwrap();
    // A Transpose of the embedding; a transposed copy and a plain one; fp32 and fp16. The last has another matrix for its head.
    for (style, expect) in [
        ("torchscript", 1),
        ("torchscript-fp16", 1),
        ("dynamo", 1),
        ("dynamo-fp16", 1),
        ("twice", 1),
        ("twice-fp16", 1),
        ("twice-rows", 1),
        ("gathered-gemm", 2),
    ] {
        for precision in [Precision::Fp16, Precision::Fp32] {
            let wish = Wish {
                project: project(),
                name: "tied".into(),
                manifest: Some(manifest.clone()),
                onnx: Some(project().join(format!("tests/data/styles/{style}.onnx"))),
                precision: Some(precision),
                ..Wish::default()
            };
            let compiled = pipeline::compile(&Job::find(&wish).unwrap(), &mut |_| {}).unwrap();
            let tensors = compiled.plan.program.tensors;
            let tables = tensors.iter().filter(|t| ["embed", "lm_head"].iter().any(|part| t.name.contains(part)));
            assert_eq!(tables.count(), expect, "{style} {precision:?}");
        }
    }
}

#[test]
fn two_compiles_give_the_same_bytes() {
    let (a, b) = (compile("tiny", None), compile("tiny", None));
    assert_eq!(a.files, b.files);
    assert_eq!(a.plan.program.plan_hash, b.plan.program.plan_hash);
}

#[test]
fn generated_code_names_no_folder_of_this_machine() {
    let place = project().display().to_string();
    for (path, bytes) in compile("tiny", None).files {
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains(&place), "{}", path.display());
    }
}
