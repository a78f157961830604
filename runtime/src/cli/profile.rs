//! `profile`: where the time goes. In: times of every dispatch of some runs. Out: tables by kernel, by layer and by dispatch, and a
//! Chrome trace. Promise: times of all dispatches add up to the time of the run.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::profile::Timing;

/// Runs of one bucket.
pub struct Runs<'a> {
    pub bucket: &'a str,
    pub runs: Vec<Vec<Timing>>,
}

/// Sum of a group.
#[derive(Clone, Debug, PartialEq)]
struct Group {
    name: String,
    dispatches: usize,
    ns: f64,
}

/// A block that repeats is a stack of layers; the others stand alone.
fn layer(timing: &Timing, repeats: &BTreeMap<u32, u32>) -> String {
    match repeats.get(&timing.block) {
        Some(0) | None => format!("block {}", timing.block),
        Some(_) => format!("block {} layer {}", timing.block, timing.repetition),
    }
}

impl Runs<'_> {
    /// Sums by name, the largest first.
    fn groups(&self, name: impl Fn(&Timing) -> String) -> Vec<Group> {
        let mut sums: BTreeMap<String, (usize, f64)> = BTreeMap::new();
        for timing in self.runs.iter().flatten() {
            let entry = sums.entry(name(timing)).or_default();
            entry.0 += 1;
            entry.1 += timing.ns;
        }
        let mut groups: Vec<Group> =
            sums.into_iter().map(|(name, (dispatches, ns))| Group { name, dispatches, ns }).collect();
        groups.sort_by(|a, b| b.ns.total_cmp(&a.ns));
        groups
    }

    /// Three tables, in microseconds a run.
    pub fn report(&self) -> String {
        let runs = self.runs.len().max(1) as f64;
        let total: f64 = self.runs.iter().flatten().map(|t| t.ns).sum();
        let dispatches = self.runs.first().map_or(0, Vec::len);
        let mut repeats = BTreeMap::new();
        for timing in self.runs.iter().flatten() {
            let last: &mut u32 = repeats.entry(timing.block).or_default();
            *last = timing.repetition.max(*last);
        }
        let us = total / runs / 1e3;
        let mut out = format!("{}: {runs} runs, {us:.1} us a run, {dispatches} dispatches\n", self.bucket);
        let mut table = |title: &str, groups: Vec<Group>| {
            out.push_str(&format!("\n{:>10} {:>6} {:>6} {:>9}  {title}\n", "us/run", "%", "count", "us each"));
            for g in groups {
                let share = if total > 0.0 { 100.0 * g.ns / total } else { 0.0 };
                let (us, count) = (g.ns / runs / 1e3, g.dispatches as f64 / runs);
                out.push_str(&format!("{us:>10.1} {share:>6.1} {count:>6} {:>9.2}  {}\n", us / count.max(1.0), g.name));
            }
        };
        table("kernel", self.groups(|t| t.kernel.clone()));
        table("layer", self.groups(|t| layer(t, &repeats)));
        table("dispatch", self.groups(|t| t.note.clone()));
        out
    }

    /// Events for chrome://tracing and Perfetto, runs one after another from `at_ns` on; moves it to their end.
    fn events(&self, at_ns: &mut f64) -> Vec<Value> {
        let mut events = Vec::new();
        for run in &self.runs {
            for t in run {
                events.push(json!({
                    "name": t.kernel, "cat": self.bucket, "ph": "X", "pid": 0, "tid": 0,
                    "ts": (*at_ns + t.start_ns) / 1e3, "dur": t.ns / 1e3,
                    "args": {"note": t.note, "block": t.block, "layer": t.repetition, "grid": t.grid},
                }));
            }
            *at_ns += run.last().map_or(0.0, |t| t.start_ns + t.ns);
        }
        events
    }
}

/// A Chrome trace of several buckets, one after another.
pub fn trace(buckets: &[Runs]) -> Value {
    let mut at_ns = 0.0;
    let events: Vec<Value> = buckets.iter().flat_map(|b| b.events(&mut at_ns)).collect();
    json!({"traceEvents": events, "displayTimeUnit": "ns"})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timing(kernel: &str, block: u32, repetition: u32, start_ns: f64, ns: f64) -> Timing {
        let note = format!("{kernel} of {repetition}");
        Timing { kernel: kernel.into(), note, block, repetition, grid: [1, 1, 1], start_ns, ns }
    }

    fn runs() -> Runs<'static> {
        let run = vec![
            timing("gather", 0, 0, 0.0, 1000.0),
            timing("linear", 1, 0, 1000.0, 2000.0),
            timing("linear", 1, 1, 3000.0, 4000.0),
            timing("linear", 2, 0, 7000.0, 3000.0),
        ];
        Runs { bucket: "decode", runs: vec![run.clone(), run] }
    }

    #[test]
    fn kernels_are_summed_over_layers_and_averaged_over_runs() {
        let group = |name: &str, dispatches, ns| Group { name: name.into(), dispatches, ns };
        let kernels = runs().groups(|t| t.kernel.clone());
        assert_eq!(kernels, [group("linear", 6, 18000.0), group("gather", 2, 2000.0)]);
        let report = runs().report();
        assert!(report.starts_with("decode: 2 runs, 10.0 us a run, 4 dispatches\n"), "{report}");
        assert!(report.contains("       9.0   90.0      3      3.00  linear\n"), "{report}");
        assert!(report.contains("  block 1 layer 1\n") && report.contains("  block 2\n"), "{report}");
        assert!(report.contains("  linear of 1\n"), "{report}");
    }

    #[test]
    fn a_trace_puts_runs_one_after_another() {
        let trace = trace(&[runs()]);
        let events = trace["traceEvents"].as_array().unwrap();
        assert_eq!(events.len(), 8);
        assert_eq!((&events[5]["ts"], &events[5]["dur"]), (&json!(11.0), &json!(2.0)));
        assert_eq!(events[2]["args"]["note"], "linear of 1");
    }
}
