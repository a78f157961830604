//! support. In: an ONNX file, or a model's name. Out: text or JSON on stdout: every node of the file, or counts by bucket and graph of
//! the model. Promise: nothing is written; one node that is not supported makes the command fail, and all of them are listed.

use super::compile::dispatches;
use super::print;
use crate::error::{Error, Result};
use crate::import::{self, Bindings, NodeReport, Options, Report};
use crate::job::{Job, Wish, find_manifest};
use crate::manifest::Bucket;
use crate::pipeline;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;

/// A file, or a model where there is no such file.
pub fn support(what: &Path, bind: Bindings, as_json: bool) -> Result<()> {
    let name = what.to_string_lossy().into_owned();
    let wish = Wish { name, without_weights: true, ..Wish::default() };
    let is_model = !what.exists() && find_manifest(&wish).is_some();
    if is_model && !bind.is_empty() {
        return Err(Error::new("support", "a model's manifest gives the dimensions").at("--dims"));
    }
    if is_model { model(&wish, as_json) } else { file(what, bind, as_json) }
}

fn file(onnx: &Path, bind: Bindings, as_json: bool) -> Result<()> {
    let report = import::support(onnx, &Options { bind, ..Options::default() })?;
    let refused = report.refused().count();
    if as_json {
        let nodes: Vec<Value> = report.nodes.iter().map(node_json).collect();
        let value = json!({ "supported": refused == 0, "assumed_dims": report.assumed, "nodes": nodes });
        print(&format!("{value:#}\n"))?;
    } else {
        let mut out = String::new();
        report.nodes.iter().for_each(|n| node(n, &mut out));
        let assumed: Vec<String> = report.assumed.iter().map(|(k, v)| format!("{k}={v}")).collect();
        if !assumed.is_empty() {
            let _ = writeln!(out, "assumed: {} (--dims sets them)", assumed.join(", "));
        }
        let _ = writeln!(out, "{} nodes, {refused} unsupported", report.nodes.len());
        print(&out)?;
    }
    verdict(refused, report.nodes.len(), &onnx.display().to_string())
}

fn node(n: &NodeReport, out: &mut String) {
    let op = if n.domain.is_empty() { n.op.clone() } else { format!("{}.{}", n.domain, n.op) };
    let verdict = n.reason.as_ref().map_or("ok".to_string(), |r| format!("UNSUPPORTED: {r}"));
    let _ = writeln!(out, "{op:24} {}  {verdict}", n.name);
}

fn node_json(n: &NodeReport) -> Value {
    json!({ "name": n.name, "op": n.op, "domain": n.domain, "opset": n.opset,
            "supported": n.reason.is_none(), "reason": n.reason })
}

fn verdict(refused: usize, nodes: usize, place: &str) -> Result<()> {
    match refused {
        0 => Ok(()),
        n => Err(Error::new("support", format!("{n} of {nodes} nodes are not supported")).at(place)),
    }
}

/// One graph in one bucket.
struct Row<'a> {
    bucket: &'a Bucket,
    graph: &'a str,
    report: Report,
}

/// Every bucket's graphs at the bucket's dimensions. Where all is supported the model is planned, so that dispatches can be counted:
/// there is no other way to run a node than in one of them.
fn model(wish: &Wish, as_json: bool) -> Result<()> {
    let job = Job::find(wish)?;
    let mut rows = vec![];
    for bucket in &job.manifest.buckets {
        for graph in &bucket.graphs {
            let options = Options { bind: bucket.dims.clone(), ..Options::default() };
            let report = import::support(job.graph(graph)?, &options)?;
            rows.push(Row { bucket, graph, report });
        }
    }
    let refused: usize = rows.iter().map(|r| r.report.refused().count()).sum();
    let nodes: usize = rows.iter().map(|r| r.report.nodes.len()).sum();
    let program = if refused == 0 { Some(pipeline::compile(&job, &mut |_| {})?.plan.program) } else { None };
    let planned = |name: &str| {
        let bucket = program.iter().flat_map(|p| p.buckets.iter()).find(|b| *b.name == *name);
        bucket.map(|b| dispatches(b).0)
    };
    print(&if as_json { model_json(&rows, planned) } else { model_text(&rows, planned, nodes, refused) })?;
    verdict(refused, nodes, &job.shown)
}

fn model_text(rows: &[Row], planned: impl Fn(&str) -> Option<usize>, nodes: usize, refused: usize) -> String {
    let mut out = format!("{:12} {:12} {:>8} {:>12} {:>12}\n", "bucket", "graph", "nodes", "unsupported", "dispatches");
    for r in rows {
        // A bucket's dispatches stand in the row of its last graph.
        let is_last = r.bucket.graphs.last().is_some_and(|last| last == r.graph);
        let count = planned(&r.bucket.name).filter(|_| is_last).map_or(String::new(), |n| n.to_string());
        let (all, bad) = (r.report.nodes.len(), r.report.refused().count());
        let line = format!("{:12} {:12} {all:>8} {bad:>12} {count:>12}", r.bucket.name, r.graph);
        let _ = writeln!(out, "{}", line.trim_end());
    }
    for r in rows {
        for n in r.report.refused() {
            let _ = write!(out, "{} {}: ", r.bucket.name, r.graph);
            node(n, &mut out);
        }
    }
    let place = if refused == 0 { ", all on the GPU" } else { "" };
    let _ = writeln!(out, "{nodes} nodes, {refused} unsupported{place}");
    out
}

fn model_json(rows: &[Row], planned: impl Fn(&str) -> Option<usize>) -> String {
    let row = |r: &Row| {
        let refused: Vec<Value> = r.report.refused().map(node_json).collect();
        json!({ "bucket": r.bucket.name, "graph": r.graph, "nodes": r.report.nodes.len(), "unsupported": refused,
                "bucket_dispatches": planned(&r.bucket.name) })
    };
    let supported = rows.iter().all(|r| r.report.is_supported());
    format!("{:#}\n", json!({ "supported": supported, "graphs": rows.iter().map(row).collect::<Vec<_>>() }))
}
