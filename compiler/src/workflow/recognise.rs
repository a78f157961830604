//! What a workflow is. In: a checked document and the package's folder. Out: the parts of our token loop in it, and what it asks of the
//! program. Promise: nothing is taken from names or contract ids alone: policies run by the interpreter, and what does otherwise than the
//! engine is compiled as given or refused.

use super::given::{Given, given};
use super::graphs::Graphs;
use super::probe::{self, Script, Seen};
use super::sampler::Agreement;
use super::schema::*;
use super::tail::Tail;
use crate::error::Result;
use crate::graph::eval::Array;
use onnxcast_runtime::sampling::Sampling;
use onnxcast_runtime::step::MAX_STOPS;
use std::path::Path;

/// A workflow, understood.
#[derive(Clone, PartialEq, Debug)]
pub struct Understood {
    /// The decoder's file.
    pub model: String,
    pub ports: Ports,
    pub caches: Vec<Cache>,
    /// Ids that end an answer, themselves emitted.
    pub stops: Vec<u32>,
    /// Most rows of the cache.
    pub context: Option<usize>,
    /// As the package draws when nobody asks for anything else.
    pub sampling: Sampling,
    pub sampler: Drawer,
    /// Why answers end otherwise than at an id or the limit, where they do.
    pub ending: Option<String>,
    /// Policies that are compiled as they are.
    pub tail: Option<Tail>,
    /// One line a component: its name, its contract, and how it runs.
    pub lines: Vec<[String; 3]>,
    /// Keys of the metadata that were left out, where that is allowed.
    pub ignored: Vec<String>,
}

/// Names of the decoder's inputs and outputs by their roles.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ports {
    pub tokens: String,
    pub mask: Option<String>,
    pub positions: Option<String>,
    pub logits: String,
    /// All that the metadata gives the decoder.
    pub inputs: Vec<String>,
}

/// An input and the output that comes back to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cache {
    pub input: String,
    pub output: String,
    pub layer: Option<usize>,
    /// `key` or `value`.
    pub role: Option<String>,
    pub axis: usize,
    pub path: super::yaml::Path,
}

/// Who chooses tokens.
#[derive(Clone, PartialEq, Debug)]
pub enum Drawer {
    /// Our kernels, which draw as the package's graph does.
    Kernels(Agreement),
    /// The package's graph, compiled as it is, since our kernels do not stand for it.
    Own(String),
}

/// The components and values that make a token loop.
pub struct Parts<'a> {
    pub model: &'a Component,
    pub tokens: &'a Port,
    pub mask: Option<&'a Port>,
    pub positions: Option<&'a Port>,
    pub logits: &'a Port,
    pub caches: Vec<&'a Alias>,
    pub sampler: &'a Component,
    pub ending: Option<&'a Component>,
    pub prompt: &'a Input,
    pub limit: &'a Input,
    pub output: String,
    pub around: &'a Loop,
    pub around_path: &'a super::yaml::Path,
    pub setup: Vec<&'a Invoke>,
    pub body: Vec<&'a Invoke>,
    /// Components that run in branches.
    pub branched: Vec<String>,
}

