//! Each fused operator against the operators that it stands for, in the text form.

use super::*;
use crate::graph::{eval, parse, verify};
use std::collections::HashMap;

/// Values for every input of `text`, from the seed of its name.
fn inputs(graph: &crate::graph::Graph, known: &[(&str, Array)]) -> HashMap<String, Array> {
    let known: HashMap<&str, &Array> = known.iter().map(|(n, a)| (*n, a)).collect();
    let ids = graph.inputs.iter().copied().chain(graph.states.iter().map(|s| s.input));
    ids.map(|v| {
        let value = graph.value(v);
        let seed = value.name.bytes().fold(17u32, |s, b| s.wrapping_mul(31).wrapping_add(b.into()));
        let n = value.ty.elements();
        let made: Vec<f32> =
            (0..n as u32).map(|i| ((seed ^ i).wrapping_mul(2654435761) >> 8) as f32 / 8388608.0 - 1.0).collect();
        let array = known
            .get(value.name.as_str())
            .map_or_else(|| Array::new(value.ty.dtype, value.ty.shape.clone(), Values::F32(made)), |a| (*a).clone());
        (value.name.clone(), array)
    })
    .collect()
}

/// Both graphs take the same inputs and must give the same outputs within 1e-5.
fn same(head: &str, plain: &str, fused: &str, known: &[(&str, Array)]) {
    let run = |body: &str| {
        let g = parse(&format!("{head}\n{body}")).unwrap();
        verify(&g).unwrap();
        eval::run(&g, &inputs(&g, known)).unwrap()
    };
    let (a, b) = (run(plain), run(fused));
    assert_eq!(a.len(), b.len());
    for (name, x) in &a {
        let y = &b[name];
        assert_eq!(x.shape, y.shape, "{name}");
        let worst = x.to_f64().iter().zip(y.to_f64()).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
        assert!(worst < 1e-5, "{name} differs by {worst}: {:?} {:?}", x.to_f32(), y.to_f32());
    }
}

#[test]
fn linear_is_norm_product_bias_activation_and_residual() {
    let head = "input %x: f32[2,3,8]\nconst %w: f32[5,8] = random(1)\nconst %g: f32[8] = random(2)\n\
                const %h: f32[8] = random(3)\nconst %b: f32[5] = random(4)\ninput %r: f32[2,3,5]";
    for (norm, args, plain) in [
        ("rms", "%g", "%n = RmsNorm(%x, %g) axis=2 eps=1e-5"),
        ("layer", "%g, %h", "%n = LayerNorm(%x, %g, %h) axis=2 eps=1e-5"),
    ] {
        let plain = format!(
            "{plain}\n%t = Transpose(%w) perm=[1,0]\n%m = MatMul(%n, %t)\n%a = Add(%m, %b)\n%s = Silu(%a)\n\
             %y = Add(%s, %r)\noutput %y"
        );
        let fused =
            format!("%y = Linear(%x, %w, {args}, %b, %r) norm={norm}(1e-5) bias act=Silu residual nk\noutput %y");
        same(head, &plain, &fused, &[]);
    }
}

#[test]
fn linear_takes_columns_as_well_as_rows() {
    let head = "input %x: f32[3,8]\nconst %w: f32[8,5] = random(1)";
    same(head, "%y = MatMul(%x, %w)\noutput %y", "%y = Linear(%x, %w)\noutput %y", &[]);
}

#[test]
fn gated_linear_multiplies_two_products() {
    let head = "input %x: f32[3,8]\nconst %a: f32[5,8] = random(1)\nconst %b: f32[5,8] = random(2)\nconst %g: f32[8] = random(3)";
    let plain = "%n = RmsNorm(%x, %g) axis=1 eps=1e-6\n%at = Transpose(%a) perm=[1,0]\n%bt = Transpose(%b) perm=[1,0]\n\
                 %p = MatMul(%n, %at)\n%q = MatMul(%n, %bt)\n%s = GeluTanh(%p)\n%y = Mul(%s, %q)\noutput %y";
    same(head, plain, "%y = GatedLinear(%x, %a, %b, %g) norm=rms(1e-6) act=GeluTanh nk\noutput %y", &[]);
}

/// x * cos + rotate_half(x) * sin over whole heads, rows of the tables from 2 on.
#[test]
fn rope_is_rotate_half_at_the_position() {
    let head = "input %x: f32[1,2,3,8]\nconst %cos: f32[9,4] = random(1)\nconst %sin: f32[9,4] = random(2)\nconst %pos: i32[] = 2";
    let plain = "%c = Slice(%cos) begin=[2,0] len=[3,4]\n%s = Slice(%sin) begin=[2,0] len=[3,4]\n\
                 %cc = Concat(%c, %c) axis=1\n%ss = Concat(%s, %s) axis=1\n\
                 %low = Slice(%x) begin=[0,0,0,0] len=[1,2,3,4]\n%high = Slice(%x) begin=[0,0,0,4] len=[1,2,3,4]\n\
                 %neg = Neg(%high)\n%rot = Concat(%neg, %low) axis=3\n%a = Mul(%x, %cc)\n%b = Mul(%rot, %ss)\n\
                 %y = Add(%a, %b)\noutput %y";
    same(head, plain, "%y = Rope(%x, %cos, %sin, %pos) rope=8\noutput %y", &[]);
}

