//! Finds attention in graphs that run as they stand. In: products, softmax, scales, an added mask. Out: `Attention` over all keys, or
//! with the mask as an input. Promise: no mask is guessed at; what hides keys in another way than by a sum stays as it is.

use super::Log;
use super::fuse_attention::{Scores, Term, scores, snapped, softmax, unrepeat};
use super::look::{Found, Look, rewrite, substitute};
use crate::error::Result;
use crate::graph::{Graph, Heads, Mask, Node, Op, ValueId};

struct Match {
    op: Op,
    q: ValueId,
    /// Keys as the product takes them: channels by rows.
    kt: ValueId,
    /// Keys before heads were repeated, where they were.
    k: Option<ValueId>,
    v: ValueId,
    mask: Option<ValueId>,
}

pub fn run(graph: &mut Graph, log: &mut Log) -> Result<()> {
    let count = rewrite(graph, log, find, replace)?;
    log.say(format!("{count} attention blocks"));
    Ok(())
}

fn find(look: &Look, node: &Node) -> Found<Match> {
    let Op::MatMul = node.op else { return Found::No };
    let (Some(p), Some(v)) = (node.input(0), node.input(1)) else { return Found::No };
    let Some(under) = softmax(look, p) else { return Found::No };
    match block(look, under, v) {
        Ok(m) => Found::Yes(m),
        Err(why) => Found::Declined(why),
    }
}

fn block(look: &Look, under: ValueId, v: ValueId) -> Result<Match, String> {
    let Scores { product, scale, cap, terms } =
        scores(look, under).ok_or("the softmax is not over a scaled product and a mask")?;
    let mask = match terms[..] {
        [] => None,
        [Term::Add(mask)] => Some(mask),
        _ => return Err("its mask selects scores, or there are several masks".into()),
    };
    let (q, kt) =
        look.node(product).and_then(|n| Some((n.input(0)?, n.input(1)?))).ok_or("no product under the softmax")?;
    let ((q, q_scale), (kt, kt_scale)) = (look.scaled(q), look.scaled(kt));
    let shapes = [q, kt, v].map(|v| look.graph.shape(v).to_vec());
    let [q4, kt4, v4] = shapes.clone().map(four);
    let (Some([b, h, _, dim]), Some(keys), Some([vb, vh, t, dv])) = (q4, kt4, v4) else {
        return Err(format!("q, k and v {shapes:?} are no batches of heads"));
    };
    if (vb, vh, dv) != (b, h, dim) || keys != [b, h, dim, t] {
        return Err(format!("q, k and v {shapes:?} differ in heads"));
    }
    let float = |v: &ValueId| look.graph.ty(*v).dtype;
    if [q, kt, v].iter().chain(&mask).any(|v| float(v) != float(&q)) {
        return Err("q, k, v and the mask differ in type".into());
    }
    // Heads that were repeated for the product need not be.
    let (k, whole) = (transposed(look, kt).map(|k| unrepeat(look, k)), unrepeat(look, v));
    let narrow = k.filter(|k| look.graph.shape(*k) == look.graph.shape(whole) && look.graph.shape(whole).len() == 4);
    let (k, v) = narrow.map_or((None, v), |k| (Some(k), whole));
    let kv = if narrow.is_some() { look.graph.shape(v)[1] } else { h };
    let heads = Heads { q: h, kv, dim };
    let scale = snapped(scale * q_scale * kt_scale, dim);
    let op = Op::Attention { heads, scale, mask: if mask.is_some() { Mask::Given } else { Mask::Full }, cap };
    Ok(Match { op, q, kt, k, v, mask })
}

/// A shape with one batch where it has none.
fn four(shape: Vec<usize>) -> Option<[usize; 4]> {
    match shape[..] {
        [b, h, s, d] => Some([b, h, s, d]),
        [h, s, d] => Some([1, h, s, d]),
        _ => None,
    }
}

/// The keys whose transpose the product takes, where that is what it takes.
fn transposed(look: &Look, kt: ValueId) -> Option<ValueId> {
    look.transpose(kt, &[0, 1, 3, 2])
}

fn replace(graph: &mut Graph, mut at: usize, m: Match) -> Result<()> {
    let node = graph.nodes[at].clone();
    let shape = graph.shape(node.out()).to_vec();
    let mut add = |graph: &mut Graph, op: Op, x: ValueId, what: &str| -> Result<ValueId> {
        let y = graph.insert(at, op, &[Some(x)], &format!("{}.{what}", node.name))?[0];
        at += 1;
        Ok(y)
    };
    let mut batched = |graph: &mut Graph, x: ValueId, what: &str| match four(graph.shape(x).to_vec()) {
        Some(shape) if graph.shape(x).len() == 3 => add(graph, Op::Reshape { shape: shape.to_vec() }, x, what),
        _ => Ok(x),
    };
    let (q, v) = (batched(graph, m.q, "q")?, batched(graph, m.v, "v")?);
    let k = match m.k {
        Some(k) => k,
        None => {
            let kt = batched(graph, m.kt, "kt")?;
            add(graph, Op::Transpose { perm: vec![0, 1, 3, 2] }, kt, "k")?
        }
    };
    let mut inputs = vec![Some(q), Some(k), Some(v)];
    inputs.extend(m.mask.map(Some));
    if shape.len() == 4 {
        return substitute(graph, at, (m.op, inputs));
    }
    let y = graph.insert(at, m.op, &inputs, &node.name)?[0];
    substitute(graph, at + 1, (Op::Reshape { shape }, vec![Some(y)]))
}
