//! What is in a file. In: a model. Out: its inputs, outputs, symbols, operators and external data. Promise: needs no bindings and
//! no weights; unsupported operators are counted like all others.

use super::bind::{Declared, Dim, declared};
use super::external::{is_external, place};
use super::proto::{self, Model, bodies, domain_name};
use super::weights::{shape, storage, type_name};
use crate::error::Result;
use onnx_ir::{GraphProto, NodeProto, TensorProto};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;

/// A declared input or output.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Port {
    pub name: String,
    /// ONNX's name of the element type; empty when the port is no tensor.
    pub dtype: String,
    /// Numbers and symbols as declared; None without a rank.
    pub dims: Option<Vec<String>>,
}

/// One external data file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DataFile {
    pub location: String,
    /// Its size; None when it is not there or may not be read.
    pub bytes: Option<u64>,
    /// Bytes that tensors refer to, each counted once.
    pub referenced: u64,
    pub tensors: usize,
    /// Pairs of tensors whose extents share bytes without being equal.
    pub overlaps: Vec<(String, String)>,
    /// Gaps that no tensor refers to, alignment included.
    pub unreferenced: Vec<Range<u64>>,
}

/// What `inspect` found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Inspection {
    pub name: String,
    pub producer: String,
    pub ir_version: i64,
    /// Version by operator domain ("" is ai.onnx).
    pub opsets: BTreeMap<String, i64>,
    pub inputs: Vec<Port>,
    pub outputs: Vec<Port>,
    /// Symbols that inputs need a value for.
    pub symbols: BTreeSet<String>,
    /// How often each operator occurs, bodies and functions included; other domains as `domain.Name`.
    pub operators: BTreeMap<String, usize>,
    pub nodes: usize,
    pub functions: usize,
    pub initializers: usize,
    /// Bytes of initializers, inline and external.
    pub initializer_bytes: u64,
    pub external: Vec<DataFile>,
    /// Tensors that cannot be read, with the reason.
    pub problems: Vec<String>,
}

/// Looks into a model file.
pub fn inspect(path: &Path) -> Result<Inspection> {
    let model = proto::read(path)?;
    let graph = &*model.proto.graph;
    let constants: BTreeSet<&str> = graph.initializer.iter().map(|t| t.name.as_str()).collect();
    let mut symbols = BTreeSet::new();
    let mut inputs = vec![];
    for info in graph.input.iter().filter(|i| !constants.contains(i.name.as_str())) {
        let declared = declared(info).ok();
        for dim in declared.iter().filter_map(|d| d.dims.as_ref()).flatten() {
            if let Dim::Symbolic(_, expr) = dim {
                expr.symbols(&mut symbols);
            }
        }
        inputs.push(port(&info.name, declared));
    }
    let mut operators = BTreeMap::new();
    count(&graph.node, &mut operators);
    model.proto.functions.iter().for_each(|f| count(&f.node, &mut operators));
    let mut tensors = vec![];
    collect(graph, &mut tensors);
    let mut problems = vec![];
    let external = external(&model, &tensors, &mut problems);
    Ok(Inspection {
        name: graph.name.clone(),
        producer: format!("{} {}", model.proto.producer_name, model.proto.producer_version).trim().to_string(),
        ir_version: model.proto.ir_version,
        opsets: model.opsets.iter().map(|(d, v)| (d.clone(), *v)).collect(),
        inputs,
        outputs: graph.output.iter().map(|o| port(&o.name, declared(o).ok())).collect(),
        symbols,
        nodes: operators.values().sum(),
        operators,
        functions: model.proto.functions.len(),
        initializers: graph.initializer.len(),
        initializer_bytes: graph.initializer.iter().filter_map(stored_bytes).sum(),
        external,
        problems,
    })
}

fn port(name: &str, declared: Option<Declared>) -> Port {
    let text = |d: &Dim| match d {
        Dim::Fixed(n) => n.to_string(),
        Dim::Symbolic(text, _) => text.clone(),
    };
    let dims = declared.as_ref().and_then(|d| d.dims.as_ref()).map(|d| d.iter().map(text).collect());
    Port { name: name.to_string(), dtype: declared.map(|d| type_name(d.data_type)).unwrap_or_default(), dims }
}

