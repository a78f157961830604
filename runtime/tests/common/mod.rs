//! A small program of add and copy kernels, written by hand.
#![allow(dead_code, clippy::unwrap_used)]

pub mod decoder;
#[path = "../../../tests/common/skipped.rs"]
pub mod skipped;

use onnxcast_runtime::device::{Device, Options as DeviceOptions};
use onnxcast_runtime::program::*;
use onnxcast_runtime::recorder::Code;
use std::sync::OnceLock;

pub fn device() -> &'static Device {
    static DEVICE: OnceLock<Device> = OnceLock::new();
    DEVICE.get_or_init(|| Device::open(&DeviceOptions::default()).expect("tests need a Vulkan device"))
}

pub fn compile(name: &str, glsl: &str) -> Code {
    let compiler = shaderc::Compiler::new().unwrap();
    let mut options = shaderc::CompileOptions::new().unwrap();
    options.set_target_env(shaderc::TargetEnv::Vulkan, shaderc::EnvVersion::Vulkan1_3 as u32);
    options.set_target_spirv(shaderc::SpirvVersion::V1_6);
    let result = compiler.compile_into_spirv(glsl, shaderc::ShaderKind::Compute, name, "main", Some(&options));
    Code::from_bytes(result.unwrap().as_binary_u8()).unwrap()
}

pub const HEAD: &str = "#version 460
#extension GL_EXT_buffer_reference : require
layout(local_size_x = 64) in;
layout(buffer_reference, std430, buffer_reference_align = 4) buffer F { float v[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) buffer U { uint v[]; };
";

/// `y[i] = a[i] + b[i]` for `n` elements.
pub fn add(n: u32) -> (Kernel, Code) {
    let glsl = format!(
        "{HEAD} layout(push_constant) uniform P {{ F a; F b; F y; }};
        void main() {{ uint i = gl_GlobalInvocationID.x; if (i < {n}) y.v[i] = a.v[i] + b.v[i]; }}"
    );
    (kernel(&format!("add_f32_{n}"), 3, 0b100), compile("add", &glsl))
}

/// `y[i] = a[i]` for `n` elements and `over` more than the buffer has.
pub fn copy(n: u32, over: u32) -> (Kernel, Code) {
    let m = n + over;
    let glsl = format!(
        "{HEAD} layout(push_constant) uniform P {{ F a; F y; }};
        void main() {{ uint i = gl_GlobalInvocationID.x; if (i < {m}) y.v[i] = i < {n} ? a.v[i] : 7.0; }}"
    );
    (kernel(&format!("copy_f32_{n}_{over}"), 2, 0b10), compile("copy", &glsl))
}

pub fn kernel(name: &str, args: u32, writes: u32) -> Kernel {
    Kernel {
        name: name.to_string().into(),
        source: "test.comp".into(),
        defines: vec![].into(),
        args,
        writes,
        matrix: vec![].into(),
    }
}

pub fn port(name: &'static str, n: u32) -> Port {
    Port { name: name.into(), numpy: "float32".into(), elem: Elem::F32, shape: vec![n].into() }
}

pub fn dispatch(kernel: u32, n: u32, args: &[Arg], barrier: bool, note: &'static str) -> Dispatch {
    Dispatch { kernel, grid: [n.div_ceil(64), 1, 1], args: args.to_vec().into(), barrier, note: note.into() }
}

/// y = x + w0 + w1 + w2, layer by layer through a table, the state keeping the sum of all runs so far.
pub fn layered(n: u32) -> (Program, Vec<Code>, Vec<Vec<u8>>) {
    let (add, add_code) = add(n);
    let (copy, copy_code) = copy(n, 0);
    let bytes = u64::from(n) * 4;
    let far = bytes.next_multiple_of(256);
    let tensor =
        |l: u32| Tensor { name: format!("w{l}").into(), layout: "rows_f32".into(), shape: vec![n].into(), bytes };
    let block = |table: Vec<Vec<Arg>>, dispatches: Vec<Dispatch>| Block {
        phase: Phase::Body,
        table: table.into_iter().map(Into::into).collect::<Vec<List<Arg>>>().into(),
        dispatches: dispatches.into(),
    };
    let layers = (0..3).map(|l| vec![Arg::Weight(l)]).collect();
    let arena = |i: u64| Arg::Arena(i * far);
    let bucket = Bucket {
        name: "all".into(),
        rows: 1,
        arena_bytes: 2 * far,
        inputs: vec![port("x", n)].into(),
        outputs: vec![port("y", n), port("sum", n)].into(),
        blocks: vec![
            block(vec![vec![]], vec![dispatch(1, n, &[Arg::Input(0), arena(0)], true, "copy x")]),
            block(
                layers,
                vec![
                    dispatch(0, n, &[arena(0), Arg::Column(0), arena(1)], true, "layer {l} add"),
                    dispatch(1, n, &[arena(1), arena(0)], true, "layer {l} copy"),
                ],
            ),
            block(
                vec![vec![]],
                vec![
                    dispatch(1, n, &[arena(0), Arg::Output(0)], true, "copy y"),
                    dispatch(0, n, &[arena(0), Arg::State(0), Arg::State(0)], false, "add to the state"),
                    dispatch(1, n, &[Arg::State(0), Arg::Output(1)], true, "copy the state"),
                ],
            ),
        ]
        .into(),
    };
    let program = Program {
        name: "layered".into(),
        plan_hash: "00".into(),
        kernels: vec![add, copy].into(),
        variants: vec![].into(),
        tensors: (0..3).map(tensor).collect::<Vec<_>>().into(),
        states: vec![State { name: "sum".into(), bytes, shape: vec![n].into(), dtype: Elem::F32 }].into(),
        buckets: vec![bucket].into(),
        decoder: None,
    };
    let weights = (0..3u32).map(|l| floats(n, |i| (i * (l + 1)) as f32)).collect();
    (program, vec![add_code, copy_code], weights)
}

pub fn floats(n: u32, f: impl Fn(u32) -> f32) -> Vec<u8> {
    (0..n).flat_map(|i| f(i).to_le_bytes()).collect()
}
