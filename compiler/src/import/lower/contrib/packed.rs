//! Packed weights. In: MatMulNBits, GatherBlockQuantized. Out: a linear layer, a lookup, over rows that stay quantised as the file has
//! them. Promise: no code is changed and no scale rounded; without data the graph is the same.

use super::{Call, Cx, Outcome, Refusal, invalid, unsupported};
use crate::graph::quant::{Encoded, Given, Order, Quant};
use crate::graph::{BinaryOp, DType, Op, PadMode, Tensor, ValueId};
use std::sync::Arc;

/// Rows that a layout can hold: a constant of k columns, those past the file's among them.
struct Rows {
    value: ValueId,
    k: usize,
}

/// Columns of every layout come in multiples of this.
const STEP: usize = 16;
/// Columns of a block; a longer one would be the whole of any matrix there is.
const MOST_BLOCK: usize = 1 << 20;

fn positive(call: &Call, name: &str) -> Result<usize, Refusal> {
    let n = call.attrs.int(name)?.and_then(|n| usize::try_from(n).ok()).filter(|n| (1..1 << 31).contains(n));
    n.ok_or_else(|| invalid(format!("{name} must be given and at least 1")))
}

/// Bits of a code and columns of a block.
fn format(call: &Call, default: usize) -> Result<(u8, usize), Refusal> {
    let bits = call.attrs.int_or("bits", 4)?;
    let block = usize::try_from(call.attrs.int_or("block_size", default as i64)?).unwrap_or(0);
    match bits {
        2 | 4 | 8 if (STEP..=MOST_BLOCK).contains(&block) && block.is_power_of_two() => Ok((bits as u8, block)),
        2 | 4 | 8 => {
            Err(unsupported(format!("blocks of {block} are not supported; a power of two from 16 to {MOST_BLOCK} is")))
        }
        _ => Err(unsupported(format!("codes of {bits} bits are not supported; 2, 4 and 8 are"))),
    }
}

/// The constants of a packed matrix: codes, scales, zero points.
struct Parts {
    codes: ValueId,
    scales: ValueId,
    zeros: Option<ValueId>,
}

impl Parts {
    fn tensors(&self, cx: &Cx) -> Result<(Tensor, Tensor, Option<Tensor>), Refusal> {
        let codes = cx.known(self.codes, "packed weight")?.clone();
        let scales = cx.known(self.scales, "scales")?.clone();
        let zeros = self.zeros.map(|z| cx.known(z, "zero points").cloned()).transpose()?;
        if codes.dtype != DType::U8 {
            return Err(unsupported(format!("codes of type {} are not supported; uint8 is", codes.dtype)));
        }
        for (what, t) in [("scales", Some(&scales)), ("zero points", zeros.as_ref())] {
            let float = t.is_none_or(|t| matches!(t.dtype, DType::F16 | DType::BF16 | DType::F32));
            let packed = what == "zero points" && t.is_some_and(|t| t.dtype == DType::U8);
            if !float && !packed {
                return Err(unsupported(format!("{what} of type {:?} are not supported", t.map(|t| t.dtype))));
            }
        }
        Ok((codes, scales, zeros))
    }

    /// The constant of `given`'s rows, made once for all nodes that read them.
    fn rows(&self, cx: &mut Cx, given: Given, k: usize) -> Result<Rows, Refusal> {
        // What lies past the columns of the file is multiplied with zeros.
        let padded = if given.order.is_some() { k } else { k.next_multiple_of(STEP) };
        let groups = [128u16, 64, 32, 16].into_iter().filter(|g| padded.is_multiple_of(usize::from(*g)));
        let sorted = given.order.is_some();
        let Some(group) = groups.into_iter().find(|g| given.block.is_multiple_of((*g).into()) && (!sorted || *g == 16))
        else {
            return Err(unsupported(format!("{k} columns in another order than their blocks', and no multiple of 16")));
        };
        let quant = given.quant(group);
        let key = format!(
            "packed {:?} {:?} {:?} {} {} {} {} {k} {:?}",
            self.codes,
            self.scales,
            self.zeros,
            quant.name(),
            given.bits,
            given.block,
            given.n,
            given.order
        );
        let name = format!("{}.{}", cx.graph.value(self.codes).name, quant.name());
        let value = cx.once(key, |cx| Ok(cx.rows(&name, constant(given, padded, quant)?)))?;
        Ok(Rows { value, k: padded })
    }
}

