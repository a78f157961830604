//! Rows that a product finds prepared. In: a graph, how it is stored, a value. Out: the product that takes the value, and what the node that
//! makes it leaves for it. Promise: both sides ask the same function and so agree; plain forms make and take the value itself.

use super::call::{Builder, Cx};
use super::linear::{self, Product};
use super::matrix::{Form, ROW_LOCAL};
use super::{attention, decoder};
use crate::error::Result;
use crate::graph::{Activations, Graph, Node, Norm, Op, ValueId, operands};
use crate::plan::Operand;

/// Most columns of a row that a workgroup which adds up parts of sums keeps in registers.
const MOST_COLUMNS: usize = 16384;

/// A value whose maker's matrix form leaves it as the matrix form of the product behind it multiplies it.
#[derive(Clone, Copy)]
pub(super) struct Handed<'a> {
    value: ValueId,
    /// The product that takes it.
    taker: &'a Node,
    form: Form,
    m: usize,
    pub k: usize,
    pub how: How,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum How {
    /// As one half each, clamped, in place of the value, which nobody else reads. Rows have no factors.
    Straight,
    /// Beside the value, normalised and scaled, by the call that adds up parts of sums.
    Rows(Option<Norm>),
}

/// What the node leaves for a product behind it.
pub(super) fn on<'a>(cx: &Cx<'a>) -> Result<Option<Handed<'a>>> {
    of(cx, cx.node.out())
}

/// What the node, a product, finds in place of its input 0.
pub(super) fn taken<'a>(cx: &Cx<'a>) -> Result<Option<Handed<'a>>> {
    of(cx, cx.input(0)?)
}

/// How a value comes to the one product that takes it; none where that product prepares it by a call of its own.
fn of<'a>(cx: &Cx<'a>, value: ValueId) -> Result<Option<Handed<'a>>> {
    let graph = cx.graph;
    let Some((maker, value)) = maker(graph, value) else { return Ok(None) };
    // Forms that are given from outside are meant to be alone.
    if cx.form.is_some() || maker.out() != value {
        return Ok(None);
    }
    let readers = Readers::of(graph, value);
    let mut takers = Vec::new();
    for &(node, _) in readers.nodes.iter().filter(|(_, at)| *at == 0) {
        if let Some(product) = linear::product(&Cx { node, ..*cx })?.filter(|p| p.form.is_some()) {
            takers.push((node, product));
        }
    }
    let [(taker, Product { form: Some(form), m, k, norm, .. })] = takers[..] else { return Ok(None) };
    let made = Made::of(&Cx { node: maker, ..*cx })?;
    let Some(made) = made.filter(|made| (made.m, made.k) == (m, k)) else { return Ok(None) };
    let narrow = graph.activations == Activations::F16 && form.halves == 1 && norm.is_none();
    let how = if narrow && readers.nodes.len() == 1 && !readers.outside && made.reach >= form.padded(k) {
        How::Straight
    } else if made.parts && k.is_multiple_of(4) && k <= MOST_COLUMNS {
        How::Rows(norm)
    } else {
        return Ok(None);
    };
    Ok(Some(Handed { value, taker, form, m, k, how }))
}

/// The node that makes a value, or what the value reshapes, and that node's own value.
fn maker(graph: &Graph, mut value: ValueId) -> Option<(&Node, ValueId)> {
    loop {
        let node = graph.nodes.iter().find(|n| n.outputs.contains(&value))?;
        match node.op {
            Op::Reshape { .. } => value = node.input(0)?,
            _ => return Some((node, value)),
        }
    }
}

/// Who reads a value, under whatever shape.
struct Readers<'a> {
    /// Nodes, and the index of the input.
    nodes: Vec<(&'a Node, usize)>,
    /// It is an output of the graph, or what a state holds.
    outside: bool,
}

