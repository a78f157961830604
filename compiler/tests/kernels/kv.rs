//! Kernels of an int8 cache, against the format of shaders/lib/cache.glsl written a second time. In: floats, or a state's bytes. Out: the
//! other. Promise: a row goes by itself: scale = largest |x| / 127, codes are x / scale to the nearest step.

use crate::decoder::inputs;
use crate::device::{Arrays, Bound, TIGHT, check_rows, compare, device, engine_in, has_two_forms, run_on};
use crate::nodes::{self, heads};
use onnxcast::graph::eval::{self, Values};
use onnxcast::graph::{Graph, Mask, Rotary};
use onnxcast::plan::{Kv, Precision, Storage};

const INT8: Storage = Storage { precision: Precision::Fp32, kv: Kv::Int8 };

/// Matrix units take what int8 codes mean as halves (shaders/lib/attention_matrix.glsl), whose last digit is 2^-12 of keys and values below one.
const AS_HALVES: Bound = Bound { absolute: 5e-4, relative: 2e-5 };

/// Rows of the last axis become codes, four a word, and behind them a scale each.
pub fn bytes(floats: &[f32], shape: &[usize]) -> Vec<u8> {
    let rows: Vec<(f32, Vec<u8>)> = floats.chunks(shape[shape.len() - 1]).map(row).collect();
    let mut out: Vec<u8> = rows.iter().flat_map(|(_, codes)| codes).copied().collect();
    out.resize(out.len().next_multiple_of(16), 0);
    out.extend(rows.iter().flat_map(|(scale, _)| scale.to_le_bytes()));
    out
}

/// A row with a NaN keeps one as its scale, so that whoever reads it is found out.
fn row(x: &[f32]) -> (f32, Vec<u8>) {
    let top = x.iter().fold(0.0f32, |top, x| if x.is_nan() { f32::NAN } else { top.max(x.abs()) });
    let scale = if x.iter().any(|x| x.is_nan()) { f32::NAN } else { top / 127.0 };
    let code = |x: &f32| if scale > 0.0 { ((x / scale).round_ties_even() + 128.0) as u8 } else { 128 };
    (scale, x.iter().map(code).collect())
}

/// What the codes and scales of a state stand for.
pub fn values(bytes: &[u8], shape: &[usize]) -> Vec<f32> {
    let (d, elements) = (shape[shape.len() - 1], shape.iter().product::<usize>());
    let scales = bytes[elements.next_multiple_of(16)..].as_chunks::<4>().0;
    let scale = |i: usize| f32::from_le_bytes(scales[i / d]);
    bytes[..elements].iter().enumerate().map(|(i, code)| (f32::from(*code) - 128.0) * scale(i)).collect()
}

/// Rounds a cache as an int8 one would.
pub fn round(floats: &mut [f32], shape: &[usize]) {
    let rounded = values(&bytes(floats, shape), shape);
    floats.copy_from_slice(&rounded);
}

/// As `inputs`, with cache rows that an int8 cache holds exactly.
fn rounded_inputs(graph: &Graph, pos: usize, rows: usize) -> Arrays {
    let mut all = inputs(graph, pos, rows);
    for state in &graph.states {
        let value = graph.value(state.input);
        if let Some(Values::F32(v)) = all.get_mut(&value.name).map(|array| &mut array.data) {
            round(v, &value.ty.shape);
        }
    }
    all
}

fn attention(m: usize, h: (usize, usize, usize), c: usize, mask: Mask, at: (usize, usize)) {
    let graph = nodes::cached_attention(m, heads(h.0, h.1, h.2), c, mask);
    let what = format!("int8 attention m{m} {h:?} c{c} {mask:?} {at:?}");
    let bound = if m >= 16 && device().limits().matrix { AS_HALVES } else { TIGHT };
    check_rows(&what, &graph, INT8, &rounded_inputs(&graph, at.0, at.1), bound, Some((1, at.1)));
}

#[test]
fn attention_multiplies_codes_by_the_scale_of_their_row() {
    for (m, at) in [(1, (0, 1)), (1, (299, 1)), (5, (126, 5)), (33, (200, 33))] {
        attention(m, (4, 2, 16), 300, Mask::Causal, at);
        attention(m, (3, 1, 64), 300, Mask::Causal, at);
        attention(m, (2, 2, 8), 300, Mask::Window(7), at);
        attention(m, (2, 1, 12), 301, Mask::Causal, at);
    }
    attention(1, (2, 1, 128), 1030, Mask::Causal, (1029, 1));
    for pos in [0, 127, 128, 1023] {
        attention(1, (7, 1, 64), 1024, Mask::Causal, (pos, 1));
        attention(1, (2, 2, 64), 1024, Mask::Window(100), (pos, 1));
    }
    attention(1, (2, 1, 72), 603, Mask::Causal, (602, 1));
    attention(16, (4, 2, 16), 32, Mask::Causal, (28, 4));
}

