//! Joins the three projections with bias, RoPE and cache writes. In: `Linear`, `Rope`, `KvWrite` that read one x. Out: `Qkv`, with
//! the norm of x inside where nobody else reads it. Promise: one dispatch for all, or the parts stay as they are, with a reason.

use super::Log;
use super::fuse_linear::norm_of;
use super::look::{Found, Look, rewrite};
use crate::error::Result;
use crate::graph::{Graph, Heads, Node, Op, Rotary, ValueId};

struct Match {
    op: Op,
    inputs: Vec<Option<ValueId>>,
    outputs: [ValueId; 3],
    /// Index of the first node that reads none of the outputs yet.
    at: usize,
}

/// A projection of x to heads.
struct Projection {
    x: ValueId,
    weight: ValueId,
    bias: Option<ValueId>,
    rope: Option<(Rotary, ValueId, ValueId)>,
    nk: bool,
}

pub fn run(graph: &mut Graph, log: &mut Log) -> Result<()> {
    let count = rewrite(
        graph,
        log,
        |look, node| match find(look, node) {
            None => Found::No,
            Some(Ok(m)) => Found::Yes(m),
            Some(Err(why)) => Found::Declined(why),
        },
        |graph, _, m| {
            let name = graph.value(m.outputs[0]).name.clone();
            let new = graph.insert(m.at, m.op, &m.inputs, &name)?;
            for (old, new) in m.outputs.into_iter().zip(new) {
                graph.replace_uses(old, new);
            }
            Ok(())
        },
    )?;
    log.say(format!("{count} projections of q, k and v joined"));
    Ok(())
}

fn find(look: &Look, node: &Node) -> Option<Result<Match, String>> {
    let Op::CachedAttention { heads, .. } = node.op else { return None };
    let (q, kc, vc, pos) = (node.input(0)?, node.input(1)?, node.input(2)?, node.input(3)?);
    let (k_write, v_write) = (look.node(kc)?, look.node(vc)?);
    if k_write.op != Op::KvWrite || v_write.op != Op::KvWrite {
        return None;
    }
    Some(join(look, heads, (q, kc, vc), (k_write, v_write), pos))
}

fn join(
    look: &Look,
    heads: Heads,
    (q, kc, vc): (ValueId, ValueId, ValueId),
    (k_write, v_write): (&Node, &Node),
    pos: ValueId,
) -> Result<Match, String> {
    let part = |v: Option<ValueId>, what: &str| {
        v.and_then(|v| projection(look, v)).ok_or(format!("{what} is no bare projection to heads"))
    };
    let pq = part(Some(q), "q")?;
    let pk = part(k_write.input(1), "k")?;
    let pv = part(v_write.input(1), "v")?;
    if pq.x != pk.x || pq.x != pv.x || pq.nk != pk.nk || pq.nk != pv.nk {
        return Err("q, k and v project different inputs or layouts".into());
    }
    if pq.rope != pk.rope || pv.rope.is_some() {
        return Err("q and k turn by different rotary embeddings".into());
    }
    let biases = [pq.bias, pk.bias, pv.bias];
    if biases.iter().any(|b| b.is_some() != pq.bias.is_some()) {
        return Err("only some of q, k and v have a bias".into());
    }
    let mut inputs = vec![Some(pq.x), Some(pq.weight), Some(pk.weight), Some(pv.weight)];
    inputs.extend([k_write.input(0), v_write.input(0), Some(pos), k_write.input(3)]);
    let mut norm = None;
    if let Some((raw, form, weights)) = norm_of(look, pq.x)
        && look.uses(pq.x) == 3
    {
        inputs[0] = Some(raw);
        inputs.extend(weights);
        norm = Some(form);
    }
    if pq.bias.is_some() {
        inputs.extend(biases);
    }
    if let Some((_, cos, sin)) = pq.rope {
        inputs.extend([Some(cos), Some(sin)]);
    }
    let first = [q, kc, vc].into_iter().filter_map(|v| look.index(v)).min().ok_or("an output has no node")?;
    let op = Op::Qkv { heads, norm, bias: pq.bias.is_some(), rope: pq.rope.map(|r| r.0), nk: pq.nk };
    Ok(Match { op, inputs, outputs: [q, kc, vc], at: first })
}

/// `[Rope] Transpose Reshape Linear`, each read once.
fn projection(look: &Look, v: ValueId) -> Option<Projection> {
    let mut v = v;
    let mut rope = None;
    if let Some(node) = look.node(v)
        && let Op::Rope { form } = node.op
    {
        if !look.single(v) {
            return None;
        }
        rope = Some((form, node.input(1)?, node.input(2)?));
        v = node.input(0)?;
    }
    let rows = look.transpose(v, &[0, 2, 1, 3])?;
    let flat = look.reshape(rows)?;
    let node = look.node(flat)?;
    let Op::Linear { norm: None, bias, act: None, residual: false, nk } = node.op else { return None };
    let alone = look.single(v) && look.single(rows) && look.single(flat);
    let bias = if bias { node.input(2) } else { None };
    alone.then_some(Projection { x: node.input(0)?, weight: node.input(1)?, bias, rope, nk })
}
