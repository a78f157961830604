//! Matrix products. In: matrices, in batches. Out: sums of products. Promise: a fixed order of sums for one element, whatever stands
//! beside it; f32 sums for f32, f16 and bf16, exact wrapping sums for integers.

use super::offsets::Offsets;
use super::{Args, Array, Values};
use crate::error::Result;
use crate::graph::Op;
use ndarray::linalg::general_mat_mul;
use ndarray::{ArrayView2, ArrayViewMut2};

/// What a product needs of its elements.
pub(super) trait Number: Copy {
    const ZERO: Self;
    fn add(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;

    /// out [m, n] += a [m, k] * b, which is [k, n], or transposed [n, k]. No extent is zero.
    fn multiply(a: &[Self], b: &[Self], [m, k, n]: [usize; 3], transposed: bool, out: &mut [Self]) {
        let (row, column) = if transposed { (1, k) } else { (n, 1) };
        for (i, out) in out.chunks_exact_mut(n).enumerate().take(m) {
            for (j, out) in out.iter_mut().enumerate() {
                let products = (0..k).map(|l| a[i * k + l].mul(b[l * row + j * column]));
                *out = products.fold(*out, Number::add);
            }
        }
    }
}

macro_rules! float {
    ($($ty:ty)*) => {$(
        impl Number for $ty {
            const ZERO: $ty = 0.0;
            #[inline(always)]
            fn add(self, other: $ty) -> $ty { self + other }
            #[inline(always)]
            fn mul(self, other: $ty) -> $ty { self * other }

            fn multiply(a: &[$ty], b: &[$ty], [m, k, n]: [usize; 3], transposed: bool, out: &mut [$ty]) {
                let b = if transposed { ArrayView2::from_shape((n, k), b) } else { ArrayView2::from_shape((k, n), b) };
                let (a, out) = (ArrayView2::from_shape((m, k), a), ArrayViewMut2::from_shape((m, n), out));
                if let (Ok(a), Ok(b), Ok(mut out)) = (a, b, out) {
                    general_mat_mul(1.0, &a, &if transposed { b.reversed_axes() } else { b }, 1.0, &mut out);
                }
            }
        }
    )*};
}
float! { f32 f64 }

impl Number for i64 {
    const ZERO: i64 = 0;
    fn add(self, other: i64) -> i64 {
        self.wrapping_add(other)
    }
    fn mul(self, other: i64) -> i64 {
        self.wrapping_mul(other)
    }
}

pub(super) fn eval(args: &Args) -> Result<Vec<Values>> {
    let values = match args.op {
        Op::Gemm { alpha, beta, trans_a, trans_b } => gemm(args, *alpha, *beta, *trans_a, *trans_b)?,
        _ => matmul(args)?,
    };
    Ok(vec![values])
}

fn matmul(args: &Args) -> Result<Values> {
    let (a, b) = (args.get(0)?, args.get(1)?);
    Ok(match (&a.data, &b.data) {
        (Values::F32(x), Values::F32(y)) => Values::F32(batched(args, x, y)?),
        (Values::F64(x), Values::F64(y)) => Values::F64(batched(args, x, y)?),
        (Values::Int(x), Values::Int(y)) => Values::Int(batched(args, x, y)?),
        _ => return Err(args.err("operands differ in type")),
    })
}

fn batched<T: Number>(args: &Args, x: &[T], y: &[T]) -> Result<Vec<T>> {
    let (sa, sb, out) = (&args.get(0)?.shape, &args.get(1)?.shape, &args.out[0].shape);
    let k = sa[sa.len() - 1];
    let (m, batch_a) = if sa.len() > 1 { (sa[sa.len() - 2], &sa[..sa.len() - 2]) } else { (1, &sa[..0]) };
    let (n, batch_b) = if sb.len() > 1 { (sb[sb.len() - 1], &sb[..sb.len() - 2]) } else { (1, &sb[..0]) };
    let batch = &out[..batch_a.len().max(batch_b.len())];
    let mut result = vec![T::ZERO; out.iter().product()];
    if m * n == 0 {
        return Ok(result);
    }
    let pairs = Offsets::broadcast(batch_a, batch).zip(Offsets::broadcast(batch_b, batch));
    for ((i, j), to) in pairs.zip(result.chunks_exact_mut(m * n)) {
        multiply_kn(&x[i * m * k..][..m * k], &y[j * k * n..][..k * n], k, n, to);
    }
    Ok(result)
}

/// out [m, n] += a [m, k] * b [k, n].
pub(super) fn multiply_kn<T: Number>(a: &[T], b: &[T], k: usize, n: usize, out: &mut [T]) {
    multiply(a, b, (k, n), false, out);
}

/// out [m, n] += a [m, k] * transpose of b [n, k].
pub(super) fn multiply_nk<T: Number>(a: &[T], b: &[T], k: usize, n: usize, out: &mut [T]) {
    multiply(a, b, (k, n), true, out);
}

fn multiply<T: Number>(a: &[T], b: &[T], (k, n): (usize, usize), transposed: bool, out: &mut [T]) {
    let Some(m) = a.len().checked_div(k).filter(|m| *m > 0 && n > 0) else { return };
    T::multiply(&a[..m * k], &b[..k * n], [m, k, n], transposed, &mut out[..m * n]);
}

/// Sum of products in eight interleaved partial sums.
pub(super) fn dot<T: Number>(a: &[T], b: &[T]) -> T {
    let ((a8, at), (b8, bt)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let mut sums = [T::ZERO; 8];
    for (a, b) in a8.iter().zip(b8) {
        for i in 0..8 {
            sums[i] = sums[i].add(a[i].mul(b[i]));
        }
    }
    let tail = at.iter().zip(bt).fold(T::ZERO, |s, (&a, &b)| s.add(a.mul(b)));
    sums.into_iter().fold(tail, Number::add)
}

fn gemm(args: &Args, alpha: f32, beta: f32, trans_a: bool, trans_b: bool) -> Result<Values> {
    let (a, b, c) = (args.get(0)?, args.get(1)?, args.opt(2));
    Ok(match (&a.data, &b.data) {
        (Values::F32(x), Values::F32(y)) => {
            let mut sums = plain(args, x, y, trans_a, trans_b)?;
            sums.iter_mut().for_each(|s| *s *= alpha);
            if let Some(c) = c {
                let c32 = c.to_f32();
                sums.iter_mut().zip(spread(args, c)).for_each(|(s, i)| *s += beta * c32[i]);
            }
            Values::F32(sums)
        }
        (Values::F64(x), Values::F64(y)) => {
            let sums = plain(args, x, y, trans_a, trans_b)?;
            Values::F64(scaled(args, sums.into_iter(), c, alpha, beta))
        }
        (Values::Int(x), Values::Int(y)) => {
            let sums = plain(args, x, y, trans_a, trans_b)?;
            match c.map(|c| (&c.data, c)) {
                None if alpha == 1.0 => Values::Int(sums),
                Some((Values::Int(v), c)) if alpha == 1.0 && beta == 1.0 => {
                    Values::Int(sums.into_iter().zip(spread(args, c)).map(|(s, i)| s.wrapping_add(v[i])).collect())
                }
                _ => Values::F64(scaled(args, sums.into_iter().map(|s| s as f64), c, alpha, beta)),
            }
        }
        _ => return Err(args.err("operands differ in type")),
    })
}

/// Offsets of Gemm's c as it broadcasts to the result.
fn spread(args: &Args, c: &Array) -> Offsets {
    Offsets::broadcast(&c.shape, &args.out[0].shape)
}

fn scaled(args: &Args, sums: impl Iterator<Item = f64>, c: Option<&Array>, alpha: f32, beta: f32) -> Vec<f64> {
    let (alpha, beta) = (f64::from(alpha), f64::from(beta));
    match c {
        None => sums.map(|s| alpha * s).collect(),
        Some(c) => {
            let values = c.to_f64();
            sums.zip(spread(args, c)).map(|(s, i)| alpha * s + beta * values[i]).collect()
        }
    }
}

/// The bare product of two matrices, either of which may lie transposed.
fn plain<T: Number>(args: &Args, x: &[T], y: &[T], trans_a: bool, trans_b: bool) -> Result<Vec<T>> {
    let (sa, sb) = (&args.get(0)?.shape, &args.get(1)?.shape);
    let out = &args.out[0].shape;
    let k = if trans_a { sa[0] } else { sa[1] };
    let flipped: Vec<T>;
    let x = if trans_a {
        flipped = Offsets::new(&[sa[1], sa[0]], &[1, sa[1] as isize], 0).map(|i| x[i]).collect();
        &flipped
    } else {
        x
    };
    let mut result = vec![T::ZERO; out.iter().product()];
    match trans_b {
        true => multiply_nk(x, y, k, sb[0], &mut result),
        false => multiply_kn(x, y, k, sb[1], &mut result),
    }
    Ok(result)
}
