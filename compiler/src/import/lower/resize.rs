//! Resize. In: ONNX Resize with known scales or sizes. Out: a Gather (nearest) or a product with a constant matrix per axis.
//! Promise: coordinates are computed once, when compiling, by ONNX's own formulas.

use super::{Call, Cx, Outcome, Refusal, Rule, axis, invalid, unsupported};
use crate::graph::{DType, Op, Tensor, ValueId};
use crate::import::read::encode;

/// The rule of an operator of this family.
pub fn rule(op: &str) -> Option<Rule> {
    (op == "Resize").then_some(resize)
}

/// How one axis is resized.
#[derive(Clone, Debug)]
struct Axis {
    axis: usize,
    input: usize,
    output: usize,
    scale: f64,
    /// Part of the input that is shown (`tf_crop_and_resize`).
    roi: (f64, f64),
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Kind {
    Nearest,
    Linear,
    Cubic,
}

struct Form<'a> {
    kind: Kind,
    coordinates: &'a str,
    rounding: &'a str,
    cubic: f64,
    exclude_outside: bool,
    antialias: bool,
}

fn resize(cx: &mut Cx, call: &Call) -> Outcome {
    let x = call.input(0)?;
    let form = Form {
        kind: match call.attrs.text_or("mode", "nearest")? {
            "nearest" => Kind::Nearest,
            "linear" => Kind::Linear,
            "cubic" => Kind::Cubic,
            other => return Err(unsupported(format!("mode '{other}' is not supported"))),
        },
        coordinates: call.attrs.text_or("coordinate_transformation_mode", "half_pixel")?,
        rounding: call.attrs.text_or("nearest_mode", "round_prefer_floor")?,
        cubic: call.attrs.float_or("cubic_coeff_a", -0.75)? as f64,
        exclude_outside: call.attrs.flag("exclude_outside", false)?,
        antialias: call.attrs.flag("antialias", false)?,
    };
    let list = geometry(cx, call, x, &form)?;
    let dtype = cx.dtype(x);
    let float = dtype.is_float();
    let mut y = if float || form.kind == Kind::Nearest { x } else { cx.cast(x, DType::F32, "x32")? };
    for a in &list {
        let positions: Vec<f64> = (0..a.output).map(|i| source(&form, a, i)).collect::<Result<_, _>>()?;
        y = match form.kind {
            Kind::Nearest => nearest(cx, y, a, &positions, form.rounding)?,
            _ => product(cx, y, a, &positions, &form)?,
        };
    }
    if form.coordinates == "tf_crop_and_resize" {
        y = extrapolate(cx, call, y, &list, &form)?;
    }
    Ok(vec![cx.cast(y, dtype, "")?])
}

/// Sizes and scales of the axes that change.
fn geometry(cx: &Cx, call: &Call, x: ValueId, form: &Form) -> Result<Vec<Axis>, Refusal> {
    let shape = cx.shape(x);
    let on = match call.attrs.ints("axes")? {
        Some(list) => list.iter().map(|a| axis(*a, shape.len())).collect::<Result<Vec<usize>, _>>()?,
        None => (0..shape.len()).collect(),
    };
    let present = |i: usize| call.optional(i).filter(|v| !cx.shape(*v).contains(&0));
    let crop = form.coordinates == "tf_crop_and_resize";
    let roi = match present(1).filter(|_| crop) {
        Some(v) => cx.floats(v, "roi")?,
        None => [vec![0.0; on.len()], vec![1.0; on.len()]].concat(),
    };
    let (mut scales, mut sizes) = (vec![], vec![]);
    if let Some(v) = present(3) {
        let wanted = cx.ints(v, "sizes")?;
        sizes = super::shapes::extents(&wanted)?;
        scales = on.iter().zip(&sizes).map(|(a, n)| *n as f64 / shape[*a] as f64).collect();
        let policy = call.attrs.text_or("keep_aspect_ratio_policy", "stretch")?;
        let pick: Option<fn(f64, f64) -> f64> = match policy {
            "stretch" => None,
            "not_larger" => Some(f64::min),
            "not_smaller" => Some(f64::max),
            other => return Err(unsupported(format!("keep_aspect_ratio_policy '{other}' is not supported"))),
        };
        if let Some(scale) = pick.and_then(|p| scales.iter().copied().reduce(p)) {
            scales.fill(scale);
            sizes = on.iter().map(|a| (scale * shape[*a] as f64 + 0.5) as usize).collect();
        }
    } else if let Some(v) = present(2) {
        scales = cx.floats(v, "scales")?;
        sizes = on.iter().zip(&scales).map(|(a, s)| (s * shape[*a] as f64) as usize).collect();
    }
    if scales.len() != on.len() || sizes.len() != on.len() || roi.len() != 2 * on.len() {
        return Err(invalid(format!("scales, sizes or roi do not fit {} axes", on.len())));
    }
    let mut list = vec![];
    for (i, &a) in on.iter().enumerate() {
        if !(scales[i] > 0.0 && scales[i].is_finite()) || sizes[i] > 1 << 20 || shape[a] == 0 {
            return Err(invalid(format!(
                "axis {a} of extent {} cannot be scaled by {} to {}",
                shape[a], scales[i], sizes[i]
            )));
        }
        if crop || scales[i] != 1.0 || sizes[i] != shape[a] {
            let roi = (roi[i], roi[on.len() + i]);
            list.push(Axis { axis: a, input: shape[a], output: sizes[i], scale: scales[i], roi });
        }
    }
    Ok(list)
}

