//! Strided spaces. In: extents and, per operand, strides. Out: the same walk over fewer axes, as defines. Promise: row-major
//! order is kept; axes that run on into each other are one; there is at least one axis.

use super::call::Builder;

/// Extents, and a stride list for each operand.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Walk {
    pub dims: Vec<usize>,
    pub strides: Vec<Vec<i64>>,
}

impl Walk {
    pub fn new(dims: &[usize], strides: &[Vec<i64>]) -> Walk {
        let mut walk = Walk { dims: Vec::new(), strides: vec![Vec::new(); strides.len()] };
        for (axis, &extent) in dims.iter().enumerate() {
            if extent == 1 {
                continue;
            }
            let joins = |s: &Vec<i64>, o: usize| s.last().is_some_and(|&l| l == strides[o][axis] * extent as i64);
            if !walk.dims.is_empty() && walk.strides.iter().enumerate().all(|(o, s)| joins(s, o)) {
                let last = walk.dims.len() - 1;
                walk.dims[last] *= extent;
                for (o, s) in walk.strides.iter_mut().enumerate() {
                    s[last] = strides[o][axis];
                }
            } else {
                walk.dims.push(extent);
                for (o, s) in walk.strides.iter_mut().enumerate() {
                    s.push(strides[o][axis]);
                }
            }
        }
        walk.pad(1);
        walk
    }

    /// Leading axes of one element, up to `rank` axes.
    pub fn pad(&mut self, rank: usize) {
        while self.dims.len() < rank {
            self.dims.insert(0, 1);
            self.strides.iter_mut().for_each(|s| s.insert(0, 0));
        }
    }

    /// Adds RANK, DIMS and one list of strides per name.
    pub fn define(&self, b: Builder, names: &[&'static str]) -> Builder {
        let b = b.define("RANK", self.dims.len()).define("DIMS", unsigned(&self.dims));
        names.iter().zip(&self.strides).fold(b, |b, (name, strides)| b.define(name, signed(strides)))
    }
}

/// Row-major strides.
pub(super) fn strides(shape: &[usize]) -> Vec<i64> {
    let mut out = vec![1; shape.len()];
    for i in (1..shape.len()).rev() {
        out[i - 1] = out[i] * shape[i] as i64;
    }
    out
}

/// Strides of an array of shape `from` as it broadcasts to `to`.
pub(super) fn broadcast(from: &[usize], to: &[usize]) -> Vec<i64> {
    let mut out = vec![0; to.len() - from.len()];
    out.extend(strides(from).iter().zip(from).map(|(&s, &d)| if d == 1 { 0 } else { s }));
    out
}

pub(super) fn unsigned(list: &[usize]) -> String {
    list.iter().map(|n| format!("{n}u")).collect::<Vec<_>>().join(",")
}

pub(super) fn signed(list: &[i64]) -> String {
    list.iter().map(i64::to_string).collect::<Vec<_>>().join(",")
}

/// A shape as part of a name: `2x3x4`, `1` for a scalar.
pub(super) fn name(shape: &[usize]) -> String {
    match shape {
        [] => "1".into(),
        _ => shape.iter().map(usize::to_string).collect::<Vec<_>>().join("x"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contiguous_operands_walk_one_axis() {
        let shape = [2, 3, 4];
        let walk = Walk::new(&shape, &[strides(&shape), strides(&shape)]);
        assert_eq!(walk, Walk { dims: vec![24], strides: vec![vec![1], vec![1]] });
    }

    #[test]
    fn a_broadcast_row_keeps_two_axes() {
        let to = [2, 3, 4];
        let walk = Walk::new(&to, &[strides(&to), broadcast(&[4], &to)]);
        assert_eq!(walk, Walk { dims: vec![6, 4], strides: vec![vec![4, 1], vec![0, 1]] });
    }

    #[test]
    fn a_scalar_has_one_axis_of_one() {
        assert_eq!(Walk::new(&[], &[vec![]]), Walk { dims: vec![1], strides: vec![vec![0]] });
    }
}
