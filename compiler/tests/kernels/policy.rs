//! The drawing sampler in plain code. In: logits, the context's tokens, settings. Out: the token, and how near the draw was to
//! another. Promise: written from the policy's definition, sums in f64 and a full sort, and held to what a policy graph gave in
//! another runtime.

use onnxcast_runtime::sampling::Sampling;
use std::path::Path;

/// A drawn token.
#[derive(Clone, Copy, Debug)]
pub struct Drawn {
    pub token: u32,
    /// Distance of the nearest decision from falling the other way: the random number from the next token's share, top-p's sum and
    /// min-p's logit from their bounds.
    pub margin: f64,
}

/// Threefry-2x64-20 with 64-bit words.
pub fn threefry(key: [u64; 2], counter: [u64; 2]) -> [u64; 2] {
    let keys = [key[0], key[1], key[0] ^ key[1] ^ 0x1bd1_1bda_a9fc_1a22];
    let mut x = [counter[0].wrapping_add(keys[0]), counter[1].wrapping_add(keys[1])];
    for round in 0..20 {
        x[0] = x[0].wrapping_add(x[1]);
        x[1] = x[1].rotate_left([16, 42, 12, 31, 16, 32, 24, 21][round % 8]) ^ x[0];
        if round % 4 == 3 {
            let n = round / 4 + 1;
            x[0] = x[0].wrapping_add(keys[n % 3]);
            x[1] = x[1].wrapping_add(keys[(n + 1) % 3]).wrapping_add(n as u64);
        }
    }
    x
}

/// The random number of a word, 0 to 1.
pub fn unit(x: u64) -> f32 {
    ((x >> 11) as f64 / (1u64 << 53) as f64) as f32
}

/// Logits after repeat penalty and temperature; what is no number is none.
fn scaled(logits: &[f32], context: &[u32], s: &Sampling) -> Vec<f32> {
    let one = |(i, &x): (usize, &f32)| {
        let penal = s.repeat_penalty != 1.0 && context.contains(&(i as u32));
        let x = if !penal {
            x
        } else if x > 0.0 {
            x / s.repeat_penalty
        } else {
            x * s.repeat_penalty
        };
        if x.is_nan() { f32::MIN } else { (x / s.temperature.max(1e-6)).clamp(f32::MIN, f32::MAX) }
    };
    logits.iter().enumerate().map(one).collect()
}

/// The token that follows `context`, with counter `place`.
pub fn draw_at(logits: &[f32], context: &[u32], s: &Sampling, place: u64) -> Drawn {
    let l = scaled(logits, context, s);
    let mut order: Vec<usize> = (0..l.len()).collect();
    // Adding zero makes -0 what it equals.
    order.sort_by(|&a, &b| (l[b] + 0.0).total_cmp(&(l[a] + 0.0)).then(a.cmp(&b)));
    let top = l[order[0]];
    let least = top + s.min_p.clamp(1e-20, 1.0).ln();
    let k = if s.top_k > 0 { (s.top_k as usize).min(l.len()) } else { l.len() };
    let weight = |i: usize| if l[i] == f32::MIN { 0.0 } else { (f64::from(l[i]) - f64::from(top)).exp() };
    let mut margin = f64::INFINITY;
    if s.min_p > 0.0 {
        margin = order.iter().map(|&i| f64::from((l[i] - least).abs())).fold(margin, f64::min);
    }
    // Divisions may round in another way.
    if k < l.len() && (s.temperature != 1.0 || s.repeat_penalty != 1.0) && l[order[k - 1]] != l[order[k]] {
        margin = margin.min(f64::from(l[order[k - 1]] - l[order[k]]));
    }
    let likely: Vec<usize> = order[..k].iter().copied().filter(|&i| s.min_p <= 0.0 || l[i] >= least).collect();
    let total: f64 = likely.iter().map(|&i| weight(i)).sum();
    let mut kept = Vec::new();
    let mut sum = 0.0;
    for i in likely {
        if s.top_p < 1.0 {
            margin = margin.min((sum / total - f64::from(s.top_p)).abs());
        }
        if s.top_p >= 1.0 || sum / total < f64::from(s.top_p) {
            kept.push(i);
        }
        sum += weight(i);
    }
    kept.sort_unstable();
    let u = f64::from(unit(threefry([s.seed, 0], [place, 0])[0]));
    let total: f64 = kept.iter().map(|&i| weight(i)).sum();
    let mut sum = 0.0;
    let mut token = None;
    for &i in &kept {
        sum += weight(i) / total;
        // The last sum is one and no bound.
        if Some(&i) != kept.last() {
            margin = margin.min((sum - u).abs());
        }
        if token.is_none() && sum >= u && weight(i) > 0.0 {
            token = Some(i);
        }
    }
    let last = kept.iter().rev().copied().find(|&i| weight(i) > 0.0).unwrap_or(0);
    Drawn { token: token.unwrap_or(last) as u32, margin }
}

/// The token that follows `context`: its place is the counter.
pub fn draw(logits: &[f32], context: &[u32], s: &Sampling) -> Drawn {
    draw_at(logits, context, s, context.len() as u64)
}

#[test]
fn the_generator_gives_the_published_numbers() {
    // Known answers of the Random123 library, threefry2x64 with 20 rounds.
    let pi = [[0xa409_3822_299f_31d0, 0x082e_fa98_ec4e_6c89], [0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7344]];
    assert_eq!(threefry([0; 2], [0; 2]), [0xc2b6_e3a8_c2c6_9865, 0x6f81_ed42_f350_084d]);
    assert_eq!(threefry([u64::MAX; 2], [u64::MAX; 2]), [0xe02c_b7c4_d95d_277a, 0xd066_33d0_893b_8b68]);
    assert_eq!(threefry(pi[0], pi[1]), [0x263c_7d30_bb0f_0af1, 0x56be_8361_d331_1526]);
}

#[test]
fn plain_code_draws_what_the_policy_graph_drew() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/sampler.json");
    let data: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut near = 0;
    let cases = data["cases"].as_array().unwrap();
    for (i, case) in cases.iter().enumerate() {
        let float = |name: &str| case[name].as_f64().unwrap() as f32;
        let logits: Vec<f32> =
            case["sixteenths"].as_array().unwrap().iter().map(|x| x.as_i64().unwrap() as f32 / 16.0).collect();
        let sampling = Sampling {
            temperature: float("temperature"),
            top_k: case["top_k"].as_i64().unwrap(),
            top_p: float("top_p"),
            min_p: float("min_p"),
            repeat_penalty: 1.0,
            seed: case["seed"].as_u64().unwrap(),
        };
        let drawn = draw_at(&logits, &[], &sampling, case["counter"].as_u64().unwrap());
        if u64::from(drawn.token) != case["token"].as_u64().unwrap() {
            assert!(drawn.margin < 1e-5, "case {i}: {drawn:?}, not {}", case["token"]);
            near += 1;
        }
    }
    assert!(cases.len() == 200 && near < 3, "{near} near ties of {}", cases.len());
}
