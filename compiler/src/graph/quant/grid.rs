//! The steps of one group. In: its values and how much each counts. Out: scale and zero in their stored types. Promise: the least
//! weighted squared error among some twenty scales, each refined by least squares; values on such a grid are found exactly.

use super::{Quant, Zero};
use half::f16;

/// What a group's codes mean. `zero` is nothing (`Mid`), a code (`Point`) or the bits of an fp16
/// minimum (`Min`) or zero (`Float`).
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Grid {
    pub scale: f16,
    pub zero: u16,
}

/// Steps from one end of a group to the other that a four-bit search tries: whole ones find values that lie on a coarser grid,
/// those past 15 cut the ends off.
const STEPS: [f32; 23] = [
    5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 15.25, 15.5, 15.75, 16.0, 16.25, 16.5, 16.75, 17.0,
    17.25, 17.5, 18.0, 18.5,
];
/// The same around the middle: steps from zero to the largest value; negative ones turn the grid around.
const HALF_STEPS: [f32; 23] = [
    3.0, 4.0, 5.0, 6.0, 6.5, 7.0, 7.2, 7.4, 7.6, 7.8, 8.0, 8.2, 8.4, 8.6, 8.8, 9.0, 9.25, 9.5, 10.0, -6.5, -7.0, -7.5,
    -8.0,
];
/// With eight bits there is little to gain.
const FINE_STEPS: [f32; 5] = [253.0, 254.0, 255.0, 256.0, 257.0];
const FINE_HALF_STEPS: [f32; 5] = [126.5, 127.0, 127.5, 128.0, -127.0];

/// Adding and taking this away rounds to nearest even below 2^22, without a call.
const ROUND: f32 = 12_582_912.0;

fn half(x: f32) -> f16 {
    f16::from_f32(x.clamp(-65504.0, 65504.0))
}

/// Sums over a group: of weights, of q, q q, x, q x.
#[derive(Default)]
struct Sums {
    w: f32,
    q: f32,
    qq: f32,
    x: f32,
    qx: f32,
}

/// A group on its way to a grid. `w` may be empty: every value counts the same.
struct Group<'a> {
    quant: Quant,
    x: &'a [f32],
    w: &'a [f32],
    best: Grid,
    error: f32,
}

impl Grid {
    /// The value of a code.
    #[inline(always)]
    pub fn value(self, quant: Quant, code: u8) -> f32 {
        let (scale, base) = self.line(quant);
        f32::from(code) * scale + base
    }

    /// The code nearest to a value.
    #[inline(always)]
    pub fn code(self, quant: Quant, x: f32) -> u8 {
        let (scale, base) = self.line(quant);
        let inverse = if scale == 0.0 { 0.0 } else { scale.recip() };
        nearest((x - base) * inverse, f32::from(quant.top())) as u8
    }

    /// Scale and base such that a value is `q * scale + base`. Both are exact in f32.
    #[inline(always)]
    pub fn line(self, quant: Quant) -> (f32, f32) {
        let scale = self.scale.to_f32();
        let base = match quant.zero {
            Zero::Mid => -scale * f32::from(quant.top() / 2 + 1),
            Zero::Point => -scale * f32::from(self.zero),
            Zero::Min => f16::from_bits(self.zero).to_f32(),
            Zero::Float => -scale * f16::from_bits(self.zero).to_f32(),
        };
        (scale, base)
    }

    /// The grid of least squared error for `x`, finite values. Errors count `w` times, equally where `w` is empty.
    pub fn fit(quant: Quant, x: &[f32], w: &[f32]) -> Grid {
        let (mut low, mut high) = (f32::MAX, f32::MIN);
        for (_, &v) in x.iter().enumerate().filter(|(i, _)| w.get(*i) != Some(&0.0)) {
            // What does not count may lie anywhere.
            low = low.min(v);
            high = high.max(v);
        }
        let mut group = Group { quant, x, w, best: Grid::default(), error: f32::INFINITY };
        match quant.zero {
            _ if low > high => {} // nothing counts
            Zero::Mid => group.mid(low, high),
            Zero::Point => group.point(low.min(0.0), high.max(0.0)),
            Zero::Min => group.min(low, high),
            Zero::Float => {
                group.quant.zero = Zero::Point;
                group.point(low.min(0.0), high.max(0.0));
                group.best.zero = half(f32::from(group.best.zero)).to_bits();
            }
        }
        group.best
    }
}

/// Rounds to a code from 0 to `top`; what is no number becomes 0.
#[inline(always)]
fn nearest(y: f32, top: f32) -> f32 {
    (y.max(0.0).min(top) + ROUND) - ROUND
}

