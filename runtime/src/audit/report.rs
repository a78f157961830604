//! What came of it. In: rows of the experiment. Out: a table, JSON, a verdict in one line. Promise: stale data goes before tokens that
//! differ, and only arms that ran count.

use serde_json::{Value, json};

use super::arms::Arm;
use crate::error::{Error, Kind, Result};
use crate::memory::decimal;
use crate::residency::Offload;

/// A tensor that the device did not read as it was packed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stale {
    pub tensor: String,
    /// `before the tokens`, `during the tokens`, `after the tokens`.
    pub when: &'static str,
    pub wanted: u64,
    pub seen: u64,
    /// How often it was read; hashes of several rounds are added up.
    pub times: u64,
    /// Whether the host still reads what was packed: then it is the device that does not. None where only the device has it.
    pub host_is_right: Option<bool>,
}

/// The baseline, or an arm.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Row {
    /// None is the baseline.
    pub arm: Option<(Arm, Offload)>,
    /// The host's weights are the pool's own pages.
    pub pages: bool,
    /// What was hashed: those with the host, in the baseline all.
    pub tensors: usize,
    /// Of weights with the host.
    pub host_bytes: u64,
    /// That a decode step read there or had copied from there, by the engine's counters, each byte once.
    pub step_bytes: u64,
    /// The same, each byte as often as a dispatch read it or it was copied.
    pub moved_bytes: u64,
    /// Median, least, most.
    pub ms_per_token: [f64; 3],
    pub tokens: Vec<u32>,
    /// The first answer that differs: its number, the token's index, the baseline's token, its own.
    pub parted: Option<(usize, usize, u32, u32)>,
    /// Hashes that were compared.
    pub compared: usize,
    pub stale: Vec<Stale>,
}

pub struct Report {
    pub baseline: Row,
    pub arms: Vec<Row>,
    /// Arms that were not run, with the reason.
    pub left_out: Vec<(Arm, String)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    Clean,
    /// A hash says that the device read other bytes than those packed.
    Stale,
    /// Every hash is right, and yet tokens differ.
    Differs,
}

impl Verdict {
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Clean => "clean",
            Verdict::Stale => "stale data",
            Verdict::Differs => "tokens differ",
        }
    }
}

pub fn verb(way: Offload) -> &'static str {
    match way {
        Offload::Stream => "streamed",
        Offload::Read | Offload::Auto => "read in place",
    }
}

impl Row {
    fn name(&self) -> String {
        self.arm.map_or("baseline".into(), |(arm, _)| arm.to_string())
    }

    fn way(&self) -> String {
        let Some((_, way)) = self.arm else { return "on the device".into() };
        format!("{}, {}", verb(way), if self.pages { "the pool's pages" } else { "a copy" })
    }

    fn cells(&self) -> [String; 8] {
        let [median, least, most] = self.ms_per_token;
        let tokens = match self.parted {
            None => "equal".into(),
            Some((answer, at, ..)) => format!("answer {answer} differs from token {at} on"),
        };
        [
            self.name(),
            self.way(),
            decimal(self.step_bytes),
            decimal(self.host_bytes),
            format!("{median:.3}"),
            format!("{least:.3} {most:.3}"),
            tokens,
            format!("{} of {}", self.compared - self.stale.len(), self.compared),
        ]
    }

    fn json(&self) -> Value {
        let [median, min, max] = self.ms_per_token;
        let stale = self.stale.iter().map(|s| {
            let hex = |h: u64| format!("{h:016x}");
            json!({"tensor": s.tensor, "when": s.when, "wanted": hex(s.wanted), "seen": hex(s.seen), "times": s.times,
                "host_is_right": s.host_is_right})
        });
        let parted = self
            .parted
            .map(|(answer, at, want, have)| json!({"answer": answer, "token": at, "baseline": want, "arm": have}));
        json!({
            "arm": self.name(), "way": self.arm.map(|(_, way)| verb(way)), "pool_pages": self.pages,
            "step_bytes": self.step_bytes, "moved_bytes": self.moved_bytes, "host_bytes": self.host_bytes, "tensors_hashed": self.tensors,
            "hashes_compared": self.compared, "ms_per_token": {"median": median, "min": min, "max": max},
            "tokens": self.tokens, "tokens_equal": self.parted.is_none(), "parted": parted, "stale": stale.collect::<Vec<_>>(),
        })
    }
}

const COLUMNS: [&str; 8] = [
    "arm",
    "weights with the host",
    "read a step",
    "with the host",
    "ms/token",
    "min max",
    "tokens",
    "hashes as packed",
];

impl Report {
    fn rows(&self) -> impl Iterator<Item = &Row> {
        std::iter::once(&self.baseline).chain(&self.arms)
    }

    pub fn verdict(&self) -> Verdict {
        if self.rows().any(|r| !r.stale.is_empty()) {
            Verdict::Stale
        } else if self.rows().any(|r| r.parted.is_some()) {
            Verdict::Differs
        } else {
            Verdict::Clean
        }
    }

