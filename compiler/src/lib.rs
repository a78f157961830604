//! The onnxcast compiler as a library: import -> passes -> quantise -> plan -> emit, over `graph`. Start at `pipeline`.

#![deny(unsafe_code)]

pub mod bucket;
pub mod cli;
pub mod emit;
pub mod error;
pub mod fetch;
pub mod files;
pub mod graph;
pub mod import;
pub mod init;
pub mod job;
pub mod lock;
pub mod manifest;
pub mod metadata;
pub mod output;
pub mod passes;
pub mod pictures;
pub mod pipeline;
pub mod plan;
pub mod quantise;
pub mod recast;
pub mod repack;
pub mod shaders;
pub mod storage;
pub mod texts;
pub mod workflow;
