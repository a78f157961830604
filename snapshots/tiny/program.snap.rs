// Written by onnxcast 0.1.0 from models/tiny/model.toml. Do not edit: make model=NAME writes it again.

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
        name: Borrowed("tiny"),
        plan_hash: Borrowed(""),
        kernels: Borrowed(KERNELS),
        variants: Borrowed(VARIANTS),
        tensors: unrolled(TENSORS),
        states: unrolled(STATES),
        buckets: Borrowed(BUCKETS),
        decoder: Some(Decoder {
            context: 300,
            vocab: 320,
            decode: 1,
            prefill: 0,
            pictures: None,
        }),
    }
}

const GATHER_F32_M128_K96_ROWS320: u32 = 0;
const QKV_F32_M128_K96_H6_2_D16_C300_RMS: u32 = 1;
const ATTEND_F32_M128_H6_2_D16_C300: u32 = 2;
const MATMUL_F32_M128_K96_N96_ADD: u32 = 3;
const GATED_MATMUL_F32_M128_K96_N256_RMS_SILU: u32 = 4;
const MATMUL_F32_M128_K256_N96_ADD: u32 = 5;
const LAST_ROW_F32_M128_K96: u32 = 6;
const MATVEC_F32_M1_K96_N320_RMS: u32 = 7;
const MATVEC_F32_M1_K96_N320_RMS_BY8: u32 = 8;
const ARGMAX_F32_N320: u32 = 9;
const NEXT_TOKEN_N320: u32 = 10;
const DRAW_SCALE_N320: u32 = 11;
const DRAW_SEARCH_N320: u32 = 12;
const DRAW_SUM_N320: u32 = 13;
const DRAW_PICK_N320: u32 = 14;
const GATHER_F32_M1_K96_ROWS320: u32 = 15;
const QKV_F32_M1_K96_H6_2_D16_C300_RMS: u32 = 16;
const QKV_F32_M1_K96_H6_2_D16_C300_RMS_BY8: u32 = 17;
const ATTEND_F32_M1_H6_2_D16_C300: u32 = 18;
const MATVEC_F32_M1_K96_N96_ADD: u32 = 19;
const MATVEC_F32_M1_K96_N96_ADD_BY8: u32 = 20;
const GATED_MATVEC_F32_M1_K96_N256_RMS_SILU: u32 = 21;
const GATED_MATVEC_F32_M1_K96_N256_RMS_SILU_BY8: u32 = 22;
const MATVEC_F32_M1_K256_N96_ADD: u32 = 23;
const MATVEC_F32_M1_K256_N96_ADD_BY4: u32 = 24;

