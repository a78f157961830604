// Written by onnxcast 0.1.0 from models/qwen-int4/model.toml. Do not edit: make model=NAME writes it again.

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
        name: Borrowed("qwen-int4"),
        plan_hash: Borrowed(""),
        kernels: Borrowed(KERNELS),
        variants: Borrowed(VARIANTS),
        tensors: unrolled(TENSORS),
        states: unrolled(STATES),
        buckets: Borrowed(BUCKETS),
        decoder: Some(Decoder {
            context: 1024,
            vocab: 151936,
            decode: 1,
            prefill: 0,
            pictures: None,
        }),
    }
}

const GATHER_Q8_G64_MID_M256_K896_ROWS151936: u32 = 0;
const HALVES_M256_K896_RMS: u32 = 1;
const QKV_Q4_G64_MIN_M256_K896_H14_2_D64_C1024_RMS: u32 = 2;
const QKV_Q4_G64_MIN_M256_K896_H14_2_D64_C1024_RMS_ADD_UP: u32 = 3;
const ATTEND_F16_M256_H14_2_D64_C1024: u32 = 4;
const HALVES_M256_K896: u32 = 5;
const MATMUL_Q4_G64_MIN_M256_K896_N896_ADD: u32 = 6;
const GATED_MATMUL_Q4_G64_MIN_M256_K896_N4864_RMS_SILU: u32 = 7;
const HALVES_M256_K4864: u32 = 8;
const MATMUL_Q4_G64_MIN_M256_K4864_N896_ADD: u32 = 9;
const MATMUL_Q4_G64_MIN_M256_K4864_N896_ADD_ADD_UP_ON_RMS: u32 = 10;
const MATMUL_Q4_G64_MIN_M256_K4864_N896_ADD_ADD_UP: u32 = 11;
const LAST_ROW_F32_M256_K896: u32 = 12;
const MATVEC_Q8_G64_MID_M1_K896_N151936_RMS: u32 = 13;
const ARGMAX_F32_N151936: u32 = 14;
const NEXT_TOKEN_N151936: u32 = 15;
const DRAW_SCALE_N151936: u32 = 16;
const DRAW_SEARCH_N151936: u32 = 17;
const DRAW_SUM_N151936: u32 = 18;
const DRAW_PICK_N151936: u32 = 19;
const GATHER_Q8_G64_MID_M1_K896_ROWS151936: u32 = 20;
const QKV_Q4_G64_MIN_M1_K896_H14_2_D64_C1024_RMS: u32 = 21;
const ATTEND_F16_M1_H14_2_D64_C1024: u32 = 22;
const MATVEC_Q4_G64_MIN_M1_K896_N896_ADD: u32 = 23;
const GATED_MATVEC_Q4_G64_MIN_M1_K896_N4864_RMS_SILU: u32 = 24;
const MATVEC_Q4_G64_MIN_M1_K4864_N896_ADD: u32 = 25;

