// Written by onnxcast 0.1.0 from models/smollm2/model.toml. Do not edit: make model=NAME writes it again.

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
        name: Borrowed("smollm2"),
        plan_hash: Borrowed(""),
        kernels: Borrowed(KERNELS),
        variants: Borrowed(VARIANTS),
        tensors: unrolled(TENSORS),
        states: unrolled(STATES),
        buckets: Borrowed(BUCKETS),
        decoder: Some(Decoder {
            context: 1024,
            vocab: 49152,
            decode: 1,
            prefill: 0,
            pictures: None,
        }),
    }
}

const GATHER_F16_M128_K576_ROWS49152: u32 = 0;
const HALVES_M128_K576_RMS: u32 = 1;
const QKV_F16_M128_K576_H9_3_D64_C1024_RMS: u32 = 2;
const ATTEND_F16_M128_H9_3_D64_C1024: u32 = 3;
const HALVES_M128_K576: u32 = 4;
const MATMUL_F16_M128_K576_N576_ADD: u32 = 5;
const GATED_MATMUL_F16_M128_K576_N1536_RMS_SILU: u32 = 6;
const HALVES_M128_K1536: u32 = 7;
const MATMUL_F16_M128_K1536_N576_ADD: u32 = 8;
const MATMUL_F16_M128_K1536_N576_ADD_ADD_UP_ON_RMS: u32 = 9;
const MATMUL_F16_M128_K1536_N576_ADD_ADD_UP: u32 = 10;
const LAST_ROW_F32_M128_K576: u32 = 11;
const MATVEC_F16_M1_K576_N49152_RMS: u32 = 12;
const MATVEC_F16_M1_K576_N49152_RMS_BY12: u32 = 13;
const ARGMAX_F32_N49152: u32 = 14;
const NEXT_TOKEN_N49152: u32 = 15;
const DRAW_SCALE_N49152: u32 = 16;
const DRAW_SEARCH_N49152: u32 = 17;
const DRAW_SUM_N49152: u32 = 18;
const DRAW_PICK_N49152: u32 = 19;
const GATHER_F16_M1_K576_ROWS49152: u32 = 20;
const QKV_F16_M1_K576_H9_3_D64_C1024_RMS: u32 = 21;
const QKV_F16_M1_K576_H9_3_D64_C1024_RMS_BY2: u32 = 22;
const ATTEND_F16_M1_H9_3_D64_C1024: u32 = 23;
const MATVEC_F16_M1_K576_N576_ADD: u32 = 24;
const MATVEC_F16_M1_K576_N576_ADD_BY2: u32 = 25;
const GATED_MATVEC_F16_M1_K576_N1536_RMS_SILU: u32 = 26;
const GATED_MATVEC_F16_M1_K576_N1536_RMS_SILU_BY2: u32 = 27;
const MATVEC_F16_M1_K1536_N576_ADD: u32 = 28;
const MATVEC_F16_M1_K1536_N576_ADD_BY2: u32 = 29;

