//! `profile`: where the time goes. In: times of every dispatch of some runs. Out: tables by kernel, by layer and by dispatch, rows of
//! JSON, and a Chrome trace. Promise: times of all dispatches add up to the time of the run.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::cost;
use crate::profile::Timing;
use crate::program::Program;

/// Runs of one bucket.
pub struct Runs<'a> {
    pub bucket: &'a str,
    /// Rows of the cache before the first run; each later one has `more`.
    pub depth: u32,
    pub more: u32,
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

    /// A row for each kernel: its dispatches, their time, and what they read; the largest first.
    fn rows(&self, program: &Program) -> Vec<Value> {
        let runs = self.runs.len().max(1) as f64;
        let kernels = self.groups(|t| t.kernel.clone()).into_iter();
        let row = |group: Group| {
            let (mut weight_bytes, mut cache_bytes, mut note) = (0, 0, "");
            for (run, depth) in self.runs.iter().zip((0..).map(|i: u32| self.depth + i * self.more)) {
                for timing in run.iter().filter(|t| t.kernel == group.name) {
                    let cost = self.cost(program, timing, depth).unwrap_or_default();
                    weight_bytes += cost.weight_bytes;
                    cache_bytes += cost.cache_bytes;
                    note = if note.is_empty() { &timing.note } else { note };
                }
            }
            let (count, ns) = (group.dispatches.max(1) as f64, group.ns);
            json!({
                "bucket": self.bucket, "kernel": group.name, "note": note, "runs": self.runs.len(), "dispatches": count / runs,
                "us_a_run": ns / runs / 1e3, "us_each": ns / count / 1e3,
                "weight_bytes_each": weight_bytes as f64 / count, "cache_bytes_each": cache_bytes as f64 / count,
            })
        };
        kernels.map(row).collect()
    }

    fn cost(&self, program: &Program, timing: &Timing, depth: u32) -> Option<cost::Cost> {
        let bucket = program.buckets.iter().find(|b| b.name == self.bucket)?;
        let block = bucket.blocks.get(timing.block as usize)?;
        let row = block.table.get(timing.repetition as usize)?;
        Some(cost::dispatch(program, bucket, (block.dispatches.get(timing.dispatch as usize)?, row), depth))
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

/// Rows by bucket and kernel.
pub fn json(device: &str, program: &Program, buckets: &[Runs]) -> Value {
    let rows: Vec<Value> = buckets.iter().flat_map(|b| b.rows(program)).collect();
    json!({"model": program.name, "device": device, "kernels": rows})
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
        Timing { kernel: kernel.into(), note, block, repetition, dispatch: 0, grid: [1, 1, 1], start_ns, ns }
    }

    fn runs() -> Runs<'static> {
        let run = vec![
            timing("gather", 0, 0, 0.0, 1000.0),
            timing("linear", 1, 0, 1000.0, 2000.0),
            timing("linear", 1, 1, 3000.0, 4000.0),
            timing("linear", 2, 0, 7000.0, 3000.0),
        ];
        Runs { bucket: "decode", depth: 5, more: 1, runs: vec![run.clone(), run] }
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
    fn rows_say_what_a_kernels_dispatches_read() {
        let json = json("soft", &cost::tests::toy(), &[runs()]);
        assert_eq!((&json["model"], &json["device"]), (&json!("toy"), &json!("soft")));
        let rows = json["kernels"].as_array().unwrap();
        let names: Vec<&Value> = rows.iter().map(|r| &r["kernel"]).collect();
        assert_eq!(names, ["linear", "gather"]);
        // Two layers of 64 bytes and a head of 1000 over three dispatches; one row of the table.
        assert_eq!((&rows[0]["dispatches"], &rows[0]["us_each"]), (&json!(3.0), &json!(3.0)));
        assert_eq!(rows[0]["weight_bytes_each"].as_f64().unwrap(), (64.0 + 64.0 + 1000.0) / 3.0);
        assert_eq!((&rows[1]["weight_bytes_each"], &rows[1]["cache_bytes_each"]), (&json!(100.0), &json!(0.0)));
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
