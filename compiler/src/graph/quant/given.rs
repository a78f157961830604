//! A matrix that a file holds quantised, as com.microsoft operators have it. In: its codes, scales and zero points, where the file has
//! them. Out: any of its rows, and the sections of the pool's layout. Promise: codes are moved and numbers copied, never rounded; what
//! lies in a mapped file stays there, and is read piece by piece.

use super::{Quant, Zero};
use crate::error::{Error, Result};
use crate::graph::{DType, Tensor};
use half::{bf16, f16};
use std::sync::Arc;

/// n rows of blocks. Code j of a row lies at bits `bits * j` of it, counted from the low bits of its first byte.
#[derive(Clone)]
pub struct Given {
    /// uint8, rows of `row_bytes`.
    pub codes: Tensor,
    pub row_bytes: usize,
    /// 2, 4 or 8.
    pub bits: u8,
    /// Columns of a block, a power of two and at least 16; `blocks` of them in a row, the last perhaps cut short.
    pub block: usize,
    pub blocks: usize,
    /// Float, one a block.
    pub scales: Tensor,
    /// uint8: packed as codes are, each row from a new byte on. Float: one a block. None: all 2^(bits-1).
    pub zeros: Option<Tensor>,
    pub order: Option<Arc<Order>>,
    /// The first row, and how many.
    pub first: usize,
    pub n: usize,
}

/// Columns that do not lie in the order of their blocks: which column of the file, and which block, stands at a place.
#[derive(PartialEq, Eq, Hash, Debug)]
pub struct Order {
    pub columns: Vec<u32>,
    /// For every sixteen columns.
    pub blocks: Vec<u32>,
}

/// Bytes handed on at once.
const PIECE: usize = 1 << 20;

impl Given {
    /// The layout that holds it, in groups of `group` columns, which must divide a block.
    pub fn quant(&self, group: u16) -> Quant {
        let narrow = |t: &Tensor| t.dtype == DType::F16;
        let float = self.zeros.as_ref().is_some_and(|z| z.dtype.is_float());
        let zero = match self.zeros {
            None => Zero::Mid,
            Some(_) if float => Zero::Float,
            Some(_) => Zero::Point,
        };
        let wide = !narrow(&self.scales) || (float && !self.zeros.as_ref().is_some_and(narrow));
        Quant { bits: self.bits.max(4), group, zero, salient: 0, wide }
    }

    /// Whether `quant` says the same of it as its own layout does.
    pub fn fits(&self, quant: Quant) -> bool {
        let own = self.quant(quant.group);
        let zero = own.zero == quant.zero
            || own.zero == Zero::Mid && matches!(quant.zero, Zero::Point | Zero::Float)
            || own.zero == Zero::Point && quant.zero == Zero::Float;
        let wide = quant.wide || !own.wide;
        zero && wide && quant.bits >= own.bits && quant.salient == 0 && self.block.is_multiple_of(quant.group.into())
    }

    /// Refuses tensors that hold too little.
    pub fn check(&self, k: usize) -> Result<()> {
        let numbers = (self.first + self.n) * self.blocks;
        let zeros = match &self.zeros {
            Some(z) if z.dtype.is_float() => z.len() >= numbers,
            Some(z) => z.len() >= (self.first + self.n) * self.zero_bytes(),
            None => true,
        };
        let sound = self.codes.len() >= (self.first + self.n) * self.row_bytes
            && self.scales.len() >= numbers
            && zeros
            && k <= self.blocks * self.block
            && self.order.as_ref().is_none_or(|o| o.columns.len() == k && 16 * o.blocks.len() >= k);
        if sound {
            return Ok(());
        }
        Err(Error::new("quantise", format!("codes, scales and zero points do not make {} rows of {k} columns", self.n)))
    }

    pub fn rows(&self, from: usize, to: usize) -> Given {
        Given { first: self.first + from, n: to - from, ..self.clone() }
    }

    fn zero_bytes(&self) -> usize {
        (self.blocks * usize::from(self.bits)).div_ceil(8)
    }

    /// The code that means zero where there are no zero points.
    fn middle(&self) -> u8 {
        1 << (self.bits - 1)
    }

