//! The drawing sampler in plain code. In: logits, the context's tokens, settings. Out: the token, and how near the draw was to
//! another. Promise: written from the contract's definition, sums in f64 and a full sort; sampler graphs and kernels are held to it.

use onnxcast_runtime::sampling::Sampling;

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

/// The token that follows `context`, with counter `place`. There must be logits.
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