fn count(nodes: &[NodeProto], into: &mut BTreeMap<String, usize>) {
    for node in nodes {
        let domain = domain_name(&node.domain);
        let name = if domain.is_empty() { node.op_type.clone() } else { format!("{domain}.{}", node.op_type) };
        *into.entry(name).or_default() += 1;
        node.attribute.iter().flat_map(bodies).for_each(|g| count(&g.node, into));
    }
}

/// Every stored tensor: initializers, those of bodies, and tensor attributes.
fn collect<'a>(graph: &'a GraphProto, into: &mut Vec<&'a TensorProto>) {
    into.extend(&graph.initializer);
    for attribute in graph.node.iter().flat_map(|n| &n.attribute) {
        into.extend(attribute.t.as_ref());
        bodies(attribute).for_each(|g| collect(g, into));
    }
}

/// Bytes of a tensor as stored; None for a type or shape that is beyond us.
fn stored_bytes(t: &TensorProto) -> Option<u64> {
    let elements: usize = shape(&t.dims).ok()?.iter().product();
    storage(t.data_type).ok().map(|s| s.bytes(elements) as u64)
}

fn external(model: &Model, tensors: &[&TensorProto], problems: &mut Vec<String>) -> Vec<DataFile> {
    let mut extents: BTreeMap<String, Vec<(Range<u64>, String)>> = BTreeMap::new();
    for t in tensors.iter().filter(|t| is_external(t)) {
        match place(t) {
            Ok(place) => {
                let length = stored_bytes(t).or(place.length).unwrap_or(0);
                let extent = place.offset..place.offset.saturating_add(length);
                extents.entry(place.location).or_default().push((extent, t.name.clone()));
            }
            Err(e) => problems.push(format!("tensor '{}': {}", t.name, e.what)),
        }
    }
    let files = super::external::Files::new(&model.folder, true);
    let mut out = vec![];
    for (location, mut list) in extents {
        list.sort_by(|a, b| (a.0.start, a.0.end, &a.1).cmp(&(b.0.start, b.0.end, &b.1)));
        let bytes = match files.file(&location) {
            Ok(file) => file.map(|f| f.len() as u64),
            Err(e) => {
                problems.push(format!("file '{location}': {}", e.what));
                None
            }
        };
        out.push(audit(location, bytes, &list));
    }
    out
}

/// Coverage of one file by sorted extents.
fn audit(location: String, bytes: Option<u64>, list: &[(Range<u64>, String)]) -> DataFile {
    let mut file = DataFile { location, bytes, tensors: list.len(), ..DataFile::default() };
    let mut end = 0u64;
    // The extent that reaches furthest so far: whoever starts before its end shares bytes with it.
    let mut furthest: Option<&(Range<u64>, String)> = None;
    for item in list {
        let (extent, name) = item;
        if extent.start > end {
            file.unreferenced.push(end..extent.start);
        }
        if let Some((other, first)) = furthest
            && extent.start < other.end
            && extent != other
            && !extent.is_empty()
        {
            file.overlaps.push((first.clone(), name.clone()));
        }
        file.referenced += extent.end.saturating_sub(extent.start.max(end));
        if extent.end > end {
            end = extent.end;
            furthest = Some(item);
        }
    }
    if let Some(total) = bytes.filter(|total| *total > end) {
        file.unreferenced.push(end..total);
    }
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extents(list: &[(u64, u64)]) -> Vec<(Range<u64>, String)> {
        list.iter().enumerate().map(|(i, (a, b))| (*a..*b, format!("t{i}"))).collect()
    }

    #[test]
    fn gaps_before_between_and_after_are_unreferenced() {
        let file = audit("f".into(), Some(100), &extents(&[(10, 20), (20, 30), (50, 60)]));
        assert_eq!(file.unreferenced, [0..10, 30..50, 60..100]);
        assert_eq!((file.referenced, file.tensors), (30, 3));
        assert!(file.overlaps.is_empty());
    }

    #[test]
    fn shared_bytes_are_counted_once_and_partial_sharing_is_reported() {
        let file = audit("f".into(), None, &extents(&[(0, 40), (0, 40), (30, 50), (45, 60)]));
        assert_eq!(file.referenced, 60);
        let names = |a: &str, b: &str| (a.to_string(), b.to_string());
        assert_eq!(file.overlaps, [names("t0", "t2"), names("t2", "t3")]);
    }
}
