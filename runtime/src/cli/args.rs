//! Flags. In: the command line. Out: `Args`. Promise: what cannot work together is refused here, before a device is touched.

use std::path::PathBuf;
use std::str::FromStr;

use crate::audit::Arm;
use crate::bench::Table;
use clap::{Args as ClapArgs, Parser, Subcommand};

use super::draw::Draw;
use crate::error::Result;
use crate::residency::{Bytes, Offload, Wish};
use crate::sampling::Sampling;

pub const EXIT_CODES: &str = "\
Exit codes:
    0  done; also when the reader of stdout went away
    1  any other failure
    2  flags that make no sense
    3  no Vulkan driver, or no such device
    4  the device lacks a feature or a limit that the model needs, or one that profile --registers does
    5  weights missing, short, altered or of another model
    6  a prompt, template, file or array that cannot be used
    7  out of memory
    8  the device was lost
    9  verify: a comparison went over its bound; bench --steady, residency: tokens differ
   10  residency: the device read other weights than those that were packed
  130  interrupted (Ctrl-C); the text so far was printed";

#[derive(Parser, Debug)]
#[command(version, args_conflicts_with_subcommands = true, disable_help_subcommand = true, after_help = EXIT_CODES)]
pub struct Args {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub prompt: Prompt,
    #[command(flatten)]
    pub answer: Answer,
    #[command(flatten, next_help_heading = "Device")]
    pub engine: Engine,
    /// List the Vulkan devices and exit
    #[arg(long)]
    pub list_devices: bool,
}

/// What to answer. Nothing given: chat when stdin is a terminal, else the prompt is read from stdin.
#[derive(ClapArgs, Debug, Default)]
pub struct Prompt {
    /// The prompt; `-` reads it from stdin
    #[arg(value_name = "PROMPT", group = "source")]
    pub positional: Option<String>,
    /// The prompt, also when it begins with a dash
    #[arg(short = 'p', long = "prompt", value_name = "TEXT", group = "source", allow_hyphen_values = true)]
    pub text: Option<String>,
    /// Read the prompt from a file
    #[arg(short = 'f', long, value_name = "FILE", group = "source")]
    pub file: Option<PathBuf>,
    /// Token ids instead of text, such as 1,2,3; needs no tokenizer
    #[arg(long, value_name = "IDS", group = "source", conflicts_with_all = ["raw", "system"])]
    pub prompt_ids: Option<Ids>,
    /// A picture before the prompt's text (JPEG, PNG, WebP, or .npy with its pixels as the model takes them); may be repeated
    #[arg(long = "image", value_name = "FILE")]
    pub images: Vec<PathBuf>,
    /// System prompt instead of the model's own
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub system: Option<String>,
    /// Take the prompt as it stands, without the chat template
    #[arg(long, conflicts_with = "system")]
    pub raw: bool,
}

#[derive(ClapArgs, Debug)]
pub struct Answer {
    /// Most tokens of an answer [default: until the context is full]
    #[arg(short = 'n', long = "tokens", value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: Option<u32>,
    /// End the answer before this text; may be repeated
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub stop: Vec<String>,
    /// Print token ids instead of text
    #[arg(long, conflicts_with = "json")]
    pub ids: bool,
    /// Print one JSON object: prompt_ids, tokens, text, stop, sampling, timings
    #[arg(long)]
    pub json: bool,
    #[command(flatten, next_help_heading = "Sampling")]
    pub draw: Draw,
}

#[derive(ClapArgs, Debug, Clone)]
pub struct Engine {
    /// Device by number or by part of its name (see --list-devices)
    #[arg(long, global = true, value_name = "DEVICE")]
    pub device: Option<String>,
    /// Weight pool to use: a file, other:FILE for other weights than this program was compiled with (fine-tuned, quantised anew; the
    /// plan must be the same), or synthetic:SEED for pseudo-random weights
    #[arg(long, global = true, value_name = "FILE|other:FILE|synthetic:SEED")]
    pub weights: Option<String>,
    /// Decode steps in one submission [default: 8; 1 for answers on a CPU device, or where a step moves more than 256 MiB of weights]
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub steps: Option<u32>,
    /// Most bytes of weights in device memory, such as 6G, 512M or 0; the rest stays with the host [default: all of them]
    #[arg(long, global = true, value_name = "BYTES")]
    pub gpu_budget: Option<Bytes>,
    /// How kernels get at weights beyond the budget: read in place, copied ahead of them, or what is predicted to be faster
    #[arg(long, global = true, value_enum, default_value_t = Offload::Auto)]
    pub offload: Offload,
    /// Neither use nor keep pipelines compiled and measured at an earlier start
    #[arg(long, global = true)]
    pub no_cache: bool,
    /// Copy weights that stay with the host instead of using the pool's own pages, to compare
    #[arg(long, global = true, hide = true)]
    pub no_import: bool,
    /// Leave the device's matrix units alone, to compare
    #[arg(long, global = true, hide = true)]
    pub no_matrix: bool,
}

