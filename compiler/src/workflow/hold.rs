//! The metadata's word against the graph's. In: a workflow, understood, and the decoder's graph. Out: nothing. Promise: a role that the
//! analysis of the graph gives to another input, or a cache that it does not find, is an error that names both.

use super::recognise::Understood;
use crate::error::{Error, Result};
use crate::graph::{Graph, Op, ValueId, growing_caches};
use crate::import;
use crate::passes::{Log, roles};
use std::path::Path;

/// Holds a decoder's graph, before the passes, against the workflow.
pub fn hold(u: &Understood, graph: &Graph) -> Result<()> {
    let caches: Vec<String> = growing_caches(graph).iter().map(|v| graph.value(*v).name.clone()).collect();
    for cache in &u.caches {
        if !caches.contains(&cache.input) {
            let what =
                format!("a group of state has '{}', and the graph's caches are {}", cache.input, listed(&caches));
            return Err(failed("serving.state_service", what));
        }
        let output = graph.outputs.iter().find(|o| o.name == cache.output);
        let output = output.ok_or_else(|| {
            failed("serving.state_service", format!("'{}' gives no output '{}'", u.model, cache.output))
        })?;
        if let Some(past) = continued(graph, output.value)
            && graph.value(past).name != cache.input
        {
            let what = format!(
                "'{}' continues '{}' in the graph, and a group of state gives it back to '{}'",
                cache.output,
                graph.value(past).name,
                cache.input
            );
            return Err(failed("serving.state_service", what));
        }
    }
    if let Some(name) = caches.iter().find(|name| !u.caches.iter().any(|c| c.input == **name)) {
        return Err(failed("serving.state_service", format!("the graph has a cache '{name}' that no group has")));
    }
    let mut named = graph.clone();
    roles::run(&mut named, &mut Log::default())?;
    let ours = [
        (roles::TOKENS, Some(&u.ports.tokens), "token_ids"),
        (roles::ATTENTION_MASK, u.ports.mask.as_ref(), "attention_mask"),
        (roles::POSITIONS, u.ports.positions.as_ref(), "position_ids"),
    ];
    for id in &graph.inputs {
        let (name, role) = (&graph.value(*id).name, named.value(*id).name.as_str());
        let Some((_, theirs, word)) = ours.iter().find(|(ours, _, _)| *ours == role) else { continue };
        // Positions that the file counts by itself became an input here.
        if *theirs != Some(name) && u.ports.inputs.contains(name) {
            let says = theirs.map_or("no input".into(), |t| format!("'{t}'"));
            return Err(failed(
                &format!("components roles.{word}"),
                format!("the metadata gives this role to {says}, and by its use in {} it is '{name}'", u.model),
            ));
        }
    }
    let outputs: Vec<String> = graph.outputs.iter().map(|o| o.name.clone()).collect();
    if !outputs.contains(&u.ports.logits) {
        let what = format!("'{}' is no output of {}; they are {}", u.ports.logits, u.model, listed(&outputs));
        return Err(failed("components roles.logits", what));
    }
    Ok(())
}

/// Refuses a package whose decoder is no file that can be read as a model.
pub fn decoder_is_a_model(u: &Understood, folder: &Path) -> Result<()> {
    let file = folder.join(&u.model);
    let wrong =
        |what: String| Err(Error::new("workflow", what).at(format!("pipeline.workflow.components ({})", u.model)));
    match std::fs::metadata(&file) {
        Err(_) => wrong(format!("there is no file '{}' in the package", u.model)),
        Ok(meta) if !meta.is_file() => wrong(format!("'{}' is no file", u.model)),
        Ok(_) => match import::inspect(&file) {
            Ok(model) if model.nodes == 0 => wrong(format!("'{}' holds no graph: is it a whole ONNX file?", u.model)),
            Ok(_) => Ok(()),
            Err(e) => wrong(e.what),
        },
    }
}

/// Holds what a group of state says of caches against a decoder's fused graph: which layer has it, and whether keys or values are in it.
pub fn hold_caches(u: &Understood, graph: &Graph) -> Result<()> {
    let input = |value: Option<ValueId>| {
        let state = graph.states.iter().find(|s| Some(s.input) == value.map(|v| source(graph, v)));
        state.map(|s| graph.value(s.input).name.clone())
    };
    let attention = graph.nodes.iter().filter(|n| matches!(n.op, Op::CachedAttention { .. }));
    for (layer, node) in attention.enumerate() {
        for (role, at) in [("key", 1), ("value", 2)] {
            let Some(name) = input(node.input(at)) else { continue };
            let Some(cache) = u.caches.iter().find(|c| c.input == name) else { continue };
            let wrong = |key: &str, theirs: &str, ours: &str| {
                let what = format!("'{name}' is the {key} {theirs} here, and {ours} by its use in {}", u.model);
                Err(cache.path.key(key).bad(what))
            };
            match (&cache.role, cache.layer) {
                (Some(theirs), _) if theirs != role => return wrong("role", theirs, role),
                (_, Some(theirs)) if theirs != layer => {
                    return wrong("layer", &theirs.to_string(), &layer.to_string());
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// The cache that a value is after the writes of this run.
fn source(graph: &Graph, value: ValueId) -> ValueId {
    let mut value = value;
    while let Some(node) = graph.nodes.iter().find(|n| n.outputs.contains(&value)) {
        let output = node.outputs.iter().position(|v| *v == value);
        let input = match (&node.op, output) {
            (Op::KvWrite, Some(0)) => node.input(0),
            (Op::Qkv { .. }, Some(1)) => node.input(4),
            (Op::Qkv { .. }, Some(2)) => node.input(5),
            _ => None,
        };
        let Some(next) = input else { break };
        value = next;
    }
    value
}

/// The cache that an output is with new rows behind it, where it is that.
fn continued(graph: &Graph, output: ValueId) -> Option<ValueId> {
    let producers = graph.producers();
    let mut value = output;
    // Casts and reshapes stand between at most.
    for _ in 0..4 {
        let node = &graph.nodes[*producers.get(&value)?];
        let first = node.input(0)?;
        if matches!(node.op, Op::Concat { .. }) && graph.inputs.contains(&first) {
            return Some(first);
        }
        value = first;
    }
    None
}

fn failed(key: &str, what: String) -> Error {
    Error::new("workflow", what).at(format!("{}: pipeline.workflow.{key}", super::METADATA))
}

fn listed(names: &[String]) -> String {
    if names.is_empty() { "none".into() } else { names.join(", ") }
}