static KERNELS: &[Kernel] = &[
    kernel!(
        "gather_f32_m128_k96_rows320", "gather_rows.comp", args 4, writes 4, [M = "128", K = "96", ROWS = "320",
        WEIGHT_BITS = "32", LIVE = "1"]
    ),
    kernel!(
        "qkv_f32_m128_k96_h6_2_d16_c300_rms", "qkv.comp", args 11, writes 28, [M = "128", K = "96", HQ = "6", HKV = "2",
        D = "16", C = "300", WEIGHT_BITS = "32", KV_BITS = "32", BIAS = "0", ROTARY = "16", TABLE = "300", INTERLEAVED =
        "0", QUADS = "1", POS_WORD = "0", ROWS_WORD = "1", LIVE = "1", THREAD_ROWS = "8", LOCAL = "64", NORM = "1", EPS
        = "1e-5", HALVES = "0"]
    ),
    kernel!(
        "attend_f32_m128_h6_2_d16_c300", "cached_attention.comp", args 6, writes 8, [M = "128", HQ = "6", HKV = "2", D =
        "16", C = "300", KV_BITS = "32", SCALE = "0.25", WINDOW = "0", POS_WORD = "0", QUERY_ROWS = "4", GROUP_ROWS =
        "4", LOCAL = "64", LIVE = "1"]
    ),
    kernel!(
        "matmul_f32_m128_k96_n96_add", "linear.comp", args 5, writes 4, [M = "128", K = "96", N = "96", WEIGHT_BITS =
        "32", ACT = "0", BIAS = "0", RESIDUAL = "1", LIVE = "1", THREAD_ROWS = "8", LOCAL = "64", NORM = "0", EPS =
        "0.0", HALVES = "0"]
    ),
    kernel!(
        "gated_matmul_f32_m128_k96_n256_rms_silu", "gated_linear.comp", args 5, writes 4, [M = "128", K = "96", N =
        "256", WEIGHT_BITS = "32", ACT = "15", LIVE = "1", THREAD_ROWS = "8", LOCAL = "64", NORM = "1", EPS = "1e-5",
        HALVES = "0"]
    ),
    kernel!(
        "matmul_f32_m128_k256_n96_add", "linear.comp", args 5, writes 4, [M = "128", K = "256", N = "96", WEIGHT_BITS =
        "32", ACT = "0", BIAS = "0", RESIDUAL = "1", LIVE = "1", THREAD_ROWS = "8", LOCAL = "64", NORM = "0", EPS =
        "0.0", HALVES = "0"]
    ),
    kernel!("last_row_f32_m128_k96", "last_row.comp", args 3, writes 4, [M = "128", K = "96", ROWS_WORD = "1"]),
    kernel!(
        "matvec_f32_m1_k96_n320_rms", "linear.comp", args 5, writes 4, [M = "1", K = "96", N = "320", WEIGHT_BITS =
        "32", ACT = "0", BIAS = "0", RESIDUAL = "0", LIVE = "1", THREAD_ROWS = "0", LOCAL = "48", SLOTS = "12", UNITS =
        "4", NORM = "1", EPS = "1e-5", HALVES = "0"]
    ),
    kernel!(
        "matvec_f32_m1_k96_n320_rms_by8", "linear.comp", args 5, writes 4, [M = "1", K = "96", N = "320", WEIGHT_BITS =
        "32", ACT = "0", BIAS = "0", RESIDUAL = "0", LIVE = "1", THREAD_ROWS = "0", LOCAL = "96", SLOTS = "12", UNITS =
        "8", NORM = "1", EPS = "1e-5", HALVES = "0"]
    ),
    kernel!("argmax_f32_n320", "argmax.comp", args 3, writes 2, [V = "320", SLICE = "1024", LOCAL = "256"]),
    kernel!("next_token_n320", "next_token.comp", args 5, writes 30, [V = "320", PARTS = "1", LOCAL = "256"]),
    kernel!(
        "draw_scale_n320", "draw_scale.comp", args 7, writes 120, [V = "320", SLICE = "1024", SLICES = "1", LOCAL =
        "256"]
    ),
    kernel!(
        "draw_search_n320", "draw_search.comp", args 6, writes 48, [V = "320", SLICE = "1024", SLICES = "1", LOCAL =
        "256"]
    ),
    kernel!(
        "draw_sum_n320", "draw_sum.comp", args 6, writes 48, [V = "320", SLICE = "1024", SLICES = "1", LOCAL = "256"]
    ),
    kernel!(
        "draw_pick_n320", "draw_pick.comp", args 7, writes 120, [V = "320", SLICE = "1024", SLICES = "1", LOCAL = "256"]
    ),
    kernel!(
        "gather_f32_m1_k96_rows320", "gather_rows.comp", args 4, writes 4, [M = "1", K = "96", ROWS = "320", WEIGHT_BITS
        = "32", LIVE = "1"]
    ),
    kernel!(
        "qkv_f32_m1_k96_h6_2_d16_c300_rms", "qkv.comp", args 11, writes 28, [M = "1", K = "96", HQ = "6", HKV = "2", D =
        "16", C = "300", WEIGHT_BITS = "32", KV_BITS = "32", BIAS = "0", ROTARY = "16", TABLE = "300", INTERLEAVED =
        "0", QUADS = "1", POS_WORD = "0", ROWS_WORD = "1", LIVE = "1", THREAD_ROWS = "0", LOCAL = "48", SLOTS = "12",
        UNITS = "4", NORM = "1", EPS = "1e-5", HALVES = "0"]
    ),
    kernel!(
        "qkv_f32_m1_k96_h6_2_d16_c300_rms_by8", "qkv.comp", args 11, writes 28, [M = "1", K = "96", HQ = "6", HKV = "2",
        D = "16", C = "300", WEIGHT_BITS = "32", KV_BITS = "32", BIAS = "0", ROTARY = "16", TABLE = "300", INTERLEAVED =
        "0", QUADS = "1", POS_WORD = "0", ROWS_WORD = "1", LIVE = "1", THREAD_ROWS = "0", LOCAL = "96", SLOTS = "12",
        UNITS = "8", NORM = "1", EPS = "1e-5", HALVES = "0"]
    ),
    kernel!(
        "attend_f32_m1_h6_2_d16_c300", "split_attention.comp", args 6, writes 8, [HQ = "6", HKV = "2", D = "16", C =
        "300", KV_BITS = "32", SCALE = "0.25", WINDOW = "0", POS_WORD = "0", LOCAL = "128", KEYS = "8", SPLITS = "1",
        LIVE = "1"]
    ),
    kernel!(
        "matvec_f32_m1_k96_n96_add", "linear.comp", args 5, writes 4, [M = "1", K = "96", N = "96", WEIGHT_BITS = "32",
        ACT = "0", BIAS = "0", RESIDUAL = "1", LIVE = "1", THREAD_ROWS = "0", LOCAL = "48", SLOTS = "12", UNITS = "4",
        NORM = "0", EPS = "0.0", HALVES = "0"]
    ),
    kernel!(
        "matvec_f32_m1_k96_n96_add_by8", "linear.comp", args 5, writes 4, [M = "1", K = "96", N = "96", WEIGHT_BITS =
        "32", ACT = "0", BIAS = "0", RESIDUAL = "1", LIVE = "1", THREAD_ROWS = "0", LOCAL = "96", SLOTS = "12", UNITS =
        "8", NORM = "0", EPS = "0.0", HALVES = "0"]
    ),
    kernel!(
        "gated_matvec_f32_m1_k96_n256_rms_silu", "gated_linear.comp", args 5, writes 4, [M = "1", K = "96", N = "256",
        WEIGHT_BITS = "32", ACT = "15", LIVE = "1", THREAD_ROWS = "0", LOCAL = "48", SLOTS = "12", UNITS = "4", NORM =
        "1", EPS = "1e-5", HALVES = "0"]
    ),
    kernel!(
        "gated_matvec_f32_m1_k96_n256_rms_silu_by8", "gated_linear.comp", args 5, writes 4, [M = "1", K = "96", N =
        "256", WEIGHT_BITS = "32", ACT = "15", LIVE = "1", THREAD_ROWS = "0", LOCAL = "96", SLOTS = "12", UNITS = "8",
        NORM = "1", EPS = "1e-5", HALVES = "0"]
    ),
    kernel!(
        "matvec_f32_m1_k256_n96_add", "linear.comp", args 5, writes 4, [M = "1", K = "256", N = "96", WEIGHT_BITS =
        "32", ACT = "0", BIAS = "0", RESIDUAL = "1", LIVE = "1", THREAD_ROWS = "0", LOCAL = "64", SLOTS = "32", UNITS =
        "2", NORM = "0", EPS = "0.0", HALVES = "0"]
    ),
    kernel!(
        "matvec_f32_m1_k256_n96_add_by4", "linear.comp", args 5, writes 4, [M = "1", K = "256", N = "96", WEIGHT_BITS =
        "32", ACT = "0", BIAS = "0", RESIDUAL = "1", LIVE = "1", THREAD_ROWS = "0", LOCAL = "128", SLOTS = "32", UNITS =
        "4", NORM = "0", EPS = "0.0", HALVES = "0"]
    ),
];

