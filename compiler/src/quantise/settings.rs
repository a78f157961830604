//! `[quantise]` of a manifest. In: its keys. Out: layouts for matrices and for the embedding table. Promise: what is not given has
//! a default that suits most models.

use crate::graph::quant::{Quant, Zero};
use serde::Deserialize;
use std::path::PathBuf;

/// How `precision = "int4"` stores weights.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Bits of a matrix's codes: 4 or 8.
    pub bits: u8,
    /// Columns that share a scale: 32, 64 or 128.
    pub group: u16,
    pub zero: ZeroName,
    /// Bits of the embedding table's codes: 4 or 8.
    pub table_bits: u8,
    pub table_group: u16,
    pub table_zero: ZeroName,
    /// Columns of each matrix that keep fp16 accuracy; at most an eighth of them.
    pub salient: u16,
    /// How codes are chosen; the best that is possible unless given.
    pub method: Option<Method>,
    /// A text to calibrate on, beside the manifest; one of the compiler's own unless given.
    pub calibration: Option<PathBuf>,
    /// How many of its tokens are used.
    pub tokens: usize,
    /// The largest relative output error that a matrix may have before it gets more bits.
    pub guard: f64,
}

/// How codes are chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// The nearest to each weight; needs no text
    Nearest,
    /// The nearest, on grids that mind the columns with large inputs
    Weighted,
    /// Later columns make up for the errors of earlier ones
    Gptq,
}

impl Method {
    pub fn name(self) -> &'static str {
        match self {
            Method::Nearest => "nearest",
            Method::Weighted => "weighted",
            Method::Gptq => "gptq",
        }
    }
}

/// `mid`, `point` or `min`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum ZeroName {
    Mid,
    Point,
    Min,
}

impl From<ZeroName> for Zero {
    fn from(name: ZeroName) -> Zero {
        match name {
            ZeroName::Mid => Zero::Mid,
            ZeroName::Point => Zero::Point,
            ZeroName::Min => Zero::Min,
        }
    }
}

impl Default for Settings {
    /// 4.5 bits a weight of a matrix and 8.25 of the table.
    fn default() -> Settings {
        Settings {
            bits: 4,
            group: 64,
            zero: ZeroName::Min,
            table_bits: 8,
            table_group: 64,
            table_zero: ZeroName::Mid,
            salient: 0,
            method: None,
            calibration: None,
            tokens: 4096,
            guard: 0.25,
        }
    }
}

impl Settings {
    pub fn linear(&self) -> Quant {
        Quant { bits: self.bits, group: self.group, zero: self.zero.into(), salient: self.salient, wide: false }
    }

    pub fn table(&self) -> Quant {
        Quant { bits: self.table_bits, group: self.table_group, zero: self.table_zero.into(), salient: 0, wide: false }
    }

    /// One line for the lock: what the codes depend on but the weights.
    pub fn named(&self, strategy: &str) -> String {
        format!("{}, table {}, {strategy}", self.linear().name(), self.table().name())
    }

    /// Says which key has an impossible value.
    pub fn check(&self) -> Result<(), String> {
        for (key, bits) in [("bits", self.bits), ("table_bits", self.table_bits)] {
            if ![4, 8].contains(&bits) {
                return Err(format!("{key} is {bits}; 4 and 8 are possible"));
            }
        }
        for (key, group) in [("group", self.group), ("table_group", self.table_group)] {
            if ![32, 64, 128].contains(&group) {
                return Err(format!("{key} is {group}; 32, 64 and 128 are possible"));
            }
        }
        if self.tokens == 0 || self.guard.is_nan() || self.guard <= 0.0 {
            return Err(format!("tokens = {} and guard = {}; both must be above zero", self.tokens, self.guard));
        }
        Ok(())
    }
}
