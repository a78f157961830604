//! The kernels of a decoder, at odd shapes, in both precisions.

use crate::device::{Arrays, Bound, HALF, TIGHT, check, check_rows, halve, halve_constants};
use crate::nodes::{self, Random, heads};
use onnxcast::graph::eval::{Array, Values};
use onnxcast::graph::{DType, Graph, Mask, Norm, PICTURES, Rotary, Ty, UnaryOp};
use onnxcast::plan::{Kv, Precision, Storage};

const RMS: Option<Norm> = Some(Norm::Rms { eps: 1e-5 });
const LAYER: Option<Norm> = Some(Norm::Layer { eps: 1e-5 });
const BOTH: [Precision; 2] = [Precision::Fp32, Precision::Fp16];

/// Random inputs for every input and state; `pos` and `rows` as given. Cache rows from `pos` on are NaN: nobody may read them
/// before they are written.
pub fn inputs(graph: &Graph, pos: usize, rows: usize) -> Arrays {
    let mut random = Random::new(77 + pos as u64);
    let mut all = Arrays::new();
    for &v in graph.inputs.iter().chain(graph.states.iter().map(|s| &s.input)) {
        let value = graph.value(v);
        let array = match value.name.as_str() {
            "pos" => Array::scalar(pos as i32),
            "rows" => Array::scalar(rows as i32),
            _ => random.array(&value.ty),
        };
        all.insert(value.name.clone(), array);
    }
    for state in &graph.states {
        let value = graph.value(state.input);
        let (c, d) = (value.ty.shape[2], value.ty.shape[3]);
        let written = graph.nodes.iter().any(|n| n.outputs.contains(&state.output));
        let known = if written { pos } else { pos + rows };
        let array = all.get_mut(&value.name).expect("a state");
        halve(array);
        if let Values::F32(v) = &mut array.data {
            v.iter_mut().enumerate().filter(|(i, _)| i / d % c >= known).for_each(|(_, x)| *x = f32::NAN);
        }
    }
    all
}

fn in_precision(mut graph: Graph, precision: Precision) -> Graph {
    if precision == Precision::Fp16 {
        halve_constants(&mut graph);
    }
    graph
}

fn linear(m: usize, k: usize, n: usize, norm: Option<Norm>, act: Option<UnaryOp>, extras: bool, nk: bool) {
    for precision in BOTH {
        let graph = in_precision(nodes::linear(m, k, n, norm, act, extras, nk), precision);
        let what = format!("linear {m}x{k}x{n} {norm:?} {act:?} {extras} {nk} {precision:?}");
        check(&what, &graph, precision, &inputs(&graph, 0, 0), TIGHT);
    }
}

#[test]
fn one_row_times_weights_of_any_size() {
    for (k, n) in [
        (1, 1),
        (2, 3),
        (3, 2),
        (5, 7),
        (7, 5),
        (31, 33),
        (33, 31),
        (64, 65),
        (127, 129),
        (576, 192),
        (1536, 4),
        (904, 40),
        (2648, 12),
    ] {
        linear(1, k, n, None, None, false, true);
        linear(1, k, n, RMS, None, true, true);
    }
}

#[test]
fn one_row_with_layer_norm_and_activations() {
    for act in [UnaryOp::Silu, UnaryOp::GeluErf, UnaryOp::GeluTanh, UnaryOp::Relu, UnaryOp::QuickGelu, UnaryOp::Tanh] {
        linear(1, 31, 7, LAYER, Some(act), true, false);
        linear(1, 64, 9, LAYER, Some(act), false, false);
    }
}

#[test]
fn many_rows_times_weights_of_any_size() {
    for (m, k, n) in
        [(2, 1, 1), (3, 5, 7), (5, 31, 33), (7, 64, 65), (31, 33, 5), (33, 65, 3), (65, 127, 129), (129, 40, 66)]
    {
        linear(m, k, n, None, None, false, true);
        linear(m, k, n, RMS, Some(UnaryOp::Silu), true, false);
        linear(m, k, n, LAYER, None, true, true);
    }
}

#[test]
fn chunks_of_a_prompt_times_weights_that_matrix_units_take() {
    for (m, k, n) in [(16, 32, 1), (17, 64, 65), (31, 96, 20), (33, 576, 192), (129, 64, 66), (255, 128, 130)] {
        linear(m, k, n, None, None, false, true);
        linear(m, k, n, RMS, Some(UnaryOp::Silu), true, false);
        linear(m, k, n, LAYER, None, true, true);
    }
}

