//! Random graphs for tests. In: a seed. Out: a graph. Promise: valid but for its names, reaches every operator and odd shapes.

use super::*;
use operands::arity;

/// A graph grown from a seed: every operator is offered random operands and attributes, and stays where `infer` agrees.
pub fn grown(seed: u64) -> Graph {
    let mut rng = Rng(seed);
    let mut g = Graph { name: rng.name(), ..Graph::default() };
    for _ in 0..4 {
        let ty = rng.ty();
        let name = rng.name();
        g.add_input(name, ty);
    }
    for _ in 0..4 {
        let ty = rng.ty();
        let name = rng.name();
        g.add_const(name, counting(&ty).to_tensor());
    }
    decoder_parts(&mut rng, &mut g);
    for _ in 0..300 {
        let op = rng.op();
        let (least, most) = arity(&op);
        let count = least + rng.below(most.min(least + 2) - least + 1);
        let inputs: Vec<_> = (0..count).map(|_| Some(ValueId(rng.below(g.values.len()) as u32))).collect();
        let name = rng.name();
        let _ = g.push(op, &inputs, &name);
    }
    for i in 0..2 {
        let value = ValueId(rng.below(g.values.len()) as u32);
        g.outputs.push(Output { name: format!("{}{i}", rng.name()), value });
    }
    g
}

/// The operators with heads, whose operands rarely meet by chance.
fn decoder_parts(rng: &mut Rng, g: &mut Graph) {
    let (kv, s, c, dim, k) = (1 + rng.below(2), rng.below(3), 2 + rng.below(2), 2 * rng.below(3), rng.below(4));
    let heads = Heads { q: 2 * kv, kv, dim };
    let mut add = |shape: &[usize]| Some(g.add_const("part", counting(&Ty::new(DType::F32, shape)).to_tensor()));
    let (x, q) = (add(&[1, s, k]), add(&[1, 2 * kv, s, dim]));
    let (new, keys, mask) = (add(&[1, kv, s, dim]), add(&[1, kv, c, dim]), add(&[s, c]));
    let rows_of = [add(&[2, s, 4 * kv * dim]), add(&[2, c, kv * dim]), add(&[2, s, 2 * kv * dim])];
    let (wq, wk, wv) = (add(&[2 * kv * dim, k]), add(&[kv * dim, k]), add(&[kv * dim, k]));
    let (cos, sin) = (add(&[3, dim / 2]), add(&[3, dim / 2]));
    let (table, pictures) = (add(&[2, k]), add(&[1, 1, 3, k]));
    let pos = Some(g.add_const("pos", eval::Array::scalar(rng.below(3) as i32).to_tensor()));
    let rows = Some(g.add_const("rows", eval::Array::scalar(rng.below(3) as i32).to_tensor()));
    let form = Rotary { rotary: dim, interleaved: rng.flag() };
    let (scale, rope) = (rng.num(), rng.flag().then_some(form));
    let qkv = [x, wq, wk, wv, keys, keys, pos, rows, cos, sin];
    let ids = Some(g.add_const("ids", counting(&Ty::new(DType::I64, &[1, s])).to_tensor()));
    let packed = Op::RowAttention { heads, scale, mask: Mask::Causal, packed: true };
    let parts: [(Op, &[Option<ValueId>]); 12] = [
        (packed, &rows_of[..1]),
        (Op::RowAttention { heads, scale, mask: Mask::Full, packed: false }, &[rows_of[2], rows_of[1], rows_of[1]]),
        (Op::GatedLinear { norm: None, act: UnaryOp::Silu, nk: true }, &[x, wk, wv]),
        (Op::Rope { form }, &[q, cos, sin, pos]),
        (Op::Attention { heads, scale, mask: Mask::Window(1), cap: 2.0 }, &[q, keys, keys]),
        (Op::Attention { heads, scale, mask: Mask::Given, cap: 0.0 }, &[q, keys, keys, mask]),
        (Op::KvWrite, &[keys, new, pos, rows]),
        (Op::CachedAttention { heads, scale, mask: Mask::Causal, cap: 0.0 }, &[q, keys, keys, pos]),
        (Op::Qkv { heads, norm: None, bias: false, rope, nk: true }, &qkv[..if rope.is_some() { 10 } else { 8 }]),
        (Op::Splice { vocab: 1, lookup: false }, &[x, ids, pictures]),
        (Op::Splice { vocab: 1, lookup: true }, &[table, ids, pictures]),
        (Op::LastRow, &[x, rows]),
    ];
    for (op, inputs) in parts {
        let _ = g.push(op, inputs, "part");
    }
}

/// -2, -1, 0, 1, .. in any type.
pub fn counting(ty: &Ty) -> eval::Array {
    let values = (0..ty.elements() as i64).map(|i| i - 2).collect();
    eval::Array::new(ty.dtype, ty.shape.clone(), eval::Values::Int(values))
}

struct Rng(u64);

