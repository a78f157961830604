//! Stop strings. In: text as it streams. Out: the same text up to the first stop string. Promise: a stop string is found across
//! any split of the text, and none of it is ever let out.

/// Holds back what may turn out to be the beginning of a stop string.
pub struct StopFilter<'a> {
    stops: &'a [String],
    held: String,
}

/// What became of a piece of text.
#[derive(Debug, PartialEq, Eq)]
pub struct Passed<'a> {
    /// Text that is safe to show.
    pub text: String,
    /// The stop string that was met; nothing follows it.
    pub stop: Option<&'a str>,
}

impl<'a> StopFilter<'a> {
    /// Empty stop strings are ignored.
    pub fn new(stops: &'a [String]) -> StopFilter<'a> {
        StopFilter { stops, held: String::new() }
    }

    pub fn push(&mut self, text: &str) -> Passed<'a> {
        self.held.push_str(text);
        let stops = self.stops.iter().filter(|s| !s.is_empty());
        let first = stops.filter_map(|s| Some((self.held.find(s.as_str())?, s))).min_by_key(|(at, _)| *at);
        if let Some((at, stop)) = first {
            self.held.truncate(at);
            return Passed { text: std::mem::take(&mut self.held), stop: Some(stop) };
        }
        let keep = self.stops.iter().map(|s| overlap(&self.held, s)).max().unwrap_or(0);
        let kept = self.held.split_off(self.held.len() - keep);
        Passed { text: std::mem::replace(&mut self.held, kept), stop: None }
    }

    /// What was held back, once no more text can come.
    pub fn finish(&mut self) -> String {
        std::mem::take(&mut self.held)
    }
}

/// Bytes of the longest end of `text` that begins `stop` without completing it.
fn overlap(text: &str, stop: &str) -> usize {
    let longest = text.len().min(stop.len().saturating_sub(1));
    (1..=longest)
        .rev()
        .find(|&n| text.as_bytes().ends_with(&stop.as_bytes()[..n]) && stop.is_char_boundary(n))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(stops: &[&str], pieces: &[&str]) -> (Vec<String>, Option<String>) {
        let stops: Vec<String> = stops.iter().map(|s| s.to_string()).collect();
        let mut filter = StopFilter::new(&stops);
        let mut out = Vec::new();
        for piece in pieces {
            let passed = filter.push(piece);
            out.push(passed.text);
            if let Some(stop) = passed.stop {
                return (out, Some(stop.to_owned()));
            }
        }
        out.push(filter.finish());
        (out, None)
    }

    #[test]
    fn a_stop_split_over_three_pieces_is_found_and_not_shown() {
        let (out, stop) = run(&["\nUser:"], &["hi\n", "Us", "er: more"]);
        assert_eq!((out.concat().as_str(), stop.as_deref()), ("hi", Some("\nUser:")));
    }

    #[test]
    fn text_that_only_began_like_a_stop_is_let_out() {
        let (out, stop) = run(&["END"], &["aE", "Nx", "E"]);
        assert_eq!((out, stop), (vec!["a".into(), "ENx".into(), "".into(), "E".into()], None));
    }

    #[test]
    fn the_earliest_of_several_stops_wins() {
        let (out, stop) = run(&["c", "bc"], &["abcd"]);
        assert_eq!((out.concat().as_str(), stop.as_deref()), ("a", Some("bc")));
    }

    #[test]
    fn a_stop_that_begins_inside_a_false_start_is_found() {
        let (out, stop) = run(&["aab"], &["aa", "a", "b"]);
        assert_eq!((out.concat().as_str(), stop.as_deref()), ("a", Some("aab")));
    }

    #[test]
    fn characters_of_several_bytes_are_never_cut() {
        let (out, stop) = run(&["é!"], &["caf", "é", "è"]);
        assert_eq!((out, stop), (vec!["caf".into(), "".into(), "éè".into(), "".into()], None));
    }

    #[test]
    fn an_empty_stop_string_stops_nothing() {
        assert_eq!(run(&[""], &["a"]).0.concat(), "a");
    }
}
