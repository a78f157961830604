// y[i] = x[i] where index[i] is below VOCAB, else row index[i] - VOCAB of the pictures, the last one where there are fewer.
// Args: x f32 [M][K], index i32 [M], y f32 [M][K], pictures f32 [PICTURES][K], then where defined: step. Defines: M K VOCAB PICTURES;
// LIVE 1: rows beyond step.rows are skipped, and all once step.done is set. Grid: ceil(M * K / 64).
#version 460
#include "lib/prelude.glsl"
#if !defined(M) || !defined(K) || !defined(VOCAB) || !defined(PICTURES) || !defined(LIVE)
#error "splice.comp: define M K VOCAB PICTURES LIVE"
#endif
layout(local_size_x = 64) in;
#include "lib/memory.glsl"
#include "lib/step.glsl"

layout(push_constant) uniform Args {
    Floats x;
    Ints index;
    Floats y;
    Floats pictures;
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
    int at = args.index.v[row] - VOCAB;
    if (at < 0) {
        args.y.v[i] = args.x.v[i];
    } else {
        args.y.v[i] = args.pictures.v[uint(min(at, PICTURES - 1)) * K + i % K];
    }
}
