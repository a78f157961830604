//! Read this first: an ONNX model becomes a program in five stages, one function each. In: a job (manifest, files, lock). Out: the
//! plan and the text of generated/NAME. Promise: every stage verifies what it hands on, and nothing is written to disk here.

use crate::bucket::{self, BucketGraph};
use crate::emit::{self, Assets};
use crate::error::{Error, Result};
use crate::graph::{growing_caches, verify};
use crate::import::{self, Keep, Options, Part};
use crate::job::Job;
use crate::manifest::{Bucket, Law, Manifest, Picture};
use crate::passes::{self, Log};
use crate::pictures;
use crate::plan::{self, Plan, Request, Shaders};
use crate::quantise::{self, Report};
use crate::storage::Precision;
use crate::workflow;
use onnxcast_runtime::program::Program;

/// What compiling gives.
#[derive(Debug)]
pub struct Compiled {
    pub plan: Plan,
    /// The fused graphs in text form.
    pub graphs: String,
    /// The files of generated/NAME, stamp and pool not among them.
    pub files: Vec<emit::File>,
    /// What became of the weights that `int4` quantises.
    pub report: Report,
}

/// The pipeline. `say` hears which stage is under way.
pub fn compile(job: &Job, say: &mut dyn FnMut(&str)) -> Result<Compiled> {
    say("import");
    let imported = import(job)?; // ONNX -> one graph a bucket; every shape a number; graph::verify
    say("passes");
    let (fused, _log) = fused(job, imported)?; // rewrites in the order of passes::ORDER; graph::verify after each
    finish(job, fused, say)
}

/// Fused graphs as `compile` plans them, for those who want to look at them, and the passes' logs.
pub fn fused(job: &Job, imported: Vec<BucketGraph>) -> Result<(Vec<BucketGraph>, Vec<Log>)> {
    let (mut fused, mut logs) = fuse(imported)?;
    if let Some(asked) = job.manifest.activations {
        fused.iter_mut().zip(&mut logs).for_each(|(b, log)| passes::take(&mut b.graph, asked, log));
    }
    for bucket in fused.iter().filter(|b| b.decoder) {
        stops_are_tokens(job, bucket)?;
        if let Some(w) = &job.workflow {
            workflow::hold_caches(w, &bucket.graph).map_err(|e| workflow::within(workflow::METADATA, e))?;
        }
    }
    own_policies(job, &mut fused)?; // where a package draws or ends in a way of its own, those graphs follow the logits
    Ok((fused, logs))
}

/// An id past the vocabulary would never end an answer.
fn stops_are_tokens(job: &Job, bucket: &BucketGraph) -> Result<()> {
    let (Some(text), Some(logits)) = (&job.text, bucket.graph.outputs.first()) else { return Ok(()) };
    let vocab = bucket.graph.shape(logits.value).last().copied().unwrap_or(0);
    let Some(id) = text.stops.iter().find(|id| **id as usize >= vocab) else { return Ok(()) };
    let from = job.manifest.text.as_ref().filter(|t| t.stops.is_none()).and_then(|t| t.generation_config.clone());
    let what = format!("stop id {id} is past the vocabulary: the model gives {vocab} logits");
    Err(Error::new("manifest", what)
        .at(from.unwrap_or("[text] stops".into()))
        .hint("are tokenizer, configuration and model of one export?"))
}

/// Policies that no kernel of ours stands for go behind the logits, compiled as they are.
fn own_policies(job: &Job, fused: &mut [BucketGraph]) -> Result<()> {
    let Some(tail) = job.workflow.as_ref().and_then(|w| w.tail.as_ref()) else { return Ok(()) };
    fused.iter_mut().filter(|b| b.decoder).try_for_each(|b| workflow::attach(tail, &mut b.graph))
}

