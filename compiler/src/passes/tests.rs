//! Fixtures: a pass over a graph in text form, eval before and after.

use super::*;
use crate::graph::eval::{self, Array, Values};
use crate::graph::{Activations, DType, Graph, Op, ValueId, parse, print};
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

/// DECODER with lines replaced; a pattern that is not there is a mistake in the test.
fn edited(edits: &[(&str, &str)]) -> String {
    edits.iter().fold(DECODER.to_string(), |text, (old, new)| {
        assert!(text.contains(old), "{old}");
        text.replace(old, new)
    })
}

/// Fuses to one layer of five operators and gives the export's numbers.
fn holds(text: &str, bound: f32) -> String {
    for (pos, rows) in [(0, 2), (3, 2), (6, 1)] {
        let worst = compare(text, pos, rows);
        assert!(worst < bound, "pos {pos}, rows {rows}: {worst}");
    }
    nodes(&fused(text).0)
}

#[test]
fn fuse_rope_takes_pairs_that_stand_side_by_side() {
    let mut text = edited(&[(
        "%emb = Concat(%freqs, %freqs) axis=2",
        "%f4 = Reshape(%freqs) shape=[1,2,2,1]\n%emb = Concat(%f4, %f4) axis=3",
    )]);
    for (x, h) in [("q", 2), ("k", 1)] {
        let pairs = format!(
            "%{x}n5 = Reshape(%{x}neg) shape=[1,{h},2,2,1]\n%{x}l5 = Reshape(%{x}lo) shape=[1,{h},2,2,1]\n\
             %{x}p5 = Concat(%{x}n5, %{x}l5) axis=4\n%{x}rot = Reshape(%{x}p5) shape=[1,{h},2,4]"
        );
        text = text
            .replace(
                &format!("lo = Slice(%{x}) begin=[0,0,0,0]"),
                &format!("lo = Slice(%{x}) begin=[0,0,0,0] step=[1,1,1,2]"),
            )
            .replace(
                &format!("hi = Slice(%{x}) begin=[0,0,0,2]"),
                &format!("hi = Slice(%{x}) begin=[0,0,0,1] step=[1,1,1,2]"),
            )
            .replace(&format!("%{x}rot = Concat(%{x}neg, %{x}lo) axis=3"), &pairs);
    }
    let fused = holds(&text, 2e-5);
    assert!(fused.contains("rope=interleaved(4)"), "{fused}");
}

#[test]
fn fuse_rope_takes_the_leading_channels_of_a_head() {
    let mut text = edited(&[
        ("const %inv: f32[1,2,1] = [1,0.1]", "const %inv: f32[1,1,1] = 0.1"),
        ("%cos = Reshape(%cosr) shape=[1,1,2,4]", "%cos = Reshape(%cosr) shape=[1,1,2,2]"),
        ("%sin = Reshape(%sinr) shape=[1,1,2,4]", "%sin = Reshape(%sinr) shape=[1,1,2,2]"),
    ]);
    for (x, h) in [("q", 2), ("k", 1)] {
        let part = format!(
            "%{x}x = Slice(%{x}) begin=[0,0,0,0] len=[1,{h},2,2]\n%{x}y = Slice(%{x}) begin=[0,0,0,2] len=[1,{h},2,2]\n"
        );
        text = text
            .replace(
                &format!("%{x}lo = Slice(%{x}) begin=[0,0,0,0] len=[1,{h},2,2]"),
                &format!("{part}%{x}lo = Slice(%{x}x) begin=[0,0,0,0] len=[1,{h},2,1]"),
            )
            .replace(
                &format!("%{x}hi = Slice(%{x}) begin=[0,0,0,2] len=[1,{h},2,2]"),
                &format!("%{x}hi = Slice(%{x}x) begin=[0,0,0,1] len=[1,{h},2,1]"),
            )
            .replace(&format!("%{x}a = Mul(%{x}, %cos)"), &format!("%{x}a = Mul(%{x}x, %cos)"))
            .replace(
                &format!("%{x}r = Add(%{x}a, %{x}b)"),
                &format!("%{x}turned = Add(%{x}a, %{x}b)\n%{x}r = Concat(%{x}turned, %{x}y) axis=3"),
            );
    }
    let fused = holds(&text, 2e-5);
    assert!(fused.contains("rope=2") && !fused.contains("Concat"), "{fused}");
}

