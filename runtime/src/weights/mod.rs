//! Where weights come from. In: a pool, bytes in memory, or a seed. Out: each tensor's bytes, in pieces. Promise: a source that does
//! not fit the program is refused, naming the tensor, before anything runs.

pub mod hash;
mod image;
mod pool;
mod synthetic;
#[cfg(test)]
mod tests;
mod write;

use hash::Hash64;
pub use image::{IMAGE_ALIGN, append};
pub use pool::{Entry, Index, Pool};
pub use write::PoolWriter;

use crate::error::{Error, Kind, Result};
use crate::pages::Pages;
use crate::program::Program;
use std::path::Path;

/// The weights of a program.
pub enum WeightSource {
    /// A pool file or the pool in an executable.
    Pool(Box<Pool>),
    /// Pseudo-random values of that seed, for measuring without weights.
    Synthetic(u64),
    /// One byte string per tensor of the program, in its order.
    Bytes(Vec<Vec<u8>>),
}

impl WeightSource {
    /// No tensors at all.
    pub fn none() -> WeightSource {
        WeightSource::Bytes(Vec::new())
    }

    /// Reads `--weights`: `synthetic:SEED`, a file, or `other:FILE` for other weights in the same plan; without it the pool in this executable, else `EXECUTABLE.pool` beside it.
    pub fn find(flag: Option<&str>) -> Result<WeightSource> {
        let pool = |file: &str| Pool::open(Path::new(file));
        match flag {
            Some(text) => match text.strip_prefix("synthetic:") {
                Some(seed) => seed.parse().map(WeightSource::Synthetic).map_err(|_| {
                    Error::new(Kind::Usage, format!("'{text}': the seed is no number")).hint("such as synthetic:1")
                }),
                None => match text.strip_prefix("other:") {
                    Some(file) => pool(file).map(|p| WeightSource::Pool(Box::new(p.with_other_content()))),
                    None => pool(text).map(|p| WeightSource::Pool(Box::new(p))),
                },
            },
            None => WeightSource::own(),
        }
    }

    fn own() -> Result<WeightSource> {
        if let Some(pool) = Pool::of_image()? {
            return Ok(WeightSource::Pool(Box::new(pool)));
        }
        let mut beside =
            std::env::current_exe().map_err(|e| Error::new(Kind::Weights, e.to_string()))?.into_os_string();
        beside.push(".pool");
        if !Path::new(&beside).exists() {
            let what = format!("no weights: none in this executable, and no {}", beside.to_string_lossy());
            return Err(Error::new(Kind::Weights, what).hint("give --weights FILE or --weights synthetic:SEED"));
        }
        Pool::open(Path::new(&beside)).map(|p| WeightSource::Pool(Box::new(p)))
    }

    /// The pages that hold the weights as kernels take them, where there are such.
    pub(crate) fn pages(&self) -> Option<Pages> {
        match self {
            WeightSource::Pool(pool) => Some(pool.pages()),
            WeightSource::Synthetic(_) | WeightSource::Bytes(_) => None,
        }
    }

    /// Whether [`WeightSource::check`] reads every byte.
    pub fn is_checked_in_full(&self) -> bool {
        matches!(self, WeightSource::Pool(_))
    }

    /// Holds the source against the program; a pool is read and hashed in full.
    pub fn check(&self, program: &Program, progress: &mut dyn FnMut(u64, u64)) -> Result<()> {
        match self {
            WeightSource::Pool(pool) => pool.fits(program).and_then(|()| pool.verify(progress)),
            WeightSource::Synthetic(_) => Ok(()),
            WeightSource::Bytes(list) => {
                for (i, tensor) in program.tensors.iter().enumerate() {
                    let have = list.get(i).map(|b| b.len() as u64);
                    if have != Some(tensor.bytes) {
                        let given = have.map_or("nothing".into(), |b| format!("{b} bytes"));
                        let what = format!("tensor '{}' takes {} bytes, {given} given", tensor.name, tensor.bytes);
                        return Err(Error::new(Kind::Weights, what));
                    }
                }
                Ok(())
            }
        }
    }

    /// hash64 of every tensor, in the program's order: a pool's as its index has them, taken when it was packed; of other sources from
    /// the bytes as they are made, on all cores.
    pub fn hashes(&self, program: &Program) -> Result<Vec<u64>> {
        if let WeightSource::Pool(pool) = self {
            return pool.hashes();
        }
        let count = program.tensors.len();
        let threads = std::thread::available_parallelism().map_or(1, |n| n.get()).min(count.max(1));
        let one = |i: usize| {
            let mut hash = Hash64::default();
            self.read(program, i, &mut |piece| {
                hash.update(piece);
                Ok(())
            })?;
            Ok(hash.finish())
        };
        let parts: Vec<Result<Vec<(usize, u64)>>> = std::thread::scope(|scope| {
            let one = &one;
            let work = |t: usize| (t..count).step_by(threads).map(|i| Ok((i, one(i)?))).collect();
            let handles: Vec<_> = (0..threads).map(|t| scope.spawn(move || work(t))).collect();
            let crashed = || Err(Error::new(Kind::Other, "a thread that hashes weights panicked"));
            handles.into_iter().map(|h| h.join().unwrap_or_else(|_| crashed())).collect()
        });
        let mut hashes = parts.into_iter().collect::<Result<Vec<_>>>()?.concat();
        hashes.sort_by_key(|(i, _)| *i);
        Ok(hashes.into_iter().map(|(_, hash)| hash).collect())
    }

    /// Hands the bytes of a tensor to `sink`, in order.
    pub fn read(&self, program: &Program, index: usize, sink: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        const PIECE: usize = 8 << 20;
        match self {
            WeightSource::Pool(pool) => pool.bytes(index).chunks(PIECE).try_for_each(sink),
            WeightSource::Bytes(list) => list.get(index).map_or(Ok(()), |b| b.chunks(PIECE).try_for_each(sink)),
            WeightSource::Synthetic(seed) => match program.tensors.get(index) {
                Some(tensor) => synthetic::fill(*seed, index, tensor, sink),
                None => Ok(()),
            },
        }
    }
}
