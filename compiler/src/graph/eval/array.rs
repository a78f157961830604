//! Values at run time. In: constants or computed elements. Out: typed arrays. Promise: every element is one its type can hold.

use crate::error::Result;
use crate::graph::{DType, Tensor, Ty};
use half::{bf16, f16};

/// A value at run time.
#[derive(Clone, PartialEq, Debug)]
pub struct Array {
    pub dtype: DType,
    pub shape: Vec<usize>,
    pub data: Values,
}

/// Storage by kind: F32, F16 and BF16 as f32 (rounded to the type when a value is made), F64 as f64, all integers as i64 in
/// their type's range (U64 as its bits), Bool as bool.
#[derive(Clone, PartialEq, Debug)]
pub enum Values {
    F32(Vec<f32>),
    F64(Vec<f64>),
    Int(Vec<i64>),
    Bool(Vec<bool>),
}

/// Applies one expression to whichever storage there is, keeping the kind.
macro_rules! each {
    ($values:expr, $v:ident => $body:expr) => {
        match $values {
            Values::F32($v) => Values::F32($body),
            Values::F64($v) => Values::F64($body),
            Values::Int($v) => Values::Int($body),
            Values::Bool($v) => Values::Bool($body),
        }
    };
}
pub(super) use each;

impl Array {
    /// Takes elements in row-major order, converted to `dtype`: floats are rounded, integers wrap. There must be as many as
    /// `shape` says.
    pub fn new(dtype: DType, shape: Vec<usize>, data: Values) -> Array {
        debug_assert_eq!(data.len(), shape.iter().product::<usize>());
        Array { dtype, shape, data: data.cast(dtype) }
    }

    pub fn f32(shape: &[usize], values: &[f32]) -> Array {
        Array::new(DType::F32, shape.to_vec(), Values::F32(values.to_vec()))
    }

    pub fn i64(shape: &[usize], values: &[i64]) -> Array {
        Array::new(DType::I64, shape.to_vec(), Values::Int(values.to_vec()))
    }

    pub fn bool(shape: &[usize], values: &[bool]) -> Array {
        Array::new(DType::Bool, shape.to_vec(), Values::Bool(values.to_vec()))
    }

    /// An i32 scalar, as `pos` and `rows` are.
    pub fn scalar(value: i32) -> Array {
        Array::new(DType::I32, vec![], Values::Int(vec![i64::from(value)]))
    }

    pub fn zeros(ty: &Ty) -> Array {
        Array::new(ty.dtype, ty.shape.clone(), Values::Int(vec![0; ty.elements()]))
    }

    pub fn ty(&self) -> Ty {
        Ty { dtype: self.dtype, shape: self.shape.clone() }
    }

    /// Every element as f64 (exact but for integers past 2^53).
    pub fn to_f64(&self) -> Vec<f64> {
        match &self.data {
            Values::F32(v) => v.iter().map(|&x| f64::from(x)).collect(),
            Values::F64(v) => v.clone(),
            Values::Int(v) if self.dtype == DType::U64 => v.iter().map(|&x| x as u64 as f64).collect(),
            Values::Int(v) => v.iter().map(|&x| x as f64).collect(),
            Values::Bool(v) => v.iter().map(|&x| f64::from(u8::from(x))).collect(),
        }
    }

    /// Every element as f32.
    pub fn to_f32(&self) -> Vec<f32> {
        match &self.data {
            Values::F32(v) => v.clone(),
            _ => self.to_f64().into_iter().map(|x| x as f32).collect(),
        }
    }

    /// Every element as an integer: floats lose their fraction, bool gives 0 and 1.
    pub fn to_ints(&self) -> Vec<i64> {
        match self.data.clone().cast(DType::I64) {
            Values::Int(v) => v,
            _ => Vec::new(),
        }
    }

    /// Reads a constant. An error where its data is absent.
    pub fn from_tensor(t: &Tensor) -> Result<Array> {
        let data = decode(t.dtype, t.bytes()?);
        Ok(Array { dtype: t.dtype, shape: t.shape.clone(), data })
    }

    pub fn to_tensor(&self) -> Tensor {
        Tensor::from_bytes(self.dtype, self.shape.clone(), self.to_bytes())
    }

    /// Little-endian bytes in the array's own type.
    pub fn to_bytes(&self) -> Vec<u8> {
        match (&self.data, self.dtype) {
            (Values::F32(v), DType::F16) => v.iter().flat_map(|&x| f16::from_f32(x).to_le_bytes()).collect(),
            (Values::F32(v), DType::BF16) => v.iter().flat_map(|&x| bf16::from_f32(x).to_le_bytes()).collect(),
            (Values::F32(v), _) => v.iter().flat_map(|x| x.to_le_bytes()).collect(),
            (Values::F64(v), _) => v.iter().flat_map(|x| x.to_le_bytes()).collect(),
            (Values::Int(v), d) => v.iter().flat_map(|x| x.to_le_bytes().into_iter().take(d.bytes())).collect(),
            (Values::Bool(v), _) => v.iter().map(|&x| u8::from(x)).collect(),
        }
    }
}