#[test]
fn fuse_rope_refuses_numbers_of_one_cache_length() {
    let text = edited(&[("%posf = Cast(%pos3) to=f32", "const %posf: f32[1,1,2] = [6,7]")]);
    let said = run(&mut parse(&text).unwrap(), ORDER, &mut Log::default()).unwrap_err().to_string();
    assert!(said.contains("no position decides") && said.contains("load_decoder"), "{said}");
}

#[test]
fn widen_notes_what_all_linear_layers_take() {
    let layers = |types: &[&str]| {
        let layer = |(i, ty): (usize, &&str)| {
            format!(
                "input %x{i}: {ty}[3,8]\nconst %w{i}: {ty}[8,4] = random({i})\n%y{i}: {ty}[3,4] = Linear(%x{i}, %w{i})\n"
            )
        };
        let ends: String = (0..types.len()).map(|i| format!("output %y{i}\n")).collect();
        let mut graph =
            parse(&format!("graph g\n{}{ends}", types.iter().enumerate().map(layer).collect::<String>())).unwrap();
        super::widen::run(&mut graph, &mut Log::default()).unwrap();
        graph.activations
    };
    assert_eq!(layers(&[]), Activations::F32);
    assert_eq!(layers(&["f16", "f16"]), Activations::F16);
    assert_eq!(layers(&["f16", "bf16"]), Activations::Bf16, "whose range a half does not have");
    assert_eq!(layers(&["f16", "f32", "bf16"]), Activations::F32);
}

#[test]
fn the_manifests_word_on_activations_goes_before_the_exports() {
    for (own, asked, said) in [
        ("fp32", Activations::F16, "linear layers take fp32; fp16 is asked for, and so may kernels for many rows"),
        ("bf16", Activations::F16, "linear layers take bf16; fp16 is asked for, and so may kernels for many rows"),
        (
            "fp16",
            Activations::F32,
            "linear layers take fp16; fp32 is asked for, so kernels for many rows keep f32's digits",
        ),
        ("fp16", Activations::F16, "fp16 is asked for, and what linear layers take anyway"),
    ] {
        let mut graph = parse(&format!("graph g\nactivations {own}\n")).unwrap();
        let mut log = Log::default();
        take(&mut graph, asked, &mut log);
        assert_eq!((graph.activations, log.lines), (asked, vec!["[activations]".to_string(), said.to_string()]));
    }
}

#[test]
fn widen_computes_fp16_exports_in_f32() {
    let fused = holds(&DECODER.replace("f32", "f16"), 2e-2);
    assert!(!fused.contains("f16") && !fused.contains("Cast"), "{fused}");
    let (graph, _) = self::fused(&DECODER.replace("f32", "f16"));
    let narrow = graph.values.iter().filter(|v| v.ty.dtype == DType::F16 && v.name.starts_with('w')).count();
    assert_eq!(narrow, 7, "matrices stay as they lie in the file");
}

#[test]
fn fuse_attention_takes_a_mask_that_selects_scores() {
    let hidden = edited(&[("%scores = Add(%scores1, %mask)", "%scores = Where(%off, %fill, %scores1)")]);
    assert!(holds(&hidden, 2e-5).contains("mask=causal"));
    let both = edited(&[(
        "%scores = Add(%scores1, %mask)",
        "%seen = Not(%later)\n%s2 = Where(%seen, %scores1, %fill)\n%pad = Where(%hidden, %fill, %zero)\n%scores = Add(%pad, %s2)",
    )]);
    assert!(holds(&both, 2e-5).contains("mask=causal"));
}