#[derive(Subcommand, Debug)]
pub enum Command {
    /// Measure the speed of prompt processing (pp) and generation (tg)
    Bench(Bench),
    /// Compare with the recorded reference; exit code 9 when over the bound
    Verify(Verify),
    /// Perplexity of a text, teacher-forced; with --against also how far from another program's distributions
    EvalPpl(EvalPpl),
    /// Show the model card, the memory plan and the device limits it needs; allocates nothing
    Info(Info),
    /// Time every dispatch on the device
    Profile(Profile),
    /// See whether weights in host memory are read as they were packed, arm by arm; exit code 10 where they are not
    Residency(Residency),
    /// Run the graph once on arrays from a file
    Run(Run),
}

#[derive(ClapArgs, Debug)]
pub struct Bench {
    /// Prompt lengths to measure
    #[arg(short = 'p', long, value_name = "N,…", value_delimiter = ',', default_value = "256")]
    pub prompt: Vec<u32>,
    /// Answer lengths to measure
    #[arg(short = 'n', long, value_name = "N,…", value_delimiter = ',', default_value = "128")]
    pub generate: Vec<u32>,
    /// Tokens already in the cache before a measured answer begins
    #[arg(short = 'd', long, value_name = "N", default_value_t = 0)]
    pub depth: u32,
    /// Measured repetitions of each row; one more runs before, unmeasured
    #[arg(short = 'r', long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub repetitions: u32,
    /// Answers of -n alone, the same prompt each time: all runs must give the same tokens, and counters are told
    #[arg(long)]
    pub steady: bool,
    /// Runs of --steady before those that are measured
    #[arg(long, value_name = "N", default_value_t = 2, requires = "steady", value_parser = clap::value_parser!(u32).range(1..))]
    pub warmups: u32,
    /// How to print
    #[arg(short = 'o', long, value_enum, default_value_t = Table::Md)]
    pub output: Table,
    #[command(flatten, next_help_heading = "Sampling")]
    pub draw: Draw,
}

