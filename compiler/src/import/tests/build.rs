//! Small models. In: a few words. Out: protobufs. Promise: nothing but what the caller says.

use crate::error::Result;
use crate::graph::Graph;
use crate::graph::eval::{Array, run};
use crate::import::{Options, load_bytes};
use onnx_ir::{AttributeProto, AttributeType, GraphProto, Message, ModelProto, NodeProto, TensorProto, ValueInfoProto};
use std::collections::HashMap;
use std::path::Path;

pub const FLOAT: i32 = 1;
pub const INT: i32 = 7;
pub const BOOL: i32 = 9;

pub fn node(op: &str, inputs: &[&str], outputs: &[&str]) -> NodeProto {
    let mut n = NodeProto::new();
    n.op_type = op.into();
    n.input = inputs.iter().map(|s| s.to_string()).collect();
    n.output = outputs.iter().map(|s| s.to_string()).collect();
    n
}

pub fn with_graph(mut n: NodeProto, name: &str, graph: GraphProto) -> NodeProto {
    let mut a = AttributeProto::new();
    a.name = name.into();
    a.type_ = AttributeType::GRAPH.into();
    a.g = Some(graph).into();
    n.attribute.push(a);
    n
}

pub fn value(name: &str, dtype: i32, shape: &[i64]) -> ValueInfoProto {
    let mut v = ValueInfoProto::new();
    v.name = name.into();
    let tensor = v.type_.mut_or_insert_default().mut_tensor_type();
    tensor.elem_type = dtype;
    let dims = &mut tensor.shape.mut_or_insert_default().dim;
    for d in shape {
        dims.push(Default::default());
        dims.last_mut().unwrap().set_dim_value(*d);
    }
    v
}

pub fn scalar(name: &str, dtype: i32, bytes: &[u8]) -> TensorProto {
    let mut t = TensorProto::new();
    t.name = name.into();
    t.data_type = dtype;
    t.raw_data = bytes.to_vec().into();
    t
}

pub fn graph(nodes: Vec<NodeProto>, inputs: Vec<ValueInfoProto>, outputs: &[&str]) -> GraphProto {
    let mut g = GraphProto::new();
    g.name = "g".into();
    g.node = nodes;
    g.input = inputs;
    g.output = outputs.iter().map(|name| value(name, FLOAT, &[])).collect();
    g
}

pub fn model(opset: i64, graph: GraphProto) -> ModelProto {
    let mut model = ModelProto::new();
    model.ir_version = 8;
    model.opset_import.push(Default::default());
    model.opset_import[0].version = opset;
    model.graph = Some(graph).into();
    model
}

pub fn import_model(model: &ModelProto, options: &Options) -> Result<Graph> {
    load_bytes(&model.write_to_bytes().unwrap(), Path::new("."), options)
}

pub fn import(graph: GraphProto) -> Result<Graph> {
    import_model(&model(17, graph), &Options::default())
}

/// Imports, and gives the named outputs for inputs of f32.
pub fn outputs(graph: &Graph, inputs: &[(&str, &[f32])]) -> HashMap<String, Array> {
    let array = |name: &str, v: &[f32]| {
        let id = graph.inputs.iter().find(|i| graph.value(**i).name == name).unwrap();
        Array::f32(graph.shape(*id), v)
    };
    run(graph, &inputs.iter().map(|(n, v)| (n.to_string(), array(n, v))).collect()).unwrap()
}

pub fn attribute(name: &str, kind: AttributeType) -> AttributeProto {
    let mut a = AttributeProto::new();
    a.name = name.into();
    a.type_ = kind.into();
    a
}

pub fn with_int(mut n: NodeProto, name: &str, value: i64) -> NodeProto {
    let mut a = attribute(name, AttributeType::INT);
    a.i = value;
    n.attribute.push(a);
    n
}

pub fn with_float(mut n: NodeProto, name: &str, value: f32) -> NodeProto {
    let mut a = attribute(name, AttributeType::FLOAT);
    a.f = value;
    n.attribute.push(a);
    n
}

pub fn with_ints(mut n: NodeProto, name: &str, values: &[i64]) -> NodeProto {
    let mut a = attribute(name, AttributeType::INTS);
    a.ints = values.to_vec();
    n.attribute.push(a);
    n
}

pub fn named(mut n: NodeProto, name: &str) -> NodeProto {
    n.name = name.into();
    n
}

/// A dimension that is a symbol.
pub fn symbolic(mut v: ValueInfoProto, axis: usize, symbol: &str) -> ValueInfoProto {
    let dim = &mut v.type_.mut_or_insert_default().mut_tensor_type().shape.mut_or_insert_default().dim[axis];
    dim.set_dim_param(symbol.into());
    v
}

pub fn floats(name: &str, dims: &[i64], values: &[f32]) -> TensorProto {
    let mut t = TensorProto::new();
    t.name = name.into();
    t.data_type = FLOAT;
    t.dims = dims.to_vec();
    t.float_data = values.to_vec();
    t
}

pub fn longs(name: &str, dims: &[i64], values: &[i64]) -> TensorProto {
    let mut t = TensorProto::new();
    t.name = name.into();
    t.data_type = INT;
    t.dims = dims.to_vec();
    t.int64_data = values.to_vec();
    t
}
