//! Einsum. In: an equation over one or more operands. Out: transposes, sums and batched products. Promise: the equation's result, or
//! a refusal that says which part of it is beyond us.

use super::{Call, Cx, Outcome, Refusal, Rule, invalid, unsupported};
use crate::graph::{Op, ReduceOp, ValueId};
use std::collections::BTreeMap;

/// The rule of an operator of this family.
pub fn rule(op: &str) -> Option<Rule> {
    (op == "Einsum").then_some(einsum)
}

/// A tensor and the label of each axis. Axes under an ellipsis get the labels '0', '1', ..
struct Term {
    value: ValueId,
    labels: Vec<char>,
}

fn einsum(cx: &mut Cx, call: &Call) -> Outcome {
    let equation: String = call.attrs.text_or("equation", "")?.chars().filter(|c| !c.is_whitespace()).collect();
    let (left, right) = match equation.split_once("->") {
        Some((l, r)) => (l, Some(r)),
        None => (equation.as_str(), None),
    };
    let inputs = call.all()?;
    let parts: Vec<&str> = left.split(',').collect();
    if parts.len() != inputs.len() {
        return Err(invalid(format!("equation '{equation}' has {} terms for {} inputs", parts.len(), inputs.len())));
    }
    let wide = parts.iter().zip(&inputs).filter_map(|(p, v)| ellipsis(cx.rank(*v), p)).max().unwrap_or(0);
    let mut terms = vec![];
    for (part, &value) in parts.iter().zip(&inputs) {
        let labels = labels(part, ellipsis(cx.rank(value), part), wide)?;
        if labels.len() != cx.rank(value) {
            return Err(invalid(format!("term '{part}' does not fit an input of shape {:?}", cx.shape(value))));
        }
        terms.push(diagonal(cx, Term { value, labels })?);
    }
    let result = match right {
        Some(r) => labels(r, Some(wide), wide)?,
        None => implicit(&terms),
    };
    let mut rest = terms.into_iter();
    let mut total = rest.next().ok_or_else(|| invalid("it has no inputs"))?;
    let mut rest: Vec<Term> = rest.collect();
    while !rest.is_empty() {
        let next = rest.remove(0);
        let later: Vec<char> = rest.iter().flat_map(|t| t.labels.clone()).chain(result.clone()).collect();
        total = multiply(cx, total, next, &later)?;
    }
    let total = sum_out(cx, total, &result)?;
    let perm = order(&total.labels, &result)?;
    Ok(vec![cx.transpose(total.value, &perm, "")?])
}

/// How many axes the ellipsis of a term stands for; None without one.
fn ellipsis(rank: usize, part: &str) -> Option<usize> {
    part.contains("...").then(|| rank.saturating_sub(part.chars().filter(|c| *c != '.').count()))
}

/// Labels of a term; an ellipsis becomes the last `count` of `wide` digits.
fn labels(part: &str, count: Option<usize>, wide: usize) -> Result<Vec<char>, Refusal> {
    let mut out = vec![];
    let mut rest = part;
    while let Some(c) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("...") {
            let count = count.unwrap_or(0);
            if wide > 10 {
                return Err(unsupported("an ellipsis over more than ten axes is not supported"));
            }
            out.extend((wide - count.min(wide)..wide).map(|i| (b'0' + i as u8) as char));
            rest = after;
        } else if c.is_ascii_alphabetic() {
            out.push(c);
            rest = &rest[1..];
        } else {
            return Err(invalid(format!("'{c}' in an equation")));
        }
    }
    Ok(out)
}

/// Without an arrow: the ellipsis, then the labels that occur once, in alphabetical order.
fn implicit(terms: &[Term]) -> Vec<char> {
    let mut counts: BTreeMap<char, usize> = BTreeMap::new();
    terms.iter().flat_map(|t| &t.labels).for_each(|c| *counts.entry(*c).or_default() += 1);
    counts.into_iter().filter(|(c, n)| *n == 1 || c.is_ascii_digit()).map(|(c, _)| c).collect()
}

/// Where each label of `to` stands in `from`.
fn order(from: &[char], to: &[char]) -> Result<Vec<usize>, Refusal> {
    let at = |c: &char| from.iter().position(|f| f == c);
    let perm: Option<Vec<usize>> = to.iter().map(at).collect();
    perm.filter(|p| p.len() == from.len()).ok_or_else(|| invalid(format!("labels {from:?} cannot become {to:?}")))
}

