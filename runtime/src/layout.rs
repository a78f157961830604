//! Device memory plan. In: a program and limits. Out: a region for everything, before anything is allocated. Promise: what `info`
//! prints is what the engine allocates.

use crate::device::{Device, Limits};
use crate::error::{Error, Kind, Result};
use crate::holding::HoldingPlan;
use crate::ledger::Purpose;
use crate::memory::{Region, guards_around, human, place};
use crate::program::{Elem, Port, Program};
use crate::residency::Residency;
use crate::step::{RING, Step};

/// Fills guards: NaN as f32 and as two f16, absurd as an index.
pub(crate) const GUARD_WORD: u32 = 0x7fc0_7e01;

#[derive(Clone, Default, Debug)]
pub(crate) struct Ports {
    pub inputs: Vec<Region>,
    pub outputs: Vec<Region>,
}

/// Regions in segments, of all that is no weight.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub segments: Vec<u64>,
    pub states: Vec<Region>,
    pub arena: Region,
    pub logits: Region,
    pub ports: Vec<Ports>,
    guard: u64,
}

/// Device bytes by purpose, for `info`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemoryPlan {
    /// On the device.
    pub weights_bytes: u64,
    /// Allocations that these take.
    pub weights_segments: usize,
    /// The ring of streamed weights.
    pub stream_bytes: u64,
    pub states_bytes: u64,
    pub arena_bytes: u64,
    /// Ports of raw runs and logits.
    pub ports_bytes: u64,
    /// `Step`, token ids and the ring.
    pub loop_bytes: u64,
    /// All device memory, alignment included.
    pub total_bytes: u64,
    /// Memory of the host that weights take, alignment included, where they cannot be used in the pool's own pages.
    pub host_bytes: u64,
}

/// Bytes of a port on the device.
pub(crate) fn port_bytes(port: &Port) -> Result<u64> {
    let count = port.shape.iter().try_fold(1u64, |n, &d| n.checked_mul(u64::from(d)));
    let bytes = count.and_then(|n| n.checked_mul(port.elem.bytes()));
    bytes.ok_or_else(|| Error::new(Kind::Program, format!("port '{}' {:?} is too large", port.name, port.shape)))
}

impl Layout {
    pub fn new(program: &Program, limits: &Limits, guard: u64) -> Result<Layout> {
        let too_big = |name: &str, bytes: u64| {
            let limit = limits.max_buffer_bytes;
            Error::new(Kind::Unfit, format!("'{name}' takes {bytes} bytes, the device allows {limit} a buffer"))
        };
        let mut items: Vec<(String, u64)> = program.states.iter().map(|s| (s.name.to_string(), s.bytes)).collect();
        items.push(("arena".into(), program.buckets.iter().map(|b| b.arena_bytes).max().unwrap_or(0)));
        let vocab = program.decoder.as_ref().map_or(0, |d| u64::from(d.vocab));
        items.push(("logits".into(), vocab * Elem::F32.bytes()));
        for port in program.buckets.iter().flat_map(|b| b.inputs.iter().chain(b.outputs.iter())) {
            items.push((port.name.to_string(), port_bytes(port)?));
        }
        let sizes: Vec<u64> = items.iter().map(|(_, bytes)| *bytes).collect();
        let (regions, segments) =
            place(&sizes, guard, limits.max_buffer_bytes).map_err(|i| too_big(&items[i].0, items[i].1))?;
        let mut rest = regions.into_iter();
        let mut take = |n: usize| rest.by_ref().take(n).collect::<Vec<_>>();
        let states = take(program.states.len());
        let pair = take(2);
        let ports = program
            .buckets
            .iter()
            .map(|b| Ports { inputs: take(b.inputs.len()), outputs: take(b.outputs.len()) })
            .collect();
        Ok(Layout { segments, states, arena: pair[0], logits: pair[1], ports, guard })
    }

    /// What is no weight and no state.
    pub fn scratch(&self) -> impl Iterator<Item = Region> + '_ {
        let ports = self.ports.iter().flat_map(|p| p.inputs.iter().chain(&p.outputs)).copied();
        [self.arena, self.logits].into_iter().chain(ports)
    }

    /// Every guard with its name.
    pub fn guards(&self) -> Vec<(String, Region)> {
        let mut named: Vec<(String, &Region)> = Vec::new();
        named.extend(self.states.iter().enumerate().map(|(i, r)| (format!("state {i}"), r)));
        named.extend([("the arena".into(), &self.arena), ("the logits".into(), &self.logits)]);
        for (b, ports) in self.ports.iter().enumerate() {
            named.extend(ports.inputs.iter().enumerate().map(|(i, r)| (format!("input {i} of bucket {b}"), r)));
            named.extend(ports.outputs.iter().enumerate().map(|(i, r)| (format!("output {i} of bucket {b}"), r)));
        }
        named.into_iter().flat_map(|(what, r)| guards_around(what, r, self.guard)).collect()
    }
}

/// Token ids of the largest bucket.
pub(crate) fn token_bytes(program: &Program) -> u64 {
    program.buckets.iter().map(|b| u64::from(b.rows)).max().unwrap_or(1).max(1) * 4
}

/// The context's tokens.
pub(crate) fn history_bytes(program: &Program) -> u64 {
    program.decoder.as_ref().map_or(1, |d| u64::from(d.context)) * 4
}

pub(crate) fn ring_bytes() -> u64 {
    u64::from(RING) * 4
}

/// What an engine for this program would allocate on a device of these limits.
pub fn memory_plan(program: &Program, limits: &Limits, residency: &Residency) -> Result<MemoryPlan> {
    MemoryPlan::of(program, &Layout::new(program, limits, 0)?, &HoldingPlan::new(program, limits, 0, residency, None)?)
}

