// Greedy sampling: the lowest index of the largest logit becomes the next token (lib/next.glsl says what that writes).
// Args: best [PARTS] pairs of a value's bits and its index, step, tokens, ring, history. Defines: V; PARTS; LOCAL threads. Grid: one
// workgroup. Promise: nothing changes once step.done is set.
#version 460
#include "lib/prelude.glsl"
#if !defined(V) || !defined(PARTS) || !defined(LOCAL)
#error "next_token.comp: define V PARTS LOCAL"
#endif
layout(local_size_x = LOCAL) in;
#include "lib/step.glsl"
#include "lib/best.glsl"
#include "lib/next.glsl"

layout(push_constant) uniform Args {
    UVec2s best;
    Uints step;
    Uints tokens;
    Uints ring;
    Uints history;
} args;

void main() {
    NextStep before = next_step(args.step);
    float value = BEST_NONE;
    uint index = V;
    for (uint i = gl_LocalInvocationIndex; i < PARTS; i += LOCAL) {
        uvec2 part = args.best.v[i];
        float x = uintBitsToFloat(part.x);
        if (x > value) {
            value = x;
            index = part.y;
        }
    }
    if (before.done != 0u) {
        return;
    }
    group_best(value, index, V);
    next_write(args.step, args.tokens, args.ring, args.history, before, index < V ? index : 0u);
}
