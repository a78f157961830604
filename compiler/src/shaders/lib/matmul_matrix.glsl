// A tile of activations times weight rows on matrix units, by one workgroup. In: rows of halves (lib/halves.glsl), weights [n][k].
// Out: unit_store(row, unit, sums), as lib/matmul.glsl. Only the matrix forms of kernels include this.
// Define before this: HALVES; WEIGHT_BITS; TILE_M rows by TILE_N columns (four to a unit) by steps of TILE_K; the tile is cut into
// PARTS_M x PARTS_N parts of the output and PARTS_K parts of each step, a subgroup of 32 each.
// Promise: sums in a fixed order, f32; quantised weights are decoded to halves; at most 48 KiB of shared memory (the plan sees to it). k, or K_PADDED where that
// is defined, is a multiple of TILE_K; the halves have rows up to the next multiple of TILE_M, of that many columns.
#ifndef MATMUL_MATRIX_GLSL
#define MATMUL_MATRIX_GLSL
#include "halves.glsl"
#include "matrix.glsl"
#include "memory.glsl"
#include "weights.glsl"
#if !defined(TILE_M) || !defined(TILE_N) || !defined(TILE_K) || !defined(PARTS_M) || !defined(PARTS_N) || !defined(PARTS_K)
#error "define TILE_M TILE_N TILE_K PARTS_M PARTS_N PARTS_K"
#endif

// Columns of the halves; those past the weights' are zeros.
#ifndef K_PADDED
#define K_PADDED K
#endif

uint unit_row(uint unit, uint part);
void unit_store(uint row, uint unit, vec4 sums);

const uint SUBGROUPS = PARTS_M * PARTS_N * PARTS_K;
const uint THREADS = 32u * SUBGROUPS;
// Rows of a tile in groups of eight halves, one more than they need so that eight rows lie in different banks.
const uint CHUNKS = TILE_K / 8u;
const uint STRIDE = CHUNKS + 1u;
const uint X_LOADS = HALVES * TILE_M * CHUNKS / THREADS;
const uint W_LOADS = TILE_N * CHUNKS / THREADS;
// Matrices of a subgroup.
const uint DOWN = TILE_M / (16u * PARTS_M);
const uint ACROSS = TILE_N / (16u * PARTS_N);
const uint DEEP = TILE_K / (16u * PARTS_K);
const uint SUMS_STRIDE = 20u;

shared uvec4 tile_x[HALVES * TILE_M * STRIDE];
shared uvec4 tile_w[TILE_N * STRIDE];
shared float tile_sums[SUBGROUPS * 16u * SUMS_STRIDE];

#if WEIGHT_BITS == 16

// Eight weights, from 8i on, as memory has them, and as halves. The two are apart so that loads may be under way meanwhile.
uvec4 fetch_weights(Weights w, uint i) {
    return UVec4s(w.at).v[i];
}

uvec4 weight_halves(uvec4 fetched, uint i) {
    return fetched;
}

#else

// x (and y): codes, z: the word that holds the group's scale, w: the one that holds its zero point or minimum.
uvec4 fetch_weights(Weights w, uint i) {
    uint group = i / (GROUP / 8u);
    uvec4 fetched = uvec4(0u);
#if WEIGHT_BITS == 4
    fetched.x = w.at.v[i];
#else
    fetched.xy = UVec2s(w.at).v[i];
#endif
    const uint numbers = SCALE_BITS == 32 ? 0u : 1u;
    fetched.z = w.at.v[w.scales + (group >> numbers)];
#if ZERO == 1
    fetched.w = w.at.v[w.zeros + (group >> 2)];
#elif ZERO >= 2
    fetched.w = w.at.v[w.zeros + (group >> numbers)];
#endif
    return fetched;
}

// The number of a group in the word that holds it.
float fetched_number(uint word, uint group) {
#if SCALE_BITS == 32
    return uintBitsToFloat(word);
#else
    vec2 pair = unpackHalf2x16(word);
    return (group & 1u) == 0u ? pair.x : pair.y;
#endif
}

uvec4 weight_halves(uvec4 fetched, uint i) {
    uint group = i / (GROUP / 8u);
    float scale = fetched_number(fetched.z, group);
#if ZERO == 0
    float base = -scale * float(1u << (WEIGHT_BITS - 1));
#elif ZERO == 1
    float base = -scale * float((fetched.w >> (8u * (group & 3u))) & 0xffu);
#elif ZERO == 2
    float base = fetched_number(fetched.w, group);
#else
    float base = -scale * fetched_number(fetched.w, group);
#endif
#if WEIGHT_BITS == 4
    uvec4 first = (uvec4(fetched.x) >> uvec4(0u, 16u, 4u, 20u)) & 15u;
    uvec4 next = (uvec4(fetched.x) >> uvec4(8u, 24u, 12u, 28u)) & 15u;
#else
    uvec4 first = (uvec4(fetched.x) >> uvec4(0u, 8u, 16u, 24u)) & 255u;
    uvec4 next = (uvec4(fetched.y) >> uvec4(0u, 8u, 16u, 24u)) & 255u;
#endif
    vec4 lo = vec4(first) * scale + base;
    vec4 hi = vec4(next) * scale + base;
    return uvec4(pack_halves(lo.xy), pack_halves(lo.zw), pack_halves(hi.xy), pack_halves(hi.zw));
}

