//! Norms of a sum. In: SkipSimplifiedLayerNormalization, SkipLayerNormalization. Out: the sum, and its norm. Promise: the sum, output 3,
//! has the type of the input.

use super::{Call, Cx, Outcome, Refusal, invalid};
use crate::graph::{BinaryOp, Op, ValueId};

/// input + skip (+ bias).
fn sum(cx: &mut Cx, call: &Call, bias: usize) -> Result<ValueId, Refusal> {
    call.refuse_output(1, "mean")?;
    call.refuse_output(2, "inverse standard deviation")?;
    let (x, skip) = (call.input(0)?, call.input(1)?);
    let whole = match call.optional(bias) {
        Some(bias) => {
            let own = cx.binary(BinaryOp::Add, skip, bias, "biased")?;
            cx.binary(BinaryOp::Add, x, own, "sum")?
        }
        None => cx.binary(BinaryOp::Add, x, skip, "sum")?,
    };
    if cx.shape(whole) != cx.shape(x) {
        return Err(invalid(format!("skip {:?} does not fit input {:?}", cx.shape(skip), cx.shape(x))));
    }
    Ok(whole)
}

fn outputs(y: ValueId, sum: ValueId) -> Vec<ValueId> {
    // Outputs 1 and 2 have been refused where somebody reads them.
    vec![y, y, y, sum]
}

pub(super) fn skip_rms(cx: &mut Cx, call: &Call) -> Outcome {
    let sum = sum(cx, call, 3)?;
    let axis = cx.rank(sum).checked_sub(1).ok_or_else(|| invalid("the input has no axis"))?;
    let y = super::super::norm::rms(cx, sum, call.input(2)?, axis, call.attrs.float_or("epsilon", 1e-5)?)?;
    Ok(outputs(y, sum))
}

pub(super) fn skip_layer(cx: &mut Cx, call: &Call) -> Outcome {
    let sum = sum(cx, call, 4)?;
    let axis = cx.rank(sum).checked_sub(1).ok_or_else(|| invalid("the input has no axis"))?;
    let eps = call.attrs.float_or("epsilon", 1e-5)?;
    let mut inputs = vec![Some(sum), Some(call.input(2)?)];
    inputs.extend(call.optional(3).map(Some));
    let y = cx.ops(Op::LayerNorm { axis, eps }, &inputs, "")?.first().copied().ok_or_else(|| invalid("no result"))?;
    Ok(outputs(y, sum))
}