#[derive(ClapArgs, Debug)]
pub struct Verify {
    /// Golden file instead of the built-in one; an .npz file holds whole rows of logits (formats: docs/golden.md)
    #[arg(long, value_name = "FILE")]
    pub golden: Option<PathBuf>,
    /// Largest logit difference allowed, and the margin from which best tokens must agree [default: by precision; for an .npz file
    /// the margin is 0.05 and differences are only told]
    #[arg(long, value_name = "X")]
    pub bound: Option<f32>,
    /// Smallest cosine allowed between a row of logits and an .npz file's
    #[arg(long, value_name = "X", default_value_t = 0.9999)]
    pub cosine: f64,
    /// Also take prompts of lengths around the chunk size and up to the context, in chunks and token by token
    #[arg(long)]
    pub lengths: bool,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Every token but the first of a window is scored by the logits that the tokens before it in the window give. With overlapping
/// windows a token is scored once, in the first window that holds it. Rows of logits come from decode steps.
#[derive(ClapArgs, Debug)]
pub struct EvalPpl {
    /// The text (UTF-8)
    #[arg(long, value_name = "FILE")]
    pub text: PathBuf,
    /// Tokens of a window [default: the context]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..))]
    pub window: Option<u32>,
    /// Tokens from one window's beginning to the next one's [default: the window, so that none overlap]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub stride: Option<u32>,
    /// Only the text's first N tokens [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..))]
    pub tokens: Option<u32>,
    /// Also compare with another executable, or with this one on another pool: KL divergence of ours from its distributions, and how
    /// often the best token is the same
    #[arg(long, value_name = "PROGRAM|POOL")]
    pub against: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// Write each row of logits to stdout instead (what --against runs)
    #[arg(long, hide = true)]
    pub stream_logits: bool,
}

#[derive(ClapArgs, Debug)]
pub struct Info {
    /// GB a second that the link between host and device carries, to tell the least time of a step with --gpu-budget
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub link: Option<f64>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(ClapArgs, Debug)]
pub struct Profile {
    /// Tokens to generate while timing
    #[arg(short = 'n', long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..))]
    pub tokens: u32,
    /// Length of the prompt before them
    #[arg(short = 'p', long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..))]
    pub prompt: u32,
    /// Write a Chrome trace (chrome://tracing, Perfetto)
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// Instead of times, what the driver tells of each kernel's machine code: registers, spills, size; exit code 4 where it does not
    #[arg(long, conflicts_with = "trace")]
    pub registers: bool,
    /// Print one JSON object: a row for each bucket and kernel, with times and bytes
    #[arg(long)]
    pub json: bool,
    #[command(flatten, next_help_heading = "Sampling")]
    pub draw: Draw,
}

/// First all weights are on the device: those tokens are the baseline. Then more and more of what a decode step reads stays with the host
/// (--offload says how; both ways otherwise). In every arm the device hashes these weights before, during and after the answers.
#[derive(ClapArgs, Debug)]
pub struct Residency {
    /// Bytes of weights that a step reads from host memory, as --gpu-budget takes them, or all [default: from 64 MiB to all, with
    /// steps of 0.04 GB between 0.44 and 0.65 GB]
    #[arg(long, value_name = "BYTES,…", value_delimiter = ',')]
    pub arms: Vec<Arm>,
    /// The prompt [default: some tokens]
    #[arg(short = 'p', long, value_name = "TEXT", allow_hyphen_values = true)]
    pub prompt: Option<String>,
    /// Token ids instead of text
    #[arg(long, value_name = "IDS", conflicts_with = "prompt")]
    pub prompt_ids: Option<Ids>,
    /// Tokens of an answer
    #[arg(short = 'n', long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(2..))]
    pub tokens: u32,
    /// Answers of an arm that are timed
    #[arg(short = 'r', long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    pub repeat: u32,
    /// Copy the host's weights into memory of the driver's instead of using the pool's own pages
    #[arg(long)]
    pub host_copies: bool,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// Turn over a bit of this tensor's copy in host memory after it was found right, in every arm that leaves it there: the verdict
    /// must be stale data. Implies --host-copies; no file is touched
    #[arg(long, value_name = "TENSOR", hide = true)]
    pub fault: Option<String>,
}

#[derive(ClapArgs, Debug)]
pub struct Run {
    /// Which bucket, of a program with several
    #[arg(long, value_name = "NAME")]
    pub bucket: Option<String>,
    /// Arrays under the names of the graph's inputs (numpy .npz)
    #[arg(long, value_name = "FILE")]
    pub inputs: Option<PathBuf>,
    /// Where the outputs go (numpy .npz)
    #[arg(long, value_name = "FILE")]
    pub outputs: PathBuf,
}

fn rate(text: &str) -> Result<f64, String> {
    let bad = || format!("'{text}' is no rate in GB a second");
    text.parse::<f64>().ok().filter(|r| r.is_finite() && *r > 0.0).ok_or_else(bad)
}

impl Engine {
    /// How weights are to be kept.
    pub fn wish(&self) -> Wish {
        Wish { budget: self.gpu_budget.map(|b| b.0), offload: self.offload, ..Wish::default() }
    }
}

/// A list of token ids; commas or spaces between, brackets around allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ids(pub Vec<u32>);

impl FromStr for Ids {
    type Err = String;

