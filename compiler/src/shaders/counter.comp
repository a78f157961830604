// How many tokens were drawn before this one, for a sampler that is a graph of its own.
// Args: step, count i32 [1]. Grid: one workgroup.
#version 460
#include "lib/prelude.glsl"
layout(local_size_x = 1) in;
#include "lib/step.glsl"

layout(push_constant) uniform Args {
    Uints step;
    Uints count;
} args;

void main() {
    args.count.v[0] = args.step.v[STEP_PRODUCED];
}