#[test]
fn rope_turns_only_its_leading_channels() {
    let head = "input %x: f32[1,2,3,8]\nconst %cos: f32[9,2] = random(1)\nconst %sin: f32[9,2] = random(2)\nconst %pos: i32[] = 0";
    let plain = "%head = Slice(%x) begin=[0,0,0,0] len=[1,2,3,4]\n%tail = Slice(%x) begin=[0,0,0,4] len=[1,2,3,4]\n\
                 %t = Rope(%head, %cos, %sin, %pos) rope=4\n%y = Concat(%t, %tail) axis=3\noutput %y";
    same(head, plain, "%y = Rope(%x, %cos, %sin, %pos) rope=4\noutput %y", &[]);
}

#[test]
fn interleaved_rope_turns_neighbours() {
    let (cos, sin) = (Array::f32(&[1, 2], &[0.0, 1.0]), Array::f32(&[1, 2], &[1.0, 0.0]));
    let form = crate::graph::Rotary { rotary: 4, interleaved: true };
    let x = Array::f32(&[1, 1, 1, 4], &[1., 2., 3., 4.]);
    assert_eq!(one(Op::Rope { form }, &[&x, &cos, &sin, &Array::scalar(0)]).to_f32(), [-2., 1., 3., 4.]);
}

#[test]
fn rows_past_the_rope_table_take_its_last_row() {
    let (cos, sin) = (Array::f32(&[2, 1], &[1., 0.]), Array::f32(&[2, 1], &[0., 1.]));
    let form = crate::graph::Rotary { rotary: 2, interleaved: false };
    let x = Array::f32(&[1, 1, 3, 2], &[1., 0., 1., 0., 1., 0.]);
    let out = one(Op::Rope { form }, &[&x, &cos, &sin, &Array::scalar(0)]);
    assert_eq!(out.to_f32(), [1., 0., 0., 1., 0., 1.]);
}

const HEADS: &str = "input %q: f32[2,4,3,8]\ninput %k: f32[2,2,5,8]\ninput %v: f32[2,2,5,8]";

/// Grouped attention by repeated heads and an additive mask, for 3 queries over 5 keys.
fn eager(mask: &str) -> String {
    format!(
        "%k1 = Reshape(%k) shape=[2,2,1,5,8]\n%k2 = Expand(%k1) shape=[2,2,2,5,8]\n%k3 = Reshape(%k2) shape=[2,4,5,8]\n\
         %v1 = Reshape(%v) shape=[2,2,1,5,8]\n%v2 = Expand(%v1) shape=[2,2,2,5,8]\n%v3 = Reshape(%v2) shape=[2,4,5,8]\n\
         %kt = Transpose(%k3) perm=[0,1,3,2]\n%s = MatMul(%q, %kt)\nconst %c: f32[] = 0.25\n%t = Mul(%s, %c)\n{mask}\n\
         %m = Add(%t, %mask)\n%p = Softmax(%m) axis=3\n%y = MatMul(%p, %v3)\noutput %y"
    )
}

#[test]
fn full_attention_is_softmax_over_every_key() {
    let fused = "%y = Attention(%q, %k, %v) heads=4/2x8 scale=0.25 mask=full\noutput %y";
    same(HEADS, &eager("const %mask: f32[] = 0"), fused, &[]);
}

#[test]
fn causal_attention_counts_from_the_end_of_the_keys() {
    let mask = "const %fill: f32[3,5] = fill(-10000)\n%mask = Trilu(%fill) upper k=3";
    let fused = "%y = Attention(%q, %k, %v) heads=4/2x8 scale=0.25 mask=causal\noutput %y";
    same(HEADS, &eager(mask), fused, &[]);
}

#[test]
fn a_window_hides_old_keys() {
    let mask = "const %fill: f32[3,5] = fill(-10000)\n%late = Trilu(%fill) upper k=3\n%early = Trilu(%fill) k=0\n\
                %mask = Add(%late, %early)";
    let fused = "%y = Attention(%q, %k, %v) heads=4/2x8 scale=0.25 mask=window(2)\noutput %y";
    same(HEADS, &eager(mask), fused, &[]);
}

