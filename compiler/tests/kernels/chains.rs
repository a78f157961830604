//! Products behind what makes their rows: where matrix forms hand these over prepared, results are those of the interpreter, as they are
//! where every product prepares its own. Without matrix units the forms are emulated.

use crate::decoder::inputs;
use crate::device::{Bound, HALF, check, check_rows, device, halve_constants, run_on};
use crate::nodes::{Build, heads};
use crate::quantised;
use onnxcast::graph::eval::{Array, Values};
use onnxcast::graph::quant::{Quant, Zero};
use onnxcast::graph::{Activations, Graph, Heads, Mask, Node, Norm, Op, Output, Rotary, State, UnaryOp, ValueId};
use onnxcast::plan::kernels::{self, Form};
use onnxcast::plan::{Call, Precision, Select, Shaders, Storage};
use onnxcast::shaders;
use onnxcast_runtime::engine::Engine;
use onnxcast_runtime::program::Phase;
use onnxcast_runtime::spirv::shared_bytes;

const RMS: Option<Norm> = Some(Norm::Rms { eps: 1e-5 });
const LAYER: Option<Norm> = Some(Norm::Layer { eps: 1e-5 });
/// Sums of two halves keep f32's digits, but for some of those that chains lose.
const DIGITS: Bound = Bound { absolute: 1e-4, relative: 1e-4 };
/// One half of x has 11 bits, and so has every link of a chain.
const ONE_HALF: Bound = Bound { absolute: 4e-3, relative: 4e-3 };

/// Nodes one behind the other, each of `m` rows.
struct Chain {
    b: Build,
    m: usize,
    count: usize,
}

impl Chain {
    fn new(m: usize, seed: usize) -> Chain {
        Chain { b: Build::new(seed as u64), m, count: 0 }
    }

    fn columns(&self, x: Option<ValueId>) -> usize {
        self.b.graph.shape(x.expect("a value"))[2]
    }

    fn rows(&mut self, name: &str, k: usize) -> Option<ValueId> {
        self.b.float(name, &[1, self.m, k])
    }

    fn weight(&mut self, n: usize, k: usize) -> Option<ValueId> {
        self.count += 1;
        self.b.weight(&format!("w{}", self.count), &[n, k], (3.0 / k as f32).sqrt())
    }

    fn norm(&mut self, inputs: &mut Vec<Option<ValueId>>, norm: Option<Norm>, k: usize) {
        self.count += 1;
        if norm.is_some() {
            inputs.push(self.b.scale(&format!("scale{}", self.count), k));
        }
        if matches!(norm, Some(Norm::Layer { .. })) {
            inputs.push(self.b.weight(&format!("shift{}", self.count), &[k], 0.5));
        }
    }

    fn push(&mut self, op: Op, inputs: &[Option<ValueId>]) -> Option<ValueId> {
        self.count += 1;
        let outputs = self.b.graph.push(op, inputs, &format!("node{}", self.count)).expect("a sound node");
        outputs.first().copied()
    }

    /// A product with a bias, and a residual where one is given.
    fn linear(
        &mut self,
        x: Option<ValueId>,
        n: usize,
        (norm, act): (Option<Norm>, Option<UnaryOp>),
        residual: Option<ValueId>,
    ) -> Option<ValueId> {
        let k = self.columns(x);
        let mut inputs = vec![x, self.weight(n, k)];
        self.norm(&mut inputs, norm, k);
        inputs.push(self.b.weight(&format!("bias{}", self.count), &[n], 0.5));
        inputs.extend(residual.map(Some));
        let op = Op::Linear { norm, bias: true, act, residual: residual.is_some(), nk: true };
        self.push(op, &inputs)
    }

    fn gated(&mut self, x: Option<ValueId>, n: usize, norm: Option<Norm>) -> Option<ValueId> {
        let k = self.columns(x);
        let mut inputs = vec![x, self.weight(n, k), self.weight(n, k)];
        self.norm(&mut inputs, norm, k);
        self.push(Op::GatedLinear { norm, act: UnaryOp::Silu, nk: true }, &inputs)
    }

