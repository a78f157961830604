// The largest logit of each slice of the vocabulary and its lowest index; next_token.comp picks among them.
// Args: logits f32 [V], best [ceil(V / SLICE)] pairs of a value's bits and its index. Then step. Defines: V; SLICE logits a
// workgroup, a multiple of LOCAL; LOCAL threads. Grid: ceil(V / SLICE).
// Promise: NaN never wins, and a slice without a number above -infinity gives index V.
#version 460
#include "lib/prelude.glsl"
#if !defined(V) || !defined(SLICE) || !defined(LOCAL)
#error "argmax.comp: define V SLICE LOCAL"
#endif
#if SLICE / LOCAL <= 16
#define UNROLL [[unroll]]
#else
#define UNROLL
#endif
layout(local_size_x = LOCAL) in;
#include "lib/step.glsl"
#include "lib/best.glsl"

layout(push_constant) uniform Args {
    Floats logits;
    UVec2s best;
    Uints step;
} args;

void main() {
    if (step_done(args.step)) {
        return;
    }
    uint slice = workgroup_index();
    float value = BEST_NONE;
    uint index = V;
    UNROLL for (uint j = 0u; j < SLICE; j += LOCAL) {
        uint i = slice * SLICE + j + gl_LocalInvocationIndex;
        float x = i < V ? args.logits.v[i] : BEST_NONE;
        if (x > value) {
            value = x;
            index = i;
        }
    }
    group_best(value, index, V);
    if (gl_LocalInvocationIndex == 0u) {
        args.best.v[slice] = uvec2(floatBitsToUint(value), index);
    }
}
