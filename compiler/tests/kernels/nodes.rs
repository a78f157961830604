//! One-node graphs. In: an operator and its operand types. Out: the graph. Promise: constants are pseudo-random but the same
//! every time.

use onnxcast::graph::eval::{Array, Values};
use onnxcast::graph::{DType, Def, Graph, Heads, Mask, Norm, Op, PICTURES, Rotary, State, Ty, UnaryOp, ValueId};

/// A small generator (SplitMix64), so that no test depends on another's order.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in -1..1.
    pub fn float(&mut self) -> f32 {
        (self.bits() >> 40) as f32 / (1u32 << 23) as f32 - 1.0
    }

    pub fn floats(&mut self, n: usize) -> Vec<f32> {
        (0..n).map(|_| self.float()).collect()
    }

    /// Uniform in `low..high`.
    pub fn int(&mut self, low: i64, high: i64) -> i64 {
        low + (self.bits() % (high - low) as u64) as i64
    }

    /// An array of a type; floats in -1..1, integers in -8..8 or 0..16.
    pub fn array(&mut self, ty: &Ty) -> Array {
        let n = ty.elements();
        let data = match ty.dtype {
            d if d.is_float() => Values::F32(self.floats(n)),
            DType::Bool => Values::Bool((0..n).map(|_| self.bits() & 1 == 1).collect()),
            DType::U8 | DType::U16 | DType::U32 | DType::U64 => Values::Int((0..n).map(|_| self.int(0, 16)).collect()),
            _ => Values::Int((0..n).map(|_| self.int(-8, 8)).collect()),
        };
        Array::new(ty.dtype, ty.shape.clone(), data)
    }
}

/// A graph in the making.
pub struct Build {
    pub graph: Graph,
    pub random: Random,
}

impl Build {
    pub fn new(seed: u64) -> Build {
        Build { graph: Graph { name: "one".into(), ..Graph::default() }, random: Random::new(seed) }
    }

    pub fn input(&mut self, name: &str, dtype: DType, shape: &[usize]) -> Option<ValueId> {
        Some(self.graph.add_input(name, Ty::new(dtype, shape)))
    }

    pub fn float(&mut self, name: &str, shape: &[usize]) -> Option<ValueId> {
        self.input(name, DType::F32, shape)
    }

    /// A random f32 constant, scaled so that products of `k` terms stay near 1.
    pub fn weight(&mut self, name: &str, shape: &[usize], scale: f32) -> Option<ValueId> {
        let mut array = self.random.array(&Ty::new(DType::F32, shape));
        if let Values::F32(v) = &mut array.data {
            v.iter_mut().for_each(|x| *x *= scale);
        }
        Some(self.graph.add_const(name, array.to_tensor()))
    }

    /// A norm scale around 1.
    pub fn scale(&mut self, name: &str, k: usize) -> Option<ValueId> {
        let v: Vec<f32> = self.random.floats(k).iter().map(|x| 1.0 + 0.3 * x).collect();
        Some(self.graph.add_const(name, onnxcast::graph::Tensor::f32(&[k], &v)))
    }

    pub fn state(&mut self, name: &str, shape: &[usize]) -> Option<ValueId> {
        Some(self.graph.add_value(name, Ty::new(DType::F32, shape), Def::Input))
    }

    /// The scalars of a decoder.
    pub fn step(&mut self) -> [Option<ValueId>; 2] {
        [self.input("pos", DType::I32, &[]), self.input("rows", DType::I32, &[])]
    }

    /// Adds the node and makes its outputs those of the graph, but for cache outputs, which become states.
    pub fn finish(mut self, op: Op, inputs: &[Option<ValueId>], states: &[(usize, Option<ValueId>)]) -> Graph {
        let outputs = self.graph.push(op, inputs, "y").expect("a valid node");
        for (i, out) in outputs.iter().enumerate() {
            match states.iter().find(|(at, _)| *at == i) {
                Some((_, input)) => {
                    self.graph.states.push(State { input: input.expect("a state input"), output: *out });
                }
                None => self.graph.outputs.push(onnxcast::graph::Output { name: format!("y{i}"), value: *out }),
            }
        }
        self.graph
    }
}