static KERNELS: &[Kernel] = &[
    kernel!(
        "gather_f16_m128_k576_rows49152", "gather_rows.comp", args 4, writes 4, [M = "128", K = "576", ROWS = "49152",
        WEIGHT_BITS = "16", LIVE = "1"]
    ),
    kernel!(
        "halves_m128_k576_rms", "halves.comp", args 4, writes 2, [M = "128", K = "576", ROWS = "128", HALVES = "2",
        LOCAL = "256", LIVE = "1", NORM = "1", EPS = "1e-5"], matrix[MATRIX = "1"]
    ),
    kernel!(
        "qkv_f16_m128_k576_h9_3_d64_c1024_rms", "qkv.comp", args 12, writes 28, [M = "128", K = "576", HQ = "9", HKV =
        "3", D = "64", C = "1024", WEIGHT_BITS = "16", KV_BITS = "16", BIAS = "0", ROTARY = "64", TABLE = "1024",
        INTERLEAVED = "0", QUADS = "1", POS_WORD = "0", ROWS_WORD = "1", LIVE = "1", THREAD_ROWS = "8", LOCAL = "64",
        NORM = "1", EPS = "1e-5", HALVES = "2", SPLITS = "1"], matrix[MATRIX = "1", ROWS = "128", TILE_M = "32", TILE_N
        = "64", TILE_K = "64", PARTS_M = "1", PARTS_N = "2", PARTS_K = "2"]
    ),
    kernel!(
        "attend_f16_m128_h9_3_d64_c1024", "cached_attention.comp", args 6, writes 8, [M = "128", HQ = "9", HKV = "3", D
        = "64", C = "1024", KV_BITS = "16", SCALE = "0.125", WINDOW = "0", POS_WORD = "0", QUERY_ROWS = "4", GROUP_ROWS
        = "16", LOCAL = "64", LIVE = "1"], matrix[MATRIX = "1", PARTS_M = "1", PARTS_K = "4"]
    ),
    kernel!(
        "halves_m128_k576", "halves.comp", args 3, writes 2, [M = "128", K = "576", ROWS = "128", HALVES = "2", LOCAL =
        "256", LIVE = "1", NORM = "0", EPS = "0.0"], matrix[MATRIX = "1"]
    ),
    kernel!(
        "matmul_f16_m128_k576_n576_add", "linear.comp", args 6, writes 4, [M = "128", K = "576", N = "576", WEIGHT_BITS
        = "16", ACT = "0", BIAS = "0", RESIDUAL = "1", LIVE = "1", THREAD_ROWS = "8", LOCAL = "64", NORM = "0", EPS =
        "0.0", HALVES = "2", SPLITS = "1"], matrix[MATRIX = "1", ROWS = "128", TILE_M = "32", TILE_N = "64", TILE_K =
        "64", PARTS_M = "1", PARTS_N = "2", PARTS_K = "2"]
    ),
    kernel!(
        "gated_matmul_f16_m128_k576_n1536_rms_silu", "gated_linear.comp", args 6, writes 4, [M = "128", K = "576", N =
        "1536", WEIGHT_BITS = "16", ACT = "15", LIVE = "1", THREAD_ROWS = "8", LOCAL = "64", NORM = "1", EPS = "1e-5",
        HALVES = "2", SPLITS = "1"], matrix[MATRIX = "1", ROWS = "128", TILE_M = "64", TILE_N = "64", TILE_K = "64",
        PARTS_M = "2", PARTS_N = "2", PARTS_K = "2"]
    ),
    kernel!(
        "halves_m128_k1536", "halves.comp", args 3, writes 2, [M = "128", K = "1536", ROWS = "128", HALVES = "2", LOCAL
        = "256", LIVE = "1", NORM = "0", EPS = "0.0"], matrix[MATRIX = "1"]
    ),
    kernel!(
        "matmul_f16_m128_k1536_n576_add", "linear.comp", args 7, writes 68, [M = "128", K = "1536", N = "576",
        WEIGHT_BITS = "16", ACT = "0", BIAS = "0", RESIDUAL = "1", LIVE = "1", THREAD_ROWS = "8", LOCAL = "64", NORM =
        "0", EPS = "0.0", HALVES = "2", SPLITS = "3"], matrix[MATRIX = "1", ROWS = "128", TILE_M = "32", TILE_N = "64",
        TILE_K = "128", PARTS_M = "1", PARTS_N = "2", PARTS_K = "4"]
    ),
    kernel!(
        "matmul_f16_m128_k1536_n576_add_add_up_on_rms", "linear.comp", args 9, writes 132, [M = "128", K = "1536", N =
        "576", WEIGHT_BITS = "16", ACT = "0", BIAS = "0", RESIDUAL = "1", LIVE = "1", THREAD_ROWS = "8", LOCAL = "256",
        NORM = "0", EPS = "0.0", HALVES = "2", SPLITS = "3", ADD_UP = "1", HANDED = "2", HANDED_K = "576", HANDED_ROWS =
        "128", HANDED_NORM = "1", HANDED_EPS = "1e-5"], matrix[MATRIX = "1"]
    ),
    kernel!(
        "matmul_f16_m128_k1536_n576_add_add_up", "linear.comp", args 7, writes 4, [M = "128", K = "1536", N = "576",
        WEIGHT_BITS = "16", ACT = "0", BIAS = "0", RESIDUAL = "1", LIVE = "1", THREAD_ROWS = "8", LOCAL = "64", NORM =
        "0", EPS = "0.0", HALVES = "2", SPLITS = "3", ADD_UP = "1"], matrix[MATRIX = "1"]
    ),
    kernel!("last_row_f32_m128_k576", "last_row.comp", args 3, writes 4, [M = "128", K = "576", ROWS_WORD = "1"]),
    kernel!(
        "matvec_f16_m1_k576_n49152_rms", "linear.comp", args 5, writes 4, [M = "1", K = "576", N = "49152", WEIGHT_BITS
        = "16", ACT = "0", BIAS = "0", RESIDUAL = "0", LIVE = "1", THREAD_ROWS = "0", LOCAL = "216", SLOTS = "72", UNITS
        = "6", NORM = "1", EPS = "1e-5", HALVES = "0"]
    ),
    kernel!(
        "matvec_f16_m1_k576_n49152_rms_by12", "linear.comp", args 5, writes 4, [M = "1", K = "576", N = "49152",
        WEIGHT_BITS = "16", ACT = "0", BIAS = "0", RESIDUAL = "0", LIVE = "1", THREAD_ROWS = "0", LOCAL = "432", SLOTS =
        "72", UNITS = "12", NORM = "1", EPS = "1e-5", HALVES = "0"]
    ),
    kernel!("argmax_f32_n49152", "argmax.comp", args 3, writes 2, [V = "49152", SLICE = "1024", LOCAL = "256"]),
    kernel!("next_token_n49152", "next_token.comp", args 5, writes 30, [V = "49152", PARTS = "48", LOCAL = "256"]),
    kernel!(
        "draw_scale_n49152", "draw_scale.comp", args 7, writes 120, [V = "49152", SLICE = "1024", SLICES = "48", LOCAL =
        "256"]
    ),
    kernel!(
        "draw_search_n49152", "draw_search.comp", args 6, writes 48, [V = "49152", SLICE = "1024", SLICES = "48", LOCAL
        = "256"]
    ),
    kernel!(
        "draw_sum_n49152", "draw_sum.comp", args 6, writes 48, [V = "49152", SLICE = "1024", SLICES = "48", LOCAL =
        "256"]
    ),
    kernel!(
        "draw_pick_n49152", "draw_pick.comp", args 7, writes 120, [V = "49152", SLICE = "1024", SLICES = "48", LOCAL =
        "256"]
    ),
    kernel!(
        "gather_f16_m1_k576_rows49152", "gather_rows.comp", args 4, writes 4, [M = "1", K = "576", ROWS = "49152",
        WEIGHT_BITS = "16", LIVE = "1"]
    ),
    kernel!(
        "qkv_f16_m1_k576_h9_3_d64_c1024_rms", "qkv.comp", args 11, writes 28, [M = "1", K = "576", HQ = "9", HKV = "3",
        D = "64", C = "1024", WEIGHT_BITS = "16", KV_BITS = "16", BIAS = "0", ROTARY = "64", TABLE = "1024", INTERLEAVED
        = "0", QUADS = "1", POS_WORD = "0", ROWS_WORD = "1", LIVE = "1", THREAD_ROWS = "0", LOCAL = "72", SLOTS = "72",
        UNITS = "1", NORM = "1", EPS = "1e-5", HALVES = "0"]
    ),
    kernel!(
        "qkv_f16_m1_k576_h9_3_d64_c1024_rms_by2", "qkv.comp", args 11, writes 28, [M = "1", K = "576", HQ = "9", HKV =
        "3", D = "64", C = "1024", WEIGHT_BITS = "16", KV_BITS = "16", BIAS = "0", ROTARY = "64", TABLE = "1024",
        INTERLEAVED = "0", QUADS = "1", POS_WORD = "0", ROWS_WORD = "1", LIVE = "1", THREAD_ROWS = "0", LOCAL = "144",
        SLOTS = "72", UNITS = "2", NORM = "1", EPS = "1e-5", HALVES = "0"]
    ),
    kernel!(
        "attend_f16_m1_h9_3_d64_c1024", "split_attention.comp", args 8, writes 104, [HQ = "9", HKV = "3", D = "64", C =
        "1024", KV_BITS = "16", SCALE = "0.125", WINDOW = "0", POS_WORD = "0", LOCAL = "128", KEYS = "8", SPLITS = "4",
        LIVE = "1"]
    ),
    kernel!(
        "matvec_f16_m1_k576_n576_add", "linear.comp", args 5, writes 4, [M = "1", K = "576", N = "576", WEIGHT_BITS =
        "16", ACT = "0", BIAS = "0", RESIDUAL = "1", LIVE = "1", THREAD_ROWS = "0", LOCAL = "72", SLOTS = "72", UNITS =
        "1", NORM = "0", EPS = "0.0", HALVES = "0"]
    ),
    kernel!(
        "matvec_f16_m1_k576_n576_add_by2", "linear.comp", args 5, writes 4, [M = "1", K = "576", N = "576", WEIGHT_BITS
        = "16", ACT = "0", BIAS = "0", RESIDUAL = "1", LIVE = "1", THREAD_ROWS = "0", LOCAL = "144", SLOTS = "72", UNITS
        = "2", NORM = "0", EPS = "0.0", HALVES = "0"]
    ),
    kernel!(
        "gated_matvec_f16_m1_k576_n1536_rms_silu", "gated_linear.comp", args 5, writes 4, [M = "1", K = "576", N =
        "1536", WEIGHT_BITS = "16", ACT = "15", LIVE = "1", THREAD_ROWS = "0", LOCAL = "72", SLOTS = "72", UNITS = "1",
        NORM = "1", EPS = "1e-5", HALVES = "0"]
    ),
    kernel!(
        "gated_matvec_f16_m1_k576_n1536_rms_silu_by2", "gated_linear.comp", args 5, writes 4, [M = "1", K = "576", N =
        "1536", WEIGHT_BITS = "16", ACT = "15", LIVE = "1", THREAD_ROWS = "0", LOCAL = "144", SLOTS = "72", UNITS = "2",
        NORM = "1", EPS = "1e-5", HALVES = "0"]
    ),
    kernel!(
        "matvec_f16_m1_k1536_n576_add", "linear.comp", args 5, writes 4, [M = "1", K = "1536", N = "576", WEIGHT_BITS =
        "16", ACT = "0", BIAS = "0", RESIDUAL = "1", LIVE = "1", THREAD_ROWS = "0", LOCAL = "192", SLOTS = "192", UNITS
        = "1", NORM = "0", EPS = "0.0", HALVES = "0"]
    ),
    kernel!(
        "matvec_f16_m1_k1536_n576_add_by2", "linear.comp", args 5, writes 4, [M = "1", K = "1536", N = "576",
        WEIGHT_BITS = "16", ACT = "0", BIAS = "0", RESIDUAL = "1", LIVE = "1", THREAD_ROWS = "0", LOCAL = "384", SLOTS =
        "192", UNITS = "2", NORM = "0", EPS = "0.0", HALVES = "0"]
    ),
];