impl<'a> Parts<'a> {
    pub fn of(w: &'a Workflow) -> Result<Parts<'a>> {
        let mut loops = vec![];
        let mut before = vec![];
        walk(&w.steps, &mut |step| match &step.kind {
            StepKind::Loop(l) => loops.push((&**l, step)),
            StepKind::Invoke(invoke) => before.push(invoke),
            _ => {}
        });
        let [(l, at)] = loops.as_slice() else {
            return Err(w.path.key("steps").bad(format!("{} loops; a token loop is one", loops.len())));
        };
        let (mut setup, mut body) = (before, vec![]);
        walk(&l.setup, &mut |s| {
            if let StepKind::Invoke(i) = &s.kind {
                setup.push(i)
            }
        });
        walk(&l.steps, &mut |s| {
            if let StepKind::Invoke(i) = &s.kind {
                body.push(i)
            }
        });
        let named = |name: &str| w.components.iter().find(|c| c.name == name);
        let invoked: Vec<&Component> = body.iter().filter_map(|i| named(&i.component)).collect();
        let decoder = |c: &&&Component| c.playing("token_ids").is_some() && c.playing("logits").is_some();
        let models: Vec<_> = invoked.iter().filter(decoder).collect();
        let [model] = models.as_slice() else {
            let what =
                format!("{} components with the roles token_ids and logits run in it; one is a decoder", models.len());
            return Err(at.path.key("steps").bad(what));
        };
        let draws =
            |c: &&&Component| c.name != model.name && c.playing("logits").is_some() && c.playing("token").is_some();
        let samplers: Vec<_> = invoked.iter().filter(draws).collect();
        let [sampler] = samplers.as_slice() else {
            let what =
                format!("{} components bind logits and token in their contract; one is a sampler", samplers.len());
            return Err(at.path.key("steps").bad(what));
        };
        let ending = invoked.iter().find(|c| c.playing("eos_ids").is_some()).copied();
        let groups = w.serving.iter().flat_map(|s| &s.groups);
        let caches: Vec<&Alias> = groups.flat_map(|g| &g.ports).filter(|a| a.component == model.name).collect();
        if caches.is_empty() {
            let what =
                format!("no group of serving.state_service has ports of '{}': a decoder has a cache", model.name);
            return Err(w.path.key("serving").bad(what));
        }
        let tokens = w.outputs.iter().find(|o| o.role == "tokens");
        let missing = |role: &str| model.path.bad(format!("no port has the role {role}"));
        Ok(Parts {
            model,
            tokens: model.playing("token_ids").ok_or_else(|| missing("token_ids"))?,
            mask: model.playing("attention_mask"),
            positions: model.playing("position_ids"),
            logits: model.playing("logits").ok_or_else(|| missing("logits"))?,
            caches,
            sampler,
            ending,
            prompt: asked(w, &["prompt_tokens"])?,
            limit: asked(w, &["max_output_tokens", "max_iterations"])?,
            output: tokens.ok_or_else(|| w.path.key("outputs").bad("none has the role tokens"))?.name.clone(),
            around: l,
            around_path: &at.path,
            setup,
            body,
            branched: branched(&l.steps),
        })
    }

    /// The value that goes into a port of the model, and who makes it.
    pub fn fed_by(&self, setup: bool, port: &str) -> Option<(&str, String)> {
        let list = if setup { &self.setup } else { &self.body };
        let value = list.iter().find(|i| i.component == self.model.name)?.input(port)?;
        let maker = self.body.iter().chain(&self.setup).find(|i| i.outputs.iter().any(|(_, v)| v == value));
        Some((value, maker.map_or("the workflow's state".into(), |i| format!("component '{}'", i.component))))
    }

    pub fn ending_hint(&self) -> String {
        match self.ending {
            Some(c) => format!("'{}' ({}) decides when it ends", c.name, c.artifact),
            None => "no component binds eos_ids in its contract".into(),
        }
    }

    /// The value that the sampler's token is.
    pub fn drawn(&self) -> Option<&'a str> {
        let port = self.sampler.playing("token")?;
        self.body.iter().find(|i| i.component == self.sampler.name)?.output(&port.name)
    }

    /// The value that the sampler reads in a role.
    pub fn read_by_sampler(&self, role: &str) -> Option<&'a str> {
        let port = self.sampler.playing(role)?;
        self.body.iter().find(|i| i.component == self.sampler.name)?.input(&port.name)
    }
}

/// Every step, whatever it stands in.
fn walk<'a>(steps: &'a [Step], f: &mut dyn FnMut(&'a Step)) {
    for step in steps {
        f(step);
        match &step.kind {
            StepKind::Sequence(inner) => walk(inner, f),
            StepKind::Branch(b) => b.cases.iter().map(|(_, s)| s).chain(&b.default).for_each(|s| {
                walk(std::slice::from_ref(s), f);
            }),
            _ => {}
        }
    }
}

