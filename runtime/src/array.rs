//! Host arrays. In: elements of any type numpy knows. Out: what the device's ports hold, and back. Promise: an array that does not fit
//! its port is refused by name; integers that leave the device's range are an error, never wrapped.

use crate::error::{Error, Kind, Result};
use crate::program::{Elem, Port};
use half::f16;

/// Elements as numpy knows them.
#[derive(Clone, PartialEq, Debug)]
pub enum Data {
    F16(Vec<f16>),
    F32(Vec<f32>),
    F64(Vec<f64>),
    I8(Vec<i8>),
    I16(Vec<i16>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    U8(Vec<u8>),
    U16(Vec<u16>),
    U32(Vec<u32>),
    U64(Vec<u64>),
    Bool(Vec<bool>),
}

/// A dense row-major array.
#[derive(Clone, PartialEq, Debug)]
pub struct Array {
    pub shape: Vec<usize>,
    pub data: Data,
}

/// Calls `$body` with `$v` bound to the vector inside.
macro_rules! each {
    ($data:expr, $v:ident => $body:expr) => {
        match $data {
            Data::F16($v) => $body,
            Data::F32($v) => $body,
            Data::F64($v) => $body,
            Data::I8($v) => $body,
            Data::I16($v) => $body,
            Data::I32($v) => $body,
            Data::I64($v) => $body,
            Data::U8($v) => $body,
            Data::U16($v) => $body,
            Data::U32($v) => $body,
            Data::U64($v) => $body,
            Data::Bool($v) => $body,
        }
    };
}

impl Data {
    pub fn len(&self) -> usize {
        each!(self, v => v.len())
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The name numpy gives the type.
    pub fn numpy(&self) -> &'static str {
        match self {
            Data::F16(_) => "float16",
            Data::F32(_) => "float32",
            Data::F64(_) => "float64",
            Data::I8(_) => "int8",
            Data::I16(_) => "int16",
            Data::I32(_) => "int32",
            Data::I64(_) => "int64",
            Data::U8(_) => "uint8",
            Data::U16(_) => "uint16",
            Data::U32(_) => "uint32",
            Data::U64(_) => "uint64",
            Data::Bool(_) => "bool",
        }
    }

    /// Elements as f64; exact but for integers beyond 2^53.
    pub fn to_f64(&self) -> Vec<f64> {
        match self {
            Data::F16(v) => v.iter().map(|x| x.to_f64()).collect(),
            Data::F32(v) => v.iter().map(|&x| f64::from(x)).collect(),
            Data::F64(v) => v.clone(),
            Data::Bool(v) => v.iter().map(|&x| f64::from(u8::from(x))).collect(),
            _ => self.ints().into_iter().map(|x| x as f64).collect(),
        }
    }

    /// Integers and bools, exact; empty for floats.
    fn ints(&self) -> Vec<i128> {
        match self {
            Data::F16(_) | Data::F32(_) | Data::F64(_) => Vec::new(),
            Data::I8(v) => v.iter().map(|&x| x.into()).collect(),
            Data::I16(v) => v.iter().map(|&x| x.into()).collect(),
            Data::I32(v) => v.iter().map(|&x| x.into()).collect(),
            Data::I64(v) => v.iter().map(|&x| x.into()).collect(),
            Data::U8(v) => v.iter().map(|&x| x.into()).collect(),
            Data::U16(v) => v.iter().map(|&x| x.into()).collect(),
            Data::U32(v) => v.iter().map(|&x| x.into()).collect(),
            Data::U64(v) => v.iter().map(|&x| x.into()).collect(),
            Data::Bool(v) => v.iter().map(|&x| x.into()).collect(),
        }
    }

    fn is_float(&self) -> bool {
        matches!(self, Data::F16(_) | Data::F32(_) | Data::F64(_))
    }
}

impl Array {
    pub fn f32(shape: &[usize], values: &[f32]) -> Array {
        Array { shape: shape.to_vec(), data: Data::F32(values.to_vec()) }
    }

    pub fn i64(shape: &[usize], values: &[i64]) -> Array {
        Array { shape: shape.to_vec(), data: Data::I64(values.to_vec()) }
    }

