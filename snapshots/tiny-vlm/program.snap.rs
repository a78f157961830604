// Written by onnxcast 0.1.0 from models/tiny-vlm/model.toml. Do not edit: make model=NAME writes it again.

//! Kernels, extents and dispatches in the order in which they run.
#![allow(clippy::unreadable_literal, unused_imports)]

use onnxcast_runtime::program::Arg::{
    Arena, Column, History, Input, Logits, Output, Ring, Step, Tokens, Weight,
};
use onnxcast_runtime::program::{
    Arg, Block, Bucket, Decoder, Dispatch, Elem, Kernel, List, Phase, Port, Program,
    State, Tensor,
};
use onnxcast_runtime::{columns, kernel, port, row, state, tensor};
use std::borrow::Cow::Borrowed;

pub fn program() -> Program {
    Program {
        name: Borrowed("tiny-vlm"),
        plan_hash: Borrowed(""),
        kernels: Borrowed(KERNELS),
        tensors: Borrowed(TENSORS),
        states: Borrowed(STATES),
        buckets: Borrowed(BUCKETS),
        decoder: Some(Decoder {
            context: 96,
            vocab: 600,
            decode: 2,
            prefill: 1,
        }),
    }
}

const CONV_F32_1X3X48X48_1X48X6X6_G1_K8X8_S8X8_D1X1_P0X0X0X0_BIAS: u32 = 0;
const TRANSPOSE_1X48X36_TO021: u32 = 1;
const ADD_F32_1X36X48_1X36X48: u32 = 2;
const LAYER_NORM_F32_1X36X48_AXIS2_48_SHIFT: u32 = 3;
const MATMUL_F32_1X36X48_48X48: u32 = 4;
const ADD_F32_48_1X36X48: u32 = 5;
const TRANSPOSE_1X36X3X16_TO0213: u32 = 6;
const TRANSPOSE_1X36X3X16_TO0231: u32 = 7;
const MATMUL_F32_1X3X36X16_1X3X16X36: u32 = 8;
const MUL_F32_1X3X36X36_1: u32 = 9;
const SOFTMAX_F32_108X36BY1: u32 = 10;
const MATMUL_F32_1X3X36X36_1X3X36X16: u32 = 11;
const TRANSPOSE_1X3X36X16_TO0213: u32 = 12;
const MATMUL_F32_1X36X48_48X96: u32 = 13;
const ADD_F32_96_1X36X96: u32 = 14;
const MUL_F32_1X36X96_1X36X96: u32 = 15;
const MUL_F32_1_1X36X96: u32 = 16;
const ADD_F32_1X36X96_1X36X96: u32 = 17;
const TANH_F32_N3456: u32 = 18;
const ADD_F32_1_1X36X96: u32 = 19;
const MATMUL_F32_1X36X96_96X48: u32 = 20;
const TRANSPOSE_1X6X2X144_TO0213: u32 = 21;
const TRANSPOSE_1X2X2X432_TO0213: u32 = 22;
const MATMUL_F32_1X4X432_432X64: u32 = 23;
const GATHER_F32_M6_K64_ROWS600: u32 = 24;
const QKV_F32_M6_K64_H4_4_D16_C96_RMS: u32 = 25;
const ATTEND_F32_M6_H4_4_D16_C96: u32 = 26;
const MATMUL_F32_M6_K64_N64_ADD: u32 = 27;
const GATED_MATMUL_F32_M6_K64_N160_RMS_SILU: u32 = 28;
const MATMUL_F32_M6_K160_N64_ADD: u32 = 29;
const LAST_ROW_F32_M6_K64: u32 = 30;
const MATVEC_F32_M1_K64_N600_RMS: u32 = 31;
const ARGMAX_F32_N600: u32 = 32;
const NEXT_TOKEN_N600: u32 = 33;
const DRAW_SCALE_N600: u32 = 34;
const DRAW_SEARCH_N600: u32 = 35;
const DRAW_SUM_N600: u32 = 36;
const DRAW_PICK_N600: u32 = 37;
const GATHER_F32_M1_K64_ROWS600: u32 = 38;
const QKV_F32_M1_K64_H4_4_D16_C96_RMS: u32 = 39;
const ATTEND_F32_M1_H4_4_D16_C96: u32 = 40;
const MATVEC_F32_M1_K64_N64_ADD: u32 = 41;
const GATED_MATVEC_F32_M1_K64_N160_RMS_SILU: u32 = 42;
const MATVEC_F32_M1_K160_N64_ADD: u32 = 43;

