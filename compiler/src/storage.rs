//! How weights and caches are stored. In: the words of a manifest. Out: types that every stage knows. Promise: `parse` undoes `name`.

/// Storage of weights, and of the KV cache unless a `Kv` says otherwise. Sums, norms, softmax and the residual stream are f32 in each.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Precision {
    Fp32,
    Fp16,
    /// Matrices and the embedding table quantised, the rest as `Fp16`.
    Int4,
}

impl Precision {
    /// The name manifests use.
    pub fn name(self) -> &'static str {
        match self {
            Precision::Fp32 => "fp32",
            Precision::Fp16 => "fp16",
            Precision::Int4 => "int4",
        }
    }

    pub fn parse(name: &str) -> Option<Precision> {
        [Precision::Fp32, Precision::Fp16, Precision::Int4].into_iter().find(|p| p.name() == name)
    }
}

/// What the rows of a KV cache are stored as.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kv {
    Fp32,
    Fp16,
    /// Codes of eight bits, and a scale a row of a head.
    Int8,
}

impl Kv {
    /// The name manifests use.
    pub fn name(self) -> &'static str {
        match self {
            Kv::Fp32 => "fp32",
            Kv::Fp16 => "fp16",
            Kv::Int8 => "int8",
        }
    }

    pub fn parse(name: &str) -> Option<Kv> {
        [Kv::Fp32, Kv::Fp16, Kv::Int8].into_iter().find(|kv| kv.name() == name)
    }

    pub fn bits(self) -> u32 {
        match self {
            Kv::Fp32 => 32,
            Kv::Fp16 => 16,
            Kv::Int8 => 8,
        }
    }
}

/// How weights and cache are stored.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Storage {
    pub precision: Precision,
    pub kv: Kv,
}

impl From<Precision> for Storage {
    /// The cache as the precision has it when nobody asks for another.
    fn from(precision: Precision) -> Storage {
        let kv = if precision == Precision::Fp32 { Kv::Fp32 } else { Kv::Fp16 };
        Storage { precision, kv }
    }
}
