//! Products and pooling. In: MatMul, Gemm, Conv, ConvTranspose, pools. Out: the same with resolved geometry. Promise: `auto_pad` is gone, and every
//! window fits.

use super::{Call, Cx, Outcome, Refusal, Rule, invalid, unsupported};
use crate::graph::{Op, PadMode, ReduceOp, ValueId, Window};

/// The rule of an operator of this family.
pub fn rule(op: &str) -> Option<Rule> {
    Some(match op {
        "MatMul" => |cx, call| Ok(vec![cx.op(Op::MatMul, &[call.input(0)?, call.input(1)?], "")?]),
        "Gemm" => gemm,
        "Conv" => conv,
        "ConvTranspose" => conv_transpose,
        "MaxPool" | "AveragePool" => pool,
        "GlobalAveragePool" | "GlobalMaxPool" => global_pool,
        _ => return None,
    })
}

fn gemm(cx: &mut Cx, call: &Call) -> Outcome {
    let op = Op::Gemm {
        alpha: call.attrs.float_or("alpha", 1.0)?,
        beta: call.attrs.float_or("beta", 1.0)?,
        trans_a: call.attrs.flag("transA", false)?,
        trans_b: call.attrs.flag("transB", false)?,
    };
    let mut inputs = vec![Some(call.input(0)?), Some(call.input(1)?)];
    inputs.extend(call.optional(2).map(Some));
    cx.ops(op, &inputs, "")
}

fn conv(cx: &mut Cx, call: &Call) -> Outcome {
    let (x, w) = (call.input(0)?, call.input(1)?);
    let weight = cx.shape(w);
    if weight.len() < 3 {
        return Err(invalid(format!("the filter must have rank 3 or more, has shape {weight:?}")));
    }
    let window = window(cx, call, x, Some(&weight[2..]), false)?;
    let group = usize::try_from(call.attrs.int_or("group", 1)?).ok().filter(|g| *g > 0);
    let group = group.ok_or_else(|| invalid("group must be at least 1"))?;
    let mut inputs = vec![Some(x), Some(w)];
    inputs.extend(call.optional(2).map(Some));
    cx.ops(Op::Conv { window, group }, &inputs, "")
}

/// A convolution of x with zeros between its elements by the filter turned about.
fn conv_transpose(cx: &mut Cx, call: &Call) -> Outcome {
    let (x, w) = (call.input(0)?, call.input(1)?);
    let (shape, filter) = (cx.shape(x), cx.shape(w));
    if shape.len() < 3 || filter.len() != shape.len() || filter[0] != shape[1] {
        return Err(invalid(format!("a filter {filter:?} does not fit an input {shape:?}")));
    }
    let group = usize::try_from(call.attrs.int_or("group", 1)?).ok().filter(|g| *g > 0 && filter[0].is_multiple_of(*g));
    let group = group.ok_or_else(|| invalid("group must divide the channels"))?;
    let form = Spread::of(call, &shape[2..], &filter[2..])?;
    let spread = form.apply(cx, x)?;

    // [g * in, out, ..] -> [g * out, in, ..], each axis from its end.
    let (inputs, outputs) = (filter[0] / group, filter[1]);
    let grouped: Vec<usize> = [&[group, inputs, outputs], &filter[2..]].concat();
    let perm: Vec<usize> = [0, 2, 1].into_iter().chain(3..grouped.len()).collect();
    let w = cx.reshape(w, &grouped, "groups")?;
    let w = cx.transpose(w, &perm, "swapped")?;
    let len = [&[group * outputs, inputs], &filter[2..]].concat();
    let w = cx.reshape(w, &len, "filters")?;
    let begin = [0, 0].into_iter().chain(filter[2..].iter().map(|k| *k as i64 - 1)).collect();
    let step = [1, 1].into_iter().chain(filter[2..].iter().map(|_| -1)).collect();
    let w = cx.op(Op::Slice { begin, step, len }, &[w], "turned")?;

    let n = form.kernel.len();
    let window = Window { kernel: form.kernel, strides: vec![1; n], dilations: form.dilations, pads: vec![0; 2 * n] };
    let mut inputs = vec![Some(spread), Some(w)];
    inputs.extend(call.optional(2).map(Some));
    cx.ops(Op::Conv { window, group }, &inputs, "")
}

