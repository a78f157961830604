//! Counts. In: outcomes. Out: a summary and docs/conformance.md. Promise: sorted, and free of anything that changes by itself.

use libtest_mimic::Failed;
use std::collections::BTreeMap;
use std::fmt::{Display, Write};
use std::path::Path;

/// What came of a case.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    Right,
    Refused(String),
    Failed(String),
}

#[derive(Clone, Debug)]
pub struct Outcome {
    pub case: String,
    pub operator: String,
    /// All its tensors are float32, float16, integer or bool.
    pub common: bool,
    /// The interpreter's.
    pub verdict: Verdict,
    /// The device's; None where there is no device or the interpreter was not right.
    pub device: Option<Verdict>,
}

impl Outcome {
    /// What is wrong with it: it failed, or was refused where right is owed.
    pub fn breach(&self, owed: &str) -> Option<String> {
        let owed = self.common && owed.split_whitespace().any(|o| o == self.operator);
        if let Some(Verdict::Failed(why)) = &self.device {
            return Some(format!("{} failed on the device: {why}", self.case));
        }
        match &self.verdict {
            Verdict::Failed(why) => Some(format!("{} failed: {why}", self.case)),
            Verdict::Refused(why) if owed => Some(format!("{} is owed and was refused: {why}", self.case)),
            _ => None,
        }
    }
}

/// Outcomes by operator.
#[derive(Default)]
pub struct Report {
    pub operators: BTreeMap<String, Vec<Outcome>>,
}

impl Report {
    pub fn new(outcomes: Vec<Outcome>) -> Report {
        let mut operators: BTreeMap<String, Vec<Outcome>> = BTreeMap::new();
        for outcome in outcomes {
            operators.entry(outcome.operator.clone()).or_default().push(outcome);
        }
        Report { operators }
    }

    fn totals(&self) -> (Counts, Counts) {
        let all = || self.operators.values().flatten();
        (Counts::of(all().map(|o| &o.verdict)), Counts::of(all().filter_map(|o| o.device.as_ref())))
    }

    /// One line an operator, then the sum.
    pub fn summary(&self) -> String {
        let mut text = String::new();
        for (operator, outcomes) in &self.operators {
            let device = Counts::of(outcomes.iter().filter_map(|o| o.device.as_ref()));
            let _ = writeln!(
                text,
                "conformance: {operator}: {}; device: {device}",
                Counts::of(outcomes.iter().map(|o| &o.verdict))
            );
        }
        let (eval, device) = self.totals();
        let _ = writeln!(text, "conformance: {eval}; device: {device}");
        text
    }

    pub fn check(&self, least_right: usize) -> Result<(), Failed> {
        let (eval, device) = self.totals();
        if eval.failed + device.failed > 0 || eval.right < least_right {
            return Err(format!("{eval} ({least_right} right wanted); device: {device}").into());
        }
        Ok(())
    }

    /// The page of counts, by operator, with the reasons of refusals.
    fn page(&self) -> String {
        let (eval, device) = self.totals();
        let mut text = format!(
            "# Conformance\n\nThe node cases of the Python package onnx 1.19.1, each imported and run through the \
             interpreter `graph::eval`, and those that\nare right there through the kernels on a Vulkan device. This page is \
             written by `make snap` and checked by `make test`.\n\n\
             - Interpreter: {eval}.\n- Device: {device}. A case is refused there when no kernel covers it, such as float64 \
             or integers past 32 bits.\n\n\
             | operator | right | refused | failed | device right | device refused | device failed | refused because |\n\
             |---|---|---|---|---|---|---|---|\n"
        );
        for (operator, outcomes) in &self.operators {
            let eval = Counts::of(outcomes.iter().map(|o| &o.verdict));
            let device = Counts::of(outcomes.iter().filter_map(|o| o.device.as_ref()));
            let _ = writeln!(text, "| {operator} | {} | {} | {} |", eval.cells(), device.cells(), reasons(outcomes));
        }
        text
    }

    /// Writes the page where snapshots are being accepted; else holds it against the counts.
    pub fn page_is_true(&self, workspace: &Path) -> Result<(), Failed> {
        let path = workspace.join("docs/conformance.md");
        let page = self.page();
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        if found == page {
            return Ok(());
        }
        if std::env::var("INSTA_UPDATE").is_ok_and(|v| v == "always") {
            return std::fs::write(&path, page).map_err(|e| format!("docs/conformance.md: {e}").into());
        }
        let line = found.lines().zip(page.lines()).find(|(a, b)| a != b).map_or("the end", |(_, b)| b).to_string();
        Err(format!("docs/conformance.md is out of date (run make snap), first at: {line}").into())
    }
}

/// How many cases came out in each way.
#[derive(Default)]
struct Counts {
    right: usize,
    refused: usize,
    failed: usize,
}

impl Counts {
    fn of<'a>(verdicts: impl Iterator<Item = &'a Verdict>) -> Counts {
        let mut counts = Counts::default();
        for verdict in verdicts {
            match verdict {
                Verdict::Right => counts.right += 1,
                Verdict::Refused(_) => counts.refused += 1,
                Verdict::Failed(_) => counts.failed += 1,
            }
        }
        counts
    }

    fn cells(&self) -> String {
        format!("{} | {} | {}", self.right, self.refused, self.failed)
    }
}

impl Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} right, {} refused, {} failed", self.right, self.refused, self.failed)
    }
}

/// Distinct reasons, shortest form, as a table cell holds them.
fn reasons(outcomes: &[Outcome]) -> String {
    let mut all: Vec<&str> = outcomes
        .iter()
        .flat_map(|o| [Some(&o.verdict), o.device.as_ref()])
        .filter_map(|v| match v {
            Some(Verdict::Refused(why)) => Some(why.as_str()),
            _ => None,
        })
        .collect();
    all.sort_unstable();
    all.dedup();
    let more = all.len().saturating_sub(2);
    let mut text = all.iter().take(2).map(|r| r.replace('|', "\\|")).collect::<Vec<_>>().join("; ");
    if more > 0 {
        let _ = write!(text, "; {more} more");
    }
    text
}
