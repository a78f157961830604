//! The builder that lowerings write with. In: operators and values. Out: values of the growing graph. Promise: what is constant and
//! small is evaluated at once, the same way whether or not weights are at hand.

use super::fold::Spent;
use super::{Outcome, Refusal, invalid, unsupported};
use crate::error::Result;
use crate::graph::{BinaryOp, DType, Def, Graph, Op, Tensor, Ty, UnaryOp, ValueId, infer};
use crate::import::read::{encode, floats, ints};
use std::collections::{HashMap, HashSet};

/// Whether a tensor of a file may lack its data: floats, and packed codes. Integers and scalars steer shapes.
pub fn needs_no_data(tensor: &Tensor) -> bool {
    tensor.len() > 1 && (tensor.dtype.is_float() || tensor.dtype == DType::U8 && tensor.shape.len() > 1)
}

/// The graph under construction.
pub struct Cx {
    pub graph: Graph,
    /// Constants that a file holds, as against computed ones.
    pub(super) weights: HashSet<ValueId>,
    /// Weights in external data: never folded, so that a graph without them is the same graph.
    pub(super) opaque: HashSet<ValueId>,
    /// Unpacked from elements under 8 bits; the graph's type is wider than the file's.
    packed: HashSet<ValueId>,
    names: HashMap<String, usize>,
    /// Which node makes a value.
    pub(super) makers: HashMap<ValueId, usize>,
    pub(super) spent: Spent,
    /// What rules make once for all nodes that ask for it, by what it depends on.
    made: HashMap<String, ValueId>,
    /// Name of the ONNX node being lowered.
    pub at: String,
}

impl Cx {
    pub fn new(name: &str) -> Cx {
        Cx {
            graph: Graph { name: name.to_string(), ..Graph::default() },
            weights: HashSet::new(),
            opaque: HashSet::new(),
            packed: HashSet::new(),
            names: HashMap::new(),
            makers: HashMap::new(),
            spent: Spent::default(),
            made: HashMap::new(),
            at: String::new(),
        }
    }

    /// `name`, or a variant of it that is still free.
    pub fn unique(&mut self, name: &str) -> String {
        let mut name = name.to_string();
        while let Some(n) = self.names.get_mut(&name) {
            *n += 1;
            name = format!("{name}.{n}");
        }
        self.names.insert(name.clone(), 0);
        name
    }

    /// Adds a tensor of the file.
    pub fn weight(&mut self, name: &str, tensor: Tensor, external: bool) -> ValueId {
        let opaque = external && needs_no_data(&tensor);
        let name = self.unique(name);
        let id = self.graph.add_const(name, tensor);
        self.weights.insert(id);
        if opaque {
            self.opaque.insert(id);
        }
        id
    }

    /// Adds a constant that is never folded: rows of a quantised matrix.
    pub fn rows(&mut self, name: &str, tensor: Tensor) -> ValueId {
        let name = self.unique(name);
        let id = self.graph.add_const(name, tensor);
        self.opaque.insert(id);
        id
    }

    /// What `make` gives, once for all that say the same `key`.
    pub fn once(
        &mut self,
        key: String,
        make: impl FnOnce(&mut Cx) -> Result<ValueId, Refusal>,
    ) -> Result<ValueId, Refusal> {
        if let Some(id) = self.made.get(&key) {
            return Ok(*id);
        }
        let id = make(self)?;
        self.made.insert(key, id);
        Ok(id)
    }

    /// Notes that a weight was unpacked from elements under 8 bits.
    pub fn set_packed(&mut self, id: ValueId) {
        self.packed.insert(id);
    }

    /// Whether a weight was unpacked from elements under 8 bits.
    pub fn is_packed(&self, id: ValueId) -> bool {
        self.packed.contains(&id)
    }

    /// Adds a computed constant.
    pub fn tensor(&mut self, label: &str, tensor: Tensor) -> ValueId {
        let name = self.path(label);
        let name = self.unique(&name);
        self.graph.add_const(name, tensor)
    }

    fn path(&self, label: &str) -> String {
        if label.is_empty() { self.at.clone() } else { format!("{}/{label}", self.at) }
    }

    /// A scalar constant of the given type.
    pub fn scalar(&mut self, dtype: DType, value: f64) -> ValueId {
        self.tensor("const", Tensor::from_bytes(dtype, vec![], encode(dtype, &[value])))
    }

    /// A vector of i64.
    pub fn index(&mut self, values: &[i64]) -> ValueId {
        self.tensor("index", Tensor::i64(&[values.len()], values))
    }

    pub fn shape(&self, id: ValueId) -> Vec<usize> {
        self.graph.shape(id).to_vec()
    }

    pub fn rank(&self, id: ValueId) -> usize {
        self.graph.shape(id).len()
    }

    pub fn dtype(&self, id: ValueId) -> DType {
        self.graph.ty(id).dtype
    }

    /// The integers of a constant operand.
    pub fn ints(&self, id: ValueId, what: &str) -> Result<Vec<i64>, Refusal> {
        Ok(ints(self.known(id, what)?)?)
    }

