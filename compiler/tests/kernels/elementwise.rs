//! Elementwise operators of any graph as it stands, at odd shapes.

use crate::device::{Bound, TIGHT};
use crate::nodes::Random;
use crate::one::{LOOSE, edges, floats, ints, one, random};
use onnxcast::graph::eval::{Array, Values};
use onnxcast::graph::{BinaryOp, DType, Op, UnaryOp};

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
