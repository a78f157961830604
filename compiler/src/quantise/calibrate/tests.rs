use super::moments::{Trust, factor, second, squares};
use super::*;
use crate::graph::eval::{self, Array, Values};
use crate::graph::quant::Fit;
use crate::graph::{DType, Def, Graph, State, Ty, ValueId, parse, verify};
use crate::lock::Lock;
use crate::quantise::{Report, Settings, choose, run};
use std::collections::HashMap;

/// Values around zero from a fixed sequence.
fn random(n: usize, seed: u32) -> Vec<f32> {
    let mut x = seed;
    let mut next = || {
        x = x.wrapping_mul(1664525).wrapping_add(1013904223);
        (x >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..n).map(|_| (next() + next() + next()) / 3.0).collect()
}

/// Inputs whose columns go together, some far larger than others.
fn inputs(rows: usize, k: usize) -> Vec<f32> {
    let (common, own) = (random(rows, 5), random(rows * k, 6));
    let size = |c: usize| if c % 16 == 3 { 8.0 } else { 0.2 + (c % 5) as f32 * 0.3 };
    (0..rows * k).map(|i| (own[i] + 1.5 * common[i / k]) * size(i % k)).collect()
}

fn quant(group: u16, zero: Zero) -> Quant {
    Quant { bits: 4, group, zero, salient: 0, wide: false }
}

#[test]
fn second_moments_are_the_sums_of_products() {
    let (rows, k) = (37, 21);
    let x = inputs(rows, k);
    let h = second(&x, k);
    for i in 0..k {
        for j in 0..k {
            let want: f64 =
                (0..rows).map(|r| f64::from(x[r * k + i]) * f64::from(x[r * k + j])).sum::<f64>() / rows as f64;
            assert!((f64::from(h[i * k + j]) - want).abs() < 1e-5 * (1.0 + want.abs()), "{i} {j}");
        }
    }
    let diagonal: Vec<f32> = (0..k).map(|i| h[i * k + i]).collect();
    squares(&x, k).iter().zip(diagonal).for_each(|(a, b)| assert!((a - b).abs() < 1e-5 * a));
}

#[test]
fn a_factor_times_its_transpose_is_the_matrix() {
    for k in [1, 31, 32, 100] {
        let h = Trust { shrink: 0.2, damp: 0.01 }.apply(&second(&inputs(3 * k, k), k), k);
        let v = factor(h.clone(), k).unwrap();
        for i in 0..k {
            for j in i..k {
                let got: f64 = (j..k).map(|l| v[i * k + l] * v[j * k + l]).sum();
                assert!((got - h[i * k + j]).abs() < 1e-9 * h[i * k + i].max(h[j * k + j]), "{k}: {i} {j}");
            }
        }
    }
}

#[test]
fn moments_that_are_no_numbers_are_an_error() {
    let h = Trust { shrink: 0.0, damp: 0.01 }.apply(&second(&[f32::NAN; 8], 4), 4);
    assert!(factor(h, 4).unwrap_err().to_string().contains("second moment is NaN"));
}

#[test]
fn compensating_is_never_worse_than_the_nearest_in_its_own_measure_and_mostly_far_better() {
    let (n, k) = (24, 128);
    let (x, w) = (inputs(600, k), random(n * k, 9));
    let h = second(&x, k);
    for zero in Zero::ALL {
        for group in [32, 128] {
            let q = quant(group, zero);
            let fit = Fit { importance: &squares(&x, k), ..Fit::default() };
            let nearest = Encoded::nearest(&w, n, k, q, &fit).unwrap().decode();
            let trust = Trust { shrink: 0.0, damp: 1e-6 };
            let best = compensate(&w, (n, k), q, Known { second: &h, trust }).unwrap().0.decode();
            for r in 0..n {
                let of = |got: &[f32]| output_error(&x, k, &w[r * k..][..k], &got[r * k..][..k]);
                assert!(of(&best) <= of(&nearest) * (1.0 + 1e-3), "{zero:?} {group} row {r}");
            }
            let (a, b) = (output_error(&x, k, &w, &best), output_error(&x, k, &w, &nearest));
            assert!(a < 0.8 * b, "{zero:?} {group}: {a}, nearest {b}");
        }
    }
}

#[test]
fn what_lies_on_a_grid_stays_as_it_is() {
    let (n, k) = (8, 64);
    let w: Vec<f32> = (0..n * k).map(|i| ((i * 7 + i / 64) % 16) as f32 * 0.0625 - 0.5).collect();
    let h = second(&inputs(50, k), k);
    for trust in [Trust { shrink: 0.0, damp: 0.01 }, TRUST] {
        let got = compensate(&w, (n, k), quant(32, Zero::Min), Known { second: &h, trust }).unwrap().0.decode();
        assert_eq!(got, w);
    }
}

#[test]
fn without_correlations_compensating_is_rounding_to_nearest() {
    let (n, k) = (8, 64);
    let (x, w) = (inputs(50, k), random(n * k, 3));
    let trust = Trust { shrink: 1.0, damp: 0.0 };
    let known = Known { second: &second(&x, k), trust };
    let (got, _) = compensate(&w, (n, k), quant(64, Zero::Min), known).unwrap();
    let fit = Fit { importance: &squares(&x, k), ..Fit::default() };
    let nearest = Encoded::nearest(&w, n, k, quant(64, Zero::Min), &fit).unwrap();
    assert!(output_error(&x, k, &got.decode(), &nearest.decode()) < 1e-6);
}

#[test]
fn shares_of_rows_do_not_change_what_they_get() {
    let (rows, k) = (70, 45);
    let x = inputs(rows, k);
    let whole = second(&x, k);
    // Two columns' products with all, alone.
    for c in [0, 31, 44] {
        let column: Vec<f32> = x.iter().skip(c).step_by(k).copied().collect();
        let (a, b) =
            (ArrayView2::from_shape((1, rows), &column).unwrap(), ArrayView2::from_shape((rows, k), &x).unwrap());
        let mut out = ndarray::Array2::<f32>::zeros((1, k));
        general_mat_mul(1.0 / rows as f32, &a, &b, 0.0, &mut out);
        assert_eq!(out.as_slice().unwrap(), &whole[c * k..][..k]);
    }
}

/// A decoder of one layer that takes four tokens at a time; `rows` of its cache are 16. Column 5 of what gate and up read is
/// `outlier` times as large as the others.
fn decoder(outlier: f32) -> Graph {
    let text = "graph one
input %tokens: i64[1,4]
input %pos: i32[]
input %rows: i32[]
state %kc: f32[1,1,16,32] -> %k
state %vc: f32[1,1,16,32] -> %v
const %table: f32[50,64] = random(1, 0.5)
const %n1: f32[64] = random(2, 0.9)
const %wq: f32[64,64] = random(3, 0.2)
const %wk: f32[32,64] = random(4, 0.2)
const %wv: f32[32,64] = random(5, 0.2)
const %wo: f32[64,64] = random(6, 0.2)
const %n2: f32[64] = random(7, 0.9)
const %gate: f32[128,64] = random(8, 0.2)
const %up: f32[128,64] = random(9, 0.2)
const %down: f32[64,128] = random(10, 0.2)
const %n3: f32[64] = random(11, 0.9)
const %head: f32[50,64] = random(12, 0.2)
%x = Gather(%table, %tokens) axis=0
%q, %k, %v = Qkv(%x, %wq, %wk, %wv, %kc, %vc, %pos, %rows, %n1) heads=2/1x32 norm=rms(1e-5) nk
%a = CachedAttention(%q, %k, %v, %pos) heads=2/1x32 scale=0.17 mask=causal
%o = Linear(%a, %wo, %x) residual nk
%h = GatedLinear(%o, %gate, %up, %n2) norm=rms(1e-5) act=Silu nk
%y = Linear(%h, %down, %o) residual nk
%last = LastRow(%y, %rows)
%logits = Linear(%last, %head, %n3) norm=rms(1e-5) nk
output %logits
";
    let mut graph = parse(text).unwrap();
    let scale = graph.values.iter_mut().find(|v| v.name == "n2").unwrap();
    let Def::Const(tensor) = &mut scale.def else { unreachable!() };
    let mut values: Vec<f32> = bytemuck::pod_collect_to_vec(tensor.bytes().unwrap());
    values[5] = outlier;
    *tensor = Tensor::f32(&[64], &values);
    verify(&graph).unwrap();
    graph
}

fn tokens(n: u32) -> Vec<u32> {
    (0..n).map(|i| (i * 31 + i / 3) % 50).collect()
}

fn node(graph: &Graph, name: &str) -> usize {
    graph.nodes.iter().position(|n| n.outputs.iter().any(|v| graph.value(*v).name == name)).unwrap()
}

fn bucket(graph: Graph) -> BucketGraph {
    BucketGraph { name: "prefill".into(), file: "one".into(), rows: 4, decoder: true, graph }
}

fn quantised(graph: Graph, settings: &Settings, method: Method, ids: Vec<u32>) -> (Graph, Report) {
    let mut buckets = [bucket(graph)];
    let mut strategy = Calibrated::new(ids, method, settings.guard, &buckets).unwrap();
    let report = run(&mut buckets, &Lock::default(), settings, &mut strategy).unwrap();
    let [bucket] = buckets;
    verify(&bucket.graph).unwrap();
    (bucket.graph, report)
}

/// What `down` multiplies for ten tokens, chunk by chunk in the interpreter.
fn chunk_by_chunk(graph: &Graph, ids: &[u32], down: usize) -> Vec<f32> {
    let find = |name: &str| ValueId(graph.values.iter().position(|v| v.name == name).unwrap() as u32);
    let h = graph.nodes[down].input(0).unwrap();
    let [kc, vc] = ["kc", "vc"].map(find);
    let mut caches = [kc, vc].map(|v| Array::zeros(graph.ty(v)));
    let mut out = vec![];
    for (i, ids) in ids.chunks(4).enumerate() {
        let mut padded: Vec<i64> = ids.iter().map(|&t| i64::from(t)).collect();
        padded.resize(4, 0);
        let mut given = HashMap::from([(kc, caches[0].clone()), (vc, caches[1].clone())]);
        given.insert(find("tokens"), Array::i64(&[1, 4], &padded));
        given.insert(find("pos"), Array::scalar(4 * i as i32));
        given.insert(find("rows"), Array::scalar(ids.len() as i32));
        let made = eval::values(graph, given, &[h, find("k"), find("v")]).unwrap();
        out.extend_from_slice(&made[0].to_f32()[..ids.len() * 128]);
        caches = [made[1].clone(), made[2].clone()];
    }
    out
}

#[test]
fn a_walk_gives_what_the_interpreter_gives_chunk_by_chunk() {
    let (graph, ids) = (decoder(1.0), tokens(10));
    let down = node(&graph, "y");
    let want = chunk_by_chunk(&graph, &ids, down);
    assert_eq!(Walk::new(graph, &ids).unwrap().multiplied(down).unwrap(), want);
}

#[test]
fn texts_longer_than_the_cache_are_cut_into_windows() {
    let (graph, ids) = (decoder(1.0), tokens(40));
    let down = node(&graph, "y");
    let want: Vec<f32> = ids.chunks(16).flat_map(|ids| chunk_by_chunk(&graph, ids, down)).collect();
    assert_eq!(Walk::new(graph, &ids).unwrap().multiplied(down).unwrap(), want);
}

#[test]
fn the_head_is_calibrated_on_every_row_not_on_the_last_alone() {
    let (graph, ids) = (decoder(1.0), tokens(10));
    let head = node(&graph, "logits");
    assert_eq!(Walk::new(graph, &ids).unwrap().multiplied(head).unwrap().len(), 10 * 64);
}

#[test]
fn a_layer_is_calibrated_on_what_the_quantised_layers_before_it_give() {
    let (graph, ids) = (decoder(1.0), tokens(32));
    let (got, _) = quantised(graph.clone(), &Settings::default(), Method::Gptq, ids.clone());
    let down = node(&graph, "y");
    let mut seen = Walk::new(graph.clone(), &ids).unwrap();
    for v in 0..graph.values.len() {
        if let (Def::Const(t), true) = (&got.values[v].def, graph.values[v].name != "down") {
            seen.replace(ValueId(v as u32), t.clone());
        }
    }
    let x = seen.multiplied(down).unwrap();
    let value = graph.nodes[down].input(1).unwrap();
    let rows: Vec<f32> = bytemuck::pod_collect_to_vec::<_, f32>(graph.constant(value).unwrap().bytes().unwrap());
    let rows: Vec<f32> = rows.into_iter().map(|v| half::f16::from_f32(v).to_f32()).collect();
    let known = Known { second: &second(&x, 128), trust: TRUST };
    let want = compensate(&rows, (64, 128), quant(64, Zero::Min), known).unwrap().0.decode();
    let codes: Vec<f32> = bytemuck::pod_collect_to_vec(got.constant(value).unwrap().bytes().unwrap());
    assert_eq!(codes, want);
}

#[test]
fn the_same_text_gives_the_same_codes() {
    for method in [Method::Weighted, Method::Gptq] {
        let of = |ids| {
            let (graph, report) = quantised(decoder(1.0), &Settings::default(), method, ids);
            let encoded = graph.values.iter().filter_map(|v| match &v.def {
                Def::Const(t) => t.encoded().map(|e| e.hash().to_string()),
                _ => None,
            });
            (encoded.collect::<Vec<_>>(), report.text())
        };
        assert_eq!(of(tokens(40)), of(tokens(40)));
        assert_ne!(of(tokens(40)).0, of(tokens(24)).0, "another text, other codes");
    }
}

#[test]
fn an_output_error_over_the_guard_gets_eight_bits_and_the_report_says_why() {
    // One column carries nearly all of the output, and its weights are the smallest of their groups.
    let mut graph = decoder(60.0);
    for name in ["gate", "up"] {
        let value = graph.values.iter_mut().find(|v| v.name == name).unwrap();
        let Def::Const(tensor) = &mut value.def else { unreachable!() };
        let mut w: Vec<f32> = bytemuck::pod_collect_to_vec(tensor.bytes().unwrap());
        w.iter_mut().skip(5).step_by(64).for_each(|w| *w *= 0.02);
        *tensor = Tensor::f32(&[128, 64], &w);
    }
    let settings = Settings { guard: 0.12, ..Settings::default() };
    let (plain, _) = quantised(decoder(1.0), &settings, Method::Nearest, tokens(40));
    let layout = |graph: &Graph, name: &str| {
        let value = graph.values.iter().position(|v| v.name == name).unwrap();
        graph.constant(ValueId(value as u32)).unwrap().quant().map_or("kept".into(), Quant::name)
    };
    assert_eq!(layout(&plain, "gate"), "q4_g64_min");
    let (got, report) = quantised(graph.clone(), &settings, Method::Nearest, tokens(40));
    assert_eq!([layout(&got, "gate"), layout(&got, "up")], ["q8_g64_mid", "q8_g64_mid"], "{}", report.text());
    assert_eq!(layout(&got, "wq"), "q4_g64_min");
    assert!(report.text().contains("(4 bits leave an output error of"), "{}", report.text());
    let (got, report) = quantised(graph, &Settings { guard: 1e-6, ..settings }, Method::Gptq, tokens(40));
    assert_eq!(layout(&got, "gate"), "kept");
    assert!(report.text().contains("(8 bits leave an output error of"), "{}", report.text());
}

#[test]
fn what_a_text_cannot_drive_is_rounded_to_nearest_and_says_so() {
    let graph =
        parse("graph g\ninput %x: f32[1,64]\nconst %w: f32[64,64] = random(1)\n%y = Linear(%x, %w) nk\noutput %y");
    let buckets = [bucket(graph.unwrap())];
    let tokenizer = std::fs::read("../models/tiny/tokenizer.json").unwrap();
    let name = |settings: &Settings, tokenizer| choose::strategy(settings, tokenizer, None, &buckets).map(|s| s.name());
    let settings = Settings::default();
    assert_eq!(name(&settings, None).unwrap(), "nearest, as the model has no tokenizer");
    assert_eq!(
        name(&settings, Some(&tokenizer)).unwrap(),
        "nearest, as the graph needs 'x', which a text does not give"
    );
    let forced = Settings { method: Some(Method::Gptq), ..settings };
    assert!(name(&forced, Some(&tokenizer)).unwrap_err().to_string().contains("needs 'x'"));
    let buckets = [bucket(decoder(1.0))];
    let name = |text| {
        let settings = Settings { tokens: 100, ..forced.clone() };
        choose::strategy(&settings, Some(&tokenizer), text, &buckets).map(|s| s.name())
    };
    assert_eq!(name(None).unwrap(), "gptq on 100 tokens");
    assert!(name(Some("")).unwrap_err().to_string().contains("the text is empty"));
}

#[test]
fn a_table_of_four_bits_is_measured_on_the_head_s_inputs_and_guarded_too() {
    let mut graph = decoder(1.0);
    let find = |graph: &Graph, name: &str| ValueId(graph.values.iter().position(|v| v.name == name).unwrap() as u32);
    // The head is the table.
    let (head, table) = (node(&graph, "logits"), find(&graph, "table"));
    graph.nodes[head].inputs[1] = Some(table);
    let settings = Settings { table_bits: 4, ..Settings::default() };
    let row = |settings: &Settings| quantised(graph.clone(), settings, Method::Gptq, tokens(40)).1.rows[0].clone();
    let four = row(&settings);
    assert_eq!((four.name.as_str(), four.quant.map(|q| q.bits)), ("table", Some(4)));
    assert!(four.output_error.is_some_and(|e| e > 0.01 && e < 0.2), "{four:?}");
    let eight = row(&Settings { guard: four.output_error.unwrap() * 0.9, ..settings });
    assert_eq!(eight.quant.map(|q| q.bits), Some(8), "{eight:?}");
}

#[test]
fn two_columns_of_large_inputs_are_the_salient_ones_and_their_error_is_gone() {
    let (n, k) = (24, 128);
    let size = |c: usize| if c == 17 || c == 90 { 30.0 } else { 1.0 };
    let x: Vec<f32> = random(600 * k, 6).into_iter().enumerate().map(|(i, v)| v * size(i % k)).collect();
    let (w, second, squares) = (random(n * k, 9), second(&x, k), squares(&x, k));
    let codes = |method, salient| {
        let quant = Quant { salient, ..quant(64, Zero::Min) };
        match method {
            Method::Gptq => compensate(&w, (n, k), quant, Known { second: &second, trust: TRUST }),
            Method::Weighted => salient::nearest(&w, (n, k), quant, Minds { grids: &squares, columns: &squares }),
            Method::Nearest => salient::nearest(&w, (n, k), quant, Minds { grids: &[], columns: &squares }),
        }
    };
    for method in [Method::Nearest, Method::Weighted, Method::Gptq] {
        let (plain, (got, chosen)) = (codes(method, 0).unwrap().0.decode(), codes(method, 2).unwrap());
        assert!(chosen.by_input && chosen.columns.len() == 2);
        // What is left when the two columns of the plain codes are made exact.
        let made_exact = |i: usize| chosen.columns.contains(&((i % k) as u32));
        let exact = plain.iter().zip(&w).enumerate().map(|(i, (p, w))| if made_exact(i) { *w } else { *p });
        let exact: Vec<f32> = exact.collect();
        let [before, left, got] = [&plain, &exact, &got.decode()].map(|q| output_error(&x, k, &w, q));
        assert!(got < 1.02 * left && left < before, "{method:?}: {before}, {left}, {got}");
        // Grids that mind inputs already serve these two columns; others may have more of the error.
        if method == Method::Nearest {
            assert_eq!(chosen.columns, [17, 90]);
            assert!(got < 0.5 * before, "{before}, {got}");
        }
    }
}

#[test]
fn compensating_knows_which_columns_are_salient() {
    let (n, k) = (24, 128);
    let (x, w) = (inputs(600, k), random(n * k, 9));
    let (second, squares) = (second(&x, k), squares(&x, k));
    let known = Known { second: &second, trust: Trust { shrink: 0.0, damp: 1e-6 } };
    let quant = |salient| Quant { salient, ..quant(64, Zero::Min) };
    let (best, chosen) = compensate(&w, (n, k), quant(4), known).unwrap();
    let minds = Minds { grids: &squares, columns: &squares };
    let (nearest, same) = salient::nearest(&w, (n, k), quant(4), minds).unwrap();
    assert_eq!(chosen.columns, same.columns);
    let late = compensate(&w, (n, k), quant(0), known).unwrap().0.decode();
    let late = late.iter().zip(&w).enumerate().map(
        |(i, (q, w))| {
            if chosen.columns.contains(&((i % k) as u32)) { *w } else { *q }
        },
    );
    let of = |got: &[f32]| output_error(&x, k, &w, got);
    let (best, nearest, late) = (of(&best.decode()), of(&nearest.decode()), of(&late.collect::<Vec<_>>()));
    assert!(best < 0.8 * nearest && best < 0.8 * late, "{best}, nearest {nearest}, corrected afterwards {late}");
}

#[test]
fn a_salient_column_may_spare_a_matrix_its_eight_bits() {
    // As where the guard is passed: one column of small weights carries nearly all of the output.
    let mut graph = decoder(60.0);
    for name in ["gate", "up"] {
        let value = graph.values.iter_mut().find(|v| v.name == name).unwrap();
        let Def::Const(tensor) = &mut value.def else { unreachable!() };
        let mut w: Vec<f32> = bytemuck::pod_collect_to_vec(tensor.bytes().unwrap());
        w.iter_mut().skip(5).step_by(64).for_each(|w| *w *= 0.02);
        *tensor = Tensor::f32(&[128, 64], &w);
    }
    let row = |salient| {
        let settings = Settings { guard: 0.12, salient, ..Settings::default() };
        let report = quantised(graph.clone(), &settings, Method::Nearest, tokens(40)).1;
        report.rows.into_iter().find(|r| r.name == "gate+up").unwrap()
    };
    let (without, with) = (row(0), row(1));
    assert_eq!([&without, &with].map(|r| r.quant.map(Quant::name).unwrap()), ["q8_g64_mid", "q4_g64_min_s1"]);
    assert!(with.output_error < Some(0.12) && with.why.is_empty(), "{with:?}");
    assert!(with.salient.contains("error over the inputs") && without.salient.is_empty(), "{with:?}");
}

/// Two layers of a graph that takes no tokens, with a width between them that no group divides.
const TOWER: &str = "graph tower
input %pixels: f32[1,9,64]
const %scale: f32[64] = random(21, 0.9)
const %shift: f32[64] = random(22, 0.1)
const %fc1: f32[300,64] = random(23, 0.2)
const %b1: f32[300] = random(24, 0.1)
const %fc2: f32[300,64] = random(25, 0.2)
const %b2: f32[64] = random(26, 0.1)
%h = Linear(%pixels, %fc1, %scale, %shift, %b1) norm=layer(1e-6) bias act=GeluTanh nk
%y = Linear(%h, %fc2, %b2, %pixels) bias residual
output %y
";

#[test]
fn a_tower_beside_a_decoder_is_quantised_without_a_calibration_and_reported_on_its_own() {
    let mut tower = parse(TOWER).unwrap();
    crate::quantise::widen(&mut tower, 64);
    let tower = BucketGraph { name: "vision".into(), file: "tower".into(), rows: 9, decoder: false, graph: tower };
    let settings = Settings::default();
    let mut buckets = [tower.clone(), bucket(decoder(1.0))];
    let mut strategy = Calibrated::new(tokens(32), Method::Gptq, settings.guard, &buckets).unwrap();
    let report = run(&mut buckets, &Lock::default(), &settings, &mut strategy).unwrap();
    let of = |graph: &'static str| report.rows.iter().filter(move |r| r.graph == graph);
    let layouts: Vec<(&str, usize, String, bool)> =
        of("tower").map(|r| (r.name.as_str(), r.k, r.quant.unwrap().name(), r.output_error.is_some())).collect();
    let g64 = "q4_g64_min".to_string();
    assert_eq!(layouts, [("fc1", 64, g64.clone(), false), ("fc2", 320, g64, false)]);
    assert!(of("one").filter(|r| r.role == Role::Linear).all(|r| r.output_error.is_some()));
    let text = report.text();
    assert!(text.contains("# graph tower: 40960 weights in ") && text.contains("# graph one: "), "{text}");

    let x = Array::new(DType::F32, vec![1, 9, 64], Values::F32((0..576).map(|i| (i * 7 % 19) as f32 / 9.0).collect()));
    let y = |graph: &Graph| {
        eval::run(graph, &HashMap::from([("pixels".to_string(), x.clone())])).unwrap()["y"].to_f32().to_vec()
    };
    let (exact, got) = (y(&tower.graph), y(&buckets[0].graph));
    let far: f32 = exact.iter().zip(&got).map(|(a, b)| (a - b).powi(2)).sum();
    let size: f32 = exact.iter().map(|a| a * a).sum();
    assert!(far > 0.0 && far < 0.02 * size, "{far} of {size}");
}

#[test]
fn a_state_that_no_node_writes_is_empty_in_every_chunk_and_limits_no_window() {
    let (mut graph, ids) = (decoder(1.0), tokens(10));
    let down = node(&graph, "y");
    let want = Walk::new(graph.clone(), &ids).unwrap().multiplied(down).unwrap();
    let pictures = graph.add_value("pictures", Ty::new(DType::F32, &[1, 1, 2, 64]), Def::Input);
    graph.states.insert(0, State { input: pictures, output: pictures });
    assert_eq!(Walk::new(graph, &ids).unwrap().multiplied(down).unwrap(), want);
}