static VARIANTS: &[Variant] = &[
    Variant {
        of: MATVEC_F16_M1_K576_N49152_RMS,
        by: MATVEC_F16_M1_K576_N49152_RMS_BY12,
        grid: [1024, 1, 1],
    },
    Variant {
        of: QKV_F16_M1_K576_H9_3_D64_C1024_RMS,
        by: QKV_F16_M1_K576_H9_3_D64_C1024_RMS_BY2,
        grid: [120, 1, 1],
    },
    Variant {
        of: MATVEC_F16_M1_K576_N576_ADD,
        by: MATVEC_F16_M1_K576_N576_ADD_BY2,
        grid: [72, 1, 1],
    },
    Variant {
        of: GATED_MATVEC_F16_M1_K576_N1536_RMS_SILU,
        by: GATED_MATVEC_F16_M1_K576_N1536_RMS_SILU_BY2,
        grid: [384, 1, 1],
    },
    Variant {
        of: MATVEC_F16_M1_K1536_N576_ADD,
        by: MATVEC_F16_M1_K1536_N576_ADD_BY2,
        grid: [72, 1, 1],
    },
];

static TENSORS: &[Run<Tensor>] = &[
    Run {
        layers: 1,
        rows: &[
            tensor!("model.embed_tokens.weight", rows_f16, [49152, 576], 56623104),
            tensor!("model.layers.0.input_layernorm.weight", rows_f32, [576], 2304),
            tensor!(
                "model.layers.0.self_attn.q_proj.weight_T+model.layers.0.self_attn.k_proj.weight_T+model.layers.0.self_attn.v_proj.weight_T",
                rows_f16, [960, 576], 1105920
            ),
            tensor!("/model/rotary_emb/Unsqueeze_2_output_0.cos_table", rows_f32, [1024, 32], 131072),
            tensor!("/model/rotary_emb/Unsqueeze_3_output_0.sin_table", rows_f32, [1024, 32], 131072),
        ],
    },
    Run {
        layers: 29,
        rows: &[
            tensor!("model.layers.{l}.self_attn.o_proj.weight_T", rows_f16, [576, 576], 663552),
            tensor!("model.layers.{l}.post_attention_layernorm.weight", rows_f32, [576], 2304),
            tensor!(
                "model.layers.{l}.mlp.gate_proj.weight_T+model.layers.{l}.mlp.up_proj.weight_T", rows_f16, [3072, 576],
                3538944
            ),
            tensor!("model.layers.{l}.mlp.down_proj.weight_T", rows_f16, [576, 1536], 1769472),
            tensor!("model.layers.{l+1}.input_layernorm.weight", rows_f32, [576], 2304),
            tensor!(
                "model.layers.{l+1}.self_attn.q_proj.weight_T+model.layers.{l+1}.self_attn.k_proj.weight_T+model.layers.{l+1}.self_attn.v_proj.weight_T",
                rows_f16, [960, 576], 1105920
            ),
        ],
    },
    Run {
        layers: 1,
        rows: &[
            tensor!("model.layers.29.self_attn.o_proj.weight_T", rows_f16, [576, 576], 663552),
            tensor!("model.layers.29.post_attention_layernorm.weight", rows_f32, [576], 2304),
            tensor!(
                "model.layers.29.mlp.gate_proj.weight_T+model.layers.29.mlp.up_proj.weight_T", rows_f16, [3072, 576],
                3538944
            ),
            tensor!("model.layers.29.mlp.down_proj.weight_T", rows_f16, [576, 1536], 1769472),
            tensor!("model.norm.weight", rows_f32, [576], 2304),
        ],
    },
];

