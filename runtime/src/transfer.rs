//! Copies between host and device. In: bytes and buffers. Out: the same bytes on the other side. Promise: through staging buffers of a
//! fixed size, so that no copy needs as much host memory as what it copies.

use crate::commands::{Scope, Tape};
use crate::device::Device;
use crate::error::Result;
use crate::ledger::Purpose;
use crate::memory::Buffer;
use crate::submit::{Ticket, submit};

/// Of each staging buffer at most; a small copy takes a small one, since allocating takes longer than copying.
const STAGING_BYTES: u64 = 32 << 20;

/// Copies host bytes into device buffers through two staging buffers, or directly where the target is mapped.
pub(crate) struct Uploader<'a> {
    device: &'a Device,
    /// Takes the staging way even into mapped memory (tests).
    force: bool,
    /// Of each staging buffer.
    size: u64,
    staging: Vec<Buffer>,
    in_flight: [Option<Ticket>; 2],
    current: usize,
    filled: u64,
    copies: Vec<(Buffer, u64, u64, u64)>,
    pub bytes: u64,
}

impl<'a> Uploader<'a> {
    /// `expected` bytes in all, as far as that is known.
    pub fn new(device: &'a Device, force: bool, expected: u64) -> Uploader<'a> {
        Uploader {
            device,
            force,
            size: expected.clamp(4, STAGING_BYTES).next_multiple_of(4),
            staging: Vec::new(),
            in_flight: [None, None],
            current: 0,
            filled: 0,
            copies: Vec::new(),
            bytes: 0,
        }
    }

    /// Queues a copy of `data` to `offset` of `target`.
    pub fn write(&mut self, target: &Buffer, offset: u64, data: &[u8]) -> Result<()> {
        self.bytes += data.len() as u64;
        if target.mapped() && !self.force {
            return target.write(offset, data);
        }
        let mut at = offset;
        let mut rest = data;
        while !rest.is_empty() {
            if self.filled == self.size {
                self.flush()?;
            }
            let staging = self.stage()?;
            let n = rest.len().min((self.size - self.filled) as usize);
            staging.write(self.filled, &rest[..n])?;
            self.copies.push((target.clone(), self.filled, at, n as u64));
            self.filled = (self.filled + n as u64).next_multiple_of(4).min(self.size);
            at += n as u64;
            rest = &rest[n..];
        }
        Ok(())
    }

    /// The current staging buffer, free for writing.
    fn stage(&mut self) -> Result<Buffer> {
        if let Some(ticket) = self.in_flight[self.current].take() {
            ticket.wait()?;
        }
        if self.staging.len() <= self.current {
            self.staging.push(Buffer::new(self.device, self.size, Purpose::Staging, "staging")?);
        }
        Ok(self.staging[self.current].clone())
    }

    fn flush(&mut self) -> Result<()> {
        if self.copies.is_empty() {
            return Ok(());
        }
        let mut tape = Tape::new(self.device)?;
        for (target, from, to, bytes) in self.copies.drain(..) {
            tape.copy(&self.staging[self.current], from, &target, to, bytes);
        }
        tape.barrier(Scope::All, Scope::All);
        self.in_flight[self.current] = Some(submit(self.device, &[tape.end()?])?);
        self.current ^= 1;
        self.filled = 0;
        Ok(())
    }

    /// Waits until everything is in place.
    pub fn finish(mut self) -> Result<u64> {
        self.flush()?;
        for ticket in self.in_flight.iter_mut().filter_map(Option::take) {
            ticket.wait()?;
        }
        Ok(self.bytes)
    }
}

/// Copies device bytes to the host; waits for it.
pub(crate) fn download(device: &Device, source: &Buffer, offset: u64, out: &mut [u8]) -> Result<()> {
    let mut at = offset;
    for piece in out.chunks_mut(STAGING_BYTES as usize) {
        let bytes = piece.len() as u64;
        let landing = Buffer::new(device, bytes, Purpose::Readback, "reading back")?;
        let mut tape = Tape::new(device)?;
        tape.barrier(Scope::All, Scope::All);
        tape.copy(source, at, &landing, 0, bytes);
        tape.barrier(Scope::All, Scope::Host);
        submit(device, &[tape.end()?])?.wait()?;
        landing.read(0, piece)?;
        at += bytes;
    }
    Ok(())
}
