// Written by onnxcast 0.1.0 from models/qwen14b/model.toml. Do not edit: make model=NAME writes it again.

//! Kernels, extents and dispatches in the order in which they run.
#![allow(clippy::unreadable_literal, unused_imports)]

use onnxcast_runtime::program::Arg::{
    Arena, Column, History, Input, Logits, Output, Ring, Step, Tokens, Weight,
};
use onnxcast_runtime::program::layers::{Run, unrolled};
use onnxcast_runtime::program::{
    Arg, Block, Bucket, Decoder, Dispatch, Elem, Kernel, List, Phase, Port, Program,
    State, Tensor, Variant,
};
use onnxcast_runtime::{columns, kernel, port, row, state, tensor};
use std::borrow::Cow::Borrowed;

pub fn program() -> Program {
    Program {
        name: Borrowed("qwen14b"),
        plan_hash: Borrowed(""),
        kernels: Borrowed(KERNELS),
        variants: Borrowed(VARIANTS),
        tensors: unrolled(TENSORS),
        states: unrolled(STATES),
        buckets: Borrowed(BUCKETS),
        decoder: Some(Decoder {
            context: 8192,
            vocab: 152064,
            decode: 1,
            prefill: 0,
            pictures: None,
        }),
    }
}

const GATHER_Q4_G32_POINT_M256_K5120_ROWS152064: u32 = 0;
const HALF_M256_K5120_RMS: u32 = 1;
const QKV_Q4_G32_MID_M256_K5120_H40_8_D128_C8192_RMS_HALF: u32 = 2;
const ATTEND_F16_M256_H40_8_D128_C8192_ON: u32 = 3;
const MATMUL_Q4_G32_MID_M256_K5120_N5120_ADD_HALF_STRAIGHT: u32 = 4;
const GATED_MATMUL_Q4_G32_MID_M256_K5120_N13824_RMS_SILU_HALF_ON: u32 = 5;
const MATMUL_Q4_G32_MID_M256_K13824_N5120_ADD_HALF_STRAIGHT: u32 = 6;
const MATMUL_Q4_G32_MID_M256_K13824_N5120_ADD_HALF_ADD_UP_ON_RMS: u32 = 7;
const MATMUL_Q4_G32_MID_M256_K13824_N5120_ADD_HALF_ADD_UP: u32 = 8;
const LAST_ROW_F32_M256_K5120: u32 = 9;
const MATVEC_Q4_G32_MID_M1_K5120_N152064_RMS: u32 = 10;
const ARGMAX_F32_N152064: u32 = 11;
const NEXT_TOKEN_N152064: u32 = 12;
const DRAW_SCALE_N152064: u32 = 13;
const DRAW_SEARCH_N152064: u32 = 14;
const DRAW_SUM_N152064: u32 = 15;
const DRAW_PICK_N152064: u32 = 16;
const GATHER_Q4_G32_POINT_M1_K5120_ROWS152064: u32 = 17;
const QKV_Q4_G32_MID_M1_K5120_H40_8_D128_C8192_RMS: u32 = 18;
const ATTEND_F16_M1_H40_8_D128_C8192: u32 = 19;
const MATVEC_Q4_G32_MID_M1_K5120_N5120_ADD: u32 = 20;
const MATVEC_Q4_G32_MID_M1_K5120_N5120_ADD_BY8: u32 = 21;
const GATED_MATVEC_Q4_G32_MID_M1_K5120_N13824_RMS_SILU: u32 = 22;
const MATVEC_Q4_G32_MID_M1_K13824_N5120_ADD: u32 = 23;

