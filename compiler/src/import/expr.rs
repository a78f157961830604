//! Dimension expressions. In: a `dim_param` such as `past_sequence_length + sequence_length`. Out: an expression over symbols.
//! Promise: exact integer arithmetic; what cannot be read as an expression is a symbol of its own.

use std::collections::BTreeSet;

/// A parsed dimension.
#[derive(Clone, PartialEq, Debug)]
pub enum Expr {
    Number(i64),
    Symbol(String),
    Apply(Fun, Vec<Expr>),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fun {
    Add,
    Sub,
    Mul,
    /// `/`: must come out even, except inside `floor` and `ceil`.
    Div,
    FloorDiv,
    CeilDiv,
    Mod,
    Min,
    Max,
}

impl Expr {
    /// Reads a `dim_param`.
    pub fn parse(text: &str) -> Expr {
        let whole = || Expr::Symbol(text.to_string());
        let Some(tokens) = tokens(text) else { return whole() };
        let mut parser = Parser { tokens: &tokens, depth: 0 };
        match parser.sum() {
            Some(e) if parser.tokens.is_empty() => e,
            _ => whole(),
        }
    }

    /// The symbols in it.
    pub fn symbols(&self, into: &mut BTreeSet<String>) {
        match self {
            Expr::Number(_) => {}
            Expr::Symbol(s) => {
                into.insert(s.clone());
            }
            Expr::Apply(_, args) => args.iter().for_each(|a| a.symbols(into)),
        }
    }

    /// Its value. `Err(None)` when a symbol is unknown, `Err(Some(why))` when it has no value.
    pub fn eval(&self, lookup: &dyn Fn(&str) -> Option<i64>) -> Result<i64, Option<String>> {
        match self {
            Expr::Number(n) => Ok(*n),
            Expr::Symbol(s) => lookup(s).ok_or(None),
            Expr::Apply(fun, args) => {
                let values = args.iter().map(|a| a.eval(lookup)).collect::<Result<Vec<i64>, _>>()?;
                let (&first, rest) = values.split_first().ok_or(None)?;
                rest.iter().try_fold(first, |a, &b| apply(*fun, a, b)).map_err(Some)
            }
        }
    }
}

fn apply(fun: Fun, a: i64, b: i64) -> Result<i64, String> {
    let value = match fun {
        Fun::Add => a.checked_add(b),
        Fun::Sub => a.checked_sub(b),
        Fun::Mul => a.checked_mul(b),
        Fun::Div if b != 0 && a % b != 0 => return Err(format!("{a} / {b} is not whole")),
        Fun::Div | Fun::FloorDiv => a.checked_div_euclid(b),
        Fun::CeilDiv => a.checked_neg().and_then(|n| n.checked_div_euclid(b)).and_then(i64::checked_neg),
        Fun::Mod => a.checked_rem_euclid(b),
        Fun::Min => Some(a.min(b)),
        Fun::Max => Some(a.max(b)),
    };
    value.ok_or_else(|| format!("{fun:?} of {a} and {b} has no value"))
}

#[derive(Clone, PartialEq, Debug)]
enum Token {
    Number(i64),
    Name(String),
    Sign(&'static str),
}

fn tokens(text: &str) -> Option<Vec<Token>> {
    const SIGNS: [&str; 9] = ["//", "**", "+", "-", "*", "/", "%", "(", ")"];
    let mut rest = text.trim_start();
    let mut out = vec![];
    while let Some(first) = rest.chars().next() {
        let word = |ok: fn(char) -> bool| rest.find(|c| !ok(c)).unwrap_or(rest.len());
        let end = if first.is_ascii_digit() {
            let end = word(|c| c.is_ascii_digit());
            out.push(Token::Number(rest[..end].parse().ok()?));
            end
        } else if first.is_alphabetic() || first == '_' {
            let end = word(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | ':'));
            out.push(Token::Name(rest[..end].to_string()));
            end
        } else if first == ',' {
            out.push(Token::Sign(","));
            1
        } else {
            let sign = SIGNS.into_iter().find(|s| rest.starts_with(s)).filter(|s| *s != "**")?;
            out.push(Token::Sign(sign));
            sign.len()
        };
        rest = rest[end..].trim_start();
    }
    Some(out)
}

struct Parser<'a> {
    tokens: &'a [Token],
    depth: usize,
}

/// Deeper nesting than any exporter writes; keeps the parser off the end of the stack.
const MAX_DEPTH: usize = 64;

