//! Kernels over quantised weights: every layout in every form against the interpreter on the same codes.

use crate::decoder::ids;
use crate::device::{Bound, HALF, TIGHT, check, check_rows, device};
use crate::nodes::{self, Build, Random, heads};
use onnxcast::graph::eval::Array;
use onnxcast::graph::quant::{Encoded, Fit, Quant, Zero};
use onnxcast::graph::{DType, Def, Graph, Norm, Op, PICTURES, Rotary, Tensor, Ty, UnaryOp};
use onnxcast::plan::Precision;
use std::collections::HashMap;
use std::sync::Arc;

const RMS: Option<Norm> = Some(Norm::Rms { eps: 1e-5 });
const LAYER: Option<Norm> = Some(Norm::Layer { eps: 1e-5 });
/// Matrix units take weights as halves: what a chunk of a prompt multiplies is a decoded weight of 11 bits.
fn bound(m: usize) -> Bound {
    if m >= 16 && device().limits().matrix { HALF } else { TIGHT }
}

/// Every meaning of a code in both widths, the widest group that divides `k`, without and with corrected columns.
fn layouts(k: usize) -> Vec<Quant> {
    let mut all = vec![];
    for bits in [4, 8] {
        for zero in Zero::ALL {
            for salient in [0, 3] {
                all.push(Quant { bits, group: 128, zero, salient, wide: false }.fitted(k).expect("columns in groups"));
            }
        }
    }
    all
}

/// The same in groups of sixteen, with numbers in f32, and both: as files have them.
fn rare_layouts() -> Vec<Quant> {
    let all = layouts(64).into_iter().filter(|q| q.salient == 0);
    let forms = [(16, false), (16, true), (64, true)];
    all.flat_map(|q| forms.map(|(group, wide)| Quant { group, wide, ..q })).collect()
}

/// Two of them, others for every `seed`: a kernel takes its time to compile.
fn some(k: usize, seed: usize) -> Vec<Quant> {
    let all = layouts(k);
    [seed, seed + 7].iter().map(|i| all[i % all.len()]).collect()
}

/// Corrected columns: first, last and one between.
fn columns(k: usize, salient: u16) -> Vec<u32> {
    [0, k as u32 / 2 + 1, k as u32 - 1].into_iter().take(salient.into()).collect()
}

/// Quantises every matrix among the constants; [k, n] where `transposed`.
pub fn quantise(mut graph: Graph, quant: Quant, transposed: bool) -> Graph {
    for value in &mut graph.values {
        let Def::Const(tensor) = &mut value.def else { continue };
        if tensor.shape.len() != 2 || ["cos", "sin"].contains(&value.name.as_str()) {
            continue;
        }
        let rows = onnxcast::plan::weights::half_rows(tensor, transposed).expect("data");
        let (n, k) = if transposed { (tensor.shape[1], tensor.shape[0]) } else { (tensor.shape[0], tensor.shape[1]) };
        let salient = columns(k, quant.salient);
        let fit = Fit { salient: &salient, ..Fit::default() };
        let encoded = Encoded::nearest(&rows, n, k, quant, &fit).unwrap_or_else(|e| panic!("{e}"));
        *tensor = Tensor::quantised(Arc::new(encoded), transposed);
    }
    graph
}

/// Random values for inputs and states, and the scalars of a step.
fn inputs(graph: &Graph, pos: usize, rows: usize) -> HashMap<String, Array> {
    let mut random = Random::new(91 + pos as u64);
    let ids = graph.inputs.iter().chain(graph.states.iter().map(|s| &s.input));
    ids.map(|&v| {
        let value = graph.value(v);
        let mut array = match value.name.as_str() {
            "pos" => Array::scalar(pos as i32),
            "rows" => Array::scalar(rows as i32),
            _ => random.array(&value.ty),
        };
        if value.ty.shape.len() == 4 {
            crate::device::halve(&mut array);
        }
        (value.name.clone(), array)
    })
    .collect()
}

fn linear(m: usize, k: usize, n: usize, norm: Option<Norm>, nk: bool, layouts: &[Quant]) {
    for &quant in layouts {
        let graph = quantise(nodes::linear(m, k, n, norm, Some(UnaryOp::Silu), true, nk), quant, !nk);
        let what = format!("linear {m}x{k}x{n} {norm:?} {nk} {}", quant.name());
        check(&what, &graph, Precision::Int4, &inputs(&graph, 0, 0), bound(m));
    }
}