impl Group<'_> {
    fn steps(&self) -> &'static [f32] {
        match (self.quant.bits, self.quant.zero) {
            (4, Zero::Mid) => &HALF_STEPS,
            (_, Zero::Mid) => &FINE_HALF_STEPS,
            (4, _) => &STEPS,
            _ => &FINE_STEPS,
        }
    }

    /// Sums of the codes that a scale and a base give, less `shift`.
    fn sums(&self, scale: f32, base: f32, shift: f32) -> Sums {
        let top = f32::from(self.quant.top());
        let inverse = if scale == 0.0 { 0.0 } else { scale.recip() };
        let mut s = Sums::default();
        if self.w.is_empty() {
            s.w = self.x.len() as f32;
            for &x in self.x {
                let q = nearest((x - base) * inverse, top) - shift;
                s.q += q;
                s.qq += q * q;
                s.x += x;
                s.qx += q * x;
            }
            return s;
        }
        for (&x, &w) in self.x.iter().zip(self.w) {
            let q = nearest((x - base) * inverse, top) - shift;
            s.w += w;
            s.q += w * q;
            s.qq += w * q * q;
            s.x += w * x;
            s.qx += w * q * x;
        }
        s
    }

    /// Keeps a grid if it is better than the best so far.
    fn offer(&mut self, grid: Grid) {
        let (scale, base) = grid.line(self.quant);
        let top = f32::from(self.quant.top());
        let inverse = if scale == 0.0 { 0.0 } else { scale.recip() };
        let mut error = 0.0;
        for (i, &x) in self.x.iter().enumerate() {
            let d = nearest((x - base) * inverse, top) * scale + base - x;
            error += d * d * self.w.get(i).copied().unwrap_or(1.0);
        }
        if error < self.error {
            (self.best, self.error) = (grid, error);
        }
    }

    fn mid(&mut self, low: f32, high: f32) {
        let far = if -low > high { low } else { high };
        let middle = f32::from(self.quant.top() / 2 + 1);
        let (mut best, mut gain) = (0.0, -1.0);
        for &t in self.steps() {
            let scale = -far / t;
            let s = self.sums(scale, -middle * scale, middle);
            // What is left of the sum of squares is x x - (q x)^2 / (q q).
            let explained = if s.qq > 0.0 { s.qx * s.qx / s.qq } else { 0.0 };
            if explained > gain {
                (best, gain) = (if s.qq > 0.0 { s.qx / s.qq } else { 0.0 }, explained);
            }
        }
        for _ in 0..2 {
            let scale = half(best);
            self.offer(Grid { scale, zero: 0 });
            let s = self.sums(scale.to_f32(), -middle * scale.to_f32(), middle);
            best = if s.qq > 0.0 { s.qx / s.qq } else { 0.0 };
        }
        self.offer(Grid { scale: half(-far / middle), zero: 0 });
    }

    fn point(&mut self, low: f32, high: f32) {
        let top = f32::from(self.quant.top());
        let (mut best, mut zero, mut gain) = (0.0, 0.0, -1.0);
        for &t in self.steps() {
            let scale = (high - low) / t;
            let z = self.zero_point(low + (t - top).max(0.0) * 0.5 * scale, scale);
            let s = self.sums(scale, -z * scale, z);
            let explained = if s.qq > 0.0 { s.qx * s.qx / s.qq } else { 0.0 };
            if explained > gain {
                (best, zero, gain) = (if s.qq > 0.0 { s.qx / s.qq } else { 0.0 }, z, explained);
            }
        }
        for _ in 0..2 {
            let scale = half(best);
            self.offer(Grid { scale, zero: zero as u16 });
            let s = self.sums(scale.to_f32(), -zero * scale.to_f32(), zero);
            best = if s.qq > 0.0 { s.qx / s.qq } else { 0.0 };
        }
        let scale = half((high - low) / top);
        self.offer(Grid { scale, zero: self.zero_point(low, scale.to_f32()) as u16 });
    }

    /// The code that means zero when the lowest value is `low`.
    fn zero_point(&self, low: f32, scale: f32) -> f32 {
        if scale == 0.0 { 0.0 } else { nearest(-low / scale, f32::from(self.quant.top())) }
    }

    fn min(&mut self, low: f32, high: f32) {
        let top = f32::from(self.quant.top());
        let (mut best, mut left) = ((0.0, low), f32::INFINITY);
        for &t in self.steps() {
            let scale = (high - low) / t;
            let base = low + (t - top).max(0.0) * 0.5 * scale;
            let s = self.sums(scale, base, 0.0);
            let Some((scale, base)) = s.line() else { continue };
            // The sum of squares that a least-squares line leaves, but for the constant x x.
            let rest = -(scale * s.qx + base * s.x);
            if rest < left {
                (best, left) = ((scale, base), rest);
            }
        }
        for _ in 0..2 {
            let grid = Grid { scale: half(best.0), zero: half(best.1).to_bits() };
            self.offer(grid);
            let (scale, base) = grid.line(self.quant);
            match self.sums(scale, base, 0.0).line() {
                Some(line) => best = line,
                None => break,
            }
        }
        self.offer(Grid { scale: half((high - low) / top), zero: half(low).to_bits() });
    }
}

impl Sums {
    /// The least-squares scale and base of x over q; none where all codes are equal.
    fn line(&self) -> Option<(f32, f32)> {
        let spread = self.w * self.qq - self.q * self.q;
        if self.w <= 0.0 || spread <= 1e-6 * self.w * self.qq {
            return None;
        }
        let scale = (self.w * self.qx - self.q * self.x) / spread;
        Some((scale, (self.x - scale * self.q) / self.w))
    }
}
