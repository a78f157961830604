// Written by onnxcast 0.1.0 from models/tiny-vlm/model.toml. Do not edit: make model=NAME writes it again.

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
        name: Borrowed("tiny-vlm"),
        plan_hash: Borrowed(""),
        kernels: Borrowed(KERNELS),
        variants: Borrowed(VARIANTS),
        tensors: unrolled(TENSORS),
        states: unrolled(STATES),
        buckets: Borrowed(BUCKETS),
        decoder: Some(Decoder {
            context: 96,
            vocab: 600,
            decode: 2,
            prefill: 1,
            pictures: Some(onnxcast_runtime::program::Pictures {
                bucket: 0,
                state: 0,
                rows: 4,
                slots: 3,
            }),
        }),
    }
}

const TRANSPOSE_1X3X6X8X6X8_TO024135: u32 = 0;
const MATMUL_F32_M36_K192_N48_BIAS_ADD: u32 = 1;
const MATMUL_F32_M36_K48_N144_LAYER_BIAS: u32 = 2;
const ATTENTION_F32_B1_M36_T36_H3_3_D16_PACKED_FULL: u32 = 3;
const MATMUL_F32_M36_K48_N48_BIAS_ADD: u32 = 4;
const MATMUL_F32_M36_K48_N96_LAYER_BIAS_GELUTANH: u32 = 5;
const MATMUL_F32_M36_K96_N48_BIAS_ADD: u32 = 6;
const LAYER_NORM_F32_1X36X48_AXIS2_48_SHIFT: u32 = 7;
const TRANSPOSE_2X3X2X144_TO0213: u32 = 8;
const MATMUL_F32_M4_K432_N64: u32 = 9;
const KV_WRITE_F32_M4_H1_D64_C12: u32 = 10;
const GATHER_F32_M6_K64_ROWS600_PICTURES12: u32 = 11;
const QKV_F32_M6_K64_H4_4_D16_C96_RMS: u32 = 12;
const ATTEND_F32_M6_H4_4_D16_C96: u32 = 13;
const MATMUL_F32_M6_K64_N64_ADD: u32 = 14;
const GATED_MATMUL_F32_M6_K64_N160_RMS_SILU: u32 = 15;
const MATMUL_F32_M6_K160_N64_ADD: u32 = 16;
const LAST_ROW_F32_M6_K64: u32 = 17;
const MATVEC_F32_M1_K64_N600_RMS: u32 = 18;
const MATVEC_F32_M1_K64_N600_RMS_BY12: u32 = 19;
const ARGMAX_F32_N600: u32 = 20;
const NEXT_TOKEN_N600: u32 = 21;
const DRAW_SCALE_N600: u32 = 22;
const DRAW_SEARCH_N600: u32 = 23;
const DRAW_SUM_N600: u32 = 24;
const DRAW_PICK_N600: u32 = 25;
const GATHER_F32_M1_K64_ROWS600_PICTURES12: u32 = 26;
const QKV_F32_M1_K64_H4_4_D16_C96_RMS: u32 = 27;
const QKV_F32_M1_K64_H4_4_D16_C96_RMS_BY12: u32 = 28;
const ATTEND_F32_M1_H4_4_D16_C96: u32 = 29;
const MATVEC_F32_M1_K64_N64_ADD: u32 = 30;
const MATVEC_F32_M1_K64_N64_ADD_BY12: u32 = 31;
const GATED_MATVEC_F32_M1_K64_N160_RMS_SILU: u32 = 32;
const GATED_MATVEC_F32_M1_K64_N160_RMS_SILU_BY12: u32 = 33;
const MATVEC_F32_M1_K160_N64_ADD: u32 = 34;
const MATVEC_F32_M1_K160_N64_ADD_BY6: u32 = 35;

