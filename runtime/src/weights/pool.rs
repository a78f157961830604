//! The weight pool file (docs/pool.md). In: a file, or the tail of an executable. Out: the bytes of every tensor, in place. Promise: a
//! short, altered or foreign pool is refused, with the tensor's name where one is to blame.
#![allow(unsafe_code)]

use super::image;
use crate::error::{Error, Kind, Result};
use crate::pages::Pages;
use crate::program::{PLAN_DIGITS, Program};
use memmap2::{Mmap, MmapOptions};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

pub const MAGIC: &[u8; 8] = b"ONXCPOOL";
pub const VERSION: u32 = 1;
/// Bytes of the fixed head of the file.
pub const PROLOGUE: usize = 128;
/// Tensors start at multiples of this, counted from the data section.
pub const TENSOR_ALIGN: u64 = 256;
/// The data section starts at a multiple of this.
pub const DATA_ALIGN: u64 = 4096;

/// A tensor as the pool's index lists it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Entry {
    pub name: String,
    pub layout: String,
    pub shape: Vec<u32>,
    /// Bytes from the start of the data section.
    pub offset: u64,
    pub bytes: u64,
    /// Of the bytes, in hex.
    pub blake3: String,
    /// See `hash`, in 16 hex digits.
    pub hash64: String,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Index {
    pub program: String,
    pub plan_hash: String,
    pub tensors: Vec<Entry>,
}

/// A mapped pool whose index has been read and found whole.
pub struct Pool {
    map: Arc<Mmap>,
    index: Index,
    graph: String,
    data: usize,
    origin: String,
    other_content: bool,
    /// All bytes were found to match their hashes.
    verified: AtomicBool,
}

pub(super) fn refuse(origin: &str, what: impl std::fmt::Display) -> Error {
    Error::new(Kind::Weights, format!("weights {origin}: {what}"))
}

impl Pool {
    /// Opens a pool file, or an executable that a pool was appended to.
    pub fn open(path: &Path) -> Result<Pool> {
        let origin = path.display().to_string();
        let file = File::open(path).map_err(|e| refuse(&origin, e))?;
        match image::find(&file).map_err(|e| refuse(&origin, e))? {
            Some(trailer) => Pool::map(&file, trailer.offset, trailer.bytes, &origin, Some(&trailer.head_hash)),
            None => {
                let bytes = file.metadata().map_err(|e| refuse(&origin, e))?.len();
                Pool::map(&file, 0, bytes, &origin, None)
            }
        }
    }

    /// The pool appended to the running executable, if there is one.
    pub fn of_image() -> Result<Option<Pool>> {
        let origin = "in this executable";
        let file = image::own().map_err(|e| refuse(origin, e))?;
        match image::find(&file).map_err(|e| refuse(origin, e))? {
            Some(t) => Pool::map(&file, t.offset, t.bytes, origin, Some(&t.head_hash)).map(Some),
            None => Ok(None),
        }
    }

    fn map(file: &File, offset: u64, bytes: u64, origin: &str, head_hash: Option<&[u8; 32]>) -> Result<Pool> {
        if bytes < PROLOGUE as u64 {
            return Err(refuse(origin, format!("not a weight pool: {bytes} bytes")));
        }
        let size = usize::try_from(bytes).map_err(|_| refuse(origin, "larger than this machine can map"))?;
        // SAFETY: the mapping is read-only and private to this process; like every program that maps its data, we count on
        // nobody truncating the file meanwhile. All reads go through bounds-checked slices.
        let map = unsafe { MmapOptions::new().offset(offset).len(size).map(file) };
        let map = map.map_err(|e| refuse(origin, e))?;
        let head = head(&map, origin)?;
        if head_hash.is_some_and(|h| h != &head.hash) {
            return Err(refuse(origin, "the pool is not the one that was appended"));
        }
        let Head { index, graph, data, .. } = head;
        let (origin, verified) = (origin.to_string(), AtomicBool::new(false));
        let pool = Pool { map: Arc::new(map), index, graph, data, origin, other_content: false, verified };
        pool.whole(bytes)?;
        Ok(pool)
    }