static KERNELS: &[Kernel] = &[
    kernel!(
        "gather_q8_g64_mid_m256_k896_rows151936", "gather_rows.comp", args 4, writes 4, [M = "256", K = "896", ROWS =
        "151936", WEIGHT_BITS = "8", WEIGHT_ROWS = "151936", GROUP = "64", ZERO = "0", SALIENT = "0", LIVE = "1"]
    ),
    kernel!(
        "halves_m256_k896_rms", "halves.comp", args 4, writes 2, [M = "256", K = "896", ROWS = "256", HALVES = "2",
        LOCAL = "256", LIVE = "1", NORM = "1", EPS = "1e-6"], matrix[MATRIX = "1"]
    ),
    kernel!(
        "qkv_q4_g64_min_m256_k896_h14_2_d64_c1024_rms", "qkv.comp", args 14, writes 8220, [M = "256", K = "896", HQ =
        "14", HKV = "2", D = "64", C = "1024", WEIGHT_BITS = "4", WEIGHT_ROWS = "1152", GROUP = "64", ZERO = "2",
        SALIENT = "0", KV_BITS = "16", BIAS = "1", ROTARY = "64", TABLE = "1024", INTERLEAVED = "0", QUADS = "1",
        POS_WORD = "0", ROWS_WORD = "1", LIVE = "1", THREAD_ROWS = "8", LOCAL = "64", NORM = "1", EPS = "1e-6", HALVES =
        "2", SPLITS = "3"], matrix[MATRIX = "1", ROWS = "256", TILE_M = "64", TILE_N = "128", TILE_K = "64", PARTS_M =
        "2", PARTS_N = "2", PARTS_K = "2"]
    ),
    kernel!(
        "qkv_q4_g64_min_m256_k896_h14_2_d64_c1024_rms_add_up", "qkv.comp", args 14, writes 28, [M = "256", K = "896", HQ
        = "14", HKV = "2", D = "64", C = "1024", WEIGHT_BITS = "4", WEIGHT_ROWS = "1152", GROUP = "64", ZERO = "2",
        SALIENT = "0", KV_BITS = "16", BIAS = "1", ROTARY = "64", TABLE = "1024", INTERLEAVED = "0", QUADS = "1",
        POS_WORD = "0", ROWS_WORD = "1", LIVE = "1", THREAD_ROWS = "8", LOCAL = "64", NORM = "1", EPS = "1e-6", HALVES =
        "2", SPLITS = "3", ADD_UP = "1"], matrix[MATRIX = "1"]
    ),
    kernel!(
        "attend_f16_m256_h14_2_d64_c1024", "cached_attention.comp", args 6, writes 8, [M = "256", HQ = "14", HKV = "2",
        D = "64", C = "1024", KV_BITS = "16", SCALE = "0.125", WINDOW = "0", POS_WORD = "0", QUERY_ROWS = "4",
        GROUP_ROWS = "16", LOCAL = "64", LIVE = "1"], matrix[MATRIX = "1", PARTS_M = "1", PARTS_K = "4"]
    ),
    kernel!(
        "halves_m256_k896", "halves.comp", args 3, writes 2, [M = "256", K = "896", ROWS = "256", HALVES = "2", LOCAL =
        "256", LIVE = "1", NORM = "0", EPS = "0.0"], matrix[MATRIX = "1"]
    ),
    kernel!(
        "matmul_q4_g64_min_m256_k896_n896_add", "linear.comp", args 6, writes 4, [M = "256", K = "896", N = "896",
        WEIGHT_BITS = "4", WEIGHT_ROWS = "896", GROUP = "64", ZERO = "2", SALIENT = "0", ACT = "0", BIAS = "0", RESIDUAL
        = "1", LIVE = "1", THREAD_ROWS = "8", LOCAL = "64", NORM = "0", EPS = "0.0", HALVES = "2", SPLITS = "1"],
        matrix[MATRIX = "1", ROWS = "256", TILE_M = "32", TILE_N = "64", TILE_K = "128", PARTS_M = "1", PARTS_N = "2",
        PARTS_K = "4"]
    ),
    kernel!(
        "gated_matmul_q4_g64_min_m256_k896_n4864_rms_silu", "gated_linear.comp", args 6, writes 4, [M = "256", K =
        "896", N = "4864", WEIGHT_BITS = "4", WEIGHT_ROWS = "9728", GROUP = "64", ZERO = "2", SALIENT = "0", ACT = "15",
        LIVE = "1", THREAD_ROWS = "8", LOCAL = "64", NORM = "1", EPS = "1e-6", HALVES = "2", SPLITS = "1"],
        matrix[MATRIX = "1", ROWS = "256", TILE_M = "128", TILE_N = "192", TILE_K = "32", PARTS_M = "2", PARTS_N = "4",
        PARTS_K = "1"]
    ),
    kernel!(
        "halves_m256_k4864", "halves.comp", args 3, writes 2, [M = "256", K = "4864", ROWS = "288", HALVES = "2", LOCAL
        = "256", LIVE = "1", NORM = "0", EPS = "0.0"], matrix[MATRIX = "1"]
    ),
    kernel!(
        "matmul_q4_g64_min_m256_k4864_n896_add", "linear.comp", args 7, writes 68, [M = "256", K = "4864", N = "896",
        WEIGHT_BITS = "4", WEIGHT_ROWS = "896", GROUP = "64", ZERO = "2", SALIENT = "0", ACT = "0", BIAS = "0", RESIDUAL
        = "1", LIVE = "1", THREAD_ROWS = "8", LOCAL = "64", NORM = "0", EPS = "0.0", HALVES = "2", SPLITS = "6"],
        matrix[MATRIX = "1", ROWS = "288", TILE_M = "96", TILE_N = "128", TILE_K = "64", PARTS_M = "2", PARTS_N = "2",
        PARTS_K = "2"]
    ),
    kernel!(
        "matmul_q4_g64_min_m256_k4864_n896_add_add_up_on_rms", "linear.comp", args 9, writes 132, [M = "256", K =
        "4864", N = "896", WEIGHT_BITS = "4", WEIGHT_ROWS = "896", GROUP = "64", ZERO = "2", SALIENT = "0", ACT = "0",
        BIAS = "0", RESIDUAL = "1", LIVE = "1", THREAD_ROWS = "8", LOCAL = "256", NORM = "0", EPS = "0.0", HALVES = "2",
        SPLITS = "6", ADD_UP = "1", HANDED = "2", HANDED_K = "896", HANDED_ROWS = "256", HANDED_NORM = "1", HANDED_EPS =
        "1e-6"], matrix[MATRIX = "1"]
    ),
    kernel!(
        "matmul_q4_g64_min_m256_k4864_n896_add_add_up", "linear.comp", args 7, writes 4, [M = "256", K = "4864", N =
        "896", WEIGHT_BITS = "4", WEIGHT_ROWS = "896", GROUP = "64", ZERO = "2", SALIENT = "0", ACT = "0", BIAS = "0",
        RESIDUAL = "1", LIVE = "1", THREAD_ROWS = "8", LOCAL = "64", NORM = "0", EPS = "0.0", HALVES = "2", SPLITS =
        "6", ADD_UP = "1"], matrix[MATRIX = "1"]
    ),
    kernel!("last_row_f32_m256_k896", "last_row.comp", args 3, writes 4, [M = "256", K = "896", ROWS_WORD = "1"]),
    kernel!(
        "matvec_q8_g64_mid_m1_k896_n151936_rms", "linear.comp", args 5, writes 4, [M = "1", K = "896", N = "151936",
        WEIGHT_BITS = "8", WEIGHT_ROWS = "151936", GROUP = "64", ZERO = "0", SALIENT = "0", ACT = "0", BIAS = "0",
        RESIDUAL = "0", LIVE = "1", THREAD_ROWS = "0", LOCAL = "224", SLOTS = "56", UNITS = "8", NORM = "1", EPS =
        "1e-6", HALVES = "0"]
    ),
    kernel!("argmax_f32_n151936", "argmax.comp", args 3, writes 2, [V = "151936", SLICE = "1280", LOCAL = "256"]),
    kernel!("next_token_n151936", "next_token.comp", args 5, writes 30, [V = "151936", PARTS = "119", LOCAL = "256"]),
    kernel!(
        "draw_scale_n151936", "draw_scale.comp", args 7, writes 120, [V = "151936", SLICE = "1280", SLICES = "119",
        LOCAL = "256"]
    ),
    kernel!(
        "draw_search_n151936", "draw_search.comp", args 6, writes 48, [V = "151936", SLICE = "1280", SLICES = "119",
        LOCAL = "256"]
    ),
    kernel!(
        "draw_sum_n151936", "draw_sum.comp", args 6, writes 48, [V = "151936", SLICE = "1280", SLICES = "119", LOCAL =
        "256"]
    ),
    kernel!(
        "draw_pick_n151936", "draw_pick.comp", args 7, writes 120, [V = "151936", SLICE = "1280", SLICES = "119", LOCAL
        = "256"]
    ),
    kernel!(
        "gather_q8_g64_mid_m1_k896_rows151936", "gather_rows.comp", args 4, writes 4, [M = "1", K = "896", ROWS =
        "151936", WEIGHT_BITS = "8", WEIGHT_ROWS = "151936", GROUP = "64", ZERO = "0", SALIENT = "0", LIVE = "1"]
    ),
    kernel!(
        "qkv_q4_g64_min_m1_k896_h14_2_d64_c1024_rms", "qkv.comp", args 12, writes 28, [M = "1", K = "896", HQ = "14",
        HKV = "2", D = "64", C = "1024", WEIGHT_BITS = "4", WEIGHT_ROWS = "1152", GROUP = "64", ZERO = "2", SALIENT =
        "0", KV_BITS = "16", BIAS = "1", ROTARY = "64", TABLE = "1024", INTERLEAVED = "0", QUADS = "1", POS_WORD = "0",
        ROWS_WORD = "1", LIVE = "1", THREAD_ROWS = "0", LOCAL = "112", SLOTS = "28", UNITS = "4", WALK = "1", NORM =
        "1", EPS = "1e-6", HALVES = "0"]
    ),
    kernel!(
        "attend_f16_m1_h14_2_d64_c1024", "split_attention.comp", args 8, writes 104, [HQ = "14", HKV = "2", D = "64", C
        = "1024", KV_BITS = "16", SCALE = "0.125", WINDOW = "0", POS_WORD = "0", LOCAL = "128", KEYS = "8", SPLITS =
        "4", LIVE = "1"]
    ),
    kernel!(
        "matvec_q4_g64_min_m1_k896_n896_add", "linear.comp", args 5, writes 4, [M = "1", K = "896", N = "896",
        WEIGHT_BITS = "4", WEIGHT_ROWS = "896", GROUP = "64", ZERO = "2", SALIENT = "0", ACT = "0", BIAS = "0", RESIDUAL
        = "1", LIVE = "1", THREAD_ROWS = "0", LOCAL = "84", SLOTS = "28", UNITS = "3", WALK = "1", NORM = "0", EPS =
        "0.0", HALVES = "0"]
    ),
    kernel!(
        "gated_matvec_q4_g64_min_m1_k896_n4864_rms_silu", "gated_linear.comp", args 5, writes 4, [M = "1", K = "896", N
        = "4864", WEIGHT_BITS = "4", WEIGHT_ROWS = "9728", GROUP = "64", ZERO = "2", SALIENT = "0", ACT = "15", LIVE =
        "1", THREAD_ROWS = "0", LOCAL = "112", SLOTS = "28", UNITS = "4", WALK = "1", NORM = "1", EPS = "1e-6", HALVES =
        "0"]
    ),
    kernel!(
        "matvec_q4_g64_min_m1_k4864_n896_add", "linear.comp", args 5, writes 4, [M = "1", K = "4864", N = "896",
        WEIGHT_BITS = "4", WEIGHT_ROWS = "896", GROUP = "64", ZERO = "2", SALIENT = "0", ACT = "0", BIAS = "0", RESIDUAL
        = "1", LIVE = "1", THREAD_ROWS = "0", LOCAL = "304", SLOTS = "152", UNITS = "2", NORM = "0", EPS = "0.0", HALVES
        = "0"]
    ),
];

