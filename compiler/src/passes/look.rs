//! Pattern matching over a graph. In: a graph. Out: producers, live use counts, small matchers. Promise: reads only; nodes that
//! nothing reads any more count neither as readers nor as matches.

use crate::error::Result;
use crate::graph::{BinaryOp, Graph, Node, Op, UnaryOp, ValueId, eval};
use std::collections::HashMap;

/// A graph with its reverse edges, valid until the graph changes.
pub struct Look<'g> {
    pub graph: &'g Graph,
    producers: HashMap<ValueId, usize>,
    uses: Vec<usize>,
    live: Vec<bool>,
}

impl<'g> Look<'g> {
    pub fn new(graph: &'g Graph) -> Look<'g> {
        let producers = graph.producers();
        let live = live_nodes(graph, &producers);
        let mut uses = vec![0; graph.values.len()];
        let reads = graph.nodes.iter().zip(&live).filter(|(_, l)| **l).flat_map(|(n, _)| n.inputs.iter().flatten());
        let ends = graph.outputs.iter().map(|o| &o.value).chain(graph.states.iter().map(|s| &s.output));
        for v in reads.chain(ends) {
            uses[v.0 as usize] += 1;
        }
        Look { graph, producers, uses, live }
    }

    /// The node that writes `v`.
    pub fn node(&self, v: ValueId) -> Option<&'g Node> {
        self.index(v).map(|i| &self.graph.nodes[i])
    }

    /// Its place in the execution order.
    pub fn index(&self, v: ValueId) -> Option<usize> {
        self.producers.get(&v).copied()
    }

    /// Whether something that matters reads the node's result.
    pub fn is_live(&self, i: usize) -> bool {
        self.live[i]
    }

    pub fn uses(&self, v: ValueId) -> usize {
        self.uses[v.0 as usize]
    }

    /// Whether exactly one reader exists, so that the value may vanish into it.
    pub fn single(&self, v: ValueId) -> bool {
        self.uses(v) == 1
    }

    pub fn unary(&self, v: ValueId, op: UnaryOp) -> Option<ValueId> {
        let node = self.node(v)?;
        (node.op == Op::Unary(op)).then(|| node.input(0)).flatten()
    }

    pub fn binary(&self, v: ValueId, op: BinaryOp) -> Option<(ValueId, ValueId)> {
        let node = self.node(v)?;
        if node.op != Op::Binary(op) {
            return None;
        }
        Some((node.input(0)?, node.input(1)?))
    }

    /// Both orders of a commutative operator's operands.
    pub fn either(&self, v: ValueId, op: BinaryOp) -> [Option<(ValueId, ValueId)>; 2] {
        let pair = self.binary(v, op);
        [pair, pair.map(|(a, b)| (b, a))]
    }

    /// The number in a constant of one element.
    pub fn scalar(&self, v: ValueId) -> Option<f32> {
        let tensor = self.graph.constant(self.uncast(v))?;
        if tensor.len() != 1 || tensor.is_absent() {
            return None;
        }
        match eval::Array::from_tensor(tensor).ok()?.data {
            eval::Values::F32(x) => x.first().copied(),
            eval::Values::F64(x) => x.first().map(|x| *x as f32),
            eval::Values::Int(x) => x.first().map(|x| *x as f32),
            eval::Values::Bool(_) => None,
        }
    }

    /// `x op c` or `c op x` with a one-element constant, for a commutative operator.
    pub fn with_scalar(&self, v: ValueId, op: BinaryOp) -> Option<(ValueId, f32)> {
        self.either(v, op).into_iter().flatten().find_map(|(x, c)| Some((x, self.scalar(c)?)))
    }

    /// `v` seen through casts between float types: storage is f32 on the device, whatever the export says.
    pub fn uncast(&self, mut v: ValueId) -> ValueId {
        while let Some(node) = self.node(v) {
            match (&node.op, node.input(0)) {
                (Op::Cast { to }, Some(x)) if to.is_float() && self.graph.ty(x).dtype.is_float() => v = x,
                _ => break,
            }
        }
        v
    }

    /// `v` without the constant factors around it, and their product.
    pub fn scaled(&self, v: ValueId) -> (ValueId, f32) {
        let (mut v, mut scale) = (self.uncast(v), 1.0);
        loop {
            if let Some((x, s)) = self.with_scalar(v, BinaryOp::Mul) {
                (v, scale) = (self.uncast(x), scale * s);
            } else if let Some((x, d)) = self.binary(v, BinaryOp::Div)
                && let Some(s) = self.scalar(d)
            {
                (v, scale) = (self.uncast(x), scale / s);
            } else {
                return (v, scale);
            }
        }
    }

