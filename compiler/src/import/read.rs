//! Constant tensors as numbers. In: a tensor. Out: its elements as i64 or f64. Promise: unaligned data is fine; absent data is an error.

use crate::error::{Error, Result};
use crate::graph::{DType, Tensor};
use half::{bf16, f16};

fn chunks<const N: usize, T>(bytes: &[u8], f: fn([u8; N]) -> T) -> Vec<T> {
    bytes.as_chunks::<N>().0.iter().map(|c| f(*c)).collect()
}

/// Integer and bool elements (u64 as its bits).
pub fn ints(tensor: &Tensor) -> Result<Vec<i64>> {
    ints_in(tensor.dtype, tensor.bytes()?)
}

fn ints_in(dtype: DType, b: &[u8]) -> Result<Vec<i64>> {
    Ok(match dtype {
        DType::I8 => chunks(b, |c| i8::from_le_bytes(c) as i64),
        DType::U8 => chunks(b, |c| u8::from_le_bytes(c) as i64),
        DType::Bool => chunks(b, |c: [u8; 1]| (c[0] != 0) as i64),
        DType::I16 => chunks(b, |c| i16::from_le_bytes(c) as i64),
        DType::U16 => chunks(b, |c| u16::from_le_bytes(c) as i64),
        DType::I32 => chunks(b, |c| i32::from_le_bytes(c) as i64),
        DType::U32 => chunks(b, |c| u32::from_le_bytes(c) as i64),
        DType::I64 => chunks(b, i64::from_le_bytes),
        DType::U64 => chunks(b, |c| u64::from_le_bytes(c) as i64),
        d => return Err(Error::new("import", format!("integers are needed here, not {d}"))),
    })
}

/// Elements of any type as f64.
pub fn floats(tensor: &Tensor) -> Result<Vec<f64>> {
    floats_in(tensor.dtype, tensor.bytes()?)
}

/// Elements of `dtype` in `b` as f64.
pub fn floats_in(dtype: DType, b: &[u8]) -> Result<Vec<f64>> {
    Ok(match dtype {
        DType::F32 => chunks(b, |c| f32::from_le_bytes(c) as f64),
        DType::F64 => chunks(b, f64::from_le_bytes),
        DType::F16 => chunks(b, |c| f16::from_le_bytes(c).to_f64()),
        DType::BF16 => chunks(b, |c| bf16::from_le_bytes(c).to_f64()),
        DType::U64 => chunks(b, |c| u64::from_le_bytes(c) as f64),
        _ => ints_in(dtype, b)?.into_iter().map(|v| v as f64).collect(),
    })
}

/// Little-endian bytes of `values` in `dtype`; floats are rounded to it, integers truncated.
pub fn encode(dtype: DType, values: &[f64]) -> Vec<u8> {
    fn all<const N: usize>(values: &[f64], f: fn(f64) -> [u8; N]) -> Vec<u8> {
        values.iter().flat_map(|&v| f(v)).collect()
    }
    match dtype {
        DType::F32 => all(values, |v| (v as f32).to_le_bytes()),
        DType::F64 => all(values, f64::to_le_bytes),
        DType::F16 => all(values, |v| f16::from_f64(v).to_le_bytes()),
        DType::BF16 => all(values, |v| bf16::from_f64(v).to_le_bytes()),
        DType::I8 => all(values, |v| (v as i8).to_le_bytes()),
        DType::U8 => all(values, |v| (v as u8).to_le_bytes()),
        DType::Bool => all(values, |v| [(v != 0.0) as u8]),
        DType::I16 => all(values, |v| (v as i16).to_le_bytes()),
        DType::U16 => all(values, |v| (v as u16).to_le_bytes()),
        DType::I32 => all(values, |v| (v as i32).to_le_bytes()),
        DType::U32 => all(values, |v| (v as u32).to_le_bytes()),
        DType::I64 => all(values, |v| (v as i64).to_le_bytes()),
        DType::U64 => all(values, |v| (v as u64).to_le_bytes()),
    }
}
