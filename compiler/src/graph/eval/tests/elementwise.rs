use super::*;
use crate::graph::BinaryOp::*;
use crate::graph::UnaryOp::{self, *};

fn binary(f: crate::graph::BinaryOp, a: &Array, b: &Array) -> Vec<i64> {
    one(Op::Binary(f), &[a, b]).to_ints()
}

#[test]
fn integer_division_truncates_towards_zero() {
    let (a, b) = (ints(DType::I32, &[7, -7, 7, -7]), ints(DType::I32, &[2, 2, -2, -2]));
    assert_eq!(binary(Div, &a, &b), [3, -3, -3, 3]);
}

#[test]
fn integer_division_by_zero_is_refused() {
    let said = refusal(Op::Binary(Div), &[&ints(DType::I64, &[1]), &ints(DType::I64, &[0])]);
    assert!(said.contains("by zero"), "{said}");
}

#[test]
fn integers_wrap_to_their_width() {
    assert_eq!(binary(Add, &ints(DType::I8, &[127]), &ints(DType::I8, &[1])), [-128]);
    assert_eq!(binary(Sub, &ints(DType::U8, &[0]), &ints(DType::U8, &[1])), [255]);
    assert_eq!(binary(Mul, &ints(DType::I32, &[1 << 20]), &ints(DType::I32, &[1 << 20])), [0]);
    assert_eq!(binary(Div, &ints(DType::I64, &[i64::MIN]), &ints(DType::I64, &[-1])), [i64::MIN]);
}

#[test]
fn u64_compares_and_divides_as_unsigned() {
    let (big, one_) = (ints(DType::U64, &[-1]), ints(DType::U64, &[1]));
    assert_eq!(binary(Greater, &big, &one_), [1]);
    assert_eq!(binary(Div, &big, &ints(DType::U64, &[2])), [i64::MAX]);
    assert_eq!(one(Op::Cast { to: DType::F32 }, &[&big]).to_f32(), [18446744073709551615.0]);
}

#[test]
fn mod_takes_the_sign_of_the_divisor_and_fmod_of_the_dividend() {
    let (a, b) = (ints(DType::I32, &[-7, 7, -6]), ints(DType::I32, &[3, -3, 3]));
    assert_eq!(binary(Mod, &a, &b), [2, -2, 0]);
    assert_eq!(binary(Fmod, &a, &b), [-1, 1, 0]);
    let (x, y) = (Array::f32(&[2], &[-7.5, 7.5]), Array::f32(&[2], &[2.0, -2.0]));
    assert_eq!(one(Op::Binary(Mod), &[&x, &y]).to_f32(), [0.5, -0.5]);
    assert_eq!(one(Op::Binary(Fmod), &[&x, &y]).to_f32(), [-1.5, 1.5]);
}

#[test]
fn pow_keeps_the_type_of_its_base() {
    assert_eq!(binary(Pow, &ints(DType::I32, &[2, -3, 2]), &ints(DType::I32, &[10, 3, 0])), [1024, -27, 1]);
    let mixed = one(Op::Binary(Pow), &[&ints(DType::I32, &[2, 3]), &Array::f32(&[1], &[2.5])]);
    assert_eq!((mixed.dtype, mixed.to_ints()), (DType::I32, vec![5, 15]));
    let mixed = one(Op::Binary(Pow), &[&Array::f32(&[1], &[1.5]), &ints(DType::I64, &[2])]);
    assert_eq!((mixed.dtype, mixed.to_f32()), (DType::F32, vec![2.25]));
}

#[test]
fn shifts_past_the_width_give_zero() {
    assert_eq!(binary(ShiftLeft, &ints(DType::U8, &[255, 1]), &ints(DType::U8, &[1, 8])), [254, 0]);
    assert_eq!(binary(ShiftRight, &ints(DType::U64, &[-1, 1]), &ints(DType::U64, &[63, 64])), [1, 0]);
}

#[test]
fn min_and_max_pass_nan_on() {
    let (a, b) = (Array::f32(&[2], &[f32::NAN, 1.0]), Array::f32(&[2], &[1.0, f32::NAN]));
    for f in [Min, Max] {
        assert!(one(Op::Binary(f), &[&a, &b]).to_f32().iter().all(|x| x.is_nan()));
    }
}

#[test]
fn shapes_of_different_rank_broadcast() {
    let sum = one(Op::Binary(Add), &[&counting(&[2, 1, 3]), &counting(&[2, 1])]);
    assert_eq!(sum.shape, [2, 2, 3]);
    assert_eq!(sum.to_f32(), [0., 1., 2., 1., 2., 3., 3., 4., 5., 4., 5., 6.]);
    let empty = one(Op::Binary(Add), &[&counting(&[2, 0]), &counting(&[1])]);
    assert_eq!(empty.shape, [2, 0]);
    let said = refusal(Op::Binary(Add), &[&counting(&[2]), &counting(&[3])]);
    assert!(said.contains("do not broadcast"), "{said}");
}