    /// The factors of a product of products and small powers, and their constant factor.
    pub fn factors(&self, v: ValueId) -> (Vec<ValueId>, f32) {
        let (v, mut scale) = self.scaled(v);
        if let Some((a, b)) = self.binary(v, BinaryOp::Mul) {
            let ((mut all, s), (more, t)) = (self.factors(a), self.factors(b));
            all.extend(more);
            scale *= s * t;
            return (all, scale);
        }
        match self.binary(v, BinaryOp::Pow).and_then(|(x, n)| Some((x, self.scalar(n)?))) {
            Some((x, n)) if n == 2.0 || n == 3.0 => (vec![self.uncast(x); n as usize], scale),
            _ => (vec![v], scale),
        }
    }

    /// The input of a transpose with this permutation.
    pub fn transpose(&self, v: ValueId, perm: &[usize]) -> Option<ValueId> {
        match self.node(v) {
            Some(Node { op: Op::Transpose { perm: p }, inputs, .. }) if p == perm => inputs.first().copied().flatten(),
            _ => None,
        }
    }

    /// The input of a reshape.
    pub fn reshape(&self, v: ValueId) -> Option<ValueId> {
        match self.node(v) {
            Some(Node { op: Op::Reshape { .. }, inputs, .. }) => inputs.first().copied().flatten(),
            _ => None,
        }
    }
}

/// Nodes that graph outputs or states need.
pub fn live_nodes(graph: &Graph, producers: &HashMap<ValueId, usize>) -> Vec<bool> {
    let mut live = vec![false; graph.nodes.len()];
    let ends = graph.outputs.iter().map(|o| o.value).chain(graph.states.iter().map(|s| s.output));
    let mut open: Vec<ValueId> = ends.collect();
    while let Some(v) = open.pop() {
        if let Some(&i) = producers.get(&v)
            && !live[i]
        {
            live[i] = true;
            open.extend(graph.nodes[i].inputs.iter().flatten());
        }
    }
    live
}

/// What a matcher says of a node: nothing, a match, or why it nearly matched.
pub enum Found<M> {
    No,
    Yes(M),
    Declined(String),
}

impl<M> From<Option<M>> for Found<M> {
    fn from(m: Option<M>) -> Found<M> {
        m.map_or(Found::No, Found::Yes)
    }
}

/// Puts one operator in the place of the node at `at`.
pub fn substitute(graph: &mut Graph, at: usize, (op, inputs): (Op, Vec<Option<ValueId>>)) -> Result<()> {
    let old = graph.nodes[at].out();
    let name = graph.nodes[at].name.clone();
    let new = graph.insert(at, op, &inputs, &name)?[0];
    graph.replace_uses(old, new);
    Ok(())
}

/// Goes through the live nodes in order; `find` reads, `apply` edits at the index of the matched node (new nodes go in
/// before it). Dead nodes are swept at the end. Returns how many matched.
pub fn rewrite<M>(
    graph: &mut Graph,
    log: &mut super::Log,
    find: impl Fn(&Look, &Node) -> Found<M>,
    apply: impl Fn(&mut Graph, usize, M) -> Result<()>,
) -> Result<usize> {
    let mut start = 0;
    let mut count = 0;
    loop {
        let Some((at, m)) = next(graph, start, log, &find) else { break };
        let before = graph.nodes.len();
        apply(graph, at, m)?;
        start = at + (graph.nodes.len() - before) + 1;
        count += 1;
    }
    super::dead::sweep(graph);
    Ok(count)
}

fn next<M>(
    graph: &Graph,
    start: usize,
    log: &mut super::Log,
    find: impl Fn(&Look, &Node) -> Found<M>,
) -> Option<(usize, M)> {
    let look = Look::new(graph);
    for (i, node) in graph.nodes.iter().enumerate().skip(start) {
        if !look.is_live(i) {
            continue;
        }
        match find(&look, node) {
            Found::No => {}
            Found::Yes(m) => return Some((i, m)),
            Found::Declined(why) => log.say(format!("declined at {}: {why}", node.name)),
        }
    }
    None
}
