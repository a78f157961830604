//! Operators of any graph as it stands, at odd shapes.

use crate::device::{Arrays, Bound, TIGHT, check};
use crate::nodes::Random;
use onnxcast::graph::eval::{Array, Values};
use onnxcast::graph::{
    BinaryOp, DType, Graph, Heads, Mask, Op, Output, PadMode, ReduceOp, ScatterOp, Ty, UnaryOp, Window,
};
use onnxcast::plan::Precision;

const LOOSE: Bound = Bound { absolute: 2e-5, relative: 1e-4 };

/// A one-node graph over inputs `x0`, `x1`.. of these arrays (None: an absent operand), run on both and compared.
fn one(op: Op, arrays: &[Option<Array>], bound: Bound) {
    let mut graph = Graph { name: "one".into(), ..Graph::default() };
    let mut inputs = Arrays::new();
    let mut operands = Vec::new();
    for (i, array) in arrays.iter().enumerate() {
        operands.push(array.as_ref().map(|a| {
            inputs.insert(format!("x{i}"), a.clone());
            graph.add_input(format!("x{i}"), a.ty())
        }));
    }
    let what = format!("{op:?} of {:?}", arrays.iter().flatten().map(|a| (a.dtype, &a.shape)).collect::<Vec<_>>());
    let outputs = graph.push(op, &operands, "node").unwrap_or_else(|e| panic!("{what}: {e}"));
    for (i, value) in outputs.into_iter().enumerate() {
        graph.outputs.push(Output { name: format!("y{i}"), value });
    }
    check(&what, &graph, Precision::Fp32, &inputs, bound);
}

fn random(seed: u64, dtype: DType, shape: &[usize]) -> Option<Array> {
    Some(Random::new(seed).array(&Ty::new(dtype, shape)))
}

fn floats(seed: u64, shape: &[usize]) -> Option<Array> {
    random(seed, DType::F32, shape)
}

fn ints(shape: &[usize], values: &[i64]) -> Option<Array> {
    Some(Array::i64(shape, values))
}

/// Values with the edges of f32 among them.
fn edges(scale: f32) -> Option<Array> {
    let mut v: Vec<f32> = Random::new(3).floats(119).iter().map(|x| x * scale).collect();
    v.extend([0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, f32::INFINITY, f32::NEG_INFINITY, f32::NAN]);
    Some(Array::new(DType::F32, vec![v.len()], Values::F32(v)))
}

#[test]
fn functions_of_one_float() {
    use UnaryOp::*;
    for op in [Neg, Abs, Sign, Exp, Sqrt, Reciprocal, Erf, Tanh, Sigmoid, Relu, Softplus, Softsign, Silu, GeluErf] {
        one(Op::Unary(op), &[edges(4.0)], LOOSE);
    }
    for op in [Log, Rsqrt, Floor, Ceil, Round, IsNan, IsInf, Asinh, Atan, Sinh, Cosh, HardSwish, QuickGelu, Mish] {
        one(Op::Unary(op), &[edges(4.0)], LOOSE);
    }
    let finite = |scale: f32| -> Option<Array> {
        let v: Vec<f32> = Random::new(9).floats(129).iter().map(|x| x * scale).collect();
        Some(Array::new(DType::F32, vec![129], Values::F32(v)))
    };
    for op in [Sin, Cos, Tan] {
        one(Op::Unary(op), &[finite(1.5)], LOOSE);
        one(Op::Unary(op), &[finite(30.0)], Bound { absolute: 1e-4, relative: 1e-3 });
    }
    for op in [Asin, Acos, Atanh] {
        one(Op::Unary(op), &[finite(0.99)], LOOSE);
    }
    let above: Vec<f32> = Random::new(9).floats(129).iter().map(|x| 3.0 + 1.99 * x).collect();
    one(Op::Unary(Acosh), &[Some(Array::new(DType::F32, vec![129], Values::F32(above)))], LOOSE);
    one(Op::Unary(GeluTanh), &[finite(6.0)], LOOSE);
}

