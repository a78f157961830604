//! Output types. In: an operator and its input types. Out: a type per output. Promise: exact, or an error that says why.

mod elementwise;
mod fused;
mod movement;
mod product;
mod reduce;
#[cfg(test)]
mod tests;

use super::operands::arity;
use super::{DType, Op, Ty};
use crate::error::{Error, Result};

/// The output types of `op` on these inputs (None: an absent optional input).
pub fn infer(op: &Op, inputs: &[Option<&Ty>]) -> Result<Vec<Ty>> {
    let args = Args { op, types: inputs };
    args.check_arity()?;
    let out = match op {
        Op::Unary(_) | Op::Binary(_) | Op::Where | Op::Clip | Op::Cast { .. } => elementwise::infer(&args),
        Op::LeakyRelu { .. } | Op::Elu { .. } | Op::Celu { .. } | Op::Selu { .. } => elementwise::infer(&args),
        Op::Swish { .. } | Op::HardSigmoid { .. } | Op::ThresholdedRelu { .. } => elementwise::infer(&args),
        Op::MatMul | Op::Gemm { .. } | Op::Conv { .. } | Op::MaxPool { .. } | Op::AveragePool { .. } => {
            product::infer(&args)
        }
        Op::Softmax { .. } | Op::LogSoftmax { .. } | Op::Reduce { .. } | Op::ArgMax { .. } => reduce::infer(&args),
        Op::ArgMin { .. } | Op::TopK { .. } | Op::CumSum { .. } => reduce::infer(&args),
        Op::Gather { .. } | Op::GatherElements { .. } | Op::GatherNd { .. } => movement::infer(&args),
        Op::ScatterElements { .. } | Op::ScatterNd { .. } | Op::OneHot { .. } => movement::infer(&args),
        Op::Concat { .. } | Op::Slice { .. } | Op::Split { .. } | Op::Transpose { .. } => movement::infer(&args),
        Op::Reshape { .. } | Op::Expand { .. } | Op::Tile { .. } => movement::infer(&args),
        Op::Pad { .. } | Op::Trilu { .. } => movement::infer(&args),
        Op::LayerNorm { .. } | Op::RmsNorm { .. } | Op::Linear { .. } | Op::GatedLinear { .. } => fused::infer(&args),
        Op::Rope { .. } | Op::Attention { .. } | Op::RowAttention { .. } | Op::KvWrite => fused::infer(&args),
        Op::CachedAttention { .. } | Op::Qkv { .. } | Op::Splice { .. } | Op::LastRow => fused::infer(&args),
    }?;
    for ty in &out {
        args.check_size(ty)?;
    }
    Ok(out)
}

/// The shape that several shapes broadcast to (numpy's rule), if they do.
pub fn broadcast<'a>(shapes: impl IntoIterator<Item = &'a [usize]>) -> Option<Vec<usize>> {
    let mut out: Vec<usize> = Vec::new();
    for shape in shapes {
        if shape.len() > out.len() {
            out.splice(0..0, std::iter::repeat_n(1, shape.len() - out.len()));
        }
        let lead = out.len() - shape.len();
        for (o, &d) in out[lead..].iter_mut().zip(shape) {
            match (*o, d) {
                (a, b) if a == b => {}
                (1, b) => *o = b,
                (_, 1) => {}
                _ => return None,
            }
        }
    }
    Some(out)
}

/// The inputs of one operator, and its errors.
struct Args<'a> {
    op: &'a Op,
    types: &'a [Option<&'a Ty>],
}

impl<'a> Args<'a> {
    fn err(&self, what: impl std::fmt::Display) -> Error {
        Error::new("infer", format!("{}: {what}", self.op.name()))
    }

    fn check_arity(&self) -> Result<()> {
        let (least, most) = arity(self.op);
        let given = self.types.len();
        if given < least || given > most {
            let wanted = if least == most { format!("{least}") } else { format!("{least} to {most}") };
            return Err(self.err(format!("takes {wanted} inputs, has {given}")));
        }
        match self.types[..least].iter().position(Option::is_none) {
            Some(i) => Err(self.err(format!("input {i} is required"))),
            None => Ok(()),
        }
    }

    /// Sizes are kept where products of extents and byte counts cannot overflow.
    fn check_size(&self, ty: &Ty) -> Result<()> {
        let count = ty.shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d));
        match count {
            Some(n) if n <= isize::MAX as usize / 8 => Ok(()),
            _ => Err(self.err(format!("an output of shape {:?} is too large", ty.shape))),
        }
    }

    fn get(&self, i: usize) -> Result<&'a Ty> {
        self.opt(i).ok_or_else(|| self.err(format!("input {i} is required")))
    }

    fn opt(&self, i: usize) -> Option<&'a Ty> {
        self.types.get(i).copied().flatten()
    }

    /// Says so unless `ok`.
    fn must(&self, ok: bool, what: impl FnOnce() -> String) -> Result<()> {
        if ok { Ok(()) } else { Err(self.err(what())) }
    }

    fn float(&self, i: usize) -> Result<&'a Ty> {
        let ty = self.get(i)?;
        self.must(ty.dtype.is_float(), || format!("input {i} must be floating point, is {}", ty.dtype))?;
        Ok(ty)
    }

    fn number(&self, i: usize) -> Result<&'a Ty> {
        let ty = self.get(i)?;
        self.must(ty.dtype != DType::Bool, || format!("input {i} must be numeric, is bool"))?;
        Ok(ty)
    }

    fn integer(&self, i: usize) -> Result<&'a Ty> {
        let ty = self.get(i)?;
        self.must(ty.dtype.is_int(), || format!("input {i} must be an integer, is {}", ty.dtype))?;
        Ok(ty)
    }

    fn same_dtype(&self, i: usize, j: usize) -> Result<()> {
        let (a, b) = (self.get(i)?.dtype, self.get(j)?.dtype);
        self.must(a == b, || format!("inputs {i} and {j} differ in type: {a} and {b}"))
    }

    fn axis(&self, axis: usize, ty: &Ty) -> Result<usize> {
        let rank = ty.shape.len();
        self.must(axis < rank, || format!("axis {axis} is past rank {rank}"))?;
        Ok(axis)
    }

    fn rank(&self, i: usize, rank: usize) -> Result<&'a Ty> {
        let ty = self.get(i)?;
        self.must(ty.shape.len() == rank, || format!("input {i} must have rank {rank}, has shape {:?}", ty.shape))?;
        Ok(ty)
    }

    fn broadcast(&self, shapes: &[&'a Ty]) -> Result<Vec<usize>> {
        broadcast(shapes.iter().map(|t| t.shape.as_slice())).ok_or_else(|| {
            let list: Vec<String> = shapes.iter().map(|t| format!("{:?}", t.shape)).collect();
            self.err(format!("shapes {} do not broadcast", list.join(" and ")))
        })
    }
}

fn one(dtype: DType, shape: Vec<usize>) -> Result<Vec<Ty>> {
    Ok(vec![Ty { dtype, shape }])
}
