//! generated/NAME on disk. In: what the pipeline made. Out: the folder, its pool and the lock. Promise: the folder appears whole or
//! stays as it was; a pool that is already right is not packed again.

use crate::bucket::print_recipe;
use crate::emit;
use crate::error::{Error, Result};
use crate::files::{Part, folder, replace};
use crate::job::Job;
use crate::lock::LOCK;
use crate::manifest::MANIFEST;
use crate::pipeline::Compiled;
use crate::plan::Plan;
use crate::plan::weights::{Packed, pack};
use onnxcast_runtime::weights::{Pool, PoolWriter};
use std::fs;
use std::path::Path;

/// The pool's name in generated/NAME.
pub const POOL: &str = "weights.pool";

/// What became of each weight that was to be quantised, in generated/NAME.
pub const REPORT: &str = "quantise.txt";

/// Hears how many of how many bytes are packed.
pub type Progress<'a> = &'a mut dyn FnMut(u64, u64);

/// Writes everything beside the folder first and then moves it into place. Returns the bytes of the pool.
pub fn write(project: &Path, job: &Job, compiled: &Compiled, progress: Progress) -> Result<u64> {
    let target = folder(project, &job.manifest.name);
    let part = Part::new(&target)?;
    files(&part.0, &compiled.files)?;
    let mut pool_bytes = 0;
    if !job.without_weights {
        pool_bytes = pool(&target.join(POOL), &part.0.join(POOL), compiled, progress)?;
    }
    keep(job, &target, &part.0)?;
    report(compiled, &target, &part.0)?;
    if let Some(path) = job.lock_path.as_ref().filter(|_| writes_lock(job, compiled)) {
        // A model that `init` made keeps its lock in the folder that is about to be replaced.
        let inside = path.strip_prefix(&target).map(|name| part.0.join(name));
        replace(inside.as_ref().unwrap_or(path), compiled.plan.lock.print().as_bytes())?;
    }
    part.into_place(&target)?;
    Ok(pool_bytes)
}

/// Writes the generated files and, last, the stamp that makes them a whole.
fn files(folder: &Path, files: &[emit::File]) -> Result<()> {
    for (path, bytes) in files.iter().chain([&emit::stamp(files)]) {
        let path = folder.join(path);
        let parent = path.parent().unwrap_or(folder);
        fs::create_dir_all(parent).map_err(|e| failed(parent, e))?;
        fs::write(&path, bytes).map_err(|e| failed(&path, e))?;
    }
    Ok(())
}

fn writes_lock(job: &Job, compiled: &Compiled) -> bool {
    !job.without_weights && !job.lock_stays && job.lock != compiled.plan.lock
}

/// Leaves what became of each weight in the folder; a compile that quantised nothing anew keeps the report that is there.
fn report(compiled: &Compiled, target: &Path, part: &Path) -> Result<()> {
    let (old, new) = (target.join(REPORT), part.join(REPORT));
    if compiled.report.rows.iter().any(|r| r.error.is_some()) {
        return replace(&new, compiled.report.text().as_bytes());
    }
    if compiled.report.settings.is_some() && old.is_file() {
        fs::copy(&old, new).map_err(|e| failed(&old, e))?;
    }
    Ok(())
}

/// Whether the plan can be written: its weights are at hand, or the pool that is there is its own.
pub fn is_complete(project: &Path, job: &Job, compiled: &Compiled) -> bool {
    let absent = |packed: &Packed| packed.parts.iter().any(|p| p.tensor.is_absent());
    let pool = folder(project, &job.manifest.name).join(POOL);
    job.without_weights || !compiled.plan.pool.iter().any(absent) || is_right(&pool, &compiled.plan, &compiled.graphs)
}

fn is_right(pool: &Path, plan: &Plan, graphs: &str) -> bool {
    Pool::open(pool).is_ok_and(|p| p.fits(&plan.program).is_ok() && p.graph() == print_recipe(graphs, &plan.lock))
}

/// Packs a plan's weights into a pool file.
pub fn write_pool(path: &Path, plan: &Plan, graphs: &str, progress: Progress) -> Result<u64> {
    let fail = |e: onnxcast_runtime::error::Error| Error::new("pack", e.to_string());
    let mut writer = PoolWriter::create(path, &plan.program, &print_recipe(graphs, &plan.lock)).map_err(fail)?;
    let total = plan.pool.iter().map(|t| t.bytes()).sum();
    let mut done = 0;
    for packed in &plan.pool {
        pack(packed, &mut |piece| {
            done += piece.len() as u64;
            progress(done, total);
            writer.write(piece).map_err(fail)
        })?;
    }
    writer.finish().map_err(fail)
}

/// Takes over the pool that is there, if it is this plan's, or packs a new one.
fn pool(old: &Path, new: &Path, compiled: &Compiled, progress: Progress) -> Result<u64> {
    if is_right(old, &compiled.plan, &compiled.graphs) && fs::hard_link(old, new).is_ok() {
        return Ok(fs::metadata(new).map_or(0, |m| m.len()));
    }
    write_pool(new, &compiled.plan, &compiled.graphs, progress)
}

/// Carries the manifest and lock of a model that lives in generated/NAME over to its new folder.
fn keep(job: &Job, target: &Path, part: &Path) -> Result<()> {
    if let Some(text) = &job.made {
        return replace(&part.join(MANIFEST), text.as_bytes());
    }
    for name in [MANIFEST, LOCK] {
        let old = target.join(name);
        if old.is_file() {
            fs::copy(&old, part.join(name)).map_err(|e| failed(&old, e))?;
        }
    }
    Ok(())
}

fn failed(path: &Path, e: std::io::Error) -> Error {
    Error::new("output", e.to_string()).at(path.display().to_string())
}
