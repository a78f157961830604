//! The GLSL of every kernel. In: a `Kernel` (source file and defines). Out: its SPIR-V, or the files that make it. Promise: the
//! same compiler, target and settings as `vulkano_shaders::shader!`, so in-process and built-in modules are the same program.

mod matrix;

use crate::error::{Error, Result};
use onnxcast_runtime::program::{Kernel, Text};
use shaderc::{CompileOptions, Compiler, EnvVersion, ResolvedInclude, ShaderKind, SpirvVersion, TargetEnv};
use std::collections::BTreeSet;

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        /// Every shader file: path under the shader folder, text.
        pub const FILES: &[(&str, &str)] = &[$(($name, include_str!($name))),*];
    };
}

files![
    "activation.comp",
    "arg_extreme.comp",
    "argmax.comp",
    "attention.comp",
    "batch_matmul.comp",
    "begin_held.comp",
    "binary.comp",
    "cached_attention.comp",
    "cast.comp",
    "clip.comp",
    "conv.comp",
    "copy.comp",
    "cumsum.comp",
    "draw_pick.comp",
    "draw_scale.comp",
    "draw_search.comp",
    "draw_sum.comp",
    "drawn_token.comp",
    "gated_linear.comp",
    "gather.comp",
    "gather_elements.comp",
    "gather_nd.comp",
    "gather_rows.comp",
    "goes_on.comp",
    "halves.comp",
    "keep_held.comp",
    "kv_quantise.comp",
    "kv_write.comp",
    "last_row.comp",
    "lib/add_up.glsl",
    "lib/attention.glsl",
    "lib/attention_matrix.glsl",
    "lib/best.glsl",
    "lib/cache.glsl",
    "lib/chunk.glsl",
    "lib/draw.glsl",
    "lib/fixed.glsl",
    "lib/group.glsl",
    "lib/halves.glsl",
    "lib/handed.glsl",
    "lib/handover.glsl",
    "lib/index.glsl",
    "lib/lanes.glsl",
    "lib/mass.glsl",
    "lib/matmul.glsl",
    "lib/matmul_matrix.glsl",
    "lib/matrix.glsl",
    "lib/matrix_emulated.glsl",
    "lib/matvec.glsl",
    "lib/memory.glsl",
    "lib/merge.glsl",
    "lib/next.glsl",
    "lib/norm.glsl",
    "lib/order.glsl",
    "lib/place.glsl",
    "lib/prelude.glsl",
    "lib/rope.glsl",
    "lib/scalar.glsl",
    "lib/scan.glsl",
    "lib/sight.glsl",
    "lib/split_attention.glsl",
    "lib/step.glsl",
    "lib/subgroup.glsl",
    "lib/threefry.glsl",
    "lib/unary.glsl",
    "lib/walk.glsl",
    "lib/weight_halves.glsl",
    "lib/weights.glsl",
    "lib/window.glsl",
    "linear.comp",
    "next_token.comp",
    "norm.comp",
    "one_hot.comp",
    "pad.comp",
    "pool.comp",
    "qkv.comp",
    "reduce.comp",
    "rope.comp",
    "scatter_elements.comp",
    "scatter_nd.comp",
    "softmax.comp",
    "splice.comp",
    "split_attention.comp",
    "step_word.comp",
    "take_token.comp",
    "top_k.comp",
    "trilu.comp",
    "unary.comp",
    "where.comp",
];

/// The text of a shader file.
pub fn text(path: &str) -> Option<&'static str> {
    FILES.iter().find(|(name, _)| *name == path).map(|(_, text)| *text)
}

/// A shader and all that it includes, directly or not, sorted by path.
pub fn closure(source: &str) -> Result<Vec<(&'static str, &'static str)>> {
    let mut found = BTreeSet::new();
    let mut open = vec![source.to_string()];
    while let Some(path) = open.pop() {
        let (name, text) = FILES
            .iter()
            .find(|(name, _)| *name == path)
            .ok_or_else(|| Error::new("shaders", format!("there is no shader file '{path}'")))?;
        if found.insert((*name, *text)) {
            open.extend(includes(text).map(|inner| resolve(name, inner)));
        }
    }
    Ok(found.into_iter().collect())
}

