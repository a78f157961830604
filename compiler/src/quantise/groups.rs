//! Which constants are quantised. In: the fused graphs of all buckets. Out: groups of constants that lie row after row in one pool
//! tensor, in execution order, each content once. Promise: a table that a head multiplies with is one group with it.

use super::halved;
use crate::bucket::{BucketGraph, scope};
use crate::error::Result;
use crate::graph::quant::Encoded;
use crate::graph::{DType, Def, Graph, Node, Op, Tensor, ValueId, digest};
use crate::lock::Lock;
use crate::plan::weights::half_rows;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Which contents are already known, by where they lie: buckets share mapped bytes.
type Known = HashMap<(*const u8, usize, bool), String>;

/// Constants whose rows lie one after the other and share a layout: q, k, v; gate, up; or one alone.
#[derive(Clone, Debug)]
pub struct Group {
    pub role: Role,
    /// Columns: inputs of the product, channels of the table.
    pub k: usize,
    /// Rows of each part.
    pub rows: Vec<usize>,
    /// Where it stands; the first use names it.
    pub uses: Vec<Use>,
    /// Hash of each part's rows in fp16; none where the data is not at hand.
    pub sources: Option<Vec<String>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    Linear,
    /// Looked up, and perhaps a product's weights as well.
    Table,
}

/// A node that takes the group.
#[derive(Clone, Debug)]
pub struct Use {
    pub bucket: usize,
    pub node: usize,
    /// What the rows are multiplied with, before the node's own norm; none for a lookup.
    pub input: Option<ValueId>,
    pub parts: Vec<Part>,
}

#[derive(Clone, Debug)]
pub struct Part {
    pub value: ValueId,
    /// The constant is [k, n].
    pub transposed: bool,
    pub name: String,
    /// Its name in weights.lock, but for the graph's and bucket's.
    pub lock_name: String,
}

impl Group {
    /// Rows in all.
    pub fn n(&self) -> usize {
        self.rows.iter().sum()
    }

    /// The names of its parts, joined as in the pool.
    pub fn name(&self) -> String {
        let parts = self.uses.first().map_or(&[][..], |u| &u.parts);
        parts.iter().map(|p| p.name.as_str()).collect::<Vec<_>>().join("+")
    }

    /// The values of all parts as fp16 holds them, [n][k].
    pub fn rows(&self, buckets: &[BucketGraph]) -> Result<Vec<f32>> {
        let mut out = Vec::with_capacity(self.n() * self.k);
        for at in self.uses.iter().take(1) {
            for part in &at.parts {
                if let Some(tensor) = buckets[at.bucket].graph.constant(part.value) {
                    out.extend(half_rows(tensor, part.transposed).map_err(|e| e.at(part.name.clone()))?);
                }
            }
        }
        Ok(out)
    }

    /// The codes of each part.
    pub(super) fn split(&self, whole: &Encoded) -> Vec<Arc<Encoded>> {
        let mut from = 0;
        let mut part = |n: &usize| {
            from += n;
            Arc::new(whole.rows(from - n, from))
        };
        self.rows.iter().map(&mut part).collect()
    }

    /// The layout that the lock has for all parts.
    pub(super) fn stored(&self, buckets: &[BucketGraph], lock: &Lock) -> Option<String> {
        let at = self.uses.first()?;
        let scope = scope(buckets, &buckets[at.bucket]);
        let store = |part: &Part| scope.find(lock, &part.lock_name)?.store.clone();
        let first = store(at.parts.first()?)?;
        at.parts.iter().all(|p| store(p).as_ref() == Some(&first)).then_some(first)
    }
}

/// Indices of the constant weight rows of a node, whether they are [k, n], and its role.
pub(super) fn weights(node: &Node) -> (&'static [usize], bool, Role) {
    match node.op {
        Op::Linear { nk, .. } => (&[1], !nk, Role::Linear),
        Op::GatedLinear { nk, .. } => (&[1, 2], !nk, Role::Linear),
        Op::Qkv { nk, .. } => (&[1, 2, 3], !nk, Role::Linear),
        Op::Gather { axis: 0 } | Op::Splice { lookup: true, .. } => (&[0], false, Role::Table),
        _ => (&[], false, Role::Linear),
    }
}

/// The use that a node is, if all its weights are float matrices.
fn of_node(graph: &Graph, bucket: usize, at: usize) -> Option<(Use, Role)> {
    let node = &graph.nodes[at];
    let (inputs, transposed, role) = weights(node);
    let mut parts = vec![];
    for &i in inputs {
        let value = node.input(i)?;
        let tensor = graph.constant(value)?;
        // What the file holds quantised stays as it is.
        if tensor.quant().is_some()
            || tensor.shape.len() != 2
            || !tensor.dtype.is_float()
            || (role == Role::Table && !is_f32(graph, value))
        {
            return None;
        }
        let name = graph.value(value).name.clone();
        let lock_name = if transposed { format!("{name}^T") } else { name.clone() };
        parts.push(Part { value, transposed, name, lock_name });
    }
    let input = if role == Role::Linear { node.input(0) } else { None };
    (!parts.is_empty()).then_some((Use { bucket, node: at, input, parts }, role))
}

/// A lookup has the table's type, and codes decode to f32.
fn is_f32(graph: &Graph, value: ValueId) -> bool {
    graph.ty(value).dtype == DType::F32
}

