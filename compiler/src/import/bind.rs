//! Numbers for symbolic dimensions. In: the declared graph inputs and the user's bindings. Out: a type per input. Promise: all
//! unbound symbols and all conflicts stand in one error.

use super::expr::Expr;
use super::weights::{MAX_ELEMENTS, storage, type_name};
use super::{Bindings, Options};
use crate::error::{Error, Result};
use crate::graph::{DType, Ty};
use onnx_ir::ValueInfoProto;
use std::collections::{BTreeMap, BTreeSet};

/// A declared dimension.
#[derive(Clone, PartialEq, Debug)]
pub enum Dim {
    Fixed(usize),
    /// The text as declared, and what it says.
    Symbolic(String, Expr),
}

/// A declared tensor.
#[derive(Clone, PartialEq, Debug)]
pub struct Declared {
    pub name: String,
    /// Element type as ONNX numbers it.
    pub data_type: i32,
    /// None when the file gives no rank.
    pub dims: Option<Vec<Dim>>,
}

/// Reads a declaration; values that are no dense tensors are an error.
pub fn declared(info: &ValueInfoProto) -> Result<Declared> {
    let fail = |what: &str| Error::new("import", format!("'{}' {what}", info.name));
    let ty = info.type_.as_ref().ok_or_else(|| fail("has no type"))?;
    if !ty.has_tensor_type() {
        return Err(fail("is no tensor (sequences, maps and optionals are not supported)"));
    }
    let tensor = ty.tensor_type();
    let Some(shape) = tensor.shape.as_ref() else {
        return Ok(Declared { name: info.name.clone(), data_type: tensor.elem_type, dims: None });
    };
    let mut dims = vec![];
    for (axis, d) in shape.dim.iter().enumerate() {
        let value = d.has_dim_value().then(|| d.dim_value());
        dims.push(dim(&info.name, axis, value, d.dim_param())?);
    }
    Ok(Declared { name: info.name.clone(), data_type: tensor.elem_type, dims: Some(dims) })
}

fn dim(name: &str, axis: usize, value: Option<i64>, param: &str) -> Result<Dim> {
    match value {
        // Some old exporters write -1 for an unknown extent.
        Some(-1) => Ok(unnamed(name, axis)),
        Some(n) => usize::try_from(n)
            .map(Dim::Fixed)
            .map_err(|_| Error::new("import", format!("'{name}' has the impossible extent {n}"))),
        None if param.is_empty() => Ok(unnamed(name, axis)),
        None => Ok(Dim::Symbolic(param.to_string(), Expr::parse(param))),
    }
}

/// A dimension without any name gets one, so that it can be bound.
fn unnamed(name: &str, axis: usize) -> Dim {
    let text = format!("{name}_dim_{axis}");
    Dim::Symbolic(text.clone(), Expr::Symbol(text))
}

/// Binds the inputs. `assume` fills in what is unbound (for reports); it is told the symbol.
pub fn bind(inputs: &[Declared], options: &Options, assume: Option<&dyn Fn(&str) -> usize>) -> Result<Bound> {
    let mut b = Binder { known: options.bind.clone(), why: BTreeMap::new(), problems: vec![] };
    for name in options.bind.keys() {
        b.why.insert(name.clone(), "given".into());
    }
    for input in inputs {
        if let Some(fixed) = options.fixed.get(&input.name) {
            b.learn(input, &fixed.shape);
        }
    }
    b.solve(inputs);
    let unbound = b.unbound(inputs);
    let mut assumed = Bindings::new();
    if let Some(assume) = assume {
        for symbol in unbound.keys().filter(|s| !b.known.contains_key(*s)) {
            assumed.insert(symbol.clone(), assume(symbol));
        }
        b.known.extend(assumed.clone());
    } else {
        for (symbol, places) in &unbound {
            b.problems.push(format!("'{symbol}' has no value (in {})", few(places)));
        }
    }
    let types = inputs.iter().map(|i| b.ty(i)).collect::<Vec<Option<Ty>>>();
    if b.problems.is_empty() {
        return Ok(Bound { types: types.into_iter().flatten().collect(), assumed });
    }
    Err(Error::new("import", format!("dimensions that do not add up: {}", b.problems.join("; ")))
        .hint("give every symbol one value, such as dims=sequence_length=1,past_sequence_length=7"))
}

/// The first names of a list, and how many more there are.
fn few(names: &[String]) -> String {
    match names {
        [first, second, third, _, ..] => format!("{first}, {second}, {third} and {} more", names.len() - 3),
        _ => names.join(", "),
    }
}

/// What binding gives: a type per input, and the symbols that were assumed.
pub struct Bound {
    pub types: Vec<Ty>,
    pub assumed: Bindings,
}

struct Binder {
    known: Bindings,
    /// Where a value comes from.
    why: BTreeMap<String, String>,
    problems: Vec<String>,
}

