// Softmax attention of one query row over one head's keys, which several workgroups share. In: q f32, keys and values (KV_BITS) as
// rows of HEAD_DIM, the keys begin..end that the row sees. Out: y f32. Up to two stretches of SPAN keys are one workgroup's; more
// are dealt out, each workgroup leaves its share in `parts`, and the last to arrive at `counter` adds the shares up.
// Define HEAD_DIM (a multiple of eight, at most 8 LOCAL), KV_BITS, LOCAL, KEYS (keys a thread) and SPLITS (workgroups a head, at most
// LOCAL) before this. Promise: keys that the row does not see are not read; all loads of a stretch are under way before the first is
// used; the order of sums depends on the subgroup size and the number of keys only; the counter is zero again afterwards.
#ifndef SPLIT_ATTENTION_GLSL
#define SPLIT_ATTENTION_GLSL
#include "cache.glsl"
#include "group.glsl"
#if !defined(HEAD_DIM) || !defined(LOCAL) || !defined(KEYS) || !defined(SPLITS)
#error "define HEAD_DIM LOCAL KEYS SPLITS"
#endif

const float LOWEST = -3.0e38;
// Threads that share a cache row, eight channels each; rows under way at once; rows of a stretch.
const uint LANES = HEAD_DIM / 8;
const uint LINES = LOCAL / LANES;
const uint SPAN = LINES * KEYS;
// Threads that share the sum of a channel over lines or shares.
const uint FOLDS = max(LOCAL / HEAD_DIM, 1);
// A share in `parts`: maximum, sum of weights, weighted values.
const uint PART = HEAD_DIM + 2;
// Keys of a stretch whose scores a thread adds up.
const uint OWN_KEYS = (SPAN + LOCAL - 1) / LOCAL;

// Scores by key and lane, then values by line and channel.
shared float products[max(SPAN * LANES, LINES * HEAD_DIM)];
shared float weights[max(SPAN, SPLITS)];
shared float folded[FOLDS * HEAD_DIM];
shared bool is_last;

struct Head {
    float top;
    float total;
    // Of the thread's line: eight channels.
    vec4 lo;
    vec4 hi;
};

// Adds the keys of one stretch that lie in begin..end.
void add_stretch(vec4 q_lo, vec4 q_hi, Uints k, Uints v, uint cache_at, uint first, uint begin, uint end, const float scale,
                 inout Head head) {
    uint thread = gl_LocalInvocationIndex;
    uint lane = thread % LANES;
    // Threads past the last whole line repeat it.
    uint line = min(thread / LANES, LINES - 1u);
    CacheChunk keys[KEYS];
    CacheChunk values[KEYS];
    [[unroll]] for (uint i = 0u; i < KEYS; i++) {
        keys[i] = cache_chunk(k, (cache_at + min(first + i * LINES + line, end - 1u) * HEAD_DIM) / 8u + lane);
    }
    [[unroll]] for (uint i = 0u; i < KEYS; i++) {
        values[i] = cache_chunk(v, (cache_at + min(first + i * LINES + line, end - 1u) * HEAD_DIM) / 8u + lane);
    }
    float key_scales[OWN_KEYS];
    float value_scales[OWN_KEYS];
    [[unroll]] for (uint i = 0u; i < OWN_KEYS; i++) {
        uint row = cache_at / HEAD_DIM + min(first + i * LOCAL + thread, end - 1u);
        key_scales[i] = cache_scale(k, row);
        value_scales[i] = cache_scale(v, row);
    }
    [[unroll]] for (uint i = 0u; i < KEYS; i++) {
        vec4 lo;
        vec4 hi;
        chunk_values(keys[i], lo, hi);
        products[(i * LINES + line) * LANES + lane] = dot(lo, q_lo) + dot(hi, q_hi);
    }
    barrier();
    float top = LOWEST;
    for (uint j = thread; j < SPAN; j += LOCAL) {
        float score = 0.0;
        [[unroll]] for (uint i = 0u; i < LANES; i++) {
            score += products[j * LANES + i];
        }
        score = first + j >= begin && first + j < end ? bent_score(score * key_scales[j / LOCAL] * scale) : LOWEST;
        weights[j] = score;
        top = max(top, score);
    }
    top = max(group_max(top), head.top);
    float total = 0.0;
    for (uint j = thread; j < SPAN; j += LOCAL) {
        float weight = first + j >= begin && first + j < end ? exp(weights[j] - top) : 0.0;
        weights[j] = weight * value_scales[j / LOCAL];
        total += weight;
    }
    float rescale = exp(head.top - top);
    head.total = head.total * rescale + group_sum(total);
    head.top = top;
    head.lo *= rescale;
    head.hi *= rescale;
    [[unroll]] for (uint i = 0u; i < KEYS; i++) {
        vec4 lo;
        vec4 hi;
        chunk_values(values[i], lo, hi);
        float weight = weights[i * LINES + line];
        head.lo += weight * lo;
        head.hi += weight * hi;
    }
}

