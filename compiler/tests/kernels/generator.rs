//! lib/threefry.glsl by itself. In: keys and counters, or random words. Out: what the shader makes of them. Promise: the file that
//! the samplers include, in a kernel that does nothing else.

use crate::device::device;
use onnxcast::shaders;
use onnxcast_runtime::array::{Array, Data};
use onnxcast_runtime::engine::{Engine, Options};
use onnxcast_runtime::program::{Arg, Block, Bucket, Dispatch, Elem, Kernel, Phase, Port, Program};
use onnxcast_runtime::recorder::Code;
use onnxcast_runtime::weights::WeightSource;

/// Runs `body` for each of `count` threads `i` over `x` and `y`, words.
fn run(body: &str, x: &[u32], count: u32, words: u32) -> Vec<u32> {
    let glsl = format!(
        "#version 460
        #extension GL_EXT_buffer_reference : require
        layout(local_size_x = 64) in;
        layout(buffer_reference, std430, buffer_reference_align = 4) buffer Uints {{ uint v[]; }};
        layout(push_constant) uniform Args {{ Uints x; Uints y; }} args;
        {}
        void main() {{ uint i = gl_GlobalInvocationID.x; if (i < {count}u) {{ {body} }} }}",
        shaders::text("lib/threefry.glsl").unwrap()
    );
    let compiler = shaderc::Compiler::new().unwrap();
    let mut options = shaderc::CompileOptions::new().unwrap();
    options.set_target_env(shaderc::TargetEnv::Vulkan, shaderc::EnvVersion::Vulkan1_3 as u32);
    options.set_target_spirv(shaderc::SpirvVersion::V1_6);
    let made = compiler.compile_into_spirv(&glsl, shaderc::ShaderKind::Compute, "generator", "main", Some(&options));
    let code = Code::Words(made.unwrap_or_else(|e| panic!("{e}")).as_binary().to_vec().into());
    let port = |name: &'static str, n: u32| Port {
        name: name.into(),
        numpy: "uint32".into(),
        elem: Elem::U32,
        shape: vec![n].into(),
    };
    let dispatch = Dispatch {
        kernel: 0,
        grid: [count.div_ceil(64), 1, 1],
        args: vec![Arg::Input(0), Arg::Output(0)].into(),
        barrier: true,
        note: "generator".into(),
    };
    let bucket = Bucket {
        name: "all".into(),
        rows: 1,
        arena_bytes: 0,
        inputs: vec![port("x", x.len() as u32)].into(),
        outputs: vec![port("y", count * words)].into(),
        blocks: vec![Block {
            phase: Phase::Body,
            table: vec![vec![].into()].into(),
            dispatches: vec![dispatch].into(),
        }]
        .into(),
    };
    let kernel = Kernel {
        name: "generator".into(),
        source: "test.comp".into(),
        defines: vec![].into(),
        args: 2,
        writes: 2,
        matrix: vec![].into(),
    };
    let program = Program {
        name: "generator".into(),
        plan_hash: "0".into(),
        kernels: vec![kernel].into(),
        variants: vec![].into(),
        tensors: vec![].into(),
        states: vec![].into(),
        buckets: vec![bucket].into(),
        decoder: None,
    };
    let mut engine =
        Engine::new(device(), program, &[code], &WeightSource::none(), Options::default(), &mut |_, _| {}).unwrap();
    let input = Array { shape: vec![x.len()], data: Data::U32(x.to_vec()) };
    match engine.run_raw(0, &[("x", &input)]).unwrap().remove(0).1.data {
        Data::U32(y) => y,
        other => panic!("words, not {other:?}"),
    }
}

fn halves(words: &[u64]) -> Vec<u32> {
    words.iter().flat_map(|w| [*w as u32, (*w >> 32) as u32]).collect()
}

/// Both words for each key (two words) and counter (two words).
pub fn words(cases: &[[u64; 4]]) -> Vec<[u64; 2]> {
    let body = "uvec2 w[4]; for (uint k = 0u; k < 4u; k++) w[k] = uvec2(args.x.v[8u * i + 2u * k], args.x.v[8u * i + 2u * k + 1u]);
        uvec2 x[2]; threefry2x64(uvec2[2](w[0], w[1]), uvec2[2](w[2], w[3]), x);
        args.y.v[4u * i] = x[0].x; args.y.v[4u * i + 1u] = x[0].y; args.y.v[4u * i + 2u] = x[1].x; args.y.v[4u * i + 3u] = x[1].y;";
    let y = run(body, &halves(&cases.concat()), cases.len() as u32, 4);
    let word = |w: &[u32]| u64::from(w[0]) | u64::from(w[1]) << 32;
    y.chunks_exact(4).map(|w| [word(&w[..2]), word(&w[2..])]).collect()
}

/// The float of each word.
pub fn units(words: &[u64]) -> Vec<f32> {
    let body = "args.y.v[i] = floatBitsToUint(unit_float(uvec2(args.x.v[2u * i], args.x.v[2u * i + 1u])));";
    run(body, &halves(words), words.len() as u32, 1).into_iter().map(f32::from_bits).collect()
}