static KERNELS: &[Kernel] = &[
    kernel!(
        "gather_q4_g32_point_m256_k5120_rows152064", "gather_rows.comp", args 4, writes 4, [M = "256", K = "5120", ROWS
        = "152064", WEIGHT_BITS = "4", WEIGHT_ROWS = "152064", GROUP = "32", ZERO = "1", SALIENT = "0", LIVE = "1"]
    ),
    kernel!(
        "half_m256_k5120_rms", "halves.comp", args 4, writes 2, [M = "256", K = "5120", ROWS = "256", HALVES = "1",
        LOCAL = "256", LIVE = "1", NORM = "1", EPS = "1e-6"], matrix[MATRIX = "1"]
    ),
    kernel!(
        "qkv_q4_g32_mid_m256_k5120_h40_8_d128_c8192_rms_half", "qkv.comp", args 13, writes 28, [M = "256", K = "5120",
        HQ = "40", HKV = "8", D = "128", C = "8192", WEIGHT_BITS = "4", WEIGHT_ROWS = "7168", GROUP = "32", ZERO = "0",
        SALIENT = "0", KV_BITS = "16", BIAS = "1", ROTARY = "128", TABLE = "8192", INTERLEAVED = "0", QUADS = "1",
        POS_WORD = "0", ROWS_WORD = "1", LIVE = "1", THREAD_ROWS = "8", LOCAL = "64", NORM = "1", EPS = "1e-6", HALVES =
        "1", SPLITS = "1"], matrix[MATRIX = "1", ROWS = "256", TILE_M = "128", TILE_N = "128", TILE_K = "64", PARTS_M =
        "2", PARTS_N = "4", PARTS_K = "1"]
    ),
    kernel!(
        "attend_f16_m256_h40_8_d128_c8192_on", "cached_attention.comp", args 7, writes 72, [M = "256", HQ = "40", HKV =
        "8", D = "128", C = "8192", KV_BITS = "16", SCALE = "0.088388346", WINDOW = "0", POS_WORD = "0", QUERY_ROWS =
        "4", GROUP_ROWS = "32", LOCAL = "64", LIVE = "1", HANDED = "1", HANDED_K = "5120"], matrix[MATRIX = "1", PARTS_M
        = "2", PARTS_K = "2"]
    ),
    kernel!(
        "matmul_q4_g32_mid_m256_k5120_n5120_add_half_straight", "linear.comp", args 6, writes 4, [M = "256", K = "5120",
        N = "5120", WEIGHT_BITS = "4", WEIGHT_ROWS = "5120", GROUP = "32", ZERO = "0", SALIENT = "0", ACT = "0", BIAS =
        "0", RESIDUAL = "1", LIVE = "1", THREAD_ROWS = "8", LOCAL = "64", NORM = "0", EPS = "0.0", HALVES = "1", SPLITS
        = "1"], matrix[MATRIX = "1", ROWS = "288", TILE_M = "96", TILE_N = "128", TILE_K = "64", PARTS_M = "2", PARTS_N
        = "4", PARTS_K = "1", UNSCALED = "1"]
    ),
    kernel!(
        "gated_matmul_q4_g32_mid_m256_k5120_n13824_rms_silu_half_on", "gated_linear.comp", args 7, writes 68, [M =
        "256", K = "5120", N = "13824", WEIGHT_BITS = "4", WEIGHT_ROWS = "27648", GROUP = "32", ZERO = "0", SALIENT =
        "0", ACT = "15", LIVE = "1", THREAD_ROWS = "8", LOCAL = "64", NORM = "1", EPS = "1e-6", HALVES = "1", SPLITS =
        "1", HANDED = "1", HANDED_K = "13824"], matrix[MATRIX = "1", ROWS = "256", TILE_M = "128", TILE_N = "128",
        TILE_K = "64", PARTS_M = "2", PARTS_N = "4", PARTS_K = "1"]
    ),
    kernel!(
        "matmul_q4_g32_mid_m256_k13824_n5120_add_half_straight", "linear.comp", args 7, writes 68, [M = "256", K =
        "13824", N = "5120", WEIGHT_BITS = "4", WEIGHT_ROWS = "5120", GROUP = "32", ZERO = "0", SALIENT = "0", ACT =
        "0", BIAS = "0", RESIDUAL = "1", LIVE = "1", THREAD_ROWS = "8", LOCAL = "64", NORM = "0", EPS = "0.0", HALVES =
        "1", SPLITS = "3"], matrix[MATRIX = "1", ROWS = "256", TILE_M = "128", TILE_N = "128", TILE_K = "64", PARTS_M =
        "2", PARTS_N = "4", PARTS_K = "1", UNSCALED = "1"]
    ),
    kernel!(
        "matmul_q4_g32_mid_m256_k13824_n5120_add_half_add_up_on_rms", "linear.comp", args 9, writes 132, [M = "256", K =
        "13824", N = "5120", WEIGHT_BITS = "4", WEIGHT_ROWS = "5120", GROUP = "32", ZERO = "0", SALIENT = "0", ACT =
        "0", BIAS = "0", RESIDUAL = "1", LIVE = "1", THREAD_ROWS = "8", LOCAL = "256", NORM = "0", EPS = "0.0", HALVES =
        "1", SPLITS = "3", ADD_UP = "1", HANDED = "2", HANDED_K = "5120", HANDED_ROWS = "256", HANDED_NORM = "1",
        HANDED_EPS = "1e-6"], matrix[MATRIX = "1"]
    ),
    kernel!(
        "matmul_q4_g32_mid_m256_k13824_n5120_add_half_add_up", "linear.comp", args 7, writes 4, [M = "256", K = "13824",
        N = "5120", WEIGHT_BITS = "4", WEIGHT_ROWS = "5120", GROUP = "32", ZERO = "0", SALIENT = "0", ACT = "0", BIAS =
        "0", RESIDUAL = "1", LIVE = "1", THREAD_ROWS = "8", LOCAL = "64", NORM = "0", EPS = "0.0", HALVES = "1", SPLITS
        = "3", ADD_UP = "1"], matrix[MATRIX = "1"]
    ),
    kernel!("last_row_f32_m256_k5120", "last_row.comp", args 3, writes 4, [M = "256", K = "5120", ROWS_WORD = "1"]),
    kernel!(
        "matvec_q4_g32_mid_m1_k5120_n152064_rms", "linear.comp", args 5, writes 4, [M = "1", K = "5120", N = "152064",
        WEIGHT_BITS = "4", WEIGHT_ROWS = "152064", GROUP = "32", ZERO = "0", SALIENT = "0", ACT = "0", BIAS = "0",
        RESIDUAL = "0", LIVE = "1", THREAD_ROWS = "0", LOCAL = "128", SLOTS = "16", UNITS = "8", WALK = "1", NORM = "1",
        EPS = "1e-6", HALVES = "0"]
    ),
    kernel!("argmax_f32_n152064", "argmax.comp", args 3, writes 2, [V = "152064", SLICE = "1280", LOCAL = "256"]),
    kernel!("next_token_n152064", "next_token.comp", args 5, writes 30, [V = "152064", PARTS = "119", LOCAL = "256"]),
    kernel!(
        "draw_scale_n152064", "draw_scale.comp", args 7, writes 120, [V = "152064", SLICE = "1280", SLICES = "119",
        LOCAL = "256"]
    ),
    kernel!(
        "draw_search_n152064", "draw_search.comp", args 6, writes 48, [V = "152064", SLICE = "1280", SLICES = "119",
        LOCAL = "256"]
    ),
    kernel!(
        "draw_sum_n152064", "draw_sum.comp", args 6, writes 48, [V = "152064", SLICE = "1280", SLICES = "119", LOCAL =
        "256"]
    ),
    kernel!(
        "draw_pick_n152064", "draw_pick.comp", args 7, writes 120, [V = "152064", SLICE = "1280", SLICES = "119", LOCAL
        = "256"]
    ),
    kernel!(
        "gather_q4_g32_point_m1_k5120_rows152064", "gather_rows.comp", args 4, writes 4, [M = "1", K = "5120", ROWS =
        "152064", WEIGHT_BITS = "4", WEIGHT_ROWS = "152064", GROUP = "32", ZERO = "1", SALIENT = "0", LIVE = "1"]
    ),
    kernel!(
        "qkv_q4_g32_mid_m1_k5120_h40_8_d128_c8192_rms", "qkv.comp", args 12, writes 28, [M = "1", K = "5120", HQ = "40",
        HKV = "8", D = "128", C = "8192", WEIGHT_BITS = "4", WEIGHT_ROWS = "7168", GROUP = "32", ZERO = "0", SALIENT =
        "0", KV_BITS = "16", BIAS = "1", ROTARY = "128", TABLE = "8192", INTERLEAVED = "0", QUADS = "1", POS_WORD = "0",
        ROWS_WORD = "1", LIVE = "1", THREAD_ROWS = "0", LOCAL = "128", SLOTS = "32", UNITS = "4", WALK = "1", NORM =
        "1", EPS = "1e-6", HALVES = "0"]
    ),
    kernel!(
        "attend_f16_m1_h40_8_d128_c8192", "split_attention.comp", args 8, writes 104, [HQ = "40", HKV = "8", D = "128",
        C = "8192", KV_BITS = "16", SCALE = "0.088388346", WINDOW = "0", POS_WORD = "0", LOCAL = "128", KEYS = "16",
        SPLITS = "32", LIVE = "1"]
    ),
    kernel!(
        "matvec_q4_g32_mid_m1_k5120_n5120_add", "linear.comp", args 5, writes 4, [M = "1", K = "5120", N = "5120",
        WEIGHT_BITS = "4", WEIGHT_ROWS = "5120", GROUP = "32", ZERO = "0", SALIENT = "0", ACT = "0", BIAS = "0",
        RESIDUAL = "1", LIVE = "1", THREAD_ROWS = "0", LOCAL = "128", SLOTS = "32", UNITS = "4", WALK = "1", NORM = "0",
        EPS = "0.0", HALVES = "0"]
    ),
    kernel!(
        "matvec_q4_g32_mid_m1_k5120_n5120_add_by8", "linear.comp", args 5, writes 4, [M = "1", K = "5120", N = "5120",
        WEIGHT_BITS = "4", WEIGHT_ROWS = "5120", GROUP = "32", ZERO = "0", SALIENT = "0", ACT = "0", BIAS = "0",
        RESIDUAL = "1", LIVE = "1", THREAD_ROWS = "0", LOCAL = "256", SLOTS = "32", UNITS = "8", WALK = "1", NORM = "0",
        EPS = "0.0", HALVES = "0"]
    ),
    kernel!(
        "gated_matvec_q4_g32_mid_m1_k5120_n13824_rms_silu", "gated_linear.comp", args 5, writes 4, [M = "1", K = "5120",
        N = "13824", WEIGHT_BITS = "4", WEIGHT_ROWS = "27648", GROUP = "32", ZERO = "0", SALIENT = "0", ACT = "15", LIVE
        = "1", THREAD_ROWS = "0", LOCAL = "64", SLOTS = "16", UNITS = "4", WALK = "1", NORM = "1", EPS = "1e-6", HALVES
        = "0"]
    ),
    kernel!(
        "matvec_q4_g32_mid_m1_k13824_n5120_add", "linear.comp", args 5, writes 4, [M = "1", K = "13824", N = "5120",
        WEIGHT_BITS = "4", WEIGHT_ROWS = "5120", GROUP = "32", ZERO = "0", SALIENT = "0", ACT = "0", BIAS = "0",
        RESIDUAL = "1", LIVE = "1", THREAD_ROWS = "0", LOCAL = "240", SLOTS = "24", UNITS = "10", WALK = "2", NORM =
        "0", EPS = "0.0", HALVES = "0"]
    ),
];