/// Rows m of k columns against n weight rows, with everything that `Linear` may carry.
pub fn linear(m: usize, k: usize, n: usize, norm: Option<Norm>, act: Option<UnaryOp>, extras: bool, nk: bool) -> Graph {
    let mut b = Build::new((m * 31 + k * 17 + n) as u64);
    let x = b.float("x", &[1, m, k]);
    let shape = if nk { [n, k] } else { [k, n] };
    let w = b.weight("w", &shape, (3.0 / k as f32).sqrt());
    let mut inputs = vec![x, w];
    norm_inputs(&mut b, &mut inputs, norm, k);
    if extras {
        inputs.push(b.weight("bias", &[n], 1.0));
        inputs.push(b.float("residual", &[1, m, n]));
    }
    b.finish(Op::Linear { norm, bias: extras, act, residual: extras, nk }, &inputs, &[])
}

fn norm_inputs(b: &mut Build, inputs: &mut Vec<Option<ValueId>>, norm: Option<Norm>, k: usize) {
    if norm.is_some() {
        inputs.push(b.scale("scale", k));
    }
    if matches!(norm, Some(Norm::Layer { .. })) {
        inputs.push(b.weight("shift", &[k], 0.5));
    }
}

pub fn gated(m: usize, k: usize, n: usize, norm: Option<Norm>) -> Graph {
    let mut b = Build::new((m * 7 + k * 5 + n) as u64);
    let x = b.float("x", &[1, m, k]);
    let gate = b.weight("gate", &[n, k], (3.0 / k as f32).sqrt());
    let up = b.weight("up", &[n, k], (3.0 / k as f32).sqrt());
    let mut inputs = vec![x, gate, up];
    norm_inputs(&mut b, &mut inputs, norm, k);
    b.finish(Op::GatedLinear { norm, act: UnaryOp::Silu, nk: true }, &inputs, &[])
}

pub fn heads(q: usize, kv: usize, dim: usize) -> Heads {
    Heads { q, kv, dim }
}

/// A projection into a cache of `c` rows.
pub fn qkv(m: usize, k: usize, h: Heads, c: usize, rope: Option<Rotary>, bias: bool) -> Graph {
    let norm = Some(Norm::Rms { eps: 1e-5 });
    let mut b = Build::new((m * 3 + k + h.q * 11 + h.dim + c) as u64);
    let scale = (3.0 / k as f32).sqrt();
    let x = b.float("x", &[1, m, k]);
    let wq = b.weight("wq", &[h.q * h.dim, k], scale);
    let wk = b.weight("wk", &[h.kv * h.dim, k], scale);
    let wv = b.weight("wv", &[h.kv * h.dim, k], scale);
    let kc = b.state("past.k", &[1, h.kv, c, h.dim]);
    let vc = b.state("past.v", &[1, h.kv, c, h.dim]);
    let [pos, rows] = b.step();
    let mut inputs = vec![x, wq, wk, wv, kc, vc, pos, rows];
    norm_inputs(&mut b, &mut inputs, norm, k);
    if bias {
        inputs.push(b.weight("bq", &[h.q * h.dim], 1.0));
        inputs.push(b.weight("bk", &[h.kv * h.dim], 1.0));
        inputs.push(b.weight("bv", &[h.kv * h.dim], 1.0));
    }
    if let Some(r) = rope {
        inputs.push(b.weight("cos", &[c, r.rotary / 2], 1.0));
        inputs.push(b.weight("sin", &[c, r.rotary / 2], 1.0));
    }
    b.finish(Op::Qkv { heads: h, norm, bias, rope, nk: true }, &inputs, &[(1, kc), (2, vc)])
}

