//! Values known when compiling. In: Shape, Size, Constant, Range, ConstantOfShape, EyeLike, NonZero and kin. Out: constants.
//! Promise: none of these operators exists in the graph.

use super::elementwise::dtype;
use super::{Call, Cx, MAX_MADE, Outcome, Refusal, Rule, axis, bounded, invalid, unsupported};
use crate::graph::{DType, Op, Tensor, ValueId};
use crate::import::external::is_external;
use crate::import::read::{encode, floats};
use crate::import::weights;

/// The rule of an operator of this family.
pub fn rule(op: &str) -> Option<Rule> {
    Some(match op {
        "Constant" => constant,
        "Shape" => shape,
        "Size" => |cx, call| {
            let n = cx.shape(call.input(0)?).iter().product::<usize>() as i64;
            Ok(vec![cx.tensor("", Tensor::i64(&[], &[n]))])
        },
        "ConstantOfShape" => constant_of_shape,
        "Range" => range,
        "EyeLike" => eye_like,
        "NonZero" => non_zero,
        "Compress" => compress,
        _ => return None,
    })
}

fn constant(cx: &mut Cx, call: &Call) -> Outcome {
    let a = &call.attrs;
    if let Some(proto) = a.tensor("value")? {
        let tensor = weights::tensor(proto, call.files)?;
        let name = cx.at.clone();
        return Ok(vec![cx.weight(&name, tensor, is_external(proto))]);
    }
    let tensor = if let Some(v) = a.float("value_float")? {
        Tensor::f32(&[], &[v])
    } else if let Some(v) = a.floats("value_floats")? {
        Tensor::f32(&[v.len()], v)
    } else if let Some(v) = a.int("value_int")? {
        Tensor::i64(&[], &[v])
    } else if let Some(v) = a.ints("value_ints")? {
        Tensor::i64(&[v.len()], v)
    } else {
        return Err(unsupported("constants of strings and sparse constants are not supported"));
    };
    Ok(vec![cx.tensor("", tensor)])
}

fn shape(cx: &mut Cx, call: &Call) -> Outcome {
    let dims: Vec<i64> = cx.shape(call.input(0)?).iter().map(|d| *d as i64).collect();
    let rank = dims.len() as i64;
    let clamp = |v: i64| (if v < 0 { v.saturating_add(rank) } else { v }).clamp(0, rank) as usize;
    let start = clamp(call.attrs.int_or("start", 0)?);
    let end = clamp(call.attrs.int_or("end", rank)?).max(start);
    let part = &dims[start..end];
    Ok(vec![cx.tensor("", Tensor::i64(&[part.len()], part))])
}

/// Integers that are a shape.
pub fn extents(list: &[i64]) -> Result<Vec<usize>, Refusal> {
    weights::shape(list).map_err(|e| invalid(e.what))
}

fn constant_of_shape(cx: &mut Cx, call: &Call) -> Outcome {
    let shape = extents(&cx.ints(call.input(0)?, "shape")?)?;
    let value = match call.attrs.tensor("value")? {
        Some(proto) => weights::tensor(proto, call.files)?,
        None => Tensor::f32(&[], &[0.0]),
    };
    if value.len() != 1 {
        return Err(invalid("its value must be one element"));
    }
    let scalar = cx.tensor("value", Tensor { shape: vec![], ..value });
    Ok(vec![cx.expand(scalar, &shape, "")?])
}

fn range(cx: &mut Cx, call: &Call) -> Outcome {
    let dtype = cx.dtype(call.input(0)?);
    let one = |i: usize, what: &str| -> Result<ValueId, Refusal> {
        let id = call.input(i)?;
        let t = cx.known(id, what)?;
        if t.len() == 1 && t.dtype == dtype { Ok(id) } else { Err(invalid(format!("its {what} must be one {dtype}"))) }
    };
    let (start, limit, delta) = (one(0, "start")?, one(1, "limit")?, one(2, "delta")?);
    let tensor = if dtype.is_float() {
        let get = |id, what| Ok::<f64, Refusal>(cx.floats(id, what)?[0]);
        float_range(dtype, get(start, "start")?, get(limit, "limit")?, get(delta, "delta")?)?
    } else {
        let get = |id, what| Ok::<i128, Refusal>(cx.ints(id, what)?[0] as i128);
        int_range(dtype, get(start, "start")?, get(limit, "limit")?, get(delta, "delta")?)?
    };
    Ok(vec![cx.tensor("", tensor)])
}