static VARIANTS: &[Variant] = &[];
static TENSORS: &[Run<Tensor>] = &[
    Run {
        layers: 1,
        rows: &[
            tensor!("model.embed_tokens.weight", q8_g64_mid, [151936, 896], 140388864),
            tensor!("model.layers.0.input_layernorm.weight", rows_f32, [896], 3584),
            tensor!(
                "model.layers.0.self_attn.q_proj.weight_T+model.layers.0.self_attn.k_proj.weight_T+model.layers.0.self_attn.v_proj.weight_T",
                q4_g64_min, [1152, 896], 580608
            ),
            tensor!(
                "model.layers.0.self_attn.q_proj.bias+model.layers.0.self_attn.k_proj.bias+model.layers.0.self_attn.v_proj.bias",
                rows_f32, [1152], 4608
            ),
            tensor!("/model/rotary_emb/Unsqueeze_2_output_0.cos_table", rows_f32, [1024, 32], 131072),
            tensor!("/model/rotary_emb/Unsqueeze_3_output_0.sin_table", rows_f32, [1024, 32], 131072),
        ],
    },
    Run {
        layers: 23,
        rows: &[
            tensor!("model.layers.{l}.self_attn.o_proj.weight_T", q4_g64_min, [896, 896], 451584),
            tensor!("model.layers.{l}.post_attention_layernorm.weight", rows_f32, [896], 3584),
            tensor!(
                "model.layers.{l}.mlp.gate_proj.weight_T+model.layers.{l}.mlp.up_proj.weight_T", q4_g64_min, [9728,
                896], 4902912
            ),
            tensor!("model.layers.{l}.mlp.down_proj.weight_T", q4_g64_min, [896, 4864], 2451456),
            tensor!("model.layers.{l+1}.input_layernorm.weight", rows_f32, [896], 3584),
            tensor!(
                "model.layers.{l+1}.self_attn.q_proj.weight_T+model.layers.{l+1}.self_attn.k_proj.weight_T+model.layers.{l+1}.self_attn.v_proj.weight_T",
                q4_g64_min, [1152, 896], 580608
            ),
            tensor!(
                "model.layers.{l+1}.self_attn.q_proj.bias+model.layers.{l+1}.self_attn.k_proj.bias+model.layers.{l+1}.self_attn.v_proj.bias",
                rows_f32, [1152], 4608
            ),
        ],
    },
    Run {
        layers: 1,
        rows: &[
            tensor!("model.layers.23.self_attn.o_proj.weight_T", q4_g64_min, [896, 896], 451584),
            tensor!("model.layers.23.post_attention_layernorm.weight", rows_f32, [896], 3584),
            tensor!(
                "model.layers.23.mlp.gate_proj.weight_T+model.layers.23.mlp.up_proj.weight_T", q4_g64_min, [9728, 896],
                4902912
            ),
            tensor!("model.layers.23.mlp.down_proj.weight_T", q4_g64_min, [896, 4864], 2451456),
            tensor!("model.norm.weight", rows_f32, [896], 3584),
        ],
    },
];

