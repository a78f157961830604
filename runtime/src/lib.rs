//! The runtime that every model executable links. It knows Vulkan, tokens and files; it knows no model.
//! Read in this order: `program` (what it runs), `step`, `model`, `device`, `weights`, `recorder`, `session`, `text`, `cli`.

pub mod bench;
pub mod cli;
pub mod cost;
pub mod error;
pub mod model;
pub mod npz;
pub mod program;
pub mod step;
pub mod text;
pub mod verify;