/// The matrices that may be quantised, and not those that are looked up as well: kernels and interpreter take them in any float type.
pub fn matrices(graph: &Graph) -> HashSet<ValueId> {
    let of = |at| of_node(graph, 0, at).filter(|(_, role)| *role == Role::Linear);
    let parts = (0..graph.nodes.len()).filter_map(of).flat_map(|(at, _)| at.parts);
    let tables = (0..graph.nodes.len()).filter_map(|at| of_node(graph, 0, at)).filter(|(_, role)| *role == Role::Table);
    let tables: HashSet<ValueId> = tables.flat_map(|(at, _)| at.parts).map(|p| p.value).collect();
    parts.map(|p| p.value).filter(|v| !tables.contains(v)).collect()
}

/// Rounds all matrices that may be quantised to fp16, so that what is made of them is the same whether they come from an export in
/// f32 or from a pool in fp16. Equal content is held once, and but for tables in two bytes a weight.
pub fn halve(buckets: &mut [BucketGraph]) -> Result<()> {
    let mut done: HashMap<(blake3::Hash, bool), Tensor> = HashMap::new();
    for (b, bucket) in buckets.iter_mut().enumerate() {
        let narrow = matrices(&bucket.graph);
        for at in 0..bucket.graph.nodes.len() {
            let Some((at, _)) = of_node(&bucket.graph, b, at) else { continue };
            for part in at.parts {
                let value = &mut bucket.graph.values[part.value.0 as usize];
                let Def::Const(tensor) = &mut value.def else { continue };
                if tensor.dtype == DType::F16 || tensor.is_absent() {
                    continue;
                }
                let narrow = narrow.contains(&part.value);
                let key = (blake3::hash(tensor.bytes()?), narrow);
                let known = match done.entry(key) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(new) => new.insert(if narrow { narrowed(tensor)? } else { halved(tensor) }),
                };
                *tensor = Tensor { shape: tensor.shape.clone(), ..known.clone() };
                value.ty.dtype = tensor.dtype;
            }
        }
    }
    Ok(())
}

fn narrowed(tensor: &Tensor) -> Result<Tensor> {
    let rows = half_rows(tensor, false)?;
    let halves = rows.into_iter().flat_map(|v| half::f16::from_f32(v).to_le_bytes()).collect();
    Ok(Tensor::from_bytes(DType::F16, tensor.shape.clone(), halves))
}

/// All groups, those of equal content joined.
pub(super) fn find(buckets: &[BucketGraph], lock: &Lock) -> Result<Vec<Group>> {
    let mut groups: Vec<Group> = vec![];
    let mut by_content: HashMap<Vec<String>, usize> = HashMap::new();
    let mut known = Known::new();
    for (b, bucket) in buckets.iter().enumerate() {
        for at in 0..bucket.graph.nodes.len() {
            let Some((at, role)) = of_node(&bucket.graph, b, at) else { continue };
            let sources = sources(&bucket.graph, &at, &mut known)?;
            let key = sources.clone().unwrap_or_else(|| absent_key(buckets, lock, &at));
            let known = by_content.get(&key).copied();
            match known.and_then(|i| groups.get_mut(i)) {
                Some(group) => {
                    if role == Role::Table {
                        group.role = role;
                    }
                    group.uses.push(at);
                }
                None => {
                    by_content.insert(key, groups.len());
                    groups.push(group(&bucket.graph, at, role, sources));
                }
            }
        }
    }
    Ok(groups)
}

fn group(graph: &Graph, at: Use, role: Role, sources: Option<Vec<String>>) -> Group {
    let shape = |p: &Part| {
        let shape = graph.shape(p.value);
        if p.transposed { (shape[1], shape[0]) } else { (shape[0], shape[1]) }
    };
    let k = at.parts.first().map_or(0, |p| shape(p).1);
    let rows = at.parts.iter().map(|p| shape(p).0).collect();
    Group { role, k, rows, uses: vec![at], sources }
}

/// Stands for content that is not at hand: what the lock knows of it, else the name of what it is made from.
fn absent_key(buckets: &[BucketGraph], lock: &Lock, at: &Use) -> Vec<String> {
    let bucket = &buckets[at.bucket];
    let scope = scope(buckets, bucket);
    let key = |part: &Part| match scope.find(lock, &part.lock_name) {
        Some(entry) => entry.source.clone().unwrap_or_else(|| entry.hash.clone()),
        None => {
            let origin = bucket.graph.constant(part.value).and_then(|t| t.absent_name()).unwrap_or(&part.name);
            format!("{}{origin} {}", scope.graph, part.transposed)
        }
    };
    at.parts.iter().map(key).collect()
}

/// Hashes of the parts' rows in fp16; none where one is absent.
fn sources(graph: &Graph, at: &Use, known: &mut Known) -> Result<Option<Vec<String>>> {
    let mut out = vec![];
    for part in &at.parts {
        let Some(tensor) = graph.constant(part.value).filter(|t| !t.is_absent()) else { return Ok(None) };
        let bytes = tensor.bytes()?;
        let key = (bytes.as_ptr(), bytes.len(), part.transposed);
        if let Some(hash) = known.get(&key) {
            out.push(hash.clone());
            continue;
        }
        let rows = half_rows(tensor, part.transposed).map_err(|e| e.at(part.name.clone()))?;
        let shape = if part.transposed { tensor.shape[0] } else { tensor.shape[1] };
        let mut hasher = blake3::Hasher::new();
        hasher.update(&(shape as u64).to_le_bytes()).update(bytemuck::cast_slice(&rows));
        let hash = digest(&hasher);
        known.insert(key, hash.clone());
        out.push(hash);
    }
    Ok(Some(out))
}
