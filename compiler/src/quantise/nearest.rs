//! Rounding to nearest. In: rows. Out: the codes nearest to them on each group's best grid. Promise: needs no data but the weights.

use super::salient::{self, Minds};
use super::{Encoding, Group, Strategy};
use crate::error::Result;
use crate::graph::quant::Quant;

#[derive(Default)]
pub struct Nearest {
    /// Why nothing better was possible.
    pub because: Option<String>,
}

impl Strategy for Nearest {
    fn name(&self) -> String {
        match &self.because {
            None => "nearest".into(),
            Some(why) => format!("nearest, as {why}"),
        }
    }

    fn encode(&mut self, group: &Group, rows: &[f32], quant: Quant) -> Result<Encoding> {
        salient::nearest(rows, (group.n(), group.k), quant, Minds::default()).map(Encoding::from)
    }
}
