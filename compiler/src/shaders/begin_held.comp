// What policies hold from step to step is, before the first token, what it begins with.
// Args: first [N], held [N] (words), step. Defines: N, LOCAL. Grid: N / LOCAL. Promise: nothing changes after the first token.
#version 460
#include "lib/prelude.glsl"
#if !defined(N) || !defined(LOCAL)
#error "begin_held.comp: define N, LOCAL"
#endif
layout(local_size_x = LOCAL) in;
#include "lib/step.glsl"

layout(push_constant) uniform Args {
    Uints first;
    Uints held;
    Uints step;
} args;

void main() {
    uint i = (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * uint(LOCAL) + gl_LocalInvocationIndex;
    if (i < uint(N) && args.step.v[STEP_PRODUCED] == 0u && !step_done(args.step)) {
        args.held.v[i] = args.first.v[i];
    }
}
