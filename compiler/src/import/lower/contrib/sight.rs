//! Which keys a query of a cache sees. In: how many rows of the cache are live, how many slots there are. Out: positions of the new rows,
//! and a mask. Promise: made once for all layers of a model.

use super::{Cx, Refusal};
use crate::graph::{BinaryOp, DType, Tensor, ValueId};

/// A cache of `past` slots, `rows` new rows behind it or, where `inside`, among them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Cache {
    /// Index of the last live row, new ones included, int32 [b].
    pub last: ValueId,
    pub past: usize,
    pub rows: usize,
    pub inside: bool,
    /// Keys that a query sees, itself included.
    pub window: Option<usize>,
}

fn counted(cx: &mut Cx, n: usize, shape: &[usize]) -> ValueId {
    let values: Vec<i64> = (0..n as i64).collect();
    cx.tensor("count", Tensor::i64(shape, &values))
}

impl Cache {
    /// Slots that attention runs over.
    pub fn slots(&self) -> usize {
        self.past + if self.inside { 0 } else { self.rows }
    }

    /// How many rows were live before, int64 [b, 1].
    pub fn before(&self, cx: &mut Cx) -> Result<ValueId, Refusal> {
        let b = cx.shape(self.last).iter().product::<usize>();
        if self.past == 0 {
            let zeros = Tensor::i64(&[b, 1], &vec![0; b]);
            return cx.once(format!("no rows {b}"), |cx| Ok(cx.tensor("before", zeros)));
        }
        cx.once(format!("rows before {:?} {}", self.last, self.rows), |cx| {
            let last = cx.cast(self.last, DType::I64, "last")?;
            let last = cx.reshape(last, &[b, 1], "last")?;
            cx.with_scalar(BinaryOp::Sub, last, self.rows as f64 - 1.0, "before")
        })
    }

    /// Positions of the new rows, int64 [b, rows].
    pub fn positions(&self, cx: &mut Cx) -> Result<ValueId, Refusal> {
        let before = self.before(cx)?;
        cx.once(format!("positions {before:?} {}", self.rows), |cx| {
            let count = counted(cx, self.rows, &[1, self.rows]);
            cx.binary(BinaryOp::Add, before, count, "positions")
        })
    }

    /// For a buffer of one batch: which slots take a new row, bool [past, 1], and which, int64 [past].
    pub fn places(&self, cx: &mut Cx) -> Result<(ValueId, ValueId), Refusal> {
        let before = self.before(cx)?;
        let key = format!("{before:?} {} {}", self.rows, self.past);
        let row = cx.once(format!("row for slot {key}"), |cx| {
            let before = cx.reshape(before, &[1], "before")?;
            let slots = counted(cx, self.past, &[self.past]);
            let from = cx.binary(BinaryOp::Sub, slots, before, "from")?;
            let from = cx.with_scalar(BinaryOp::Max, from, 0.0, "from")?;
            cx.with_scalar(BinaryOp::Min, from, self.rows as f64 - 1.0, "row")
        })?;
        let takes = cx.once(format!("slot takes {key}"), |cx| {
            let before = cx.reshape(before, &[1, 1], "before")?;
            let slots = counted(cx, self.past, &[self.past, 1]);
            let end = cx.with_scalar(BinaryOp::Add, before, self.rows as f64, "end")?;
            let from = cx.binary(BinaryOp::GreaterEq, slots, before, "from")?;
            let to = cx.binary(BinaryOp::Less, slots, end, "to")?;
            cx.binary(BinaryOp::And, from, to, "takes")
        })?;
        Ok((takes, row))
    }

    /// Which of [b, 1, rows, slots] a query sees.
    pub fn seen(&self, cx: &mut Cx) -> Result<ValueId, Refusal> {
        let before = self.before(cx)?;
        let key = format!("seen {before:?} {} {} {} {:?}", self.rows, self.past, self.inside, self.window);
        cx.once(key, |cx| self.make(cx, before))
    }

    fn make(&self, cx: &mut Cx, before: ValueId) -> Result<ValueId, Refusal> {
        let b = cx.shape(before)[0];
        let before = cx.reshape(before, &[b, 1, 1, 1], "before")?;
        let slots = counted(cx, self.slots(), &[self.slots()]);
        let count = counted(cx, self.rows, &[self.rows, 1]);
        let now = cx.binary(BinaryOp::Add, before, count, "now")?;
        // New rows lie behind all slots of the cache, and stand behind its live rows.
        let mut stands = slots;
        let mut live = None;
        if !self.inside && self.past > 0 {
            let new: Vec<bool> = (0..self.slots()).map(|i| i >= self.past).collect();
            let bytes = new.iter().map(|n| u8::from(*n)).collect();
            let new = cx.tensor("new", Tensor::from_bytes(DType::Bool, vec![self.slots()], bytes));
            let from = cx.with_scalar(BinaryOp::Sub, slots, self.past as f64, "from")?;
            let behind = cx.binary(BinaryOp::Add, from, before, "behind")?;
            stands = cx.op(crate::graph::Op::Where, &[new, behind, slots], "stands")?;
            let old = cx.binary(BinaryOp::Less, slots, before, "old")?;
            live = Some(cx.binary(BinaryOp::Or, old, new, "live")?);
        }
        let mut seen = cx.binary(BinaryOp::LessEq, stands, now, "before_now")?;
        if let Some(live) = live {
            seen = cx.binary(BinaryOp::And, seen, live, "seen")?;
        }
        if let Some(window) = self.window {
            let edge = cx.with_scalar(BinaryOp::Sub, now, window as f64, "edge")?;
            let near = cx.binary(BinaryOp::Greater, stands, edge, "near")?;
            seen = cx.binary(BinaryOp::And, seen, near, "in_window")?;
        }
        Ok(seen)
    }
}
