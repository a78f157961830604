use super::*;
use crate::error::Result;
use crate::graph::grow::{counting as any_counting, grown};
use crate::graph::{BinaryOp, Graph, Output, Tensor, Ty, UnaryOp, ValueId, eval};
use proptest::prelude::*;
use std::collections::{HashMap, HashSet};

/// y = exp(x + 1), and z = -x.
fn graph() -> Result<(Graph, [ValueId; 3])> {
    let mut g = Graph::default();
    let x = g.add_input("x", Ty::new(DType::F32, &[2]));
    let one = g.add_const("one", Tensor::f32(&[], &[1.0]));
    let sum = g.push(Op::Binary(BinaryOp::Add), &[Some(x), Some(one)], "sum")?[0];
    let y = g.push(Op::Unary(UnaryOp::Exp), &[Some(sum)], "exp")?[0];
    let z = g.push(Op::Unary(UnaryOp::Neg), &[Some(x)], "neg")?[0];
    g.outputs = vec![Output { name: "y".into(), value: y }, Output { name: "z".into(), value: z }];
    Ok((g, [x, sum, y]))
}

#[test]
fn a_graph_gives_its_outputs_by_name() {
    let (g, _) = graph().unwrap();
    let out = eval::run(&g, &HashMap::from([("x".into(), Array::f32(&[2], &[-1.0, 0.0]))])).unwrap();
    assert_eq!(out["y"].to_f32(), [1.0, std::f32::consts::E]);
    assert_eq!(out["z"].to_f32(), [1.0, 0.0]);
}

#[test]
fn a_missing_or_misshapen_input_is_named() {
    let (g, _) = graph().unwrap();
    let said = eval::run(&g, &HashMap::new()).unwrap_err().to_string();
    assert!(said.contains("x: the graph's input is missing"), "{said}");
    let said = eval::run(&g, &HashMap::from([("x".into(), counting(&[3]))])).unwrap_err().to_string();
    assert!(said.contains("x: is f32[3], the graph takes f32[2]"), "{said}");
}

#[test]
fn values_computes_only_what_is_wanted_from_any_cut() {
    let (g, [_, sum, y]) = graph().unwrap();
    let out = eval::values(&g, HashMap::from([(sum, Array::f32(&[1], &[0.0]))]), &[y]).unwrap();
    assert_eq!(out[0].to_f32(), [1.0]);
    let said = eval::values(&g, HashMap::new(), &[y]).unwrap_err().to_string();
    assert!(said.contains("not given"), "{said}");
}

#[test]
fn every_type_survives_bytes() {
    for dtype in DType::ALL {
        let a = Array::new(dtype, vec![3], Values::F32(vec![0.0, 1.0, 2.0]));
        assert_eq!(Array::from_tensor(&a.to_tensor()).unwrap(), a, "{dtype}");
        assert_eq!(a.to_bytes().len(), 3 * dtype.bytes());
    }
    let low = ints(DType::U64, &[-1]);
    assert_eq!(Array::from_tensor(&low.to_tensor()).unwrap(), low);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Operators alone, on whatever came before: no panic, and the type that `infer` promised.
    #[test]
    fn every_operator_gives_what_infer_says_or_an_error(seed: u64) {
        let g = grown(seed);
        let mut values: HashMap<ValueId, Array> = HashMap::new();
        for (i, value) in g.values.iter().enumerate() {
            values.insert(ValueId(i as u32), any_counting(&value.ty));
        }
        for n in &g.nodes {
            let inputs: Vec<Option<&Array>> = n.inputs.iter().map(|v| v.and_then(|v| values.get(&v))).collect();
            if let Ok(out) = node(&n.op, &inputs) {
                for (&v, array) in n.outputs.iter().zip(out) {
                    prop_assert_eq!(&array.ty(), g.ty(v), "{:?}", n.op);
                    prop_assert_eq!(array.data.len(), array.ty().elements(), "{:?}", n.op);
                    values.insert(v, array);
                }
            }
        }
    }
}

/// The property above means something only if the graphs hold every operator.
#[test]
fn grown_graphs_reach_every_operator() {
    let graphs = (0..700).map(|i| grown(i * 7919));
    let seen: HashSet<&str> = graphs.flat_map(|g| g.nodes.into_iter().map(|n| n.op.name())).collect();
    let all = "Add BitAnd Not Equal Cast Transpose Reshape Expand Gemm Clip Linear GatedLinear Rope Attention RowAttention KvWrite \
        CachedAttention Qkv Splice LastRow MatMul Conv MaxPool AveragePool GatherNd ScatterNd Slice Tile Pad Trilu OneHot Where \
        Elu HardSigmoid Softmax LogSoftmax Reduce ArgMax ArgMin TopK CumSum Gather GatherElements ScatterElements Concat \
        Split LayerNorm RmsNorm";
    let missing: Vec<&str> = all.split_whitespace().filter(|op| !seen.contains(op)).collect();
    assert!(missing.is_empty(), "never grown: {missing:?}");
}