/// Components that run in branches among these steps.
fn branched(steps: &[Step]) -> Vec<String> {
    let mut out = vec![];
    walk(steps, &mut |step| {
        if let StepKind::Branch(b) = &step.kind {
            for step in b.cases.iter().map(|(_, s)| s).chain(&b.default) {
                walk(std::slice::from_ref(step), &mut |s| {
                    if let StepKind::Invoke(i) = &s.kind {
                        out.push(i.component.clone());
                    }
                });
            }
        }
    });
    out
}

/// The input with a role.
fn asked<'a>(w: &'a Workflow, roles: &[&str]) -> Result<&'a Input> {
    let found = w.inputs.iter().find(|i| i.role.as_deref().is_some_and(|r| roles.contains(&r)));
    found.ok_or_else(|| w.path.key("inputs").bad(format!("none has the role {}", roles.join(" or "))))
}

/// Recognises the token loop in a document, or says what is in the way.
pub fn understand(document: &Document, folder: &Path) -> Result<Understood> {
    let w = &document.workflow;
    let parts = Parts::of(w)?;
    let mut graphs = Graphs::of(folder);
    // The decoder may be of any size, and is read by the import; policies are read here.
    for c in w.components.iter().filter(|c| c.name != parts.model.name) {
        graphs.inspect(c)?;
    }
    let script = |prompt, limit, tokens| Script { prompt, limit, tokens, alone: false };
    let first = probe::watch(w, &parts, &mut graphs, &script(3, 2, vec![5, 6]))?;
    let stops = stops(&parts, &first)?;
    let mut probes = vec![];
    for (prompt, limit, tokens) in scripts(&stops, probe::vocab(&parts)) {
        let script = script(prompt, limit, tokens);
        let seen = probe::hold(w, &parts, &mut graphs, &script, &stops)?;
        probes.push((script, seen));
    }
    let last = probes.iter().rev().find(|(_, seen)| seen.shown.len() > 1).map_or(&first, |(_, seen)| seen);
    let sampling = sampling(&parts, last)?;
    overrides(document, &parts)?;
    let Given { sampler, processed, ending, tail } = given(w, &parts, &mut graphs, folder, &probes)?;
    if let Drawer::Kernels(_) = sampler {
        probes.iter().try_for_each(|(_, seen)| steady(&parts, seen))?;
    }
    let whys = Whys { sampler: &sampler, processed: &processed, ending: &ending, tail: tail.as_ref() };
    let lines = lines(w, &parts, whys, last.calls);
    // A policy that ends answers in its own way does with ids what it likes.
    let stops = if ending.is_some() { vec![] } else { stops };
    let stops = stops.iter().map(|s| *s as u32).collect();
    let context = context(w, &parts, last)?;
    Ok(Understood {
        model: parts.model.artifact.clone(),
        ports: Ports {
            tokens: parts.tokens.name.clone(),
            mask: parts.mask.map(|p| p.name.clone()),
            positions: parts.positions.map(|p| p.name.clone()),
            logits: parts.logits.name.clone(),
            inputs: parts.model.inputs.iter().map(|p| p.name.clone()).collect(),
        },
        caches: caches(w, &parts),
        stops,
        context,
        sampling,
        sampler,
        ending,
        tail,
        lines,
        ignored: vec![],
    })
}

/// Prompts, limits and tokens to try: stop ids at several places and, among others, repeated and spread over the vocabulary.
fn scripts(stops: &[i64], vocab: usize) -> Vec<(usize, i64, Vec<i64>)> {
    let other: Vec<i64> = (0..).filter(|t| !stops.contains(t)).take(6).collect();
    let mut out = vec![];
    for (prompt, limit, ends) in
        [(5, 4, None), (3, 6, Some(2)), (1, 1, None), (4, 3, Some(0)), (2, 3, Some(2)), (2, 0, None)]
    {
        let mut tokens = other.clone();
        if let (Some(at), Some(stop)) = (ends, stops.first()) {
            tokens[at] = *stop;
        }
        out.push((prompt, limit, tokens));
    }
    const LONG: i64 = 24;
    let long = |f: fn(i64) -> i64| {
        let token = |i: i64| f(i) % vocab as i64;
        (0..=LONG).map(token).map(|t| if stops.contains(&t) { other[0] } else { t }).collect()
    };
    out.insert(1, (2, LONG, long(|i| i / 3)));
    out.insert(1, (6, LONG + 1, long(|i| i * 37 + 11)));
    out
}

