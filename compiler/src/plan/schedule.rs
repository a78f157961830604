//! The order of dispatches. In: a graph, its places, a kernel chooser. Out: rows in execution order, with barriers. Promise: a
//! barrier stands before a row only if something since the last barrier needs it.

use super::kernels;
use super::own::Own;
use super::places::{Place, Places, bytes};
use super::weights::Pool;
use super::{Call, Layout, Operand, Part, Select, Storage};
use crate::bucket::Scope;
use crate::error::{Error, Result};
use crate::graph::{Graph, Node, Op, ValueId};
use onnxcast_runtime::program::{Arg, Elem, Kernel, Phase, State};
use onnxcast_runtime::step::MAX_ARGS;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;

/// A dispatch before its arena buffers have offsets.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    pub kernel: Kernel,
    pub grid: [u32; 3],
    pub variants: Vec<(Kernel, [u32; 3])>,
    pub args: Vec<Access>,
    pub note: String,
    pub phase: Phase,
}

/// An argument: what it points at and how many bytes of it the kernel may touch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Access {
    pub slot: Slot,
    pub bytes: u64,
    pub writes: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Slot {
    /// Index into [`Schedule::buffers`].
    Buffer(usize),
    Fixed(Arg),
}

/// The rows of one bucket and the arena buffers they use.
#[derive(Default)]
pub struct Schedule {
    pub rows: Vec<Row>,
    /// Bytes of each arena buffer.
    pub buffers: Vec<u64>,
}

impl Schedule {
    /// The buffer that `known` has under a key, a new one if there is none, at least so large.
    fn buffer<K: Hash + Eq>(&mut self, known: &mut HashMap<K, usize>, key: K, bytes: u64) -> usize {
        let buffer = *known.entry(key).or_insert(self.buffers.len());
        if buffer == self.buffers.len() {
            self.buffers.push(0);
        }
        self.buffers[buffer] = self.buffers[buffer].max(bytes);
        buffer
    }
}

/// What the rows of a bucket are made from.
pub struct Context<'a, 'b> {
    pub graph: &'a Graph,
    pub places: &'a Places,
    pub states: &'a mut Vec<State>,
    pub storage: Storage,
    pub select: &'a dyn Select,
    pub scope: &'a Scope,
    pub pool: &'a mut Pool<'b>,
}

/// Asks for the calls of every node, body first, then the head and, for a decoder, the two samplers, or policies in their place.
pub fn rows(cx: &mut Context, decoder: bool) -> Result<Schedule> {
    let mut build =
        Build { out: Schedule::default(), owners: HashMap::new(), prepared: HashMap::new(), scratch: HashMap::new() };
    let own = if decoder { Own::of(cx.graph) } else { Own::default() };
    let head = if decoder { head(cx.graph, &own) } else { HashSet::new() };
    let behind = if decoder { behind(cx.graph) } else { HashSet::new() };
    for phase in [Phase::Body, Phase::Head] {
        if phase == Phase::Head {
            for call in own.begin(cx.graph)? {
                build.push(cx, call, phase)?;
            }
        }
        for (i, node) in cx.graph.nodes.iter().enumerate() {
            let empty = node.outputs.iter().all(|&o| cx.graph.ty(o).elements() == 0);
            let here = !behind.contains(&i) && head.contains(&i) == (phase == Phase::Head);
            if !here || empty || matches!(node.op, Op::Reshape { .. }) {
                continue;
            }
            build.node(cx, node, phase)?;
        }
    }
    if decoder {
        let vocab = cx.graph.shape(cx.graph.outputs[0].value).last().copied().unwrap_or(0);
        // A sampler of the package's own stands where the greedy one would, and there is no other.
        let samplers: &[Phase] = if own.token.is_some() { &[Phase::Greedy] } else { &[Phase::Greedy, Phase::Drawn] };
        for &sampler in samplers {
            build.sampler(cx, &own, sampler, vocab)?;
            build.policies(cx, &own, sampler, &behind)?;
            build.end(cx, &own, sampler, vocab)?;
        }
    }
    Ok(build.out)
}

/// Nodes that only the last chunk of a prompt needs: those after `LastRow`, or, where there is none, the one that makes logits.
fn head(graph: &Graph, own: &Own) -> HashSet<usize> {
    let logits = graph.outputs.first().map(|o| o.value);
    let mut values: HashSet<ValueId> = own.inputs();
    let mut nodes = HashSet::new();
    for (i, node) in graph.nodes.iter().enumerate() {
        let starts = matches!(node.op, Op::LastRow) || node.outputs.iter().any(|&o| Some(o) == logits);
        if starts || node.inputs.iter().flatten().any(|v| values.contains(v)) {
            values.extend(&node.outputs);
            nodes.insert(i);
        }
    }
    nodes
}