impl Rng {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % n.max(1)
    }

    fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    fn flag(&mut self) -> bool {
        self.below(2) == 1
    }

    fn name(&mut self) -> String {
        let base = self.pick(&["x", "/layers.0/mul", "a b", "", "twin", "\"q\"", "é#", "0", "_", "->", "w.1"]);
        if self.flag() { format!("{base}{}", self.below(1000)) } else { base.into() }
    }

    fn shape(&mut self) -> Vec<usize> {
        let rank = self.below(5);
        (0..rank).map(|_| self.pick(&[1, 1, 2, 2, 2, 4, 0])).collect()
    }

    fn ty(&mut self) -> Ty {
        let dtype = match self.below(4) {
            0 => self.pick(&DType::ALL),
            1 => DType::I64,
            _ => DType::F32,
        };
        Ty { dtype, shape: self.shape() }
    }

    fn num(&mut self) -> f32 {
        self.pick(&[0.0, 1.0, 1e-6, 0.044715, -3.5e20])
    }

    fn norm(&mut self) -> Option<Norm> {
        let eps = self.num();
        self.pick(&[None, Some(Norm::Rms { eps }), Some(Norm::Layer { eps })])
    }

    fn axes(&mut self) -> Vec<usize> {
        let n = self.below(3);
        (0..n).collect()
    }

    fn numbers(&mut self, n: usize) -> Vec<usize> {
        (0..n).map(|_| self.below(3)).collect()
    }

    fn window(&mut self) -> Window {
        let n = 1 + self.below(2);
        let kernel = (0..n).map(|_| self.pick(&[1, 2])).collect();
        let strides = (0..n).map(|_| self.pick(&[1, 2, 3])).collect();
        Window { kernel, strides, dilations: vec![1; n], pads: self.numbers(2 * n) }
    }

    fn heads(&mut self) -> Heads {
        Heads { q: self.pick(&[1, 2, 4]), kv: self.pick(&[1, 2]), dim: self.pick(&[1, 2, 4, 0]) }
    }

    fn rotary(&mut self) -> Rotary {
        Rotary { rotary: self.pick(&[0, 2, 4]), interleaved: self.flag() }
    }

    fn op(&mut self) -> Op {
        match self.below(4) {
            0 => Op::Unary(self.pick(UnaryOp::ALL)),
            1 => Op::Binary(self.pick(BinaryOp::ALL)),
            2 => self.along_axes(),
            _ => self.other(),
        }
    }

    fn along_axes(&mut self) -> Op {
        let (axis, keep, last) = (self.below(3), self.flag(), self.flag());
        match self.below(14) {
            0 => Op::Softmax { axis },
            1 => Op::LogSoftmax { axis },
            2 => Op::Reduce { kind: self.pick(ReduceOp::ALL), axes: self.axes(), keep },
            3 => Op::ArgMax { axis, keep, last },
            4 => Op::ArgMin { axis, keep, last },
            5 => Op::TopK { k: self.below(3), axis, largest: keep, sorted: last },
            6 => Op::CumSum { axis, exclusive: keep, reverse: last },
            7 => Op::Gather { axis },
            8 => Op::GatherElements { axis },
            9 => Op::ScatterElements { axis, op: self.pick(ScatterOp::ALL) },
            10 => Op::Concat { axis },
            11 => Op::Split { axis, sizes: vec![1, 1] },
            12 => Op::LayerNorm { axis, eps: self.num() },
            _ => Op::RmsNorm { axis, eps: self.num() },
        }
    }

    fn other(&mut self) -> Op {
        let (flag, other, rank) = (self.flag(), self.flag(), self.below(4));
        let masks = [Mask::Full, Mask::Causal, Mask::Window(1), Mask::Given];
        match self.below(28) {
            0 => Op::Cast { to: self.pick(&DType::ALL) },
            1 => Op::Transpose { perm: self.pick(&[&[0][..], &[1, 0], &[2, 0, 1], &[0, 2, 1, 3]]).to_vec() },
            2 => Op::Reshape { shape: self.shape() },
            3 => Op::Expand { shape: self.shape() },
            4 => Op::Gemm { alpha: self.num(), beta: self.num(), trans_a: flag, trans_b: other },
            5 => Op::Clip,
            6 => Op::Linear { norm: self.norm(), bias: flag, act: None, residual: other, nk: self.flag() },
            7 => Op::GatedLinear { norm: self.norm(), act: UnaryOp::Silu, nk: flag },
            8 => Op::Rope { form: self.rotary() },
            9 => Op::Attention { heads: self.heads(), scale: self.num(), mask: self.pick(&masks), cap: 0.0 },
            10 => Op::KvWrite,
            11 => Op::CachedAttention { heads: self.heads(), scale: self.num(), mask: self.pick(&masks), cap: 4.0 },
            12 => Op::Qkv { heads: self.heads(), norm: self.norm(), bias: flag, rope: None, nk: other },
            13 => Op::LastRow,
            14 => Op::MatMul,
            15 => Op::Conv { window: self.window(), group: 1 + rank / 3 },
            16 => Op::MaxPool { window: self.window(), ceil: flag },
            17 => Op::AveragePool { window: self.window(), ceil: flag, count_pad: other },
            18 => Op::GatherNd { batch: self.below(2) },
            19 => Op::ScatterNd { op: self.pick(ScatterOp::ALL) },
            20 => Op::Slice { begin: vec![0; rank], step: vec![1; rank], len: self.numbers(rank) },
            21 => Op::Tile { repeats: self.numbers(rank) },
            22 => {
                let pads = self.numbers(2 * rank).into_iter().map(|p| p as i64 - 1).collect();
                Op::Pad { mode: self.pick(PadMode::ALL), pads }
            }
            23 => Op::Trilu { upper: flag, k: self.below(3) as i64 - 1 },
            24 => Op::OneHot { axis: rank, depth: self.below(4) },
            25 => Op::Where,
            26 => Op::Elu { alpha: self.num() },
            _ => Op::HardSigmoid { alpha: self.num(), beta: 0.5 },
        }
    }
}