static VARIANTS: &[Variant] = &[
    Variant {
        of: MATVEC_Q4_G32_MID_M1_K5120_N5120_ADD,
        by: MATVEC_Q4_G32_MID_M1_K5120_N5120_ADD_BY8,
        grid: [160, 1, 1],
    },
];

static TENSORS: &[Run<Tensor>] = &[
    Run {
        layers: 1,
        rows: &[
            tensor!("model.embed_tokens.weight_Q4.q4_g32_point", q4_g32_point, [152064, 5120], 462274560),
            tensor!("model.layers.0.input_layernorm.weight", rows_f32, [5120], 20480),
            tensor!(
                "model.layers.0.self_attn.q_proj.MatMulNBits.qweight.q4_g32_mid+model.layers.0.self_attn.k_proj.MatMulNBits.qweight.q4_g32_mid+model.layers.0.self_attn.v_proj.MatMulNBits.qweight.q4_g32_mid",
                q4_g32_mid, [7168, 5120], 20643840
            ),
            tensor!(
                "model.layers.0.self_attn.q_proj.bias+model.layers.0.self_attn.k_proj.bias+model.layers.0.self_attn.v_proj.bias",
                rows_f32, [7168], 28672
            ),
            tensor!("/model/layers.0/attn/GroupQueryAttention/cos_rows.cos_table", rows_f32, [8192, 64], 2097152),
            tensor!("/model/layers.0/attn/GroupQueryAttention/sin_rows.sin_table", rows_f32, [8192, 64], 2097152),
        ],
    },
    Run {
        layers: 47,
        rows: &[
            tensor!(
                "model.layers.{l}.self_attn.o_proj.MatMulNBits.qweight.q4_g32_mid", q4_g32_mid, [5120, 5120], 14745600
            ),
            tensor!("model.layers.{l}.post_attention_layernorm.weight", rows_f32, [5120], 20480),
            tensor!(
                "model.layers.{l}.mlp.gate_proj.MatMulNBits.qweight.q4_g32_mid+model.layers.{l}.mlp.up_proj.MatMulNBits.qweight.q4_g32_mid",
                q4_g32_mid, [27648, 5120], 79626240
            ),
            tensor!(
                "model.layers.{l}.mlp.down_proj.MatMulNBits.qweight.q4_g32_mid", q4_g32_mid, [5120, 13824], 39813120
            ),
            tensor!("model.layers.{l+1}.input_layernorm.weight", rows_f32, [5120], 20480),
            tensor!(
                "model.layers.{l+1}.self_attn.q_proj.MatMulNBits.qweight.q4_g32_mid+model.layers.{l+1}.self_attn.k_proj.MatMulNBits.qweight.q4_g32_mid+model.layers.{l+1}.self_attn.v_proj.MatMulNBits.qweight.q4_g32_mid",
                q4_g32_mid, [7168, 5120], 20643840
            ),
            tensor!(
                "model.layers.{l+1}.self_attn.q_proj.bias+model.layers.{l+1}.self_attn.k_proj.bias+model.layers.{l+1}.self_attn.v_proj.bias",
                rows_f32, [7168], 28672
            ),
        ],
    },
    Run {
        layers: 1,
        rows: &[
            tensor!(
                "model.layers.47.self_attn.o_proj.MatMulNBits.qweight.q4_g32_mid", q4_g32_mid, [5120, 5120], 14745600
            ),
            tensor!("model.layers.47.post_attention_layernorm.weight", rows_f32, [5120], 20480),
            tensor!(
                "model.layers.47.mlp.gate_proj.MatMulNBits.qweight.q4_g32_mid+model.layers.47.mlp.up_proj.MatMulNBits.qweight.q4_g32_mid",
                q4_g32_mid, [27648, 5120], 79626240
            ),
            tensor!(
                "model.layers.47.mlp.down_proj.MatMulNBits.qweight.q4_g32_mid", q4_g32_mid, [5120, 13824], 39813120
            ),
            tensor!("lm_head.MatMulNBits.qweight.q4_g32_mid", q4_g32_mid, [152064, 5120], 437944320),
            tensor!("model.norm.weight", rows_f32, [5120], 20480),
        ],
    },
];