    /// The numbers of a constant operand.
    pub fn floats(&self, id: ValueId, what: &str) -> Result<Vec<f64>, Refusal> {
        Ok(floats(self.known(id, what)?)?)
    }

    /// The tensor of a constant operand, or a refusal that says which one depends on data.
    pub fn known(&self, id: ValueId, what: &str) -> Result<&Tensor, Refusal> {
        self.graph.constant(id).ok_or_else(|| {
            unsupported(format!(
                "its {what} ('{}') depends on data, and must be known when compiling",
                self.graph.value(id).name
            ))
        })
    }

    /// Appends an operator with one result.
    pub fn op(&mut self, op: Op, inputs: &[ValueId], label: &str) -> Result<ValueId, Refusal> {
        let inputs: Vec<Option<ValueId>> = inputs.iter().copied().map(Some).collect();
        let out = self.ops(op, &inputs, label)?;
        out.first().copied().ok_or_else(|| invalid("the operator has no result"))
    }

    /// Appends an operator, or evaluates it when all its inputs are known and small.
    pub fn ops(&mut self, op: Op, inputs: &[Option<ValueId>], label: &str) -> Outcome {
        if let Some(id) = self.view(&op, inputs, label)? {
            return Ok(vec![id]);
        }
        if let Some(id) = self.merged(&op, inputs, label)? {
            return Ok(vec![id]);
        }
        let types: Vec<Option<&Ty>> = inputs.iter().map(|i| i.map(|v| self.graph.ty(v))).collect();
        let out = infer(&op, &types)?;
        if self.folds(&op, inputs, &out) {
            return self.fold(&op, inputs, &out, label);
        }
        let name = self.path(label);
        let name = self.unique(&name);
        let ids = self.graph.push(op, inputs, &name)?;
        self.makers.extend(ids.iter().map(|id| (*id, self.graph.nodes.len() - 1)));
        Ok(ids)
    }

    // ---- shorthands ----

    pub fn unary(&mut self, op: UnaryOp, x: ValueId, label: &str) -> Result<ValueId, Refusal> {
        self.op(Op::Unary(op), &[x], label)
    }

    pub fn binary(&mut self, op: BinaryOp, a: ValueId, b: ValueId, label: &str) -> Result<ValueId, Refusal> {
        self.op(Op::Binary(op), &[a, b], label)
    }

    /// `x op value`, with `value` a scalar of x's type.
    pub fn with_scalar(&mut self, op: BinaryOp, x: ValueId, value: f64, label: &str) -> Result<ValueId, Refusal> {
        let c = self.scalar(self.dtype(x), value);
        self.binary(op, x, c, label)
    }

    /// x itself where it has that shape already.
    pub fn reshape(&mut self, x: ValueId, shape: &[usize], label: &str) -> Result<ValueId, Refusal> {
        if self.graph.shape(x) == shape {
            return Ok(x);
        }
        self.op(Op::Reshape { shape: shape.to_vec() }, &[x], label)
    }

    /// x itself where it has that type already.
    pub fn cast(&mut self, x: ValueId, to: DType, label: &str) -> Result<ValueId, Refusal> {
        if self.dtype(x) == to {
            return Ok(x);
        }
        self.op(Op::Cast { to }, &[x], label)
    }

    pub fn transpose(&mut self, x: ValueId, perm: &[usize], label: &str) -> Result<ValueId, Refusal> {
        if perm.iter().enumerate().all(|(i, p)| i == *p) {
            return Ok(x);
        }
        self.op(Op::Transpose { perm: perm.to_vec() }, &[x], label)
    }

    pub fn expand(&mut self, x: ValueId, shape: &[usize], label: &str) -> Result<ValueId, Refusal> {
        if self.graph.shape(x) == shape {
            return Ok(x);
        }
        self.op(Op::Expand { shape: shape.to_vec() }, &[x], label)
    }

    /// Extents `from..from + len` of one axis.
    pub fn slice(&mut self, x: ValueId, axis: usize, from: usize, len: usize, label: &str) -> Result<ValueId, Refusal> {
        let mut lens = self.shape(x);
        if from == 0 && lens.get(axis) == Some(&len) {
            return Ok(x);
        }
        let mut begin = vec![0; lens.len()];
        begin[axis] = from as i64;
        lens[axis] = len;
        self.op(Op::Slice { begin, step: vec![1; lens.len()], len: lens }, &[x], label)
    }

    pub fn reduce(
        &mut self,
        kind: crate::graph::ReduceOp,
        x: ValueId,
        axes: &[usize],
        label: &str,
    ) -> Result<ValueId, Refusal> {
        self.op(Op::Reduce { kind, axes: axes.to_vec(), keep: true }, &[x], label)
    }

    /// Gives a value the name that the ONNX file has for it, when this node made it.
    pub fn rename(&mut self, id: ValueId, first_new: usize, name: &str) {
        let computed = (id.0 as usize) >= first_new && !matches!(self.graph.value(id).def, Def::Input);
        if computed && self.graph.value(id).name != name {
            let name = self.unique(name);
            self.graph.values[id.0 as usize].name = name;
        }
    }
}
