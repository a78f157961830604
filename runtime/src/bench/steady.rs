//! Steady generation. In: a session and one prompt. Out: the same answer several times, with its times and what was submitted and
//! moved meanwhile. Promise: runs that differ in a token are an error that says where, so that no time is told of a wrong answer.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Head, Lengths, Table, csv, fits, ids, md};
use crate::engine::Counters;
use crate::error::{Error, Kind, Result};
use crate::generator::Generator;
use crate::program::Program;

/// One answer to a prompt.
#[derive(Clone, PartialEq, Debug)]
pub struct Answer {
    /// The first comes with the prompt and is not timed.
    pub tokens: Vec<u32>,
    pub time: Duration,
    /// While it was timed.
    pub spent: Counters,
}

/// Answers a prompt from an empty cache: `count` tokens behind the first one.
pub fn answer(session: &mut dyn Generator, ids: &[u32], count: u32) -> Result<Answer> {
    session.forget();
    session.begin(ids, count + 1)?;
    let mut tokens = Vec::with_capacity(count as usize + 1);
    let (before, start) = (session.counters(), Instant::now());
    while session.advance(&mut tokens)?.is_none() {}
    let (time, spent) = (start.elapsed(), session.counters().since(&before));
    if tokens.len() as u32 != count + 1 {
        return Err(Error::other(format!("{} tokens came instead of {}", tokens.len(), count + 1)));
    }
    Ok(Answer { tokens, time, spent })
}

/// Where two answers part: the index of the token, and both tokens.
pub fn parting(one: &[u32], other: &[u32]) -> Option<(usize, u32, u32)> {
    let differs = one.iter().zip(other).position(|(a, b)| a != b)?;
    Some((differs, one[differs], other[differs]))
}

/// Median, least and most of times divided by `count`, in milliseconds.
pub fn milliseconds(times: &[Duration], count: u32) -> [f64; 3] {
    let mut each: Vec<f64> = times.iter().map(|t| t.as_secs_f64() * 1e3 / f64::from(count.max(1))).collect();
    each.sort_by(f64::total_cmp);
    let at = |i: usize| each.get(i).copied().unwrap_or(0.0);
    let n = each.len();
    let median = if n == 0 { 0.0 } else { (at((n - 1) / 2) + at(n / 2)) / 2.0 };
    [median, at(0), at(n.saturating_sub(1))]
}

/// Answers that agree.
pub struct Steady {
    /// `tg128`, `tg128@512`.
    pub test: String,
    /// Timed ones of an answer.
    pub count: u32,
    pub warmups: u32,
    pub tokens: Vec<u32>,
    pub times: Vec<Duration>,
    /// Of all timed runs together; sizes as they stand at the end.
    pub spent: Counters,
}

/// `warmups` runs without times, then the measured ones of every length in `options.generate`; all must give the same tokens.
pub fn measure(
    session: &mut dyn Generator,
    program: &Program,
    options: &Lengths,
    warmups: u32,
    told: &mut dyn FnMut(&str),
) -> Result<Vec<Steady>> {
    let decoder = program.decoder.as_ref().ok_or_else(|| {
        Error::usage("this model generates no tokens, so there is nothing to bench").hint("time `run` instead")
    })?;
    let depth = options.depth.max(1);
    let lengths: Vec<u32> = options.generate.iter().copied().filter(|&n| n > 0).collect();
    lengths.iter().try_for_each(|&count| fits(depth, count, decoder.context))?;
    let prompt = ids(depth, decoder.vocab, 0);
    let mut all = Vec::new();
    for count in lengths {
        let test = if options.depth > 0 { format!("tg{count}@{depth}") } else { format!("tg{count}") };
        told(&test);
        let mut runs = Vec::new();
        for _ in 0..warmups + options.repetitions {
            runs.push(answer(session, &prompt, count).map_err(|e| e.at("bench --steady"))?);
            agree(&runs, warmups)?;
        }
        let timed = &runs[warmups as usize..];
        let spent = timed.iter().fold(Counters::default(), |sum, run| run.spent.and(&sum));
        let times = timed.iter().map(|run| run.time).collect();
        all.push(Steady { test, count, warmups, tokens: runs[0].tokens.clone(), times, spent });
    }
    Ok(all)
}

/// Holds the last answer against the first.
fn agree(runs: &[Answer], warmups: u32) -> Result<()> {
    let (Some(first), Some(last)) = (runs.first(), runs.last()) else { return Ok(()) };
    let Some((at, want, have)) = parting(&first.tokens, &last.tokens) else { return Ok(()) };
    let what = format!(
        "run {} of the same prompt gave {have} as token {at}, run 1 gave {want} (the first {warmups} runs are warm-ups)",
        runs.len()
    );
    let hint =
        "the weights, the driver or the device are not to be trusted; `residency` tells whether it is the weights";
    Err(Error::new(Kind::Differs, what).at("bench --steady").hint(hint))
}