static STATES: &[Run<State>] = &[
    Run {
        layers: 48,
        rows: &[
            state!("past_key_values.{l}.key", 16777216, [1, 8, 8192, 128], Elem::F16),
            state!("past_key_values.{l}.value", 16777216, [1, 8, 8192, 128], Elem::F16),
        ],
    },
    Run {
        layers: 1,
        rows: &[state!("counters", 160, [40], Elem::U32)],
    },
];

static BUCKETS: &[Bucket] = &[
    Bucket {
        name: Borrowed("prefill"),
        rows: 256,
        arena_bytes: 50070528,
        inputs: Borrowed(&[]),
        outputs: Borrowed(&[]),
        blocks: Borrowed(BUCKET_PREFILL),
    },
    Bucket {
        name: Borrowed("decode"),
        rows: 1,
        arena_bytes: 727040,
        inputs: Borrowed(&[]),
        outputs: Borrowed(&[]),
        blocks: Borrowed(BUCKET_DECODE),
    },
];

static BUCKET_PREFILL: &[Block] = &[
    Block {
        phase: Phase::Body,
        table: Borrowed(BUCKET_PREFILL_0_TABLE),
        dispatches: Borrowed(BUCKET_PREFILL_0_ROWS),
    },
    Block {
        phase: Phase::Body,
        table: Borrowed(BUCKET_PREFILL_1_TABLE),
        dispatches: Borrowed(BUCKET_PREFILL_1_ROWS),
    },
    Block {
        phase: Phase::Body,
        table: Borrowed(BUCKET_PREFILL_2_TABLE),
        dispatches: Borrowed(BUCKET_PREFILL_2_ROWS),
    },
    Block {
        phase: Phase::Head,
        table: Borrowed(BUCKET_PREFILL_3_TABLE),
        dispatches: Borrowed(BUCKET_PREFILL_3_ROWS),
    },
    Block {
        phase: Phase::Greedy,
        table: Borrowed(BUCKET_PREFILL_4_TABLE),
        dispatches: Borrowed(BUCKET_PREFILL_4_ROWS),
    },
    Block {
        phase: Phase::Drawn,
        table: Borrowed(BUCKET_PREFILL_5_TABLE),
        dispatches: Borrowed(BUCKET_PREFILL_5_ROWS),
    },
    Block {
        phase: Phase::Drawn,
        table: Borrowed(BUCKET_PREFILL_6_TABLE),
        dispatches: Borrowed(BUCKET_PREFILL_6_ROWS),
    },
    Block {
        phase: Phase::Drawn,
        table: Borrowed(BUCKET_PREFILL_7_TABLE),
        dispatches: Borrowed(BUCKET_PREFILL_7_ROWS),
    },
];

static BUCKET_PREFILL_0_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_PREFILL_0_ROWS: &[Dispatch] = &[
    row!(
        GATHER_Q4_G32_POINT_M256_K5120_ROWS152064, [20480, 1, 1], [Weight(0), Tokens, Arena(0), Step], +,
        "/model/embed_tokens/GatherBlockQuantized/rows [1, 256, 5120]"
    ),
    row!(
        HALF_M256_K5120_RMS, [256, 1, 1], [Arena(0), Arena(5242880), Step, Weight(1)], +,
        "/model/layers.0/attn/GroupQueryAttention/turned [1, 40, 256, 128]"
    ),
    row!(
        QKV_Q4_G32_MID_M256_K5120_H40_8_D128_C8192_RMS_HALF, [2, 56, 1], [Arena(0), Weight(2), Arena(7865344),
        Arg::State(0), Arg::State(1), Step, Step, Step, Weight(1), Weight(3), Weight(4), Weight(5), Arena(5242880)], +,
        "/model/layers.0/attn/GroupQueryAttention/turned [1, 40, 256, 128]"
    ),
    row!(
        ATTEND_F16_M256_H40_8_D128_C8192_ON, [40, 8, 1], [Arena(7865344), Arg::State(0), Arg::State(1), Arena(13108224),
        Step, Step, Arena(18351104)], +, "/model/layers.0/attn/GroupQueryAttention/heads [1, 256, 5120]"
    ),
    row!(
        MATMUL_Q4_G32_MID_M256_K5120_N5120_ADD_HALF_STRAIGHT, [3, 40, 1], [Arena(13108224), Weight(6), Arena(5242880),
        Step, Arena(0), Arena(18351104)], +, "/model/layers.0/post_attention_layernorm/SkipLayerNorm/sum [1, 256, 5120]"
    ),
];

