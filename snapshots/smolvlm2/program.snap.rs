// Written by onnxcast 0.1.0 from models/smolvlm2/model.toml. Do not edit: make model=NAME writes it again.

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
        name: Borrowed("smolvlm2"),
        plan_hash: Borrowed(""),
        kernels: Borrowed(KERNELS),
        variants: Borrowed(VARIANTS),
        tensors: unrolled(TENSORS),
        states: unrolled(STATES),
        buckets: Borrowed(BUCKETS),
        decoder: Some(Decoder {
            context: 512,
            vocab: 49280,
            decode: 2,
            prefill: 1,
            pictures: Some(onnxcast_runtime::program::Pictures {
                bucket: 0,
                state: 0,
                rows: 81,
                slots: 4,
            }),
        }),
    }
}

const SLICE_1X3X384X384_AT0X0X0X0_BY1X1X1X1_1X3X378X378: u32 = 0;
const TRANSPOSE_1X3X27X14X27X14_TO024135: u32 = 1;
const PAD_CONSTANT_1X729X588_1X729X592_AT0X0X0: u32 = 2;
const HALVES_M729_K592_TO608: u32 = 3;
const MATMUL_F16_M729_K592_N1152_BIAS_ADD: u32 = 4;
const MATMUL_F16_M729_K592_N1152_BIAS_ADD_ADD_UP_ON_LAYER: u32 = 5;
const MATMUL_F16_M729_K1152_N3456_LAYER_BIAS: u32 = 6;
const ATTENTION_F32_B1_M729_T729_H16_16_D72_PACKED_FULL: u32 = 7;
const HALVES_M729_K1152: u32 = 8;
const MATMUL_F16_M729_K1152_N1152_BIAS_ADD: u32 = 9;
const HALVES_M729_K1152_LAYER: u32 = 10;
const MATMUL_F16_M729_K1152_N4304_LAYER_BIAS_GELUTANH: u32 = 11;
const HALVES_M729_K4304_TO4352: u32 = 12;
const MATMUL_F16_M729_K4304_N1152_BIAS_ADD: u32 = 13;
const LAYER_NORM_F32_1X729X1152_AXIS2_1152_SHIFT: u32 = 14;
const TRANSPOSE_9X3X9X3456_TO0213: u32 = 15;
const HALVES_M81_K10368: u32 = 16;
const MATMUL_F16_M81_K10368_N2048: u32 = 17;
const MATMUL_F16_M81_K10368_N2048_ADD_UP: u32 = 18;
const KV_WRITE_F32_M81_H1_D2048_C324: u32 = 19;
const GATHER_F16_M128_K2048_ROWS49280_PICTURES324: u32 = 20;
const HALVES_M128_K2048_RMS: u32 = 21;
const QKV_F16_M128_K2048_H32_32_D64_C512_RMS: u32 = 22;
const QKV_F16_M128_K2048_H32_32_D64_C512_RMS_ADD_UP: u32 = 23;
const ATTEND_F16_M128_H32_32_D64_C512: u32 = 24;
const HALVES_M128_K2048: u32 = 25;
const MATMUL_F16_M128_K2048_N2048_ADD: u32 = 26;
const GATED_MATMUL_F16_M128_K2048_N8192_RMS_SILU: u32 = 27;
const HALVES_M128_K8192: u32 = 28;
const MATMUL_F16_M128_K8192_N2048_ADD: u32 = 29;
const MATMUL_F16_M128_K8192_N2048_ADD_ADD_UP_ON_RMS: u32 = 30;
const MATMUL_F16_M128_K8192_N2048_ADD_ADD_UP: u32 = 31;
const LAST_ROW_F32_M128_K2048: u32 = 32;
const MATVEC_F16_M1_K2048_N49280_RMS: u32 = 33;
const ARGMAX_F32_N49280: u32 = 34;
const NEXT_TOKEN_N49280: u32 = 35;
const DRAW_SCALE_N49280: u32 = 36;
const DRAW_SEARCH_N49280: u32 = 37;
const DRAW_SUM_N49280: u32 = 38;
const DRAW_PICK_N49280: u32 = 39;
const GATHER_F16_M1_K2048_ROWS49280_PICTURES324: u32 = 40;
const QKV_F16_M1_K2048_H32_32_D64_C512_RMS: u32 = 41;
const QKV_F16_M1_K2048_H32_32_D64_C512_RMS_BY2: u32 = 42;
const ATTEND_F16_M1_H32_32_D64_C512: u32 = 43;
const MATVEC_F16_M1_K2048_N2048_ADD: u32 = 44;
const MATVEC_F16_M1_K2048_N2048_ADD_BY2: u32 = 45;
const GATED_MATVEC_F16_M1_K2048_N8192_RMS_SILU: u32 = 46;
const GATED_MATVEC_F16_M1_K2048_N8192_RMS_SILU_BY8: u32 = 47;
const MATVEC_F16_M1_K8192_N2048_ADD: u32 = 48;
const MATVEC_F16_M1_K8192_N2048_ADD_BY2: u32 = 49;