    /// The verdict in one line.
    pub fn sentence(&self) -> String {
        let count = |bad: fn(&Row) -> bool| self.rows().filter(|r| bad(r)).count();
        let of = self.arms.len();
        match self.verdict() {
            Verdict::Clean => {
                let most = self.arms.iter().map(|r| r.step_bytes).max().unwrap_or(0);
                format!(
                    "clean: {of} arms, up to {} a step from host memory; all hashes as packed, all tokens the baseline's",
                    decimal(most)
                )
            }
            Verdict::Stale => {
                let first = self.rows().find_map(|r| r.stale.first().map(|s| (r, s)));
                let (name, tensor, when, whose) = first.map_or(Default::default(), |(r, s)| {
                    let whose = match s.host_is_right {
                        Some(true) => "; the host still reads what was packed",
                        Some(false) => "; the host, too, reads other bytes than were packed",
                        None => "",
                    };
                    (format!("{} {}", r.name(), r.way()), s.tensor.as_str(), s.when, whose)
                });
                let bad = count(|r| !r.stale.is_empty());
                format!(
                    "stale data in {bad} of {of} arms, first in {name}: '{tensor}' {when} is not what was packed{whose}"
                )
            }
            Verdict::Differs => {
                let bad = count(|r| r.parted.is_some());
                format!("tokens differ in {bad} of {of} arms, though all hashes are as packed")
            }
        }
    }

    /// An error of the verdict's exit code, unless it is clean.
    pub fn result(&self) -> Result<()> {
        let kind = match self.verdict() {
            Verdict::Clean => return Ok(()),
            Verdict::Stale => Kind::Stale,
            Verdict::Differs => Kind::Differs,
        };
        Err(Error::new(kind, self.sentence()).at("residency"))
    }

    pub fn text(&self) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let mut out = line(&COLUMNS.map(str::to_owned));
        out.push_str("|---|---|---:|---:|---:|---:|---|---:|\n");
        self.rows().for_each(|r| out.push_str(&line(&r.cells())));
        for (arm, why) in &self.left_out {
            out.push_str(&format!("left out {arm}: {why}\n"));
        }
        for row in self.rows() {
            for s in &row.stale {
                let rounds = if s.times == 1 { String::new() } else { format!(", sums of {} reads", s.times) };
                let hashes = format!("{:016x} instead of {:016x}{rounds}", s.seen, s.wanted);
                out.push_str(&format!("{} {}: '{}' {}: {hashes}\n", row.name(), row.way(), s.tensor, s.when));
            }
        }
        out.push_str(&format!("{}\n", self.sentence()));
        out
    }

    pub fn json(&self) -> Value {
        let left_out = self.left_out.iter().map(|(arm, why)| json!({"arm": arm.to_string(), "why": why}));
        json!({
            "baseline": self.baseline.json(), "arms": self.arms.iter().map(Row::json).collect::<Vec<_>>(),
            "left_out": left_out.collect::<Vec<_>>(), "verdict": self.verdict().name(), "sentence": self.sentence(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(bytes: u64, way: Offload) -> Row {
        Row { arm: Some((Arm::Bytes(bytes), way)), step_bytes: bytes, compared: 4, ..Row::default() }
    }

    fn report(arms: Vec<Row>) -> Report {
        let left_out = vec![(Arm::Bytes(4_000_000_000), "a step of this model reads 0.990 GB".into())];
        Report { baseline: Row { compared: 9, ..Row::default() }, arms, left_out }
    }

    fn stale(host_is_right: Option<bool>) -> Stale {
        let (tensor, when) = ("w".to_string(), "during the tokens");
        Stale { tensor, when, wanted: 1, seen: 2, times: 15, host_is_right }
    }

    #[test]
    fn a_clean_report_says_how_far_it_went_and_what_was_left_out() {
        let report = report(vec![row(440_000_000, Offload::Read), row(650_000_000, Offload::Stream)]);
        assert_eq!(report.verdict(), Verdict::Clean);
        report.result().unwrap();
        let text = report.text();
        assert!(text.ends_with(
            "clean: 2 arms, up to 0.650 GB a step from host memory; all hashes as packed, all tokens the baseline's\n"
        ));
        assert!(text.contains("left out 4.000 GB: a step of this model reads 0.990 GB\n"), "{text}");
        assert!(text.contains("| 0.440 GB | read in place, a copy | 0.440 GB |"), "{text}");
    }

    #[test]
    fn one_hash_is_enough_for_stale_data_even_if_all_tokens_agree() {
        let bad = Row { stale: vec![stale(Some(true))], ..row(440_000_000, Offload::Read) };
        let report = report(vec![row(1_000, Offload::Read), bad]);
        let error = report.result().unwrap_err();
        assert_eq!((report.verdict(), error.exit_code()), (Verdict::Stale, 10));
        let says = "stale data in 1 of 2 arms, first in 0.440 GB read in place, a copy: 'w' during the tokens is not what was packed; \
                    the host still reads what was packed";
        assert_eq!(error.to_string(), format!("residency: {says}"));
        let text = report.text();
        assert!(
            text.contains("'w' during the tokens: 0000000000000002 instead of 0000000000000001, sums of 15 reads\n"),
            "{text}"
        );
        assert_eq!(
            (&report.json()["verdict"], &report.json()["arms"][1]["stale"][0]["tensor"]),
            (&"stale data".into(), &"w".into())
        );
    }

    #[test]
    fn tokens_that_differ_though_hashes_agree_are_a_verdict_of_their_own_and_stale_data_goes_before() {
        let parted = Row { parted: Some((2, 7, 5, 6)), ..row(1_000, Offload::Stream) };
        let report = self::report(vec![parted.clone()]);
        assert_eq!((report.verdict(), report.result().unwrap_err().exit_code()), (Verdict::Differs, 9));
        assert!(report.text().contains("| answer 2 differs from token 7 on |"));
        let both = Row { stale: vec![stale(None)], ..parted };
        assert_eq!(self::report(vec![both]).verdict(), Verdict::Stale);
    }
}
