//! The closed operator set. In: nothing. Out: `Op` with normalised attributes. Promise: axes are non-negative, shapes are
//! numbers, opset differences are gone, and every operator has an infer rule, an eval rule and a text form.

use super::DType;

/// Elementwise, one input. Comparison-like ones give `Bool`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UnaryOp {
    Neg,
    Abs,
    Sign,
    Exp,
    Log,
    Sqrt,
    Rsqrt,
    Reciprocal,
    Erf,
    Tanh,
    Sigmoid,
    Relu,
    Softplus,
    Softsign,
    Silu,
    GeluErf,
    GeluTanh,
    QuickGelu,
    HardSwish,
    Mish,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Asinh,
    Acosh,
    Atanh,
    Floor,
    Ceil,
    Round,
    Not,
    BitNot,
    IsNan,
    IsInf,
}

/// Elementwise, two inputs, multidirectional broadcast. `Mod` takes the divisor's sign, `Fmod` the dividend's.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    Pow,
    Min,
    Max,
    Mod,
    Fmod,
    And,
    Or,
    Xor,
    Equal,
    Less,
    LessEq,
    Greater,
    GreaterEq,
    BitAnd,
    BitOr,
    BitXor,
    ShiftLeft,
    ShiftRight,
    PRelu,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ReduceOp {
    Sum,
    Mean,
    Max,
    Min,
    Prod,
    SumSquare,
    L1,
    L2,
    LogSum,
    LogSumExp,
}

/// What a scatter does when it meets a value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ScatterOp {
    Set,
    Add,
    Mul,
    Max,
    Min,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PadMode {
    Constant,
    Reflect,
    Edge,
    Wrap,
}

/// Which keys a query may see. Positions are absolute: query row `i` of a chunk at `pos` stands at `pos + i`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Mask {
    /// Every key.
    Full,
    /// Keys at or before the query.
    Causal,
    /// Keys in the last `n` positions up to the query, itself included.
    Window(usize),
    /// An additive mask is the node's last input.
    Given,
}

/// A normalisation folded into its consumer. Inputs it adds: the scale, and for `Layer` the bias.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Norm {
    Rms { eps: f32 },
    Layer { eps: f32 },
}

impl Norm {
    /// How many weight inputs the norm adds to its consumer.
    pub fn inputs(self) -> usize {
        match self {
            Norm::Rms { .. } => 1,
            Norm::Layer { .. } => 2,
        }
    }
}

/// Head geometry of an attention block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Heads {
    pub q: usize,
    pub kv: usize,
    pub dim: usize,
}

/// Rotary embedding form: `rotary` leading channels of each head turn; `interleaved` pairs (2i, 2i+1), else (i, i + rotary/2).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Rotary {
    pub rotary: usize,
    pub interleaved: bool,
}

/// Pooling and convolution geometry over the spatial axes. Pads are begins then ends, already resolved from `auto_pad`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Window {
    pub kernel: Vec<usize>,
    pub strides: Vec<usize>,
    pub dilations: Vec<usize>,
    pub pads: Vec<usize>,
}

/// One operator. Input order follows ONNX unless said otherwise; `[x]` marks optional inputs.
#[derive(Clone, PartialEq, Debug)]
pub enum Op {
    // ---- elementwise ----
    Unary(UnaryOp),
    /// One input and a constant: LeakyRelu, Elu, Swish(alpha), ThresholdedRelu, Celu.
    LeakyRelu {
        alpha: f32,
    },
    Elu {
        alpha: f32,
    },
    Celu {
        alpha: f32,
    },
    Selu {
        alpha: f32,
        gamma: f32,
    },
    Swish {
        alpha: f32,
    },
    HardSigmoid {
        alpha: f32,
        beta: f32,
    },
    ThresholdedRelu {
        alpha: f32,
    },
    Binary(BinaryOp),
    /// cond, a, b.
    Where,
    /// x, [min], [max].
    Clip,
    /// `saturate` matters for float8 only and is otherwise true.
    Cast {
        to: DType,
    },

    // ---- products ----
    /// numpy matmul: 1-D operands and batch broadcast included.
    MatMul,
    /// a, b, [c]: alpha * op(a) * op(b) + beta * c.
    Gemm {
        alpha: f32,
        beta: f32,
        trans_a: bool,
        trans_b: bool,
    },
    /// x, w, [b].
    Conv {
        window: Window,
        group: usize,
    },
    MaxPool {
        window: Window,
        ceil: bool,
    },
    AveragePool {
        window: Window,
        ceil: bool,
        count_pad: bool,
    },

    // ---- reductions ----
    Softmax {
        axis: usize,
    },
    LogSoftmax {
        axis: usize,
    },
    Reduce {
        kind: ReduceOp,
        axes: Vec<usize>,
        keep: bool,
    },
    ArgMax {
        axis: usize,
        keep: bool,
        last: bool,
    },
    ArgMin {
        axis: usize,
        keep: bool,
        last: bool,
    },
    /// Two outputs: values, indices.
    TopK {
        k: usize,
        axis: usize,
        largest: bool,
        sorted: bool,
    },
    CumSum {
        axis: usize,
        exclusive: bool,
        reverse: bool,
    },