static KERNELS: &[Kernel] = &[
    kernel!(
        "transpose_1x3x6x8x6x8_to024135", "copy.comp", args 2, writes 2, [N = "6912", FROM = "0", TO = "0", RANK = "5",
        DIMS = "6u,6u,3u,8u,8u", FROM_STRIDES = "384,8,2304,48,1", TO_STRIDES = "1152,192,64,8,1"]
    ),
    kernel!(
        "matmul_f32_m36_k192_n48_bias_add", "linear.comp", args 5, writes 4, [M = "36", K = "192", N = "48", WEIGHT_BITS
        = "32", ACT = "0", BIAS = "1", RESIDUAL = "1", LIVE = "0", THREAD_ROWS = "8", LOCAL = "64", NORM = "0", EPS =
        "0.0", HALVES = "0"]
    ),
    kernel!(
        "matmul_f32_m36_k48_n144_layer_bias", "linear.comp", args 6, writes 4, [M = "36", K = "48", N = "144",
        WEIGHT_BITS = "32", ACT = "0", BIAS = "1", RESIDUAL = "0", LIVE = "0", THREAD_ROWS = "8", LOCAL = "64", NORM =
        "2", EPS = "1e-6", HALVES = "0"]
    ),
    kernel!(
        "attention_f32_b1_m36_t36_h3_3_d16_packed_full", "attention.comp", args 4, writes 8, [BATCH = "1", M = "36", T =
        "36", HQ = "3", HKV = "3", D = "16", SCALE = "0.25", CAUSAL = "0", WINDOW = "0", MASKED = "0", MASK_BATCH = "0",
        MASK_HEAD = "0", MASK_ROW = "0", MASK_KEY = "0", Q_BATCH = "5184", Q_HEAD = "16", Q_ROW = "144", Q_AT = "0",
        K_BATCH = "5184", K_HEAD = "16", KV_ROW = "144", K_AT = "48", V_BATCH = "5184", V_HEAD = "16", V_ROW = "144",
        V_AT = "96", Y_BATCH = "1728", Y_HEAD = "16", Y_ROW = "48", Y_AT = "0", QUERY_ROWS = "4", GROUP_ROWS = "4",
        LOCAL = "64"]
    ),
    kernel!(
        "matmul_f32_m36_k48_n48_bias_add", "linear.comp", args 5, writes 4, [M = "36", K = "48", N = "48", WEIGHT_BITS =
        "32", ACT = "0", BIAS = "1", RESIDUAL = "1", LIVE = "0", THREAD_ROWS = "8", LOCAL = "64", NORM = "0", EPS =
        "0.0", HALVES = "0"]
    ),
    kernel!(
        "matmul_f32_m36_k48_n96_layer_bias_gelutanh", "linear.comp", args 6, writes 4, [M = "36", K = "48", N = "96",
        WEIGHT_BITS = "32", ACT = "17", BIAS = "1", RESIDUAL = "0", LIVE = "0", THREAD_ROWS = "8", LOCAL = "64", NORM =
        "2", EPS = "1e-6", HALVES = "0"]
    ),
    kernel!(
        "matmul_f32_m36_k96_n48_bias_add", "linear.comp", args 5, writes 4, [M = "36", K = "96", N = "48", WEIGHT_BITS =
        "32", ACT = "0", BIAS = "1", RESIDUAL = "1", LIVE = "0", THREAD_ROWS = "8", LOCAL = "64", NORM = "0", EPS =
        "0.0", HALVES = "0"]
    ),
    kernel!(
        "layer_norm_f32_1x36x48_axis2_48_shift", "norm.comp", args 4, writes 2, [ROWS = "36", LENGTH = "48", NORM = "2",
        EPS = "1e-6", SHIFT = "1", LOCAL = "64", RANK = "2", DIMS = "36u,48u", SCALE_STRIDES = "0,1", SHIFT_STRIDES =
        "0,1"]
    ),
    kernel!(
        "transpose_2x3x2x144_to0213", "copy.comp", args 2, writes 2, [N = "1728", FROM = "0", TO = "0", RANK = "4", DIMS
        = "2u,2u,3u,144u", FROM_STRIDES = "864,144,288,1", TO_STRIDES = "864,432,144,1"]
    ),
    kernel!(
        "matmul_f32_m4_k432_n64", "linear.comp", args 3, writes 4, [M = "4", K = "432", N = "64", WEIGHT_BITS = "32",
        ACT = "0", BIAS = "0", RESIDUAL = "0", LIVE = "0", THREAD_ROWS = "1", LOCAL = "64", NORM = "0", EPS = "0.0",
        HALVES = "0"]
    ),
    kernel!(
        "kv_write_f32_m4_h1_d64_c12", "kv_write.comp", args 4, writes 2, [M = "4", HKV = "1", D = "64", C = "12",
        KV_BITS = "32", POS_WORD = "0", ROWS_WORD = "0"]
    ),
    kernel!(
        "gather_f32_m6_k64_rows600_pictures12", "gather_rows.comp", args 5, writes 4, [VOCAB = "600", PICTURES = "12", M
        = "6", K = "64", ROWS = "600", WEIGHT_BITS = "32", LIVE = "1"]
    ),
    kernel!(
        "qkv_f32_m6_k64_h4_4_d16_c96_rms", "qkv.comp", args 11, writes 28, [M = "6", K = "64", HQ = "4", HKV = "4", D =
        "16", C = "96", WEIGHT_BITS = "32", KV_BITS = "32", BIAS = "0", ROTARY = "16", TABLE = "96", INTERLEAVED = "0",
        QUADS = "1", POS_WORD = "0", ROWS_WORD = "1", LIVE = "1", THREAD_ROWS = "1", LOCAL = "64", NORM = "1", EPS =
        "1e-6", HALVES = "0"]
    ),
    kernel!(
        "attend_f32_m6_h4_4_d16_c96", "cached_attention.comp", args 6, writes 8, [M = "6", HQ = "4", HKV = "4", D =
        "16", C = "96", KV_BITS = "32", SCALE = "0.25", WINDOW = "0", POS_WORD = "0", QUERY_ROWS = "4", GROUP_ROWS =
        "4", LOCAL = "64", LIVE = "1"]
    ),
    kernel!(
        "matmul_f32_m6_k64_n64_add", "linear.comp", args 5, writes 4, [M = "6", K = "64", N = "64", WEIGHT_BITS = "32",
        ACT = "0", BIAS = "0", RESIDUAL = "1", LIVE = "1", THREAD_ROWS = "1", LOCAL = "64", NORM = "0", EPS = "0.0",
        HALVES = "0"]
    ),
    kernel!(
        "gated_matmul_f32_m6_k64_n160_rms_silu", "gated_linear.comp", args 5, writes 4, [M = "6", K = "64", N = "160",
        WEIGHT_BITS = "32", ACT = "15", LIVE = "1", THREAD_ROWS = "1", LOCAL = "64", NORM = "1", EPS = "1e-6", HALVES =
        "0"]
    ),
    kernel!(
        "matmul_f32_m6_k160_n64_add", "linear.comp", args 5, writes 4, [M = "6", K = "160", N = "64", WEIGHT_BITS =
        "32", ACT = "0", BIAS = "0", RESIDUAL = "1", LIVE = "1", THREAD_ROWS = "1", LOCAL = "64", NORM = "0", EPS =
        "0.0", HALVES = "0"]
    ),
    kernel!("last_row_f32_m6_k64", "last_row.comp", args 3, writes 4, [M = "6", K = "64", ROWS_WORD = "1"]),
    kernel!(
        "matvec_f32_m1_k64_n600_rms", "linear.comp", args 5, writes 4, [M = "1", K = "64", N = "600", WEIGHT_BITS =
        "32", ACT = "0", BIAS = "0", RESIDUAL = "0", LIVE = "1", THREAD_ROWS = "0", LOCAL = "48", SLOTS = "8", UNITS =
        "6", NORM = "1", EPS = "1e-6", HALVES = "0"]
    ),
    kernel!(
        "matvec_f32_m1_k64_n600_rms_by12", "linear.comp", args 5, writes 4, [M = "1", K = "64", N = "600", WEIGHT_BITS =
        "32", ACT = "0", BIAS = "0", RESIDUAL = "0", LIVE = "1", THREAD_ROWS = "0", LOCAL = "96", SLOTS = "8", UNITS =
        "12", NORM = "1", EPS = "1e-6", HALVES = "0"]
    ),
    kernel!("argmax_f32_n600", "argmax.comp", args 3, writes 2, [V = "600", SLICE = "1024", LOCAL = "256"]),
    kernel!("next_token_n600", "next_token.comp", args 5, writes 30, [V = "600", PARTS = "1", LOCAL = "256"]),
    kernel!(
        "draw_scale_n600", "draw_scale.comp", args 7, writes 120, [V = "600", SLICE = "1024", SLICES = "1", LOCAL =
        "256"]
    ),
    kernel!(
        "draw_search_n600", "draw_search.comp", args 6, writes 48, [V = "600", SLICE = "1024", SLICES = "1", LOCAL =
        "256"]
    ),
    kernel!(
        "draw_sum_n600", "draw_sum.comp", args 6, writes 48, [V = "600", SLICE = "1024", SLICES = "1", LOCAL = "256"]
    ),
    kernel!(
        "draw_pick_n600", "draw_pick.comp", args 7, writes 120, [V = "600", SLICE = "1024", SLICES = "1", LOCAL = "256"]
    ),
    kernel!(
        "gather_f32_m1_k64_rows600_pictures12", "gather_rows.comp", args 5, writes 4, [VOCAB = "600", PICTURES = "12", M
        = "1", K = "64", ROWS = "600", WEIGHT_BITS = "32", LIVE = "1"]
    ),
    kernel!(
        "qkv_f32_m1_k64_h4_4_d16_c96_rms", "qkv.comp", args 11, writes 28, [M = "1", K = "64", HQ = "4", HKV = "4", D =
        "16", C = "96", WEIGHT_BITS = "32", KV_BITS = "32", BIAS = "0", ROTARY = "16", TABLE = "96", INTERLEAVED = "0",
        QUADS = "1", POS_WORD = "0", ROWS_WORD = "1", LIVE = "1", THREAD_ROWS = "0", LOCAL = "48", SLOTS = "8", UNITS =
        "6", NORM = "1", EPS = "1e-6", HALVES = "0"]
    ),
    kernel!(
        "qkv_f32_m1_k64_h4_4_d16_c96_rms_by12", "qkv.comp", args 11, writes 28, [M = "1", K = "64", HQ = "4", HKV = "4",
        D = "16", C = "96", WEIGHT_BITS = "32", KV_BITS = "32", BIAS = "0", ROTARY = "16", TABLE = "96", INTERLEAVED =
        "0", QUADS = "1", POS_WORD = "0", ROWS_WORD = "1", LIVE = "1", THREAD_ROWS = "0", LOCAL = "96", SLOTS = "8",
        UNITS = "12", NORM = "1", EPS = "1e-6", HALVES = "0"]
    ),
    kernel!(
        "attend_f32_m1_h4_4_d16_c96", "split_attention.comp", args 6, writes 8, [HQ = "4", HKV = "4", D = "16", C =
        "96", KV_BITS = "32", SCALE = "0.25", WINDOW = "0", POS_WORD = "0", LOCAL = "128", KEYS = "8", SPLITS = "1",
        LIVE = "1"]
    ),
    kernel!(
        "matvec_f32_m1_k64_n64_add", "linear.comp", args 5, writes 4, [M = "1", K = "64", N = "64", WEIGHT_BITS = "32",
        ACT = "0", BIAS = "0", RESIDUAL = "1", LIVE = "1", THREAD_ROWS = "0", LOCAL = "48", SLOTS = "8", UNITS = "6",
        NORM = "0", EPS = "0.0", HALVES = "0"]
    ),
    kernel!(
        "matvec_f32_m1_k64_n64_add_by12", "linear.comp", args 5, writes 4, [M = "1", K = "64", N = "64", WEIGHT_BITS =
        "32", ACT = "0", BIAS = "0", RESIDUAL = "1", LIVE = "1", THREAD_ROWS = "0", LOCAL = "96", SLOTS = "8", UNITS =
        "12", NORM = "0", EPS = "0.0", HALVES = "0"]
    ),
    kernel!(
        "gated_matvec_f32_m1_k64_n160_rms_silu", "gated_linear.comp", args 5, writes 4, [M = "1", K = "64", N = "160",
        WEIGHT_BITS = "32", ACT = "15", LIVE = "1", THREAD_ROWS = "0", LOCAL = "48", SLOTS = "8", UNITS = "6", NORM =
        "1", EPS = "1e-6", HALVES = "0"]
    ),
    kernel!(
        "gated_matvec_f32_m1_k64_n160_rms_silu_by12", "gated_linear.comp", args 5, writes 4, [M = "1", K = "64", N =
        "160", WEIGHT_BITS = "32", ACT = "15", LIVE = "1", THREAD_ROWS = "0", LOCAL = "96", SLOTS = "8", UNITS = "12",
        NORM = "1", EPS = "1e-6", HALVES = "0"]
    ),
    kernel!(
        "matvec_f32_m1_k160_n64_add", "linear.comp", args 5, writes 4, [M = "1", K = "160", N = "64", WEIGHT_BITS =
        "32", ACT = "0", BIAS = "0", RESIDUAL = "1", LIVE = "1", THREAD_ROWS = "0", LOCAL = "60", SLOTS = "20", UNITS =
        "3", NORM = "0", EPS = "0.0", HALVES = "0"]
    ),
    kernel!(
        "matvec_f32_m1_k160_n64_add_by6", "linear.comp", args 5, writes 4, [M = "1", K = "160", N = "64", WEIGHT_BITS =
        "32", ACT = "0", BIAS = "0", RESIDUAL = "1", LIVE = "1", THREAD_ROWS = "0", LOCAL = "120", SLOTS = "20", UNITS =
        "6", NORM = "0", EPS = "0.0", HALVES = "0"]
    ),
];

