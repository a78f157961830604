//! Attributes of a node. In: the protobuf's list, and those of the function call around it. Out: typed values. Promise: a wrong
//! type is an error, never a default.

use crate::error::{Error, Result};
use onnx_ir::{AttributeProto, AttributeType, GraphProto, NodeProto, TensorProto};
use std::collections::HashMap;

/// Attributes that a function body refers to by `ref_attr_name`.
pub type Given<'a> = HashMap<&'a str, &'a AttributeProto>;

/// The attributes of one node.
#[derive(Clone)]
pub struct Attrs<'a> {
    map: HashMap<&'a str, &'a AttributeProto>,
}

impl<'a> Attrs<'a> {
    /// Attributes of `node`; references are looked up in `given`, and are absent where it has none.
    pub fn new(node: &'a NodeProto, given: &Given<'a>) -> Attrs<'a> {
        let resolve = |a: &'a AttributeProto| match a.ref_attr_name.as_str() {
            "" => Some((a.name.as_str(), a)),
            outer => given.get(outer).map(|v| (a.name.as_str(), *v)),
        };
        Attrs { map: node.attribute.iter().filter_map(resolve).collect() }
    }

    /// All of them, for a function call.
    pub fn given(&self) -> Given<'a> {
        self.map.clone()
    }

    fn get(&self, name: &str, wanted: AttributeType) -> Result<Option<&'a AttributeProto>> {
        let Some(a) = self.map.get(name) else { return Ok(None) };
        let found = a.type_.enum_value().unwrap_or(AttributeType::UNDEFINED);
        // Files of IR version 1 carry no attribute types.
        if found == wanted || found == AttributeType::UNDEFINED {
            return Ok(Some(a));
        }
        Err(Error::new("import", format!("attribute '{name}' is {found:?} and must be {wanted:?}")))
    }

    pub fn int(&self, name: &str) -> Result<Option<i64>> {
        Ok(self.get(name, AttributeType::INT)?.map(|a| a.i))
    }

    pub fn int_or(&self, name: &str, default: i64) -> Result<i64> {
        Ok(self.int(name)?.unwrap_or(default))
    }

    /// An integer that is 0 or 1.
    pub fn flag(&self, name: &str, default: bool) -> Result<bool> {
        Ok(self.int_or(name, default as i64)? != 0)
    }

    pub fn float(&self, name: &str) -> Result<Option<f32>> {
        Ok(self.get(name, AttributeType::FLOAT)?.map(|a| a.f))
    }

    pub fn float_or(&self, name: &str, default: f32) -> Result<f32> {
        Ok(self.float(name)?.unwrap_or(default))
    }

    pub fn ints(&self, name: &str) -> Result<Option<&'a [i64]>> {
        Ok(self.get(name, AttributeType::INTS)?.map(|a| a.ints.as_slice()))
    }

    pub fn floats(&self, name: &str) -> Result<Option<&'a [f32]>> {
        Ok(self.get(name, AttributeType::FLOATS)?.map(|a| a.floats.as_slice()))
    }

    pub fn text(&self, name: &str) -> Result<Option<&'a str>> {
        let Some(a) = self.get(name, AttributeType::STRING)? else { return Ok(None) };
        let text = std::str::from_utf8(&a.s);
        text.map(Some).map_err(|_| Error::new("import", format!("attribute '{name}' is not UTF-8")))
    }

    pub fn text_or(&self, name: &str, default: &'a str) -> Result<&'a str> {
        Ok(self.text(name)?.unwrap_or(default))
    }

    pub fn tensor(&self, name: &str) -> Result<Option<&'a TensorProto>> {
        Ok(self.get(name, AttributeType::TENSOR)?.and_then(|a| a.t.as_ref()))
    }

    pub fn graph(&self, name: &str) -> Result<Option<&'a GraphProto>> {
        Ok(self.get(name, AttributeType::GRAPH)?.and_then(|a| a.g.as_ref()))
    }
}
