//! A compiled pool as a source. In: a pool file, or an executable that holds one. Out: the fused graphs of all buckets with their
//! weights, and the texts that go into an executable. Promise: what the graphs read is what the pool holds; a damaged or already
//! quantised pool is refused.

use crate::bucket::{self, BucketGraph, scope};
use crate::emit::{self, CARD};
use crate::error::{Error, Result};
use crate::files;
use crate::graph::eval::{Array, Values};
use crate::graph::quant::Quant;
use crate::graph::{DType, Def, Tensor, Ty, ValueId};
use crate::job::{Job, QuantiseWish, Wish, find_manifest};
use crate::lock::{LOCK, Lock};
use crate::manifest::{Bucket, Manifest, Picture, Sampling};
use crate::plan::{self, Layout, Request, Shaders};
use crate::quantise::{self, Settings};
use crate::storage::Precision;
use crate::texts::TextFiles;
use onnxcast_runtime::weights::Pool;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a pool was packed from.
pub struct Recast {
    /// The model's name.
    pub program: String,
    pub buckets: Vec<BucketGraph>,
    pool: PathBuf,
}

/// Where the rows of a constant lie in the pool.
#[derive(Clone, Copy)]
struct Place {
    tensor: usize,
    start: usize,
    bytes: usize,
    layout: Layout,
}

fn bad(what: impl Into<String>) -> Error {
    Error::new("pool", what)
}

