use super::*;

const KINDS: [(u8, Zero); 6] =
    [(4, Zero::Mid), (4, Zero::Point), (4, Zero::Min), (8, Zero::Mid), (8, Zero::Point), (8, Zero::Min)];

fn quant(bits: u8, group: u16, zero: Zero) -> Quant {
    Quant { bits, group, zero, salient: 0 }
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
    for (bits, zero) in KINDS {
        for salient in [0, 9] {
            let q = Quant { salient, ..quant(bits, 64, zero) };
            assert_eq!(Quant::parse(&q.name()), Some(q));
        }
    }
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
    for (bits, zero) in KINDS {
        let q = Quant { salient: 2, ..quant(bits, 32, zero) };
        let fit = Fit { salient: &[3, 17], ..Fit::default() };
        let got = Encoded::nearest(&values, 8, 64, q, &fit).unwrap().decode();
        for (i, (a, b)) in got.iter().zip(&values).enumerate().filter(|(i, _)| [3, 17].contains(&(i % 64))) {
            assert!((a - b).abs() <= 1e-3 * b.abs() + 1e-6, "{zero:?} {i}: {a} for {b}");
        }
        let outlier_spoils = got.iter().zip(&values).map(|(a, b)| (a - b).powi(2)).sum::<f32>();
        assert!(outlier_spoils < 2.0, "{zero:?}: {outlier_spoils}");
    }
}

#[test]
fn joined_parts_are_the_whole() {
    let values = random(24 * 64);
    for (bits, zero) in KINDS {
        let q = Quant { salient: 2, ..quant(bits, 32, zero) };
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
    for (bits, zero) in KINDS {
        let q = Quant { salient: 1, ..quant(bits, 64, zero) };
        let e = Encoded::nearest(&values, 3, 128, q, &Fit { salient: &[5], ..Fit::default() }).unwrap();
        let (out, s, want) = (bytes(&[&e]), q.sections(3, 128), e.decode());
        let half = |at: usize| half::f16::from_le_bytes([out[at], out[at + 1]]).to_f32();
        for (i, want) in want.into_iter().enumerate() {
            let code = match bits {
                4 => (out[i / 8 * 4 + (i % 2) * 2 + i % 8 / 4] >> (4 * (i % 4 / 2))) & 15,
                _ => out[i],
            };
            let (group, code) = (i / 64, f32::from(code));
            let scale = half(s.scales + 2 * group);
            let mut got = match zero {
                Zero::Mid => (code - if bits == 4 { 8.0 } else { 128.0 }) * scale,
                Zero::Point => (code - f32::from(out[s.zeros + group])) * scale,
                Zero::Min => code * scale + half(s.zeros + 2 * group),
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