static KERNELS: &[Kernel] = &[
    kernel!(
        "conv_f32_1x3x48x48_1x48x6x6_g1_k8x8_s8x8_d1x1_p0x0x0x0_bias", "conv.comp", args
        4, writes 4, [N = "1728", CHANNELS_IN = "3", CHANNELS_OUT = "48", GROUPS = "1",
        BIAS = "1", RANK = "2", X_DIMS = "48,48", DIMS = "6u,6u", KERNEL = "8u,8u", STEPS
        = "8,8", DILATIONS = "1,1", BEGINS = "0,0", PLANE_IN = "2304", PLANE_OUT = "36",
        TAPS = "64"]
    ),
    kernel!(
        "transpose_1x48x36_to021", "copy.comp", args 2, writes 2, [N = "1728", FROM =
        "0", TO = "0", RANK = "2", DIMS = "36u,48u", FROM_STRIDES = "1,36", TO_STRIDES =
        "48,1"]
    ),
    kernel!(
        "add_f32_1x36x48_1x36x48", "binary.comp", args 3, writes 4, [N = "1728", OP =
        "0", A_FLOAT = "1", B_FLOAT = "1", COMPARE = "0", BITS = "32", UNSIGNED = "0",
        RANK = "1", DIMS = "1728u", A_STRIDES = "1", B_STRIDES = "1"]
    ),
    kernel!(
        "layer_norm_f32_1x36x48_axis2_48_shift", "norm.comp", args 4, writes 2, [ROWS =
        "36", LENGTH = "48", NORM = "2", EPS = "1e-6", SHIFT = "1", LOCAL = "64", RANK =
        "2", DIMS = "36u,48u", SCALE_STRIDES = "0,1", SHIFT_STRIDES = "0,1"]
    ),
    kernel!(
        "matmul_f32_1x36x48_48x48", "batch_matmul.comp", args 3, writes 4, [M = "36", N =
        "48", K = "48", BATCHES = "1", A_ROW = "48", A_COLUMN = "1", B_ROW = "48",
        B_COLUMN = "1", FLOAT = "1", ALPHA = "1.0", BETA = "1.0", C = "0", C_ROW = "0",
        C_COLUMN = "0", RANK = "1", DIMS = "1u", A_STRIDES = "0", B_STRIDES = "0"]
    ),
    kernel!(
        "add_f32_48_1x36x48", "binary.comp", args 3, writes 4, [N = "1728", OP = "0",
        A_FLOAT = "1", B_FLOAT = "1", COMPARE = "0", BITS = "32", UNSIGNED = "0", RANK =
        "2", DIMS = "36u,48u", A_STRIDES = "0,1", B_STRIDES = "48,1"]
    ),
    kernel!(
        "transpose_1x36x3x16_to0213", "copy.comp", args 2, writes 2, [N = "1728", FROM =
        "0", TO = "0", RANK = "3", DIMS = "3u,36u,16u", FROM_STRIDES = "16,48,1",
        TO_STRIDES = "576,16,1"]
    ),
    kernel!(
        "transpose_1x36x3x16_to0231", "copy.comp", args 2, writes 2, [N = "1728", FROM =
        "0", TO = "0", RANK = "2", DIMS = "48u,36u", FROM_STRIDES = "1,48", TO_STRIDES =
        "36,1"]
    ),
    kernel!(
        "matmul_f32_1x3x36x16_1x3x16x36", "batch_matmul.comp", args 3, writes 4, [M =
        "36", N = "36", K = "16", BATCHES = "3", A_ROW = "16", A_COLUMN = "1", B_ROW =
        "36", B_COLUMN = "1", FLOAT = "1", ALPHA = "1.0", BETA = "1.0", C = "0", C_ROW =
        "0", C_COLUMN = "0", RANK = "1", DIMS = "3u", A_STRIDES = "576", B_STRIDES =
        "576"]
    ),
    kernel!(
        "mul_f32_1x3x36x36_1", "binary.comp", args 3, writes 4, [N = "3888", OP = "2",
        A_FLOAT = "1", B_FLOAT = "1", COMPARE = "0", BITS = "32", UNSIGNED = "0", RANK =
        "1", DIMS = "3888u", A_STRIDES = "1", B_STRIDES = "0"]
    ),
    kernel!(
        "softmax_f32_108x36by1", "softmax.comp", args 2, writes 2, [LOG = "0", LOCAL =
        "64", LINES = "108", LENGTH = "36", STEP = "1"]
    ),
    kernel!(
        "matmul_f32_1x3x36x36_1x3x36x16", "batch_matmul.comp", args 3, writes 4, [M =
        "36", N = "16", K = "36", BATCHES = "3", A_ROW = "36", A_COLUMN = "1", B_ROW =
        "16", B_COLUMN = "1", FLOAT = "1", ALPHA = "1.0", BETA = "1.0", C = "0", C_ROW =
        "0", C_COLUMN = "0", RANK = "1", DIMS = "3u", A_STRIDES = "1296", B_STRIDES =
        "576"]
    ),
    kernel!(
        "transpose_1x3x36x16_to0213", "copy.comp", args 2, writes 2, [N = "1728", FROM =
        "0", TO = "0", RANK = "3", DIMS = "36u,3u,16u", FROM_STRIDES = "16,576,1",
        TO_STRIDES = "48,16,1"]
    ),
    kernel!(
        "matmul_f32_1x36x48_48x96", "batch_matmul.comp", args 3, writes 4, [M = "36", N =
        "96", K = "48", BATCHES = "1", A_ROW = "48", A_COLUMN = "1", B_ROW = "96",
        B_COLUMN = "1", FLOAT = "1", ALPHA = "1.0", BETA = "1.0", C = "0", C_ROW = "0",
        C_COLUMN = "0", RANK = "1", DIMS = "1u", A_STRIDES = "0", B_STRIDES = "0"]
    ),
    kernel!(
        "add_f32_96_1x36x96", "binary.comp", args 3, writes 4, [N = "3456", OP = "0",
        A_FLOAT = "1", B_FLOAT = "1", COMPARE = "0", BITS = "32", UNSIGNED = "0", RANK =
        "2", DIMS = "36u,96u", A_STRIDES = "0,1", B_STRIDES = "96,1"]
    ),
    kernel!(
        "mul_f32_1x36x96_1x36x96", "binary.comp", args 3, writes 4, [N = "3456", OP =
        "2", A_FLOAT = "1", B_FLOAT = "1", COMPARE = "0", BITS = "32", UNSIGNED = "0",
        RANK = "1", DIMS = "3456u", A_STRIDES = "1", B_STRIDES = "1"]
    ),
    kernel!(
        "mul_f32_1_1x36x96", "binary.comp", args 3, writes 4, [N = "3456", OP = "2",
        A_FLOAT = "1", B_FLOAT = "1", COMPARE = "0", BITS = "32", UNSIGNED = "0", RANK =
        "1", DIMS = "3456u", A_STRIDES = "0", B_STRIDES = "1"]
    ),
    kernel!(
        "add_f32_1x36x96_1x36x96", "binary.comp", args 3, writes 4, [N = "3456", OP =
        "0", A_FLOAT = "1", B_FLOAT = "1", COMPARE = "0", BITS = "32", UNSIGNED = "0",
        RANK = "1", DIMS = "3456u", A_STRIDES = "1", B_STRIDES = "1"]
    ),
    kernel!(
        "tanh_f32_n3456", "unary.comp", args 2, writes 2, [N = "3456", OP = "10", KIND =
        "0", BITS = "32", UNSIGNED = "0"]
    ),
    kernel!(
        "add_f32_1_1x36x96", "binary.comp", args 3, writes 4, [N = "3456", OP = "0",
        A_FLOAT = "1", B_FLOAT = "1", COMPARE = "0", BITS = "32", UNSIGNED = "0", RANK =
        "1", DIMS = "3456u", A_STRIDES = "0", B_STRIDES = "1"]
    ),
    kernel!(
        "matmul_f32_1x36x96_96x48", "batch_matmul.comp", args 3, writes 4, [M = "36", N =
        "48", K = "96", BATCHES = "1", A_ROW = "96", A_COLUMN = "1", B_ROW = "48",
        B_COLUMN = "1", FLOAT = "1", ALPHA = "1.0", BETA = "1.0", C = "0", C_ROW = "0",
        C_COLUMN = "0", RANK = "1", DIMS = "1u", A_STRIDES = "0", B_STRIDES = "0"]
    ),
    kernel!(
        "transpose_1x6x2x144_to0213", "copy.comp", args 2, writes 2, [N = "1728", FROM =
        "0", TO = "0", RANK = "3", DIMS = "2u,6u,144u", FROM_STRIDES = "144,288,1",
        TO_STRIDES = "864,144,1"]
    ),
    kernel!(
        "transpose_1x2x2x432_to0213", "copy.comp", args 2, writes 2, [N = "1728", FROM =
        "0", TO = "0", RANK = "3", DIMS = "2u,2u,432u", FROM_STRIDES = "432,864,1",
        TO_STRIDES = "864,432,1"]
    ),
    kernel!(
        "matmul_f32_1x4x432_432x64", "batch_matmul.comp", args 3, writes 4, [M = "4", N =
        "64", K = "432", BATCHES = "1", A_ROW = "432", A_COLUMN = "1", B_ROW = "64",
        B_COLUMN = "1", FLOAT = "1", ALPHA = "1.0", BETA = "1.0", C = "0", C_ROW = "0",
        C_COLUMN = "0", RANK = "1", DIMS = "1u", A_STRIDES = "0", B_STRIDES = "0"]
    ),
    kernel!(
        "gather_f32_m6_k64_rows600", "gather_rows.comp", args 4, writes 4, [M = "6", K =
        "64", ROWS = "600", WEIGHT_BITS = "32", LIVE = "1"]
    ),
    kernel!(
        "qkv_f32_m6_k64_h4_4_d16_c96_rms", "qkv.comp", args 11, writes 28, [M = "6", K =
        "64", HQ = "4", HKV = "4", D = "16", C = "96", WEIGHT_BITS = "32", KV_BITS =
        "32", BIAS = "0", ROTARY = "16", TABLE = "96", INTERLEAVED = "0", QUADS = "1",
        POS_WORD = "0", ROWS_WORD = "1", LIVE = "1", THREAD_ROWS = "1", LOCAL = "64",
        NORM = "1", EPS = "1e-6", HALVES = "0"]
    ),
    kernel!(
        "attend_f32_m6_h4_4_d16_c96", "cached_attention.comp", args 6, writes 8, [M =
        "6", HQ = "4", HKV = "4", D = "16", C = "96", KV_BITS = "32", SCALE = "0.25",
        WINDOW = "0", POS_WORD = "0", QUERY_ROWS = "4", LOCAL = "64", LIVE = "1"]
    ),
    kernel!(
        "matmul_f32_m6_k64_n64_add", "linear.comp", args 5, writes 4, [M = "6", K = "64",
        N = "64", WEIGHT_BITS = "32", ACT = "0", BIAS = "0", RESIDUAL = "1", LIVE = "1",
        THREAD_ROWS = "1", LOCAL = "64", NORM = "0", EPS = "0.0", HALVES = "0"]
    ),
    kernel!(
        "gated_matmul_f32_m6_k64_n160_rms_silu", "gated_linear.comp", args 5, writes 4,
        [M = "6", K = "64", N = "160", WEIGHT_BITS = "32", ACT = "15", LIVE = "1",
        THREAD_ROWS = "1", LOCAL = "64", NORM = "1", EPS = "1e-6", HALVES = "0"]
    ),
    kernel!(
        "matmul_f32_m6_k160_n64_add", "linear.comp", args 5, writes 4, [M = "6", K =
        "160", N = "64", WEIGHT_BITS = "32", ACT = "0", BIAS = "0", RESIDUAL = "1", LIVE
        = "1", THREAD_ROWS = "1", LOCAL = "64", NORM = "0", EPS = "0.0", HALVES = "0"]
    ),
    kernel!("last_row_f32_m6_k64", "last_row.comp", args 3, writes 4, [M = "6", K = "64", ROWS_WORD = "1"]),
    kernel!(
        "matvec_f32_m1_k64_n600_rms", "linear.comp", args 5, writes 4, [M = "1", K =
        "64", N = "600", WEIGHT_BITS = "32", ACT = "0", BIAS = "0", RESIDUAL = "0", LIVE
        = "1", THREAD_ROWS = "0", LOCAL = "48", SLOTS = "8", UNITS = "6", NORM = "1", EPS
        = "1e-6", HALVES = "0"]
    ),
    kernel!("argmax_f32_n600", "argmax.comp", args 3, writes 2, [V = "600", SLICE = "1024", LOCAL = "256"]),
    kernel!("next_token_n600", "next_token.comp", args 5, writes 30, [V = "600", PARTS = "1", LOCAL = "256"]),
    kernel!(
        "draw_scale_n600", "draw_scale.comp", args 7, writes 120, [V = "600", SLICE =
        "1024", SLICES = "1", LOCAL = "256"]
    ),
    kernel!(
        "draw_search_n600", "draw_search.comp", args 6, writes 48, [V = "600", SLICE =
        "1024", SLICES = "1", LOCAL = "256"]
    ),
    kernel!(
        "draw_sum_n600", "draw_sum.comp", args 6, writes 48, [V = "600", SLICE = "1024",
        SLICES = "1", LOCAL = "256"]
    ),
    kernel!(
        "draw_pick_n600", "draw_pick.comp", args 7, writes 120, [V = "600", SLICE =
        "1024", SLICES = "1", LOCAL = "256"]
    ),
    kernel!(
        "gather_f32_m1_k64_rows600", "gather_rows.comp", args 4, writes 4, [M = "1", K =
        "64", ROWS = "600", WEIGHT_BITS = "32", LIVE = "1"]
    ),
    kernel!(
        "qkv_f32_m1_k64_h4_4_d16_c96_rms", "qkv.comp", args 11, writes 28, [M = "1", K =
        "64", HQ = "4", HKV = "4", D = "16", C = "96", WEIGHT_BITS = "32", KV_BITS =
        "32", BIAS = "0", ROTARY = "16", TABLE = "96", INTERLEAVED = "0", QUADS = "1",
        POS_WORD = "0", ROWS_WORD = "1", LIVE = "1", THREAD_ROWS = "0", LOCAL = "48",
        SLOTS = "8", UNITS = "6", NORM = "1", EPS = "1e-6", HALVES = "0"]
    ),
    kernel!(
        "attend_f32_m1_h4_4_d16_c96", "split_attention.comp", args 6, writes 8, [HQ =
        "4", HKV = "4", D = "16", C = "96", KV_BITS = "32", SCALE = "0.25", WINDOW = "0",
        POS_WORD = "0", LOCAL = "128", KEYS = "8", SPLITS = "1", LIVE = "1"]
    ),
    kernel!(
        "matvec_f32_m1_k64_n64_add", "linear.comp", args 5, writes 4, [M = "1", K = "64",
        N = "64", WEIGHT_BITS = "32", ACT = "0", BIAS = "0", RESIDUAL = "1", LIVE = "1",
        THREAD_ROWS = "0", LOCAL = "48", SLOTS = "8", UNITS = "6", NORM = "0", EPS =
        "0.0", HALVES = "0"]
    ),
    kernel!(
        "gated_matvec_f32_m1_k64_n160_rms_silu", "gated_linear.comp", args 5, writes 4,
        [M = "1", K = "64", N = "160", WEIGHT_BITS = "32", ACT = "15", LIVE = "1",
        THREAD_ROWS = "0", LOCAL = "48", SLOTS = "8", UNITS = "6", NORM = "1", EPS =
        "1e-6", HALVES = "0"]
    ),
    kernel!(
        "matvec_f32_m1_k160_n64_add", "linear.comp", args 5, writes 4, [M = "1", K =
        "160", N = "64", WEIGHT_BITS = "32", ACT = "0", BIAS = "0", RESIDUAL = "1", LIVE
        = "1", THREAD_ROWS = "0", LOCAL = "60", SLOTS = "20", UNITS = "3", NORM = "0",
        EPS = "0.0", HALVES = "0"]
    ),
];

