//! Rows that repeat from layer to layer, printed once. In: rows with names. Out: runs of them, each a layer's rows and a count. Promise:
//! `program::layers::unrolled` of the runs is the rows.

use onnxcast_runtime::program::layers::{Named, at};

/// A layer's rows, its names with marks where they count, and how many layers there are.
pub struct Run<T> {
    pub layers: usize,
    pub rows: Vec<T>,
}

/// Most rows of a layer.
const LONGEST: usize = 64;
/// Fewer layers are as readable one by one.
const FEWEST: usize = 3;

/// Splits a list into runs; rows that do not repeat are runs of one layer.
pub fn runs<T: Named + PartialEq>(rows: &[T]) -> Vec<Run<T>> {
    let mut out: Vec<Run<T>> = vec![];
    let mut i = 0;
    while i < rows.len() {
        let best = (1..=LONGEST).map(|period| (period, repeats(&rows[i..], period))).filter(|(_, n)| *n >= FEWEST);
        // The most rows; of equal ones the shortest layer, which comes first.
        let best = best.rev().max_by_key(|(period, n)| period * n);
        match (best, out.last_mut()) {
            (Some((period, layers)), _) => {
                let layer = (0..period).filter_map(|j| marked(&rows[i + j], &rows[i + period + j])).collect();
                out.push(Run { layers, rows: layer });
                i += period * layers;
            }
            (None, Some(Run { layers: 1, rows: alone })) => {
                alone.push(rows[i].clone());
                i += 1;
            }
            (None, _) => {
                out.push(Run { layers: 1, rows: vec![rows[i].clone()] });
                i += 1;
            }
        }
    }
    out
}

/// How many layers of so many rows the list begins with.
fn repeats<T: Named + PartialEq>(rows: &[T], period: usize) -> usize {
    let Some(second) = rows.get(period..2 * period) else { return 1 };
    let Some(layer) = rows.iter().zip(second).map(|(a, b)| marked(a, b)).collect::<Option<Vec<T>>>() else { return 1 };
    let fits = |(layer_number, these): (usize, &[T])| {
        these.len() == period && these.iter().zip(&layer).all(|(row, pattern)| *row == named(pattern, layer_number))
    };
    rows.chunks(period).enumerate().take_while(|(l, these)| fits((*l, these))).count()
}

/// The row with the marks that make it itself in the first layer and the other one in the second.
fn marked<T: Named + PartialEq>(first: &T, second: &T) -> Option<T> {
    let name = pattern(first.name(), second.name())?;
    let mut row = first.clone();
    row.rename(name.into());
    (named(&row, 0) == *first && named(&row, 1) == *second).then_some(row)
}

fn named<T: Named>(pattern: &T, layer: usize) -> T {
    let mut row = pattern.clone();
    row.rename(at(pattern.name(), layer as u32).into());
    row
}

/// Marks in place of the numbers that are one more in the second name.
fn pattern(first: &str, second: &str) -> Option<String> {
    let (a, b) = (pieces(first), pieces(second));
    if a.len() != b.len() || first.contains('{') {
        return None;
    }
    let mut out = String::new();
    for (a, b) in a.iter().zip(&b) {
        match (a.parse::<u32>(), b.parse::<u32>()) {
            _ if a == b => out += a,
            (Ok(0), Ok(1)) => out += "{l}",
            (Ok(n), Ok(m)) if m == n + 1 => out += &format!("{{l+{n}}}"),
            _ => return None,
        }
    }
    Some(out)
}

/// Digits and the text between them.
fn pieces(name: &str) -> Vec<&str> {
    name.as_bytes()
        .chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit())
        .map(|piece| std::str::from_utf8(piece).unwrap_or_default())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnxcast_runtime::program::Tensor;

    fn tensors(names: &[String]) -> Vec<Tensor> {
        let one = |name: &String| Tensor {
            name: name.clone().into(),
            layout: "rows_f16".into(),
            shape: vec![8].into(),
            bytes: if name.contains("big") { 32 } else { 16 },
        };
        names.iter().map(one).collect()
    }

    /// Runs as text, after a check that they stand for the rows.
    fn told(names: &[&str]) -> Vec<String> {
        let rows = tensors(&names.iter().map(|n| n.to_string()).collect::<Vec<_>>());
        let runs = runs(&rows);
        let layer = |run: &Run<Tensor>, l: usize| -> Vec<Tensor> {
            if run.layers == 1 { run.rows.clone() } else { run.rows.iter().map(|r| named(r, l)).collect() }
        };
        let all: Vec<Tensor> = runs.iter().flat_map(|run| (0..run.layers).flat_map(|l| layer(run, l))).collect();
        assert_eq!(all, rows);
        let text = |run: &Run<Tensor>| {
            let names: Vec<&str> = run.rows.iter().map(|r| &*r.name).collect();
            format!("{} x {}", run.layers, names.join(" "))
        };
        runs.iter().map(text).collect()
    }

    #[test]
    fn layers_are_told_once_with_what_stands_around_them() {
        let names = ["embed", "l.0.q+l.0.k", "l.0.o", "l.1.q+l.1.k", "l.1.o", "l.2.q+l.2.k", "l.2.o", "head"];
        assert_eq!(told(&names), ["1 x embed", "3 x l.{l}.q+l.{l}.k l.{l}.o", "1 x head"]);
    }

    #[test]
    fn a_layer_that_differs_in_size_or_number_ends_a_run() {
        assert_eq!(told(&["a.5", "a.6", "a.7", "a.9"]), ["3 x a.{l+5}", "1 x a.9"]);
        assert_eq!(told(&["a.0", "a.1", "big.2", "a.3"]), ["1 x a.0 a.1 big.2 a.3"]);
        assert_eq!(told(&["a.0.1", "a.1.1", "a.2.1"]), ["3 x a.{l}.1"], "what does not count stays");
        assert_eq!(told(&["{l}0", "{l}1", "{l}2"]), ["1 x {l}0 {l}1 {l}2"], "a name that looks like a mark");
    }
}