impl<'a> Readers<'a> {
    fn of(graph: &'a Graph, value: ValueId) -> Readers<'a> {
        let mut same = vec![value];
        let mut nodes = Vec::new();
        for node in &graph.nodes {
            let reads = |i: &usize| node.input(*i).is_some_and(|v| same.contains(&v));
            let at: Vec<usize> = (0..node.inputs.len()).filter(reads).collect();
            match node.op {
                Op::Reshape { .. } if !at.is_empty() => same.push(node.out()),
                _ => nodes.extend(at.into_iter().map(|i| (node, i))),
            }
        }
        let mut ends = graph.outputs.iter().map(|o| o.value).chain(graph.states.iter().map(|s| s.output));
        Readers { nodes, outside: ends.any(|v| same.contains(&v)) }
    }
}

/// What the matrix form of a node makes.
struct Made {
    m: usize,
    k: usize,
    /// Columns that its grid can fill up with zeros.
    reach: usize,
    /// Its sums come in parts, which a call adds up.
    parts: bool,
}

impl Made {
    /// None where the node has no matrix form, or its rows are no rows of a product.
    fn of(cx: &Cx) -> Result<Option<Made>> {
        let rows = |(m, k): (usize, usize)| Made { m, k, reach: usize::MAX, parts: false };
        let width = match cx.node.op {
            Op::CachedAttention { .. } => return Ok(decoder::matrix_rows(cx)?.map(rows)),
            Op::Attention { .. } | Op::RowAttention { .. } => return Ok(attention::matrix_rows(cx)?.map(rows)),
            Op::Linear { .. } => 4,
            Op::GatedLinear { .. } => 2,
            _ => return Ok(None),
        };
        let Some(Product { form: Some(form), m, units, .. }) = linear::product(cx)? else { return Ok(None) };
        let k = cx.out_shape().last().copied().unwrap_or(1);
        let parts = form.splits > 1;
        let reach = if parts { usize::MAX } else { width * form.tile.n / 4 * form.grid(m, units)[1] as usize };
        Ok(Some(Made { m, k, reach, parts: parts && matches!(cx.node.op, Op::Linear { .. }) }))
    }
}

impl Handed<'_> {
    /// The rows in memory.
    pub fn operand(&self) -> Operand {
        Operand::Prepared(self.value, self.form.prepared_bytes(self.m, self.k, self.how != How::Straight))
    }

    /// Columns of a row, zeros included.
    pub fn padded(&self) -> usize {
        self.form.padded(self.k)
    }

    /// Adds them to a kernel that makes them straight: its last argument.
    pub fn straight(&self, b: Builder) -> Builder {
        b.suffixed("_on").define("HANDED", 1).define("HANDED_K", self.padded()).write(self.operand())
    }

    /// Adds them to a call that adds up parts of sums, as its last arguments: the rows, and what the product's norm takes.
    pub fn rows(&self, cx: &Cx, norm: Option<Norm>, b: Builder) -> Result<Builder> {
        let taker = Cx { node: self.taker, ..*cx };
        let o = match self.taker.op {
            Op::Linear { norm, bias, residual, .. } => operands::linear(norm, bias, residual),
            Op::GatedLinear { norm, .. } => operands::gated(norm),
            Op::Qkv { norm, bias, rope, .. } => operands::qkv(norm, bias, rope),
            _ => return Err(cx.refuse("what takes its rows is no product")),
        };
        let (code, eps) = linear::norm_code(norm);
        let mut b = b
            .suffixed(&format!("_on{}", linear::norm_name(norm)))
            .define("HANDED", 2)
            .define("HANDED_K", self.padded())
            .define("HANDED_ROWS", self.form.rows(self.m))
            .define("HANDED_NORM", code)
            .define("HANDED_EPS", eps)
            .redefine("LOCAL", ROW_LOCAL)
            .write(self.operand());
        for i in o.scale.iter().chain(&o.shift) {
            b = b.read(taker.vectors(&[*i])?);
        }
        Ok(b)
    }
}