static TENSORS: &[Tensor] = &[
    tensor!("patch.weight", rows_f32, [48, 3, 8, 8], 36864),
    tensor!("patch.bias", rows_f32, [48], 192),
    tensor!("pos", rows_f32, [1, 36, 48], 6912),
    tensor!("encoder.layers.0.layer_norm1.weight", rows_f32, [48], 192),
    tensor!("encoder.layers.0.layer_norm1.bias", rows_f32, [48], 192),
    tensor!("onnx::MatMul_274", rows_f32, [48, 48], 9216),
    tensor!("encoder.layers.0.self_attn.q_proj.bias", rows_f32, [48], 192),
    tensor!("onnx::MatMul_290", rows_f32, [48, 48], 9216),
    tensor!("encoder.layers.0.self_attn.k_proj.bias", rows_f32, [48], 192),
    tensor!("onnx::MatMul_291", rows_f32, [48, 48], 9216),
    tensor!("encoder.layers.0.self_attn.v_proj.bias", rows_f32, [48], 192),
    tensor!("/encoder/layers.0/self_attn/Constant_3_output_0", rows_f32, [], 4),
    tensor!("onnx::MatMul_296", rows_f32, [48, 48], 9216),
    tensor!("encoder.layers.0.self_attn.out_proj.bias", rows_f32, [48], 192),
    tensor!("encoder.layers.0.layer_norm2.weight", rows_f32, [48], 192),
    tensor!("encoder.layers.0.layer_norm2.bias", rows_f32, [48], 192),
    tensor!("onnx::MatMul_297", rows_f32, [48, 96], 18432),
    tensor!("encoder.layers.0.mlp.fc1.bias", rows_f32, [96], 384),
    tensor!("/encoder/layers.0/mlp/activation_fn/Constant_output_0", rows_f32, [], 4),
    tensor!("/encoder/layers.0/mlp/activation_fn/Constant_1_output_0", rows_f32, [], 4),
    tensor!("/encoder/layers.0/mlp/activation_fn/Constant_2_output_0", rows_f32, [], 4),
    tensor!("/encoder/layers.0/mlp/activation_fn/Constant_3_output_0", rows_f32, [], 4),
    tensor!("onnx::MatMul_298", rows_f32, [96, 48], 18432),
    tensor!("encoder.layers.0.mlp.fc2.bias", rows_f32, [48], 192),
    tensor!("encoder.layers.1.layer_norm1.weight", rows_f32, [48], 192),
    tensor!("encoder.layers.1.layer_norm1.bias", rows_f32, [48], 192),
    tensor!("onnx::MatMul_299", rows_f32, [48, 48], 9216),
    tensor!("encoder.layers.1.self_attn.q_proj.bias", rows_f32, [48], 192),
    tensor!("onnx::MatMul_315", rows_f32, [48, 48], 9216),
    tensor!("encoder.layers.1.self_attn.k_proj.bias", rows_f32, [48], 192),
    tensor!("onnx::MatMul_316", rows_f32, [48, 48], 9216),
    tensor!("encoder.layers.1.self_attn.v_proj.bias", rows_f32, [48], 192),
    tensor!("onnx::MatMul_321", rows_f32, [48, 48], 9216),
    tensor!("encoder.layers.1.self_attn.out_proj.bias", rows_f32, [48], 192),
    tensor!("encoder.layers.1.layer_norm2.weight", rows_f32, [48], 192),
    tensor!("encoder.layers.1.layer_norm2.bias", rows_f32, [48], 192),
    tensor!("onnx::MatMul_322", rows_f32, [48, 96], 18432),
    tensor!("encoder.layers.1.mlp.fc1.bias", rows_f32, [96], 384),
    tensor!("onnx::MatMul_323", rows_f32, [96, 48], 18432),
    tensor!("encoder.layers.1.mlp.fc2.bias", rows_f32, [48], 192),
    tensor!("norm.weight", rows_f32, [48], 192),
    tensor!("norm.bias", rows_f32, [48], 192),
    tensor!("onnx::MatMul_343", rows_f32, [432, 64], 110592),
    tensor!("embed/weight", rows_f32, [600, 64], 153600),
    tensor!("decoder/onnx::MatMul_454+decoder/onnx::MatMul_461+decoder/onnx::MatMul_462", rows_f32, [192, 64], 49152),
    tensor!("decoder/text_model.layers.0.input_layernorm.weight", rows_f32, [64], 256),
    tensor!("/text_model/layers.0/self_attn/Unsqueeze_6_output_0.cos_table", rows_f32, [96, 8], 3072),
    tensor!("/text_model/layers.0/self_attn/Unsqueeze_7_output_0.sin_table", rows_f32, [96, 8], 3072),
    tensor!("decoder/onnx::MatMul_476", rows_f32, [64, 64], 16384),
    tensor!("decoder/onnx::MatMul_477+decoder/onnx::MatMul_478", rows_f32, [320, 64], 81920),
    tensor!("decoder/text_model.layers.0.post_attention_layernorm.weight", rows_f32, [64], 256),
    tensor!("decoder/onnx::MatMul_479", rows_f32, [64, 160], 40960),
    tensor!("decoder/onnx::MatMul_480+decoder/onnx::MatMul_487+decoder/onnx::MatMul_488", rows_f32, [192, 64], 49152),
    tensor!("decoder/text_model.layers.1.input_layernorm.weight", rows_f32, [64], 256),
    tensor!("decoder/onnx::MatMul_502", rows_f32, [64, 64], 16384),
    tensor!("decoder/onnx::MatMul_503+decoder/onnx::MatMul_504", rows_f32, [320, 64], 81920),
    tensor!("decoder/text_model.layers.1.post_attention_layernorm.weight", rows_f32, [64], 256),
    tensor!("decoder/onnx::MatMul_505", rows_f32, [64, 160], 40960),
    tensor!("decoder/onnx::MatMul_518", rows_f32, [600, 64], 153600),
    tensor!("decoder/text_model.norm.weight", rows_f32, [64], 256),
];