/// The quoted paths of a file's `#include` lines.
fn includes(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| line.trim().strip_prefix("#include \"")?.strip_suffix('"'))
}

/// `inner` as written in `outer`, as a path under the shader folder.
fn resolve(outer: &str, inner: &str) -> String {
    match outer.rsplit_once('/') {
        Some((folder, _)) => format!("{folder}/{inner}"),
        None => inner.to_string(),
    }
}

/// Compiles a kernel to SPIR-V 1.6 for Vulkan 1.3, in the form for any device. Takes some tens of milliseconds.
pub fn compile(kernel: &Kernel) -> Result<Vec<u32>> {
    build(kernel, &[])
}

/// Compiles a kernel's form for matrix units; None when it has none.
pub fn compile_matrix(kernel: &Kernel) -> Result<Option<Vec<u32>>> {
    if kernel.matrix.is_empty() {
        return Ok(None);
    }
    let words = build(kernel, &kernel.matrix)?;
    matrix::name_types(words).map(Some).map_err(|e| e.at(format!("kernel {}, matrix form", kernel.name)))
}

/// Compiles a kernel's form for matrix units as one for any device with enough shared memory, slow, to be held to the plain form;
/// None when it has none.
pub fn compile_emulated(kernel: &Kernel) -> Result<Option<Vec<u32>>> {
    if kernel.matrix.is_empty() {
        return Ok(None);
    }
    let mut more = kernel.matrix.to_vec();
    more.push(("EMULATED".into(), "1".into()));
    build(kernel, &more).map(Some)
}

fn build(kernel: &Kernel, more: &[(Text, Text)]) -> Result<Vec<u32>> {
    let place = || format!("kernel {}", kernel.name);
    let source = text(&kernel.source)
        .ok_or_else(|| Error::new("shaders", format!("there is no shader file '{}'", kernel.source)).at(place()))?;
    let missing = || Error::new("shaders", "shaderc could not be initialised");
    let compiler = Compiler::new().ok_or_else(missing)?;
    let mut options = CompileOptions::new().ok_or_else(missing)?;
    options.set_target_env(TargetEnv::Vulkan, EnvVersion::Vulkan1_3 as u32);
    options.set_target_spirv(SpirvVersion::V1_6);
    options.set_include_callback(|inner, _, outer, _| {
        let path = resolve(outer, inner);
        let content = text(&path).ok_or_else(|| format!("there is no shader file '{path}'"))?;
        Ok(ResolvedInclude { resolved_name: path, content: content.to_string() })
    });
    for (name, value) in kernel.defines.iter().chain(more) {
        options.add_macro_definition(name, Some(value));
    }
    compiler
        .compile_into_spirv(source, ShaderKind::Compute, &kernel.source, "main", Some(&options))
        .map(|artifact| artifact.as_binary().to_vec())
        .map_err(|e| Error::new("shaders", e.to_string()).at(place()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closure_holds_what_includes_include() {
        let names: Vec<&str> = closure("linear.comp").unwrap().into_iter().map(|(name, _)| name).collect();
        assert!(names.contains(&"lib/memory.glsl") && names.contains(&"lib/matmul.glsl"), "{names:?}");
    }

    #[test]
    fn a_missing_define_is_an_error_that_names_it() {
        let kernel = Kernel {
            name: "linear_without_shape".into(),
            source: "linear.comp".into(),
            defines: vec![("M".into(), "1".into())].into(),
            args: 3,
            writes: 4,
            matrix: vec![].into(),
        };
        let message = compile(&kernel).unwrap_err().to_string();
        assert!(message.contains("define M K N"), "{message}");
    }

    #[test]
    fn every_file_opens_with_its_contract() {
        for (name, text) in FILES {
            assert!(text.starts_with("// "), "{name} has no contract");
        }
    }
}
