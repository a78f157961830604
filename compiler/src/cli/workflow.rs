//! workflow. In: a package's metadata. Out: the recognised loop on stdout, a line a component. Promise: nothing is compiled; what the
//! compiler would refuse is refused here.

use super::print;
use crate::error::Result;
use crate::workflow::{self, METADATA, Understood};
use std::fmt::Write;
use std::path::Path;

pub fn show(package: &Path, lossy: bool) -> Result<()> {
    let file = if package.is_dir() { package.join(METADATA) } else { package.to_path_buf() };
    print(&text(&workflow::read(&file, lossy)?))
}

/// As people read it.
pub fn text(w: &Understood) -> String {
    let mut out = format!("a token loop around {}\n", w.model);
    let width = |i: usize| w.lines.iter().map(|l| l[i].len()).max().unwrap_or(0);
    let (name, contract) = (width(0), width(1));
    for [a, b, c] in &w.lines {
        let _ = writeln!(out, "  {a:name$}  {b:contract$}  {c}");
    }
    let s = &w.sampling;
    let stops: Vec<String> = w.stops.iter().map(u32::to_string).collect();
    let _ = writeln!(out, "stops     {}", if stops.is_empty() { "none".into() } else { stops.join(", ") });
    let _ = writeln!(out, "context   {}", w.context.map_or("as the manifest says".into(), |n| format!("at most {n}")));
    let _ = writeln!(
        out,
        "sampling  temperature {:?}, top_k {}, top_p {:?}, min_p {:?}, seed {}, draws counted from {}",
        s.temperature,
        s.top_k,
        s.top_p,
        s.min_p,
        s.seed,
        s.counter.unwrap_or(0)
    );
    for key in &w.ignored {
        let _ = writeln!(out, "left out  {key}");
    }
    out
}