    /// Every tensor lies inside the file, in order.
    fn whole(&self, file_bytes: u64) -> Result<()> {
        let mut free = 0;
        for tensor in &self.index.tensors {
            let end = tensor.offset.checked_add(tensor.bytes);
            let file_end = end.and_then(|e| e.checked_add(self.data as u64));
            if tensor.offset < free || tensor.offset % TENSOR_ALIGN != 0 {
                return Err(refuse(&self.origin, format!("tensor '{}' lies at a wrong place", tensor.name)));
            }
            if file_end.is_none_or(|end| end > file_bytes) {
                let what = format!("the file ends at byte {file_bytes}, within or before tensor '{}'", tensor.name);
                return Err(refuse(&self.origin, what).hint("copy or pack it again"));
            }
            free = end.unwrap_or(u64::MAX);
        }
        Ok(())
    }

    pub fn index(&self) -> &Index {
        &self.index
    }

    /// hash64 of every tensor, as it was when the pool was packed.
    pub fn hashes(&self) -> Result<Vec<u64>> {
        let parse = |t: &Entry| {
            let damaged = || refuse(&self.origin, format!("tensor '{}' has no hash64: '{}'", t.name, t.hash64));
            u64::from_str_radix(&t.hash64, 16).map_err(|_| damaged())
        };
        self.index.tensors.iter().map(parse).collect()
    }

    /// Text of the fused graph that the pool was packed for.
    pub fn graph(&self) -> &str {
        &self.graph
    }

    /// Where the pool was found, for messages.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// The bytes of tensor `i`; empty when there is none.
    pub fn bytes(&self, i: usize) -> &[u8] {
        let range = self.index.tensors.get(i).map(|t| self.range(t));
        range.and_then(|r| self.map.get(r)).unwrap_or(&[])
    }

    fn range(&self, tensor: &Entry) -> Range<usize> {
        let start = self.data + tensor.offset as usize;
        start..start + tensor.bytes as usize
    }

    /// The mapping, and where in it the tensors lie.
    pub(crate) fn pages(&self) -> Pages {
        Pages { map: self.map.clone(), tensors: self.index.tensors.iter().map(|t| self.range(t)).collect() }
    }

    /// Lets other weights than those the program was compiled with pass [`Pool::fits`], where the plan is the same.
    pub fn with_other_content(self) -> Pool {
        Pool { other_content: true, ..self }
    }

    /// Whether this is the program's pool. Looks at the index alone.
    pub fn fits(&self, program: &Program) -> Result<()> {
        let foreign = |what: String| {
            let hint = format!("this program is '{}', plan {}", program.name, program.plan_hash);
            refuse(&self.origin, what).hint(hint)
        };
        for (i, want) in program.tensors.iter().enumerate() {
            let Some(have) = self.index.tensors.get(i) else {
                return Err(foreign(format!("tensor '{}' is missing", want.name)));
            };
            let same = have.name == want.name && have.layout == want.layout && have.bytes == want.bytes;
            if !same || have.shape[..] != want.shape[..] {
                return Err(foreign(format!(
                    "tensor {i} is '{}' {} {:?} of {} bytes, the program wants '{}' {} {:?} of {} bytes",
                    have.name, have.layout, have.shape, have.bytes, want.name, want.layout, want.shape, want.bytes
                )));
            }
        }
        if let Some(more) = self.index.tensors.get(program.tensors.len()) {
            return Err(foreign(format!("tensor '{}' is not the program's", more.name)));
        }
        let plan = |hash: &str| hash.get(..PLAN_DIGITS).unwrap_or(hash).to_owned();
        let (have, want) = (&*self.index.plan_hash, &*program.plan_hash);
        if have != want && !(self.other_content && plan(have) == plan(want)) {
            let what = format!("the pool was packed for '{}', plan {}", self.index.program, self.index.plan_hash);
            return Err(foreign(what));
        }
        Ok(())
    }

