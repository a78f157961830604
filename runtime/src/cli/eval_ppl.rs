//! `eval-ppl`: perplexity of a text. In: a text, windows, perhaps another program. Out: one report. Promise: the other program is
//! asked for the same windows and refused unless it reads the same tokens; of each program one row of logits is held at a time.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::json;

use super::args;
use super::commands::Call;
use super::out::Out;
use crate::error::{Error, Result};
use crate::ppl::{self, Scores, Window};
use crate::session::Session;

/// Before the rows of `--stream-logits`: magic, vocabulary (u32), rows (u64), hash of tokens and windows (32 bytes).
const HEADER: usize = 8 + 4 + 8 + 32;
const MAGIC: &[u8; 8] = b"ONXCROWS";

/// What is scored.
struct Job {
    ids: Vec<u32>,
    windows: Vec<Window>,
    window: usize,
    stride: usize,
    vocab: u32,
}

impl Job {
    fn new(call: &Call, options: &args::EvalPpl) -> Result<Job> {
        let decoder = call.setting.decoder()?;
        let codec = call.setting.codec.ok_or_else(|| Error::usage("this model has no tokenizer").at("eval-ppl"))?;
        let window = options.window.unwrap_or(decoder.context);
        if window > decoder.context {
            let what = format!("{window} tokens, the context holds {}", decoder.context);
            return Err(Error::usage(what).at("--window"));
        }
        let stride = options.stride.unwrap_or(window);
        if stride > window {
            let what = format!("{stride} is over the window of {window}: tokens between would not be read");
            return Err(Error::usage(what).at("--stride"));
        }
        let mut ids = codec.raw(&text(&options.text)?).map_err(|e| e.at(options.text.display()))?;
        if let Some(most) = options.tokens {
            ids.truncate(most as usize);
        }
        let (window, stride) = (window as usize, stride as usize);
        let windows = ppl::cut(ids.len(), window, stride);
        if windows.is_empty() {
            return Err(Error::input(format!("{} tokens: none to foretell", ids.len())).at(options.text.display()));
        }
        Ok(Job { ids, windows, window, stride, vocab: decoder.vocab })
    }

    fn header(&self) -> [u8; HEADER] {
        let mut hash = blake3::Hasher::new();
        hash.update(bytemuck::cast_slice(&self.ids));
        for w in &self.windows {
            hash.update(bytemuck::cast_slice(&[w.start as u64, w.first as u64, w.end as u64]));
        }
        let mut out = [0; HEADER];
        out[..8].copy_from_slice(MAGIC);
        out[8..12].copy_from_slice(&self.vocab.to_le_bytes());
        out[12..20].copy_from_slice(&(ppl::scored(&self.windows) as u64).to_le_bytes());
        out[20..].copy_from_slice(hash.finalize().as_bytes());
        out
    }
}

fn text(path: &Path) -> Result<String> {
    let place = |what: String| Error::input(what).at(path.display());
    let bytes = std::fs::read(path).map_err(|e| place(e.to_string()))?;
    String::from_utf8(bytes).map_err(|_| place("is not UTF-8 text".into()))
}

pub fn eval(call: &Call, options: &args::EvalPpl, out: &mut Out) -> Result<()> {
    let job = Job::new(call, options)?;
    if options.stream_logits {
        return stream(&job, &mut call.session(false, false)?, out);
    }
    let mut other = options.against.as_deref().map(|path| Other::start(path, options, call.flags)).transpose()?;
    let mut session = call.session(false, false)?;
    if let Some(other) = &mut other {
        other.agree(&job)?;
    }
    let bar = bar(ppl::scored(&job.windows) as u64);
    let mut scores = Scores::default();
    ppl::run(&mut session, &job.ids, &job.windows, &mut |id, logits| {
        let row = other.as_mut().map(Other::row).transpose()?;
        scores.add(id, logits, row)?;
        bar.set_position(scores.ours.tokens as u64);
        bar.set_message(format!("perplexity {:.4}", scores.ours.perplexity()));
        Ok(())
    })?;
    bar.finish_and_clear();
    if let Some(other) = other {
        other.end()?;
    }
    report(call, options, &job, &scores, session.device_name(), out)
}

/// The child's side of `--against`.
fn stream(job: &Job, session: &mut Session, out: &mut Out) -> Result<()> {
    out.bytes(&job.header())?;
    ppl::run(session, &job.ids, &job.windows, &mut |_, logits| out.bytes(bytemuck::cast_slice(logits)))
}

fn bar(tokens: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(tokens), ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} tokens, {eta} left") {
        bar.set_style(style);
    }
    bar
}

/// Another program, or our own with another pool, that writes its logits into a pipe.
struct Other {
    path: PathBuf,
    child: Child,
    rows: ChildStdout,
    row: Vec<f32>,
}

