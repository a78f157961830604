//! Movement. In: Reshape, Slice, Concat, Pad and kin. Out: the same with numbers for every operand. Promise: negative axes, clamped
//! bounds, -1 and 0 in shapes are resolved here.

use super::shapes::extents;
use super::{Call, Cx, Outcome, Refusal, Rule, axes, axis, invalid, unsupported};
use crate::graph::{Op, PadMode};

/// The most outputs of a Split.
const MAX_PARTS: usize = 1 << 16;

/// The rule of an operator of this family.
pub fn rule(op: &str) -> Option<Rule> {
    Some(match op {
        "Reshape" => reshape,
        "Flatten" => flatten,
        "Squeeze" => squeeze,
        "Unsqueeze" => unsqueeze,
        "Expand" => expand,
        "Tile" => tile,
        "Transpose" => transpose,
        "Concat" => concat,
        "Slice" => slice,
        "Split" => split,
        "Pad" => pad,
        "Trilu" => trilu,
        "DepthToSpace" => depth_to_space,
        "SpaceToDepth" => space_to_depth,
        _ => return None,
    })
}

fn reshape(cx: &mut Cx, call: &Call) -> Outcome {
    let x = call.input(0)?;
    let given = cx.ints(call.input(1)?, "shape")?;
    let from = cx.shape(x);
    let zero_is_zero = call.attrs.flag("allowzero", false)?;
    let mut shape = vec![];
    let mut open = None;
    for (i, &d) in given.iter().enumerate() {
        shape.push(match d {
            -1 if open.is_some() => return Err(invalid(format!("shape {given:?} has two -1"))),
            -1 => {
                open = Some(i);
                1
            }
            0 if !zero_is_zero => *from
                .get(i)
                .ok_or_else(|| invalid(format!("shape {given:?} copies axis {i} of an input of shape {from:?}")))?,
            d => usize::try_from(d).map_err(|_| invalid(format!("shape {given:?} has a negative extent")))?,
        });
    }
    let total: usize = from.iter().product();
    let rest = shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d));
    let misfit = || invalid(format!("an input of shape {from:?} cannot become {given:?}"));
    let rest = rest.ok_or_else(misfit)?;
    if let Some(i) = open {
        if rest == 0 || !total.is_multiple_of(rest) {
            return Err(misfit());
        }
        shape[i] = total / rest;
    } else if rest != total {
        return Err(misfit());
    }
    Ok(vec![cx.reshape(x, &shape, "")?])
}

fn flatten(cx: &mut Cx, call: &Call) -> Outcome {
    let x = call.input(0)?;
    let shape = cx.shape(x);
    let at = call.attrs.int_or("axis", 1)?;
    let at = if at == shape.len() as i64 { shape.len() } else { axis(at, shape.len())? };
    Ok(vec![cx.reshape(x, &[shape[..at].iter().product(), shape[at..].iter().product()], "")?])
}

/// Axes from the second input (opset 13 on) or the attribute.
fn axes_operand(cx: &Cx, call: &Call) -> Result<Option<Vec<i64>>, Refusal> {
    match call.optional(1) {
        Some(id) => Ok(Some(cx.ints(id, "axes")?)),
        None => Ok(call.attrs.ints("axes")?.map(<[i64]>::to_vec)),
    }
}

fn squeeze(cx: &mut Cx, call: &Call) -> Outcome {
    let x = call.input(0)?;
    let mut shape = cx.shape(x);
    match axes_operand(cx, call)? {
        None => shape.retain(|d| *d != 1),
        Some(list) => {
            for a in axes(&list, shape.len())?.into_iter().rev() {
                if shape[a] != 1 {
                    return Err(invalid(format!("axis {a} of shape {:?} is not 1", cx.shape(x))));
                }
                shape.remove(a);
            }
        }
    }
    Ok(vec![cx.reshape(x, &shape, "")?])
}

fn unsqueeze(cx: &mut Cx, call: &Call) -> Outcome {
    let x = call.input(0)?;
    let mut shape = cx.shape(x);
    let list = axes_operand(cx, call)?.ok_or_else(|| invalid("it has no axes"))?;
    for a in axes(&list, shape.len() + list.len())? {
        shape.insert(a, 1);
    }
    Ok(vec![cx.reshape(x, &shape, "")?])
}

fn expand(cx: &mut Cx, call: &Call) -> Outcome {
    let x = call.input(0)?;
    let wanted = extents(&cx.ints(call.input(1)?, "shape")?)?;
    let from = cx.shape(x);
    let rank = wanted.len().max(from.len());
    let at = |shape: &[usize], i: usize| (i + shape.len()).checked_sub(rank).map_or(1, |j| shape[j]);
    let mut shape = vec![];
    for i in 0..rank {
        shape.push(match (at(&from, i), at(&wanted, i)) {
            (a, b) if a == b => a,
            (a, 1) => a,
            (1, b) => b,
            _ => return Err(invalid(format!("shape {from:?} cannot be broadcast to {wanted:?}"))),
        });
    }
    Ok(vec![cx.expand(x, &shape, "")?])
}

