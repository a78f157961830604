//! Text to graph. In: the text form. Out: a graph. Promise: types are checked against `infer`; errors name the line.

use super::attrs::Reader;
use super::print::derived;
use super::{ELIDED, is_identifier};
use crate::error::{Error, Result};
use crate::graph::eval::{Array, Values};
use crate::graph::quant::Quant;
use crate::graph::{Activations, DType, Data, Def, Graph, Output, State, Tensor, Ty, ValueId};
use std::collections::{BTreeMap, HashMap};

/// Reads the text form. It does not run `verify`.
pub fn parse(text: &str) -> Result<Graph> {
    let mut reader = Lines { graph: Graph::default(), ids: HashMap::new(), states: Vec::new() };
    for (i, line) in text.lines().enumerate() {
        reader.line(line).map_err(|e| e.at(format!("line {}", i + 1)))?;
    }
    for (input, output, line) in std::mem::take(&mut reader.states) {
        let output = reader.value(&output).map_err(|e| e.at(line))?;
        reader.graph.states.push(State { input, output });
    }
    Ok(reader.graph)
}

fn bad(what: impl Into<String>) -> Error {
    Error::new("text", what)
}

/// An operator from its name and attributes.
#[cfg(test)]
pub(super) fn operator(name: &str, attributes: &str) -> Result<crate::graph::Op> {
    let mut c = Cursor { tokens: tokens(attributes)?, at: 0 };
    Reader { op: name.to_string(), pairs: c.pairs()? }.op()
}

struct Lines {
    graph: Graph,
    ids: HashMap<String, ValueId>,
    /// State inputs, the identifiers of their outputs, and where they stand.
    states: Vec<(ValueId, String, String)>,
}

impl Lines {
    fn line(&mut self, line: &str) -> Result<()> {
        if let Some(name) = line.trim().strip_prefix("graph ") {
            self.graph.name = if name.trim().starts_with('"') { unquote(name.trim())? } else { name.trim().into() };
            return Ok(());
        }
        let (code, note) = match line.split_once('#') {
            Some((code, note)) => (code, Names::read(note)?),
            None => (line, Names::default()),
        };
        let mut c = Cursor { tokens: tokens(code)?, at: 0 };
        let Some(first) = c.peek().map(str::to_string) else { return Ok(()) };
        match first.as_str() {
            "activations" => {
                c.at += 1;
                let name = c.take()?;
                let known =
                    Activations::parse(&name).ok_or_else(|| bad(format!("'{name}' is no type of activations")))?;
                self.graph.activations = known;
            }
            "input" | "state" => self.input(&mut c, note)?,
            "const" => self.constant(&mut c, note)?,
            "output" => {
                c.at += 1;
                let value = self.value(&c.identifier()?)?;
                let name = note.node.unwrap_or_else(|| self.graph.value(value).name.clone());
                self.graph.outputs.push(Output { name, value });
            }
            _ => self.node(&mut c, note)?,
        }
        match c.peek() {
            Some(extra) => Err(bad(format!("'{extra}' is too much"))),
            None => Ok(()),
        }
    }

    fn value(&self, id: &str) -> Result<ValueId> {
        self.ids.get(id).copied().ok_or_else(|| bad(format!("%{id} is not defined")))
    }

    fn define(&mut self, id: String, value: ValueId) -> Result<()> {
        match self.ids.insert(id.clone(), value) {
            Some(_) => Err(bad(format!("%{id} is defined twice"))),
            None => Ok(()),
        }
    }

    fn input(&mut self, c: &mut Cursor, note: Names) -> Result<()> {
        let state = c.take()? == "state";
        let id = c.identifier()?;
        c.expect(":")?;
        let ty = c.ty()?;
        let name = note.node.unwrap_or_else(|| id.clone());
        let value = self.graph.add_value(name, ty, Def::Input);
        if state {
            c.expect("->")?;
            self.states.push((value, c.identifier()?, format!("state %{id}")));
        } else {
            self.graph.inputs.push(value);
        }
        self.define(id, value)
    }

    fn constant(&mut self, c: &mut Cursor, note: Names) -> Result<()> {
        c.at += 1;
        let id = c.identifier()?;
        c.expect(":")?;
        let ty = c.ty()?;
        c.expect("=")?;
        let name = note.node.unwrap_or_else(|| id.clone());
        let tensor = c.tensor(&ty, &name)?;
        let value = self.graph.add_const(name, tensor);
        self.define(id, value)
    }

