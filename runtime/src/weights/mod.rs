//! Where weights come from. In: a pool, bytes in memory, or a seed. Out: each tensor's bytes, in pieces. Promise: a source that does
//! not fit the program is refused, naming the tensor, before anything runs.

pub mod hash;
mod image;
mod pool;
mod synthetic;
#[cfg(test)]
mod tests;
mod write;

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
