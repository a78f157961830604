//! What goes wrong before anything runs: one clear line each, with the exit code of its kind.

mod common;

use common::{compile, device, dispatch, kernel, port};
use onnxcast_runtime::device::{Device, Options as DeviceOptions, Pick, list};
use onnxcast_runtime::engine::{Engine, Options};
use onnxcast_runtime::error::{Error, Kind};
use onnxcast_runtime::program::*;
use onnxcast_runtime::weights::WeightSource;
use std::process::Command;

/// A program of one dispatch of `glsl`, which takes one address.
fn single(glsl: &str, state_bytes: u64) -> Result<Engine, Error> {
    let code = [compile("k", glsl)];
    let program = Program {
        name: "single".into(),
        plan_hash: "00".into(),
        kernels: vec![kernel("the_kernel", 1, 1)].into(),
        variants: vec![].into(),
        tensors: vec![].into(),
        states: vec![State { name: "cache".into(), bytes: state_bytes, shape: vec![].into(), dtype: Elem::F32 }].into(),
        buckets: vec![Bucket {
            name: "b".into(),
            rows: 1,
            arena_bytes: 16,
            inputs: vec![].into(),
            outputs: vec![port("y", 1)].into(),
            blocks: vec![Block {
                phase: Phase::Body,
                table: vec![vec![].into()].into(),
                dispatches: vec![dispatch(0, 1, &[Arg::Output(0)], true, "only")].into(),
            }]
            .into(),
        }]
        .into(),
        decoder: None,
    };
    Engine::new(device(), program, &code, &WeightSource::none(), Options::default(), &mut |_, _| {})
}

const OK: &str = "#version 460
#extension GL_EXT_buffer_reference : require
layout(buffer_reference, std430) buffer F { float v[]; };
layout(push_constant) uniform P { F y; };
";

fn refused(result: Result<Engine, Error>) -> Error {
    let error = result.err().expect("must be refused");
    eprintln!("{error}");
    assert!(!error.to_string().contains('\n'), "one line: {error}");
    error
}

#[test]
fn a_kernel_that_needs_an_absent_feature_is_named_with_the_feature() {
    let glsl = format!("{OK} layout(local_size_x = 1) in; void main() {{ y.v[0] = float(double(y.v[1]) * 3.0LF); }}");
    let error = refused(single(&glsl, 4));
    assert_eq!(error.kind, Kind::Unfit);
    assert!(error.to_string().contains("the_kernel") && error.to_string().contains("shader_float64"), "{error}");
}

#[test]
fn a_workgroup_or_shared_memory_over_the_limits_is_refused_before_a_pipeline_is_made() {
    let wide = format!("{OK} layout(local_size_x = 1024, local_size_y = 64) in; void main() {{ y.v[0] = 1.0; }}");
    let error = refused(single(&wide, 4));
    assert!(
        error.to_string().contains("the_kernel") && error.to_string().contains("max_compute_work_group"),
        "{error}"
    );
    assert_eq!((error.kind, error.exit_code()), (Kind::Unfit, 4));
    let large = format!(
        "{OK} layout(local_size_x = 1) in; shared float s[1 << 20];
        void main() {{ s[gl_WorkGroupID.x] = y.v[1]; y.v[0] = s[gl_WorkGroupID.x ^ 1]; }}"
    );
    let error = refused(single(&large, 4));
    assert!(
        error.to_string().contains("the_kernel") && error.to_string().contains("4194304 bytes of shared"),
        "{error}"
    );
    assert_eq!(error.kind, Kind::Unfit);
}

#[test]
fn what_no_buffer_can_hold_is_refused_with_both_sizes() {
    let glsl = format!("{OK} layout(local_size_x = 1) in; void main() {{ y.v[0] = 1.0; }}");
    let error = refused(single(&glsl, device().limits().max_buffer_bytes + 1));
    assert_eq!(error.kind, Kind::Unfit);
    assert!(error.to_string().starts_with("'cache' takes "), "{error}");
    single(&glsl, 4).unwrap();
}

#[test]
fn a_device_that_does_not_exist_is_refused_with_the_choices() {
    let error =
        Device::open(&DeviceOptions { pick: Pick::Name("no such".into()), ..Default::default() }).err().unwrap();
    assert_eq!((error.kind, error.exit_code()), (Kind::NoDevice, 3));
    assert!(error.to_string().contains("0: "), "{error}");
}

/// Runs this test program again, as `child`, without any driver.
#[test]
fn without_a_driver_there_is_one_line_that_says_what_to_install() {
    if std::env::var_os("ONNXCAST_TEST_CHILD").is_some() {
        let error = list().unwrap_err();
        println!("kind {:?}: {error}", error.kind);
        return;
    }
    let name = "without_a_driver_there_is_one_line_that_says_what_to_install";
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env("ONNXCAST_TEST_CHILD", "1")
        .envs([("VK_ICD_FILENAMES", "/nonexistent.json"), ("VK_DRIVER_FILES", "/nonexistent.json")])
        .output()
        .unwrap();
    let out = String::from_utf8_lossy(&child.stdout).into_owned();
    assert!(child.status.success(), "{out}");
    let line = out.lines().find(|l| l.contains("kind ")).unwrap_or_default();
    assert!(line.contains("kind NoDevice") && line.contains("mesa-vulkan-drivers"), "{out}");
}
