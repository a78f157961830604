//! Quantised weights. In: rows of floats. Out: codes, scales and what else the pool keeps of them. Promise: `decode` gives what the
//! kernels compute with, and the byte layout is that of docs/pool.md.

mod encoded;
mod given;
mod grid;
#[cfg(test)]
mod tests;

pub use encoded::{Encoded, Fit, packed};
pub use given::{Given, Order};
pub use grid::Grid;

use crate::error::{Error, Result};

/// How a matrix of n rows (outputs) and k columns (inputs) is stored with few bits a weight.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Quant {
    /// 4 or 8.
    pub bits: u8,
    /// Neighbouring columns that share a scale: 16, 32, 64 or 128.
    pub group: u16,
    pub zero: Zero,
    /// Scales, and zeros that are no codes, in f32 instead of fp16.
    pub wide: bool,
    /// Columns that carry an fp16 correction of what their codes say.
    pub salient: u16,
}

/// What a code q means, with s the scale of its group.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Zero {
    /// (q - 2^(bits-1)) * s
    Mid,
    /// (q - z) * s, z an integer of `bits` bits
    Point,
    /// q * s + m, m a float as the scales are
    Min,
    /// (q - z) * s, z a float as the scales are
    Float,
}

/// Columns that may share a scale.
const GROUPS: [usize; 4] = [16, 32, 64, 128];

impl Zero {
    pub const ALL: [Zero; 4] = [Zero::Mid, Zero::Point, Zero::Min, Zero::Float];

    pub fn name(self) -> &'static str {
        match self {
            Zero::Mid => "mid",
            Zero::Point => "point",
            Zero::Min => "min",
            Zero::Float => "float",
        }
    }

    pub fn parse(name: &str) -> Option<Zero> {
        Zero::ALL.into_iter().find(|z| z.name() == name)
    }
}

/// Where the sections of a packed tensor start, in bytes; codes start at 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sections {
    pub scales: usize,
    /// Zero points or minima; nothing there for `Zero::Mid`.
    pub zeros: usize,
    /// Numbers of the salient columns.
    pub columns: usize,
    pub corrections: usize,
    /// Bytes of the whole tensor.
    pub bytes: usize,
}

impl Quant {
    /// The name of the layout: `q4_g32_mid`, `q4_g128_point_s9`, `q4_g64_float_wide`.
    pub fn name(self) -> String {
        let Quant { bits, group, zero, salient, wide } = self;
        let wide = if wide { "_wide" } else { "" };
        let tail = if salient > 0 { format!("_s{salient}") } else { String::new() };
        format!("q{bits}_g{group}_{}{wide}{tail}", zero.name())
    }

    /// Inverse of `name`.
    pub fn parse(name: &str) -> Option<Quant> {
        let mut words = name.split('_');
        let bits = words.next()?.strip_prefix('q')?.parse().ok()?;
        let group = words.next()?.strip_prefix('g')?.parse().ok()?;
        let zero = Zero::parse(words.next()?)?;
        let mut tail = words.next();
        let wide = tail == Some("wide");
        if wide {
            tail = words.next();
        }
        let salient = tail.map_or(Some(0), |w| w.strip_prefix('s')?.parse().ok())?;
        let quant = Quant { bits, group, zero, salient, wide };
        let known = [4, 8].contains(&bits) && GROUPS.contains(&usize::from(group));
        (known && quant.name() == name).then_some(quant)
    }

    /// The largest code.
    pub fn top(self) -> u8 {
        if self.bits == 4 { 15 } else { 255 }
    }

    /// Refuses matrices that this layout cannot hold.
    pub fn check(self, n: usize, k: usize) -> Result<()> {
        let group = usize::from(self.group);
        let sound = [4, 8].contains(&self.bits) && GROUPS.contains(&group);
        if !sound || k == 0 || !k.is_multiple_of(group) || usize::from(self.salient) > k {
            let what = format!("{n} rows of {k} columns cannot be stored as {}", self.name());
            return Err(Error::new("quantise", what)
                .hint("columns must be a multiple of the group, which is 16, 32, 64 or 128; bits are 4 or 8"));
        }
        Ok(())
    }

    /// Sections of a tensor of `n` rows of `k` columns, each at a multiple of 16 bytes.
    pub fn sections(self, n: usize, k: usize) -> Sections {
        let align = |bytes: usize| bytes.next_multiple_of(16);
        let groups = n * (k / usize::from(self.group).max(1));
        let salient = usize::from(self.salient);
        let scales = align(n * k * usize::from(self.bits) / 8);
        let number = if self.wide { 4 } else { 2 };
        let zeros = align(scales + number * groups);
        let columns = match self.zero {
            Zero::Mid => zeros,
            Zero::Point => align(zeros + groups),
            Zero::Min | Zero::Float => align(zeros + number * groups),
        };
        let corrections = align(columns + 4 * salient);
        Sections { scales, zeros, columns, corrections, bytes: align(corrections + 2 * n * salient) }
    }

    /// The same with a group that divides `k`: 128 becomes 64, 64 becomes 32. None where not even 32 does.
    pub fn fitted(self, k: usize) -> Option<Quant> {
        let group =
            [128u16, 64, 32].into_iter().find(|g| *g <= self.group && k > 0 && k.is_multiple_of(usize::from(*g)))?;
        Some(Quant { group, ..self })
    }
}
