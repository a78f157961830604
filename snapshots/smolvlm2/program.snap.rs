// Written by onnxcast 0.1.0 from models/smolvlm2/model.toml. Do not edit: make model=NAME writes it again.

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
        name: Borrowed("smolvlm2"),
        plan_hash: Borrowed(""),
        kernels: Borrowed(KERNELS),
        tensors: Borrowed(TENSORS),
        states: Borrowed(STATES),
        buckets: Borrowed(BUCKETS),
        decoder: Some(Decoder {
            context: 512,
            vocab: 49280,
            decode: 2,
            prefill: 1,
        }),
    }
}

const CONV_F32_1X3X384X384_1X1152X27X27_G1_K14X14_S14X14_D1X1_P0X0X0X0_BIAS: u32 = 0;
const TRANSPOSE_1X1152X729_TO021: u32 = 1;
const ADD_F32_1X729X1152_1X729X1152: u32 = 2;
const LAYER_NORM_F32_1X729X1152_AXIS2_1152_SHIFT: u32 = 3;
const MATMUL_F32_1X729X1152_1152X1152: u32 = 4;
const ADD_F32_1152_1X729X1152: u32 = 5;
const TRANSPOSE_1X729X16X72_TO0213: u32 = 6;
const TRANSPOSE_1X729X16X72_TO0231: u32 = 7;
const MATMUL_F32_1X16X729X72_1X16X72X729: u32 = 8;
const MUL_F32_1X16X729X729_1: u32 = 9;
const SOFTMAX_F32_11664X729BY1: u32 = 10;
const MATMUL_F32_1X16X729X729_1X16X729X72: u32 = 11;
const TRANSPOSE_1X16X729X72_TO0213: u32 = 12;
const MATMUL_F32_1X729X1152_1152X4304: u32 = 13;
const ADD_F32_4304_1X729X4304: u32 = 14;
const MUL_F32_1X729X4304_1X729X4304: u32 = 15;
const MUL_F32_1_1X729X4304: u32 = 16;
const ADD_F32_1X729X4304_1X729X4304: u32 = 17;
const TANH_F32_N3137616: u32 = 18;
const ADD_F32_1_1X729X4304: u32 = 19;
const MATMUL_F32_1X729X4304_4304X1152: u32 = 20;
const TRANSPOSE_1X27X9X3456_TO0213: u32 = 21;
const TRANSPOSE_1X9X9X10368_TO0213: u32 = 22;
const MATMUL_F32_1X81X10368_10368X2048: u32 = 23;
const GATHER_F16_M128_K2048_ROWS49280: u32 = 24;
const HALVES_M128_K2048_RMS: u32 = 25;
const QKV_F16_M128_K2048_H32_32_D64_C512_RMS: u32 = 26;
const ATTEND_F16_M128_H32_32_D64_C512: u32 = 27;
const HALVES_M128_K2048: u32 = 28;
const MATMUL_F16_M128_K2048_N2048_ADD: u32 = 29;
const GATED_MATMUL_F16_M128_K2048_N8192_RMS_SILU: u32 = 30;
const HALVES_M128_K8192: u32 = 31;
const MATMUL_F16_M128_K8192_N2048_ADD: u32 = 32;
const LAST_ROW_F32_M128_K2048: u32 = 33;
const MATVEC_F16_M1_K2048_N49280_RMS: u32 = 34;
const ARGMAX_F32_N49280: u32 = 35;
const NEXT_TOKEN_N49280: u32 = 36;
const DRAW_SCALE_N49280: u32 = 37;
const DRAW_SEARCH_N49280: u32 = 38;
const DRAW_SUM_N49280: u32 = 39;
const DRAW_PICK_N49280: u32 = 40;
const GATHER_F16_M1_K2048_ROWS49280: u32 = 41;
const QKV_F16_M1_K2048_H32_32_D64_C512_RMS: u32 = 42;
const ATTEND_F16_M1_H32_32_D64_C512: u32 = 43;
const MATVEC_F16_M1_K2048_N2048_ADD: u32 = 44;
const GATED_MATVEC_F16_M1_K2048_N8192_RMS_SILU: u32 = 45;
const MATVEC_F16_M1_K8192_N2048_ADD: u32 = 46;

static KERNELS: &[Kernel] = &[
    kernel!(
        "conv_f32_1x3x384x384_1x1152x27x27_g1_k14x14_s14x14_d1x1_p0x0x0x0_bias",
        "conv.comp", args 4, writes 4, [N = "839808", CHANNELS_IN = "3", CHANNELS_OUT =
        "1152", GROUPS = "1", BIAS = "1", RANK = "2", X_DIMS = "384,384", DIMS =
        "27u,27u", KERNEL = "14u,14u", STEPS = "14,14", DILATIONS = "1,1", BEGINS =
        "0,0", PLANE_IN = "147456", PLANE_OUT = "729", TAPS = "196"]
    ),
    kernel!(
        "transpose_1x1152x729_to021", "copy.comp", args 2, writes 2, [N = "839808", FROM
        = "0", TO = "0", RANK = "2", DIMS = "729u,1152u", FROM_STRIDES = "1,729",
        TO_STRIDES = "1152,1"]
    ),
    kernel!(
        "add_f32_1x729x1152_1x729x1152", "binary.comp", args 3, writes 4, [N = "839808",
        OP = "0", A_FLOAT = "1", B_FLOAT = "1", COMPARE = "0", BITS = "32", UNSIGNED =
        "0", RANK = "1", DIMS = "839808u", A_STRIDES = "1", B_STRIDES = "1"]
    ),
    kernel!(
        "layer_norm_f32_1x729x1152_axis2_1152_shift", "norm.comp", args 4, writes 2,
        [ROWS = "729", LENGTH = "1152", NORM = "2", EPS = "1e-6", SHIFT = "1", LOCAL =
        "64", RANK = "2", DIMS = "729u,1152u", SCALE_STRIDES = "0,1", SHIFT_STRIDES =
        "0,1"]
    ),
    kernel!(
        "matmul_f32_1x729x1152_1152x1152", "batch_matmul.comp", args 3, writes 4, [M =
        "729", N = "1152", K = "1152", BATCHES = "1", A_ROW = "1152", A_COLUMN = "1",
        B_ROW = "1152", B_COLUMN = "1", FLOAT = "1", ALPHA = "1.0", BETA = "1.0", C =
        "0", C_ROW = "0", C_COLUMN = "0", RANK = "1", DIMS = "1u", A_STRIDES = "0",
        B_STRIDES = "0"]
    ),
    kernel!(
        "add_f32_1152_1x729x1152", "binary.comp", args 3, writes 4, [N = "839808", OP =
        "0", A_FLOAT = "1", B_FLOAT = "1", COMPARE = "0", BITS = "32", UNSIGNED = "0",
        RANK = "2", DIMS = "729u,1152u", A_STRIDES = "0,1", B_STRIDES = "1152,1"]
    ),
    kernel!(
        "transpose_1x729x16x72_to0213", "copy.comp", args 2, writes 2, [N = "839808",
        FROM = "0", TO = "0", RANK = "3", DIMS = "16u,729u,72u", FROM_STRIDES =
        "72,1152,1", TO_STRIDES = "52488,72,1"]
    ),
    kernel!(
        "transpose_1x729x16x72_to0231", "copy.comp", args 2, writes 2, [N = "839808",
        FROM = "0", TO = "0", RANK = "2", DIMS = "1152u,729u", FROM_STRIDES = "1,1152",
        TO_STRIDES = "729,1"]
    ),
    kernel!(
        "matmul_f32_1x16x729x72_1x16x72x729", "batch_matmul.comp", args 3, writes 4, [M =
        "729", N = "729", K = "72", BATCHES = "16", A_ROW = "72", A_COLUMN = "1", B_ROW =
        "729", B_COLUMN = "1", FLOAT = "1", ALPHA = "1.0", BETA = "1.0", C = "0", C_ROW =
        "0", C_COLUMN = "0", RANK = "1", DIMS = "16u", A_STRIDES = "52488", B_STRIDES =
        "52488"]
    ),
    kernel!(
        "mul_f32_1x16x729x729_1", "binary.comp", args 3, writes 4, [N = "8503056", OP =
        "2", A_FLOAT = "1", B_FLOAT = "1", COMPARE = "0", BITS = "32", UNSIGNED = "0",
        RANK = "1", DIMS = "8503056u", A_STRIDES = "1", B_STRIDES = "0"]
    ),
    kernel!(
        "softmax_f32_11664x729by1", "softmax.comp", args 2, writes 2, [LOG = "0", LOCAL =
        "64", LINES = "11664", LENGTH = "729", STEP = "1"]
    ),
    kernel!(
        "matmul_f32_1x16x729x729_1x16x729x72", "batch_matmul.comp", args 3, writes 4, [M
        = "729", N = "72", K = "729", BATCHES = "16", A_ROW = "729", A_COLUMN = "1",
        B_ROW = "72", B_COLUMN = "1", FLOAT = "1", ALPHA = "1.0", BETA = "1.0", C = "0",
        C_ROW = "0", C_COLUMN = "0", RANK = "1", DIMS = "16u", A_STRIDES = "531441",
        B_STRIDES = "52488"]
    ),
    kernel!(
        "transpose_1x16x729x72_to0213", "copy.comp", args 2, writes 2, [N = "839808",
        FROM = "0", TO = "0", RANK = "3", DIMS = "729u,16u,72u", FROM_STRIDES =
        "72,52488,1", TO_STRIDES = "1152,72,1"]
    ),
    kernel!(
        "matmul_f32_1x729x1152_1152x4304", "batch_matmul.comp", args 3, writes 4, [M =
        "729", N = "4304", K = "1152", BATCHES = "1", A_ROW = "1152", A_COLUMN = "1",
        B_ROW = "4304", B_COLUMN = "1", FLOAT = "1", ALPHA = "1.0", BETA = "1.0", C =
        "0", C_ROW = "0", C_COLUMN = "0", RANK = "1", DIMS = "1u", A_STRIDES = "0",
        B_STRIDES = "0"]
    ),
    kernel!(
        "add_f32_4304_1x729x4304", "binary.comp", args 3, writes 4, [N = "3137616", OP =
        "0", A_FLOAT = "1", B_FLOAT = "1", COMPARE = "0", BITS = "32", UNSIGNED = "0",
        RANK = "2", DIMS = "729u,4304u", A_STRIDES = "0,1", B_STRIDES = "4304,1"]
    ),
    kernel!(
        "mul_f32_1x729x4304_1x729x4304", "binary.comp", args 3, writes 4, [N = "3137616",
        OP = "2", A_FLOAT = "1", B_FLOAT = "1", COMPARE = "0", BITS = "32", UNSIGNED =
        "0", RANK = "1", DIMS = "3137616u", A_STRIDES = "1", B_STRIDES = "1"]
    ),
    kernel!(
        "mul_f32_1_1x729x4304", "binary.comp", args 3, writes 4, [N = "3137616", OP =
        "2", A_FLOAT = "1", B_FLOAT = "1", COMPARE = "0", BITS = "32", UNSIGNED = "0",
        RANK = "1", DIMS = "3137616u", A_STRIDES = "0", B_STRIDES = "1"]
    ),
    kernel!(
        "add_f32_1x729x4304_1x729x4304", "binary.comp", args 3, writes 4, [N = "3137616",
        OP = "0", A_FLOAT = "1", B_FLOAT = "1", COMPARE = "0", BITS = "32", UNSIGNED =
        "0", RANK = "1", DIMS = "3137616u", A_STRIDES = "1", B_STRIDES = "1"]
    ),
    kernel!(
        "tanh_f32_n3137616", "unary.comp", args 2, writes 2, [N = "3137616", OP = "10",
        KIND = "0", BITS = "32", UNSIGNED = "0"]
    ),
    kernel!(
        "add_f32_1_1x729x4304", "binary.comp", args 3, writes 4, [N = "3137616", OP =
        "0", A_FLOAT = "1", B_FLOAT = "1", COMPARE = "0", BITS = "32", UNSIGNED = "0",
        RANK = "1", DIMS = "3137616u", A_STRIDES = "0", B_STRIDES = "1"]
    ),
    kernel!(
        "matmul_f32_1x729x4304_4304x1152", "batch_matmul.comp", args 3, writes 4, [M =
        "729", N = "1152", K = "4304", BATCHES = "1", A_ROW = "4304", A_COLUMN = "1",
        B_ROW = "1152", B_COLUMN = "1", FLOAT = "1", ALPHA = "1.0", BETA = "1.0", C =
        "0", C_ROW = "0", C_COLUMN = "0", RANK = "1", DIMS = "1u", A_STRIDES = "0",
        B_STRIDES = "0"]
    ),
    kernel!(
        "transpose_1x27x9x3456_to0213", "copy.comp", args 2, writes 2, [N = "839808",
        FROM = "0", TO = "0", RANK = "3", DIMS = "9u,27u,3456u", FROM_STRIDES =
        "3456,31104,1", TO_STRIDES = "93312,3456,1"]
    ),
    kernel!(
        "transpose_1x9x9x10368_to0213", "copy.comp", args 2, writes 2, [N = "839808",
        FROM = "0", TO = "0", RANK = "3", DIMS = "9u,9u,10368u", FROM_STRIDES =
        "10368,93312,1", TO_STRIDES = "93312,10368,1"]
    ),
    kernel!(
        "matmul_f32_1x81x10368_10368x2048", "batch_matmul.comp", args 3, writes 4, [M =
        "81", N = "2048", K = "10368", BATCHES = "1", A_ROW = "10368", A_COLUMN = "1",
        B_ROW = "2048", B_COLUMN = "1", FLOAT = "1", ALPHA = "1.0", BETA = "1.0", C =
        "0", C_ROW = "0", C_COLUMN = "0", RANK = "1", DIMS = "1u", A_STRIDES = "0",
        B_STRIDES = "0"]
    ),
    kernel!(
        "gather_f16_m128_k2048_rows49280", "gather_rows.comp", args 4, writes 4, [M =
        "128", K = "2048", ROWS = "49280", WEIGHT_BITS = "16", LIVE = "1"]
    ),
    kernel!(
        "halves_m128_k2048_rms", "halves.comp", args 4, writes 2, [M = "128", K = "2048",
        ROWS = "128", HALVES = "2", LOCAL = "256", LIVE = "1", NORM = "1", EPS = "1e-5"],
        matrix[MATRIX = "1"]
    ),
    kernel!(
        "qkv_f16_m128_k2048_h32_32_d64_c512_rms", "qkv.comp", args 12, writes 28, [M =
        "128", K = "2048", HQ = "32", HKV = "32", D = "64", C = "512", WEIGHT_BITS =
        "16", KV_BITS = "16", BIAS = "0", ROTARY = "64", TABLE = "512", INTERLEAVED =
        "0", QUADS = "1", POS_WORD = "0", ROWS_WORD = "1", LIVE = "1", THREAD_ROWS = "8",
        LOCAL = "64", NORM = "1", EPS = "1e-5", HALVES = "2"], matrix[MATRIX = "1", ROWS
        = "128", TILE_M = "32", TILE_N = "64", TILE_K = "128", PARTS_M = "1", PARTS_N =
        "2", PARTS_K = "4"]
    ),
    kernel!(
        "attend_f16_m128_h32_32_d64_c512", "cached_attention.comp", args 6, writes 8, [M
        = "128", HQ = "32", HKV = "32", D = "64", C = "512", KV_BITS = "16", SCALE =
        "0.125", WINDOW = "0", POS_WORD = "0", QUERY_ROWS = "4", LOCAL = "64", LIVE =
        "1"]
    ),
    kernel!(
        "halves_m128_k2048", "halves.comp", args 3, writes 2, [M = "128", K = "2048",
        ROWS = "128", HALVES = "2", LOCAL = "256", LIVE = "1", NORM = "0", EPS = "0.0"],
        matrix[MATRIX = "1"]
    ),
    kernel!(
        "matmul_f16_m128_k2048_n2048_add", "linear.comp", args 6, writes 4, [M = "128", K
        = "2048", N = "2048", WEIGHT_BITS = "16", ACT = "0", BIAS = "0", RESIDUAL = "1",
        LIVE = "1", THREAD_ROWS = "8", LOCAL = "64", NORM = "0", EPS = "0.0", HALVES =
        "2"], matrix[MATRIX = "1", ROWS = "128", TILE_M = "32", TILE_N = "64", TILE_K =
        "128", PARTS_M = "1", PARTS_N = "2", PARTS_K = "4"]
    ),
    kernel!(
        "gated_matmul_f16_m128_k2048_n8192_rms_silu", "gated_linear.comp", args 6, writes
        4, [M = "128", K = "2048", N = "8192", WEIGHT_BITS = "16", ACT = "15", LIVE =
        "1", THREAD_ROWS = "8", LOCAL = "64", NORM = "1", EPS = "1e-5", HALVES = "2"],
        matrix[MATRIX = "1", ROWS = "128", TILE_M = "64", TILE_N = "128", TILE_K = "64",
        PARTS_M = "2", PARTS_N = "4", PARTS_K = "1"]
    ),
    kernel!(
        "halves_m128_k8192", "halves.comp", args 3, writes 2, [M = "128", K = "8192",
        ROWS = "128", HALVES = "2", LOCAL = "256", LIVE = "1", NORM = "0", EPS = "0.0"],
        matrix[MATRIX = "1"]
    ),
    kernel!(
        "matmul_f16_m128_k8192_n2048_add", "linear.comp", args 6, writes 4, [M = "128", K
        = "8192", N = "2048", WEIGHT_BITS = "16", ACT = "0", BIAS = "0", RESIDUAL = "1",
        LIVE = "1", THREAD_ROWS = "8", LOCAL = "64", NORM = "0", EPS = "0.0", HALVES =
        "2"], matrix[MATRIX = "1", ROWS = "128", TILE_M = "32", TILE_N = "64", TILE_K =
        "128", PARTS_M = "1", PARTS_N = "2", PARTS_K = "4"]
    ),
    kernel!("last_row_f32_m128_k2048", "last_row.comp", args 3, writes 4, [M = "128", K = "2048", ROWS_WORD = "1"]),
    kernel!(
        "matvec_f16_m1_k2048_n49280_rms", "linear.comp", args 5, writes 4, [M = "1", K =
        "2048", N = "49280", WEIGHT_BITS = "16", ACT = "0", BIAS = "0", RESIDUAL = "0",
        LIVE = "1", THREAD_ROWS = "0", LOCAL = "256", SLOTS = "256", UNITS = "2", NORM =
        "1", EPS = "1e-5", HALVES = "0"]
    ),
    kernel!("argmax_f32_n49280", "argmax.comp", args 3, writes 2, [V = "49280", SLICE = "1024", LOCAL = "256"]),
    kernel!("next_token_n49280", "next_token.comp", args 5, writes 30, [V = "49280", PARTS = "49", LOCAL = "256"]),
    kernel!(
        "draw_scale_n49280", "draw_scale.comp", args 7, writes 120, [V = "49280", SLICE =
        "1024", SLICES = "49", LOCAL = "256"]
    ),
    kernel!(
        "draw_search_n49280", "draw_search.comp", args 6, writes 48, [V = "49280", SLICE
        = "1024", SLICES = "49", LOCAL = "256"]
    ),
    kernel!(
        "draw_sum_n49280", "draw_sum.comp", args 6, writes 48, [V = "49280", SLICE =
        "1024", SLICES = "49", LOCAL = "256"]
    ),
    kernel!(
        "draw_pick_n49280", "draw_pick.comp", args 7, writes 120, [V = "49280", SLICE =
        "1024", SLICES = "49", LOCAL = "256"]
    ),
    kernel!(
        "gather_f16_m1_k2048_rows49280", "gather_rows.comp", args 4, writes 4, [M = "1",
        K = "2048", ROWS = "49280", WEIGHT_BITS = "16", LIVE = "1"]
    ),
    kernel!(
        "qkv_f16_m1_k2048_h32_32_d64_c512_rms", "qkv.comp", args 11, writes 28, [M = "1",
        K = "2048", HQ = "32", HKV = "32", D = "64", C = "512", WEIGHT_BITS = "16",
        KV_BITS = "16", BIAS = "0", ROTARY = "64", TABLE = "512", INTERLEAVED = "0",
        QUADS = "1", POS_WORD = "0", ROWS_WORD = "1", LIVE = "1", THREAD_ROWS = "0",
        LOCAL = "192", SLOTS = "64", UNITS = "3", NORM = "1", EPS = "1e-5", HALVES = "0"]
    ),
    kernel!(
        "attend_f16_m1_h32_32_d64_c512", "split_attention.comp", args 8, writes 104, [HQ
        = "32", HKV = "32", D = "64", C = "512", KV_BITS = "16", SCALE = "0.125", WINDOW
        = "0", POS_WORD = "0", LOCAL = "128", KEYS = "8", SPLITS = "2", LIVE = "1"]
    ),
    kernel!(
        "matvec_f16_m1_k2048_n2048_add", "linear.comp", args 5, writes 4, [M = "1", K =
        "2048", N = "2048", WEIGHT_BITS = "16", ACT = "0", BIAS = "0", RESIDUAL = "1",
        LIVE = "1", THREAD_ROWS = "0", LOCAL = "256", SLOTS = "256", UNITS = "1", NORM =
        "0", EPS = "0.0", HALVES = "0"]
    ),
    kernel!(
        "gated_matvec_f16_m1_k2048_n8192_rms_silu", "gated_linear.comp", args 5, writes
        4, [M = "1", K = "2048", N = "8192", WEIGHT_BITS = "16", ACT = "15", LIVE = "1",
        THREAD_ROWS = "0", LOCAL = "192", SLOTS = "64", UNITS = "3", NORM = "1", EPS =
        "1e-5", HALVES = "0"]
    ),
    kernel!(
        "matvec_f16_m1_k8192_n2048_add", "linear.comp", args 5, writes 4, [M = "1", K =
        "8192", N = "2048", WEIGHT_BITS = "16", ACT = "0", BIAS = "0", RESIDUAL = "1",
        LIVE = "1", THREAD_ROWS = "0", LOCAL = "256", SLOTS = "256", UNITS = "1", NORM =
        "0", EPS = "0.0", HALVES = "0"]
    ),
];

