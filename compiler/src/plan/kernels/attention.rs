//! Attention over given keys. In: `Attention`, `RowAttention`. Out: one call each. Promise: heads are read and written where they lie,
//! apart or side by side in rows.

use super::call::{Builder, Cx, float, groups};
use super::decoder::{attention_threads, cap_name, capped};
use super::handed;
use super::walk::{broadcast, name};
use crate::error::Result;
use crate::graph::{Heads, Mask, Op};
use crate::plan::{Call, Operand, Precision};
use onnxcast_runtime::matrix::{MAX_SHARED_BYTES, MAX_THREADS};

/// Query rows that the plain form takes at once.
pub(super) const QUERY_ROWS: usize = 4;

/// Workgroups that fill a large device.
const ENOUGH_GROUPS: usize = 120;

/// How the matrix form shares work: subgroups by rows, 16 each, and by tiles of keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Parts {
    m: usize,
    k: usize,
}

impl Parts {
    /// For `m` query rows in each of `heads` heads of `dim` channels; None where the plain form serves.
    pub fn new(m: usize, dim: usize, heads: usize) -> Option<Parts> {
        if m < 16 || !dim.is_multiple_of(8) || dim > 128 {
            return None;
        }
        let all = [(4, 2), (2, 3), (2, 2), (1, 4), (1, 2), (1, 1)].map(|(m, k)| Parts { m, k });
        let fit = || all.into_iter().filter(|p| p.shared_bytes(dim) <= MAX_SHARED_BYTES as usize);
        // More rows read keys fewer times, more workgroups fill the device.
        let enough = |p: &Parts| heads * m.div_ceil(p.rows()) >= ENOUGH_GROUPS;
        fit().find(enough).or_else(|| fit().max_by_key(|p| (heads * m.div_ceil(p.rows()), p.k)))
    }

    /// Query rows of a workgroup.
    pub fn rows(self) -> usize {
        16 * self.m
    }

    /// What lib/attention_matrix.glsl takes: tiles of 32 keys and values, a subgroup's own memory, two floats a row.
    fn shared_bytes(self, dim: usize) -> usize {
        let row = 2 * dim.div_ceil(16) + 1;
        let subgroups = self.m * self.k;
        debug_assert!(32 * subgroups <= MAX_THREADS as usize);
        16 * (2 * self.k * 32 * row + subgroups * 160) + subgroups * 16 * 8
    }

    /// Adds the matrix form.
    pub fn define(self, b: Builder) -> Builder {
        b.matrix("MATRIX", 1).matrix("PARTS_M", self.m).matrix("PARTS_K", self.k)
    }
}

/// Where element 0 of a head's row stands: strides over batches, heads and rows, and the first of all.
#[derive(Clone, Copy)]
struct Lie {
    batch: usize,
    head: usize,
    row: usize,
    at: usize,
}

impl Lie {
    /// Heads one after the other, each of `rows` rows.
    fn apart(heads: usize, rows: usize, dim: usize) -> Lie {
        Lie { batch: heads * rows * dim, head: rows * dim, row: dim, at: 0 }
    }

    /// Rows of `width` that hold their heads side by side from `at` on.
    fn beside(rows: usize, width: usize, dim: usize, at: usize) -> Lie {
        Lie { batch: rows * width, head: dim, row: width, at }
    }
}

/// Extents, and how q, k, v and y lie.
struct Shape {
    batch: usize,
    m: usize,
    t: usize,
    heads: Heads,
    lies: [Lie; 4],
    /// Index of the inputs that hold q, k and v.
    inputs: [usize; 3],
    /// Index of a mask.
    mask: usize,
}

impl Shape {
    fn of(cx: &Cx) -> Result<Shape> {
        let x = cx.shape(0)?;
        Ok(match cx.node.op {
            Op::Attention { heads, .. } => {
                let (batch, m, t) = (x[0], x[2], cx.shape(1)?[2]);
                let (q, k) = (Lie::apart(heads.q, m, heads.dim), Lie::apart(heads.kv, t, heads.dim));
                Shape { batch, m, t, heads, lies: [q, k, k, q], inputs: [0, 1, 2], mask: 3 }
            }
            Op::RowAttention { heads, packed, .. } => {
                let Heads { q, kv, dim } = heads;
                let (batch, m) = (x[0], x[1]);
                let t = if packed { m } else { cx.shape(1)?[1] };
                let y = Lie::beside(m, q * dim, dim, 0);
                let k = Lie::beside(t, kv * dim, dim, 0);
                let part = |at: usize| Lie::beside(m, (q + 2 * kv) * dim, dim, at * dim);
                let lies = if packed { [part(0), part(q), part(q + kv), y] } else { [y, k, k, y] };
                let inputs = if packed { [0; 3] } else { [0, 1, 2] };
                Shape { batch, m, t, heads, lies, inputs, mask: if packed { 1 } else { 3 } }
            }
            _ => return Err(cx.refuse("is no attention")),
        })
    }
}

