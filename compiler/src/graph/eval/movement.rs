//! Movement. In: arrays. Out: the same elements elsewhere. Promise: no element is computed, every kind of element moves alike.

use super::offsets::{Offsets, strides};
use super::{Args, Array, Values};
use crate::error::Result;
use crate::graph::{Op, PadMode};

pub(super) fn eval(args: &Args) -> Result<Vec<Values>> {
    let x = args.get(0)?;
    let steps = strides(&x.shape);
    let out = &args.out[0].shape;
    Ok(match args.op {
        Op::Reshape { .. } => vec![x.data.clone()],
        Op::Transpose { perm } => {
            let steps: Vec<isize> = perm.iter().map(|&p| steps[p]).collect();
            vec![x.data.pick(Offsets::new(out, &steps, 0))]
        }
        Op::Expand { .. } => vec![x.data.pick(Offsets::broadcast(&x.shape, out))],
        Op::Slice { begin, step, len } => {
            // Wraps only where an axis is empty, and then no offset is used.
            let start =
                begin.iter().zip(&steps).fold(0isize, |at, (&b, &s)| at.wrapping_add((b as isize).wrapping_mul(s)));
            let steps: Vec<isize> = step.iter().zip(&steps).map(|(&k, &s)| (k as isize).wrapping_mul(s)).collect();
            vec![x.data.pick(Offsets::new(len, &steps, start))]
        }
        Op::Split { axis, sizes } => split(x, *axis, sizes),
        Op::Tile { repeats } => {
            // Each axis is its repetitions, which do not move, around its extent.
            let extents: Vec<usize> = repeats.iter().zip(&x.shape).flat_map(|(&r, &d)| [r, d]).collect();
            let steps: Vec<isize> = steps.iter().flat_map(|&s| [0, s]).collect();
            vec![x.data.pick(Offsets::new(&extents, &steps, 0))]
        }
        Op::Concat { axis } => vec![concat(args, *axis)?],
        Op::Pad { mode, pads } => vec![pad(args, x, *mode, pads)?],
        Op::Trilu { upper, k } => vec![trilu(args, x, *upper, *k)?],
        _ => return Err(args.err("moves nothing")),
    })
}

fn split(x: &Array, axis: usize, sizes: &[usize]) -> Vec<Values> {
    let steps = strides(&x.shape);
    let mut begin = 0;
    let part = |&size: &usize| {
        let mut extents = x.shape.clone();
        extents[axis] = size;
        let start = begin as isize * steps[axis];
        begin += size;
        x.data.pick(Offsets::new(&extents, &steps, start))
    };
    sizes.iter().map(part).collect()
}

/// All elements of several arrays of one kind, one array after the other.
fn join(args: &Args, parts: &[&Values]) -> Result<Values> {
    macro_rules! kind {
        ($kind:ident) => {{
            let mut all = Vec::with_capacity(parts.iter().map(|p| p.len()).sum());
            for part in parts {
                match part {
                    Values::$kind(v) => all.extend_from_slice(v),
                    _ => return Err(args.err("inputs differ in type")),
                }
            }
            Values::$kind(all)
        }};
    }
    Ok(match parts.first() {
        None => return Err(args.err("there is no input")),
        Some(Values::F32(_)) => kind!(F32),
        Some(Values::F64(_)) => kind!(F64),
        Some(Values::Int(_)) => kind!(Int),
        Some(Values::Bool(_)) => kind!(Bool),
    })
}

fn concat(args: &Args, axis: usize) -> Result<Values> {
    let parts: Vec<&Array> = (0..args.inputs.len()).map(|i| args.get(i)).collect::<Result<_>>()?;
    let all = join(args, &parts.iter().map(|p| &p.data).collect::<Vec<_>>())?;
    let outer: usize = parts[0].shape[..axis].iter().product();
    if outer == 1 {
        return Ok(all);
    }
    let chunks: Vec<usize> = parts.iter().map(|p| p.shape[axis..].iter().product()).collect();
    let places = (0..outer).flat_map(|o| {
        let mut base = 0;
        chunks.iter().flat_map(move |&c| {
            let start = base + o * c;
            base += outer * c;
            start..start + c
        })
    });
    Ok(all.pick(places))
}

/// The array's elements and one more, a fill value, at the end.
fn with_fill(args: &Args, x: &Array, fill: Option<&Array>) -> Result<Values> {
    let zero = Array::new(x.dtype, vec![1], Values::Int(vec![0]));
    join(args, &[&x.data, &fill.unwrap_or(&zero).data])
}

fn pad(args: &Args, x: &Array, mode: PadMode, pads: &[i64]) -> Result<Values> {
    let filled = with_fill(args, x, args.opt(1))?;
    let nowhere = x.data.len();
    let steps = strides(&x.shape);
    let out = &args.out[0].shape;
    let counting = strides(out);
    let places = (0..out.iter().product()).map(|flat: usize| {
        let mut place = 0;
        for (i, &extent) in x.shape.iter().enumerate() {
            let c = (flat / counting[i] as usize % out[i]) as i64 - pads[i];
            match source(c, extent as i64, mode) {
                Some(c) => place += c as usize * steps[i] as usize,
                None => return nowhere,
            }
        }
        place
    });
    Ok(filled.pick(places))
}

/// Where the element at coordinate `c` of a padded axis comes from.
fn source(c: i64, extent: i64, mode: PadMode) -> Option<i64> {
    match mode {
        _ if (0..extent).contains(&c) => Some(c),
        PadMode::Constant => None,
        PadMode::Edge => Some(c.clamp(0, extent - 1)),
        PadMode::Wrap => Some(c.rem_euclid(extent)),
        PadMode::Reflect if extent == 1 => Some(0),
        PadMode::Reflect => {
            let turn = 2 * (extent - 1);
            let c = c.rem_euclid(turn);
            Some(c.min(turn - c))
        }
    }
}

fn trilu(args: &Args, x: &Array, upper: bool, k: i64) -> Result<Values> {
    let filled = with_fill(args, x, None)?;
    let (rows, columns) = (x.shape[x.shape.len() - 2], x.shape[x.shape.len() - 1]);
    let nowhere = x.data.len();
    let places = (0..nowhere).map(|flat| {
        let distance = (flat % columns) as i128 - (flat / columns % rows) as i128;
        let kept = if upper { distance >= i128::from(k) } else { distance <= i128::from(k) };
        if kept { flat } else { nowhere }
    });
    Ok(filled.pick(places))
}