static KERNELS: &[Kernel] = &[
    kernel!(
        "slice_1x3x384x384_at0x0x0x0_by1x1x1x1_1x3x378x378", "copy.comp", args 2, writes 2, [N = "428652", FROM = "0",
        TO = "0", RANK = "3", DIMS = "3u,378u,378u", FROM_STRIDES = "147456,384,1", TO_STRIDES = "142884,378,1"]
    ),
    kernel!(
        "transpose_1x3x27x14x27x14_to024135", "copy.comp", args 2, writes 2, [N = "428652", FROM = "0", TO = "0", RANK =
        "5", DIMS = "27u,27u,3u,14u,14u", FROM_STRIDES = "5292,14,142884,378,1", TO_STRIDES = "15876,588,196,14,1"]
    ),
    kernel!(
        "pad_constant_1x729x588_1x729x592_at0x0x0", "pad.comp", args 2, writes 2, [N = "431568", RANK = "3", DIMS =
        "1u,729u,592u", X_DIMS = "1,729,588", X_STRIDES = "428652,588,1", BEGINS = "0,0,0", MODE = "0", VALUE = "0"]
    ),
    kernel!(
        "halves_m729_k592_to608", "halves.comp", args 2, writes 2, [M = "729", K = "592", ROWS = "768", HALVES = "2",
        LOCAL = "256", LIVE = "0", K_PADDED = "608", NORM = "0", EPS = "0.0"], matrix[MATRIX = "1"]
    ),
    kernel!(
        "matmul_f16_m729_k592_n1152_bias_add", "linear.comp", args 7, writes 68, [M = "729", K = "592", N = "1152",
        WEIGHT_BITS = "16", ACT = "0", BIAS = "1", RESIDUAL = "1", LIVE = "0", THREAD_ROWS = "8", LOCAL = "64", NORM =
        "0", EPS = "0.0", HALVES = "2", SPLITS = "3"], matrix[MATRIX = "1", ROWS = "768", K_PADDED = "608", TILE_M =
        "128", TILE_N = "192", TILE_K = "32", PARTS_M = "2", PARTS_N = "4", PARTS_K = "1"]
    ),
    kernel!(
        "matmul_f16_m729_k592_n1152_bias_add_add_up_on_layer", "linear.comp", args 10, writes 132, [M = "729", K =
        "592", N = "1152", WEIGHT_BITS = "16", ACT = "0", BIAS = "1", RESIDUAL = "1", LIVE = "0", THREAD_ROWS = "8",
        LOCAL = "256", NORM = "0", EPS = "0.0", HALVES = "2", SPLITS = "3", ADD_UP = "1", HANDED = "2", HANDED_K =
        "1152", HANDED_ROWS = "768", HANDED_NORM = "2", HANDED_EPS = "1e-6"], matrix[MATRIX = "1"]
    ),
    kernel!(
        "matmul_f16_m729_k1152_n3456_layer_bias", "linear.comp", args 7, writes 4, [M = "729", K = "1152", N = "3456",
        WEIGHT_BITS = "16", ACT = "0", BIAS = "1", RESIDUAL = "0", LIVE = "0", THREAD_ROWS = "8", LOCAL = "64", NORM =
        "2", EPS = "1e-6", HALVES = "2", SPLITS = "1"], matrix[MATRIX = "1", ROWS = "768", TILE_M = "128", TILE_N =
        "192", TILE_K = "32", PARTS_M = "2", PARTS_N = "4", PARTS_K = "1"]
    ),
    kernel!(
        "attention_f32_b1_m729_t729_h16_16_d72_packed_full", "attention.comp", args 4, writes 8, [BATCH = "1", M =
        "729", T = "729", HQ = "16", HKV = "16", D = "72", SCALE = "0.11785114", CAUSAL = "0", WINDOW = "0", MASKED =
        "0", MASK_BATCH = "0", MASK_HEAD = "0", MASK_ROW = "0", MASK_KEY = "0", Q_BATCH = "2519424", Q_HEAD = "72",
        Q_ROW = "3456", Q_AT = "0", K_BATCH = "2519424", K_HEAD = "72", KV_ROW = "3456", K_AT = "1152", V_BATCH =
        "2519424", V_HEAD = "72", V_ROW = "3456", V_AT = "2304", Y_BATCH = "839808", Y_HEAD = "72", Y_ROW = "1152", Y_AT
        = "0", QUERY_ROWS = "4", GROUP_ROWS = "64", LOCAL = "64"], matrix[MATRIX = "1", PARTS_M = "4", PARTS_K = "2"]
    ),
    kernel!(
        "halves_m729_k1152", "halves.comp", args 2, writes 2, [M = "729", K = "1152", ROWS = "768", HALVES = "2", LOCAL
        = "256", LIVE = "0", NORM = "0", EPS = "0.0"], matrix[MATRIX = "1"]
    ),
    kernel!(
        "matmul_f16_m729_k1152_n1152_bias_add", "linear.comp", args 6, writes 4, [M = "729", K = "1152", N = "1152",
        WEIGHT_BITS = "16", ACT = "0", BIAS = "1", RESIDUAL = "1", LIVE = "0", THREAD_ROWS = "8", LOCAL = "64", NORM =
        "0", EPS = "0.0", HALVES = "2", SPLITS = "1"], matrix[MATRIX = "1", ROWS = "768", TILE_M = "64", TILE_N = "128",
        TILE_K = "64", PARTS_M = "2", PARTS_N = "2", PARTS_K = "2"]
    ),
    kernel!(
        "halves_m729_k1152_layer", "halves.comp", args 4, writes 2, [M = "729", K = "1152", ROWS = "768", HALVES = "2",
        LOCAL = "256", LIVE = "0", NORM = "2", EPS = "1e-6"], matrix[MATRIX = "1"]
    ),
    kernel!(
        "matmul_f16_m729_k1152_n4304_layer_bias_gelutanh", "linear.comp", args 7, writes 4, [M = "729", K = "1152", N =
        "4304", WEIGHT_BITS = "16", ACT = "17", BIAS = "1", RESIDUAL = "0", LIVE = "0", THREAD_ROWS = "8", LOCAL = "64",
        NORM = "2", EPS = "1e-6", HALVES = "2", SPLITS = "1"], matrix[MATRIX = "1", ROWS = "768", TILE_M = "96", TILE_N
        = "128", TILE_K = "64", PARTS_M = "2", PARTS_N = "2", PARTS_K = "2"]
    ),
    kernel!(
        "halves_m729_k4304_to4352", "halves.comp", args 2, writes 2, [M = "729", K = "4304", ROWS = "768", HALVES = "2",
        LOCAL = "256", LIVE = "0", K_PADDED = "4352", NORM = "0", EPS = "0.0"], matrix[MATRIX = "1"]
    ),
    kernel!(
        "matmul_f16_m729_k4304_n1152_bias_add", "linear.comp", args 6, writes 4, [M = "729", K = "4304", N = "1152",
        WEIGHT_BITS = "16", ACT = "0", BIAS = "1", RESIDUAL = "1", LIVE = "0", THREAD_ROWS = "8", LOCAL = "64", NORM =
        "0", EPS = "0.0", HALVES = "2", SPLITS = "1"], matrix[MATRIX = "1", ROWS = "768", K_PADDED = "4352", TILE_M =
        "64", TILE_N = "128", TILE_K = "64", PARTS_M = "2", PARTS_N = "2", PARTS_K = "2"]
    ),
    kernel!(
        "layer_norm_f32_1x729x1152_axis2_1152_shift", "norm.comp", args 4, writes 2, [ROWS = "729", LENGTH = "1152",
        NORM = "2", EPS = "1e-6", SHIFT = "1", LOCAL = "64", RANK = "2", DIMS = "729u,1152u", SCALE_STRIDES = "0,1",
        SHIFT_STRIDES = "0,1"]
    ),
    kernel!(
        "transpose_9x3x9x3456_to0213", "copy.comp", args 2, writes 2, [N = "839808", FROM = "0", TO = "0", RANK = "4",
        DIMS = "9u,9u,3u,3456u", FROM_STRIDES = "93312,3456,31104,1", TO_STRIDES = "93312,10368,3456,1"]
    ),
    kernel!(
        "halves_m81_k10368", "halves.comp", args 2, writes 2, [M = "81", K = "10368", ROWS = "96", HALVES = "2", LOCAL =
        "256", LIVE = "0", NORM = "0", EPS = "0.0"], matrix[MATRIX = "1"]
    ),
    kernel!(
        "matmul_f16_m81_k10368_n2048", "linear.comp", args 5, writes 20, [M = "81", K = "10368", N = "2048", WEIGHT_BITS
        = "16", ACT = "0", BIAS = "0", RESIDUAL = "0", LIVE = "0", THREAD_ROWS = "8", LOCAL = "64", NORM = "0", EPS =
        "0.0", HALVES = "2", SPLITS = "8"], matrix[MATRIX = "1", ROWS = "96", TILE_M = "96", TILE_N = "128", TILE_K =
        "64", PARTS_M = "2", PARTS_N = "2", PARTS_K = "2"]
    ),
    kernel!(
        "matmul_f16_m81_k10368_n2048_add_up", "linear.comp", args 5, writes 4, [M = "81", K = "10368", N = "2048",
        WEIGHT_BITS = "16", ACT = "0", BIAS = "0", RESIDUAL = "0", LIVE = "0", THREAD_ROWS = "8", LOCAL = "64", NORM =
        "0", EPS = "0.0", HALVES = "2", SPLITS = "8", ADD_UP = "1"], matrix[MATRIX = "1"]
    ),
    kernel!(
        "kv_write_f32_m81_h1_d2048_c324", "kv_write.comp", args 4, writes 2, [M = "81", HKV = "1", D = "2048", C =
        "324", KV_BITS = "32", POS_WORD = "0", ROWS_WORD = "0"]
    ),
    kernel!(
        "gather_f16_m128_k2048_rows49280_pictures324", "gather_rows.comp", args 5, writes 4, [VOCAB = "49280", PICTURES
        = "324", M = "128", K = "2048", ROWS = "49280", WEIGHT_BITS = "16", LIVE = "1"]
    ),
    kernel!(
        "halves_m128_k2048_rms", "halves.comp", args 4, writes 2, [M = "128", K = "2048", ROWS = "128", HALVES = "2",
        LOCAL = "256", LIVE = "1", NORM = "1", EPS = "1e-5"], matrix[MATRIX = "1"]
    ),
    kernel!(
        "qkv_f16_m128_k2048_h32_32_d64_c512_rms", "qkv.comp", args 13, writes 4124, [M = "128", K = "2048", HQ = "32",
        HKV = "32", D = "64", C = "512", WEIGHT_BITS = "16", KV_BITS = "16", BIAS = "0", ROTARY = "64", TABLE = "512",
        INTERLEAVED = "0", QUADS = "1", POS_WORD = "0", ROWS_WORD = "1", LIVE = "1", THREAD_ROWS = "8", LOCAL = "64",
        NORM = "1", EPS = "1e-5", HALVES = "2", SPLITS = "4"], matrix[MATRIX = "1", ROWS = "128", TILE_M = "128", TILE_N
        = "192", TILE_K = "32", PARTS_M = "2", PARTS_N = "4", PARTS_K = "1"]
    ),
    kernel!(
        "qkv_f16_m128_k2048_h32_32_d64_c512_rms_add_up", "qkv.comp", args 13, writes 28, [M = "128", K = "2048", HQ =
        "32", HKV = "32", D = "64", C = "512", WEIGHT_BITS = "16", KV_BITS = "16", BIAS = "0", ROTARY = "64", TABLE =
        "512", INTERLEAVED = "0", QUADS = "1", POS_WORD = "0", ROWS_WORD = "1", LIVE = "1", THREAD_ROWS = "8", LOCAL =
        "64", NORM = "1", EPS = "1e-5", HALVES = "2", SPLITS = "4", ADD_UP = "1"], matrix[MATRIX = "1"]
    ),
    kernel!(
        "attend_f16_m128_h32_32_d64_c512", "cached_attention.comp", args 6, writes 8, [M = "128", HQ = "32", HKV = "32",
        D = "64", C = "512", KV_BITS = "16", SCALE = "0.125", WINDOW = "0", POS_WORD = "0", QUERY_ROWS = "4", GROUP_ROWS
        = "32", LOCAL = "64", LIVE = "1"], matrix[MATRIX = "1", PARTS_M = "2", PARTS_K = "3"]
    ),
    kernel!(
        "halves_m128_k2048", "halves.comp", args 3, writes 2, [M = "128", K = "2048", ROWS = "128", HALVES = "2", LOCAL
        = "256", LIVE = "1", NORM = "0", EPS = "0.0"], matrix[MATRIX = "1"]
    ),
    kernel!(
        "matmul_f16_m128_k2048_n2048_add", "linear.comp", args 6, writes 4, [M = "128", K = "2048", N = "2048",
        WEIGHT_BITS = "16", ACT = "0", BIAS = "0", RESIDUAL = "1", LIVE = "1", THREAD_ROWS = "8", LOCAL = "64", NORM =
        "0", EPS = "0.0", HALVES = "2", SPLITS = "1"], matrix[MATRIX = "1", ROWS = "128", TILE_M = "32", TILE_N = "64",
        TILE_K = "128", PARTS_M = "1", PARTS_N = "2", PARTS_K = "4"]
    ),
    kernel!(
        "gated_matmul_f16_m128_k2048_n8192_rms_silu", "gated_linear.comp", args 6, writes 4, [M = "128", K = "2048", N =
        "8192", WEIGHT_BITS = "16", ACT = "15", LIVE = "1", THREAD_ROWS = "8", LOCAL = "64", NORM = "1", EPS = "1e-5",
        HALVES = "2", SPLITS = "1"], matrix[MATRIX = "1", ROWS = "128", TILE_M = "64", TILE_N = "128", TILE_K = "64",
        PARTS_M = "2", PARTS_N = "2", PARTS_K = "2"]
    ),
    kernel!(
        "halves_m128_k8192", "halves.comp", args 3, writes 2, [M = "128", K = "8192", ROWS = "128", HALVES = "2", LOCAL
        = "256", LIVE = "1", NORM = "0", EPS = "0.0"], matrix[MATRIX = "1"]
    ),
    kernel!(
        "matmul_f16_m128_k8192_n2048_add", "linear.comp", args 7, writes 68, [M = "128", K = "8192", N = "2048",
        WEIGHT_BITS = "16", ACT = "0", BIAS = "0", RESIDUAL = "1", LIVE = "1", THREAD_ROWS = "8", LOCAL = "64", NORM =
        "0", EPS = "0.0", HALVES = "2", SPLITS = "4"], matrix[MATRIX = "1", ROWS = "128", TILE_M = "64", TILE_N = "128",
        TILE_K = "64", PARTS_M = "2", PARTS_N = "2", PARTS_K = "2"]
    ),
    kernel!(
        "matmul_f16_m128_k8192_n2048_add_add_up_on_rms", "linear.comp", args 9, writes 132, [M = "128", K = "8192", N =
        "2048", WEIGHT_BITS = "16", ACT = "0", BIAS = "0", RESIDUAL = "1", LIVE = "1", THREAD_ROWS = "8", LOCAL = "256",
        NORM = "0", EPS = "0.0", HALVES = "2", SPLITS = "4", ADD_UP = "1", HANDED = "2", HANDED_K = "2048", HANDED_ROWS
        = "128", HANDED_NORM = "1", HANDED_EPS = "1e-5"], matrix[MATRIX = "1"]
    ),
    kernel!(
        "matmul_f16_m128_k8192_n2048_add_add_up", "linear.comp", args 7, writes 4, [M = "128", K = "8192", N = "2048",
        WEIGHT_BITS = "16", ACT = "0", BIAS = "0", RESIDUAL = "1", LIVE = "1", THREAD_ROWS = "8", LOCAL = "64", NORM =
        "0", EPS = "0.0", HALVES = "2", SPLITS = "4", ADD_UP = "1"], matrix[MATRIX = "1"]
    ),
    kernel!("last_row_f32_m128_k2048", "last_row.comp", args 3, writes 4, [M = "128", K = "2048", ROWS_WORD = "1"]),
    kernel!(
        "matvec_f16_m1_k2048_n49280_rms", "linear.comp", args 5, writes 4, [M = "1", K = "2048", N = "49280",
        WEIGHT_BITS = "16", ACT = "0", BIAS = "0", RESIDUAL = "0", LIVE = "1", THREAD_ROWS = "0", LOCAL = "256", SLOTS =
        "256", UNITS = "2", NORM = "1", EPS = "1e-5", HALVES = "0"]
    ),
    kernel!("argmax_f32_n49280", "argmax.comp", args 3, writes 2, [V = "49280", SLICE = "1024", LOCAL = "256"]),
    kernel!("next_token_n49280", "next_token.comp", args 5, writes 30, [V = "49280", PARTS = "49", LOCAL = "256"]),
    kernel!(
        "draw_scale_n49280", "draw_scale.comp", args 7, writes 120, [V = "49280", SLICE = "1024", SLICES = "49", LOCAL =
        "256"]
    ),
    kernel!(
        "draw_search_n49280", "draw_search.comp", args 6, writes 48, [V = "49280", SLICE = "1024", SLICES = "49", LOCAL
        = "256"]
    ),
    kernel!(
        "draw_sum_n49280", "draw_sum.comp", args 6, writes 48, [V = "49280", SLICE = "1024", SLICES = "49", LOCAL =
        "256"]
    ),
    kernel!(
        "draw_pick_n49280", "draw_pick.comp", args 7, writes 120, [V = "49280", SLICE = "1024", SLICES = "49", LOCAL =
        "256"]
    ),
    kernel!(
        "gather_f16_m1_k2048_rows49280_pictures324", "gather_rows.comp", args 5, writes 4, [VOCAB = "49280", PICTURES =
        "324", M = "1", K = "2048", ROWS = "49280", WEIGHT_BITS = "16", LIVE = "1"]
    ),
    kernel!(
        "qkv_f16_m1_k2048_h32_32_d64_c512_rms", "qkv.comp", args 11, writes 28, [M = "1", K = "2048", HQ = "32", HKV =
        "32", D = "64", C = "512", WEIGHT_BITS = "16", KV_BITS = "16", BIAS = "0", ROTARY = "64", TABLE = "512",
        INTERLEAVED = "0", QUADS = "1", POS_WORD = "0", ROWS_WORD = "1", LIVE = "1", THREAD_ROWS = "0", LOCAL = "128",
        SLOTS = "128", UNITS = "1", NORM = "1", EPS = "1e-5", HALVES = "0"]
    ),
    kernel!(
        "qkv_f16_m1_k2048_h32_32_d64_c512_rms_by2", "qkv.comp", args 11, writes 28, [M = "1", K = "2048", HQ = "32", HKV
        = "32", D = "64", C = "512", WEIGHT_BITS = "16", KV_BITS = "16", BIAS = "0", ROTARY = "64", TABLE = "512",
        INTERLEAVED = "0", QUADS = "1", POS_WORD = "0", ROWS_WORD = "1", LIVE = "1", THREAD_ROWS = "0", LOCAL = "256",
        SLOTS = "128", UNITS = "2", NORM = "1", EPS = "1e-5", HALVES = "0"]
    ),
    kernel!(
        "attend_f16_m1_h32_32_d64_c512", "split_attention.comp", args 8, writes 104, [HQ = "32", HKV = "32", D = "64", C
        = "512", KV_BITS = "16", SCALE = "0.125", WINDOW = "0", POS_WORD = "0", LOCAL = "128", KEYS = "8", SPLITS = "2",
        LIVE = "1"]
    ),
    kernel!(
        "matvec_f16_m1_k2048_n2048_add", "linear.comp", args 5, writes 4, [M = "1", K = "2048", N = "2048", WEIGHT_BITS
        = "16", ACT = "0", BIAS = "0", RESIDUAL = "1", LIVE = "1", THREAD_ROWS = "0", LOCAL = "256", SLOTS = "256",
        UNITS = "1", NORM = "0", EPS = "0.0", HALVES = "0"]
    ),
    kernel!(
        "matvec_f16_m1_k2048_n2048_add_by2", "linear.comp", args 5, writes 4, [M = "1", K = "2048", N = "2048",
        WEIGHT_BITS = "16", ACT = "0", BIAS = "0", RESIDUAL = "1", LIVE = "1", THREAD_ROWS = "0", LOCAL = "512", SLOTS =
        "256", UNITS = "2", NORM = "0", EPS = "0.0", HALVES = "0"]
    ),
    kernel!(
        "gated_matvec_f16_m1_k2048_n8192_rms_silu", "gated_linear.comp", args 5, writes 4, [M = "1", K = "2048", N =
        "8192", WEIGHT_BITS = "16", ACT = "15", LIVE = "1", THREAD_ROWS = "0", LOCAL = "128", SLOTS = "64", UNITS = "4",
        NORM = "1", EPS = "1e-5", HALVES = "0"]
    ),
    kernel!(
        "gated_matvec_f16_m1_k2048_n8192_rms_silu_by8", "gated_linear.comp", args 5, writes 4, [M = "1", K = "2048", N =
        "8192", WEIGHT_BITS = "16", ACT = "15", LIVE = "1", THREAD_ROWS = "0", LOCAL = "256", SLOTS = "64", UNITS = "8",
        NORM = "1", EPS = "1e-5", HALVES = "0"]
    ),
    kernel!(
        "matvec_f16_m1_k8192_n2048_add", "linear.comp", args 5, writes 4, [M = "1", K = "8192", N = "2048", WEIGHT_BITS
        = "16", ACT = "0", BIAS = "0", RESIDUAL = "1", LIVE = "1", THREAD_ROWS = "0", LOCAL = "256", SLOTS = "256",
        UNITS = "1", NORM = "0", EPS = "0.0", HALVES = "0"]
    ),
    kernel!(
        "matvec_f16_m1_k8192_n2048_add_by2", "linear.comp", args 5, writes 4, [M = "1", K = "8192", N = "2048",
        WEIGHT_BITS = "16", ACT = "0", BIAS = "0", RESIDUAL = "1", LIVE = "1", THREAD_ROWS = "0", LOCAL = "512", SLOTS =
        "256", UNITS = "2", NORM = "0", EPS = "0.0", HALVES = "0"]
    ),
];

