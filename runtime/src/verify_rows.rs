//! Comparison with whole rows of logits. In: a reference of one token sequence (docs/golden.md) and a session. Out: for each prompt
//! length, how far every step is from its row. Promise: teacher-forced; a step that was not compared is an error, never a pass.

use std::collections::HashMap;
use std::path::Path;

use serde::Serialize;

use crate::array::{Array, Data};
use crate::error::{Error, Result};
use crate::generator::Scorer;
use crate::npz;
use crate::verify::{argmax, cosine, larger, worse};

/// Logits of some positions of a sequence, and the prompts that are tried on it.
pub struct Rows {
    ids: Vec<u32>,
    /// Row of each recorded position.
    at: HashMap<usize, usize>,
    logits: Vec<f32>,
    vocab: usize,
    pub prompts: Vec<usize>,
    pub steps: usize,
    /// Pixels of pictures, slot by slot; ids past the vocabulary are their rows.
    pub pictures: Vec<Vec<f32>>,
}

/// What is allowed.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    pub cosine: f64,
    /// From this margin of the reference on the best token must be the same.
    pub margin: f32,
    /// Of a logit, where there is a bound.
    pub difference: Option<f32>,
}

#[derive(Clone, Debug, Serialize)]
pub struct RowsReport {
    pub prompt_tokens: usize,
    pub steps: usize,
    pub min_cosine: f64,
    pub min_cosine_step: usize,
    pub max_abs: f32,
    pub max_abs_step: usize,
    /// Steps whose reference has a margin of at least the bound, and those of them with the same best token.
    pub sure: usize,
    pub sure_same: usize,
    /// The same of the other steps.
    pub close: usize,
    pub close_same: usize,
    pub failures: Vec<String>,
}

impl Rows {
    /// Reads a file and holds its arrays against each other.
    pub fn load(path: &Path) -> Result<Rows> {
        let arrays: HashMap<String, Array> = npz::read(path)?.into_iter().collect();
        Rows::of(arrays).map_err(|e| e.at(path.display()))
    }

    fn of(mut arrays: HashMap<String, Array>) -> Result<Rows> {
        let pictures = arrays.remove("pictures").map_or(Ok(vec![]), pictures)?;
        let mut take = |name: &str| {
            let missing = || Error::input(format!("there is no array '{name}'")).hint("see docs/golden.md");
            arrays.remove(name).ok_or_else(missing)
        };
        let ids: Vec<u32> = integers("ids", take("ids")?)?.into_iter().map(|i| i as u32).collect();
        let positions = integers("at", take("at")?)?;
        let prompts = integers("prompts", take("prompts")?)?;
        let steps = integers("steps", take("steps")?)?.first().copied().unwrap_or(0);
        let Array { shape, data: Data::F32(logits) } = take("logits")? else {
            return Err(Error::input("'logits' is not float32"));
        };
        let vocab = match shape[..] {
            [rows, vocab] if rows == positions.len() && vocab > 0 => vocab,
            _ => return Err(Error::input(format!("'logits' is {shape:?} for {} positions", positions.len()))),
        };
        let at: HashMap<usize, usize> = positions.iter().enumerate().map(|(row, &p)| (p, row)).collect();
        let rows = Rows { ids, at, logits, vocab, prompts, steps, pictures };
        for &prompt in &rows.prompts {
            let end = prompt + rows.steps;
            let missing = (prompt.max(1) - 1..end - 1).find(|p| !rows.at.contains_key(p));
            if prompt == 0 || rows.steps == 0 || end > rows.ids.len() + 1 || missing.is_some() {
                let what = format!("a prompt of {prompt} and {} steps is not covered by ids and rows", rows.steps);
                return Err(Error::input(what));
            }
        }
        Ok(rows)
    }

    pub fn vocab(&self) -> usize {
        self.vocab
    }

