//! Every shader compiles in the variants that the decoder uses, and spirv-val accepts it.

use crate::nodes::{self, heads};
use onnxcast::graph::{Graph, Mask, Norm, Rotary, UnaryOp};
use onnxcast::plan::{Call, Precision, kernels};
use onnxcast::shaders;
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

#[test]
fn every_kernel_compiles_and_is_valid() {
    let mut calls: Vec<Call> = kernels::sample(49152).expect("a sampling kernel");
    for graph in decoder_graphs() {
        for precision in [Precision::Fp32, Precision::Fp16] {
            calls.extend(kernels::select(&graph, &graph.nodes[0], precision).expect("a kernel"));
        }
    }
    let mut skipped = 0;
    for call in &calls {
        let words = shaders::compile(&call.kernel).unwrap_or_else(|e| panic!("{e}"));
        match validate(&words) {
            Some(said) => said.unwrap_or_else(|e| panic!("{} {:?}: {e}", call.kernel.name, call.kernel.defines)),
            None => skipped += 1,
        }
    }
    println!("{} kernels compiled, {skipped} of them not validated: spirv-val is not installed", calls.len());
}