static VARIANTS: &[Variant] = &[
    Variant {
        of: QKV_F16_M1_K2048_H32_32_D64_C512_RMS,
        by: QKV_F16_M1_K2048_H32_32_D64_C512_RMS_BY2,
        grid: [768, 1, 1],
    },
    Variant {
        of: MATVEC_F16_M1_K2048_N2048_ADD,
        by: MATVEC_F16_M1_K2048_N2048_ADD_BY2,
        grid: [256, 1, 1],
    },
    Variant {
        of: GATED_MATVEC_F16_M1_K2048_N8192_RMS_SILU,
        by: GATED_MATVEC_F16_M1_K2048_N8192_RMS_SILU_BY8,
        grid: [512, 1, 1],
    },
    Variant {
        of: MATVEC_F16_M1_K8192_N2048_ADD,
        by: MATVEC_F16_M1_K8192_N2048_ADD_BY2,
        grid: [256, 1, 1],
    },
];

static TENSORS: &[Run<Tensor>] = &[
    Run {
        layers: 1,
        rows: &[
            tensor!("model.vision_model.embeddings.patch_embedding.weight.rows", rows_f16, [1152, 592], 1363968),
            tensor!("model.vision_model.embeddings.patch_embedding.bias", rows_f32, [1152], 4608),
            tensor!("model.vision_model.embeddings.position_embedding.weight", rows_f32, [1, 729, 1152], 3359232),
        ],
    },
    Run {
        layers: 27,
        rows: &[
            tensor!("model.vision_model.encoder.layers.{l}.layer_norm1.weight", rows_f32, [1152], 4608),
            tensor!("model.vision_model.encoder.layers.{l}.layer_norm1.bias", rows_f32, [1152], 4608),
            tensor!(
                "model.vision_model.encoder.layers.{l}.self_attn.q_proj.weight_T+model.vision_model.encoder.layers.{l}.self_attn.k_proj.weight_T+model.vision_model.encoder.layers.{l}.self_attn.v_proj.weight_T",
                rows_f16, [3456, 1152], 7962624
            ),
            tensor!(
                "model.vision_model.encoder.layers.{l}.self_attn.q_proj.bias+model.vision_model.encoder.layers.{l}.self_attn.k_proj.bias+model.vision_model.encoder.layers.{l}.self_attn.v_proj.bias",
                rows_f32, [3456], 13824
            ),
            tensor!(
                "model.vision_model.encoder.layers.{l}.self_attn.out_proj.weight_T", rows_f16, [1152, 1152], 2654208
            ),
            tensor!("model.vision_model.encoder.layers.{l}.self_attn.out_proj.bias", rows_f32, [1152], 4608),
            tensor!("model.vision_model.encoder.layers.{l}.layer_norm2.weight", rows_f32, [1152], 4608),
            tensor!("model.vision_model.encoder.layers.{l}.layer_norm2.bias", rows_f32, [1152], 4608),
            tensor!("model.vision_model.encoder.layers.{l}.mlp.fc1.weight_T", rows_f16, [4304, 1152], 9916416),
            tensor!("model.vision_model.encoder.layers.{l}.mlp.fc1.bias", rows_f32, [4304], 17216),
            tensor!("model.vision_model.encoder.layers.{l}.mlp.fc2.weight_T", rows_f16, [1152, 4304], 9916416),
            tensor!("model.vision_model.encoder.layers.{l}.mlp.fc2.bias", rows_f32, [1152], 4608),
        ],
    },
    Run {
        layers: 1,
        rows: &[
            tensor!("model.vision_model.post_layernorm.weight", rows_f32, [1152], 4608),
            tensor!("model.vision_model.post_layernorm.bias", rows_f32, [1152], 4608),
            tensor!("model.connector.modality_projection.proj.weight_T", rows_f16, [2048, 10368], 42467328),
            tensor!("picture.rows", rows_i32, [], 4),
            tensor!("embed/model.embed_tokens.weight", rows_f16, [49280, 2048], 201850880),
            tensor!("decoder/model.layers.0.input_layernorm.weight", rows_f32, [2048], 8192),
            tensor!(
                "decoder/model.layers.0.self_attn.q_proj.weight_T+decoder/model.layers.0.self_attn.k_proj.weight_T+decoder/model.layers.0.self_attn.v_proj.weight_T",
                rows_f16, [6144, 2048], 25165824
            ),
            tensor!("/model/rotary_emb/Unsqueeze_2_output_0.cos_table", rows_f32, [512, 32], 65536),
            tensor!("/model/rotary_emb/Unsqueeze_3_output_0.sin_table", rows_f32, [512, 32], 65536),
        ],
    },
    Run {
        layers: 23,
        rows: &[
            tensor!("decoder/model.layers.{l}.self_attn.o_proj.weight_T", rows_f16, [2048, 2048], 8388608),
            tensor!("decoder/model.layers.{l}.post_attention_layernorm.weight", rows_f32, [2048], 8192),
            tensor!(
                "decoder/model.layers.{l}.mlp.gate_proj.weight_T+decoder/model.layers.{l}.mlp.up_proj.weight_T",
                rows_f16, [16384, 2048], 67108864
            ),
            tensor!("decoder/model.layers.{l}.mlp.down_proj.weight_T", rows_f16, [2048, 8192], 33554432),
            tensor!("decoder/model.layers.{l+1}.input_layernorm.weight", rows_f32, [2048], 8192),
            tensor!(
                "decoder/model.layers.{l+1}.self_attn.q_proj.weight_T+decoder/model.layers.{l+1}.self_attn.k_proj.weight_T+decoder/model.layers.{l+1}.self_attn.v_proj.weight_T",
                rows_f16, [6144, 2048], 25165824
            ),
        ],
    },
    Run {
        layers: 1,
        rows: &[
            tensor!("decoder/model.layers.23.self_attn.o_proj.weight_T", rows_f16, [2048, 2048], 8388608),
            tensor!("decoder/model.layers.23.post_attention_layernorm.weight", rows_f32, [2048], 8192),
            tensor!(
                "decoder/model.layers.23.mlp.gate_proj.weight_T+decoder/model.layers.23.mlp.up_proj.weight_T", rows_f16,
                [16384, 2048], 67108864
            ),
            tensor!("decoder/model.layers.23.mlp.down_proj.weight_T", rows_f16, [2048, 8192], 33554432),
            tensor!("decoder/lm_head.weight_T", rows_f16, [49280, 2048], 201850880),
            tensor!("decoder/model.norm.weight", rows_f32, [2048], 8192),
        ],
    },
];

