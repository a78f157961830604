//! Constant tensors. In: bytes in memory, in a mapped file, or only a hash. Out: typed reads. Promise: cloning never copies data.

use super::DType;
use crate::error::Error;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

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
        let data = match &source.data {
            Data::Absent(name) => Data::Absent(name.clone()),
            Data::Bytes(..) => Data::Bytes(Arc::new(Later { make, bytes: OnceLock::new() }), 0..bytes),
        };
        Tensor { dtype, shape, data }
    }

    /// Number of elements (1 for a scalar).
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The raw bytes, or an error that names the tensor when its data is absent.
    pub fn bytes(&self) -> Result<&[u8], Error> {
        match &self.data {
            Data::Bytes(owner, range) => Ok(&(**owner).as_ref()[range.clone()]),
            Data::Absent(name) => Err(Error::new(
                "weights",
                format!("the data of tensor '{name}' is needed here, and its file is not at hand"),
            )),
        }
    }

    pub fn is_absent(&self) -> bool {
        matches!(self.data, Data::Absent(_))
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
