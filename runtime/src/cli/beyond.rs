//! `info` on weights beyond a budget. In: a program, a wish, a device's limits. Out: what each way would keep where and move. Promise: it
//! is what an engine with those flags counts.

use serde_json::{Value, json};

use crate::device::Limits;
use crate::error::Result;
use crate::layout::{MemoryPlan, memory_plan};
use crate::memory::human;
use crate::program::{Part, Program};
use crate::residency::{Moves, Offload, Residency, Standing, Wish};

/// One way of dealing with weights beyond the budget.
#[derive(Debug)]
pub struct Way {
    pub offload: Offload,
    standing: Standing,
    ring_bytes: u64,
    /// A decode step, or one run of a program that is no decoder.
    step: Moves,
    /// A chunk of a prompt with its head.
    chunk: Option<Moves>,
}

impl Way {
    fn new(program: &Program, limits: &Limits, wish: Wish) -> Result<Way> {
        let plan = Residency::plan(program, wish, limits)?;
        let moves = |bucket: u32| {
            program.buckets.get(bucket as usize).map(|b| plan.moves(program, b, Part::Whole)).unwrap_or_default()
        };
        let decoder = program.decoder.as_ref();
        Ok(Way {
            offload: wish.offload,
            standing: plan.standing(program),
            ring_bytes: plan.ring_bytes(),
            step: moves(decoder.map_or(0, |d| d.decode)),
            chunk: decoder.map(|d| moves(d.prefill)),
        })
    }

    fn ms(&self, link: f64) -> f64 {
        self.step.bytes() as f64 / link / 1e6
    }

    fn json(&self, link: Option<f64>) -> Value {
        let moves = |m: &Moves| json!({"in_place_bytes": m.in_place_bytes, "copied_bytes": m.copied_bytes});
        json!({
            "offload": name(self.offload), "resident_bytes": self.standing.resident_bytes,
            "mapped_bytes": self.standing.mapped_bytes, "streamed_bytes": self.standing.streamed_bytes,
            "ring_bytes": self.ring_bytes, "step": moves(&self.step), "chunk": self.chunk.as_ref().map(moves),
            "least_ms_per_step": link.map(|l| self.ms(l)),
        })
    }
}

fn name(offload: Offload) -> &'static str {
    match offload {
        Offload::Auto => "auto",
        Offload::Read => "read",
        Offload::Stream => "stream",
    }
}

/// What becomes of weights beyond a budget, by way; none of it where everything may be resident.
#[derive(Debug)]
pub struct Beyond {
    pub budget: u64,
    ways: Vec<Way>,
    /// Bytes that a copy of host weights would take, and whether the pool's own pages may do instead.
    host_bytes: u64,
    in_pages: bool,
    link: Option<f64>,
}

/// The memory plan of a wish, and with a budget what each way would do. `link` is the rate of the link to the host in GB/s, if known.
pub fn plan(program: &Program, limits: &Limits, wish: Wish, link: Option<f64>) -> Result<(MemoryPlan, Option<Beyond>)> {
    let memory = memory_plan(program, limits, &Residency::plan(program, wish, limits)?)?;
    let Some(budget) = wish.budget else { return Ok((memory, None)) };
    let all = [Offload::Read, Offload::Stream, Offload::Auto];
    // A way that the device cannot go is left out.
    let ways = all.into_iter().filter_map(|offload| Way::new(program, limits, Wish { offload, ..wish }).ok()).collect();
    let in_pages = limits.import_align > 0;
    let beyond = Beyond { budget, ways, host_bytes: memory.host_bytes, in_pages, link };
    Ok((memory, Some(beyond)))
}