/// How a transposed convolution spreads its input: strides, and what is added (or taken off) around.
struct Spread {
    kernel: Vec<usize>,
    strides: Vec<usize>,
    dilations: Vec<usize>,
    /// Begins, then ends.
    around: Vec<i64>,
}

impl Spread {
    fn of(call: &Call, input: &[usize], kernel: &[usize]) -> Result<Spread, Refusal> {
        let n = input.len();
        let list = |name: &str, count: usize, least: i64| -> Result<Option<Vec<i64>>, Refusal> {
            let Some(given) = call.attrs.ints(name)? else { return Ok(None) };
            let ok = given.len() == count && given.iter().all(|v| (least..1 << 20).contains(v));
            if ok {
                Ok(Some(given.to_vec()))
            } else {
                Err(invalid(format!("{name} {given:?} does not fit {n} spatial axes")))
            }
        };
        let given = list("kernel_shape", n, 1)?;
        if kernel.contains(&0) || given.is_some_and(|g| g.iter().zip(kernel).any(|(g, k)| *g != *k as i64)) {
            return Err(invalid(format!("kernel_shape differs from the filter's {kernel:?}")));
        }
        let strides = list("strides", n, 1)?.unwrap_or(vec![1; n]);
        let dilations = list("dilations", n, 1)?.unwrap_or(vec![1; n]);
        let more = list("output_padding", n, 0)?.unwrap_or(vec![0; n]);
        let auto = call.attrs.text_or("auto_pad", "NOTSET")?;
        let same = matches!(auto, "SAME_UPPER" | "SAME_LOWER");
        let span: Vec<i64> = kernel.iter().zip(&dilations).map(|(k, d)| (*k as i64 - 1) * d).collect();
        let reach = |i: usize| strides[i] * (input[i] as i64 - 1) + more[i] + span[i] + 1;
        let wanted = match list("output_shape", n, 1)? {
            None if same => Some((0..n).map(|i| input[i] as i64 * strides[i]).collect()),
            given => given,
        };
        let pads = match (wanted, list("pads", 2 * n, 0)?) {
            (Some(wanted), _) => {
                let total: Vec<i64> = (0..n).map(|i| reach(i) - wanted[i]).collect();
                // What does not divide goes to the end where SAME_UPPER says so, else to the beginning.
                let first = |t: &i64| if auto == "SAME_UPPER" { t.div_euclid(2) } else { t - t.div_euclid(2) };
                total.iter().map(first).chain(total.iter().map(|t| t - first(t))).collect()
            }
            (None, Some(pads)) if auto == "NOTSET" || auto.is_empty() => pads,
            (None, _) => vec![0; 2 * n],
        };
        // The zeros that follow the last element come off again.
        let begins = (0..n).map(|i| span[i] - pads[i]);
        let ends = (0..n).map(|i| span[i] - pads[n + i] + more[i] - (strides[i] - 1));
        let around = begins.chain(ends).collect();
        let plain = |v: Vec<i64>| v.into_iter().map(|n| n as usize).collect();
        Ok(Spread { kernel: kernel.to_vec(), strides: plain(strides), dilations: plain(dilations), around })
    }

    /// x with its zeros between and around.
    fn apply(&self, cx: &mut Cx, x: ValueId) -> Result<ValueId, Refusal> {
        let shape = cx.shape(x);
        let (n, lead) = (self.kernel.len(), [shape[0], shape[1]]);
        let mut y = x;
        if self.strides.iter().any(|s| *s > 1) {
            let apart: Vec<usize> = lead.into_iter().chain(shape[2..].iter().flat_map(|e| [*e, 1])).collect();
            let mut pads = vec![0i64; 2 * apart.len()];
            for (i, s) in self.strides.iter().enumerate() {
                pads[apart.len() + 3 + 2 * i] = *s as i64 - 1;
            }
            let wide: Vec<usize> =
                lead.into_iter().chain(shape[2..].iter().zip(&self.strides).map(|(e, s)| e * s)).collect();
            y = cx.reshape(y, &apart, "apart")?;
            y = cx.op(Op::Pad { mode: PadMode::Constant, pads }, &[y], "zeros")?;
            y = cx.reshape(y, &wide, "spread")?;
        }
        let pads: Vec<i64> =
            [0, 0].iter().chain(&self.around[..n]).chain(&[0, 0]).chain(&self.around[n..]).copied().collect();
        if pads.iter().all(|p| *p == 0) {
            return Ok(y);
        }
        cx.op(Op::Pad { mode: PadMode::Constant, pads }, &[y], "around")
    }
}