static BUCKET_PREFILL_1_TABLE: &[List<Arg>] = &[
    columns!(Weight(7), Weight(8), Weight(9), Weight(10), Weight(11), Arg::State(2), Arg::State(3), Weight(12), Weight(13)),
    columns!(Weight(14), Weight(15), Weight(16), Weight(17), Weight(18), Arg::State(4), Arg::State(5), Weight(19), Weight(20)),
    columns!(Weight(21), Weight(22), Weight(23), Weight(24), Weight(25), Arg::State(6), Arg::State(7), Weight(26), Weight(27)),
    columns!(Weight(28), Weight(29), Weight(30), Weight(31), Weight(32), Arg::State(8), Arg::State(9), Weight(33), Weight(34)),
    columns!(Weight(35), Weight(36), Weight(37), Weight(38), Weight(39), Arg::State(10), Arg::State(11), Weight(40), Weight(41)),
    columns!(Weight(42), Weight(43), Weight(44), Weight(45), Weight(46), Arg::State(12), Arg::State(13), Weight(47), Weight(48)),
    columns!(Weight(49), Weight(50), Weight(51), Weight(52), Weight(53), Arg::State(14), Arg::State(15), Weight(54), Weight(55)),
    columns!(Weight(56), Weight(57), Weight(58), Weight(59), Weight(60), Arg::State(16), Arg::State(17), Weight(61), Weight(62)),
    columns!(Weight(63), Weight(64), Weight(65), Weight(66), Weight(67), Arg::State(18), Arg::State(19), Weight(68), Weight(69)),
    columns!(Weight(70), Weight(71), Weight(72), Weight(73), Weight(74), Arg::State(20), Arg::State(21), Weight(75), Weight(76)),
    columns!(Weight(77), Weight(78), Weight(79), Weight(80), Weight(81), Arg::State(22), Arg::State(23), Weight(82), Weight(83)),
    columns!(Weight(84), Weight(85), Weight(86), Weight(87), Weight(88), Arg::State(24), Arg::State(25), Weight(89), Weight(90)),
    columns!(Weight(91), Weight(92), Weight(93), Weight(94), Weight(95), Arg::State(26), Arg::State(27), Weight(96), Weight(97)),
    columns!(Weight(98), Weight(99), Weight(100), Weight(101), Weight(102), Arg::State(28), Arg::State(29), Weight(103), Weight(104)),
    columns!(Weight(105), Weight(106), Weight(107), Weight(108), Weight(109), Arg::State(30), Arg::State(31), Weight(110), Weight(111)),
    columns!(Weight(112), Weight(113), Weight(114), Weight(115), Weight(116), Arg::State(32), Arg::State(33), Weight(117), Weight(118)),
    columns!(Weight(119), Weight(120), Weight(121), Weight(122), Weight(123), Arg::State(34), Arg::State(35), Weight(124), Weight(125)),
    columns!(Weight(126), Weight(127), Weight(128), Weight(129), Weight(130), Arg::State(36), Arg::State(37), Weight(131), Weight(132)),
    columns!(Weight(133), Weight(134), Weight(135), Weight(136), Weight(137), Arg::State(38), Arg::State(39), Weight(138), Weight(139)),
    columns!(Weight(140), Weight(141), Weight(142), Weight(143), Weight(144), Arg::State(40), Arg::State(41), Weight(145), Weight(146)),
    columns!(Weight(147), Weight(148), Weight(149), Weight(150), Weight(151), Arg::State(42), Arg::State(43), Weight(152), Weight(153)),
    columns!(Weight(154), Weight(155), Weight(156), Weight(157), Weight(158), Arg::State(44), Arg::State(45), Weight(159), Weight(160)),
    columns!(Weight(161), Weight(162), Weight(163), Weight(164), Weight(165), Arg::State(46), Arg::State(47), Weight(166), Weight(167)),
    columns!(Weight(168), Weight(169), Weight(170), Weight(171), Weight(172), Arg::State(48), Arg::State(49), Weight(173), Weight(174)),
    columns!(Weight(175), Weight(176), Weight(177), Weight(178), Weight(179), Arg::State(50), Arg::State(51), Weight(180), Weight(181)),
    columns!(Weight(182), Weight(183), Weight(184), Weight(185), Weight(186), Arg::State(52), Arg::State(53), Weight(187), Weight(188)),
    columns!(Weight(189), Weight(190), Weight(191), Weight(192), Weight(193), Arg::State(54), Arg::State(55), Weight(194), Weight(195)),
    columns!(Weight(196), Weight(197), Weight(198), Weight(199), Weight(200), Arg::State(56), Arg::State(57), Weight(201), Weight(202)),
    columns!(Weight(203), Weight(204), Weight(205), Weight(206), Weight(207), Arg::State(58), Arg::State(59), Weight(208), Weight(209)),
    columns!(Weight(210), Weight(211), Weight(212), Weight(213), Weight(214), Arg::State(60), Arg::State(61), Weight(215), Weight(216)),
    columns!(Weight(217), Weight(218), Weight(219), Weight(220), Weight(221), Arg::State(62), Arg::State(63), Weight(222), Weight(223)),
    columns!(Weight(224), Weight(225), Weight(226), Weight(227), Weight(228), Arg::State(64), Arg::State(65), Weight(229), Weight(230)),
    columns!(Weight(231), Weight(232), Weight(233), Weight(234), Weight(235), Arg::State(66), Arg::State(67), Weight(236), Weight(237)),
    columns!(Weight(238), Weight(239), Weight(240), Weight(241), Weight(242), Arg::State(68), Arg::State(69), Weight(243), Weight(244)),
    columns!(Weight(245), Weight(246), Weight(247), Weight(248), Weight(249), Arg::State(70), Arg::State(71), Weight(250), Weight(251)),
    columns!(Weight(252), Weight(253), Weight(254), Weight(255), Weight(256), Arg::State(72), Arg::State(73), Weight(257), Weight(258)),
    columns!(Weight(259), Weight(260), Weight(261), Weight(262), Weight(263), Arg::State(74), Arg::State(75), Weight(264), Weight(265)),
    columns!(Weight(266), Weight(267), Weight(268), Weight(269), Weight(270), Arg::State(76), Arg::State(77), Weight(271), Weight(272)),
    columns!(Weight(273), Weight(274), Weight(275), Weight(276), Weight(277), Arg::State(78), Arg::State(79), Weight(278), Weight(279)),
    columns!(Weight(280), Weight(281), Weight(282), Weight(283), Weight(284), Arg::State(80), Arg::State(81), Weight(285), Weight(286)),
    columns!(Weight(287), Weight(288), Weight(289), Weight(290), Weight(291), Arg::State(82), Arg::State(83), Weight(292), Weight(293)),
    columns!(Weight(294), Weight(295), Weight(296), Weight(297), Weight(298), Arg::State(84), Arg::State(85), Weight(299), Weight(300)),
    columns!(Weight(301), Weight(302), Weight(303), Weight(304), Weight(305), Arg::State(86), Arg::State(87), Weight(306), Weight(307)),
    columns!(Weight(308), Weight(309), Weight(310), Weight(311), Weight(312), Arg::State(88), Arg::State(89), Weight(313), Weight(314)),
    columns!(Weight(315), Weight(316), Weight(317), Weight(318), Weight(319), Arg::State(90), Arg::State(91), Weight(320), Weight(321)),
    columns!(Weight(322), Weight(323), Weight(324), Weight(325), Weight(326), Arg::State(92), Arg::State(93), Weight(327), Weight(328)),
    columns!(Weight(329), Weight(330), Weight(331), Weight(332), Weight(333), Arg::State(94), Arg::State(95), Weight(334), Weight(335)),
];

