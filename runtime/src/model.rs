//! A model as its executable holds it. In: constants of the generated module. Out: what the CLI needs. Promise: no field is
//! interpreted before it is used, and nothing here knows a particular model.

use crate::program::Program;
use crate::sampling::Sampling;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use vulkano::device::Device;
use vulkano::shader::ShaderModule;
use vulkano::{Validated, VulkanError};

/// Makes the shader module of one kernel: the `load` that `vulkano_shaders::shader!` writes.
pub type Load = fn(Arc<Device>) -> Result<Arc<ShaderModule>, Validated<VulkanError>>;

/// A kernel's modules: for any device, and where the kernel has one the form for matrix units.
#[derive(Clone, Copy)]
pub struct Forms {
    pub plain: Load,
    pub matrix: Option<Load>,
}

/// Everything that a per-model executable is made of, save the weights.
pub struct Model {
    pub program: fn() -> Program,
    /// One entry a kernel, in the order of `Program::kernels`.
    pub kernels: &'static [Forms],
    pub card: Card,
    /// Present when the model takes text.
    pub text: Option<Text>,
    /// How tokens are drawn unless the command line says otherwise; none is greedily.
    pub sampling: Option<Sampling>,
    /// Present when the model looks at pictures.
    pub picture: Option<Picture>,
    /// Golden file (JSON, docs/golden.md) for `verify`, where the manifest names one.
    pub golden: Option<&'static str>,
}

/// What `info` prints about the origin of the model.
pub struct Card {
    pub title: &'static str,
    pub source: &'static str,
    pub licence: &'static str,
    /// `fp32`, `fp16`, `int4`.
    pub precision: &'static str,
}

/// Tokenizer, template and stops.
pub struct Text {
    /// `tokenizer.json`.
    pub tokenizer: &'static [u8],
    /// `tokenizer_config.json` (bos/eos tokens, chat template); empty when the model has none.
    pub config: &'static str,
    /// The chat template, when it stands in a file of its own; overrides the config's.
    pub template: Option<&'static str>,
    /// Token ids that end an answer.
    pub stops: &'static [u32],
    /// Default system prompt; none leaves it to the template.
    pub system: Option<&'static str>,
}

/// What becomes of a picture: its pixels, and its place in a prompt.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Picture {
    /// Of the tower's input.
    pub height: u32,
    pub width: u32,
    pub resample: Resample,
    /// A channel's value of 0 to 255 becomes `(value * rescale - mean) / std`.
    pub rescale: f32,
    pub mean: [f32; 3],
    pub std: [f32; 3],
    /// Stands for one row of a picture in a prompt.
    pub token: Token,
    /// Text around the rows of a picture.
    pub before: &'static str,
    pub after: &'static str,
}

/// How pictures are resized: the filters of Pillow under their names.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Resample {
    Nearest,
    Bilinear,
    Bicubic,
    Lanczos,
}

/// A token by its text, of which the tokenizer makes one token, or by its id.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Token {
    Text(&'static str),
    Id(u32),
}

/// The [`Forms`] of a kernel by the names of their modules: for any device, then for matrix units.
#[macro_export]
macro_rules! forms {
    ($plain:ident) => {
        $crate::model::Forms { plain: $plain::load, matrix: None }
    };
    ($plain:ident, $matrix:ident) => {
        $crate::model::Forms { plain: $plain::load, matrix: Some($matrix::load) }
    };
}

/// The module of one form of a kernel: its name, then what `vulkano_shaders::shader!` takes, GLSL with its defines or SPIR-V; or both
/// forms, one behind the other.
#[macro_export]
macro_rules! form {
    ($name:ident, path: $path:literal, define: $defines:tt, matrix: $matrix:ident, bytes: $module:literal) => {
        $crate::form!($name, path: $path, define: $defines);
        $crate::form!($matrix, bytes: $module);
    };
    ($name:ident, path: $($source:tt)*) => {
        mod $name {
            $crate::vulkano_shaders::shader! {
                ty: "compute",
                vulkan_version: "1.3",
                spirv_version: "1.6",
                generate_structs: false,
                path: $($source)*
            }
        }
    };
    ($name:ident, bytes: $($module:tt)*) => {
        mod $name {
            $crate::vulkano_shaders::shader! { generate_structs: false, bytes: $($module)* }
        }
    };
}
