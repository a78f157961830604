//! `info`: what the model is and what it takes. In: a model and, where there is one, a device's limits. Out: card, memory plan, limits
//! needed against limits found. Promise: nothing is allocated, and every line is computed from the program itself.

use serde_json::{Value, json};

use super::album::Album;
use super::beyond::{self, Beyond};
use crate::cost::{self, Activations};
use crate::device::{self, Limits};
use crate::error::Result;
use crate::layout::MemoryPlan;
use crate::memory::human;
use crate::model::{Card, Picture};
use crate::program::{Part, Program};
use crate::residency::Wish;

/// A limit of the device against what the program asks of it.
#[derive(Debug, PartialEq)]
pub struct Need {
    pub what: &'static str,
    pub needed: u64,
    pub found: u64,
    pub bytes: bool,
}

impl Need {
    fn met(&self) -> bool {
        self.needed <= self.found
    }
}

/// All limits that a program can run into.
pub fn needs(program: &Program, limits: &Limits, plan: &MemoryPlan) -> Vec<Need> {
    let dispatches = || program.buckets.iter().flat_map(|b| b.blocks.iter()).flat_map(|b| b.dispatches.iter());
    let grid = |axis: usize| dispatches().map(|d| u64::from(d.grid[axis])).max().unwrap_or(0);
    let push = program.kernels.iter().map(|k| u64::from(k.args) * 8).max().unwrap_or(0);
    let buffers = program.tensors.iter().map(|t| t.bytes).chain(program.states.iter().map(|s| s.bytes));
    let largest = buffers.chain(program.buckets.iter().map(|b| b.arena_bytes)).max().unwrap_or(0);
    let count = |what, needed, found: u32| Need { what, needed, found: found.into(), bytes: false };
    let bytes = |what, needed, found| Need { what, needed, found, bytes: true };
    vec![
        bytes("device memory", plan.total_bytes, limits.heap_bytes),
        bytes("largest buffer", largest, limits.max_buffer_bytes),
        count("workgroups x", grid(0), limits.max_groups[0]),
        count("workgroups y", grid(1), limits.max_groups[1]),
        count("workgroups z", grid(2), limits.max_groups[2]),
        bytes("push constants", push, limits.push_bytes.into()),
    ]
}

/// What `info` knows. Without a device, `found` says why.
pub struct Info<'a> {
    pub program: &'a Program,
    pub card: &'a Card,
    pub stops: Vec<u32>,
    pub picture: Option<&'a Picture>,
    pub found: Result<(device::Info, Limits, MemoryPlan)>,
    /// Where a budget leaves weights out.
    pub beyond: Option<Beyond>,
}

