//! The experiment. In: a plan, and how an engine is opened. Out: a report. Promise: the baseline is this device's own, with all weights
//! on it; every arm has an engine of its own; bytes are what counters say, not what was asked for.

use super::arms::{Arm, Chosen, choose};
use super::report::{Report, Row, Stale};
use crate::bench::steady::{Answer, answer, milliseconds, parting};
use crate::engine::{Counters, Options, Seen};
use crate::error::{Error, Kind, Result};
use crate::hasher::Hasher;
use crate::program::{Part, Program};
use crate::residency::{Home, Offload};
use crate::session::Session;
use crate::weights::WeightSource;

/// What to do.
#[derive(Clone, Debug)]
pub struct Plan {
    pub arms: Vec<Arm>,
    /// Read in place, streamed, or both.
    pub ways: Vec<Offload>,
    pub prompt: Vec<u32>,
    /// Of an answer.
    pub tokens: u32,
    /// Answers of an arm that are timed; one more comes before and one, whose every step is hashed, behind.
    pub repeat: u32,
    /// Weights with the host are copies, even where the driver would take the pool's own pages.
    pub host_copies: bool,
    /// A tensor that a bit is turned over of, in host memory, once it has been found right: to see that the rest notices.
    pub fault: Option<String>,
}

/// Makes a session that is greedy and stops nowhere.
pub type Open<'a> = &'a mut dyn FnMut(Options) -> Result<Session>;

/// What all arms have in common.
struct Setup<'a> {
    program: &'a Program,
    plan: &'a Plan,
    /// hash64 of every tensor, from before any engine was opened.
    packed: Vec<u64>,
    fault: Option<usize>,
    baseline: Vec<u32>,
}

/// Runs the baseline and all arms; `told` hears of each before it starts.
pub fn run(
    program: &Program,
    weights: &WeightSource,
    plan: &Plan,
    open: Open,
    told: &mut dyn FnMut(&str),
) -> Result<Report> {
    if program.decoder.is_none() {
        return Err(Error::usage("this model generates no tokens, so there are none to compare"));
    }
    let (chosen, left_out) = choose(program, &plan.arms);
    if chosen.is_empty() {
        let why: Vec<String> = left_out.iter().map(|(arm, why)| format!("{arm}: {why}")).collect();
        let what = format!("no arm can be run ({})", why.join("; "));
        return Err(Error::usage(what).at("--arms").hint("give smaller ones, or all"));
    }
    let fault = plan.fault.as_deref().map(|name| find(program, &chosen, name)).transpose()?;
    told("hashes");
    let mut setup = Setup { program, plan, packed: weights.hashes(program)?, fault, baseline: Vec::new() };
    told("all weights on the device");
    let mut session = open(Options::default())?;
    let baseline = setup.measure(&mut session, None)?;
    drop(session);
    setup.baseline = baseline.tokens.clone();
    let mut arms = Vec::new();
    for &way in &plan.ways {
        for arm in &chosen {
            told(&format!("{} {}", arm.arm, super::report::verb(way)));
            let copies = plan.host_copies || fault.is_some();
            let mut session = open(arm.options(way, copies))?;
            arms.push(setup.measure(&mut session, Some((arm.arm, way)))?);
        }
    }
    Ok(Report { baseline, arms, left_out })
}

/// The tensor to alter, which some arm must take off the device.
fn find(program: &Program, chosen: &[Chosen], name: &str) -> Result<usize> {
    let unknown = || {
        let some: Vec<&str> = program.tensors.iter().take(3).map(|t| t.name.as_ref()).collect();
        Error::usage(format!("there is no tensor '{name}'")).at("--fault").hint(format!("such as {}", some.join(", ")))
    };
    let tensor = program.tensors.iter().position(|t| t.name == name).ok_or_else(unknown)?;
    if !chosen.iter().any(|arm| arm.tensors.contains(&tensor)) {
        return Err(Error::usage(format!("no arm takes '{name}' off the device"))
            .at("--fault")
            .hint("add the arm all"));
    }
    Ok(tensor)
}

