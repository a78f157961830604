// Softmax attention of 16 * PARTS_M query rows over one head's keys on matrix units, by one workgroup. In and out: as attend of
// lib/attention.glsl. Only the matrix forms of kernels include this.
// Define before this: HEAD_DIM, a multiple of eight; KV_BITS; PARTS_M x PARTS_K subgroups of 32: a subgroup takes 16 rows and
// every PARTS_K-th tile of keys.
// Promise: sums in a fixed order, f32; queries and weights as two halves each, which keep f32's digits; keys and values as the
// cache has them, f32 ones rounded to halves; at most 48 KiB of shared memory (the plan sees to it); finite as lib/attention.glsl.
#ifndef ATTENTION_MATRIX_GLSL
#define ATTENTION_MATRIX_GLSL
#include "cache.glsl"
#include "matrix.glsl"
#include "sight.glsl"
#if !defined(HEAD_DIM) || !defined(KV_BITS) || !defined(PARTS_M) || !defined(PARTS_K)
#error "define HEAD_DIM KV_BITS PARTS_M PARTS_K"
#endif

const uint SUBGROUPS = PARTS_M * PARTS_K;
// Keys of a tile: two matrices.
const uint TILE_KEYS = 32u;
// Matrices that the channels of a head fill, and rows of keys in groups of eight halves, one more than they need so that
// eight rows lie in different banks.
const uint DEEP = (HEAD_DIM + 15u) / 16u;
const uint CHUNKS = 2u * DEEP;
const uint ROW = CHUNKS + 1u;
// A subgroup's own memory: scores of 16 rows in SCORE_ROW vectors, or weights as two halves in WEIGHT_ROW, or sums in SUM_ROW.
const uint SCORE_ROW = 9u;
const uint WEIGHT_ROW = 5u;
const uint SUM_ROW = 5u;
const uint OWN = 2u * 16u * WEIGHT_ROW;
// How far a score may stand above the one that weights are relative to: exp of it is still a half.
const float GROWTH = 8.0;

shared uvec4 tile_k[PARTS_K * TILE_KEYS * ROW];
shared uvec4 tile_v[PARTS_K * TILE_KEYS * ROW];
shared uvec4 own[SUBGROUPS * OWN];
// The score that a row's weights are relative to, and their sum.
shared vec2 row_stats[SUBGROUPS * 16u];

// Elements e..e+7 as halves, e a multiple of eight. Codes come without the scale of their row.
uvec4 cache_halves(Uints cache, uint e) {
#if KV_BITS == 16
    return UVec4s(cache).v[e >> 3];
#else
    vec4 lo = cache_load4(cache, e);
    vec4 hi = cache_load4(cache, e + 4u);
    return uvec4(pack_halves(lo.xy), pack_halves(lo.zw), pack_halves(hi.xy), pack_halves(hi.zw));
#endif
}

// Eight values as halves, and what that lost as halves.
void split_eight(vec4 lo, vec4 hi, out uvec4 high, out uvec4 low) {
    high = uvec4(pack_halves(lo.xy), pack_halves(lo.zw), pack_halves(hi.xy), pack_halves(hi.zw));
    lo -= vec4(unpackHalf2x16(high.x), unpackHalf2x16(high.y));
    hi -= vec4(unpackHalf2x16(high.z), unpackHalf2x16(high.w));
    low = uvec4(pack_halves(lo.xy), pack_halves(lo.zw), pack_halves(hi.xy), pack_halves(hi.zw));
}

// Keys first.. of tile memory, those from `end` on as zeros, by the subgroups that share it.
void load_keys(Uints k, uint k_at, Uints v, uint v_at, uint first, uint end, uint part_k, uint thread) {
    for (uint i = thread; i < TILE_KEYS * CHUNKS; i += 32u * PARTS_M) {
        uint key = i / CHUNKS;
        uint c = i % CHUNKS;
        uint to = (part_k * TILE_KEYS + key) * ROW + c;
        uvec4 key_halves = uvec4(0u);
        uvec4 value_halves = uvec4(0u);
        if (first + key < end && 8u * c < HEAD_DIM) {
            uint e = (first + key) * KV_ROW + 8u * c;
            key_halves = cache_halves(k, k_at + e);
            value_halves = cache_halves(v, v_at + e);
        }
        tile_k[to] = key_halves;
        tile_v[to] = value_halves;
    }
}