static VARIANTS: &[Variant] = &[
    Variant {
        of: MATVEC_F32_M1_K96_N320_RMS,
        by: MATVEC_F32_M1_K96_N320_RMS_BY8,
        grid: [10, 1, 1],
    },
    Variant {
        of: QKV_F32_M1_K96_H6_2_D16_C300_RMS,
        by: QKV_F32_M1_K96_H6_2_D16_C300_RMS_BY8,
        grid: [5, 1, 1],
    },
    Variant {
        of: MATVEC_F32_M1_K96_N96_ADD,
        by: MATVEC_F32_M1_K96_N96_ADD_BY8,
        grid: [3, 1, 1],
    },
    Variant {
        of: GATED_MATVEC_F32_M1_K96_N256_RMS_SILU,
        by: GATED_MATVEC_F32_M1_K96_N256_RMS_SILU_BY8,
        grid: [16, 1, 1],
    },
    Variant {
        of: MATVEC_F32_M1_K256_N96_ADD,
        by: MATVEC_F32_M1_K256_N96_ADD_BY4,
        grid: [6, 1, 1],
    },
];

static TENSORS: &[Run<Tensor>] = &[
    Run {
        layers: 1,
        rows: &[
            tensor!("model.embed_tokens.weight", rows_f32, [320, 96], 122880),
            tensor!(
                "model.layers.0.self_attn.q_proj.weight_T+model.layers.0.self_attn.k_proj.weight_T+model.layers.0.self_attn.v_proj.weight_T",
                rows_f32, [160, 96], 61440
            ),
            tensor!("model.layers.0.input_layernorm.weight", rows_f32, [96], 384),
            tensor!("/model/rotary_emb/Unsqueeze_2_output_0.cos_table", rows_f32, [300, 8], 9600),
            tensor!("/model/rotary_emb/Unsqueeze_3_output_0.sin_table", rows_f32, [300, 8], 9600),
            tensor!("model.layers.0.self_attn.o_proj.weight_T", rows_f32, [96, 96], 36864),
            tensor!(
                "model.layers.0.mlp.gate_proj.weight_T+model.layers.0.mlp.up_proj.weight_T", rows_f32, [512, 96], 196608
            ),
            tensor!("model.layers.0.post_attention_layernorm.weight", rows_f32, [96], 384),
            tensor!("model.layers.0.mlp.down_proj.weight_T", rows_f32, [96, 256], 98304),
            tensor!(
                "model.layers.1.self_attn.q_proj.weight_T+model.layers.1.self_attn.k_proj.weight_T+model.layers.1.self_attn.v_proj.weight_T",
                rows_f32, [160, 96], 61440
            ),
            tensor!("model.layers.1.input_layernorm.weight", rows_f32, [96], 384),
            tensor!("model.layers.1.self_attn.o_proj.weight_T", rows_f32, [96, 96], 36864),
            tensor!(
                "model.layers.1.mlp.gate_proj.weight_T+model.layers.1.mlp.up_proj.weight_T", rows_f32, [512, 96], 196608
            ),
            tensor!("model.layers.1.post_attention_layernorm.weight", rows_f32, [96], 384),
            tensor!("model.layers.1.mlp.down_proj.weight_T", rows_f32, [96, 256], 98304),
            tensor!("lm_head.weight_T", rows_f32, [320, 96], 122880),
            tensor!("model.norm.weight", rows_f32, [96], 384),
        ],
    },
];