/// Where output `i` lies in the input.
fn source(form: &Form, a: &Axis, i: usize) -> Result<f64, Refusal> {
    let (i, n) = (i as f64, a.input as f64);
    let wide = a.scale * n;
    Ok(match form.coordinates {
        "half_pixel" => (i + 0.5) / a.scale - 0.5,
        "pytorch_half_pixel" if wide == 1.0 => -0.5,
        "pytorch_half_pixel" => (i + 0.5) / a.scale - 0.5,
        "half_pixel_symmetric" => n / 2.0 * (1.0 - a.output as f64 / wide) + (i + 0.5) / a.scale - 0.5,
        "asymmetric" => i / a.scale,
        "align_corners" if wide == 1.0 => 0.0,
        "align_corners" => i * (n - 1.0) / (wide - 1.0),
        "tf_crop_and_resize" => {
            let (from, to) = a.roi;
            let inside =
                if wide == 1.0 { (to - from) * (n - 1.0) / 2.0 } else { i * (to - from) * (n - 1.0) / (wide - 1.0) };
            inside + from * (n - 1.0)
        }
        other => return Err(unsupported(format!("coordinate_transformation_mode '{other}' is not supported"))),
    })
}

/// The input left of `x` (never x itself), and the distance to it, in (0, 1].
fn neighbour(x: f64) -> (i64, f64) {
    let left = x.ceil() - 1.0;
    (left as i64, x - left)
}

fn nearest(cx: &mut Cx, x: ValueId, a: &Axis, positions: &[f64], rounding: &str) -> Result<ValueId, Refusal> {
    let mut picked = vec![];
    for &p in positions {
        let (left, ratio) = neighbour(p);
        let right = ratio == 1.0
            || match rounding {
                "round_prefer_floor" => ratio > 0.5,
                "round_prefer_ceil" => ratio >= 0.5,
                "floor" => false,
                "ceil" => true,
                other => return Err(unsupported(format!("nearest_mode '{other}' is not supported"))),
            };
        picked.push((left + right as i64).clamp(0, a.input as i64 - 1));
    }
    let indices = cx.index(&picked);
    cx.op(Op::Gather { axis: a.axis }, &[x, indices], "picked")
}

/// Weights of the inputs around a position: offsets from the left neighbour and their shares.
fn taps(form: &Form, scale: f64, ratio: f64) -> Vec<(i64, f64)> {
    let reach = if form.kind == Kind::Cubic { 2.0 } else { 1.0 };
    let squeeze = if form.antialias { scale.min(1.0) } else { 1.0 };
    let first = (-reach / squeeze).floor() as i64 + 1;
    let mut list: Vec<(i64, f64)> =
        (first..2 - first).map(|i| (i, share(form, ((i as f64 - ratio) * squeeze).abs()))).collect();
    if form.antialias {
        let total: f64 = list.iter().map(|t| t.1).sum();
        list.iter_mut().for_each(|t| t.1 /= total);
    }
    list
}

/// The filter at distance `d`.
fn share(form: &Form, d: f64) -> f64 {
    let a = form.cubic;
    match form.kind {
        Kind::Cubic if d <= 1.0 => ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0,
        Kind::Cubic if d < 2.0 => ((a * d - 5.0 * a) * d + 8.0 * a) * d - 4.0 * a,
        Kind::Cubic => 0.0,
        _ => (1.0 - d).clamp(0.0, 1.0),
    }
}

/// Multiplies one axis by the [output, input] matrix of its filter.
fn product(cx: &mut Cx, x: ValueId, a: &Axis, positions: &[f64], form: &Form) -> Result<ValueId, Refusal> {
    if a.input.saturating_mul(a.output) > 1 << 24 {
        return Err(unsupported(format!("resizing {} to {} is too large", a.input, a.output)));
    }
    let mut matrix = vec![0.0; a.input * a.output];
    for (o, &p) in positions.iter().enumerate() {
        let (left, ratio) = neighbour(p);
        let mut list = taps(form, a.scale, ratio);
        let outside = |i: i64| left + i < 0 || left + i >= a.input as i64;
        if form.exclude_outside {
            list.retain(|t| !outside(t.0));
            let total: f64 = list.iter().map(|t| t.1).sum();
            list.iter_mut().for_each(|t| t.1 /= total);
        }
        for (i, weight) in list {
            let at = (left + i).clamp(0, a.input as i64 - 1) as usize;
            matrix[at * a.output + o] += weight;
        }
    }
    let dtype = cx.dtype(x);
    let matrix = cx.tensor("filter", Tensor::from_bytes(dtype, vec![a.input, a.output], encode(dtype, &matrix)));
    let last = cx.rank(x) - 1;
    let mut perm: Vec<usize> = (0..=last).collect();
    perm.swap(a.axis, last);
    let turned = cx.transpose(x, &perm, "turned")?;
    let y = cx.op(Op::MatMul, &[turned, matrix], "filtered")?;
    cx.transpose(y, &perm, "back")
}

/// Outputs whose source lies outside of the input get `extrapolation_value`.
fn extrapolate(cx: &mut Cx, call: &Call, y: ValueId, list: &[Axis], form: &Form) -> Result<ValueId, Refusal> {
    let mut y = y;
    for a in list {
        let inside = |i: usize| source(form, a, i).map(|p| (0.0..=(a.input - 1) as f64).contains(&p));
        let inside = (0..a.output).map(inside).collect::<Result<Vec<bool>, _>>()?;
        if inside.iter().all(|v| *v) {
            continue;
        }
        let mut shape = vec![1; cx.rank(y)];
        shape[a.axis] = a.output;
        let bytes = inside.into_iter().map(u8::from).collect();
        let keep = cx.tensor("inside", Tensor::from_bytes(DType::Bool, shape, bytes));
        let value = call.attrs.float_or("extrapolation_value", 0.0)? as f64;
        let value = cx.scalar(cx.dtype(y), value);
        y = cx.op(Op::Where, &[keep, y, value], "extrapolated")?;
    }
    Ok(y)
}