static VARIANTS: &[Variant] = &[
    Variant {
        of: MATVEC_F32_M1_K64_N600_RMS,
        by: MATVEC_F32_M1_K64_N600_RMS_BY12,
        grid: [13, 1, 1],
    },
    Variant {
        of: QKV_F32_M1_K64_H4_4_D16_C96_RMS,
        by: QKV_F32_M1_K64_H4_4_D16_C96_RMS_BY12,
        grid: [4, 1, 1],
    },
    Variant {
        of: MATVEC_F32_M1_K64_N64_ADD,
        by: MATVEC_F32_M1_K64_N64_ADD_BY12,
        grid: [2, 1, 1],
    },
    Variant {
        of: GATED_MATVEC_F32_M1_K64_N160_RMS_SILU,
        by: GATED_MATVEC_F32_M1_K64_N160_RMS_SILU_BY12,
        grid: [7, 1, 1],
    },
    Variant {
        of: MATVEC_F32_M1_K160_N64_ADD,
        by: MATVEC_F32_M1_K160_N64_ADD_BY6,
        grid: [3, 1, 1],
    },
];

static TENSORS: &[Run<Tensor>] = &[
    Run {
        layers: 1,
        rows: &[
            tensor!("patch.weight.rows", rows_f32, [48, 192], 36864),
            tensor!("patch.bias", rows_f32, [48], 192),
            tensor!("pos", rows_f32, [1, 36, 48], 6912),
            tensor!("onnx::MatMul_274+onnx::MatMul_290+onnx::MatMul_291", rows_f32, [144, 48], 27648),
            tensor!("encoder.layers.0.layer_norm1.weight", rows_f32, [48], 192),
            tensor!("encoder.layers.0.layer_norm1.bias", rows_f32, [48], 192),
            tensor!(
                "encoder.layers.0.self_attn.q_proj.bias+encoder.layers.0.self_attn.k_proj.bias+encoder.layers.0.self_attn.v_proj.bias",
                rows_f32, [144], 576
            ),
            tensor!("onnx::MatMul_296", rows_f32, [48, 48], 9216),
            tensor!("encoder.layers.0.self_attn.out_proj.bias", rows_f32, [48], 192),
            tensor!("onnx::MatMul_297", rows_f32, [96, 48], 18432),
            tensor!("encoder.layers.0.layer_norm2.weight", rows_f32, [48], 192),
            tensor!("encoder.layers.0.layer_norm2.bias", rows_f32, [48], 192),
            tensor!("encoder.layers.0.mlp.fc1.bias", rows_f32, [96], 384),
            tensor!("onnx::MatMul_298", rows_f32, [48, 96], 18432),
            tensor!("encoder.layers.0.mlp.fc2.bias", rows_f32, [48], 192),
            tensor!("onnx::MatMul_299+onnx::MatMul_315+onnx::MatMul_316", rows_f32, [144, 48], 27648),
            tensor!("encoder.layers.1.layer_norm1.weight", rows_f32, [48], 192),
            tensor!("encoder.layers.1.layer_norm1.bias", rows_f32, [48], 192),
            tensor!(
                "encoder.layers.1.self_attn.q_proj.bias+encoder.layers.1.self_attn.k_proj.bias+encoder.layers.1.self_attn.v_proj.bias",
                rows_f32, [144], 576
            ),
            tensor!("onnx::MatMul_321", rows_f32, [48, 48], 9216),
            tensor!("encoder.layers.1.self_attn.out_proj.bias", rows_f32, [48], 192),
            tensor!("onnx::MatMul_322", rows_f32, [96, 48], 18432),
            tensor!("encoder.layers.1.layer_norm2.weight", rows_f32, [48], 192),
            tensor!("encoder.layers.1.layer_norm2.bias", rows_f32, [48], 192),
            tensor!("encoder.layers.1.mlp.fc1.bias", rows_f32, [96], 384),
            tensor!("onnx::MatMul_323", rows_f32, [48, 96], 18432),
            tensor!("encoder.layers.1.mlp.fc2.bias", rows_f32, [48], 192),
            tensor!("norm.weight", rows_f32, [48], 192),
            tensor!("norm.bias", rows_f32, [48], 192),
            tensor!("onnx::MatMul_343", rows_f32, [64, 432], 110592),
            tensor!("picture.rows", rows_i32, [], 4),
            tensor!("embed/weight", rows_f32, [600, 64], 153600),
            tensor!(
                "decoder/onnx::MatMul_454+decoder/onnx::MatMul_461+decoder/onnx::MatMul_462", rows_f32, [192, 64], 49152
            ),
            tensor!("decoder/text_model.layers.0.input_layernorm.weight", rows_f32, [64], 256),
            tensor!("/text_model/layers.0/self_attn/Unsqueeze_6_output_0.cos_table", rows_f32, [96, 8], 3072),
            tensor!("/text_model/layers.0/self_attn/Unsqueeze_7_output_0.sin_table", rows_f32, [96, 8], 3072),
            tensor!("decoder/onnx::MatMul_476", rows_f32, [64, 64], 16384),
            tensor!("decoder/onnx::MatMul_477+decoder/onnx::MatMul_478", rows_f32, [320, 64], 81920),
            tensor!("decoder/text_model.layers.0.post_attention_layernorm.weight", rows_f32, [64], 256),
            tensor!("decoder/onnx::MatMul_479", rows_f32, [64, 160], 40960),
            tensor!(
                "decoder/onnx::MatMul_480+decoder/onnx::MatMul_487+decoder/onnx::MatMul_488", rows_f32, [192, 64], 49152
            ),
            tensor!("decoder/text_model.layers.1.input_layernorm.weight", rows_f32, [64], 256),
            tensor!("decoder/onnx::MatMul_502", rows_f32, [64, 64], 16384),
            tensor!("decoder/onnx::MatMul_503+decoder/onnx::MatMul_504", rows_f32, [320, 64], 81920),
            tensor!("decoder/text_model.layers.1.post_attention_layernorm.weight", rows_f32, [64], 256),
            tensor!("decoder/onnx::MatMul_505", rows_f32, [64, 160], 40960),
            tensor!("decoder/onnx::MatMul_518", rows_f32, [600, 64], 153600),
            tensor!("decoder/text_model.norm.weight", rows_f32, [64], 256),
        ],
    },
];