static STATES: &[Run<State>] = &[
    Run {
        layers: 1,
        rows: &[
            state!("past_key_values.0.key", 38400, [1, 2, 300, 16], Elem::F32),
            state!("past_key_values.0.value", 38400, [1, 2, 300, 16], Elem::F32),
            state!("past_key_values.1.key", 38400, [1, 2, 300, 16], Elem::F32),
            state!("past_key_values.1.value", 38400, [1, 2, 300, 16], Elem::F32),
        ],
    },
];

static BUCKETS: &[Bucket] = &[
    Bucket {
        name: Borrowed("prefill"),
        rows: 128,
        arena_bytes: 229376,
        inputs: Borrowed(&[]),
        outputs: Borrowed(&[]),
        blocks: Borrowed(BUCKET_PREFILL),
    },
    Bucket {
        name: Borrowed("decode"),
        rows: 1,
        arena_bytes: 14592,
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
        phase: Phase::Head,
        table: Borrowed(BUCKET_PREFILL_2_TABLE),
        dispatches: Borrowed(BUCKET_PREFILL_2_ROWS),
    },
    Block {
        phase: Phase::Greedy,
        table: Borrowed(BUCKET_PREFILL_3_TABLE),
        dispatches: Borrowed(BUCKET_PREFILL_3_ROWS),
    },
    Block {
        phase: Phase::Drawn,
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
];

static BUCKET_PREFILL_0_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_PREFILL_0_ROWS: &[Dispatch] = &[
    row!(
        GATHER_F32_M128_K96_ROWS320, [192, 1, 1], [Weight(0), Tokens, Arena(0), Step], +,
        "/model/embed_tokens/Gather [1, 128, 96]"
    ),
];

static BUCKET_PREFILL_1_TABLE: &[List<Arg>] = &[
    columns!(Weight(1), Arg::State(0), Arg::State(1), Weight(2), Weight(5), Weight(6), Weight(7), Weight(8)),
    columns!(Weight(9), Arg::State(2), Arg::State(3), Weight(10), Weight(11), Weight(12), Weight(13), Weight(14)),
];

static BUCKET_PREFILL_1_ROWS: &[Dispatch] = &[
    row!(
        QKV_F32_M128_K96_H6_2_D16_C300_RMS, [3, 2, 1], [Arena(0), Column(0), Arena(49152), Column(1), Column(2), Step,
        Step, Step, Column(3), Weight(3), Weight(4)], +, "/model/layers.{l}/self_attn/Add [1, 6, 128, 16]"
    ),
    row!(
        ATTEND_F32_M128_H6_2_D16_C300, [6, 32, 1], [Arena(49152), Column(1), Column(2), Arena(98304), Step, Step], +,
        "/model/layers.{l}/self_attn/MatMul_1 [1, 128, 96]"
    ),
    row!(
        MATMUL_F32_M128_K96_N96_ADD, [2, 2, 1], [Arena(98304), Column(4), Arena(49152), Step, Arena(0)], +,
        "/model/layers.{l}/Add [1, 128, 96]"
    ),
    row!(
        GATED_MATMUL_F32_M128_K96_N256_RMS_SILU, [8, 2, 1], [Arena(49152), Column(5), Arena(98304), Step, Column(6)], +,
        "/model/layers.{l}/mlp/Mul [1, 128, 256]"
    ),
    row!(
        MATMUL_F32_M128_K256_N96_ADD, [2, 2, 1], [Arena(98304), Column(7), Arena(0), Step, Arena(49152)], +,
        "/model/layers.{l}/Add_1 [1, 128, 96]"
    ),
];

static BUCKET_PREFILL_2_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_PREFILL_2_ROWS: &[Dispatch] = &[
    row!(LAST_ROW_F32_M128_K96, [2, 1, 1], [Arena(0), Step, Arena(49152)], +, "last_row [1, 1, 96]"),
    row!(
        MATVEC_F32_M1_K96_N320_RMS, [20, 1, 1], [Arena(49152), Weight(15), Logits, Step, Weight(16)], +,
        "/lm_head/MatMul [1, 1, 320]"
    ),
];

static BUCKET_PREFILL_3_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_PREFILL_3_ROWS: &[Dispatch] = &[
    row!(ARGMAX_F32_N320, [1, 1, 1], [Logits, Arena(0), Step], +, "best of each slice [1]"),
    row!(NEXT_TOKEN_N320, [1, 1, 1], [Arena(0), Step, Tokens, Ring, History], +, "next token [320]"),
];

static BUCKET_PREFILL_4_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_PREFILL_4_ROWS: &[Dispatch] = &[
    row!(
        DRAW_SCALE_N320, [1, 1, 1], [Logits, Step, History, Arena(0), Arena(1280), Arena(1536), Arena(5888)], +,
        "penalty and temperature [320]"
    ),
];

static BUCKET_PREFILL_5_TABLE: &[List<Arg>] = &[
    columns!(Arena(1536), Arena(5888), Arena(10240)),
    columns!(Arena(5888), Arena(10240), Arena(1536)),
    columns!(Arena(10240), Arena(1536), Arena(5888)),
    columns!(Arena(1536), Arena(5888), Arena(10240)),
    columns!(Arena(5888), Arena(10240), Arena(1536)),
    columns!(Arena(10240), Arena(1536), Arena(5888)),
    columns!(Arena(1536), Arena(5888), Arena(10240)),
    columns!(Arena(5888), Arena(10240), Arena(1536)),
];

static BUCKET_PREFILL_5_ROWS: &[Dispatch] = &[
    row!(
        DRAW_SEARCH_N320, [1, 1, 1], [Arena(0), Arena(1280), Step, Column(0), Column(1), Column(2)], +,
        "digit {l} of top-k, then top-p"
    ),
];

static BUCKET_PREFILL_6_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_PREFILL_6_ROWS: &[Dispatch] = &[
    row!(
        DRAW_SUM_N320, [1, 1, 1], [Arena(0), Arena(1280), Step, Arena(10240), Arena(1536), Arena(1792)], +,
        "mass of each slice [1]"
    ),
    row!(
        DRAW_PICK_N320, [1, 1, 1], [Arena(0), Arena(1536), Arena(1792), Step, Tokens, Ring, History], +,
        "next token, drawn [320]"
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
        GATHER_F32_M1_K96_ROWS320, [2, 1, 1], [Weight(0), Tokens, Arena(0), Step], +,
        "/model/embed_tokens/Gather [1, 1, 96]"
    ),
];

static BUCKET_DECODE_1_TABLE: &[List<Arg>] = &[
    columns!(Weight(1), Arg::State(0), Arg::State(1), Weight(2), Weight(5), Weight(6), Weight(7), Weight(8)),
    columns!(Weight(9), Arg::State(2), Arg::State(3), Weight(10), Weight(11), Weight(12), Weight(13), Weight(14)),
];

static BUCKET_DECODE_1_ROWS: &[Dispatch] = &[
    row!(
        QKV_F32_M1_K96_H6_2_D16_C300_RMS, [10, 1, 1], [Arena(0), Column(0), Arena(512), Column(1), Column(2), Step,
        Step, Step, Column(3), Weight(3), Weight(4)], +, "/model/layers.{l}/self_attn/Add [1, 6, 1, 16]"
    ),
    row!(
        ATTEND_F32_M1_H6_2_D16_C300, [6, 1, 1], [Arena(512), Column(1), Column(2), Arena(1024), Step, Step], +,
        "/model/layers.{l}/self_attn/MatMul_1 [1, 1, 96]"
    ),
    row!(
        MATVEC_F32_M1_K96_N96_ADD, [6, 1, 1], [Arena(1024), Column(4), Arena(512), Step, Arena(0)], +,
        "/model/layers.{l}/Add [1, 1, 96]"
    ),
    row!(
        GATED_MATVEC_F32_M1_K96_N256_RMS_SILU, [32, 1, 1], [Arena(512), Column(5), Arena(1024), Step, Column(6)], +,
        "/model/layers.{l}/mlp/Mul [1, 1, 256]"
    ),
    row!(
        MATVEC_F32_M1_K256_N96_ADD, [12, 1, 1], [Arena(1024), Column(7), Arena(0), Step, Arena(512)], +,
        "/model/layers.{l}/Add_1 [1, 1, 96]"
    ),
];

static BUCKET_DECODE_2_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_DECODE_2_ROWS: &[Dispatch] = &[
    row!(
        MATVEC_F32_M1_K96_N320_RMS, [20, 1, 1], [Arena(0), Weight(15), Logits, Step, Weight(16)], +,
        "/lm_head/MatMul [1, 1, 320]"
    ),
];

static BUCKET_DECODE_3_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_DECODE_3_ROWS: &[Dispatch] = &[
    row!(ARGMAX_F32_N320, [1, 1, 1], [Logits, Arena(0), Step], +, "best of each slice [1]"),
    row!(NEXT_TOKEN_N320, [1, 1, 1], [Arena(0), Step, Tokens, Ring, History], +, "next token [320]"),
];

static BUCKET_DECODE_4_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_DECODE_4_ROWS: &[Dispatch] = &[
    row!(
        DRAW_SCALE_N320, [1, 1, 1], [Logits, Step, History, Arena(0), Arena(1280), Arena(1536), Arena(5888)], +,
        "penalty and temperature [320]"
    ),
];

static BUCKET_DECODE_5_TABLE: &[List<Arg>] = &[
    columns!(Arena(1536), Arena(5888), Arena(10240)),
    columns!(Arena(5888), Arena(10240), Arena(1536)),
    columns!(Arena(10240), Arena(1536), Arena(5888)),
    columns!(Arena(1536), Arena(5888), Arena(10240)),
    columns!(Arena(5888), Arena(10240), Arena(1536)),
    columns!(Arena(10240), Arena(1536), Arena(5888)),
    columns!(Arena(1536), Arena(5888), Arena(10240)),
    columns!(Arena(5888), Arena(10240), Arena(1536)),
];

static BUCKET_DECODE_5_ROWS: &[Dispatch] = &[
    row!(
        DRAW_SEARCH_N320, [1, 1, 1], [Arena(0), Arena(1280), Step, Column(0), Column(1), Column(2)], +,
        "digit {l} of top-k, then top-p"
    ),
];

static BUCKET_DECODE_6_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_DECODE_6_ROWS: &[Dispatch] = &[
    row!(
        DRAW_SUM_N320, [1, 1, 1], [Arena(0), Arena(1280), Step, Arena(10240), Arena(1536), Arena(1792)], +,
        "mass of each slice [1]"
    ),
    row!(
        DRAW_PICK_N320, [1, 1, 1], [Arena(0), Arena(1536), Arena(1792), Step, Tokens, Ring, History], +,
        "next token, drawn [320]"
    ),
];