impl Steady {
    fn timed_tokens(&self) -> u64 {
        u64::from(self.count) * self.times.len() as u64
    }

    fn a_token(&self, total: u64) -> f64 {
        total as f64 / self.timed_tokens().max(1) as f64
    }

    /// Name and value of everything that is told, in the order of the columns.
    fn cells(&self) -> Vec<(&'static str, String)> {
        let [median, least, most] = milliseconds(&self.times, self.count);
        let c = &self.spent;
        let whole = |n: u64| n.to_string();
        let each = |n: u64| format!("{:.0}", self.a_token(n));
        vec![
            ("runs", whole(self.times.len() as u64)),
            ("ms/token", format!("{median:.3}")),
            ("min", format!("{least:.3}")),
            ("max", format!("{most:.3}")),
            ("spread %", format!("{:.1}", spread(median, least, most))),
            ("submissions", whole(c.submissions)),
            ("replays", whole(c.replays)),
            ("recordings", whole(c.records)),
            ("bytes resident", whole(c.resident_bytes)),
            ("bytes mapped", whole(c.mapped_bytes)),
            ("bytes streamed", whole(c.streamed_bytes)),
            ("bytes over budget", whole(c.over_budget_bytes)),
            ("moved a token: read in place", each(c.read_in_place_bytes)),
            ("moved a token: streamed", each(c.copied_in_bytes)),
            ("with the host and needed a token", each(c.distinct_bytes)),
            ("moved a token: other to the device", each(c.to_device_bytes)),
            ("moved a token: other to the host", each(c.to_host_bytes)),
        ]
    }

    fn json(&self, head: &Head) -> Value {
        let [median, least, most] = milliseconds(&self.times, self.count);
        let c = &self.spent;
        json!({
            "model": head.model,
            "precision": head.precision,
            "device": head.device,
            "test": self.test,
            "warmups": self.warmups,
            "tokens": self.tokens,
            "seconds": self.times.iter().map(Duration::as_secs_f64).collect::<Vec<_>>(),
            "ms_per_token": {"median": median, "min": least, "max": most, "spread_percent": spread(median, least, most)},
            "counters": {
                "submissions": c.submissions,
                "replays": c.replays,
                "recordings": c.records,
                "dispatches": c.dispatches,
                "resident_bytes": c.resident_bytes,
                "mapped_bytes": c.mapped_bytes,
                "streamed_bytes": c.streamed_bytes,
                "over_budget_bytes": c.over_budget_bytes,
                "read_in_place_bytes_per_token": self.a_token(c.read_in_place_bytes),
                "streamed_bytes_per_token": self.a_token(c.copied_in_bytes),
                "distinct_host_bytes_per_token": self.a_token(c.distinct_bytes),
                "host_to_device_bytes_per_token": self.a_token(c.to_device_bytes),
                "device_to_host_bytes_per_token": self.a_token(c.to_host_bytes),
            },
        })
    }
}

/// How far the slowest run is from the fastest, in percent of the median.
fn spread(median: f64, least: f64, most: f64) -> f64 {
    100.0 * (most - least) / median.max(1e-9)
}

