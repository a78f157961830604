//! inspect, explain, graph, init. In: a file or a model. Out: text or JSON on stdout; of init a manifest, on
//! stdout or in a file. Promise: nothing is compiled, and what cannot be read is an error.

use super::dot::dot;
use super::external::file_json;
use super::print;
use crate::bucket;
use crate::error::{Error, Result};
use crate::import::{self, DataFile, Inspection};
use crate::job::{Job, Wish};
use crate::manifest::MANIFEST;
use crate::{files, init as first, pipeline};
use onnxcast_runtime::memory::human;
use serde_json::json;
use std::fmt::Write;
use std::path::{Path, PathBuf};

pub fn inspect(onnx: &Path, as_json: bool) -> Result<()> {
    let i = import::inspect(onnx)?;
    if as_json {
        return print(&format!("{:#}\n", inspection_json(&i)));
    }
    let producer = if i.producer.is_empty() { "producer unknown" } else { &i.producer };
    let mut out = format!("{} (ir {}, {producer})\n", i.name, i.ir_version);
    let domain = |d: &String| if d.is_empty() { "ai.onnx".to_string() } else { d.clone() };
    let opsets: Vec<String> = i.opsets.iter().map(|(d, v)| format!("{} {v}", domain(d))).collect();
    let _ = writeln!(out, "opsets   {}", opsets.join(", "));
    let symbols: Vec<&str> = i.symbols.iter().map(String::as_str).collect();
    let _ = writeln!(out, "symbols  {}", if symbols.is_empty() { "none".into() } else { symbols.join(", ") });
    for (what, ports) in [("input", &i.inputs), ("output", &i.outputs)] {
        for p in ports {
            let dims = p.dims.as_ref().map_or("unknown rank".into(), |d| format!("[{}]", d.join(", ")));
            let _ = writeln!(out, "{what:8} {} {} {dims}", p.name, p.dtype);
        }
    }
    let _ = writeln!(out, "nodes    {}, functions {}", i.nodes, i.functions);
    for (op, count) in &i.operators {
        let _ = writeln!(out, "  {count:6} {op}");
    }
    let _ = writeln!(out, "weights  {} constants, {}", i.initializers, human(i.initializer_bytes));
    i.external.iter().for_each(|f| external(f, &mut out));
    for p in &i.problems {
        let _ = writeln!(out, "problem  {p}");
    }
    print(&out)
}

fn external(f: &DataFile, out: &mut String) {
    let total = f.bytes.map_or("not there".to_string(), |b| format!("of {}", human(b)));
    let _ = writeln!(out, "external {}: {} tensors, {} {total}", f.location, f.tensors, human(f.referenced));
    for (a, b) in &f.overlaps {
        let _ = writeln!(out, "  overlap: {a} and {b}");
    }
    let gaps: u64 = f.unreferenced.iter().map(|r| r.end - r.start).sum();
    if gaps > 0 {
        let _ = writeln!(out, "  unreferenced: {} in {} ranges", human(gaps), f.unreferenced.len());
    }
}

fn inspection_json(i: &Inspection) -> serde_json::Value {
    let port = |p: &import::Port| json!({ "name": p.name, "dtype": p.dtype, "dims": p.dims });
    let ports = |list: &[import::Port]| list.iter().map(port).collect::<Vec<_>>();
    json!({
        "name": i.name, "producer": i.producer, "ir_version": i.ir_version, "opsets": i.opsets, "symbols": i.symbols,
        "inputs": ports(&i.inputs), "outputs": ports(&i.outputs), "nodes": i.nodes, "functions": i.functions,
        "operators": i.operators, "initializers": i.initializers, "initializer_bytes": i.initializer_bytes,
        "external": i.external.iter().map(file_json).collect::<Vec<_>>(), "problems": i.problems,
    })
}

pub fn explain(wish: &Wish) -> Result<()> {
    let job = Job::find(&Wish { without_weights: true, ..wish.clone() })?;
    let (buckets, logs) = pipeline::fused(&job, pipeline::import(&job)?)?;
    let mut out = String::new();
    for (bucket, log) in buckets.iter().zip(&logs) {
        let _ = writeln!(out, "# bucket {}: {} nodes are left", bucket.name, bucket.graph.nodes.len());
        for line in &log.lines {
            let _ = writeln!(out, "{line}");
        }
        out.push('\n');
    }
    print(&out)
}

pub fn graph(wish: &Wish, as_dot: bool, imported: bool, bucket: Option<&str>) -> Result<()> {
    let job = Job::find(&Wish { without_weights: true, ..wish.clone() })?;
    let mut buckets = pipeline::import(&job)?;
    if let Some(name) = bucket {
        let names: Vec<String> = buckets.iter().map(|b| b.name.clone()).collect();
        buckets.retain(|b| b.name == name);
        if buckets.is_empty() {
            return Err(Error::new("graph", format!("there is no bucket '{name}' among {}", names.join(", "))));
        }
    }
    if !imported {
        buckets = pipeline::fused(&job, buckets)?.0;
    }
    if as_dot {
        return print(&buckets.iter().map(|b| dot(&b.graph, &b.name)).collect::<String>());
    }
    print(&bucket::print(&buckets))
}

/// The folder of a file.
fn beside(file: &Path) -> &Path {
    file.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Writes a manifest; one that is there already is not touched.
pub fn init(onnx: &Path, name: Option<String>, to: Option<PathBuf>, lossy: bool) -> Result<()> {
    let text = first::manifest(onnx, lossy)?;
    let spelled = |s: &std::ffi::OsStr| s.to_string_lossy().replace(' ', "-");
    let of_folder = |p: &Path| p.canonicalize().ok()?.file_name().map(spelled);
    let from_path = || match onnx.is_dir() {
        true => of_folder(onnx),
        false => onnx.file_stem().map(spelled).filter(|n| n != "model").or_else(|| of_folder(beside(onnx))),
    };
    let name = name.or_else(from_path).unwrap_or("model".into());
    crate::manifest::is_name(&name).map_err(|e| e.hint("give --name NAME"))?;
    let path = match to {
        Some(path) if path.as_os_str() == "-" => return print(&text),
        Some(path) => path,
        None => files::folder(Path::new(""), &name).join(MANIFEST),
    };
    let failed = |what: String| Error::new("init", what).at(path.display().to_string());
    if path.exists() {
        return Err(failed("is there already".into()).hint("remove it, or give -o FILE"));
    }
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).map_err(|e| failed(e.to_string()))?;
    }
    crate::files::replace(&path, text.as_bytes())?;
    eprintln!("wrote {}; read it, then: make model={name}", path.display());
    Ok(())
}
