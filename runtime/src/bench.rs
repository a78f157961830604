//! Speed. In: a session and the lengths to measure. Out: rows of tokens a second, in the manner of llama-bench. Promise: one
//! unmeasured run before each row, and median, least and most of the measured ones beside it.

pub mod steady;

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::cost::{self, Cost};
use crate::engine::Counters;
use crate::error::{Error, Result};
use crate::generator::Generator;
use crate::host::{self, HostMemory};
use crate::ledger::Allocated;
use crate::program::{Part, Program};
use crate::session::Session;

/// What to measure, in tokens.
#[derive(Clone, Debug)]
pub struct Lengths {
    pub prompt: Vec<u32>,
    pub generate: Vec<u32>,
    /// In the cache before a measured answer begins.
    pub depth: u32,
    /// Measured repetitions of each row.
    pub repetitions: u32,
}

/// How to print.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    Md,
    Json,
    Csv,
}

/// What stands in front of every row.
pub struct Head<'a> {
    pub model: &'a str,
    pub precision: &'a str,
    pub device: &'a str,
    pub memory: Memory,
}

/// Memory once the weights are loaded.
#[derive(Clone, Copy, Debug, Default)]
pub struct Memory {
    /// By our own count, and at most while loading (staging buffers included).
    pub allocated: Option<Allocated>,
    /// Device-local memory as the driver counts it.
    pub driver_bytes: Option<u64>,
    pub host: Option<HostMemory>,
}

pub struct Row {
    /// `pp256`, `tg128`, `tg128@512`.
    pub test: String,
    pub tokens: u32,
    pub times: Vec<Duration>,
    /// Of one repetition.
    pub cost: Cost,
    /// What crossed the bus in the last repetition, while it was timed.
    pub bus: Bus,
    /// After the last repetition.
    pub host: Option<HostMemory>,
}

/// Bytes between host and device memory: what the host wrote and read, in buffers of either.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Bus {
    pub to_device_bytes: u64,
    pub to_host_bytes: u64,
}

impl Bus {
    fn since(before: Counters, after: Counters) -> Bus {
        Bus {
            to_device_bytes: after.to_device_bytes - before.to_device_bytes,
            to_host_bytes: after.to_host_bytes - before.to_host_bytes,
        }
    }
}

/// A repetition.
type Taken = (Duration, Bus);

/// Measures all rows, `part` being what a step runs; `told` hears of each row before it starts.
pub fn measure(
    session: &mut dyn Generator,
    program: &Program,
    part: Part,
    options: &Lengths,
    told: &mut dyn FnMut(&str),
) -> Result<Vec<Row>> {
    let decoder = program.decoder.as_ref().ok_or_else(|| {
        Error::usage("this model generates no tokens, so there is nothing to bench").hint("time `run` instead")
    })?;
    // All before the first is measured: what does not fit must not cost the rows that do.
    let (depth, context) = (options.depth.max(1), decoder.context);
    options.prompt.iter().try_for_each(|&tokens| fits(tokens, 0, context))?;
    options.generate.iter().filter(|&&n| n > 0).try_for_each(|&tokens| fits(depth, tokens, context))?;
    let mut rows = Vec::new();
    for &tokens in options.prompt.iter().filter(|&&n| n > 0) {
        let cost = cost::prompt(program, tokens, part).unwrap_or_default();
        let test = format!("pp{tokens}");
        told(&test);
        let mut run = |i| time_prompt(session, tokens, decoder.vocab, i);
        let (times, bus) = repeat(options.repetitions, &mut run)?;
        rows.push(Row { test, tokens, times, cost, bus, host: host::memory() });
    }
    for &tokens in options.generate.iter().filter(|&&n| n > 0) {
        let cost = cost::answer(program, depth, tokens, part).unwrap_or_default();
        let test = if options.depth > 0 { format!("tg{tokens}@{depth}") } else { format!("tg{tokens}") };
        told(&test);
        let mut run = |i| time_answer(session, depth, tokens, decoder.vocab, i);
        let (times, bus) = repeat(options.repetitions, &mut run)?;
        rows.push(Row { test, tokens, times, cost, bus, host: host::memory() });
    }
    Ok(rows)
}

