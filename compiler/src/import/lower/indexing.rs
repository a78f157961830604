//! Indexing. In: Gather*, Scatter*, OneHot and kin. Out: the same. Promise: constant indices are in range.

use super::{Call, Cx, Outcome, Refusal, Rule, axis, bounded, invalid, unsupported};
use crate::graph::{BinaryOp, DType, Op, ScatterOp, Tensor, Ty, ValueId};
use crate::import::read::ints;

/// The rule of an operator of this family.
pub fn rule(op: &str) -> Option<Rule> {
    Some(match op {
        "Gather" | "GatherElements" => gather,
        "GatherND" => |cx, call| {
            let batch =
                usize::try_from(call.attrs.int_or("batch_dims", 0)?).map_err(|_| invalid("batch_dims is negative"))?;
            Ok(vec![cx.op(Op::GatherNd { batch }, &[call.input(0)?, call.input(1)?], "")?])
        },
        "Scatter" | "ScatterElements" => scatter_elements,
        "ScatterND" => |cx, call| {
            let op = Op::ScatterNd { op: reduction(call)? };
            Ok(vec![cx.op(op, &[call.input(0)?, call.input(1)?, call.input(2)?], "")?])
        },
        "OneHot" => one_hot,
        "TensorScatter" => tensor_scatter,
        _ => return None,
    })
}

/// Constant indices outside of the axis can only be an error in the model.
fn in_range(cx: &Cx, indices: ValueId, extent: usize) -> Result<(), Refusal> {
    let Some(t) = cx.graph.constant(indices).filter(|t| !t.is_absent() && t.len() <= 1 << 20) else { return Ok(()) };
    let n = extent as i64;
    match ints(t)?.into_iter().find(|i| *i < -n || *i >= n) {
        Some(i) => Err(invalid(format!("index {i} is out of range for an extent of {extent}"))),
        None => Ok(()),
    }
}

fn gather(cx: &mut Cx, call: &Call) -> Outcome {
    let (x, indices) = (call.input(0)?, call.input(1)?);
    let axis = axis(call.attrs.int_or("axis", 0)?, cx.rank(x))?;
    in_range(cx, indices, cx.shape(x)[axis])?;
    let op = if call.op == "Gather" { Op::Gather { axis } } else { Op::GatherElements { axis } };
    Ok(vec![cx.op(op, &[x, indices], "")?])
}

fn reduction(call: &Call) -> Result<ScatterOp, Refusal> {
    Ok(match call.attrs.text_or("reduction", "none")? {
        "none" => ScatterOp::Set,
        "add" => ScatterOp::Add,
        "mul" => ScatterOp::Mul,
        "max" => ScatterOp::Max,
        "min" => ScatterOp::Min,
        other => return Err(unsupported(format!("reduction '{other}' is not supported"))),
    })
}

fn scatter_elements(cx: &mut Cx, call: &Call) -> Outcome {
    let (x, indices, updates) = (call.input(0)?, call.input(1)?, call.input(2)?);
    let axis = axis(call.attrs.int_or("axis", 0)?, cx.rank(x))?;
    in_range(cx, indices, cx.shape(x)[axis])?;
    Ok(vec![cx.op(Op::ScatterElements { axis, op: reduction(call)? }, &[x, indices, updates], "")?])
}

/// Indices out of range give rows of `off`; ONNX allows any numeric type for them.
fn one_hot(cx: &mut Cx, call: &Call) -> Outcome {
    let indices = cx.cast(call.input(0)?, DType::I64, "indices")?;
    let depth = cx.floats(call.input(1)?, "depth")?.first().copied().unwrap_or(0.0);
    if !(1.0..=(1u64 << 31) as f64).contains(&depth) {
        return Err(invalid(format!("depth {depth} is not a positive number")));
    }
    let axis = axis(call.attrs.int_or("axis", -1)?, cx.rank(indices) + 1)?;
    let values = call.input(2)?;
    let Ty { shape, .. } = cx.graph.ty(values);
    if shape != &[2] {
        return Err(invalid(format!("values must have shape [2], has {shape:?}")));
    }
    Ok(vec![cx.op(Op::OneHot { axis, depth: depth as usize }, &[indices, values], "")?])
}

/// Writes rows into a cache at a position of its own for each batch entry; `circular` wraps around.
fn tensor_scatter(cx: &mut Cx, call: &Call) -> Outcome {
    let (cache, update) = (call.input(0)?, call.input(1)?);
    let (whole, part) = (cx.shape(cache), cx.shape(update));
    let at = axis(call.attrs.int_or("axis", -2)?, whole.len())?;
    let fits =
        whole.len() == part.len() && (0..part.len()).all(|i| part[i] == whole[i] || (i == at && part[i] < whole[i]));
    if at == 0 || !fits {
        return Err(invalid(format!(
            "an update of shape {part:?} does not fit a cache of shape {whole:?} on axis {at}"
        )));
    }
    let circular = match call.attrs.text_or("mode", "linear")? {
        "linear" => false,
        "circular" => true,
        other => return Err(unsupported(format!("mode '{other}' is not supported"))),
    };
    let mut shape = vec![1; part.len()];
    shape[at] = part[at];
    let steps: Vec<i64> = (0..bounded(part[at], "a list of rows")? as i64).collect();
    let mut rows = cx.tensor("steps", Tensor::i64(&shape, &steps));
    if let Some(start) = call.optional(2) {
        let start = cx.cast(start, DType::I64, "start")?;
        let mut column = vec![1; part.len()];
        column[0] = part[0];
        let start = cx.reshape(start, &column, "start")?;
        rows = cx.binary(BinaryOp::Add, start, rows, "rows")?;
    }
    if circular {
        rows = cx.with_scalar(BinaryOp::Mod, rows, whole[at] as f64, "wrapped")?;
    }
    let rows = cx.expand(rows, &part, "indices")?;
    Ok(vec![cx.op(Op::ScatterElements { axis: at, op: ScatterOp::Set }, &[cache, rows, update], "")?])
}
