//! Fixtures: a pass over a graph in text form, eval before and after.

use super::*;
use crate::graph::eval::{self, Array, Values};
use crate::graph::{DType, Graph, ValueId, parse, print};
use std::collections::HashMap;

const DECODER: &str = include_str!("fixtures/decoder.txt");

/// Numbers that differ from element to element and from input to input.
fn noise(graph: &Graph, id: ValueId) -> Array {
    let ty = graph.ty(id);
    let mut state = 0x9e37_79b9u32.wrapping_mul(id.0 + 1);
    let data = (0..ty.elements()).map(|_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    });
    Array::new(ty.dtype, ty.shape.clone(), Values::F32(data.collect()))
}

fn ints(dtype: DType, shape: &[usize], values: &[i64]) -> Array {
    Array::new(dtype, shape.to_vec(), Values::Int(values.to_vec()))
}

fn floats(a: &Array) -> &[f32] {
    match &a.data {
        Values::F32(x) => x,
        other => panic!("not f32: {other:?}"),
    }
}

fn gap(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

fn fused(text: &str) -> (Graph, Log) {
    let mut graph = parse(text).unwrap();
    let mut log = Log::default();
    run(&mut graph, ORDER, &mut log).unwrap_or_else(|e| panic!("{e}\n{}", log.lines.join("\n")));
    (graph, log)
}

/// The body of the printed form: nodes only.
fn nodes(graph: &Graph) -> String {
    print(graph).lines().filter(|l| l.starts_with('%')).map(|l| format!("{l}\n")).collect()
}

#[test]
fn a_decoder_becomes_five_operators_a_layer() {
    let (graph, _) = fused(DECODER);
    let ops: Vec<String> = graph.nodes.iter().map(|n| format!("{:?}", n.op)).collect();
    let names: Vec<&str> = ops.iter().map(|o| o.split([' ', '{']).next().unwrap()).collect();
    assert_eq!(
        names,
        ["Gather", "Qkv", "CachedAttention", "Linear", "GatedLinear", "Linear", "LastRow", "Linear"],
        "{}",
        nodes(&graph)
    );
}

/// Runs the exported graph and the fused one with `pos` rows in the cache and compares the last row's logits and the new rows.
fn compare(text: &str, pos: usize, rows: usize) -> f32 {
    let before = parse(text).unwrap();
    let (after, _) = fused(text);
    let (s, past, total) = (2usize, 6usize, 8usize);
    let tokens: Vec<i64> = (0..s as i64).map(|i| 3 + 5 * i).collect();
    let slots: Vec<i64> = (0..total).map(|j| i64::from(j < pos || j >= past)).collect();
    let positions: Vec<i64> = (0..s).map(|i| (pos + i) as i64).collect();
    let mut given = HashMap::new();
    given.insert("input_ids".to_string(), ints(DType::I64, &[1, s], &tokens));
    given.insert("attention_mask".to_string(), ints(DType::I64, &[1, total], &slots));
    given.insert("position_ids".to_string(), ints(DType::I64, &[1, s], &positions));
    let caches = [before.inputs[3], before.inputs[4]];
    for c in caches {
        given.insert(before.value(c).name.clone(), noise(&before, c));
    }
    let want = eval::run(&before, &given).unwrap();

    let mut fed = HashMap::new();
    fed.insert("tokens".to_string(), ints(DType::I64, &[1, s], &tokens));
    fed.insert("pos".to_string(), ints(DType::I32, &[], &[pos as i64]));
    fed.insert("rows".to_string(), ints(DType::I32, &[], &[rows as i64]));
    for state in &after.states {
        let name = after.value(state.input).name.clone();
        let old = floats(&given[&name]);
        let mut cache = vec![7.5; total * 4];
        cache[..pos * 4].copy_from_slice(&old[..pos * 4]);
        fed.insert(name, Array::new(DType::F32, vec![1, 1, total, 4], Values::F32(cache)));
    }
    let got = eval::run(&after, &fed).unwrap();
    let row = &floats(&want["logits"])[(rows - 1) * 16..rows * 16];
    let mut worst = gap(row, floats(&got["logits"]));
    for (name, present) in [("past.key", "present.key"), ("past.value", "present.value")] {
        let new = &floats(&want[present])[past * 4..(past + rows) * 4];
        let cache = floats(&got[name]);
        worst = worst.max(gap(new, &cache[pos * 4..(pos + rows) * 4]));
        assert_eq!(cache[(pos + rows) * 4..], vec![7.5; (total - pos - rows) * 4], "rows past the live ones stay");
    }
    worst
}

#[test]
fn the_fused_decoder_equals_the_exported_one_wherever_the_chunk_starts() {
    for (pos, rows) in [(0, 1), (0, 2), (1, 2), (3, 2), (5, 1), (6, 2)] {
        let worst = compare(DECODER, pos, rows);
        assert!(worst < 2e-5, "pos {pos}, rows {rows}: {worst}");
    }
}

#[test]
fn weights_may_be_stored_transposed() {
    let turned = DECODER
        .replace("const %wo: f32[8,8] = random(6)", "const %wot: f32[8,8] = random(6)")
        .replace("%o = MatMul(%o2, %wo)", "%wo = Transpose(%wot) perm=[1,0]\n%o = MatMul(%o2, %wo)");
    let (graph, _) = fused(&turned);
    assert!(nodes(&graph).lines().any(|l| l.contains("Linear") && l.contains("residual nk")), "{}", nodes(&graph));
    assert!(compare(&turned, 3, 2) < 2e-5);
}

#[test]
fn scale_may_stand_on_queries_and_keys() {
    let split = DECODER
        .replace(
            "%kt = Transpose(%keysr) perm=[0,1,3,2]",
            "%kt0 = Transpose(%keysr) perm=[0,1,3,2]\n%kt = Mul(%kt0, %scale)",
        )
        .replace("%scores0 = MatMul(%qr, %kt)", "%qs = Div(%qr, %two)\n%scores0 = MatMul(%qs, %kt)");
    let (graph, _) = fused(&split);
    assert!(nodes(&graph).contains("scale=0.125"), "{}", nodes(&graph));
    assert!(compare(&split, 3, 2) < 2e-5);
}

#[test]
fn fuse_norm_keeps_a_norm_whose_square_is_of_another_value() {
    let text = DECODER.replace("%sq = Pow(%h, %two)", "%half = Mul(%h, %scale)\n%sq = Pow(%half, %two)");
    let (graph, _) = fused(&text);
    assert!(nodes(&graph).contains("Sqrt"), "{}", nodes(&graph));
    assert!(compare(&text, 3, 2) < 2e-5);
}

#[test]
fn fuse_rope_keeps_tables_that_the_token_decides() {
    let text = DECODER
        .replace("%posf = Cast(%pos3) to=f32", "%tok3 = Reshape(%input_ids) shape=[1,1,2]\n%posf = Cast(%tok3) to=f32");
    let (graph, _) = fused(&text);
    assert!(!nodes(&graph).contains("rope="), "{}", nodes(&graph));
}

#[test]
fn a_mask_that_looks_ahead_is_refused_for_generation() {
    let mut graph = parse(&DECODER.replace("[6,7]", "[7,6]")).unwrap();
    let said = run(&mut graph, ORDER, &mut Log::default()).unwrap_err().to_string();
    assert!(said.contains("neither causal nor a window"), "{said}");
}

#[test]
fn a_graph_without_a_cache_is_told_how_to_run() {
    let mut graph = parse("input %x: f32[2,4]\n%y = Relu(%x)\noutput %y # y").unwrap();
    let said = run(&mut graph, ORDER, &mut Log::default()).unwrap_err().to_string();
    assert!(said.contains("no KV cache") && said.contains("dims="), "{said}");
}

#[test]
fn fold_joins_and_removes_movements() {
    let text = "input %x: f32[2,3,4]\n%a = Transpose(%x) perm=[1,0,2]\n%b = Transpose(%a) perm=[1,0,2]\n\
                %c = Reshape(%b) shape=[6,4]\n%d = Reshape(%c) shape=[24]\nconst %one: f32[] = 1\n%e = Mul(%d, %one)\noutput %e # y";
    let mut graph = parse(text).unwrap();
    run(&mut graph, RAW_ORDER, &mut Log::default()).unwrap();
    insta::assert_snapshot!(nodes(&graph), @"%d: f32[24] = Reshape(%x) shape=[24]");
}
