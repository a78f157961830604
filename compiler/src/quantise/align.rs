//! Parts that lie together. In: fused graphs with matrices that a file holds quantised. Out: the same, in which the parts of q, k and v,
//! and those of gate and up, share a layout. Promise: every value stays the same, bit for bit.

use super::groups;
use crate::bucket::BucketGraph;
use crate::graph::quant::{Quant, Zero};
use crate::graph::{Def, Tensor, ValueId};
use std::collections::HashMap;
use std::sync::Arc;

/// Rewrites the layouts of parts that differ, the wider winning.
pub fn align(buckets: &mut [BucketGraph]) {
    let mut known: HashMap<(String, Quant), Tensor> = HashMap::new();
    for bucket in buckets {
        for (value, quant) in wanted(bucket) {
            let value = &mut bucket.graph.values[value.0 as usize];
            let Def::Const(tensor) = &mut value.def else { continue };
            let again = match (tensor.encoded(), tensor.absent_name()) {
                (Some(encoded), _) => match known.get(&(encoded.hash().to_string(), quant)) {
                    Some(again) => Some(again.clone()),
                    None => encoded.recoded(quant).map(|e| {
                        let again = Tensor::quantised(Arc::new(e), false);
                        known.insert((encoded.hash().to_string(), quant), again.clone());
                        again
                    }),
                },
                (None, Some(name)) => Some(Tensor::absent_quantised(name.to_string(), tensor.shape.clone(), quant)),
                (None, None) => None,
            };
            if let Some(again) = again {
                *tensor = again;
            }
        }
    }
}

/// Constants whose layout is to change, and to which.
fn wanted(bucket: &BucketGraph) -> Vec<(ValueId, Quant)> {
    let mut out = vec![];
    for node in &bucket.graph.nodes {
        let (inputs, transposed, _) = groups::weights(node);
        let parts: Vec<ValueId> = inputs.iter().filter_map(|&i| node.input(i)).collect();
        let quants: Vec<Quant> = parts.iter().filter_map(|v| bucket.graph.constant(*v)?.quant()).collect();
        let Some(first) = quants.first().copied().filter(|_| quants.len() == parts.len() && !transposed) else {
            continue;
        };
        if quants.iter().all(|q| *q == first) {
            continue;
        }
        if let Some(common) = quants.into_iter().try_fold(first, common) {
            out.extend(parts.into_iter().map(|v| (v, common)));
        }
    }
    out
}

/// The layout that says what both say; none where one has minima or corrections.
fn common(a: Quant, b: Quant) -> Option<Quant> {
    let plain = |q: Quant| q.zero != Zero::Min && q.salient == 0;
    let zero = match (a.zero, b.zero) {
        (x, y) if x == y => x,
        (Zero::Float, _) | (_, Zero::Float) => Zero::Float,
        _ => Zero::Point,
    };
    let quant =
        Quant { bits: a.bits.max(b.bits), group: a.group.min(b.group), zero, salient: 0, wide: a.wide || b.wide };
    (plain(a) && plain(b)).then_some(quant)
}