impl Setup<'_> {
    /// One arm, or the baseline: hashes, answers, an answer with a hash in every step, hashes.
    fn measure(&self, session: &mut Session, arm: Option<(Arm, Offload)>) -> Result<Row> {
        let hasher = Hasher::new(session.engine().device())?;
        let wanted = |home: Home| arm.is_none() || home != Home::Resident;
        let mut row = Row { arm, ..Row::default() };
        self.standing(session, &hasher, &wanted, "before the tokens", &mut row)?;
        if let (Some(tensor), Some(_)) = (self.fault, arm) {
            let home = session.engine().weight_extents()[tensor].home;
            if home != Home::Resident {
                session.engine().alter(tensor)?;
            }
        }
        let mut answers = Vec::new();
        for _ in 0..self.plan.repeat + 1 {
            answers.push(answer(session, &self.plan.prompt, self.plan.tokens - 1)?);
        }
        let decode = self.program.decoder.as_ref().map_or(0, |d| d.decode);
        session.engine().watch(&hasher, decode, Part::Whole)?;
        answers.push(answer(session, &self.plan.prompt, self.plan.tokens - 1)?);
        let seen = session.engine().watched()?;
        self.hold(session, &seen, "during the tokens", &mut row)?;
        self.standing(session, &hasher, &wanted, "after the tokens", &mut row)?;
        self.tell(session, &answers, &mut row);
        Ok(row)
    }

    fn standing(
        &self,
        session: &mut Session,
        hasher: &Hasher,
        wanted: &dyn Fn(Home) -> bool,
        when: &'static str,
        row: &mut Row,
    ) -> Result<()> {
        let seen = session.engine().hash_extents(hasher, wanted)?;
        row.tensors = seen.len();
        self.hold(session, &seen, when, row)
    }

    /// Holds what was seen against what was packed.
    fn hold(&self, session: &mut Session, seen: &[Seen], when: &'static str, row: &mut Row) -> Result<()> {
        for one in seen {
            let packed = self.packed.get(one.tensor).copied();
            let packed = packed.ok_or_else(|| Error::new(Kind::Program, "a tensor that was not packed"))?;
            row.compared += 1;
            if !one.is(packed) {
                let tensor = self.program.tensors[one.tensor].name.to_string();
                let host = session.engine().host_hash(one.tensor)?.map(|now| now == packed);
                let (wanted, hash) = (one.wanted(packed), one.hash());
                row.stale.push(Stale { tensor, when, wanted, seen: hash, times: one.times, host_is_right: host });
            }
        }
        Ok(())
    }

    /// The first answer warms up, the last one's time holds hashing too.
    fn tell(&self, session: &mut Session, answers: &[Answer], row: &mut Row) {
        let timed = &answers[1..answers.len() - 1];
        let times: Vec<_> = timed.iter().map(|a| a.time).collect();
        let spent = timed.iter().fold(Counters::default(), |sum, a| a.spent.and(&sum));
        row.ms_per_token = milliseconds(&times, self.plan.tokens - 1);
        row.step_bytes = spent.distinct_bytes / spent.replays.max(1);
        row.moved_bytes = (spent.read_in_place_bytes + spent.copied_in_bytes) / spent.replays.max(1);
        row.host_bytes = spent.mapped_bytes + spent.streamed_bytes;
        row.pages = session.engine().uses_pages();
        row.tokens = answers.first().map(|a| a.tokens.clone()).unwrap_or_default();
        let want = if row.arm.is_none() { &row.tokens } else { &self.baseline };
        let parts = |(i, a): (usize, &Answer)| parting(want, &a.tokens).map(|(at, w, h)| (i + 1, at, w, h));
        row.parted = answers.iter().enumerate().find_map(parts);
    }
}
