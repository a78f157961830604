use super::*;
use crate::generator::{Generator, Scorer};
use crate::step::Done;

/// A model over four tokens whose logits depend on the last token alone, with an error put on one logit.
struct Toy {
    error: f32,
    last: u32,
    left: u32,
}

const STOP: u32 = 3;

fn logits_after(token: u32) -> Vec<f32> {
    let next = (token + 1) % 4;
    (0..4).map(|i| if i == next { 2.0 } else { i as f32 * 0.25 }).collect()
}

impl Generator for Toy {
    fn begin(&mut self, ids: &[u32], limit: u32) -> Result<()> {
        (self.last, self.left) = (*ids.last().unwrap(), limit);
        Ok(())
    }

    fn advance(&mut self, tokens: &mut Vec<u32>) -> Result<Option<Done>> {
        self.last = argmax(&self.scored());
        tokens.push(self.last);
        self.left -= 1;
        Ok(match (self.last, self.left) {
            (STOP, _) => Some(Done::Stop),
            (_, 0) => Some(Done::Limit),
            _ => None,
        })
    }
}

impl Toy {
    fn new(error: f32) -> Toy {
        Toy { error, last: 0, left: 0 }
    }

    fn scored(&self) -> Vec<f32> {
        let mut logits = logits_after(self.last);
        logits[0] += self.error;
        logits
    }
}

impl Scorer for Toy {
    fn prompt_logits(&mut self, ids: &[u32]) -> Result<Vec<f32>> {
        self.last = *ids.last().unwrap();
        Ok(self.scored())
    }

    fn next_logits(&mut self, id: u32) -> Result<Vec<f32>> {
        self.last = id;
        Ok(self.scored())
    }
}

/// What the toy without error gives after token 0: 1, 2, stop.
fn golden() -> Golden {
    let step = |after: u32| {
        let logits = logits_after(after);
        let sum = log_sum_exp(&logits);
        serde_json::json!({"logsumexp": sum, "ids": [0, 1, 2, 3], "logits": logits})
    };
    let text = serde_json::json!({
        "format": "onnxcast-golden-1", "precision": "fp32", "made_by": "toy",
        "cases": [{"prompt": "p", "prompt_ids": [3, 0], "tokens": [1, 2, 3], "stop": "eos", "text": "",
                   "margins": [1.25, 1.25, 1.5], "steps": [step(0), step(1), step(2)]}],
    });
    Golden::parse(&text.to_string()).unwrap()
}

#[test]
fn the_reference_itself_passes() {
    let report = compare(&mut Toy::new(0.0), &golden().cases[0], 0.02).unwrap();
    assert_eq!((report.max_abs, report.first_other, report.failures.len()), (0.0, None, 0));
    assert_eq!((report.free_equal, report.free_compared, report.steps), (3, 3, 3));
    assert!(report.min_cosine > 0.999_999, "{}", report.min_cosine);
}

#[test]
fn a_small_error_is_measured_and_passes() {
    let report = compare(&mut Toy::new(0.01), &golden().cases[0], 0.02).unwrap();
    assert!((report.max_abs - 0.01).abs() < 1e-6 && report.max_logsumexp > 0.0, "{report:?}");
    assert!(report.failures.is_empty(), "{:?}", report.failures);
}

#[test]
fn an_error_over_the_bound_fails_though_the_tokens_are_right() {
    let report = compare(&mut Toy::new(0.5), &golden().cases[0], 0.02).unwrap();
    assert_eq!((report.first_other, report.free_equal, report.failures.len()), (None, 3, 1));
}

#[test]
fn a_wrong_token_is_named_with_margin_and_gap_and_the_free_run_counts_up_to_it() {
    let report = compare(&mut Toy::new(3.0), &golden().cases[0], 0.02).unwrap();
    assert_eq!(report.first_other, Some(Other { step: 0, golden: 1, ours: 0, margin: 1.25, gap: 1.0 }));
    assert_eq!((report.free_equal, report.free_compared), (0, 3));
    // Three forced steps, the free run, the logits.
    assert_eq!(report.failures.len(), 5, "{:?}", report.failures);
}

#[test]
fn a_wrong_token_at_a_near_tie_is_told_but_does_not_fail() {
    let report = compare(&mut Toy::new(3.0), &golden().cases[0], 5.0).unwrap();
    assert!(report.first_other.is_some());
    assert_eq!((report.free_compared, report.failures.len()), (0, 0));
}

#[test]
fn logits_that_are_no_numbers_fail() {
    let report = compare(&mut Toy::new(f32::NAN), &golden().cases[0], 0.02).unwrap();
    assert!(report.max_abs.is_nan() && !report.failures.is_empty(), "{report:?}");
}

#[test]
fn bounds_follow_the_precision_of_both_sides() {
    let mut golden = golden();
    assert_eq!((golden.bound("fp32"), golden.bound("fp16"), golden.bound("int4")), (2e-3, 0.05, 0.05));
    golden.precision = "fp16".into();
    assert_eq!(golden.bound("fp32"), 0.1);
}

#[test]
fn a_file_of_another_format_or_with_lists_that_do_not_match_is_refused() {
    let other = r#"{"format":"x","precision":"fp32","made_by":"","cases":[]}"#;
    assert!(Golden::parse(other).err().unwrap().to_string().contains("format \"x\""));
    let uneven = r#"{"format":"onnxcast-golden-1","precision":"fp32","made_by":"","cases":[
        {"prompt":"","prompt_ids":[1],"tokens":[1],"margins":[],"steps":[]}]}"#;
    assert!(Golden::parse(uneven).err().unwrap().to_string().contains("case 0"));
}

#[test]
fn a_golden_of_a_larger_vocabulary_is_refused() {
    let mut golden = golden();
    golden.cases[0].steps[1].ids[0] = 9;
    let error = compare(&mut Toy::new(0.0), &golden.cases[0], 0.02).unwrap_err();
    assert!(error.to_string().contains("beyond the vocabulary of 4"), "{error}");
}

#[test]
fn lengths_stand_around_the_chunk_and_the_end_of_the_context() {
    assert_eq!(lengths(128, 1024), [1, 2, 127, 128, 129, 257, 1023]);
    assert_eq!(lengths(1, 8), [1, 2, 3, 7]);
    assert_eq!(lengths(256, 256), [1, 2, 255]);
}

#[test]
fn chunked_and_single_prefill_are_compared_at_every_length() {
    let rows = chunks_against_tokens(&mut Toy::new(0.0), &[0, 1, 2, 3, 0], &[1, 3, 5]).unwrap();
    assert_eq!(rows, [(1, 0.0), (3, 0.0), (5, 0.0)]);
}