/// The stages after the passes, also for graphs that come out of a pool.
pub fn finish(job: &Job, mut fused: Vec<BucketGraph>, say: &mut dyn FnMut(&str)) -> Result<Compiled> {
    say("quantise");
    let report = quantise(job, &mut fused)?; // where precision is int4: weights to few bits; graph::verify
    say("plan");
    let mut plan = plan(job, &fused)?; // kernels, order, barriers, offsets, pool, blocks; plan::hazard::check
    report.note(&mut plan.lock);
    lock(job, &plan)?; // the weights are those that models/NAME/weights.lock names
    say("emit");
    let graphs = bucket::print(&fused);
    let files = emit(job, &plan, &graphs)?; // Rust and GLSL, as text
    Ok(Compiled { plan, graphs, files, report })
}

/// Reads each bucket's graphs at the bucket's dimensions and makes them one.
pub fn import(job: &Job) -> Result<Vec<BucketGraph>> {
    let place = |e: Error, b: &Bucket| e.at(format!("bucket {}", b.name));
    let mut read = vec![];
    for bucket in &job.manifest.buckets {
        read.push(parts(job, bucket).map_err(|e| place(e, bucket))?);
    }
    let decoders = decoders(&job.manifest, &read);
    let (mut out, mut edges) = (vec![], vec![]);
    for ((bucket, parts), decoder) in job.manifest.buckets.iter().zip(read).zip(decoders) {
        let keep = if decoder { Keep::Last } else { Keep::Open };
        let made = import::compose(parts, &bucket.edges, keep).map_err(|e| place(e, bucket))?;
        if let Some(w) = job.workflow.as_ref().filter(|_| decoder) {
            workflow::hold(w, &made.graph).map_err(|e| place(e, bucket))?; // what the package says of its decoder is so
        }
        if !decoder {
            passes::roles::check_free(&made.graph).map_err(|e| place(e, bucket))?;
        }
        let (name, file) = (bucket.name.clone(), bucket.graphs.join("+"));
        out.push(BucketGraph { name, file, rows: bucket.rows, decoder, graph: made.graph });
        edges.push(made.edges);
    }
    if let Some(picture) = &job.manifest.picture {
        pictures::join(picture, &mut out, &edges)?; // rows of pictures go from the tower's bucket to the decoder's
    }
    verified(&out, "importing")?;
    Ok(out)
}

/// Holds every bucket's graph to the invariants.
fn verified(buckets: &[BucketGraph], after: &str) -> Result<()> {
    buckets.iter().try_for_each(|b| verify(&b.graph).map_err(|e| e.at(format!("after {after} bucket {}", b.name))))
}

/// The graphs of a bucket.
fn parts(job: &Job, bucket: &Bucket) -> Result<Vec<Part>> {
    let options = Options { bind: bucket.dims.clone(), without_weights: job.without_weights, ..Options::default() };
    let load = if manages_cache(&job.manifest, bucket) { import::load_decoder } else { import::load };
    let part = |name: &String| Ok(Part { name: name.clone(), graph: load(job.graph(name)?, &options)? });
    bucket.graphs.iter().map(part).collect()
}

fn manages_cache(manifest: &Manifest, bucket: &Bucket) -> bool {
    manifest.context.is_some() && !bucket.raw
}

/// Which buckets are decoders whose cache we manage: those with a cache, and those that end in the same graph as one of them. Where
/// no graph has a cache, all that are not `raw`: the passes say what is missing.
fn decoders(manifest: &Manifest, read: &[Vec<Part>]) -> Vec<bool> {
    let buckets = || manifest.buckets.iter().zip(read);
    let has_cache = |parts: &[Part]| parts.iter().any(|p| !growing_caches(&p.graph).is_empty());
    let cached = |(b, parts): &(&Bucket, &Vec<Part>)| manages_cache(manifest, b) && has_cache(parts);
    let last: Vec<Option<&String>> = buckets().filter(cached).map(|(b, _)| b.graphs.last()).collect();
    let decodes = |b: &Bucket| manages_cache(manifest, b) && (last.is_empty() || last.contains(&b.graphs.last()));
    manifest.buckets.iter().map(decodes).collect()
}

