//! Kernels against the interpreter, on any Vulkan device, and against spirv-val where it is installed.

mod axes;
mod chains;
mod decoder;
mod device;
mod draw;
mod elementwise;
mod generator;
mod kv;
mod nodes;
mod one;
mod policy;
mod promises;
mod quantised;
mod sample;
#[path = "../../../tests/common/skipped.rs"]
mod skipped;
mod spirv;