#[test]
fn tanh_and_gelu_of_large_arguments_are_finite() {
    let v = vec![-1e30, -1e4, -100.0, -88.0, 88.0, 100.0, 1e4, 1e30];
    for op in [UnaryOp::Tanh, UnaryOp::Sigmoid, UnaryOp::Silu, UnaryOp::GeluErf, UnaryOp::Erf, UnaryOp::Softplus] {
        one(Op::Unary(op), &[Some(Array::new(DType::F32, vec![8], Values::F32(v.clone())))], LOOSE);
    }
    let small = vec![-80.0, -20.0, -11.0, 11.0, 20.0, 80.0];
    one(Op::Unary(UnaryOp::GeluTanh), &[Some(Array::new(DType::F32, vec![6], Values::F32(small)))], LOOSE);
}

#[test]
fn functions_of_one_integer_or_bool() {
    for dtype in [DType::I64, DType::I32, DType::I8, DType::U8] {
        for op in [UnaryOp::Neg, UnaryOp::Abs, UnaryOp::Sign, UnaryOp::BitNot] {
            let unsigned_sign = dtype == DType::U8 && matches!(op, UnaryOp::Neg | UnaryOp::Sign);
            if !unsigned_sign {
                one(Op::Unary(op), &[random(1, dtype, &[33])], TIGHT);
            }
        }
    }
    one(Op::Unary(UnaryOp::Not), &[random(1, DType::Bool, &[33])], TIGHT);
}

#[test]
fn activations_with_parameters() {
    let all = [
        Op::LeakyRelu { alpha: 0.1 },
        Op::Elu { alpha: 1.5 },
        Op::Celu { alpha: 0.7 },
        Op::Selu { alpha: 1.67, gamma: 1.05 },
        Op::Swish { alpha: 1.3 },
        Op::HardSigmoid { alpha: 0.2, beta: 0.5 },
        Op::ThresholdedRelu { alpha: 0.3 },
    ];
    for op in all {
        one(op.clone(), &[edges(2.0)], LOOSE);
        one(op, &[floats(4, &[3, 43])], LOOSE);
    }
}

#[test]
fn two_floats_broadcast() {
    use BinaryOp::*;
    let shapes: [(&[usize], &[usize]); 7] = [
        (&[33], &[33]),
        (&[2, 3, 5], &[5]),
        (&[2, 1, 5], &[3, 1]),
        (&[], &[7]),
        (&[1], &[1, 1]),
        (&[1, 2, 1, 3, 1, 2, 1, 3], &[2, 2, 3, 3, 2, 2, 3, 3]),
        (&[129, 1], &[1, 127]),
    ];
    for (i, (a, b)) in shapes.into_iter().enumerate() {
        for op in [Add, Sub, Mul, Div, Min, Max, Less, GreaterEq, Equal, PRelu] {
            one(Op::Binary(op), &[floats(i as u64, a), floats(i as u64 + 50, b)], TIGHT);
        }
    }
}

#[test]
fn remainders_and_powers_of_floats() {
    let a = vec![5.3, -5.3, 5.3, -5.3, 6.0, 0.9, -7.0, 1e6, 0.0, 3.0, 4.5];
    let b = vec![2.1, 2.1, -2.1, -2.1, 3.0, 0.3, 7.0, 0.7, 2.0, f32::INFINITY, 1.5];
    let array = |v: &[f32]| Some(Array::new(DType::F32, vec![v.len()], Values::F32(v.to_vec())));
    for op in [BinaryOp::Mod, BinaryOp::Fmod] {
        one(Op::Binary(op), &[array(&a), array(&b)], Bound { absolute: 1e-5, relative: 1e-3 });
    }
    let a = [2.0, -2.0, -2.0, 0.0, 0.0, 1.0, 9.0, 2.5, -8.0, 3.0, 1e-3, 7.3];
    let b = [3.0, 3.0, 2.0, 0.0, 2.0, f32::NAN, 0.5, -1.5, 1.0 / 3.0, 20.0, 2.0, 11.0];
    one(Op::Binary(BinaryOp::Pow), &[array(&a), array(&b)], LOOSE);
    one(Op::Binary(BinaryOp::Pow), &[array(&a), ints(&[12], &[2, 3, 0, 1, 5, 7, 2, 3, 4, 2, 1, 0])], LOOSE);
}