    // ---- indexing and movement ----
    /// data, indices. Negative indices wrap.
    Gather {
        axis: usize,
    },
    GatherElements {
        axis: usize,
    },
    GatherNd {
        batch: usize,
    },
    ScatterElements {
        axis: usize,
        op: ScatterOp,
    },
    ScatterNd {
        op: ScatterOp,
    },
    Concat {
        axis: usize,
    },
    /// One entry per axis of the input: begin (clamped, non-negative), step (non-zero). The output shape is `len`.
    Slice {
        begin: Vec<i64>,
        step: Vec<i64>,
        len: Vec<usize>,
    },
    Split {
        axis: usize,
        sizes: Vec<usize>,
    },
    Transpose {
        perm: Vec<usize>,
    },
    /// Reshape, Flatten, Squeeze, Unsqueeze: same elements, another shape.
    Reshape {
        shape: Vec<usize>,
    },
    /// Broadcast to a shape (already the result of the two-way rule).
    Expand {
        shape: Vec<usize>,
    },
    Tile {
        repeats: Vec<usize>,
    },
    /// x, [value]. Pads are begins then ends, one per axis, negative ones crop.
    Pad {
        mode: PadMode,
        pads: Vec<i64>,
    },
    Trilu {
        upper: bool,
        k: i64,
    },
    /// indices, depth is a number here; values is [off, on].
    OneHot {
        axis: usize,
        depth: usize,
    },

    // ---- normalisation ----
    /// x, scale, [bias]: over the trailing axes from `axis`. Only the first output is kept.
    LayerNorm {
        axis: usize,
        eps: f32,
    },
    /// x, scale.
    RmsNorm {
        axis: usize,
        eps: f32,
    },

    // ---- made by passes; by import only where the file has nothing that they are made of ----
    /// x [.., k], w, then in this order and only where present: norm scale, [norm bias], bias [n], residual [.., n].
    /// y = act(norm(x) * W + bias) + residual. `nk`: w is [n, k] (rows are outputs), else [k, n].
    Linear {
        norm: Option<Norm>,
        bias: bool,
        act: Option<UnaryOp>,
        residual: bool,
        nk: bool,
    },
    /// x, w_gate, w_up, [norm scale, [norm bias]]: y = act(norm(x) * Wg) * (norm(x) * Wu).
    GatedLinear {
        norm: Option<Norm>,
        act: UnaryOp,
        nk: bool,
    },
    /// x [1, heads, s, dim], cos [positions, rotary/2], sin, pos (i32 scalar): row `i` turns by table row `pos + i`.
    Rope {
        form: Rotary,
    },
    /// q [b, hq, s, d], k [b, hkv, t, d], v [b, hkv, t, d], [mask]. Output [b, hq, s, d]. A causal query row `i` stands at `t - s + i`.
    /// Scores are scaled, bent to `cap * tanh(score / cap)` where the cap is above zero, and then masked.
    Attention {
        heads: Heads,
        scale: f32,
        mask: Mask,
        cap: f32,
    },
    /// `Attention` of rows that hold their heads side by side: q [b, s, hq*d], k [b, t, hkv*d], v, [mask], or, where `packed`, one
    /// [b, s, (hq + 2 hkv)*d] with q, k and v in each row. Output [b, s, hq*d].
    RowAttention {
        heads: Heads,
        scale: f32,
        mask: Mask,
        packed: bool,
    },
    /// cache [1, hkv, c, d], new [1, hkv, s, d], pos, rows (i32 scalars). Rows `pos..pos+rows` of the cache become the first
    /// `rows` of `new`; output is the whole cache, in place.
    KvWrite,
    /// q [1, hq, s, d], k cache [1, hkv, c, d], v cache, pos. Row `i` sees cache rows `0..=pos+i` (or the window). Output [1, s, hq*d].
    CachedAttention {
        heads: Heads,
        scale: f32,
        mask: Mask,
        cap: f32,
    },
    /// x [1, s, k], wq, wk, wv, k cache, v cache, pos, rows, then where present: norm scale, [norm bias], bq, bk, bv, cos, sin.
    /// Outputs: q [1, hq, s, d], k cache, v cache (in place). Projection, bias, RoPE and cache write in one.
    Qkv {
        heads: Heads,
        norm: Option<Norm>,
        bias: bool,
        rope: Option<Rotary>,
        nk: bool,
    },
    /// x [1, s, k], tokens [1, s], pictures [1, 1, p, k] in f32: row `i` is row `tokens[i] - vocab` of the pictures where that is none below
    /// zero (the last where there are fewer), else row `i` of x. `lookup`: x is a table [v, k] in f32, of which row `tokens[i]` is taken.
    Splice {
        vocab: usize,
        lookup: bool,
    },
    /// x [1, s, k], rows: row `rows - 1`, as [1, 1, k]. The head runs on the last live row only.
    LastRow,
}