impl Recast {
    /// Reads and checks a pool; `progress` hears of bytes hashed.
    pub fn read(path: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<Recast> {
        let fail = |e: onnxcast_runtime::error::Error| bad(e.to_string());
        let pool = Arc::new(Pool::open(path).map_err(fail)?);
        pool.verify(progress).map_err(fail)?;
        let placed = |e: Error| e.at(path.display().to_string());
        let (mut buckets, lock) = recipe(&pool).map_err(placed)?;
        let places = places(&pool, &buckets, &lock).map_err(placed)?;
        restore(&mut buckets, &lock, &pool, &places);
        Ok(Recast { program: pool.index().program.clone(), buckets, pool: path.to_path_buf() })
    }

    /// The job of casting it as `name` with quantised weights.
    pub fn job(&self, project: &Path, name: &str) -> Result<Job> {
        let beside = self.pool.parent().unwrap_or(Path::new("")).to_path_buf();
        let folders = [beside, files::folder(project, &self.program)];
        let source = match folders.iter().map(|f| f.join(emit::ASSETS)).find(|f| f.join(CARD).is_file()) {
            Some(assets) => of_assets(&assets)?,
            None => of_manifest(project, &self.program)?,
        };
        let (card, text, golden) = source;
        let bucket = |b: &BucketGraph| Bucket {
            name: b.name.clone(),
            graphs: b.file.split('+').map(String::from).collect(),
            edges: BTreeMap::new(),
            raw: !b.decoder,
            rows: b.rows,
            dims: BTreeMap::new(),
        };
        let manifest = Manifest {
            name: name.to_string(),
            title: card.title,
            source: card.source,
            licence: card.licence,
            precision: Precision::Int4,
            kv: None,
            // The pool's graphs say it.
            activations: None,
            quantise: settings(project, name)?,
            context: context(&self.buckets),
            graphs: BTreeMap::new(),
            buckets: self.buckets.iter().map(bucket).collect(),
            text: None,
            sampling: card.sampling,
            workflow: None,
            picture: card.picture,
            golden: None,
            sources: BTreeMap::new(),
            folder: None,
            homes: vec![],
            cache: name.to_string(),
        };
        let shown = format!("the pool of {}", self.program);
        let lock = files::folder(project, name).join(LOCK);
        Ok(Job::of(manifest, shown, (text, golden), Some(lock)))
    }
}

/// What the new model's own manifest says about quantising, where it has one.
fn settings(project: &Path, name: &str) -> Result<Settings> {
    let wish = Wish { project: project.to_path_buf(), name: name.into(), ..Wish::default() };
    let Some(path) = find_manifest(&wish) else { return Ok(Settings::default()) };
    let Manifest { mut quantise, homes, .. } = Manifest::load(&path, name)?;
    QuantiseWish::default().apply(&mut quantise, &homes);
    Ok(quantise)
}

/// The graphs and the lock in a pool of floats.
fn recipe(pool: &Pool) -> Result<(Vec<BucketGraph>, Lock)> {
    let (graphs, lock) = bucket::parse_recipe(pool.graph())?;
    if let Some(how) = &lock.quantise {
        let what = format!("its weights are quantised already ({how})");
        return Err(bad(what).hint("give the pool of the model in fp16"));
    }
    if let Some(t) = pool.index().tensors.iter().find(|t| Quant::parse(&t.layout).is_some()) {
        let what = format!("'{}' is quantised already, as its ONNX file has it", t.name);
        return Err(bad(what).hint("give the pool of a model whose file holds floats"));
    }
    Ok((graphs, lock))
}

/// Rows of the cache, where the graphs have one.
fn context(buckets: &[BucketGraph]) -> Option<usize> {
    let graph = &buckets.iter().find(|b| b.decoder)?.graph;
    // Rows of pictures are a state that a decoder only reads.
    let cache = graph.states.iter().find(|s| s.output != s.input)?;
    graph.shape(cache.input).get(2).copied()
}

/// Where the content of each hash lies, which planning the graphs once more tells.
fn places(pool: &Pool, buckets: &[BucketGraph], lock: &Lock) -> Result<HashMap<String, Place>> {
    let halves = pool.index().tensors.iter().any(|t| t.layout == Layout::F16.name());
    let precision = if halves { Precision::Fp16 } else { Precision::Fp32 };
    let (name, context) = (pool.index().program.as_str(), context(buckets));
    let plan = plan::assemble(&Request { name, storage: precision.into(), context, buckets, lock, select: &Shaders })?;
    let tensors = &plan.program.tensors;
    let same = tensors.len() == pool.index().tensors.len()
        && tensors.iter().zip(&pool.index().tensors).all(|(a, b)| {
            (&*a.name, &*a.layout, &a.shape[..], a.bytes) == (&*b.name, &*b.layout, &b.shape[..], b.bytes)
        });
    if !same {
        return Err(bad("this compiler would pack it otherwise").hint("compile the model again"));
    }
    let mut out = HashMap::new();
    for (tensor, packed) in plan.pool.iter().enumerate() {
        let mut start = 0;
        for (part, hash) in packed.parts.iter().zip(&packed.hashes) {
            let bytes = packed.layout.bytes(&[part.tensor.len()]) as usize;
            let place = Place { tensor, start, bytes, layout: packed.layout };
            // Of two layouts the wider one has more of the content.
            if packed.layout != Layout::F16 || !out.contains_key(hash) {
                out.insert(hash.clone(), place);
            }
            start += bytes;
        }
    }
    Ok(out)
}

/// Gives constants their data back, what lies in one place once. One that no kernel reads stays without.
fn restore(buckets: &mut [BucketGraph], lock: &Lock, pool: &Arc<Pool>, places: &HashMap<String, Place>) {
    let mut known: HashMap<(usize, usize, bool, DType), Tensor> = HashMap::new();
    for b in 0..buckets.len() {
        let scope = scope(buckets, &buckets[b]);
        let matrices = quantise::matrices(&buckets[b].graph);
        for (i, value) in buckets[b].graph.values.iter_mut().enumerate() {
            let Def::Const(tensor) = &mut value.def else { continue };
            if !tensor.is_absent() {
                continue;
            }
            let of = |name: &str| places.get(&scope.find(lock, name)?.hash).copied();
            let name = value.name.as_str();
            let found = of(name).map(|p| (p, false)).or_else(|| of(&format!("{name}^T")).map(|p| (p, true)));
            let Some((place, transposed)) = found else { continue };
            // Quantising starts from fp16 anyway; wider, the weights of a large model may not fit memory.
            if place.layout == Layout::F16 && matrices.contains(&ValueId(i as u32)) {
                value.ty.dtype = DType::F16;
            }
            let key = (place.tensor, place.start, transposed, value.ty.dtype);
            let whole = known.entry(key).or_insert_with(|| stored(pool, place, &value.ty, transposed));
            *tensor = Tensor { shape: value.ty.shape.clone(), ..whole.clone() };
        }
    }
}

/// A constant of the pool in its own type; `transposed` rows are turned back.
fn stored(pool: &Arc<Pool>, place: Place, ty: &Ty, transposed: bool) -> Tensor {
    let (pool, of) = (pool.clone(), ty.clone());
    let make = move || {
        let bytes = pool.bytes(place.tensor).get(place.start..place.start + place.bytes).unwrap_or_default();
        let mut shape = of.shape.clone();
        if transposed {
            shape.reverse();
        }
        let rows = match (place.layout, of.dtype) {
            (Layout::F16, DType::F16) => bytes.to_vec(),
            (layout, dtype) => Array::new(dtype, shape.clone(), values(bytes, layout)).to_bytes(),
        };
        if transposed { turned(&rows, &shape, of.dtype) } else { rows }
    };
    let present = Tensor::f32(&[], &[0.0]);
    Tensor::later(ty.dtype, &present, ty.shape.clone(), make)
}

fn values(bytes: &[u8], layout: Layout) -> Values {
    let words = bytes.as_chunks::<4>().0;
    match layout {
        Layout::F16 => {
            Values::F32(bytes.as_chunks::<2>().0.iter().map(|b| half::f16::from_le_bytes(*b).to_f32()).collect())
        }
        Layout::I32 => Values::Int(words.iter().map(|b| i64::from(i32::from_le_bytes(*b))).collect()),
        _ => Values::F32(words.iter().map(|b| f32::from_le_bytes(*b)).collect()),
    }
}

/// n rows of k as [k, n].
fn turned(rows: &[u8], shape: &[usize], dtype: DType) -> Vec<u8> {
    let (n, k, size) = (shape[0], shape[1], dtype.bytes());
    let mut out = vec![0; rows.len()];
    for (i, row) in rows.chunks(k * size).enumerate() {
        for (j, element) in row.chunks(size).enumerate() {
            out[(j * n + i) * size..][..size].copy_from_slice(element);
        }
    }
    out
}

/// What generated/NAME/assets/card.json says.
#[derive(serde::Deserialize)]
struct Card {
    title: String,
    source: String,
    licence: String,
    stops: Option<Vec<u32>>,
    system: Option<String>,
    picture: Option<Picture>,
    sampling: Option<Sampling>,
}

type Texts = (Card, Option<TextFiles>, Option<Vec<u8>>);

/// The texts that an earlier compile left.
fn of_assets(folder: &Path) -> Result<Texts> {
    let file = |name: &str| std::fs::read(folder.join(name)).ok();
    let place = || folder.join(CARD).display().to_string();
    let card = file(CARD).ok_or_else(|| bad("cannot be read").at(place()))?;
    let card: Card = serde_json::from_slice(&card).map_err(|e| bad(e.to_string()).at(place()))?;
    let text = file(emit::TOKENIZER).map(|tokenizer| TextFiles {
        tokenizer,
        config: file(emit::TOKENIZER_CONFIG),
        template: file(emit::TEMPLATE),
        stops: card.stops.clone().unwrap_or_default(),
        system: card.system.clone(),
    });
    Ok((card, text, file(emit::GOLDEN)))
}

/// The texts of a model that has a manifest.
fn of_manifest(project: &Path, name: &str) -> Result<Texts> {
    let wish = Wish { project: project.to_path_buf(), name: name.into(), without_weights: true, ..Wish::default() };
    let job = Job::find(&wish).map_err(|e| {
        let what = format!("tokenizer and card are neither in generated/{name}/assets nor told by a manifest: {e}");
        bad(what).hint(format!("keep the pool in generated/{name}, or compile {name} once"))
    })?;
    let m = job.manifest;
    let card = Card {
        title: m.title,
        source: m.source,
        licence: m.licence,
        stops: None,
        system: None,
        sampling: m.sampling,
        picture: m.picture,
    };
    Ok((card, job.text, job.golden))
}
