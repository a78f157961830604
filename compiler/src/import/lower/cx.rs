//! The builder that lowerings write with. In: operators and values. Out: values of the growing graph. Promise: what is constant and
//! small is evaluated at once, the same way whether or not weights are at hand.

use super::{Outcome, Refusal, invalid, unsupported};
use crate::error::Result;
use crate::graph::eval::{self, Array};
use crate::graph::{BinaryOp, DType, Data, Def, Graph, Op, Tensor, Ty, UnaryOp, ValueId, infer};
use crate::import::read::{encode, floats, floats_in, ints};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

/// Results and operands up to this many elements are folded.
const FOLD_ELEMENTS: usize = 1 << 20;
/// Bytes that folding may produce in all; beyond it nodes stay nodes.
const FOLD_BUDGET: usize = 1 << 29;

/// The graph under construction.
pub struct Cx {
    pub graph: Graph,
    /// Constants that a file holds, as against computed ones.
    weights: HashSet<ValueId>,
    /// Weights in external data: never folded, so that a graph without them is the same graph.
    opaque: HashSet<ValueId>,
    /// Unpacked from elements under 8 bits; the graph's type is wider than the file's.
    packed: HashSet<ValueId>,
    names: HashMap<String, usize>,
    /// Which node makes a value.
    makers: HashMap<ValueId, usize>,
    folded_bytes: usize,
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
            folded_bytes: 0,
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
        let opaque = external && tensor.dtype.is_float() && tensor.len() > 1;
        let name = self.unique(name);
        let id = self.graph.add_const(name, tensor);
        self.weights.insert(id);
        if opaque {
            self.opaque.insert(id);
        }
        id
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
            return self.fold(&op, inputs, label);
        }
        let name = self.path(label);
        let name = self.unique(&name);
        let ids = self.graph.push(op, inputs, &name)?;
        self.makers.extend(ids.iter().map(|id| (*id, self.graph.nodes.len() - 1)));
        Ok(ids)
    }

    /// A reshape of a reshape is one reshape, a transpose of a transpose one transpose, and either may be nothing at all.
    fn merged(&mut self, op: &Op, inputs: &[Option<ValueId>], label: &str) -> Result<Option<ValueId>, Refusal> {
        let [Some(id)] = inputs else { return Ok(None) };
        let before = self.makers.get(id).map(|i| &self.graph.nodes[*i]);
        let Some((source, first)) = before.and_then(|n| Some((n.input(0)?, n.op.clone()))) else { return Ok(None) };
        match (&first, op) {
            (Op::Reshape { .. }, Op::Reshape { shape })
                if self.graph.ty(*id).elements() == shape.iter().product::<usize>() =>
            {
                self.reshape(source, &shape.clone(), label).map(Some)
            }
            (Op::Transpose { perm: p }, Op::Transpose { perm: q }) if p.len() == q.len() => {
                let perm: Vec<usize> = q.iter().map(|a| p[*a]).collect();
                self.transpose(source, &perm, label).map(Some)
            }
            _ => Ok(None),
        }
    }

    fn folds(&self, op: &Op, inputs: &[Option<ValueId>], out: &[Ty]) -> bool {
        let small = |id: &ValueId| {
            let constant = self.graph.constant(*id);
            constant.is_some_and(|t| t.len() <= 4 * FOLD_ELEMENTS && !t.is_absent()) && !self.opaque.contains(id)
        };
        // A weight is stored once, whatever the exporter did with it; the plan reads it transposed.
        let turned_weight = matches!(op, Op::Transpose { .. })
            && inputs
                .iter()
                .flatten()
                .any(|i| self.weights.contains(i) && self.dtype(*i).is_float() && self.rank(*i) == 2);
        let bytes: usize = out.iter().map(Ty::bytes).sum();
        inputs.iter().flatten().all(small)
            && out.iter().all(|t| t.elements() <= FOLD_ELEMENTS)
            && !turned_weight
            && self.folded_bytes + bytes <= FOLD_BUDGET
            && !(inputs.is_empty())
    }

    fn fold(&mut self, op: &Op, inputs: &[Option<ValueId>], label: &str) -> Outcome {
        let mut arrays = vec![];
        for id in inputs {
            let tensor = id.and_then(|v| self.graph.constant(v));
            arrays.push(tensor.map(Array::from_tensor).transpose()?);
        }
        let refs: Vec<Option<&Array>> = arrays.iter().map(Option::as_ref).collect();
        let results = eval::node(op, &refs)?;
        let mut ids = vec![];
        for array in results {
            let tensor = array.to_tensor();
            self.folded_bytes += tensor.len() * tensor.dtype.bytes();
            ids.push(self.tensor(label, tensor));
        }
        Ok(ids)
    }

    /// Constants that need no arithmetic: another shape over the same bytes, or another float type made when first read.
    fn view(&mut self, op: &Op, inputs: &[Option<ValueId>], label: &str) -> Result<Option<ValueId>, Refusal> {
        let [Some(id)] = inputs else { return Ok(None) };
        let Some(tensor) = self.graph.constant(*id).cloned() else { return Ok(None) };
        let view = match op {
            Op::Reshape { shape } if shape.iter().product::<usize>() == tensor.len() => {
                Tensor { shape: shape.clone(), ..tensor }
            }
            Op::Cast { to } if self.weights.contains(id) && tensor.dtype.is_float() && to.is_float() => {
                cast_later(tensor, *to)
            }
            _ => return Ok(None),
        };
        let new = self.tensor(label, view);
        if self.weights.contains(id) {
            self.weights.insert(new);
        }
        if self.opaque.contains(id) {
            self.opaque.insert(new);
        }
        Ok(Some(new))
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

/// The same float tensor in another float type. The bytes are made when somebody reads them.
fn cast_later(tensor: Tensor, to: DType) -> Tensor {
    if tensor.dtype == to {
        return tensor;
    }
    let shape = tensor.shape.clone();
    let bytes = tensor.len() * to.bytes();
    let data = match &tensor.data {
        Data::Absent(name) => Data::Absent(name.clone()),
        Data::Bytes(..) => Data::Bytes(Arc::new(Later { from: tensor, to, bytes: OnceLock::new() }), 0..bytes),
    };
    Tensor { dtype: to, shape, data }
}

struct Later {
    from: Tensor,
    to: DType,
    bytes: OnceLock<Vec<u8>>,
}

impl AsRef<[u8]> for Later {
    fn as_ref(&self) -> &[u8] {
        self.bytes.get_or_init(|| {
            let width = self.from.dtype.bytes();
            // Only tensors that are present come here, and floats always read; the pieces keep the detour over f64 small.
            let pieces = self.from.bytes().unwrap_or_default().chunks(width << 14);
            pieces.flat_map(|p| encode(self.to, &floats_in(self.from.dtype, p).unwrap_or_default())).collect()
        })
    }
}
