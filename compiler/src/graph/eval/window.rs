//! Convolution and pooling. In: x [batch, channels, spatial..]. Out: one value per window. Promise: pads are zeros to a
//! convolution and nothing to a pool.

use super::offsets::{Offsets, strides};
use super::product::{Number, multiply_nk};
use super::{Args, Array, Values};
use crate::error::Result;
use crate::graph::{Op, Window};

pub(super) fn eval(args: &Args) -> Result<Vec<Values>> {
    let x = args.get(0)?;
    let values = match args.op {
        Op::Conv { window, group } => match (&x.data, &args.get(1)?.data) {
            (Values::F32(v), Values::F32(w)) => Values::F32(conv(args, window, *group, v, w, |b| b as f32)?),
            (Values::F64(v), Values::F64(w)) => Values::F64(conv(args, window, *group, v, w, |b| b)?),
            _ => return Err(args.err("operands must be floating point")),
        },
        Op::MaxPool { window, .. } => max_pool(args, window, x),
        Op::AveragePool { window, count_pad, .. } => average_pool(args, window, x, *count_pad),
        _ => return Err(args.err("has no window")),
    };
    Ok(vec![values])
}

/// Walks every output position in row-major order and gives the taps of its window: offsets into one channel's plane, or None
/// where the tap is in the padding. `inside` counts taps in the input or its pads (a ceil window may reach beyond both).
fn positions(window: &Window, extents: &[usize], out: &[usize], mut visit: impl FnMut(&[Option<usize>], usize)) {
    let steps = strides(extents);
    let count: usize = out.iter().product();
    let mut taps = Vec::with_capacity(window.kernel.iter().product());
    for position in 0..count {
        let origin = coordinates(position, out);
        taps.clear();
        let mut inside = 0;
        for tap in 0..window.kernel.iter().product() {
            let at = coordinates(tap, &window.kernel);
            let mut place = Some(0usize);
            let mut padded = true;
            for (i, &extent) in extents.iter().enumerate() {
                let c =
                    (origin[i] * window.strides[i] + at[i] * window.dilations[i]) as isize - window.pads[i] as isize;
                padded &= c < (extent + window.pads[extents.len() + i]) as isize;
                let ok = c >= 0 && c < extent as isize;
                place = place.filter(|_| ok).map(|p| p + c as usize * steps[i] as usize);
            }
            inside += usize::from(padded);
            taps.push(place);
        }
        visit(&taps, inside);
    }
}

fn coordinates(mut index: usize, shape: &[usize]) -> Vec<usize> {
    let mut out = vec![0; shape.len()];
    for (o, &d) in out.iter_mut().zip(shape).rev() {
        *o = index % d;
        index /= d;
    }
    out
}

/// Patches times weights: each window of each group is one row.
fn conv<T: Number>(
    args: &Args,
    window: &Window,
    group: usize,
    x: &[T],
    w: &[T],
    from: impl Fn(f64) -> T,
) -> Result<Vec<T>> {
    let (xs, out) = (&args.get(0)?.shape, &args.out[0].shape);
    let bias = args.opt(2).map(Array::to_f64);
    let (channels, filters) = (xs[1] / group, out[1] / group);
    let (plane, places): (usize, usize) = (xs[2..].iter().product(), out[2..].iter().product());
    let k = channels * window.kernel.iter().product::<usize>();
    let mut result = vec![T::ZERO; out.iter().product()];
    for g in 0..xs[0] * group {
        let mut rows: Vec<T> = Vec::with_capacity(places * k);
        let base = g * channels * plane;
        positions(window, &xs[2..], &out[2..], |taps, _| {
            for c in 0..channels {
                rows.extend(taps.iter().map(|t| t.map_or(T::ZERO, |t| x[base + c * plane + t])));
            }
        });
        let first = g % group * filters;
        let mut sums = vec![T::ZERO; places * filters];
        multiply_nk(&rows, &w[first * k..][..filters * k], k, filters, &mut sums);
        let to = &mut result[g * filters * places..][..filters * places];
        for (i, (to, from_sum)) in
            to.iter_mut().zip(Offsets::new(&[filters, places], &[1, filters as isize], 0)).enumerate()
        {
            let b = bias.as_ref().map_or(T::ZERO, |b| from(b[first + i / places]));
            *to = sums[from_sum].add(b);
        }
    }
    Ok(result)
}

fn max_pool(args: &Args, window: &Window, x: &Array) -> Values {
    fn run<T: Copy>(args: &Args, window: &Window, x: &Array, v: &[T], floor: T, more: impl Fn(T, T) -> bool) -> Vec<T> {
        let out = &args.out[0].shape;
        let plane: usize = x.shape[2..].iter().product();
        let mut result = Vec::with_capacity(out.iter().product());
        for c in 0..x.shape[0] * x.shape[1] {
            positions(window, &x.shape[2..], &out[2..], |taps, _| {
                let inside = taps.iter().flatten().map(|t| v[c * plane + t]);
                result.push(inside.fold(floor, |best, v| if more(v, best) { v } else { best }));
            });
        }
        result
    }
    match &x.data {
        Values::F32(v) => Values::F32(run(args, window, x, v, f32::NEG_INFINITY, |a, b| a > b || a.is_nan())),
        Values::F64(v) => Values::F64(run(args, window, x, v, f64::NEG_INFINITY, |a, b| a > b || a.is_nan())),
        Values::Int(v) => Values::Int(run(args, window, x, v, i64::MIN, |a, b| a > b)),
        Values::Bool(v) => Values::Bool(run(args, window, x, v, false, |a, b| a & !b)),
    }
}

fn average_pool(args: &Args, window: &Window, x: &Array, count_pad: bool) -> Values {
    let out = &args.out[0].shape;
    let plane: usize = x.shape[2..].iter().product();
    let v = x.to_f64();
    let mut result = Vec::with_capacity(out.iter().product());
    for c in 0..x.shape[0] * x.shape[1] {
        positions(window, &x.shape[2..], &out[2..], |taps, inside| {
            let sum: f64 = taps.iter().flatten().map(|t| v[c * plane + t]).sum();
            let count = if count_pad { inside } else { taps.iter().flatten().count() };
            result.push(sum / count as f64);
        });
    }
    Values::F64(result)
}