static STATES: &[Run<State>] = &[
    Run {
        layers: 24,
        rows: &[
            state!("past_key_values.{l}.key", 262144, [1, 2, 1024, 64], Elem::F16),
            state!("past_key_values.{l}.value", 262144, [1, 2, 1024, 64], Elem::F16),
        ],
    },
    Run {
        layers: 1,
        rows: &[state!("counters", 56, [14], Elem::U32)],
    },
];

static BUCKETS: &[Bucket] = &[
    Bucket {
        name: Borrowed("prefill"),
        rows: 256,
        arena_bytes: 19761408,
        inputs: Borrowed(&[]),
        outputs: Borrowed(&[]),
        blocks: Borrowed(BUCKET_PREFILL),
    },
    Bucket {
        name: Borrowed("decode"),
        rows: 1,
        arena_bytes: 621312,
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
        GATHER_Q8_G64_MID_M256_K896_ROWS151936, [3584, 1, 1], [Weight(0), Tokens, Arena(0), Step], +,
        "/model/embed_tokens/Gather [1, 256, 896]"
    ),
    row!(
        HALVES_M256_K896_RMS, [256, 1, 1], [Arena(0), Arena(917504), Step, Weight(1)], +,
        "/model/layers.0/self_attn/Add [1, 14, 256, 64]"
    ),
    row!(
        QKV_Q4_G64_MIN_M256_K896_H14_2_D64_C1024_RMS, [4, 9, 3], [Arena(0), Weight(2), Arena(1836032), Arg::State(0),
        Arg::State(1), Step, Step, Step, Weight(1), Weight(3), Weight(4), Weight(5), Arena(917504), Arena(2753536)], +,
        "/model/layers.0/self_attn/Add [1, 14, 256, 64]"
    ),
    row!(
        QKV_Q4_G64_MIN_M256_K896_H14_2_D64_C1024_RMS_ADD_UP, [1152, 1, 1], [Arena(0), Weight(2), Arena(1836032),
        Arg::State(0), Arg::State(1), Step, Step, Step, Weight(1), Weight(3), Weight(4), Weight(5), Arena(917504),
        Arena(2753536)], +, "/model/layers.0/self_attn/Add [1, 14, 256, 64]"
    ),
    row!(
        ATTEND_F16_M256_H14_2_D64_C1024, [14, 16, 1], [Arena(1836032), Arg::State(0), Arg::State(1), Arena(917504),
        Step, Step], +, "/model/layers.0/self_attn/MatMul_1 [1, 256, 896]"
    ),
];

