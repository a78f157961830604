//! The weight table. In: a `TensorProto`. Out: a `Tensor` over the mapped file. Promise: nothing is copied that lies in the file as
//! we need it; a tensor whose bytes are not exactly those its shape asks for is refused.

use super::external::{self, Files};
use super::read::encode;
use crate::error::{Error, Result};
use crate::graph::{DType, Data, Tensor};
use half::f16;
use onnx_ir::TensorProto;
use std::sync::Arc;

/// How the elements of a tensor are stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Storage {
    Plain(DType),
    /// Several elements a byte, the first in the low bits; unpacked to one byte each.
    Packed {
        bits: usize,
        signed: bool,
    },
}

impl Storage {
    /// The type that the graph sees.
    pub fn dtype(self) -> DType {
        match self {
            Storage::Plain(d) => d,
            Storage::Packed { signed: true, .. } => DType::I8,
            Storage::Packed { signed: false, .. } => DType::U8,
        }
    }

    /// Bytes that `elements` take in a file.
    pub fn bytes(self, elements: usize) -> usize {
        match self {
            Storage::Plain(d) => elements * d.bytes(),
            Storage::Packed { bits, .. } => elements.div_ceil(8 / bits),
        }
    }
}

/// Storage of an ONNX element type (`TensorProto.DataType`), or why there is none.
pub fn storage(data_type: i32) -> Result<Storage, String> {
    Ok(match data_type {
        1 => Storage::Plain(DType::F32),
        2 => Storage::Plain(DType::U8),
        3 => Storage::Plain(DType::I8),
        4 => Storage::Plain(DType::U16),
        5 => Storage::Plain(DType::I16),
        6 => Storage::Plain(DType::I32),
        7 => Storage::Plain(DType::I64),
        9 => Storage::Plain(DType::Bool),
        10 => Storage::Plain(DType::F16),
        11 => Storage::Plain(DType::F64),
        12 => Storage::Plain(DType::U32),
        13 => Storage::Plain(DType::U64),
        16 => Storage::Plain(DType::BF16),
        21 => Storage::Packed { bits: 4, signed: false },
        22 => Storage::Packed { bits: 4, signed: true },
        25 => Storage::Packed { bits: 2, signed: false },
        26 => Storage::Packed { bits: 2, signed: true },
        other => return Err(format!("elements of type {} are not supported", type_name(other))),
    })
}

/// ONNX's name of an element type.
pub fn type_name(data_type: i32) -> String {
    const NAMES: [&str; 27] = [
        "undefined",
        "float",
        "uint8",
        "int8",
        "uint16",
        "int16",
        "int32",
        "int64",
        "string",
        "bool",
        "float16",
        "double",
        "uint32",
        "uint64",
        "complex64",
        "complex128",
        "bfloat16",
        "float8e4m3fn",
        "float8e4m3fnuz",
        "float8e5m2",
        "float8e5m2fnuz",
        "uint4",
        "int4",
        "float4e2m1",
        "float8e8m0",
        "uint2",
        "int2",
    ];
    let name = usize::try_from(data_type).ok().and_then(|i| NAMES.get(i));
    name.map_or_else(|| format!("number {data_type}"), |n| n.to_string())
}

/// The most elements a tensor may have; keeps byte counts far from overflow.
pub const MAX_ELEMENTS: usize = 1 << 40;

/// The shape of a tensor, if its extents are sane.
pub fn shape(dims: &[i64]) -> Result<Vec<usize>> {
    let bad = || Error::new("import", format!("shape {dims:?} is not a shape of at most 2^40 elements"));
    let shape = dims.iter().map(|&d| usize::try_from(d)).collect::<Result<Vec<usize>, _>>().map_err(|_| bad())?;
    let bounded =
        shape.iter().filter(|d| **d > 0).try_fold(1usize, |n, &d| n.checked_mul(d)).filter(|n| *n <= MAX_ELEMENTS);
    bounded.map(|_| shape).ok_or_else(bad)
}

/// Reads a tensor, wherever its data is.
pub fn tensor(proto: &TensorProto, files: &Files) -> Result<Tensor> {
    convert(proto, files).map_err(|e| e.at(format!("tensor '{}'", proto.name)))
}

fn convert(proto: &TensorProto, files: &Files) -> Result<Tensor> {
    let storage = storage(proto.data_type).map_err(|e| Error::new("import", e))?;
    let shape = shape(&proto.dims)?;
    let elements = shape.iter().product();
    if proto.segment.is_some() {
        return Err(Error::new("import", "segmented tensors are not supported"));
    }
    let stored = storage.bytes(elements);
    let data = if external::is_external(proto) {
        match files.extent(proto, stored)? {
            Some(bytes) => bytes,
            None => return Ok(Tensor { dtype: storage.dtype(), shape, data: Data::Absent(proto.name.clone()) }),
        }
    } else if !proto.raw_data.is_empty() {
        proto.raw_data.clone()
    } else {
        typed(proto, storage, elements)?.into()
    };
    if data.len() != stored {
        return Err(Error::new(
            "import",
            format!(
                "shape {shape:?} of {} takes {stored} bytes, the file holds {}",
                type_name(proto.data_type),
                data.len()
            ),
        ));
    }
    Ok(match storage {
        Storage::Plain(dtype) => {
            let range = 0..data.len();
            Tensor { dtype, shape, data: Data::Bytes(Arc::new(data), range) }
        }
        Storage::Packed { bits, signed } => {
            Tensor::from_bytes(storage.dtype(), shape, unpack(&data, elements, bits, signed))
        }
    })
}