fn decode(dtype: DType, bytes: &[u8]) -> Values {
    fn le<const N: usize, T>(bytes: &[u8], f: impl Fn([u8; N]) -> T) -> Vec<T> {
        bytes.as_chunks::<N>().0.iter().map(|&c| f(c)).collect()
    }
    match dtype {
        DType::F32 => Values::F32(le(bytes, f32::from_le_bytes)),
        DType::F16 => Values::F32(le(bytes, |b| f16::from_le_bytes(b).to_f32())),
        DType::BF16 => Values::F32(le(bytes, |b| bf16::from_le_bytes(b).to_f32())),
        DType::F64 => Values::F64(le(bytes, f64::from_le_bytes)),
        DType::I8 => Values::Int(le(bytes, |b| i64::from(i8::from_le_bytes(b)))),
        DType::I16 => Values::Int(le(bytes, |b| i64::from(i16::from_le_bytes(b)))),
        DType::I32 => Values::Int(le(bytes, |b| i64::from(i32::from_le_bytes(b)))),
        DType::I64 | DType::U64 => Values::Int(le(bytes, i64::from_le_bytes)),
        DType::U8 => Values::Int(le(bytes, |b: [u8; 1]| i64::from(b[0]))),
        DType::U16 => Values::Int(le(bytes, |b| i64::from(u16::from_le_bytes(b)))),
        DType::U32 => Values::Int(le(bytes, |b| i64::from(u32::from_le_bytes(b)))),
        DType::Bool => Values::Bool(le(bytes, |b: [u8; 1]| b[0] != 0)),
    }
}

impl Values {
    pub fn len(&self) -> usize {
        match self {
            Values::F32(v) => v.len(),
            Values::F64(v) => v.len(),
            Values::Int(v) => v.len(),
            Values::Bool(v) => v.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Elements at these places, in their order.
    pub(super) fn pick(&self, places: impl Iterator<Item = usize>) -> Values {
        each!(self, v => places.map(|i| v[i]).collect())
    }

    /// The same elements as `to` holds them: floats round to nearest even, float to integer truncates, integers wrap, bool is
    /// "not zero".
    pub(super) fn cast(self, to: DType) -> Values {
        use DType::*;
        match (self, to) {
            (Values::F32(v), F32) => Values::F32(v),
            (Values::F32(v), F16) => Values::F32(v.into_iter().map(|x| f16::from_f32(x).to_f32()).collect()),
            (Values::F32(v), BF16) => Values::F32(v.into_iter().map(|x| bf16::from_f32(x).to_f32()).collect()),
            (Values::F32(v), F64) => Values::F64(v.into_iter().map(f64::from).collect()),
            (Values::F32(v), Bool) => Values::Bool(v.into_iter().map(|x| x != 0.0).collect()),
            (Values::F32(v), _) => Values::Int(v.into_iter().map(|x| truncate(f64::from(x), to)).collect()),
            (Values::F64(v), F64) => Values::F64(v),
            (Values::F64(v), F32) => Values::F32(v.into_iter().map(|x| x as f32).collect()),
            (Values::F64(v), F16) => Values::F32(v.into_iter().map(|x| f16::from_f64(x).to_f32()).collect()),
            (Values::F64(v), BF16) => Values::F32(v.into_iter().map(|x| bf16::from_f64(x).to_f32()).collect()),
            (Values::F64(v), Bool) => Values::Bool(v.into_iter().map(|x| x != 0.0).collect()),
            (Values::F64(v), _) => Values::Int(v.into_iter().map(|x| truncate(x, to)).collect()),
            (Values::Int(v), F64) => Values::F64(v.into_iter().map(|x| x as f64).collect()),
            (Values::Int(v), F32) => Values::F32(v.into_iter().map(|x| x as f32).collect()),
            (Values::Int(v), F16) => Values::F32(v.into_iter().map(|x| f16::from_f64(x as f64).to_f32()).collect()),
            (Values::Int(v), BF16) => Values::F32(v.into_iter().map(|x| bf16::from_f64(x as f64).to_f32()).collect()),
            (Values::Int(v), Bool) => Values::Bool(v.into_iter().map(|x| x != 0).collect()),
            (Values::Int(v), _) => Values::Int(v.into_iter().map(|x| wrap(x, to)).collect()),
            (Values::Bool(v), Bool) => Values::Bool(v),
            (Values::Bool(v), F64) => Values::F64(v.into_iter().map(|x| f64::from(u8::from(x))).collect()),
            (Values::Bool(v), d) if d.is_float() => {
                Values::F32(v.into_iter().map(|x| f32::from(u8::from(x))).collect())
            }
            (Values::Bool(v), _) => Values::Int(v.into_iter().map(i64::from).collect()),
        }
    }
}

/// Drops the fraction, then wraps to the width of `to`.
fn truncate(x: f64, to: DType) -> i64 {
    match to {
        DType::U64 if x >= 0.0 => x as u64 as i64,
        _ => wrap(x as i64, to),
    }
}

/// The low bits of `x`, as an integer of type `to`.
pub(super) fn wrap(x: i64, to: DType) -> i64 {
    match to {
        DType::I8 => i64::from(x as i8),
        DType::I16 => i64::from(x as i16),
        DType::I32 => i64::from(x as i32),
        DType::U8 => i64::from(x as u8),
        DType::U16 => i64::from(x as u16),
        DType::U32 => i64::from(x as u32),
        _ => x,
    }
}
