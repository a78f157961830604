//! The protobuf. In: a file or bytes. Out: a `ModelProto` with a graph and usable opsets. Promise: any bytes give a model or an
//! error; large tensors stay in the mapped file.

use super::mmap;
use crate::error::{Error, Result};
use bytes::Bytes;
use onnx_ir::{AttributeProto, GraphProto, Message, ModelProto, NodeProto};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// The ai.onnx versions we know.
pub const OPSETS: std::ops::RangeInclusive<i64> = 11..=24;

/// Operators that mean the same since the version beside them; a model of these alone may be older than [`OPSETS`].
const UNCHANGED: &[(&str, i64)] = &[("And", 7), ("Identity", 1), ("Not", 1), ("Or", 7), ("Transpose", 1), ("Xor", 7)];

/// Version of each operator domain; "ai.onnx" is spelled "".
pub type Opsets = HashMap<String, i64>;

/// A parsed file and the folder that its external data is relative to.
pub struct Model {
    pub proto: ModelProto,
    pub folder: PathBuf,
    pub opsets: Opsets,
}

/// Reads a model file.
pub fn read(path: &Path) -> Result<Model> {
    let bytes = mmap::map(path)?;
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    parse(&bytes, folder).map_err(|e| e.at(path.display().to_string()))
}

/// Reads a model from memory. External data is looked for in `folder`.
pub fn parse(bytes: &Bytes, folder: &Path) -> Result<Model> {
    let proto = message(bytes)?;
    let opsets = opsets(proto.opset_import.iter().map(|o| (o.domain.as_str(), o.version)));
    check_opset(&proto, &opsets)?;
    Ok(Model { proto, folder: folder.to_path_buf(), opsets })
}

/// The protobuf alone, whichever opset it uses.
pub fn message(bytes: &Bytes) -> Result<ModelProto> {
    let not_onnx = "this is not a readable ONNX model";
    let hint = "the file may be truncated, or be a Git LFS pointer instead of the model";
    if is_text(bytes) {
        let hint = "write it as a binary file: onnx.save(google.protobuf.text_format.Parse(text, onnx.ModelProto()), 'model.onnx')";
        return Err(Error::new("import", "this is an ONNX model in protobuf's text form").hint(hint));
    }
    let parsed = catch_unwind(AssertUnwindSafe(|| ModelProto::parse_from_tokio_bytes(bytes)))
        .map_err(|_| Error::new("import", format!("{not_onnx}: the protobuf reader gave up")).hint(hint))?;
    let proto = parsed.map_err(|e| Error::new("import", format!("{not_onnx}: {e}")).hint(hint))?;
    if proto.graph.is_none() {
        return Err(Error::new("import", format!("{not_onnx}: it holds no graph")).hint(hint));
    }
    Ok(proto)
}

/// Protobuf's text form begins with the name of a field of the message.
fn is_text(bytes: &[u8]) -> bool {
    let text = bytes.trim_ascii_start();
    [&b"ir_version:"[..], b"producer_name:", b"opset_import {", b"graph {"].iter().any(|field| text.starts_with(field))
}

/// Opset imports as a table.
pub fn opsets<'a>(list: impl Iterator<Item = (&'a str, i64)>) -> Opsets {
    list.map(|(domain, version)| (domain_name(domain).to_string(), version)).collect()
}

/// "ai.onnx" and "" are one domain.
pub fn domain_name(domain: &str) -> &str {
    if domain == "ai.onnx" { "" } else { domain }
}

fn check_opset(proto: &ModelProto, opsets: &Opsets) -> Result<()> {
    let uses = |nodes: &[NodeProto]| nodes.iter().any(|n| domain_name(&n.domain).is_empty());
    if !uses(&proto.graph.node) {
        return Ok(());
    }
    match opsets.get("") {
        Some(v) if OPSETS.contains(v) => Ok(()),
        Some(v) if proto.graph.node.iter().all(|n| unchanged(n, *v)) => Ok(()),
        Some(v) => Err(Error::new(
            "import",
            format!("the model uses ai.onnx opset {v}; {} to {} are supported", OPSETS.start(), OPSETS.end()),
        )
        .hint("convert it with onnx.version_converter or export it again")),
        None => Err(Error::new("import", "the model does not say which ai.onnx opset it uses")
            .hint("the file may be truncated; export it again")),
    }
}

fn unchanged(node: &NodeProto, opset: i64) -> bool {
    let since = UNCHANGED.iter().find(|(op, _)| *op == node.op_type);
    domain_name(&node.domain).is_empty() && since.is_some_and(|(_, since)| opset >= *since)
}

/// Graphs held by an attribute (bodies of If and Loop).
pub fn bodies(attribute: &AttributeProto) -> impl Iterator<Item = &GraphProto> {
    attribute.g.as_ref().into_iter().chain(&attribute.graphs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_in_protobufs_text_form_is_told_from_a_damaged_one() {
        let said = |bytes: &'static [u8]| message(&Bytes::from_static(bytes)).unwrap_err().to_string();
        let text = said(b"\n ir_version: 10\nopset_import {\n  version: 17\n}\n");
        assert!(text.contains("protobuf's text form") && text.contains("text_format.Parse"), "{text}");
        let noise = said(b"version https://git-lfs.github.com/spec/v1\n");
        assert!(noise.contains("Git LFS pointer"), "{noise}");
    }
}
