//! ONNX file to Graph. In: a file and a value for every symbolic dimension. Out: a graph in which every shape is a number and
//! all shape arithmetic is folded. Promise: no guess; one error lists everything that is missing or unsupported.
//!
//! The stages, in order: `proto` reads, `numbers` and `bind` give inputs and dimensions their numbers, `order` sorts, `walk` takes the nodes one by one
//! and `lower` turns each into operators of our graph, folding what is constant; `sweep` drops what is left unread. `decoder` does all
//! that twice where an export has its positions as constants (`positions`). `compose` makes several graphs one.

mod attrs;
mod audit;
mod bind;
mod compose;
mod decoder;
mod expr;
mod external;
mod functions;
mod inspect;
mod lower;
mod mmap;
mod numbers;
mod order;
mod package;
mod positions;
mod proto;
mod read;
mod support;
mod sweep;
mod tensors;
#[cfg(test)]
mod tests;
mod walk;
mod weights;

pub use audit::{Audit, DataFile, audit};
pub use compose::{Composed, Keep, Part, compose};
pub use decoder::load_decoder;
pub use inspect::{Inspection, Port, inspect};
pub use package::{Package, Placed, Reference};
pub use support::{Report, support};
pub use walk::NodeReport;

use crate::error::{Error, Result};
use crate::graph::{Graph, Tensor, verify};
use onnx_ir::{Message, TensorProto};
use std::collections::BTreeMap;
use std::path::Path;

/// Values for symbolic dimensions, by `dim_param`, and for inputs that are one whole number, by name.
pub type Bindings = BTreeMap<String, usize>;

/// How to import.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub bind: Bindings,
    /// Accept missing external data files: their tensors become `Data::Absent` (plans and snapshots need no weights).
    pub without_weights: bool,
    /// Inputs that become constants: a mode switch such as `use_cache_branch`, or the shape operand of a test case.
    pub fixed: BTreeMap<String, Tensor>,
}

/// Imports one ONNX file.
pub fn load(path: &Path, options: &Options) -> Result<Graph> {
    let model = proto::read(path)?;
    finish(&model, options).map_err(|e| e.at(path.display().to_string()))
}

/// Imports a model held in memory. External data is looked for in `folder`.
pub fn load_bytes(bytes: &[u8], folder: &Path, options: &Options) -> Result<Graph> {
    let model = proto::parse(&bytes::Bytes::copy_from_slice(bytes), folder)?;
    finish(&model, options)
}

/// Reads a serialised `TensorProto`, such as the inputs and outputs of ONNX's own test cases.
pub fn tensor_file(path: &Path) -> Result<Tensor> {
    let bytes = mmap::map(path)?;
    let parsed = std::panic::catch_unwind(|| TensorProto::parse_from_tokio_bytes(&bytes));
    let proto = parsed.ok().and_then(|p| p.ok());
    let proto = proto.ok_or_else(|| Error::new("import", "this is not a tensor").at(path.display().to_string()))?;
    let folder = path.parent().unwrap_or(Path::new("."));
    weights::tensor(&proto, &external::Files::new(folder, false))
}

fn finish(model: &proto::Model, options: &Options) -> Result<Graph> {
    let mut fixed = numbers::constants(model, &options.bind);
    fixed.extend(options.fixed.clone());
    let walked = walk::walk(model, &Options { fixed, ..options.clone() }, None)?;
    let problems = walked.problems();
    if !problems.is_empty() {
        let nodes = walked.nodes.len();
        return Err(Error::new(
            "import",
            format!("{} of {nodes} nodes cannot be imported:\n  {}", problems.len(), problems.join("\n  ")),
        ));
    }
    let graph = sweep::sweep(walked.graph);
    verify(&graph)?;
    Ok(graph)
}