/// A picture through its tower, pixels on their way to the device included; none where the program looks at none. Its tokens are the
/// picture's rows.
pub fn picture(session: &mut Session, repetitions: u32, told: &mut dyn FnMut(&str)) -> Result<Option<Row>> {
    let Some(pictures) = session.pictures() else { return Ok(None) };
    let program = session.engine().program();
    let Some(tower) = program.buckets.get(pictures.bucket as usize) else { return Ok(None) };
    let values = tower.inputs.iter().map(|p| p.bytes() / 4).sum::<u64>() as usize;
    let cost = cost::run(program, tower, Part::Whole);
    told("picture");
    let mut run = |i: u32| {
        let pixels = vec![0.01 * i as f32; values];
        let (before, start) = (session.counters(), Instant::now());
        session.show(0, &pixels)?;
        let time = start.elapsed();
        Ok((time, Bus::since(before, session.counters())))
    };
    let (times, bus) = repeat(repetitions, &mut run)?;
    Ok(Some(Row { test: "picture".into(), tokens: pictures.rows, times, cost, bus, host: host::memory() }))
}

fn fits(prompt: u32, answer: u32, context: u32) -> Result<()> {
    if prompt.saturating_add(answer) < context {
        return Ok(());
    }
    let what = format!("{prompt} tokens before and {answer} after do not fit the context of {context}");
    Err(Error::usage(what).at("bench").hint("give smaller -p, -n or -d"))
}

fn repeat(times: u32, run: &mut dyn FnMut(u32) -> Result<Taken>) -> Result<(Vec<Duration>, Bus)> {
    run(0)?;
    let taken: Vec<Taken> = (1..=times).map(run).collect::<Result<_>>()?;
    let bus = taken.last().map(|(_, bus)| *bus).unwrap_or_default();
    Ok((taken.into_iter().map(|(time, _)| time).collect(), bus))
}

/// Ids that differ from the first on, so that no row of the cache can be kept from one repetition to the next.
pub fn ids(count: u32, vocab: u32, repetition: u32) -> Vec<u32> {
    let vocab = vocab.max(1);
    (0..count)
        .map(|i| (repetition.wrapping_mul(101).wrapping_add(i.wrapping_mul(7919)).wrapping_add(1)) % vocab)
        .collect()
}

fn time_prompt(session: &mut dyn Generator, tokens: u32, vocab: u32, repetition: u32) -> Result<Taken> {
    let ids = ids(tokens, vocab, repetition);
    let (before, start) = (session.counters(), Instant::now());
    session.begin(&ids, 1)?;
    let time = start.elapsed();
    Ok((time, Bus::since(before, session.counters())))
}

/// The prompt gives the first token; the `tokens` after it are timed.
fn time_answer(session: &mut dyn Generator, depth: u32, tokens: u32, vocab: u32, repetition: u32) -> Result<Taken> {
    session.begin(&ids(depth, vocab, repetition), tokens + 1)?;
    let mut sampled = Vec::with_capacity(tokens as usize + 1);
    let (before, start) = (session.counters(), Instant::now());
    while session.advance(&mut sampled)?.is_none() {}
    let time = start.elapsed();
    if sampled.len() as u32 != tokens + 1 {
        return Err(Error::other(format!("{} tokens came instead of {}", sampled.len(), tokens + 1)).at("bench"));
    }
    Ok((time, Bus::since(before, session.counters())))
}

