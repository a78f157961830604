// y[row] = softmax(scale * q[row] . K) V over the live cache rows of its kv head.
// Args: q f32 [HQ][M][D], k cache, v cache [HKV][C][D], y f32 [M][HQ * D], pos (address; POS_WORD says which word), then where
// defined: step. Defines: M HQ HKV D C; KV_BITS 8|16|32; SCALE; WINDOW 0: all rows up to the query, else that many; POS_WORD;
// LIVE 1: query rows beyond step.rows are skipped, and all once step.done is set; QUERY_ROWS rows a workgroup; LOCAL threads.
// Grid: (HQ, ceil(M / QUERY_ROWS)). Row i stands at pos + i.
#version 460
#include "lib/prelude.glsl"
#if !defined(M) || !defined(HQ) || !defined(HKV) || !defined(D) || !defined(C) || !defined(KV_BITS) || !defined(SCALE)
#error "cached_attention.comp: define M HQ HKV D C KV_BITS SCALE"
#endif
#if !defined(WINDOW) || !defined(POS_WORD) || !defined(LIVE) || !defined(QUERY_ROWS) || !defined(LOCAL)
#error "cached_attention.comp: define WINDOW POS_WORD LIVE QUERY_ROWS LOCAL"
#endif
layout(local_size_x = LOCAL) in;
#include "lib/step.glsl"
#include "lib/cache.glsl"
#define HEAD_DIM D
#include "lib/attention.glsl"

layout(push_constant) uniform Args {
    Floats q;
    Uints k_cache;
    Uints v_cache;
    Floats y;
    Uints pos;
#if LIVE
    Uints step;
#endif
} args;

void main() {
    uint head = gl_WorkGroupID.x;
    uint row0 = gl_WorkGroupID.y * QUERY_ROWS;
    uint live = M;
#if LIVE
    if (step_done(args.step)) {
        return;
    }
    live = min(args.step.v[STEP_ROWS], M);
#endif
    uint position = args.pos.v[POS_WORD] + row0;
    if (row0 >= live || position >= C) {
        return;
    }
    uint rows = min(live - row0, QUERY_ROWS);
    uint cache_at = head / (HQ / HKV) * C * D;
    attend(args.q, (head * M + row0) * D, args.k_cache, cache_at, args.v_cache, cache_at, args.y, row0 * HQ * D + head * D, HQ * D,
           rows, Sight(position, C, true, WINDOW), SCALE, false, MaskView(args.q, 0u, 0u, 0u));
}