fn too_long() -> Refusal {
    invalid(format!("the range has more than {MAX_MADE} elements, or its step is 0"))
}

fn float_range(dtype: DType, start: f64, limit: f64, delta: f64) -> Result<Tensor, Refusal> {
    let n = ((limit - start) / delta).ceil().max(0.0);
    if delta == 0.0 || n.is_nan() || n > MAX_MADE as f64 {
        return Err(too_long());
    }
    let values: Vec<f64> = (0..n as usize).map(|i| start + i as f64 * delta).collect();
    Ok(Tensor::from_bytes(dtype, vec![values.len()], encode(dtype, &values)))
}

fn int_range(dtype: DType, start: i128, limit: i128, delta: i128) -> Result<Tensor, Refusal> {
    if delta == 0 {
        return Err(too_long());
    }
    let span = if delta > 0 { limit - start } else { start - limit };
    let n = if span <= 0 { 0 } else { (span + delta.abs() - 1) / delta.abs() };
    if n > MAX_MADE as i128 {
        return Err(too_long());
    }
    let values = (0..n).map(|i| (start + i * delta) as i64);
    let bytes = values.flat_map(|v| v.to_le_bytes()[..dtype.bytes()].to_vec()).collect();
    Ok(Tensor::from_bytes(dtype, vec![n as usize], bytes))
}

fn eye_like(cx: &mut Cx, call: &Call) -> Outcome {
    let x = call.input(0)?;
    let [rows, columns] = cx.shape(x)[..] else { return Err(invalid("the input must be a matrix")) };
    let to = match call.attrs.int("dtype")? {
        Some(t) => dtype(t)?,
        None => cx.dtype(x),
    };
    bounded(rows.saturating_mul(columns), "an identity matrix")?;
    let k = call.attrs.int_or("k", 0)?;
    let mut values = vec![0.0; rows * columns];
    for i in 0..rows {
        if let Some(j) = (i as i64).checked_add(k).and_then(|j| usize::try_from(j).ok()).filter(|j| *j < columns) {
            values[i * columns + j] = 1.0;
        }
    }
    Ok(vec![cx.tensor("", Tensor::from_bytes(to, vec![rows, columns], encode(to, &values)))])
}

/// Coordinates of the non-zero elements, [rank, count]; their number must be known.
fn non_zero(cx: &mut Cx, call: &Call) -> Outcome {
    let tensor = cx.known(call.input(0)?, "input")?;
    bounded(tensor.len(), "an input")?;
    let found: Vec<usize> = floats(tensor)?.iter().enumerate().filter(|(_, v)| **v != 0.0).map(|(i, _)| i).collect();
    let mut coordinates = vec![];
    for axis in 0..tensor.shape.len() {
        let stride: usize = tensor.shape[axis + 1..].iter().product();
        coordinates.extend(found.iter().map(|i| (i / stride % tensor.shape[axis]) as i64));
    }
    let shape = [tensor.shape.len(), found.len()];
    Ok(vec![cx.tensor("", Tensor::i64(&shape, &coordinates))])
}

/// Keeps the slices whose condition holds; the condition must be known.
fn compress(cx: &mut Cx, call: &Call) -> Outcome {
    let mut x = call.input(0)?;
    let keep = cx.ints(call.input(1)?, "condition")?;
    let at = match call.attrs.int("axis")? {
        Some(a) => axis(a, cx.rank(x))?,
        None => {
            let n = cx.shape(x).iter().product();
            x = cx.reshape(x, &[n], "flat")?;
            0
        }
    };
    let extent = cx.shape(x)[at];
    if keep.len() > extent {
        return Err(invalid(format!("the condition has {} entries for an extent of {extent}", keep.len())));
    }
    let picked: Vec<i64> = keep.iter().enumerate().filter(|(_, k)| **k != 0).map(|(i, _)| i as i64).collect();
    let indices = cx.index(&picked);
    Ok(vec![cx.op(Op::Gather { axis: at }, &[x, indices], "")?])
}