#[test]
fn fuse_positions_looks_learned_embeddings_up_by_pos() {
    let text = edited(&[
        (
            "%h = Gather(%table, %input_ids) axis=0",
            "%tok = Gather(%table, %input_ids) axis=0\n%next = Add(%position_ids, %two64)\n%place = Gather(%places, %next) axis=0\n%h = Add(%tok, %place)",
        ),
        (
            "const %two: f32[] = 2",
            "const %two: f32[] = 2\nconst %two64: i64[] = 2\nconst %places: f32[12,8] = random(13)",
        ),
    ]);
    let fused = holds(&text, 2e-5);
    assert!(fused.contains("Min(") && !fused.contains("%positions"), "{fused}");
}

#[test]
fn fuse_positions_declines_indices_that_jump() {
    let text = edited(&[
        (
            "%h = Gather(%table, %input_ids) axis=0",
            "%tok = Gather(%table, %input_ids) axis=0\n%next = Mul(%position_ids, %two64)\n%place = Gather(%places, %next) axis=0\n%h = Add(%tok, %place)",
        ),
        (
            "const %two: f32[] = 2",
            "const %two: f32[] = 2\nconst %two64: i64[] = 2\nconst %places: f32[20,8] = random(13)",
        ),
    ]);
    let mut log = Log::default();
    let said = run(&mut parse(&text).unwrap(), ORDER, &mut log).unwrap_err().to_string();
    assert!(said.contains("positions are still read"), "{said}");
    assert!(log.lines.iter().any(|l| l.contains("no constant distance")), "{:?}", log.lines);
}

#[test]
fn split_linear_takes_packed_projections_apart() {
    let text = edited(&[
        ("const %wq: f32[8,8] = random(3)", "const %wqkv: f32[8,16] = random(3)"),
        ("const %wk: f32[8,4] = random(4)\n", ""),
        ("const %wv: f32[8,4] = random(5)\n", ""),
        ("%q0 = MatMul(%x, %wq)", "%qkv = MatMul(%x, %wqkv)\n%q0, %k0, %v0 = Split(%qkv) axis=2 sizes=[8,4,4]"),
        ("%k0 = MatMul(%x, %wk)\n", ""),
        ("%v0 = MatMul(%x, %wv)\n", ""),
    ]);
    assert!(holds(&text, 2e-5).contains("Qkv("));
}

#[test]
fn fuse_linear_gives_flattened_rows_their_batch_axis_back() {
    let text = edited(&[
        (
            "%o = MatMul(%o2, %wo)",
            "%o3 = Reshape(%o1) shape=[2,8]\n%o4 = Gemm(%o3, %wo)\n%o = Reshape(%o4) shape=[1,2,8]",
        ),
        (
            "%gate = MatMul(%x1, %wg)",
            "%x1f = Reshape(%x1) shape=[2,8]\n%gatef = Gemm(%x1f, %wg)\n%gate = Reshape(%gatef) shape=[1,2,12]",
        ),
    ]);
    let fused = holds(&text, 2e-5);
    assert!(!fused.contains("Reshape") && fused.contains("GatedLinear"), "{fused}");
}