static STATES: &[Run<State>] = &[
    Run {
        layers: 1,
        rows: &[
            state!("pictures", 3072, [1, 1, 12, 64], Elem::F32),
            state!("past_key_values.0.key", 24576, [1, 4, 96, 16], Elem::F32),
            state!("past_key_values.0.value", 24576, [1, 4, 96, 16], Elem::F32),
            state!("past_key_values.1.key", 24576, [1, 4, 96, 16], Elem::F32),
            state!("past_key_values.1.value", 24576, [1, 4, 96, 16], Elem::F32),
        ],
    },
];

static BUCKETS: &[Bucket] = &[
    Bucket {
        name: Borrowed("vision"),
        rows: 1,
        arena_bytes: 34560,
        inputs: Borrowed(&[port!("pixel_values", "float32", Elem::F32, [1, 3, 48, 48])]),
        outputs: Borrowed(&[port!("image_embeds", "float32", Elem::F32, [1, 4, 64])]),
        blocks: Borrowed(BUCKET_VISION),
    },
    Bucket {
        name: Borrowed("prefill"),
        rows: 6,
        arena_bytes: 15872,
        inputs: Borrowed(&[]),
        outputs: Borrowed(&[]),
        blocks: Borrowed(BUCKET_PREFILL),
    },
    Bucket {
        name: Borrowed("decode"),
        rows: 1,
        arena_bytes: 15872,
        inputs: Borrowed(&[]),
        outputs: Borrowed(&[]),
        blocks: Borrowed(BUCKET_DECODE),
    },
];

