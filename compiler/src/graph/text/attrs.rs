//! Attributes as words. In: an operator. Out: `key=value` pairs, and back. Promise: defaults are left out and come back.

use crate::error::{Error, Result};
use crate::graph::{BinaryOp, DType, Heads, Mask, Norm, Op, PadMode, ReduceOp, Rotary, ScatterOp, UnaryOp, Window};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;

/// Pairs in print order. A flag has an empty value.
pub struct Pairs(pub Vec<(&'static str, String)>);

impl Pairs {
    fn put(mut self, key: &'static str, value: impl Display) -> Pairs {
        self.0.push((key, value.to_string()));
        self
    }

    fn num(self, key: &'static str, value: f32) -> Pairs {
        self.put(key, format!("{value:?}"))
    }

    fn list<T: Display>(self, key: &'static str, values: &[T]) -> Pairs {
        self.put(key, list(values))
    }

    fn flag(self, key: &'static str, set: bool) -> Pairs {
        if set { self.put(key, "") } else { self }
    }

    fn unless(self, default: bool, key: &'static str, value: impl Display) -> Pairs {
        if default { self } else { self.put(key, value) }
    }

    fn window(self, w: &Window) -> Pairs {
        let ones = |v: &[usize]| v.iter().all(|&x| x == 1);
        self.list("kernel", &w.kernel)
            .unless(ones(&w.strides), "strides", list(&w.strides))
            .unless(ones(&w.dilations), "dilations", list(&w.dilations))
            .unless(w.pads.iter().all(|&p| p == 0), "pads", list(&w.pads))
    }

    fn norm(self, norm: Option<Norm>) -> Pairs {
        match norm {
            None => self,
            Some(Norm::Rms { eps }) => self.put("norm", format!("rms({eps:?})")),
            Some(Norm::Layer { eps }) => self.put("norm", format!("layer({eps:?})")),
        }
    }

    fn rope(self, form: Option<Rotary>) -> Pairs {
        match form {
            None => self,
            Some(r) if r.interleaved => self.put("rope", format!("interleaved({})", r.rotary)),
            Some(r) => self.put("rope", r.rotary),
        }
    }

    fn heads(self, h: Heads) -> Pairs {
        self.put("heads", format!("{}/{}x{}", h.q, h.kv, h.dim))
    }

    fn mask(self, mask: Mask) -> Pairs {
        self.put(
            "mask",
            match mask {
                Mask::Full => "full".into(),
                Mask::Causal => "causal".into(),
                Mask::Given => "given".into(),
                Mask::Window(n) => format!("window({n})"),
            },
        )
    }
}

fn list<T: Display>(values: &[T]) -> String {
    format!("[{}]", values.iter().map(T::to_string).collect::<Vec<_>>().join(","))
}

/// The attributes of an operator.
pub fn pairs(op: &Op) -> Pairs {
    let p = Pairs(Vec::new());
    match op {
        Op::LeakyRelu { alpha } | Op::Elu { alpha } | Op::Celu { alpha } | Op::Swish { alpha } => {
            p.num("alpha", *alpha)
        }
        Op::ThresholdedRelu { alpha } => p.num("alpha", *alpha),
        Op::Selu { alpha, gamma } => p.num("alpha", *alpha).num("gamma", *gamma),
        Op::HardSigmoid { alpha, beta } => p.num("alpha", *alpha).num("beta", *beta),
        Op::Cast { to } => p.put("to", to),
        Op::Gemm { alpha, beta, trans_a, trans_b } => p
            .unless(*alpha == 1.0, "alpha", format!("{alpha:?}"))
            .unless(*beta == 1.0, "beta", format!("{beta:?}"))
            .flag("trans_a", *trans_a)
            .flag("trans_b", *trans_b),
        Op::Conv { window, group } => p.window(window).unless(*group == 1, "group", group),
        Op::MaxPool { window, ceil } => p.window(window).flag("ceil", *ceil),
        Op::AveragePool { window, ceil, count_pad } => {
            p.window(window).flag("ceil", *ceil).flag("count_pad", *count_pad)
        }
        Op::Softmax { axis } | Op::LogSoftmax { axis } | Op::Gather { axis } => p.put("axis", axis),
        Op::GatherElements { axis } | Op::Concat { axis } => p.put("axis", axis),
        Op::Reduce { kind, axes, keep } => p.put("kind", kind.name()).list("axes", axes).flag("keep", *keep),
        Op::ArgMax { axis, keep, last } | Op::ArgMin { axis, keep, last } => {
            p.put("axis", axis).flag("keep", *keep).flag("last", *last)
        }
        Op::TopK { k, axis, largest, sorted } => {
            p.put("k", k).put("axis", axis).flag("largest", *largest).flag("sorted", *sorted)
        }
        Op::CumSum { axis, exclusive, reverse } => {
            p.put("axis", axis).flag("exclusive", *exclusive).flag("reverse", *reverse)
        }
        Op::GatherNd { batch } => p.unless(*batch == 0, "batch", batch),
        Op::ScatterElements { axis, op } => p.put("axis", axis).unless(*op == ScatterOp::Set, "op", op.name()),
        Op::ScatterNd { op } => p.unless(*op == ScatterOp::Set, "op", op.name()),
        Op::Slice { begin, step, len } => {
            p.list("begin", begin).unless(step.iter().all(|&s| s == 1), "step", list(step)).list("len", len)
        }
        Op::Split { axis, sizes } => p.put("axis", axis).list("sizes", sizes),
        Op::Transpose { perm } => p.list("perm", perm),
        Op::Reshape { shape } | Op::Expand { shape } => p.list("shape", shape),
        Op::Tile { repeats } => p.list("repeats", repeats),
        Op::Pad { mode, pads } => p.unless(*mode == PadMode::Constant, "mode", mode.name()).list("pads", pads),
        Op::Trilu { upper, k } => p.flag("upper", *upper).unless(*k == 0, "k", k),
        Op::OneHot { axis, depth } => p.put("axis", axis).put("depth", depth),
        Op::LayerNorm { axis, eps } | Op::RmsNorm { axis, eps } => p.put("axis", axis).num("eps", *eps),
        op => made_by_passes(op, p),
    }
}

fn made_by_passes(op: &Op, p: Pairs) -> Pairs {
    match op {
        Op::Linear { norm, bias, act, residual, nk } => {
            let p = p.norm(*norm).flag("bias", *bias);
            let p = act.iter().fold(p, |p, act| p.put("act", act.name()));
            p.flag("residual", *residual).flag("nk", *nk)
        }
        Op::GatedLinear { norm, act, nk } => p.norm(*norm).put("act", act.name()).flag("nk", *nk),
        Op::Rope { form } => p.rope(Some(*form)),
        Op::Attention { heads, scale, mask, cap } | Op::CachedAttention { heads, scale, mask, cap } => {
            let p = p.heads(*heads).num("scale", *scale).mask(*mask);
            if *cap > 0.0 { p.num("cap", *cap) } else { p }
        }
        Op::RowAttention { heads, scale, mask, packed } => {
            p.heads(*heads).num("scale", *scale).mask(*mask).flag("packed", *packed)
        }
        Op::Qkv { heads, norm, bias, rope, nk } => {
            p.heads(*heads).norm(*norm).flag("bias", *bias).rope(*rope).flag("nk", *nk)
        }
        Op::Splice { vocab, lookup } => p.put("vocab", vocab).flag("lookup", *lookup),
        _ => p,
    }
}

/// Attributes as read. Each may be taken once; what is left over was not known.
pub struct Reader {
    pub op: String,
    pub pairs: BTreeMap<String, String>,
}

impl Reader {
    fn err(&self, what: impl Display) -> Error {
        Error::new("text", format!("{}: {what}", self.op))
    }

    fn flag(&mut self, key: &str) -> bool {
        self.pairs.remove(key).is_some()
    }

    fn opt<T>(&mut self, key: &str, read: impl Fn(&str) -> Option<T>) -> Result<Option<T>> {
        let Some(text) = self.pairs.remove(key) else { return Ok(None) };
        read(&text).map(Some).ok_or_else(|| self.err(format!("{key}={text} is not understood")))
    }

    fn get<T>(&mut self, key: &str, read: impl Fn(&str) -> Option<T>) -> Result<T> {
        self.opt(key, read)?.ok_or_else(|| self.err(format!("{key} is missing")))
    }

    fn int<T: FromStr>(&mut self, key: &str) -> Result<T> {
        self.get(key, |t| t.parse().ok())
    }

    fn ints<T: FromStr>(&mut self, key: &str) -> Result<Vec<T>> {
        self.get(key, read_list)
    }

    fn window(&mut self) -> Result<Window> {
        let kernel: Vec<usize> = self.ints("kernel")?;
        let n = kernel.len();
        let strides = self.opt("strides", read_list)?.unwrap_or_else(|| vec![1; n]);
        let dilations = self.opt("dilations", read_list)?.unwrap_or_else(|| vec![1; n]);
        let pads = self.opt("pads", read_list)?.unwrap_or_else(|| vec![0; 2 * n]);
        Ok(Window { kernel, strides, dilations, pads })
    }

    fn norm(&mut self) -> Result<Option<Norm>> {
        self.opt("norm", |t| {
            Some(match call(t)? {
                ("rms", eps) => Norm::Rms { eps: eps.parse().ok()? },
                ("layer", eps) => Norm::Layer { eps: eps.parse().ok()? },
                _ => return None,
            })
        })
    }

    fn rope(&mut self) -> Result<Option<Rotary>> {
        self.opt("rope", |t| match call(t) {
            Some(("interleaved", n)) => Some(Rotary { rotary: n.parse().ok()?, interleaved: true }),
            _ => Some(Rotary { rotary: t.parse().ok()?, interleaved: false }),
        })
    }

    fn heads(&mut self) -> Result<Heads> {
        self.get("heads", |t| {
            let (q, rest) = t.split_once('/')?;
            let (kv, dim) = rest.split_once('x')?;
            Some(Heads { q: q.parse().ok()?, kv: kv.parse().ok()?, dim: dim.parse().ok()? })
        })
    }

    fn mask(&mut self) -> Result<Mask> {
        self.get("mask", |t| {
            Some(match t {
                "full" => Mask::Full,
                "causal" => Mask::Causal,
                "given" => Mask::Given,
                _ => Mask::Window(call(t).filter(|(f, _)| *f == "window")?.1.parse().ok()?),
            })
        })
    }

    /// The operator, or what is wrong with its attributes.
    pub fn op(mut self) -> Result<Op> {
        let op = match self.product()? {
            Some(op) => op,
            None => match self.axes()? {
                Some(op) => op,
                None => self.rest()?,
            },
        };
        match self.pairs.keys().next() {
            Some(key) => Err(self.err(format!("has no attribute {key}"))),
            None => Ok(op),
        }
    }

    /// Products, windows and what passes make.
    fn product(&mut self) -> Result<Option<Op>> {
        Ok(Some(match self.op.as_str() {
            "Gemm" => Op::Gemm {
                alpha: self.opt("alpha", number)?.unwrap_or(1.0),
                beta: self.opt("beta", number)?.unwrap_or(1.0),
                trans_a: self.flag("trans_a"),
                trans_b: self.flag("trans_b"),
            },
            "Conv" => Op::Conv { window: self.window()?, group: self.opt("group", |t| t.parse().ok())?.unwrap_or(1) },
            "MaxPool" => Op::MaxPool { window: self.window()?, ceil: self.flag("ceil") },
            "AveragePool" => {
                Op::AveragePool { window: self.window()?, ceil: self.flag("ceil"), count_pad: self.flag("count_pad") }
            }
            "Linear" => Op::Linear {
                norm: self.norm()?,
                bias: self.flag("bias"),
                act: self.opt("act", UnaryOp::parse)?,
                residual: self.flag("residual"),
                nk: self.flag("nk"),
            },
            "GatedLinear" => {
                Op::GatedLinear { norm: self.norm()?, act: self.get("act", UnaryOp::parse)?, nk: self.flag("nk") }
            }
            "Rope" => Op::Rope { form: self.rope()?.ok_or_else(|| self.err("rope is missing"))? },
            "Attention" => {
                let (heads, scale, mask) = (self.heads()?, self.get("scale", number)?, self.mask()?);
                Op::Attention { heads, scale, mask, cap: self.opt("cap", number)?.unwrap_or(0.0) }
            }
            "RowAttention" => Op::RowAttention {
                heads: self.heads()?,
                scale: self.get("scale", number)?,
                mask: self.mask()?,
                packed: self.flag("packed"),
            },
            "CachedAttention" => {
                let (heads, scale, mask) = (self.heads()?, self.get("scale", number)?, self.mask()?);
                Op::CachedAttention { heads, scale, mask, cap: self.opt("cap", number)?.unwrap_or(0.0) }
            }
            "Qkv" => Op::Qkv {
                heads: self.heads()?,
                norm: self.norm()?,
                bias: self.flag("bias"),
                rope: self.rope()?,
                nk: self.flag("nk"),
            },
            _ => return Ok(None),
        }))
    }

    /// Operators along axes.
    fn axes(&mut self) -> Result<Option<Op>> {
        let scatter = |r: &mut Reader| Ok::<_, Error>(r.opt("op", ScatterOp::parse)?.unwrap_or(ScatterOp::Set));
        Ok(Some(match self.op.as_str() {
            "Softmax" => Op::Softmax { axis: self.int("axis")? },
            "LogSoftmax" => Op::LogSoftmax { axis: self.int("axis")? },
            "Reduce" => Op::Reduce {
                kind: self.get("kind", ReduceOp::parse)?,
                axes: self.ints("axes")?,
                keep: self.flag("keep"),
            },
            "ArgMax" => Op::ArgMax { axis: self.int("axis")?, keep: self.flag("keep"), last: self.flag("last") },
            "ArgMin" => Op::ArgMin { axis: self.int("axis")?, keep: self.flag("keep"), last: self.flag("last") },
            "TopK" => Op::TopK {
                k: self.int("k")?,
                axis: self.int("axis")?,
                largest: self.flag("largest"),
                sorted: self.flag("sorted"),
            },
            "CumSum" => {
                Op::CumSum { axis: self.int("axis")?, exclusive: self.flag("exclusive"), reverse: self.flag("reverse") }
            }
            "Gather" => Op::Gather { axis: self.int("axis")? },
            "GatherElements" => Op::GatherElements { axis: self.int("axis")? },
            "GatherNd" => Op::GatherNd { batch: self.opt("batch", |t| t.parse().ok())?.unwrap_or(0) },
            "ScatterElements" => Op::ScatterElements { axis: self.int("axis")?, op: scatter(self)? },
            "ScatterNd" => Op::ScatterNd { op: scatter(self)? },
            "Concat" => Op::Concat { axis: self.int("axis")? },
            "Split" => Op::Split { axis: self.int("axis")?, sizes: self.ints("sizes")? },
            "OneHot" => Op::OneHot { axis: self.int("axis")?, depth: self.int("depth")? },
            "LayerNorm" => Op::LayerNorm { axis: self.int("axis")?, eps: self.get("eps", number)? },
            "RmsNorm" => Op::RmsNorm { axis: self.int("axis")?, eps: self.get("eps", number)? },
            _ => return Ok(None),
        }))
    }

    /// Elementwise operators and movement.
    fn rest(&mut self) -> Result<Op> {
        let name = self.op.clone();
        Ok(match name.as_str() {
            "LeakyRelu" => Op::LeakyRelu { alpha: self.get("alpha", number)? },
            "Elu" => Op::Elu { alpha: self.get("alpha", number)? },
            "Celu" => Op::Celu { alpha: self.get("alpha", number)? },
            "Swish" => Op::Swish { alpha: self.get("alpha", number)? },
            "ThresholdedRelu" => Op::ThresholdedRelu { alpha: self.get("alpha", number)? },
            "Selu" => Op::Selu { alpha: self.get("alpha", number)?, gamma: self.get("gamma", number)? },
            "HardSigmoid" => Op::HardSigmoid { alpha: self.get("alpha", number)?, beta: self.get("beta", number)? },
            "Where" => Op::Where,
            "Clip" => Op::Clip,
            "Cast" => Op::Cast { to: self.get("to", DType::parse)? },
            "MatMul" => Op::MatMul,
            "KvWrite" => Op::KvWrite,
            "LastRow" => Op::LastRow,
            "Splice" => Op::Splice { vocab: self.int("vocab")?, lookup: self.flag("lookup") },
            "Slice" => {
                let begin: Vec<i64> = self.ints("begin")?;
                let step = self.opt("step", read_list)?.unwrap_or_else(|| vec![1; begin.len()]);
                Op::Slice { begin, step, len: self.ints("len")? }
            }
            "Transpose" => Op::Transpose { perm: self.ints("perm")? },
            "Reshape" => Op::Reshape { shape: self.ints("shape")? },
            "Expand" => Op::Expand { shape: self.ints("shape")? },
            "Tile" => Op::Tile { repeats: self.ints("repeats")? },
            "Pad" => Op::Pad {
                mode: self.opt("mode", PadMode::parse)?.unwrap_or(PadMode::Constant),
                pads: self.ints("pads")?,
            },
            "Trilu" => Op::Trilu { upper: self.flag("upper"), k: self.opt("k", |t| t.parse().ok())?.unwrap_or(0) },
            name => match (UnaryOp::parse(name), BinaryOp::parse(name)) {
                (Some(f), _) => Op::Unary(f),
                (_, Some(f)) => Op::Binary(f),
                _ => return Err(self.err("is no operator")),
            },
        })
    }
}

fn number(text: &str) -> Option<f32> {
    text.parse().ok()
}

fn read_list<T: FromStr>(text: &str) -> Option<Vec<T>> {
    let inner = text.strip_prefix('[')?.strip_suffix(']')?;
    if inner.is_empty() {
        return Some(Vec::new());
    }
    inner.split(',').map(|t| t.parse().ok()).collect()
}

/// `name(argument)`, apart.
pub fn call(text: &str) -> Option<(&str, &str)> {
    text.strip_suffix(')')?.split_once('(')
}