/// Adds what lib/attention.glsl wants to know of the mask.
fn sight(cx: &Cx, b: Builder, s: &Shape, mask: Mask) -> Result<(Builder, String)> {
    let given = mask == Mask::Given;
    let mask_shape = if given { cx.shape(s.mask)? } else { &[] };
    let steps = broadcast(mask_shape, &[s.batch, s.heads.q, s.m, s.t]);
    let (causal, window, kind) = match mask {
        Mask::Full => (false, 0, "full".to_string()),
        Mask::Causal => (true, 0, "causal".to_string()),
        Mask::Window(n) => (true, n, format!("w{n}")),
        Mask::Given => (false, 0, format!("mask{}", name(mask_shape))),
    };
    let b = b
        .flag("CAUSAL", causal)
        .define("WINDOW", window)
        .flag("MASKED", given)
        .define("MASK_BATCH", steps[0])
        .define("MASK_HEAD", steps[1])
        .define("MASK_ROW", steps[2])
        .define("MASK_KEY", steps[3]);
    Ok((b, kind))
}

/// How the matrix form of attention over given keys shares work; none where there is no such form.
fn parts(cx: &Cx, s: &Shape) -> Option<Parts> {
    let aligned = s.lies.iter().all(|l| [l.batch, l.head, l.row, l.at].iter().all(|n| n.is_multiple_of(8)));
    let halves = cx.storage.precision != Precision::Fp32 && aligned;
    if halves { Parts::new(s.m, s.heads.dim, s.batch * s.heads.q) } else { None }
}

/// Rows and columns that the matrix form writes, where heads stand side by side in them.
pub(super) fn matrix_rows(cx: &Cx) -> Result<Option<(usize, usize)>> {
    let s = Shape::of(cx)?;
    let [.., y] = s.lies;
    let beside = y.row == s.heads.q * s.heads.dim && y.head == s.heads.dim && y.at == 0;
    Ok(parts(cx, &s).filter(|_| beside).map(|_| (s.batch * s.m, y.row)))
}

/// Attention over keys that the graph gives.
pub(super) fn given(cx: &Cx) -> Result<Vec<Call>> {
    let (scale, mask, cap) = match cx.node.op {
        Op::Attention { scale, mask, cap, .. } => (scale, mask, cap),
        Op::RowAttention { scale, mask, .. } => (scale, mask, 0.0),
        _ => return Err(cx.refuse("is no attention")),
    };
    let s = Shape::of(cx)?;
    if s.t == 0 {
        return Err(cx.refuse("there are no keys"));
    }
    let Heads { q, kv, dim } = s.heads;
    let b = Builder::new("attention.comp", "")
        .define("BATCH", s.batch)
        .define("M", s.m)
        .define("T", s.t)
        .define("HQ", q)
        .define("HKV", kv)
        .define("D", dim)
        .define("SCALE", float(scale));
    let b = capped(b, cap);
    let (mut b, kind) = sight(cx, b, &s, mask)?;
    for (lie, names) in s.lies.iter().zip(LIES) {
        for (name, n) in names.into_iter().zip([lie.batch, lie.head, lie.row, lie.at]) {
            b = b.define(name, n);
        }
    }
    let form = match cx.node.op {
        Op::RowAttention { packed: true, .. } => "_packed",
        Op::RowAttention { .. } => "_rows",
        _ => "",
    };
    let label = format!("attention_f32_b{}_m{}_t{}_h{q}_{kv}_d{dim}{form}_{kind}{}", s.batch, s.m, s.t, cap_name(cap));
    let parts = parts(cx, &s);
    let group_rows = parts.map_or(QUERY_ROWS, |p| p.rows());
    b = b.named(label).define("QUERY_ROWS", QUERY_ROWS).define("GROUP_ROWS", group_rows);
    b = b.define("LOCAL", attention_threads(cx, dim)?);
    if let Some(parts) = parts {
        b = parts.define(b);
    }
    for i in s.inputs {
        b = b.read(cx.read(i)?);
    }
    b = b.write(Operand::Value(cx.node.out()));
    if mask == Mask::Given {
        b = b.read(cx.read(s.mask)?);
    }
    if let Some(on) = handed::on(cx)? {
        b = on.straight(b);
    }
    Ok(vec![b.build(cx, groups(s.batch * q * s.m.div_ceil(group_rows), 1))?])
}

/// Defines of what a `Lie` says, for q, k, v and y.
const LIES: [[&str; 4]; 4] = [
    ["Q_BATCH", "Q_HEAD", "Q_ROW", "Q_AT"],
    ["K_BATCH", "K_HEAD", "KV_ROW", "K_AT"],
    ["V_BATCH", "V_HEAD", "V_ROW", "V_AT"],
    ["Y_BATCH", "Y_HEAD", "Y_ROW", "Y_AT"],
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_and_pictures_fill_a_large_device() {
        let parts = |m, dim, heads| Parts::new(m, dim, heads).map(|p| (p.m, p.k));
        assert_eq!(parts(729, 72, 16), Some((4, 2)));
        assert_eq!(parts(256, 64, 14), Some((1, 4)));
        assert_eq!(parts(128, 64, 32), Some((2, 3)));
        assert_eq!(parts(256, 128, 40), Some((2, 2)));
        assert_eq!(parts(16, 64, 1), Some((1, 4)), "few rows: many parts of their keys");
    }

    #[test]
    fn few_rows_and_odd_heads_take_the_plain_form() {
        assert_eq!(Parts::new(15, 64, 64), None);
        assert_eq!(Parts::new(64, 12, 64), None);
        assert_eq!(Parts::new(64, 256, 64), None);
    }
}
