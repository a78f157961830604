//! From Program to Rust: text, and SPIR-V of the forms for matrix units; no decisions. In: a `Program` and the model's texts. Out: the files of `generated/NAME`,
//! which `output` puts there. Promise: readable, formatted, the same bytes every time.

mod entry;
mod kernels;
mod program;
mod runs;
mod stamp;

pub use stamp::{FILE as STAMP, of as stamp};

use crate::error::{Error, Result};
use crate::manifest::Sampling;
use crate::manifest::{Law, Picture};
use crate::texts::TextFiles;
use onnxcast_runtime::program::Program;
use proc_macro2::TokenStream;
use std::path::PathBuf;

/// What the executable holds besides the program.
pub struct Assets<'a> {
    pub title: &'a str,
    pub source: &'a str,
    pub licence: &'a str,
    /// `fp32`, `fp16`, `int4`.
    pub precision: &'a str,
    /// Path of the manifest as the header shows it, relative to the project.
    pub manifest: &'a str,
    pub text: Option<&'a TextFiles>,
    /// How tokens are drawn unless the command line says otherwise.
    pub sampling: Option<Sampling>,
    /// Where pictures go, and what is done to them.
    pub picture: Option<(&'a Picture, Law)>,
    /// The golden file's content.
    pub golden: Option<&'a [u8]>,
    /// The fused graphs, in text form.
    pub graphs: &'a str,
}

/// The folder of texts in generated/NAME, and what may be in it.
pub const ASSETS: &str = "assets";
/// What else `main.rs` says of the model, for tools: `onnxcast quantize` reads it.
pub const CARD: &str = "card.json";
pub const TOKENIZER: &str = "tokenizer.json";
pub const TOKENIZER_CONFIG: &str = "tokenizer_config.json";
pub const TEMPLATE: &str = "chat_template.jinja";
pub const GOLDEN: &str = "golden.json";

/// A generated file: path in the folder, content.
pub type File = (PathBuf, Vec<u8>);

/// Every file of `generated/NAME` but the stamp and the weight pool, sorted by path.
pub fn files(program: &Program, assets: &Assets) -> Result<Vec<File>> {
    let mut files: Vec<File> = vec![
        ("main.rs".into(), source(assets, entry::tokens(assets))?.into_bytes()),
        ("program.rs".into(), source(assets, program::tokens(program))?.into_bytes()),
        ("kernels.rs".into(), source(assets, kernels::tokens(&program.name, &program.kernels))?.into_bytes()),
        ("graph.txt".into(), assets.graphs.as_bytes().to_vec()),
    ];
    files.extend(kernels::shaders(&program.kernels)?);
    files.extend(entry::assets(assets));
    files.sort();
    Ok(files)
}

/// Formatted Rust under the generator's header.
fn source(assets: &Assets, tokens: TokenStream) -> Result<String> {
    let file =
        syn::parse2(tokens).map_err(|e| Error::new("emit", format!("the generated code does not parse: {e}")))?;
    let header = format!(
        "// Written by onnxcast {} from {}. Do not edit: make model=NAME writes it again.\n\n",
        env!("CARGO_PKG_VERSION"),
        assets.manifest
    );
    Ok(header + &spaced(&joined(&prettyplease::unparse(&file))))
}

/// Most characters of a generated line, and of one that holds a layer's addresses.
const LINE: usize = 120;
const WIDE: usize = 180;

/// Puts each macro call on one line where it fits, or on few.
fn joined(code: &str) -> String {
    let mut out: Vec<String> = Vec::new();
    // Where the call that is open begins.
    let mut open = None;
    for line in code.lines() {
        out.push(line.to_string());
        if line.ends_with("!(") {
            open = Some(out.len() - 1);
        } else if line.trim_start().starts_with(')')
            && let Some(at) = open.take()
        {
            let inner = out[at + 1..out.len() - 1].iter().map(|l| l.trim()).collect::<Vec<_>>().join(" ");
            let call = format!("{}{inner}{}", out[at], line.trim_start());
            let most = if call.trim_start().starts_with("columns!") { WIDE } else { LINE };
            if call.len() <= most {
                out.truncate(at);
                out.push(call);
            } else {
                let indent = out[at + 1].len() - out[at + 1].trim_start().len();
                let last = line.to_string();
                out.truncate(at + 1);
                out.extend(filled(&inner, indent));
                out.push(last);
            }
        }
    }
    out.join("\n") + "\n"
}

/// Code in lines of at most `LINE` characters, broken where it has spaces outside of strings.
fn filled(code: &str, indent: usize) -> Vec<String> {
    let (mut string, mut escaped) = (false, false);
    let pieces = code.split(|c: char| {
        let breaks = c == ' ' && !string;
        string ^= c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        breaks
    });
    let mut lines: Vec<String> = Vec::new();
    for piece in pieces {
        match lines.last_mut() {
            Some(line) if line.len() + 1 + piece.len() <= LINE => *line = format!("{line} {piece}"),
            _ => lines.push(" ".repeat(indent) + piece),
        }
    }
    lines
}

/// Puts a blank line before every item, save within runs of imports, constants and module declarations.
fn spaced(code: &str) -> String {
    let mut out = String::new();
    let mut before = "";
    for line in code.lines() {
        let word = |l: &str| l.split(' ').next().unwrap_or("").to_string();
        let item = ["pub", "fn", "static", "const", "mod", "use", "///"].contains(&word(line).as_str());
        let run = word(line) == word(before) && before.ends_with(';') || word(line) == "use" && before == "};";
        if item && !run && !before.is_empty() && !before.starts_with("///") {
            out.push('\n');
        }
        out += line;
        out.push('\n');
        before = line;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_macro_call_stands_on_one_line_where_it_fits() {
        let long = "x".repeat(60);
        let code = format!("a!(\n    1, 2,\n    3\n),\nb!(\n    {long},\n    {long}\n);\nfn f(\n    x: u32,\n) {{}}\n");
        let want = code.replace("a!(\n    1, 2,\n    3\n),", "a!(1, 2, 3),");
        assert_eq!(joined(&code), want);
    }

    #[test]
    fn a_longer_one_stands_on_as_few_as_hold_it() {
        let (a, b) = ("a".repeat(50), format!("\"{} \\\" {}\"", "b".repeat(40), "b".repeat(40)));
        let code = format!("f!(\n    {a},\n    {a},\n    {b}, {b}\n);\n");
        assert_eq!(joined(&code), format!("f!(\n    {a}, {a},\n    {b},\n    {b}\n);\n"));
    }
}