static STATES: &[Run<State>] = &[
    Run {
        layers: 30,
        rows: &[
            state!("past_key_values.{l}.key", 393216, [1, 3, 1024, 64], Elem::F16),
            state!("past_key_values.{l}.value", 393216, [1, 3, 1024, 64], Elem::F16),
        ],
    },
    Run {
        layers: 1,
        rows: &[state!("counters", 36, [9], Elem::U32)],
    },
];

static BUCKETS: &[Bucket] = &[
    Bucket {
        name: Borrowed("prefill"),
        rows: 128,
        arena_bytes: 3441664,
        inputs: Borrowed(&[]),
        outputs: Borrowed(&[]),
        blocks: Borrowed(BUCKET_PREFILL),
    },
    Bucket {
        name: Borrowed("decode"),
        rows: 1,
        arena_bytes: 209920,
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
        GATHER_F16_M128_K576_ROWS49152, [1152, 1, 1], [Weight(0), Tokens, Arena(0), Step], +,
        "/model/embed_tokens/Gather [1, 128, 576]"
    ),
    row!(
        HALVES_M128_K576_RMS, [128, 1, 1], [Arena(0), Arena(294912), Step, Weight(1)], +,
        "/model/layers.0/self_attn/Add [1, 9, 128, 64]"
    ),
    row!(
        QKV_F16_M128_K576_H9_3_D64_C1024_RMS, [4, 15, 1], [Arena(0), Weight(2), Arena(590336), Arg::State(0),
        Arg::State(1), Step, Step, Step, Weight(1), Weight(3), Weight(4), Arena(294912)], +,
        "/model/layers.0/self_attn/Add [1, 9, 128, 64]"
    ),
    row!(
        ATTEND_F16_M128_H9_3_D64_C1024, [9, 8, 1], [Arena(590336), Arg::State(0), Arg::State(1), Arena(294912), Step,
        Step], +, "/model/layers.0/self_attn/MatMul_1 [1, 128, 576]"
    ),
    row!(HALVES_M128_K576, [128, 1, 1], [Arena(294912), Arena(589824), Step], +, "/model/layers.0/Add [1, 128, 576]"),
    row!(
        MATMUL_F16_M128_K576_N576_ADD, [4, 9, 1], [Arena(294912), Weight(5), Arena(885248), Step, Arena(0),
        Arena(589824)], +, "/model/layers.0/Add [1, 128, 576]"
    ),
    row!(
        HALVES_M128_K576_RMS, [128, 1, 1], [Arena(885248), Arena(0), Step, Weight(6)], +,
        "/model/layers.0/mlp/Mul [1, 128, 1536]"
    ),
    row!(
        GATED_MATMUL_F16_M128_K576_N1536_RMS_SILU, [2, 48, 1], [Arena(885248), Weight(7), Arena(1180160), Step,
        Weight(6), Arena(0)], +, "/model/layers.0/mlp/Mul [1, 128, 1536]"
    ),
];

