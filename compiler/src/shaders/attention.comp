// y = softmax(scale * q K + mask) V, heads grouped; GROUP_ROWS rows of one head a workgroup, QUERY_ROWS of them at once.
// Args: q f32, k f32 and v f32 of T rows, y f32, then where defined: mask f32. Row i of head h of batch b of q stands at element
// b * Q_BATCH + h * Q_HEAD + i * Q_ROW + Q_AT, of y the same with Y_, of k and v with K_ and V_ and rows KV_ROW apart. Defines: those;
// BATCH M T HQ HKV D; SCALE; SOFTCAP (lib/sight.glsl); CAUSAL 0|1: row i stands at T - M + i; WINDOW 0|n; MASKED 0|1 with MASK_BATCH MASK_HEAD MASK_ROW MASK_KEY
// strides; QUERY_ROWS GROUP_ROWS; LOCAL threads. Grid: BATCH * HQ * ceil(M / GROUP_ROWS). With MATRIX: the form for matrix units, and
// the defines of lib/attention_matrix.glsl, GROUP_ROWS being 16 * PARTS_M. HANDED 1, where heads stand side by side in y, which is the x of a
// product: an argument more, the last, that product's rows (lib/handed.glsl) of HANDED_K columns, which the matrix form writes in place of y.
#version 460
#include "lib/prelude.glsl"
#if !defined(BATCH) || !defined(M) || !defined(T) || !defined(HQ) || !defined(HKV) || !defined(D) || !defined(SCALE)
#error "attention.comp: define BATCH M T HQ HKV D SCALE"
#endif
#if !defined(CAUSAL) || !defined(WINDOW) || !defined(MASKED) || !defined(QUERY_ROWS) || !defined(GROUP_ROWS) || !defined(LOCAL)
#error "attention.comp: define CAUSAL WINDOW MASKED QUERY_ROWS GROUP_ROWS LOCAL"
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
#ifdef MATRIX
layout(local_size_x = 32 * PARTS_M * PARTS_K) in;
#else
layout(local_size_x = LOCAL) in;
#endif
#define KV_BITS 32
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
    Uints k;
    Uints v;
    Floats y;
#if MASKED
    Floats mask;
#endif
#if HANDED
    Uints handed;
#endif
} args;

#if MASKED
#define MASK args.mask
#else
#define MASK args.q
#endif

void attend_rows(uint batch, uint head, uint row0) {
    uint q_at = batch * Q_BATCH + head * Q_HEAD + row0 * Q_ROW + Q_AT;
    uint y_at = batch * Y_BATCH + head * Y_HEAD + row0 * Y_ROW + Y_AT;
    uint kv_head = head / (HQ / HKV);
    uint k_at = batch * K_BATCH + kv_head * K_HEAD + K_AT;
    uint v_at = batch * V_BATCH + kv_head * V_HEAD + V_AT;
    Sight sight = Sight(CAUSAL != 0 ? T - M + row0 : 0u, T, CAUSAL != 0, WINDOW);
    MaskView mask = MaskView(MASK, batch * MASK_BATCH + head * MASK_HEAD + row0 * MASK_ROW, MASK_ROW, MASK_KEY);
#ifdef MATRIX
    uint rows = min(uint(M - row0), uint(GROUP_ROWS));
#if HANDED
    uint first = batch * M + row0;
    attend_matrix(args.q, q_at, args.k, k_at, args.v, v_at, Floats(args.handed), first * HANDED_K + head * D, HANDED_K, rows, sight, SCALE,
                  MASKED != 0, mask);
    if (head == HQ - 1u) {
        hand_zeros(args.handed, first, rows, HQ * D);
    }
#else
    attend_matrix(args.q, q_at, args.k, k_at, args.v, v_at, args.y, y_at, Y_ROW, rows, sight, SCALE, MASKED != 0, mask);
#endif
#else
    attend(args.q, q_at, args.k, k_at, args.v, v_at, args.y, y_at, Y_ROW, min(uint(M - row0), uint(QUERY_ROWS)), sight, SCALE,
           MASKED != 0, mask);
#endif
}

void main() {
    const uint blocks = (M + GROUP_ROWS - 1u) / GROUP_ROWS;
    uint group_index = workgroup_index();
    uint head = group_index / blocks % HQ;
    uint batch = group_index / (blocks * HQ);
    if (batch >= BATCH) {
        return;
    }
    uint row0 = group_index % blocks * GROUP_ROWS;
#ifdef MATRIX
    attend_rows(batch, head, row0);
#else
    uint last = min(row0 + GROUP_ROWS, uint(M));
    for (uint row = row0; row < last; row += QUERY_ROWS) {
        attend_rows(batch, head, row);
    }
#endif
}
