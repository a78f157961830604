// y = softmax(scale * q K + mask) V, heads grouped; QUERY_ROWS rows of one head a workgroup.
// Args: q f32 [BATCH][HQ][M][D], k, v f32 [BATCH][HKV][T][D], y f32 as q, then where defined: mask f32. Defines: BATCH M T HQ HKV D;
// SCALE; CAUSAL 0|1: row i stands at T - M + i; WINDOW 0|n; MASKED 0|1 with MASK_BATCH MASK_HEAD MASK_ROW MASK_KEY strides;
// QUERY_ROWS; LOCAL threads. Grid: BATCH * HQ * ceil(M / QUERY_ROWS).
#version 460
#include "lib/prelude.glsl"
#if !defined(BATCH) || !defined(M) || !defined(T) || !defined(HQ) || !defined(HKV) || !defined(D) || !defined(SCALE)
#error "attention.comp: define BATCH M T HQ HKV D SCALE"
#endif
#if !defined(CAUSAL) || !defined(WINDOW) || !defined(MASKED) || !defined(QUERY_ROWS) || !defined(LOCAL)
#error "attention.comp: define CAUSAL WINDOW MASKED QUERY_ROWS LOCAL"
#endif
#if !defined(MASK_BATCH) || !defined(MASK_HEAD) || !defined(MASK_ROW) || !defined(MASK_KEY)
#error "attention.comp: define MASK_BATCH MASK_HEAD MASK_ROW MASK_KEY"
#endif
layout(local_size_x = LOCAL) in;
#define KV_BITS 32
#define HEAD_DIM D
#include "lib/attention.glsl"

layout(push_constant) uniform Args {
    Floats q;
    Uints k;
    Uints v;
    Floats y;
#if MASKED
    Floats mask;
#endif
} args;

#if MASKED
#define MASK args.mask
#else
#define MASK args.q
#endif

void main() {
    const uint blocks = (M + QUERY_ROWS - 1u) / QUERY_ROWS;
    uint group_index = workgroup_index();
    uint head = group_index / blocks % HQ;
    uint batch = group_index / (blocks * HQ);
    if (batch >= BATCH) {
        return;
    }
    uint row0 = group_index % blocks * QUERY_ROWS;
    uint q_at = ((batch * HQ + head) * M + row0) * D;
    uint kv_at = (batch * HKV + head / (HQ / HKV)) * T * D;
    uint mask_at = batch * MASK_BATCH + head * MASK_HEAD + row0 * MASK_ROW;
    attend(args.q, q_at, args.k, kv_at, args.v, kv_at, args.y, q_at, D, min(uint(M - row0), uint(QUERY_ROWS)),
           Sight(CAUSAL != 0 ? T - M + row0 : 0u, T, CAUSAL != 0, WINDOW), SCALE, MASKED != 0,
           MaskView(MASK, mask_at, MASK_ROW, MASK_KEY));
}