    /// What is added to a code so that it means the same in `quant`: only the middle moves with the width.
    fn shift(&self, quant: Quant) -> u8 {
        if quant.zero == Zero::Mid { (1 << (quant.bits - 1)) - self.middle() } else { 0 }
    }

    /// The block of a group's columns.
    fn block_of(&self, group: usize, quant: Quant) -> usize {
        let first = group * usize::from(quant.group);
        match &self.order {
            Some(order) => order.blocks.get(first / 16).map_or(0, |b| *b as usize),
            None => first / self.block,
        }
    }

    fn code_row(&self, i: usize) -> Result<&[u8]> {
        let at = (self.first + i) * self.row_bytes;
        self.codes.bytes()?.get(at..at + self.row_bytes).ok_or_else(|| short("codes"))
    }

    /// The codes of row `i` in `quant`, a byte each.
    fn codes_of(&self, i: usize, quant: Quant, out: &mut [u8]) -> Result<()> {
        let row = self.code_row(i)?;
        let (bits, shift) = (usize::from(self.bits), self.shift(quant));
        let mask = (1u16 << bits) - 1;
        for (c, out) in out.iter_mut().enumerate() {
            let column = self.order.as_ref().map_or(c, |o| o.columns[c] as usize);
            let byte = row.get(column * bits / 8).copied().unwrap_or(0);
            *out = ((u16::from(byte) >> (column * bits % 8)) & mask) as u8 + shift;
        }
        Ok(())
    }

    fn number(&self, of: &Tensor, i: usize, block: usize) -> Result<f32> {
        let at = (self.first + i) * self.blocks + block;
        let size = of.dtype.bytes();
        let bytes = of.bytes()?.get(at * size..(at + 1) * size).ok_or_else(|| short("scales"))?;
        Ok(match (of.dtype, bytes) {
            (DType::F16, [a, b]) => f16::from_le_bytes([*a, *b]).to_f32(),
            (DType::BF16, [a, b]) => bf16::from_le_bytes([*a, *b]).to_f32(),
            (DType::F32, [a, b, c, d]) => f32::from_le_bytes([*a, *b, *c, *d]),
            (dtype, _) => return Err(Error::new("quantise", format!("scales of type {dtype} are not supported"))),
        })
    }

    /// The zero point of a block, as a number.
    fn zero(&self, i: usize, block: usize) -> Result<f32> {
        match &self.zeros {
            None => Ok(f32::from(self.middle())),
            Some(zeros) if zeros.dtype.is_float() => self.number(zeros, i, block),
            Some(zeros) => {
                let bits = usize::from(self.bits);
                let at = (self.first + i) * self.zero_bytes() + block * bits / 8;
                let byte = zeros.bytes()?.get(at).copied().ok_or_else(|| short("zero points"))?;
                Ok(f32::from((u16::from(byte) >> (block * bits % 8)) & ((1 << bits) - 1)))
            }
        }
    }

    /// The values of row `i`, `(q - z) * s` in f32.
    pub fn row(&self, i: usize, quant: Quant, out: &mut [f32]) -> Result<()> {
        let mut codes = vec![0u8; out.len()];
        // As the file has them: no layout moves what a code means.
        self.codes_of(i, Quant { zero: Zero::Point, ..quant }, &mut codes)?;
        let group = usize::from(quant.group);
        for (g, (out, codes)) in out.chunks_mut(group).zip(codes.chunks(group)).enumerate() {
            let block = self.block_of(g, quant);
            let (scale, zero) = (self.number(&self.scales, i, block)?, self.zero(i, block)?);
            out.iter_mut().zip(codes).for_each(|(out, q)| *out = (f32::from(*q) - zero) * scale);
        }
        Ok(())
    }

    /// What tells its content from any other's: the bytes as the file has them.
    pub fn feed(&self, hasher: &mut blake3::Hasher) -> Result<()> {
        let Given { bits, block, blocks, row_bytes, .. } = self;
        hasher.update(format!("given {bits} {block} {blocks} {row_bytes} {:?}", self.order).as_bytes());
        let mut rows = |tensor: &Tensor, row: usize| -> Result<()> {
            let (from, to) = (self.first * row, (self.first + self.n) * row);
            hasher.update(tensor.bytes()?.get(from..to).ok_or_else(|| short("rows"))?);
            Ok(())
        };
        rows(&self.codes, self.row_bytes)?;
        rows(&self.scales, self.blocks * self.scales.dtype.bytes())?;
        match &self.zeros {
            Some(z) if z.dtype.is_float() => rows(z, self.blocks * z.dtype.bytes()),
            Some(z) => rows(z, self.zero_bytes()),
            None => Ok(()),
        }
    }