impl Row {
    /// Median, least and most tokens a second.
    fn rates(&self) -> [f64; 3] {
        let mut rates: Vec<f64> =
            self.times.iter().map(|t| f64::from(self.tokens) / t.as_secs_f64().max(1e-9)).collect();
        rates.sort_by(f64::total_cmp);
        let at = |i: usize| rates.get(i).copied().unwrap_or(0.0);
        let n = rates.len();
        let median = if n == 0 { 0.0 } else { (at((n - 1) / 2) + at(n / 2)) / 2.0 };
        [median, at(0), at(n.saturating_sub(1))]
    }

    fn a_token(&self, total: u64) -> f64 {
        total as f64 / f64::from(self.tokens.max(1))
    }

    fn cells(&self) -> [String; 8] {
        let [median, least, most] = self.rates();
        let megabytes = self.a_token(self.cost.bytes()) / 1e6;
        [
            format!("{median:.2}"),
            format!("{least:.2}"),
            format!("{most:.2}"),
            format!("{:.3}", 1e3 / median.max(1e-9)),
            format!("{megabytes:.2}"),
            format!("{:.1}", megabytes * median / 1e3),
            format!("{:.1}", self.a_token(self.cost.dispatches)),
            format!("{:.1}", self.a_token(self.cost.barriers)),
        ]
    }
}

const COLUMNS: [&str; 12] = [
    "model",
    "precision",
    "device",
    "test",
    "t/s",
    "min",
    "max",
    "ms/token",
    "MB/token",
    "GB/s",
    "dispatches/token",
    "barriers/token",
];

/// The rows as text, the last line without its end.
pub fn print(head: &Head, rows: &[Row], table: Table) -> String {
    let cells = |row: &Row| -> Vec<String> {
        let first = [head.model, head.precision, head.device, &row.test].map(str::to_owned);
        first.into_iter().chain(row.cells()).collect()
    };
    let json = rows.iter().map(|r| r.json(head));
    let rows = rows.iter().map(cells);
    let top = COLUMNS.map(str::to_owned).to_vec();
    match table {
        Table::Md => md(4, std::iter::once(top).chain(rows)),
        Table::Csv => csv(std::iter::once(top).chain(rows)),
        Table::Json => Value::Array(json.collect()).to_string(),
    }
}

/// Lines of Markdown, the first a title; all but the first `texts` columns are numbers.
fn md(texts: usize, mut lines: impl Iterator<Item = Vec<String>>) -> String {
    let line = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
    let title = lines.next().unwrap_or_default();
    let rule = (0..title.len()).map(|i| if i < texts { "---" } else { "---:" }).collect::<Vec<_>>().join("|");
    let top = [line(title), format!("|{rule}|")];
    top.into_iter().chain(lines.map(line)).collect::<Vec<_>>().join("\n")
}

fn csv(lines: impl Iterator<Item = Vec<String>>) -> String {
    let quoted = |cell: String| {
        if cell.contains([',', '"', '\n']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell }
    };
    let line = |cells: Vec<String>| cells.into_iter().map(quoted).collect::<Vec<_>>().join(",");
    lines.map(line).collect::<Vec<_>>().join("\n")
}