static BUCKET_PREFILL_1_TABLE: &[List<Arg>] = &[
    columns!(Weight(6), Weight(7), Weight(8), Weight(9), Weight(10), Weight(11), Arg::State(2), Arg::State(3), Weight(12)),
    columns!(Weight(13), Weight(14), Weight(15), Weight(16), Weight(17), Weight(18), Arg::State(4), Arg::State(5), Weight(19)),
    columns!(Weight(20), Weight(21), Weight(22), Weight(23), Weight(24), Weight(25), Arg::State(6), Arg::State(7), Weight(26)),
    columns!(Weight(27), Weight(28), Weight(29), Weight(30), Weight(31), Weight(32), Arg::State(8), Arg::State(9), Weight(33)),
    columns!(Weight(34), Weight(35), Weight(36), Weight(37), Weight(38), Weight(39), Arg::State(10), Arg::State(11), Weight(40)),
    columns!(Weight(41), Weight(42), Weight(43), Weight(44), Weight(45), Weight(46), Arg::State(12), Arg::State(13), Weight(47)),
    columns!(Weight(48), Weight(49), Weight(50), Weight(51), Weight(52), Weight(53), Arg::State(14), Arg::State(15), Weight(54)),
    columns!(Weight(55), Weight(56), Weight(57), Weight(58), Weight(59), Weight(60), Arg::State(16), Arg::State(17), Weight(61)),
    columns!(Weight(62), Weight(63), Weight(64), Weight(65), Weight(66), Weight(67), Arg::State(18), Arg::State(19), Weight(68)),
    columns!(Weight(69), Weight(70), Weight(71), Weight(72), Weight(73), Weight(74), Arg::State(20), Arg::State(21), Weight(75)),
    columns!(Weight(76), Weight(77), Weight(78), Weight(79), Weight(80), Weight(81), Arg::State(22), Arg::State(23), Weight(82)),
    columns!(Weight(83), Weight(84), Weight(85), Weight(86), Weight(87), Weight(88), Arg::State(24), Arg::State(25), Weight(89)),
    columns!(Weight(90), Weight(91), Weight(92), Weight(93), Weight(94), Weight(95), Arg::State(26), Arg::State(27), Weight(96)),
    columns!(Weight(97), Weight(98), Weight(99), Weight(100), Weight(101), Weight(102), Arg::State(28), Arg::State(29), Weight(103)),
    columns!(Weight(104), Weight(105), Weight(106), Weight(107), Weight(108), Weight(109), Arg::State(30), Arg::State(31), Weight(110)),
    columns!(Weight(111), Weight(112), Weight(113), Weight(114), Weight(115), Weight(116), Arg::State(32), Arg::State(33), Weight(117)),
    columns!(Weight(118), Weight(119), Weight(120), Weight(121), Weight(122), Weight(123), Arg::State(34), Arg::State(35), Weight(124)),
    columns!(Weight(125), Weight(126), Weight(127), Weight(128), Weight(129), Weight(130), Arg::State(36), Arg::State(37), Weight(131)),
    columns!(Weight(132), Weight(133), Weight(134), Weight(135), Weight(136), Weight(137), Arg::State(38), Arg::State(39), Weight(138)),
    columns!(Weight(139), Weight(140), Weight(141), Weight(142), Weight(143), Weight(144), Arg::State(40), Arg::State(41), Weight(145)),
    columns!(Weight(146), Weight(147), Weight(148), Weight(149), Weight(150), Weight(151), Arg::State(42), Arg::State(43), Weight(152)),
    columns!(Weight(153), Weight(154), Weight(155), Weight(156), Weight(157), Weight(158), Arg::State(44), Arg::State(45), Weight(159)),
    columns!(Weight(160), Weight(161), Weight(162), Weight(163), Weight(164), Weight(165), Arg::State(46), Arg::State(47), Weight(166)),
];