static STATES: &[Run<State>] = &[
    Run {
        layers: 1,
        rows: &[state!("pictures", 2654208, [1, 1, 324, 2048], Elem::F32)],
    },
    Run {
        layers: 24,
        rows: &[
            state!("past_key_values.{l}.key", 2097152, [1, 32, 512, 64], Elem::F16),
            state!("past_key_values.{l}.value", 2097152, [1, 32, 512, 64], Elem::F16),
        ],
    },
    Run {
        layers: 1,
        rows: &[state!("counters", 128, [32], Elem::U32)],
    },
];

static BUCKETS: &[Bucket] = &[
    Bucket {
        name: Borrowed("vision"),
        rows: 1,
        arena_bytes: 39542784,
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
        arena_bytes: 16778240,
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
        SLICE_1X3X384X384_AT0X0X0X0_BY1X1X1X1_1X3X378X378, [1675, 1, 1], [Input(0), Arena(0)], +,
        "/vision_model/embeddings/Conv.covered [1, 3, 378, 378]"
    ),
    row!(
        TRANSPOSE_1X3X27X14X27X14_TO024135, [1675, 1, 1], [Arena(0), Arena(1714688)], +,
        "/vision_model/embeddings/Conv.patches [1, 27, 27, 3, 14, 14]"
    ),
    row!(
        PAD_CONSTANT_1X729X588_1X729X592_AT0X0X0, [1686, 1, 1], [Arena(1714688), Arena(6901248)], +,
        "/vision_model/embeddings/Conv.padded [1, 729, 592]"
    ),
    row!(
        HALVES_M729_K592_TO608, [729, 1, 1], [Arena(6901248), Arena(8627712)], +,
        "/vision_model/embeddings/Add [1, 729, 1152]"
    ),
    row!(
        MATMUL_F16_M729_K592_N1152_BIAS_ADD, [6, 6, 3], [Arena(6901248), Weight(0), Arena(0), Weight(1), Weight(2),
        Arena(8627712), Arena(10498560)], +, "/vision_model/embeddings/Add [1, 729, 1152]"
    ),
    row!(
        MATMUL_F16_M729_K592_N1152_BIAS_ADD_ADD_UP_ON_LAYER, [729, 1, 1], [Arena(6901248), Weight(0), Arena(0),
        Weight(1), Weight(2), Arena(8627712), Arena(10498560), Arena(3359232), Weight(3), Weight(4)], +,
        "/vision_model/embeddings/Add [1, 729, 1152]"
    ),
    row!(
        MATMUL_F16_M729_K1152_N3456_LAYER_BIAS, [6, 18, 1], [Arena(0), Weight(5), Arena(6901248), Weight(3), Weight(4),
        Weight(6), Arena(3359232)], +, "/vision_model/encoder/layers.0/self_attn/Transpose_4.qkv [1, 729, 3456]"
    ),
];

