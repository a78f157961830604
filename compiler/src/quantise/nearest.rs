//! Rounding to nearest. In: rows. Out: the codes nearest to them on each group's best grid. Promise: needs no data but the weights.

use super::{Group, Strategy};
use crate::error::Result;
use crate::graph::quant::{Encoded, Fit, Quant};

pub struct Nearest;

impl Strategy for Nearest {
    fn name(&self) -> String {
        "nearest".into()
    }

    fn encode(&mut self, group: &Group, rows: &[f32], quant: Quant) -> Result<Encoded> {
        Encoded::nearest(rows, group.n(), group.k, quant, &Fit::default())
    }
}
