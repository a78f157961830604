// y[i] = table[index[i]]: embedding rows. A negative index counts from the end; one out of range is clamped. With pictures, an index at
// or above VOCAB takes row index - VOCAB of those.
// Args: table [ROWS][K], index i32 [M], y f32 [M][K], then where defined: pictures f32 [PICTURES][K]; step. Defines: M K ROWS; WEIGHT_BITS
// and what lib/weights.glsl wants with it; where there are pictures VOCAB PICTURES; LIVE 1: rows beyond step.rows are skipped, and all once step.done is set. Grid: ceil(M * K / 64).
#version 460
#include "lib/prelude.glsl"
#if !defined(M) || !defined(K) || !defined(ROWS) || !defined(WEIGHT_BITS) || !defined(LIVE)
#error "gather_rows.comp: define M K ROWS WEIGHT_BITS LIVE"
#endif
layout(local_size_x = 64) in;
#include "lib/step.glsl"
#include "lib/weights.glsl"

layout(push_constant) uniform Args {
    Uints table;
    Ints index;
    Floats y;
#ifdef PICTURES
    Floats pictures;
#endif
#if LIVE
    Uints step;
#endif
} args;

void main() {
    uint i = workgroup_index() * 64u + gl_LocalInvocationIndex;
    if (i >= M * K) {
        return;
    }
    uint row = i / K;
#if LIVE
    if (step_done(args.step) || (M > 1 && row >= args.step.v[STEP_ROWS])) {
        return;
    }
#endif
    int at = args.index.v[row];
#ifdef PICTURES
    if (at >= VOCAB) {
        args.y.v[i] = args.pictures.v[uint(min(at - VOCAB, PICTURES - 1)) * K + i % K];
        return;
    }
#endif
    at = clamp(at < 0 ? at + ROWS : at, 0, ROWS - 1);
    Weights table = weights_at(args.table, K);
    float y = load_weight(table, uint(at) * K + i % K);
#if SALIENT > 0
    y += salient_at(table, uint(at), i % K);
#endif
    args.y.v[i] = y;
}
