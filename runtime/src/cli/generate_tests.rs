use std::cell::Cell;

use super::*;
use crate::cli::script::Script;
use crate::text::toy;

fn with_eos(text: &str) -> Vec<u32> {
    toy::ids(text).into_iter().chain([toy::EOS]).collect()
}

fn run(script: &mut Script, limit: Option<u32>, stop: &[&str]) -> (Answered, Vec<String>) {
    let codec = toy::codec("", &[toy::EOS]);
    let stop: Vec<String> = stop.iter().map(|s| s.to_string()).collect();
    let request = Request { ids: &[1, 2], limit, stop: &stop };
    let mut shown = Vec::new();
    let mut show = |_: &[u32], text: &str| {
        shown.push(text.to_owned());
        Ok(())
    };
    let answered = generate(script, Some(&codec), &request, &|| false, &mut show).unwrap();
    (answered, shown)
}

#[test]
fn the_stop_token_is_counted_and_not_shown() {
    let (answered, shown) = run(&mut Script::new(vec![(with_eos("hello"), Done::Stop)]), None, &[]);
    assert_eq!(answered.end, End::StopToken(toy::EOS));
    assert_eq!((answered.text.as_str(), answered.tokens.len()), ("hello", 6));
    assert_eq!(shown, ["hel", "lo", ""]);
}

#[test]
fn a_stop_id_that_is_plain_text_is_not_shown_either() {
    let (answered, _) = run(&mut Script::new(vec![(toy::ids("ab\n"), Done::Stop)]), None, &[]);
    assert_eq!((answered.text.as_str(), answered.end), ("ab", End::StopToken(toy::id(b'\n'))));
}

#[test]
fn tokens_after_a_stop_text_are_dropped() {
    let (answered, shown) = run(&mut Script::new(vec![(with_eos("a STOP b"), Done::Stop)]), None, &["STOP"]);
    assert_eq!(answered.end, End::StopText("STOP".into()));
    assert_eq!((answered.text.as_str(), answered.tokens), ("a ", toy::ids("a STOP")));
    assert_eq!(shown.concat(), "a ");
}

#[test]
fn text_held_back_for_a_stop_is_shown_at_the_end() {
    let (answered, shown) = run(&mut Script::new(vec![(with_eos("a ST"), Done::Stop)]), None, &["STOP"]);
    assert_eq!((answered.text.as_str(), shown.concat().as_str()), ("a ST", "a ST"));
}

#[test]
fn a_limit_inside_a_character_shows_only_whole_ones() {
    let (answered, shown) = run(&mut Script::new(vec![(toy::ids("né"), Done::Stop)]), Some(2), &[]);
    assert_eq!((answered.end, answered.tokens.len()), (End::Length, 2));
    assert_eq!(shown.concat(), "n");
}

#[test]
fn a_full_context_is_told_apart_from_a_limit() {
    let (answered, _) = run(&mut Script::new(vec![(toy::ids("ab"), Done::Context)]), None, &[]);
    assert_eq!(answered.end, End::Context);
    assert!(answered.summary(None).contains("context full"), "{}", answered.summary(None));
}

#[test]
fn an_interrupt_ends_within_one_submission_and_keeps_the_text() {
    let mut script = Script::new(vec![(toy::ids("abcdefghi"), Done::Stop)]);
    let (codec, asked) = (toy::codec("", &[]), Cell::new(0));
    let interrupted = || {
        asked.set(asked.get() + 1);
        asked.get() == 2
    };
    let request = Request { ids: &[1], limit: None, stop: &[] };
    let answered = generate(&mut script, Some(&codec), &request, &interrupted, &mut |_, _| Ok(())).unwrap();
    assert_eq!((answered.text.as_str(), answered.end), ("abcdef", End::Interrupted));
    assert_eq!(script.submissions, 2);
}

#[test]
fn ids_are_shown_without_a_tokenizer() {
    let mut script = Script::new(vec![(vec![7, 8, 9, 10], Done::Stop)]);
    let request = Request { ids: &[1], limit: None, stop: &[] };
    let mut ids = Vec::new();
    let mut show = |tokens: &[u32], text: &str| {
        assert_eq!(text, "");
        ids.extend_from_slice(tokens);
        Ok(())
    };
    let answered = generate(&mut script, None, &request, &|| false, &mut show).unwrap();
    assert_eq!((ids, answered.end), (vec![7, 8, 9, 10], End::StopToken(10)));
}

#[test]
fn the_json_form_names_the_stop_and_both_lists_of_ids() {
    let (answered, _) = run(&mut Script::new(vec![(with_eos("ok"), Done::Stop)]), None, &[]);
    let json = answered.json("m", &[1, 2], None);
    assert_eq!(json["stop"], json!({"reason": "stop_token", "token": toy::EOS}));
    assert_eq!((&json["prompt_ids"], &json["text"], &json["model"]), (&json!([1, 2]), &json!("ok"), &json!("m")));
    assert_eq!(json["timings"]["tokens"], 3);
}