static BUCKET_PREFILL_1_ROWS: &[Dispatch] = &[
    row!(
        HALVES_M256_K896, [256, 1, 1], [Arena(917504), Arena(1835008), Step], +, "/model/layers.{l}/Add [1, 256, 896]"
    ),
    row!(
        MATMUL_Q4_G64_MIN_M256_K896_N896_ADD, [8, 14, 1], [Arena(917504), Column(0), Arena(2753536), Step, Arena(0),
        Arena(1835008)], +, "/model/layers.{l}/Add [1, 256, 896]"
    ),
    row!(
        HALVES_M256_K896_RMS, [256, 1, 1], [Arena(2753536), Arena(0), Step, Column(1)], +,
        "/model/layers.{l}/mlp/Mul [1, 256, 4864]"
    ),
    row!(
        GATED_MATMUL_Q4_G64_MIN_M256_K896_N4864_RMS_SILU, [2, 51, 1], [Arena(2753536), Column(2), Arena(3671040), Step,
        Column(1), Arena(0)], +, "/model/layers.{l}/mlp/Mul [1, 256, 4864]"
    ),
    row!(
        HALVES_M256_K4864, [256, 1, 1], [Arena(3671040), Arena(8651776), Step], +,
        "/model/layers.{l}/Add_1 [1, 256, 896]"
    ),
    row!(
        MATMUL_Q4_G64_MIN_M256_K4864_N896_ADD, [3, 7, 6], [Arena(3671040), Column(3), Arena(0), Step, Arena(2753536),
        Arena(8651776), Arena(14256384)], +, "/model/layers.{l}/Add_1 [1, 256, 896]"
    ),
    row!(
        MATMUL_Q4_G64_MIN_M256_K4864_N896_ADD_ADD_UP_ON_RMS, [256, 1, 1], [Arena(3671040), Column(3), Arena(0), Step,
        Arena(2753536), Arena(8651776), Arena(14256384), Arena(917504), Column(4)], +,
        "/model/layers.{l}/Add_1 [1, 256, 896]"
    ),
    row!(
        QKV_Q4_G64_MIN_M256_K896_H14_2_D64_C1024_RMS, [4, 9, 3], [Arena(0), Column(5), Arena(1836032), Column(6),
        Column(7), Step, Step, Step, Column(4), Column(8), Weight(4), Weight(5), Arena(917504), Arena(2753536)], +,
        "/model/layers.{l+1}/self_attn/Add [1, 14, 256, 64]"
    ),
    row!(
        QKV_Q4_G64_MIN_M256_K896_H14_2_D64_C1024_RMS_ADD_UP, [1152, 1, 1], [Arena(0), Column(5), Arena(1836032),
        Column(6), Column(7), Step, Step, Step, Column(4), Column(8), Weight(4), Weight(5), Arena(917504),
        Arena(2753536)], +, "/model/layers.{l+1}/self_attn/Add [1, 14, 256, 64]"
    ),
    row!(
        ATTEND_F16_M256_H14_2_D64_C1024, [14, 16, 1], [Arena(1836032), Column(6), Column(7), Arena(917504), Step, Step],
        +, "/model/layers.{l+1}/self_attn/MatMul_1 [1, 256, 896]"
    ),
];