static BUCKET_VISION: &[Block] = &[
    Block {
        phase: Phase::Body,
        table: Borrowed(BUCKET_VISION_0_TABLE),
        dispatches: Borrowed(BUCKET_VISION_0_ROWS),
    },
    Block {
        phase: Phase::Body,
        table: Borrowed(BUCKET_VISION_1_TABLE),
        dispatches: Borrowed(BUCKET_VISION_1_ROWS),
    },
    Block {
        phase: Phase::Body,
        table: Borrowed(BUCKET_VISION_2_TABLE),
        dispatches: Borrowed(BUCKET_VISION_2_ROWS),
    },
];

static BUCKET_VISION_0_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_VISION_0_ROWS: &[Dispatch] = &[
    row!(TRANSPOSE_1X3X6X8X6X8_TO024135, [27, 1, 1], [Input(0), Arena(0)], +, "/patch/Conv.patches [1, 6, 6, 3, 8, 8]"),
    row!(
        MATMUL_F32_M36_K192_N48_BIAS_ADD, [1, 1, 1], [Arena(0), Weight(0), Arena(27648), Weight(1), Weight(2)], +,
        "/Add [1, 36, 48]"
    ),
];

static BUCKET_VISION_1_TABLE: &[List<Arg>] = &[
    columns!(Arena(27648), Weight(3), Weight(4), Weight(5), Weight(6), Arena(20736), Weight(7), Weight(8), Weight(9), Weight(10), Weight(11), Weight(12), Weight(13), Weight(14)),
    columns!(
        Arena(20736), Weight(15), Weight(16), Weight(17), Weight(18), Arena(27648), Weight(19), Weight(20), Weight(21),
        Weight(22), Weight(23), Weight(24), Weight(25), Weight(26)
    ),
];

