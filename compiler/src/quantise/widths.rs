//! Widths that no group divides. In: a graph, the columns of a group. Out: values between linear layers widened to whole groups: rows of
//! zeros for the layer before, columns of zeros for those after. Promise: outputs are sums of the same products; a width that would
//! grow by more than a small share stays.

use crate::graph::{Def, Graph, Op, Tensor, UnaryOp, ValueId, operands};

/// The smallest group.
const LEAST: usize = 32;
/// One column in so many may be added for that.
const SHARE: usize = 8;
/// One column in so many may be added for wider groups: what scales cost less must not go into zeros.
const WIDE_SHARE: usize = 32;

/// An input of a node that is a constant, and which of its axes grows.
#[derive(Clone, Copy)]
struct Part {
    node: usize,
    input: usize,
    axis: usize,
}

/// A value that grows, with the weights that make it and those that multiply it.
struct Match {
    hidden: ValueId,
    width: usize,
    parts: Vec<Part>,
}

/// Widens what groups of `group` columns do not divide: to whole ones, to those of half as many columns, or to the smallest.
pub fn widen(graph: &mut Graph, group: usize) {
    let width = |k: usize| {
        let groups = [group, group / 2, LEAST].into_iter().filter(|g| *g >= LEAST);
        let fits = |g: usize| {
            let (width, share) = (k.next_multiple_of(g), if g == LEAST { SHARE } else { WIDE_SHARE });
            ((width - k) * share <= k).then_some(width)
        };
        groups.filter_map(fits).next().filter(|width| *width != k)
    };
    let uses = graph.use_counts();
    let found: Vec<Match> = (0..graph.nodes.len()).filter_map(|i| find(graph, i, &uses, width)).collect();
    for Match { hidden, width, parts } in found {
        parts.into_iter().for_each(|part| grow(graph, part, width));
        if let Some(last) = graph.values[hidden.0 as usize].ty.shape.last_mut() {
            *last = width;
        }
    }
}

fn find(graph: &Graph, node: usize, uses: &[usize], width: impl Fn(usize) -> Option<usize>) -> Option<Match> {
    let (op, hidden) = (&graph.nodes[node].op, graph.nodes[node].out());
    let width = width(*graph.shape(hidden).last()?)?;
    let mut parts = match *op {
        Op::Linear { norm, bias, act, residual: false, nk } if act.is_none_or(keeps_zero) => {
            let bias = operands::linear(norm, bias, false).bias.map(|input| Part { node, input, axis: 0 });
            let rows = Part { node, input: 1, axis: if nk { 0 } else { 1 } };
            [rows].into_iter().chain(bias).collect::<Vec<_>>()
        }
        // Nothing times what the activation makes of nothing is nothing.
        Op::GatedLinear { nk, .. } => [1, 2].map(|input| Part { node, input, axis: if nk { 0 } else { 1 } }).to_vec(),
        _ => return None,
    };
    let reads = |i: &usize| graph.nodes[*i].inputs.contains(&Some(hidden));
    let readers: Vec<usize> = (0..graph.nodes.len()).filter(reads).collect();
    for &node in &readers {
        match graph.nodes[node].op {
            Op::Linear { norm: None, nk, .. } => parts.push(Part { node, input: 1, axis: if nk { 1 } else { 0 } }),
            _ => return None,
        }
    }
    // A second use would be as a residual, as an output or as a state.
    let multiplied = readers.iter().all(|&i| graph.nodes[i].input(0) == Some(hidden));
    let constant = |p: &Part| graph.nodes[p.node].input(p.input).is_some_and(|v| graph.constant(v).is_some());
    let sound = !readers.is_empty() && uses[hidden.0 as usize] == readers.len() && multiplied;
    (sound && parts.iter().all(constant)).then_some(Match { hidden, width, parts })
}

/// Whether an activation gives 0 for 0.
fn keeps_zero(act: UnaryOp) -> bool {
    use UnaryOp::{GeluErf, GeluTanh, HardSwish, Mish, QuickGelu, Relu, Silu, Softsign, Tanh};
    matches!(act, GeluErf | GeluTanh | HardSwish | Mish | QuickGelu | Relu | Silu | Softsign | Tanh)
}

/// Makes a constant input `width` long along its axis. One that other nodes read stays as it is for them.
fn grow(graph: &mut Graph, part: Part, width: usize) {
    let Some(v) = graph.nodes[part.node].input(part.input) else { return };
    let Some(tensor) = graph.constant(v) else { return };
    let wide = widened(tensor, part.axis, width);
    let alone = graph.use_counts()[v.0 as usize] == 1;
    if alone {
        let value = &mut graph.values[v.0 as usize];
        value.ty.shape = wide.shape.clone();
        value.def = Def::Const(wide);
        return;
    }
    let name = format!("{}.{width}", graph.value(v).name);
    let known = graph.values.iter().position(|value| value.name == name && value.ty.shape == wide.shape);
    let new = known.map_or_else(|| graph.add_const(name, wide), |i| ValueId(i as u32));
    graph.nodes[part.node].inputs[part.input] = Some(new);
}