static BUCKET_PREFILL_1_TABLE: &[List<Arg>] = &[
    columns!(
        Arena(1180160), Arena(0), Weight(8), Arena(1966592), Arena(885248), Arena(2261504), Arena(3146240), Weight(9),
        Weight(10), Arg::State(2), Arg::State(3), Arena(294912), Arena(589824), Weight(11), Weight(12), Weight(13)
    ),
    columns!(
        Arena(590336), Arena(1376768), Weight(14), Arena(294912), Arena(0), Arena(2163712), Arena(3048448), Weight(15),
        Weight(16), Arg::State(4), Arg::State(5), Arena(589824), Arena(884736), Weight(17), Weight(18), Weight(19)
    ),
    columns!(
        Arena(590336), Arena(1376768), Weight(20), Arena(294912), Arena(0), Arena(2163712), Arena(3048448), Weight(21),
        Weight(22), Arg::State(6), Arg::State(7), Arena(589824), Arena(884736), Weight(23), Weight(24), Weight(25)
    ),
    columns!(
        Arena(590336), Arena(1376768), Weight(26), Arena(294912), Arena(0), Arena(2163712), Arena(3048448), Weight(27),
        Weight(28), Arg::State(8), Arg::State(9), Arena(589824), Arena(884736), Weight(29), Weight(30), Weight(31)
    ),
    columns!(
        Arena(590336), Arena(1376768), Weight(32), Arena(294912), Arena(0), Arena(2163712), Arena(3048448), Weight(33),
        Weight(34), Arg::State(10), Arg::State(11), Arena(589824), Arena(884736), Weight(35), Weight(36), Weight(37)
    ),
    columns!(
        Arena(590336), Arena(1376768), Weight(38), Arena(294912), Arena(0), Arena(2163712), Arena(3048448), Weight(39),
        Weight(40), Arg::State(12), Arg::State(13), Arena(589824), Arena(884736), Weight(41), Weight(42), Weight(43)
    ),
    columns!(
        Arena(590336), Arena(1376768), Weight(44), Arena(294912), Arena(0), Arena(2163712), Arena(3048448), Weight(45),
        Weight(46), Arg::State(14), Arg::State(15), Arena(589824), Arena(884736), Weight(47), Weight(48), Weight(49)
    ),
    columns!(
        Arena(590336), Arena(1376768), Weight(50), Arena(294912), Arena(0), Arena(2163712), Arena(3048448), Weight(51),
        Weight(52), Arg::State(16), Arg::State(17), Arena(589824), Arena(884736), Weight(53), Weight(54), Weight(55)
    ),
    columns!(
        Arena(590336), Arena(1376768), Weight(56), Arena(294912), Arena(0), Arena(2163712), Arena(3048448), Weight(57),
        Weight(58), Arg::State(18), Arg::State(19), Arena(589824), Arena(884736), Weight(59), Weight(60), Weight(61)
    ),
    columns!(
        Arena(590336), Arena(1376768), Weight(62), Arena(294912), Arena(0), Arena(2163712), Arena(3048448), Weight(63),
        Weight(64), Arg::State(20), Arg::State(21), Arena(589824), Arena(884736), Weight(65), Weight(66), Weight(67)
    ),
    columns!(
        Arena(590336), Arena(1376768), Weight(68), Arena(294912), Arena(0), Arena(2163712), Arena(3048448), Weight(69),
        Weight(70), Arg::State(22), Arg::State(23), Arena(589824), Arena(884736), Weight(71), Weight(72), Weight(73)
    ),
    columns!(
        Arena(590336), Arena(1376768), Weight(74), Arena(294912), Arena(0), Arena(2163712), Arena(3048448), Weight(75),
        Weight(76), Arg::State(24), Arg::State(25), Arena(589824), Arena(884736), Weight(77), Weight(78), Weight(79)
    ),
    columns!(
        Arena(590336), Arena(1376768), Weight(80), Arena(294912), Arena(0), Arena(2163712), Arena(3048448), Weight(81),
        Weight(82), Arg::State(26), Arg::State(27), Arena(589824), Arena(884736), Weight(83), Weight(84), Weight(85)
    ),
    columns!(
        Arena(590336), Arena(1376768), Weight(86), Arena(294912), Arena(0), Arena(2163712), Arena(3048448), Weight(87),
        Weight(88), Arg::State(28), Arg::State(29), Arena(589824), Arena(884736), Weight(89), Weight(90), Weight(91)
    ),
    columns!(
        Arena(590336), Arena(1376768), Weight(92), Arena(294912), Arena(0), Arena(2163712), Arena(3048448), Weight(93),
        Weight(94), Arg::State(30), Arg::State(31), Arena(589824), Arena(884736), Weight(95), Weight(96), Weight(97)
    ),
    columns!(
        Arena(590336), Arena(1376768), Weight(98), Arena(294912), Arena(0), Arena(2163712), Arena(3048448), Weight(99),
        Weight(100), Arg::State(32), Arg::State(33), Arena(589824), Arena(884736), Weight(101), Weight(102), Weight(103)
    ),
    columns!(
        Arena(590336), Arena(1376768), Weight(104), Arena(294912), Arena(0), Arena(2163712), Arena(3048448),
        Weight(105), Weight(106), Arg::State(34), Arg::State(35), Arena(589824), Arena(884736), Weight(107),
        Weight(108), Weight(109)
    ),
    columns!(
        Arena(590336), Arena(1376768), Weight(110), Arena(294912), Arena(0), Arena(2163712), Arena(3048448),
        Weight(111), Weight(112), Arg::State(36), Arg::State(37), Arena(589824), Arena(884736), Weight(113),
        Weight(114), Weight(115)
    ),
    columns!(
        Arena(590336), Arena(1376768), Weight(116), Arena(294912), Arena(0), Arena(2163712), Arena(3048448),
        Weight(117), Weight(118), Arg::State(38), Arg::State(39), Arena(589824), Arena(884736), Weight(119),
        Weight(120), Weight(121)
    ),
    columns!(
        Arena(590336), Arena(1376768), Weight(122), Arena(294912), Arena(0), Arena(2163712), Arena(3048448),
        Weight(123), Weight(124), Arg::State(40), Arg::State(41), Arena(589824), Arena(884736), Weight(125),
        Weight(126), Weight(127)
    ),
    columns!(
        Arena(590336), Arena(1376768), Weight(128), Arena(294912), Arena(0), Arena(2163712), Arena(3048448),
        Weight(129), Weight(130), Arg::State(42), Arg::State(43), Arena(589824), Arena(884736), Weight(131),
        Weight(132), Weight(133)
    ),
    columns!(
        Arena(590336), Arena(1376768), Weight(134), Arena(294912), Arena(0), Arena(2163712), Arena(3048448),
        Weight(135), Weight(136), Arg::State(44), Arg::State(45), Arena(589824), Arena(884736), Weight(137),
        Weight(138), Weight(139)
    ),
    columns!(
        Arena(590336), Arena(1376768), Weight(140), Arena(294912), Arena(0), Arena(2163712), Arena(3048448),
        Weight(141), Weight(142), Arg::State(46), Arg::State(47), Arena(589824), Arena(884736), Weight(143),
        Weight(144), Weight(145)
    ),
    columns!(
        Arena(590336), Arena(1376768), Weight(146), Arena(294912), Arena(0), Arena(2163712), Arena(3048448),
        Weight(147), Weight(148), Arg::State(48), Arg::State(49), Arena(589824), Arena(884736), Weight(149),
        Weight(150), Weight(151)
    ),
    columns!(
        Arena(590336), Arena(1376768), Weight(152), Arena(294912), Arena(0), Arena(2163712), Arena(3048448),
        Weight(153), Weight(154), Arg::State(50), Arg::State(51), Arena(589824), Arena(884736), Weight(155),
        Weight(156), Weight(157)
    ),
    columns!(
        Arena(590336), Arena(1376768), Weight(158), Arena(294912), Arena(0), Arena(2163712), Arena(3048448),
        Weight(159), Weight(160), Arg::State(52), Arg::State(53), Arena(589824), Arena(884736), Weight(161),
        Weight(162), Weight(163)
    ),
    columns!(
        Arena(590336), Arena(1376768), Weight(164), Arena(294912), Arena(0), Arena(2163712), Arena(3048448),
        Weight(165), Weight(166), Arg::State(54), Arg::State(55), Arena(589824), Arena(884736), Weight(167),
        Weight(168), Weight(169)
    ),
    columns!(
        Arena(590336), Arena(1376768), Weight(170), Arena(294912), Arena(0), Arena(2163712), Arena(3048448),
        Weight(171), Weight(172), Arg::State(56), Arg::State(57), Arena(589824), Arena(884736), Weight(173),
        Weight(174), Weight(175)
    ),
    columns!(
        Arena(590336), Arena(1376768), Weight(176), Arena(294912), Arena(0), Arena(2163712), Arena(3048448),
        Weight(177), Weight(178), Arg::State(58), Arg::State(59), Arena(589824), Arena(884736), Weight(179),
        Weight(180), Weight(181)
    ),
];