#[test]
fn large_and_tiny_activations_keep_their_digits() {
    for scale in [3e-6, 1e6] {
        for norm in [None, RMS] {
            let graph = in_precision(nodes::linear(20, 64, 33, norm, None, false, true), Precision::Fp16);
            let mut all = inputs(&graph, 0, 0);
            let Some(Values::F32(x)) = all.get_mut("x").map(|a| &mut a.data) else { panic!("x is f32") };
            // One element of a row stands far above the others, as in the first token of real prompts.
            x.iter_mut().enumerate().for_each(|(i, x)| *x *= if i % 64 == 7 { scale } else { scale * 1e-3 });
            let size = if norm.is_none() { scale } else { 1.0 };
            let bound = Bound { absolute: 2e-5 * f64::from(size), relative: 2e-5 };
            check(&format!("activations of {scale} {norm:?}"), &graph, Precision::Fp16, &all, bound);
        }
    }
}

#[test]
fn logits_over_real_vocabularies() {
    for (k, vocab) in [(24, 49152), (8, 151936)] {
        linear(1, k, vocab, RMS, None, false, true);
    }
}

#[test]
fn gate_and_up_share_one_dispatch() {
    for (m, k, n) in
        [(1, 64, 33), (1, 31, 1), (1, 576, 130), (1, 128, 2600), (2, 33, 3), (17, 64, 32), (65, 72, 31), (65, 96, 31)]
    {
        for precision in BOTH {
            for norm in [None, RMS, LAYER] {
                let graph = in_precision(nodes::gated(m, k, n, norm), precision);
                let what = format!("gated {m}x{k}x{n} {norm:?} {precision:?}");
                check(&what, &graph, precision, &inputs(&graph, 0, 0), TIGHT);
            }
        }
    }
}

fn qkv(m: usize, k: usize, h: (usize, usize, usize), c: usize, rope: Option<Rotary>, bias: bool, at: (usize, usize)) {
    let quads = h.2.is_multiple_of(4) && rope.is_none_or(|r| r.rotary.is_multiple_of(4));
    for precision in BOTH.into_iter().filter(|p| quads || *p == Precision::Fp32) {
        let graph = in_precision(nodes::qkv(m, k, heads(h.0, h.1, h.2), c, rope, bias), precision);
        let what = format!("qkv m{m} k{k} {h:?} c{c} {rope:?} {bias} {at:?} {precision:?}");
        let bound = if precision == Precision::Fp16 { HALF } else { TIGHT };
        check_rows(&what, &graph, precision, &inputs(&graph, at.0, at.1), bound, Some((2, at.1)));
    }
}

#[test]
fn projection_turns_and_writes_the_cache_in_place() {
    let half = |rotary| Some(Rotary { rotary, interleaved: false });
    let pair = |rotary| Some(Rotary { rotary, interleaved: true });
    for (m, at) in [(1, (0, 1)), (1, (31, 1)), (3, (5, 3)), (5, (27, 5)), (33, (0, 32))] {
        qkv(m, 64, (4, 2, 16), 32, half(16), true, at);
        qkv(m, 40, (3, 1, 8), 32, pair(8), false, at);
        qkv(m, 33, (4, 4, 16), 32, half(8), true, at);
        qkv(m, 33, (2, 1, 12), 32, None, false, at);
        qkv(m, 31, (2, 2, 6), 32, half(6), true, at);
        qkv(m, 31, (2, 1, 7), 32, pair(6), false, at);
    }
    qkv(33, 64, (4, 2, 16), 64, pair(8), true, (5, 17));
    qkv(129, 96, (3, 1, 8), 200, half(8), true, (60, 129));
}

#[test]
fn padding_rows_and_rows_past_the_cache_are_never_written() {
    let rope = Some(Rotary { rotary: 16, interleaved: false });
    // A chunk of 16 that starts at 28 of 32 and has 4 live rows must not run past the cache.
    for (m, at) in [(16, (28, 4)), (16, (0, 1)), (16, (16, 15)), (3, (30, 2))] {
        qkv(m, 64, (4, 2, 16), 32, rope, false, at);
    }
}

fn attention(m: usize, h: (usize, usize, usize), c: usize, mask: Mask, at: (usize, usize)) {
    for precision in BOTH.into_iter().filter(|p| h.2.is_multiple_of(4) || *p == Precision::Fp32) {
        let graph = nodes::cached_attention(m, heads(h.0, h.1, h.2), c, mask);
        let what = format!("attention m{m} {h:?} c{c} {mask:?} {at:?} {precision:?}");
        check_rows(&what, &graph, precision, &inputs(&graph, at.0, at.1), TIGHT, Some((1, at.1)));
    }
}

#[test]
fn attention_reads_live_cache_rows_only() {
    for (m, at) in [(1, (0, 1)), (1, (1, 1)), (1, (299, 1)), (2, (0, 2)), (5, (126, 5)), (33, (0, 33)), (65, (200, 65))]
    {
        attention(m, (4, 2, 16), 300, Mask::Causal, at);
        attention(m, (3, 1, 64), 300, Mask::Causal, at);
        attention(m, (2, 2, 8), 300, Mask::Window(7), at);
    }
    attention(1, (2, 1, 128), 1030, Mask::Causal, (1029, 1));
    for pos in [0, 1, 63, 64, 127, 128, 255, 256, 1022, 1023] {
        attention(1, (7, 1, 64), 1024, Mask::Causal, (pos, 1));
        attention(1, (2, 1, 64), 1024, Mask::Window(100), (pos, 1));
    }
    attention(1, (2, 1, 72), 600, Mask::Causal, (599, 1));
    attention(1, (1, 1, 256), 2100, Mask::Causal, (2099, 1));
    attention(1, (1, 1, 256), 2100, Mask::Window(300), (2099, 1));
    attention(3, (2, 1, 7), 65, Mask::Causal, (62, 3));
    attention(1, (2, 1, 5), 65, Mask::Window(3), (64, 1));
    attention(1, (1, 1, 256), 33, Mask::Causal, (20, 1));
}