static BUCKET_VISION_1_TABLE: &[List<Arg>] = &[
    columns!(Weight(7), Weight(8), Weight(9), Weight(10), Weight(11), Weight(12), Weight(13), Weight(14), Weight(15), Weight(16), Weight(17), Weight(18)),
    columns!(Weight(19), Weight(20), Weight(21), Weight(22), Weight(23), Weight(24), Weight(25), Weight(26), Weight(27), Weight(28), Weight(29), Weight(30)),
    columns!(Weight(31), Weight(32), Weight(33), Weight(34), Weight(35), Weight(36), Weight(37), Weight(38), Weight(39), Weight(40), Weight(41), Weight(42)),
    columns!(Weight(43), Weight(44), Weight(45), Weight(46), Weight(47), Weight(48), Weight(49), Weight(50), Weight(51), Weight(52), Weight(53), Weight(54)),
    columns!(Weight(55), Weight(56), Weight(57), Weight(58), Weight(59), Weight(60), Weight(61), Weight(62), Weight(63), Weight(64), Weight(65), Weight(66)),
    columns!(Weight(67), Weight(68), Weight(69), Weight(70), Weight(71), Weight(72), Weight(73), Weight(74), Weight(75), Weight(76), Weight(77), Weight(78)),
    columns!(Weight(79), Weight(80), Weight(81), Weight(82), Weight(83), Weight(84), Weight(85), Weight(86), Weight(87), Weight(88), Weight(89), Weight(90)),
    columns!(Weight(91), Weight(92), Weight(93), Weight(94), Weight(95), Weight(96), Weight(97), Weight(98), Weight(99), Weight(100), Weight(101), Weight(102)),
    columns!(Weight(103), Weight(104), Weight(105), Weight(106), Weight(107), Weight(108), Weight(109), Weight(110), Weight(111), Weight(112), Weight(113), Weight(114)),
    columns!(Weight(115), Weight(116), Weight(117), Weight(118), Weight(119), Weight(120), Weight(121), Weight(122), Weight(123), Weight(124), Weight(125), Weight(126)),
    columns!(Weight(127), Weight(128), Weight(129), Weight(130), Weight(131), Weight(132), Weight(133), Weight(134), Weight(135), Weight(136), Weight(137), Weight(138)),
    columns!(Weight(139), Weight(140), Weight(141), Weight(142), Weight(143), Weight(144), Weight(145), Weight(146), Weight(147), Weight(148), Weight(149), Weight(150)),
    columns!(Weight(151), Weight(152), Weight(153), Weight(154), Weight(155), Weight(156), Weight(157), Weight(158), Weight(159), Weight(160), Weight(161), Weight(162)),
    columns!(Weight(163), Weight(164), Weight(165), Weight(166), Weight(167), Weight(168), Weight(169), Weight(170), Weight(171), Weight(172), Weight(173), Weight(174)),
    columns!(Weight(175), Weight(176), Weight(177), Weight(178), Weight(179), Weight(180), Weight(181), Weight(182), Weight(183), Weight(184), Weight(185), Weight(186)),
    columns!(Weight(187), Weight(188), Weight(189), Weight(190), Weight(191), Weight(192), Weight(193), Weight(194), Weight(195), Weight(196), Weight(197), Weight(198)),
    columns!(Weight(199), Weight(200), Weight(201), Weight(202), Weight(203), Weight(204), Weight(205), Weight(206), Weight(207), Weight(208), Weight(209), Weight(210)),
    columns!(Weight(211), Weight(212), Weight(213), Weight(214), Weight(215), Weight(216), Weight(217), Weight(218), Weight(219), Weight(220), Weight(221), Weight(222)),
    columns!(Weight(223), Weight(224), Weight(225), Weight(226), Weight(227), Weight(228), Weight(229), Weight(230), Weight(231), Weight(232), Weight(233), Weight(234)),
    columns!(Weight(235), Weight(236), Weight(237), Weight(238), Weight(239), Weight(240), Weight(241), Weight(242), Weight(243), Weight(244), Weight(245), Weight(246)),
    columns!(Weight(247), Weight(248), Weight(249), Weight(250), Weight(251), Weight(252), Weight(253), Weight(254), Weight(255), Weight(256), Weight(257), Weight(258)),
    columns!(Weight(259), Weight(260), Weight(261), Weight(262), Weight(263), Weight(264), Weight(265), Weight(266), Weight(267), Weight(268), Weight(269), Weight(270)),
    columns!(Weight(271), Weight(272), Weight(273), Weight(274), Weight(275), Weight(276), Weight(277), Weight(278), Weight(279), Weight(280), Weight(281), Weight(282)),
    columns!(Weight(283), Weight(284), Weight(285), Weight(286), Weight(287), Weight(288), Weight(289), Weight(290), Weight(291), Weight(292), Weight(293), Weight(294)),
    columns!(Weight(295), Weight(296), Weight(297), Weight(298), Weight(299), Weight(300), Weight(301), Weight(302), Weight(303), Weight(304), Weight(305), Weight(306)),
    columns!(Weight(307), Weight(308), Weight(309), Weight(310), Weight(311), Weight(312), Weight(313), Weight(314), Weight(315), Weight(316), Weight(317), Weight(318)),
];