#endif

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
    subgroupBarrier();
#endif
}

void matmul_matrix(Uints x, Weights w, const uint rows, uint live, const uint k, const uint units) {
    uint row0 = gl_WorkGroupID.y * TILE_M;
    uint unit0 = gl_WorkGroupID.x * (TILE_N / 4u);
    if (row0 >= live) {
        return;
    }
    uint part_m = gl_SubgroupID % PARTS_M;
    uint part_n = gl_SubgroupID / PARTS_M % PARTS_N;
    uint part_k = gl_SubgroupID / (PARTS_M * PARTS_N);
    uint thread = gl_LocalInvocationIndex;

    uint x_at[X_LOADS];
    uint w_at[W_LOADS];
    uvec4 next_x[X_LOADS];
    uvec4 next_w[W_LOADS];
    [[unroll]] for (uint i = 0u; i < X_LOADS; i++) {
        uint r = (i * THREADS + thread) / CHUNKS;
        x_at[i] = ((row0 + r % TILE_M) * HALVES + r / TILE_M) * (K_PADDED / 8u) + thread % CHUNKS;
        next_x[i] = UVec4s(x).v[x_at[i]];
    }
    [[unroll]] for (uint i = 0u; i < W_LOADS; i++) {
        uint column = (i * THREADS + thread) / CHUNKS;
        w_at[i] = unit_row(min(unit0 + column / 4u, units - 1u), column % 4u) * (k / 8u) + thread % CHUNKS;
        next_w[i] = fetch_weights(w, w_at[i]);
    }
    MatrixC sums[DOWN * ACROSS];
    [[unroll]] for (uint i = 0u; i < DOWN * ACROSS; i++) {
        sums[i] = filled_c(0.0);
    }
    for (uint k0 = 0u; k0 < K_PADDED; k0 += TILE_K) {
        barrier();
        [[unroll]] for (uint i = 0u; i < X_LOADS; i++) {
            tile_x[(i * THREADS + thread) / CHUNKS * STRIDE + thread % CHUNKS] = next_x[i];
        }
        [[unroll]] for (uint i = 0u; i < W_LOADS; i++) {
            tile_w[(i * THREADS + thread) / CHUNKS * STRIDE + thread % CHUNKS] = weight_halves(next_w[i], w_at[i] + k0 / 8u);
        }
        barrier();
        // The next step's loads are under way while this one is multiplied.
        if (k0 + TILE_K < K_PADDED) {
            uint ahead = (k0 + TILE_K) / 8u;
            [[unroll]] for (uint i = 0u; i < X_LOADS; i++) {
                next_x[i] = UVec4s(x).v[x_at[i] + ahead];
            }
            [[unroll]] for (uint i = 0u; i < W_LOADS; i++) {
                next_w[i] = uvec4(0u);
                if (K_PADDED == k || ahead + thread % CHUNKS < k / 8u) {
                    next_w[i] = fetch_weights(w, w_at[i] + ahead);
                }
            }
        }
        [[unroll]] for (uint d = 0u; d < DEEP; d++) {
            uint chunk = 2u * (part_k * DEEP + d);
            MatrixB b[ACROSS];
            [[unroll]] for (uint j = 0u; j < ACROSS; j++) {
                b[j] = load_b(tile_w[16u * (part_n * ACROSS + j) * STRIDE + chunk], COLUMN_MAJOR, STRIDE);
            }
            [[unroll]] for (uint i = 0u; i < DOWN * HALVES; i++) {
                uint first = i / DOWN * TILE_M + 16u * (part_m * DOWN + i % DOWN);
                MatrixA a = load_a(tile_x[first * STRIDE + chunk], ROW_MAJOR, STRIDE);
                [[unroll]] for (uint j = 0u; j < ACROSS; j++) {
                    sums[i % DOWN * ACROSS + j] = multiply_add(a, b[j], sums[i % DOWN * ACROSS + j]);
                }
            }
        }
    }
    uint factors = halves_factors(rows, K_PADDED);
    [[unroll]] for (uint i = 0u; i < DOWN * ACROSS; i++) {
        sums_barrier();
        store_c(tile_sums[gl_SubgroupID * 16u * SUMS_STRIDE], sums[i], ROW_MAJOR, SUMS_STRIDE);
        sums_barrier();
        uint row1 = row0 + 16u * (part_m * DOWN + i / ACROSS);
        uint unit1 = unit0 + 4u * (part_n * ACROSS + i % ACROSS);
        for (uint item = 32u * part_k + gl_SubgroupInvocationID; item < 64u; item += 32u * PARTS_K) {
            uint row = row1 + item / 4u;
            uint unit = unit1 + item % 4u;
            vec4 sum = vec4(0.0);
            [[unroll]] for (uint p = 0u; p < PARTS_K; p++) {
                uint subgroup = (p * PARTS_N + part_n) * PARTS_M + part_m;
                uint at = (subgroup * 16u + item / 4u) * SUMS_STRIDE + 4u * (item % 4u);
                sum += vec4(tile_sums[at], tile_sums[at + 1u], tile_sums[at + 2u], tile_sums[at + 3u]);
            }
            if (row < live && unit < units) {
#if SALIENT > 0
                sum += salient_sums(x, w, row, unit, k);
#endif
                unit_store(row, unit, sum * Floats(x).v[factors + row]);
            }
        }
    }
}

#endif