/// Runs a graph that writes caches. Rows pos..pos + rows are half a step of their own scale off at most, the others as they were.
fn writes(what: &str, graph: &Graph, at: (usize, usize), edit: &dyn Fn(&mut Arrays)) {
    let mut all = rounded_inputs(graph, at.0, at.1);
    edit(&mut all);
    let want = eval::run(graph, &all).unwrap_or_else(|e| panic!("{what}: {e}"));
    for general in [false, true] {
        let mut engine = engine_in(graph, INT8, general);
        if general && !engine.program().kernels.iter().any(has_two_forms) {
            continue;
        }
        let got = run_on(&mut engine, graph, INT8, &all);
        for output in &graph.outputs {
            let m = graph.shape(output.value)[2];
            let d = graph.shape(output.value)[3];
            let live = |i: usize| i / d % m < at.1;
            compare(&format!("{what}, {}", output.name), &got[&output.name], &want[&output.name], TIGHT, &live);
        }
        for state in &graph.states {
            let value = graph.value(state.input);
            let (c, d) = (value.ty.shape[2], value.ty.shape[3]);
            let (got, want) = (&got[&value.name], &want[&value.name]);
            let fresh = |i: usize| (at.0..at.0 + at.1).contains(&(i / d % c));
            compare(&format!("{what}, old rows of {}", value.name), got, want, TIGHT, &|i| !fresh(i));
            let (got, want) = (got.to_f32(), want.to_f32());
            for (row, (got, want)) in got.chunks(d).zip(want.chunks(d)).enumerate().filter(|(row, _)| fresh(row * d)) {
                let scale = want.iter().fold(0.0f32, |top, x| top.max(x.abs())) / 127.0;
                let off = got.iter().zip(want).fold(0.0f32, |worst, (g, w)| worst.max((g - w).abs()));
                assert!(off <= scale * 0.502, "{what}, row {row}: off by {} steps", off / scale);
            }
        }
    }
}

#[test]
fn projection_writes_rows_to_the_nearest_code() {
    let half = |rotary| Some(Rotary { rotary, interleaved: false });
    let pair = |rotary| Some(Rotary { rotary, interleaved: true });
    for (m, at) in [(1, (31, 1)), (3, (5, 3)), (16, (28, 4))] {
        for (k, h, rope, bias) in [
            (64, (4, 2, 16), half(16), true),
            (40, (3, 1, 8), pair(8), false),
            (33, (2, 1, 12), None, false),
            (31, (2, 1, 8), pair(6), false),
        ] {
            let graph = nodes::qkv(m, k, heads(h.0, h.1, h.2), 32, rope, bias);
            writes(&format!("int8 qkv m{m} k{k} {h:?} {rope:?} {at:?}"), &graph, at, &|_| ());
        }
    }
    let graph = nodes::qkv(129, 96, heads(3, 1, 8), 200, half(8), true);
    writes("int8 qkv of a long chunk", &graph, (60, 129), &|_| ());
}

#[test]
fn rows_alone_are_written_to_the_nearest_code() {
    for (m, at) in [(1, (0, 1)), (1, (32, 1)), (3, (4, 2)), (16, (29, 4))] {
        for d in [4, 12, 64, 260] {
            writes(&format!("int8 write m{m} d{d} {at:?}"), &nodes::kv_write(m, heads(2, 2, d), 33), at, &|_| ());
        }
    }
}

#[test]
fn rows_of_zeros_and_of_extremes_stay_finite() {
    let graph = nodes::kv_write(4, heads(2, 2, 12), 33);
    let rows = [0.0, 1e-39, 1.5e-30, 2.9e38];
    writes("extremes", &graph, (7, 4), &|all| {
        if let Some(Values::F32(v)) = all.get_mut("new").map(|array| &mut array.data) {
            v.iter_mut().enumerate().for_each(|(i, x)| *x *= rows[i / 12 % 4]);
            // What no normal scale can carry counts as zero.
            v.iter_mut().filter(|x| x.abs() < 1e-38).for_each(|x| *x = 0.0);
        }
    });
}