    fn cache(&mut self, name: &str, h: Heads, c: usize) -> Option<ValueId> {
        self.b.state(name, &[1, h.kv, c, h.dim])
    }

    fn finish(mut self, ends: &[Option<ValueId>], activations: Activations) -> Graph {
        for (i, value) in ends.iter().flatten().enumerate() {
            self.b.graph.outputs.push(Output { name: format!("y{i}"), value: *value });
        }
        self.b.graph.activations = activations;
        halve_constants(&mut self.b.graph);
        self.b.graph
    }
}

/// How many rows are handed over: straight, and by calls that add up. All matrix forms are such that they run here.
fn handed(graph: &Graph) -> [usize; 2] {
    let calls = graph.nodes.iter().flat_map(|n| kernels::select(graph, n, Precision::Fp16).expect("calls"));
    let mut counts = [0; 2];
    for call in calls {
        let limits = device().limits();
        let emulated = shaders::compile_emulated(&call.kernel).unwrap_or_else(|e| panic!("{e}"));
        let takes = emulated.map_or(0, |words| shared_bytes(&words));
        assert!(limits.matrix || takes <= limits.shared_bytes.into(), "{}: {takes} bytes", call.kernel.name);
        let how = call.kernel.defines.iter().find(|(name, _)| name == "HANDED").map(|(_, how)| how.to_string());
        counts[0] += usize::from(how.as_deref() == Some("1"));
        counts[1] += usize::from(how.as_deref() == Some("2"));
    }
    counts
}

fn bound(graph: &Graph) -> Bound {
    if graph.activations == Activations::F32 { DIGITS } else { ONE_HALF }
}

/// Holds a chain to the interpreter, and to how many rows it hands over.
fn holds(what: &str, graph: &Graph, expect: [usize; 2]) {
    assert_eq!(handed(graph), expect, "{what}");
    check(what, graph, Precision::Fp16, &inputs(graph, 0, 0), bound(graph));
}

#[test]
fn attention_hands_rows_to_the_projection_behind_it() {
    let given = |m: usize, h: Heads, n: usize, packed: bool| {
        let mut c = Chain::new(m, m + h.q);
        let qkv = match packed {
            true => vec![c.rows("x", (h.q + 2 * h.kv) * h.dim)],
            false => ["q", "k", "v"].map(|name| c.rows(name, h.q * h.dim)).to_vec(),
        };
        let residual = c.rows("residual", n);
        let a = c.push(Op::RowAttention { heads: h, scale: 0.3, mask: Mask::Causal, packed }, &qkv);
        let y = c.linear(a, n, (None, None), residual);
        c.finish(&[y], Activations::F16)
    };
    holds("packed", &given(50, heads(4, 4, 16), 72, true), [1, 0]);
    holds("apart", &given(17, heads(8, 8, 8), 33, false), [1, 0]);
    holds("with zeros behind", &given(40, heads(31, 31, 8), 40, true), [1, 0]);
    // Heads of a cache, of which each query row sees the ones before.
    let h = heads(4, 2, 16);
    let mut c = Chain::new(40, 3);
    let q = c.b.float("q", &[1, h.q, 40, h.dim]);
    let (k, v) = (c.cache("past.k", h, 100), c.cache("past.v", h, 100));
    let [pos, _] = c.b.step();
    let residual = c.rows("residual", 72);
    let a = c.push(Op::CachedAttention { heads: h, scale: 0.25, mask: Mask::Window(30), cap: 0.0 }, &[q, k, v, pos]);
    let y = c.linear(a, 72, (None, None), residual);
    let mut graph = c.finish(&[y], Activations::F16);
    graph.states.extend([k, v].into_iter().flatten().map(|v| State { input: v, output: v }));
    assert_eq!(handed(&graph), [1, 0]);
    check("over a cache", &graph, Precision::Fp16, &inputs(&graph, 60, 40), ONE_HALF);
}

