//! The compiler's command line. In: arguments. Out: generated/NAME, a pool, or a report on stdout; remarks on stderr. Promise: one
//! line says what failed and what to do; exit codes are 0 done, 1 failed, 2 wrong usage.

mod compile;
mod dot;
mod external;
mod progress;
mod report;
mod sources;
mod support;
mod workflow;

use crate::error::{Error, Result};
use crate::graph::Activations;
use crate::import::Bindings;
use crate::job::{QuantiseWish, Wish};
use crate::quantise::{Method, Settings, ZeroName};
use crate::storage::{Kv, Precision};
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Parser)]
#[command(name = "onnxcast", version, about = "Casts an ONNX model into one executable.")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Compile a model into generated/NAME: Rust, GLSL and the weight pool
    Compile(Model),
    /// Download what a model's manifest names under [sources] into .cache/models
    Fetch {
        /// A model of models/ or generated/
        name: String,
        /// A manifest elsewhere
        #[arg(long, value_name = "FILE")]
        manifest: Option<PathBuf>,
    },
    /// Write the weight pool alone
    Pack {
        #[command(flatten)]
        model: Model,
        /// The pool file
        #[arg(short, long, value_name = "FILE")]
        output: PathBuf,
    },
    /// Append the pool of a compiled model to its executable
    Attach {
        name: String,
        /// The executable, already stripped
        executable: PathBuf,
        /// Where the pool goes
        #[arg(long, value_enum, default_value = "inside")]
        pool: compile::Home,
    },
    /// Quantise a compiled model's weights, without its ONNX file: writes generated/NAME from a pool
    Quantize {
        /// A pool in fp16 or fp32, or an executable that holds one
        pool: PathBuf,
        /// Name of the new model
        #[arg(long)]
        name: String,
        #[command(flatten)]
        layout: Layout,
        #[command(flatten)]
        codes: Codes,
    },
    /// List every node of an ONNX file with the reason where it is not supported; of a model: counts by bucket and graph
    Support {
        /// A file, or the name of a model
        onnx: PathBuf,
        /// Numbers for symbolic dimensions
        #[arg(long, value_name = "NAME=N,…", value_parser = bindings)]
        dims: Option<Bindings>,
        #[arg(long)]
        json: bool,
    },
    /// Show what is in an ONNX file: inputs, dimensions, operators, external data
    Inspect {
        /// A file; with --external-data also a folder
        onnx: PathBuf,
        #[arg(long)]
        json: bool,
        /// Of the data files alone: how much is referred to, what overlaps, what nobody refers to, alignment
        #[arg(long)]
        external_data: bool,
    },
    /// Copy a model or its whole folder without the bytes of data files that no tensor refers to
    Repack {
        /// An ONNX file, or a folder with all that belongs to a model
        input: PathBuf,
        /// The new file or folder
        output: PathBuf,
        /// Replace a model that is there
        #[arg(long)]
        force: bool,
    },
    /// Show how a package's workflow metadata says that it runs, and what becomes of each of its components
    Workflow {
        /// The package's folder, or its inference_metadata.yaml
        package: PathBuf,
        /// Leave out keys that are not known, and list them
        #[arg(long)]
        allow_lossy: bool,
    },
    /// Tell what every pass did to a model and what it declined
    Explain(Model),
    /// Print the graphs of a model
    Graph {
        #[command(flatten)]
        model: Model,
        /// As graphviz text
        #[arg(long)]
        dot: bool,
        /// Before the passes
        #[arg(long)]
        imported: bool,
        /// One bucket only
        #[arg(long, value_name = "NAME")]
        bucket: Option<String>,
    },
    /// Write a first manifest for an ONNX file or folder
    Init {
        onnx: PathBuf,
        /// Name of the model; that of the file or its folder unless given
        #[arg(long)]
        name: Option<String>,
        /// Where to write it; generated/NAME/model.toml unless given, `-` for stdout
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
        /// Leave out keys of workflow metadata that are not known
        #[arg(long)]
        allow_lossy: bool,
    },
}

/// How int4 chooses codes, where not as `[quantise]` says.
#[derive(Args)]
struct Codes {
    /// How int4 finds its codes
    #[arg(long, value_enum)]
    method: Option<Method>,
    /// A text for int4 to calibrate on
    #[arg(long, value_name = "FILE")]
    calibration: Option<PathBuf>,
    /// How many tokens of it
    #[arg(long, value_name = "N")]
    calibration_tokens: Option<usize>,
    /// How many columns of each matrix int4 keeps at fp16 accuracy
    #[arg(long, value_name = "N")]
    salient: Option<u16>,
}

impl Codes {
    fn wish(self) -> QuantiseWish {
        let Codes { method, calibration, calibration_tokens: tokens, salient } = self;
        QuantiseWish { method, calibration, tokens, salient }
    }
}

/// How to store weights, where not as `[quantise]` of a manifest does by default.
#[derive(Args)]
struct Layout {
    /// Bits of a matrix's codes: 4 or 8
    #[arg(long, value_name = "N")]
    bits: Option<u8>,
    /// Columns that share a scale: 32, 64 or 128
    #[arg(long, value_name = "N")]
    group: Option<u16>,
    /// What codes count from: the middle, a zero point or a minimum of each group
    #[arg(long, value_enum)]
    zero: Option<ZeroName>,
    /// Bits of the embedding table's codes: 4 or 8
    #[arg(long, value_name = "N")]
    table_bits: Option<u8>,
    #[arg(long, value_name = "N")]
    table_group: Option<u16>,
    #[arg(long, value_enum)]
    table_zero: Option<ZeroName>,
}