static BUCKET_PREFILL_1_ROWS: &[Dispatch] = &[
    row!(HALVES_M128_K1536, [128, 1, 1], [Column(0), Column(1), Step], +, "/model/layers.{l}/Add_1 [1, 128, 576]"),
    row!(
        MATMUL_F16_M128_K1536_N576_ADD, [4, 9, 3], [Column(0), Column(2), Column(3), Step, Column(4), Column(1),
        Column(5)], +, "/model/layers.{l}/Add_1 [1, 128, 576]"
    ),
    row!(
        MATMUL_F16_M128_K1536_N576_ADD_ADD_UP_ON_RMS, [128, 1, 1], [Column(0), Column(2), Column(3), Step, Column(4),
        Column(1), Column(5), Column(6), Column(7)], +, "/model/layers.{l}/Add_1 [1, 128, 576]"
    ),
    row!(
        QKV_F16_M128_K576_H9_3_D64_C1024_RMS, [4, 15, 1], [Column(3), Column(8), Arena(0), Column(9), Column(10), Step,
        Step, Step, Column(7), Weight(3), Weight(4), Column(6)], +, "/model/layers.{l+1}/self_attn/Add [1, 9, 128, 64]"
    ),
    row!(
        ATTEND_F16_M128_H9_3_D64_C1024, [9, 8, 1], [Arena(0), Column(9), Column(10), Column(11), Step, Step], +,
        "/model/layers.{l+1}/self_attn/MatMul_1 [1, 128, 576]"
    ),
    row!(HALVES_M128_K576, [128, 1, 1], [Column(11), Column(12), Step], +, "/model/layers.{l+1}/Add [1, 128, 576]"),
    row!(
        MATMUL_F16_M128_K576_N576_ADD, [4, 9, 1], [Column(11), Column(13), Arena(0), Step, Column(3), Column(12)], +,
        "/model/layers.{l+1}/Add [1, 128, 576]"
    ),
    row!(
        HALVES_M128_K576_RMS, [128, 1, 1], [Arena(0), Arena(294912), Step, Column(14)], +,
        "/model/layers.{l+1}/mlp/Mul [1, 128, 1536]"
    ),
    row!(
        GATED_MATMUL_F16_M128_K576_N1536_RMS_SILU, [2, 48, 1], [Arena(0), Column(15), Arena(590336), Step, Column(14),
        Arena(294912)], +, "/model/layers.{l+1}/mlp/Mul [1, 128, 1536]"
    ),
];

static BUCKET_PREFILL_2_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_PREFILL_2_ROWS: &[Dispatch] = &[
    row!(
        HALVES_M128_K1536, [128, 1, 1], [Arena(590336), Arena(1376768), Step], +, "/model/layers.29/Add_1 [1, 128, 576]"
    ),
    row!(
        MATMUL_F16_M128_K1536_N576_ADD, [4, 9, 3], [Arena(590336), Weight(182), Arena(294912), Step, Arena(0),
        Arena(1376768), Arena(2163712)], +, "/model/layers.29/Add_1 [1, 128, 576]"
    ),
    row!(
        MATMUL_F16_M128_K1536_N576_ADD_ADD_UP, [288, 1, 1], [Arena(590336), Weight(182), Arena(294912), Step, Arena(0),
        Arena(1376768), Arena(2163712)], +, "/model/layers.29/Add_1 [1, 128, 576]"
    ),
];