#[test]
fn one_row_times_codes() {
    for (i, (k, n)) in [(32, 1), (96, 7), (576, 5)].into_iter().enumerate() {
        linear(1, k, n, RMS, true, &some(k, i));
    }
    linear(1, 128, 33, RMS, true, &layouts(128));
    linear(1, 64, 9, None, false, &some(64, 3));
    linear(1, 160, 3, LAYER, true, &some(160, 4));
}

#[test]
fn long_rows_of_codes_are_walked_along_in_phases() {
    let all = layouts(128);
    let rare = Quant { group: 16, wide: true, ..all[2] };
    // Two phases of sixteen threads a row, one of thirty-six with a unit that is not whole, and what is corrected besides.
    linear(1, 1024, 1600, RMS, true, &[all[4]]);
    linear(1, 1152, 1603, None, false, &[all[1]]);
    linear(1, 1152, 1600, LAYER, true, &[rare]);
    let graph = quantise(nodes::gated(1, 2048, 801, RMS), all[0], false);
    check("gated 1x2048x801", &graph, Precision::Int4, &inputs(&graph, 0, 0), bound(1));
    let rope = Some(Rotary { rotary: 16, interleaved: false });
    let graph = quantise(nodes::qkv(1, 2048, heads(60, 20, 16), 32, rope, true), all[4], false);
    check_rows("qkv 1x2048", &graph, Precision::Int4, &inputs(&graph, 3, 1), HALF, Some((2, 1)));
}

#[test]
fn many_rows_times_codes() {
    for (i, (m, k, n)) in [(2, 32, 5), (9, 96, 33), (70, 128, 3)].into_iter().enumerate() {
        linear(m, k, n, RMS, true, &some(k, i));
    }
    linear(33, 64, 65, RMS, true, &layouts(64));
    linear(5, 64, 66, None, false, &some(64, 3));
    linear(17, 32, 31, LAYER, true, &some(32, 5));
}

#[test]
fn groups_of_sixteen_and_wide_numbers_are_multiplied_and_looked_up() {
    for (i, quant) in rare_layouts().into_iter().enumerate().step_by(2) {
        // A whole number of chunks, and half a chunk more.
        let k = [64, 128, 80][i % 3];
        let quant = if k == 80 { Quant { group: 16, ..quant } } else { quant };
        linear(1, k, 9, RMS, true, &[quant]);
        linear([3, 20][i % 2], k, 6, RMS, true, &[quant]);
        let graph = quantise(nodes::embedding(2, 33, k), quant, false);
        let all = HashMap::from([("tokens".to_string(), Array::i64(&[1, 2], &[32, -7]))]);
        check(&format!("embedding {}", quant.name()), &graph, Precision::Int4, &all, TIGHT);
    }
    for (i, quant) in rare_layouts().into_iter().enumerate().step_by(5) {
        let rope = Some(Rotary { rotary: 16, interleaved: false });
        let graph = quantise(nodes::qkv(1 + i % 2 * 4, 64, heads(3, 1, 16), 32, rope, true), quant, false);
        let what = format!("qkv {}", quant.name());
        check_rows(&what, &graph, Precision::Int4, &inputs(&graph, 3, 1), HALF, Some((2, 1)));
    }
}

#[test]
fn gate_and_up_of_codes_share_one_dispatch() {
    for (i, (m, k, n)) in [(1, 96, 33), (1, 64, 1), (3, 32, 7), (20, 128, 34)].into_iter().enumerate() {
        for quant in some(k, i) {
            let graph = quantise(nodes::gated(m, k, n, RMS), quant, false);
            let what = format!("gated {m}x{k}x{n} {}", quant.name());
            check(&what, &graph, Precision::Int4, &inputs(&graph, 0, 0), bound(m));
        }
    }
}

#[test]
fn projections_of_codes_turn_and_write_the_cache() {
    let rope = Some(Rotary { rotary: 16, interleaved: false });
    for (i, (m, k, at)) in [(1, 64, (3, 1)), (5, 96, (27, 5)), (20, 32, (0, 20))].into_iter().enumerate() {
        for quant in some(k, i) {
            let graph = quantise(nodes::qkv(m, k, heads(3, 1, 16), 32, rope, true), quant, false);
            let what = format!("qkv m{m} k{k} {}", quant.name());
            check_rows(&what, &graph, Precision::Int4, &inputs(&graph, at.0, at.1), HALF, Some((2, at.1)));
        }
    }
}