static BUCKET_PREFILL_1_ROWS: &[Dispatch] = &[
    row!(
        HALF_M256_K5120_RMS, [256, 1, 1], [Arena(5242880), Arena(0), Step, Column(0)], +,
        "/model/layers.{l}/mlp/Mul [1, 256, 13824]"
    ),
    row!(
        GATED_MATMUL_Q4_G32_MID_M256_K5120_N13824_RMS_SILU_HALF_ON, [2, 216, 1], [Arena(5242880), Column(1),
        Arena(10485760), Step, Column(0), Arena(0), Arena(24641536)], +, "/model/layers.{l}/mlp/Mul [1, 256, 13824]"
    ),
    row!(
        MATMUL_Q4_G32_MID_M256_K13824_N5120_ADD_HALF_STRAIGHT, [2, 40, 3], [Arena(10485760), Column(2), Arena(0), Step,
        Arena(5242880), Arena(24641536), Arena(31719424)], +,
        "/model/layers.{l+1}/input_layernorm/SkipLayerNorm/sum [1, 256, 5120]"
    ),
    row!(
        MATMUL_Q4_G32_MID_M256_K13824_N5120_ADD_HALF_ADD_UP_ON_RMS, [256, 1, 1], [Arena(10485760), Column(2), Arena(0),
        Step, Arena(5242880), Arena(24641536), Arena(31719424), Arena(47448064), Column(3)], +,
        "/model/layers.{l+1}/input_layernorm/SkipLayerNorm/sum [1, 256, 5120]"
    ),
    row!(
        QKV_Q4_G32_MID_M256_K5120_H40_8_D128_C8192_RMS_HALF, [2, 56, 1], [Arena(0), Column(4), Arena(5242880),
        Column(5), Column(6), Step, Step, Step, Column(3), Column(7), Weight(4), Weight(5), Arena(47448064)], +,
        "/model/layers.{l+1}/attn/GroupQueryAttention/turned [1, 40, 256, 128]"
    ),
    row!(
        ATTEND_F16_M256_H40_8_D128_C8192_ON, [40, 8, 1], [Arena(5242880), Column(5), Column(6), Arena(10485760), Step,
        Step, Arena(15728640)], +, "/model/layers.{l+1}/attn/GroupQueryAttention/heads [1, 256, 5120]"
    ),
    row!(
        MATMUL_Q4_G32_MID_M256_K5120_N5120_ADD_HALF_STRAIGHT, [3, 40, 1], [Arena(10485760), Column(8), Arena(5242880),
        Step, Arena(0), Arena(15728640)], +,
        "/model/layers.{l+1}/post_attention_layernorm/SkipLayerNorm/sum [1, 256, 5120]"
    ),
];

static BUCKET_PREFILL_2_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_PREFILL_2_ROWS: &[Dispatch] = &[
    row!(
        HALF_M256_K5120_RMS, [256, 1, 1], [Arena(5242880), Arena(0), Step, Weight(336)], +,
        "/model/layers.47/mlp/Mul [1, 256, 13824]"
    ),
    row!(
        GATED_MATMUL_Q4_G32_MID_M256_K5120_N13824_RMS_SILU_HALF_ON, [2, 216, 1], [Arena(5242880), Weight(337),
        Arena(10485760), Step, Weight(336), Arena(0), Arena(24641536)], +, "/model/layers.47/mlp/Mul [1, 256, 13824]"
    ),
    row!(
        MATMUL_Q4_G32_MID_M256_K13824_N5120_ADD_HALF_STRAIGHT, [2, 40, 3], [Arena(10485760), Weight(338), Arena(0),
        Step, Arena(5242880), Arena(24641536), Arena(31719424)], +,
        "/model/layers.48/final_norm_layernorm/SkipLayerNorm/sum [1, 256, 5120]"
    ),
    row!(
        MATMUL_Q4_G32_MID_M256_K13824_N5120_ADD_HALF_ADD_UP, [5120, 1, 1], [Arena(10485760), Weight(338), Arena(0),
        Step, Arena(5242880), Arena(24641536), Arena(31719424)], +,
        "/model/layers.48/final_norm_layernorm/SkipLayerNorm/sum [1, 256, 5120]"
    ),
];

static BUCKET_PREFILL_3_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_PREFILL_3_ROWS: &[Dispatch] = &[
    row!(LAST_ROW_F32_M256_K5120, [80, 1, 1], [Arena(0), Step, Arena(5242880)], +, "last_row [1, 1, 5120]"),
    row!(
        MATVEC_Q4_G32_MID_M1_K5120_N152064_RMS, [4752, 1, 1], [Arena(5242880), Weight(339), Logits, Step, Weight(340)],
        +, "/lm_head/MatMulNBits [1, 1, 152064]"
    ),
];

static BUCKET_PREFILL_4_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_PREFILL_4_ROWS: &[Dispatch] = &[
    row!(ARGMAX_F32_N152064, [119, 1, 1], [Logits, Arena(0), Step], +, "best of each slice [119]"),
    row!(NEXT_TOKEN_N152064, [1, 1, 1], [Arena(0), Step, Tokens, Ring, History], +, "next token [152064]"),
];

static BUCKET_PREFILL_5_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_PREFILL_5_ROWS: &[Dispatch] = &[
    row!(
        DRAW_SCALE_N152064, [119, 1, 1], [Logits, Step, History, Arena(0), Arena(608256), Arena(608768), Arena(613120)],
        +, "penalty and temperature [152064]"
    ),
];

static BUCKET_PREFILL_6_TABLE: &[List<Arg>] = &[
    columns!(Arena(608768), Arena(613120), Arena(617472)),
    columns!(Arena(613120), Arena(617472), Arena(608768)),
    columns!(Arena(617472), Arena(608768), Arena(613120)),
    columns!(Arena(608768), Arena(613120), Arena(617472)),
    columns!(Arena(613120), Arena(617472), Arena(608768)),
    columns!(Arena(617472), Arena(608768), Arena(613120)),
    columns!(Arena(608768), Arena(613120), Arena(617472)),
    columns!(Arena(613120), Arena(617472), Arena(608768)),
];

static BUCKET_PREFILL_6_ROWS: &[Dispatch] = &[
    row!(
        DRAW_SEARCH_N152064, [119, 1, 1], [Arena(0), Arena(608256), Step, Column(0), Column(1), Column(2)], +,
        "digit {l} of top-k, then top-p"
    ),
];

static BUCKET_PREFILL_7_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_PREFILL_7_ROWS: &[Dispatch] = &[
    row!(
        DRAW_SUM_N152064, [119, 1, 1], [Arena(0), Arena(608256), Step, Arena(617472), Arena(608768), Arena(609024)], +,
        "mass of each slice [119]"
    ),
    row!(
        DRAW_PICK_N152064, [1, 1, 1], [Arena(0), Arena(608768), Arena(609024), Step, Tokens, Ring, History], +,
        "next token, drawn [152064]"
    ),
];

static BUCKET_DECODE: &[Block] = &[
    Block {
        phase: Phase::Body,
        table: Borrowed(BUCKET_DECODE_0_TABLE),
        dispatches: Borrowed(BUCKET_DECODE_0_ROWS),
    },
    Block {
        phase: Phase::Body,
        table: Borrowed(BUCKET_DECODE_1_TABLE),
        dispatches: Borrowed(BUCKET_DECODE_1_ROWS),
    },
    Block {
        phase: Phase::Head,
        table: Borrowed(BUCKET_DECODE_2_TABLE),
        dispatches: Borrowed(BUCKET_DECODE_2_ROWS),
    },
    Block {
        phase: Phase::Greedy,
        table: Borrowed(BUCKET_DECODE_3_TABLE),
        dispatches: Borrowed(BUCKET_DECODE_3_ROWS),
    },
    Block {
        phase: Phase::Drawn,
        table: Borrowed(BUCKET_DECODE_4_TABLE),
        dispatches: Borrowed(BUCKET_DECODE_4_ROWS),
    },
    Block {
        phase: Phase::Drawn,
        table: Borrowed(BUCKET_DECODE_5_TABLE),
        dispatches: Borrowed(BUCKET_DECODE_5_ROWS),
    },
    Block {
        phase: Phase::Drawn,
        table: Borrowed(BUCKET_DECODE_6_TABLE),
        dispatches: Borrowed(BUCKET_DECODE_6_ROWS),
    },
];

