// Softmax attention of 16 * PARTS_M query rows over one head's keys on matrix units, by one workgroup. In and out: as attend of
// lib/attention.glsl. Only the matrix forms of kernels include this.
// Define before this: HEAD_DIM, a multiple of eight; KV_BITS; HANDED 1 where y takes clamped halves (lib/handed.glsl); PARTS_M x PARTS_K subgroups of 32: a subgroup takes 16 rows and
// every PARTS_K-th tile of keys.
// Promise: sums in a fixed order, f32. Keys and values of a cache are taken as they are, and queries and weights as two halves each,
// which keep f32's digits; where keys and values are f32 they become halves, and so do queries and weights, and int8 values; at most 48 KiB of shared memory (the plan sees to it); finite as lib/attention.glsl.
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
// How far a score may stand above the one that weights are relative to, and what weights are multiplied by: together still a half.
const float GROWTH = 4.0;
const float LIFT = 1024.0;

shared uvec4 tile_k[PARTS_K * TILE_KEYS * ROW];
shared uvec4 tile_v[PARTS_K * TILE_KEYS * ROW];
shared uvec4 own[SUBGROUPS * OWN];
// The score that a row's weights are relative to, and their sum.
shared vec2 row_stats[SUBGROUPS * 16u];

// Two floats as halves, rounded as the device likes.
uint halves(vec2 x) {
    return packHalf2x16(clamp(x, vec2(-65504.0), vec2(65504.0)));
}

uvec4 eight_halves(vec4 lo, vec4 hi) {
    return uvec4(halves(lo.xy), halves(lo.zw), halves(hi.xy), halves(hi.zw));
}

// The greater part of values that are split. A compiler may take a conversion and its inverse for nothing, so the rounding is spelt out.
uvec4 high_halves(vec4 lo, vec4 hi) {
#if KV_BITS == 32
    return eight_halves(lo, hi);
#else
    return uvec4(pack_halves(lo.xy), pack_halves(lo.zw), pack_halves(hi.xy), pack_halves(hi.zw));
#endif
}

// What eight values lose as halves, as halves.
uvec4 lost_halves(vec4 lo, vec4 hi, uvec4 high) {
    lo -= vec4(unpackHalf2x16(high.x), unpackHalf2x16(high.y));
    hi -= vec4(unpackHalf2x16(high.z), unpackHalf2x16(high.w));
    return eight_halves(lo, hi);
}

// Elements of a row as memory has them. Loads and conversions are apart so that loads may be under way meanwhile.
#if KV_BITS == 16
#define Fetched uvec4
Fetched fetch(Uints cache, uint e) {
    return UVec4s(cache).v[e >> 3];
}

uvec4 fetched_halves(Fetched f) {
    return f;
}
#else
struct Fetched {
    vec4 lo;
    vec4 hi;
};

Fetched fetch(Uints cache, uint e) {
    return Fetched(cache_load4(cache, e), cache_load4(cache, e + 4u));
}

uvec4 fetched_halves(Fetched f) {
    return eight_halves(f.lo, f.hi);
}
#endif

const uint LOADS = (TILE_KEYS * CHUNKS + 32u * PARTS_M - 1u) / (32u * PARTS_M);

// Where a thread's load i of the tile of keys from `first` on begins; some place that exists where there is no such key.
uint key_offset(uint first, uint end, uint i, uint thread) {
    uint item = min(i * 32u * PARTS_M + thread, TILE_KEYS * CHUNKS - 1u);
    uint c = 8u * (item % CHUNKS);
    return min(first + item / CHUNKS, end - 1u) * KV_ROW + (c < HEAD_DIM ? c : 0u);
}