#[test]
fn rows_of_a_table_of_codes_are_decoded() {
    for (i, (m, vocab, k)) in [(1, 40, 32), (7, 33, 96), (3, 101, 128)].into_iter().enumerate() {
        for quant in some(k, 3 * i) {
            let graph = quantise(nodes::embedding(m, vocab, k), quant, false);
            let mut random = Random::new(5);
            let tokens: Vec<i64> = (0..m).map(|_| random.int(-(vocab as i64), vocab as i64)).collect();
            let all = HashMap::from([("tokens".to_string(), Array::i64(&[1, m], &tokens))]);
            check(&format!("embedding {m} {vocab} {k} {}", quant.name()), &graph, Precision::Int4, &all, TIGHT);
        }
    }
}

#[test]
fn a_quantised_lookup_takes_rows_of_pictures_too() {
    for (i, (m, vocab, k, pictures)) in [(1, 40, 32, 3), (9, 33, 96, 8)].into_iter().enumerate() {
        for quant in some(k, 5 * i) {
            let graph = quantise(nodes::splice(m, (vocab, k), pictures, true), quant, false);
            let rows = Random::new(3).array(&Ty::new(DType::F32, &[1, 1, pictures, k]));
            let all = HashMap::from([("tokens".into(), ids(m, vocab, pictures)), (PICTURES.into(), rows)]);
            check(&format!("splice {m} {vocab} {k} {}", quant.name()), &graph, Precision::Int4, &all, TIGHT);
        }
    }
}

#[test]
fn a_lookup_and_a_head_read_one_tensor() {
    let (vocab, k) = (37, 64);
    let quant = Quant { bits: 8, group: 64, zero: Zero::Mid, salient: 0, wide: false };
    let mut b = Build::new(3);
    let table = b.weight("table", &[vocab, k], 1.0);
    let tokens = b.input("tokens", DType::I64, &[1, 1]);
    let x = b.graph.push(Op::Gather { axis: 0 }, &[table, tokens], "x").expect("a lookup")[0];
    let op = Op::Linear { norm: RMS, bias: false, act: None, residual: false, nk: true };
    let scale = b.scale("scale", k);
    let graph = quantise(b.finish(op, &[Some(x), table, scale], &[]), quant, false);
    assert_eq!(crate::device::engine(&graph, Precision::Int4).program().tensors.len(), 2, "table and norm scale");
    let all = HashMap::from([("tokens".to_string(), Array::i64(&[1, 1], &[11]))]);
    check("tied", &graph, Precision::Int4, &all, TIGHT);
}

/// Two layers with `hidden` columns between them, as they are quantised: the width is rounded up where no group divides it.
fn two_layers(m: usize, hidden: usize) -> Graph {
    let mut b = Build::new((m * 3 + hidden) as u64);
    let x = b.float("x", &[1, m, 64]);
    let (up, bias) = (b.weight("up", &[hidden, 64], 0.2), b.weight("bias", &[hidden], 0.5));
    let down = b.weight("down", &[37, hidden], (3.0 / hidden as f32).sqrt());
    let first = Op::Linear { norm: None, bias: true, act: Some(UnaryOp::GeluTanh), residual: false, nk: true };
    let h = b.graph.push(first, &[x, up, bias], "h").expect("a valid node")[0];
    let second = Op::Linear { norm: None, bias: false, act: None, residual: false, nk: true };
    let mut graph = b.finish(second, &[Some(h), down], &[]);
    onnxcast::quantise::widen(&mut graph, 32);
    graph
}

#[test]
fn a_width_that_no_group_divides_is_multiplied_as_codes() {
    for (i, (m, hidden, width)) in [(1, 300, 320), (5, 1000, 1024), (20, 300, 320)].into_iter().enumerate() {
        for quant in some(width, i) {
            let graph = quantise(two_layers(m, hidden), Quant { group: 32, ..quant }, false);
            assert!(graph.values.iter().any(|v| v.ty.shape == [37, width]));
            let what = format!("{m} rows over {hidden} columns, {}", quant.name());
            check(&what, &graph, Precision::Int4, &inputs(&graph, 0, 0), bound(m));
        }
    }
}