static BUCKET_VISION_1_ROWS: &[Dispatch] = &[
    row!(
        ATTENTION_F32_B1_M729_T729_H16_16_D72_PACKED_FULL, [192, 1, 1], [Arena(6901248), Arena(6901248), Arena(6901248),
        Arena(3359232)], +, "/vision_model/encoder/layers.{l}/self_attn/Transpose_4 [1, 729, 1152]"
    ),
    row!(
        HALVES_M729_K1152, [729, 1, 1], [Arena(3359232), Arena(6718464)], +,
        "/vision_model/encoder/layers.{l}/Add [1, 729, 1152]"
    ),
    row!(
        MATMUL_F16_M729_K1152_N1152_BIAS_ADD, [12, 9, 1], [Arena(3359232), Column(0), Arena(10260480), Column(1),
        Arena(0), Arena(6718464)], +, "/vision_model/encoder/layers.{l}/Add [1, 729, 1152]"
    ),
    row!(
        HALVES_M729_K1152_LAYER, [729, 1, 1], [Arena(10260480), Arena(0), Column(2), Column(3)], +,
        "/vision_model/encoder/layers.{l}/mlp/activation_fn/Mul_5 [1, 729, 4304]"
    ),
    row!(
        MATMUL_F16_M729_K1152_N4304_LAYER_BIAS_GELUTANH, [8, 34, 1], [Arena(10260480), Column(4), Arena(13619712),
        Column(2), Column(3), Column(5), Arena(0)], +,
        "/vision_model/encoder/layers.{l}/mlp/activation_fn/Mul_5 [1, 729, 4304]"
    ),
    row!(
        HALVES_M729_K4304_TO4352, [729, 1, 1], [Arena(13619712), Arena(26170368)], +,
        "/vision_model/encoder/layers.{l}/Add_1 [1, 729, 1152]"
    ),
    row!(
        MATMUL_F16_M729_K4304_N1152_BIAS_ADD, [12, 9, 1], [Arena(13619712), Column(6), Arena(0), Column(7),
        Arena(10260480), Arena(26170368)], +, "/vision_model/encoder/layers.{l}/Add_1 [1, 729, 1152]"
    ),
    row!(
        HALVES_M729_K1152_LAYER, [729, 1, 1], [Arena(0), Arena(3359232), Column(8), Column(9)], +,
        "/vision_model/encoder/layers.{l+1}/self_attn/Transpose_4.qkv [1, 729, 3456]"
    ),
    row!(
        MATMUL_F16_M729_K1152_N3456_LAYER_BIAS, [6, 18, 1], [Arena(0), Column(10), Arena(6901248), Column(8), Column(9),
        Column(11), Arena(3359232)], +, "/vision_model/encoder/layers.{l+1}/self_attn/Transpose_4.qkv [1, 729, 3456]"
    ),
];

static BUCKET_VISION_2_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_VISION_2_ROWS: &[Dispatch] = &[
    row!(
        ATTENTION_F32_B1_M729_T729_H16_16_D72_PACKED_FULL, [192, 1, 1], [Arena(6901248), Arena(6901248), Arena(6901248),
        Arena(3359232)], +, "/vision_model/encoder/layers.26/self_attn/Transpose_4 [1, 729, 1152]"
    ),
    row!(
        HALVES_M729_K1152, [729, 1, 1], [Arena(3359232), Arena(6718464)], +,
        "/vision_model/encoder/layers.26/Add [1, 729, 1152]"
    ),
    row!(
        MATMUL_F16_M729_K1152_N1152_BIAS_ADD, [12, 9, 1], [Arena(3359232), Weight(319), Arena(10260480), Weight(320),
        Arena(0), Arena(6718464)], +, "/vision_model/encoder/layers.26/Add [1, 729, 1152]"
    ),
    row!(
        HALVES_M729_K1152_LAYER, [729, 1, 1], [Arena(10260480), Arena(0), Weight(321), Weight(322)], +,
        "/vision_model/encoder/layers.26/mlp/activation_fn/Mul_5 [1, 729, 4304]"
    ),
    row!(
        MATMUL_F16_M729_K1152_N4304_LAYER_BIAS_GELUTANH, [8, 34, 1], [Arena(10260480), Weight(323), Arena(13619712),
        Weight(321), Weight(322), Weight(324), Arena(0)], +,
        "/vision_model/encoder/layers.26/mlp/activation_fn/Mul_5 [1, 729, 4304]"
    ),
    row!(
        HALVES_M729_K4304_TO4352, [729, 1, 1], [Arena(13619712), Arena(26170368)], +,
        "/vision_model/encoder/layers.26/Add_1 [1, 729, 1152]"
    ),
    row!(
        MATMUL_F16_M729_K4304_N1152_BIAS_ADD, [12, 9, 1], [Arena(13619712), Weight(325), Arena(0), Weight(326),
        Arena(10260480), Arena(26170368)], +, "/vision_model/encoder/layers.26/Add_1 [1, 729, 1152]"
    ),
    row!(
        LAYER_NORM_F32_1X729X1152_AXIS2_1152_SHIFT, [729, 1, 1], [Arena(0), Arena(3359232), Weight(327), Weight(328)],
        +, "/vision_model/post_layernorm/LayerNormalization [1, 729, 1152]"
    ),
    row!(
        TRANSPOSE_9X3X9X3456_TO0213, [3281, 1, 1], [Arena(3359232), Arena(0)], +,
        "/connector/Transpose_1.moved [9, 9, 3, 3456]"
    ),
    row!(
        HALVES_M81_K10368, [81, 1, 1], [Arena(0), Arena(3359232)], +,
        "/connector/modality_projection/proj/MatMul [1, 81, 2048]"
    ),
    row!(
        MATMUL_F16_M81_K10368_N2048, [1, 16, 8], [Arena(0), Weight(329), Output(0), Arena(3359232), Arena(7341056)], +,
        "/connector/modality_projection/proj/MatMul [1, 81, 2048]"
    ),
    row!(
        MATMUL_F16_M81_K10368_N2048_ADD_UP, [648, 1, 1], [Arena(0), Weight(329), Output(0), Arena(3359232),
        Arena(7341056)], +, "/connector/modality_projection/proj/MatMul [1, 81, 2048]"
    ),
    row!(
        KV_WRITE_F32_M81_H1_D2048_C324, [2592, 1, 1], [Output(0), Arg::State(0), Step, Weight(330)], +,
        "pictures.write [1, 1, 324, 2048]"
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
        GATHER_F16_M128_K2048_ROWS49280_PICTURES324, [4096, 1, 1], [Weight(331), Tokens, Arena(0), Arg::State(0), Step],
        +, "inputs_embeds.pictures [1, 128, 2048]"
    ),
    row!(
        HALVES_M128_K2048_RMS, [128, 1, 1], [Arena(0), Arena(1048576), Step, Weight(332)], +,
        "/model/layers.0/self_attn/Add [1, 32, 128, 64]"
    ),
    row!(
        QKV_F16_M128_K2048_H32_32_D64_C512_RMS, [1, 32, 4], [Arena(0), Weight(333), Arena(2097664), Arg::State(1),
        Arg::State(2), Step, Step, Step, Weight(332), Weight(334), Weight(335), Arena(1048576), Arena(3146240)], +,
        "/model/layers.0/self_attn/Add [1, 32, 128, 64]"
    ),
    row!(
        QKV_F16_M128_K2048_H32_32_D64_C512_RMS_ADD_UP, [3072, 1, 1], [Arena(0), Weight(333), Arena(2097664),
        Arg::State(1), Arg::State(2), Step, Step, Step, Weight(332), Weight(334), Weight(335), Arena(1048576),
        Arena(3146240)], +, "/model/layers.0/self_attn/Add [1, 32, 128, 64]"
    ),
    row!(
        ATTEND_F16_M128_H32_32_D64_C512, [32, 4, 1], [Arena(2097664), Arg::State(1), Arg::State(2), Arena(1048576),
        Step, Step], +, "/model/layers.0/self_attn/MatMul_1 [1, 128, 2048]"
    ),
];

