// y[row] = softmax(scale * q[row] . K) V over the live cache rows of its kv head.
// Args: q f32 [HQ][M][D], k cache, v cache [HKV][C][D], y f32 [M][HQ * D], pos (address; POS_WORD says which word), then where
// defined: step. Defines: M HQ HKV D C; KV_BITS 8|16|32; SCALE; SOFTCAP (lib/sight.glsl); WINDOW 0: all rows up to the query, else that many; POS_WORD;
// LIVE 1: query rows beyond step.rows are skipped, and all once step.done is set; GROUP_ROWS rows a workgroup, QUERY_ROWS of them at
// once; LOCAL threads. Grid: (HQ, ceil(M / GROUP_ROWS)). Row i stands at pos + i. With MATRIX: the form for matrix units, and the
// defines of lib/attention_matrix.glsl, GROUP_ROWS being 16 * PARTS_M. HANDED 1, where y is the x of a product: an argument more, the last, that
// product's rows (lib/handed.glsl) of HANDED_K columns, which the matrix form writes in place of y.
#version 460
#include "lib/prelude.glsl"
#if !defined(M) || !defined(HQ) || !defined(HKV) || !defined(D) || !defined(C) || !defined(KV_BITS) || !defined(SCALE)
#error "cached_attention.comp: define M HQ HKV D C KV_BITS SCALE"
#endif
#if !defined(WINDOW) || !defined(POS_WORD) || !defined(LIVE) || !defined(QUERY_ROWS) || !defined(GROUP_ROWS) || !defined(LOCAL)
#error "cached_attention.comp: define WINDOW POS_WORD LIVE QUERY_ROWS GROUP_ROWS LOCAL"
#endif
#ifdef MATRIX
layout(local_size_x = 32 * PARTS_M * PARTS_K) in;
#else
layout(local_size_x = LOCAL) in;
#endif
#include "lib/step.glsl"
#include "lib/cache.glsl"
#define HEAD_DIM D
#ifdef MATRIX
#if HANDED
#include "lib/handed.glsl"
#endif
#include "lib/attention_matrix.glsl"
#else
#include "lib/attention.glsl"
#endif

layout(push_constant) uniform Args {
    Floats q;
    Uints k_cache;
    Uints v_cache;
    Floats y;
    Uints pos;
#if LIVE
    Uints step;
#endif
#if HANDED
    Uints handed;
#endif
} args;

void attend_rows(uint head, uint row0, uint rows, uint pos) {
    uint cache_at = head / (HQ / HKV) * C * D;
    uint q_at = (head * M + row0) * D;
    uint y_at = row0 * HQ * D + head * D;
    Sight sight = Sight(pos + row0, C, true, WINDOW);
    MaskView none = MaskView(args.q, 0u, 0u, 0u);
#if defined(MATRIX) && HANDED
    attend_matrix(args.q, q_at, args.k_cache, cache_at, args.v_cache, cache_at, Floats(args.handed), row0 * HANDED_K + head * D, HANDED_K,
                  rows, sight, SCALE, false, none);
    if (head == HQ - 1u) {
        hand_zeros(args.handed, row0, rows, HQ * D);
    }
#elif defined(MATRIX)
    attend_matrix(args.q, q_at, args.k_cache, cache_at, args.v_cache, cache_at, args.y, y_at, HQ * D, rows, sight, SCALE, false, none);
#else
    attend(args.q, q_at, args.k_cache, cache_at, args.v_cache, cache_at, args.y, y_at, HQ * D, rows, sight, SCALE, false, none);
#endif
}

void main() {
    uint head = gl_WorkGroupID.x;
    uint row0 = gl_WorkGroupID.y * GROUP_ROWS;
    uint live = M;
#if LIVE
    if (step_done(args.step)) {
        return;
    }
    live = min(args.step.v[STEP_ROWS], M);
#endif
    uint pos = args.pos.v[POS_WORD];
    // Rows past the cache are padding.
    live = min(live, C - min(pos, uint(C)));
    uint last = min(row0 + GROUP_ROWS, live);
#ifdef MATRIX
    if (row0 < last) {
        attend_rows(head, row0, last - row0, pos);
    }
#else
    for (uint row = row0; row < last; row += QUERY_ROWS) {
        attend_rows(head, row, min(last - row, QUERY_ROWS), pos);
    }
#endif
}
