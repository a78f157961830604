//! Every shader compiles in the variants that the decoder uses, and spirv-val accepts it.

use crate::nodes::{self, heads};
use crate::skipped::skipped;
use onnxcast::graph::{Graph, Mask, Norm, Rotary, UnaryOp};
use onnxcast::plan::{Call, Kv, Precision, Storage, kernels};
use onnxcast::shaders;
use onnxcast_runtime::program::{Kernel, Phase};
use onnxcast_runtime::recorder::Code;
use onnxcast_runtime::spirv::shared_bytes;
use std::process::Command;

const RMS: Option<Norm> = Some(Norm::Rms { eps: 1e-5 });
const LAYER: Option<Norm> = Some(Norm::Layer { eps: 1e-5 });
const HALVES: Option<Rotary> = Some(Rotary { rotary: 16, interleaved: false });
const PAIRS: Option<Rotary> = Some(Rotary { rotary: 8, interleaved: true });

fn decoder_graphs() -> Vec<Graph> {
    vec![
        nodes::linear(1, 64, 33, RMS, None, true, true),
        nodes::linear(1, 31, 7, LAYER, Some(UnaryOp::GeluTanh), true, true),
        nodes::linear(129, 64, 33, None, Some(UnaryOp::GeluErf), false, false),
        nodes::linear(5, 31, 7, LAYER, None, true, true),
        nodes::gated(1, 64, 33, RMS),
        nodes::gated(17, 64, 32, RMS),
        nodes::qkv(1, 64, heads(4, 2, 16), 32, HALVES, true),
        nodes::qkv(20, 64, heads(4, 2, 16), 32, PAIRS, false),
        nodes::qkv(3, 64, heads(4, 2, 16), 32, None, false),
        nodes::cached_attention(1, heads(4, 2, 16), 32, Mask::Causal),
        nodes::cached_attention(20, heads(4, 2, 16), 32, Mask::Window(5)),
        nodes::kv_write(3, heads(4, 2, 16), 32),
        nodes::rope(4, 3, 16, Rotary { rotary: 8, interleaved: false }, 32),
        nodes::last_row(5, 33),
        nodes::embedding(3, 100, 33),
    ]
}

/// What spirv-val says; None when it is not installed.
fn validate(words: &[u32]) -> Option<Result<(), String>> {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    std::fs::write(file.path(), bytes).expect("a writable temporary file");
    let out = Command::new("spirv-val").args(["--target-env", "vulkan1.3"]).arg(file.path()).output().ok()?;
    let said = format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    Some(if out.status.success() { Ok(()) } else { Err(said) })
}

/// Shared memory that every Vulkan device has.
const SHARED_BYTES: u64 = 16 << 10;

/// Compiles a kernel and fails where spirv-val objects or where a device may lack the shared memory. True when it was validated.
pub fn compile(kernel: &Kernel) -> (Vec<u32>, bool) {
    let words = shaders::compile(kernel).unwrap_or_else(|e| panic!("{e}"));
    let shared = shared_bytes(&words);
    assert!(shared <= SHARED_BYTES, "{} {:?}: {shared} bytes of shared memory", kernel.name, kernel.defines);
    let said = validate(&words);
    let validated = said.is_some();
    said.unwrap_or(Ok(())).unwrap_or_else(|e| panic!("{} {:?}: {e}", kernel.name, kernel.defines));
    (words, validated)
}

/// A kernel in its forms. spirv-val of this age knows no KHR cooperative matrices: a device with matrix units is what holds that
/// form to be valid.
pub fn code(kernel: &Kernel) -> Code {
    let plain = Code::Words(compile(kernel).0.into());
    match shaders::compile_matrix(kernel).unwrap_or_else(|e| panic!("{e}")) {
        Some(matrix) => Code::Forms(Box::new(plain), Box::new(Code::Words(matrix.into()))),
        None => plain,
    }
}

/// A kernel in its form for matrix units, where it has one, that any device can run.
pub fn emulated(kernel: &Kernel) -> Code {
    let words = shaders::compile_emulated(kernel).unwrap_or_else(|e| panic!("{e}"));
    let Some(words) = words else { return Code::Words(compile(kernel).0.into()) };
    validate(&words).unwrap_or(Ok(())).unwrap_or_else(|e| panic!("{} {:?}: {e}", kernel.name, kernel.matrix));
    Code::Words(words.into())
}

#[test]
fn every_decoder_kernel_is_valid() {
    let mut calls: Vec<Call> = [Phase::Greedy, Phase::Drawn]
        .into_iter()
        .flat_map(|sampler| kernels::sample(49152, sampler).expect("a sampler"))
        .collect();
    for graph in decoder_graphs() {
        for precision in [Precision::Fp32, Precision::Fp16] {
            calls.extend(kernels::select(&graph, &graph.nodes[0], precision).expect("a kernel"));
        }
        let int8 = Storage { precision: Precision::Fp16, kv: Kv::Int8 };
        calls.extend(kernels::select(&graph, &graph.nodes[0], int8).expect("a kernel"));
    }
    let unchecked = calls.iter().filter(|call| !compile(&call.kernel).1).count();
    if unchecked > 0 {
        let why = format!("{unchecked} of {} kernels not validated: spirv-val is not installed", calls.len());
        skipped("every_decoder_kernel_is_valid", why);
    }
}

#[test]
fn the_list_of_shaders_is_the_folder() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/shaders");
    let names = |folder: &std::path::Path| -> Vec<String> {
        let entries = std::fs::read_dir(folder).expect("the shader folder");
        entries.map(|e| e.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
    };
    let mut files: Vec<String> = names(&folder).into_iter().filter(|n| n.ends_with(".comp")).collect();
    files.extend(names(&folder.join("lib")).into_iter().map(|n| format!("lib/{n}")));
    files.sort();
    let listed: Vec<&str> = shaders::FILES.iter().map(|(name, _)| *name).collect();
    assert_eq!(files, listed);
}