pub fn cached_attention(m: usize, h: Heads, c: usize, mask: Mask) -> Graph {
    let mut b = Build::new((m + h.q + h.dim + c) as u64);
    let q = b.float("q", &[1, h.q, m, h.dim]);
    let k = b.state("past.k", &[1, h.kv, c, h.dim]);
    let v = b.state("past.v", &[1, h.kv, c, h.dim]);
    let [pos, _] = b.step();
    let op = Op::CachedAttention {
        heads: h,
        scale: 1.0 / (h.dim as f32).sqrt(),
        mask,
        cap: if c.is_multiple_of(3) { 2.0 } else { 0.0 },
    };
    let mut graph = b.finish(op, &[q, k, v, pos], &[]);
    for state in [k, v].into_iter().flatten() {
        graph.states.push(State { input: state, output: state });
    }
    graph
}

pub fn kv_write(m: usize, h: Heads, c: usize) -> Graph {
    let mut b = Build::new((m + h.kv + c) as u64);
    let cache = b.state("past.k", &[1, h.kv, c, h.dim]);
    let new = b.float("new", &[1, h.kv, m, h.dim]);
    let [pos, rows] = b.step();
    b.finish(Op::KvWrite, &[cache, new, pos, rows], &[(0, cache)])
}

pub fn rope(heads: usize, m: usize, dim: usize, form: Rotary, table: usize) -> Graph {
    let mut b = Build::new((heads + m + dim) as u64);
    let x = b.float("x", &[1, heads, m, dim]);
    let cos = b.weight("cos", &[table, form.rotary / 2], 1.0);
    let sin = b.weight("sin", &[table, form.rotary / 2], 1.0);
    let [pos, _] = b.step();
    b.finish(Op::Rope { form }, &[x, cos, sin, pos], &[])
}

pub fn last_row(m: usize, k: usize) -> Graph {
    let mut b = Build::new((m + k) as u64);
    let x = b.float("x", &[1, m, k]);
    let [_, rows] = b.step();
    b.finish(Op::LastRow, &[x, rows], &[])
}

/// Rows of x, or of a table of `vocab + 3` rows where `lookup`, and of `pictures` in the places of ids from `vocab` on.
pub fn splice(m: usize, (vocab, k): (usize, usize), pictures: usize, lookup: bool) -> Graph {
    let mut b = Build::new((m + vocab + k + pictures) as u64);
    let x = if lookup { b.weight("table", &[vocab + 3, k], 1.0) } else { b.float("x", &[1, m, k]) };
    let tokens = b.input("tokens", DType::I64, &[1, m]);
    let rows = b.state(PICTURES, &[1, 1, pictures, k]);
    let mut graph = b.finish(Op::Splice { vocab, lookup }, &[x, tokens, rows], &[]);
    graph.states.extend(rows.map(|v| State { input: v, output: v }));
    graph
}

/// Rows that a picture's tower leaves at row `pos`.
pub fn deposit(m: usize, k: usize, pictures: usize) -> Graph {
    let mut b = Build::new((m + k + pictures) as u64);
    let state = b.state(PICTURES, &[1, 1, pictures, k]);
    let new = b.float("new", &[1, 1, m, k]);
    let pos = b.input("pos", DType::I32, &[]);
    let rows = Some(b.graph.add_const("count", Array::scalar(m as i32).to_tensor()));
    b.finish(Op::KvWrite, &[state, new, pos, rows], &[(0, state)])
}

pub fn embedding(m: usize, vocab: usize, k: usize) -> Graph {
    let mut b = Build::new((m + vocab + k) as u64);
    let table = b.weight("table", &[vocab, k], 1.0);
    let tokens = b.input("tokens", DType::I64, &[1, m]);
    b.finish(Op::Gather { axis: 0 }, &[table, tokens], &[])
}
