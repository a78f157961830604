// What policies have made of what they hold is what the next step finds.
// Args: next [N], held [N] (words), counter i32 [1] (tokens drawn before this step), step. Defines: N, LOCAL. Grid: N / LOCAL. Promise:
// nothing changes in a step that had no token, for done was set before it.
#version 460
#include "lib/prelude.glsl"
#if !defined(N) || !defined(LOCAL)
#error "keep_held.comp: define N, LOCAL"
#endif
layout(local_size_x = LOCAL) in;
#include "lib/step.glsl"

layout(push_constant) uniform Args {
    Uints next;
    Uints held;
    Uints counter;
    Uints step;
} args;

void main() {
    uint i = (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * uint(LOCAL) + gl_LocalInvocationIndex;
    if (i < uint(N) && args.step.v[STEP_PRODUCED] == args.counter.v[0] + 1u) {
        args.held.v[i] = args.next.v[i];
    }
}
