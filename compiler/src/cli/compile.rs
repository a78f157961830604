//! compile, quantize, pack, attach. In: a wish, or a pool. Out: generated/NAME, a pool file, an executable with its pool. Promise: a failure leaves what
//! was there before.

use super::progress::Progress;
use crate::error::{Error, Result};
use crate::job::{self, Job, Wish};
use crate::pipeline::Compiled;
use crate::quantise::Settings;
use crate::recast::Recast;
use crate::{files, output, pipeline};
use onnxcast_runtime::memory::human;
use onnxcast_runtime::program::{Bucket, Part, Program};
use onnxcast_runtime::weights::{Pool, append};
use std::path::Path;

/// Where `attach` puts the pool.
#[derive(Clone, Copy, clap::ValueEnum)]
pub enum Home {
    /// At the end of the executable
    Inside,
    /// In NAME.pool beside it
    Beside,
}

pub fn compile(wish: &Wish) -> Result<()> {
    let mut job = Job::find(wish)?;
    let progress = Progress::new(&wish.name);
    job.reuse = job.lock.quantise.is_some() && files::folder(&wish.project, &wish.name).join(output::POOL).is_file();
    let mut compiled = pipeline::compile(&job, &mut |stage| progress.stage(stage))?;
    if !output::is_complete(&wish.project, &job, &compiled) {
        // The pool that is there is another plan's.
        job.reuse = false;
        compiled = pipeline::compile(&job, &mut |stage| progress.stage(stage))?;
    }
    write(&wish.project, &job, &compiled, &progress)
}

fn write(project: &Path, job: &Job, compiled: &Compiled, progress: &Progress) -> Result<()> {
    let bytes = output::write(project, job, compiled, &mut |done, total| progress.packed(done, total))?;
    progress.say(&summary(&compiled.plan.program));
    let name = &job.manifest.name;
    if let Some(said) = compiled.report.summary() {
        let more = files::folder(project, name).join(output::REPORT).is_file();
        let more = if more { format!("; generated/{name}/{} has every matrix", output::REPORT) } else { String::new() };
        progress.say(&(said + &more));
    }
    let pool = if job.without_weights { "without weights".into() } else { format!("pool of {}", human(bytes)) };
    progress.say(&format!("wrote generated/{name}, {pool}"));
    Ok(())
}

/// Casts a compiled pool once more, with its weights quantised.
pub fn quantize(pool: &Path, name: &str, change: &dyn Fn(&mut Settings)) -> Result<()> {
    crate::manifest::is_name(name)?;
    let project = Path::new("");
    let progress = Progress::new(name);
    progress.stage("read the pool");
    let recast = Recast::read(pool, &mut |done, total| progress.packed(done, total))?;
    let mut job = recast.job(project, name)?;
    change(&mut job.manifest.quantise);
    job.manifest.quantise.check().map_err(|what| Error::new("quantise", what))?;
    job.calibration = job::calibration(&job.manifest.quantise)?;
    let compiled = pipeline::finish(&job, recast.buckets, &mut |stage| progress.stage(stage))?;
    write(project, &job, &compiled, &progress)
}

/// How many a run of a bucket takes, and in how many rows they are printed; of a greedy run, as one that draws has another sampler.
pub fn dispatches(b: &Bucket) -> (usize, usize) {
    let blocks = || b.blocks.iter().filter(|k| Part::Whole.has(k.phase));
    let count = blocks().map(|k| k.table.len() * k.dispatches.len()).sum();
    (count, blocks().map(|k| k.dispatches.len()).sum())
}

/// What the program is made of.
fn summary(p: &Program) -> String {
    let bucket = |b: &Bucket| {
        let (count, printed) = dispatches(b);
        format!("{} {count} dispatches in {printed} rows, arena {}", b.name, human(b.arena_bytes))
    };
    let buckets: Vec<String> = p.buckets.iter().map(bucket).collect();
    format!("{} kernels, {} tensors; {}", p.kernels.len(), p.tensors.len(), buckets.join("; "))
}

pub fn pack(wish: &Wish, path: &Path) -> Result<()> {
    let job = Job::find(wish)?;
    let progress = Progress::new(&wish.name);
    let compiled = pipeline::compile(&job, &mut |stage| progress.stage(stage))?;
    let mut packed = |done, total| progress.packed(done, total);
    let bytes = output::write_pool(path, &compiled.plan, &compiled.graphs, &mut packed)?;
    progress.say(&format!("wrote {}, {}", path.display(), human(bytes)));
    Ok(())
}

pub fn attach(name: &str, executable: &Path, home: Home) -> Result<()> {
    crate::manifest::is_name(name)?;
    let pool = files::folder(Path::new(""), name).join(output::POOL);
    let fail = |e: onnxcast_runtime::error::Error| {
        Error::new("attach", e.to_string()).hint(format!("`onnxcast compile {name}` writes the pool"))
    };
    if !executable.is_file() {
        return Err(Error::new("attach", "there is no such executable").at(executable.display().to_string()));
    }
    // A damaged pool is better found now than on the machine it is shipped to.
    Pool::open(&pool).map_err(fail)?;
    match home {
        Home::Inside => append(executable, &pool).map_err(fail),
        Home::Beside => {
            let target = executable.with_file_name(format!("{name}.pool"));
            files::copy(&pool, &target)
        }
    }
}
