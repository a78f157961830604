//! Pseudo-random weights. In: a seed and a tensor's layout. Out: its bytes. Promise: the same seed gives the same bytes anywhere, and
//! activations of a normalised network stay finite.

use crate::error::{Error, Kind, Result};
use crate::program::Tensor;
use half::f16;

/// Longest stretch that is generated; longer tensors repeat it.
const PERIOD: usize = 1 << 20;

/// The 64-bit generator of Steele, Lea and Flood (SplitMix64, 2014).
struct Generator(u64);

impl Generator {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in -1..1.
    fn unit(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1u32 << 23) as f32 - 1.0
    }
}

/// Hands the bytes of `tensor` to `sink`.
pub fn fill(seed: u64, index: usize, tensor: &Tensor, sink: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let mut random = Generator(seed ^ (index as u64).wrapping_mul(0xd134_2543_de82_ef95));
    if let Some(quant) = Quant::parse(&tensor.layout) {
        return quant.fill(&mut random, tensor, sink);
    }
    let bytes = tensor.bytes.min(PERIOD as u64) as usize;
    let row = f32::max(1.0, tensor.shape.last().copied().unwrap_or(1) as f32);
    // Rows of k uniform values of this size keep the variance of what they are multiplied with; vectors are scales near one.
    let scale = (3.0 / row).sqrt();
    let vector = tensor.shape.len() <= 1;
    let mut value = || if vector { 1.0 + 0.1 * random.unit() } else { scale * random.unit() };
    let stretch: Vec<u8> = match tensor.layout.as_ref() {
        "rows_f32" => (0..bytes.div_ceil(4)).flat_map(|_| value().to_le_bytes()).collect(),
        "rows_f16" => (0..bytes.div_ceil(2)).flat_map(|_| f16::from_f32(value()).to_le_bytes()).collect(),
        // Indices and shapes: zero is in range everywhere.
        "rows_i32" => vec![0; bytes],
        other => {
            let what = format!("synthetic weights know no layout '{other}' (tensor '{}')", tensor.name);
            return Err(Error::new(Kind::Weights, what));
        }
    };
    repeat(&stretch, tensor.bytes, sink)
}

/// `bytes` bytes of a stretch, over and over.
fn repeat(stretch: &[u8], bytes: u64, sink: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let mut rest = bytes;
    while rest > 0 {
        let n = rest.min(stretch.len() as u64);
        sink(&stretch[..n as usize])?;
        rest -= n;
    }
    Ok(())
}

/// A quantised layout of docs/pool.md, by its name.
struct Quant<'a> {
    bits: u64,
    group: u64,
    zero: &'a str,
    salient: u64,
}

impl Quant<'_> {
    fn parse(layout: &str) -> Option<Quant<'_>> {
        let mut words = layout.split('_');
        let bits = words.next()?.strip_prefix('q')?.parse().ok().filter(|b| [4, 8].contains(b))?;
        let group = words.next()?.strip_prefix('g')?.parse().ok().filter(|g| *g > 0)?;
        let zero = words.next().filter(|z| ["mid", "point", "min"].contains(z))?;
        let salient = words.next().map_or(Some(0), |w| w.strip_prefix('s')?.parse().ok())?;
        Some(Quant { bits, group, zero, salient })
    }

    /// Random codes around a mean of about zero; no corrections.
    fn fill(&self, random: &mut Generator, tensor: &Tensor, sink: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let k = u64::from(tensor.shape.last().copied().unwrap_or(1).max(1));
        let n = tensor.shape.iter().map(|&d| u64::from(d)).product::<u64>() / k;
        let middle = f32::from(1u16 << (self.bits - 1));
        let step = (3.0 / k as f32).sqrt() / middle;
        let codes: Vec<u8> = (0..PERIOD as u64 / 8).flat_map(|_| random.next().to_le_bytes()).collect();
        let half = |x: f32| f16::from_f32(x).to_le_bytes().repeat(1 << 10);
        let zeros = match self.zero {
            "point" => (n * (k / self.group), vec![middle as u8; 1 << 10]),
            "min" => (2 * n * (k / self.group), half(-middle * step)),
            _ => (0, vec![]),
        };
        let columns: Vec<u8> = (0..self.salient as u32).flat_map(u32::to_le_bytes).collect();
        let sections = [
            (n * k * self.bits / 8, codes),
            (2 * n * (k / self.group), half(step)),
            zeros,
            (columns.len() as u64, columns),
            (2 * n * self.salient, vec![0; 1 << 10]),
        ];
        let mut at = 0u64;
        for (bytes, stretch) in sections {
            let start = at.next_multiple_of(16);
            sink(&vec![0; (start - at) as usize])?;
            repeat(&stretch, bytes, sink)?;
            at = start + bytes;
        }
        sink(&vec![0; tensor.bytes.saturating_sub(at) as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(seed: u64, layout: &'static str, shape: &[u32], bytes: u64) -> Vec<u8> {
        let tensor = Tensor { name: "w".into(), layout: layout.into(), shape: shape.to_vec().into(), bytes };
        let mut out = Vec::new();
        fill(seed, 3, &tensor, &mut |piece| {
            out.extend_from_slice(piece);
            Ok(())
        })
        .unwrap();
        out
    }

    #[test]
    fn the_seed_decides_and_the_size_is_exact() {
        let one = bytes(1, "rows_f16", &[33, 7], 33 * 7 * 2);
        assert_eq!(one.len(), 462);
        assert_eq!(one, bytes(1, "rows_f16", &[33, 7], 462));
        assert_ne!(one, bytes(2, "rows_f16", &[33, 7], 462));
    }

    #[test]
    fn quantised_layouts_get_codes_of_a_sound_size() {
        // Sections of 5 rows of 96 columns: codes, scales, minima, one column number, corrections.
        let all = bytes(3, "q4_g32_min_s1", &[5, 96], 240 + 32 + 32 + 16 + 16);
        assert_eq!(all.len(), 336);
        let half = |at: usize| f16::from_le_bytes([all[at], all[at + 1]]).to_f32();
        assert!((half(240) - (3.0f32 / 96.0).sqrt() / 8.0).abs() < 1e-4);
        assert!((half(272) + 8.0 * half(240)).abs() < 1e-3);
        assert_eq!((half(270), all[304], half(320)), (0.0, 0, 0.0), "gap, column number, correction");
        assert_eq!(bytes(3, "q8_g64_point", &[2, 64], 128 + 16 + 16)[144..147], [128, 128, 0]);
    }

    #[test]
    fn long_tensors_repeat_and_stay_small() {
        let n = PERIOD as u64 + 12;
        let all = bytes(7, "rows_f32", &[n as u32 / 4 / 1024, 1024], n);
        assert_eq!(all.len() as u64, n);
        assert_eq!(all[..12], all[PERIOD..]);
        let values = all.chunks_exact(4).map(|w| f32::from_le_bytes([w[0], w[1], w[2], w[3]]));
        assert!(values.map(f32::abs).fold(0.0, f32::max) <= (3.0f32 / 1024.0).sqrt());
    }
}
