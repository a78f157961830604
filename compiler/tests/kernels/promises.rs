//! What holds for all kernels: refusals give their reason, runs repeat bit for bit, the order of sums does not vary.

use crate::device::{Arrays, engine_in, engine_with, run_on};
use crate::nodes::{self, Random, heads};
use onnxcast::graph::eval::Array;
use onnxcast::graph::{BinaryOp, DType, Graph, Mask, Norm, Op, Output, Rotary, Ty, UnaryOp};
use onnxcast::plan::{Kv, Precision, Storage, kernels};

fn refusal(op: Op, types: &[Ty], precision: Precision) -> String {
    let mut graph = Graph { name: "one".into(), ..Graph::default() };
    let inputs: Vec<_> = types.iter().map(|ty| Some(graph.add_input("x", ty.clone()))).collect();
    let out = graph.push(op, &inputs, "the node").expect("a valid node");
    graph.outputs.push(Output { name: "y".into(), value: out[0] });
    kernels::select(&graph, &graph.nodes[0], precision).expect_err("a refusal").to_string()
}

#[test]
fn double_precision_is_refused_by_name() {
    let said = refusal(Op::Unary(UnaryOp::Exp), &[Ty::new(DType::F64, &[3])], Precision::Fp32);
    assert!(said.contains("the node") && said.contains("'x' is float64"), "{said}");
}

#[test]
fn integers_that_can_pass_32_bits_are_refused_and_those_that_fit_are_not() {
    let words = Ty::new(DType::U64, &[3]);
    for op in [Op::Binary(BinaryOp::Add), Op::Binary(BinaryOp::Mul), Op::Binary(BinaryOp::ShiftLeft)] {
        let said = refusal(op, &[words.clone(), words.clone()], Precision::Fp32);
        assert!(said.contains("the node") && said.contains("gives uint64 values that can pass 32 bits"), "{said}");
    }
    let said = refusal(Op::Cast { to: DType::U64 }, &[Ty::new(DType::I64, &[3])], Precision::Fp32);
    assert!(said.contains("gives uint64 values"), "{said}");
    let with = |op: BinaryOp, x: i64| {
        let mut graph = Graph { name: "one".into(), ..Graph::default() };
        let a = graph.add_input("x", Ty::new(DType::I64, &[3]));
        let b = graph.add_const("c", Array::i64(&[1], &[x]).to_tensor());
        let out = graph.push(Op::Binary(op), &[Some(a), Some(b)], "the node").expect("a valid node");
        graph.outputs.push(Output { name: "y".into(), value: out[0] });
        kernels::select(&graph, &graph.nodes[0], Precision::Fp32).map(|_| ()).map_err(|e| e.to_string())
    };
    let said = with(BinaryOp::Add, 1 << 40).unwrap_err();
    assert!(said.contains("the node") && said.contains("the constant 'c' has 1099511627776"), "{said}");
    let said = with(BinaryOp::Mul, 1_103_515_245).unwrap_err();
    assert!(said.contains("the factor 1103515245 ('c')"), "{said}");
    // Strides, and the sentinels that stand for "to the end".
    assert_eq!(with(BinaryOp::Mul, 151_936), Ok(()));
    assert_eq!(with(BinaryOp::Min, i64::MAX), Ok(()));
    assert_eq!(with(BinaryOp::Less, i64::MAX), Ok(()));
}

#[test]
fn weights_that_are_computed_are_refused_for_packed_products() {
    let op = Op::Linear { norm: None, bias: false, act: None, residual: false, nk: true };
    let said = refusal(op, &[Ty::new(DType::F32, &[1, 4]), Ty::new(DType::F32, &[3, 4])], Precision::Fp32);
    assert!(said.contains("input 1 must be a constant"), "{said}");
}

#[test]
fn odd_heads_are_refused_in_fp16_and_taken_in_fp32() {
    let graph = nodes::qkv(1, 16, heads(2, 1, 6), 8, Some(Rotary { rotary: 6, interleaved: false }), false);
    let said = kernels::select(&graph, &graph.nodes[0], Precision::Fp16).expect_err("a refusal").to_string();
    assert!(said.contains("head of 6") && said.contains("use kv = \"fp32\""), "{said}");
    assert_eq!(kernels::select(&graph, &graph.nodes[0], Precision::Fp32).expect("a kernel").len(), 1);
}

