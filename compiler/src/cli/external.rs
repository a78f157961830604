//! inspect --external-data, repack. In: a model's file or folder. Out: what its data files hold, or the same without what nobody refers
//! to. Promise: the input stays as it is; exact numbers of bytes.

use super::print;
use super::progress::Progress;
use crate::error::{Error, Result};
use crate::import::{self, Audit, DataFile};
use crate::repack::{self, ALIGNMENT};
use serde_json::json;
use std::fmt::Write;
use std::path::Path;

/// Gaps that are listed one by one; all are in the JSON.
const LISTED: usize = 20;

/// Prints the audit. What cannot be read is told in it, and the exit code says so.
pub fn audit(path: &Path, as_json: bool) -> Result<()> {
    let audit = import::audit(path)?;
    match as_json {
        true => print(&format!("{:#}\n", audit_json(&audit)))?,
        false => print(&audit_text(&audit))?,
    }
    match audit.problems.len() {
        0 => Ok(()),
        n => Err(Error::new("inspect", format!("{n} tensors or files cannot be read")).at(path.display().to_string())),
    }
}

fn audit_text(audit: &Audit) -> String {
    let mut out = String::new();
    if audit.files.is_empty() && audit.problems.is_empty() {
        let _ = writeln!(out, "no tensor refers to a data file");
    }
    audit.files.iter().for_each(|f| file_text(f, &mut out));
    for p in &audit.problems {
        let _ = writeln!(out, "problem: {p}");
    }
    out
}

fn file_text(f: &DataFile, out: &mut String) {
    let used = match f.bytes {
        Some(bytes) => {
            format!("{} of {} bytes referenced ({})", grouped(f.referenced), grouped(bytes), share(f.referenced, bytes))
        }
        None => format!("{} bytes referenced, the file cannot be read", grouped(f.referenced)),
    };
    let _ = writeln!(out, "{}: {used}", f.location);
    let _ = writeln!(out, "  tensors: {} in {} ranges", f.tensors, f.ranges);
    let _ = writeln!(out, "  alignment: every range begins at a multiple of {}", grouped(f.alignment));
    for (a, b) in &f.overlaps {
        let _ = writeln!(out, "  overlap: {a} and {b}");
    }
    if f.overlaps.is_empty() {
        let _ = writeln!(out, "  overlaps: none");
    }
    let total: u64 = f.unreferenced.iter().map(|r| r.end - r.start).sum();
    let _ = writeln!(out, "  unreferenced: {} bytes in {} ranges", grouped(total), f.unreferenced.len());
    let (large, small): (Vec<_>, Vec<_>) = f.unreferenced.iter().partition(|r| r.end - r.start >= ALIGNMENT);
    for r in large.iter().take(LISTED) {
        let _ = writeln!(out, "    [{}, {}): {} bytes", grouped(r.start), grouped(r.end), grouped(r.end - r.start));
    }
    let rest = large.len().saturating_sub(LISTED);
    if rest > 0 {
        let _ = writeln!(out, "    and {rest} more, in --json");
    }
    if !small.is_empty() {
        let bytes: u64 = small.iter().map(|r| r.end - r.start).sum();
        let _ = writeln!(out, "    {} of less than {ALIGNMENT} bytes, together {} bytes", small.len(), grouped(bytes));
    }
}

fn audit_json(audit: &Audit) -> serde_json::Value {
    let files: Vec<_> = audit.files.iter().map(file_json).collect();
    json!({ "models": audit.models, "external": files, "problems": audit.problems })
}

/// A data file, as every report has it.
pub fn file_json(f: &DataFile) -> serde_json::Value {
    let gaps: Vec<_> = f.unreferenced.iter().map(|r| json!([r.start, r.end])).collect();
    json!({ "location": f.location, "bytes": f.bytes, "referenced": f.referenced, "tensors": f.tensors, "ranges": f.ranges,
            "alignment": f.alignment, "overlaps": f.overlaps, "unreferenced": gaps })
}

/// Repacks, and says what became of each data file.
pub fn repack(input: &Path, output: &Path, force: bool) -> Result<()> {
    let progress = Progress::new("repack");
    let done =
        repack::repack(input, output, force, &mut |done, all| progress.bytes("copy and compare", done, Some(all)))?;
    drop(progress);
    let mut out = String::new();
    for (name, bytes, used) in &done.before {
        let (name, share) = (name.display(), share(*used, *bytes));
        let _ = writeln!(out, "read   {name}: {} of {} bytes referenced ({share})", grouped(*used), grouped(*bytes));
    }
    for (name, bytes) in &done.after {
        let _ = writeln!(out, "wrote  {}: {} bytes", name.display(), grouped(*bytes));
    }
    if done.shared_bytes > 0 {
        let _ = writeln!(out, "shared {} bytes stood more than once and stand once now", grouped(done.shared_bytes));
    }
    let _ = writeln!(out, "equal  {} tensors byte for byte, {} other files", done.tensors, done.kept);
    print(&out)
}

/// A share in percent.
fn share(part: u64, whole: u64) -> String {
    format!("{:.2} %", 100.0 * part as f64 / whole.max(1) as f64)
}

/// 1234567 as 1,234,567.
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_stand_in_groups_of_three() {
        let all: Vec<String> = [0, 999, 1000, 16_652_453_888].map(grouped).into();
        assert_eq!(all, ["0", "999", "1,000", "16,652,453,888"]);
    }
}
