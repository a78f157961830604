//! What is in a file. In: a model. Out: its inputs, outputs, symbols, operators and external data. Promise: needs no bindings and
//! no weights; unsupported operators are counted like all others.

use super::audit::{self, DataFile};
use super::bind::{Declared, Dim, declared};
use super::proto::{self, bodies, domain_name};
use super::weights::{shape, storage, type_name};
use crate::error::Result;
use onnx_ir::{NodeProto, TensorProto};
use std::collections::{BTreeMap, BTreeSet};
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
    /// Inputs that are one whole number: it may be given when compiling.
    pub numbers: Vec<String>,
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
    let mut model = proto::read(path)?;
    let (external, problems) = audit::of_model(&mut model);
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
    Ok(Inspection {
        name: graph.name.clone(),
        producer: format!("{} {}", model.proto.producer_name, model.proto.producer_version).trim().to_string(),
        ir_version: model.proto.ir_version,
        opsets: model.opsets.iter().map(|(d, v)| (d.clone(), *v)).collect(),
        inputs,
        outputs: graph.output.iter().map(|o| port(&o.name, declared(o).ok())).collect(),
        symbols,
        numbers: super::numbers::names(&model),
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

/// Bytes of a tensor as stored; None for a type or shape that is beyond us.
fn stored_bytes(t: &TensorProto) -> Option<u64> {
    let elements: usize = shape(&t.dims).ok()?.iter().product();
    storage(t.data_type).ok().map(|s| s.bytes(elements) as u64)
}
