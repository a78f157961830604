// Softmax attention of up to QUERY_ROWS query rows over one head's keys, by one workgroup. In: q f32, keys and values (KV_BITS)
// as rows of HEAD_DIM, KV_ROW elements apart, which keys each row sees, optionally an additive mask. Out: y f32. Define HEAD_DIM, QUERY_ROWS, LOCAL
// (HEAD_DIM <= 4 LOCAL) and KV_BITS before this.
// Promise: keys that no row sees are not read; f32 online softmax in a fixed order; a row that sees nothing gives zeros,
// a row that the mask hides wholly gives the mean, or zeros where it does so with minus infinity: always finite.
#ifndef ATTENTION_GLSL
#define ATTENTION_GLSL
#include "cache.glsl"
#include "lanes.glsl"
#include "sight.glsl"
#if !defined(HEAD_DIM) || !defined(QUERY_ROWS) || !defined(LOCAL)
#error "define HEAD_DIM QUERY_ROWS LOCAL"
#endif

const uint TILE_KEYS = QUERY_ROWS == 1 ? 4 * LOCAL : LOCAL;
const uint CHANNELS = HEAD_DIM % 4 == 0 ? 4 : 1;
const uint CHANNEL_GROUPS = HEAD_DIM / CHANNELS;
// Threads that share a channel group split the keys between them.
const uint KEY_SPLITS = max(LOCAL / CHANNEL_GROUPS, 1u);
const uint MAX_SUBGROUPS = LOCAL / 4;

shared float weight[QUERY_ROWS * TILE_KEYS];
shared float tile_max[QUERY_ROWS * MAX_SUBGROUPS];
shared float tile_sum[QUERY_ROWS * MAX_SUBGROUPS];
shared vec4 partial[QUERY_ROWS * LOCAL];

// Scores of the key at element `at` for all query rows. Eight lanes load eight channels of each row and hand them round, so that a
// query is loaded once for many keys; all lanes of a subgroup call this together.
void raw_scores(Floats q, uint q_at, uint rows, Uints k, uint at, out float sums[QUERY_ROWS]) {
    [[unroll]] for (uint r = 0u; r < QUERY_ROWS; r++) {
        sums[r] = 0.0;
    }
    float key_scale = cache_scale(k, at / HEAD_DIM);
    if (HEAD_DIM % 8 != 0) {
        for (uint c = 0u; c < HEAD_DIM; c++) {
            float key = cache_load(k, at + c) * key_scale;
            [[unroll]] for (uint r = 0u; r < QUERY_ROWS; r++) {
                sums[r] += key * q.v[q_at + min(r, rows - 1u) * Q_ROW + c];
            }
        }
        return;
    }
    for (uint c = 0u; c < HEAD_DIM; c += 8u) {
        vec4 lo = cache_load4(k, at + c);
        vec4 hi = cache_load4(k, at + c + 4u);
        [[unroll]] for (uint r = 0u; r < QUERY_ROWS; r++) {
            float own = q.v[q_at + min(r, rows - 1u) * Q_ROW + c + (gl_SubgroupInvocationID & 7u)];
            sums[r] += dot(lo, first_four(own)) + dot(hi, next_four(own));
        }
    }
    [[unroll]] for (uint r = 0u; r < QUERY_ROWS; r++) {
        sums[r] *= key_scale;
    }
}

void score_tile(Floats q, uint q_at, Uints k, uint k_at, uint first, uint last, uint rows, Sight sight, const float scale, const bool masked,
                MaskView mask) {
    float top[QUERY_ROWS];
    [[unroll]] for (uint r = 0u; r < QUERY_ROWS; r++) {
        top[r] = SCORE_FLOOR;
    }
    for (uint key0 = first; key0 < last; key0 += LOCAL) {
        uint key = key0 + gl_LocalInvocationIndex;
        float sums[QUERY_ROWS];
        raw_scores(q, q_at, rows, k, k_at + min(key, last - 1u) * KV_ROW, sums);
        [[unroll]] for (uint r = 0u; r < QUERY_ROWS; r++) {
            bool seen = r < rows && key < last && key >= sight_begin(sight, r) && key < sight_end(sight, r);
            float score = SCORE_FLOOR;
            if (seen) {
                score = bent_score(sums[r] * scale);
                if (masked) {
                    score = masked_score(score, mask, r, key);
                }
            }
            weight[r * TILE_KEYS + key - first] = score;
            top[r] = max(top[r], score);
        }
    }
    [[unroll]] for (uint r = 0u; r < QUERY_ROWS; r++) {
        float best = subgroupMax(top[r]);
        if (subgroupElect()) {
            tile_max[r * MAX_SUBGROUPS + gl_SubgroupID] = best;
        }
    }
}