#[test]
fn a_given_mask_is_added_and_broadcast() {
    let mask = "const %mask: f32[2,1,1,5] = random(9, 3)";
    let fused = format!("{mask}\n%y = Attention(%q, %k, %v, %mask) heads=4/2x8 scale=0.25 mask=given\noutput %y");
    same(HEADS, &eager(mask), &fused, &[]);
}

#[test]
fn attention_over_rows_is_attention_between_transposes() {
    let head = "input %x: f32[2,5,64]\ninput %mask: f32[5,5]";
    let by_head = |name: &str, at: usize, heads: usize| {
        format!(
            "%{name}s = Slice(%x) begin=[0,0,{at}] len=[2,5,{n}]\n%{name}r = Reshape(%{name}s) shape=[2,5,{heads},8]\n\
             %{name} = Transpose(%{name}r) perm=[0,2,1,3]\n",
            n = 8 * heads
        )
    };
    let plain = [by_head("q", 0, 4), by_head("k", 32, 2), by_head("v", 48, 2)].concat()
        + "%a = Attention(%q, %k, %v, %mask) heads=4/2x8 scale=0.5 mask=given\n%t = Transpose(%a) perm=[0,2,1,3]\n\
           %y = Reshape(%t) shape=[2,5,32]\noutput %y";
    let packed = "%y = RowAttention(%x, %mask) heads=4/2x8 scale=0.5 mask=given packed\noutput %y";
    same(head, &plain, packed, &[]);
    let apart = "%qs = Slice(%x) begin=[0,0,0] len=[2,5,32]\n%ks = Slice(%x) begin=[0,0,32] len=[2,5,16]\n\
                 %vs = Slice(%x) begin=[0,0,48] len=[2,5,16]\n\
                 %y = RowAttention(%qs, %ks, %vs, %mask) heads=4/2x8 scale=0.5 mask=given\noutput %y";
    same(head, &plain, apart, &[]);
}

#[test]
fn attention_to_nothing_is_zero() {
    let mask =
        "const %mask: f32[5] = fill(-inf)\n%y = Attention(%q, %k, %v, %mask) heads=4/2x8 scale=1 mask=given\noutput %y";
    let g = parse(&format!("{HEADS}\n{mask}")).unwrap();
    let out = eval::run(&g, &inputs(&g, &[])).unwrap();
    assert!(out["y"].to_f32().iter().all(|v| *v == 0.0));
}

#[test]
fn a_cache_takes_only_live_rows() {
    let cache = Array::f32(&[1, 1, 4, 2], &[0.; 8]);
    let new = Array::f32(&[1, 1, 3, 2], &[1., 2., 3., 4., 5., 6.]);
    let write = |pos, rows| {
        node(&Op::KvWrite, &[Some(&cache), Some(&new), Some(&Array::scalar(pos)), Some(&Array::scalar(rows))])
    };
    assert_eq!(write(2, 2).unwrap()[0].to_f32(), [0., 0., 0., 0., 1., 2., 3., 4.]);
    assert_eq!(write(1, 0).unwrap()[0].to_f32(), [0.; 8]);
    let said = write(2, 3).unwrap_err().to_string();
    assert!(said.contains("3 rows of 3 at row 2 do not fit a cache of 4"), "{said}");
}

#[test]
fn a_half_cache_rounds_what_it_takes() {
    let cache = Array::new(DType::F16, vec![1, 1, 1, 1], Values::F32(vec![0.0]));
    let new = Array::f32(&[1, 1, 1, 1], &[0.1]);
    let out = one(Op::KvWrite, &[&cache, &new, &Array::scalar(0), &Array::scalar(1)]);
    assert_eq!((out.dtype, out.to_f32()), (DType::F16, vec![0.099975586]));
}

const CACHED: &str = "input %x: f32[1,2,6]\nstate %kc: f32[1,1,8,4] -> %k2\nstate %vc: f32[1,1,8,4] -> %v2\n\
    const %wq: f32[8,6] = random(1)\nconst %wk: f32[4,6] = random(2)\nconst %wv: f32[4,6] = random(3)\n\
    const %g: f32[6] = random(4)\nconst %bq: f32[8] = random(5)\nconst %bk: f32[4] = random(6)\nconst %bv: f32[4] = random(7)\n\
    const %cos: f32[8,2] = random(8)\nconst %sin: f32[8,2] = random(9)\ninput %pos: i32[]\ninput %rows: i32[]";