    fn row(&self, position: usize) -> Result<&[f32]> {
        let row = self.at.get(&position).and_then(|row| self.logits.get(row * self.vocab..(row + 1) * self.vocab));
        row.ok_or_else(|| Error::input(format!("position {position} has no row")))
    }

    /// Tokens that a run of this prompt feeds.
    pub fn fed(&self, prompt: usize) -> usize {
        prompt + self.steps - 1
    }
}

/// The first dimension counts pictures.
fn pictures(array: Array) -> Result<Vec<Vec<f32>>> {
    let Array { shape, data: Data::F32(values) } = array else {
        return Err(Error::input("'pictures' is not float32"));
    };
    let each = shape.iter().skip(1).product::<usize>().max(1);
    Ok(values.chunks(each).map(<[f32]>::to_vec).collect())
}

fn integers(name: &str, array: Array) -> Result<Vec<usize>> {
    let Data::I64(values) = array.data else { return Err(Error::input(format!("'{name}' is not int64"))) };
    let index = |v: i64| usize::try_from(v).map_err(|_| Error::input(format!("'{name}' holds {v}")));
    values.into_iter().map(index).collect()
}

/// Runs one prompt and its steps. `each` hears of every step done.
pub fn compare_rows(
    session: &mut dyn Scorer,
    rows: &Rows,
    prompt: usize,
    bounds: Bounds,
    each: &mut dyn FnMut(),
) -> Result<RowsReport> {
    let mut report = RowsReport {
        prompt_tokens: prompt,
        steps: rows.steps,
        min_cosine: 1.0,
        min_cosine_step: 0,
        max_abs: 0.0,
        max_abs_step: 0,
        sure: 0,
        sure_same: 0,
        close: 0,
        close_same: 0,
        failures: Vec::new(),
    };
    for step in 0..rows.steps {
        let position = prompt - 1 + step;
        let logits = match step {
            0 => session.prompt_logits(&rows.ids[..prompt])?,
            _ => session.next_logits(rows.ids[position])?,
        };
        if logits.len() != rows.vocab {
            let what = format!("rows of {} logits, the program has {}", rows.vocab, logits.len());
            return Err(Error::input(what).hint("is the reference another model's?"));
        }
        report.step(step, rows.row(position)?, &logits, bounds);
        each();
    }
    Ok(report)
}

impl RowsReport {
    fn step(&mut self, step: usize, golden: &[f32], ours: &[f32], bounds: Bounds) {
        let cosine = cosine(ours, golden);
        if worse(-cosine, -self.min_cosine) {
            (self.min_cosine, self.min_cosine_step) = (cosine, step);
        }
        if worse(-cosine, -bounds.cosine) {
            self.failures.push(format!("step {step}: cosine {cosine:.7}, bound {}", bounds.cosine));
        }
        let worst = ours.iter().zip(golden).map(|(a, b)| (a - b).abs()).fold(0.0, larger);
        if worse(worst.into(), self.max_abs.into()) {
            (self.max_abs, self.max_abs_step) = (worst, step);
        }
        if bounds.difference.is_some_and(|bound| worse(worst.into(), bound.into())) {
            self.failures.push(format!("step {step}: a logit is off by {worst}"));
        }
        let (best, golden_best) = (argmax(ours), argmax(golden));
        let margin = margin(golden);
        let same = usize::from(best == golden_best);
        if margin >= bounds.margin {
            (self.sure, self.sure_same) = (self.sure + 1, self.sure_same + same);
            if same == 0 {
                let what = format!("step {step}: token {best} instead of {golden_best}, preferred by {margin}");
                self.failures.push(what);
            }
        } else {
            (self.close, self.close_same) = (self.close + 1, self.close_same + same);
        }
    }
}