fn constant(given: Given, k: usize, quant: Quant) -> Result<Tensor, Refusal> {
    let tensors = [Some(&given.codes), Some(&given.scales), given.zeros.as_ref()];
    let absent = tensors.into_iter().flatten().find_map(|t| t.absent_name());
    let origin = given.codes.absent_name().or(absent).map(str::to_string);
    match origin {
        Some(origin) => Ok(Tensor::absent_quantised(origin, vec![given.n, k], quant)),
        None => Ok(Tensor::quantised(Arc::new(Encoded::given(given, k, quant)?), false)),
    }
}

/// Refuses a tensor that has not as many elements as it must.
fn sized(what: &str, t: &Tensor, elements: usize) -> Result<(), Refusal> {
    if t.len() == elements {
        return Ok(());
    }
    Err(invalid(format!("its {what} of shape {:?} should have {elements} elements", t.shape)))
}

/// As `sized`, for numbers of a row's blocks: flat, or a row each.
fn by_row(what: &str, t: &Tensor, n: usize, each: usize) -> Result<(), Refusal> {
    sized(what, t, n * each)?;
    match t.shape[..] {
        [a, b] if [a, b] != [n, each] && a != n * each && b != n * each => {
            Err(invalid(format!("its {what} of shape {:?} should be [{n}, {each}], or flat", t.shape)))
        }
        _ => Ok(()),
    }
}

/// A [.., K], B [N, blocks, bytes], scales, zero points, g_idx, bias: A (q - z) s + bias.
pub(super) fn product(cx: &mut Cx, call: &Call) -> Outcome {
    let (n, k) = (positive(call, "N")?, positive(call, "K")?);
    let (bits, block) = format(call, 0)?;
    if call.attrs.int_or("weight_prepacked", 0)? != 0 {
        return Err(unsupported("weights packed for one device (weight_prepacked) are not supported"));
    }
    let parts = Parts { codes: call.input(1)?, scales: call.input(2)?, zeros: call.optional(3) };
    let (codes, scales, zeros) = parts.tensors(cx)?;
    let (blocks, block_bytes) = (k.div_ceil(block), block * usize::from(bits) / 8);
    sized("packed weight", &codes, n * blocks * block_bytes)?;
    by_row("scales", &scales, n, blocks)?;
    match &zeros {
        Some(z) if z.dtype.is_float() => by_row("zero points", z, n, blocks)?,
        Some(z) => by_row("packed zero points", z, n, (blocks * usize::from(bits)).div_ceil(8))?,
        None => {}
    }
    let order = call.optional(4).map(|g| order(&cx.ints(g, "g_idx")?, k, blocks, block)).transpose()?.flatten();
    let row_bytes = blocks * block_bytes;
    let columns = order.as_ref().map(|o| o.columns.iter().map(|c| i64::from(*c)).collect::<Vec<i64>>());
    let order = order.map(Arc::new);
    let given = Given { codes, row_bytes, bits, block, blocks, scales, zeros, order, first: 0, n };
    let rows = parts.rows(cx, given, k)?;
    let mut x = call.input(0)?;
    if cx.shape(x).last() != Some(&k) {
        return Err(invalid(format!("its input of shape {:?} should have {k} columns", cx.shape(x))));
    }
    if let Some(columns) = columns {
        let index = cx.index(&columns);
        let axis = cx.rank(x) - 1;
        x = cx.op(Op::Gather { axis }, &[x, index], "ordered")?;
    }
    if rows.k > k {
        let mut pads = vec![0i64; 2 * cx.rank(x)];
        if let Some(last) = pads.last_mut() {
            *last = (rows.k - k) as i64;
        }
        x = cx.op(Op::Pad { mode: PadMode::Constant, pads }, &[x], "padded")?;
    }
    let linear = Op::Linear { norm: None, bias: false, act: None, residual: false, nk: true };
    let label = if call.optional(5).is_some() { "product" } else { "" };
    let y = cx.op(linear, &[x, rows.value], label)?;
    match call.optional(5) {
        Some(bias) => Ok(vec![cx.binary(BinaryOp::Add, y, bias, "")?]),
        None => Ok(vec![y]),
    }
}