static BUCKET_DECODE_0_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_DECODE_0_ROWS: &[Dispatch] = &[
    row!(
        GATHER_Q4_G32_POINT_M1_K5120_ROWS152064, [80, 1, 1], [Weight(0), Tokens, Arena(0), Step], +,
        "/model/embed_tokens/GatherBlockQuantized/rows [1, 1, 5120]"
    ),
];

static BUCKET_DECODE_1_TABLE: &[List<Arg>] = &[
    columns!(Weight(2), Arg::State(0), Arg::State(1), Weight(1), Weight(3), Weight(6), Weight(8), Weight(7), Weight(9)),
    columns!(Weight(11), Arg::State(2), Arg::State(3), Weight(10), Weight(12), Weight(13), Weight(15), Weight(14), Weight(16)),
    columns!(Weight(18), Arg::State(4), Arg::State(5), Weight(17), Weight(19), Weight(20), Weight(22), Weight(21), Weight(23)),
    columns!(Weight(25), Arg::State(6), Arg::State(7), Weight(24), Weight(26), Weight(27), Weight(29), Weight(28), Weight(30)),
    columns!(Weight(32), Arg::State(8), Arg::State(9), Weight(31), Weight(33), Weight(34), Weight(36), Weight(35), Weight(37)),
    columns!(Weight(39), Arg::State(10), Arg::State(11), Weight(38), Weight(40), Weight(41), Weight(43), Weight(42), Weight(44)),
    columns!(Weight(46), Arg::State(12), Arg::State(13), Weight(45), Weight(47), Weight(48), Weight(50), Weight(49), Weight(51)),
    columns!(Weight(53), Arg::State(14), Arg::State(15), Weight(52), Weight(54), Weight(55), Weight(57), Weight(56), Weight(58)),
    columns!(Weight(60), Arg::State(16), Arg::State(17), Weight(59), Weight(61), Weight(62), Weight(64), Weight(63), Weight(65)),
    columns!(Weight(67), Arg::State(18), Arg::State(19), Weight(66), Weight(68), Weight(69), Weight(71), Weight(70), Weight(72)),
    columns!(Weight(74), Arg::State(20), Arg::State(21), Weight(73), Weight(75), Weight(76), Weight(78), Weight(77), Weight(79)),
    columns!(Weight(81), Arg::State(22), Arg::State(23), Weight(80), Weight(82), Weight(83), Weight(85), Weight(84), Weight(86)),
    columns!(Weight(88), Arg::State(24), Arg::State(25), Weight(87), Weight(89), Weight(90), Weight(92), Weight(91), Weight(93)),
    columns!(Weight(95), Arg::State(26), Arg::State(27), Weight(94), Weight(96), Weight(97), Weight(99), Weight(98), Weight(100)),
    columns!(Weight(102), Arg::State(28), Arg::State(29), Weight(101), Weight(103), Weight(104), Weight(106), Weight(105), Weight(107)),
    columns!(Weight(109), Arg::State(30), Arg::State(31), Weight(108), Weight(110), Weight(111), Weight(113), Weight(112), Weight(114)),
    columns!(Weight(116), Arg::State(32), Arg::State(33), Weight(115), Weight(117), Weight(118), Weight(120), Weight(119), Weight(121)),
    columns!(Weight(123), Arg::State(34), Arg::State(35), Weight(122), Weight(124), Weight(125), Weight(127), Weight(126), Weight(128)),
    columns!(Weight(130), Arg::State(36), Arg::State(37), Weight(129), Weight(131), Weight(132), Weight(134), Weight(133), Weight(135)),
    columns!(Weight(137), Arg::State(38), Arg::State(39), Weight(136), Weight(138), Weight(139), Weight(141), Weight(140), Weight(142)),
    columns!(Weight(144), Arg::State(40), Arg::State(41), Weight(143), Weight(145), Weight(146), Weight(148), Weight(147), Weight(149)),
    columns!(Weight(151), Arg::State(42), Arg::State(43), Weight(150), Weight(152), Weight(153), Weight(155), Weight(154), Weight(156)),
    columns!(Weight(158), Arg::State(44), Arg::State(45), Weight(157), Weight(159), Weight(160), Weight(162), Weight(161), Weight(163)),
    columns!(Weight(165), Arg::State(46), Arg::State(47), Weight(164), Weight(166), Weight(167), Weight(169), Weight(168), Weight(170)),
    columns!(Weight(172), Arg::State(48), Arg::State(49), Weight(171), Weight(173), Weight(174), Weight(176), Weight(175), Weight(177)),
    columns!(Weight(179), Arg::State(50), Arg::State(51), Weight(178), Weight(180), Weight(181), Weight(183), Weight(182), Weight(184)),
    columns!(Weight(186), Arg::State(52), Arg::State(53), Weight(185), Weight(187), Weight(188), Weight(190), Weight(189), Weight(191)),
    columns!(Weight(193), Arg::State(54), Arg::State(55), Weight(192), Weight(194), Weight(195), Weight(197), Weight(196), Weight(198)),
    columns!(Weight(200), Arg::State(56), Arg::State(57), Weight(199), Weight(201), Weight(202), Weight(204), Weight(203), Weight(205)),
    columns!(Weight(207), Arg::State(58), Arg::State(59), Weight(206), Weight(208), Weight(209), Weight(211), Weight(210), Weight(212)),
    columns!(Weight(214), Arg::State(60), Arg::State(61), Weight(213), Weight(215), Weight(216), Weight(218), Weight(217), Weight(219)),
    columns!(Weight(221), Arg::State(62), Arg::State(63), Weight(220), Weight(222), Weight(223), Weight(225), Weight(224), Weight(226)),
    columns!(Weight(228), Arg::State(64), Arg::State(65), Weight(227), Weight(229), Weight(230), Weight(232), Weight(231), Weight(233)),
    columns!(Weight(235), Arg::State(66), Arg::State(67), Weight(234), Weight(236), Weight(237), Weight(239), Weight(238), Weight(240)),
    columns!(Weight(242), Arg::State(68), Arg::State(69), Weight(241), Weight(243), Weight(244), Weight(246), Weight(245), Weight(247)),
    columns!(Weight(249), Arg::State(70), Arg::State(71), Weight(248), Weight(250), Weight(251), Weight(253), Weight(252), Weight(254)),
    columns!(Weight(256), Arg::State(72), Arg::State(73), Weight(255), Weight(257), Weight(258), Weight(260), Weight(259), Weight(261)),
    columns!(Weight(263), Arg::State(74), Arg::State(75), Weight(262), Weight(264), Weight(265), Weight(267), Weight(266), Weight(268)),
    columns!(Weight(270), Arg::State(76), Arg::State(77), Weight(269), Weight(271), Weight(272), Weight(274), Weight(273), Weight(275)),
    columns!(Weight(277), Arg::State(78), Arg::State(79), Weight(276), Weight(278), Weight(279), Weight(281), Weight(280), Weight(282)),
    columns!(Weight(284), Arg::State(80), Arg::State(81), Weight(283), Weight(285), Weight(286), Weight(288), Weight(287), Weight(289)),
    columns!(Weight(291), Arg::State(82), Arg::State(83), Weight(290), Weight(292), Weight(293), Weight(295), Weight(294), Weight(296)),
    columns!(Weight(298), Arg::State(84), Arg::State(85), Weight(297), Weight(299), Weight(300), Weight(302), Weight(301), Weight(303)),
    columns!(Weight(305), Arg::State(86), Arg::State(87), Weight(304), Weight(306), Weight(307), Weight(309), Weight(308), Weight(310)),
    columns!(Weight(312), Arg::State(88), Arg::State(89), Weight(311), Weight(313), Weight(314), Weight(316), Weight(315), Weight(317)),
    columns!(Weight(319), Arg::State(90), Arg::State(91), Weight(318), Weight(320), Weight(321), Weight(323), Weight(322), Weight(324)),
    columns!(Weight(326), Arg::State(92), Arg::State(93), Weight(325), Weight(327), Weight(328), Weight(330), Weight(329), Weight(331)),
    columns!(Weight(333), Arg::State(94), Arg::State(95), Weight(332), Weight(334), Weight(335), Weight(337), Weight(336), Weight(338)),
];