static BUCKET_PREFILL_2_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_PREFILL_2_ROWS: &[Dispatch] = &[
    row!(HALVES_M256_K896, [256, 1, 1], [Arena(917504), Arena(1835008), Step], +, "/model/layers.23/Add [1, 256, 896]"),
    row!(
        MATMUL_Q4_G64_MIN_M256_K896_N896_ADD, [8, 14, 1], [Arena(917504), Weight(167), Arena(2753536), Step, Arena(0),
        Arena(1835008)], +, "/model/layers.23/Add [1, 256, 896]"
    ),
    row!(
        HALVES_M256_K896_RMS, [256, 1, 1], [Arena(2753536), Arena(0), Step, Weight(168)], +,
        "/model/layers.23/mlp/Mul [1, 256, 4864]"
    ),
    row!(
        GATED_MATMUL_Q4_G64_MIN_M256_K896_N4864_RMS_SILU, [2, 51, 1], [Arena(2753536), Weight(169), Arena(3671040),
        Step, Weight(168), Arena(0)], +, "/model/layers.23/mlp/Mul [1, 256, 4864]"
    ),
    row!(
        HALVES_M256_K4864, [256, 1, 1], [Arena(3671040), Arena(8651776), Step], +,
        "/model/layers.23/Add_1 [1, 256, 896]"
    ),
    row!(
        MATMUL_Q4_G64_MIN_M256_K4864_N896_ADD, [3, 7, 6], [Arena(3671040), Weight(170), Arena(0), Step, Arena(2753536),
        Arena(8651776), Arena(14256384)], +, "/model/layers.23/Add_1 [1, 256, 896]"
    ),
    row!(
        MATMUL_Q4_G64_MIN_M256_K4864_N896_ADD_ADD_UP, [896, 1, 1], [Arena(3671040), Weight(170), Arena(0), Step,
        Arena(2753536), Arena(8651776), Arena(14256384)], +, "/model/layers.23/Add_1 [1, 256, 896]"
    ),
];

static BUCKET_PREFILL_3_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_PREFILL_3_ROWS: &[Dispatch] = &[
    row!(LAST_ROW_F32_M256_K896, [14, 1, 1], [Arena(0), Step, Arena(917504)], +, "last_row [1, 1, 896]"),
    row!(
        MATVEC_Q8_G64_MID_M1_K896_N151936_RMS, [4748, 1, 1], [Arena(917504), Weight(0), Logits, Step, Weight(171)], +,
        "/lm_head/MatMul [1, 1, 151936]"
    ),
];

static BUCKET_PREFILL_4_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_PREFILL_4_ROWS: &[Dispatch] = &[
    row!(ARGMAX_F32_N151936, [119, 1, 1], [Logits, Arena(0), Step], +, "best of each slice [119]"),
    row!(NEXT_TOKEN_N151936, [1, 1, 1], [Arena(0), Step, Tokens, Ring, History], +, "next token [151936]"),
];

static BUCKET_PREFILL_5_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_PREFILL_5_ROWS: &[Dispatch] = &[
    row!(
        DRAW_SCALE_N151936, [119, 1, 1], [Logits, Step, History, Arena(0), Arena(607744), Arena(608256), Arena(612608)],
        +, "penalty and temperature [151936]"
    ),
];

static BUCKET_PREFILL_6_TABLE: &[List<Arg>] = &[
    columns!(Arena(608256), Arena(612608), Arena(616960)),
    columns!(Arena(612608), Arena(616960), Arena(608256)),
    columns!(Arena(616960), Arena(608256), Arena(612608)),
    columns!(Arena(608256), Arena(612608), Arena(616960)),
    columns!(Arena(612608), Arena(616960), Arena(608256)),
    columns!(Arena(616960), Arena(608256), Arena(612608)),
    columns!(Arena(608256), Arena(612608), Arena(616960)),
    columns!(Arena(612608), Arena(616960), Arena(608256)),
];

static BUCKET_PREFILL_6_ROWS: &[Dispatch] = &[
    row!(
        DRAW_SEARCH_N151936, [119, 1, 1], [Arena(0), Arena(607744), Step, Column(0), Column(1), Column(2)], +,
        "digit {l} of top-k, then top-p"
    ),
];