#[cfg(test)]
mod tests {
    use crate::graph::parse;
    use crate::plan::kernels::{Form, select, select_in};
    use crate::plan::{Call, Operand, Precision};

    /// A layer behind its projection into the cache, and the next layer's own; widths as in a model of 0.5B.
    const LAYER: &str = "graph g
activations fp16
input %x: f32[1,256,896]
input %q: f32[1,14,256,64]
input %pos: i32[]
input %rows: i32[]
state %k: f32[1,2,1024,64] -> %k
state %v: f32[1,2,1024,64] -> %v
state %k0: f32[1,2,1024,64] -> %k1
state %v0: f32[1,2,1024,64] -> %v1
const %wo: f32[896,896] = ...
const %scale: f32[896] = ...
const %gate: f32[4864,896] = ...
const %up: f32[4864,896] = ...
const %down: f32[896,4864] = ...
const %wq: f32[896,896] = ...
const %wk: f32[128,896] = ...
%a = CachedAttention(%q, %k, %v, %pos) heads=14/2x64 scale=0.125 mask=causal
%o = Linear(%a, %wo, %x) residual nk
%h = GatedLinear(%o, %gate, %up, %scale) norm=rms(0.00001) act=Silu nk
%y = Linear(%h, %down, %o) residual nk
%q1, %k1, %v1 = Qkv(%y, %wq, %wk, %wk, %k0, %v0, %pos, %rows, %scale) heads=14/2x64 norm=rms(0.00001) nk
output %q1
";

    /// The shaders of each node with what their names end in, and their calls.
    fn calls(text: &str, precision: Precision) -> Vec<Vec<Call>> {
        let graph = parse(text).unwrap();
        graph.nodes.iter().map(|node| select(&graph, node, precision).unwrap()).collect()
    }

    /// What stands in a kernel's name behind its sizes, of each call.
    fn said(text: &str, precision: Precision) -> Vec<String> {
        let one = |call: &Call| {
            let handed = call.kernel.defines.iter().find(|(name, _)| name == "HANDED").map(|(_, how)| how.to_string());
            let straight = call.kernel.matrix.iter().any(|(name, _)| name == "UNSCALED");
            let adds = call.kernel.defines.iter().any(|(name, _)| name == "ADD_UP");
            let mut what = call.kernel.source.trim_end_matches(".comp").to_string();
            what += if adds { " adds up" } else { "" };
            what += if straight { " takes straight" } else { "" };
            what + match handed.as_deref() {
                Some("1") => " hands on straight",
                Some(_) => " hands on rows",
                None => "",
            }
        };
        calls(text, precision).iter().flatten().map(one).collect()
    }

    #[test]
    fn a_layer_in_halves_prepares_rows_where_they_are_made() {
        assert_eq!(
            said(LAYER, Precision::Fp16),
            [
                "cached_attention hands on straight",
                "linear takes straight",
                "halves",
                "gated_linear hands on straight",
                "linear takes straight",
                "linear adds up hands on rows",
                "qkv",
            ]
        );
    }

    #[test]
    fn a_layer_in_f32_or_bf16_has_factors_and_so_calls_that_find_them() {
        for activations in ["", "activations bf16\n"] {
            let kinds = said(&LAYER.replace("activations fp16\n", activations), Precision::Fp16);
            assert!(kinds.iter().all(|k| !k.contains("straight")), "{kinds:?}");
            assert_eq!(kinds.iter().filter(|k| *k == "halves").count(), 3, "{kinds:?}");
            assert!(kinds.contains(&"linear adds up hands on rows".to_string()), "{kinds:?}");
        }
    }

    #[test]
    fn a_layer_without_matrix_forms_hands_nothing_on() {
        let kinds = said(LAYER, Precision::Fp32);
        assert_eq!(kinds, ["cached_attention", "linear", "gated_linear", "linear", "qkv"]);
    }

