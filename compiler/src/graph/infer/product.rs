//! Types of products and windows. In: operand types. Out: the result's. Promise: numpy's matmul rule; ONNX's window arithmetic.

use super::{Args, broadcast, one};
use crate::error::Result;
use crate::graph::{Op, Ty, Window};

pub(super) fn infer(args: &Args) -> Result<Vec<Ty>> {
    match args.op {
        Op::Gemm { trans_a, trans_b, .. } => gemm(args, *trans_a, *trans_b),
        Op::Conv { window, group } => conv(args, window, *group),
        Op::MaxPool { window, ceil } | Op::AveragePool { window, ceil, .. } => pool(args, window, *ceil),
        _ => matmul(args),
    }
}

fn matmul(args: &Args) -> Result<Vec<Ty>> {
    let (a, b) = (args.number(0)?, args.number(1)?);
    args.same_dtype(0, 1)?;
    let shape = matmul_shape(&a.shape, &b.shape)
        .ok_or_else(|| args.err(format!("shapes {:?} and {:?} do not multiply", a.shape, b.shape)))?;
    one(a.dtype, shape)
}

/// The shape of numpy's matmul: 1-D operands gain an axis for the product and lose it after.
fn matmul_shape(a: &[usize], b: &[usize]) -> Option<Vec<usize>> {
    let (batch_a, m, ka) = match a {
        [] => return None,
        [k] => (&a[..0], None, *k),
        [batch @ .., m, k] => (batch, Some(*m), *k),
    };
    let (batch_b, kb, n) = match b {
        [] => return None,
        [k] => (&b[..0], *k, None),
        [batch @ .., k, n] => (batch, *k, Some(*n)),
    };
    if ka != kb {
        return None;
    }
    let mut shape = broadcast([batch_a, batch_b])?;
    shape.extend(m);
    shape.extend(n);
    Some(shape)
}

fn gemm(args: &Args, trans_a: bool, trans_b: bool) -> Result<Vec<Ty>> {
    args.number(0)?;
    args.same_dtype(0, 1)?;
    let (a, b) = (args.rank(0, 2)?, args.rank(1, 2)?);
    let (m, ka) = if trans_a { (a.shape[1], a.shape[0]) } else { (a.shape[0], a.shape[1]) };
    let (kb, n) = if trans_b { (b.shape[1], b.shape[0]) } else { (b.shape[0], b.shape[1]) };
    args.must(ka == kb, || format!("inner sizes {ka} and {kb} differ"))?;
    let shape = vec![m, n];
    if let Some(c) = args.opt(2) {
        args.same_dtype(0, 2)?;
        let fits = broadcast([shape.as_slice(), &c.shape]).is_some_and(|s| s == shape);
        args.must(fits, || format!("c of shape {:?} does not broadcast to {shape:?}", c.shape))?;
    }
    one(a.dtype, shape)
}

fn conv(args: &Args, window: &Window, group: usize) -> Result<Vec<Ty>> {
    let (x, w) = (args.float(0)?, args.float(1)?);
    args.same_dtype(0, 1)?;
    let rank = x.shape.len();
    args.must(rank >= 3 && w.shape.len() == rank, || {
        format!("x {:?} and w {:?} must have equal rank, 3 or more", x.shape, w.shape)
    })?;
    args.must(window.kernel == w.shape[2..], || format!("kernel {:?} is not that of w {:?}", window.kernel, w.shape))?;
    let (c_in, c_out) = (x.shape[1], w.shape[0]);
    args.must(group > 0 && c_in == w.shape[1] * group && c_out.is_multiple_of(group), || {
        format!("{c_in} channels in {group} groups do not fit w {:?}", w.shape)
    })?;
    if let Some(b) = args.opt(2) {
        args.same_dtype(0, 2)?;
        args.must(b.shape == [c_out], || format!("bias must be [{c_out}], is {:?}", b.shape))?;
    }
    let mut shape = vec![x.shape[0], c_out];
    shape.extend(spatial(args, window, &x.shape[2..], false)?);
    one(x.dtype, shape)
}

fn pool(args: &Args, window: &Window, ceil: bool) -> Result<Vec<Ty>> {
    let x = args.number(0)?;
    if matches!(args.op, Op::AveragePool { .. }) {
        args.float(0)?;
    }
    args.must(x.shape.len() >= 3, || format!("x must have rank 3 or more, has shape {:?}", x.shape))?;
    let mut shape = x.shape[..2].to_vec();
    shape.extend(spatial(args, window, &x.shape[2..], ceil)?);
    one(x.dtype, shape)
}

/// How often the window fits along each spatial axis.
fn spatial(args: &Args, window: &Window, extents: &[usize], ceil: bool) -> Result<Vec<usize>> {
    let n = extents.len();
    let sound = window.kernel.len() == n
        && window.strides.len() == n
        && window.dilations.len() == n
        && window.pads.len() == 2 * n
        && window.kernel.iter().chain(&window.strides).chain(&window.dilations).all(|&v| v > 0);
    args.must(sound, || format!("the window does not describe {n} spatial axes: {window:?}"))?;
    let mut out = Vec::with_capacity(n);
    for (i, &extent) in extents.iter().enumerate() {
        let span = window.dilations[i] * (window.kernel[i] - 1) + 1;
        let padded = extent + window.pads[i] + window.pads[n + i];
        let stride = window.strides[i];
        args.must(span <= padded, || format!("a window of {span} exceeds the padded extent {padded}"))?;
        let mut count = (padded - span) / stride + 1;
        if ceil && !(padded - span).is_multiple_of(stride) && count * stride < extent + window.pads[i] {
            // One more, partial window: only if it begins inside the input or its leading pad.
            count += 1;
        }
        out.push(count);
    }
    Ok(out)
}