#[test]
fn attention_of_a_padded_chunk_stays_inside_the_cache() {
    attention(16, (4, 2, 16), 32, Mask::Causal, (28, 4));
    attention(16, (4, 2, 16), 32, Mask::Causal, (0, 1));
}

#[test]
fn cache_rows_are_written_alone_too() {
    for (m, at) in [(1, (0, 1)), (1, (31, 1)), (3, (4, 2)), (16, (28, 4))] {
        for precision in BOTH {
            let graph = nodes::kv_write(m, heads(2, 2, 10), 32);
            let bound = if precision == Precision::Fp16 { HALF } else { TIGHT };
            check(&format!("kv write {m} {at:?}"), &graph, precision, &inputs(&graph, at.0, at.1), bound);
        }
    }
}

#[test]
fn rope_alone_turns_by_table_row() {
    for interleaved in [false, true] {
        for (dim, rotary) in [(8, 8), (16, 6), (5, 2), (64, 64)] {
            let graph = nodes::rope(3, 5, dim, Rotary { rotary, interleaved }, 32);
            check(&format!("rope {dim} {rotary}"), &graph, Precision::Fp32, &inputs(&graph, 7, 5), TIGHT);
        }
    }
}

#[test]
fn the_last_live_row_is_taken() {
    for (m, rows) in [(1, 1), (5, 3), (129, 129)] {
        let graph = nodes::last_row(m, 33);
        check(&format!("last row {rows} of {m}"), &graph, Precision::Fp32, &inputs(&graph, 0, rows), TIGHT);
    }
}

/// Ids on both sides of the vocabulary's end, negative ones and those past the last row of the pictures among them.
pub fn ids(m: usize, vocab: usize, pictures: usize) -> Array {
    let mut random = Random::new(9);
    let mut ids: Vec<i64> = (0..m).map(|_| random.int(-3, (vocab + pictures + 2) as i64)).collect();
    ids[0] = vocab as i64;
    ids[m - 1] = (vocab + pictures - 1) as i64;
    Array::i64(&[1, m], &ids)
}

#[test]
fn rows_of_pictures_stand_in_the_places_of_ids_past_the_vocabulary() {
    for (m, vocab, k, pictures) in [(1, 40, 8, 1), (7, 100, 33, 12), (129, 31, 64, 20)] {
        for (precision, lookup) in BOTH.into_iter().flat_map(|p| [(p, false), (p, true)]) {
            let graph = in_precision(nodes::splice(m, (vocab, k), pictures, lookup), precision);
            let mut all = inputs(&graph, 0, m);
            all.insert("tokens".into(), ids(m, vocab, pictures));
            all.insert(PICTURES.into(), Random::new(3).array(&Ty::new(DType::F32, &[1, 1, pictures, k])));
            check(&format!("splice {m} {vocab} {k} {lookup} {precision:?}"), &graph, precision, &all, TIGHT);
        }
    }
}

#[test]
fn rows_of_a_picture_are_left_exactly_where_the_step_says() {
    let exact = Bound { absolute: 0.0, relative: 0.0 };
    for (m, k, pictures, pos) in [(1, 7, 3, 2), (4, 64, 12, 4), (81, 33, 162, 81)] {
        let graph = nodes::deposit(m, k, pictures);
        let all = inputs(&graph, pos, m);
        for storage in
            [Precision::Fp32.into(), Precision::Fp16.into(), Storage { kv: Kv::Int8, precision: Precision::Fp16 }]
        {
            check(&format!("rows of a picture {m} {k} {storage:?}"), &graph, storage, &all, exact);
        }
    }
}

#[test]
fn embedding_rows_come_from_the_table() {
    for (m, vocab, k) in [(1, 49152, 8), (7, 100, 33), (129, 31, 64)] {
        for precision in BOTH {
            let graph = in_precision(nodes::embedding(m, vocab, k), precision);
            let mut all = inputs(&graph, 0, m);
            let mut random = Random::new(5);
            let tokens: Vec<i64> = (0..m).map(|_| random.int(-(vocab as i64), vocab as i64)).collect();
            all.insert("tokens".into(), Array::i64(&[1, m], &tokens));
            check_rows(&format!("embedding {m} {vocab} {k}"), &graph, precision, &all, TIGHT, None);
        }
    }
}