impl MemoryPlan {
    pub(crate) fn of(program: &Program, layout: &Layout, holding: &HoldingPlan) -> Result<MemoryPlan> {
        let sum = |regions: &[Region]| regions.iter().map(|r| r.bytes).sum::<u64>();
        let loop_bytes = size_of::<Step>() as u64 + token_bytes(program) + history_bytes(program) + ring_bytes();
        let ports: u64 = layout.ports.iter().map(|p| sum(&p.inputs) + sum(&p.outputs)).sum();
        let (weights_segments, weights) = holding.own(Purpose::Device);
        let stream_bytes = holding.own(Purpose::Ring).1;
        Ok(MemoryPlan {
            weights_bytes: holding.resident_bytes(),
            weights_segments,
            stream_bytes,
            states_bytes: sum(&layout.states),
            arena_bytes: layout.arena.bytes,
            ports_bytes: ports + layout.logits.bytes,
            loop_bytes,
            total_bytes: weights + stream_bytes + layout.segments.iter().sum::<u64>() + loop_bytes,
            host_bytes: holding.own(Purpose::Host).1,
        })
    }

    /// Refuses before allocating when the device cannot hold it; pages of the pool are there already. What a CPU device calls its heap is no limit of the machine.
    pub(crate) fn fits(&self, device: &Device, in_pages: bool) -> Result<()> {
        if device.info().kind == "cpu" {
            return Ok(());
        }
        let (name, limits) = (&device.info().name, device.limits());
        let refuse = |what: &str, need: u64, have: u64, hint: &str| {
            let what = format!("needs {} of {what}, '{name}' has {}", human(need), human(have));
            Err(Error::new(Kind::OutOfMemory, what).hint(hint))
        };
        if self.total_bytes > limits.heap_bytes {
            let hint = "keep weights in host memory with --gpu-budget, or choose another device or a smaller model";
            return refuse("device memory", self.total_bytes, limits.heap_bytes, hint);
        }
        if self.host_bytes > limits.host_heap_bytes && !in_pages {
            return refuse("host memory", self.host_bytes, limits.host_heap_bytes, "raise --gpu-budget");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{Bucket, State, Tensor};

    fn limits(max_buffer_bytes: u64) -> Limits {
        Limits {
            max_buffer_bytes,
            heap_bytes: 1 << 30,
            max_groups: [65535; 3],
            push_bytes: 128,
            shared_bytes: 16384,
            subgroup: 32,
            max_invocations: 256,
            matrix: false,
            tick_ns: 1.0,
            ..Limits::default()
        }
    }

    fn program() -> Program {
        let tensor = |bytes| Tensor { name: "w".into(), layout: "rows_f32".into(), shape: vec![].into(), bytes };
        let bucket = |arena_bytes, outputs: Vec<Port>| Bucket {
            name: "b".into(),
            rows: 1,
            arena_bytes,
            inputs: vec![].into(),
            outputs: outputs.into(),
            blocks: vec![].into(),
        };
        let port = Port { name: "y".into(), numpy: "float16".into(), elem: Elem::F16, shape: vec![3, 5].into() };
        Program {
            name: "p".into(),
            plan_hash: "".into(),
            kernels: vec![].into(),
            variants: vec![].into(),
            tensors: vec![tensor(1000), tensor(600), tensor(10)].into(),
            states: vec![State { name: "kv".into(), bytes: 512, shape: vec![].into(), dtype: Elem::F16 }].into(),
            buckets: vec![bucket(300, vec![port]), bucket(700, vec![])].into(),
            decoder: None,
        }
    }

    fn all() -> Residency {
        Residency::resident(&program())
    }

    #[test]
    fn buckets_share_one_arena_and_weights_are_cut_into_segments() {
        let plan = memory_plan(&program(), &limits(1536), &all()).unwrap();
        assert_eq!((plan.weights_bytes, plan.weights_segments), (1610, 2));
        assert_eq!((plan.states_bytes, plan.arena_bytes, plan.ports_bytes), (512, 700, 30));
        assert_eq!(plan.total_bytes, 1024 + (768 + 256) + (512 + 768 + 256) + 256 + plan.loop_bytes);
        assert_eq!(memory_plan(&program(), &limits(1 << 20), &all()).unwrap().weights_segments, 1);
    }

    #[test]
    fn guards_never_touch_what_they_guard() {
        let layout = Layout::new(&program(), &limits(1 << 20), 256).unwrap();
        let inside: Vec<Region> = layout.states.iter().copied().chain(layout.scratch()).collect();
        for (name, guard) in layout.guards() {
            let apart = |r: &Region| {
                r.segment != guard.segment
                    || r.offset + r.bytes <= guard.offset
                    || guard.offset + guard.bytes <= r.offset
            };
            assert!(inside.iter().all(apart), "{name}");
        }
        assert_eq!(layout.guards().len(), 2 * inside.len());
    }

    #[test]
    fn sizes_beyond_64_bits_are_refused_not_wrapped() {
        let mut p = program();
        let shape = vec![u32::MAX; 3].into();
        p.buckets.to_mut()[0].outputs.to_mut()[0].shape = shape;
        assert_eq!(memory_plan(&p, &limits(1 << 20), &all()).unwrap_err().kind, Kind::Program);
        let mut p = program();
        p.tensors.to_mut()[0].bytes = 1 << 21;
        assert!(memory_plan(&p, &limits(1 << 20), &all()).unwrap_err().to_string().contains("'w' takes 2097152 bytes"));
    }
}