/// Runs the passes: those of a decoder whose cache we manage, or the few that leave a graph as it stands.
pub fn fuse(mut buckets: Vec<BucketGraph>) -> Result<(Vec<BucketGraph>, Vec<Log>)> {
    let mut logs = vec![];
    for bucket in &mut buckets {
        let order = if bucket.decoder { passes::ORDER } else { passes::RAW_ORDER };
        let mut log = Log::default();
        passes::run(&mut bucket.graph, order, &mut log).map_err(|e| e.at(format!("bucket {}", bucket.name)))?;
        logs.push(log);
    }
    Ok((buckets, logs))
}

/// Encodes the weights where the precision asks for it; without weights the lock says how each is stored.
pub fn quantise(job: &Job, buckets: &mut [BucketGraph]) -> Result<Report> {
    quantise::align(buckets); // what the file holds quantised lies together in one layout
    verified(buckets, "aligning the weights of")?;
    if job.manifest.precision != Precision::Int4 {
        return Ok(Report::default());
    }
    let settings = &job.manifest.quantise;
    buckets.iter_mut().for_each(|b| quantise::widen(&mut b.graph, settings.group.into()));
    quantise::halve(buckets)?;
    let tokenizer = job.text.as_ref().map(|t| t.tokenizer.as_slice());
    let mut strategy = match job.without_weights {
        true => Box::new(quantise::Nearest::default()),
        false => quantise::strategy(settings, tokenizer, job.calibration.as_deref(), buckets)?,
    };
    if job.reuse && quantise::forget(buckets, &job.lock, &settings.named(&strategy.name()))? {
        strategy = Box::new(quantise::Nearest::default());
    }
    let report = quantise::run(buckets, &job.lock, settings, strategy.as_mut())?;
    verified(buckets, "quantising")?;
    Ok(report)
}

/// Plans all buckets over one pool.
pub fn plan(job: &Job, buckets: &[BucketGraph]) -> Result<Plan> {
    plan::assemble(&Request {
        name: &job.manifest.name,
        storage: job.manifest.storage(),
        context: job.manifest.context,
        buckets,
        lock: &job.lock,
        select: &Shaders,
    })
}

/// Refuses weights other than those the lock was written for.
fn lock(job: &Job, plan: &Plan) -> Result<()> {
    let differing = job.lock.differing(&plan.lock);
    match differing.first() {
        None => Ok(()),
        Some(first) => {
            let what =
                format!("{} of {} constants differ from the lock, '{first}' first", differing.len(), job.lock.len());
            let place = job.lock_path.as_ref().map_or("the lock".into(), |p| p.display().to_string());
            Err(Error::new("weights", what)
                .at(place)
                .hint("delete the lock if the new weights are meant, or pass them with onnx=PATH"))
        }
    }
}

/// Prints the program.
pub fn emit(job: &Job, plan: &Plan, graphs: &str) -> Result<Vec<emit::File>> {
    let m = &job.manifest;
    emit::files(
        &plan.program,
        &Assets {
            title: &m.title,
            source: &m.source,
            licence: &m.licence,
            precision: m.precision.name(),
            manifest: &job.shown,
            text: job.text.as_ref(),
            sampling: m.sampling,
            picture: picture(m, &plan.program)?,
            golden: job.golden.as_deref(),
            graphs,
        },
    )
}

/// What is done to a picture, as the input of its bucket asks.
fn picture<'a>(m: &'a Manifest, program: &Program) -> Result<Option<(&'a Picture, Law)>> {
    let Some(picture) = &m.picture else { return Ok(None) };
    let bucket = program.buckets.iter().find(|b| *b.name == picture.bucket);
    let inputs: Vec<&[u32]> = bucket.iter().flat_map(|b| b.inputs.iter()).map(|port| &*port.shape).collect();
    let [input] = inputs.as_slice() else {
        let what = format!("'{}' takes {} arrays; one, of pixels, is wanted", picture.bucket, inputs.len());
        return Err(Error::new("manifest", what).at("key 'picture.bucket'"));
    };
    Ok(Some((picture, picture.law(input)?)))
}

#[cfg(test)]
mod tests;
