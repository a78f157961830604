//! What quantising did. In: a row a group. Out: text for people, entries for the lock. Promise: what was kept in fp16 says why.

use super::{Group, Role};
use crate::bucket::BucketGraph;
use crate::graph::quant::Quant;
use crate::lock::Lock;
use crate::plan::Layout;
use std::fmt::Write;

/// One group of constants.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// The graph that it is first used in.
    pub graph: String,
    pub name: String,
    pub role: Role,
    pub n: usize,
    pub k: usize,
    /// None: kept in fp16.
    pub quant: Option<Quant>,
    /// Root of the squared error over the squared weights; none where the data is not at hand.
    pub error: Option<f64>,
    /// The same of what the layer gives, over a calibration's inputs.
    pub output_error: Option<f64>,
    /// Why it is stored otherwise than the settings say.
    pub why: String,
    /// How many columns keep fp16 accuracy, and why these.
    pub salient: String,
}

#[derive(Clone, Default, PartialEq, Debug)]
pub struct Report {
    /// What the codes depend on but the weights; none where nothing was to be quantised.
    pub settings: Option<String>,
    pub rows: Vec<Row>,
    /// For the lock: the two names that a constant may have there, its layout, the hash of its source.
    pub(super) notes: Vec<([String; 2], String, Option<String>)>,
}

impl Row {
    pub(super) fn new(group: &Group, buckets: &[BucketGraph]) -> Row {
        let (name, role, n, k) = (group.name(), group.role, group.n(), group.k);
        let (why, salient) = (String::new(), String::new());
        let graph = group.uses.first().map_or(String::new(), |u| buckets[u.bucket].file.clone());
        Row { graph, name, role, n, k, quant: None, error: None, output_error: None, why, salient }
    }

    pub(super) fn store(&mut self, quant: Quant) {
        self.quant = Some(quant);
    }

    /// Bytes in the pool.
    pub fn bytes(&self) -> usize {
        self.quant.map_or(2 * self.n * self.k, |q| q.sections(self.n, self.k).bytes)
    }

    /// Bits a weight, scales and all.
    pub fn bits(&self) -> f64 {
        8.0 * self.bytes() as f64 / (self.n * self.k).max(1) as f64
    }

    fn line(&self, out: &mut String) {
        let layout = self.quant.map_or_else(|| Layout::F16.name().into_owned(), Quant::name);
        let percent = |e: Option<f64>| e.map_or("-".into(), |e| format!("{:.3} %", 100.0 * e));
        let (error, output) = (percent(self.error), percent(self.output_error));
        let said = [&self.why, &self.salient].into_iter().filter(|s| !s.is_empty());
        let why: String = said.map(|s| format!("  ({s})")).collect();
        let (n, k, bits, name) = (self.n, self.k, self.bits(), &self.name);
        let _ = writeln!(out, "{n:>8} {k:>8}  {layout:20} {bits:>6.3} {error:>9} {output:>9}  {name}{why}");
    }
}

impl Report {
    /// Tells the lock how each constant is stored.
    pub fn note(&self, lock: &mut Lock) {
        lock.quantise = self.settings.clone();
        for (names, store, source) in &self.notes {
            let name = names.iter().find(|name| lock.get(name).is_some());
            if let Some(name) = name {
                lock.note(name, store, source.as_deref());
            }
        }
    }

    /// Weights, bytes and bits a weight of some groups.
    fn sum<'a>(rows: impl Iterator<Item = &'a Row>) -> (usize, usize, f64) {
        let (weights, bytes) = rows.fold((0, 0), |(w, b), r| (w + r.n * r.k, b + r.bytes()));
        (weights, bytes, 8.0 * bytes as f64 / weights.max(1) as f64)
    }

    /// Bits a weight over all groups.
    pub fn bits(&self) -> f64 {
        Report::sum(self.rows.iter()).2
    }

    /// One line for all: bits, and what was kept or changed.
    pub fn summary(&self) -> Option<String> {
        self.settings.as_ref()?;
        let kept = self.rows.iter().filter(|r| r.quant.is_none()).count();
        let other = self.rows.iter().filter(|r| r.quant.is_some() && !r.why.is_empty()).count();
        let mut out = format!("{:.3} bits a weight in {} matrices", self.bits(), self.rows.len());
        for (count, what) in [(kept, "kept in fp16"), (other, "stored otherwise than asked for")] {
            if count > 0 {
                let _ = write!(out, ", {count} of them {what}");
            }
        }
        Some(out)
    }

    /// A line a group, graph by graph, and one for all.
    pub fn text(&self) -> String {
        let mut out = String::new();
        let Some(settings) = &self.settings else { return out };
        let _ = writeln!(out, "# quantised: {settings}");
        let _ = writeln!(
            out,
            "{:>8} {:>8}  {:20} {:>6} {:>9} {:>9}  name",
            "rows", "columns", "layout", "bits", "error", "output"
        );
        let mut graphs: Vec<&str> = vec![];
        for row in &self.rows {
            if !graphs.contains(&row.graph.as_str()) {
                graphs.push(&row.graph);
            }
        }
        for graph in &graphs {
            let rows = || self.rows.iter().filter(|r| r.graph == *graph);
            if graphs.len() > 1 {
                let (weights, bytes, bits) = Report::sum(rows());
                let _ = writeln!(out, "# graph {graph}: {weights} weights in {bytes} bytes, {bits:.3} bits each");
            }
            rows().for_each(|r| r.line(&mut out));
        }
        let (weights, bytes, bits) = Report::sum(self.rows.iter());
        let _ = writeln!(out, "# {weights} weights in {bytes} bytes, {bits:.3} bits each");
        out
    }
}
