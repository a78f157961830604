//! The runtime that every model executable links. It knows Vulkan, tokens and files; it knows no model.
//! Read in this order: `program` (what it runs), `step`, `sampling`, `model`; `ledger`, `kept`, `matrix`, `device`, `memory`, `pages`,
//! `weights`; `check`, `spirv`, `commands`, `submit`, `transfer`; `cost`, `residency`, `conveyor`, `holding` (weights beyond a budget);
//! `layout`, `tuning`, `recorder`, `executables`, `hasher`, `engine`; `array`, `raw`, `npz`; `generator`, `profile`, `session`, `text`,
//! `picture`; what measures and compares: `host`, `bench`, `audit`, `verify`, `verify_rows`, `ppl`; and `cli` on top. Each imports those
//! before it, none those behind.

#![deny(unsafe_code)]
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::undocumented_unsafe_blocks, clippy::print_stdout)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

pub mod array;
pub mod audit;
pub mod bench;
pub mod check;
pub mod cli;
mod commands;
mod conveyor;
pub mod cost;
pub mod device;
pub mod engine;
pub mod error;
mod executables;
pub mod generator;
pub mod hasher;
mod holding;
pub mod host;
pub mod kept;
pub mod layout;
pub mod ledger;
pub mod matrix;
pub mod memory;
pub mod model;
pub mod npz;
mod pages;
pub mod picture;
pub mod ppl;
pub mod profile;
pub mod program;
pub mod raw;
pub mod recorder;
pub mod residency;
pub mod sampling;
pub mod session;
pub mod spirv;
pub mod step;
mod submit;
pub mod text;
mod transfer;
mod tuning;
pub mod verify;
pub mod verify_rows;
pub mod weights;

/// For the generated module, which compiles its kernels with `shader!`.
pub use vulkano;
pub use vulkano_shaders;
