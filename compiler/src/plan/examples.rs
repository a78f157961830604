//! Fused graphs for plan and emit tests. In: sizes. Out: what the passes would leave of such a decoder. Promise: verified.

use crate::bucket::BucketGraph;
use crate::graph::{BinaryOp, DType, Def, Graph, Heads, Mask, Norm, Op, State, Tensor, Ty, UnaryOp, ValueId, verify};

/// A decoder of `layers` layers: hidden 8, two heads, one KV head, vocabulary 11, head tied to the embedding.
pub fn decoder(name: &str, rows: usize, layers: usize, context: usize) -> BucketGraph {
    let mut g = Graph { name: "tiny".into(), ..Graph::default() };
    let ids = g.add_input("input_ids", Ty::new(DType::I64, &[1, rows]));
    let pos = g.add_input("pos", Ty::new(DType::I32, &[]));
    let live = g.add_input("rows", Ty::new(DType::I32, &[]));
    let table = weight(&mut g, "embed.weight", &[11, 8], 0);
    let mut x = one(&mut g, Op::Gather { axis: 0 }, &[table, ids], "embed");
    for l in 0..layers {
        x = layer(&mut g, l, [x, pos, live], context);
    }
    let x = one(&mut g, Op::LastRow, &[x, live], "last");
    let norm = weight(&mut g, "norm.weight", &[8], 1);
    let op = Op::Linear { norm: Some(Norm::Rms { eps: 1e-5 }), bias: false, act: None, residual: false, nk: true };
    let logits = one(&mut g, op, &[x, table, norm], "lm_head");
    g.outputs.push(crate::graph::Output { name: "logits".into(), value: logits });
    verify(&g).expect("the example is a sound graph");
    BucketGraph { name: name.into(), file: "decoder".into(), rows, decoder: true, graph: g }
}

fn layer(g: &mut Graph, l: usize, [x, pos, live]: [ValueId; 3], context: usize) -> ValueId {
    let heads = Heads { q: 2, kv: 1, dim: 4 };
    let name = |what: &str| format!("layers.{l}.{what}");
    let cache = Ty::new(DType::F32, &[1, 1, context, 4]);
    let k = g.add_value(format!("past.{l}.key"), cache.clone(), Def::Input);
    let v = g.add_value(format!("past.{l}.value"), cache, Def::Input);
    let [wq, wk, wv] = [("q", 8), ("k", 4), ("v", 4)]
        .map(|(n, out)| weight(g, &name(&format!("{n}.weight")), &[out, 8], 10 * l + out));
    let scale = weight(g, &name("norm.weight"), &[8], 100 + l);
    let op = Op::Qkv { heads, norm: Some(Norm::Rms { eps: 1e-5 }), bias: false, rope: None, nk: true };
    let inputs = [x, wq, wk, wv, k, v, pos, live, scale].map(Some);
    let qkv = g.push(op, &inputs, &name("qkv")).expect("qkv");
    g.states.push(State { input: k, output: qkv[1] });
    g.states.push(State { input: v, output: qkv[2] });
    let attend = Op::CachedAttention { heads, scale: 0.5, mask: Mask::Causal, cap: 0.0 };
    let a = one(g, attend, &[qkv[0], qkv[1], qkv[2], pos], &name("attention"));
    let wo = weight(g, &name("o.weight"), &[8, 8], 200 + l);
    let op = Op::Linear { norm: None, bias: false, act: None, residual: true, nk: true };
    let x = one(g, op, &[a, wo, x], &name("o"));
    let [gate, up, down] = [("gate", 12, 8), ("up", 12, 8), ("down", 8, 12)]
        .map(|(n, o, i)| weight(g, &name(&format!("{n}.weight")), &[o, i], 300 + l * n.len()));
    let scale = weight(g, &name("post.weight"), &[8], 400 + l);
    let op = Op::GatedLinear { norm: Some(Norm::Rms { eps: 1e-5 }), act: UnaryOp::Silu, nk: true };
    let h = one(g, op, &[x, gate, up, scale], &name("gate_up"));
    let op = Op::Linear { norm: None, bias: false, act: None, residual: true, nk: true };
    one(g, op, &[h, down, x], &name("down"))
}

/// Not a decoder: a constant added, a reshape, one output that is an input in disguise.
pub fn plain() -> BucketGraph {
    let mut g = Graph { name: "plain".into(), ..Graph::default() };
    let x = g.add_input("x", Ty::new(DType::F32, &[2, 3]));
    let c = g.add_const("c", Tensor::f32(&[3], &[1.0, 2.0, 3.0]));
    let sum = one(&mut g, Op::Binary(BinaryOp::Add), &[x, c], "sum");
    let flat = one(&mut g, Op::Reshape { shape: vec![6] }, &[sum], "flat");
    let exp = one(&mut g, Op::Unary(UnaryOp::Exp), &[flat], "exp");
    let same = one(&mut g, Op::Reshape { shape: vec![6] }, &[x], "same");
    for (name, value) in [("flat", flat), ("exp", exp), ("same", same)] {
        g.outputs.push(crate::graph::Output { name: name.into(), value });
    }
    BucketGraph { name: "run".into(), file: "plain".into(), rows: 1, decoder: false, graph: g }
}

fn one(g: &mut Graph, op: Op, inputs: &[ValueId], name: &str) -> ValueId {
    let inputs: Vec<_> = inputs.iter().copied().map(Some).collect();
    g.push(op, &inputs, name).expect("the example infers")[0]
}

fn weight(g: &mut Graph, name: &str, shape: &[usize], seed: usize) -> ValueId {
    let n: usize = shape.iter().product();
    let values: Vec<f32> = (0..n).map(|i| ((i * 7 + seed * 13) % 31) as f32 / 16.0 - 1.0 + seed as f32).collect();
    g.add_const(name, Tensor::f32(shape, &values))
}