void attend_matrix(Floats q, uint q_at, Uints k, uint k_at, Uints v, uint v_at, Floats y, uint y_at, const uint y_stride, uint rows,
                   Sight sight, const float scale, const bool masked, MaskView mask) {
    uint part_m = gl_SubgroupID % PARTS_M;
    uint part_k = gl_SubgroupID / PARTS_M;
    uint mine = gl_SubgroupID * OWN;
    // Two lanes share a row: of 16 channels, scores or sums each has half.
    uint local_row = gl_SubgroupInvocationID / 2u;
    uint side = gl_SubgroupInvocationID % 2u;
    uint row = 16u * part_m + local_row;
    uint q_row = q_at + min(row, rows - 1u) * Q_ROW;

    // The row's largest value comes near 2^14, as in lib/halves.glsl.
    float largest = 0.0;
    [[unroll]] for (uint d = 0u; d < DEEP; d++) {
        uint c = 16u * d + 8u * side;
        if (c < HEAD_DIM) {
            vec4 a = max(abs(Vec4s(q).v[(q_row + c) / 4u]), abs(Vec4s(q).v[(q_row + c) / 4u + 1u]));
            largest = max(largest, max(max(a.x, a.y), max(a.z, a.w)));
        }
    }
    largest = max(largest, subgroupShuffleXor(largest, 1u));
    int exponent = clamp(268 - int(floatBitsToUint(largest) >> 23), 1, 253);
    float factor = uintBitsToFloat(uint(exponent) << 23);
    float row_scale = scale * uintBitsToFloat(uint(254 - exponent) << 23);
    MatrixA q_high[DEEP];
    MatrixA q_low[DEEP];
    [[unroll]] for (uint d = 0u; d < DEEP; d++) {
        uint c = 16u * d + 8u * side;
        uvec4 high = uvec4(0u);
        uvec4 low = uvec4(0u);
        if (c < HEAD_DIM) {
            split_eight(factor * Vec4s(q).v[(q_row + c) / 4u], factor * Vec4s(q).v[(q_row + c) / 4u + 1u], high, low);
        }
        subgroupBarrier();
        own[mine + 2u * local_row + side] = high;
        own[mine + 32u + 2u * local_row + side] = low;
        subgroupBarrier();
        q_high[d] = load_a(own[mine], ROW_MAJOR, 2u);
        q_low[d] = load_a(own[mine + 32u], ROW_MAJOR, 2u);
    }
    MatrixC sums[DEEP];
    [[unroll]] for (uint d = 0u; d < DEEP; d++) {
        sums[d] = filled_c(0.0);
    }

    float top = SCORE_FLOOR;
    float total = 0.0;
    bool started = false;
    uint row_begin = sight_begin(sight, row);
    uint row_end = row < rows ? sight_end(sight, row) : 0u;
    uint begin = sight_begin(sight, 0u);
    uint end = sight_end(sight, rows - 1u);
    // What any row of this subgroup sees ends here.
    uint own_end = 16u * part_m < rows ? sight_end(sight, min(16u * part_m + 15u, rows - 1u)) : 0u;
    for (uint stretch = begin; stretch < end; stretch += PARTS_K * TILE_KEYS) {
        uint first = stretch + part_k * TILE_KEYS;
        barrier();
        load_keys(k, k_at, v, v_at, first, end, part_k, 32u * part_m + gl_SubgroupInvocationID);
        barrier();
        if (first >= own_end) {
            continue;
        }
        MatrixC scores[2];
        [[unroll]] for (uint j = 0u; j < 2u; j++) {
            scores[j] = filled_c(0.0);
            [[unroll]] for (uint d = 0u; d < DEEP; d++) {
                MatrixB b = load_b(tile_k[(part_k * TILE_KEYS + 16u * j) * ROW + 2u * d], COLUMN_MAJOR, ROW);
                scores[j] = multiply_add(q_low[d], b, scores[j]);
                scores[j] = multiply_add(q_high[d], b, scores[j]);
            }
        }
        subgroupBarrier();
        store_c4(own[mine], scores[0], ROW_MAJOR, SCORE_ROW);
        store_c4(own[mine + 4u], scores[1], ROW_MAJOR, SCORE_ROW);
        subgroupBarrier();
        float score[16];
        float best = SCORE_FLOOR;
        [[unroll]] for (uint i = 0u; i < 4u; i++) {
            vec4 four = uintBitsToFloat(own[mine + local_row * SCORE_ROW + 4u * side + i]);
            [[unroll]] for (uint e = 0u; e < 4u; e++) {
                uint key = first + 16u * side + 4u * i + e;
                float s = SCORE_HIDDEN;
                if (key >= row_begin && key < row_end) {
                    s = four[e] * row_scale;
#if KV_BITS == 8
                    s *= cache_scale(k, k_at / HEAD_DIM + key);
#endif
                    if (masked) {
                        s = masked_score(s, mask, row, key);
                    }
                }
                score[4u * i + e] = s;
                best = max(best, s);
            }
        }
        best = max(best, subgroupShuffleXor(best, 1u));
        subgroupBarrier();
        bool grows = best > top + GROWTH;
        if (any(notEqual(subgroupBallot(grows), uvec4(0u)))) {
            float next = grows ? best : top;
            float shrink = exp(top - next);
            top = next;
            total *= shrink;
            if (started) {
                [[unroll]] for (uint d = 0u; d < DEEP; d++) {
                    store_c4(own[mine], sums[d], ROW_MAJOR, SUM_ROW);
                    subgroupBarrier();
                    [[unroll]] for (uint i = 0u; i < 2u; i++) {
                        uint at = mine + local_row * SUM_ROW + 2u * side + i;
                        own[at] = floatBitsToUint(uintBitsToFloat(own[at]) * shrink);
                    }
                    subgroupBarrier();
                    sums[d] = load_c(own[mine], ROW_MAJOR, SUM_ROW);
                    subgroupBarrier();
                }
            }
        }
        started = true;
        [[unroll]] for (uint i = 0u; i < 2u; i++) {
            vec4 w[2];
            [[unroll]] for (uint e = 0u; e < 8u; e++) {
                float s = score[8u * i + e];
                float weight = s >= SCORE_FLOOR ? exp(s - top) : 0.0;
                total += weight;
#if KV_BITS == 8
                uint key = first + 16u * side + 8u * i + e;
                weight *= s >= SCORE_FLOOR ? cache_scale(v, v_at / HEAD_DIM + key) : 0.0;
#endif
                w[e / 4u][e % 4u] = weight;
            }
            uvec4 high;
            uvec4 low;
            split_eight(w[0], w[1], high, low);
            own[mine + local_row * WEIGHT_ROW + 2u * side + i] = high;
            own[mine + (16u + local_row) * WEIGHT_ROW + 2u * side + i] = low;
        }
        subgroupBarrier();
        [[unroll]] for (uint j = 0u; j < 2u; j++) {
            MatrixA high = load_a(own[mine + 2u * j], ROW_MAJOR, WEIGHT_ROW);
            MatrixA low = load_a(own[mine + 16u * WEIGHT_ROW + 2u * j], ROW_MAJOR, WEIGHT_ROW);
            [[unroll]] for (uint d = 0u; d < DEEP; d++) {
                MatrixB b = load_b(tile_v[(part_k * TILE_KEYS + 16u * j) * ROW + 2u * d], ROW_MAJOR, ROW);
                sums[d] = multiply_add(low, b, sums[d]);
                sums[d] = multiply_add(high, b, sums[d]);
            }
        }
    }
    total += subgroupShuffleXor(total, 1u);
    if (side == 0u) {
        row_stats[gl_SubgroupID * 16u + local_row] = vec2(top, total);
    }
    // Subgroups of the same rows add up, in order.
    [[unroll]] for (uint d = 0u; d < DEEP; d++) {
        barrier();
        store_c4(own[mine], sums[d], ROW_MAJOR, SUM_ROW);
        barrier();
        for (uint item = 32u * part_k + gl_SubgroupInvocationID; item < 64u; item += 32u * PARTS_K) {
            uint r = item / 4u;
            float most = SCORE_FLOOR;
            [[unroll]] for (uint p = 0u; p < PARTS_K; p++) {
                most = max(most, row_stats[(p * PARTS_M + part_m) * 16u + r].x);
            }
            float whole = 0.0;
            vec4 sum = vec4(0.0);
            [[unroll]] for (uint p = 0u; p < PARTS_K; p++) {
                uint subgroup = p * PARTS_M + part_m;
                vec2 stats = row_stats[subgroup * 16u + r];
                float share = stats.y > 0.0 ? exp(stats.x - most) : 0.0;
                whole += share * stats.y;
                sum += share * uintBitsToFloat(own[subgroup * OWN + r * SUM_ROW + item % 4u]);
            }
            uint to = 16u * part_m + r;
            uint column = 16u * d + 4u * (item % 4u);
            if (to < rows && column < HEAD_DIM) {
                Vec4s(y).v[(y_at + to * y_stride + column) / 4u] = whole > 0.0 ? sum / whole : vec4(0.0);
            }
        }
    }
}

#endif
