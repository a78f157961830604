//! Elementwise operators. In: arrays that broadcast. Out: one value per element. Promise: numpy's broadcast, each type's own
//! arithmetic.

use super::array::each;
use super::offsets::Offsets;
use super::{Args, Array, Values, scalar};
use crate::error::Result;
use crate::graph::{BinaryOp, DType, Op, UnaryOp};

pub(super) fn eval(args: &Args) -> Result<Vec<Values>> {
    let values = match args.op {
        Op::Unary(f) => unary(*f, args.get(0)?),
        Op::Binary(f) => binary(args, *f)?,
        Op::Where => select(args)?,
        Op::Clip => clip(args)?,
        Op::Cast { to } => cast(args.get(0)?, *to),
        op => floats(args.get(0)?, |x| scalar::activation(op, x)),
    };
    Ok(vec![values])
}

/// A function of each element of a float array.
pub(super) fn floats(x: &Array, f: impl Fn(f64) -> f64) -> Values {
    match &x.data {
        Values::F64(v) => Values::F64(v.iter().map(|&x| f(x)).collect()),
        Values::F32(v) => Values::F32(v.iter().map(|&x| f(f64::from(x)) as f32).collect()),
        _ => Values::F64(x.to_f64().into_iter().map(f).collect()),
    }
}

fn unary(f: UnaryOp, x: &Array) -> Values {
    match (f, &x.data) {
        (UnaryOp::Not, Values::Bool(v)) => Values::Bool(v.iter().map(|b| !b).collect()),
        (UnaryOp::IsNan, _) => Values::Bool(x.to_f64().iter().map(|x| x.is_nan()).collect()),
        (UnaryOp::IsInf, _) => Values::Bool(x.to_f64().iter().map(|x| x.is_infinite()).collect()),
        (_, Values::Int(v)) => Values::Int(v.iter().map(|&v| scalar::unary_int(f, v, x.dtype)).collect()),
        _ => floats(x, |x| scalar::unary(f, x)),
    }
}

/// Combines two slices as they broadcast to `shape`.
fn zip<A: Copy, B: Copy, C>(args: &Args, a: &[A], b: &[B], mut f: impl FnMut(A, B) -> C) -> Result<Vec<C>> {
    let shape = &args.out[0].shape;
    let (sa, sb) = (&args.get(0)?.shape, &args.get(1)?.shape);
    if sa == shape && sb == shape {
        return Ok(a.iter().zip(b).map(|(&a, &b)| f(a, b)).collect());
    }
    let pairs = Offsets::broadcast(sa, shape).zip(Offsets::broadcast(sb, shape));
    Ok(pairs.map(|(i, j)| f(a[i], b[j])).collect())
}

fn binary(args: &Args, f: BinaryOp) -> Result<Values> {
    use BinaryOp::*;
    let (a, b) = (args.get(0)?, args.get(1)?);
    let dtype = a.dtype;
    let compares = matches!(f, Equal | Less | LessEq | Greater | GreaterEq);
    Ok(match (&a.data, &b.data) {
        (Values::F32(x), Values::F32(y)) if compares => {
            Values::Bool(zip(args, x, y, |x, y| scalar::compare(f, f64::from(x), f64::from(y)))?)
        }
        (Values::F64(x), Values::F64(y)) if compares => Values::Bool(zip(args, x, y, |x, y| scalar::compare(f, x, y))?),
        (Values::Int(x), Values::Int(y)) if compares => {
            Values::Bool(zip(args, x, y, |x, y| scalar::compare_int(f, x, y, dtype))?)
        }
        (Values::F32(x), Values::F32(y)) => {
            Values::F32(zip(args, x, y, |x, y| scalar::binary(f, f64::from(x), f64::from(y)) as f32)?)
        }
        (Values::F64(x), Values::F64(y)) => Values::F64(zip(args, x, y, |x, y| scalar::binary(f, x, y))?),
        (Values::Int(x), Values::Int(y)) => {
            let results = zip(args, x, y, |x, y| scalar::binary_int(f, x, y, dtype))?;
            let results: Option<Vec<i64>> = results.into_iter().collect();
            Values::Int(results.ok_or_else(|| args.err("division of integers by zero"))?)
        }
        (Values::Bool(x), Values::Bool(y)) => Values::Bool(zip(args, x, y, |x, y| match f {
            And => x & y,
            Or => x | y,
            Xor => x ^ y,
            _ => x == y,
        })?),
        // Pow with an exponent of another kind: in double, then to the base's type.
        _ => Values::F64(zip(args, &a.to_f64(), &b.to_f64(), |x, y| scalar::binary(f, x, y))?),
    })
}

fn select(args: &Args) -> Result<Values> {
    let (cond, a, b) = (args.get(0)?, args.get(1)?, args.get(2)?);
    let shape = &args.out[0].shape;
    let Values::Bool(c) = &cond.data else { return Err(args.err("the condition must be bool")) };
    let places = || {
        let ab = Offsets::broadcast(&a.shape, shape).zip(Offsets::broadcast(&b.shape, shape));
        Offsets::broadcast(&cond.shape, shape).zip(ab)
    };
    macro_rules! pick {
        ($kind:ident, $x:expr, $y:expr) => {
            Values::$kind(places().map(|(k, (i, j))| if c[k] { $x[i] } else { $y[j] }).collect())
        };
    }
    Ok(match (&a.data, &b.data) {
        (Values::F32(x), Values::F32(y)) => pick!(F32, x, y),
        (Values::F64(x), Values::F64(y)) => pick!(F64, x, y),
        (Values::Int(x), Values::Int(y)) => pick!(Int, x, y),
        (Values::Bool(x), Values::Bool(y)) => pick!(Bool, x, y),
        _ => return Err(args.err("the two sides differ in type")),
    })
}

fn clip(args: &Args) -> Result<Values> {
    let x = args.get(0)?;
    if let Values::Int(v) = &x.data {
        let low = args.opt(1).map(|_| args.int(1)).transpose()?;
        let high = args.opt(2).map(|_| args.int(2)).transpose()?;
        let bound = |v: i64, f, by: Option<i64>| by.map_or(Some(v), |by| scalar::binary_int(f, v, by, x.dtype));
        let clipped = v.iter().map(|&v| bound(bound(v, BinaryOp::Max, low)?, BinaryOp::Min, high));
        return Ok(Values::Int(clipped.collect::<Option<_>>().unwrap_or_default()));
    }
    let bound = |i: usize, none: f64| args.opt(i).and_then(|b| b.to_f64().first().copied()).unwrap_or(none);
    let (low, high) = (bound(1, f64::NEG_INFINITY), bound(2, f64::INFINITY));
    Ok(floats(x, |x| scalar::clamp(x, low, high)))
}

fn cast(x: &Array, to: DType) -> Values {
    match (&x.data, x.dtype) {
        // Stored as bits: the sign must not show.
        (Values::Int(v), DType::U64) if to == DType::F32 => Values::F32(v.iter().map(|&x| x as u64 as f32).collect()),
        (Values::Int(_), DType::U64) if to.is_float() => Values::F64(x.to_f64()),
        (data, _) => each!(data, v => v.clone()),
    }
}
