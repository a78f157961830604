//! Device memory plan. In: a program and limits. Out: a region for everything, before anything is allocated. Promise: what `info`
//! prints is what the engine allocates.

use crate::device::{Device, Limits};
use crate::error::{Error, Kind, Result};
use crate::memory::{Purpose, Region, human, place};
use crate::program::{Elem, Port, Program};
use crate::residency::{Home, Residency};
use crate::step::{RING, Step};

/// Fills guards: NaN as f32 and as two f16, absurd as an index.
pub(crate) const GUARD_WORD: u32 = 0x7fc0_7e01;

#[derive(Clone, Default, Debug)]
pub(crate) struct Ports {
    pub inputs: Vec<Region>,
    pub outputs: Vec<Region>,
}

/// A buffer to allocate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Slab {
    pub bytes: u64,
    pub purpose: Purpose,
    /// What it is for, in errors.
    pub what: &'static str,
}

/// Regions in slabs; weights come first, by home, and have slabs of their own.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub slabs: Vec<Slab>,
    pub weights: Vec<Region>,
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
    pub states_bytes: u64,
    pub arena_bytes: u64,
    /// Ports of raw runs and logits.
    pub ports_bytes: u64,
    /// `Step`, token ids and the ring.
    pub loop_bytes: u64,
    /// All device memory, alignment included.
    pub total_bytes: u64,
    /// Memory of the host that weights take, alignment included.
    pub host_bytes: u64,
}

/// Bytes of a port on the device.
pub(crate) fn port_bytes(port: &Port) -> Result<u64> {
    let count = port.shape.iter().try_fold(1u64, |n, &d| n.checked_mul(u64::from(d)));
    let bytes = count.and_then(|n| n.checked_mul(port.elem.bytes()));
    bytes.ok_or_else(|| Error::new(Kind::Program, format!("port '{}' {:?} is too large", port.name, port.shape)))
}

impl Layout {
    pub fn new(program: &Program, limits: &Limits, guard: u64, residency: &Residency) -> Result<Layout> {
        let too_big = |name: &str, bytes: u64| {
            let limit = limits.max_buffer_bytes;
            Error::new(Kind::Unfit, format!("'{name}' takes {bytes} bytes, the device allows {limit} a buffer"))
        };
        let mut slabs: Vec<Slab> = Vec::new();
        let mut weights = vec![Region::default(); program.tensors.len()];
        for (purpose, what) in [(Purpose::Device, "weights"), (Purpose::Host, "weights in host memory")] {
            let here = |i: &usize| (residency.homes[*i] == Home::Resident) == (purpose == Purpose::Device);
            let tensors: Vec<usize> = (0..weights.len()).filter(here).collect();
            let sizes: Vec<u64> = tensors.iter().map(|&i| program.tensors[i].bytes).collect();
            let (regions, more) = place(&sizes, guard, limits.max_buffer_bytes)
                .map_err(|i| too_big(&program.tensors[tensors[i]].name, sizes[i]))?;
            for (&i, region) in tensors.iter().zip(regions) {
                weights[i] = Region { slab: region.slab + slabs.len(), ..region };
            }
            slabs.extend(more.into_iter().map(|bytes| Slab { bytes, purpose, what }));
        }
        let first = slabs.len();

        let mut items: Vec<(String, u64)> = program.states.iter().map(|s| (s.name.to_string(), s.bytes)).collect();
        items.push(("arena".into(), program.buckets.iter().map(|b| b.arena_bytes).max().unwrap_or(0)));
        let vocab = program.decoder.as_ref().map_or(0, |d| u64::from(d.vocab));
        items.push(("logits".into(), vocab * Elem::F32.bytes()));
        for port in program.buckets.iter().flat_map(|b| b.inputs.iter().chain(b.outputs.iter())) {
            items.push((port.name.to_string(), port_bytes(port)?));
        }
        let sizes: Vec<u64> = items.iter().map(|(_, bytes)| *bytes).collect();
        let (regions, more) =
            place(&sizes, guard, limits.max_buffer_bytes).map_err(|i| too_big(&items[i].0, items[i].1))?;
        let what = "states and activations";
        slabs.extend(more.into_iter().map(|bytes| Slab { bytes, purpose: Purpose::Device, what }));

        let mut rest = regions.into_iter().map(|r| Region { slab: r.slab + first, ..r });
        let mut take = |n: usize| rest.by_ref().take(n).collect::<Vec<_>>();
        let states = take(program.states.len());
        let pair = take(2);
        let ports = program
            .buckets
            .iter()
            .map(|b| Ports { inputs: take(b.inputs.len()), outputs: take(b.outputs.len()) })
            .collect();
        let guard = guard.next_multiple_of(crate::memory::ALIGN);
        Ok(Layout { slabs, weights, states, arena: pair[0], logits: pair[1], ports, guard })
    }