fn pool(cx: &mut Cx, call: &Call) -> Outcome {
    let x = call.input(0)?;
    call.refuse_output(1, "indices")?;
    let ceil = call.attrs.flag("ceil_mode", false)?;
    let window = window(cx, call, x, None, ceil)?;
    let op = match call.op {
        "MaxPool" => Op::MaxPool { window, ceil },
        _ => Op::AveragePool { window, ceil, count_pad: call.attrs.flag("count_include_pad", false)? },
    };
    Ok(vec![cx.op(op, &[x], "")?])
}

fn global_pool(cx: &mut Cx, call: &Call) -> Outcome {
    let x = call.input(0)?;
    let axes: Vec<usize> = (2..cx.rank(x)).collect();
    let kind = if call.op == "GlobalMaxPool" { ReduceOp::Max } else { ReduceOp::Mean };
    Ok(vec![cx.reduce(kind, x, &axes, "")?])
}

/// Reads kernel, strides, dilations and pads, and resolves `auto_pad`.
fn window(cx: &Cx, call: &Call, x: ValueId, weight: Option<&[usize]>, ceil: bool) -> Result<Window, Refusal> {
    let shape = cx.shape(x);
    let space = shape.len().checked_sub(2).filter(|n| *n > 0);
    let n = space.ok_or_else(|| invalid(format!("the input must have rank 3 or more, has shape {shape:?}")))?;
    let list = |name: &str, count: usize, least: i64| -> Result<Option<Vec<usize>>, Refusal> {
        let Some(given) = call.attrs.ints(name)? else { return Ok(None) };
        let ok = given.len() == count && given.iter().all(|v| (least..1 << 30).contains(v));
        if !ok {
            return Err(invalid(format!("{name} {given:?} does not fit {n} spatial axes")));
        }
        Ok(Some(given.iter().map(|v| *v as usize).collect()))
    };
    let kernel = match (list("kernel_shape", n, 1)?, weight) {
        (Some(k), Some(w)) if k != w => {
            return Err(invalid(format!("kernel_shape {k:?} differs from the filter's {w:?}")));
        }
        (Some(k), _) => k,
        (None, Some(w)) => w.to_vec(),
        (None, None) => return Err(invalid("attribute 'kernel_shape' is missing")),
    };
    if kernel.len() != n || kernel.contains(&0) {
        return Err(invalid(format!("kernel {kernel:?} does not fit {n} spatial axes")));
    }
    let strides = list("strides", n, 1)?.unwrap_or(vec![1; n]);
    let dilations = list("dilations", n, 1)?.unwrap_or(vec![1; n]);
    let given = list("pads", 2 * n, 0)?;
    let mut window = Window { kernel, strides, dilations, pads: vec![0; 2 * n] };
    match call.attrs.text_or("auto_pad", "NOTSET")? {
        "NOTSET" | "" => window.pads = given.unwrap_or(vec![0; 2 * n]),
        "VALID" => {}
        same @ ("SAME_UPPER" | "SAME_LOWER") => same_pads(&mut window, &shape[2..], same == "SAME_UPPER"),
        other => return Err(unsupported(format!("auto_pad '{other}' is not supported"))),
    }
    fits(&window, &shape[2..], ceil)?;
    Ok(window)
}

/// Pads that make the output ceil(input / stride); the odd one goes to the end (`upper`) or the beginning.
fn same_pads(window: &mut Window, input: &[usize], upper: bool) {
    let n = input.len();
    for (i, &extent) in input.iter().enumerate() {
        let out = extent.div_ceil(window.strides[i]);
        let span = (window.kernel[i] - 1) * window.dilations[i] + 1;
        let total = (out.saturating_sub(1) * window.strides[i] + span).saturating_sub(extent);
        let (small, large) = (total / 2, total - total / 2);
        (window.pads[i], window.pads[n + i]) = if upper { (small, large) } else { (large, small) };
    }
}

fn fits(window: &Window, input: &[usize], ceil: bool) -> Result<(), Refusal> {
    let n = input.len();
    for (i, &extent) in input.iter().enumerate() {
        let span = (window.kernel[i] - 1).saturating_mul(window.dilations[i]).saturating_add(1);
        let padded = extent + window.pads[i] + window.pads[n + i];
        if padded < span && !ceil {
            return Err(invalid(format!("a window of {span} is wider than the padded extent {padded}")));
        }
    }
    Ok(())
}
