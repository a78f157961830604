//! Arms of the experiment. In: a program and how many bytes of weights a decode step is to read from host memory. Out: which tensors
//! leave the device. Promise: no device is asked; a step reads at most what was asked for, and what the model is too small for is said.

use std::fmt;
use std::str::FromStr;

use crate::engine::Options;
use crate::memory::decimal;
use crate::program::Program;
use crate::residency::{Bytes, Offload, away};

/// How much leaves the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arm {
    /// Bytes of weights that a decode step reads from host memory, each counted once.
    Bytes(u64),
    /// All weights, those included that a step reads a few rows of.
    All,
}

impl FromStr for Arm {
    type Err = String;

    fn from_str(text: &str) -> Result<Arm, String> {
        if text.trim() == "all" {
            return Ok(Arm::All);
        }
        match text.parse::<Bytes>() {
            Ok(Bytes(0)) => Err("an arm of 0 bytes is the baseline, which is always there".into()),
            Ok(Bytes(bytes)) => Ok(Arm::Bytes(bytes)),
            Err(bad) => Err(format!("{bad}, or all")),
        }
    }
}

impl fmt::Display for Arm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Arm::Bytes(bytes) => f.write_str(&decimal(*bytes)),
            Arm::All => f.write_str("all"),
        }
    }
}

/// Powers of two below and above the band of 0.44 to 0.65 GB, steps of 0.04 GB through it, and everything.
pub fn usual() -> Vec<Arm> {
    let band = [400, 440, 480, 520, 560, 600, 650, 700].map(|mb| mb * 1_000_000);
    let below = (26..=28).map(|power| 1 << power);
    let above = (30..=35).map(|power| 1 << power);
    below.chain(band).chain(above).map(Arm::Bytes).chain([Arm::All]).collect()
}

/// An arm that this program can run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Chosen {
    pub arm: Arm,
    /// Tensors that leave the device, in pool order.
    pub tensors: Vec<usize>,
}

/// What becomes of all the arms that were asked for: those to run, and those left out with the reason.
pub fn choose(program: &Program, arms: &[Arm]) -> (Vec<Chosen>, Vec<(Arm, String)>) {
    let (mut chosen, mut left_out): (Vec<Chosen>, Vec<(Arm, String)>) = (Vec::new(), Vec::new());
    for &arm in arms {
        let tensors = match arm {
            Arm::All => Ok((0..program.tensors.len()).collect()),
            Arm::Bytes(most) => away(program, most),
        };
        match tensors {
            Err(why) => left_out.push((arm, why)),
            Ok(tensors) => match chosen.iter().find(|c| c.tensors == tensors) {
                Some(same) => left_out.push((arm, format!("the same tensors as {}", same.arm))),
                None => chosen.push(Chosen { arm, tensors }),
            },
        }
    }
    (chosen, left_out)
}

impl Chosen {
    /// What an engine is opened with.
    pub fn options(&self, offload: Offload, host_copies: bool) -> Options {
        let (gpu_budget, away) = match self.arm {
            Arm::All => (Some(0), None),
            Arm::Bytes(bytes) => (None, Some(bytes)),
        };
        Options { gpu_budget, away, offload, host_copies, ..Options::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost;

    fn parsed(text: &str) -> Result<Arm, String> {
        text.parse()
    }

    #[test]
    fn arms_are_bytes_or_all() {
        assert_eq!(
            (parsed("all"), parsed("512M"), parsed("1000")),
            (Ok(Arm::All), Ok(Arm::Bytes(512 << 20)), Ok(Arm::Bytes(1000)))
        );
        assert!(parsed("0").unwrap_err().contains("baseline"));
        assert!(parsed("0.4X").unwrap_err().ends_with("or all"), "{:?}", parsed("0.4X"));
        for bad in ["", "everything", "-1", "1e9", "G"] {
            assert!(parsed(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_usual_arms_rise_through_the_band_to_everything() {
        let arms = usual();
        let sizes: Vec<u64> = arms.iter().filter_map(|a| if let Arm::Bytes(b) = a { Some(*b) } else { None }).collect();
        assert!(sizes.is_sorted() && arms.last() == Some(&Arm::All));
        assert!(sizes.iter().filter(|b| (440_000_000..=650_000_000).contains(*b)).count() >= 5);
    }

    #[test]
    fn a_step_reads_no_more_than_the_arm_says_and_layers_go_in_order() {
        // Two layers of 64 bytes each, then a head of 1,000 that the lookup shares.
        let program = cost::tests::toy();
        let arms = [
            Arm::Bytes(10),
            Arm::Bytes(64),
            Arm::Bytes(100),
            Arm::Bytes(200),
            Arm::Bytes(1064),
            Arm::Bytes(1129),
            Arm::All,
        ];
        let (chosen, left_out) = choose(&program, &arms);
        let of: Vec<(Arm, &[usize])> = chosen.iter().map(|c| (c.arm, &c.tensors[..])).collect();
        assert_eq!(of, [(Arm::Bytes(64), &[1][..]), (Arm::Bytes(200), &[1, 2]), (Arm::All, &[0, 1, 2])]);
        let why: Vec<(Arm, &str)> = left_out.iter().map(|(arm, why)| (*arm, why.as_str())).collect();
        assert_eq!(why[0], (Arm::Bytes(10), "no tensor is that small"));
        assert_eq!(why[1], (Arm::Bytes(100), "the same tensors as 64 B"));
        assert_eq!(why[2], (Arm::Bytes(1064), "the same tensors as 200 B"));
        assert_eq!(why[3], (Arm::Bytes(1129), "a step of this model reads 1.1 kB"));
        let options = chosen.iter().map(|c| c.options(Offload::Stream, false));
        let places: Vec<_> = options.map(|o| (o.gpu_budget, o.away)).collect();
        assert_eq!(places, [(None, Some(64)), (None, Some(200)), (Some(0), None)]);
    }

    #[test]
    fn a_graph_that_is_no_decoder_has_no_steps() {
        let program = Program { decoder: None, ..cost::tests::toy() };
        assert_eq!(choose(&program, &[Arm::Bytes(64)]).1[0].1, "a step of this model reads 0 B");
    }
}