static BUCKET_PREFILL_7_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_PREFILL_7_ROWS: &[Dispatch] = &[
    row!(
        DRAW_SUM_N151936, [119, 1, 1], [Arena(0), Arena(607744), Step, Arena(616960), Arena(608256), Arena(608512)], +,
        "mass of each slice [119]"
    ),
    row!(
        DRAW_PICK_N151936, [1, 1, 1], [Arena(0), Arena(608256), Arena(608512), Step, Tokens, Ring, History], +,
        "next token, drawn [151936]"
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
        GATHER_Q8_G64_MID_M1_K896_ROWS151936, [14, 1, 1], [Weight(0), Tokens, Arena(0), Step], +,
        "/model/embed_tokens/Gather [1, 1, 896]"
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
];

static BUCKET_DECODE_1_ROWS: &[Dispatch] = &[
    row!(
        QKV_Q4_G64_MIN_M1_K896_H14_2_D64_C1024_RMS, [72, 1, 1], [Arena(0), Column(0), Arena(3584), Column(1), Column(2),
        Step, Step, Step, Column(3), Column(4), Weight(4), Weight(5)], +,
        "/model/layers.{l}/self_attn/Add [1, 14, 1, 64]"
    ),
    row!(
        ATTEND_F16_M1_H14_2_D64_C1024, [14, 4, 1], [Arena(3584), Column(1), Column(2), Arena(7168), Step, Arena(10752),
        Arg::State(48), Step], +, "/model/layers.{l}/self_attn/MatMul_1 [1, 1, 896]"
    ),
    row!(
        MATVEC_Q4_G64_MIN_M1_K896_N896_ADD, [75, 1, 1], [Arena(7168), Column(5), Arena(3584), Step, Arena(0)], +,
        "/model/layers.{l}/Add [1, 1, 896]"
    ),
    row!(
        GATED_MATVEC_Q4_G64_MIN_M1_K896_N4864_RMS_SILU, [608, 1, 1], [Arena(3584), Column(6), Arena(7168), Step,
        Column(7)], +, "/model/layers.{l}/mlp/Mul [1, 1, 4864]"
    ),
    row!(
        MATVEC_Q4_G64_MIN_M1_K4864_N896_ADD, [112, 1, 1], [Arena(7168), Column(8), Arena(0), Step, Arena(3584)], +,
        "/model/layers.{l}/Add_1 [1, 1, 896]"
    ),
];

static BUCKET_DECODE_2_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_DECODE_2_ROWS: &[Dispatch] = &[
    row!(
        MATVEC_Q8_G64_MID_M1_K896_N151936_RMS, [4748, 1, 1], [Arena(0), Weight(0), Logits, Step, Weight(171)], +,
        "/lm_head/MatMul [1, 1, 151936]"
    ),
];

static BUCKET_DECODE_3_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_DECODE_3_ROWS: &[Dispatch] = &[
    row!(ARGMAX_F32_N151936, [119, 1, 1], [Logits, Arena(0), Step], +, "best of each slice [119]"),
    row!(NEXT_TOKEN_N151936, [1, 1, 1], [Arena(0), Step, Tokens, Ring, History], +, "next token [151936]"),
];

static BUCKET_DECODE_4_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_DECODE_4_ROWS: &[Dispatch] = &[
    row!(
        DRAW_SCALE_N151936, [119, 1, 1], [Logits, Step, History, Arena(0), Arena(607744), Arena(608256), Arena(612608)],
        +, "penalty and temperature [151936]"
    ),
];

static BUCKET_DECODE_5_TABLE: &[List<Arg>] = &[
    columns!(Arena(608256), Arena(612608), Arena(616960)),
    columns!(Arena(612608), Arena(616960), Arena(608256)),
    columns!(Arena(616960), Arena(608256), Arena(612608)),
    columns!(Arena(608256), Arena(612608), Arena(616960)),
    columns!(Arena(612608), Arena(616960), Arena(608256)),
    columns!(Arena(616960), Arena(608256), Arena(612608)),
    columns!(Arena(608256), Arena(612608), Arena(616960)),
    columns!(Arena(612608), Arena(616960), Arena(608256)),
];

static BUCKET_DECODE_5_ROWS: &[Dispatch] = &[
    row!(
        DRAW_SEARCH_N151936, [119, 1, 1], [Arena(0), Arena(607744), Step, Column(0), Column(1), Column(2)], +,
        "digit {l} of top-k, then top-p"
    ),
];

static BUCKET_DECODE_6_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_DECODE_6_ROWS: &[Dispatch] = &[
    row!(
        DRAW_SUM_N151936, [119, 1, 1], [Arena(0), Arena(607744), Step, Arena(616960), Arena(608256), Arena(608512)], +,
        "mass of each slice [119]"
    ),
    row!(
        DRAW_PICK_N151936, [1, 1, 1], [Arena(0), Arena(608256), Arena(608512), Step, Tokens, Ring, History], +,
        "next token, drawn [151936]"
    ),
];
