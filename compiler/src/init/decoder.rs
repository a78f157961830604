//! What a decoder's symbols mean. In: an inspection. Out: each symbol as a number, or in terms of rows and context. Promise: told by types
//! and extents, not by names.

use crate::import::{Inspection, Port};
use std::collections::BTreeMap;

/// The symbols of a decoder, by what they mean.
pub struct Decoder {
    past: String,
    rows: Option<String>,
}

impl Decoder {
    /// A model with 4-D float inputs whose third extent is a symbol, and integer inputs [batch, rows].
    pub fn of(inspection: &Inspection) -> Option<Decoder> {
        let caches: Vec<&Vec<String>> =
            inspection.inputs.iter().filter(|p| is_float(p)).filter_map(|p| p.dims.as_ref()).collect();
        let past = caches.iter().find(|d| d.len() == 4 && is_symbol(&d[2]) && d[2] != d[3])?[2].clone();
        let rows = inspection.inputs.iter().filter(|p| !is_float(p) && !p.name.contains("mask")).find_map(|p| {
            let dims = p.dims.as_ref()?;
            (dims.len() == 2 && is_symbol(&dims[1]) && dims[1] != past).then(|| dims[1].clone())
        });
        Some(Decoder { past, rows })
    }

    pub fn dims(&self, inspection: &Inspection) -> BTreeMap<String, String> {
        let meaning = |symbol: &String| {
            if *symbol == self.past {
                "\"context - rows\"".to_string()
            } else if Some(symbol) == self.rows.as_ref() {
                "\"rows\"".to_string()
            } else if self.is_mask_length(symbol, inspection) {
                "\"context\"".to_string()
            } else {
                "1".to_string()
            }
        };
        inspection.symbols.iter().map(|s| (s.clone(), meaning(s))).collect()
    }

    /// A symbol that is the second extent of an integer input or the last of a mask, and nobody's first.
    fn is_mask_length(&self, symbol: &String, inspection: &Inspection) -> bool {
        let dims = || inspection.inputs.iter().filter_map(|p| p.dims.as_ref());
        dims().any(|d| d.len() > 1 && d.last() == Some(symbol)) && !dims().any(|d| d.first() == Some(symbol))
    }
}

fn is_float(port: &Port) -> bool {
    port.dtype.contains("FLOAT") || port.dtype.contains("float") || port.dtype.contains("DOUBLE")
}

fn is_symbol(dim: &str) -> bool {
    dim.parse::<u64>().is_err()
}
