//! Whether a sampler's graph draws as our kernels do. In: the graph, by its component. Out: how many rows agreed, or the first that did
//! not. Promise: the same token in each, or the draw lies within [`NEAR`] of the boundary between the two; those are counted.

use super::draw::draw_at;
use super::graphs::Graphs;
use super::run::Invoker;
use super::schema::Component;
use crate::error::Result;
use crate::graph::eval::{Array, Values};
use onnxcast_runtime::sampling::Sampling;

/// What rounding may decide.
pub const NEAR: f64 = 1e-5;

/// Rows that agreed, and how many of them were too near another token to tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Agreement {
    pub rows: usize,
    pub near: usize,
}

/// Numbers for probing; the same in every run.
pub struct Numbers(u64);

impl Numbers {
    pub fn new(seed: u64) -> Numbers {
        Numbers(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 += 1;
        super::draw::threefry([self.0, 7], [0, 0])[0]
    }

    fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.next() as usize % list.len()]
    }

    /// About -1 to 1.
    fn float(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    }
}

/// Probes the graph with `rows` rows of `vocab` logits. The error in the pair says what was drawn and what should have been.
pub fn compare(
    graphs: &mut Graphs,
    sampler: &Component,
    rows: usize,
    vocab: usize,
) -> Result<Result<Agreement, String>> {
    let mut numbers = Numbers::new(vocab as u64);
    let mut agreement = Agreement::default();
    for row in 0..rows {
        let spread = [0.5f32, 3.0, 12.0, 40.0][row % 4];
        let coarse = row % 3 == 2;
        let logit = |n: &mut Numbers| {
            let x = n.float() * spread;
            if coarse { (x * 4.0).round() / 4.0 } else { x }
        };
        let logits: Vec<f32> = (0..vocab).map(|_| logit(&mut numbers)).collect();
        let settings = Sampling {
            temperature: numbers.pick(&[0.3, 0.7, 1.0, 1.0, 1.6, 5.0]),
            top_k: numbers.pick(&[0, 0, 1, 2, 20, 40, -1]),
            top_p: numbers.pick(&[0.01, 0.3, 0.8, 0.95, 1.0, 1.0]),
            min_p: numbers.pick(&[0.0, 0.0, 0.05, 0.4]),
            // As far as they are numbers with a sign.
            seed: numbers.next() >> 1,
            ..Sampling::default()
        };
        let counter = numbers.next() >> numbers.pick(&[1, 32, 56]);
        let (token, next) = draw(graphs, sampler, &logits, &settings, counter as i64)?;
        let want = draw_at(&logits, &[], &settings, counter);
        if next.is_some_and(|n| n != (counter as i64).wrapping_add(1)) {
            return Ok(Err(format!("counter {counter} is followed by {next:?}")));
        }
        if token != i64::from(want.token) {
            if want.margin >= NEAR {
                let what =
                    format!("row {row} ({settings:?}, counter {counter}) gives token {token}, not {}", want.token);
                return Ok(Err(what));
            }
            agreement.near += 1;
        }
        agreement.rows += 1;
    }
    Ok(Ok(agreement))
}

/// One draw by the graph: its token and its next counter.
fn draw(
    graphs: &mut Graphs,
    sampler: &Component,
    logits: &[f32],
    s: &Sampling,
    counter: i64,
) -> Result<(i64, Option<i64>)> {
    let mut inputs = vec![];
    for port in &sampler.inputs {
        let of = |v: Values| Array::new(port.contract.dtype, vec![1; port.contract.shape.len()], v);
        let role = ROLES.iter().find(|r| sampler.playing(r).is_some_and(|p| p.name == port.name));
        let array = match role.copied() {
            Some("logits") => Array::f32(&[1, logits.len()], logits),
            Some("temperature") => of(Values::F32(vec![s.temperature])),
            Some("top_k") => of(Values::Int(vec![s.top_k])),
            Some("top_p") => of(Values::F32(vec![s.top_p])),
            Some("min_p") => of(Values::F32(vec![s.min_p])),
            Some("seed") => of(Values::Int(vec![s.seed as i64])),
            Some("counter") => of(Values::Int(vec![counter])),
            Some("active") => of(Values::Bool(vec![true])),
            Some("done") => of(Values::Bool(vec![false])),
            _ => return Err(port.path.bad("the contract binds no role to this port")),
        };
        inputs.push((port.name.as_str(), array));
    }
    let inputs: Vec<(&str, &Array)> = inputs.iter().map(|(n, a)| (*n, a)).collect();
    let made = graphs.invoke(sampler, &inputs)?;
    let one =
        |role: &str| sampler.playing(role).and_then(|p| made.get(&p.name)).and_then(|a| a.to_ints().first().copied());
    let token = one("token").ok_or_else(|| sampler.path.bad("the contract binds no port to 'token'"))?;
    Ok((token, one("next_counter")))
}

/// Roles of the sampler contract that are inputs.
pub const ROLES: &[&str] = &["logits", "temperature", "top_k", "top_p", "min_p", "seed", "counter", "active", "done"];
