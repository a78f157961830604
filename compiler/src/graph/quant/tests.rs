use super::*;
use crate::graph::{DType, Tensor};
use half::{bf16, f16};
use std::sync::Arc;

/// Every width and meaning of a code, numbers narrow and wide.
fn kinds() -> Vec<Quant> {
    let all = [4, 8].into_iter().flat_map(|bits| Zero::ALL.into_iter().map(move |zero| quant(bits, 64, zero)));
    all.flat_map(|q| [q, Quant { wide: true, ..q }]).collect()
}

fn quant(bits: u8, group: u16, zero: Zero) -> Quant {
    Quant { bits, group, zero, salient: 0, wide: false }
}

/// Values in -1..1 from a fixed sequence.
fn random(n: usize) -> Vec<f32> {
    let mut x = 12345u32;
    let mut next = || {
        x = x.wrapping_mul(1664525).wrapping_add(1013904223);
        (x >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    // A sum of three is nearer to what weights look like.
    (0..n).map(|_| (next() + next() + next()) / 3.0).collect()
}

fn bytes(parts: &[&Encoded]) -> Vec<u8> {
    let mut out = vec![];
    packed(parts, &mut |b| {
        out.extend_from_slice(b);
        Ok(())
    })
    .unwrap();
    out
}

fn relative(e: &Encoded, values: &[f32]) -> f64 {
    let (error, whole) = e.error(values);
    error / whole
}

#[test]
fn a_name_reads_back_and_nothing_else_does() {
    for q in kinds() {
        for (salient, group) in [(0, 64), (9, 16)] {
            let q = Quant { salient, group, ..q };
            assert_eq!(Quant::parse(&q.name()), Some(q));
        }
    }
    assert_eq!(Quant { wide: true, ..quant(4, 16, Zero::Float) }.name(), "q4_g16_float_wide");
    assert_eq!(Quant { salient: 9, ..quant(4, 128, Zero::Point) }.name(), "q4_g128_point_s9");
    for name in
        ["", "rows_f16", "q4", "q4_g32", "q5_g32_mid", "q4_g48_mid", "q4_g32_mid_s0", "q4_g32_mid_s1_x", "q04_g32_mid"]
    {
        assert_eq!(Quant::parse(name), None, "{name}");
    }
}

#[test]
fn a_group_that_does_not_divide_the_columns_is_lowered() {
    let group = |k| quant(4, 128, Zero::Mid).fitted(k).map(|q| q.group);
    assert_eq!([896, 576, 96, 33, 16, 0].map(group), [Some(128), Some(64), Some(32), None, None, None]);
}

#[test]
fn sections_start_at_multiples_of_sixteen_in_order() {
    let q = Quant { salient: 3, ..quant(4, 32, Zero::Point) };
    let s = q.sections(5, 96);
    assert_eq!(s, Sections { scales: 240, zeros: 272, columns: 288, corrections: 304, bytes: 336 });
    let whole = quant(4, 64, Zero::Min).sections(151936, 896).bytes as f64 * 8.0 / (151936.0 * 896.0);
    assert!((whole - 4.5).abs() < 1e-6, "{whole} bits a weight");
}

#[test]
fn neighbouring_columns_lie_sixteen_bits_apart() {
    let codes: Vec<u8> = (0..32).map(|i| i % 16).collect();
    let grid = Grid { scale: half::f16::ONE, zero: 0 };
    let e = Encoded::from_codes(quant(4, 32, Zero::Mid), 1, 32, &codes, vec![grid]).unwrap();
    let out = bytes(&[&e]);
    let word = u32::from_le_bytes([out[0], out[1], out[2], out[3]]);
    for p in 0..4 {
        for h in 0..2 {
            assert_eq!(word >> (4 * p + 16 * h) & 15, 2 * p + h);
        }
    }
    let want: Vec<f32> = codes.iter().map(|&c| f32::from(c) - 8.0).collect();
    assert_eq!(e.decode(), want);
}

#[test]
fn values_on_a_grid_with_minimum_come_back_exactly() {
    // Codes that leave ends of the range out, as blocks of a quantised source do.
    for codes in [[0u8, 15, 7, 3], [2, 13, 5, 9], [4, 9, 6, 5], [8, 8, 8, 8]] {
        let value = |q: u8| f32::from(q) * 0.012_329_102 - 0.09375;
        let values: Vec<f32> = (0..64).map(|i| value(codes[i % 4])).collect();
        let e = Encoded::nearest(&values, 2, 32, quant(4, 32, Zero::Min), &Fit::default()).unwrap();
        assert!(relative(&e, &values) < 1e-7, "{codes:?}: {}", relative(&e, &values));
    }
}

#[test]
fn the_search_beats_the_plain_range_and_more_freedom_is_no_worse() {
    let values = random(64 * 256);
    let error = |bits, group, zero| {
        let q = quant(bits, group, zero);
        relative(&Encoded::nearest(&values, 64, 256, q, &Fit::default()).unwrap(), &values)
    };
    let plain: f64 = values
        .chunks(32)
        .map(|g| {
            let scale = g.iter().fold(0.0f32, |a, b| a.max(b.abs())) / 7.0;
            g.iter().map(|x| f64::from((x / scale).round() * scale - x).powi(2)).sum::<f64>()
        })
        .sum();
    let plain = plain / values.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>();
    let mid = error(4, 32, Zero::Mid);
    assert!(mid < 0.8 * plain, "searched {mid}, plain {plain}");
    assert!(error(4, 32, Zero::Min) < mid);
    assert!(error(4, 128, Zero::Min) > error(4, 32, Zero::Min));
    for zero in Zero::ALL {
        assert!(error(8, 64, zero) < 5e-5 && error(4, 64, zero) < 1e-2, "{zero:?}");
    }
}

#[test]
fn columns_that_count_more_are_nearer() {
    let values = random(32 * 64);
    let importance: Vec<f32> = (0..64).map(|c| if c % 8 == 0 { 100.0 } else { 1.0 }).collect();
    let of = |importance: &[f32]| {
        let fit = Fit { importance, ..Fit::default() };
        let got = Encoded::nearest(&values, 32, 64, quant(4, 64, Zero::Mid), &fit).unwrap().decode();
        got.iter().zip(&values).step_by(8).map(|(a, b)| (a - b).powi(2)).sum::<f32>()
    };
    assert!(of(&importance) < 0.5 * of(&[]));
}

#[test]
fn salient_columns_are_nearly_exact() {
    let mut values = random(8 * 64);
    values.iter_mut().skip(17).step_by(64).for_each(|x| *x *= 40.0);
    for q in kinds() {
        let q = Quant { salient: 2, group: 32, ..q };
        let fit = Fit { salient: &[3, 17], ..Fit::default() };
        let got = Encoded::nearest(&values, 8, 64, q, &fit).unwrap().decode();
        for (i, (a, b)) in got.iter().zip(&values).enumerate().filter(|(i, _)| [3, 17].contains(&(i % 64))) {
            assert!((a - b).abs() <= 1e-3 * b.abs() + 1e-6, "{} {i}: {a} for {b}", q.name());
        }
        let outlier_spoils = got.iter().zip(&values).map(|(a, b)| (a - b).powi(2)).sum::<f32>();
        assert!(outlier_spoils < 2.0, "{}: {outlier_spoils}", q.name());
    }
}

#[test]
fn joined_parts_are_the_whole() {
    let values = random(24 * 64);
    for q in kinds() {
        let q = Quant { salient: 2, group: 32, ..q };
        let whole = Encoded::nearest(&values, 24, 64, q, &Fit { salient: &[0, 63], ..Fit::default() }).unwrap();
        let (a, b) = (whole.rows(0, 7), whole.rows(7, 24));
        let out = bytes(&[&whole]);
        assert_eq!(out, bytes(&[&a, &b]), "{}", q.name());
        assert_eq!(out.len(), q.sections(24, 64).bytes);
        assert_eq!([a.decode(), b.decode()].concat(), whole.decode());
        assert_ne!(a.hash(), b.hash());
    }
}

#[test]
fn the_sections_hold_what_decode_says() {
    let values = random(3 * 128);
    for q in kinds() {
        let Quant { bits, zero, wide, .. } = q;
        let q = Quant { salient: 1, ..q };
        let e = Encoded::nearest(&values, 3, 128, q, &Fit { salient: &[5], ..Fit::default() }).unwrap();
        let (out, s, want) = (bytes(&[&e]), q.sections(3, 128), e.decode());
        let half = |at: usize| half::f16::from_le_bytes([out[at], out[at + 1]]).to_f32();
        for (i, want) in want.into_iter().enumerate() {
            let code = match bits {
                4 => (out[i / 8 * 4 + (i % 2) * 2 + i % 8 / 4] >> (4 * (i % 4 / 2))) & 15,
                _ => out[i],
            };
            let (group, code) = (i / 64, f32::from(code));
            let word = |at: usize| f32::from_le_bytes([out[at], out[at + 1], out[at + 2], out[at + 3]]);
            let number = |at: usize| if wide { word(at + 4 * group) } else { half(at + 2 * group) };
            let scale = number(s.scales);
            let mut got = match zero {
                Zero::Mid => (code - if bits == 4 { 8.0 } else { 128.0 }) * scale,
                Zero::Point => (code - f32::from(out[s.zeros + group])) * scale,
                Zero::Min => code * scale + number(s.zeros),
                Zero::Float => (code - number(s.zeros)) * scale,
            };
            if i % 128 == 5 {
                got += half(s.corrections + 2 * (i / 128));
            }
            assert!((got - want).abs() <= 1e-6, "{} element {i}: {got}, not {want}", q.name());
        }
        assert_eq!(out[s.columns], 5);
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let (values, q) = (random(64), quant(4, 32, Zero::Mid));
    let nearest = |values: &[f32], n, k, q| Encoded::nearest(values, n, k, q, &Fit::default()).map(|_| ()).unwrap_err();
    assert!(nearest(&values[..40], 1, 40, q).to_string().contains("multiple of the group"));
    assert!(nearest(&values, 1, 32, q).to_string().contains("not 1 rows of 32"));
    assert!(nearest(&[f32::NAN; 64], 2, 32, q).to_string().contains("row 0, column 0 is NaN"));
    let other = Encoded::nearest(&values, 1, 64, quant(4, 64, Zero::Mid), &Fit::default()).unwrap();
    let first = Encoded::nearest(&values, 2, 32, q, &Fit::default()).unwrap();
    assert!(packed(&[&first, &other], &mut |_| Ok(())).is_err());
}

/// A file's matrix of `n` rows of `blocks` blocks, and what it means by the definition of MatMulNBits.
fn file(bits: u8, block: usize, scales: DType, zeros: Option<DType>, order: Option<Arc<Order>>) -> (Given, Vec<f32>) {
    let (n, blocks) = (3, 3);
    let wide = usize::from(bits);
    let codes: Vec<u8> = (0..n * blocks * block * wide / 8).map(|i| (i * 89 + 7) as u8).collect();
    let float = |x: f32, dtype| match dtype {
        DType::F16 => f16::from_f32(x).to_le_bytes().to_vec(),
        DType::BF16 => bf16::from_f32(x).to_le_bytes().to_vec(),
        _ => x.to_le_bytes().to_vec(),
    };
    let exact = |x: f32, dtype| match dtype {
        DType::F16 => f16::from_f32(x).to_f32(),
        DType::BF16 => bf16::from_f32(x).to_f32(),
        _ => x,
    };
    let scale = |i: usize| 0.01 + i as f32 * 0.0137;
    let zero = |i: usize| i as f32 * 0.73 - 1.0;
    let tensor = |dtype: DType, bytes: Vec<u8>| {
        let size = if dtype == DType::U8 { 1 } else { dtype.bytes() };
        Tensor::from_bytes(dtype, vec![bytes.len() / size], bytes)
    };
    let zero_bytes = (blocks * wide).div_ceil(8);
    let packed: Vec<u8> = (0..n * zero_bytes).map(|i| (i * 57 + 0x93) as u8).collect();
    let bit = |bytes: &[u8], at: usize| f32::from((u16::from(bytes[at / 8]) >> (at % 8)) & ((1 << wide) - 1));
    let value = |c: usize| {
        let (row, column) = (c / (blocks * block), c % (blocks * block));
        let column = order.as_ref().map_or(column, |o| o.columns[column] as usize);
        let of = match &order {
            Some(o) => o.blocks[c % (blocks * block) / 16] as usize,
            None => column / block,
        };
        let code = bit(&codes[row * blocks * block * wide / 8..], column * wide);
        let z = match zeros {
            None => (1 << (wide - 1)) as f32,
            Some(DType::U8) => bit(&packed[row * zero_bytes..], of * wide),
            Some(dtype) => exact(zero(row * blocks + of), dtype),
        };
        (code - z) * exact(scale(row * blocks + of), scales)
    };
    let want = (0..n * blocks * block).map(value).collect();
    let numbers =
        |f: &dyn Fn(usize) -> f32, dtype| tensor(dtype, (0..n * blocks).flat_map(|i| float(f(i), dtype)).collect());
    let given = Given {
        row_bytes: blocks * block * wide / 8,
        bits,
        block,
        blocks,
        scales: numbers(&scale, scales),
        zeros: zeros.map(|z| if z == DType::U8 { tensor(z, packed.clone()) } else { numbers(&zero, z) }),
        order: order.clone(),
        first: 0,
        n,
        codes: tensor(DType::U8, codes.clone()),
    };
    (given, want)
}

/// What the sections of a packed tensor say, read back by their definition.
fn unpacked(out: &[u8], q: Quant, n: usize, k: usize) -> Vec<f32> {
    let s = q.sections(n, k);
    let number = |at: usize, i: usize| match q.wide {
        true => f32::from_le_bytes([0, 1, 2, 3].map(|b| out[at + 4 * i + b])),
        false => f16::from_le_bytes([0, 1].map(|b| out[at + 2 * i + b])).to_f32(),
    };
    let value = |i: usize| {
        let code = match q.bits {
            4 => (out[i / 8 * 4 + (i % 2) * 2 + i % 8 / 4] >> (4 * (i % 4 / 2))) & 15,
            _ => out[i],
        };
        let (group, code) = (i / usize::from(q.group), f32::from(code));
        let zero = match q.zero {
            Zero::Mid => f32::from(1u16 << (q.bits - 1)),
            Zero::Point => f32::from(out[s.zeros + group]),
            _ => number(s.zeros, group),
        };
        (code - zero) * number(s.scales, group)
    };
    (0..n * k).map(value).collect()
}

#[test]
fn what_a_file_holds_quantised_is_packed_without_a_change() {
    let mut seen = 0;
    for bits in [2, 4, 8] {
        for (block, group) in [(16, 16), (32, 32), (64, 16), (256, 128)] {
            for scales in [DType::F16, DType::BF16, DType::F32] {
                for zeros in [None, Some(DType::U8), Some(DType::F16), Some(DType::F32)] {
                    let (given, want) = file(bits, block, scales, zeros, None);
                    let q = given.quant(group);
                    let e = Encoded::given(given, 3 * block, q).unwrap();
                    assert_eq!(e.decode(), want, "{} of {bits} bits, blocks of {block}", q.name());
                    assert_eq!(unpacked(&bytes(&[&e]), q, 3, 3 * block), want, "{}", q.name());
                    let (a, b) = (e.rows(0, 1), e.rows(1, 3));
                    assert_eq!(bytes(&[&a, &b]), bytes(&[&e]));
                    assert_eq!([a.decode(), b.decode()].concat(), want);
                    assert_ne!(a.hash(), b.hash());
                    seen += usize::from(q.bits != bits);
                }
            }
        }
    }
    assert!(seen > 0, "two bits were widened");
}

#[test]
fn columns_in_another_order_than_their_blocks_take_their_scales_along() {
    let columns: Vec<u32> = (0..96).map(|c| (c * 35) % 96).collect();
    let order = Arc::new(Order { columns, blocks: vec![2, 0, 1, 1, 0, 2] });
    for (bits, zeros) in [(4, None), (4, Some(DType::U8)), (8, None), (2, Some(DType::F16))] {
        let (given, want) = file(bits, 32, DType::F16, zeros, Some(order.clone()));
        let q = given.quant(16);
        let e = Encoded::given(given, 96, q).unwrap();
        assert_eq!(e.decode(), want);
        assert_eq!(unpacked(&bytes(&[&e]), q, 3, 96), want);
    }
}

#[test]
fn a_wider_layout_says_the_same_and_a_narrower_one_is_refused() {
    let (given, want) = file(4, 32, DType::F16, None, None);
    let own = given.quant(32);
    let e = Encoded::given(given, 96, own).unwrap();
    for q in [
        Quant { bits: 8, ..own },
        Quant { group: 16, ..own },
        Quant { zero: Zero::Point, ..own },
        Quant { zero: Zero::Float, bits: 8, wide: true, ..own },
    ] {
        let again = e.recoded(q).unwrap();
        assert_eq!(again.decode(), want, "{}", q.name());
        assert_eq!(unpacked(&bytes(&[&again]), q, 3, 96), want, "{}", q.name());
    }
    let (wide, _) = file(8, 32, DType::F32, Some(DType::F32), None);
    let q = wide.quant(32);
    let e = Encoded::given(wide, 96, q).unwrap();
    for q in
        [Quant { bits: 4, ..q }, Quant { wide: false, ..q }, Quant { zero: Zero::Mid, ..q }, Quant { group: 64, ..q }]
    {
        assert!(e.recoded(q).is_none(), "{}", q.name());
    }
}