    /// Refuses before allocating when the device cannot hold it. What a CPU device calls its heap is no limit of the machine.
    pub fn fits(&self, device: &Device) -> Result<()> {
        let (need, have) = (self.bytes(Purpose::Device), device.limits().heap_bytes);
        if need > have && device.info().kind != "cpu" {
            let what = format!("needs {} of device memory, '{}' has {}", human(need), device.info().name, human(have));
            return Err(Error::new(Kind::OutOfMemory, what).hint("choose another device or a smaller model"));
        }
        Ok(())
    }

    /// Bytes of all slabs of that purpose.
    pub fn bytes(&self, purpose: Purpose) -> u64 {
        self.slabs.iter().filter(|s| s.purpose == purpose).map(|s| s.bytes).sum()
    }

    /// What is no weight and no state.
    pub fn scratch(&self) -> impl Iterator<Item = Region> + '_ {
        let ports = self.ports.iter().flat_map(|p| p.inputs.iter().chain(&p.outputs)).copied();
        [self.arena, self.logits].into_iter().chain(ports)
    }

    /// Every guard with its name.
    pub fn guards(&self) -> Vec<(String, Region)> {
        if self.guard == 0 {
            return Vec::new();
        }
        let mut out = Vec::new();
        let mut around = |what: String, r: &Region| {
            let after = r.offset + r.bytes.next_multiple_of(4);
            let end = r.offset + r.bytes.max(4).next_multiple_of(crate::memory::ALIGN) + self.guard;
            let before = Region { slab: r.slab, offset: r.offset - self.guard, bytes: self.guard };
            out.push((format!("before {what}"), before));
            out.push((format!("after {what}"), Region { slab: r.slab, offset: after, bytes: end - after }));
        };
        self.weights.iter().enumerate().for_each(|(i, r)| around(format!("weight {i}"), r));
        self.states.iter().enumerate().for_each(|(i, r)| around(format!("state {i}"), r));
        around("the arena".into(), &self.arena);
        around("the logits".into(), &self.logits);
        for (b, ports) in self.ports.iter().enumerate() {
            ports.inputs.iter().enumerate().for_each(|(i, r)| around(format!("input {i} of bucket {b}"), r));
            ports.outputs.iter().enumerate().for_each(|(i, r)| around(format!("output {i} of bucket {b}"), r));
        }
        out
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
    let layout = Layout::new(program, limits, 0, residency)?;
    let sum = |regions: &[Region]| regions.iter().map(|r| r.bytes).sum::<u64>();
    let loop_bytes = size_of::<Step>() as u64 + token_bytes(program) + history_bytes(program) + ring_bytes();
    let ports: u64 = layout.ports.iter().map(|p| sum(&p.inputs) + sum(&p.outputs)).sum();
    Ok(MemoryPlan {
        weights_bytes: residency.standing(program).resident_bytes,
        weights_segments: layout.slabs.iter().filter(|s| s.what == "weights").count(),
        states_bytes: sum(&layout.states),
        arena_bytes: layout.arena.bytes,
        ports_bytes: ports + layout.logits.bytes,
        loop_bytes,
        total_bytes: layout.bytes(Purpose::Device) + loop_bytes,
        host_bytes: layout.bytes(Purpose::Host),
    })
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
        let layout = Layout::new(&program(), &limits(1 << 20), 256, &all()).unwrap();
        let inside: Vec<Region> =
            layout.weights.iter().chain(&layout.states).copied().chain(layout.scratch()).collect();
        for (name, guard) in layout.guards() {
            let apart = |r: &Region| {
                r.slab != guard.slab || r.offset + r.bytes <= guard.offset || guard.offset + guard.bytes <= r.offset
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