/// A label that stands twice in a term picks the diagonal of its two axes.
fn diagonal(cx: &mut Cx, mut term: Term) -> Result<Term, Refusal> {
    loop {
        let twice = |i: &usize| term.labels[i + 1..].contains(&term.labels[*i]);
        let Some(i) = (0..term.labels.len()).find(twice) else { return Ok(term) };
        let label = term.labels[i];
        let j = i + 1 + term.labels[i + 1..].iter().position(|c| *c == label).unwrap_or(0);
        let shape = cx.shape(term.value);
        if shape[i] != shape[j] {
            return Err(invalid(format!("label '{label}' stands for extents {} and {}", shape[i], shape[j])));
        }
        let mut perm: Vec<usize> = (0..shape.len()).filter(|a| *a != i && *a != j).collect();
        let mut outer: Vec<usize> = perm.iter().map(|a| shape[*a]).collect();
        let mut labels: Vec<char> = perm.iter().map(|a| term.labels[*a]).collect();
        perm.extend([i, j]);
        let turned = cx.transpose(term.value, &perm, "turned")?;
        let n = shape[i];
        outer.push(n * n);
        let flat = cx.reshape(turned, &outer, "flat")?;
        let mut step = vec![1; outer.len()];
        step[outer.len() - 1] = n as i64 + 1;
        outer.pop();
        outer.push(n);
        labels.push(label);
        let begin = vec![0; outer.len()];
        let value = cx.op(Op::Slice { begin, step, len: outer }, &[flat], "diagonal")?;
        term = Term { value, labels };
    }
}

/// Sums away the axes whose label is not in `keep`.
fn sum_out(cx: &mut Cx, term: Term, keep: &[char]) -> Result<Term, Refusal> {
    let axes: Vec<usize> = (0..term.labels.len()).filter(|i| !keep.contains(&term.labels[*i])).collect();
    if axes.is_empty() {
        return Ok(term);
    }
    let labels = term.labels.iter().copied().filter(|c| keep.contains(c)).collect();
    let op = Op::Reduce { kind: ReduceOp::Sum, axes, keep: false };
    Ok(Term { value: cx.op(op, &[term.value], "summed")?, labels })
}

/// Drops axes of extent 1 whose label has a larger extent in `other`: they broadcast.
fn drop_ones(cx: &mut Cx, term: Term, other: &Term) -> Result<Term, Refusal> {
    let (own, theirs) = (cx.shape(term.value), cx.shape(other.value));
    let broadcast = |i: usize| {
        let there = other.labels.iter().position(|c| *c == term.labels[i]).map(|j| theirs[j]);
        own[i] == 1 && there.is_some_and(|n| n != 1)
    };
    let keep: Vec<usize> = (0..own.len()).filter(|i| !broadcast(*i)).collect();
    let shape: Vec<usize> = keep.iter().map(|i| own[*i]).collect();
    let labels = keep.iter().map(|i| term.labels[*i]).collect();
    Ok(Term { value: cx.reshape(term.value, &shape, "squeezed")?, labels })
}

/// One batched product of two terms; `later` are the labels still needed.
fn multiply(cx: &mut Cx, a: Term, b: Term, later: &[char]) -> Result<Term, Refusal> {
    let a2 = drop_ones(cx, Term { value: a.value, labels: a.labels.clone() }, &b)?;
    let b = drop_ones(cx, b, &a)?;
    let keep = |other: &Term| other.labels.iter().copied().chain(later.iter().copied()).collect::<Vec<char>>();
    let (keep_a, keep_b) = (keep(&b), keep(&a2));
    let (a, b) = (sum_out(cx, a2, &keep_a)?, sum_out(cx, b, &keep_b)?);
    let both = |c: &&char| b.labels.contains(c);
    let batch: Vec<char> = a.labels.iter().filter(both).filter(|c| later.contains(c)).copied().collect();
    let inner: Vec<char> = a.labels.iter().filter(both).filter(|c| !later.contains(c)).copied().collect();
    let rows: Vec<char> = a.labels.iter().filter(|c| !b.labels.contains(c)).copied().collect();
    let columns: Vec<char> = b.labels.iter().filter(|c| !a.labels.contains(c)).copied().collect();
    let (left, sizes_a) = matrix(cx, &a, &[&batch, &rows, &inner])?;
    let (right, sizes_b) = matrix(cx, &b, &[&batch, &inner, &columns])?;
    if sizes_a[..batch.len()] != sizes_b[..batch.len()] {
        return Err(invalid("a label stands for two extents"));
    }
    let product = cx.op(Op::MatMul, &[left, right], "product")?;
    let mut shape = sizes_a[..batch.len() + rows.len()].to_vec();
    shape.extend(&sizes_b[batch.len() + inner.len()..]);
    let value = cx.reshape(product, &shape, "product")?;
    Ok(Term { value, labels: [batch, rows, columns].concat() })
}

/// A term as three axes, one for each group of labels, and its extents in that order.
fn matrix(cx: &mut Cx, term: &Term, groups: &[&Vec<char>; 3]) -> Result<(ValueId, Vec<usize>), Refusal> {
    let wanted: Vec<char> = groups.iter().flat_map(|g| g.iter().copied()).collect();
    let perm = order(&term.labels, &wanted)?;
    let shape = cx.shape(term.value);
    let sizes: Vec<usize> = perm.iter().map(|i| shape[*i]).collect();
    let turned = cx.transpose(term.value, &perm, "turned")?;
    let (n0, n1) = (groups[0].len(), groups[0].len() + groups[1].len());
    let three = [sizes[..n0].iter().product(), sizes[n0..n1].iter().product(), sizes[n1..].iter().product()];
    Ok((cx.reshape(turned, &three, "matrix")?, sizes))
}
