//! Constant tensors. In: bytes in memory, in a mapped file, quantised, or only a name. Out: typed reads. Promise: cloning never
//! copies data; a quantised tensor reads as the floats that its codes mean.

use super::DType;
use super::quant::{Encoded, Quant};
use crate::error::Error;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// What content is told apart by: 32 hex digits of blake3.
pub fn digest(hasher: &blake3::Hasher) -> String {
    hasher.finalize().to_hex()[..32].to_string()
}

/// A constant: little-endian, row-major, densely packed.
#[derive(Clone)]
pub struct Tensor {
    pub dtype: DType,
    pub shape: Vec<usize>,
    pub data: Data,
}

/// Where the bytes of a constant are.
#[derive(Clone)]
pub enum Data {
    /// Shared bytes: a buffer or a mapped file, and the range of this tensor in it.
    Bytes(Arc<dyn AsRef<[u8]> + Send + Sync>, Range<usize>),
    /// External data that is not at hand (compiling for a plan or a snapshot, without weights).
    /// The name is the tensor's; reading it is an error that says so.
    Absent(String),
    /// A matrix that the pool keeps quantised.
    Quantised(Arc<Quantised>),
}

/// A quantised f32 matrix, or, where the data is not at hand, how it will be quantised.
pub struct Quantised {
    pub quant: Quant,
    source: Result<Source, String>,
    floats: OnceLock<Vec<u8>>,
}

struct Source {
    encoded: Arc<Encoded>,
    /// The tensor is [k, n]; `encoded` is always n rows of k.
    transposed: bool,
}

impl Tensor {
    /// Takes `bytes` as they are. Their length must be `elements * dtype.bytes()`.
    pub fn from_bytes(dtype: DType, shape: Vec<usize>, bytes: Vec<u8>) -> Tensor {
        debug_assert_eq!(bytes.len(), shape.iter().product::<usize>() * dtype.bytes());
        let range = 0..bytes.len();
        Tensor { dtype, shape, data: Data::Bytes(Arc::new(bytes), range) }
    }

    pub fn f32(shape: &[usize], values: &[f32]) -> Tensor {
        Tensor::from_bytes(DType::F32, shape.to_vec(), bytemuck::cast_slice(values).to_vec())
    }

    pub fn i64(shape: &[usize], values: &[i64]) -> Tensor {
        Tensor::from_bytes(DType::I64, shape.to_vec(), bytemuck::cast_slice(values).to_vec())
    }

    /// A tensor made from `source` when its bytes are first read; absent where the source is. `make` must give as many bytes as
    /// the type and shape say.
    pub fn later(
        dtype: DType,
        source: &Tensor,
        shape: Vec<usize>,
        make: impl Fn() -> Vec<u8> + Send + Sync + 'static,
    ) -> Tensor {
        let bytes = shape.iter().product::<usize>() * dtype.bytes();
        let data = match source.absent_name() {
            Some(name) => Data::Absent(name.to_string()),
            None => Data::Bytes(Arc::new(Later { make, bytes: OnceLock::new() }), 0..bytes),
        };
        Tensor { dtype, shape, data }
    }

    /// The f32 matrix that `encoded` (n rows of k) stands for: [n, k], or [k, n] where it is `transposed`.
    pub fn quantised(encoded: Arc<Encoded>, transposed: bool) -> Tensor {
        let (n, k) = encoded.shape();
        let shape = if transposed { vec![k, n] } else { vec![n, k] };
        let held =
            Quantised { quant: encoded.quant(), source: Ok(Source { encoded, transposed }), floats: OnceLock::new() };
        Tensor { dtype: DType::F32, shape, data: Data::Quantised(Arc::new(held)) }
    }

    /// An f32 matrix that will be quantised, and whose data is not at hand.
    pub fn absent_quantised(name: String, shape: Vec<usize>, quant: Quant) -> Tensor {
        let held = Quantised { quant, source: Err(name), floats: OnceLock::new() };
        Tensor { dtype: DType::F32, shape, data: Data::Quantised(Arc::new(held)) }
    }

    /// Number of elements (1 for a scalar).
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The raw bytes, or an error that names the tensor when its data is absent. Those of a quantised tensor are decoded.
    pub fn bytes(&self) -> Result<&[u8], Error> {
        let absent = |name: &String| {
            Error::new("weights", format!("the data of tensor '{name}' is needed here, and its file is not at hand"))
        };
        match &self.data {
            Data::Bytes(owner, range) => Ok(&(**owner).as_ref()[range.clone()]),
            Data::Absent(name) => Err(absent(name)),
            Data::Quantised(held) => match &held.source {
                Ok(source) => Ok(held.floats.get_or_init(|| source.floats())),
                Err(name) => Err(absent(name)),
            },
        }
    }

    pub fn is_absent(&self) -> bool {
        self.absent_name().is_some()
    }

    /// The name that stands for data that is not at hand.
    pub fn absent_name(&self) -> Option<&str> {
        match &self.data {
            Data::Bytes(..) => None,
            Data::Absent(name) => Some(name),
            Data::Quantised(held) => held.source.as_ref().err().map(String::as_str),
        }
    }

    /// How the pool keeps it, where that is quantised.
    pub fn quant(&self) -> Option<Quant> {
        match &self.data {
            Data::Quantised(held) => Some(held.quant),
            _ => None,
        }
    }

    /// The codes of a quantised tensor whose data is at hand.
    pub fn encoded(&self) -> Option<&Arc<Encoded>> {
        match &self.data {
            Data::Quantised(held) => held.source.as_ref().ok().map(|s| &s.encoded),
            _ => None,
        }
    }
}

impl Source {
    /// All values in the tensor's own order.
    fn floats(&self) -> Vec<u8> {
        let rows = self.encoded.decode();
        if !self.transposed {
            return bytemuck::cast_slice(&rows).to_vec();
        }
        let (n, k) = self.encoded.shape();
        let mut out = vec![0.0f32; n * k];
        for (i, row) in rows.chunks(k.max(1)).enumerate() {
            row.iter().enumerate().for_each(|(j, &x)| out[j * n + i] = x);
        }
        bytemuck::cast_slice(&out).to_vec()
    }
}

struct Later<F> {
    make: F,
    bytes: OnceLock<Vec<u8>>,
}

impl<F: Fn() -> Vec<u8>> AsRef<[u8]> for Later<F> {
    fn as_ref(&self) -> &[u8] {
        self.bytes.get_or_init(|| (self.make)())
    }
}

impl std::fmt::Debug for Tensor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{:?}", self.dtype, self.shape)
    }
}