#[test]
fn products_hand_rows_to_the_product_behind_them() {
    let gated = |m: usize, k: usize, n: usize| {
        let mut c = Chain::new(m, m + n);
        let x = c.rows("x", k);
        let h = c.gated(x, n, RMS);
        let y = c.linear(h, k, (None, None), x);
        c.finish(&[y], Activations::F16)
    };
    holds("gated", &gated(40, 64, 96), [1, 0]);
    holds("gated, ragged", &gated(33, 96, 160), [1, 0]);
    holds("gated, with zeros behind", &gated(17, 64, 248), [1, 0]);
    let tower = |m: usize, k: usize, n: usize, act: UnaryOp| {
        let mut c = Chain::new(m, m + n);
        let x = c.rows("x", k);
        let h = c.linear(x, n, (LAYER, Some(act)), None);
        let y = c.linear(h, 40, (None, None), None);
        c.finish(&[y], Activations::F16)
    };
    holds("with an activation", &tower(50, 64, 96, UnaryOp::GeluTanh), [1, 0]);
    holds("with zeros behind", &tower(20, 64, 248, UnaryOp::Relu), [1, 0]);
    holds("added up", &tower(20, 1024, 96, UnaryOp::Silu), [1, 0]);
    holds("added up, with zeros behind", &tower(33, 1024, 248, UnaryOp::GeluErf), [1, 0]);
}

/// A long product with a residual, and one behind it.
fn added(m: usize, n: usize, norm: Option<Norm>, activations: Activations) -> Graph {
    let mut c = Chain::new(m, m + n);
    let (x, residual) = (c.rows("x", 1024), c.rows("residual", n));
    let y = c.linear(x, n, (None, Some(UnaryOp::Silu)), residual);
    let z = c.gated(y, 40, norm);
    let end = c.linear(z, n, (None, None), y);
    c.finish(&[end, z, y], activations)
}

#[test]
fn who_adds_parts_up_makes_the_rows_of_the_product_behind() {
    holds("rms", &added(40, 96, RMS, Activations::F16), [0, 1]);
    holds("rms, two halves", &added(17, 184, RMS, Activations::F32), [0, 1]);
    holds("layer, with zeros behind", &added(17, 248, LAYER, Activations::Bf16), [0, 1]);
    holds("no norm", &added(33, 96, None, Activations::F32), [0, 1]);
}

/// The same kernels, but that every product prepares its own rows: forms that are given stand alone.
struct Apart;

impl Select for Apart {
    fn node(&self, graph: &Graph, node: &Node, storage: Storage) -> onnxcast::error::Result<Vec<Call>> {
        let (x, n) = (graph.shape(node.inputs[0].expect("x")), graph.shape(node.out())[2]);
        let units = if matches!(node.op, Op::GatedLinear { .. }) { n / 2 } else { n / 4 };
        kernels::select_in(graph, node, storage, Form::new(x[1], units, x[2], graph.activations.halves()))
    }

    fn sample(&self, vocab: usize, phase: Phase) -> onnxcast::error::Result<Vec<Call>> {
        Shaders.sample(vocab, phase)
    }
}

/// What runs the matrix forms of a graph, by units or emulated.
fn engine_of(graph: &Graph, precision: Precision, select: &dyn Select) -> Engine {
    let form = if device().limits().matrix { crate::spirv::code } else { crate::spirv::emulated };
    crate::device::engine_of(graph, precision, select, |_| {}, form)
}