#[test]
fn two_integers_keep_their_type() {
    use BinaryOp::*;
    for dtype in [DType::I64, DType::I32, DType::I16, DType::I8, DType::U8, DType::U32] {
        let a = random(1, dtype, &[3, 11]);
        let mut b = random(2, dtype, &[11]);
        if let Some(Array { data: Values::Int(v), .. }) = &mut b {
            v.iter_mut().filter(|x| **x == 0).for_each(|x| *x = 3);
        }
        for op in [Add, Sub, Mul, Div, Mod, Fmod, Min, Max, Less, LessEq, Greater, Equal, BitAnd, BitOr, BitXor] {
            // Unsigned differences of 32 bits leave the range that ports carry.
            if !(dtype == DType::U32 && op == Sub) {
                one(Op::Binary(op), &[a.clone(), b.clone()], TIGHT);
            }
        }
    }
    let small = ints(&[5], &[0, 1, 2, 3, 7]);
    one(Op::Binary(Pow), &[ints(&[5], &[3, -2, 5, -1, 2]), small.clone()], TIGHT);
    let shift = |v: &[i64]| Some(Array::new(DType::U8, vec![v.len()], Values::Int(v.to_vec())));
    for op in [ShiftLeft, ShiftRight] {
        one(Op::Binary(op), &[shift(&[1, 255, 16, 7]), shift(&[3, 1, 8, 0])], TIGHT);
    }
    for op in [And, Or, Xor, Equal] {
        one(Op::Binary(op), &[random(1, DType::Bool, &[2, 33]), random(2, DType::Bool, &[33])], TIGHT);
    }
}

#[test]
fn selection_and_bounds() {
    one(Op::Where, &[random(1, DType::Bool, &[3, 1]), floats(2, &[3, 5]), floats(3, &[])], TIGHT);
    one(
        Op::Where,
        &[random(1, DType::Bool, &[5]), random(2, DType::I64, &[2, 5]), random(3, DType::I64, &[2, 1])],
        TIGHT,
    );
    let bound = |v: f32| Some(Array::new(DType::F32, vec![], Values::F32(vec![v])));
    one(Op::Clip, &[edges(2.0), bound(-0.5), bound(0.7)], TIGHT);
    one(Op::Clip, &[edges(2.0), None, bound(0.7)], TIGHT);
    one(Op::Clip, &[edges(2.0), bound(0.9), bound(0.1)], TIGHT);
    one(Op::Clip, &[edges(2.0)], TIGHT);
    one(Op::Clip, &[random(4, DType::I64, &[33]), ints(&[], &[-3]), ints(&[], &[5])], TIGHT);
}

#[test]
fn casts_between_all_kinds() {
    use DType::*;
    for to in [F32, F16, BF16, I64, I32, I8, U8, Bool] {
        let v = vec![0.0, 1.0, -1.0, 1.5, -1.5, 2.7, -0.3, 100.0, 65504.0, 65519.0, 6e-8, 1e-5, 0.1, 3.2];
        let v = if to.is_float() || to == Bool { v } else { v.into_iter().filter(|x: &f32| x.abs() < 120.0).collect() };
        let v: Vec<f32> = if to == U8 { v.into_iter().filter(|x| *x >= 0.0).collect() } else { v };
        one(Op::Cast { to }, &[Some(Array::new(F32, vec![v.len()], Values::F32(v)))], TIGHT);
        for from in [I64, U8, Bool] {
            one(Op::Cast { to }, &[random(6, from, &[33])], TIGHT);
        }
    }
}