fn tile(cx: &mut Cx, call: &Call) -> Outcome {
    let x = call.input(0)?;
    let repeats = extents(&cx.ints(call.input(1)?, "repeats")?)?;
    if repeats.len() != cx.rank(x) {
        return Err(invalid(format!("repeats {repeats:?} for an input of shape {:?}", cx.shape(x))));
    }
    let shape = cx.shape(x);
    if shape.iter().zip(&repeats).any(|(d, r)| d.checked_mul(*r).is_none()) {
        return Err(invalid(format!("repeats {repeats:?} make the result too large")));
    }
    if repeats.iter().all(|r| *r == 1) {
        return Ok(vec![x]);
    }
    Ok(vec![cx.op(Op::Tile { repeats }, &[x], "")?])
}

fn transpose(cx: &mut Cx, call: &Call) -> Outcome {
    let x = call.input(0)?;
    let rank = cx.rank(x);
    let perm = match call.attrs.ints("perm")? {
        None => (0..rank).rev().collect(),
        Some(list) => {
            axes(list, rank)?;
            if list.len() != rank {
                return Err(invalid(format!("perm {list:?} for an input of rank {rank}")));
            }
            list.iter().map(|a| axis(*a, rank)).collect::<Result<Vec<usize>, _>>()?
        }
    };
    Ok(vec![cx.transpose(x, &perm, "")?])
}

fn concat(cx: &mut Cx, call: &Call) -> Outcome {
    let inputs = call.all()?;
    let &first = inputs.first().ok_or_else(|| invalid("it has no inputs"))?;
    let at = call.attrs.int("axis")?.ok_or_else(|| invalid("attribute 'axis' is missing"))?;
    let axis = axis(at, cx.rank(first))?;
    if inputs.len() == 1 {
        return Ok(vec![first]);
    }
    Ok(vec![cx.op(Op::Concat { axis }, &inputs, "")?])
}

fn slice(cx: &mut Cx, call: &Call) -> Outcome {
    let x = call.input(0)?;
    let shape = cx.shape(x);
    let starts = cx.ints(call.input(1)?, "starts")?;
    let ends = cx.ints(call.input(2)?, "ends")?;
    let on = match call.optional(3) {
        Some(id) => cx.ints(id, "axes")?,
        None => (0..starts.len() as i64).collect(),
    };
    let steps = match call.optional(4) {
        Some(id) => cx.ints(id, "steps")?,
        None => vec![1; starts.len()],
    };
    if [ends.len(), on.len(), steps.len()].iter().any(|n| *n != starts.len()) {
        return Err(invalid("starts, ends, axes and steps differ in length"));
    }
    axes(&on, shape.len())?;
    let (mut begin, mut step, mut len) = (vec![0i64; shape.len()], vec![1i64; shape.len()], shape.clone());
    for i in 0..starts.len() {
        let a = axis(on[i], shape.len())?;
        (begin[a], len[a]) = bounds(shape[a], starts[i], ends[i], steps[i])?;
        step[a] = if len[a] == 0 { 1 } else { steps[i] };
    }
    if len == shape && step.iter().all(|s| *s == 1) {
        return Ok(vec![x]);
    }
    Ok(vec![cx.op(Op::Slice { begin, step, len }, &[x], "")?])
}

/// The first index and the count of a slice, by ONNX's clamping rules.
fn bounds(extent: usize, start: i64, end: i64, step: i64) -> Result<(i64, usize), Refusal> {
    let n = extent as i64;
    let wrap = |v: i64| if v < 0 { v.saturating_add(n) } else { v };
    let (first, count) = match step {
        0 => return Err(invalid("a step is 0")),
        1.. => {
            let (s, e) = (wrap(start).clamp(0, n), wrap(end).clamp(0, n));
            (s, (e - s).max(0).div_ceil_to(step))
        }
        _ => {
            let (s, e) = (wrap(start).clamp(0, (n - 1).max(0)), wrap(end).clamp(-1, n - 1));
            (s, (s - e).max(0).div_ceil_to(step.saturating_neg()))
        }
    };
    Ok(if count == 0 || n == 0 { (0, 0) } else { (first, count) })
}

trait DivCeil {
    fn div_ceil_to(self, by: i64) -> usize;
}

impl DivCeil for i64 {
    fn div_ceil_to(self, by: i64) -> usize {
        (self as u64).div_ceil(by as u64) as usize
    }
}