static BUCKET_DECODE_1_ROWS: &[Dispatch] = &[
    row!(
        QKV_Q4_G32_MID_M1_K5120_H40_8_D128_C8192_RMS, [448, 1, 1], [Arena(0), Column(0), Arena(20480), Column(1),
        Column(2), Step, Step, Step, Column(3), Column(4), Weight(4), Weight(5)], +,
        "/model/layers.{l}/attn/GroupQueryAttention/turned [1, 40, 1, 128]"
    ),
    row!(
        ATTEND_F16_M1_H40_8_D128_C8192, [40, 32, 1], [Arena(20480), Column(1), Column(2), Arena(40960), Step,
        Arena(61440), Arg::State(96), Step], +, "/model/layers.{l}/attn/GroupQueryAttention/heads [1, 1, 5120]"
    ),
    row!(
        MATVEC_Q4_G32_MID_M1_K5120_N5120_ADD, [320, 1, 1], [Arena(40960), Column(5), Arena(20480), Step, Arena(0)], +,
        "/model/layers.{l}/post_attention_layernorm/SkipLayerNorm/sum [1, 1, 5120]"
    ),
    row!(
        GATED_MATVEC_Q4_G32_MID_M1_K5120_N13824_RMS_SILU, [1728, 1, 1], [Arena(20480), Column(6), Arena(40960), Step,
        Column(7)], +, "/model/layers.{l}/mlp/Mul [1, 1, 13824]"
    ),
    row!(
        MATVEC_Q4_G32_MID_M1_K13824_N5120_ADD, [128, 1, 1], [Arena(40960), Column(8), Arena(0), Step, Arena(20480)], +,
        "/model/layers.{l+1}/input_layernorm/SkipLayerNorm/sum [1, 1, 5120]"
    ),
];

static BUCKET_DECODE_2_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_DECODE_2_ROWS: &[Dispatch] = &[
    row!(
        MATVEC_Q4_G32_MID_M1_K5120_N152064_RMS, [4752, 1, 1], [Arena(0), Weight(339), Logits, Step, Weight(340)], +,
        "/lm_head/MatMulNBits [1, 1, 152064]"
    ),
];

static BUCKET_DECODE_3_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_DECODE_3_ROWS: &[Dispatch] = &[
    row!(ARGMAX_F32_N152064, [119, 1, 1], [Logits, Arena(0), Step], +, "best of each slice [119]"),
    row!(NEXT_TOKEN_N152064, [1, 1, 1], [Arena(0), Step, Tokens, Ring, History], +, "next token [152064]"),
];

static BUCKET_DECODE_4_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_DECODE_4_ROWS: &[Dispatch] = &[
    row!(
        DRAW_SCALE_N152064, [119, 1, 1], [Logits, Step, History, Arena(0), Arena(608256), Arena(608768), Arena(613120)],
        +, "penalty and temperature [152064]"
    ),
];

static BUCKET_DECODE_5_TABLE: &[List<Arg>] = &[
    columns!(Arena(608768), Arena(613120), Arena(617472)),
    columns!(Arena(613120), Arena(617472), Arena(608768)),
    columns!(Arena(617472), Arena(608768), Arena(613120)),
    columns!(Arena(608768), Arena(613120), Arena(617472)),
    columns!(Arena(613120), Arena(617472), Arena(608768)),
    columns!(Arena(617472), Arena(608768), Arena(613120)),
    columns!(Arena(608768), Arena(613120), Arena(617472)),
    columns!(Arena(613120), Arena(617472), Arena(608768)),
];

static BUCKET_DECODE_5_ROWS: &[Dispatch] = &[
    row!(
        DRAW_SEARCH_N152064, [119, 1, 1], [Arena(0), Arena(608256), Step, Column(0), Column(1), Column(2)], +,
        "digit {l} of top-k, then top-p"
    ),
];

static BUCKET_DECODE_6_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_DECODE_6_ROWS: &[Dispatch] = &[
    row!(
        DRAW_SUM_N152064, [119, 1, 1], [Arena(0), Arena(608256), Step, Arena(617472), Arena(608768), Arena(609024)], +,
        "mass of each slice [119]"
    ),
    row!(
        DRAW_PICK_N152064, [1, 1, 1], [Arena(0), Arena(608768), Arena(609024), Step, Tokens, Ring, History], +,
        "next token, drawn [152064]"
    ),
];