impl Parser<'_> {
    fn next_is(&mut self, signs: &[&'static str]) -> Option<&'static str> {
        let Some(Token::Sign(s)) = self.tokens.first() else { return None };
        let found = signs.iter().find(|x| *x == s).copied()?;
        self.tokens = &self.tokens[1..];
        Some(found)
    }

    fn sum(&mut self) -> Option<Expr> {
        let mut left = self.product()?;
        while let Some(sign) = self.next_is(&["+", "-"]) {
            let right = self.product()?;
            left = Expr::Apply(if sign == "+" { Fun::Add } else { Fun::Sub }, vec![left, right]);
        }
        Some(left)
    }

    fn product(&mut self) -> Option<Expr> {
        let mut left = self.atom()?;
        while let Some(sign) = self.next_is(&["*", "//", "/", "%"]) {
            let fun = match sign {
                "*" => Fun::Mul,
                "//" => Fun::FloorDiv,
                "/" => Fun::Div,
                _ => Fun::Mod,
            };
            left = Expr::Apply(fun, vec![left, self.atom()?]);
        }
        Some(left)
    }

    fn atom(&mut self) -> Option<Expr> {
        self.depth += 1;
        let depth_ok = self.depth <= MAX_DEPTH;
        let atom = if depth_ok { self.atom_inner() } else { None };
        self.depth -= 1;
        atom
    }

    fn atom_inner(&mut self) -> Option<Expr> {
        if self.next_is(&["-"]).is_some() {
            return Some(Expr::Apply(Fun::Sub, vec![Expr::Number(0), self.atom()?]));
        }
        if self.next_is(&["("]).is_some() {
            let inner = self.sum()?;
            self.next_is(&[")"])?;
            return Some(inner);
        }
        let (token, rest) = self.tokens.split_first()?;
        self.tokens = rest;
        match token {
            Token::Number(n) => Some(Expr::Number(*n)),
            Token::Name(name) if self.next_is(&["("]).is_some() => self.call(name),
            Token::Name(name) => Some(Expr::Symbol(name.clone())),
            Token::Sign(_) => None,
        }
    }

    fn call(&mut self, name: &str) -> Option<Expr> {
        let mut args = vec![self.sum()?];
        while self.next_is(&[","]).is_some() {
            args.push(self.sum()?);
        }
        self.next_is(&[")"])?;
        let rounded = |fun: Fun, mut args: Vec<Expr>| match (args.pop()?, args.is_empty()) {
            (Expr::Apply(Fun::Div, parts), true) => Some(Expr::Apply(fun, parts)),
            (whole, true) => Some(whole),
            _ => None,
        };
        match name.to_ascii_lowercase().as_str() {
            "min" => Some(Expr::Apply(Fun::Min, args)),
            "max" => Some(Expr::Apply(Fun::Max, args)),
            "floor" => rounded(Fun::FloorDiv, args),
            "ceil" | "ceiling" => rounded(Fun::CeilDiv, args),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Result<i64, Option<String>> {
        Expr::parse(text).eval(&|s| match s {
            "past_sequence_length" => Some(5),
            "sequence_length" => Some(3),
            "s0" => Some(7),
            "odd-name [1]" => Some(9),
            _ => None,
        })
    }

    #[test]
    fn sums_products_and_roundings_are_exact() {
        assert_eq!(value("past_sequence_length + sequence_length"), Ok(8));
        assert_eq!(value("2*s0 - (s0 - 1)//2"), Ok(11));
        assert_eq!(value("floor(s0/2) + ceiling(s0/2)"), Ok(7));
        assert_eq!(value("Max(1, s0 % 4, 2)"), Ok(3));
        assert_eq!(value("-1 + s0"), Ok(6));
    }

    #[test]
    fn uneven_division_and_overflow_have_no_value() {
        assert!(matches!(value("s0 / 2"), Err(Some(_))));
        assert!(matches!(value("s0 // 0"), Err(Some(_))));
        assert!(matches!(value("9223372036854775807 + s0"), Err(Some(_))));
    }

    #[test]
    fn what_is_no_expression_is_one_symbol() {
        assert_eq!(value("odd-name [1]"), Ok(9));
        for text in ["", "a +", "((", "f(x)", "?", "99999999999999999999", "a**2"] {
            assert_eq!(Expr::parse(text), Expr::Symbol(text.to_string()));
        }
        let deep = "(".repeat(100_000);
        assert_eq!(Expr::parse(&deep), Expr::Symbol(deep.clone()));
    }
}