fn split(cx: &mut Cx, call: &Call) -> Outcome {
    let x = call.input(0)?;
    let axis = axis(call.attrs.int_or("axis", 0)?, cx.rank(x))?;
    let extent = cx.shape(x)[axis];
    let given = match call.optional(1) {
        Some(id) => Some(cx.ints(id, "split")?),
        None => call.attrs.ints("split")?.map(<[i64]>::to_vec),
    };
    let sizes = match given {
        Some(list) => extents(&list)?,
        None => {
            let parts = call.attrs.int("num_outputs")?.unwrap_or(call.wanted.len() as i64);
            let parts = usize::try_from(parts).ok().filter(|p| (1..=MAX_PARTS).contains(p));
            let parts = parts.ok_or_else(|| invalid("num_outputs must be at least 1"))?;
            // The last part is the smaller one.
            let chunk = extent.div_ceil(parts);
            (0..parts).map(|i| chunk.min(extent.saturating_sub(i * chunk))).collect()
        }
    };
    if sizes.iter().sum::<usize>() != extent || sizes.len() < call.wanted.len() {
        return Err(invalid(format!(
            "sizes {sizes:?} do not split an extent of {extent} into {} outputs",
            call.wanted.len()
        )));
    }
    if sizes.len() == 1 {
        return Ok(vec![x]);
    }
    cx.ops(Op::Split { axis, sizes }, &[Some(x)], "")
}

fn pad(cx: &mut Cx, call: &Call) -> Outcome {
    let x = call.input(0)?;
    let rank = cx.rank(x);
    let given = cx.ints(call.input(1)?, "pads")?;
    let on = match call.optional(3) {
        Some(id) => {
            let list = cx.ints(id, "axes")?;
            axes(&list, rank)?;
            list.iter().map(|a| axis(*a, rank)).collect::<Result<Vec<usize>, _>>()?
        }
        None => (0..rank).collect(),
    };
    if given.len() != 2 * on.len() {
        return Err(invalid(format!("{} pads for {} axes", given.len(), on.len())));
    }
    if given.iter().any(|p| p.unsigned_abs() > weights_limit()) {
        return Err(invalid("a pad is too large"));
    }
    let mut pads = vec![0; 2 * rank];
    for (i, a) in on.iter().enumerate() {
        pads[*a] = given[i];
        pads[rank + a] = given[on.len() + i];
    }
    let mode = match call.attrs.text_or("mode", "constant")? {
        "constant" => PadMode::Constant,
        "reflect" => PadMode::Reflect,
        "edge" => PadMode::Edge,
        "wrap" => PadMode::Wrap,
        other => return Err(unsupported(format!("pad mode '{other}' is not supported"))),
    };
    let mut inputs = vec![Some(x)];
    if let Some(value) = call.optional(2).filter(|_| mode == PadMode::Constant) {
        inputs.push(Some(cx.reshape(value, &[], "value")?));
    }
    cx.ops(Op::Pad { mode, pads }, &inputs, "")
}

fn weights_limit() -> u64 {
    crate::import::weights::MAX_ELEMENTS as u64
}

fn trilu(cx: &mut Cx, call: &Call) -> Outcome {
    let x = call.input(0)?;
    let k = match call.optional(1) {
        Some(id) => cx.ints(id, "k")?.first().copied().unwrap_or(0),
        None => 0,
    };
    let bound = weights_limit() as i64;
    Ok(vec![cx.op(Op::Trilu { upper: call.attrs.flag("upper", true)?, k: k.clamp(-bound, bound) }, &[x], "")?])
}

/// [n, c, h, w] and the block size.
fn blocks(cx: &Cx, call: &Call) -> Result<([usize; 4], usize), Refusal> {
    let shape = cx.shape(call.input(0)?);
    let block = call.attrs.int("blocksize")?.and_then(|b| usize::try_from(b).ok()).filter(|b| (1..1 << 20).contains(b));
    let block = block.ok_or_else(|| invalid("blocksize must be at least 1"))?;
    let four =
        shape.as_slice().try_into().map_err(|_| invalid(format!("the input must have rank 4, has shape {shape:?}")))?;
    Ok((four, block))
}

fn depth_to_space(cx: &mut Cx, call: &Call) -> Outcome {
    let ([n, c, h, w], b) = blocks(cx, call)?;
    if c % (b * b) != 0 {
        return Err(invalid(format!("{c} channels do not divide into blocks of {b} x {b}")));
    }
    let depth = c / (b * b);
    let (six, perm) = match call.attrs.text_or("mode", "DCR")? {
        "DCR" => ([n, b, b, depth, h, w], [0, 3, 4, 1, 5, 2]),
        "CRD" => ([n, depth, b, b, h, w], [0, 1, 4, 2, 5, 3]),
        other => return Err(unsupported(format!("mode '{other}' is not supported"))),
    };
    let split = cx.reshape(call.input(0)?, &six, "split")?;
    let turned = cx.transpose(split, &perm, "turned")?;
    Ok(vec![cx.reshape(turned, &[n, depth, h * b, w * b], "")?])
}

fn space_to_depth(cx: &mut Cx, call: &Call) -> Outcome {
    let ([n, c, h, w], b) = blocks(cx, call)?;
    if h % b != 0 || w % b != 0 {
        return Err(invalid(format!("{h} x {w} does not divide into blocks of {b} x {b}")));
    }
    let split = cx.reshape(call.input(0)?, &[n, c, h / b, b, w / b, b], "split")?;
    let turned = cx.transpose(split, &[0, 3, 5, 1, 2, 4], "turned")?;
    Ok(vec![cx.reshape(turned, &[n, c * b * b, h / b, w / b], "")?])
}
