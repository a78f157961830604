//! Kernels against the interpreter, on any Vulkan device, and against spirv-val where it is installed.

mod axes;
mod decoder;
mod device;
mod elementwise;
mod nodes;
mod one;
mod promises;
mod quantised;
mod sample;
mod spirv;