impl<'a> Info<'a> {
    /// `link` is the rate of the link between host and device in GB/s, if known.
    pub fn new(
        program: &'a Program,
        card: &'a Card,
        stops: Vec<u32>,
        device: Result<device::Device>,
        (wish, link): (Wish, Option<f64>),
    ) -> Info<'a> {
        let found = device.and_then(|device| {
            let (plan, beyond) = beyond::plan(program, device.limits(), wish, link)?;
            Ok(((device.info().clone(), device.limits().clone(), plan), beyond))
        });
        let (found, beyond) = match found {
            Ok((found, beyond)) => (Ok(found), beyond),
            Err(error) => (Err(error), None),
        };
        Info { program, card, stops, picture: None, found, beyond }
    }

    pub fn text(&self) -> String {
        let (card, program) = (self.card, self.program);
        let mut out = format!("{}: {}\n", program.name, card.title);
        let mut line = |name: &str, value: String| out.push_str(&format!("  {name:<16}{value}\n"));
        line("source", card.source.to_owned());
        line("licence", card.licence.to_owned());
        line("precision", card.precision.to_owned());
        let taken @ Activations { fp16, fp32 } = cost::activations(program);
        match taken.name() {
            None => {}
            Some("mixed") => line("activations", format!("matrix units take fp16 in {fp16} kernels, fp32 in {fp32}")),
            Some(name) => line("activations", format!("matrix units take {name}")),
        }
        for (layout, values, bytes) in cost::layouts(program) {
            line(&format!("  {layout}"), format!("{}, {:.3} bits a value", human(bytes), bits(bytes, values)));
        }
        if let Some(table) = cost::table(program) {
            let values = table.shape.iter().map(|&d| u64::from(d)).product();
            line("table", format!("{} {:?}, {:.3} bits a value", table.layout, table.shape, bits(table.bytes, values)));
        }
        line("plan", program.plan_hash.to_string());
        if let Some(d) = &program.decoder {
            let chunk = program.buckets.get(d.prefill as usize).map_or(0, |b| b.rows);
            line("context", format!("{} tokens; a prompt goes in chunks of {chunk}", d.context));
            line("vocabulary", d.vocab.to_string());
            line("stop ids", self.stops.iter().map(u32::to_string).collect::<Vec<_>>().join(" "));
            if let (Some(law), Some(pictures)) = (self.picture, &d.pictures) {
                line("pictures", Album::about(law, pictures));
            }
            line("cache a token", format!("{}, {}", human(cost::cache_row_bytes(program)), cost::cache_type(program)));
        }
        for bucket in program.buckets.iter() {
            let c = cost::run(program, bucket, Part::Whole);
            let what = format!(
                "{} dispatches, {} barriers, reads {} of weights",
                c.dispatches,
                c.barriers,
                human(c.weight_bytes)
            );
            line(&format!("{} ({})", bucket.name, bucket.rows), what);
            for (way, ports) in [("in", &bucket.inputs), ("out", &bucket.outputs)] {
                for port in ports.iter() {
                    line(&format!("  {way}"), format!("{} {} {:?}", port.name, port.numpy, port.shape));
                }
            }
        }
        out.push_str(&self.device_text());
        out
    }

    fn device_text(&self) -> String {
        let (info, limits, plan) = match &self.found {
            Ok(found) => found,
            Err(error) => return format!("device\n  none fits: {error}\n"),
        };
        let mut out = String::from("memory\n");
        let mut line = |name: &str, value: String| out.push_str(&format!("  {name:<16}{value}\n"));
        let segments = if plan.weights_segments == 1 { "segment" } else { "segments" };
        line("weights", format!("{:>10} in {} {segments}", human(plan.weights_bytes), plan.weights_segments));
        if plan.stream_bytes > 0 {
            line("ring", format!("{:>10} for weights that are streamed", human(plan.stream_bytes)));
        }
        line("states", format!("{:>10}", human(plan.states_bytes)));
        line("activations", format!("{:>10}", human(plan.arena_bytes)));
        line("in and out", format!("{:>10}", human(plan.ports_bytes)));
        line("token loop", format!("{:>10}", human(plan.loop_bytes)));
        line("in all", format!("{:>10}", human(plan.total_bytes)));
        out.push_str(&self.beyond.as_ref().map(Beyond::text).unwrap_or_default());
        out.push_str(&format!("device {} ({}, Vulkan {}, {})\n", info.name, info.kind, info.api, info.driver));
        out.push_str(&format!("  {:<16}{:>12}{:>12}\n", "", "needed", "found"));
        for need in needs(self.program, limits, plan) {
            let show = |n: u64| if need.bytes { human(n) } else { n.to_string() };
            let mark = if need.met() { "" } else { "  too small" };
            out.push_str(&format!("  {:<16}{:>12}{:>12}{mark}\n", need.what, show(need.needed), show(need.found)));
        }
        if limits.matrix {
            let forms = self.program.kernels.iter().filter(|k| !k.matrix.is_empty()).count();
            out.push_str(&format!("  matrix units      run {forms} of {} kernels\n", self.program.kernels.len()));
        }
        for lack in &info.lacks {
            out.push_str(&format!("  lacks {lack}\n"));
        }
        out
    }

    pub fn json(&self) -> Value {
        let (card, program) = (self.card, self.program);
        let buckets = program.buckets.iter().map(|bucket| {
            let c = cost::run(program, bucket, Part::Whole);
            json!({
                "name": bucket.name, "rows": bucket.rows, "dispatches": c.dispatches, "barriers": c.barriers,
                "weight_bytes": c.weight_bytes, "inputs": ports(&bucket.inputs), "outputs": ports(&bucket.outputs),
            })
        });
        let mut out = json!({
            "name": program.name, "title": card.title, "source": card.source, "licence": card.licence,
            "precision": card.precision, "plan_hash": program.plan_hash, "stops": self.stops,
            "cache_bytes_per_token": cost::cache_row_bytes(program), "cache_type": cost::cache_type(program),
            "buckets": buckets.collect::<Vec<_>>(),
        });
        let layouts = cost::layouts(program).into_iter();
        out["layouts"] = layouts.map(|(name, n, bytes)| json!({"layout": name, "values": n, "bytes": bytes})).collect();
        if let Some(name) = cost::activations(program).name() {
            out["activations"] = json!(name);
        }
        if let Some(table) = cost::table(program) {
            out["table"] = json!({"layout": table.layout, "shape": table.shape, "bytes": table.bytes});
        }
        if let Some(d) = &program.decoder {
            out["context"] = json!(d.context);
            out["vocabulary"] = json!(d.vocab);
            if let (Some(law), Some(pictures)) = (self.picture, &d.pictures) {
                let size = [law.height, law.width];
                out["pictures"] =
                    json!({"at_once": pictures.slots, "rows": pictures.rows, "size": size, "resample": law.resample});
            }
        }
        match &self.found {
            Err(error) => out["device_error"] = json!(error.to_string()),
            Ok((info, limits, plan)) => {
                out["device"] = json!({
                    "name": info.name, "kind": info.kind, "driver": info.driver, "api": info.api,
                    "matrix_units": limits.matrix,
                });
                out["memory"] = json!({
                    "weights_bytes": plan.weights_bytes, "weights_segments": plan.weights_segments,
                    "ring_bytes": plan.stream_bytes, "states_bytes": plan.states_bytes, "arena_bytes": plan.arena_bytes,
                    "ports_bytes": plan.ports_bytes, "loop_bytes": plan.loop_bytes,
                    "total_bytes": plan.total_bytes,
                });
                if let Some(beyond) = &self.beyond {
                    out["offload"] = beyond.json();
                }
                let row = |n: &Need| json!({"what": n.what, "needed": n.needed, "found": n.found, "met": n.met()});
                out["limits"] = needs(program, limits, plan).iter().map(row).collect();
            }
        }
        out
    }
}

