//! Sequences of tensors. In: sequence operators. Out: lists of values, known when compiling. Promise: no sequence reaches the graph.

use super::{Cx, Refusal, axis, invalid, unsupported};
use crate::graph::{Op, ValueId};
use crate::import::attrs::Attrs;
use crate::import::walk::Slot;

/// The longest sequence that a tensor is split into.
const MAX_PARTS: usize = 4096;

/// Whether an operator makes or takes sequences.
pub fn is_sequence(op: &str) -> bool {
    matches!(
        op,
        "SequenceConstruct"
            | "SequenceEmpty"
            | "SequenceAt"
            | "SequenceInsert"
            | "SequenceErase"
            | "SequenceLength"
            | "SplitToSequence"
            | "ConcatFromSequence"
    )
}

/// Lowers a sequence operator.
pub fn lower(cx: &mut Cx, op: &str, inputs: &[Option<Slot>], attrs: &Attrs) -> Result<Vec<Slot>, Refusal> {
    let one = |slot: Slot| Ok(vec![slot]);
    match op {
        "SequenceEmpty" => one(Slot::Sequence(vec![])),
        "SequenceConstruct" => {
            one(Slot::Sequence((0..inputs.len()).map(|i| value(inputs, i)).collect::<Result<_, _>>()?))
        }
        "SequenceLength" => {
            let n = sequence(inputs, 0)?.len() as i64;
            one(Slot::Value(cx.tensor("", crate::graph::Tensor::i64(&[], &[n]))))
        }
        "SequenceAt" => {
            let list = sequence(inputs, 0)?;
            let i = position(cx, value(inputs, 1)?, list.len())?;
            list.get(i).map(|v| vec![Slot::Value(*v)]).ok_or_else(|| invalid("the position is past the sequence's end"))
        }
        "SequenceInsert" | "SequenceErase" => {
            let mut list = sequence(inputs, 0)?.to_vec();
            let insert = op == "SequenceInsert";
            let at = if insert { 2 } else { 1 };
            let end = if insert { list.len() } else { list.len().saturating_sub(1) };
            let i = match inputs.get(at).cloned().flatten() {
                Some(_) => position(cx, value(inputs, at)?, list.len())?,
                None => end,
            };
            if i > end || (!insert && list.is_empty()) {
                return Err(invalid("the position is past the sequence's end"));
            }
            if insert {
                list.insert(i, value(inputs, 1)?);
            } else {
                list.remove(i);
            }
            one(Slot::Sequence(list))
        }
        "SplitToSequence" => split(cx, inputs, attrs).map(|list| vec![Slot::Sequence(list)]),
        _ => concat(cx, sequence(inputs, 0)?, attrs).map(|v| vec![Slot::Value(v)]),
    }
}

fn value(inputs: &[Option<Slot>], i: usize) -> Result<ValueId, Refusal> {
    match inputs.get(i) {
        Some(Some(Slot::Value(v))) => Ok(*v),
        _ => Err(invalid(format!("input {i} must be a tensor"))),
    }
}

fn sequence(inputs: &[Option<Slot>], i: usize) -> Result<&[ValueId], Refusal> {
    match inputs.get(i) {
        Some(Some(Slot::Sequence(list))) => Ok(list),
        _ => Err(invalid(format!("input {i} must be a sequence"))),
    }
}

fn position(cx: &Cx, id: ValueId, len: usize) -> Result<usize, Refusal> {
    let i = cx.ints(id, "position")?.first().copied().ok_or_else(|| invalid("the position is empty"))?;
    let i = if i < 0 { i.saturating_add(len as i64) } else { i };
    usize::try_from(i).map_err(|_| invalid("the position is before the sequence's start"))
}

fn split(cx: &mut Cx, inputs: &[Option<Slot>], attrs: &Attrs) -> Result<Vec<ValueId>, Refusal> {
    let x = value(inputs, 0)?;
    let shape = cx.shape(x);
    let axis = axis(attrs.int_or("axis", 0)?, shape.len())?;
    let extent = shape[axis];
    let given = match inputs.get(1).cloned().flatten() {
        Some(_) => Some(value(inputs, 1)?),
        None => None,
    };
    let squeeze = given.is_none() && !attrs.flag("keepdims", true)?;
    let sizes = match given {
        Some(id) => super::shapes::extents(&cx.ints(id, "split")?)?,
        None => vec![1],
    };
    // A scalar is the size of every part but the last.
    let chunk = match sizes.as_slice() {
        [n] if given.is_none_or(|id| cx.rank(id) == 0) => Some(*n),
        _ => None,
    };
    let count = chunk.map_or(sizes.len(), |n| extent.div_ceil(n.max(1)));
    if count > MAX_PARTS {
        return Err(unsupported(format!("a sequence of {count} tensors is too long")));
    }
    let sizes = match chunk {
        Some(0) => return Err(invalid("the size of a part is 0")),
        Some(n) => (0..extent).step_by(n).map(|at| n.min(extent - at)).collect(),
        None => sizes,
    };
    if sizes.is_empty() {
        return Ok(vec![]);
    }
    let parts = cx.ops(Op::Split { axis, sizes }, &[Some(x)], "")?;
    if !squeeze {
        return Ok(parts);
    }
    let mut flat = shape;
    flat.remove(axis);
    parts.into_iter().map(|p| cx.reshape(p, &flat, "squeezed")).collect()
}

fn concat(cx: &mut Cx, list: &[ValueId], attrs: &Attrs) -> Result<ValueId, Refusal> {
    let first = *list.first().ok_or_else(|| invalid("an empty sequence cannot be concatenated"))?;
    let stack = attrs.flag("new_axis", false)?;
    let rank = cx.rank(first) + stack as usize;
    let at = attrs.int("axis")?.ok_or_else(|| invalid("attribute 'axis' is missing"))?;
    let axis = axis(at, rank)?;
    let mut parts = list.to_vec();
    if stack {
        for part in &mut parts {
            let mut shape = cx.shape(*part);
            shape.insert(axis.min(shape.len()), 1);
            *part = cx.reshape(*part, &shape, "stacked")?;
        }
    }
    cx.op(Op::Concat { axis }, &parts, "")
}
