// y = softmax(scale * q K + mask) V, heads grouped; QUERY_ROWS rows of one head a workgroup.
// Args: q f32, k f32 and v f32 of T rows, y f32, then where defined: mask f32. Row i of head h of batch b of q stands at element
// b * Q_BATCH + h * Q_HEAD + i * Q_ROW + Q_AT, of y the same with Y_, of k and v with K_ and V_ and rows KV_ROW apart. Defines: those;
// BATCH M T HQ HKV D; SCALE; CAUSAL 0|1: row i stands at T - M + i; WINDOW 0|n; MASKED 0|1 with MASK_BATCH MASK_HEAD MASK_ROW MASK_KEY
// strides; QUERY_ROWS; LOCAL threads. Grid: BATCH * HQ * ceil(M / QUERY_ROWS).
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
#if !defined(Q_BATCH) || !defined(Q_HEAD) || !defined(Q_ROW) || !defined(Q_AT) || !defined(K_BATCH) || !defined(K_HEAD) || !defined(K_AT)
#error "attention.comp: define Q_BATCH Q_HEAD Q_ROW Q_AT K_BATCH K_HEAD K_AT"
#endif
#if !defined(V_BATCH) || !defined(V_HEAD) || !defined(V_AT) || !defined(Y_BATCH) || !defined(Y_HEAD) || !defined(Y_ROW) || !defined(Y_AT)
#error "attention.comp: define V_BATCH V_HEAD V_AT Y_BATCH Y_HEAD Y_ROW Y_AT"
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
    uint q_at = batch * Q_BATCH + head * Q_HEAD + row0 * Q_ROW + Q_AT;
    uint y_at = batch * Y_BATCH + head * Y_HEAD + row0 * Y_ROW + Y_AT;
    uint kv_head = head / (HQ / HKV);
    uint k_at = batch * K_BATCH + kv_head * K_HEAD + K_AT;
    uint v_at = batch * V_BATCH + kv_head * V_HEAD + V_AT;
    uint mask_at = batch * MASK_BATCH + head * MASK_HEAD + row0 * MASK_ROW;
    attend(args.q, q_at, args.k, k_at, args.v, v_at, args.y, y_at, Y_ROW, min(uint(M - row0), uint(QUERY_ROWS)),
           Sight(CAUSAL != 0 ? T - M + row0 : 0u, T, CAUSAL != 0, WINDOW), SCALE, MASKED != 0,
           MaskView(MASK, mask_at, MASK_ROW, MASK_KEY));
}