#[test]
fn heads_that_are_no_whole_words_of_codes_are_refused_with_an_int8_cache() {
    let storage = Storage { precision: Precision::Fp16, kv: Kv::Int8 };
    for graph in [
        nodes::qkv(1, 16, heads(2, 1, 6), 8, None, false),
        nodes::cached_attention(3, heads(2, 1, 6), 8, Mask::Causal),
        nodes::kv_write(1, heads(2, 1, 6), 8),
    ] {
        let said = kernels::select(&graph, &graph.nodes[0], storage).expect_err("a refusal").to_string();
        assert!(said.contains("a head of 6 channels has no int8 cache kernel; use kv = \"fp32\""), "{said}");
    }
}

fn inputs(graph: &Graph) -> Arrays {
    let context = graph.states.first().map_or(0, |s| graph.shape(s.input)[2] as i32);
    let mut random = Random::new(1);
    let values = graph.inputs.iter().chain(graph.states.iter().map(|s| &s.input));
    values
        .map(|&v| {
            let value = graph.value(v);
            let array = match value.name.as_str() {
                "pos" => Array::scalar(context - 24),
                "rows" => Array::scalar(1),
                _ => random.array(&value.ty),
            };
            (value.name.clone(), array)
        })
        .collect()
}

#[test]
fn variants_of_a_kernel_give_the_same_bits() {
    let rms = Some(Norm::Rms { eps: 1e-5 });
    let graphs = [
        nodes::linear(1, 576, 65, None, None, true, true),
        nodes::linear(1, 2048, 1700, rms, Some(UnaryOp::Silu), true, true),
        nodes::gated(1, 896, 200, rms),
        nodes::qkv(1, 512, heads(6, 2, 64), 32, Some(Rotary { rotary: 64, interleaved: false }), true),
    ];
    let mut seen = 0;
    for graph in graphs {
        for precision in [Precision::Fp32, Precision::Fp16] {
            let all = inputs(&graph);
            let mut own = engine_in(&graph, precision, true);
            let variants = own.program().variants.to_vec();
            let bits = |a: &Arrays| -> Vec<u32> { a["y0"].to_f32().iter().map(|x| x.to_bits()).collect() };
            let first = bits(&run_on(&mut own, &graph, precision, &all));
            for variant in variants {
                let mut other = engine_with(&graph, precision, true, |program| {
                    let dispatch = &mut program.buckets.to_mut()[0].blocks.to_mut()[0].dispatches.to_mut()[0];
                    assert_eq!(dispatch.kernel, variant.of);
                    (dispatch.kernel, dispatch.grid) = (variant.by, variant.grid);
                    // It is a kernel of its own here.
                    program.variants = vec![].into();
                });
                let name = &other.program().kernels[variant.by as usize].name.clone();
                assert_eq!(bits(&run_on(&mut other, &graph, precision, &all)), first, "{name}");
                seen += 1;
            }
        }
    }
    assert!(seen >= 4, "{seen} variants");
}

#[test]
fn runs_repeat_bit_for_bit() {
    let rms = Some(Norm::Rms { eps: 1e-5 });
    let graphs = [
        nodes::linear(1, 576, 65, rms, Some(UnaryOp::Silu), true, true),
        nodes::linear(65, 129, 33, rms, None, true, true),
        nodes::gated(1, 577, 64, rms),
        nodes::cached_attention(1, heads(3, 1, 64), 64, Mask::Causal),
        // Five workgroups a head, and which of them comes last varies.
        nodes::cached_attention(1, heads(14, 2, 64), 640, Mask::Causal),
    ];
    for graph in graphs {
        for precision in [Precision::Fp32, Precision::Fp16] {
            let all = inputs(&graph);
            let mut engine = engine_in(&graph, precision, true);
            let bits = |a: &Arrays| -> Vec<u32> { a["y0"].to_f32().iter().map(|x| x.to_bits()).collect() };
            let first = bits(&run_on(&mut engine, &graph, precision, &all));
            for _ in 0..3 {
                assert_eq!(bits(&run_on(&mut engine, &graph, precision, &all)), first, "{:?}", graph.nodes[0].op);
            }
        }
    }
}