static BUCKET_VISION_1_ROWS: &[Dispatch] = &[
    row!(
        MATMUL_F32_M36_K48_N144_LAYER_BIAS, [3, 1, 1], [Column(0), Column(1), Arena(0), Column(2), Column(3),
        Column(4)], +, "/encoder/layers.{l}/self_attn/Transpose_3.qkv [1, 36, 144]"
    ),
    row!(
        ATTENTION_F32_B1_M36_T36_H3_3_D16_PACKED_FULL, [27, 1, 1], [Arena(0), Arena(0), Arena(0), Column(5)], +,
        "/encoder/layers.{l}/self_attn/Transpose_3 [1, 36, 48]"
    ),
    row!(
        MATMUL_F32_M36_K48_N48_BIAS_ADD, [1, 1, 1], [Column(5), Column(6), Arena(0), Column(7), Column(0)], +,
        "/encoder/layers.{l}/Add [1, 36, 48]"
    ),
    row!(
        MATMUL_F32_M36_K48_N96_LAYER_BIAS_GELUTANH, [2, 1, 1], [Arena(0), Column(8), Arena(6912), Column(9), Column(10),
        Column(11)], +, "/encoder/layers.{l}/mlp/activation_fn/Mul_5 [1, 36, 96]"
    ),
    row!(
        MATMUL_F32_M36_K96_N48_BIAS_ADD, [1, 1, 1], [Arena(6912), Column(12), Arena(20736), Column(13), Arena(0)], +,
        "/encoder/layers.{l}/Add_1 [1, 36, 48]"
    ),
];