    fn node(&mut self, c: &mut Cursor, note: Names) -> Result<()> {
        let mut outputs = Vec::new();
        loop {
            let id = c.identifier()?;
            let ty = if c.accept(":") { Some(c.ty()?) } else { None };
            outputs.push((id, ty));
            if !c.accept(",") {
                break;
            }
        }
        c.expect("=")?;
        let op = c.take()?;
        let inputs = self.arguments(c)?;
        let op = Reader { op, pairs: c.pairs()? }.op()?;
        let name = note.node.unwrap_or_else(|| outputs[0].0.clone());
        let made = self.graph.push(op, &inputs, &name)?;
        if made.len() != outputs.len() {
            return Err(bad(format!("makes {} outputs, {} are named", made.len(), outputs.len())));
        }
        for (i, (id, ty)) in outputs.into_iter().enumerate() {
            if let Some(ty) = ty.filter(|ty| ty != self.graph.ty(made[i])) {
                return Err(bad(format!("%{id} is {}, not {ty}", self.graph.ty(made[i]))));
            }
            let value = &mut self.graph.values[made[i].0 as usize];
            value.name = match note.outputs.get(i) {
                Some(name) => name.clone(),
                None if is_identifier(&id) => id.clone(),
                None => derived(&name, i, made.len()),
            };
            self.define(id, made[i])?;
        }
        Ok(())
    }

    fn arguments(&self, c: &mut Cursor) -> Result<Vec<Option<ValueId>>> {
        let mut inputs = Vec::new();
        c.expect("(")?;
        while !c.accept(")") {
            if c.accept("_") {
                inputs.push(None);
            } else {
                inputs.push(Some(self.value(&c.identifier()?)?));
            }
            if !c.accept(",") {
                c.expect(")")?;
                break;
            }
        }
        Ok(inputs)
    }
}

/// The names in a comment: one, or a node's and its outputs'.
#[derive(Default)]
struct Names {
    node: Option<String>,
    outputs: Vec<String>,
}

impl Names {
    fn read(text: &str) -> Result<Names> {
        let mut names = Vec::new();
        let mut rest = text.trim();
        while !rest.is_empty() {
            let end =
                if rest.starts_with('"') { string_end(rest)? } else { rest.find([',', ' ']).unwrap_or(rest.len()) };
            let (word, after) = rest.split_at(end);
            match word {
                "->" => {}
                _ if word.starts_with('"') => names.push(unquote(word)?),
                _ => names.push(word.to_string()),
            }
            rest = after.trim_start_matches([',', ' ', '\t']);
        }
        let mut names = names.into_iter();
        Ok(Names { node: names.next(), outputs: names.collect() })
    }
}

/// The length of the JSON string that `text` begins with.
fn string_end(text: &str) -> Result<usize> {
    let mut escaped = false;
    for (i, c) in text.char_indices().skip(1) {
        match c {
            '"' if !escaped => return Ok(i + 1),
            _ => escaped = c == '\\' && !escaped,
        }
    }
    Err(bad("a quoted name does not end"))
}

fn unquote(text: &str) -> Result<String> {
    serde_json::from_str(text).map_err(|e| bad(format!("{text} is no string: {e}")))
}

/// Words and punctuation.
fn tokens(code: &str) -> Result<Vec<String>> {
    let mut out: Vec<String> = Vec::new();
    let mut rest = code.trim_start();
    while let Some(c) = rest.chars().next() {
        let len = match c {
            _ if rest.starts_with("->") => 2,
            ':' | '=' | ',' | '(' | ')' | '[' | ']' => 1,
            _ => rest.find(|c: char| c.is_whitespace() || ":=,()[]".contains(c)).unwrap_or(rest.len()),
        };
        out.push(rest[..len].to_string());
        rest = rest[len..].trim_start();
    }
    Ok(out)
}

struct Cursor {
    tokens: Vec<String>,
    at: usize,
}

impl Cursor {
    fn peek(&self) -> Option<&str> {
        self.tokens.get(self.at).map(String::as_str)
    }

    fn take(&mut self) -> Result<String> {
        let token = self.tokens.get(self.at).cloned().ok_or_else(|| bad("the line ends early"))?;
        self.at += 1;
        Ok(token)
    }

    fn accept(&mut self, token: &str) -> bool {
        let found = self.peek() == Some(token);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, token: &str) -> Result<()> {
        let found = self.take()?;
        if found == token { Ok(()) } else { Err(bad(format!("'{token}' should stand where '{found}' does"))) }
    }

    fn identifier(&mut self) -> Result<String> {
        let found = self.take()?;
        match found.strip_prefix('%') {
            Some(id) if !id.is_empty() => Ok(id.to_string()),
            _ => Err(bad(format!("a %value should stand where '{found}' does"))),
        }
    }

