//! Every stored tensor of a model. In: a `ModelProto`. Out: its tensors, one by one, to read or to change. Promise: none is missed,
//! wherever it stands: initializers, sparse ones, attributes, bodies, functions, training; the order is that of the file.

use crate::error::Result;
use onnx_ir::{AttributeProto, GraphProto, ModelProto, TensorProto};

/// Hears of each tensor.
pub type Visit<'a> = &'a mut dyn FnMut(&mut TensorProto) -> Result<()>;

/// Visits them; the first error ends it.
pub fn each(model: &mut ModelProto, visit: Visit) -> Result<()> {
    if let Some(graph) = model.graph.as_mut() {
        in_graph(graph, visit)?;
    }
    for function in &mut model.functions {
        for attribute in
            function.attribute_proto.iter_mut().chain(function.node.iter_mut().flat_map(|n| &mut n.attribute))
        {
            in_attribute(attribute, visit)?;
        }
    }
    for training in &mut model.training_info {
        for graph in [training.initialization.as_mut(), training.algorithm.as_mut()].into_iter().flatten() {
            in_graph(graph, visit)?;
        }
    }
    Ok(())
}

fn in_graph(graph: &mut GraphProto, visit: Visit) -> Result<()> {
    for tensor in &mut graph.initializer {
        visit(tensor)?;
    }
    for sparse in &mut graph.sparse_initializer {
        for tensor in [sparse.values.as_mut(), sparse.indices.as_mut()].into_iter().flatten() {
            visit(tensor)?;
        }
    }
    for attribute in graph.node.iter_mut().flat_map(|n| &mut n.attribute) {
        in_attribute(attribute, visit)?;
    }
    Ok(())
}

fn in_attribute(attribute: &mut AttributeProto, visit: Visit) -> Result<()> {
    for tensor in attribute.t.as_mut().into_iter().chain(&mut attribute.tensors) {
        visit(tensor)?;
    }
    for sparse in attribute.sparse_tensor.as_mut().into_iter().chain(&mut attribute.sparse_tensors) {
        for tensor in [sparse.values.as_mut(), sparse.indices.as_mut()].into_iter().flatten() {
            visit(tensor)?;
        }
    }
    for graph in attribute.g.as_mut().into_iter().chain(&mut attribute.graphs) {
        in_graph(graph, visit)?;
    }
    Ok(())
}