static BUCKET_VISION_2_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_VISION_2_ROWS: &[Dispatch] = &[
    row!(
        LAYER_NORM_F32_1X36X48_AXIS2_48_SHIFT, [36, 1, 1], [Arena(20736), Arena(0), Weight(27), Weight(28)], +,
        "/norm/LayerNormalization [1, 36, 48]"
    ),
    row!(
        TRANSPOSE_2X3X2X144_TO0213, [7, 1, 1], [Arena(0), Arena(6912)], +, "/connector/Transpose_1.moved [2, 2, 3, 144]"
    ),
    row!(
        MATMUL_F32_M4_K432_N64, [1, 1, 1], [Arena(6912), Weight(29), Output(0)], +,
        "/connector/modality_projection/proj/MatMul [1, 4, 64]"
    ),
    row!(
        KV_WRITE_F32_M4_H1_D64_C12, [4, 1, 1], [Output(0), Arg::State(0), Step, Weight(30)], +,
        "pictures.write [1, 1, 12, 64]"
    ),
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
        GATHER_F32_M6_K64_ROWS600_PICTURES12, [6, 1, 1], [Weight(31), Tokens, Arena(0), Arg::State(0), Step], +,
        "inputs_embeds.pictures [1, 6, 64]"
    ),
];

static BUCKET_PREFILL_1_TABLE: &[List<Arg>] = &[
    columns!(Weight(32), Arg::State(1), Arg::State(2), Weight(33), Weight(36), Weight(37), Weight(38), Weight(39)),
    columns!(Weight(40), Arg::State(3), Arg::State(4), Weight(41), Weight(42), Weight(43), Weight(44), Weight(45)),
];

static BUCKET_PREFILL_1_ROWS: &[Dispatch] = &[
    row!(
        QKV_F32_M6_K64_H4_4_D16_C96_RMS, [3, 1, 1], [Arena(0), Column(0), Arena(1536), Column(1), Column(2), Step, Step,
        Step, Column(3), Weight(34), Weight(35)], +, "/text_model/layers.{l}/self_attn/Add [1, 4, 6, 16]"
    ),
    row!(
        ATTEND_F32_M6_H4_4_D16_C96, [4, 2, 1], [Arena(1536), Column(1), Column(2), Arena(3072), Step, Step], +,
        "/text_model/layers.{l}/self_attn/MatMul_1 [1, 6, 64]"
    ),
    row!(
        MATMUL_F32_M6_K64_N64_ADD, [1, 1, 1], [Arena(3072), Column(4), Arena(1536), Step, Arena(0)], +,
        "/text_model/layers.{l}/Add [1, 6, 64]"
    ),
    row!(
        GATED_MATMUL_F32_M6_K64_N160_RMS_SILU, [5, 1, 1], [Arena(1536), Column(5), Arena(3072), Step, Column(6)], +,
        "/text_model/layers.{l}/mlp/Mul [1, 6, 160]"
    ),
    row!(
        MATMUL_F32_M6_K160_N64_ADD, [1, 1, 1], [Arena(3072), Column(7), Arena(0), Step, Arena(1536)], +,
        "/text_model/layers.{l}/Add_1 [1, 6, 64]"
    ),
];

static BUCKET_PREFILL_2_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_PREFILL_2_ROWS: &[Dispatch] = &[
    row!(LAST_ROW_F32_M6_K64, [1, 1, 1], [Arena(0), Step, Arena(1536)], +, "last_row [1, 1, 64]"),
    row!(
        MATVEC_F32_M1_K64_N600_RMS, [25, 1, 1], [Arena(1536), Weight(46), Logits, Step, Weight(47)], +,
        "/lm_head/MatMul [1, 1, 600]"
    ),
];

static BUCKET_PREFILL_3_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_PREFILL_3_ROWS: &[Dispatch] = &[
    row!(ARGMAX_F32_N600, [1, 1, 1], [Logits, Arena(0), Step], +, "best of each slice [1]"),
    row!(NEXT_TOKEN_N600, [1, 1, 1], [Arena(0), Step, Tokens, Ring, History], +, "next token [600]"),
];

static BUCKET_PREFILL_4_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_PREFILL_4_ROWS: &[Dispatch] = &[
    row!(
        DRAW_SCALE_N600, [1, 1, 1], [Logits, Step, History, Arena(0), Arena(2560), Arena(2816), Arena(7168)], +,
        "penalty and temperature [600]"
    ),
];

static BUCKET_PREFILL_5_TABLE: &[List<Arg>] = &[
    columns!(Arena(2816), Arena(7168), Arena(11520)),
    columns!(Arena(7168), Arena(11520), Arena(2816)),
    columns!(Arena(11520), Arena(2816), Arena(7168)),
    columns!(Arena(2816), Arena(7168), Arena(11520)),
    columns!(Arena(7168), Arena(11520), Arena(2816)),
    columns!(Arena(11520), Arena(2816), Arena(7168)),
    columns!(Arena(2816), Arena(7168), Arena(11520)),
    columns!(Arena(7168), Arena(11520), Arena(2816)),
];

static BUCKET_PREFILL_5_ROWS: &[Dispatch] = &[
    row!(
        DRAW_SEARCH_N600, [1, 1, 1], [Arena(0), Arena(2560), Step, Column(0), Column(1), Column(2)], +,
        "digit {l} of top-k, then top-p"
    ),
];