impl Beyond {
    pub fn text(&self) -> String {
        let mut out = format!("weights beyond a budget of {}\n", human(self.budget));
        let mut row = |name: &str, cell: &dyn Fn(&Way) -> String| {
            let cells: String = self.ways.iter().map(|w| format!("{:>12}", cell(w))).collect();
            out.push_str(&format!("  {name:<22}{cells}\n"));
        };
        row("--offload", &|w| name(w.offload).into());
        row("resident", &|w| human(w.standing.resident_bytes));
        row("read in place", &|w| human(w.standing.mapped_bytes));
        row("streamed", &|w| human(w.standing.streamed_bytes));
        row("ring, beside them", &|w| human(w.ring_bytes));
        row("a step reads", &|w| human(w.step.in_place_bytes));
        row("a step copies", &|w| human(w.step.copied_bytes));
        if self.ways.iter().any(|w| w.chunk.is_some()) {
            row("a chunk reads", &|w| human(w.chunk.map_or(0, |m| m.in_place_bytes)));
            row("a chunk copies", &|w| human(w.chunk.map_or(0, |m| m.copied_bytes)));
        }
        if let Some(link) = self.link {
            row(&format!("ms a step at {link} GB/s"), &|w| format!("{:.2}", w.ms(link)));
        }
        let copy = human(self.host_bytes);
        out.push_str(&match self.in_pages {
            true => {
                format!("  with the host: the pool's own pages where the driver takes them, else a copy of {copy}\n")
            }
            false => format!("  with the host: a copy of {copy}, as this device cannot use the pool's own pages\n"),
        });
        out
    }

    pub fn json(&self) -> Value {
        json!({
            "budget_bytes": self.budget, "host_copy_bytes": self.host_bytes, "pool_pages": self.in_pages,
            "link_gb_per_s": self.link, "ways": self.ways.iter().map(|w| w.json(self.link)).collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::tests::toy;

    fn card() -> Limits {
        Limits { max_buffer_bytes: 1 << 20, copies_aside: true, import_align: 4096, ..Limits::default() }
    }

    #[test]
    fn every_way_is_shown_with_what_it_keeps_where_and_moves() {
        let wish = Wish { budget: Some(256), offload: Offload::Stream, ..Wish::default() };
        let (memory, beyond) = plan(&toy(), &card(), wish, Some(0.002)).unwrap();
        let beyond = beyond.unwrap();
        let text = beyond.text();
        for line in [
            "weights beyond a budget of 256 B",
            "  --offload                     read      stream        auto",
            "  resident                      64 B        64 B        64 B",
            "  read in place              1.0 KiB         0 B      1000 B",
            "  streamed                       0 B     1.0 KiB        64 B",
            "  a step reads               1.1 KiB       100 B     1.1 KiB",
            "  a step copies                  0 B     1.0 KiB        64 B",
            "  a chunk reads              1.8 KiB       800 B     1.8 KiB",
            "  ms a step at 0.002 GB/s        0.58        0.58        0.58",
        ] {
            assert!(text.lines().any(|l| l == line), "{line:?} in\n{text}");
        }
        assert!(text.contains("the pool's own pages where the driver takes them, else a copy of"), "{text}");
        assert_eq!((memory.stream_bytes, memory.host_bytes), (4 * 1024, 1024 + 256));
        let json = beyond.json();
        assert_eq!(json["ways"][1]["step"], json!({"in_place_bytes": 100, "copied_bytes": 1064}));
        assert_eq!(json["ways"][0]["streamed_bytes"], 0);
    }

    #[test]
    fn without_a_budget_there_is_nothing_to_tell() {
        assert!(plan(&toy(), &card(), Wish::default(), None).unwrap().1.is_none());
    }

    #[test]
    fn a_device_that_cannot_use_the_pools_pages_is_told_with_what_the_copy_takes() {
        let limits = Limits { import_align: 0, ..card() };
        let wish = Wish { budget: Some(0), offload: Offload::Read, ..Wish::default() };
        let text = plan(&toy(), &limits, wish, None).unwrap().1.unwrap().text();
        assert!(text.contains("a copy of 1.5 KiB, as this device cannot use the pool's own pages"), "{text}");
    }
}