/// The ids in force once the setup has run.
fn stops(parts: &Parts, seen: &Seen) -> Result<Vec<i64>> {
    let Some(ending) = parts.ending else { return Ok(vec![]) };
    let Some(invoke) = parts.body.iter().find(|i| i.component == ending.name) else { return Ok(vec![]) };
    let value = |role: &str| {
        let port = ending.playing(role)?;
        seen.values.get(invoke.input(&port.name)?).map(Array::to_ints)
    };
    let mut ids = value("eos_ids").unwrap_or_default();
    if let Some(n) = value("eos_lengths").and_then(|n| n.first().copied()) {
        ids.truncate(n.max(0) as usize);
    }
    ids.sort_unstable();
    ids.dedup();
    if let Some(id) = ids.iter().find(|id| u32::try_from(**id).is_err()) {
        return Err(ending.path.bad(format!("stop id {id} is no token")));
    }
    if ids.len() > MAX_STOPS {
        return Err(ending.path.bad(format!("{} stop ids; at most {MAX_STOPS} fit", ids.len())));
    }
    Ok(ids)
}

/// Settings stay, and the counter counts.
fn steady(parts: &Parts, seen: &Seen) -> Result<()> {
    let counter = parts.sampler.playing("counter").map(|p| p.name.as_str());
    let logits = parts.sampler.playing("logits").map(|p| p.name.as_str());
    for pair in seen.shown.windows(2) {
        for (port, now) in &pair[1] {
            let before = pair[0].get(port);
            let path = parts.sampler.path.key("ports").key(port);
            if Some(port.as_str()) == counter {
                let step = |a: Option<&Array>| a.and_then(|a| a.to_ints().first().copied());
                if step(before).map(|n| n + 1) != step(Some(now)) {
                    return Err(path.bad("the counter does not grow by one a token"));
                }
            } else if Some(port.as_str()) != logits && before != Some(now) {
                return Err(path.bad("changes from token to token, and no state of the engine is this"));
            }
        }
    }
    Ok(())
}

/// What the sampler is given when nobody asks for anything.
fn sampling(parts: &Parts, seen: &Seen) -> Result<Sampling> {
    let value = |role: &str| {
        let port = parts.sampler.playing(role)?;
        seen.shown.first()?.get(&port.name).map(Array::to_f64)?.first().copied()
    };
    let plain = Sampling::default();
    let whole = |role: &str, or: i64| value(role).map_or(or, |x| x as i64);
    let float = |role: &str, or: f32| value(role).map_or(or, |x| x as f32);
    let counter = whole("counter", 0);
    let top_k = whole("top_k", plain.top_k);
    if i32::try_from(top_k).is_err() {
        let what = format!("its top_k is {top_k}, and 32 bits are kept of it; 0 takes all tokens");
        return Err(parts.sampler.path.bad(what));
    }
    let out = Sampling {
        temperature: float("temperature", plain.temperature),
        top_k,
        top_p: float("top_p", plain.top_p).clamp(1e-6, 1.0),
        min_p: float("min_p", plain.min_p).clamp(0.0, 1.0),
        seed: whole("seed", 0) as u64,
        counter: Some(u32::try_from(counter).map_err(|_| {
            parts.sampler.path.bad(format!("the counter begins with {counter}, and 32 bits are kept of it"))
        })?),
        ..plain
    };
    out.check().map_err(|e| parts.sampler.path.bad(e.to_string()))?;
    Ok(out)
}