/// As text, the last line without its end. Markdown has a column a length: there is more to tell than fits a row.
pub fn print(head: &Head, all: &[Steady], table: Table) -> String {
    let first = [head.model, head.precision, head.device];
    let names = |of: &[(&str, String)]| of.iter().map(|(name, _)| name.to_string()).collect::<Vec<_>>();
    let cells: Vec<Vec<(&str, String)>> = all.iter().map(Steady::cells).collect();
    let columns = names(cells.first().map_or(&[], Vec::as_slice));
    match table {
        Table::Json => Value::Array(all.iter().map(|s| s.json(head)).collect()).to_string(),
        Table::Csv => {
            let top = ["model", "precision", "device", "test"].map(str::to_owned).into_iter().chain(columns).collect();
            let row = |(s, of): (&Steady, &Vec<(&str, String)>)| {
                let values = of.iter().map(|(_, value)| value.clone());
                first.iter().map(|s| s.to_string()).chain([s.test.clone()]).chain(values).collect::<Vec<String>>()
            };
            csv(std::iter::once(top).chain(all.iter().zip(&cells).map(row)))
        }
        Table::Md => {
            let top = std::iter::once(first.join(", ")).chain(all.iter().map(|s| s.test.clone())).collect();
            let row = |(i, name): (usize, String)| {
                std::iter::once(name).chain(cells.iter().map(|of| of[i].1.clone())).collect::<Vec<_>>()
            };
            md(1, std::iter::once(top).chain(columns.into_iter().enumerate().map(row)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost;
    use crate::step::Done;

    /// Counts up from the last id of the prompt, and slips once in the run and at the token that it is told.
    #[derive(Default)]
    struct Counting {
        slip: Option<(u32, u32)>,
        run: u32,
        next: u32,
        given: u32,
        limit: u32,
        forgotten: u32,
        counters: Counters,
    }

    impl Generator for Counting {
        fn begin(&mut self, ids: &[u32], limit: u32) -> Result<()> {
            self.run += 1;
            (self.next, self.given, self.limit) = (ids[ids.len() - 1], 0, limit);
            Ok(())
        }

        fn advance(&mut self, tokens: &mut Vec<u32>) -> Result<Option<Done>> {
            self.next += 1;
            let slips = self.slip == Some((self.run, self.given));
            tokens.push(if slips { 1000 } else { self.next });
            self.given += 1;
            self.counters.submissions += 1;
            self.counters.replays += 1;
            self.counters.to_host_bytes += 4;
            Ok((self.given == self.limit).then_some(Done::Limit))
        }

        fn forget(&mut self) {
            self.forgotten += 1;
        }

        fn counters(&self) -> Counters {
            self.counters
        }
    }

    fn options(generate: &[u32]) -> Lengths {
        Lengths { prompt: vec![], generate: generate.to_vec(), depth: 2, repetitions: 3 }
    }

    fn measured(session: &mut Counting, generate: &[u32]) -> Result<Vec<Steady>> {
        measure(session, &cost::tests::toy(), &options(generate), 2, &mut |_| {})
    }

    #[test]
    fn every_run_begins_anew_and_warm_ups_are_not_counted() {
        let mut session = Counting::default();
        let all = measured(&mut session, &[4, 7]).unwrap();
        assert_eq!((session.forgotten, all.len()), (2 * (2 + 3), 2));
        let seven = &all[1];
        assert_eq!((seven.test.as_str(), seven.times.len(), seven.tokens.len()), ("tg7@2", 3, 8));
        assert_eq!((seven.spent.submissions, seven.spent.replays, seven.spent.to_host_bytes), (24, 24, 96));
    }

    #[test]
    fn a_run_that_differs_is_an_error_with_its_place_be_it_a_warm_up_or_not() {
        for run in [2, 4] {
            let mut session = Counting { slip: Some((run, 3)), ..Default::default() };
            let error = measured(&mut session, &[5]).err().unwrap();
            assert_eq!((error.kind, error.exit_code()), (Kind::Differs, 9));
            let text = error.to_string();
            let prompt = ids(2, 10, 0)[1];
            let says =
                format!("bench --steady: run {run} of the same prompt gave 1000 as token 3, run 1 gave {}", prompt + 4);
            assert!(text.starts_with(&says), "{text}");
        }
    }

    #[test]
    fn median_and_spread_are_of_a_token() {
        let ms = Duration::from_millis;
        assert_eq!(milliseconds(&[ms(30), ms(10), ms(20)], 10), [2.0, 1.0, 3.0]);
        assert_eq!(milliseconds(&[ms(30), ms(10)], 10), [2.0, 1.0, 3.0]);
        assert_eq!((milliseconds(&[], 10), spread(2.0, 1.0, 3.0)), ([0.0; 3], 100.0));
    }

    #[test]
    fn all_tables_tell_the_counters() {
        let all = measured(&mut Counting::default(), &[4]).unwrap();
        let head = Head { model: "m", precision: "fp16", device: "soft, x", memory: Default::default() };
        let md = print(&head, &all, Table::Md);
        assert!(md.starts_with("| m, fp16, soft, x | tg4@2 |\n|---|---:|\n| runs | 3 |\n"), "{md}");
        assert!(md.lines().any(|l| l == "| submissions | 15 |"), "{md}");
        let csv = print(&head, &all, Table::Csv);
        let lines: Vec<&str> = csv.lines().collect();
        assert!(lines[0].starts_with("model,precision,device,test,runs,ms/token,"), "{csv}");
        assert!(lines[1].starts_with("m,fp16,\"soft, x\",tg4@2,3,"), "{csv}");
        let json: Value = serde_json::from_str(&print(&head, &all, Table::Json)).unwrap();
        assert_eq!((&json[0]["counters"]["replays"], &json[0]["tokens"]), (&15.into(), &json!(all[0].tokens)));
    }
}
