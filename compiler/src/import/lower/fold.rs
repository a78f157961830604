//! Folding. In: an operator on constants. Out: a constant. Promise: the same decision whether or not weights are at hand, and a bound
//! on time and memory whatever the model asks for.

use super::{Cx, Outcome, Refusal};
use crate::graph::eval::{self, Array};
use crate::graph::{DType, Data, Op, Tensor, Ty, ValueId, join};
use crate::import::read::{encode, floats_in};
use std::sync::{Arc, OnceLock};

/// Results and operands up to this many elements are folded.
const ELEMENTS: usize = 1 << 20;
/// Bytes that folding may produce in all; beyond it nodes stay nodes.
const BYTES: usize = 1 << 29;
/// Elements that folding may visit, for one node and in all.
const NODE_WORK: usize = 1 << 27;
const WORK: usize = 1 << 31;

/// What folding has cost so far.
#[derive(Clone, Copy, Default, Debug)]
pub struct Spent {
    bytes: usize,
    work: usize,
}

impl Spent {
    fn allows(&self, work: usize, out: &[Ty]) -> bool {
        let bytes: usize = out.iter().map(Ty::bytes).sum();
        work <= NODE_WORK && self.work + work <= WORK && self.bytes + bytes <= BYTES
    }
}

impl Cx {
    /// Elements that evaluating a node visits, roughly.
    fn work(&self, op: &Op, inputs: &[Option<ValueId>], out: &[Ty]) -> usize {
        let read: usize = inputs.iter().flatten().map(|v| self.graph.ty(*v).elements()).sum();
        let written: usize = out.iter().map(Ty::elements).sum();
        let shape = |i: usize| inputs.get(i).copied().flatten().map_or(&[][..], |v| self.graph.shape(v));
        let per_element = match op {
            Op::MatMul => shape(0).last().copied().unwrap_or(1),
            Op::Gemm { trans_a, .. } => shape(0).get(!trans_a as usize).copied().unwrap_or(1),
            Op::Conv { .. } => shape(1).iter().skip(1).product(),
            Op::MaxPool { window, .. } | Op::AveragePool { window, .. } => {
                window.kernel.iter().fold(1usize, |n, k| n.saturating_mul(*k))
            }
            _ => 1,
        };
        written.saturating_mul(per_element).saturating_add(read)
    }

    /// A movement of a movement is one movement, which may be nothing at all.
    pub(super) fn merged(
        &mut self,
        op: &Op,
        inputs: &[Option<ValueId>],
        label: &str,
    ) -> Result<Option<ValueId>, Refusal> {
        let [Some(id)] = inputs else { return Ok(None) };
        let before = self.makers.get(id).map(|i| &self.graph.nodes[*i]);
        match before.and_then(|n| Some((n.input(0)?, join(&n.op, op)?))) {
            Some((source, Op::Reshape { shape }))
                if shape.iter().product::<usize>() == self.graph.ty(*id).elements() =>
            {
                self.reshape(source, &shape, label).map(Some)
            }
            Some((source, Op::Transpose { perm })) => self.transpose(source, &perm, label).map(Some),
            _ => Ok(None),
        }
    }

    pub(super) fn folds(&self, op: &Op, inputs: &[Option<ValueId>], out: &[Ty]) -> bool {
        let small = |id: &ValueId| {
            let constant = self.graph.constant(*id);
            constant.is_some_and(|t| t.len() <= 4 * ELEMENTS && !t.is_absent()) && !self.opaque.contains(id)
        };
        // A weight is stored once, whatever the exporter did with it; the plan reads it transposed.
        let turned_weight = matches!(op, Op::Transpose { .. })
            && inputs
                .iter()
                .flatten()
                .any(|i| self.weights.contains(i) && self.dtype(*i).is_float() && self.rank(*i) == 2);
        inputs.iter().flatten().all(small)
            && out.iter().all(|t| t.elements() <= ELEMENTS)
            && !turned_weight
            && !inputs.is_empty()
            && self.spent.allows(self.work(op, inputs, out), out)
    }

    pub(super) fn fold(&mut self, op: &Op, inputs: &[Option<ValueId>], out: &[Ty], label: &str) -> Outcome {
        let work = self.work(op, inputs, out);
        let mut arrays = vec![];
        for id in inputs {
            let tensor = id.and_then(|v| self.graph.constant(v));
            arrays.push(tensor.map(Array::from_tensor).transpose()?);
        }
        self.spent.work += work;
        let refs: Vec<Option<&Array>> = arrays.iter().map(Option::as_ref).collect();
        let results = eval::node(op, &refs)?;
        let mut ids = vec![];
        for array in results {
            let tensor = array.to_tensor();
            self.spent.bytes += tensor.len() * tensor.dtype.bytes();
            ids.push(self.tensor(label, tensor));
        }
        Ok(ids)
    }

    /// Constants that need no arithmetic: another shape over the same bytes, or another float type made when first read.
    pub(super) fn view(
        &mut self,
        op: &Op,
        inputs: &[Option<ValueId>],
        label: &str,
    ) -> Result<Option<ValueId>, Refusal> {
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
}

/// The same float tensor in another float type. The bytes are made when somebody reads them.
fn cast_later(tensor: Tensor, to: DType) -> Tensor {
    if tensor.dtype == to {
        return tensor;
    }
    let shape = tensor.shape.clone();
    let bytes = tensor.len() * to.bytes();
    let data = match tensor.absent_name() {
        Some(name) => Data::Absent(name.to_string()),
        None => Data::Bytes(Arc::new(Later { from: tensor, to, bytes: OnceLock::new() }), 0..bytes),
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