/// Nodes that neither logits nor caches need: those of policies behind them.
fn behind(graph: &Graph) -> HashSet<usize> {
    let ends = graph.outputs.iter().take(1).map(|o| o.value).chain(graph.states.iter().map(|s| s.output));
    let mut needed: HashSet<ValueId> = ends.collect();
    let mut behind = HashSet::new();
    for (i, node) in graph.nodes.iter().enumerate().rev() {
        if node.outputs.iter().any(|v| needed.contains(v)) {
            needed.extend(node.inputs.iter().flatten());
        } else {
            behind.insert(i);
        }
    }
    behind
}

struct Build {
    out: Schedule,
    /// Buffers of values, by the value that owns them.
    owners: HashMap<ValueId, usize>,
    /// Buffers of values as the products that take them multiply them, by the value.
    prepared: HashMap<ValueId, usize>,
    /// Buffers of the current node's scratch.
    scratch: HashMap<u32, usize>,
}

impl Build {
    /// The calls of one node.
    fn node(&mut self, cx: &mut Context, node: &Node, phase: Phase) -> Result<()> {
        let place = |e: Error| e.at(node.name.clone());
        self.scratch.clear();
        for call in cx.select.node(cx.graph, node, cx.storage).map_err(place)? {
            self.push(cx, call, phase).map_err(place)?;
        }
        Ok(())
    }

    /// The calls of our sampler, and the token for policies behind it.
    fn sampler(&mut self, cx: &mut Context, own: &Own, phase: Phase, vocab: usize) -> Result<()> {
        self.scratch.clear();
        if own.token.is_none() {
            for call in cx.select.sample(vocab, phase)? {
                self.push(cx, call, phase)?;
            }
        }
        own.drawn.map_or(Ok(()), |v| self.push(cx, kernels::drawn(v)?, phase))
    }

    /// The nodes behind the logits.
    fn policies(&mut self, cx: &mut Context, own: &Own, phase: Phase, behind: &HashSet<usize>) -> Result<()> {
        if *own == Own::default() && cx.graph.outputs.len() == 1 {
            return Ok(());
        }
        for (i, node) in cx.graph.nodes.iter().enumerate() {
            if behind.contains(&i) && !matches!(node.op, Op::Reshape { .. }) {
                self.node(cx, node, phase)?;
            }
        }
        Ok(())
    }

    /// The token of a sampler of the package's own, whether there is another step, and what the next finds.
    fn end(&mut self, cx: &mut Context, own: &Own, phase: Phase, vocab: usize) -> Result<()> {
        self.scratch.clear();
        if let Some(token) = own.token {
            self.push(cx, kernels::take_token(token, vocab)?, phase)?;
        }
        own.end(cx.graph)?.into_iter().try_for_each(|call| self.push(cx, call, phase))
    }

    fn push(&mut self, cx: &mut Context, call: Call, phase: Phase) -> Result<()> {
        let name = call.kernel.name.clone();
        let bad = |what: String| Error::new("plan", what).at(name.to_string());
        if call.args.len() != call.kernel.args as usize || call.args.len() > MAX_ARGS {
            return Err(bad(format!("{} arguments for a kernel of {}", call.args.len(), call.kernel.args)));
        }
        if call.grid.iter().any(|&g| g == 0 || g as usize > kernels::MAX_GROUPS) {
            let (grid, most) = (call.grid, kernels::MAX_GROUPS);
            return Err(bad(format!("a grid of {grid:?} workgroups; 1 to {most} an axis is what devices take")));
        }
        let mut args = vec![];
        for (i, operand) in call.args.iter().enumerate() {
            let (slot, bytes) = self.resolve(cx, operand)?;
            let writes = call.kernel.writes >> i & 1 == 1;
            if writes && matches!(slot, Slot::Fixed(Arg::Weight(_) | Arg::Input(_))) {
                return Err(bad(format!("argument {i} is written, and what it points at is read-only")));
            }
            args.push(Access { slot, bytes, writes });
        }
        let Call { kernel, grid, variants, note, .. } = call;
        self.out.rows.push(Row { kernel, grid, variants, args, note, phase });
        Ok(())
    }

