//! The weight pool's recipe. In: packings that calls ask for. Out: the pool's tensors, each with the constants it is made of.
//! Promise: equal content in equal layout is one tensor; the order is that of first use.

use super::{Layout, Part};
use crate::bucket::Scope;
use crate::error::{Error, Result};
use crate::graph::{DType, Graph, Tensor, digest, quant};
use crate::lock::{Hash, Lock};
use onnxcast_runtime::program;
use std::collections::HashMap;

/// One tensor of the pool and what it is packed from.
#[derive(Clone, Debug)]
pub struct Packed {
    pub name: String,
    pub layout: Layout,
    /// Logical shape, after transposition and joining.
    pub shape: Vec<usize>,
    pub parts: Vec<Source>,
    /// Content hash of the parts, in order.
    pub hashes: Vec<Hash>,
}

/// A constant and whether its [k, n] is taken as n rows of k.
#[derive(Clone, Debug)]
pub struct Source {
    pub tensor: Tensor,
    pub transpose: bool,
}

impl Packed {
    pub fn bytes(&self) -> u64 {
        self.layout.bytes(&self.shape)
    }

    pub fn describe(&self) -> program::Tensor {
        program::Tensor {
            name: self.name.clone().into(),
            layout: self.layout.name(),
            shape: self.shape.iter().map(|&d| d as u32).collect(),
            bytes: self.bytes(),
        }
    }
}

impl Layout {
    /// Bytes of a tensor of this shape, after transposition and joining.
    pub fn bytes(self, shape: &[usize]) -> u64 {
        let elements = shape.iter().product::<usize>() as u64;
        match self {
            Layout::F32 | Layout::I32 => 4 * elements,
            Layout::F16 => 2 * elements,
            Layout::Quant(quant) => {
                let k = shape.last().copied().unwrap_or(0);
                quant.sections(shape.iter().product::<usize>() / k.max(1), k).bytes as u64
            }
        }
    }

    /// How constants of a type lie when a kernel takes them as plain values.
    pub fn plain(dtype: DType) -> Layout {
        if dtype.is_float() { Layout::F32 } else { Layout::I32 }
    }
}

/// Collects the pool of all buckets.
pub struct Pool<'a> {
    old: &'a Lock,
    pub lock: Lock,
    pub tensors: Vec<Packed>,
    index: HashMap<(Layout, Vec<Hash>), u32>,
    /// Hashes by where the data lies, so that a tensor shared by buckets is read once.
    known: HashMap<(*const u8, usize, bool), Hash>,
}