static TENSORS: &[Tensor] = &[
    tensor!("model.vision_model.embeddings.patch_embedding.weight", rows_f32, [1152, 3, 14, 14], 2709504),
    tensor!("model.vision_model.embeddings.patch_embedding.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.embeddings.position_embedding.weight", rows_f32, [1, 729, 1152], 3359232),
    tensor!("model.vision_model.encoder.layers.0.layer_norm1.weight", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.0.layer_norm1.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.0.self_attn.q_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.0.self_attn.q_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.0.self_attn.k_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.0.self_attn.k_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.0.self_attn.v_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.0.self_attn.v_proj.bias", rows_f32, [1152], 4608),
    tensor!("/vision_model/encoder/layers.0/self_attn/Constant_3_output_0", rows_f32, [], 4),
    tensor!("model.vision_model.encoder.layers.0.self_attn.out_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.0.self_attn.out_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.0.layer_norm2.weight", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.0.layer_norm2.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.0.mlp.fc1.weight_T", rows_f32, [1152, 4304], 19832832),
    tensor!("model.vision_model.encoder.layers.0.mlp.fc1.bias", rows_f32, [4304], 17216),
    tensor!("/vision_model/encoder/layers.0/mlp/activation_fn/Constant_1_output_0", rows_f32, [], 4),
    tensor!("/vision_model/encoder/layers.0/mlp/activation_fn/Constant_output_0", rows_f32, [], 4),
    tensor!("/vision_model/encoder/layers.0/mlp/activation_fn/Constant_2_output_0", rows_f32, [], 4),
    tensor!("/vision_model/encoder/layers.0/mlp/activation_fn/Constant_3_output_0", rows_f32, [], 4),
    tensor!("model.vision_model.encoder.layers.0.mlp.fc2.weight_T", rows_f32, [4304, 1152], 19832832),
    tensor!("model.vision_model.encoder.layers.0.mlp.fc2.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.1.layer_norm1.weight", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.1.layer_norm1.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.1.self_attn.q_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.1.self_attn.q_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.1.self_attn.k_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.1.self_attn.k_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.1.self_attn.v_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.1.self_attn.v_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.1.self_attn.out_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.1.self_attn.out_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.1.layer_norm2.weight", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.1.layer_norm2.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.1.mlp.fc1.weight_T", rows_f32, [1152, 4304], 19832832),
    tensor!("model.vision_model.encoder.layers.1.mlp.fc1.bias", rows_f32, [4304], 17216),
    tensor!("model.vision_model.encoder.layers.1.mlp.fc2.weight_T", rows_f32, [4304, 1152], 19832832),
    tensor!("model.vision_model.encoder.layers.1.mlp.fc2.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.2.layer_norm1.weight", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.2.layer_norm1.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.2.self_attn.q_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.2.self_attn.q_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.2.self_attn.k_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.2.self_attn.k_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.2.self_attn.v_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.2.self_attn.v_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.2.self_attn.out_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.2.self_attn.out_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.2.layer_norm2.weight", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.2.layer_norm2.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.2.mlp.fc1.weight_T", rows_f32, [1152, 4304], 19832832),
    tensor!("model.vision_model.encoder.layers.2.mlp.fc1.bias", rows_f32, [4304], 17216),
    tensor!("model.vision_model.encoder.layers.2.mlp.fc2.weight_T", rows_f32, [4304, 1152], 19832832),
    tensor!("model.vision_model.encoder.layers.2.mlp.fc2.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.3.layer_norm1.weight", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.3.layer_norm1.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.3.self_attn.q_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.3.self_attn.q_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.3.self_attn.k_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.3.self_attn.k_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.3.self_attn.v_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.3.self_attn.v_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.3.self_attn.out_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.3.self_attn.out_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.3.layer_norm2.weight", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.3.layer_norm2.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.3.mlp.fc1.weight_T", rows_f32, [1152, 4304], 19832832),
    tensor!("model.vision_model.encoder.layers.3.mlp.fc1.bias", rows_f32, [4304], 17216),
    tensor!("model.vision_model.encoder.layers.3.mlp.fc2.weight_T", rows_f32, [4304, 1152], 19832832),
    tensor!("model.vision_model.encoder.layers.3.mlp.fc2.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.4.layer_norm1.weight", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.4.layer_norm1.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.4.self_attn.q_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.4.self_attn.q_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.4.self_attn.k_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.4.self_attn.k_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.4.self_attn.v_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.4.self_attn.v_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.4.self_attn.out_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.4.self_attn.out_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.4.layer_norm2.weight", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.4.layer_norm2.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.4.mlp.fc1.weight_T", rows_f32, [1152, 4304], 19832832),
    tensor!("model.vision_model.encoder.layers.4.mlp.fc1.bias", rows_f32, [4304], 17216),
    tensor!("model.vision_model.encoder.layers.4.mlp.fc2.weight_T", rows_f32, [4304, 1152], 19832832),
    tensor!("model.vision_model.encoder.layers.4.mlp.fc2.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.5.layer_norm1.weight", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.5.layer_norm1.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.5.self_attn.q_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.5.self_attn.q_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.5.self_attn.k_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.5.self_attn.k_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.5.self_attn.v_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.5.self_attn.v_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.5.self_attn.out_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.5.self_attn.out_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.5.layer_norm2.weight", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.5.layer_norm2.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.5.mlp.fc1.weight_T", rows_f32, [1152, 4304], 19832832),
    tensor!("model.vision_model.encoder.layers.5.mlp.fc1.bias", rows_f32, [4304], 17216),
    tensor!("model.vision_model.encoder.layers.5.mlp.fc2.weight_T", rows_f32, [4304, 1152], 19832832),
    tensor!("model.vision_model.encoder.layers.5.mlp.fc2.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.6.layer_norm1.weight", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.6.layer_norm1.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.6.self_attn.q_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.6.self_attn.q_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.6.self_attn.k_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.6.self_attn.k_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.6.self_attn.v_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.6.self_attn.v_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.6.self_attn.out_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.6.self_attn.out_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.6.layer_norm2.weight", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.6.layer_norm2.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.6.mlp.fc1.weight_T", rows_f32, [1152, 4304], 19832832),
    tensor!("model.vision_model.encoder.layers.6.mlp.fc1.bias", rows_f32, [4304], 17216),
    tensor!("model.vision_model.encoder.layers.6.mlp.fc2.weight_T", rows_f32, [4304, 1152], 19832832),
    tensor!("model.vision_model.encoder.layers.6.mlp.fc2.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.7.layer_norm1.weight", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.7.layer_norm1.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.7.self_attn.q_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.7.self_attn.q_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.7.self_attn.k_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.7.self_attn.k_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.7.self_attn.v_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.7.self_attn.v_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.7.self_attn.out_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.7.self_attn.out_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.7.layer_norm2.weight", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.7.layer_norm2.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.7.mlp.fc1.weight_T", rows_f32, [1152, 4304], 19832832),
    tensor!("model.vision_model.encoder.layers.7.mlp.fc1.bias", rows_f32, [4304], 17216),
    tensor!("model.vision_model.encoder.layers.7.mlp.fc2.weight_T", rows_f32, [4304, 1152], 19832832),
    tensor!("model.vision_model.encoder.layers.7.mlp.fc2.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.8.layer_norm1.weight", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.8.layer_norm1.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.8.self_attn.q_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.8.self_attn.q_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.8.self_attn.k_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.8.self_attn.k_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.8.self_attn.v_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.8.self_attn.v_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.8.self_attn.out_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.8.self_attn.out_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.8.layer_norm2.weight", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.8.layer_norm2.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.8.mlp.fc1.weight_T", rows_f32, [1152, 4304], 19832832),
    tensor!("model.vision_model.encoder.layers.8.mlp.fc1.bias", rows_f32, [4304], 17216),
    tensor!("model.vision_model.encoder.layers.8.mlp.fc2.weight_T", rows_f32, [4304, 1152], 19832832),
    tensor!("model.vision_model.encoder.layers.8.mlp.fc2.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.9.layer_norm1.weight", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.9.layer_norm1.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.9.self_attn.q_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.9.self_attn.q_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.9.self_attn.k_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.9.self_attn.k_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.9.self_attn.v_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.9.self_attn.v_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.9.self_attn.out_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.9.self_attn.out_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.9.layer_norm2.weight", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.9.layer_norm2.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.9.mlp.fc1.weight_T", rows_f32, [1152, 4304], 19832832),
    tensor!("model.vision_model.encoder.layers.9.mlp.fc1.bias", rows_f32, [4304], 17216),
    tensor!("model.vision_model.encoder.layers.9.mlp.fc2.weight_T", rows_f32, [4304, 1152], 19832832),
    tensor!("model.vision_model.encoder.layers.9.mlp.fc2.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.10.layer_norm1.weight", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.10.layer_norm1.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.10.self_attn.q_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.10.self_attn.q_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.10.self_attn.k_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.10.self_attn.k_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.10.self_attn.v_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.10.self_attn.v_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.10.self_attn.out_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.10.self_attn.out_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.10.layer_norm2.weight", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.10.layer_norm2.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.10.mlp.fc1.weight_T", rows_f32, [1152, 4304], 19832832),
    tensor!("model.vision_model.encoder.layers.10.mlp.fc1.bias", rows_f32, [4304], 17216),
    tensor!("model.vision_model.encoder.layers.10.mlp.fc2.weight_T", rows_f32, [4304, 1152], 19832832),
    tensor!("model.vision_model.encoder.layers.10.mlp.fc2.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.11.layer_norm1.weight", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.11.layer_norm1.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.11.self_attn.q_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.11.self_attn.q_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.11.self_attn.k_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.11.self_attn.k_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.11.self_attn.v_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.11.self_attn.v_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.11.self_attn.out_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.11.self_attn.out_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.11.layer_norm2.weight", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.11.layer_norm2.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.11.mlp.fc1.weight_T", rows_f32, [1152, 4304], 19832832),
    tensor!("model.vision_model.encoder.layers.11.mlp.fc1.bias", rows_f32, [4304], 17216),
    tensor!("model.vision_model.encoder.layers.11.mlp.fc2.weight_T", rows_f32, [4304, 1152], 19832832),
    tensor!("model.vision_model.encoder.layers.11.mlp.fc2.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.12.layer_norm1.weight", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.12.layer_norm1.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.12.self_attn.q_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.12.self_attn.q_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.12.self_attn.k_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.12.self_attn.k_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.12.self_attn.v_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.12.self_attn.v_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.12.self_attn.out_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.12.self_attn.out_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.12.layer_norm2.weight", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.12.layer_norm2.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.12.mlp.fc1.weight_T", rows_f32, [1152, 4304], 19832832),
    tensor!("model.vision_model.encoder.layers.12.mlp.fc1.bias", rows_f32, [4304], 17216),
    tensor!("model.vision_model.encoder.layers.12.mlp.fc2.weight_T", rows_f32, [4304, 1152], 19832832),
    tensor!("model.vision_model.encoder.layers.12.mlp.fc2.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.13.layer_norm1.weight", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.13.layer_norm1.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.13.self_attn.q_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.13.self_attn.q_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.13.self_attn.k_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.13.self_attn.k_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.13.self_attn.v_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.13.self_attn.v_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.13.self_attn.out_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.13.self_attn.out_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.13.layer_norm2.weight", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.13.layer_norm2.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.13.mlp.fc1.weight_T", rows_f32, [1152, 4304], 19832832),
    tensor!("model.vision_model.encoder.layers.13.mlp.fc1.bias", rows_f32, [4304], 17216),
    tensor!("model.vision_model.encoder.layers.13.mlp.fc2.weight_T", rows_f32, [4304, 1152], 19832832),
    tensor!("model.vision_model.encoder.layers.13.mlp.fc2.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.14.layer_norm1.weight", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.14.layer_norm1.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.14.self_attn.q_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.14.self_attn.q_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.14.self_attn.k_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.14.self_attn.k_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.14.self_attn.v_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.14.self_attn.v_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.14.self_attn.out_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.14.self_attn.out_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.14.layer_norm2.weight", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.14.layer_norm2.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.14.mlp.fc1.weight_T", rows_f32, [1152, 4304], 19832832),
    tensor!("model.vision_model.encoder.layers.14.mlp.fc1.bias", rows_f32, [4304], 17216),
    tensor!("model.vision_model.encoder.layers.14.mlp.fc2.weight_T", rows_f32, [4304, 1152], 19832832),
    tensor!("model.vision_model.encoder.layers.14.mlp.fc2.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.15.layer_norm1.weight", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.15.layer_norm1.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.15.self_attn.q_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.15.self_attn.q_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.15.self_attn.k_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.15.self_attn.k_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.15.self_attn.v_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.15.self_attn.v_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.15.self_attn.out_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.15.self_attn.out_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.15.layer_norm2.weight", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.15.layer_norm2.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.15.mlp.fc1.weight_T", rows_f32, [1152, 4304], 19832832),
    tensor!("model.vision_model.encoder.layers.15.mlp.fc1.bias", rows_f32, [4304], 17216),
    tensor!("model.vision_model.encoder.layers.15.mlp.fc2.weight_T", rows_f32, [4304, 1152], 19832832),
    tensor!("model.vision_model.encoder.layers.15.mlp.fc2.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.16.layer_norm1.weight", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.16.layer_norm1.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.16.self_attn.q_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.16.self_attn.q_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.16.self_attn.k_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.16.self_attn.k_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.16.self_attn.v_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.16.self_attn.v_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.16.self_attn.out_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.16.self_attn.out_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.16.layer_norm2.weight", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.16.layer_norm2.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.16.mlp.fc1.weight_T", rows_f32, [1152, 4304], 19832832),
    tensor!("model.vision_model.encoder.layers.16.mlp.fc1.bias", rows_f32, [4304], 17216),
    tensor!("model.vision_model.encoder.layers.16.mlp.fc2.weight_T", rows_f32, [4304, 1152], 19832832),
    tensor!("model.vision_model.encoder.layers.16.mlp.fc2.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.17.layer_norm1.weight", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.17.layer_norm1.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.17.self_attn.q_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.17.self_attn.q_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.17.self_attn.k_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.17.self_attn.k_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.17.self_attn.v_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.17.self_attn.v_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.17.self_attn.out_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.17.self_attn.out_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.17.layer_norm2.weight", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.17.layer_norm2.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.17.mlp.fc1.weight_T", rows_f32, [1152, 4304], 19832832),
    tensor!("model.vision_model.encoder.layers.17.mlp.fc1.bias", rows_f32, [4304], 17216),
    tensor!("model.vision_model.encoder.layers.17.mlp.fc2.weight_T", rows_f32, [4304, 1152], 19832832),
    tensor!("model.vision_model.encoder.layers.17.mlp.fc2.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.18.layer_norm1.weight", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.18.layer_norm1.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.18.self_attn.q_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.18.self_attn.q_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.18.self_attn.k_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.18.self_attn.k_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.18.self_attn.v_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.18.self_attn.v_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.18.self_attn.out_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.18.self_attn.out_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.18.layer_norm2.weight", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.18.layer_norm2.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.18.mlp.fc1.weight_T", rows_f32, [1152, 4304], 19832832),
    tensor!("model.vision_model.encoder.layers.18.mlp.fc1.bias", rows_f32, [4304], 17216),
    tensor!("model.vision_model.encoder.layers.18.mlp.fc2.weight_T", rows_f32, [4304, 1152], 19832832),
    tensor!("model.vision_model.encoder.layers.18.mlp.fc2.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.19.layer_norm1.weight", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.19.layer_norm1.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.19.self_attn.q_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.19.self_attn.q_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.19.self_attn.k_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.19.self_attn.k_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.19.self_attn.v_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.19.self_attn.v_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.19.self_attn.out_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.19.self_attn.out_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.19.layer_norm2.weight", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.19.layer_norm2.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.19.mlp.fc1.weight_T", rows_f32, [1152, 4304], 19832832),
    tensor!("model.vision_model.encoder.layers.19.mlp.fc1.bias", rows_f32, [4304], 17216),
    tensor!("model.vision_model.encoder.layers.19.mlp.fc2.weight_T", rows_f32, [4304, 1152], 19832832),
    tensor!("model.vision_model.encoder.layers.19.mlp.fc2.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.20.layer_norm1.weight", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.20.layer_norm1.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.20.self_attn.q_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.20.self_attn.q_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.20.self_attn.k_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.20.self_attn.k_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.20.self_attn.v_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.20.self_attn.v_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.20.self_attn.out_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.20.self_attn.out_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.20.layer_norm2.weight", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.20.layer_norm2.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.20.mlp.fc1.weight_T", rows_f32, [1152, 4304], 19832832),
    tensor!("model.vision_model.encoder.layers.20.mlp.fc1.bias", rows_f32, [4304], 17216),
    tensor!("model.vision_model.encoder.layers.20.mlp.fc2.weight_T", rows_f32, [4304, 1152], 19832832),
    tensor!("model.vision_model.encoder.layers.20.mlp.fc2.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.21.layer_norm1.weight", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.21.layer_norm1.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.21.self_attn.q_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.21.self_attn.q_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.21.self_attn.k_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.21.self_attn.k_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.21.self_attn.v_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.21.self_attn.v_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.21.self_attn.out_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.21.self_attn.out_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.21.layer_norm2.weight", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.21.layer_norm2.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.21.mlp.fc1.weight_T", rows_f32, [1152, 4304], 19832832),
    tensor!("model.vision_model.encoder.layers.21.mlp.fc1.bias", rows_f32, [4304], 17216),
    tensor!("model.vision_model.encoder.layers.21.mlp.fc2.weight_T", rows_f32, [4304, 1152], 19832832),
    tensor!("model.vision_model.encoder.layers.21.mlp.fc2.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.22.layer_norm1.weight", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.22.layer_norm1.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.22.self_attn.q_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.22.self_attn.q_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.22.self_attn.k_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.22.self_attn.k_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.22.self_attn.v_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.22.self_attn.v_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.22.self_attn.out_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.22.self_attn.out_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.22.layer_norm2.weight", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.22.layer_norm2.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.22.mlp.fc1.weight_T", rows_f32, [1152, 4304], 19832832),
    tensor!("model.vision_model.encoder.layers.22.mlp.fc1.bias", rows_f32, [4304], 17216),
    tensor!("model.vision_model.encoder.layers.22.mlp.fc2.weight_T", rows_f32, [4304, 1152], 19832832),
    tensor!("model.vision_model.encoder.layers.22.mlp.fc2.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.23.layer_norm1.weight", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.23.layer_norm1.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.23.self_attn.q_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.23.self_attn.q_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.23.self_attn.k_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.23.self_attn.k_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.23.self_attn.v_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.23.self_attn.v_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.23.self_attn.out_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.23.self_attn.out_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.23.layer_norm2.weight", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.23.layer_norm2.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.23.mlp.fc1.weight_T", rows_f32, [1152, 4304], 19832832),
    tensor!("model.vision_model.encoder.layers.23.mlp.fc1.bias", rows_f32, [4304], 17216),
    tensor!("model.vision_model.encoder.layers.23.mlp.fc2.weight_T", rows_f32, [4304, 1152], 19832832),
    tensor!("model.vision_model.encoder.layers.23.mlp.fc2.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.24.layer_norm1.weight", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.24.layer_norm1.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.24.self_attn.q_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.24.self_attn.q_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.24.self_attn.k_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.24.self_attn.k_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.24.self_attn.v_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.24.self_attn.v_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.24.self_attn.out_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.24.self_attn.out_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.24.layer_norm2.weight", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.24.layer_norm2.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.24.mlp.fc1.weight_T", rows_f32, [1152, 4304], 19832832),
    tensor!("model.vision_model.encoder.layers.24.mlp.fc1.bias", rows_f32, [4304], 17216),
    tensor!("model.vision_model.encoder.layers.24.mlp.fc2.weight_T", rows_f32, [4304, 1152], 19832832),
    tensor!("model.vision_model.encoder.layers.24.mlp.fc2.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.25.layer_norm1.weight", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.25.layer_norm1.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.25.self_attn.q_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.25.self_attn.q_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.25.self_attn.k_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.25.self_attn.k_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.25.self_attn.v_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.25.self_attn.v_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.25.self_attn.out_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.25.self_attn.out_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.25.layer_norm2.weight", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.25.layer_norm2.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.25.mlp.fc1.weight_T", rows_f32, [1152, 4304], 19832832),
    tensor!("model.vision_model.encoder.layers.25.mlp.fc1.bias", rows_f32, [4304], 17216),
    tensor!("model.vision_model.encoder.layers.25.mlp.fc2.weight_T", rows_f32, [4304, 1152], 19832832),
    tensor!("model.vision_model.encoder.layers.25.mlp.fc2.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.26.layer_norm1.weight", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.26.layer_norm1.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.26.self_attn.q_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.26.self_attn.q_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.26.self_attn.k_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.26.self_attn.k_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.26.self_attn.v_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.26.self_attn.v_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.26.self_attn.out_proj.weight_T", rows_f32, [1152, 1152], 5308416),
    tensor!("model.vision_model.encoder.layers.26.self_attn.out_proj.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.26.layer_norm2.weight", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.26.layer_norm2.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.encoder.layers.26.mlp.fc1.weight_T", rows_f32, [1152, 4304], 19832832),
    tensor!("model.vision_model.encoder.layers.26.mlp.fc1.bias", rows_f32, [4304], 17216),
    tensor!("model.vision_model.encoder.layers.26.mlp.fc2.weight_T", rows_f32, [4304, 1152], 19832832),
    tensor!("model.vision_model.encoder.layers.26.mlp.fc2.bias", rows_f32, [1152], 4608),
    tensor!("model.vision_model.post_layernorm.weight", rows_f32, [1152], 4608),
    tensor!("model.vision_model.post_layernorm.bias", rows_f32, [1152], 4608),
    tensor!("model.connector.modality_projection.proj.weight_T", rows_f32, [10368, 2048], 84934656),
    tensor!("embed/model.embed_tokens.weight", rows_f16, [49280, 2048], 201850880),
    tensor!("decoder/model.layers.0.input_layernorm.weight", rows_f32, [2048], 8192),
    tensor!(
        "decoder/model.layers.0.self_attn.q_proj.weight_T+decoder/model.layers.0.self_attn.k_proj.weight_T+decoder/model.layers.0.self_attn.v_proj.weight_T",
        rows_f16, [6144, 2048], 25165824
    ),
    tensor!("/model/rotary_emb/Unsqueeze_2_output_0.cos_table", rows_f32, [512, 32], 65536),
    tensor!("/model/rotary_emb/Unsqueeze_3_output_0.sin_table", rows_f32, [512, 32], 65536),
    tensor!("decoder/model.layers.0.self_attn.o_proj.weight_T", rows_f16, [2048, 2048], 8388608),
    tensor!("decoder/model.layers.0.post_attention_layernorm.weight", rows_f32, [2048], 8192),
    tensor!(
        "decoder/model.layers.0.mlp.gate_proj.weight_T+decoder/model.layers.0.mlp.up_proj.weight_T",
        rows_f16, [16384, 2048], 67108864
    ),
    tensor!("decoder/model.layers.0.mlp.down_proj.weight_T", rows_f16, [2048, 8192], 33554432),
    tensor!("decoder/model.layers.1.input_layernorm.weight", rows_f32, [2048], 8192),
    tensor!(
        "decoder/model.layers.1.self_attn.q_proj.weight_T+decoder/model.layers.1.self_attn.k_proj.weight_T+decoder/model.layers.1.self_attn.v_proj.weight_T",
        rows_f16, [6144, 2048], 25165824
    ),
    tensor!("decoder/model.layers.1.self_attn.o_proj.weight_T", rows_f16, [2048, 2048], 8388608),
    tensor!("decoder/model.layers.1.post_attention_layernorm.weight", rows_f32, [2048], 8192),
    tensor!(
        "decoder/model.layers.1.mlp.gate_proj.weight_T+decoder/model.layers.1.mlp.up_proj.weight_T",
        rows_f16, [16384, 2048], 67108864
    ),
    tensor!("decoder/model.layers.1.mlp.down_proj.weight_T", rows_f16, [2048, 8192], 33554432),
    tensor!("decoder/model.layers.2.input_layernorm.weight", rows_f32, [2048], 8192),
    tensor!(
        "decoder/model.layers.2.self_attn.q_proj.weight_T+decoder/model.layers.2.self_attn.k_proj.weight_T+decoder/model.layers.2.self_attn.v_proj.weight_T",
        rows_f16, [6144, 2048], 25165824
    ),
    tensor!("decoder/model.layers.2.self_attn.o_proj.weight_T", rows_f16, [2048, 2048], 8388608),
    tensor!("decoder/model.layers.2.post_attention_layernorm.weight", rows_f32, [2048], 8192),
    tensor!(
        "decoder/model.layers.2.mlp.gate_proj.weight_T+decoder/model.layers.2.mlp.up_proj.weight_T",
        rows_f16, [16384, 2048], 67108864
    ),
    tensor!("decoder/model.layers.2.mlp.down_proj.weight_T", rows_f16, [2048, 8192], 33554432),
    tensor!("decoder/model.layers.3.input_layernorm.weight", rows_f32, [2048], 8192),
    tensor!(
        "decoder/model.layers.3.self_attn.q_proj.weight_T+decoder/model.layers.3.self_attn.k_proj.weight_T+decoder/model.layers.3.self_attn.v_proj.weight_T",
        rows_f16, [6144, 2048], 25165824
    ),
    tensor!("decoder/model.layers.3.self_attn.o_proj.weight_T", rows_f16, [2048, 2048], 8388608),
    tensor!("decoder/model.layers.3.post_attention_layernorm.weight", rows_f32, [2048], 8192),
    tensor!(
        "decoder/model.layers.3.mlp.gate_proj.weight_T+decoder/model.layers.3.mlp.up_proj.weight_T",
        rows_f16, [16384, 2048], 67108864
    ),
    tensor!("decoder/model.layers.3.mlp.down_proj.weight_T", rows_f16, [2048, 8192], 33554432),
    tensor!("decoder/model.layers.4.input_layernorm.weight", rows_f32, [2048], 8192),
    tensor!(
        "decoder/model.layers.4.self_attn.q_proj.weight_T+decoder/model.layers.4.self_attn.k_proj.weight_T+decoder/model.layers.4.self_attn.v_proj.weight_T",
        rows_f16, [6144, 2048], 25165824
    ),
    tensor!("decoder/model.layers.4.self_attn.o_proj.weight_T", rows_f16, [2048, 2048], 8388608),
    tensor!("decoder/model.layers.4.post_attention_layernorm.weight", rows_f32, [2048], 8192),
    tensor!(
        "decoder/model.layers.4.mlp.gate_proj.weight_T+decoder/model.layers.4.mlp.up_proj.weight_T",
        rows_f16, [16384, 2048], 67108864
    ),
    tensor!("decoder/model.layers.4.mlp.down_proj.weight_T", rows_f16, [2048, 8192], 33554432),
    tensor!("decoder/model.layers.5.input_layernorm.weight", rows_f32, [2048], 8192),
    tensor!(
        "decoder/model.layers.5.self_attn.q_proj.weight_T+decoder/model.layers.5.self_attn.k_proj.weight_T+decoder/model.layers.5.self_attn.v_proj.weight_T",
        rows_f16, [6144, 2048], 25165824
    ),
    tensor!("decoder/model.layers.5.self_attn.o_proj.weight_T", rows_f16, [2048, 2048], 8388608),
    tensor!("decoder/model.layers.5.post_attention_layernorm.weight", rows_f32, [2048], 8192),
    tensor!(
        "decoder/model.layers.5.mlp.gate_proj.weight_T+decoder/model.layers.5.mlp.up_proj.weight_T",
        rows_f16, [16384, 2048], 67108864
    ),
    tensor!("decoder/model.layers.5.mlp.down_proj.weight_T", rows_f16, [2048, 8192], 33554432),
    tensor!("decoder/model.layers.6.input_layernorm.weight", rows_f32, [2048], 8192),
    tensor!(
        "decoder/model.layers.6.self_attn.q_proj.weight_T+decoder/model.layers.6.self_attn.k_proj.weight_T+decoder/model.layers.6.self_attn.v_proj.weight_T",
        rows_f16, [6144, 2048], 25165824
    ),
    tensor!("decoder/model.layers.6.self_attn.o_proj.weight_T", rows_f16, [2048, 2048], 8388608),
    tensor!("decoder/model.layers.6.post_attention_layernorm.weight", rows_f32, [2048], 8192),
    tensor!(
        "decoder/model.layers.6.mlp.gate_proj.weight_T+decoder/model.layers.6.mlp.up_proj.weight_T",
        rows_f16, [16384, 2048], 67108864
    ),
    tensor!("decoder/model.layers.6.mlp.down_proj.weight_T", rows_f16, [2048, 8192], 33554432),
    tensor!("decoder/model.layers.7.input_layernorm.weight", rows_f32, [2048], 8192),
    tensor!(
        "decoder/model.layers.7.self_attn.q_proj.weight_T+decoder/model.layers.7.self_attn.k_proj.weight_T+decoder/model.layers.7.self_attn.v_proj.weight_T",
        rows_f16, [6144, 2048], 25165824
    ),
    tensor!("decoder/model.layers.7.self_attn.o_proj.weight_T", rows_f16, [2048, 2048], 8388608),
    tensor!("decoder/model.layers.7.post_attention_layernorm.weight", rows_f32, [2048], 8192),
    tensor!(
        "decoder/model.layers.7.mlp.gate_proj.weight_T+decoder/model.layers.7.mlp.up_proj.weight_T",
        rows_f16, [16384, 2048], 67108864
    ),
    tensor!("decoder/model.layers.7.mlp.down_proj.weight_T", rows_f16, [2048, 8192], 33554432),
    tensor!("decoder/model.layers.8.input_layernorm.weight", rows_f32, [2048], 8192),
    tensor!(
        "decoder/model.layers.8.self_attn.q_proj.weight_T+decoder/model.layers.8.self_attn.k_proj.weight_T+decoder/model.layers.8.self_attn.v_proj.weight_T",
        rows_f16, [6144, 2048], 25165824
    ),
    tensor!("decoder/model.layers.8.self_attn.o_proj.weight_T", rows_f16, [2048, 2048], 8388608),
    tensor!("decoder/model.layers.8.post_attention_layernorm.weight", rows_f32, [2048], 8192),
    tensor!(
        "decoder/model.layers.8.mlp.gate_proj.weight_T+decoder/model.layers.8.mlp.up_proj.weight_T",
        rows_f16, [16384, 2048], 67108864
    ),
    tensor!("decoder/model.layers.8.mlp.down_proj.weight_T", rows_f16, [2048, 8192], 33554432),
    tensor!("decoder/model.layers.9.input_layernorm.weight", rows_f32, [2048], 8192),
    tensor!(
        "decoder/model.layers.9.self_attn.q_proj.weight_T+decoder/model.layers.9.self_attn.k_proj.weight_T+decoder/model.layers.9.self_attn.v_proj.weight_T",
        rows_f16, [6144, 2048], 25165824
    ),
    tensor!("decoder/model.layers.9.self_attn.o_proj.weight_T", rows_f16, [2048, 2048], 8388608),
    tensor!("decoder/model.layers.9.post_attention_layernorm.weight", rows_f32, [2048], 8192),
    tensor!(
        "decoder/model.layers.9.mlp.gate_proj.weight_T+decoder/model.layers.9.mlp.up_proj.weight_T",
        rows_f16, [16384, 2048], 67108864
    ),
    tensor!("decoder/model.layers.9.mlp.down_proj.weight_T", rows_f16, [2048, 8192], 33554432),
    tensor!("decoder/model.layers.10.input_layernorm.weight", rows_f32, [2048], 8192),
    tensor!(
        "decoder/model.layers.10.self_attn.q_proj.weight_T+decoder/model.layers.10.self_attn.k_proj.weight_T+decoder/model.layers.10.self_attn.v_proj.weight_T",
        rows_f16, [6144, 2048], 25165824
    ),
    tensor!("decoder/model.layers.10.self_attn.o_proj.weight_T", rows_f16, [2048, 2048], 8388608),
    tensor!("decoder/model.layers.10.post_attention_layernorm.weight", rows_f32, [2048], 8192),
    tensor!(
        "decoder/model.layers.10.mlp.gate_proj.weight_T+decoder/model.layers.10.mlp.up_proj.weight_T",
        rows_f16, [16384, 2048], 67108864
    ),
    tensor!("decoder/model.layers.10.mlp.down_proj.weight_T", rows_f16, [2048, 8192], 33554432),
    tensor!("decoder/model.layers.11.input_layernorm.weight", rows_f32, [2048], 8192),
    tensor!(
        "decoder/model.layers.11.self_attn.q_proj.weight_T+decoder/model.layers.11.self_attn.k_proj.weight_T+decoder/model.layers.11.self_attn.v_proj.weight_T",
        rows_f16, [6144, 2048], 25165824
    ),
    tensor!("decoder/model.layers.11.self_attn.o_proj.weight_T", rows_f16, [2048, 2048], 8388608),
    tensor!("decoder/model.layers.11.post_attention_layernorm.weight", rows_f32, [2048], 8192),
    tensor!(
        "decoder/model.layers.11.mlp.gate_proj.weight_T+decoder/model.layers.11.mlp.up_proj.weight_T",
        rows_f16, [16384, 2048], 67108864
    ),
    tensor!("decoder/model.layers.11.mlp.down_proj.weight_T", rows_f16, [2048, 8192], 33554432),
    tensor!("decoder/model.layers.12.input_layernorm.weight", rows_f32, [2048], 8192),
    tensor!(
        "decoder/model.layers.12.self_attn.q_proj.weight_T+decoder/model.layers.12.self_attn.k_proj.weight_T+decoder/model.layers.12.self_attn.v_proj.weight_T",
        rows_f16, [6144, 2048], 25165824
    ),
    tensor!("decoder/model.layers.12.self_attn.o_proj.weight_T", rows_f16, [2048, 2048], 8388608),
    tensor!("decoder/model.layers.12.post_attention_layernorm.weight", rows_f32, [2048], 8192),
    tensor!(
        "decoder/model.layers.12.mlp.gate_proj.weight_T+decoder/model.layers.12.mlp.up_proj.weight_T",
        rows_f16, [16384, 2048], 67108864
    ),
    tensor!("decoder/model.layers.12.mlp.down_proj.weight_T", rows_f16, [2048, 8192], 33554432),
    tensor!("decoder/model.layers.13.input_layernorm.weight", rows_f32, [2048], 8192),
    tensor!(
        "decoder/model.layers.13.self_attn.q_proj.weight_T+decoder/model.layers.13.self_attn.k_proj.weight_T+decoder/model.layers.13.self_attn.v_proj.weight_T",
        rows_f16, [6144, 2048], 25165824
    ),
    tensor!("decoder/model.layers.13.self_attn.o_proj.weight_T", rows_f16, [2048, 2048], 8388608),
    tensor!("decoder/model.layers.13.post_attention_layernorm.weight", rows_f32, [2048], 8192),
    tensor!(
        "decoder/model.layers.13.mlp.gate_proj.weight_T+decoder/model.layers.13.mlp.up_proj.weight_T",
        rows_f16, [16384, 2048], 67108864
    ),
    tensor!("decoder/model.layers.13.mlp.down_proj.weight_T", rows_f16, [2048, 8192], 33554432),
    tensor!("decoder/model.layers.14.input_layernorm.weight", rows_f32, [2048], 8192),
    tensor!(
        "decoder/model.layers.14.self_attn.q_proj.weight_T+decoder/model.layers.14.self_attn.k_proj.weight_T+decoder/model.layers.14.self_attn.v_proj.weight_T",
        rows_f16, [6144, 2048], 25165824
    ),
    tensor!("decoder/model.layers.14.self_attn.o_proj.weight_T", rows_f16, [2048, 2048], 8388608),
    tensor!("decoder/model.layers.14.post_attention_layernorm.weight", rows_f32, [2048], 8192),
    tensor!(
        "decoder/model.layers.14.mlp.gate_proj.weight_T+decoder/model.layers.14.mlp.up_proj.weight_T",
        rows_f16, [16384, 2048], 67108864
    ),
    tensor!("decoder/model.layers.14.mlp.down_proj.weight_T", rows_f16, [2048, 8192], 33554432),
    tensor!("decoder/model.layers.15.input_layernorm.weight", rows_f32, [2048], 8192),
    tensor!(
        "decoder/model.layers.15.self_attn.q_proj.weight_T+decoder/model.layers.15.self_attn.k_proj.weight_T+decoder/model.layers.15.self_attn.v_proj.weight_T",
        rows_f16, [6144, 2048], 25165824
    ),
    tensor!("decoder/model.layers.15.self_attn.o_proj.weight_T", rows_f16, [2048, 2048], 8388608),
    tensor!("decoder/model.layers.15.post_attention_layernorm.weight", rows_f32, [2048], 8192),
    tensor!(
        "decoder/model.layers.15.mlp.gate_proj.weight_T+decoder/model.layers.15.mlp.up_proj.weight_T",
        rows_f16, [16384, 2048], 67108864
    ),
    tensor!("decoder/model.layers.15.mlp.down_proj.weight_T", rows_f16, [2048, 8192], 33554432),
    tensor!("decoder/model.layers.16.input_layernorm.weight", rows_f32, [2048], 8192),
    tensor!(
        "decoder/model.layers.16.self_attn.q_proj.weight_T+decoder/model.layers.16.self_attn.k_proj.weight_T+decoder/model.layers.16.self_attn.v_proj.weight_T",
        rows_f16, [6144, 2048], 25165824
    ),
    tensor!("decoder/model.layers.16.self_attn.o_proj.weight_T", rows_f16, [2048, 2048], 8388608),
    tensor!("decoder/model.layers.16.post_attention_layernorm.weight", rows_f32, [2048], 8192),
    tensor!(
        "decoder/model.layers.16.mlp.gate_proj.weight_T+decoder/model.layers.16.mlp.up_proj.weight_T",
        rows_f16, [16384, 2048], 67108864
    ),
    tensor!("decoder/model.layers.16.mlp.down_proj.weight_T", rows_f16, [2048, 8192], 33554432),
    tensor!("decoder/model.layers.17.input_layernorm.weight", rows_f32, [2048], 8192),
    tensor!(
        "decoder/model.layers.17.self_attn.q_proj.weight_T+decoder/model.layers.17.self_attn.k_proj.weight_T+decoder/model.layers.17.self_attn.v_proj.weight_T",
        rows_f16, [6144, 2048], 25165824
    ),
    tensor!("decoder/model.layers.17.self_attn.o_proj.weight_T", rows_f16, [2048, 2048], 8388608),
    tensor!("decoder/model.layers.17.post_attention_layernorm.weight", rows_f32, [2048], 8192),
    tensor!(
        "decoder/model.layers.17.mlp.gate_proj.weight_T+decoder/model.layers.17.mlp.up_proj.weight_T",
        rows_f16, [16384, 2048], 67108864
    ),
    tensor!("decoder/model.layers.17.mlp.down_proj.weight_T", rows_f16, [2048, 8192], 33554432),
    tensor!("decoder/model.layers.18.input_layernorm.weight", rows_f32, [2048], 8192),
    tensor!(
        "decoder/model.layers.18.self_attn.q_proj.weight_T+decoder/model.layers.18.self_attn.k_proj.weight_T+decoder/model.layers.18.self_attn.v_proj.weight_T",
        rows_f16, [6144, 2048], 25165824
    ),
    tensor!("decoder/model.layers.18.self_attn.o_proj.weight_T", rows_f16, [2048, 2048], 8388608),
    tensor!("decoder/model.layers.18.post_attention_layernorm.weight", rows_f32, [2048], 8192),
    tensor!(
        "decoder/model.layers.18.mlp.gate_proj.weight_T+decoder/model.layers.18.mlp.up_proj.weight_T",
        rows_f16, [16384, 2048], 67108864
    ),
    tensor!("decoder/model.layers.18.mlp.down_proj.weight_T", rows_f16, [2048, 8192], 33554432),
    tensor!("decoder/model.layers.19.input_layernorm.weight", rows_f32, [2048], 8192),
    tensor!(
        "decoder/model.layers.19.self_attn.q_proj.weight_T+decoder/model.layers.19.self_attn.k_proj.weight_T+decoder/model.layers.19.self_attn.v_proj.weight_T",
        rows_f16, [6144, 2048], 25165824
    ),
    tensor!("decoder/model.layers.19.self_attn.o_proj.weight_T", rows_f16, [2048, 2048], 8388608),
    tensor!("decoder/model.layers.19.post_attention_layernorm.weight", rows_f32, [2048], 8192),
    tensor!(
        "decoder/model.layers.19.mlp.gate_proj.weight_T+decoder/model.layers.19.mlp.up_proj.weight_T",
        rows_f16, [16384, 2048], 67108864
    ),
    tensor!("decoder/model.layers.19.mlp.down_proj.weight_T", rows_f16, [2048, 8192], 33554432),
    tensor!("decoder/model.layers.20.input_layernorm.weight", rows_f32, [2048], 8192),
    tensor!(
        "decoder/model.layers.20.self_attn.q_proj.weight_T+decoder/model.layers.20.self_attn.k_proj.weight_T+decoder/model.layers.20.self_attn.v_proj.weight_T",
        rows_f16, [6144, 2048], 25165824
    ),
    tensor!("decoder/model.layers.20.self_attn.o_proj.weight_T", rows_f16, [2048, 2048], 8388608),
    tensor!("decoder/model.layers.20.post_attention_layernorm.weight", rows_f32, [2048], 8192),
    tensor!(
        "decoder/model.layers.20.mlp.gate_proj.weight_T+decoder/model.layers.20.mlp.up_proj.weight_T",
        rows_f16, [16384, 2048], 67108864
    ),
    tensor!("decoder/model.layers.20.mlp.down_proj.weight_T", rows_f16, [2048, 8192], 33554432),
    tensor!("decoder/model.layers.21.input_layernorm.weight", rows_f32, [2048], 8192),
    tensor!(
        "decoder/model.layers.21.self_attn.q_proj.weight_T+decoder/model.layers.21.self_attn.k_proj.weight_T+decoder/model.layers.21.self_attn.v_proj.weight_T",
        rows_f16, [6144, 2048], 25165824
    ),
    tensor!("decoder/model.layers.21.self_attn.o_proj.weight_T", rows_f16, [2048, 2048], 8388608),
    tensor!("decoder/model.layers.21.post_attention_layernorm.weight", rows_f32, [2048], 8192),
    tensor!(
        "decoder/model.layers.21.mlp.gate_proj.weight_T+decoder/model.layers.21.mlp.up_proj.weight_T",
        rows_f16, [16384, 2048], 67108864
    ),
    tensor!("decoder/model.layers.21.mlp.down_proj.weight_T", rows_f16, [2048, 8192], 33554432),
    tensor!("decoder/model.layers.22.input_layernorm.weight", rows_f32, [2048], 8192),
    tensor!(
        "decoder/model.layers.22.self_attn.q_proj.weight_T+decoder/model.layers.22.self_attn.k_proj.weight_T+decoder/model.layers.22.self_attn.v_proj.weight_T",
        rows_f16, [6144, 2048], 25165824
    ),
    tensor!("decoder/model.layers.22.self_attn.o_proj.weight_T", rows_f16, [2048, 2048], 8388608),
    tensor!("decoder/model.layers.22.post_attention_layernorm.weight", rows_f32, [2048], 8192),
    tensor!(
        "decoder/model.layers.22.mlp.gate_proj.weight_T+decoder/model.layers.22.mlp.up_proj.weight_T",
        rows_f16, [16384, 2048], 67108864
    ),
    tensor!("decoder/model.layers.22.mlp.down_proj.weight_T", rows_f16, [2048, 8192], 33554432),
    tensor!("decoder/model.layers.23.input_layernorm.weight", rows_f32, [2048], 8192),
    tensor!(
        "decoder/model.layers.23.self_attn.q_proj.weight_T+decoder/model.layers.23.self_attn.k_proj.weight_T+decoder/model.layers.23.self_attn.v_proj.weight_T",
        rows_f16, [6144, 2048], 25165824
    ),
    tensor!("decoder/model.layers.23.self_attn.o_proj.weight_T", rows_f16, [2048, 2048], 8388608),
    tensor!("decoder/model.layers.23.post_attention_layernorm.weight", rows_f32, [2048], 8192),
    tensor!(
        "decoder/model.layers.23.mlp.gate_proj.weight_T+decoder/model.layers.23.mlp.up_proj.weight_T",
        rows_f16, [16384, 2048], 67108864
    ),
    tensor!("decoder/model.layers.23.mlp.down_proj.weight_T", rows_f16, [2048, 8192], 33554432),
    tensor!("decoder/lm_head.weight_T", rows_f16, [49280, 2048], 201850880),
    tensor!("decoder/model.norm.weight", rows_f32, [2048], 8192),
];

static STATES: &[State] = &[
    state!("past_key_values.0.key", 2097152, [1, 32, 512, 64], Elem::F16),
    state!("past_key_values.0.value", 2097152, [1, 32, 512, 64], Elem::F16),
    state!("past_key_values.1.key", 2097152, [1, 32, 512, 64], Elem::F16),
    state!("past_key_values.1.value", 2097152, [1, 32, 512, 64], Elem::F16),
    state!("past_key_values.2.key", 2097152, [1, 32, 512, 64], Elem::F16),
    state!("past_key_values.2.value", 2097152, [1, 32, 512, 64], Elem::F16),
    state!("past_key_values.3.key", 2097152, [1, 32, 512, 64], Elem::F16),
    state!("past_key_values.3.value", 2097152, [1, 32, 512, 64], Elem::F16),
    state!("past_key_values.4.key", 2097152, [1, 32, 512, 64], Elem::F16),
    state!("past_key_values.4.value", 2097152, [1, 32, 512, 64], Elem::F16),
    state!("past_key_values.5.key", 2097152, [1, 32, 512, 64], Elem::F16),
    state!("past_key_values.5.value", 2097152, [1, 32, 512, 64], Elem::F16),
    state!("past_key_values.6.key", 2097152, [1, 32, 512, 64], Elem::F16),
    state!("past_key_values.6.value", 2097152, [1, 32, 512, 64], Elem::F16),
    state!("past_key_values.7.key", 2097152, [1, 32, 512, 64], Elem::F16),
    state!("past_key_values.7.value", 2097152, [1, 32, 512, 64], Elem::F16),
    state!("past_key_values.8.key", 2097152, [1, 32, 512, 64], Elem::F16),
    state!("past_key_values.8.value", 2097152, [1, 32, 512, 64], Elem::F16),
    state!("past_key_values.9.key", 2097152, [1, 32, 512, 64], Elem::F16),
    state!("past_key_values.9.value", 2097152, [1, 32, 512, 64], Elem::F16),
    state!("past_key_values.10.key", 2097152, [1, 32, 512, 64], Elem::F16),
    state!("past_key_values.10.value", 2097152, [1, 32, 512, 64], Elem::F16),
    state!("past_key_values.11.key", 2097152, [1, 32, 512, 64], Elem::F16),
    state!("past_key_values.11.value", 2097152, [1, 32, 512, 64], Elem::F16),
    state!("past_key_values.12.key", 2097152, [1, 32, 512, 64], Elem::F16),
    state!("past_key_values.12.value", 2097152, [1, 32, 512, 64], Elem::F16),
    state!("past_key_values.13.key", 2097152, [1, 32, 512, 64], Elem::F16),
    state!("past_key_values.13.value", 2097152, [1, 32, 512, 64], Elem::F16),
    state!("past_key_values.14.key", 2097152, [1, 32, 512, 64], Elem::F16),
    state!("past_key_values.14.value", 2097152, [1, 32, 512, 64], Elem::F16),
    state!("past_key_values.15.key", 2097152, [1, 32, 512, 64], Elem::F16),
    state!("past_key_values.15.value", 2097152, [1, 32, 512, 64], Elem::F16),
    state!("past_key_values.16.key", 2097152, [1, 32, 512, 64], Elem::F16),
    state!("past_key_values.16.value", 2097152, [1, 32, 512, 64], Elem::F16),
    state!("past_key_values.17.key", 2097152, [1, 32, 512, 64], Elem::F16),
    state!("past_key_values.17.value", 2097152, [1, 32, 512, 64], Elem::F16),
    state!("past_key_values.18.key", 2097152, [1, 32, 512, 64], Elem::F16),
    state!("past_key_values.18.value", 2097152, [1, 32, 512, 64], Elem::F16),
    state!("past_key_values.19.key", 2097152, [1, 32, 512, 64], Elem::F16),
    state!("past_key_values.19.value", 2097152, [1, 32, 512, 64], Elem::F16),
    state!("past_key_values.20.key", 2097152, [1, 32, 512, 64], Elem::F16),
    state!("past_key_values.20.value", 2097152, [1, 32, 512, 64], Elem::F16),
    state!("past_key_values.21.key", 2097152, [1, 32, 512, 64], Elem::F16),
    state!("past_key_values.21.value", 2097152, [1, 32, 512, 64], Elem::F16),
    state!("past_key_values.22.key", 2097152, [1, 32, 512, 64], Elem::F16),
    state!("past_key_values.22.value", 2097152, [1, 32, 512, 64], Elem::F16),
    state!("past_key_values.23.key", 2097152, [1, 32, 512, 64], Elem::F16),
    state!("past_key_values.23.value", 2097152, [1, 32, 512, 64], Elem::F16),
    state!("counters", 128, [32], Elem::U32),
];

static BUCKETS: &[Bucket] = &[
    Bucket {
        name: Borrowed("vision"),
        rows: 1,
        arena_bytes: 88180224,
        inputs: Borrowed(
            &[port!("pixel_values", "float32", Elem::F32, [1, 3, 384, 384])],
        ),
        outputs: Borrowed(
            &[port!("image_features", "float32", Elem::F32, [1, 81, 2048])],
        ),
        blocks: Borrowed(BUCKET_VISION),
    },
    Bucket {
        name: Borrowed("prefill"),
        rows: 128,
        arena_bytes: 12583936,
        inputs: Borrowed(&[]),
        outputs: Borrowed(&[]),
        blocks: Borrowed(BUCKET_PREFILL),
    },
    Bucket {
        name: Borrowed("decode"),
        rows: 1,
        arena_bytes: 210432,
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
        CONV_F32_1X3X384X384_1X1152X27X27_G1_K14X14_S14X14_D1X1_P0X0X0X0_BIAS, [13122, 1,
        1], [Input(0), Weight(0), Arena(0), Weight(1)], +,
        "/vision_model/embeddings/Conv [1, 1152, 27, 27]"
    ),
    row!(
        TRANSPOSE_1X1152X729_TO021, [3281, 1, 1], [Arena(0), Arena(3359232)], +,
        "/vision_model/embeddings/Transpose [1, 729, 1152]"
    ),
];

static BUCKET_VISION_1_TABLE: &[List<Arg>] = &[
    columns!(
        Weight(2), Weight(3), Weight(4), Weight(5), Weight(6), Weight(7), Weight(8),
        Weight(9), Weight(10), Weight(12), Weight(13), Weight(14), Weight(15),
        Weight(16), Weight(17), Weight(22), Weight(23)
    ),
    columns!(
        Arena(6718464), Weight(24), Weight(25), Weight(26), Weight(27), Weight(28),
        Weight(29), Weight(30), Weight(31), Weight(32), Weight(33), Weight(34),
        Weight(35), Weight(36), Weight(37), Weight(38), Weight(39)
    ),
    columns!(
        Arena(6718464), Weight(40), Weight(41), Weight(42), Weight(43), Weight(44),
        Weight(45), Weight(46), Weight(47), Weight(48), Weight(49), Weight(50),
        Weight(51), Weight(52), Weight(53), Weight(54), Weight(55)
    ),
    columns!(
        Arena(6718464), Weight(56), Weight(57), Weight(58), Weight(59), Weight(60),
        Weight(61), Weight(62), Weight(63), Weight(64), Weight(65), Weight(66),
        Weight(67), Weight(68), Weight(69), Weight(70), Weight(71)
    ),
    columns!(
        Arena(6718464), Weight(72), Weight(73), Weight(74), Weight(75), Weight(76),
        Weight(77), Weight(78), Weight(79), Weight(80), Weight(81), Weight(82),
        Weight(83), Weight(84), Weight(85), Weight(86), Weight(87)
    ),
    columns!(
        Arena(6718464), Weight(88), Weight(89), Weight(90), Weight(91), Weight(92),
        Weight(93), Weight(94), Weight(95), Weight(96), Weight(97), Weight(98),
        Weight(99), Weight(100), Weight(101), Weight(102), Weight(103)
    ),
    columns!(
        Arena(6718464), Weight(104), Weight(105), Weight(106), Weight(107), Weight(108),
        Weight(109), Weight(110), Weight(111), Weight(112), Weight(113), Weight(114),
        Weight(115), Weight(116), Weight(117), Weight(118), Weight(119)
    ),
    columns!(
        Arena(6718464), Weight(120), Weight(121), Weight(122), Weight(123), Weight(124),
        Weight(125), Weight(126), Weight(127), Weight(128), Weight(129), Weight(130),
        Weight(131), Weight(132), Weight(133), Weight(134), Weight(135)
    ),
    columns!(
        Arena(6718464), Weight(136), Weight(137), Weight(138), Weight(139), Weight(140),
        Weight(141), Weight(142), Weight(143), Weight(144), Weight(145), Weight(146),
        Weight(147), Weight(148), Weight(149), Weight(150), Weight(151)
    ),
    columns!(
        Arena(6718464), Weight(152), Weight(153), Weight(154), Weight(155), Weight(156),
        Weight(157), Weight(158), Weight(159), Weight(160), Weight(161), Weight(162),
        Weight(163), Weight(164), Weight(165), Weight(166), Weight(167)
    ),
    columns!(
        Arena(6718464), Weight(168), Weight(169), Weight(170), Weight(171), Weight(172),
        Weight(173), Weight(174), Weight(175), Weight(176), Weight(177), Weight(178),
        Weight(179), Weight(180), Weight(181), Weight(182), Weight(183)
    ),
    columns!(
        Arena(6718464), Weight(184), Weight(185), Weight(186), Weight(187), Weight(188),
        Weight(189), Weight(190), Weight(191), Weight(192), Weight(193), Weight(194),
        Weight(195), Weight(196), Weight(197), Weight(198), Weight(199)
    ),
    columns!(
        Arena(6718464), Weight(200), Weight(201), Weight(202), Weight(203), Weight(204),
        Weight(205), Weight(206), Weight(207), Weight(208), Weight(209), Weight(210),
        Weight(211), Weight(212), Weight(213), Weight(214), Weight(215)
    ),
    columns!(
        Arena(6718464), Weight(216), Weight(217), Weight(218), Weight(219), Weight(220),
        Weight(221), Weight(222), Weight(223), Weight(224), Weight(225), Weight(226),
        Weight(227), Weight(228), Weight(229), Weight(230), Weight(231)
    ),
    columns!(
        Arena(6718464), Weight(232), Weight(233), Weight(234), Weight(235), Weight(236),
        Weight(237), Weight(238), Weight(239), Weight(240), Weight(241), Weight(242),
        Weight(243), Weight(244), Weight(245), Weight(246), Weight(247)
    ),
    columns!(
        Arena(6718464), Weight(248), Weight(249), Weight(250), Weight(251), Weight(252),
        Weight(253), Weight(254), Weight(255), Weight(256), Weight(257), Weight(258),
        Weight(259), Weight(260), Weight(261), Weight(262), Weight(263)
    ),
    columns!(
        Arena(6718464), Weight(264), Weight(265), Weight(266), Weight(267), Weight(268),
        Weight(269), Weight(270), Weight(271), Weight(272), Weight(273), Weight(274),
        Weight(275), Weight(276), Weight(277), Weight(278), Weight(279)
    ),
    columns!(
        Arena(6718464), Weight(280), Weight(281), Weight(282), Weight(283), Weight(284),
        Weight(285), Weight(286), Weight(287), Weight(288), Weight(289), Weight(290),
        Weight(291), Weight(292), Weight(293), Weight(294), Weight(295)
    ),
    columns!(
        Arena(6718464), Weight(296), Weight(297), Weight(298), Weight(299), Weight(300),
        Weight(301), Weight(302), Weight(303), Weight(304), Weight(305), Weight(306),
        Weight(307), Weight(308), Weight(309), Weight(310), Weight(311)
    ),
    columns!(
        Arena(6718464), Weight(312), Weight(313), Weight(314), Weight(315), Weight(316),
        Weight(317), Weight(318), Weight(319), Weight(320), Weight(321), Weight(322),
        Weight(323), Weight(324), Weight(325), Weight(326), Weight(327)
    ),
    columns!(
        Arena(6718464), Weight(328), Weight(329), Weight(330), Weight(331), Weight(332),
        Weight(333), Weight(334), Weight(335), Weight(336), Weight(337), Weight(338),
        Weight(339), Weight(340), Weight(341), Weight(342), Weight(343)
    ),
    columns!(
        Arena(6718464), Weight(344), Weight(345), Weight(346), Weight(347), Weight(348),
        Weight(349), Weight(350), Weight(351), Weight(352), Weight(353), Weight(354),
        Weight(355), Weight(356), Weight(357), Weight(358), Weight(359)
    ),
    columns!(
        Arena(6718464), Weight(360), Weight(361), Weight(362), Weight(363), Weight(364),
        Weight(365), Weight(366), Weight(367), Weight(368), Weight(369), Weight(370),
        Weight(371), Weight(372), Weight(373), Weight(374), Weight(375)
    ),
    columns!(
        Arena(6718464), Weight(376), Weight(377), Weight(378), Weight(379), Weight(380),
        Weight(381), Weight(382), Weight(383), Weight(384), Weight(385), Weight(386),
        Weight(387), Weight(388), Weight(389), Weight(390), Weight(391)
    ),
    columns!(
        Arena(6718464), Weight(392), Weight(393), Weight(394), Weight(395), Weight(396),
        Weight(397), Weight(398), Weight(399), Weight(400), Weight(401), Weight(402),
        Weight(403), Weight(404), Weight(405), Weight(406), Weight(407)
    ),
    columns!(
        Arena(6718464), Weight(408), Weight(409), Weight(410), Weight(411), Weight(412),
        Weight(413), Weight(414), Weight(415), Weight(416), Weight(417), Weight(418),
        Weight(419), Weight(420), Weight(421), Weight(422), Weight(423)
    ),
    columns!(
        Arena(6718464), Weight(424), Weight(425), Weight(426), Weight(427), Weight(428),
        Weight(429), Weight(430), Weight(431), Weight(432), Weight(433), Weight(434),
        Weight(435), Weight(436), Weight(437), Weight(438), Weight(439)
    ),
];

static BUCKET_VISION_1_ROWS: &[Dispatch] = &[
    row!(
        ADD_F32_1X729X1152_1X729X1152, [3281, 1, 1], [Arena(3359232), Column(0),
        Arena(0)], +, "/vision_model/embeddings/Add [1, 729, 1152]"
    ),
    row!(
        LAYER_NORM_F32_1X729X1152_AXIS2_1152_SHIFT, [729, 1, 1], [Arena(0),
        Arena(3359232), Column(1), Column(2)], +,
        "/vision_model/encoder/layers.{l}/layer_norm1/LayerNormalization [1, 729, 1152]"
    ),
    row!(
        MATMUL_F32_1X729X1152_1152X1152, [828, 1, 1], [Arena(3359232), Column(3),
        Arena(6718464)], +,
        "/vision_model/encoder/layers.{l}/self_attn/q_proj/MatMul [1, 729, 1152]"
    ),
    row!(
        ADD_F32_1152_1X729X1152, [3281, 1, 1], [Column(4), Arena(6718464),
        Arena(10077696)], +,
        "/vision_model/encoder/layers.{l}/self_attn/q_proj/Add [1, 729, 1152]"
    ),
    row!(
        TRANSPOSE_1X729X16X72_TO0213, [3281, 1, 1], [Arena(10077696), Arena(6718464)], +,
        "/vision_model/encoder/layers.{l}/self_attn/Transpose [1, 16, 729, 72]"
    ),
    row!(
        MATMUL_F32_1X729X1152_1152X1152, [828, 1, 1], [Arena(3359232), Column(5),
        Arena(13436928)], -,
        "/vision_model/encoder/layers.{l}/self_attn/k_proj/MatMul [1, 729, 1152]"
    ),
    row!(
        ADD_F32_1152_1X729X1152, [3281, 1, 1], [Column(6), Arena(13436928),
        Arena(10077696)], +,
        "/vision_model/encoder/layers.{l}/self_attn/k_proj/Add [1, 729, 1152]"
    ),
    row!(
        MATMUL_F32_1X729X1152_1152X1152, [828, 1, 1], [Arena(3359232), Column(7),
        Arena(16796160)], -,
        "/vision_model/encoder/layers.{l}/self_attn/v_proj/MatMul [1, 729, 1152]"
    ),
    row!(
        ADD_F32_1152_1X729X1152, [3281, 1, 1], [Column(8), Arena(16796160),
        Arena(3359232)], +,
        "/vision_model/encoder/layers.{l}/self_attn/v_proj/Add [1, 729, 1152]"
    ),
    row!(
        TRANSPOSE_1X729X16X72_TO0213, [3281, 1, 1], [Arena(3359232), Arena(13436928)], +,
        "/vision_model/encoder/layers.{l}/self_attn/Transpose_2 [1, 16, 729, 72]"
    ),
    row!(
        TRANSPOSE_1X729X16X72_TO0231, [3281, 1, 1], [Arena(10077696), Arena(16796160)],
        -, "/vision_model/encoder/layers.{l}/self_attn/Transpose_3 [1, 16, 72, 729]"
    ),
    row!(
        MATMUL_F32_1X16X729X72_1X16X72X729, [8464, 1, 1], [Arena(6718464),
        Arena(16796160), Arena(20155392)], +,
        "/vision_model/encoder/layers.{l}/self_attn/MatMul [1, 16, 729, 729]"
    ),
    row!(
        MUL_F32_1X16X729X729_1, [33216, 1, 1], [Arena(20155392), Weight(11),
        Arena(54167808)], +,
        "/vision_model/encoder/layers.{l}/self_attn/Mul [1, 16, 729, 729]"
    ),
    row!(
        SOFTMAX_F32_11664X729BY1, [11664, 1, 1], [Arena(54167808), Arena(16796160)], +,
        "/vision_model/encoder/layers.{l}/self_attn/Softmax [1, 16, 729, 729]"
    ),
    row!(
        MATMUL_F32_1X16X729X729_1X16X729X72, [1104, 1, 1], [Arena(16796160),
        Arena(13436928), Arena(3359232)], +,
        "/vision_model/encoder/layers.{l}/self_attn/MatMul_1 [1, 16, 729, 72]"
    ),
    row!(
        TRANSPOSE_1X16X729X72_TO0213, [3281, 1, 1], [Arena(3359232), Arena(6718464)], +,
        "/vision_model/encoder/layers.{l}/self_attn/Transpose_4 [1, 729, 16, 72]"
    ),
    row!(
        MATMUL_F32_1X729X1152_1152X1152, [828, 1, 1], [Arena(6718464), Column(9),
        Arena(3359232)], +,
        "/vision_model/encoder/layers.{l}/self_attn/out_proj/MatMul [1, 729, 1152]"
    ),
    row!(
        ADD_F32_1152_1X729X1152, [3281, 1, 1], [Column(10), Arena(3359232),
        Arena(6718464)], +,
        "/vision_model/encoder/layers.{l}/self_attn/out_proj/Add [1, 729, 1152]"
    ),
    row!(
        ADD_F32_1X729X1152_1X729X1152, [3281, 1, 1], [Arena(0), Arena(6718464),
        Arena(3359232)], +, "/vision_model/encoder/layers.{l}/Add [1, 729, 1152]"
    ),
    row!(
        LAYER_NORM_F32_1X729X1152_AXIS2_1152_SHIFT, [729, 1, 1], [Arena(3359232),
        Arena(0), Column(11), Column(12)], +,
        "/vision_model/encoder/layers.{l}/layer_norm2/LayerNormalization [1, 729, 1152]"
    ),
    row!(
        MATMUL_F32_1X729X1152_1152X4304, [3105, 1, 1], [Arena(0), Column(13),
        Arena(6718464)], +,
        "/vision_model/encoder/layers.{l}/mlp/fc1/MatMul [1, 729, 4304]"
    ),
    row!(
        ADD_F32_4304_1X729X4304, [12257, 1, 1], [Column(14), Arena(6718464),
        Arena(19269120)], +,
        "/vision_model/encoder/layers.{l}/mlp/fc1/Add [1, 729, 4304]"
    ),
    row!(
        MUL_F32_1X729X4304_1X729X4304, [12257, 1, 1], [Arena(19269120), Arena(19269120),
        Arena(6718464)], +,
        "/vision_model/encoder/layers.{l}/mlp/activation_fn/Mul [1, 729, 4304]"
    ),
    row!(
        MUL_F32_1X729X4304_1X729X4304, [12257, 1, 1], [Arena(6718464), Arena(19269120),
        Arena(31819776)], +,
        "/vision_model/encoder/layers.{l}/mlp/activation_fn/Mul_1 [1, 729, 4304]"
    ),
    row!(
        MUL_F32_1_1X729X4304, [12257, 1, 1], [Weight(18), Arena(31819776),
        Arena(6718464)], +,
        "/vision_model/encoder/layers.{l}/mlp/activation_fn/Mul_2 [1, 729, 4304]"
    ),
    row!(
        ADD_F32_1X729X4304_1X729X4304, [12257, 1, 1], [Arena(19269120), Arena(6718464),
        Arena(31819776)], +,
        "/vision_model/encoder/layers.{l}/mlp/activation_fn/Add [1, 729, 4304]"
    ),
    row!(
        MUL_F32_1_1X729X4304, [12257, 1, 1], [Weight(19), Arena(31819776),
        Arena(6718464)], +,
        "/vision_model/encoder/layers.{l}/mlp/activation_fn/Mul_3 [1, 729, 4304]"
    ),
    row!(
        MUL_F32_1_1X729X4304, [12257, 1, 1], [Weight(20), Arena(19269120),
        Arena(44370432)], -,
        "/vision_model/encoder/layers.{l}/mlp/activation_fn/Mul_4 [1, 729, 4304]"
    ),
    row!(
        TANH_F32_N3137616, [12257, 1, 1], [Arena(6718464), Arena(19269120)], +,
        "/vision_model/encoder/layers.{l}/mlp/activation_fn/Tanh [1, 729, 4304]"
    ),
    row!(
        ADD_F32_1_1X729X4304, [12257, 1, 1], [Weight(21), Arena(19269120),
        Arena(6718464)], +,
        "/vision_model/encoder/layers.{l}/mlp/activation_fn/Add_1 [1, 729, 4304]"
    ),
    row!(
        MUL_F32_1X729X4304_1X729X4304, [12257, 1, 1], [Arena(44370432), Arena(6718464),
        Arena(19269120)], +,
        "/vision_model/encoder/layers.{l}/mlp/activation_fn/Mul_5 [1, 729, 4304]"
    ),
    row!(
        MATMUL_F32_1X729X4304_4304X1152, [828, 1, 1], [Arena(19269120), Column(15),
        Arena(0)], +, "/vision_model/encoder/layers.{l}/mlp/fc2/MatMul [1, 729, 1152]"
    ),
    row!(
        ADD_F32_1152_1X729X1152, [3281, 1, 1], [Column(16), Arena(0), Arena(6718464)], +,
        "/vision_model/encoder/layers.{l}/mlp/fc2/Add [1, 729, 1152]"
    ),
];

static BUCKET_VISION_2_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_VISION_2_ROWS: &[Dispatch] = &[
    row!(
        ADD_F32_1X729X1152_1X729X1152, [3281, 1, 1], [Arena(3359232), Arena(6718464),
        Arena(0)], +, "/vision_model/encoder/layers.26/Add_1 [1, 729, 1152]"
    ),
    row!(
        LAYER_NORM_F32_1X729X1152_AXIS2_1152_SHIFT, [729, 1, 1], [Arena(0),
        Arena(3359232), Weight(440), Weight(441)], +,
        "/vision_model/post_layernorm/LayerNormalization [1, 729, 1152]"
    ),
    row!(
        TRANSPOSE_1X27X9X3456_TO0213, [3281, 1, 1], [Arena(3359232), Arena(0)], +,
        "/connector/Transpose [1, 9, 27, 3456]"
    ),
    row!(
        TRANSPOSE_1X9X9X10368_TO0213, [3281, 1, 1], [Arena(0), Arena(3359232)], +,
        "/connector/Transpose_1 [1, 9, 9, 10368]"
    ),
    row!(
        MATMUL_F32_1X81X10368_10368X2048, [192, 1, 1], [Arena(3359232), Weight(442),
        Output(0)], +, "/connector/modality_projection/proj/MatMul [1, 81, 2048]"
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
        GATHER_F16_M128_K2048_ROWS49280, [4096, 1, 1], [Weight(443), Tokens, Arena(0),
        Step], +, "/embed_tokens/Gather [1, 128, 2048]"
    ),
];

static BUCKET_PREFILL_1_TABLE: &[List<Arg>] = &[
    columns!(
        Weight(444), Weight(445), Arg::State(0), Arg::State(1), Weight(448), Weight(449),
        Weight(450), Weight(451)
    ),
    columns!(
        Weight(452), Weight(453), Arg::State(2), Arg::State(3), Weight(454), Weight(455),
        Weight(456), Weight(457)
    ),
    columns!(
        Weight(458), Weight(459), Arg::State(4), Arg::State(5), Weight(460), Weight(461),
        Weight(462), Weight(463)
    ),
    columns!(
        Weight(464), Weight(465), Arg::State(6), Arg::State(7), Weight(466), Weight(467),
        Weight(468), Weight(469)
    ),
    columns!(
        Weight(470), Weight(471), Arg::State(8), Arg::State(9), Weight(472), Weight(473),
        Weight(474), Weight(475)
    ),
    columns!(
        Weight(476), Weight(477), Arg::State(10), Arg::State(11), Weight(478),
        Weight(479), Weight(480), Weight(481)
    ),
    columns!(
        Weight(482), Weight(483), Arg::State(12), Arg::State(13), Weight(484),
        Weight(485), Weight(486), Weight(487)
    ),
    columns!(
        Weight(488), Weight(489), Arg::State(14), Arg::State(15), Weight(490),
        Weight(491), Weight(492), Weight(493)
    ),
    columns!(
        Weight(494), Weight(495), Arg::State(16), Arg::State(17), Weight(496),
        Weight(497), Weight(498), Weight(499)
    ),
    columns!(
        Weight(500), Weight(501), Arg::State(18), Arg::State(19), Weight(502),
        Weight(503), Weight(504), Weight(505)
    ),
    columns!(
        Weight(506), Weight(507), Arg::State(20), Arg::State(21), Weight(508),
        Weight(509), Weight(510), Weight(511)
    ),
    columns!(
        Weight(512), Weight(513), Arg::State(22), Arg::State(23), Weight(514),
        Weight(515), Weight(516), Weight(517)
    ),
    columns!(
        Weight(518), Weight(519), Arg::State(24), Arg::State(25), Weight(520),
        Weight(521), Weight(522), Weight(523)
    ),
    columns!(
        Weight(524), Weight(525), Arg::State(26), Arg::State(27), Weight(526),
        Weight(527), Weight(528), Weight(529)
    ),
    columns!(
        Weight(530), Weight(531), Arg::State(28), Arg::State(29), Weight(532),
        Weight(533), Weight(534), Weight(535)
    ),
    columns!(
        Weight(536), Weight(537), Arg::State(30), Arg::State(31), Weight(538),
        Weight(539), Weight(540), Weight(541)
    ),
    columns!(
        Weight(542), Weight(543), Arg::State(32), Arg::State(33), Weight(544),
        Weight(545), Weight(546), Weight(547)
    ),
    columns!(
        Weight(548), Weight(549), Arg::State(34), Arg::State(35), Weight(550),
        Weight(551), Weight(552), Weight(553)
    ),
    columns!(
        Weight(554), Weight(555), Arg::State(36), Arg::State(37), Weight(556),
        Weight(557), Weight(558), Weight(559)
    ),
    columns!(
        Weight(560), Weight(561), Arg::State(38), Arg::State(39), Weight(562),
        Weight(563), Weight(564), Weight(565)
    ),
    columns!(
        Weight(566), Weight(567), Arg::State(40), Arg::State(41), Weight(568),
        Weight(569), Weight(570), Weight(571)
    ),
    columns!(
        Weight(572), Weight(573), Arg::State(42), Arg::State(43), Weight(574),
        Weight(575), Weight(576), Weight(577)
    ),
    columns!(
        Weight(578), Weight(579), Arg::State(44), Arg::State(45), Weight(580),
        Weight(581), Weight(582), Weight(583)
    ),
    columns!(
        Weight(584), Weight(585), Arg::State(46), Arg::State(47), Weight(586),
        Weight(587), Weight(588), Weight(589)
    ),
];

static BUCKET_PREFILL_1_ROWS: &[Dispatch] = &[
    row!(
        HALVES_M128_K2048_RMS, [128, 1, 1], [Arena(0), Arena(1048576), Step, Column(0)],
        +, "/model/layers.{l}/self_attn/Add [1, 32, 128, 64]"
    ),
    row!(
        QKV_F16_M128_K2048_H32_32_D64_C512_RMS, [96, 4, 1], [Arena(0), Column(1),
        Arena(2097664), Column(2), Column(3), Step, Step, Step, Column(0), Weight(446),
        Weight(447), Arena(1048576)], +,
        "/model/layers.{l}/self_attn/Add [1, 32, 128, 64]"
    ),
    row!(
        ATTEND_F16_M128_H32_32_D64_C512, [32, 32, 1], [Arena(2097664), Column(2),
        Column(3), Arena(1048576), Step, Step], +,
        "/model/layers.{l}/self_attn/MatMul_1 [1, 128, 2048]"
    ),
    row!(
        HALVES_M128_K2048, [128, 1, 1], [Arena(1048576), Arena(2097152), Step], +,
        "/model/layers.{l}/Add [1, 128, 2048]"
    ),
    row!(
        MATMUL_F16_M128_K2048_N2048_ADD, [32, 4, 1], [Arena(1048576), Column(4),
        Arena(3146240), Step, Arena(0), Arena(2097152)], +,
        "/model/layers.{l}/Add [1, 128, 2048]"
    ),
    row!(
        HALVES_M128_K2048_RMS, [128, 1, 1], [Arena(3146240), Arena(0), Step, Column(5)],
        +, "/model/layers.{l}/mlp/Mul [1, 128, 8192]"
    ),
    row!(
        GATED_MATMUL_F16_M128_K2048_N8192_RMS_SILU, [128, 2, 1], [Arena(3146240),
        Column(6), Arena(4194816), Step, Column(5), Arena(0)], +,
        "/model/layers.{l}/mlp/Mul [1, 128, 8192]"
    ),
    row!(
        HALVES_M128_K8192, [128, 1, 1], [Arena(4194816), Arena(8389120), Step], +,
        "/model/layers.{l}/Add_1 [1, 128, 2048]"
    ),
    row!(
        MATMUL_F16_M128_K8192_N2048_ADD, [32, 4, 1], [Arena(4194816), Column(7),
        Arena(0), Step, Arena(3146240), Arena(8389120)], +,
        "/model/layers.{l}/Add_1 [1, 128, 2048]"
    ),
];

static BUCKET_PREFILL_2_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_PREFILL_2_ROWS: &[Dispatch] = &[
    row!(LAST_ROW_F32_M128_K2048, [32, 1, 1], [Arena(0), Step, Arena(1048576)], +, "last_row [1, 1, 2048]"),
    row!(
        MATVEC_F16_M1_K2048_N49280_RMS, [6160, 1, 1], [Arena(1048576), Weight(590),
        Logits, Step, Weight(591)], +, "/lm_head/MatMul [1, 1, 49280]"
    ),
];

static BUCKET_PREFILL_3_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_PREFILL_3_ROWS: &[Dispatch] = &[
    row!(ARGMAX_F32_N49280, [49, 1, 1], [Logits, Arena(0), Step], +, "best of each slice [49]"),
    row!(NEXT_TOKEN_N49280, [1, 1, 1], [Arena(0), Step, Tokens, Ring, History], +, "next token [49280]"),
];

static BUCKET_PREFILL_4_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_PREFILL_4_ROWS: &[Dispatch] = &[
    row!(
        DRAW_SCALE_N49280, [49, 1, 1], [Logits, Step, History, Arena(0), Arena(197120),
        Arena(197376), Arena(201728)], +, "penalty and temperature [49280]"
    ),
];

static BUCKET_PREFILL_5_TABLE: &[List<Arg>] = &[
    columns!(Arena(197376), Arena(201728), Arena(206080)),
    columns!(Arena(201728), Arena(206080), Arena(197376)),
    columns!(Arena(206080), Arena(197376), Arena(201728)),
    columns!(Arena(197376), Arena(201728), Arena(206080)),
    columns!(Arena(201728), Arena(206080), Arena(197376)),
    columns!(Arena(206080), Arena(197376), Arena(201728)),
    columns!(Arena(197376), Arena(201728), Arena(206080)),
    columns!(Arena(201728), Arena(206080), Arena(197376)),
];

static BUCKET_PREFILL_5_ROWS: &[Dispatch] = &[
    row!(
        DRAW_SEARCH_N49280, [49, 1, 1], [Arena(0), Arena(197120), Step, Column(0),
        Column(1), Column(2)], +, "digit {l} of top-k, then top-p"
    ),
];

static BUCKET_PREFILL_6_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_PREFILL_6_ROWS: &[Dispatch] = &[
    row!(
        DRAW_SUM_N49280, [49, 1, 1], [Arena(0), Arena(197120), Step, Arena(206080),
        Arena(197376), Arena(197632)], +, "mass of each slice [49]"
    ),
    row!(
        DRAW_PICK_N49280, [1, 1, 1], [Arena(0), Arena(197376), Arena(197632), Step,
        Tokens, Ring, History], +, "next token, drawn [49280]"
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
        GATHER_F16_M1_K2048_ROWS49280, [32, 1, 1], [Weight(443), Tokens, Arena(0), Step],
        +, "/embed_tokens/Gather [1, 1, 2048]"
    ),
];

static BUCKET_DECODE_1_TABLE: &[List<Arg>] = &[
    columns!(
        Weight(445), Arg::State(0), Arg::State(1), Weight(444), Weight(448), Weight(450),
        Weight(449), Weight(451)
    ),
    columns!(
        Weight(453), Arg::State(2), Arg::State(3), Weight(452), Weight(454), Weight(456),
        Weight(455), Weight(457)
    ),
    columns!(
        Weight(459), Arg::State(4), Arg::State(5), Weight(458), Weight(460), Weight(462),
        Weight(461), Weight(463)
    ),
    columns!(
        Weight(465), Arg::State(6), Arg::State(7), Weight(464), Weight(466), Weight(468),
        Weight(467), Weight(469)
    ),
    columns!(
        Weight(471), Arg::State(8), Arg::State(9), Weight(470), Weight(472), Weight(474),
        Weight(473), Weight(475)
    ),
    columns!(
        Weight(477), Arg::State(10), Arg::State(11), Weight(476), Weight(478),
        Weight(480), Weight(479), Weight(481)
    ),
    columns!(
        Weight(483), Arg::State(12), Arg::State(13), Weight(482), Weight(484),
        Weight(486), Weight(485), Weight(487)
    ),
    columns!(
        Weight(489), Arg::State(14), Arg::State(15), Weight(488), Weight(490),
        Weight(492), Weight(491), Weight(493)
    ),
    columns!(
        Weight(495), Arg::State(16), Arg::State(17), Weight(494), Weight(496),
        Weight(498), Weight(497), Weight(499)
    ),
    columns!(
        Weight(501), Arg::State(18), Arg::State(19), Weight(500), Weight(502),
        Weight(504), Weight(503), Weight(505)
    ),
    columns!(
        Weight(507), Arg::State(20), Arg::State(21), Weight(506), Weight(508),
        Weight(510), Weight(509), Weight(511)
    ),
    columns!(
        Weight(513), Arg::State(22), Arg::State(23), Weight(512), Weight(514),
        Weight(516), Weight(515), Weight(517)
    ),
    columns!(
        Weight(519), Arg::State(24), Arg::State(25), Weight(518), Weight(520),
        Weight(522), Weight(521), Weight(523)
    ),
    columns!(
        Weight(525), Arg::State(26), Arg::State(27), Weight(524), Weight(526),
        Weight(528), Weight(527), Weight(529)
    ),
    columns!(
        Weight(531), Arg::State(28), Arg::State(29), Weight(530), Weight(532),
        Weight(534), Weight(533), Weight(535)
    ),
    columns!(
        Weight(537), Arg::State(30), Arg::State(31), Weight(536), Weight(538),
        Weight(540), Weight(539), Weight(541)
    ),
    columns!(
        Weight(543), Arg::State(32), Arg::State(33), Weight(542), Weight(544),
        Weight(546), Weight(545), Weight(547)
    ),
    columns!(
        Weight(549), Arg::State(34), Arg::State(35), Weight(548), Weight(550),
        Weight(552), Weight(551), Weight(553)
    ),
    columns!(
        Weight(555), Arg::State(36), Arg::State(37), Weight(554), Weight(556),
        Weight(558), Weight(557), Weight(559)
    ),
    columns!(
        Weight(561), Arg::State(38), Arg::State(39), Weight(560), Weight(562),
        Weight(564), Weight(563), Weight(565)
    ),
    columns!(
        Weight(567), Arg::State(40), Arg::State(41), Weight(566), Weight(568),
        Weight(570), Weight(569), Weight(571)
    ),
    columns!(
        Weight(573), Arg::State(42), Arg::State(43), Weight(572), Weight(574),
        Weight(576), Weight(575), Weight(577)
    ),
    columns!(
        Weight(579), Arg::State(44), Arg::State(45), Weight(578), Weight(580),
        Weight(582), Weight(581), Weight(583)
    ),
    columns!(
        Weight(585), Arg::State(46), Arg::State(47), Weight(584), Weight(586),
        Weight(588), Weight(587), Weight(589)
    ),
];

static BUCKET_DECODE_1_ROWS: &[Dispatch] = &[
    row!(
        QKV_F16_M1_K2048_H32_32_D64_C512_RMS, [512, 1, 1], [Arena(0), Column(0),
        Arena(8192), Column(1), Column(2), Step, Step, Step, Column(3), Weight(446),
        Weight(447)], +, "/model/layers.{l}/self_attn/Add [1, 32, 1, 64]"
    ),
    row!(
        ATTEND_F16_M1_H32_32_D64_C512, [32, 2, 1], [Arena(8192), Column(1), Column(2),
        Arena(16384), Step, Arena(24576), Arg::State(48), Step], +,
        "/model/layers.{l}/self_attn/MatMul_1 [1, 1, 2048]"
    ),
    row!(
        MATVEC_F16_M1_K2048_N2048_ADD, [512, 1, 1], [Arena(16384), Column(4),
        Arena(8192), Step, Arena(0)], +, "/model/layers.{l}/Add [1, 1, 2048]"
    ),
    row!(
        GATED_MATVEC_F16_M1_K2048_N8192_RMS_SILU, [1366, 1, 1], [Arena(8192), Column(5),
        Arena(16384), Step, Column(6)], +, "/model/layers.{l}/mlp/Mul [1, 1, 8192]"
    ),
    row!(
        MATVEC_F16_M1_K8192_N2048_ADD, [512, 1, 1], [Arena(16384), Column(7), Arena(0),
        Step, Arena(8192)], +, "/model/layers.{l}/Add_1 [1, 1, 2048]"
    ),
];

static BUCKET_DECODE_2_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_DECODE_2_ROWS: &[Dispatch] = &[
    row!(
        MATVEC_F16_M1_K2048_N49280_RMS, [6160, 1, 1], [Arena(0), Weight(590), Logits,
        Step, Weight(591)], +, "/lm_head/MatMul [1, 1, 49280]"
    ),
];

static BUCKET_DECODE_3_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_DECODE_3_ROWS: &[Dispatch] = &[
    row!(ARGMAX_F32_N49280, [49, 1, 1], [Logits, Arena(0), Step], +, "best of each slice [49]"),
    row!(NEXT_TOKEN_N49280, [1, 1, 1], [Arena(0), Step, Tokens, Ring, History], +, "next token [49280]"),
];

static BUCKET_DECODE_4_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_DECODE_4_ROWS: &[Dispatch] = &[
    row!(
        DRAW_SCALE_N49280, [49, 1, 1], [Logits, Step, History, Arena(0), Arena(197120),
        Arena(197376), Arena(201728)], +, "penalty and temperature [49280]"
    ),
];

static BUCKET_DECODE_5_TABLE: &[List<Arg>] = &[
    columns!(Arena(197376), Arena(201728), Arena(206080)),
    columns!(Arena(201728), Arena(206080), Arena(197376)),
    columns!(Arena(206080), Arena(197376), Arena(201728)),
    columns!(Arena(197376), Arena(201728), Arena(206080)),
    columns!(Arena(201728), Arena(206080), Arena(197376)),
    columns!(Arena(206080), Arena(197376), Arena(201728)),
    columns!(Arena(197376), Arena(201728), Arena(206080)),
    columns!(Arena(201728), Arena(206080), Arena(197376)),
];

static BUCKET_DECODE_5_ROWS: &[Dispatch] = &[
    row!(
        DRAW_SEARCH_N49280, [49, 1, 1], [Arena(0), Arena(197120), Step, Column(0),
        Column(1), Column(2)], +, "digit {l} of top-k, then top-p"
    ),
];

static BUCKET_DECODE_6_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_DECODE_6_ROWS: &[Dispatch] = &[
    row!(
        DRAW_SUM_N49280, [49, 1, 1], [Arena(0), Arena(197120), Step, Arena(206080),
        Arena(197376), Arena(197632)], +, "mass of each slice [49]"
    ),
    row!(
        DRAW_PICK_N49280, [1, 1, 1], [Arena(0), Arena(197376), Arena(197632), Step,
        Tokens, Ring, History], +, "next token, drawn [49280]"
    ),
];