// Adds weight times value over the keys of one split, for the thread's channels. Weights carry the scale of the value's row.
void add_values(Uints v, uint at, uint first, uint last, uint split, inout vec4 sum[QUERY_ROWS]) {
    // A subgroup of eight is a CPU, where one load serves all lanes: weights of eight keys come at once.
    bool together = gl_SubgroupSize == 8u && CHANNEL_GROUPS % 8u == 0u;
    for (uint key0 = first + split; key0 < last && split < KEY_SPLITS; key0 += 8u * KEY_SPLITS) {
        uint own = min(key0 - first + (gl_SubgroupInvocationID & 7u) * KEY_SPLITS, TILE_KEYS - 1u);
        vec4 lo[QUERY_ROWS];
        vec4 hi[QUERY_ROWS];
        if (together) {
            [[unroll]] for (uint r = 0u; r < QUERY_ROWS; r++) {
                lo[r] = first_four(weight[r * TILE_KEYS + own]);
                hi[r] = next_four(weight[r * TILE_KEYS + own]);
            }
        }
        [[unroll]] for (uint i = 0u; i < 8u; i++) {
            uint key = key0 + i * KEY_SPLITS;
            if (key < last) {
                uint e = at + key * KV_ROW;
                vec4 value = CHANNELS == 4u ? cache_load4(v, e) : vec4(cache_load(v, e));
                [[unroll]] for (uint r = 0u; r < QUERY_ROWS; r++) {
                    float w = together ? (i < 4u ? lo[r][i & 3u] : hi[r][i & 3u]) : weight[r * TILE_KEYS + key - first];
                    sum[r] += w * value;
                }
            }
        }
    }
}

void attend(Floats q, uint q_at, Uints k, uint k_at, Uints v, uint v_at, Floats y, uint y_at, const uint y_stride, uint rows,
            Sight sight, const float scale, const bool masked, MaskView mask) {
    uint group = gl_LocalInvocationIndex % CHANNEL_GROUPS;
    uint split = gl_LocalInvocationIndex / CHANNEL_GROUPS;
    vec4 sum[QUERY_ROWS];
    float top[QUERY_ROWS];
    float total[QUERY_ROWS];
    [[unroll]] for (uint r = 0u; r < QUERY_ROWS; r++) {
        sum[r] = vec4(0.0);
        top[r] = SCORE_FLOOR;
        total[r] = 0.0;
    }
    uint end = sight_end(sight, rows - 1u);
    for (uint first = sight_begin(sight, 0u); first < end; first += TILE_KEYS) {
        uint last = min(first + TILE_KEYS, end);
        barrier();
        score_tile(q, q_at, k, k_at, first, last, rows, sight, scale, masked, mask);
        barrier();
        float rescale[QUERY_ROWS];
        [[unroll]] for (uint r = 0u; r < QUERY_ROWS; r++) {
            float best = top[r];
            for (uint s = 0u; s < gl_NumSubgroups; s++) {
                best = max(best, tile_max[r * MAX_SUBGROUPS + s]);
            }
            rescale[r] = exp(top[r] - best);
            top[r] = best;
            float mine = 0.0;
            for (uint key = first + gl_LocalInvocationIndex; key < last; key += LOCAL) {
                bool seen = key >= sight_begin(sight, r) && key < sight_end(sight, r);
                float score = weight[r * TILE_KEYS + key - first];
                float w = seen && score >= SCORE_FLOOR ? exp(score - best) : 0.0;
                weight[r * TILE_KEYS + key - first] = w * cache_scale(v, v_at / HEAD_DIM + key);
                mine += w;
            }
            mine = subgroupAdd(mine);
            if (subgroupElect()) {
                tile_sum[r * MAX_SUBGROUPS + gl_SubgroupID] = mine;
            }
        }
        barrier();
        [[unroll]] for (uint r = 0u; r < QUERY_ROWS; r++) {
            float tile = 0.0;
            for (uint s = 0u; s < gl_NumSubgroups; s++) {
                tile += tile_sum[r * MAX_SUBGROUPS + s];
            }
            total[r] = total[r] * rescale[r] + tile;
            sum[r] *= rescale[r];
        }
        add_values(v, v_at + group * CHANNELS, first, last, split, sum);
    }
    [[unroll]] for (uint r = 0u; r < QUERY_ROWS; r++) {
        partial[r * LOCAL + gl_LocalInvocationIndex] = sum[r];
    }
    barrier();
    if (split == 0u) {
        [[unroll]] for (uint r = 0u; r < QUERY_ROWS; r++) {
            if (r < rows) {
                vec4 all = vec4(0.0);
                for (uint s = 0u; s < KEY_SPLITS; s++) {
                    all += partial[r * LOCAL + s * CHANNEL_GROUPS + group];
                }
                all = total[r] > 0.0 ? all / total[r] : vec4(0.0);
                for (uint c = 0u; c < CHANNELS; c++) {
                    y.v[y_at + r * y_stride + group * CHANNELS + c] = all[c];
                }
            }
        }
    }
}

#endif
