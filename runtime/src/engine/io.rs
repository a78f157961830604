//! What the host writes and reads. In: steps, token ids, ports, states. Out: tokens, logits, states, arenas. Promise: small pieces cross
//! the bus, each counted, and nothing outside a region.

use super::Engine;
use crate::error::{Error, Kind, Result};
use crate::layout::Ports;
use crate::memory::Region;
use crate::step::{RING, Step};
use crate::transfer::{self, Uploader};

impl Engine {
    /// Sets the `Step` buffer. Nothing may be running.
    pub fn set_step(&mut self, step: &Step) -> Result<()> {
        self.counters.to_device_bytes += size_of::<Step>() as u64;
        self.step.write(0, bytemuck::bytes_of(step))
    }

    /// Reads the `Step` buffer. Nothing may be running.
    pub fn step(&mut self) -> Result<Step> {
        let mut step: Step = bytemuck::Zeroable::zeroed();
        self.counters.to_host_bytes += size_of::<Step>() as u64;
        self.step.read(0, bytemuck::bytes_of_mut(&mut step))?;
        Ok(step)
    }

    /// `pos`, `rows`, `done` and `produced` of the `Step` buffer. Nothing may be running.
    pub fn progress(&mut self) -> Result<[u32; 4]> {
        let mut words = [0; 4];
        self.counters.to_host_bytes += size_of_val(&words) as u64;
        self.step.read(0, bytemuck::bytes_of_mut(&mut words))?;
        Ok(words)
    }

    /// Sets the token ids of the next run. Nothing may be running.
    pub fn set_tokens(&mut self, tokens: &[u32]) -> Result<()> {
        self.counters.to_device_bytes += tokens.len() as u64 * 4;
        self.tokens.write(0, bytemuck::cast_slice(tokens))
    }

    /// Ring entries `first..first + count`, written by runs that have finished.
    pub fn ring_range(&mut self, first: u32, count: u32) -> Result<Vec<u32>> {
        let mut out = vec![0u32; count as usize];
        self.counters.to_host_bytes += u64::from(count) * 4;
        let mut at = first % RING;
        for piece in pieces(&mut out, at) {
            self.ring.read(u64::from(at) * 4, bytemuck::cast_slice_mut(piece))?;
            at = 0;
        }
        Ok(out)
    }

    /// Entry `index % RING` of the ring.
    pub fn ring(&mut self, index: u32) -> Result<u32> {
        self.ring_range(index, 1).map(|tokens| tokens[0])
    }

    /// The logits that the last `Head` left.
    pub fn logits(&mut self) -> Result<Vec<f32>> {
        let mut out = vec![0f32; (self.layout.logits.bytes / 4) as usize];
        let region = self.layout.logits;
        self.download(&region, 0, bytemuck::cast_slice_mut(&mut out))?;
        Ok(out)
    }

    /// Bytes of a state, from its beginning.
    pub fn read_state(&mut self, index: u32) -> Result<Vec<u8>> {
        let missing = || Error::new(Kind::Usage, format!("there is no state {index}"));
        let region = *self.layout.states.get(index as usize).ok_or_else(missing)?;
        let mut out = vec![0u8; region.bytes as usize];
        self.download(&region, 0, &mut out)?;
        Ok(out)
    }

    /// Sets a state's bytes, from its beginning.
    pub fn write_state(&mut self, index: u32, bytes: &[u8]) -> Result<()> {
        let missing = || Error::new(Kind::Usage, format!("there is no state {index}"));
        let region = *self.layout.states.get(index as usize).ok_or_else(missing)?;
        if bytes.len() as u64 > region.bytes {
            return Err(Error::new(Kind::Usage, format!("{} bytes for a state of {}", bytes.len(), region.bytes)));
        }
        self.write_region(&region, bytes)
    }

    /// Bytes of the arena that buckets share, as the last run left them.
    pub fn read_arena(&mut self, offset: u64, bytes: u64) -> Result<Vec<u8>> {
        let region = self.layout.arena;
        if offset.checked_add(bytes).is_none_or(|end| end > region.bytes) {
            return Err(Error::new(Kind::Usage, format!("bytes {offset}+{bytes} of an arena of {}", region.bytes)));
        }
        let mut out = vec![0u8; bytes as usize];
        self.download(&region, offset, &mut out)?;
        Ok(out)
    }

    /// Sets the bytes of the one input that a bucket has. The bucket may not be running.
    pub(crate) fn write_input(&mut self, bucket: u32, bytes: &[u8]) -> Result<()> {
        match self.port_regions(bucket)?.inputs[..] {
            [region] if region.bytes == bytes.len() as u64 => self.write_region(&region, bytes),
            _ => Err(Error::new(Kind::Usage, format!("{} bytes are no input of bucket {bucket}", bytes.len()))),
        }
    }

    pub(crate) fn write_region(&mut self, region: &Region, bytes: &[u8]) -> Result<()> {
        let mut uploader = Uploader::new(&self.device, self.options.staging, bytes.len() as u64);
        uploader.write(&self.segments[region.segment], region.offset, bytes)?;
        self.counters.to_device_bytes += uploader.finish()?;
        Ok(())
    }

    pub(crate) fn download(&mut self, region: &Region, offset: u64, out: &mut [u8]) -> Result<()> {
        self.counters.to_host_bytes += out.len() as u64;
        self.counters.submissions += 1;
        transfer::download(&self.device, &self.segments[region.segment], region.offset + offset, out)
    }

    pub(crate) fn port_regions(&self, bucket: u32) -> Result<Ports> {
        let missing = || Error::new(Kind::Usage, format!("there is no bucket {bucket}"));
        self.layout.ports.get(bucket as usize).cloned().ok_or_else(missing)
    }
}

/// Entries of the ring from `at` on, cut where it begins anew.
fn pieces(entries: &mut [u32], at: u32) -> impl Iterator<Item = &mut [u32]> {
    let (first, rest) = entries.split_at_mut(entries.len().min((RING - at) as usize));
    std::iter::once(first).chain(rest.chunks_mut(RING as usize))
}
