// A tile of activations times weight rows on matrix units, by one workgroup. In: rows of halves (lib/halves.glsl), weights [n][k].
// Out: for each row and unit, unit_begin and then unit_end(row, unit, sums, extras), as lib/matmul.glsl's unit_store; with SPLITS, sums of a part of k, which
// add_up of the next dispatch takes. Only the matrix forms of kernels include this.
// Define before this: HALVES; WEIGHT_BITS; TILE_M rows by TILE_N columns (four to a unit) by steps of TILE_K, one at a time in
// shared memory; the tile is cut into PARTS_M x PARTS_N parts of the output and PARTS_K parts of each step, a subgroup of 32 each;
// SPLITS workgroups share the steps. Grid: tiles of rows, tiles of columns, SPLITS: rows first, so that weights are read from memory once.
// Promise: sums in a fixed order, f32; quantised weights are decoded to halves; at most 48 KiB of shared memory (the plan sees to it). k, or K_PADDED where that
// is defined, is a multiple of TILE_K; the halves have rows up to the next multiple of TILE_M, of that many columns.
// UNSCALED: rows of halves have no factors (lib/handed.glsl). HANDED_UNITS: units up to which rows of y are filled up with unit_zeros.
#ifndef MATMUL_MATRIX_GLSL
#define MATMUL_MATRIX_GLSL
#include "halves.glsl"
#include "matrix.glsl"
#include "memory.glsl"
#include "weight_halves.glsl"
#if !defined(TILE_M) || !defined(TILE_N) || !defined(TILE_K) || !defined(PARTS_M) || !defined(PARTS_N) || !defined(PARTS_K)
#error "define TILE_M TILE_N TILE_K PARTS_M PARTS_N PARTS_K"
#endif
#ifndef SPLITS
#error "define SPLITS"
#endif

// Columns of the halves; those past the weights' are zeros.
#ifndef K_PADDED
#define K_PADDED K
#endif

uint unit_row(uint unit, uint part);
Extras unit_begin(uint row, uint unit);
void unit_end(uint row, uint unit, vec4 sums, Extras extras);
#ifdef HANDED_UNITS
void unit_zeros(uint row, uint unit);
#endif

const uint SUBGROUPS = PARTS_M * PARTS_N * PARTS_K;
const uint THREADS = 32u * SUBGROUPS;
// Rows of a tile in groups of eight halves, one more than they need so that eight rows lie in different banks.
const uint CHUNKS = TILE_K / 8u;
const uint STRIDE = CHUNKS + 1u;
const uint X_ITEMS = HALVES * TILE_M * CHUNKS;
const uint X_LOADS = (X_ITEMS + THREADS - 1u) / THREADS;
const uint W_ITEMS = TILE_N * CHUNKS / FETCH_CHUNKS;
const uint W_LOADS = (W_ITEMS + THREADS - 1u) / THREADS;
const uint STEPS = K_PADDED / TILE_K;
// Matrices of a subgroup.
const uint DOWN = TILE_M / (16u * PARTS_M);
const uint ACROSS = TILE_N / (16u * PARTS_N);
const uint DEEP = TILE_K / (16u * PARTS_K);
// What a step takes of shared memory, its weights from TILE_W on, and a subgroup for the sums of 16 of its rows, once the steps are over.
const uint STAGE = (HALVES * TILE_M + TILE_N) * STRIDE;
const uint TILE_W = HALVES * TILE_M * STRIDE;
const uint SUM_ROW = 4u * ACROSS + 1u;
const uint OWN = 16u * SUM_ROW;
// Sums that a lane ends at a time, so that what they need comes together.
const uint BATCH = 4u;

shared uvec4 tile[max(STAGE, SUBGROUPS * OWN)];

#if SALIENT > 0

// What the salient columns add to the sums of a unit, in the scale of the row's halves.
vec4 salient_sums(Uints x, Weights w, uint row, uint unit, const uint k) {
    uvec4 rows = uvec4(unit_row(unit, 0u), unit_row(unit, 1u), unit_row(unit, 2u), unit_row(unit, 3u));
    vec4 sums = vec4(0.0);
    for (uint i = 0u; i < SALIENT; i++) {
        uint column = salient_column(w, i);
        float value = 0.0;
        for (uint h = 0u; h < HALVES; h++) {
            uint at = (row * HALVES + h) * K_PADDED + column;
            vec2 pair = unpackHalf2x16(x.v[at >> 1]);
            value += (at & 1u) == 0u ? pair.x : pair.y;
        }
        sums += salient_sum(w, rows, i, value);
    }
    return sums;
}

