//! The support report. In: a model, its dimensions bound or not. Out: every node and, where it cannot be imported, the reason.
//! Promise: nothing is compiled, and one bad node does not hide the next.

use super::walk::walk;
use super::{Bindings, NodeReport, Options, numbers, proto};
use crate::error::Result;
use std::path::Path;

/// Extent taken for a symbol that has no value: the batch is one, all else a number that nothing else is likely to be.
const ASSUMED: usize = 6;

/// What `support` found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// Nodes in execution order, functions expanded; those that no output needs are left out.
    pub nodes: Vec<NodeReport>,
    /// Symbols without a value and the extent that was assumed for them.
    pub assumed: Bindings,
}

impl Report {
    /// Nodes that cannot be imported.
    pub fn refused(&self) -> impl Iterator<Item = &NodeReport> {
        self.nodes.iter().filter(|n| n.reason.is_some())
    }

    pub fn is_supported(&self) -> bool {
        self.refused().next().is_none()
    }
}

/// Lists every node of a model with the reason where it is not supported. Symbols without a binding are given an extent;
/// the report says which. Missing external data is no error here.
pub fn support(path: &Path, options: &Options) -> Result<Report> {
    let model = proto::read(path)?;
    let mut fixed = numbers::constants(&model, &options.bind);
    fixed.extend(options.fixed.clone());
    let options = Options { without_weights: true, fixed, ..options.clone() };
    let attempt = |longer: Option<&str>| -> Result<Report> {
        let assume = |symbol: &str| assume(symbol, longer);
        let walked = walk(&model, &options, Some(&assume))?;
        Ok(Report { nodes: walked.nodes, assumed: walked.assumed })
    };
    let first = attempt(None).map_err(|e| e.at(path.display().to_string()))?;
    let mut best = first.clone();
    for symbol in first.assumed.keys() {
        if best.misfits() == 0 {
            break;
        }
        // A mask over past and new rows has a symbol of its own in some exports, and only their sum fits it.
        if let Ok(report) = attempt(Some(symbol))
            && report.misfits() < best.misfits()
        {
            best = report;
        }
    }
    // Shapes may be made of a number that is an input.
    let open: Bindings =
        numbers::names(&model).into_iter().filter(|n| !options.fixed.contains_key(n)).map(|n| (n, ASSUMED)).collect();
    if !best.is_supported() && !open.is_empty() {
        let fixed = numbers::constants(&model, &open).into_iter().chain(options.fixed.clone()).collect();
        let walked = walk(&model, &Options { fixed, ..options.clone() }, Some(&|symbol| assume(symbol, None)));
        if let Ok(walked) = walked {
            let report = Report { nodes: walked.nodes, assumed: walked.assumed.into_iter().chain(open).collect() };
            if report.refused().count() < best.refused().count() {
                best = report;
            }
        }
    }
    best.explain_misfits();
    Ok(best)
}

/// Extent of an unbound symbol; `longer` names one that is taken as the sum of two others.
fn assume(symbol: &str, longer: Option<&str>) -> usize {
    let lower = symbol.to_ascii_lowercase();
    if lower.contains("batch") {
        1
    } else if lower.contains("total") || longer == Some(symbol) {
        2 * ASSUMED
    } else {
        ASSUMED
    }
}

impl Report {
    /// Nodes that are wrong at the assumed extents, as against beyond us.
    fn misfits(&self) -> usize {
        self.refused().filter(|n| !n.unsupported).count()
    }

    fn explain_misfits(&mut self) {
        if self.assumed.is_empty() {
            return;
        }
        let extents: Vec<String> = self.assumed.iter().map(|(s, n)| format!("{s}={n}")).collect();
        for node in self.nodes.iter_mut().filter(|n| !n.unsupported) {
            if let Some(reason) = &mut node.reason {
                *reason = format!("{reason} (with {} assumed; bind the symbols to be exact)", extents.join(", "));
            }
        }
    }
}