    fn ty(&mut self) -> Result<Ty> {
        let name = self.take()?;
        let dtype = DType::parse(&name).ok_or_else(|| bad(format!("'{name}' is no element type")))?;
        let shape = self.list()?.iter().map(|d| d.parse()).collect::<Result<Vec<usize>, _>>();
        let ty = Ty { dtype, shape: shape.map_err(|e| bad(format!("the shape of {name}: {e}")))? };
        let count =
            ty.shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d)).filter(|n| *n <= isize::MAX as usize / 8);
        count.map(|_| ty).ok_or_else(|| bad("the shape is too large"))
    }

    /// `[a, b, ..]`.
    fn list(&mut self) -> Result<Vec<String>> {
        self.expect("[")?;
        self.items("]")
    }

    fn items(&mut self, end: &str) -> Result<Vec<String>> {
        let mut items = Vec::new();
        while !self.accept(end) {
            items.push(self.take()?);
            if !self.accept(",") {
                self.expect(end)?;
                break;
            }
        }
        Ok(items)
    }

    /// `key`, `key=word`, `key=word(word)` and `key=[..]`, to the end of the line.
    fn pairs(&mut self) -> Result<BTreeMap<String, String>> {
        let mut pairs = BTreeMap::new();
        while self.peek().is_some() {
            let key = self.take()?;
            let mut value = String::new();
            if self.accept("=") {
                if self.peek() == Some("[") {
                    value = format!("[{}]", self.list()?.join(","));
                } else {
                    value = self.take()?;
                    if self.accept("(") {
                        value = format!("{value}({})", self.items(")")?.join(","));
                    }
                }
            }
            if pairs.insert(key.clone(), value).is_some() {
                return Err(bad(format!("{key} is given twice")));
            }
        }
        Ok(pairs)
    }

    fn tensor(&mut self, ty: &Ty, name: &str) -> Result<Tensor> {
        if self.accept(ELIDED) {
            let data = Data::Absent(name.to_string());
            return Ok(Tensor { dtype: ty.dtype, shape: ty.shape.clone(), data });
        }
        if let Some(quant) = self.peek().and_then(Quant::parse) {
            self.at += 1;
            if ty.dtype != DType::F32 || ty.shape.len() != 2 {
                return Err(bad(format!("only f32 matrices are quantised, this is {ty}")));
            }
            return Ok(Tensor::absent_quantised(name.to_string(), ty.shape.clone(), quant));
        }
        let items = match self.peek() {
            Some("[") => self.list()?,
            _ => {
                let word = self.take()?;
                if self.accept("(") {
                    let args = self.items(")")?;
                    return Ok(Array::new(ty.dtype, ty.shape.clone(), made(&word, &args, ty)?).to_tensor());
                }
                vec![word]
            }
        };
        if items.len() != ty.elements() {
            return Err(bad(format!("{ty} has {} elements, {} are given", ty.elements(), items.len())));
        }
        Ok(Array::new(ty.dtype, ty.shape.clone(), read_items(&items, ty.dtype)?).to_tensor())
    }
}

fn read_items(items: &[String], dtype: DType) -> Result<Values> {
    fn all<T: std::str::FromStr>(items: &[String]) -> Result<Vec<T>> {
        items.iter().map(|t| t.parse().map_err(|_| bad(format!("'{t}' is no element")))).collect()
    }
    Ok(match dtype {
        DType::F32 | DType::F16 | DType::BF16 => Values::F32(all(items)?),
        DType::F64 => Values::F64(all(items)?),
        DType::U64 => Values::Int(all::<u64>(items)?.into_iter().map(|x| x as i64).collect()),
        DType::Bool => Values::Bool(all(items)?),
        _ => Values::Int(all(items)?),
    })
}

/// Constants that a fixture describes: `fill(v)`, `iota(start)`, `random(seed[, scale])`.
fn made(word: &str, args: &[String], ty: &Ty) -> Result<Values> {
    let number = |i: usize, default: Option<f64>| match args.get(i) {
        Some(t) => t.parse::<f64>().map_err(|_| bad(format!("'{t}' is no number"))),
        None => default.ok_or_else(|| bad(format!("{word} wants an argument"))),
    };
    let n = ty.elements();
    Ok(match word {
        "fill" => Values::F64(vec![number(0, None)?; n]),
        "iota" => {
            let start = number(0, Some(0.0))?;
            Values::F64((0..n).map(|i| start + i as f64).collect())
        }
        "random" => {
            let (mut seed, scale) = (number(0, None)? as u64, number(1, Some(1.0))?);
            Values::F64((0..n).map(|_| random(&mut seed) * scale).collect())
        }
        _ => return Err(bad(format!("'{word}' makes no constant"))),
    })
}

/// The next of a fixed pseudo-random sequence in [-1, 1) (splitmix64).
fn random(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}
