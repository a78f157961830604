//! Where the time goes. In: timestamps of every dispatch of some runs. Out: tables by kernel, by layer and by dispatch, and a Chrome
//! trace. Promise: times of all dispatches add up to the time of the run.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::program::{Bucket, Program};

/// One dispatch of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    pub block: u32,
    pub repetition: u32,
    pub dispatch: u32,
    /// Nanoseconds since the run began.
    pub start_ns: f64,
    pub end_ns: f64,
}

impl Span {
    fn time_ns(&self) -> f64 {
        self.end_ns - self.start_ns
    }
}

/// Runs of one bucket.
pub struct Runs<'a> {
    pub program: &'a Program,
    pub bucket: &'a Bucket,
    pub runs: Vec<Vec<Span>>,
}

/// Sum of a group.
#[derive(Clone, Debug, PartialEq)]
struct Group {
    name: String,
    dispatches: usize,
    ns: f64,
}

impl Runs<'_> {
    fn names(&self, span: &Span) -> (String, String) {
        let dispatch =
            self.bucket.blocks.get(span.block as usize).and_then(|b| b.dispatches.get(span.dispatch as usize));
        let Some(dispatch) = dispatch else { return ("?".into(), "?".into()) };
        let kernel = self.program.kernels.get(dispatch.kernel as usize).map_or("?", |k| k.name.as_ref());
        (kernel.to_owned(), dispatch.note.replace("{l}", &span.repetition.to_string()))
    }

    /// A block that repeats is a stack of layers; the others stand alone.
    fn layer(&self, span: &Span) -> String {
        let repeats = self.bucket.blocks.get(span.block as usize).is_some_and(|b| b.table.len() > 1);
        if repeats {
            format!("block {} layer {}", span.block, span.repetition)
        } else {
            format!("block {}", span.block)
        }
    }

    /// Sums by name, the largest first.
    fn groups(&self, name: impl Fn(&Span) -> String) -> Vec<Group> {
        let mut sums: BTreeMap<String, (usize, f64)> = BTreeMap::new();
        for span in self.runs.iter().flatten() {
            let entry = sums.entry(name(span)).or_default();
            entry.0 += 1;
            entry.1 += span.time_ns();
        }
        let mut groups: Vec<Group> =
            sums.into_iter().map(|(name, (dispatches, ns))| Group { name, dispatches, ns }).collect();
        groups.sort_by(|a, b| b.ns.total_cmp(&a.ns));
        groups
    }

    /// Three tables, in microseconds a run.
    pub fn report(&self) -> String {
        let runs = self.runs.len().max(1) as f64;
        let total: f64 = self.runs.iter().flatten().map(Span::time_ns).sum();
        let mut out = format!(
            "{}: {} runs, {:.1} us a run, {} dispatches\n",
            self.bucket.name,
            self.runs.len(),
            total / runs / 1e3,
            self.runs.first().map_or(0, Vec::len)
        );
        let mut table = |title: &str, groups: Vec<Group>| {
            out.push_str(&format!("\n{:>10} {:>6} {:>6} {:>9}  {title}\n", "us/run", "%", "count", "us each"));
            for g in groups {
                let share = if total > 0.0 { 100.0 * g.ns / total } else { 0.0 };
                let (us, count) = (g.ns / runs / 1e3, g.dispatches as f64 / runs);
                out.push_str(&format!("{us:>10.1} {share:>6.1} {count:>6} {:>9.2}  {}\n", us / count.max(1.0), g.name));
            }
        };
        table("kernel", self.groups(|s| self.names(s).0));
        table("layer", self.groups(|s| self.layer(s)));
        table("dispatch", self.groups(|s| self.names(s).1));
        out
    }

    /// Events for chrome://tracing and Perfetto, runs one after another.
    pub fn trace(&self) -> Value {
        let mut events = Vec::new();
        let mut at_ns = 0.0;
        for run in &self.runs {
            for span in run {
                let (kernel, note) = self.names(span);
                events.push(json!({
                    "name": kernel, "cat": self.bucket.name, "ph": "X", "pid": 0, "tid": 0,
                    "ts": (at_ns + span.start_ns) / 1e3, "dur": span.time_ns() / 1e3,
                    "args": {"note": note, "block": span.block, "layer": span.repetition},
                }));
            }
            at_ns += run.last().map_or(0.0, |s| s.end_ns);
        }
        json!({"traceEvents": events, "displayTimeUnit": "ns"})
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::tests::toy;

    fn span(block: u32, repetition: u32, start_ns: f64, end_ns: f64) -> Span {
        Span { block, repetition, dispatch: 0, start_ns, end_ns }
    }

    fn run() -> Vec<Span> {
        vec![
            span(0, 0, 0.0, 1000.0),
            span(1, 0, 1000.0, 3000.0),
            span(1, 1, 3000.0, 7000.0),
            span(2, 0, 7000.0, 10000.0),
        ]
    }

    #[test]
    fn kernels_are_summed_over_layers_and_averaged_over_runs() {
        let program = toy();
        let runs = Runs { program: &program, bucket: &program.buckets[1], runs: vec![run(), run()] };
        let kernels = runs.groups(|s| runs.names(s).0);
        let linear = Group { name: "linear.comp".into(), dispatches: 6, ns: 18000.0 };
        assert_eq!(kernels, [linear, Group { name: "gather_rows.comp".into(), dispatches: 2, ns: 2000.0 }]);
        let report = runs.report();
        assert!(report.starts_with("decode: 2 runs, 10.0 us a run, 4 dispatches\n"), "{report}");
        assert!(report.contains("       9.0   90.0      3      3.00  linear.comp\n"), "{report}");
        assert!(report.contains("block 1 layer 1\n") && report.contains("  layer 1\n"), "{report}");
    }

    #[test]
    fn a_trace_puts_runs_one_after_another() {
        let program = toy();
        let runs = Runs { program: &program, bucket: &program.buckets[1], runs: vec![run(), run()] };
        let trace = runs.trace();
        let events = trace["traceEvents"].as_array().unwrap();
        assert_eq!(events.len(), 8);
        assert_eq!((&events[5]["ts"], &events[5]["dur"]), (&json!(11.0), &json!(2.0)));
        assert_eq!(events[2]["args"]["note"], "layer 1");
    }
}
