//! Where weights live. In: a program, a budget of device memory, a way for the rest. Out: a home for every tensor, and what runs then
//! move. Promise: no device is asked, resident tensors never take more than the budget, and what `info` predicts is what an engine does.

#[cfg(test)]
mod tests;
mod uses;

use crate::error::{Error, Kind, Result};
use crate::memory::ALIGN;
use crate::program::{Bucket, Part, Program};
use std::str::FromStr;
pub(crate) use uses::Uses;

/// Where a tensor's bytes are while the program runs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Home {
    /// In device memory, uploaded once.
    Resident,
    /// In host memory, where kernels read it in place.
    Mapped,
    /// In host memory, copied to the device for each run that uses it.
    Streamed,
}

impl Home {
    pub fn name(self) -> &'static str {
        match self {
            Home::Resident => "resident",
            Home::Mapped => "mapped",
            Home::Streamed => "streamed",
        }
    }
}

/// What becomes of weights that the budget leaves out.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Offload {
    /// What is predicted to be faster.
    #[default]
    Auto,
    /// Kernels read them in place.
    Read,
    /// They are copied ahead of the kernels that read them.
    Stream,
}

/// A number of bytes as people write it: `0`, `1073741824`, `512M`, `6G`, `1.5G`. K, M, G and T are powers of 1,024.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bytes(pub u64);

impl FromStr for Bytes {
    type Err = String;

    fn from_str(text: &str) -> Result<Bytes, String> {
        let bad = || format!("'{text}' is no number of bytes; write 0, 512M or 6G");
        let trimmed = text.trim().trim_end_matches(['B', 'b']).trim_end_matches('i');
        let (digits, shift) = match trimmed.char_indices().last() {
            Some((at, unit)) if unit.is_ascii_alphabetic() => {
                let shift = match unit.to_ascii_uppercase() {
                    'K' => 10,
                    'M' => 20,
                    'G' => 30,
                    'T' => 40,
                    _ => return Err(bad()),
                };
                (&trimmed[..at], shift)
            }
            _ => (trimmed, 0),
        };
        if let Ok(whole) = digits.parse::<u64>() {
            return whole
                .checked_mul(1 << shift)
                .map(Bytes)
                .ok_or_else(|| format!("'{text}' is more than 64 bits hold"));
        }
        let plain = digits.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        match digits.parse::<f64>() {
            Ok(part) if plain && shift > 0 && part < 1e6 => Ok(Bytes((part * (1u64 << shift) as f64) as u64)),
            _ => Err(bad()),
        }
    }
}

/// A home for every tensor of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Residency {
    pub homes: Vec<Home>,
    pub budget: Option<u64>,
}

/// Sizes by home.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Standing {
    pub resident_bytes: u64,
    pub mapped_bytes: u64,
    pub streamed_bytes: u64,
}

impl Residency {
    /// Everything on the device.
    pub fn resident(program: &Program) -> Residency {
        Residency { homes: vec![Home::Resident; program.tensors.len()], budget: None }
    }

    /// Tensors in order of first use become resident while they fit what is left of the budget; the rest goes as `offload` says.
    pub fn plan(program: &Program, budget: Option<u64>, offload: Offload) -> Result<Residency> {
        let Some(budget) = budget else { return Ok(Residency::resident(program)) };
        if offload == Offload::Stream {
            return Err(Error::new(Kind::Usage, "weights cannot be streamed yet").hint("use --offload read"));
        }
        let mut homes = vec![Home::Mapped; program.tensors.len()];
        let mut left = budget;
        for tensor in Uses::new(program).order() {
            let takes = device_bytes(program.tensors[tensor].bytes);
            if takes <= left {
                left -= takes;
                homes[tensor] = Home::Resident;
            }
        }
        Ok(Residency { homes, budget: Some(budget) })
    }

    /// Bytes of the program's tensors by home.
    pub fn standing(&self, program: &Program) -> Standing {
        let sum = |home| {
            let there = program.tensors.iter().zip(&self.homes).filter(|(_, h)| **h == home);
            there.map(|(t, _)| t.bytes).sum()
        };
        Standing {
            resident_bytes: sum(Home::Resident),
            mapped_bytes: sum(Home::Mapped),
            streamed_bytes: sum(Home::Streamed),
        }
    }

    /// Bytes that the kernels of a run read from host memory.
    pub(crate) fn in_place_bytes(&self, program: &Program, bucket: &Bucket, part: Part) -> u64 {
        let uses = Uses::new(program).run(bucket, part);
        let mapped = uses.iter().flatten().filter(|u| self.homes.get(u.tensor) == Some(&Home::Mapped));
        mapped.map(|u| u.bytes).sum()
    }

    /// How far what is resident goes beyond the budget: nothing, ever.
    pub fn over_budget_bytes(&self, program: &Program) -> u64 {
        let Some(budget) = self.budget else { return 0 };
        let there = program.tensors.iter().zip(&self.homes).filter(|(_, h)| **h == Home::Resident);
        there.map(|(t, _)| device_bytes(t.bytes)).sum::<u64>().saturating_sub(budget)
    }
}

/// What a tensor takes of a budget: its bytes and those that alignment costs.
pub fn device_bytes(bytes: u64) -> u64 {
    bytes.max(4).next_multiple_of(ALIGN)
}