impl Binder {
    fn value(&self, text: &str, expr: &Expr) -> Result<i64, Option<String>> {
        if let Some(&n) = self.known.get(text) {
            return Ok(n as i64);
        }
        expr.eval(&|s| self.known.get(s).and_then(|n| i64::try_from(*n).ok()))
    }

    /// Takes the shape of a fixed input as values of its symbols.
    fn learn(&mut self, input: &Declared, shape: &[usize]) {
        let Some(dims) = &input.dims else { return };
        if dims.len() != shape.len() {
            self.problems.push(format!(
                "'{}' is declared with rank {} and given with shape {shape:?}",
                input.name,
                dims.len()
            ));
            return;
        }
        for (axis, (dim, &n)) in dims.iter().zip(shape).enumerate() {
            let place = format!("axis {axis} of '{}'", input.name);
            match dim {
                Dim::Fixed(m) if *m != n => self.problems.push(format!("{place} is {m} and given as {n}")),
                Dim::Symbolic(text, _) => self.set(text, n, place),
                Dim::Fixed(_) => {}
            }
        }
    }

    fn set(&mut self, symbol: &str, n: usize, place: String) {
        match self.known.get(symbol) {
            Some(&m) if m != n => {
                let first = self.why.get(symbol).cloned().unwrap_or_default();
                self.problems.push(format!("'{symbol}' is {m} ({first}) and {n} ({place})"));
            }
            Some(_) => {}
            None => {
                self.known.insert(symbol.to_string(), n);
                self.why.insert(symbol.to_string(), place);
            }
        }
    }

    /// A bound sum or difference with one unknown symbol gives that symbol; a bound expression must agree with its parts.
    fn solve(&mut self, inputs: &[Declared]) {
        let exprs: BTreeMap<&str, &Expr> = inputs
            .iter()
            .flat_map(|i| i.dims.iter().flatten())
            .filter_map(|d| match d {
                Dim::Symbolic(text, expr @ Expr::Apply(..)) => Some((text.as_str(), expr)),
                _ => None,
            })
            .collect();
        for _ in 0..=exprs.len() {
            for (text, expr) in &exprs {
                let Some(&whole) = self.known.get(*text) else { continue };
                if let Some((symbol, n)) = self.missing_part(expr, whole as i64) {
                    self.set(&symbol, n, format!("from '{text}' = {whole}"));
                }
            }
        }
        for (text, expr) in exprs {
            let Some(&whole) = self.known.get(text) else { continue };
            let parts = expr.eval(&|s| self.known.get(s).map(|n| *n as i64));
            if let Ok(n) = parts
                && n != whole as i64
            {
                self.problems.push(format!("'{text}' is given as {whole}, its parts make {n}"));
            }
        }
    }

    fn missing_part(&self, expr: &Expr, whole: i64) -> Option<(String, usize)> {
        let Expr::Apply(fun, args) = expr else { return None };
        let [Expr::Symbol(a), Expr::Symbol(b)] = args.as_slice() else { return None };
        let get = |s: &String| self.known.get(s).map(|n| *n as i64);
        let (symbol, n) = match (fun, get(a), get(b)) {
            (super::expr::Fun::Add, Some(x), None) => (b, whole.checked_sub(x)?),
            (super::expr::Fun::Add, None, Some(y)) => (a, whole.checked_sub(y)?),
            (super::expr::Fun::Sub, None, Some(y)) => (a, whole.checked_add(y)?),
            _ => return None,
        };
        Some((symbol.clone(), usize::try_from(n).ok()?))
    }

    /// Unbound symbols and the inputs they stand in.
    fn unbound(&self, inputs: &[Declared]) -> BTreeMap<String, Vec<String>> {
        let mut unbound: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for input in inputs {
            for dim in input.dims.iter().flatten() {
                let Dim::Symbolic(text, expr) = dim else { continue };
                if self.value(text, expr) != Err(None) {
                    continue;
                }
                let mut symbols = BTreeSet::new();
                expr.symbols(&mut symbols);
                for symbol in symbols.into_iter().filter(|s| !self.known.contains_key(s)) {
                    let places = unbound.entry(symbol).or_default();
                    if !places.contains(&input.name) {
                        places.push(input.name.clone());
                    }
                }
            }
        }
        unbound
    }

    fn ty(&mut self, input: &Declared) -> Option<Ty> {
        let dtype = match storage(input.data_type) {
            Ok(s) if s.bytes(8) == 8 * s.dtype().bytes() => s.dtype(),
            _ => {
                self.problems.push(format!(
                    "input '{}' has elements of type {}, which is not supported",
                    input.name,
                    type_name(input.data_type)
                ));
                return None;
            }
        };
        let Some(dims) = &input.dims else {
            self.problems.push(format!("input '{}' is declared without a rank", input.name));
            return None;
        };
        self.shape(input, dims, dtype)
    }

