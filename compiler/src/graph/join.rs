//! Movements of movements. In: an operator and the one whose result it moves. Out: one operator that does what both do. Promise:
//! exactly the same elements in the same places.

use super::Op;

/// A reshape of a reshape is one reshape, a transpose of a transpose one transpose.
pub fn join(first: &Op, second: &Op) -> Option<Op> {
    match (first, second) {
        (Op::Reshape { .. }, Op::Reshape { shape }) => Some(Op::Reshape { shape: shape.clone() }),
        (Op::Transpose { perm: p }, Op::Transpose { perm: q }) if p.len() == q.len() => {
            let perm = q.iter().map(|axis| p.get(*axis).copied()).collect::<Option<_>>()?;
            Some(Op::Transpose { perm })
        }
        _ => None,
    }
}