impl Other {
    fn start(path: &Path, options: &args::EvalPpl, flags: &args::Engine) -> Result<Other> {
        let failed = |what: String| Error::usage(what).at(path.display()).at("--against");
        let given = path.canonicalize().map_err(|e| failed(e.to_string()))?;
        let mut magic = [0; 8];
        let opened = std::fs::File::open(&given).and_then(|mut f| f.read_exact(&mut magic));
        opened.map_err(|e| failed(e.to_string()))?;
        let mut command = if &magic == b"ONXCPOOL" {
            let own = std::env::current_exe().map_err(|e| failed(e.to_string()))?;
            let mut command = Command::new(own);
            command.arg("eval-ppl").arg("--weights").arg(format!("other:{}", given.display()));
            command
        } else {
            let mut command = Command::new(&given);
            command.arg("eval-ppl");
            command
        };
        command.arg("--stream-logits").arg("--text").arg(&options.text);
        for (flag, value) in [("--window", options.window), ("--stride", options.stride), ("--tokens", options.tokens)]
        {
            command.args(value.map(|v| [flag.to_owned(), v.to_string()]).into_iter().flatten());
        }
        command.args(flags.device.iter().flat_map(|d| ["--device", d]));
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| failed(format!("{e}; is it an executable or a pool of this project?")))?;
        let rows = child.stdout.take().ok_or_else(|| failed("it has no output".into()))?;
        Ok(Other { path: path.to_owned(), child, rows, row: Vec::new() })
    }

    /// Reads the header; refuses another vocabulary, other tokens or other windows.
    fn agree(&mut self, job: &Job) -> Result<()> {
        let mut theirs = [0; HEADER];
        self.read(Place::Header(&mut theirs))?;
        let ours = job.header();
        if theirs == ours {
            self.row = vec![0.0; job.vocab as usize];
            return Ok(());
        }
        let word = |b: &[u8; HEADER]| u32::from_le_bytes([b[8], b[9], b[10], b[11]]);
        let what = if theirs[..8] != ours[..8] {
            "it does not stream logits; was it built by this version?".to_owned()
        } else if word(&theirs) != word(&ours) {
            format!("its vocabulary has {} tokens, ours {}", word(&theirs), word(&ours))
        } else {
            "it reads other tokens or windows from this text; give the same --window to models of another context"
                .into()
        };
        Err(Error::input(what).at(self.path.display()))
    }

    fn row(&mut self) -> Result<&[f32]> {
        self.read(Place::Row)?;
        Ok(&self.row)
    }

    fn read(&mut self, place: Place) -> Result<()> {
        let read = match place {
            Place::Header(bytes) => self.rows.read_exact(bytes),
            Place::Row => self.rows.read_exact(bytemuck::cast_slice_mut(&mut self.row)),
        };
        if read.is_ok() {
            return Ok(());
        }
        // It has said on stderr why.
        let code = self.child.wait().ok().and_then(|s| s.code());
        let code = code.map_or("by a signal".to_owned(), |c| format!("with exit code {c}"));
        Err(Error::other(format!("ended early, {code}")).at(self.path.display()))
    }

    fn end(mut self) -> Result<()> {
        match self.child.wait() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(Error::other(format!("ended badly: {status}")).at(self.path.display())),
            Err(e) => Err(Error::other(e.to_string()).at(self.path.display())),
        }
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        // Our own failure ends the other program too.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

enum Place<'a> {
    Header(&'a mut [u8]),
    Row,
}

fn report(call: &Call, options: &args::EvalPpl, job: &Job, scores: &Scores, device: &str, out: &mut Out) -> Result<()> {
    let (name, precision) = (&call.setting.program.name, call.model.card.precision);
    let text = options.text.display().to_string();
    if options.json {
        let mut value = scores.json();
        value["model"] = json!(name);
        value["precision"] = json!(precision);
        value["device"] = json!(device);
        value["text"] = json!(text);
        for (key, n) in [("tokens", job.ids.len()), ("window", job.window), ("stride", job.stride)] {
            value[key] = json!(n);
        }
        value["scored"] = json!(scores.ours.tokens);
        if let Some(path) = &options.against {
            value["against"]["program"] = json!(path.display().to_string());
        }
        return out.json(&value);
    }
    let (ours, other) = (&scores.ours, &scores.other);
    out.line(&format!(
        "{name} {precision}: {} tokens of {text} in windows of {}, one every {}; {} scored, teacher-forced",
        job.ids.len(),
        job.window,
        job.stride,
        ours.tokens
    ))?;
    out.line(&format!("perplexity {:.4} +- {:.4} ({:.5} nats a token)", ours.perplexity(), ours.error(), ours.mean()))?;
    let (Some(d), Some(path)) = (scores.divergence(), &options.against) else { return Ok(()) };
    let percent = 100.0 * (ours.perplexity() / other.perplexity() - 1.0);
    out.line(&format!("against {}: perplexity {:.4}, ours {percent:+.2} %", path.display(), other.perplexity()))?;
    out.line(&format!("KL divergence: mean {:.6}, 99th percentile {:.6}, most {:.6}", d.mean, d.p99, d.most))?;
    out.line(&format!("same best token: {:.2} %", 100.0 * d.same_best))
}
