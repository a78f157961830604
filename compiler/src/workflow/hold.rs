//! The metadata's word against the graph's. In: a workflow, understood, and the decoder's graph. Out: nothing. Promise: a role that the
//! analysis of the graph gives to another input, or a cache that it does not find, is an error that names both.

use super::recognise::Understood;
use crate::error::{Error, Result};
use crate::graph::{Graph, Op, ValueId, growing_caches};
use crate::passes::{Log, roles};

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
