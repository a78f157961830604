//! Kernels against the interpreter, on any Vulkan device, and against spirv-val where it is installed.

mod decoder;
mod device;
mod generic;
mod nodes;
mod promises;
mod sample;
mod spirv;