#[test]
fn fuse_act_finds_gelu_in_its_spellings() {
    let consts = "const %half: f32[] = 0.5\nconst %c: f32[] = 0.044715\nconst %r: f32[] = 0.7978846\nconst %three: f32[] = 3\nconst %root: f32[] = 1.4142135\n%h = Gather";
    let sigmoid = ("%sig = Sigmoid(%gate)\n%act = Mul(%gate, %sig)", "");
    for (kind, body) in [
        (
            "GeluTanh",
            "%g3 = Pow(%gate, %three)\n%g4 = Mul(%g3, %c)\n%g5 = Add(%gate, %g4)\n%g6 = Mul(%g5, %r)\n%g7 = Tanh(%g6)\n%g8 = Add(%g7, %one)\n%g9 = Mul(%gate, %half)\n%act = Mul(%g9, %g8)",
        ),
        (
            "GeluTanh",
            "%g2 = Mul(%gate, %c)\n%g3 = Mul(%g2, %gate)\n%g4 = Add(%one, %g3)\n%g5 = Mul(%gate, %r)\n%g6 = Mul(%g5, %g4)\n%g7 = Tanh(%g6)\n%g8 = Add(%one, %g7)\n%g9 = Mul(%half, %g8)\n%act = Mul(%gate, %g9)",
        ),
        (
            "GeluErf",
            "%g3 = Div(%gate, %root)\n%g4 = Erf(%g3)\n%g5 = Add(%g4, %one)\n%g6 = Mul(%gate, %g5)\n%act = Mul(%g6, %half)",
        ),
    ] {
        let fused = holds(&edited(&[(sigmoid.0, body), ("%h = Gather", consts)]), 2e-5);
        assert!(fused.contains(&format!("act={kind}")), "{fused}");
    }
}

#[test]
fn fuse_act_keeps_a_curve_with_another_factor() {
    let text = edited(&[("%sig = Sigmoid(%gate)", "%wide = Mul(%gate, %two)\n%sig = Sigmoid(%wide)")]);
    assert!(!holds(&text, 2e-5).contains("GatedLinear"));
}

#[test]
fn last_row_takes_the_place_of_an_exporters_slice() {
    let text = edited(&[(
        "%logits = MatMul(%x2, %tt)",
        "%xl = Slice(%x2) begin=[0,1,0] len=[1,1,8]\n%logits = MatMul(%xl, %tt)",
    )]);
    let (graph, _) = fused(&text);
    assert!(!nodes(&graph).contains("Slice"), "{}", nodes(&graph));
}

#[test]
fn rows_without_a_mask_are_refused_for_generation() {
    let text = edited(&[("%scores = Add(%scores1, %mask)", "%scores = Mul(%scores1, %one)")]);
    let said = run(&mut parse(&text).unwrap(), ORDER, &mut Log::default()).unwrap_err().to_string();
    assert!(said.contains("neither causal nor a window"), "{said}");
}

#[test]
fn a_norm_of_rows_in_another_float_type_is_found_once_all_are_wide() {
    let text = "input %rows: f32[1,2,4]\nconst %two: f32[] = 2\nconst %eps: f32[] = 0.00001\nconst %g: f16[4] = random(3)\n\
                %x = Cast(%rows) to=f16\n%w = Cast(%x) to=f32\n%s = Pow(%w, %two)\n%m = Reduce(%s) kind=Mean axes=[2] keep\n\
                %e = Add(%m, %eps)\n%r = Sqrt(%e)\n%d = Div(%w, %r)\n%n = Cast(%d) to=f16\n%y = Mul(%n, %g)\noutput %y";
    let mut graph = parse(text).unwrap();
    let norms = |g: &Graph| g.nodes.iter().filter(|n| matches!(n.op, Op::RmsNorm { .. })).count();
    let order = [pass!(fuse_norm::run, "fuse_norm", ""), pass!(widen::run, "widen", "")];
    run(&mut graph, &order, &mut Log::default()).unwrap();
    assert_eq!(norms(&graph), 0);
    run(&mut graph, &order[..1], &mut Log::default()).unwrap();
    assert_eq!((norms(&graph), graph.nodes.len()), (1, 1), "{}", nodes(&graph));
    let order: Vec<&str> = ORDER.iter().map(|p| p.name).filter(|n| ["widen", "fuse_norm"].contains(n)).collect();
    assert_eq!(order, ["fuse_norm", "widen", "fuse_norm"]);
}