#[test]
fn grids_past_65535_workgroups_are_split() {
    let n = 65535 * 256 + 1;
    let mut x = vec![0.0f32; n];
    for (i, x) in x.iter_mut().enumerate() {
        *x = (i % 1021) as f32;
    }
    one(Op::Unary(UnaryOp::Neg), &[Some(Array::new(DType::F32, vec![n], Values::F32(x)))], TIGHT);
}

#[test]
fn matrix_products_of_any_rank() {
    let shapes: [(&[usize], &[usize]); 9] = [
        (&[1, 1], &[1, 1]),
        (&[3, 5], &[5, 7]),
        (&[33, 65], &[65, 31]),
        (&[2, 3, 5, 7], &[7, 2]),
        (&[2, 1, 5, 7], &[3, 7, 2]),
        (&[7], &[7]),
        (&[7], &[2, 7, 3]),
        (&[2, 3, 7], &[7]),
        (&[129, 40], &[40, 127]),
    ];
    for (i, (a, b)) in shapes.into_iter().enumerate() {
        one(Op::MatMul, &[floats(i as u64, a), floats(i as u64 + 9, b)], TIGHT);
    }
    one(Op::MatMul, &[random(1, DType::I64, &[5, 7]), random(2, DType::I64, &[7, 3])], TIGHT);
}

#[test]
fn gemm_with_transposes_and_bias() {
    for (trans_a, trans_b) in [(false, false), (true, false), (false, true), (true, true)] {
        let a = if trans_a { [7, 5] } else { [5, 7] };
        let b = if trans_b { [3, 7] } else { [7, 3] };
        for c in [None, Some(vec![3]), Some(vec![5, 1]), Some(vec![5, 3]), Some(vec![])] {
            let c = c.and_then(|shape: Vec<usize>| floats(3, &shape));
            let op = Op::Gemm { alpha: 0.5, beta: 2.0, trans_a, trans_b };
            one(op, &[floats(1, &a), floats(2, &b), c], TIGHT);
        }
    }
}

#[test]
fn softmax_along_any_axis() {
    for (shape, axis) in [(vec![1], 0), (vec![3, 5], 1), (vec![3, 5], 0), (vec![2, 129, 3], 1), (vec![2, 3, 300], 2)] {
        one(Op::Softmax { axis }, &[floats(1, &shape)], TIGHT);
        one(Op::LogSoftmax { axis }, &[floats(1, &shape)], LOOSE);
    }
    let big = vec![1e4, -1e4, 9e3, f32::NEG_INFINITY, f32::NEG_INFINITY, f32::NEG_INFINITY];
    one(Op::Softmax { axis: 1 }, &[Some(Array::new(DType::F32, vec![2, 3], Values::F32(big)))], TIGHT);
}

#[test]
fn reductions_over_any_axes() {
    use ReduceOp::*;
    let axes: [(&[usize], &[usize]); 6] = [
        (&[7], &[0]),
        (&[3, 5, 7], &[1]),
        (&[3, 5, 7], &[0, 2]),
        (&[2, 129], &[1]),
        (&[65, 3], &[0]),
        (&[2, 2, 70, 2], &[0, 2]),
    ];
    for (shape, axes) in axes {
        for kind in [Sum, Mean, Max, Min, Prod, SumSquare, L1, L2, LogSumExp] {
            for keep in [false, true] {
                one(Op::Reduce { kind, axes: axes.to_vec(), keep }, &[floats(8, shape)], LOOSE);
            }
        }
        for kind in [Sum, Max, Min, Mean, L1] {
            one(Op::Reduce { kind, axes: axes.to_vec(), keep: false }, &[random(8, DType::I64, shape)], TIGHT);
        }
    }
    let positive: Vec<f32> = Random::new(2).floats(35).iter().map(|x| x.abs() + 0.1).collect();
    let array = Array::new(DType::F32, vec![5, 7], Values::F32(positive));
    one(Op::Reduce { kind: LogSum, axes: vec![1], keep: true }, &[Some(array)], LOOSE);
    for kind in [Max, Min] {
        one(Op::Reduce { kind, axes: vec![0], keep: false }, &[random(1, DType::U8, &[9, 3])], TIGHT);
        one(Op::Reduce { kind, axes: vec![0], keep: false }, &[random(1, DType::Bool, &[9, 3])], TIGHT);
        one(Op::Reduce { kind, axes: vec![0], keep: false }, &[edges(2.0)], TIGHT);
    }
}

