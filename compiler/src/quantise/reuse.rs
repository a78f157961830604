//! What need not be quantised again. In: graphs with weights, the lock of an earlier compile. Out: the graphs with those constants
//! absent that the lock knows from the same source. Promise: all or none; other settings or other weights leave everything in place.

use super::groups;
use crate::bucket::{BucketGraph, scope};
use crate::error::Result;
use crate::graph::{Data, Def};
use crate::lock::Lock;

/// Takes away the data of every constant that the lock says how to store, if it was `how` that it was quantised. True where it did.
pub fn forget(buckets: &mut [BucketGraph], lock: &Lock, how: &str) -> Result<bool> {
    if lock.quantise.as_deref() != Some(how) {
        return Ok(false);
    }
    let groups = groups::find(buckets, lock)?;
    let mut known = vec![];
    for group in &groups {
        for at in &group.uses {
            for (i, part) in at.parts.iter().enumerate() {
                let entry = scope(buckets, &buckets[at.bucket]).find(lock, &part.lock_name);
                let source = group.sources.as_ref().map(|s| &s[i]);
                match entry {
                    Some(e) if e.store.is_some() && e.source.is_some() && e.source.as_ref() == source => {
                        known.push((at.bucket, part.value));
                    }
                    _ => return Ok(false),
                }
            }
        }
    }
    for (bucket, value) in known {
        let value = &mut buckets[bucket].graph.values[value.0 as usize];
        if let Def::Const(tensor) = &mut value.def {
            tensor.data = Data::Absent(value.name.clone());
        }
    }
    Ok(true)
}