static BUCKET_PREFILL_6_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_PREFILL_6_ROWS: &[Dispatch] = &[
    row!(
        DRAW_SUM_N600, [1, 1, 1], [Arena(0), Arena(2560), Step, Arena(11520), Arena(2816), Arena(3072)], +,
        "mass of each slice [1]"
    ),
    row!(
        DRAW_PICK_N600, [1, 1, 1], [Arena(0), Arena(2816), Arena(3072), Step, Tokens, Ring, History], +,
        "next token, drawn [600]"
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
        GATHER_F32_M1_K64_ROWS600_PICTURES12, [1, 1, 1], [Weight(31), Tokens, Arena(0), Arg::State(0), Step], +,
        "inputs_embeds.pictures [1, 1, 64]"
    ),
];

static BUCKET_DECODE_1_TABLE: &[List<Arg>] = &[
    columns!(Weight(32), Arg::State(1), Arg::State(2), Weight(33), Weight(36), Weight(37), Weight(38), Weight(39)),
    columns!(Weight(40), Arg::State(3), Arg::State(4), Weight(41), Weight(42), Weight(43), Weight(44), Weight(45)),
];

static BUCKET_DECODE_1_ROWS: &[Dispatch] = &[
    row!(
        QKV_F32_M1_K64_H4_4_D16_C96_RMS, [8, 1, 1], [Arena(0), Column(0), Arena(256), Column(1), Column(2), Step, Step,
        Step, Column(3), Weight(34), Weight(35)], +, "/text_model/layers.{l}/self_attn/Add [1, 4, 1, 16]"
    ),
    row!(
        ATTEND_F32_M1_H4_4_D16_C96, [4, 1, 1], [Arena(256), Column(1), Column(2), Arena(512), Step, Step], +,
        "/text_model/layers.{l}/self_attn/MatMul_1 [1, 1, 64]"
    ),
    row!(
        MATVEC_F32_M1_K64_N64_ADD, [3, 1, 1], [Arena(512), Column(4), Arena(256), Step, Arena(0)], +,
        "/text_model/layers.{l}/Add [1, 1, 64]"
    ),
    row!(
        GATED_MATVEC_F32_M1_K64_N160_RMS_SILU, [14, 1, 1], [Arena(256), Column(5), Arena(512), Step, Column(6)], +,
        "/text_model/layers.{l}/mlp/Mul [1, 1, 160]"
    ),
    row!(
        MATVEC_F32_M1_K160_N64_ADD, [6, 1, 1], [Arena(512), Column(7), Arena(0), Step, Arena(256)], +,
        "/text_model/layers.{l}/Add_1 [1, 1, 64]"
    ),
];

static BUCKET_DECODE_2_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_DECODE_2_ROWS: &[Dispatch] = &[
    row!(
        MATVEC_F32_M1_K64_N600_RMS, [25, 1, 1], [Arena(0), Weight(46), Logits, Step, Weight(47)], +,
        "/lm_head/MatMul [1, 1, 600]"
    ),
];

static BUCKET_DECODE_3_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_DECODE_3_ROWS: &[Dispatch] = &[
    row!(ARGMAX_F32_N600, [1, 1, 1], [Logits, Arena(0), Step], +, "best of each slice [1]"),
    row!(NEXT_TOKEN_N600, [1, 1, 1], [Arena(0), Step, Tokens, Ring, History], +, "next token [600]"),
];

static BUCKET_DECODE_4_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_DECODE_4_ROWS: &[Dispatch] = &[
    row!(
        DRAW_SCALE_N600, [1, 1, 1], [Logits, Step, History, Arena(0), Arena(2560), Arena(2816), Arena(7168)], +,
        "penalty and temperature [600]"
    ),
];

static BUCKET_DECODE_5_TABLE: &[List<Arg>] = &[
    columns!(Arena(2816), Arena(7168), Arena(11520)),
    columns!(Arena(7168), Arena(11520), Arena(2816)),
    columns!(Arena(11520), Arena(2816), Arena(7168)),
    columns!(Arena(2816), Arena(7168), Arena(11520)),
    columns!(Arena(7168), Arena(11520), Arena(2816)),
    columns!(Arena(11520), Arena(2816), Arena(7168)),
    columns!(Arena(2816), Arena(7168), Arena(11520)),
    columns!(Arena(7168), Arena(11520), Arena(2816)),
];

static BUCKET_DECODE_5_ROWS: &[Dispatch] = &[
    row!(
        DRAW_SEARCH_N600, [1, 1, 1], [Arena(0), Arena(2560), Step, Column(0), Column(1), Column(2)], +,
        "digit {l} of top-k, then top-p"
    ),
];

static BUCKET_DECODE_6_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_DECODE_6_ROWS: &[Dispatch] = &[
    row!(
        DRAW_SUM_N600, [1, 1, 1], [Arena(0), Arena(2560), Step, Arena(11520), Arena(2816), Arena(3072)], +,
        "mass of each slice [1]"
    ),
    row!(
        DRAW_PICK_N600, [1, 1, 1], [Arena(0), Arena(2816), Arena(3072), Step, Tokens, Ring, History], +,
        "next token, drawn [600]"
    ),
];