    /// The bytes that the port's kernels read.
    pub(crate) fn encode(&self, port: &Port) -> Result<Vec<u8>> {
        let wrong = |what: String| Error::new(Kind::Input, format!("input '{}': {what}", port.name));
        let want: Vec<usize> = port.shape.iter().map(|&d| d as usize).collect();
        if self.shape != want {
            return Err(wrong(format!("shape {:?} given, {want:?} expected", self.shape)));
        }
        if self.data.len() != want.iter().product::<usize>() {
            return Err(wrong(format!("{} elements for shape {want:?}", self.data.len())));
        }
        let float = matches!(port.elem, Elem::F32 | Elem::F16);
        if float != self.data.is_float() {
            return Err(wrong(format!("{} given, {} expected", self.data.numpy(), port.numpy)));
        }
        if float {
            let values = self.data.to_f64();
            return Ok(match port.elem {
                Elem::F16 => values.iter().flat_map(|&x| f16::from_f64(x).to_le_bytes()).collect(),
                _ => values.iter().flat_map(|&x| (x as f32).to_le_bytes()).collect(),
            });
        }
        let mut out = Vec::with_capacity(self.data.len() * 4);
        for (i, x) in self.data.ints().into_iter().enumerate() {
            let word = match port.elem {
                Elem::U32 => u32::try_from(x).ok(),
                _ => i32::try_from(x).ok().map(|v| v as u32),
            };
            let word = word.ok_or_else(|| wrong(format!("element {i} is {x}, out of the device's 32-bit range")))?;
            out.extend(word.to_le_bytes());
        }
        Ok(out)
    }

    /// An array of the port's numpy type from the bytes that kernels wrote.
    pub(crate) fn decode(port: &Port, bytes: &[u8]) -> Result<Array> {
        let words = || bytes.chunks_exact(4).map(|w| [w[0], w[1], w[2], w[3]]);
        let floats = || -> Vec<f32> {
            match port.elem {
                Elem::F16 => bytes.chunks_exact(2).map(|h| f16::from_le_bytes([h[0], h[1]]).to_f32()).collect(),
                _ => words().map(f32::from_le_bytes).collect(),
            }
        };
        let ints = || -> Vec<i64> {
            match port.elem {
                Elem::U32 => words().map(|w| u32::from_le_bytes(w).into()).collect(),
                _ => words().map(|w| i32::from_le_bytes(w).into()).collect(),
            }
        };
        let data = match port.numpy.as_ref() {
            "float16" => Data::F16(floats().into_iter().map(f16::from_f32).collect()),
            "float32" => Data::F32(floats()),
            "float64" => Data::F64(floats().into_iter().map(f64::from).collect()),
            "int8" => Data::I8(ints().into_iter().map(|x| x as i8).collect()),
            "int16" => Data::I16(ints().into_iter().map(|x| x as i16).collect()),
            "int32" => Data::I32(ints().into_iter().map(|x| x as i32).collect()),
            "int64" => Data::I64(ints()),
            "uint8" => Data::U8(ints().into_iter().map(|x| x as u8).collect()),
            "uint16" => Data::U16(ints().into_iter().map(|x| x as u16).collect()),
            "uint32" => Data::U32(ints().into_iter().map(|x| x as u32).collect()),
            "uint64" => Data::U64(ints().into_iter().map(|x| x as u64).collect()),
            "bool" => Data::Bool(ints().into_iter().map(|x| x != 0).collect()),
            other => {
                return Err(Error::new(Kind::Program, format!("output '{}' has the unknown type {other}", port.name)));
            }
        };
        Ok(Array { shape: port.shape.iter().map(|&d| d as usize).collect(), data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port(numpy: &'static str, elem: Elem, shape: &[u32]) -> Port {
        Port { name: "x".into(), numpy: numpy.into(), elem, shape: shape.to_vec().into() }
    }

    #[test]
    fn integers_beyond_32_bits_are_refused_with_their_place() {
        let array = Array::i64(&[2], &[1, 1 << 40]);
        let error = array.encode(&port("int64", Elem::I32, &[2])).unwrap_err();
        assert_eq!(error.kind, Kind::Input);
        assert!(error.to_string().contains("element 1 is 1099511627776"), "{error}");
    }

    #[test]
    fn a_wrong_shape_and_a_wrong_kind_name_the_port() {
        let p = port("float32", Elem::F32, &[2, 2]);
        let shape = Array::f32(&[4], &[0.0; 4]).encode(&p).unwrap_err().to_string();
        assert_eq!(shape, "input 'x': shape [4] given, [2, 2] expected");
        let kind = Array::i64(&[2, 2], &[0; 4]).encode(&p).unwrap_err().to_string();
        assert_eq!(kind, "input 'x': int64 given, float32 expected");
    }

    #[test]
    fn arrays_survive_the_way_to_the_device_and_back() {
        for (numpy, elem, data) in [
            ("int64", Elem::I32, Data::I64(vec![-1, 0, i64::from(i32::MAX)])),
            ("bool", Elem::U32, Data::Bool(vec![true, false, true])),
            ("float16", Elem::F32, Data::F16(vec![f16::from_f32(0.1), f16::MAX, f16::from_f32(-2.0)])),
            ("uint8", Elem::I32, Data::U8(vec![0, 7, 255])),
            ("float64", Elem::F32, Data::F64(vec![0.5, -1.25, 3.0])),
        ] {
            let p = port(numpy, elem, &[3]);
            let array = Array { shape: vec![3], data };
            assert_eq!(Array::decode(&p, &array.encode(&p).unwrap()).unwrap(), array, "{numpy}");
        }
    }
}