static BUCKET_PREFILL_3_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_PREFILL_3_ROWS: &[Dispatch] = &[
    row!(LAST_ROW_F32_M128_K576, [9, 1, 1], [Arena(294912), Step, Arena(0)], +, "last_row [1, 1, 576]"),
    row!(
        MATVEC_F16_M1_K576_N49152_RMS, [2048, 1, 1], [Arena(0), Weight(0), Logits, Step, Weight(183)], +,
        "/lm_head/MatMul [1, 1, 49152]"
    ),
];

static BUCKET_PREFILL_4_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_PREFILL_4_ROWS: &[Dispatch] = &[
    row!(ARGMAX_F32_N49152, [48, 1, 1], [Logits, Arena(0), Step], +, "best of each slice [48]"),
    row!(NEXT_TOKEN_N49152, [1, 1, 1], [Arena(0), Step, Tokens, Ring, History], +, "next token [49152]"),
];

static BUCKET_PREFILL_5_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_PREFILL_5_ROWS: &[Dispatch] = &[
    row!(
        DRAW_SCALE_N49152, [48, 1, 1], [Logits, Step, History, Arena(0), Arena(196608), Arena(196864), Arena(201216)],
        +, "penalty and temperature [49152]"
    ),
];

static BUCKET_PREFILL_6_TABLE: &[List<Arg>] = &[
    columns!(Arena(196864), Arena(201216), Arena(205568)),
    columns!(Arena(201216), Arena(205568), Arena(196864)),
    columns!(Arena(205568), Arena(196864), Arena(201216)),
    columns!(Arena(196864), Arena(201216), Arena(205568)),
    columns!(Arena(201216), Arena(205568), Arena(196864)),
    columns!(Arena(205568), Arena(196864), Arena(201216)),
    columns!(Arena(196864), Arena(201216), Arena(205568)),
    columns!(Arena(201216), Arena(205568), Arena(196864)),
];

static BUCKET_PREFILL_6_ROWS: &[Dispatch] = &[
    row!(
        DRAW_SEARCH_N49152, [48, 1, 1], [Arena(0), Arena(196608), Step, Column(0), Column(1), Column(2)], +,
        "digit {l} of top-k, then top-p"
    ),
];

static BUCKET_PREFILL_7_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_PREFILL_7_ROWS: &[Dispatch] = &[
    row!(
        DRAW_SUM_N49152, [48, 1, 1], [Arena(0), Arena(196608), Step, Arena(205568), Arena(196864), Arena(197120)], +,
        "mass of each slice [48]"
    ),
    row!(
        DRAW_PICK_N49152, [1, 1, 1], [Arena(0), Arena(196864), Arena(197120), Step, Tokens, Ring, History], +,
        "next token, drawn [49152]"
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
        GATHER_F16_M1_K576_ROWS49152, [9, 1, 1], [Weight(0), Tokens, Arena(0), Step], +,
        "/model/embed_tokens/Gather [1, 1, 576]"
    ),
];

static BUCKET_DECODE_1_TABLE: &[List<Arg>] = &[
    columns!(Weight(2), Arg::State(0), Arg::State(1), Weight(1), Weight(5), Weight(7), Weight(6), Weight(8)),
    columns!(Weight(10), Arg::State(2), Arg::State(3), Weight(9), Weight(11), Weight(13), Weight(12), Weight(14)),
    columns!(Weight(16), Arg::State(4), Arg::State(5), Weight(15), Weight(17), Weight(19), Weight(18), Weight(20)),
    columns!(Weight(22), Arg::State(6), Arg::State(7), Weight(21), Weight(23), Weight(25), Weight(24), Weight(26)),
    columns!(Weight(28), Arg::State(8), Arg::State(9), Weight(27), Weight(29), Weight(31), Weight(30), Weight(32)),
    columns!(Weight(34), Arg::State(10), Arg::State(11), Weight(33), Weight(35), Weight(37), Weight(36), Weight(38)),
    columns!(Weight(40), Arg::State(12), Arg::State(13), Weight(39), Weight(41), Weight(43), Weight(42), Weight(44)),
    columns!(Weight(46), Arg::State(14), Arg::State(15), Weight(45), Weight(47), Weight(49), Weight(48), Weight(50)),
    columns!(Weight(52), Arg::State(16), Arg::State(17), Weight(51), Weight(53), Weight(55), Weight(54), Weight(56)),
    columns!(Weight(58), Arg::State(18), Arg::State(19), Weight(57), Weight(59), Weight(61), Weight(60), Weight(62)),
    columns!(Weight(64), Arg::State(20), Arg::State(21), Weight(63), Weight(65), Weight(67), Weight(66), Weight(68)),
    columns!(Weight(70), Arg::State(22), Arg::State(23), Weight(69), Weight(71), Weight(73), Weight(72), Weight(74)),
    columns!(Weight(76), Arg::State(24), Arg::State(25), Weight(75), Weight(77), Weight(79), Weight(78), Weight(80)),
    columns!(Weight(82), Arg::State(26), Arg::State(27), Weight(81), Weight(83), Weight(85), Weight(84), Weight(86)),
    columns!(Weight(88), Arg::State(28), Arg::State(29), Weight(87), Weight(89), Weight(91), Weight(90), Weight(92)),
    columns!(Weight(94), Arg::State(30), Arg::State(31), Weight(93), Weight(95), Weight(97), Weight(96), Weight(98)),
    columns!(Weight(100), Arg::State(32), Arg::State(33), Weight(99), Weight(101), Weight(103), Weight(102), Weight(104)),
    columns!(Weight(106), Arg::State(34), Arg::State(35), Weight(105), Weight(107), Weight(109), Weight(108), Weight(110)),
    columns!(Weight(112), Arg::State(36), Arg::State(37), Weight(111), Weight(113), Weight(115), Weight(114), Weight(116)),
    columns!(Weight(118), Arg::State(38), Arg::State(39), Weight(117), Weight(119), Weight(121), Weight(120), Weight(122)),
    columns!(Weight(124), Arg::State(40), Arg::State(41), Weight(123), Weight(125), Weight(127), Weight(126), Weight(128)),
    columns!(Weight(130), Arg::State(42), Arg::State(43), Weight(129), Weight(131), Weight(133), Weight(132), Weight(134)),
    columns!(Weight(136), Arg::State(44), Arg::State(45), Weight(135), Weight(137), Weight(139), Weight(138), Weight(140)),
    columns!(Weight(142), Arg::State(46), Arg::State(47), Weight(141), Weight(143), Weight(145), Weight(144), Weight(146)),
    columns!(Weight(148), Arg::State(48), Arg::State(49), Weight(147), Weight(149), Weight(151), Weight(150), Weight(152)),
    columns!(Weight(154), Arg::State(50), Arg::State(51), Weight(153), Weight(155), Weight(157), Weight(156), Weight(158)),
    columns!(Weight(160), Arg::State(52), Arg::State(53), Weight(159), Weight(161), Weight(163), Weight(162), Weight(164)),
    columns!(Weight(166), Arg::State(54), Arg::State(55), Weight(165), Weight(167), Weight(169), Weight(168), Weight(170)),
    columns!(Weight(172), Arg::State(56), Arg::State(57), Weight(171), Weight(173), Weight(175), Weight(174), Weight(176)),
    columns!(Weight(178), Arg::State(58), Arg::State(59), Weight(177), Weight(179), Weight(181), Weight(180), Weight(182)),
];