#[test]
fn rows_are_the_same_to_the_bit_whoever_makes_them() {
    for (graph, scale) in [(added(33, 96, RMS, Activations::F32), 1.0), (added(20, 184, LAYER, Activations::Bf16), 1e4)]
    {
        let mut given = inputs(&graph, 0, 0);
        if let Some(Values::F32(x)) = given.get_mut("residual").map(|a| &mut a.data) {
            x.iter_mut().enumerate().for_each(|(i, x)| *x *= if i % 3 == 0 { scale } else { 1.0 });
        }
        let together = engine_of(&graph, Precision::Fp16, &Shaders);
        let apart = engine_of(&graph, Precision::Fp16, &Apart);
        let prepares = |e: &Engine| e.program().kernels.iter().filter(|k| k.source == "halves.comp").count();
        assert_eq!(prepares(&apart), prepares(&together) + 1);
        let [one, other] = [together, apart].map(|mut e| run_on(&mut e, &graph, Precision::Fp16, &given));
        for (name, y) in &one {
            let bits = |a: &Array| a.to_f32().into_iter().map(f32::to_bits).collect::<Vec<_>>();
            assert!(bits(y) == bits(&other[name]), "{name}");
        }
    }
}

/// A layer as a decoder has it, and the projections of the next.
fn layer(m: usize, activations: Activations) -> Graph {
    let (h, context, hidden) = (heads(4, 2, 16), 100, 96);
    let mut c = Chain::new(m, 5);
    let [pos, rows] = c.b.step();
    let x = c.rows("x", hidden);
    let mut caches = vec![];
    let mut qkv = |c: &mut Chain, x: Option<ValueId>, l: usize| {
        let (k, v) = (c.cache(&format!("{l}.k"), h, context), c.cache(&format!("{l}.v"), h, context));
        let w = [h.q, h.kv, h.kv].map(|heads| c.weight(heads * h.dim, hidden));
        let mut inputs = vec![x, w[0], w[1], w[2], k, v, pos, rows];
        c.norm(&mut inputs, RMS, hidden);
        inputs.extend(["cos", "sin"].map(|n| c.b.weight(&format!("{l}.{n}"), &[context, 8], 1.0)));
        let rope = Some(Rotary { rotary: 16, interleaved: false });
        let op = Op::Qkv { heads: h, norm: RMS, bias: false, rope, nk: true };
        let out = c.b.graph.push(op, &inputs, &format!("qkv{l}")).expect("a sound node");
        caches.extend([(k, out[1]), (v, out[2])]);
        out
    };
    let q = qkv(&mut c, x, 0);
    let inputs = [Some(q[0]), Some(q[1]), Some(q[2]), pos];
    let a = c.push(Op::CachedAttention { heads: h, scale: 0.25, mask: Mask::Causal, cap: 0.0 }, &inputs);
    let o = c.linear(a, hidden, (None, None), x);
    let up = c.gated(o, 1024, RMS);
    let y = c.linear(up, hidden, (None, None), o);
    let q = qkv(&mut c, y, 1);
    let mut graph = c.finish(&[Some(q[0])], activations);
    graph.states.extend(caches.into_iter().map(|(input, output)| State { input: input.expect("a state"), output }));
    graph
}

#[test]
fn a_layer_hands_over_the_rows_that_live() {
    // Caches hold halves in any case.
    for (activations, expect, bound) in [(Activations::F16, [2, 1], ONE_HALF), (Activations::F32, [0, 1], HALF)] {
        let graph = layer(40, activations);
        assert_eq!(handed(&graph), expect);
        for (pos, rows) in [(60, 40), (30, 17)] {
            let what = format!("{activations:?} at {pos}, {rows} rows");
            check_rows(&what, &graph, Precision::Fp16, &inputs(&graph, pos, rows), bound, Some((2, rows)));
        }
    }
}

#[test]
fn products_of_codes_hand_rows_over() {
    for (salient, zero) in [(0, Zero::Mid), (3, Zero::Min)] {
        let quant = Quant { bits: 4, group: 32, zero, salient, wide: false };
        let mut c = Chain::new(20, 8);
        let x = c.rows("x", 64);
        let h = c.gated(x, 96, RMS);
        let y = c.linear(h, 64, (None, None), x);
        let graph = quantised::quantise(c.finish(&[y], Activations::F16), quant, false);
        check(&quant.name(), &graph, Precision::Int4, &inputs(&graph, 0, 0), Bound { absolute: 8e-3, ..HALF });
    }
}
