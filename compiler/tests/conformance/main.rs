//! ONNX's own node cases, in the interpreter and, where there are kernels, on the device. In: .cache/conformance
//! (tools/fetch_conformance.sh). Out: right, refused or failed for each.
//! Promise: none fails, none panics, and what docs/conformance.md says is true.

mod cases;
mod compare;
mod device;
mod report;
mod run;

use libtest_mimic::{Arguments, Failed, Trial};
use report::Report;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Cases that must be right, at the least.
const LEAST_RIGHT: usize = 700;

/// Operators whose every float32, float16, integer and bool case must be right.
const OWED: &str = "Add Sub Mul Div Pow Sqrt Reciprocal Neg Abs Exp Log Erf Tanh Sigmoid Gelu Relu Softmax LogSoftmax \
    Softplus Silu Swish MatMul Gemm Gather GatherElements GatherND ScatterND ScatterElements Concat Slice Split Transpose \
    Reshape Flatten Squeeze Unsqueeze Expand Tile Pad Where Equal Less LessOrEqual Greater GreaterOrEqual And Or Not Min \
    Max Clip Cast CastLike Range Trilu CumSum ConstantOfShape Shape Size Identity ReduceSum ReduceMean ReduceMax \
    ReduceMin ArgMax TopK LayerNormalization RMSNormalization RotaryEmbedding Attention Cos Sin Conv Mod IsNaN Floor \
    Ceil Round";

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn main() {
    let arguments = Arguments::from_args();
    let folder = workspace().join(".cache/conformance/onnx/backend/test/data/node");
    let names = cases::names(&folder);
    if names.is_empty() {
        eprintln!("conformance: 1615 cases skipped: they are not here; run tools/fetch_conformance.sh");
        let skipped = Trial::test("node_cases", || Ok(())).with_ignored_flag(true);
        libtest_mimic::run(&arguments, vec![skipped]).exit();
    }
    // Each case is short, so all of them run before the trials, which only ask what came of them.
    let report = Arc::new(if arguments.list { Report::default() } else { Report::new(run::all(&folder, &names)) });
    let mut trials = Vec::new();
    for (operator, outcomes) in &report.operators {
        let wrong: Vec<String> = outcomes.iter().filter_map(|o| o.breach(OWED)).collect();
        let verdict = if wrong.is_empty() { Ok(()) } else { Err(Failed::from(wrong.join("\n"))) };
        trials.push(Trial::test(format!("operator::{operator}"), move || verdict));
    }
    let (counts, doc) = (report.clone(), report.clone());
    trials.push(Trial::test("no_case_fails_and_enough_are_right", move || counts.check(LEAST_RIGHT)));
    let page = Trial::test("the_page_tells_the_counts", move || doc.page_is_true(&workspace()));
    let deviceless = device::device().is_none();
    if deviceless {
        eprintln!(
            "conformance: the page of counts is not checked and no case ran on a device: there is no Vulkan device"
        );
    }
    trials.push(page.with_ignored_flag(deviceless));
    let conclusion = libtest_mimic::run(&arguments, trials);
    if !arguments.list {
        eprint!("{}", report.summary());
    }
    conclusion.exit();
}
