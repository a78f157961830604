// The token that the sampler before has drawn, as a value.
// Args: tokens, value i32 [1]. Grid: one workgroup.
#version 460
#include "lib/prelude.glsl"
layout(local_size_x = 1) in;
#include "lib/memory.glsl"

layout(push_constant) uniform Args {
    Uints tokens;
    Uints value;
} args;

void main() {
    args.value.v[0] = args.tokens.v[0];
}
