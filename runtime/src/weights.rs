//! Where weights come from. In: a pool, bytes in memory, or a seed. Out: each tensor's bytes, in pieces. Promise: a source that does
//! not fit the program is refused, naming the tensor, before anything runs.

use crate::error::{Error, Kind, Result};
use crate::program::Program;

/// The weights of a program.
pub enum WeightSource {
    /// One byte string per tensor of the program, in its order.
    Bytes(Vec<Vec<u8>>),
}

impl WeightSource {
    /// No tensors at all.
    pub fn none() -> WeightSource {
        WeightSource::Bytes(Vec::new())
    }

    /// Holds the source against the program.
    pub fn check(&self, program: &Program) -> Result<()> {
        let WeightSource::Bytes(list) = self;
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

    /// Hands the bytes of a tensor to `sink`, in order.
    pub fn read(&self, _program: &Program, index: usize, sink: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let WeightSource::Bytes(list) = self;
        list.get(index).map_or(Ok(()), |bytes| sink(bytes))
    }
}
