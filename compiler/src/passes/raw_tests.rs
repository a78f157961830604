//! Fixtures of graphs that run as they stand: an encoder in the spellings that exporters use, eval before and after.

use super::*;
use crate::graph::eval::{self, Array, Values};
use crate::graph::{DType, Graph, Op, parse, print};
use std::collections::HashMap;

/// Patches of a picture, a layer of an encoder, and a connector that makes one row of four patches.
const ENCODER: &str = "\
input %pixels: f32[1,3,8,16]
const %pw: f32[8,3,4,4] = random(1)
const %pb: f32[8] = random(2)
const %pos: f32[1,8,8] = random(3)
const %g1: f32[8] = random(4)
const %b1: f32[8] = random(5)
const %wq: f32[8,8] = random(6)
const %wk: f32[8,8] = random(7)
const %wv: f32[8,8] = random(8)
const %bq: f32[8] = random(9)
const %bk: f32[8] = random(10)
const %bv: f32[8] = random(11)
const %wo: f32[8,8] = random(12)
const %bo: f32[8] = random(13)
const %g2: f32[8] = random(14)
const %b2: f32[8] = random(15)
const %w1: f32[8,12] = random(16)
const %c1: f32[12] = random(17)
const %w2: f32[12,8] = random(18)
const %c2: f32[8] = random(19)
const %wp: f32[32,6] = random(20)
const %scale: f32[] = 0.5
const %half: f32[] = 0.5
const %one: f32[] = 1
const %three: f32[] = 3
const %c: f32[] = 0.044715
const %r: f32[] = 0.7978846
const %root: f32[] = 1.4142135
%conv = Conv(%pixels, %pw, %pb) kernel=[4,4] strides=[4,4]
%flat = Reshape(%conv) shape=[1,8,8]
%patches = Transpose(%flat) perm=[0,2,1]
%h = Add(%patches, %pos)
%n1 = LayerNorm(%h, %g1, %b1) axis=2 eps=1e-6
%q0 = MatMul(%n1, %wq)
%q1 = Add(%bq, %q0)
%q2 = Reshape(%q1) shape=[1,8,2,4]
%q = Transpose(%q2) perm=[0,2,1,3]
%k0 = MatMul(%n1, %wk)
%k1 = Add(%bk, %k0)
%k2 = Reshape(%k1) shape=[1,8,2,4]
%v0 = MatMul(%n1, %wv)
%v1 = Add(%bv, %v0)
%v2 = Reshape(%v1) shape=[1,8,2,4]
%v = Transpose(%v2) perm=[0,2,1,3]
%kt = Transpose(%k2) perm=[0,2,3,1]
%s0 = MatMul(%q, %kt)
%s = Mul(%s0, %scale)
%p = Softmax(%s) axis=3
%a0 = MatMul(%p, %v)
%a1 = Transpose(%a0) perm=[0,2,1,3]
%a2 = Reshape(%a1) shape=[1,8,8]
%o0 = MatMul(%a2, %wo)
%o1 = Add(%bo, %o0)
%h2 = Add(%h, %o1)
%n2 = LayerNorm(%h2, %g2, %b2) axis=2 eps=1e-6
%f0 = MatMul(%n2, %w1)
%x = Add(%c1, %f0)
%x2 = Mul(%x, %x)
%x3 = Mul(%x, %x2)
%x4 = Mul(%c, %x3)
%x5 = Add(%x, %x4)
%x6 = Mul(%r, %x5)
%x7 = Tanh(%x6)
%x8 = Add(%one, %x7)
%x9 = Mul(%x, %x8)
%act = Mul(%half, %x9)
%d0 = MatMul(%act, %w2)
%d1 = Add(%c2, %d0)
%h3 = Add(%h2, %d1)
%u0 = Reshape(%h3) shape=[1,2,4,8]
%u1 = Reshape(%u0) shape=[1,2,2,16]
%u2 = Transpose(%u1) perm=[0,2,1,3]
%u3 = Reshape(%u2) shape=[1,2,1,32]
%u4 = Transpose(%u3) perm=[0,2,1,3]
%u5 = Reshape(%u4) shape=[1,2,32]
%y = MatMul(%u5, %wp)
output %y
";

fn edited(edits: &[(&str, &str)]) -> String {
    edits.iter().fold(ENCODER.to_string(), |text, (old, new)| {
        assert!(text.contains(old), "{old}");
        text.replace(old, new)
    })
}

fn fused(text: &str) -> (Graph, Log) {
    let mut graph = parse(text).unwrap();
    let mut log = Log::default();
    run(&mut graph, RAW_ORDER, &mut log).unwrap_or_else(|e| panic!("{e}\n{}", log.lines.join("\n")));
    (graph, log)
}

/// The printed nodes.
fn nodes(graph: &Graph) -> String {
    print(graph).lines().filter(|l| l.starts_with('%')).map(|l| format!("{l}\n")).collect()
}

