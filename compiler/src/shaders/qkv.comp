// q, k, v = norm(x) * W + bias; q and k turned by RoPE; k and v written to the cache at rows pos..pos+rows; or, with KV_BITS 8,
// as rows of f32 to where kv_quantise.comp finds them.
// Args: x f32 [M][K], w [(HQ + 2 HKV) D][K] (q, k, v rows), q f32 [HQ][M][D], k cache, v cache [HKV][C][D] (KV_BITS 8: k, v f32 [HKV][M][D]), pos, rows (addresses
// of words; POS_WORD and ROWS_WORD say which), then where defined: step, scale f32 [K], shift f32 [K], bias f32
// [(HQ + 2 HKV) D], cos, sin f32 [TABLE][ROTARY / 2]. Defines: M K HQ HKV D C; WEIGHT_BITS and what lib/weights.glsl
// wants with it; KV_BITS 8|16|32; NORM EPS; BIAS 0|1; ROTARY 0: no RoPE; TABLE; INTERLEAVED QUADS LIVE 0|1 (see lib/rope.glsl); POS_WORD ROWS_WORD; THREAD_ROWS LOCAL
// SLOTS UNITS and grid as linear.comp. A unit is four channels of one head.
// Promise: rows at or beyond pos + rows, and cache rows at or beyond C, are never written.
// HALVES not 0: the product has a form for matrix units, MATRIX, and one argument more, the last: x as lib/halves.glsl has it, of
// ROWS rows. That form takes the defines of lib/matmul_matrix.glsl; the plain one leaves the argument alone. Any grid.
#version 460
#include "lib/prelude.glsl"
#if !defined(M) || !defined(K) || !defined(HQ) || !defined(HKV) || !defined(D) || !defined(C) || !defined(WEIGHT_BITS)
#error "qkv.comp: define M K HQ HKV D C WEIGHT_BITS"
#endif
#if !defined(KV_BITS) || !defined(NORM) || !defined(EPS) || !defined(BIAS) || !defined(ROTARY) || !defined(TABLE)
#error "qkv.comp: define KV_BITS NORM EPS BIAS ROTARY TABLE"
#endif
#if !defined(INTERLEAVED) || !defined(QUADS) || !defined(LIVE) || !defined(POS_WORD) || !defined(ROWS_WORD)
#error "qkv.comp: define INTERLEAVED QUADS LIVE POS_WORD ROWS_WORD"
#endif
#if !defined(THREAD_ROWS) || !defined(LOCAL)
#error "qkv.comp: define THREAD_ROWS LOCAL"
#endif
#if defined(MATRIX) && !defined(ADD_UP)
layout(local_size_x = 32 * PARTS_M * PARTS_N * PARTS_K) in;
#else
layout(local_size_x = LOCAL) in;
#endif
#if KV_BITS == 8
// A code needs the largest of its row, which no workgroup has alone.
#undef KV_BITS
#define KV_BITS 32
#define CACHE_ROWS M
#define CACHE_ROW(e, row) row
#else
#define CACHE_ROWS C
#define CACHE_ROW(e, row) e.at
#endif
#include "lib/step.glsl"
#include "lib/cache.glsl"
#include "lib/rope.glsl"

struct Extras {
    vec4 bias;
    Turn turn;
    uint at;
    uint rows;
    bool live;
};

#if defined(ADD_UP)
#include "lib/add_up.glsl"
#elif defined(MATRIX)
#include "lib/matmul_matrix.glsl"
#elif THREAD_ROWS == 0
#define PAIRS (QUADS == 1)
#include "lib/matvec.glsl"
#else
#include "lib/matmul.glsl"
#endif

layout(push_constant) uniform Args {
    Floats x;
    Uints w;
    Floats q;
    Uints k_cache;
    Uints v_cache;
    Uints pos;
    Uints rows;
#if LIVE
    Uints step;
#endif
#if NORM > 0
    Floats scale;
#endif
#if NORM == 2
    Floats shift;
#endif
#if BIAS
    Floats bias;
#endif
#if ROTARY > 0
    Floats cos_table;
    Floats sin_table;
#endif
#if HALVES
    Uints halves;
#if SPLITS > 1
    Floats partials;
#endif
#endif
} args;

#if HALVES && SPLITS > 1
#define PARTIALS args.partials
#else
#define PARTIALS args.x
#endif

#if NORM > 0
#define SCALE args.scale
#else
#define SCALE args.x
#endif
#if NORM == 2
#define SHIFT args.shift
#else
#define SHIFT args.x
#endif

const bool TURN_QUADS = QUADS != 0;
const bool TURN_INTERLEAVED = INTERLEAVED != 0;
const uint HEAD_UNITS = TURN_QUADS ? D / 4u : ROTARY / 2u + (D - ROTARY);
const uint TOTAL = (HQ + 2u * HKV) * HEAD_UNITS;

uint unit_row(uint unit, uint part);

uint unit_pair(uint unit, uint which) {
    return unit_row(unit, 2u * which) / 2u;
}

