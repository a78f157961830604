//! Which policies are compiled as the package has them. In: a token loop and what probing saw. Out: who draws, who alters logits, who ends
//! an answer, and the cut of those that no kernel stands for. Promise: a policy is ours only where nothing in its inputs could make it do
//! what no probe has shown.

use super::graphs::Graphs;
use super::probe::{self, Script, Seen};
use super::recognise::{Drawer, Parts};
use super::sampler;
use super::schema::*;
use super::tail::{Cut, Feed, Known, Tail};
use crate::error::{Error, Result};
use std::path::Path;

/// Rows with which a compile probes a sampler, and their logits; tests take more.
const PROBES: (usize, usize) = (48, 97);

/// Who does what.
pub struct Given {
    pub sampler: Drawer,
    /// Why the logits are not the decoder's.
    pub processed: Option<String>,
    /// Why answers end otherwise than at an id or the limit.
    pub ending: Option<String>,
    pub tail: Option<Tail>,
}

/// Decides, and cuts.
pub fn given(
    w: &Workflow,
    parts: &Parts,
    graphs: &mut Graphs,
    folder: &Path,
    probes: &[(Script, Seen)],
) -> Result<Given> {
    let sampler = drawer(parts, graphs)?;
    let new = |known: Known| Cut::new(w, parts, folder, probes, known);
    let all = Known { logits: true, sampler: true, ending: true };
    let logits = parts.read_by_sampler("logits").unwrap_or_default();
    let mut cut = new(Known { logits: false, ..all });
    let steps = match cut.cut(logits) {
        Ok(_) => cut.tail.calls.iter().flat_map(|c| &c.inputs).find_map(|(port, s)| match s {
            Feed::Const(_) | Feed::Logits | Feed::Made(..) => None,
            _ => Some(format!("the logits depend on the step, by '{port}' of a policy")),
        }),
        Err(_) => None,
    };
    let processed = probes.iter().find_map(|(_, seen)| seen.altered.clone()).or(steps);
    if processed.is_some() {
        last_row_alone(w, parts, graphs, probes)?;
    }
    let verdict = parts.around.carried.iter().find(|c| c.cell == parts.around.continue_when).map(|c| c.next.as_str());
    let mut cut = new(all);
    let followed = match verdict.map(|v| cut.cut(v)) {
        Some(Ok(_)) => cut.tail.held.iter().find(|h| cut.tail.follows_tokens(&h.next, "")),
        _ => None,
    };
    let followed = followed.map(|h| format!("the end depends on '{}', which tokens before have made", h.cell));
    let ending = probes.iter().find_map(|(_, seen)| seen.otherwise.clone()).or(followed);

    let own = match &sampler {
        Drawer::Own(why) => Some(why.clone()),
        Drawer::Kernels(_) => None,
    };
    let whys: Vec<String> = [&processed, &own, &ending].into_iter().flatten().cloned().collect();
    if whys.is_empty() {
        return Ok(Given { sampler, processed, ending, tail: None });
    }
    let since = |e: Error| Error {
        what: format!("{}; policies are compiled as given, since {}", e.what, whys.join("; ")),
        ..e
    };
    let mut cut = new(Known { logits: processed.is_none(), sampler: own.is_none(), ending: ending.is_none() });
    let mut end = |name: Option<&str>, what: &str| match name {
        Some(name) => cut.cut(name).map(Some).map_err(since),
        None => Err(since(parts.around_path.bad(format!("{what} is no value that a step makes")))),
    };
    let logits = if processed.is_some() { end(Some(logits), "what is sampled from")? } else { None };
    let token = if own.is_some() { end(parts.drawn(), "the token")? } else { None };
    let goes_on = if ending.is_some() { end(verdict, "whether there is another step")? } else { None };
    let tail = Some(Tail { logits, token, goes_on, ..cut.tail });
    Ok(Given { sampler, processed, ending, tail })
}

/// Kernels where they draw alike, else the graph itself.
fn drawer(parts: &Parts, graphs: &mut Graphs) -> Result<Drawer> {
    let sampler = parts.sampler;
    let contract = sampler.contract.as_ref().map(Promise::name);
    let why = match contract.as_deref() {
        Some("onnx-genai.token-sampler@2") => match sampler::compare(graphs, sampler, PROBES.0, PROBES.1)? {
            Ok(agreement) => return Ok(Drawer::Kernels(agreement)),
            Err(why) => format!("its graph draws otherwise than the contract says: {why}"),
        },
        Some(other) => format!("contract {other} is not known"),
        None => "it has no contract".into(),
    };
    Ok(Drawer::Own(why))
}

/// The device has the logits of the last row; what policies make of these must be what they make of all rows.
fn last_row_alone(w: &Workflow, parts: &Parts, graphs: &mut Graphs, probes: &[(Script, Seen)]) -> Result<()> {
    let port = parts.sampler.playing("logits").map_or("", |p| p.name.as_str());
    for (script, seen) in probes.iter().filter(|(_, seen)| !seen.shown.is_empty()).take(3) {
        let alone = probe::watch(w, parts, graphs, &Script { alone: true, ..script.clone() })?;
        let logits = |seen: &Seen| seen.shown.iter().map(|s| s.get(port).cloned()).collect::<Vec<_>>();
        if logits(&alone) != logits(seen) {
            let what = "is shown logits that are made of other rows than the last, and those are never computed";
            return Err(parts.sampler.path.bad(what));
        }
    }
    Ok(())
}
