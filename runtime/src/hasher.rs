//! hash64 on the device. In: memory by its address, as kernels reach it. Out: the sums over the words that they would load there.
//! Promise: those of `weights::hash` for every length, and no submission reads more than a piece beyond [`SUBMISSION_BYTES`].

use std::sync::Arc;

use vulkano::pipeline::{ComputePipeline, PipelineLayout};

use crate::commands::{Scope, Tape};
use crate::device::Device;
use crate::error::{Error, Kind, Result};
use crate::ledger::Purpose;
use crate::memory::Buffer;
use crate::recorder::{Code, pipeline, pipeline_layout};
use crate::submit;
use crate::transfer;

vulkano_shaders::shader! {
    ty: "compute",
    vulkan_version: "1.3",
    spirv_version: "1.6",
    generate_structs: false,
    path: "src/hasher/hash64.comp"
}

/// Words of one dispatch at most: offsets inside a piece fit 32 bits.
const PIECE_WORDS: u32 = 1 << 28;
/// What a submission reads before the next begins; a watchdog ends those that take seconds.
const SUBMISSION_BYTES: u64 = 1 << 30;
/// Workgroups of one dispatch at most; each goes on where the others leave off.
const GROUPS: u32 = 2048;
/// Words that a workgroup loads in one round: 128 invocations, four each.
const ROUND_WORDS: u32 = 512;
/// Bytes of the two sums.
const SUMS: u64 = 8;

/// The kernel, ready for any memory of its device.
pub struct Hasher {
    device: Device,
    layout: Arc<PipelineLayout>,
    pipeline: Arc<ComputePipeline>,
    piece_words: u32,
}

/// What one dispatch hashes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Piece {
    /// Bytes from the start of the memory.
    offset: u64,
    /// Number of its first word, modulo 2^32 as in the hash.
    first: u32,
    words: u32,
    /// The bits of its last word that belong to it.
    last_mask: u32,
}

/// Cuts `bytes` bytes into pieces of at most `most` words, a multiple of four.
fn pieces(bytes: u64, most: u32) -> impl Iterator<Item = Piece> {
    let words = bytes.div_ceil(4);
    let last_mask = match bytes % 4 {
        0 => u32::MAX,
        odd => (1 << (8 * odd)) - 1,
    };
    let most = u64::from(most.max(4) / 4 * 4);
    (0..words.div_ceil(most)).map(move |i| {
        let first = i * most;
        let count = most.min(words - first);
        let mask = if first + count == words { last_mask } else { u32::MAX };
        Piece { offset: first * 4, first: first as u32, words: count as u32, last_mask: mask }
    })
}

impl Hasher {
    pub fn new(device: &Device) -> Result<Hasher> {
        let layout = pipeline_layout(device)?;
        let pipeline = pipeline(device, &layout, &Code::Load(load)).map_err(|e| e.at("kernel 'hash64'"))?;
        Ok(Hasher { device: device.clone(), layout, pipeline, piece_words: PIECE_WORDS })
    }

    /// Hashes in dispatches of so many words, to see that where they are cut makes no difference.
    pub fn in_pieces(self, words: u32) -> Hasher {
        Hasher { piece_words: words.clamp(4, PIECE_WORDS), ..self }
    }

    /// Sums for the hashes of memory at these addresses, each with its bytes. Waits for it.
    pub(crate) fn hash(&self, memory: &[(u64, u64)]) -> Result<Vec<[u32; 2]>> {
        let sums = self.sums(memory.len())?;
        let mut tape = self.tape()?;
        let mut recorded = 0;
        for (i, &(address, bytes)) in memory.iter().enumerate() {
            for piece in pieces(bytes, self.piece_words) {
                if recorded >= SUBMISSION_BYTES {
                    let full = std::mem::replace(&mut tape, self.tape()?);
                    submit::submit(&self.device, &[full.end()?])?.wait()?;
                    recorded = 0;
                }
                self.piece(&mut tape, address, piece, sums.at(i))?;
                recorded += u64::from(piece.words) * 4;
            }
        }
        submit::submit(&self.device, &[tape.end()?])?.wait()?;
        sums.read()
    }

