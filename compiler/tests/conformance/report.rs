//! Counts. In: outcomes. Out: a summary and docs/conformance.md. Promise: sorted, and free of anything that changes by itself.

use libtest_mimic::Failed;
use std::collections::BTreeMap;
use std::fmt::Write;
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
    pub verdict: Verdict,
}

impl Outcome {
    /// What is wrong with it: it failed, or was refused where right is owed.
    pub fn breach(&self, owed: &str) -> Option<String> {
        let owed = self.common && owed.split_whitespace().any(|o| o == self.operator);
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

    fn count(outcomes: &[Outcome], which: impl Fn(&Verdict) -> bool) -> usize {
        outcomes.iter().filter(|o| which(&o.verdict)).count()
    }

    /// Right, refused, failed.
    fn counts(outcomes: &[Outcome]) -> [usize; 3] {
        let right = Report::count(outcomes, |v| *v == Verdict::Right);
        let refused = Report::count(outcomes, |v| matches!(v, Verdict::Refused(_)));
        [right, refused, outcomes.len() - right - refused]
    }

    fn totals(&self) -> [usize; 3] {
        self.operators.values().map(|o| Report::counts(o)).fold([0; 3], |a, b| [a[0] + b[0], a[1] + b[1], a[2] + b[2]])
    }

    /// One line an operator, then the sum.
    pub fn summary(&self) -> String {
        let mut text = String::new();
        for (operator, outcomes) in &self.operators {
            let [right, refused, failed] = Report::counts(outcomes);
            let _ = writeln!(text, "conformance: {operator}: {right} right, {refused} refused, {failed} failed");
        }
        let [right, refused, failed] = self.totals();
        let _ = writeln!(text, "conformance: {right} right, {refused} refused, {failed} failed");
        text
    }

    pub fn check(&self, least_right: usize) -> Result<(), Failed> {
        let [right, refused, failed] = self.totals();
        if failed > 0 || right < least_right {
            return Err(format!("{right} right (of {least_right} wanted), {refused} refused, {failed} failed").into());
        }
        Ok(())
    }

    /// The page of counts, by operator, with the reasons of refusals.
    fn page(&self) -> String {
        let [right, refused, failed] = self.totals();
        let mut text = format!(
            "# Conformance\n\nThe node cases of the Python package onnx 1.19.1, each imported and run through the \
             interpreter `graph::eval`.\nThis page is written by `make snap` and checked by `make test`.\n\n\
             {right} right, {refused} refused with a reason, {failed} failed.\n\n\
             | operator | right | refused | failed | refused because |\n|---|---|---|---|---|\n"
        );
        for (operator, outcomes) in &self.operators {
            let [right, refused, failed] = Report::counts(outcomes);
            let _ = writeln!(text, "| {operator} | {right} | {refused} | {failed} | {} |", reasons(outcomes));
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

/// Distinct reasons, shortest form, as a table cell holds them.
fn reasons(outcomes: &[Outcome]) -> String {
    let mut all: Vec<&str> = outcomes
        .iter()
        .filter_map(|o| match &o.verdict {
            Verdict::Refused(why) => Some(why.as_str()),
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