/// `tensor` with zeros after what it has along `axis`, the first or the last of at most two.
fn widened(tensor: &Tensor, axis: usize, width: usize) -> Tensor {
    let mut shape = tensor.shape.clone();
    let before = std::mem::replace(&mut shape[axis], width);
    let (from, size) = (tensor.clone(), tensor.dtype.bytes());
    let inner: usize = shape[axis + 1..].iter().product::<usize>() * size;
    let make = move || {
        let bytes = from.bytes().unwrap_or_default();
        let mut out = Vec::with_capacity(bytes.len() / before.max(1) * width);
        for line in bytes.chunks((before * inner).max(1)) {
            out.extend_from_slice(line);
            out.resize(out.len() + (width - before) * inner, 0);
        }
        out
    };
    Tensor::later(tensor.dtype, tensor, shape, make)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::eval::{self, Array, Values};
    use crate::graph::{DType, Ty, verify};
    use std::collections::HashMap;

    fn ramp(shape: &[usize]) -> Tensor {
        let n = shape.iter().product::<usize>();
        Tensor::f32(shape, &(0..n).map(|i| ((i * 37 % 101) as f32 - 50.0) / 100.0).collect::<Vec<_>>())
    }

    fn linear(bias: bool, act: Option<UnaryOp>, nk: bool) -> Op {
        Op::Linear { norm: None, bias, act, residual: false, nk }
    }

    /// Two layers with `hidden` columns between them; both weights [k, n] or [n, k].
    fn two(hidden: usize, act: UnaryOp, nk: bool) -> Graph {
        let mut g = Graph::default();
        let x = g.add_input("x", Ty::new(DType::F32, &[1, 3, 8]));
        let shape = |n: usize, k: usize| if nk { [n, k] } else { [k, n] };
        let up = g.add_const("up", ramp(&shape(hidden, 8)));
        let bias = g.add_const("bias", ramp(&[hidden]));
        let down = g.add_const("down", ramp(&shape(5, hidden)));
        let h = g.push(linear(true, Some(act), nk), &[Some(x), Some(up), Some(bias)], "fc1").unwrap()[0];
        let y = g.push(linear(false, None, nk), &[Some(h), Some(down)], "fc2").unwrap()[0];
        g.outputs.push(crate::graph::Output { name: "y".into(), value: y });
        g
    }

    fn result(g: &Graph) -> Vec<f32> {
        let x = Array::new(DType::F32, vec![1, 3, 8], Values::F32((0..24).map(|i| i as f32 / 7.0 - 1.5).collect()));
        let out = eval::run(g, &HashMap::from([("x".to_string(), x)])).unwrap();
        out["y"].to_f32().to_vec()
    }

    fn padded(g: &Graph) -> Graph {
        grouped(g, 64)
    }

    fn grouped(g: &Graph, group: usize) -> Graph {
        let mut g = g.clone();
        widen(&mut g, group);
        verify(&g).unwrap();
        g
    }

    fn width(g: &Graph) -> usize {
        g.shape(g.nodes[0].out())[2]
    }

    #[test]
    fn a_width_becomes_a_multiple_of_what_adds_little() {
        let of = |k: usize, group: usize| width(&grouped(&two(k, UnaryOp::Relu, true), group));
        assert_eq!([4304, 4864, 300, 1000, 100, 37, 8].map(|k| of(k, 64)), [4352, 4864, 320, 1024, 100, 37, 8]);
        assert_eq!([128, 64, 32].map(|group| of(4304, group)), [4352, 4352, 4320]);
        assert_eq!([1536, 320, 352].map(|k| of(k, 128)), [1536, 320, 352]);
    }

    #[test]
    fn results_stay_the_same() {
        for nk in [true, false] {
            let g = two(300, UnaryOp::GeluTanh, nk);
            let wide = padded(&g);
            assert_eq!(width(&wide), 320);
            let gap = result(&g).iter().zip(result(&wide)).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(gap < 1e-4, "{gap}");
        }
    }

    #[test]
    fn an_activation_that_makes_something_of_nothing_keeps_its_width() {
        assert_eq!(width(&padded(&two(300, UnaryOp::Sigmoid, true))), 300);
    }

    #[test]
    fn a_value_that_is_shown_keeps_its_width() {
        let mut g = two(300, UnaryOp::Relu, true);
        g.outputs.push(crate::graph::Output { name: "h".into(), value: g.nodes[0].out() });
        assert_eq!(width(&padded(&g)), 300);
    }

    #[test]
    fn a_bias_that_others_read_keeps_its_width_for_them() {
        let mut g = two(300, UnaryOp::Relu, true);
        let (x, up, bias) = (g.inputs[0], g.nodes[0].input(1), g.nodes[0].input(2));
        let other = g.push(linear(true, None, true), &[Some(x), up, bias], "other").unwrap()[0];
        g.outputs.push(crate::graph::Output { name: "other".into(), value: other });
        let wide = padded(&g);
        assert_eq!((width(&wide), wide.shape(other)[2]), (320, 300));
    }

    #[test]
    fn weights_need_not_be_at_hand() {
        let mut g = two(300, UnaryOp::Relu, false);
        for name in ["up", "down", "bias"] {
            let value = g.values.iter_mut().find(|v| v.name == name).unwrap();
            let Def::Const(t) = &mut value.def else { panic!("{name} is no constant") };
            t.data = crate::graph::Data::Absent(name.into());
        }
        let wide = padded(&g);
        assert_eq!(width(&wide), 320);
        assert!(wide.values.iter().filter(|v| v.name == "down").all(|v| v.ty.shape == [320, 5]));
    }
}
