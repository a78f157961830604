// cache[head][pos + i] = codes of fresh[head][i], and their scale, for i below rows: scale = largest |x| of the row / 127, code = x / scale
// rounded. A row whose scale is no normal number is one of zeros. A workgroup a row.
// Args: fresh f32 [HKV][M][D], cache as lib/cache.glsl has it, then where PAIR 1: the same two of the values; pos, rows (addresses;
// POS_WORD and ROWS_WORD say which word), then where defined: step. Defines: M HKV D C, D a multiple of four; PAIR 0|1; LIVE 1: nothing
// runs once step.done is set; POS_WORD ROWS_WORD; LOCAL. Grid: (M, HKV, PAIR + 1).
// Promise: rows at or beyond pos + rows, and cache rows at or beyond C, are neither read nor written.
#version 460
#include "lib/prelude.glsl"
#if !defined(M) || !defined(HKV) || !defined(D) || !defined(C) || !defined(PAIR) || !defined(POS_WORD) || !defined(ROWS_WORD)
#error "kv_quantise.comp: define M HKV D C PAIR POS_WORD ROWS_WORD"
#endif
#if !defined(LIVE) || !defined(LOCAL)
#error "kv_quantise.comp: define LIVE LOCAL"
#endif
layout(local_size_x = LOCAL) in;
#define KV_BITS 8
#include "lib/step.glsl"
#include "lib/cache.glsl"
#include "lib/group.glsl"

layout(push_constant) uniform Args {
    Floats fresh;
    Uints cache;
#if PAIR
    Floats fresh_v;
    Uints cache_v;
#endif
    Uints pos;
    Uints rows;
#if LIVE
    Uints step;
#endif
} args;

const float LARGEST = 3.0e38;
const float SMALLEST = 1.0e-36;

void quantise(Vec4s fresh, uint from, Uints cache, uint row) {
    float top = 0.0;
    for (uint i = gl_LocalInvocationIndex; i < D / 4u; i += LOCAL) {
        vec4 x = min(abs(fresh.v[from + i]), LARGEST);
        top = max(top, max(max(x.x, x.y), max(x.z, x.w)));
    }
    top = group_max(top);
    float scale = top / CODE_MAX;
    if (scale < SMALLEST) {
        scale = 0.0;
    }
    for (uint i = gl_LocalInvocationIndex; i < D / 4u; i += LOCAL) {
        vec4 x = clamp(fresh.v[from + i], -LARGEST, LARGEST);
        cache_store4(cache, row * D + 4u * i, scale > 0.0 ? x / scale : vec4(0.0));
    }
    if (gl_LocalInvocationIndex == 0u) {
        cache.v[CACHE_SCALES + row] = floatBitsToUint(scale);
    }
}

void main() {
    uint row = gl_WorkGroupID.x;
    uint head = gl_WorkGroupID.y;
#if LIVE
    if (step_done(args.step)) {
        return;
    }
#endif
    uint at = args.pos.v[POS_WORD] + row;
    if (row >= args.rows.v[ROWS_WORD] || at >= C) {
        return;
    }
    uint from = (head * M + row) * (D / 4u);
    uint to = head * C + at;
#if PAIR
    if (gl_WorkGroupID.z == 1u) {
        quantise(Vec4s(args.fresh_v), from, args.cache_v, to);
        return;
    }
#endif
    quantise(Vec4s(args.fresh), from, args.cache, to);
}