/// What a user may set is what the sampler reads.
fn overrides(document: &Document, parts: &Parts) -> Result<()> {
    const SAMPLER: &[&str] = &["temperature", "top_k", "top_p", "min_p", "seed"];
    for o in &document.overrides {
        let read = match o.name.as_str() {
            "max_output_tokens" => Some(parts.limit.name.as_str()),
            role if SAMPLER.contains(&role) => parts.read_by_sampler(role),
            other => {
                let what =
                    format!("'{other}' is nothing that can be set here: max_output_tokens, {}", SAMPLER.join(", "));
                return Err(o.path.bad(what));
            }
        };
        if read != Some(o.input.as_str()) {
            let reads = read.map_or("nothing".into(), |r| format!("'{r}'"));
            return Err(o.path.bad(format!("sets '{}', and the workflow reads {reads} for it", o.input)));
        }
    }
    Ok(())
}

/// The bound of the caches' growth.
fn context(w: &Workflow, parts: &Parts, seen: &Seen) -> Result<Option<usize>> {
    let mut least = None;
    for cell in parts.caches.iter().filter_map(|a| w.state.iter().find(|c| c.name == a.cell)) {
        let Recurrence::Bounded { max, .. } = &cell.recurrence else { continue };
        let Some(rows) = seen.values.get(max).and_then(|a| a.to_ints().first().copied()) else { continue };
        if rows < 1 {
            let what = format!("'{max}' is {rows}: a cache of that many rows holds no token");
            return Err(cell.path.key("recurrence").key("max").bad(what));
        }
        least = Some(least.map_or(rows as usize, |n: usize| n.min(rows as usize)));
    }
    Ok(least)
}

fn caches(w: &Workflow, parts: &Parts) -> Vec<Cache> {
    let axis = |a: &Alias| {
        let mut groups = w.serving.iter().flat_map(|s| &s.groups);
        groups.find(|g| g.ports.iter().any(|p| p == a)).map_or(2, |g| g.sequence_axis)
    };
    let one = |a: &&Alias| Cache {
        input: a.input.clone(),
        output: a.output.clone(),
        layer: a.layer,
        role: a.role.clone(),
        axis: axis(a),
        path: a.path.clone(),
    };
    parts.caches.iter().map(one).collect()
}

/// How components run that our kernels may not stand for.
struct Whys<'a> {
    sampler: &'a Drawer,
    processed: &'a Option<String>,
    ending: &'a Option<String>,
    tail: Option<&'a Tail>,
}

/// How every component runs.
fn lines(w: &Workflow, parts: &Parts, whys: Whys, calls: usize) -> Vec<[String; 3]> {
    let body = |c: &Component| parts.body.iter().any(|i| i.component == c.name);
    let setup = |c: &Component| parts.setup.iter().any(|i| i.component == c.name);
    let given = |c: &Component| whys.tail.is_some_and(|t| t.calls.iter().any(|call| call.component.name == c.name));
    let ends = |c: &Component| parts.ending.is_some_and(|e| e.name == c.name);
    let how = |c: &Component| -> String {
        if c.name == parts.model.name {
            let last = if calls > 1 { "; its last run, whose logits nobody reads, is skipped" } else { "" };
            return format!("compiled: {} caches in place{last}", parts.caches.len());
        }
        match whys.sampler {
            _ if c.name != parts.sampler.name => {}
            Drawer::Kernels(a) => {
                let (rows, near) = (a.rows, a.near);
                return format!("kernel: draws as the graph does, {rows} of {rows} rows ({near} too near to tell)");
            }
            Drawer::Own(why) => return format!("compiled as given: {why}"),
        }
        if given(c) {
            let why = if ends(c) { whys.ending.as_ref() } else { whys.processed.as_ref().or(whys.ending.as_ref()) };
            return format!("compiled as given{}", why.map_or(String::new(), |w| format!(": {w}")));
        }
        if ends(c) {
            return "kernel: the sampler's, which stops at an id or at the limit".into();
        }
        match (setup(c), body(c)) {
            (true, false) => "skipped: the host begins where it would".into(),
            (_, true) => "kernel: words of the step".into(),
            (false, false) => "skipped: no step invokes it".into(),
        }
    };
    let contract = |c: &Component| c.contract.as_ref().map_or("-".into(), Promise::name);
    w.components.iter().map(|c| [c.name.clone(), contract(c), how(c)]).collect()
}