fn bits(bytes: u64, values: u64) -> f64 {
    8.0 * bytes as f64 / values.max(1) as f64
}

fn ports(ports: &[crate::program::Port]) -> Value {
    ports.iter().map(|p| json!({"name": p.name, "type": p.numpy, "shape": p.shape})).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::layout::memory_plan;
    use crate::residency::Residency;

    const CARD: Card = Card { title: "A toy", source: "made here", licence: "Apache-2.0", precision: "fp16" };

    fn limits() -> Limits {
        Limits {
            max_buffer_bytes: 1 << 20,
            heap_bytes: 1 << 24,
            max_groups: [65535; 3],
            push_bytes: 128,
            shared_bytes: 16 << 10,
            subgroup: 8,
            max_invocations: 256,
            matrix: false,
            tick_ns: 1.0,
            ..Limits::default()
        }
    }

    fn device() -> device::Info {
        let (name, driver, api) = ("Soft".into(), "soft 1".into(), "1.3".into());
        device::Info { name, kind: "cpu", driver, api, heap_bytes: 1 << 24, matrix: false, lacks: Vec::new() }
    }

    #[test]
    fn card_plan_and_limits_are_shown_with_what_is_too_small() {
        let program = cost::tests::toy();
        let plan = memory_plan(&program, &limits(), &Residency::resident(&program)).unwrap();
        let small = Limits { push_bytes: 8, ..limits() };
        let info = Info {
            program: &program,
            card: &CARD,
            stops: vec![2, 5],
            picture: None,
            found: Ok((device(), small, plan)),
            beyond: None,
        };
        let text = info.text();
        for line in [
            "toy: A toy",
            "  licence         Apache-2.0",
            "  table           rows_f32 [10, 4], 200.000 bits a value",
            "  context         100 tokens; a prompt goes in chunks of 8",
            "  stop ids        2 5",
            "  cache a token   8 B, fp16",
            "  decode (1)      4 dispatches, 3 barriers, reads 1.2 KiB of weights",
            "device Soft (cpu, Vulkan 1.3, soft 1)",
            "  workgroups x               1       65535",
            "  push constants          16 B         8 B  too small",
        ] {
            assert!(text.lines().any(|l| l == line), "{line:?} in\n{text}");
        }
        let json = info.json();
        let push = json!({"what": "push constants", "needed": 16, "found": 8, "met": false});
        assert_eq!((&json["limits"][5], &json["stops"], &json["context"]), (&push, &json!([2, 5]), &json!(100)));
    }

    #[test]
    fn without_a_device_the_card_is_still_shown() {
        let program = cost::tests::toy();
        let found = Err(Error::other("no Vulkan loader"));
        let info = Info { program: &program, card: &CARD, stops: vec![], picture: None, found, beyond: None };
        let text = info.text();
        assert!(text.contains("made here") && text.ends_with("device\n  none fits: no Vulkan loader\n"), "{text}");
        assert_eq!(info.json()["device_error"], "no Vulkan loader");
    }
}