    fn resolve(&mut self, cx: &mut Context, operand: &Operand) -> Result<(Slot, u64)> {
        let whole = u64::MAX;
        Ok(match operand {
            Operand::Value(v) => match cx.places.of[v.0 as usize] {
                Place::Arena(owner) => {
                    let size = bytes(cx.graph, owner).max(bytes(cx.graph, *v));
                    let buffer = self.out.buffer(&mut self.owners, owner, size);
                    (Slot::Buffer(buffer), bytes(cx.graph, *v))
                }
                Place::Const(root) => {
                    let part = Part { value: root, transpose: false };
                    self.weight(cx, &[part], Layout::plain(cx.graph.ty(root).dtype))?
                }
                Place::Fixed(Arg::State(s)) => (Slot::Fixed(Arg::State(s)), cx.states[s as usize].bytes),
                Place::Fixed(arg @ Arg::Step) => (Slot::Fixed(arg), whole),
                Place::Fixed(arg) => (Slot::Fixed(arg), bytes(cx.graph, *v)),
            },
            Operand::Weight(packing) => self.weight(cx, &packing.parts, packing.layout)?,
            Operand::Scratch(index, size) => (Slot::Buffer(self.out.buffer(&mut self.scratch, *index, *size)), *size),
            Operand::Prepared(v, size) => (Slot::Buffer(self.out.buffer(&mut self.prepared, *v, *size)), *size),
            Operand::Counters(count) => {
                let (state, bytes) = counters(cx.states, *count);
                (Slot::Fixed(Arg::State(state)), bytes)
            }
            Operand::Step => (Slot::Fixed(Arg::Step), whole),
            Operand::Tokens => (Slot::Fixed(Arg::Tokens), whole),
            Operand::Logits => (Slot::Fixed(Arg::Logits), whole),
            Operand::Ring => (Slot::Fixed(Arg::Ring), whole),
            Operand::History => (Slot::Fixed(Arg::History), whole),
        })
    }

    fn weight(&mut self, cx: &mut Context, parts: &[Part], layout: Layout) -> Result<(Slot, u64)> {
        let index = cx.pool.add(cx.graph, cx.scope, parts, layout)?;
        Ok((Slot::Fixed(Arg::Weight(index)), cx.pool.tensors[index as usize].bytes()))
    }
}

/// The state that holds counters, as many as any call wants, and the bytes that `count` of them take. States begin as zeros.
fn counters(states: &mut Vec<State>, count: u32) -> (u32, u64) {
    const NAME: &str = "counters";
    let bytes = 4 * u64::from(count);
    let index = states.iter().position(|s| s.name == NAME).unwrap_or(states.len());
    if index == states.len() {
        states.push(State { name: NAME.into(), bytes, shape: vec![count].into(), dtype: Elem::U32 });
    }
    if states[index].bytes < bytes {
        states[index].bytes = bytes;
        states[index].shape = vec![count].into();
    }
    (index as u32, bytes)
}

/// Where barriers must stand. The first row always has one: it follows the previous run's last. Of the two samplers a run has
/// one, so the second follows what the first did.
pub fn barriers(rows: &[Row]) -> Vec<bool> {
    let mut since: HashMap<Slot, bool> = HashMap::new();
    let mut before_samplers = None;
    let mut out = vec![];
    for (i, row) in rows.iter().enumerate() {
        match row.phase {
            Phase::Greedy if before_samplers.is_none() => before_samplers = Some(since.clone()),
            Phase::Drawn => {
                if let Some(before) = before_samplers.take() {
                    since = before;
                }
            }
            _ => {}
        }
        let conflicts = |a: &Access| since.get(&a.slot).is_some_and(|&written| written || a.writes);
        let barrier = i == 0 || row.args.iter().any(conflicts);
        if barrier {
            since.clear();
        }
        for a in &row.args {
            *since.entry(a.slot).or_insert(false) |= a.writes;
        }
        out.push(barrier);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(reads: &[usize], writes: &[usize]) -> Row {
        let access = |writes| move |&b: &usize| Access { slot: Slot::Buffer(b), bytes: 4, writes };
        let args: Vec<Access> = reads.iter().map(access(false)).chain(writes.iter().map(access(true))).collect();
        let kernel = Kernel {
            name: "k".into(),
            source: "k.comp".into(),
            defines: vec![].into(),
            args: args.len() as u32,
            writes: 0,
            matrix: vec![].into(),
        };
        Row { kernel, grid: [1; 3], variants: vec![], args, note: String::new(), phase: Phase::Body }
    }

    #[test]
    fn readers_of_one_value_need_no_barrier_between_them() {
        let rows = [row(&[0], &[1]), row(&[1], &[2]), row(&[1], &[3]), row(&[2, 3], &[4])];
        assert_eq!(barriers(&rows), [true, true, false, true]);
    }

    #[test]
    fn writing_again_waits_for_readers_and_writers() {
        let rows = [row(&[], &[0]), row(&[], &[0]), row(&[0], &[1]), row(&[], &[0])];
        assert_eq!(barriers(&rows), [true, true, true, true]);
    }

    #[test]
    fn a_sampler_waits_for_the_head_and_not_for_the_other_sampler() {
        let phase = |row: Row, phase| Row { phase, ..row };
        let rows = [
            phase(row(&[], &[0]), Phase::Head),
            phase(row(&[0], &[1]), Phase::Greedy),
            phase(row(&[1], &[2]), Phase::Greedy),
            phase(row(&[9], &[2]), Phase::Drawn),
            phase(row(&[0], &[1]), Phase::Drawn),
        ];
        assert_eq!(barriers(&rows), [true, true, true, false, true]);
    }

    #[test]
    fn independent_rows_share_an_epoch() {
        assert_eq!(barriers(&[row(&[9], &[0]), row(&[9], &[1]), row(&[9], &[2])]), [true, false, false]);
    }
}