void attend_matrix(Floats q, uint q_at, Uints k, uint k_at, Uints v, uint v_at, Floats y, uint y_at, const uint y_stride, uint rows,
                   Sight sight, const float scale, const bool masked, MaskView mask) {
    uint part_m = matrix_subgroup() % PARTS_M;
    uint part_k = matrix_subgroup() / PARTS_M;
    uint mine = matrix_subgroup() * OWN;
    // Two lanes share a row: of 16 channels, scores or sums each has half.
    uint local_row = matrix_lane() / 2u;
    uint side = matrix_lane() % 2u;
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
    largest = max(largest, of_neighbour(largest));
    int exponent = clamp(268 - int(floatBitsToUint(largest) >> 23), 1, 253);
    float factor = uintBitsToFloat(uint(exponent) << 23);
    float row_scale = scale * uintBitsToFloat(uint(254 - exponent) << 23);
    MatrixA q_high[DEEP];
#if KV_BITS != 32
    MatrixA q_low[DEEP];
#endif
    [[unroll]] for (uint d = 0u; d < DEEP; d++) {
        uint c = 16u * d + 8u * side;
        uvec4 high = uvec4(0u);
        uvec4 low = uvec4(0u);
        if (c < HEAD_DIM) {
            vec4 lo = factor * Vec4s(q).v[(q_row + c) / 4u];
            vec4 hi = factor * Vec4s(q).v[(q_row + c) / 4u + 1u];
            high = high_halves(lo, hi);
            low = lost_halves(lo, hi, high);
        }
        row_barrier();
        own[mine + 2u * local_row + side] = high;
        own[mine + 32u + 2u * local_row + side] = low;
        row_barrier();
        q_high[d] = LOAD_A(own, mine, 2u);
#if KV_BITS != 32
        q_low[d] = LOAD_A(own, mine + 32u, 2u);
#endif
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
    uint thread = 32u * part_m + matrix_lane();
    Fetched next_k[LOADS];
    Fetched next_v[LOADS];
    [[unroll]] for (uint i = 0u; i < LOADS; i++) {
        uint from = key_offset(begin + part_k * TILE_KEYS, end, i, thread);
        next_k[i] = fetch(k, k_at + from);
        next_v[i] = fetch(v, v_at + from);
    }
    for (uint stretch = begin; stretch < end; stretch += PARTS_K * TILE_KEYS) {
        uint first = stretch + part_k * TILE_KEYS;
        barrier();
        [[unroll]] for (uint i = 0u; i < LOADS; i++) {
            uint item = i * 32u * PARTS_M + thread;
            if (item < TILE_KEYS * CHUNKS) {
                // Keys from `end` on are zeros, and so are channels past the head's.
                bool exists = first + item / CHUNKS < end && 8u * (item % CHUNKS) < HEAD_DIM;
                uint to = (part_k * TILE_KEYS + item / CHUNKS) * ROW + item % CHUNKS;
                tile_k[to] = exists ? fetched_halves(next_k[i]) : uvec4(0u);
#if KV_BITS == 8
                // Codes of keys are whole numbers, their scale goes to scores; those of values become what they stand for.
                float value_scale = exists ? cache_scale(v, v_at / HEAD_DIM + first + item / CHUNKS) : 0.0;
                next_v[i].lo *= value_scale;
                next_v[i].hi *= value_scale;
#endif
                tile_v[to] = exists ? fetched_halves(next_v[i]) : uvec4(0u);
            }
        }
        barrier();
        // The next tile's loads are under way while this one is multiplied.
        [[unroll]] for (uint i = 0u; i < LOADS; i++) {
            uint from = key_offset(first + PARTS_K * TILE_KEYS, end, i, thread);
            next_k[i] = fetch(k, k_at + from);
            next_v[i] = fetch(v, v_at + from);
        }
        if (first >= own_end) {
            continue;
        }
        MatrixC scores[2];
        [[unroll]] for (uint j = 0u; j < 2u; j++) {
            scores[j] = filled_c(0.0);
            [[unroll]] for (uint d = 0u; d < DEEP; d++) {
                MatrixB b = LOAD_B_COLUMNS(tile_k, (part_k * TILE_KEYS + 16u * j) * ROW + 2u * d, ROW);
#if KV_BITS != 32
                scores[j] = multiply_add(q_low[d], b, scores[j]);
#endif
                scores[j] = multiply_add(q_high[d], b, scores[j]);
            }
        }
        row_barrier();
        STORE_C(own, mine, scores[0], SCORE_ROW);
        STORE_C(own, mine + 4u, scores[1], SCORE_ROW);
        row_barrier();
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
                    s = bent_score(s);
                    if (masked) {
                        s = masked_score(s, mask, row, key);
                    }
                }
                score[4u * i + e] = s;
                best = max(best, s);
            }
        }
        best = max(best, of_neighbour(best));
        row_barrier();
        bool grows = best > top + GROWTH;
        if (any(notEqual(subgroupBallot(grows), uvec4(0u)))) {
            float next = grows ? best : top;
            float shrink = exp(top - next);
            top = next;
            total *= shrink;
            if (started) {
                [[unroll]] for (uint d = 0u; d < DEEP; d++) {
                    STORE_C(own, mine, sums[d], SUM_ROW);
                    row_barrier();
                    [[unroll]] for (uint i = 0u; i < 2u; i++) {
                        uint at = mine + local_row * SUM_ROW + 2u * side + i;
                        own[at] = floatBitsToUint(uintBitsToFloat(own[at]) * shrink);
                    }
                    row_barrier();
                    sums[d] = LOAD_C(own, mine, SUM_ROW);
                    row_barrier();
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
                w[e / 4u][e % 4u] = LIFT * weight;
            }
            uvec4 high = high_halves(w[0], w[1]);
            own[mine + local_row * WEIGHT_ROW + 2u * side + i] = high;
#if KV_BITS != 32
            own[mine + (16u + local_row) * WEIGHT_ROW + 2u * side + i] = lost_halves(w[0], w[1], high);
#endif
        }
        row_barrier();
        [[unroll]] for (uint j = 0u; j < 2u; j++) {
            MatrixA high = LOAD_A(own, mine + 2u * j, WEIGHT_ROW);
#if KV_BITS != 32
            MatrixA low = LOAD_A(own, mine + 16u * WEIGHT_ROW + 2u * j, WEIGHT_ROW);
#endif
            [[unroll]] for (uint d = 0u; d < DEEP; d++) {
                MatrixB b = LOAD_B_ROWS(tile_v, (part_k * TILE_KEYS + 16u * j) * ROW + 2u * d, ROW);
#if KV_BITS != 32
                sums[d] = multiply_add(low, b, sums[d]);
#endif
                sums[d] = multiply_add(high, b, sums[d]);
            }
        }
    }
    total += of_neighbour(total);
    if (side == 0u) {
        row_stats[matrix_subgroup() * 16u + local_row] = vec2(top, total);
    }
    // Subgroups of the same rows add up, in order.
    [[unroll]] for (uint d = 0u; d < DEEP; d++) {
        barrier();
        STORE_C(own, mine, sums[d], SUM_ROW);
        barrier();
        for (uint item = 32u * part_k + matrix_lane(); item < 64u; item += 32u * PARTS_K) {
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
                vec4 mean = whole > 0.0 ? sum / (LIFT * whole) : vec4(0.0);
                uint four = (y_at + to * y_stride + column) / 4u;
#if HANDED
                UVec2s(y).v[four] = uvec2(pack_halves(mean.xy), pack_halves(mean.zw));
#else
                Vec4s(y).v[four] = mean;
#endif
            }
        }
    }
}

#endif