    /// Reads everything and compares with the hashes of the index; `progress` hears of bytes done and in all. What was right is not
    /// read again.
    pub fn verify(&self, progress: &mut dyn FnMut(u64, u64)) -> Result<()> {
        let tensors = &self.index.tensors;
        let total: u64 = tensors.iter().map(|t| t.bytes).sum();
        if self.verified.load(Ordering::Relaxed) {
            progress(total, total);
            return Ok(());
        }
        let (next, done) = (AtomicUsize::new(0), AtomicU64::new(0));
        let bad = |i: usize| blake3::hash(self.bytes(i)).to_hex().as_str() != tensors[i].blake3;
        let work = || {
            let mut worst = None;
            while let i = next.fetch_add(1, Ordering::Relaxed)
                && i < tensors.len()
            {
                if bad(i) {
                    worst = Some(worst.map_or(i, |w: usize| w.min(i)));
                }
                done.fetch_add(tensors[i].bytes, Ordering::Relaxed);
            }
            worst
        };
        let threads = std::thread::available_parallelism().map_or(1, |n| n.get()).min(tensors.len().max(1));
        let first_bad = std::thread::scope(|scope| {
            let handles: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            while total > 0 && !handles.iter().all(|h| h.is_finished()) {
                progress(done.load(Ordering::Relaxed), total);
                std::thread::sleep(std::time::Duration::from_millis(2));
            }
            handles.into_iter().filter_map(|h| h.join().unwrap_or(Some(0))).min()
        });
        progress(total, total);
        match first_bad {
            None => {
                self.verified.store(true, Ordering::Relaxed);
                Ok(())
            }
            Some(i) => {
                let what = format!("tensor '{}' was altered: its bytes do not match its hash", tensors[i].name);
                Err(refuse(&self.origin, what).hint("copy or pack it again"))
            }
        }
    }
}

struct Head {
    index: Index,
    graph: String,
    data: usize,
    hash: [u8; 32],
}

/// The fixed head of a pool file.
pub(super) fn prologue(index: &[u8], graph: &[u8], data_offset: u64, file_bytes: u64) -> [u8; PROLOGUE] {
    let mut out = [0u8; PROLOGUE];
    let content = blake3::Hasher::new().update(index).update(graph).finalize();
    out[..8].copy_from_slice(MAGIC);
    out[8..12].copy_from_slice(&VERSION.to_le_bytes());
    out[12..16].copy_from_slice(&(PROLOGUE as u32).to_le_bytes());
    out[16..24].copy_from_slice(&(index.len() as u64).to_le_bytes());
    out[24..32].copy_from_slice(&(graph.len() as u64).to_le_bytes());
    out[32..40].copy_from_slice(&data_offset.to_le_bytes());
    out[40..48].copy_from_slice(&file_bytes.to_le_bytes());
    out[48..80].copy_from_slice(content.as_bytes());
    let own = blake3::hash(&out[..96]);
    out[96..].copy_from_slice(own.as_bytes());
    out
}

fn head(map: &[u8], origin: &str) -> Result<Head> {
    if &map[..8] != MAGIC {
        return Err(refuse(origin, "not a weight pool"));
    }
    let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| map[at + i]));
    let version = word(8) as u32;
    if version != VERSION {
        return Err(refuse(origin, format!("a pool of version {version}, this program reads version {VERSION}")));
    }
    let hash: [u8; 32] = std::array::from_fn(|i| map[96 + i]);
    let damaged = || refuse(origin, "the pool's header is damaged").hint("copy or pack it again");
    if blake3::hash(&map[..96]).as_bytes() != &hash {
        return Err(damaged());
    }
    let (index_bytes, graph_bytes, data) = (word(16), word(24), word(32));
    let (index_end, graph_end) = (PROLOGUE as u64 + index_bytes, PROLOGUE as u64 + index_bytes + graph_bytes);
    if data > map.len() as u64 || graph_end > data {
        return Err(refuse(origin, format!("the file ends at byte {}, within the index", map.len())));
    }
    let index = &map[PROLOGUE..index_end as usize];
    let graph = &map[index_end as usize..graph_end as usize];
    if prologue(index, graph, data, word(40))[..] != map[..PROLOGUE] {
        return Err(damaged());
    }
    let parsed: Index = serde_json::from_slice(index).map_err(|_| damaged())?;
    let graph = String::from_utf8(graph.to_vec()).map_err(|_| damaged())?;
    if let (Some(last), true) = (parsed.tensors.last(), word(40) > map.len() as u64) {
        let cut = |t: &&Entry| data + t.offset + t.bytes > map.len() as u64;
        let name = &parsed.tensors.iter().find(cut).unwrap_or(last).name;
        let what = format!("{} bytes of {}: it ends within or before tensor '{name}'", map.len(), word(40));
        return Err(refuse(origin, what).hint("copy or pack it again"));
    }
    Ok(Head { index: parsed, graph, data: data as usize, hash })
}