fn ops(graph: &Graph) -> Vec<&'static str> {
    graph.nodes.iter().map(|n| n.op.name()).filter(|name| *name != "Reshape").collect()
}

fn given(graph: &Graph) -> HashMap<String, Array> {
    let noise = |i: usize| ((i as u32).wrapping_mul(2_654_435_761) >> 8) as f32 / (1 << 23) as f32 - 1.0;
    let one = |v: &crate::graph::ValueId| {
        let (value, n) = (graph.value(*v), graph.ty(*v).elements());
        let data = match value.ty.dtype {
            DType::Bool => Values::Bool((0..n).map(|i| i % 3 != 1).collect()),
            _ => Values::F32((0..n).map(|i| noise(i + 97 * v.0 as usize)).collect()),
        };
        (value.name.clone(), Array::new(value.ty.dtype, value.ty.shape.clone(), data))
    };
    graph.inputs.iter().map(one).collect()
}

/// Fuses and gives the same numbers within `bound`; returns the fused graph.
fn holds(text: &str, bound: f64) -> Graph {
    let (before, (after, _)) = (parse(text).unwrap(), fused(text));
    let inputs = given(&before);
    let (want, got) = (eval::run(&before, &inputs).unwrap(), eval::run(&after, &inputs).unwrap());
    assert_eq!(want.len(), got.len());
    for (name, want) in &want {
        assert_eq!((&want.shape, want.dtype), (&got[name].shape, got[name].dtype), "{name}");
        for (a, b) in want.to_f64().iter().zip(got[name].to_f64()) {
            assert!((a - b).abs() <= bound * (1.0 + a.abs()), "{name}: {b}, not {a}\n{}", nodes(&after));
        }
    }
    after
}

const FUSED: [&str; 8] = ["Transpose", "Linear", "Linear", "RowAttention", "Linear", "Linear", "Linear", "Transpose"];

#[test]
fn an_encoder_becomes_five_operators_a_layer() {
    let graph = holds(ENCODER, 1e-5);
    let text = nodes(&graph);
    assert_eq!(ops(&graph), [&FUSED[..], &["Linear"]].concat(), "{text}");
    assert!(text.contains("mask=full packed") && text.contains("act=GeluTanh"), "{text}");
    assert_eq!(text.matches("norm=layer").count(), 2, "{text}");
    assert_eq!(text.matches("residual").count(), 3, "{text}");
}

#[test]
fn gelu_is_one_activation_in_its_spellings() {
    let tanh = "%x2 = Mul(%x, %x)\n%x3 = Mul(%x, %x2)\n%x4 = Mul(%c, %x3)\n%x5 = Add(%x, %x4)\n%x6 = Mul(%r, %x5)\n\
                %x7 = Tanh(%x6)\n%x8 = Add(%one, %x7)\n%x9 = Mul(%x, %x8)\n%act = Mul(%half, %x9)";
    let cube = "%x3 = Pow(%x, %three)\n%x4 = Mul(%x3, %c)\n%x5 = Add(%x4, %x)\n%x6 = Mul(%x5, %r)\n%x7 = Tanh(%x6)\n\
                %x8 = Add(%x7, %one)\n%x9 = Mul(%x, %half)\n%act = Mul(%x9, %x8)";
    let erf = "%x2 = Div(%x, %root)\n%x3 = Erf(%x2)\n%x4 = Add(%x3, %one)\n%x5 = Mul(%x, %x4)\n%act = Mul(%x5, %half)";
    let halved =
        "%x2 = Div(%x, %root)\n%x3 = Erf(%x2)\n%x4 = Add(%x3, %one)\n%x5 = Mul(%half, %x4)\n%act = Mul(%x, %x5)";
    for (body, name) in [(cube, "GeluTanh"), (erf, "GeluErf"), (halved, "GeluErf")] {
        let text = nodes(&holds(&edited(&[(tanh, body)]), 1e-5));
        assert!(text.contains(&format!("act={name}")), "{text}");
    }
}

#[test]
fn attention_is_found_with_scales_on_queries_and_keys() {
    let split = edited(&[
        (
            "%s0 = MatMul(%q, %kt)\n%s = Mul(%s0, %scale)",
            "%qs = Mul(%q, %r)\n%ks = Mul(%kt, %r)\n%s = MatMul(%qs, %ks)",
        ),
        ("const %r: f32[] = 0.7978846", "const %r: f32[] = 0.70710678"),
        ("%x6 = Mul(%r, %x5)", "%x6 = Mul(%scale, %x5)"),
    ]);
    let text = nodes(&holds(&split, 1e-5));
    assert!(text.contains("scale=0.5 mask=full packed"), "{text}");
}