/// One byte an element, the low bits first.
fn unpack(data: &[u8], elements: usize, bits: usize, signed: bool) -> Vec<u8> {
    let per_byte = 8 / bits;
    let up = 8 - bits;
    let element = |i: usize| {
        let raw = data[i / per_byte] >> (bits * (i % per_byte));
        if signed { (((raw << up) as i8) >> up) as u8 } else { (raw << up) >> up }
    };
    (0..elements).map(element).collect()
}

/// Bytes of a tensor whose elements stand in the typed fields of the protobuf.
fn typed(proto: &TensorProto, storage: Storage, elements: usize) -> Result<Vec<u8>> {
    let i32s = &proto.int32_data;
    let bytes: Vec<u8> = match storage {
        Storage::Packed { .. } => i32s.iter().map(|&v| v as u8).collect(),
        Storage::Plain(dtype) => match dtype {
            DType::F32 => proto.float_data.iter().flat_map(|v| v.to_le_bytes()).collect(),
            DType::F64 => proto.double_data.iter().flat_map(|v| v.to_le_bytes()).collect(),
            DType::I64 => proto.int64_data.iter().flat_map(|v| v.to_le_bytes()).collect(),
            DType::U64 => proto.uint64_data.iter().flat_map(|v| v.to_le_bytes()).collect(),
            DType::U32 => proto.uint64_data.iter().flat_map(|v| (*v as u32).to_le_bytes()).collect(),
            DType::I32 => i32s.iter().flat_map(|v| v.to_le_bytes()).collect(),
            DType::I16 | DType::U16 | DType::BF16 => i32s.iter().flat_map(|v| (*v as u16).to_le_bytes()).collect(),
            DType::F16 if i32s.is_empty() => {
                // Some old writers put halves into float_data.
                let values: Vec<f64> = proto.float_data.iter().map(|v| *v as f64).collect();
                encode(DType::F16, &values)
            }
            DType::F16 => i32s.iter().flat_map(|v| f16::from_bits(*v as u16).to_le_bytes()).collect(),
            DType::I8 | DType::U8 | DType::Bool => i32s.iter().map(|&v| v as u8).collect(),
        },
    };
    if bytes.is_empty() && elements > 0 {
        return Err(Error::new("import", format!("the file holds no data for its {elements} elements")));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn read(proto: &TensorProto) -> Result<Tensor> {
        tensor(proto, &Files::new(Path::new("."), false))
    }

    fn proto(data_type: i32, dims: &[i64]) -> TensorProto {
        TensorProto { name: "w".into(), data_type, dims: dims.to_vec(), ..Default::default() }
    }

    #[test]
    fn typed_fields_and_raw_data_give_the_same_tensor() {
        let mut typed = proto(10, &[3]);
        typed.int32_data = vec![0x3c00, 0xc000, 0x7bff];
        let mut raw = proto(10, &[3]);
        raw.raw_data = vec![0x00, 0x3c, 0x00, 0xc0, 0xff, 0x7b].into();
        let (a, b) = (read(&typed).unwrap(), read(&raw).unwrap());
        assert_eq!(a.bytes().unwrap(), b.bytes().unwrap());
        assert_eq!(super::super::read::floats(&a).unwrap(), [1.0, -2.0, 65504.0]);
    }

    #[test]
    fn four_bit_integers_are_unpacked_low_nibble_first_and_keep_their_sign() {
        let mut signed = proto(22, &[3]);
        signed.raw_data = vec![0x8f, 0x07].into();
        assert_eq!(super::super::read::ints(&read(&signed).unwrap()).unwrap(), [-1, -8, 7]);
        let mut unsigned = proto(21, &[3]);
        unsigned.int32_data = vec![0x8f, 0x07];
        assert_eq!(super::super::read::ints(&read(&unsigned).unwrap()).unwrap(), [15, 8, 7]);
    }

    #[test]
    fn too_few_or_too_many_bytes_are_refused_with_both_numbers() {
        let mut t = proto(1, &[2, 2]);
        t.raw_data = vec![0; 12].into();
        let e = read(&t).unwrap_err().to_string();
        assert!(e.contains("tensor 'w'") && e.contains("16 bytes") && e.contains("12"), "{e}");
        t.raw_data = vec![0; 20].into();
        assert!(read(&t).is_err());
    }

    #[test]
    fn impossible_shapes_are_refused_before_anything_is_allocated() {
        for dims in [vec![i64::MAX, i64::MAX], vec![-1], vec![1 << 41], vec![0, i64::MAX, 4]] {
            let e = read(&proto(1, &dims)).unwrap_err().to_string();
            assert!(e.contains("not a shape"), "{e}");
        }
    }

    #[test]
    fn zero_elements_need_no_data() {
        assert_eq!(read(&proto(1, &[0, 4])).unwrap().len(), 0);
        assert!(read(&proto(1, &[1])).is_err());
    }

    #[test]
    fn types_without_arithmetic_are_refused_by_name() {
        let e = read(&proto(17, &[1])).unwrap_err().to_string();
        assert!(e.contains("float8e4m3fn"), "{e}");
    }
}
