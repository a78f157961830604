//! Strided walks. In: extents and strides. Out: element offsets in row-major order. Promise: the one place that turns
//! coordinates into offsets.

/// Offsets of a strided view, last axis fastest.
#[derive(Clone)]
pub struct Offsets {
    extents: Vec<usize>,
    strides: Vec<isize>,
    index: Vec<usize>,
    next: isize,
    left: usize,
}

impl Offsets {
    /// A view that starts at offset `start`. Every offset it reaches must be non-negative.
    pub fn new(extents: &[usize], strides: &[isize], start: isize) -> Offsets {
        let mut e: Vec<usize> = Vec::new();
        let mut s: Vec<isize> = Vec::new();
        if extents.contains(&0) {
            return Offsets { extents: e, strides: s, index: Vec::new(), next: 0, left: 0 };
        }
        for (&extent, &stride) in extents.iter().zip(strides) {
            match (e.last_mut(), s.last_mut()) {
                _ if extent == 1 => {}
                // Axes that run on into each other are one.
                (Some(le), Some(ls)) if *ls == stride * extent as isize => {
                    *le *= extent;
                    *ls = stride;
                }
                _ => {
                    e.push(extent);
                    s.push(stride);
                }
            }
        }
        let index = vec![0; e.len()];
        Offsets { extents: e, strides: s, index, next: start, left: extents.iter().product() }
    }

    /// Offsets into an array of shape `from` as it broadcasts to `to`.
    pub fn broadcast(from: &[usize], to: &[usize]) -> Offsets {
        let lead = to.len() - from.len();
        let mut s = vec![0; lead];
        s.extend(strides(from).iter().zip(from).map(|(&s, &d)| if d == 1 { 0 } else { s }));
        Offsets::new(to, &s, 0)
    }
}

impl Iterator for Offsets {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        if self.left == 0 {
            return None;
        }
        self.left -= 1;
        let out = self.next;
        for axis in (0..self.index.len()).rev() {
            self.index[axis] += 1;
            self.next += self.strides[axis];
            if self.index[axis] < self.extents[axis] {
                break;
            }
            self.next -= self.strides[axis] * self.extents[axis] as isize;
            self.index[axis] = 0;
        }
        Some(out as usize)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

/// Row-major strides.
pub fn strides(shape: &[usize]) -> Vec<isize> {
    let mut out = vec![1isize; shape.len()];
    for i in (1..shape.len()).rev() {
        out[i - 1] = out[i] * shape[i] as isize;
    }
    out
}

/// One line of elements along an axis.
#[derive(Clone, Copy)]
pub struct Lane {
    pub start: usize,
    pub stride: usize,
    pub len: usize,
}

impl Lane {
    /// Offset of element `i`.
    pub fn at(self, i: usize) -> usize {
        self.start + i * self.stride
    }

    pub fn offsets(self) -> impl DoubleEndedIterator<Item = usize> + ExactSizeIterator {
        (0..self.len).map(move |i| self.at(i))
    }
}

/// All lines along `axis`, in row-major order of the other axes.
pub fn lanes(shape: &[usize], axis: usize) -> impl Iterator<Item = Lane> {
    let len = shape[axis];
    let outer: usize = shape[..axis].iter().product();
    let stride: usize = shape[axis + 1..].iter().product();
    (0..outer * stride).map(move |i| Lane { start: i / stride * stride * len + i % stride, stride, len })
}