static BUCKET_PREFILL_1_TABLE: &[List<Arg>] = &[
    columns!(Weight(336), Weight(337), Weight(338), Weight(339), Weight(340), Weight(341), Arg::State(3), Arg::State(4)),
    columns!(Weight(342), Weight(343), Weight(344), Weight(345), Weight(346), Weight(347), Arg::State(5), Arg::State(6)),
    columns!(Weight(348), Weight(349), Weight(350), Weight(351), Weight(352), Weight(353), Arg::State(7), Arg::State(8)),
    columns!(Weight(354), Weight(355), Weight(356), Weight(357), Weight(358), Weight(359), Arg::State(9), Arg::State(10)),
    columns!(Weight(360), Weight(361), Weight(362), Weight(363), Weight(364), Weight(365), Arg::State(11), Arg::State(12)),
    columns!(Weight(366), Weight(367), Weight(368), Weight(369), Weight(370), Weight(371), Arg::State(13), Arg::State(14)),
    columns!(Weight(372), Weight(373), Weight(374), Weight(375), Weight(376), Weight(377), Arg::State(15), Arg::State(16)),
    columns!(Weight(378), Weight(379), Weight(380), Weight(381), Weight(382), Weight(383), Arg::State(17), Arg::State(18)),
    columns!(Weight(384), Weight(385), Weight(386), Weight(387), Weight(388), Weight(389), Arg::State(19), Arg::State(20)),
    columns!(Weight(390), Weight(391), Weight(392), Weight(393), Weight(394), Weight(395), Arg::State(21), Arg::State(22)),
    columns!(Weight(396), Weight(397), Weight(398), Weight(399), Weight(400), Weight(401), Arg::State(23), Arg::State(24)),
    columns!(Weight(402), Weight(403), Weight(404), Weight(405), Weight(406), Weight(407), Arg::State(25), Arg::State(26)),
    columns!(Weight(408), Weight(409), Weight(410), Weight(411), Weight(412), Weight(413), Arg::State(27), Arg::State(28)),
    columns!(Weight(414), Weight(415), Weight(416), Weight(417), Weight(418), Weight(419), Arg::State(29), Arg::State(30)),
    columns!(Weight(420), Weight(421), Weight(422), Weight(423), Weight(424), Weight(425), Arg::State(31), Arg::State(32)),
    columns!(Weight(426), Weight(427), Weight(428), Weight(429), Weight(430), Weight(431), Arg::State(33), Arg::State(34)),
    columns!(Weight(432), Weight(433), Weight(434), Weight(435), Weight(436), Weight(437), Arg::State(35), Arg::State(36)),
    columns!(Weight(438), Weight(439), Weight(440), Weight(441), Weight(442), Weight(443), Arg::State(37), Arg::State(38)),
    columns!(Weight(444), Weight(445), Weight(446), Weight(447), Weight(448), Weight(449), Arg::State(39), Arg::State(40)),
    columns!(Weight(450), Weight(451), Weight(452), Weight(453), Weight(454), Weight(455), Arg::State(41), Arg::State(42)),
    columns!(Weight(456), Weight(457), Weight(458), Weight(459), Weight(460), Weight(461), Arg::State(43), Arg::State(44)),
    columns!(Weight(462), Weight(463), Weight(464), Weight(465), Weight(466), Weight(467), Arg::State(45), Arg::State(46)),
    columns!(Weight(468), Weight(469), Weight(470), Weight(471), Weight(472), Weight(473), Arg::State(47), Arg::State(48)),
];

static BUCKET_PREFILL_1_ROWS: &[Dispatch] = &[
    row!(
        HALVES_M128_K2048, [128, 1, 1], [Arena(1048576), Arena(2097152), Step], +,
        "/model/layers.{l}/Add [1, 128, 2048]"
    ),
    row!(
        MATMUL_F16_M128_K2048_N2048_ADD, [4, 32, 1], [Arena(1048576), Column(0), Arena(3146240), Step, Arena(0),
        Arena(2097152)], +, "/model/layers.{l}/Add [1, 128, 2048]"
    ),
    row!(
        HALVES_M128_K2048_RMS, [128, 1, 1], [Arena(3146240), Arena(0), Step, Column(1)], +,
        "/model/layers.{l}/mlp/Mul [1, 128, 8192]"
    ),
    row!(
        GATED_MATMUL_F16_M128_K2048_N8192_RMS_SILU, [2, 128, 1], [Arena(3146240), Column(2), Arena(4194816), Step,
        Column(1), Arena(0)], +, "/model/layers.{l}/mlp/Mul [1, 128, 8192]"
    ),
    row!(
        HALVES_M128_K8192, [128, 1, 1], [Arena(4194816), Arena(8389120), Step], +,
        "/model/layers.{l}/Add_1 [1, 128, 2048]"
    ),
    row!(
        MATMUL_F16_M128_K8192_N2048_ADD, [2, 16, 4], [Arena(4194816), Column(3), Arena(0), Step, Arena(3146240),
        Arena(8389120), Arena(12583936)], +, "/model/layers.{l}/Add_1 [1, 128, 2048]"
    ),
    row!(
        MATMUL_F16_M128_K8192_N2048_ADD_ADD_UP_ON_RMS, [128, 1, 1], [Arena(4194816), Column(3), Arena(0), Step,
        Arena(3146240), Arena(8389120), Arena(12583936), Arena(1048576), Column(4)], +,
        "/model/layers.{l}/Add_1 [1, 128, 2048]"
    ),
    row!(
        QKV_F16_M128_K2048_H32_32_D64_C512_RMS, [1, 32, 4], [Arena(0), Column(5), Arena(2097664), Column(6), Column(7),
        Step, Step, Step, Column(4), Weight(334), Weight(335), Arena(1048576), Arena(3146240)], +,
        "/model/layers.{l+1}/self_attn/Add [1, 32, 128, 64]"
    ),
    row!(
        QKV_F16_M128_K2048_H32_32_D64_C512_RMS_ADD_UP, [3072, 1, 1], [Arena(0), Column(5), Arena(2097664), Column(6),
        Column(7), Step, Step, Step, Column(4), Weight(334), Weight(335), Arena(1048576), Arena(3146240)], +,
        "/model/layers.{l+1}/self_attn/Add [1, 32, 128, 64]"
    ),
    row!(
        ATTEND_F16_M128_H32_32_D64_C512, [32, 4, 1], [Arena(2097664), Column(6), Column(7), Arena(1048576), Step, Step],
        +, "/model/layers.{l+1}/self_attn/MatMul_1 [1, 128, 2048]"
    ),
];

static BUCKET_PREFILL_2_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_PREFILL_2_ROWS: &[Dispatch] = &[
    row!(
        HALVES_M128_K2048, [128, 1, 1], [Arena(1048576), Arena(2097152), Step], +, "/model/layers.23/Add [1, 128, 2048]"
    ),
    row!(
        MATMUL_F16_M128_K2048_N2048_ADD, [4, 32, 1], [Arena(1048576), Weight(474), Arena(3146240), Step, Arena(0),
        Arena(2097152)], +, "/model/layers.23/Add [1, 128, 2048]"
    ),
    row!(
        HALVES_M128_K2048_RMS, [128, 1, 1], [Arena(3146240), Arena(0), Step, Weight(475)], +,
        "/model/layers.23/mlp/Mul [1, 128, 8192]"
    ),
    row!(
        GATED_MATMUL_F16_M128_K2048_N8192_RMS_SILU, [2, 128, 1], [Arena(3146240), Weight(476), Arena(4194816), Step,
        Weight(475), Arena(0)], +, "/model/layers.23/mlp/Mul [1, 128, 8192]"
    ),
    row!(
        HALVES_M128_K8192, [128, 1, 1], [Arena(4194816), Arena(8389120), Step], +,
        "/model/layers.23/Add_1 [1, 128, 2048]"
    ),
    row!(
        MATMUL_F16_M128_K8192_N2048_ADD, [2, 16, 4], [Arena(4194816), Weight(477), Arena(0), Step, Arena(3146240),
        Arena(8389120), Arena(12583936)], +, "/model/layers.23/Add_1 [1, 128, 2048]"
    ),
    row!(
        MATMUL_F16_M128_K8192_N2048_ADD_ADD_UP, [1024, 1, 1], [Arena(4194816), Weight(477), Arena(0), Step,
        Arena(3146240), Arena(8389120), Arena(12583936)], +, "/model/layers.23/Add_1 [1, 128, 2048]"
    ),
];

static BUCKET_PREFILL_3_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_PREFILL_3_ROWS: &[Dispatch] = &[
    row!(LAST_ROW_F32_M128_K2048, [32, 1, 1], [Arena(0), Step, Arena(1048576)], +, "last_row [1, 1, 2048]"),
    row!(
        MATVEC_F16_M1_K2048_N49280_RMS, [6160, 1, 1], [Arena(1048576), Weight(478), Logits, Step, Weight(479)], +,
        "/lm_head/MatMul [1, 1, 49280]"
    ),
];

static BUCKET_PREFILL_4_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_PREFILL_4_ROWS: &[Dispatch] = &[
    row!(ARGMAX_F32_N49280, [49, 1, 1], [Logits, Arena(0), Step], +, "best of each slice [49]"),
    row!(NEXT_TOKEN_N49280, [1, 1, 1], [Arena(0), Step, Tokens, Ring, History], +, "next token [49280]"),
];