    /// Room for the sums of so many hashes, all zero.
    pub(crate) fn sums(&self, count: usize) -> Result<Sums> {
        let buffer = Buffer::new(&self.device, count as u64 * SUMS, Purpose::Device, "hashes")?;
        let mut tape = Tape::new(&self.device)?;
        tape.fill(&buffer, 0, buffer.bytes(), 0);
        tape.barrier(Scope::All, Scope::All);
        submit::submit(&self.device, &[tape.end()?])?.wait()?;
        Ok(Sums { device: self.device.clone(), buffer, count })
    }

    /// Commands behind everything that was submitted before.
    pub(crate) fn tape(&self) -> Result<Tape> {
        let mut tape = Tape::new(&self.device)?;
        tape.barrier(Scope::All, Scope::All);
        tape.bind(&self.pipeline);
        Ok(tape)
    }

    /// Adds memory's words to its sums, every time the commands run.
    pub(crate) fn record(&self, tape: &mut Tape, address: u64, bytes: u64, sums: u64) -> Result<()> {
        pieces(bytes, self.piece_words).try_for_each(|piece| self.piece(tape, address, piece, sums))
    }

    fn piece(&self, tape: &mut Tape, address: u64, piece: Piece, sums: u64) -> Result<()> {
        if !address.is_multiple_of(16) {
            return Err(Error::new(
                Kind::Program,
                format!("memory at {address:#x} is no multiple of 16, hash64 cannot"),
            ));
        }
        let last = [u64::from(piece.first) | u64::from(piece.words) << 32, u64::from(piece.last_mask)];
        tape.push(&self.layout, &[address + piece.offset, sums, last[0], last[1]]);
        tape.dispatch([piece.words.div_ceil(ROUND_WORDS).clamp(1, GROUPS), 1, 1]);
        Ok(())
    }
}

/// Where kernels add up words.
pub(crate) struct Sums {
    device: Device,
    buffer: Buffer,
    count: usize,
}

impl Sums {
    /// The address of a hash's pair.
    pub fn at(&self, index: usize) -> u64 {
        self.buffer.address() + index as u64 * SUMS
    }

    /// What has been added so far.
    pub fn read(&self) -> Result<Vec<[u32; 2]>> {
        let mut words = vec![[0u32; 2]; self.count];
        transfer::download(&self.device, &self.buffer, 0, bytemuck::cast_slice_mut(&mut words))?;
        Ok(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_every_word_once_and_only_the_very_last_is_masked() {
        for (bytes, most) in [(0, 8), (1, 8), (3, 4), (4, 4), (5, 4), (32, 8), (33, 8), (1000, 100), (1001, 4)] {
            let all: Vec<Piece> = pieces(bytes, most).collect();
            let mut next = 0;
            for (i, piece) in all.iter().enumerate() {
                assert_eq!((piece.offset, u64::from(piece.first)), (next * 4, next), "{bytes} in {most}");
                assert!(piece.words > 0 && piece.words <= most && piece.offset % 16 == 0);
                assert!(piece.last_mask == u32::MAX || i + 1 == all.len() && bytes % 4 != 0);
                next += u64::from(piece.words);
            }
            assert_eq!(next, bytes.div_ceil(4));
        }
        assert_eq!(pieces(5, 4).last().map(|p| p.last_mask), Some(0xff));
    }

    #[test]
    fn words_past_the_four_thousand_millionth_count_from_zero_again() {
        let bytes = (16u64 << 30) + (3 << 30) + 2;
        let all: Vec<Piece> = pieces(bytes, PIECE_WORDS).collect();
        assert_eq!((all.len(), all[15].first, all[16].first), (20, 15 << 28, 0));
        assert_eq!(all[19], Piece { offset: 19 << 30, first: 3 << 28, words: 1, last_mask: 0xffff });
    }
}