uint unit_row(uint unit, uint part) {
    return unit / HEAD_UNITS * D + rope_channel(unit % HEAD_UNITS, part, ROTARY, TURN_INTERLEAVED, TURN_QUADS);
}

void store_q(uint base, uint u, vec4 y) {
#if QUADS
    Vec2s(args.q).v[(base + rope_channel(u, 0u, ROTARY, TURN_INTERLEAVED, TURN_QUADS)) / 2u] = y.xy;
    Vec2s(args.q).v[(base + rope_channel(u, 2u, ROTARY, TURN_INTERLEAVED, TURN_QUADS)) / 2u] = y.zw;
#else
    [[unroll]] for (uint part = 0u; part < 2u; part++) {
        args.q.v[base + rope_channel(u, part, ROTARY, TURN_INTERLEAVED, TURN_QUADS)] = y[part];
    }
#endif
}

void store_cache(Uints cache, uint base, uint u, vec4 y) {
    uint first = base + rope_channel(u, 0u, ROTARY, TURN_INTERLEAVED, TURN_QUADS);
#if QUADS
    cache_store2(cache, first, y.xy);
    cache_store2(cache, base + rope_channel(u, 2u, ROTARY, TURN_INTERLEAVED, TURN_QUADS), y.zw);
#else
    cache_store(cache, first, y.x);
    cache_store(cache, base + rope_channel(u, 1u, ROTARY, TURN_INTERLEAVED, TURN_QUADS), y.y);
#endif
}

Extras load_extras(uint row, uint unit) {
    Extras e;
    e.at = args.pos.v[POS_WORD] + row;
    e.rows = args.rows.v[ROWS_WORD];
    e.live = true;
#if LIVE
    e.live = !step_done(args.step);
#endif
#if BIAS
#if QUADS
    e.bias = vec4(Vec2s(args.bias).v[unit_row(unit, 0u) / 2u], Vec2s(args.bias).v[unit_row(unit, 2u) / 2u]);
#else
    [[unroll]] for (uint part = 0u; part < 4u; part++) {
        e.bias[part] = args.bias.v[unit_row(unit, part)];
    }
#endif
#endif
#if ROTARY > 0
    e.turn = load_turn(unit % HEAD_UNITS, ROTARY, TURN_QUADS, args.cos_table, args.sin_table, min(e.at, TABLE - 1u) * (ROTARY / 2u));
#endif
    return e;
}

void store(uint row, uint unit, vec4 y, Extras e) {
    uint head = unit / HEAD_UNITS;
    uint u = unit % HEAD_UNITS;
    if (e.at >= C || !e.live) {
        return;
    }
#if BIAS
    y += e.bias;
#endif
#if ROTARY > 0
    if (head < HQ + HKV) {
        y = rope_turn(y, u, ROTARY, TURN_INTERLEAVED, TURN_QUADS, e.turn);
    }
#endif
    if (head < HQ) {
        store_q((head * M + row) * D, u, y);
    } else if (row < e.rows) {
        if (head < HQ + HKV) {
            store_cache(args.k_cache, ((head - HQ) * CACHE_ROWS + CACHE_ROW(e, row)) * D, u, y);
        } else {
            store_cache(args.v_cache, ((head - HQ - HKV) * CACHE_ROWS + CACHE_ROW(e, row)) * D, u, y);
        }
    }
}

#if THREAD_ROWS == 0
Extras unit_begin(uint unit) {
    return load_extras(0u, unit);
}

void unit_end(uint unit, vec4 sums, Extras extras) {
    store(0u, unit, sums, extras);
}
#elif defined(MATRIX)
Extras unit_begin(uint row, uint unit) {
    return load_extras(row, unit);
}

void unit_end(uint row, uint unit, vec4 sums, Extras extras) {
    store(row, unit, sums, extras);
}
#elif !defined(ADD_UP)
void unit_store(uint row, uint unit, vec4 sums) {
    store(row, unit, sums, load_extras(row, unit));
}
#endif
#if LIVE
#define LIVE_ROWS min(args.rows.v[ROWS_WORD], M)
#else
#define LIVE_ROWS M
#endif

void main() {
#if THREAD_ROWS == 0
#if LIVE
    // Elsewhere the weights do not wait for the answer: stores do.
    if (SUBGROUP == 8u && step_done(args.step)) {
        return;
    }
#endif
    matvec(args.x, weights_at(args.w, K), K, TOTAL, NORM, EPS, SCALE, SHIFT);
#else
#if LIVE
    if (step_done(args.step)) {
        return;
    }
#endif
    uint live = LIVE_ROWS;
#if defined(MATRIX) && defined(ADD_UP)
    add_up(PARTIALS, M, live, TOTAL);
#elif defined(MATRIX)
    matmul_matrix(args.halves, weights_at(args.w, K), PARTIALS, M, ROWS, live, K, TOTAL);
#elif !defined(ADD_UP)
    matmul(args.x, weights_at(args.w, K), M, live, K, TOTAL, NORM, EPS, SCALE, SHIFT);
#endif
#endif
}