static BUCKET_PREFILL_5_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_PREFILL_5_ROWS: &[Dispatch] = &[
    row!(
        DRAW_SCALE_N49280, [49, 1, 1], [Logits, Step, History, Arena(0), Arena(197120), Arena(197376), Arena(201728)],
        +, "penalty and temperature [49280]"
    ),
];

static BUCKET_PREFILL_6_TABLE: &[List<Arg>] = &[
    columns!(Arena(197376), Arena(201728), Arena(206080)),
    columns!(Arena(201728), Arena(206080), Arena(197376)),
    columns!(Arena(206080), Arena(197376), Arena(201728)),
    columns!(Arena(197376), Arena(201728), Arena(206080)),
    columns!(Arena(201728), Arena(206080), Arena(197376)),
    columns!(Arena(206080), Arena(197376), Arena(201728)),
    columns!(Arena(197376), Arena(201728), Arena(206080)),
    columns!(Arena(201728), Arena(206080), Arena(197376)),
];

static BUCKET_PREFILL_6_ROWS: &[Dispatch] = &[
    row!(
        DRAW_SEARCH_N49280, [49, 1, 1], [Arena(0), Arena(197120), Step, Column(0), Column(1), Column(2)], +,
        "digit {l} of top-k, then top-p"
    ),
];

static BUCKET_PREFILL_7_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_PREFILL_7_ROWS: &[Dispatch] = &[
    row!(
        DRAW_SUM_N49280, [49, 1, 1], [Arena(0), Arena(197120), Step, Arena(206080), Arena(197376), Arena(197632)], +,
        "mass of each slice [49]"
    ),
    row!(
        DRAW_PICK_N49280, [1, 1, 1], [Arena(0), Arena(197376), Arena(197632), Step, Tokens, Ring, History], +,
        "next token, drawn [49280]"
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
        GATHER_F16_M1_K2048_ROWS49280_PICTURES324, [32, 1, 1], [Weight(331), Tokens, Arena(0), Arg::State(0), Step], +,
        "inputs_embeds.pictures [1, 1, 2048]"
    ),
];

static BUCKET_DECODE_1_TABLE: &[List<Arg>] = &[
    columns!(Weight(333), Arg::State(1), Arg::State(2), Weight(332), Weight(336), Weight(338), Weight(337), Weight(339)),
    columns!(Weight(341), Arg::State(3), Arg::State(4), Weight(340), Weight(342), Weight(344), Weight(343), Weight(345)),
    columns!(Weight(347), Arg::State(5), Arg::State(6), Weight(346), Weight(348), Weight(350), Weight(349), Weight(351)),
    columns!(Weight(353), Arg::State(7), Arg::State(8), Weight(352), Weight(354), Weight(356), Weight(355), Weight(357)),
    columns!(Weight(359), Arg::State(9), Arg::State(10), Weight(358), Weight(360), Weight(362), Weight(361), Weight(363)),
    columns!(Weight(365), Arg::State(11), Arg::State(12), Weight(364), Weight(366), Weight(368), Weight(367), Weight(369)),
    columns!(Weight(371), Arg::State(13), Arg::State(14), Weight(370), Weight(372), Weight(374), Weight(373), Weight(375)),
    columns!(Weight(377), Arg::State(15), Arg::State(16), Weight(376), Weight(378), Weight(380), Weight(379), Weight(381)),
    columns!(Weight(383), Arg::State(17), Arg::State(18), Weight(382), Weight(384), Weight(386), Weight(385), Weight(387)),
    columns!(Weight(389), Arg::State(19), Arg::State(20), Weight(388), Weight(390), Weight(392), Weight(391), Weight(393)),
    columns!(Weight(395), Arg::State(21), Arg::State(22), Weight(394), Weight(396), Weight(398), Weight(397), Weight(399)),
    columns!(Weight(401), Arg::State(23), Arg::State(24), Weight(400), Weight(402), Weight(404), Weight(403), Weight(405)),
    columns!(Weight(407), Arg::State(25), Arg::State(26), Weight(406), Weight(408), Weight(410), Weight(409), Weight(411)),
    columns!(Weight(413), Arg::State(27), Arg::State(28), Weight(412), Weight(414), Weight(416), Weight(415), Weight(417)),
    columns!(Weight(419), Arg::State(29), Arg::State(30), Weight(418), Weight(420), Weight(422), Weight(421), Weight(423)),
    columns!(Weight(425), Arg::State(31), Arg::State(32), Weight(424), Weight(426), Weight(428), Weight(427), Weight(429)),
    columns!(Weight(431), Arg::State(33), Arg::State(34), Weight(430), Weight(432), Weight(434), Weight(433), Weight(435)),
    columns!(Weight(437), Arg::State(35), Arg::State(36), Weight(436), Weight(438), Weight(440), Weight(439), Weight(441)),
    columns!(Weight(443), Arg::State(37), Arg::State(38), Weight(442), Weight(444), Weight(446), Weight(445), Weight(447)),
    columns!(Weight(449), Arg::State(39), Arg::State(40), Weight(448), Weight(450), Weight(452), Weight(451), Weight(453)),
    columns!(Weight(455), Arg::State(41), Arg::State(42), Weight(454), Weight(456), Weight(458), Weight(457), Weight(459)),
    columns!(Weight(461), Arg::State(43), Arg::State(44), Weight(460), Weight(462), Weight(464), Weight(463), Weight(465)),
    columns!(Weight(467), Arg::State(45), Arg::State(46), Weight(466), Weight(468), Weight(470), Weight(469), Weight(471)),
    columns!(Weight(473), Arg::State(47), Arg::State(48), Weight(472), Weight(474), Weight(476), Weight(475), Weight(477)),
];

static BUCKET_DECODE_1_ROWS: &[Dispatch] = &[
    row!(
        QKV_F16_M1_K2048_H32_32_D64_C512_RMS, [1536, 1, 1], [Arena(0), Column(0), Arena(8192), Column(1), Column(2),
        Step, Step, Step, Column(3), Weight(334), Weight(335)], +, "/model/layers.{l}/self_attn/Add [1, 32, 1, 64]"
    ),
    row!(
        ATTEND_F16_M1_H32_32_D64_C512, [32, 2, 1], [Arena(8192), Column(1), Column(2), Arena(16384), Step, Arena(24576),
        Arg::State(49), Step], +, "/model/layers.{l}/self_attn/MatMul_1 [1, 1, 2048]"
    ),
    row!(
        MATVEC_F16_M1_K2048_N2048_ADD, [512, 1, 1], [Arena(16384), Column(4), Arena(8192), Step, Arena(0)], +,
        "/model/layers.{l}/Add [1, 1, 2048]"
    ),
    row!(
        GATED_MATVEC_F16_M1_K2048_N8192_RMS_SILU, [1024, 1, 1], [Arena(8192), Column(5), Arena(16384), Step, Column(6)],
        +, "/model/layers.{l}/mlp/Mul [1, 1, 8192]"
    ),
    row!(
        MATVEC_F16_M1_K8192_N2048_ADD, [512, 1, 1], [Arena(16384), Column(7), Arena(0), Step, Arena(8192)], +,
        "/model/layers.{l}/Add_1 [1, 1, 2048]"
    ),
];

static BUCKET_DECODE_2_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_DECODE_2_ROWS: &[Dispatch] = &[
    row!(
        MATVEC_F16_M1_K2048_N49280_RMS, [6160, 1, 1], [Arena(0), Weight(478), Logits, Step, Weight(479)], +,
        "/lm_head/MatMul [1, 1, 49280]"
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
        DRAW_SCALE_N49280, [49, 1, 1], [Logits, Step, History, Arena(0), Arena(197120), Arena(197376), Arena(201728)],
        +, "penalty and temperature [49280]"
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
        DRAW_SEARCH_N49280, [49, 1, 1], [Arena(0), Arena(197120), Step, Column(0), Column(1), Column(2)], +,
        "digit {l} of top-k, then top-p"
    ),
];

static BUCKET_DECODE_6_TABLE: &[List<Arg>] = &[columns!()];
static BUCKET_DECODE_6_ROWS: &[Dispatch] = &[
    row!(
        DRAW_SUM_N49280, [49, 1, 1], [Arena(0), Arena(197120), Step, Arena(206080), Arena(197376), Arena(197632)], +,
        "mass of each slice [49]"
    ),
    row!(
        DRAW_PICK_N49280, [1, 1, 1], [Arena(0), Arena(197376), Arena(197632), Step, Tokens, Ring, History], +,
        "next token, drawn [49280]"
    ),
];
