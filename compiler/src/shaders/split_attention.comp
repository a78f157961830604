// y = softmax(scale * q . K) V of one query row over the live cache rows of its kv head.
// Args: q f32 [HQ][D], k cache, v cache [HKV][C][D], y f32 [HQ * D], pos (address; POS_WORD says which word), then where defined:
// parts f32 [HQ][SPLITS][D + 2], counters u32 [HQ], step. Defines: HQ HKV D C; KV_BITS 8|16|32; SCALE; SOFTCAP (lib/sight.glsl); WINDOW 0: all rows up to the
// query, else that many; POS_WORD; LIVE 1: nothing runs once step.done is set; LOCAL threads; KEYS a thread; SPLITS workgroups a
// head, parts and counters where more than one (see lib/split_attention.glsl). Grid: (HQ, SPLITS). The row stands at pos.
#version 460
#include "lib/prelude.glsl"
#if !defined(HQ) || !defined(HKV) || !defined(D) || !defined(C) || !defined(KV_BITS) || !defined(SCALE)
#error "split_attention.comp: define HQ HKV D C KV_BITS SCALE"
#endif
#if !defined(WINDOW) || !defined(POS_WORD) || !defined(LIVE) || !defined(LOCAL) || !defined(KEYS) || !defined(SPLITS)
#error "split_attention.comp: define WINDOW POS_WORD LIVE LOCAL KEYS SPLITS"
#endif
layout(local_size_x = LOCAL) in;
#include "lib/step.glsl"
#define HEAD_DIM D
#define QUERY_ROWS 1
#include "lib/attention.glsl"
#include "lib/split_attention.glsl"
#include "lib/subgroup.glsl"

layout(push_constant) uniform Args {
    Floats q;
    Uints k_cache;
    Uints v_cache;
    Floats y;
    Uints pos;
#if SPLITS > 1
    SharedFloats parts;
    SharedUints counters;
#endif
#if LIVE
    Uints step;
#endif
} args;

void main() {
    uint head = gl_WorkGroupID.x;
    uint position = args.pos.v[POS_WORD];
#if LIVE
    if (step_done(args.step)) {
        return;
    }
#endif
    if (position >= C) {
        return;
    }
#if CPU_FORM
    if (SUBGROUP == 8u) {
        if (gl_WorkGroupID.y == 0u) {
            uint cache_at = head / (HQ / HKV) * C * D;
            attend(args.q, head * D, args.k_cache, cache_at, args.v_cache, cache_at, args.y, head * D, HQ * D, 1u,
                   Sight(position, C, true, WINDOW), SCALE, false, MaskView(args.q, 0u, 0u, 0u));
        }
        return;
    }
#endif
    uint end = position + 1u;
    uint begin = WINDOW > 0u && end > WINDOW ? end - WINDOW : 0u;
#if SPLITS > 1
    SharedFloats parts = args.parts;
    SharedUints counters = args.counters;
#else
    SharedFloats parts = SharedFloats(args.y);
    SharedUints counters = SharedUints(args.y);
#endif
    attend_split(args.q, head * D, args.k_cache, args.v_cache, head / (HQ / HKV) * C * D, args.y, head * D, gl_WorkGroupID.y, begin, end,
                 SCALE, parts, head * SPLITS * PART, counters, head);
}