/// The order in which columns of one block stand together, block after block; None where they do already.
fn order(of: &[i64], k: usize, blocks: usize, block: usize) -> Result<Option<Order>, Refusal> {
    // Exporters fill it up to whole blocks.
    let Some(of) = of.get(..k) else { return Err(invalid(format!("g_idx names {} of {k} columns", of.len()))) };
    if of.iter().enumerate().all(|(c, b)| *b == (c / block) as i64) {
        return Ok(None);
    }
    if of.iter().any(|b| *b < 0 || *b >= blocks as i64) {
        return Err(invalid(format!("g_idx names a block that is none of {blocks}")));
    }
    let mut columns: Vec<u32> = (0..k as u32).collect();
    columns.sort_by_key(|c| of[*c as usize]);
    let mut out = vec![];
    for sixteen in columns.chunks(STEP) {
        let one = of[sixteen[0] as usize];
        if sixteen.len() < STEP || sixteen.iter().any(|c| of[*c as usize] != one) {
            return Err(unsupported("g_idx gives a block a number of columns that is no multiple of 16"));
        }
        out.push(one as u32);
    }
    Ok(Some(Order { columns, blocks: out }))
}

/// data [V, bytes], indices, scales [V, blocks], zero points: rows of (q - z) s.
pub(super) fn lookup(cx: &mut Cx, call: &Call) -> Outcome {
    let (bits, block) = format(call, 128)?;
    let parts = Parts { codes: call.input(0)?, scales: call.input(2)?, zeros: call.optional(3) };
    let (axis, quantised) = (call.attrs.int_or("gather_axis", 0)?, call.attrs.int_or("quantize_axis", 1)?);
    if cx.is_packed(parts.codes) {
        return Err(unsupported("a table of type int4 or uint4 is not supported; uint8 is"));
    }
    let (codes, scales, zeros) = parts.tensors(cx)?;
    let &[v, row_bytes] = &codes.shape[..] else {
        return Err(unsupported(format!("a table of shape {:?} is not supported; a matrix is", codes.shape)));
    };
    if axis != 0 && axis != -2 || quantised != 1 && quantised != -1 {
        return Err(unsupported(format!(
            "gather_axis {axis} and quantize_axis {quantised} are not supported; 0 and 1 are"
        )));
    }
    let k = row_bytes * 8 / usize::from(bits);
    let blocks = k.div_ceil(block);
    sized("scales", &scales, v * blocks)?;
    match &zeros {
        Some(z) if z.dtype.is_float() => return Err(unsupported("zero points of a table must be uint8")),
        Some(z) => sized("packed zero points", z, v * (blocks * usize::from(bits)).div_ceil(8))?,
        None => {}
    }
    let dtype = scales.dtype;
    let given = Given { codes, row_bytes, bits, block, blocks, scales, zeros, order: None, first: 0, n: v };
    let rows = parts.rows(cx, given, k)?;
    let wide = cx.op(Op::Gather { axis: 0 }, &[rows.value, call.input(1)?], "rows")?;
    let exact = if rows.k > k { cx.slice(wide, cx.rank(wide) - 1, 0, k, "columns")? } else { wide };
    Ok(vec![cx.cast(exact, dtype, "")?])
}