static BUCKET_DECODE_1_ROWS: &[Dispatch] = &[
    row!(
        QKV_F16_M1_K576_H9_3_D64_C1024_RMS, [240, 1, 1], [Arena(0), Column(0), Arena(2304), Column(1), Column(2), Step,
        Step, Step, Column(3), Weight(3), Weight(4)], +, "/model/layers.{l}/self_attn/Add [1, 9, 1, 64]"
    ),
    row!(
        ATTEND_F16_M1_H9_3_D64_C1024, [9, 4, 1], [Arena(2304), Column(1), Column(2), Arena(4608), Step, Arena(6912),
        Arg::State(60), Step], +, "/model/layers.{l}/self_attn/MatMul_1 [1, 1, 576]"
    ),
    row!(
        MATVEC_F16_M1_K576_N576_ADD, [144, 1, 1], [Arena(4608), Column(4), Arena(2304), Step, Arena(0)], +,
        "/model/layers.{l}/Add [1, 1, 576]"
    ),
    row!(
        GATED_MATVEC_F16_M1_K576_N1536_RMS_SILU, [768, 1, 1], [Arena(2304), Column(5), Arena(4608), Step, Column(6)], +,
        "/model/layers.{l}/mlp/Mul [1, 1, 1536]"
    ),
    row!(
        MATVEC_F16_M1_K1536_N576_ADD, [144, 1, 1], [Arena(4608), Column(7), Arena(0), Step, Arena(2304)], +,
        "/model/layers.{l}/Add_1 [1, 1, 576]"
    ),
];

static BUCKET_DECODE_2_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_DECODE_2_ROWS: &[Dispatch] = &[
    row!(
        MATVEC_F16_M1_K576_N49152_RMS, [2048, 1, 1], [Arena(0), Weight(0), Logits, Step, Weight(183)], +,
        "/lm_head/MatMul [1, 1, 49152]"
    ),
];

static BUCKET_DECODE_3_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_DECODE_3_ROWS: &[Dispatch] = &[
    row!(ARGMAX_F32_N49152, [48, 1, 1], [Logits, Arena(0), Step], +, "best of each slice [48]"),
    row!(NEXT_TOKEN_N49152, [1, 1, 1], [Arena(0), Step, Tokens, Ring, History], +, "next token [49152]"),
];

static BUCKET_DECODE_4_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_DECODE_4_ROWS: &[Dispatch] = &[
    row!(
        DRAW_SCALE_N49152, [48, 1, 1], [Logits, Step, History, Arena(0), Arena(196608), Arena(196864), Arena(201216)],
        +, "penalty and temperature [49152]"
    ),
];

static BUCKET_DECODE_5_TABLE: &[List<Arg>] = &[
    columns!(Arena(196864), Arena(201216), Arena(205568)),
    columns!(Arena(201216), Arena(205568), Arena(196864)),
    columns!(Arena(205568), Arena(196864), Arena(201216)),
    columns!(Arena(196864), Arena(201216), Arena(205568)),
    columns!(Arena(201216), Arena(205568), Arena(196864)),
    columns!(Arena(205568), Arena(196864), Arena(201216)),
    columns!(Arena(196864), Arena(201216), Arena(205568)),
    columns!(Arena(201216), Arena(205568), Arena(196864)),
];

static BUCKET_DECODE_5_ROWS: &[Dispatch] = &[
    row!(
        DRAW_SEARCH_N49152, [48, 1, 1], [Arena(0), Arena(196608), Step, Column(0), Column(1), Column(2)], +,
        "digit {l} of top-k, then top-p"
    ),
];

static BUCKET_DECODE_6_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_DECODE_6_ROWS: &[Dispatch] = &[
    row!(
        DRAW_SUM_N49152, [48, 1, 1], [Arena(0), Arena(196608), Step, Arena(205568), Arena(196864), Arena(197120)], +,
        "mass of each slice [48]"
    ),
    row!(
        DRAW_PICK_N49152, [1, 1, 1], [Arena(0), Arena(196864), Arena(197120), Step, Tokens, Ring, History], +,
        "next token, drawn [49152]"
    ),
];
