//! Model-local functions. In: the model. Out: a table by domain, name and overload. Promise: a call finds its body or is no call.

use super::proto::{Opsets, domain_name, opsets};
use onnx_ir::{AttributeProto, ModelProto, NodeProto};
use std::collections::HashMap;

/// A function body. Its own opsets hold inside.
pub struct Function<'a> {
    pub inputs: &'a [String],
    pub outputs: &'a [String],
    pub nodes: &'a [NodeProto],
    /// Attributes with a default.
    pub defaults: &'a [AttributeProto],
    pub opsets: Opsets,
}

/// Functions by (domain, name, overload).
pub type Functions<'a> = HashMap<[String; 3], Function<'a>>;

/// The table of a model.
pub fn table(model: &ModelProto) -> Functions<'_> {
    model
        .functions
        .iter()
        .map(|f| {
            let key = [domain_name(&f.domain).to_string(), f.name.clone(), f.overload.clone()];
            let function = Function {
                inputs: &f.input,
                outputs: &f.output,
                nodes: &f.node,
                defaults: &f.attribute_proto,
                opsets: opsets(f.opset_import.iter().map(|o| (o.domain.as_str(), o.version))),
            };
            (key, function)
        })
        .collect()
}

/// The function that a node calls, if it calls one.
pub fn find<'t, 'a>(functions: &'t Functions<'a>, node: &NodeProto) -> Option<&'t Function<'a>> {
    if functions.is_empty() {
        return None;
    }
    functions.get(&[domain_name(&node.domain).to_string(), node.op_type.clone(), node.overload.clone()])
}