#[test]
fn extremes_and_orders_prefer_the_first_of_equals() {
    for (shape, axis) in [(vec![7], 0), (vec![3, 65], 1), (vec![5, 33, 3], 1), (vec![2, 300], 1)] {
        for last in [false, true] {
            for dtype in [DType::F32, DType::I64] {
                one(Op::ArgMax { axis, keep: true, last }, &[random(1, dtype, &shape)], TIGHT);
                one(Op::ArgMin { axis, keep: false, last }, &[random(1, dtype, &shape)], TIGHT);
            }
        }
        for largest in [false, true] {
            for dtype in [DType::F32, DType::I64, DType::U8] {
                one(Op::TopK { k: 3, axis, largest, sorted: true }, &[random(4, dtype, &shape)], TIGHT);
            }
        }
    }
    one(Op::ArgMax { axis: 0, keep: false, last: false }, &[edges(1.0)], TIGHT);
}

#[test]
fn running_sums() {
    for (exclusive, reverse) in [(false, false), (true, false), (false, true), (true, true)] {
        for (shape, axis) in [(vec![7], 0), (vec![3, 65], 0), (vec![3, 65], 1), (vec![2, 3, 5], 1)] {
            one(Op::CumSum { axis, exclusive, reverse }, &[floats(1, &shape)], TIGHT);
            one(Op::CumSum { axis, exclusive, reverse }, &[random(1, DType::I64, &shape)], TIGHT);
        }
    }
}

#[test]
fn gathers_along_any_axis() {
    let index = ints(&[2, 3], &[0, -1, 2, 1, -3, 0]);
    for axis in 0..3 {
        one(Op::Gather { axis }, &[floats(1, &[3, 4, 5]), index.clone()], TIGHT);
    }
    one(Op::Gather { axis: 0 }, &[random(1, DType::I64, &[7]), ints(&[], &[-2])], TIGHT);
    one(Op::GatherElements { axis: 1 }, &[floats(1, &[3, 4]), ints(&[2, 2], &[0, -1, 3, 2])], TIGHT);
    one(Op::GatherElements { axis: 0 }, &[floats(1, &[3, 4]), ints(&[2, 2], &[0, -1, 1, 2])], TIGHT);
    one(Op::GatherNd { batch: 0 }, &[floats(1, &[3, 4, 5]), ints(&[2, 2], &[0, -1, 2, 1])], TIGHT);
    one(Op::GatherNd { batch: 1 }, &[floats(1, &[2, 4, 5]), ints(&[2, 3, 1], &[0, -1, 2, 3, 1, 0])], TIGHT);
    one(Op::GatherNd { batch: 0 }, &[floats(1, &[3, 4]), ints(&[2, 2], &[2, 3, -1, -4])], TIGHT);
}

#[test]
fn scatters_apply_updates_in_order() {
    for op in [ScatterOp::Set, ScatterOp::Add, ScatterOp::Mul, ScatterOp::Max, ScatterOp::Min] {
        let index = ints(&[2, 3], &[0, 1, 0, -1, 2, 2]);
        for axis in [0, 1] {
            one(Op::ScatterElements { axis, op }, &[floats(1, &[3, 4]), index.clone(), floats(2, &[2, 3])], TIGHT);
        }
        let tuples = ints(&[4, 1], &[2, 0, 2, -1]);
        one(Op::ScatterNd { op }, &[floats(1, &[3, 5]), tuples, floats(2, &[4, 5])], TIGHT);
        let tuples = ints(&[3, 2], &[0, 1, 2, -1, 0, 1]);
        one(Op::ScatterNd { op }, &[random(1, DType::I64, &[3, 4]), tuples, random(2, DType::I64, &[3])], TIGHT);
    }
}