#endif

// All subgroups that share sums have come here.
void sums_barrier() {
#if PARTS_K > 1
    barrier();
#else
    matrix_barrier();
#endif
}

// Element of the partial sums' vectors.
uint partial_at(uint split, uint row, uint unit, const uint m, const uint units) {
    return (split * m + row) * units + unit;
}

void matmul_matrix(Uints x, Weights w, Floats partials, const uint m, const uint rows, uint live, const uint k, const uint units) {
    uint row0 = gl_WorkGroupID.x * TILE_M;
    uint unit0 = gl_WorkGroupID.y * (TILE_N / 4u);
    uint split = gl_WorkGroupID.z;
    if (row0 >= live) {
        return;
    }
    uint first = STEPS * split / SPLITS;
    uint last = STEPS * (split + 1u) / SPLITS;
    uint part_m = matrix_subgroup() % PARTS_M;
    uint part_n = matrix_subgroup() / PARTS_M % PARTS_N;
    uint part_k = matrix_subgroup() / (PARTS_M * PARTS_N);
    uint thread = gl_LocalInvocationIndex;

    uint x_at[X_LOADS];
    uint w_at[W_LOADS];
    uvec4 next_x[X_LOADS];
    Fetched next_w[W_LOADS];
    [[unroll]] for (uint i = 0u; i < X_LOADS; i++) {
        uint item = min(i * THREADS + thread, X_ITEMS - 1u);
        uint r = item / CHUNKS;
        x_at[i] = ((row0 + r % TILE_M) * HALVES + r / TILE_M) * (K_PADDED / 8u) + item % CHUNKS;
        next_x[i] = UVec4s(x).v[x_at[i] + first * CHUNKS];
    }
    [[unroll]] for (uint i = 0u; i < W_LOADS; i++) {
        uint item = min(i * THREADS + thread, W_ITEMS - 1u);
        uint column = item / (CHUNKS / FETCH_CHUNKS);
        uint part = item % (CHUNKS / FETCH_CHUNKS) * FETCH_CHUNKS;
        w_at[i] = unit_row(min(unit0 + column / 4u, units - 1u), column % 4u) * (k / 8u) + part;
        next_w[i] = fetch_nothing();
        if (K_PADDED == k || first * CHUNKS + part < k / 8u) {
            next_w[i] = fetch_weights(w, w_at[i] + first * CHUNKS);
        }
    }
    MatrixC sums[DOWN * ACROSS];
    [[unroll]] for (uint i = 0u; i < DOWN * ACROSS; i++) {
        sums[i] = filled_c(0.0);
    }
    for (uint step = first; step < last; step++) {
        barrier();
        [[unroll]] for (uint i = 0u; i < X_LOADS; i++) {
            uint item = i * THREADS + thread;
            if (X_ITEMS % THREADS == 0u || item < X_ITEMS) {
                tile[item / CHUNKS * STRIDE + item % CHUNKS] = next_x[i];
            }
        }
        [[unroll]] for (uint i = 0u; i < W_LOADS; i++) {
            uint item = i * THREADS + thread;
            if (W_ITEMS % THREADS == 0u || item < W_ITEMS) {
                uint to = TILE_W + item / (CHUNKS / FETCH_CHUNKS) * STRIDE + item % (CHUNKS / FETCH_CHUNKS) * FETCH_CHUNKS;
                [[unroll]] for (uint c = 0u; c < FETCH_CHUNKS; c++) {
                    tile[to + c] = weight_halves(next_w[i], w_at[i] + step * CHUNKS, c);
                }
            }
        }
        barrier();
        // The next step's loads are under way while this one is multiplied.
        if (step + 1u < last) {
            uint ahead = (step + 1u) * CHUNKS;
            [[unroll]] for (uint i = 0u; i < X_LOADS; i++) {
                next_x[i] = UVec4s(x).v[x_at[i] + ahead];
            }
            [[unroll]] for (uint i = 0u; i < W_LOADS; i++) {
                uint part = min(i * THREADS + thread, W_ITEMS - 1u) % (CHUNKS / FETCH_CHUNKS) * FETCH_CHUNKS;
                if (K_PADDED == k || ahead + part < k / 8u) {
                    next_w[i] = fetch_weights(w, w_at[i] + ahead);
                } else {
                    next_w[i] = fetch_nothing();
                }
            }
        }
        [[unroll]] for (uint d = 0u; d < DEEP; d++) {
            uint chunk = 2u * (part_k * DEEP + d);
            MatrixB b[ACROSS];
            [[unroll]] for (uint j = 0u; j < ACROSS; j++) {
                b[j] = LOAD_B_COLUMNS(tile, TILE_W + 16u * (part_n * ACROSS + j) * STRIDE + chunk, STRIDE);
            }
            [[unroll]] for (uint i = 0u; i < DOWN * HALVES; i++) {
                uint at = i / DOWN * TILE_M + 16u * (part_m * DOWN + i % DOWN);
                MatrixA a = LOAD_A(tile, at * STRIDE + chunk, STRIDE);
                [[unroll]] for (uint j = 0u; j < ACROSS; j++) {
                    sums[i % DOWN * ACROSS + j] = multiply_add(a, b[j], sums[i % DOWN * ACROSS + j]);
                }
            }
        }
    }
    barrier();
    uint factors = halves_factors(rows, K_PADDED);
    [[unroll]] for (uint i = 0u; i < DOWN; i++) {
        sums_barrier();
        [[unroll]] for (uint j = 0u; j < ACROSS; j++) {
            STORE_C(tile, matrix_subgroup() * OWN + 4u * j, sums[i * ACROSS + j], SUM_ROW);
        }
        sums_barrier();
        uint row1 = row0 + 16u * (part_m * DOWN + i);
        uint unit1 = unit0 + 4u * part_n * ACROSS;
        for (uint from = 0u; from < 64u * ACROSS; from += 32u * PARTS_K * BATCH) {
            uint row[BATCH];
            uint unit[BATCH];
            float factor[BATCH];
#if SPLITS == 1
            Extras extras[BATCH];
#endif
            [[unroll]] for (uint e = 0u; e < BATCH; e++) {
                uint item = from + 32u * (PARTS_K * e + part_k) + matrix_lane();
                row[e] = row1 + item / (4u * ACROSS);
                unit[e] = unit1 + item % (4u * ACROSS);
                uint known = min(row[e], live - 1u);
#ifdef UNSCALED
                factor[e] = 1.0;
#else
                factor[e] = Floats(x).v[factors + known];
#endif
#if SPLITS == 1
                extras[e] = unit_begin(known, min(unit[e], units - 1u));
#endif
            }
            [[unroll]] for (uint e = 0u; e < BATCH; e++) {
                uint item = from + 32u * (PARTS_K * e + part_k) + matrix_lane();
                vec4 sum = vec4(0.0);
                [[unroll]] for (uint p = 0u; p < PARTS_K; p++) {
                    uint subgroup = (p * PARTS_N + part_n) * PARTS_M + part_m;
                    uint at = min(item, 64u * ACROSS - 1u);
                    sum += uintBitsToFloat(tile[subgroup * OWN + at / (4u * ACROSS) * SUM_ROW + at % (4u * ACROSS)]);
                }
                if (item < 64u * ACROSS && row[e] < live && unit[e] < units) {
#if SALIENT > 0
                    if (split == 0u) {
                        sum += salient_sums(x, w, row[e], unit[e], k);
                    }
#endif
#if SPLITS == 1
                    unit_end(row[e], unit[e], sum * factor[e], extras[e]);
#else
                    Vec4s(partials).v[partial_at(split, row[e], unit[e], m, units)] = sum * factor[e];
#endif
                }
#ifdef HANDED_UNITS
                if (item < 64u * ACROSS && row[e] < live && unit[e] >= units && unit[e] < HANDED_UNITS) {
                    unit_zeros(row[e], unit[e]);
                }
#endif
            }
        }
    }
}

#endif