impl Row {
    fn json(&self, head: &Head) -> Value {
        let [median, least, most] = self.rates();
        json!({
            "model": head.model,
            "precision": head.precision,
            "device": head.device,
            "test": self.test,
            "tokens": self.tokens,
            "seconds": self.times.iter().map(Duration::as_secs_f64).collect::<Vec<_>>(),
            "tokens_per_second": {"median": median, "min": least, "max": most},
            "weight_bytes_per_token": self.a_token(self.cost.weight_bytes),
            "cache_bytes_per_token": self.a_token(self.cost.cache_bytes),
            "dispatches_per_token": self.a_token(self.cost.dispatches),
            "barriers_per_token": self.a_token(self.cost.barriers),
            "host_to_device_bytes_per_token": self.a_token(self.bus.to_device_bytes),
            "device_to_host_bytes_per_token": self.a_token(self.bus.to_host_bytes),
            "memory": {
                "allocated_bytes": head.memory.allocated.map(|a| a.now_bytes),
                "allocated_peak_bytes": head.memory.allocated.map(|a| a.peak_bytes),
                "driver_bytes": head.memory.driver_bytes,
                "host_loaded": head.memory.host,
                "host_after": self.host,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::Done;

    /// Gives as many tokens as asked for and keeps the prompts.
    #[derive(Default)]
    struct Fast {
        prompts: Vec<Vec<u32>>,
        left: u32,
    }

    impl Generator for Fast {
        fn begin(&mut self, ids: &[u32], limit: u32) -> Result<()> {
            self.prompts.push(ids.to_vec());
            self.left = limit;
            Ok(())
        }

        fn advance(&mut self, tokens: &mut Vec<u32>) -> Result<Option<Done>> {
            tokens.push(0);
            self.left -= 1;
            Ok((self.left == 0).then_some(Done::Limit))
        }
    }

    fn options(prompt: &[u32], generate: &[u32], depth: u32) -> Lengths {
        let (prompt, generate) = (prompt.to_vec(), generate.to_vec());
        Lengths { prompt, generate, depth, repetitions: 3 }
    }

    #[test]
    fn each_row_has_one_unmeasured_run_and_no_prompt_begins_like_another() {
        let mut session = Fast::default();
        let rows =
            measure(&mut session, &cost::tests::toy(), Part::Whole, &options(&[8], &[4], 2), &mut |_| {}).unwrap();
        let tests: Vec<&str> = rows.iter().map(|r| r.test.as_str()).collect();
        assert_eq!((tests, rows[0].times.len(), session.prompts.len()), (vec!["pp8", "tg4@2"], 3, 8));
        let firsts: Vec<u32> = session.prompts[..4].iter().map(|ids| ids[0]).collect();
        assert_eq!(firsts.windows(2).filter(|w| w[0] == w[1]).count(), 0, "{firsts:?}");
        assert!(session.prompts.iter().flatten().all(|&id| id < 10));
    }

    #[test]
    fn what_does_not_fit_the_context_is_refused_with_the_numbers() {
        let error =
            measure(&mut Fast::default(), &cost::tests::toy(), Part::Whole, &options(&[], &[60], 40), &mut |_| {})
                .err()
                .unwrap();
        assert!(error.to_string().contains("40 tokens before and 60 after do not fit the context of 100"), "{error}");
    }

    #[test]
    fn rows_print_as_markdown_csv_and_json() {
        let ms = Duration::from_millis;
        let cost = Cost { dispatches: 20, barriers: 10, weight_bytes: 4_000_000, cache_bytes: 0 };
        let bus = Bus { to_device_bytes: 0, to_host_bytes: 136 };
        let rows = [Row { test: "tg2".into(), tokens: 2, times: vec![ms(20), ms(10), ms(40)], cost, bus, host: None }];
        let memory = Memory::default();
        let head = Head { model: "m", precision: "fp16", device: "soft, \"x\"", memory };
        let md = print(&head, &rows, Table::Md);
        let last = "| m | fp16 | soft, \"x\" | tg2 | 100.00 | 50.00 | 200.00 | 10.000 | 2.00 | 0.2 | 10.0 | 5.0 |";
        assert_eq!(md.lines().last(), Some(last));
        let csv = print(&head, &rows, Table::Csv);
        assert_eq!(
            csv.lines().last(),
            Some("m,fp16,\"soft, \"\"x\"\"\",tg2,100.00,50.00,200.00,10.000,2.00,0.2,10.0,5.0")
        );
        let json: Value = serde_json::from_str(&print(&head, &rows, Table::Json)).unwrap();
        assert_eq!(
            (&json[0]["tokens_per_second"]["median"], &json[0]["dispatches_per_token"]),
            (&json!(100.0), &json!(10.0))
        );
        let bus = (&json[0]["host_to_device_bytes_per_token"], &json[0]["device_to_host_bytes_per_token"]);
        assert_eq!(bus, (&json!(0.0), &json!(68.0)));
    }
}