/// Best logit less second best.
fn margin(logits: &[f32]) -> f32 {
    let (best, second) = logits.iter().fold((f32::NEG_INFINITY, f32::NEG_INFINITY), |(best, second), &x| {
        if x > best { (x, best) } else { (best, second.max(x)) }
    });
    best - second
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generator::Generator;
    use crate::step::Done;

    const BOUNDS: Bounds = Bounds { cosine: 0.9999, margin: 0.05, difference: None };

    /// Logits over three tokens that tell the position; one of them with an error.
    struct Toy {
        fed: usize,
        wrong_at: usize,
        error: f32,
    }

    fn golden(position: usize) -> [f32; 3] {
        [1.0, 2.0 + position as f32, 3.0]
    }

    impl Toy {
        fn logits(&self) -> Result<Vec<f32>> {
            let mut row = golden(self.fed - 1).to_vec();
            row[0] += if self.fed - 1 == self.wrong_at { self.error } else { 0.0 };
            Ok(row)
        }
    }

    impl Generator for Toy {
        fn begin(&mut self, _: &[u32], _: u32) -> Result<()> {
            Ok(())
        }

        fn advance(&mut self, _: &mut Vec<u32>) -> Result<Option<Done>> {
            Ok(Some(Done::Limit))
        }
    }

    impl Scorer for Toy {
        fn prompt_logits(&mut self, ids: &[u32]) -> Result<Vec<f32>> {
            self.fed = ids.len();
            self.logits()
        }

        fn next_logits(&mut self, _: u32) -> Result<Vec<f32>> {
            self.fed += 1;
            self.logits()
        }
    }

    fn arrays(positions: std::ops::Range<i64>) -> HashMap<String, Array> {
        let logits: Vec<f32> = positions.clone().flat_map(|p| golden(p as usize)).collect();
        let at: Vec<i64> = positions.collect();
        let list = [
            ("ids", Array::i64(&[7], &[0, 1, 2, 0, 1, 2, 0])),
            ("prompts", Array::i64(&[2], &[2, 4])),
            ("steps", Array::i64(&[1], &[3])),
            ("logits", Array::f32(&[at.len(), 3], &logits)),
            ("at", Array::i64(&[at.len()], &at)),
        ];
        list.into_iter().map(|(name, array)| (name.to_owned(), array)).collect()
    }

    fn compared(wrong_at: usize, error: f32, bounds: Bounds) -> RowsReport {
        let rows = Rows::of(arrays(1..6)).unwrap();
        compare_rows(&mut Toy { fed: 0, wrong_at, error }, &rows, 2, bounds, &mut || ()).unwrap()
    }

    #[test]
    fn the_reference_itself_passes_and_ties_are_counted_apart() {
        let report = compared(99, 0.0, BOUNDS);
        assert!(report.failures.is_empty() && report.min_cosine > 0.999_999, "{report:?}");
        // Position 1 is a tie of the last two.
        assert_eq!((report.sure, report.sure_same, report.close, report.close_same), (2, 2, 1, 1));
    }

    #[test]
    fn a_low_cosine_another_best_token_and_numbers_that_are_none_fail_with_their_step() {
        let off = compared(2, 0.5, BOUNDS);
        assert_eq!((off.failures.len(), off.min_cosine_step, off.max_abs), (1, 1, 0.5));
        let other = compared(2, 9.0, BOUNDS);
        assert!(other.failures[1].starts_with("step 1: token 0 instead of 1"), "{:?}", other.failures);
        let none = compared(2, f32::NAN, BOUNDS);
        assert!(none.min_cosine.is_nan() && !none.failures.is_empty());
        let strict = Bounds { cosine: 0.9, difference: Some(0.4), ..BOUNDS };
        assert_eq!(compared(2, 0.5, strict).failures, ["step 1: a logit is off by 0.5"]);
    }

    #[test]
    fn a_reference_that_does_not_cover_its_prompts_is_refused() {
        assert!(Rows::of(arrays(1..5)).err().unwrap().to_string().contains("a prompt of 4 and 3 steps"));
        let mut without = arrays(1..6);
        without.remove("ids");
        assert!(Rows::of(without).err().unwrap().to_string().contains("no array 'ids'"));
    }
}
