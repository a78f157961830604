// cache[head][pos + i] = new[head][i] for i below rows.
// Args: new f32 [HKV][M][D], cache [HKV][C][D], pos, rows (addresses; POS_WORD and ROWS_WORD say which word).
// Defines: M HKV D C; KV_BITS 16 (D even)|32; POS_WORD ROWS_WORD. Grid: ceil(HKV * M * D / (2 * 64)) for 16 bits, / 64 for 32.
// Promise: rows at or beyond pos + rows, and cache rows at or beyond C, are never written.
#version 460
#include "lib/prelude.glsl"
#if !defined(M) || !defined(HKV) || !defined(D) || !defined(C) || !defined(KV_BITS) || !defined(POS_WORD) || !defined(ROWS_WORD)
#error "kv_write.comp: define M HKV D C KV_BITS POS_WORD ROWS_WORD"
#endif
layout(local_size_x = 64) in;
#include "lib/cache.glsl"

layout(push_constant) uniform Args {
    Floats fresh;
    Uints cache;
    Uints pos;
    Uints rows;
} args;

const uint WIDTH = KV_BITS == 16 ? 2u : 1u;

void main() {
    uint i = (workgroup_index() * 64u + gl_LocalInvocationIndex) * WIDTH;
    if (i >= HKV * M * D) {
        return;
    }
    uint row = i / D % M;
    uint at = args.pos.v[POS_WORD] + row;
    if (row >= args.rows.v[ROWS_WORD] || at >= C) {
        return;
    }
    uint to = (i / (M * D) * C + at) * D + i % D;
#if KV_BITS == 16
    cache_store2(args.cache, to, vec2(args.fresh.v[i], args.fresh.v[i + 1u]));
#else
    cache_store(args.cache, to, args.fresh.v[i]);
#endif
}