    #[test]
    fn the_one_who_makes_rows_and_the_one_who_takes_them_name_the_same_memory() {
        let calls = calls(LAYER, Precision::Fp16);
        let of = |node: usize, writes: bool| {
            let args = calls[node].iter().flat_map(|call| {
                let args = call.args.iter().enumerate();
                args.filter(|(i, _)| (call.kernel.writes >> i & 1 == 1) == writes).map(|(_, arg)| arg.clone())
            });
            args.filter(|arg| matches!(arg, Operand::Prepared(..))).collect::<Vec<_>>()
        };
        for (maker, taker) in [(0, 1), (2, 3), (3, 4)] {
            let made = of(maker, true);
            assert_eq!(made.len(), 1);
            assert!(of(taker, false).contains(&made[0]), "{made:?}");
        }
        let Operand::Prepared(_, bytes) = of(0, true)[0] else { panic!("no rows") };
        assert_eq!(bytes, 2 * 256 * 896, "one half of each value, and no factors");
    }

    #[test]
    fn a_value_that_others_read_is_not_handed_on_in_its_place() {
        let seen = LAYER.replace("output %q1", "output %q1\noutput %h\noutput %a");
        let kinds = said(&seen, Precision::Fp16);
        assert!(kinds.iter().all(|k| !k.contains("straight")), "{kinds:?}");
        let shaped = LAYER.replace("output %q1", "%flat = Reshape(%h) shape=[256,4864]\noutput %q1\noutput %flat");
        let kinds = said(&shaped, Precision::Fp16);
        assert_eq!(kinds.iter().filter(|k| k.ends_with("hands on straight")).count(), 1, "{kinds:?}");
    }

    #[test]
    fn a_value_that_two_products_take_is_prepared_by_each() {
        let twice =
            LAYER.replace("output %q1", "%z = Linear(%y, %wo, %scale) norm=rms(0.00001) nk\noutput %q1\noutput %z");
        let kinds = said(&twice, Precision::Fp16);
        assert!(!kinds.contains(&"linear adds up hands on rows".to_string()), "{kinds:?}");
    }

    #[test]
    fn rows_may_change_their_shape_on_the_way() {
        let shaped = LAYER.replace("%o = Linear(%a,", "%b = Reshape(%a) shape=[1,256,896]\n%o = Linear(%b,");
        assert_eq!(said(&shaped, Precision::Fp16), said(LAYER, Precision::Fp16));
    }

    #[test]
    fn a_form_that_is_given_stands_alone() {
        let graph = parse(LAYER).unwrap();
        let form = Form::new(256, 224, 4864, 1);
        let calls = graph.nodes.iter().flat_map(|node| select_in(&graph, node, Precision::Fp16, form).unwrap());
        let prepared = |call: &Call| call.args.iter().any(|arg| matches!(arg, Operand::Prepared(..)));
        assert!(form.is_some() && !calls.into_iter().any(|call| prepared(&call)));
    }

    #[test]
    fn rows_are_filled_up_with_zeros_by_whoever_reaches_them() {
        let tower = "graph g
activations fp16
input %x: f32[1,729,1152]
const %scale: f32[1152] = ...
const %w1: f32[4304,1152] = ...
const %w2: f32[1152,4304] = ...
%h = Linear(%x, %w1, %scale) norm=rms(0.00001) act=GeluTanh nk
%y = Linear(%h, %w2, %x) residual nk
output %y
";
        let calls = calls(tower, Precision::Fp16);
        let define = |call: &Call, name: &str| {
            call.kernel
                .defines
                .iter()
                .chain(call.kernel.matrix.iter())
                .find(|(n, _)| n == name)
                .map(|(_, v)| v.to_string())
        };
        assert_eq!(define(&calls[0][1], "HANDED_K"), define(&calls[1][0], "K_PADDED"));
        assert_eq!(define(&calls[0][1], "HANDED_K").as_deref(), Some("4352"));
    }
}