#[test]
fn half_results_are_rounded_to_half() {
    let (a, b) = (floats(DType::F16, &[2048.0, 60000.0]), floats(DType::F16, &[1.0, 60000.0]));
    assert_eq!(one(Op::Binary(Add), &[&a, &b]).to_f32(), [2048.0, f32::INFINITY]);
    assert_eq!(floats(DType::BF16, &[1.001]).to_f32(), [1.0]);
    assert_eq!(floats(DType::F16, &[0.1]).to_f32(), [0.099975586]);
}

#[test]
fn casts_truncate_wrap_and_test_for_zero() {
    let x = Array::f32(&[4], &[-1.9, 1.9, 300.0, 0.0]);
    assert_eq!(one(Op::Cast { to: DType::I32 }, &[&x]).to_ints(), [-1, 1, 300, 0]);
    assert_eq!(one(Op::Cast { to: DType::U8 }, &[&x]).to_ints(), [255, 1, 44, 0]);
    assert_eq!(one(Op::Cast { to: DType::Bool }, &[&x]).data, Values::Bool(vec![true, true, true, false]));
    let exact = ints(DType::I64, &[(1 << 53) + 1]);
    assert_eq!(one(Op::Cast { to: DType::I64 }, &[&exact]).to_ints(), [(1 << 53) + 1]);
}

#[test]
fn where_takes_each_side_by_its_own_broadcast() {
    let cond = Array::bool(&[2, 1], &[true, false]);
    let out = one(Op::Where, &[&cond, &counting(&[3]), &Array::f32(&[], &[-1.0])]);
    assert_eq!((out.shape.as_slice(), out.to_f32()), (&[2, 3][..], vec![0., 1., 2., -1., -1., -1.]));
}

#[test]
fn clip_takes_absent_bounds_and_prefers_the_high_one() {
    let x = Array::f32(&[3], &[-5.0, 0.5, 5.0]);
    let high = Array::f32(&[], &[1.0]);
    let out = node(&Op::Clip, &[Some(&x), None, Some(&high)]).unwrap();
    assert_eq!(out[0].to_f32(), [-5.0, 0.5, 1.0]);
    let low = Array::f32(&[1], &[3.0]);
    assert_eq!(one(Op::Clip, &[&x, &low, &high]).to_f32(), [1.0, 1.0, 1.0]);
    let (i, low, high) = (ints(DType::I8, &[-9, 2, 9]), ints(DType::I8, &[-1]), ints(DType::I8, &[3]));
    assert_eq!(one(Op::Clip, &[&i, &low, &high]).to_ints(), [-1, 2, 3]);
}

fn at(f: UnaryOp, x: f32) -> f32 {
    one(Op::Unary(f), &[&Array::f32(&[1], &[x])]).to_f32()[0]
}

#[test]
fn activations_have_their_known_values() {
    let table = [
        (Sigmoid, 1.0, 0.7310586),
        (Silu, 1.0, 0.7310586),
        (GeluErf, 1.0, 0.8413447),
        (GeluTanh, 1.0, 0.841192),
        (QuickGelu, 1.0, 0.84579575),
        (HardSwish, 1.0, 0.6666667),
        (Mish, 1.0, 0.865098),
        (Softplus, 1.0, 1.3132616),
        (Softplus, 100.0, 100.0),
        (Softsign, -3.0, -0.75),
        (Erf, 0.5, 0.5204999),
        (Rsqrt, 4.0, 0.5),
        (Tanh, 1000.0, 1.0),
        (Exp, -1e4, 0.0),
        (Sign, -0.5, -1.0),
    ];
    for (f, x, y) in table {
        assert!((at(f, x) - y).abs() < 1e-6, "{f:?}({x}) = {}", at(f, x));
    }
}

#[test]
fn round_goes_to_the_even_neighbour() {
    assert_eq!([0.5, 1.5, 2.5, -0.5, -1.5].map(|x| at(Round, x)), [0.0, 2.0, 2.0, 0.0, -2.0]);
}

#[test]
fn relu_keeps_nan_and_clears_negative_integers() {
    assert!(at(Relu, f32::NAN).is_nan());
    assert_eq!(one(Op::Unary(Relu), &[&ints(DType::I32, &[-2, 2])]).to_ints(), [0, 2]);
}

#[test]
fn logic_wants_bool() {
    let (t, f) = (Array::bool(&[1], &[true]), Array::bool(&[1], &[false]));
    assert_eq!(binary(And, &t, &f), [0]);
    assert_eq!(binary(Or, &t, &f), [1]);
    assert_eq!(binary(Xor, &t, &t), [0]);
    assert_eq!(binary(Equal, &f, &f), [1]);
    assert_eq!(one(Op::Unary(Not), &[&f]).to_ints(), [1]);
    assert!(refusal(Op::Binary(And), &[&counting(&[1]), &counting(&[1])]).contains("must be bool"));
    assert!(refusal(Op::Binary(Add), &[&t, &f]).contains("must be numeric"));
}

#[test]
fn nan_and_infinity_are_told_apart() {
    let x = Array::f32(&[3], &[f32::NAN, f32::NEG_INFINITY, 1.0]);
    assert_eq!(one(Op::Unary(IsNan), &[&x]).to_ints(), [1, 0, 0]);
    assert_eq!(one(Op::Unary(IsInf), &[&x]).to_ints(), [0, 1, 0]);
}