    fn shape(&mut self, input: &Declared, dims: &[Dim], dtype: DType) -> Option<Ty> {
        let mut shape = vec![];
        let mut found = vec![];
        for dim in dims {
            let n = match dim {
                Dim::Fixed(n) => Ok(*n as i64),
                Dim::Symbolic(text, expr) => self.value(text, expr).map_err(|e| (text, e)),
            };
            match n {
                Ok(n) if n >= 0 => shape.push(n as usize),
                Ok(n) => found.push(format!("an extent of '{}' comes out as {n}", input.name)),
                Err((text, Some(why))) => found.push(format!("'{text}' of '{}': {why}", input.name)),
                Err((_, None)) => return None,
            }
        }
        let size = shape.iter().filter(|d| **d > 0).try_fold(1usize, |n, &d| n.checked_mul(d));
        if size.is_none_or(|n| n > MAX_ELEMENTS) {
            found.push(format!("input '{}' of shape {shape:?} is too large", input.name));
        }
        let ok = found.is_empty();
        self.problems.extend(found);
        ok.then_some(Ty { dtype, shape })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Tensor;

    fn input(name: &str, dims: &[&str]) -> Declared {
        let dim = |d: &&str| match d.parse() {
            Ok(n) => Dim::Fixed(n),
            Err(_) => Dim::Symbolic(d.to_string(), Expr::parse(d)),
        };
        Declared { name: name.into(), data_type: 1, dims: Some(dims.iter().map(dim).collect()) }
    }

    fn decoder() -> Vec<Declared> {
        vec![input("ids", &["1", "seq"]), input("past", &["1", "past"]), input("mask", &["1", "past + seq"])]
    }

    fn options(bind: &[(&str, usize)]) -> Options {
        Options { bind: bind.iter().map(|(k, v)| (k.to_string(), *v)).collect(), ..Options::default() }
    }

    fn shapes(inputs: &[Declared], o: &Options) -> Result<Vec<Vec<usize>>> {
        bind(inputs, o, None).map(|b| b.types.into_iter().map(|t| t.shape).collect())
    }

    #[test]
    fn expressions_follow_from_their_symbols() {
        let got = shapes(&decoder(), &options(&[("seq", 3), ("past", 5)])).unwrap();
        assert_eq!(got, [vec![1, 3], vec![1, 5], vec![1, 8]]);
    }

    #[test]
    fn a_symbol_follows_from_a_bound_expression() {
        let got = shapes(&decoder(), &options(&[("seq", 3), ("past + seq", 8)])).unwrap();
        assert_eq!(got, [vec![1, 3], vec![1, 5], vec![1, 8]]);
    }

    #[test]
    fn every_unbound_symbol_is_listed_once_with_its_inputs() {
        let e = shapes(&decoder(), &options(&[])).unwrap_err().to_string();
        assert!(
            e.contains("'seq' has no value (in ids, mask)") && e.contains("'past' has no value (in past, mask)"),
            "{e}"
        );
    }

    #[test]
    fn conflicts_and_unbound_symbols_stand_in_one_error() {
        let mut o = options(&[("seq", 3)]);
        o.fixed.insert("ids".into(), Tensor::i64(&[1, 4], &[1, 2, 3, 4]));
        let e = shapes(&decoder(), &o).unwrap_err().to_string();
        assert!(e.contains("'seq' is 3 (given) and 4 (axis 1 of 'ids')") && e.contains("'past' has no value"), "{e}");
        let e = shapes(&decoder(), &options(&[("seq", 3), ("past", 5), ("past + seq", 9)])).unwrap_err().to_string();
        assert!(e.contains("given as 9") && e.contains("make 8"), "{e}");
    }

    #[test]
    fn fixed_inputs_bind_their_symbols() {
        let mut o = options(&[("past", 2)]);
        o.fixed.insert("ids".into(), Tensor::i64(&[1, 4], &[1, 2, 3, 4]));
        assert_eq!(shapes(&decoder(), &o).unwrap()[2], [1, 6]);
    }

    #[test]
    fn extents_below_zero_and_beyond_all_memory_are_refused() {
        let e = shapes(&[input("x", &["n - 4"])], &options(&[("n", 3)])).unwrap_err().to_string();
        assert!(e.contains("-1"), "{e}");
        let e = shapes(&[input("x", &["n", "n"])], &options(&[("n", 1 << 40)])).unwrap_err().to_string();
        assert!(e.contains("too large"), "{e}");
    }

    #[test]
    fn a_report_may_assume_what_is_unbound() {
        let b = bind(&decoder(), &options(&[("seq", 3)]), Some(&|_| 7)).unwrap();
        assert_eq!(b.assumed, Bindings::from([("past".into(), 7)]));
        assert_eq!(b.types[2].shape, [1, 10]);
    }
}