// Channel d of `folded`, for all d together.
float folded_channel(uint d) {
    float sum = folded[d];
    [[unroll]] for (uint i = 1u; i < FOLDS; i++) {
        sum += folded[i * HEAD_DIM + d];
    }
    return sum;
}

// Sums the lines' values into `folded`.
void fold_lines(Head head) {
    uint thread = gl_LocalInvocationIndex;
    if (thread < LINES * LANES) {
        uint at = thread / LANES * HEAD_DIM + thread % LANES * 8u;
        [[unroll]] for (uint c = 0u; c < 4u; c++) {
            products[at + c] = head.lo[c];
            products[at + 4u + c] = head.hi[c];
        }
    }
    barrier();
    for (uint i = thread; i < FOLDS * HEAD_DIM; i += LOCAL) {
        float sum = 0.0;
        for (uint line = i / HEAD_DIM; line < LINES; line += FOLDS) {
            sum += products[line * HEAD_DIM + i % HEAD_DIM];
        }
        folded[i] = sum;
    }
    barrier();
}

// Sums the shares of `sharing` workgroups into `folded`, in their order. Returns the sum of weights.
float fold_parts(SharedFloats parts, uint at, uint sharing) {
    uint thread = gl_LocalInvocationIndex;
    float top = LOWEST;
    float total = 0.0;
    if (thread < sharing) {
        top = parts.v[at + thread * PART];
        total = parts.v[at + thread * PART + 1u];
    }
    float best = group_max(top);
    float scale = exp(top - best);
    if (thread < SPLITS) {
        weights[thread] = scale;
    }
    total = group_sum(total * scale);
    for (uint i = thread; i < FOLDS * HEAD_DIM; i += LOCAL) {
        float sum = 0.0;
        [[unroll]] for (uint s0 = 0u; s0 < SPLITS; s0 += FOLDS) {
            uint s = s0 + i / HEAD_DIM;
            if (s < sharing) {
                sum += weights[s] * parts.v[at + s * PART + 2u + i % HEAD_DIM];
            }
        }
        folded[i] = sum;
    }
    barrier();
    return total;
}

// Workgroup `split` of a head; begin < end. `counter` is zero before and after.
void attend_split(Floats q, uint q_at, Uints k, Uints v, uint cache_at, Floats y, uint y_at, uint split, uint begin, uint end,
                  const float scale, SharedFloats parts, uint parts_at, SharedUints counters, uint counter) {
    uint thread = gl_LocalInvocationIndex;
    uint first_stretch = begin / SPAN;
    uint stretches = (end - 1u) / SPAN + 1u;
    // Handing shares over takes longer than a second stretch.
    uint sharing = stretches - first_stretch <= 2u ? 1u : min(stretches - first_stretch, SPLITS);
    if (split >= sharing) {
        return;
    }
    uint q_chunk = q_at + 8u * (thread % LANES);
    vec4 q_lo = vec4(q.v[q_chunk], q.v[q_chunk + 1u], q.v[q_chunk + 2u], q.v[q_chunk + 3u]);
    vec4 q_hi = vec4(q.v[q_chunk + 4u], q.v[q_chunk + 5u], q.v[q_chunk + 6u], q.v[q_chunk + 7u]);
    Head head = Head(LOWEST, 0.0, vec4(0.0), vec4(0.0));
    for (uint stretch = first_stretch + split; stretch < stretches; stretch += sharing) {
        add_stretch(q_lo, q_hi, k, v, cache_at, stretch * SPAN, begin, end, scale, head);
        barrier();
    }
    fold_lines(head);
    float total = head.total;
#if SPLITS > 1
    if (sharing > 1u) {
        uint mine = parts_at + split * PART;
        for (uint d = thread; d < HEAD_DIM; d += LOCAL) {
            parts.v[mine + 2u + d] = folded_channel(d);
        }
        if (thread == 0u) {
            parts.v[mine] = head.top;
            parts.v[mine + 1u] = head.total;
        }
        memoryBarrierBuffer();
        barrier();
        if (thread == 0u) {
            is_last = atomicAdd(counters.v[counter], 1u) + 1u == sharing;
        }
        barrier();
        if (!is_last) {
            return;
        }
        memoryBarrierBuffer();
        if (thread == 0u) {
            counters.v[counter] = 0u;
        }
        total = fold_parts(parts, parts_at, sharing);
    }
#endif
    for (uint d = thread; d < HEAD_DIM; d += LOCAL) {
        y.v[y_at + d] = folded_channel(d) / total;
    }
}

#endif