static STATES: &[State] = &[
    state!("past_key_values.0.key", 24576, [1, 4, 96, 16], Elem::F32),
    state!("past_key_values.0.value", 24576, [1, 4, 96, 16], Elem::F32),
    state!("past_key_values.1.key", 24576, [1, 4, 96, 16], Elem::F32),
    state!("past_key_values.1.value", 24576, [1, 4, 96, 16], Elem::F32),
];

static BUCKETS: &[Bucket] = &[
    Bucket {
        name: Borrowed("vision"),
        rows: 1,
        arena_bytes: 57088,
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
    row!(
        CONV_F32_1X3X48X48_1X48X6X6_G1_K8X8_S8X8_D1X1_P0X0X0X0_BIAS, [27, 1, 1],
        [Input(0), Weight(0), Arena(0), Weight(1)], +, "/patch/Conv [1, 48, 6, 6]"
    ),
    row!(TRANSPOSE_1X48X36_TO021, [7, 1, 1], [Arena(0), Arena(6912)], +, "/Transpose [1, 36, 48]"),
];

static BUCKET_VISION_1_TABLE: &[List<Arg>] = &[
    columns!(
        Weight(2), Weight(3), Weight(4), Weight(5), Weight(6), Weight(7), Weight(8),
        Weight(9), Weight(10), Weight(12), Weight(13), Weight(14), Weight(15),
        Weight(16), Weight(17), Weight(22), Weight(23)
    ),
    columns!(
        Arena(13824), Weight(24), Weight(25), Weight(26), Weight(27), Weight(28),
        Weight(29), Weight(30), Weight(31), Weight(32), Weight(33), Weight(34),
        Weight(35), Weight(36), Weight(37), Weight(38), Weight(39)
    ),
];

static BUCKET_VISION_1_ROWS: &[Dispatch] = &[
    row!(ADD_F32_1X36X48_1X36X48, [7, 1, 1], [Arena(6912), Column(0), Arena(0)], +, "/Add [1, 36, 48]"),
    row!(
        LAYER_NORM_F32_1X36X48_AXIS2_48_SHIFT, [36, 1, 1], [Arena(0), Arena(6912),
        Column(1), Column(2)], +,
        "/encoder/layers.{l}/layer_norm1/LayerNormalization [1, 36, 48]"
    ),
    row!(
        MATMUL_F32_1X36X48_48X48, [4, 1, 1], [Arena(6912), Column(3), Arena(13824)], +,
        "/encoder/layers.{l}/self_attn/q_proj/MatMul [1, 36, 48]"
    ),
    row!(
        ADD_F32_48_1X36X48, [7, 1, 1], [Column(4), Arena(13824), Arena(20736)], +,
        "/encoder/layers.{l}/self_attn/q_proj/Add [1, 36, 48]"
    ),
    row!(
        TRANSPOSE_1X36X3X16_TO0213, [7, 1, 1], [Arena(20736), Arena(13824)], +,
        "/encoder/layers.{l}/self_attn/Transpose [1, 3, 36, 16]"
    ),
    row!(
        MATMUL_F32_1X36X48_48X48, [4, 1, 1], [Arena(6912), Column(5), Arena(27648)], -,
        "/encoder/layers.{l}/self_attn/k_proj/MatMul [1, 36, 48]"
    ),
    row!(
        ADD_F32_48_1X36X48, [7, 1, 1], [Column(6), Arena(27648), Arena(20736)], +,
        "/encoder/layers.{l}/self_attn/k_proj/Add [1, 36, 48]"
    ),
    row!(
        MATMUL_F32_1X36X48_48X48, [4, 1, 1], [Arena(6912), Column(7), Arena(34560)], -,
        "/encoder/layers.{l}/self_attn/v_proj/MatMul [1, 36, 48]"
    ),
    row!(
        ADD_F32_48_1X36X48, [7, 1, 1], [Column(8), Arena(34560), Arena(6912)], +,
        "/encoder/layers.{l}/self_attn/v_proj/Add [1, 36, 48]"
    ),
    row!(
        TRANSPOSE_1X36X3X16_TO0213, [7, 1, 1], [Arena(6912), Arena(27648)], +,
        "/encoder/layers.{l}/self_attn/Transpose_1 [1, 3, 36, 16]"
    ),
    row!(
        TRANSPOSE_1X36X3X16_TO0231, [7, 1, 1], [Arena(20736), Arena(34560)], -,
        "/encoder/layers.{l}/self_attn/Transpose_2 [1, 3, 16, 36]"
    ),
    row!(
        MATMUL_F32_1X3X36X16_1X3X16X36, [12, 1, 1], [Arena(13824), Arena(34560),
        Arena(41472)], +, "/encoder/layers.{l}/self_attn/MatMul [1, 3, 36, 36]"
    ),
    row!(
        MUL_F32_1X3X36X36_1, [16, 1, 1], [Arena(41472), Weight(11), Arena(6912)], +,
        "/encoder/layers.{l}/self_attn/Mul [1, 3, 36, 36]"
    ),
    row!(
        SOFTMAX_F32_108X36BY1, [108, 1, 1], [Arena(6912), Arena(34560)], +,
        "/encoder/layers.{l}/self_attn/Softmax [1, 3, 36, 36]"
    ),
    row!(
        MATMUL_F32_1X3X36X36_1X3X36X16, [6, 1, 1], [Arena(34560), Arena(27648),
        Arena(6912)], +, "/encoder/layers.{l}/self_attn/MatMul_1 [1, 3, 36, 16]"
    ),
    row!(
        TRANSPOSE_1X3X36X16_TO0213, [7, 1, 1], [Arena(6912), Arena(13824)], +,
        "/encoder/layers.{l}/self_attn/Transpose_3 [1, 36, 3, 16]"
    ),
    row!(
        MATMUL_F32_1X36X48_48X48, [4, 1, 1], [Arena(13824), Column(9), Arena(6912)], +,
        "/encoder/layers.{l}/self_attn/out_proj/MatMul [1, 36, 48]"
    ),
    row!(
        ADD_F32_48_1X36X48, [7, 1, 1], [Column(10), Arena(6912), Arena(13824)], +,
        "/encoder/layers.{l}/self_attn/out_proj/Add [1, 36, 48]"
    ),
    row!(
        ADD_F32_1X36X48_1X36X48, [7, 1, 1], [Arena(0), Arena(13824), Arena(6912)], +,
        "/encoder/layers.{l}/Add [1, 36, 48]"
    ),
    row!(
        LAYER_NORM_F32_1X36X48_AXIS2_48_SHIFT, [36, 1, 1], [Arena(6912), Arena(0),
        Column(11), Column(12)], +,
        "/encoder/layers.{l}/layer_norm2/LayerNormalization [1, 36, 48]"
    ),
    row!(
        MATMUL_F32_1X36X48_48X96, [6, 1, 1], [Arena(0), Column(13), Arena(13824)], +,
        "/encoder/layers.{l}/mlp/fc1/MatMul [1, 36, 96]"
    ),
    row!(
        ADD_F32_96_1X36X96, [14, 1, 1], [Column(14), Arena(13824), Arena(41472)], +,
        "/encoder/layers.{l}/mlp/fc1/Add [1, 36, 96]"
    ),
    row!(
        MUL_F32_1X36X96_1X36X96, [14, 1, 1], [Arena(41472), Arena(41472), Arena(13824)],
        +, "/encoder/layers.{l}/mlp/activation_fn/Mul [1, 36, 96]"
    ),
    row!(
        MUL_F32_1X36X96_1X36X96, [14, 1, 1], [Arena(41472), Arena(13824), Arena(27648)],
        +, "/encoder/layers.{l}/mlp/activation_fn/Mul_1 [1, 36, 96]"
    ),
    row!(
        MUL_F32_1_1X36X96, [14, 1, 1], [Weight(18), Arena(27648), Arena(13824)], +,
        "/encoder/layers.{l}/mlp/activation_fn/Mul_2 [1, 36, 96]"
    ),
    row!(
        ADD_F32_1X36X96_1X36X96, [14, 1, 1], [Arena(41472), Arena(13824), Arena(27648)],
        +, "/encoder/layers.{l}/mlp/activation_fn/Add [1, 36, 96]"
    ),
    row!(
        MUL_F32_1_1X36X96, [14, 1, 1], [Weight(19), Arena(27648), Arena(13824)], +,
        "/encoder/layers.{l}/mlp/activation_fn/Mul_3 [1, 36, 96]"
    ),
    row!(
        TANH_F32_N3456, [14, 1, 1], [Arena(13824), Arena(27648)], +,
        "/encoder/layers.{l}/mlp/activation_fn/Tanh [1, 36, 96]"
    ),
    row!(
        ADD_F32_1_1X36X96, [14, 1, 1], [Weight(20), Arena(27648), Arena(13824)], +,
        "/encoder/layers.{l}/mlp/activation_fn/Add_1 [1, 36, 96]"
    ),
    row!(
        MUL_F32_1X36X96_1X36X96, [14, 1, 1], [Arena(41472), Arena(13824), Arena(27648)],
        +, "/encoder/layers.{l}/mlp/activation_fn/Mul_4 [1, 36, 96]"
    ),
    row!(
        MUL_F32_1_1X36X96, [14, 1, 1], [Weight(21), Arena(27648), Arena(13824)], +,
        "/encoder/layers.{l}/mlp/activation_fn/Mul_5 [1, 36, 96]"
    ),
    row!(
        MATMUL_F32_1X36X96_96X48, [4, 1, 1], [Arena(13824), Column(15), Arena(0)], +,
        "/encoder/layers.{l}/mlp/fc2/MatMul [1, 36, 48]"
    ),
    row!(
        ADD_F32_48_1X36X48, [7, 1, 1], [Column(16), Arena(0), Arena(13824)], +,
        "/encoder/layers.{l}/mlp/fc2/Add [1, 36, 48]"
    ),
];

static BUCKET_VISION_2_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_VISION_2_ROWS: &[Dispatch] = &[
    row!(
        ADD_F32_1X36X48_1X36X48, [7, 1, 1], [Arena(6912), Arena(13824), Arena(0)], +,
        "/encoder/layers.1/Add_1 [1, 36, 48]"
    ),
    row!(
        LAYER_NORM_F32_1X36X48_AXIS2_48_SHIFT, [36, 1, 1], [Arena(0), Arena(6912),
        Weight(40), Weight(41)], +, "/norm/LayerNormalization [1, 36, 48]"
    ),
    row!(TRANSPOSE_1X6X2X144_TO0213, [7, 1, 1], [Arena(6912), Arena(0)], +, "/connector/Transpose [1, 2, 6, 144]"),
    row!(TRANSPOSE_1X2X2X432_TO0213, [7, 1, 1], [Arena(0), Arena(6912)], +, "/connector/Transpose_1 [1, 2, 2, 432]"),
    row!(
        MATMUL_F32_1X4X432_432X64, [2, 1, 1], [Arena(6912), Weight(42), Output(0)], +,
        "/connector/modality_projection/proj/MatMul [1, 4, 64]"
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
    row!(GATHER_F32_M6_K64_ROWS600, [6, 1, 1], [Weight(43), Tokens, Arena(0), Step], +, "/Gather [1, 6, 64]"),
];

static BUCKET_PREFILL_1_TABLE: &[List<Arg>] = &[
    columns!(Weight(44), Arg::State(0), Arg::State(1), Weight(45), Weight(48), Weight(49), Weight(50), Weight(51)),
    columns!(Weight(52), Arg::State(2), Arg::State(3), Weight(53), Weight(54), Weight(55), Weight(56), Weight(57)),
];

static BUCKET_PREFILL_1_ROWS: &[Dispatch] = &[
    row!(
        QKV_F32_M6_K64_H4_4_D16_C96_RMS, [3, 1, 1], [Arena(0), Column(0), Arena(1536),
        Column(1), Column(2), Step, Step, Step, Column(3), Weight(46), Weight(47)], +,
        "/text_model/layers.{l}/self_attn/Add [1, 4, 6, 16]"
    ),
    row!(
        ATTEND_F32_M6_H4_4_D16_C96, [4, 2, 1], [Arena(1536), Column(1), Column(2),
        Arena(3072), Step, Step], +,
        "/text_model/layers.{l}/self_attn/MatMul_1 [1, 6, 64]"
    ),
    row!(
        MATMUL_F32_M6_K64_N64_ADD, [1, 1, 1], [Arena(3072), Column(4), Arena(1536), Step,
        Arena(0)], +, "/text_model/layers.{l}/Add [1, 6, 64]"
    ),
    row!(
        GATED_MATMUL_F32_M6_K64_N160_RMS_SILU, [5, 1, 1], [Arena(1536), Column(5),
        Arena(3072), Step, Column(6)], +, "/text_model/layers.{l}/mlp/Mul [1, 6, 160]"
    ),
    row!(
        MATMUL_F32_M6_K160_N64_ADD, [1, 1, 1], [Arena(3072), Column(7), Arena(0), Step,
        Arena(1536)], +, "/text_model/layers.{l}/Add_1 [1, 6, 64]"
    ),
];

static BUCKET_PREFILL_2_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_PREFILL_2_ROWS: &[Dispatch] = &[
    row!(LAST_ROW_F32_M6_K64, [1, 1, 1], [Arena(0), Step, Arena(1536)], +, "last_row [1, 1, 64]"),
    row!(
        MATVEC_F32_M1_K64_N600_RMS, [25, 1, 1], [Arena(1536), Weight(58), Logits, Step,
        Weight(59)], +, "/lm_head/MatMul [1, 1, 600]"
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
        DRAW_SCALE_N600, [1, 1, 1], [Logits, Step, History, Arena(0), Arena(2560),
        Arena(2816), Arena(7168)], +, "penalty and temperature [600]"
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
        DRAW_SEARCH_N600, [1, 1, 1], [Arena(0), Arena(2560), Step, Column(0), Column(1),
        Column(2)], +, "digit {l} of top-k, then top-p"
    ),
];

static BUCKET_PREFILL_6_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_PREFILL_6_ROWS: &[Dispatch] = &[
    row!(
        DRAW_SUM_N600, [1, 1, 1], [Arena(0), Arena(2560), Step, Arena(11520),
        Arena(2816), Arena(3072)], +, "mass of each slice [1]"
    ),
    row!(
        DRAW_PICK_N600, [1, 1, 1], [Arena(0), Arena(2816), Arena(3072), Step, Tokens,
        Ring, History], +, "next token, drawn [600]"
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
    row!(GATHER_F32_M1_K64_ROWS600, [1, 1, 1], [Weight(43), Tokens, Arena(0), Step], +, "/Gather [1, 1, 64]"),
];

static BUCKET_DECODE_1_TABLE: &[List<Arg>] = &[
    columns!(Weight(44), Arg::State(0), Arg::State(1), Weight(45), Weight(48), Weight(49), Weight(50), Weight(51)),
    columns!(Weight(52), Arg::State(2), Arg::State(3), Weight(53), Weight(54), Weight(55), Weight(56), Weight(57)),
];

static BUCKET_DECODE_1_ROWS: &[Dispatch] = &[
    row!(
        QKV_F32_M1_K64_H4_4_D16_C96_RMS, [8, 1, 1], [Arena(0), Column(0), Arena(256),
        Column(1), Column(2), Step, Step, Step, Column(3), Weight(46), Weight(47)], +,
        "/text_model/layers.{l}/self_attn/Add [1, 4, 1, 16]"
    ),
    row!(
        ATTEND_F32_M1_H4_4_D16_C96, [4, 1, 1], [Arena(256), Column(1), Column(2),
        Arena(512), Step, Step], +,
        "/text_model/layers.{l}/self_attn/MatMul_1 [1, 1, 64]"
    ),
    row!(
        MATVEC_F32_M1_K64_N64_ADD, [3, 1, 1], [Arena(512), Column(4), Arena(256), Step,
        Arena(0)], +, "/text_model/layers.{l}/Add [1, 1, 64]"
    ),
    row!(
        GATED_MATVEC_F32_M1_K64_N160_RMS_SILU, [14, 1, 1], [Arena(256), Column(5),
        Arena(512), Step, Column(6)], +, "/text_model/layers.{l}/mlp/Mul [1, 1, 160]"
    ),
    row!(
        MATVEC_F32_M1_K160_N64_ADD, [6, 1, 1], [Arena(512), Column(7), Arena(0), Step,
        Arena(256)], +, "/text_model/layers.{l}/Add_1 [1, 1, 64]"
    ),
];

static BUCKET_DECODE_2_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_DECODE_2_ROWS: &[Dispatch] = &[
    row!(
        MATVEC_F32_M1_K64_N600_RMS, [25, 1, 1], [Arena(0), Weight(58), Logits, Step,
        Weight(59)], +, "/lm_head/MatMul [1, 1, 600]"
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
        DRAW_SCALE_N600, [1, 1, 1], [Logits, Step, History, Arena(0), Arena(2560),
        Arena(2816), Arena(7168)], +, "penalty and temperature [600]"
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
        DRAW_SEARCH_N600, [1, 1, 1], [Arena(0), Arena(2560), Step, Column(0), Column(1),
        Column(2)], +, "digit {l} of top-k, then top-p"
    ),
];

static BUCKET_DECODE_6_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_DECODE_6_ROWS: &[Dispatch] = &[
    row!(
        DRAW_SUM_N600, [1, 1, 1], [Arena(0), Arena(2560), Step, Arena(11520),
        Arena(2816), Arena(3072)], +, "mass of each slice [1]"
    ),
    row!(
        DRAW_PICK_N600, [1, 1, 1], [Arena(0), Arena(2816), Arena(3072), Step, Tokens,
        Ring, History], +, "next token, drawn [600]"
    ),
];
