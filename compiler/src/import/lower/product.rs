//! Products and pooling. In: MatMul, Gemm, Conv, pools. Out: the same with resolved geometry. Promise: `auto_pad` is gone, and every
//! window fits.

use super::{Call, Cx, Outcome, Refusal, Rule, invalid, unsupported};
use crate::graph::{Op, ReduceOp, ValueId, Window};

/// The rule of an operator of this family.
pub fn rule(op: &str) -> Option<Rule> {
    Some(match op {
        "MatMul" => |cx, call| Ok(vec![cx.op(Op::MatMul, &[call.input(0)?, call.input(1)?], "")?]),
        "Gemm" => gemm,
        "Conv" => conv,
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