#[test]
fn one_hot_on_any_axis() {
    for axis in [0, 1, 2] {
        one(Op::OneHot { axis, depth: 4 }, &[ints(&[2, 3], &[0, -1, 2, 9, 1, 3]), floats(1, &[2])], TIGHT);
    }
}

#[test]
fn elements_move() {
    one(Op::Transpose { perm: vec![1, 0] }, &[floats(1, &[33, 65])], TIGHT);
    one(Op::Transpose { perm: vec![0, 2, 1, 3] }, &[floats(1, &[2, 3, 5, 7])], TIGHT);
    one(Op::Transpose { perm: vec![7, 6, 5, 4, 3, 2, 1, 0] }, &[floats(1, &[2, 1, 2, 3, 1, 2, 2, 3])], TIGHT);
    one(Op::Slice { begin: vec![4, 1], step: vec![-2, 3], len: vec![2, 4] }, &[floats(1, &[5, 12])], TIGHT);
    one(Op::Expand { shape: vec![3, 2, 5] }, &[floats(1, &[2, 1])], TIGHT);
    one(Op::Tile { repeats: vec![2, 3, 1] }, &[random(1, DType::I64, &[3, 2, 5])], TIGHT);
    one(Op::Tile { repeats: vec![2, 2, 2, 2, 2] }, &[floats(1, &[2, 3, 2, 1, 3])], TIGHT);
    one(Op::Split { axis: 1, sizes: vec![2, 0, 5] }, &[floats(1, &[3, 7])], TIGHT);
    let parts = [floats(1, &[3, 2, 5]), floats(2, &[3, 0, 5]), floats(3, &[3, 4, 5])];
    one(Op::Concat { axis: 1 }, &parts, TIGHT);
    one(Op::Concat { axis: 0 }, &[random(1, DType::Bool, &[3]), random(2, DType::Bool, &[4])], TIGHT);
    for upper in [false, true] {
        for k in [-1, 0, 2, i64::MAX] {
            one(Op::Trilu { upper, k }, &[floats(1, &[2, 5, 7])], TIGHT);
        }
    }
}

#[test]
fn padding_in_every_mode() {
    for mode in [PadMode::Constant, PadMode::Reflect, PadMode::Edge, PadMode::Wrap] {
        one(Op::Pad { mode, pads: vec![1, 2, 0, 1] }, &[floats(1, &[3, 4])], TIGHT);
        one(Op::Pad { mode, pads: vec![-1, 2, 2, -1] }, &[floats(1, &[3, 4])], TIGHT);
    }
    let value = Some(Array::new(DType::F32, vec![], Values::F32(vec![7.0])));
    one(Op::Pad { mode: PadMode::Constant, pads: vec![0, 1, 1, 0, 0, 2] }, &[floats(1, &[1, 3, 2]), value], TIGHT);
}

fn window(kernel: &[usize], strides: &[usize], dilations: &[usize], pads: &[usize]) -> Window {
    Window { kernel: kernel.into(), strides: strides.into(), dilations: dilations.into(), pads: pads.into() }
}

