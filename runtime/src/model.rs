//! A model as its executable holds it. In: constants of the generated module. Out: what the CLI needs. Promise: no field is
//! interpreted before it is used, and nothing here knows a particular model.

use crate::program::Program;
use std::sync::Arc;
use vulkano::device::Device;
use vulkano::shader::ShaderModule;
use vulkano::{Validated, VulkanError};

/// Makes the shader module of one kernel: the `load` that `vulkano_shaders::shader!` writes.
pub type Load = fn(Arc<Device>) -> Result<Arc<ShaderModule>, Validated<VulkanError>>;

/// Everything that a per-model executable is made of, save the weights.
pub struct Model {
    pub program: fn() -> Program,
    /// One loader a kernel, in the order of `Program::kernels`.
    pub kernels: &'static [Load],
    pub card: Card,
    /// Present when the model takes text.
    pub text: Option<Text>,
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
