//! Comparison of outputs. In: what we computed and what ONNX expects. Out: the worst difference, if it is one. Promise: types
//! and shapes must agree; integers and bool exactly, floats within what their type can tell apart.

use onnxcast::graph::DType;
use onnxcast::graph::eval::Array;

/// Relative and absolute tolerance. The expected values come from numpy, often in the type itself; some were typed with four
/// digits, for which ONNX's own runner allows 1e-3 of float32.
fn tolerance(dtype: DType) -> (f64, f64) {
    match dtype {
        DType::F64 => (1e-7, 1e-9),
        DType::F32 => (1e-3, 1e-5),
        DType::F16 => (4e-3, 2e-3),
        DType::BF16 => (2e-2, 1e-2),
        _ => (0.0, 0.0),
    }
}

/// What tells the two apart, or None.
pub fn difference(got: &Array, want: &Array) -> Option<String> {
    if got.ty() != want.ty() {
        return Some(format!("is {}, not {}", got.ty(), want.ty()));
    }
    if !want.dtype.is_float() {
        let at = got.to_ints().iter().zip(want.to_ints()).position(|(g, w)| *g != w)?;
        return Some(format!("element {at} is {}, not {}", got.to_ints()[at], want.to_ints()[at]));
    }
    let (relative, absolute) = tolerance(want.dtype);
    let close = |g: f64, w: f64| g == w || g.is_nan() && w.is_nan() || (g - w).abs() <= absolute + relative * w.abs();
    let (got, want) = (got.to_f64(), want.to_f64());
    let at = got.iter().zip(&want).position(|(&g, &w)| !close(g, w))?;
    Some(format!("element {at} is {}, not {}", got[at], want[at]))
}