    /// The section of codes of k columns.
    pub fn put_codes(&self, quant: Quant, k: usize, put: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let bytes = k * usize::from(quant.bits) / 8;
        let plain =
            self.order.is_none() && self.shift(quant) == 0 && self.bits == quant.bits && bytes <= self.row_bytes;
        let mut codes = vec![0u8; k];
        let mut out = Vec::with_capacity(PIECE + bytes);
        for i in 0..self.n {
            match (plain, quant.bits) {
                (true, 4) => {
                    let row = &self.code_row(i)?[..bytes];
                    out.extend(row.as_chunks::<4>().0.iter().flat_map(|word| spread(*word)));
                }
                (true, _) => out.extend_from_slice(&self.code_row(i)?[..bytes]),
                (false, bits) => {
                    self.codes_of(i, quant, &mut codes)?;
                    match bits {
                        4 => out.extend(codes.as_chunks::<8>().0.iter().flat_map(|eight| spread(nibbles(eight)))),
                        _ => out.extend_from_slice(&codes),
                    }
                }
            }
            if out.len() >= PIECE {
                put(&out)?;
                out.clear();
            }
        }
        put(&out)
    }

    /// The section of scales.
    pub fn put_scales(&self, quant: Quant, k: usize, put: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        self.each(quant, k, put, |i, block, out| {
            out.extend_from_slice(&float(self.number(&self.scales, i, block)?, quant.wide)[..number_bytes(quant)]);
            Ok(())
        })
    }

    /// The section of zero points.
    pub fn put_zeros(&self, quant: Quant, k: usize, put: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        if quant.zero == Zero::Mid {
            return Ok(());
        }
        self.each(quant, k, put, |i, block, out| {
            let zero = self.zero(i, block)?;
            match quant.zero {
                Zero::Float => out.extend_from_slice(&float(zero, quant.wide)[..number_bytes(quant)]),
                _ => out.push(zero as u8),
            }
            Ok(())
        })
    }

    /// One number a group, row after row.
    fn each(
        &self,
        quant: Quant,
        k: usize,
        put: &mut dyn FnMut(&[u8]) -> Result<()>,
        number: impl Fn(usize, usize, &mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        let mut out = Vec::with_capacity(PIECE + k);
        for i in 0..self.n {
            for group in 0..k / usize::from(quant.group) {
                number(i, self.block_of(group, quant), &mut out)?;
            }
            if out.len() >= PIECE {
                put(&out)?;
                out.clear();
            }
        }
        put(&out)
    }
}

fn short(what: &str) -> Error {
    Error::new("quantise", format!("there are fewer {what} than rows"))
}

fn number_bytes(quant: Quant) -> usize {
    if quant.wide { 4 } else { 2 }
}

/// The bytes of a number, of which two count where it is not wide.
fn float(x: f32, wide: bool) -> [u8; 4] {
    if wide {
        return x.to_le_bytes();
    }
    let [a, b] = f16::from_f32(x).to_le_bytes();
    [a, b, 0, 0]
}

/// Eight codes as files pack them: code i at bits 4i.
fn nibbles(q: &[u8; 8]) -> [u8; 4] {
    [q[0] | q[1] << 4, q[2] | q[3] << 4, q[4] | q[5] << 4, q[6] | q[7] << 4]
}

/// Eight codes of a file's word as kernels load them: code 2p + h at bits 4p + 16h.
fn spread(word: [u8; 4]) -> [u8; 4] {
    let word = u32::from_le_bytes(word);
    let close = |x: u32| {
        let x = (x | x >> 4) & 0x00ff_00ff;
        (x | x >> 8) & 0xffff
    };
    (close(word & 0x0f0f_0f0f) | close(word >> 4 & 0x0f0f_0f0f) << 16).to_le_bytes()
}