#[test]
fn convolutions_with_groups_dilation_and_pads() {
    let conv = |w: Window, group: usize, x: &[usize], k: &[usize]| {
        one(Op::Conv { window: w.clone(), group }, &[floats(1, x), floats(2, k), floats(3, &k[..1])], TIGHT);
        one(Op::Conv { window: w, group }, &[floats(1, x), floats(2, k), None], TIGHT);
    };
    conv(window(&[3], &[1], &[1], &[1, 1]), 1, &[2, 3, 9], &[5, 3, 3]);
    conv(window(&[3, 2], &[2, 1], &[1, 2], &[1, 0, 0, 1]), 2, &[1, 4, 9, 7], &[6, 2, 3, 2]);
    conv(window(&[14, 14], &[14, 14], &[1, 1], &[0; 4]), 1, &[1, 3, 28, 42], &[33, 3, 14, 14]);
    conv(window(&[2, 2, 2], &[1, 1, 1], &[1, 1, 1], &[0; 6]), 1, &[1, 2, 3, 4, 5], &[3, 2, 2, 2, 2]);
}

#[test]
fn pools_leave_padding_out() {
    let w = window(&[3, 3], &[2, 2], &[1, 1], &[1, 1, 1, 1]);
    for ceil in [false, true] {
        one(Op::MaxPool { window: w.clone(), ceil }, &[floats(1, &[1, 3, 8, 7])], TIGHT);
        for count_pad in [false, true] {
            one(Op::AveragePool { window: w.clone(), ceil, count_pad }, &[floats(1, &[1, 3, 8, 7])], TIGHT);
        }
    }
    let dilated = window(&[2], &[1], &[2], &[0, 1]);
    one(Op::MaxPool { window: dilated, ceil: false }, &[floats(1, &[2, 3, 9])], TIGHT);
}

#[test]
fn norms_over_trailing_axes() {
    for (shape, axis) in [(vec![3, 33], 1), (vec![2, 3, 65], 2), (vec![2, 3, 5], 1), (vec![129], 0)] {
        let weights = &shape[axis..];
        one(Op::LayerNorm { axis, eps: 1e-5 }, &[floats(1, &shape), floats(2, weights), floats(3, weights)], TIGHT);
        one(Op::LayerNorm { axis, eps: 1e-5 }, &[floats(1, &shape), floats(2, &[1]), None], TIGHT);
        one(Op::RmsNorm { axis, eps: 1e-6 }, &[floats(1, &shape), floats(2, weights)], TIGHT);
    }
    // A mean square far past fp16.
    let big: Vec<f32> = (0..64).map(|i| 1e4 * (i as f32 - 30.0)).collect();
    let big = Some(Array::new(DType::F32, vec![1, 64], Values::F32(big)));
    one(Op::RmsNorm { axis: 1, eps: 1e-6 }, &[big, floats(2, &[64])], TIGHT);
}

#[test]
fn attention_over_given_keys() {
    let heads = |q, kv, dim| Heads { q, kv, dim };
    let run = |h: Heads, b: usize, s: usize, t: usize, mask: Mask, given: Option<Array>| {
        let kv = [b, h.kv, t, h.dim];
        let op = Op::Attention { heads: h, scale: 0.3, mask };
        let mut all = vec![floats(1, &[b, h.q, s, h.dim]), floats(2, &kv), floats(3, &kv)];
        if mask == Mask::Given {
            all.push(given);
        }
        one(op, &all, TIGHT);
    };
    run(heads(1, 1, 1), 1, 1, 1, Mask::Full, None);
    run(heads(4, 2, 16), 2, 5, 5, Mask::Causal, None);
    run(heads(4, 4, 72), 1, 31, 33, Mask::Full, None);
    run(heads(3, 1, 7), 1, 3, 129, Mask::Causal, None);
    run(heads(2, 1, 8), 1, 33, 65, Mask::Window(5), None);
    run(heads(2, 2, 8), 2, 5, 9, Mask::Given, floats(4, &[5, 9]));
    run(heads(2, 2, 8), 2, 5, 9, Mask::Given, floats(4, &[2, 1, 1, 9]));
    // A row that the mask hides wholly stays finite: the mean of all values.
    let hidden: Vec<f32> = (0..45).map(|i| if i < 9 { -1e4 } else { 0.0 }).collect();
    run(heads(2, 2, 8), 1, 5, 9, Mask::Given, Some(Array::new(DType::F32, vec![5, 9], Values::F32(hidden))));
}