#[test]
fn qkv_is_three_products_two_turns_and_two_writes() {
    let plain = "%q1 = Linear(%x, %wq, %g, %bq) norm=rms(1e-5) bias nk\n%k1 = Linear(%x, %wk, %g, %bk) norm=rms(1e-5) bias nk\n\
                 %v1 = Linear(%x, %wv, %g, %bv) norm=rms(1e-5) bias nk\n\
                 %q3 = Reshape(%q1) shape=[1,2,2,4]\n%q4 = Transpose(%q3) perm=[0,2,1,3]\n\
                 %k3 = Reshape(%k1) shape=[1,2,1,4]\n%k4 = Transpose(%k3) perm=[0,2,1,3]\n\
                 %v3 = Reshape(%v1) shape=[1,2,1,4]\n%v4 = Transpose(%v3) perm=[0,2,1,3]\n\
                 %q = Rope(%q4, %cos, %sin, %pos) rope=4\n%k = Rope(%k4, %cos, %sin, %pos) rope=4\n\
                 %k2 = KvWrite(%kc, %k, %pos, %rows)\n%v2 = KvWrite(%vc, %v4, %pos, %rows)\noutput %q";
    let fused = "%q, %k2, %v2 = Qkv(%x, %wq, %wk, %wv, %kc, %vc, %pos, %rows, %g, %bq, %bk, %bv, %cos, %sin) \
                 heads=2/1x4 norm=rms(1e-5) bias rope=4 nk\noutput %q";
    same(CACHED, plain, fused, &[("pos", Array::scalar(3)), ("rows", Array::scalar(1))]);
}

#[test]
fn cached_attention_sees_what_causal_attention_sees() {
    let head = "input %q: f32[1,4,3,8]\ninput %kc: f32[1,2,9,8]\ninput %vc: f32[1,2,9,8]\nconst %pos: i32[] = 2";
    for mask in ["causal", "window(2)"] {
        let plain = format!(
            "%k = Slice(%kc) begin=[0,0,0,0] len=[1,2,5,8]\n%v = Slice(%vc) begin=[0,0,0,0] len=[1,2,5,8]\n\
             %a = Attention(%q, %k, %v) heads=4/2x8 scale=0.5 mask={mask}\n%t = Transpose(%a) perm=[0,2,1,3]\n\
             %y = Reshape(%t) shape=[1,3,32]\noutput %y"
        );
        let fused = format!("%y = CachedAttention(%q, %kc, %vc, %pos) heads=4/2x8 scale=0.5 mask={mask}\noutput %y");
        same(head, &plain, &fused, &[]);
    }
}

#[test]
fn last_row_is_the_last_live_one() {
    let x = counting(&[1, 3, 2]);
    assert_eq!(one(Op::LastRow, &[&x, &Array::scalar(2)]).to_f32(), [2., 3.]);
    for rows in [0, 4] {
        assert!(refusal(Op::LastRow, &[&x, &Array::scalar(rows)]).contains("live rows of 3"));
    }
}

#[test]
fn splice_takes_rows_of_pictures_for_ids_past_the_vocabulary() {
    let pictures = Array::f32(&[1, 1, 2, 2], &[10., 11., 20., 21.]);
    let tokens = Array::new(DType::I64, vec![1, 4], Values::Int(vec![1, 4, 3, 9]));
    let x = counting(&[1, 4, 2]);
    let rows = x.to_f32();
    let spliced = one(Op::Splice { vocab: 3, lookup: false }, &[&x, &tokens, &pictures]);
    assert_eq!(spliced.to_f32(), [rows[0], rows[1], 20., 21., 10., 11., 20., 21.], "past the last is the last");
    let table = Array::f32(&[3, 2], &[1., 2., 3., 4., 5., 6.]);
    let looked_up = one(Op::Splice { vocab: 3, lookup: true }, &[&table, &tokens, &pictures]);
    assert_eq!(looked_up.to_f32(), [3., 4., 20., 21., 10., 11., 20., 21.]);
    let narrow = Array::f32(&[1, 1, 2, 3], &[0.; 6]);
    assert!(
        refusal(Op::Splice { vocab: 3, lookup: true }, &[&table, &tokens, &narrow]).contains("must be [1, 1, p, 2]")
    );
}

#[test]
fn norms_broadcast_their_scale_and_take_trailing_axes() {
    let x = Array::f32(&[2, 2], &[3., 4., 0., 0.]);
    let rms =
        one(Op::RmsNorm { axis: 1, eps: 0.0 }, &[&Array::f32(&[1, 2], &[3., 4.]), &Array::f32(&[], &[12.5f32.sqrt()])]);
    assert_eq!(rms.to_f32(), [3.0, 4.0]);
    let layer = one(Op::LayerNorm { axis: 0, eps: 0.0 }, &[&x, &Array::f32(&[2], &[1., 2.])]);
    assert_eq!(layer.shape, [2, 2]);
    let sum = layer.to_f32().iter().zip([1.0, 0.5, 1.0, 0.5]).map(|(v, s)| v * s).sum::<f32>();
    assert!(sum.abs() < 1e-6, "{sum}");
    let huge = one(Op::RmsNorm { axis: 0, eps: 1e-6 }, &[&Array::f32(&[1], &[1e30]), &Array::f32(&[1], &[1.])]);
    assert_eq!(huge.to_f32(), [1.0]);
}
