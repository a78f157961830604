//! The onnxcast compiler as a library: import -> graph -> passes -> plan -> emit. Start at `pipeline`.

pub mod emit;
pub mod error;
pub mod graph;
pub mod import;
pub mod manifest;
pub mod passes;
pub mod plan;
pub mod shaders;