    fn from_str(text: &str) -> Result<Ids, String> {
        let inner = text.trim().trim_start_matches('[').trim_end_matches(']');
        let words = inner.split([',', ' ']).filter(|w| !w.is_empty());
        let ids: Result<Vec<u32>, _> = words.map(|w| w.parse().map_err(|_| format!("{w:?} is no token id"))).collect();
        match ids? {
            ids if ids.is_empty() => Err("no token id given".into()),
            ids => Ok(Ids(ids)),
        }
    }
}

impl Args {
    /// How tokens are drawn; none is greedy, as are commands that compare. Answers go by the model's own settings where no flag does.
    pub fn sampling(&self, model: Option<&Sampling>) -> Result<Option<Sampling>> {
        match &self.command {
            None => self.answer.draw.sampling(model),
            Some(Command::Bench(bench)) => bench.draw.sampling(None),
            Some(Command::Profile(profile)) => profile.draw.sampling(None),
            Some(_) => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::error::ErrorKind;

    fn parse(line: &[&str]) -> Result<Args, clap::Error> {
        Args::try_parse_from(std::iter::once(&"model").chain(line))
    }

    #[test]
    fn the_flags_are_consistent() {
        use clap::CommandFactory;
        Args::command().debug_assert();
    }

    #[test]
    fn a_bare_text_is_the_prompt_and_a_subcommand_is_not() {
        let args = parse(&["Say hi", "-n", "8", "--stop", "a", "--stop", "b"]).unwrap();
        assert_eq!(args.prompt.positional.as_deref(), Some("Say hi"));
        assert_eq!((args.answer.limit, args.answer.stop), (Some(8), vec!["a".into(), "b".into()]));
        assert!(args.command.is_none());
        assert!(matches!(parse(&["bench", "-r", "2"]).unwrap().command, Some(Command::Bench(b)) if b.repetitions == 2));
    }

    #[test]
    fn a_prompt_may_be_a_word_close_to_a_subcommand_or_a_dash() {
        assert_eq!(parse(&["benches"]).unwrap().prompt.positional.as_deref(), Some("benches"));
        assert_eq!(parse(&["-"]).unwrap().prompt.positional.as_deref(), Some("-"));
        assert_eq!(parse(&["-p", "-1 + 1 ="]).unwrap().prompt.text.as_deref(), Some("-1 + 1 ="));
        assert_eq!(parse(&["-p", "bench"]).unwrap().prompt.text.as_deref(), Some("bench"));
    }

    #[test]
    fn two_prompts_are_refused() {
        for line in [&["a", "-p", "b"][..], &["-p", "a", "-f", "b"], &["a", "--prompt-ids", "1"], &["a", "bench"]] {
            assert!(parse(line).is_err(), "{line:?}");
        }
    }

    #[test]
    fn device_and_weights_go_after_a_subcommand() {
        let args = parse(&["bench", "--weights", "synthetic:3", "--device", "1"]).unwrap();
        assert_eq!(args.engine.weights.as_deref(), Some("synthetic:3"));
        assert_eq!(args.engine.device.as_deref(), Some("1"));
    }

    #[test]
    fn prompt_ids_take_commas_spaces_and_brackets() {
        for text in ["1,2,3", "[1, 2, 3]", " 1 2 3 "] {
            assert_eq!(text.parse(), Ok(Ids(vec![1, 2, 3])));
        }
        for text in ["", "[]", "1,x", "-1", "4294967296"] {
            assert!(text.parse::<Ids>().is_err(), "{text}");
        }
    }

    #[test]
    fn answers_bench_and_profile_take_the_sampler_and_comparing_does_not() {
        let seed = |line: &[&str]| parse(line).unwrap().sampling(None).unwrap().map(|s| s.seed);
        for line in [&["a"][..], &["bench"], &["profile"]] {
            assert_eq!(seed(line), None);
            let line: Vec<&str> = line.iter().copied().chain(["--temp", "0.7", "--seed", "3"]).collect();
            assert_eq!(seed(&line), Some(3));
        }
        assert!(parse(&["verify", "--temp", "0.7"]).is_err());
    }

    #[test]
    fn a_budget_is_a_number_of_bytes_and_a_wrong_one_says_how_to_write_it() {
        let args = parse(&["bench", "--gpu-budget", "1.5G", "--offload", "read"]).unwrap();
        assert_eq!((args.engine.gpu_budget, args.engine.offload), (Some(Bytes(3 << 29)), Offload::Read));
        assert_eq!(parse(&["a"]).unwrap().engine.gpu_budget, None);
        let error = parse(&["a", "--gpu-budget", "lots"]).unwrap_err().to_string();
        assert!(error.contains("'lots' is no number of bytes; write 0, 512M or 6G"), "{error}");
        assert!(parse(&["a", "--offload", "swap"]).is_err());
    }

    #[test]
    fn arms_are_bytes_or_all_and_others_are_refused() {
        let line = ["residency", "--arms", "440000000,0.5G,all", "-r", "2", "--offload", "stream"];
        let args = parse(&line).unwrap();
        let Some(Command::Residency(r)) = &args.command else { panic!("{args:?}") };
        assert_eq!((&r.arms[..], r.repeat), (&[Arm::Bytes(440_000_000), Arm::Bytes(1 << 29), Arm::All][..], 2));
        for bad in ["lots", "1,,2", "0", "-5", "1e9"] {
            let error = parse(&["residency", &format!("--arms={bad}")]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ValueValidation, "{bad}: {error}");
        }
        assert!(parse(&["residency", "-p", "a", "--prompt-ids", "1"]).is_err());
        assert_eq!(parse(&["residency", "-n", "1"]).unwrap_err().kind(), ErrorKind::ValueValidation);
    }

    #[test]
    fn zero_tokens_and_zero_repetitions_are_refused() {
        assert_eq!(parse(&["a", "-n", "0"]).unwrap_err().kind(), ErrorKind::ValueValidation);
        assert_eq!(parse(&["bench", "-r", "0"]).unwrap_err().kind(), ErrorKind::ValueValidation);
    }
}