#[test]
fn an_added_mask_stays_an_input_whatever_it_holds() {
    let masked = edited(&[
        ("input %pixels", "input %mask: f32[1,1,8,8]\ninput %pixels"),
        ("%p = Softmax(%s)", "%m = Add(%s, %mask)\n%p = Softmax(%m)"),
    ]);
    let text = nodes(&holds(&masked, 1e-5));
    assert!(text.contains("mask=given packed"), "{text}");
    let causal = edited(&[
        ("input %pixels", "const %fill: f32[8,8] = fill(-10000)\ninput %pixels"),
        ("%p = Softmax(%s)", "%late = Trilu(%fill) upper k=1\n%m = Add(%s, %late)\n%p = Softmax(%m)"),
    ]);
    assert!(nodes(&holds(&causal, 1e-5)).contains("mask=given"));
}

#[test]
fn a_mask_that_selects_scores_stays_as_it_is() {
    let selected = edited(&[
        ("input %pixels", "input %seen: bool[1,1,8,8]\nconst %low: f32[] = -10000\ninput %pixels"),
        ("%p = Softmax(%s)", "%m = Where(%seen, %s, %low)\n%p = Softmax(%m)"),
    ]);
    let graph = holds(&selected, 1e-5);
    assert!(ops(&graph).contains(&"Softmax") && !nodes(&graph).contains("Attention"), "{}", nodes(&graph));
}

#[test]
fn projections_without_a_bias_join_those_with_one() {
    let text = edited(&[("%k1 = Add(%bk, %k0)\n", ""), ("%k2 = Reshape(%k1)", "%k2 = Reshape(%k0)")]);
    assert!(nodes(&holds(&text, 1e-5)).contains("packed"));
}

#[test]
fn projections_that_others_read_stay_apart() {
    let text = edited(&[("output %y", "output %y\noutput %k1")]);
    let shown = nodes(&holds(&text, 1e-5));
    assert!(shown.contains("RowAttention") && !shown.contains("packed"), "{shown}");
}

#[test]
fn heads_of_a_batch_without_an_axis_of_their_own_are_attention_too() {
    let text = edited(&[
        (
            "%s0 = MatMul(%q, %kt)",
            "%q3 = Reshape(%q) shape=[2,8,4]\n%kt3 = Reshape(%kt) shape=[2,4,8]\n%s0 = MatMul(%q3, %kt3)",
        ),
        ("%p = Softmax(%s) axis=3", "%p = Softmax(%s) axis=2\n%v3 = Reshape(%v) shape=[2,8,4]"),
        ("%a0 = MatMul(%p, %v)", "%a3 = MatMul(%p, %v3)\n%a0 = Reshape(%a3) shape=[1,2,8,4]"),
    ]);
    let graph = holds(&text, 1e-5);
    assert!(ops(&graph).contains(&"RowAttention") || ops(&graph).contains(&"Attention"), "{}", nodes(&graph));
}

#[test]
fn patches_that_overlap_stay_a_convolution() {
    let text = edited(&[
        ("kernel=[4,4] strides=[4,4]", "kernel=[4,4] strides=[4,4] pads=[0,0,4,0]"),
        ("input %pixels: f32[1,3,8,16]", "input %pixels: f32[1,3,4,16]"),
    ]);
    assert!(ops(&holds(&text, 1e-5)).contains(&"Conv"));
}

#[test]
fn what_no_patch_covers_is_cut_off() {
    let text = edited(&[("input %pixels: f32[1,3,8,16]", "input %pixels: f32[1,3,11,17]")]);
    let graph = holds(&text, 1e-5);
    assert_eq!(ops(&graph)[..3], ["Slice", "Transpose", "Linear"], "{}", nodes(&graph));
}

#[test]
fn filters_of_odd_sizes_get_zeros_at_the_end() {
    let text = edited(&[
        ("const %pw: f32[8,3,4,4]", "const %pw: f32[8,3,6,5]"),
        ("kernel=[4,4] strides=[4,4]", "kernel=[6,5] strides=[6,5]"),
        ("input %pixels: f32[1,3,8,16]", "input %pixels: f32[1,3,12,20]"),
    ]);
    let graph = holds(&text, 1e-5);
    assert_eq!(ops(&graph)[..3], ["Transpose", "Pad", "Linear"], "{}", nodes(&graph));
}

#[test]
fn fp16_graphs_keep_their_ports_and_compute_in_f32() {
    let graph = holds(&ENCODER.replace("f32", "f16"), 2e-2);
    let text = nodes(&graph);
    assert_eq!(ops(&graph).iter().filter(|op| **op == "Cast").count(), 2, "{text}");
    let narrow = |v: &crate::graph::Value| v.ty.dtype == DType::F16 && v.name.starts_with('w') && v.name != "wide";
    assert!(graph.values.iter().any(narrow), "matrices stay as they lie in the file");
    assert!(graph.nodes.iter().all(|n| !matches!(n.op, Op::Linear { .. }) || graph.ty(n.out()).dtype == DType::F32));
}