impl<'a> Pool<'a> {
    pub fn new(old: &'a Lock) -> Pool<'a> {
        Pool { old, lock: Lock::default(), tensors: vec![], index: HashMap::new(), known: HashMap::new() }
    }

    /// The index of the tensor that holds `parts` in `layout`; `scope` tells graphs of one model apart.
    pub fn add(&mut self, graph: &Graph, scope: &Scope, parts: &[Part], layout: Layout) -> Result<u32> {
        let mut sources = vec![];
        let mut hashes = vec![];
        let mut names = vec![];
        for part in parts {
            let value = graph.value(part.value);
            let place = |e: Error| e.at(value.name.clone());
            let tensor = graph
                .constant(part.value)
                .ok_or_else(|| place(Error::new("weights", "a kernel wants it in the pool, and it is no constant")))?;
            if part.transpose && tensor.shape.len() != 2 {
                let what = format!("only matrices are transposed when packed, this is {:?}", tensor.shape);
                return Err(place(Error::new("weights", what)));
            }
            let name = if part.transpose { format!("{}^T", value.name) } else { value.name.clone() };
            hashes.push(self.hash(scope, &name, tensor, part.transpose).map_err(place)?);
            names.push(value.name.as_str());
            sources.push(Source { tensor: tensor.clone(), transpose: part.transpose });
        }
        let key = (layout, hashes);
        if let Some(&i) = self.index.get(&key) {
            return Ok(i);
        }
        let shape = joined_shape(&sources).ok_or_else(|| {
            Error::new("weights", "constants of unlike rows cannot be packed together").at(names.join("+"))
        })?;
        let i = self.tensors.len() as u32;
        let hashes = key.1.clone();
        self.tensors.push(Packed { name: names.join("+"), layout, shape, parts: sources, hashes });
        self.index.insert(key, i);
        Ok(i)
    }

    fn hash(&mut self, scope: &Scope, name: &str, tensor: &Tensor, transpose: bool) -> Result<Hash> {
        let [own, shared] = scope.names(name);
        let hash = if let Some(origin) = tensor.absent_name() {
            let entry = scope.find(self.old, name).filter(|e| e.shape == tensor.shape);
            match entry {
                Some(entry) => entry.hash.clone(),
                None if self.old.is_empty() => return Ok(by_name(scope, origin, tensor, transpose)),
                None => {
                    let what = "its data is not at hand and weights.lock does not know it at this shape";
                    return Err(
                        Error::new("weights", what).hint("compile once with the weights, which writes the lock")
                    );
                }
            }
        } else if let Some(encoded) = tensor.encoded() {
            encoded.hash().to_string()
        } else {
            let bytes = tensor.bytes()?;
            let key = (bytes.as_ptr(), bytes.len(), transpose);
            match self.known.get(&key) {
                Some(hash) => hash.clone(),
                None => {
                    let hash = content_hash(tensor, transpose)?;
                    self.known.insert(key, hash.clone());
                    hash
                }
            }
        };
        let taken = self.lock.get(&shared).is_some_and(|e| e.hash != hash);
        self.lock.insert(if taken { own } else { shared }, hash.clone(), tensor);
        Ok(hash)
    }
}

/// What stands for the hash of a constant without data where there is no lock: constants count as distinct by the name of what they
/// are made of. It never gets into a lock.
fn by_name(scope: &Scope, origin: &str, tensor: &Tensor, transpose: bool) -> Hash {
    format!("{}{origin}{} {:?}", scope.graph, if transpose { "^T" } else { "" }, tensor.shape)
}

/// Rows of all parts over their common columns; a lone part keeps its shape.
fn joined_shape(parts: &[Source]) -> Option<Vec<usize>> {
    let shape = |s: &Source| {
        let mut shape = s.tensor.shape.clone();
        if s.transpose {
            shape.reverse();
        }
        shape
    };
    let mut out = shape(parts.first()?);
    for part in &parts[1..] {
        let next = shape(part);
        if next.is_empty() || next.len() != out.len() || next[1..] != out[1..] {
            return None;
        }
        out[0] += next[0];
    }
    Some(out)
}

/// Hash of type and content, in packed row order; equal for equal values of different float widths.
fn content_hash(tensor: &Tensor, transpose: bool) -> Result<Hash> {
    let mut hasher = blake3::Hasher::new();
    // Half floats count as the f32 they are: an export may keep a table in one type for the lookup and in another for the head.
    let narrow = matches!(tensor.dtype, DType::F16 | DType::BF16);
    let dtype = if narrow { DType::F32 } else { tensor.dtype };
    hasher.update(dtype.name().as_bytes());
    rows(tensor, transpose, &mut |bytes| {
        if narrow {
            hasher.update(bytemuck::cast_slice(&floats(tensor.dtype, bytes)?));
        } else {
            hasher.update(bytes);
        }
        Ok(())
    })?;
    Ok(digest(&hasher))
}

/// Writes a pool tensor's bytes, a piece at a time.
pub fn pack(packed: &Packed, sink: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
    if let Layout::Quant(_) = packed.layout {
        return pack_quantised(packed, sink).map_err(|e| e.at(packed.name.clone()));
    }
    for part in &packed.parts {
        let mut out = vec![];
        rows(&part.tensor, part.transpose, &mut |bytes| {
            out.clear();
            convert(part.tensor.dtype, bytes, packed.layout, &mut out)?;
            sink(&out)
        })
        .map_err(|e| e.at(packed.name.clone()))?;
    }
    Ok(())
}

fn pack_quantised(packed: &Packed, sink: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let mut parts: Vec<&quant::Encoded> = vec![];
    for part in &packed.parts {
        match part.tensor.encoded() {
            Some(encoded) => parts.push(encoded),
            None => return Err(Error::new("weights", "its codes are needed here, and its data is not at hand")),
        }
    }
    quant::packed(&parts, sink)
}

/// The values of a matrix as fp16 holds them, row after row; `transpose` takes [k, n] as n rows of k.
pub fn half_rows(tensor: &Tensor, transpose: bool) -> Result<Vec<f32>> {
    let mut out = Vec::with_capacity(tensor.len());
    let mut halves = vec![];
    rows(tensor, transpose, &mut |bytes| {
        halves.clear();
        convert(tensor.dtype, bytes, Layout::F16, &mut halves)?;
        out.extend(floats(DType::F16, &halves)?);
        Ok(())
    })?;
    Ok(out)
}

/// Elements handed on at once.
const PIECE: usize = 1 << 16;

/// A tensor's raw bytes in packed row order, in pieces of whole elements.
fn rows(tensor: &Tensor, transpose: bool, sink: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let bytes = tensor.bytes()?;
    let size = tensor.dtype.bytes();
    if !transpose {
        return bytes.chunks(PIECE * size).try_for_each(sink);
    }
    let (k, n) = (tensor.shape[0], tensor.shape[1]);
    // Several output rows at a time, so that each line of the source is read once a piece and not once a row.
    let step = (PIECE / k.max(1)).clamp(1, n.max(1));
    let mut out = vec![0u8; step * k * size];
    for first in (0..n).step_by(step) {
        let count = step.min(n - first);
        for row in 0..k {
            let line = &bytes[(row * n + first) * size..][..count * size];
            for (i, element) in line.chunks_exact(size).enumerate() {
                out[(i * k + row) * size..][..size].copy_from_slice(element);
            }
        }
        sink(&out[..count * k * size])?;
    }
    Ok(())
}

fn convert(dtype: DType, bytes: &[u8], layout: Layout, out: &mut Vec<u8>) -> Result<()> {
    match layout {
        Layout::F32 if dtype == DType::F32 => out.extend_from_slice(bytes),
        Layout::F32 => out.extend(floats(dtype, bytes)?.iter().flat_map(|v| v.to_le_bytes())),
        Layout::F16 if dtype == DType::F16 => out.extend_from_slice(bytes),
        Layout::F16 => {
            use half::slice::HalfFloatSliceExt;
            let mut values = floats(dtype, bytes)?;
            // Saturating: a weight past the largest half must not become infinite.
            values.iter_mut().for_each(|v| *v = v.clamp(-65504.0, 65504.0));
            let mut halves = vec![half::f16::ZERO; values.len()];
            halves.convert_from_f32_slice(&values);
            out.extend_from_slice(bytemuck::cast_slice(&halves));
        }
        Layout::I32 => out.extend(ints(dtype, bytes)?.flat_map(|v| v.to_le_bytes())),
        Layout::Quant(quant) => {
            return Err(Error::new("weights", format!("{} is no layout of single values", quant.name())));
        }
    }
    Ok(())
}

fn floats(dtype: DType, bytes: &[u8]) -> Result<Vec<f32>> {
    fn each<const N: usize>(bytes: &[u8], f: impl Fn([u8; N]) -> f32) -> Vec<f32> {
        bytes.chunks_exact(N).map(|c| f(std::array::from_fn(|i| c[i]))).collect()
    }
    Ok(match dtype {
        DType::F32 => each(bytes, f32::from_le_bytes),
        DType::F16 => each(bytes, |b| half::f16::from_le_bytes(b).to_f32()),
        DType::BF16 => each(bytes, |b| half::bf16::from_le_bytes(b).to_f32()),
        DType::F64 => each(bytes, |b| f64::from_le_bytes(b) as f32),
        _ => ints(dtype, bytes)?.map(|v| v as f32).collect(),
    })
}

/// Integers as the device holds them; what does not fit in 32 bits saturates (only sentinels such as i64::MAX do).
fn ints(dtype: DType, bytes: &[u8]) -> Result<impl Iterator<Item = i32>> {
    let size = dtype.bytes();
    let signed = matches!(dtype, DType::I8 | DType::I16 | DType::I32 | DType::I64);
    if dtype.is_float() {
        return Err(Error::new("weights", format!("{dtype} constants cannot be packed as integers")));
    }
    Ok(bytes.chunks_exact(size).map(move |c| {
        let mut wide = [if signed && c[size - 1] & 0x80 != 0 { 0xff } else { 0 }; 8];
        wide[..size].copy_from_slice(c);
        match dtype {
            DType::U32 => u32::from_le_bytes([c[0], c[1], c[2], c[3]]) as i32,
            DType::U64 => u64::from_le_bytes(wide).min(i32::MAX as u64) as i32,
            _ => i64::from_le_bytes(wide).clamp(i32::MIN as i64, i32::MAX as i64) as i32,
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Data;

    fn packed(parts: &[(&Tensor, bool)], layout: Layout) -> Vec<u8> {
        let mut g = Graph::default();
        let parts: Vec<Part> = parts
            .iter()
            .enumerate()
            .map(|(i, (t, transpose))| Part {
                value: g.add_const(format!("w{i}"), (*t).clone()),
                transpose: *transpose,
            })
            .collect();
        let lock = Lock::default();
        let mut pool = Pool::new(&lock);
        pool.add(&g, &scope(), &parts, layout).unwrap();
        let mut out = vec![];
        pack(&pool.tensors[0], &mut |b| {
            out.extend_from_slice(b);
            Ok(())
        })
        .unwrap();
        assert_eq!(out.len() as u64, pool.tensors[0].bytes());
        out
    }

    fn scope() -> Scope {
        Scope { graph: String::new(), bucket: "b".into() }
    }

    fn f32s(bytes: &[u8]) -> Vec<f32> {
        floats(DType::F32, bytes).unwrap()
    }

    #[test]
    fn transposes_a_matrix_into_rows_of_outputs() {
        let t = Tensor::f32(&[2, 3], &[1., 2., 3., 4., 5., 6.]);
        assert_eq!(f32s(&packed(&[(&t, true)], Layout::F32)), [1., 4., 2., 5., 3., 6.]);
    }

    #[test]
    fn transposes_across_pieces() {
        let (k, n) = (700, 333);
        let t = Tensor::f32(&[k, n], &(0..k * n).map(|i| i as f32).collect::<Vec<_>>());
        let out = f32s(&packed(&[(&t, true)], Layout::F32));
        assert!((0..n).all(|j| (0..k).all(|i| out[j * k + i] == (i * n + j) as f32)));
    }

    #[test]
    fn joins_parts_row_by_row() {
        let (a, b) = (Tensor::f32(&[1, 2], &[1., 2.]), Tensor::f32(&[2, 2], &[3., 4., 5., 6.]));
        assert_eq!(f32s(&packed(&[(&a, false), (&b, true)], Layout::F32)), [1., 2., 3., 5., 4., 6.]);
    }

    #[test]
    fn saturates_halves() {
        let t = Tensor::f32(&[3], &[1e9, -1e9, 0.5]);
        let halves = floats(DType::F16, &packed(&[(&t, false)], Layout::F16)).unwrap();
        assert_eq!(halves, [65504.0, -65504.0, 0.5]);
    }

    #[test]
    fn clamps_wide_integers_and_widens_narrow_ones() {
        let wide = Tensor::i64(&[3], &[i64::MAX, -1, i64::MIN]);
        let ints = |t: &Tensor| -> Vec<i32> { bytemuck::pod_collect_to_vec(&packed(&[(t, false)], Layout::I32)) };
        assert_eq!(ints(&wide), [i32::MAX, -1, i32::MIN]);
        assert_eq!(ints(&Tensor::from_bytes(DType::I8, vec![2], vec![0xff, 3])), [-1, 3]);
        assert_eq!(ints(&Tensor::from_bytes(DType::Bool, vec![2], vec![1, 0])), [1, 0]);
    }

    #[test]
    fn stores_a_table_and_its_transposed_copy_once() {
        let mut g = Graph::default();
        let table = g.add_const("embed", Tensor::f32(&[2, 3], &[1., 2., 3., 4., 5., 6.]));
        let head = g.add_const("lm_head", Tensor::f32(&[3, 2], &[1., 4., 2., 5., 3., 6.]));
        let lock = Lock::default();
        let mut pool = Pool::new(&lock);
        let part = |value, transpose| [Part { value, transpose }];
        let a = pool.add(&g, &scope(), &part(table, false), Layout::F16).unwrap();
        let b = pool.add(&g, &scope(), &part(head, true), Layout::F16).unwrap();
        let c = pool.add(&g, &scope(), &part(head, true), Layout::F32).unwrap();
        assert_eq!((a, b, c), (0, 0, 1), "same layout shares, another layout does not");
    }

    #[test]
    fn stores_a_table_and_its_copy_in_another_float_type_once() {
        let mut g = Graph::default();
        let halves = |values: [f32; 6]| values.map(|v| half::f16::from_f32(v).to_le_bytes()).concat();
        let table = g.add_const("embed", Tensor::f32(&[2, 3], &[1., 2., 3., 4., 5., 6.]));
        let head = Tensor::from_bytes(DType::F16, vec![3, 2], halves([1., 4., 2., 5., 3., 6.]));
        let head = g.add_const("lm_head", head);
        let other = Tensor::from_bytes(DType::F16, vec![2, 3], halves([1., 2., 3., 4., 5., 7.]));
        let other = g.add_const("other", other);
        let lock = Lock::default();
        let mut pool = Pool::new(&lock);
        let mut add = |value, transpose| pool.add(&g, &scope(), &[Part { value, transpose }], Layout::F16).unwrap();
        assert_eq!([add(table, false), add(head, true), add(other, false)], [0, 0, 1]);
    }

    #[test]
    fn needs_no_data_when_the_lock_knows_the_tensor() {
        let with = |tensor: Tensor, old: &Lock| -> Result<(Vec<Hash>, Lock)> {
            let mut g = Graph::default();
            let w = g.add_const("w", tensor);
            let mut pool = Pool::new(old);
            pool.add(&g, &scope(), &[Part { value: w, transpose: false }], Layout::F32)?;
            Ok((pool.tensors[0].hashes.clone(), pool.lock))
        };
        let (hashes, lock) = with(Tensor::f32(&[2], &[1., 2.]), &Lock::default()).unwrap();
        let absent = Tensor { dtype: DType::F32, shape: vec![2], data: Data::Absent("w".into()) };
        assert_eq!(with(absent.clone(), &lock).unwrap(), (hashes, lock.clone()));
        let other = Tensor { shape: vec![1, 2], ..absent };
        assert!(with(other, &lock).unwrap_err().to_string().contains("weights.lock"), "a lock that does not know it");
    }

    #[test]
    fn without_a_lock_constants_without_data_are_told_apart_by_name() {
        let mut g = Graph::default();
        let absent = |name: &str, dtype| Tensor { dtype, shape: vec![2, 3], data: Data::Absent(name.into()) };
        let table = g.add_const("embed", absent("embed", DType::F16));
        let head = g.add_const("head/Cast", absent("embed", DType::F32));
        let other = g.add_const("other", absent("other", DType::F16));
        let lock = Lock::default();
        let mut pool = Pool::new(&lock);
        let mut add = |value, transpose| pool.add(&g, &scope(), &[Part { value, transpose }], Layout::F16).unwrap();
        let found = [add(table, false), add(head, false), add(other, false), add(table, true)];
        assert_eq!(found, [0, 0, 1, 2], "a copy in another float type is the same, a transposed one is not");
        assert!(pool.lock.is_empty(), "no hash is invented");
    }
}