impl Layout {
    fn apply(&self, to: &mut Settings) {
        to.bits = self.bits.unwrap_or(to.bits);
        to.group = self.group.unwrap_or(to.group);
        to.zero = self.zero.unwrap_or(to.zero);
        to.table_bits = self.table_bits.unwrap_or(to.table_bits);
        to.table_group = self.table_group.unwrap_or(to.table_group);
        to.table_zero = self.table_zero.unwrap_or(to.table_zero);
    }
}

/// Which model, and what to do differently from its manifest.
#[derive(Args)]
struct Model {
    /// A model of models/ or generated/
    name: String,
    /// A manifest elsewhere
    #[arg(long, value_name = "FILE")]
    manifest: Option<PathBuf>,
    /// An ONNX file or folder instead of the manifest's
    #[arg(long, value_name = "PATH")]
    onnx: Option<PathBuf>,
    /// fp32, fp16 or int4, instead of what the manifest says
    #[arg(long, value_parser = precision)]
    precision: Option<Precision>,
    /// fp32, fp16 or int8: the KV cache, instead of what the manifest says
    #[arg(long, value_parser = kv, conflicts_with = "dims")]
    kv: Option<Kv>,
    /// fp32 or fp16: what products of a prompt may take x as, instead of what the manifest or the graph says
    #[arg(long, value_parser = activations)]
    activations: Option<Activations>,
    #[command(flatten)]
    codes: Codes,
    /// Compile the graph as it stands, at these dimensions
    #[arg(long, value_name = "NAME=N,…", value_parser = bindings)]
    dims: Option<Bindings>,
    /// Plan and code only: weights may be absent, weights.lock stands for them
    #[arg(long)]
    without_weights: bool,
    /// Leave out keys of workflow metadata that are not known
    #[arg(long)]
    allow_lossy: bool,
}

impl Model {
    fn wish(self) -> Wish {
        let Model { name, manifest, onnx, precision, kv, activations, .. } = self;
        let (quantise, dims, without_weights, lossy) =
            (self.codes.wish(), self.dims, self.without_weights, self.allow_lossy);
        let project = PathBuf::new();
        Wish { project, name, manifest, onnx, precision, kv, activations, quantise, dims, without_weights, lossy }
    }
}

fn precision(text: &str) -> Result<Precision, String> {
    Precision::parse(text).ok_or_else(|| "none of fp32, fp16, int4".into())
}

fn kv(text: &str) -> Result<Kv, String> {
    Kv::parse(text).ok_or_else(|| "none of fp32, fp16, int8".into())
}

fn activations(text: &str) -> Result<Activations, String> {
    Activations::asked(text).ok_or_else(|| "none of fp32, fp16".into())
}

/// `a=1,b=2`.
fn bindings(text: &str) -> Result<Bindings, String> {
    let mut out = Bindings::new();
    for pair in text.split(',').filter(|p| !p.trim().is_empty()) {
        let parts = pair.split_once('=').and_then(|(k, v)| Some((k.trim(), v.trim().parse::<usize>().ok()?)));
        let (name, number) = parts.ok_or_else(|| format!("'{pair}' is not NAME=NUMBER"))?;
        if out.insert(name.to_string(), number).is_some_and(|old| old != number) {
            return Err(format!("'{name}' is given twice"));
        }
    }
    Ok(out)
}

/// Runs the compiler on the process's arguments.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(e) => {
            // Help and version are no errors: clap knows the stream and the code of each.
            let _ = e.print();
            return ExitCode::from(e.exit_code() as u8);
        }
    };
    match run(cli.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("onnxcast: {e}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<()> {
    match command {
        Command::Compile(model) => compile::compile(&model.wish()),
        Command::Fetch { name, manifest } => sources::fetch(&Wish { name, manifest, ..Wish::default() }),
        Command::Pack { model, output } => compile::pack(&model.wish(), &output),
        Command::Quantize { pool, name, layout, codes } => {
            let codes = codes.wish();
            compile::quantize(&pool, &name, &|to| {
                layout.apply(to);
                codes.apply(to, &[]);
            })
        }
        Command::Attach { name, executable, pool } => compile::attach(&name, &executable, pool),
        Command::Support { onnx, dims, json } => support::support(&onnx, dims.unwrap_or_default(), json),
        Command::Inspect { onnx, json, external_data: true } => external::audit(&onnx, json),
        Command::Inspect { onnx, json, .. } => report::inspect(&onnx, json),
        Command::Repack { input, output, force } => external::repack(&input, &output, force),
        Command::Explain(model) => report::explain(&model.wish()),
        Command::Graph { model, dot, imported, bucket } => {
            report::graph(&model.wish(), dot, imported, bucket.as_deref())
        }
        Command::Init { onnx, name, output, allow_lossy } => report::init(&onnx, name, output, allow_lossy),
        Command::Workflow { package, allow_lossy } => workflow::show(&package, allow_lossy),
    }
}

/// Results go to stdout; a reader that has seen enough is no error.
fn print(text: &str) -> Result<()> {
    use std::io::Write;
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => Err(Error::new("output", e.to_string())),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

    #[test]
    fn bindings_are_pairs_of_name_and_number() {
        assert_eq!(bindings("a=1, b=2").unwrap(), Bindings::from([("a".into(), 1), ("b".into(), 2)]));
        assert!(bindings("").unwrap().is_empty());
        for text in ["a", "a=", "a=x", "a=-1", "a=1,a=2"] {
            assert!(bindings(text).is_err(), "{text}");
        }
    }
}
