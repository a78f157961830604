// y = convolution of x with w, plus bias; a thread an output.
// Args: x f32 [batch][CHANNELS_IN][..], w f32 [CHANNELS_OUT][CHANNELS_IN / GROUPS][..], y f32, then where defined: bias
// f32 [CHANNELS_OUT]. Defines: N outputs; CHANNELS_IN CHANNELS_OUT GROUPS; RANK spatial axes; lists X_DIMS, DIMS (of y), KERNEL,
// STEPS, DILATIONS, BEGINS (pads before); PLANE_IN PLANE_OUT TAPS; BIAS 0|1. Grid: ceil(N / 64).
#version 460
#include "lib/prelude.glsl"
#if !defined(N) || !defined(CHANNELS_IN) || !defined(CHANNELS_OUT) || !defined(GROUPS) || !defined(RANK) || !defined(X_DIMS)
#error "conv.comp: define N CHANNELS_IN CHANNELS_OUT GROUPS RANK X_DIMS"
#endif
#if !defined(DIMS) || !defined(KERNEL) || !defined(STEPS) || !defined(DILATIONS) || !defined(BEGINS) || !defined(BIAS)
#error "conv.comp: define DIMS KERNEL STEPS DILATIONS BEGINS BIAS"
#endif
layout(local_size_x = 64) in;
#include "lib/memory.glsl"
#include "lib/window.glsl"

layout(push_constant) uniform Args {
    Floats x;
    Floats w;
    Floats y;
#if BIAS
    Floats bias;
#endif
} args;

const uint PER_GROUP = CHANNELS_IN / GROUPS;

void main() {
    uint i = workgroup_index() * 64u + gl_LocalInvocationIndex;
    if (i >= N) {
        return;
    }
    uint filter_index = i / PLANE_OUT % CHANNELS_OUT;
    uint batch = i / (PLANE_OUT * CHANNELS_OUT);
    uint first = (batch * CHANNELS_IN + filter_index / (CHANNELS_OUT / GROUPS) * PER_GROUP) * PLANE_IN;
    int origin[RANK] = window_origin(i % PLANE_OUT);
    float sum = 0.0;
    for (uint tap = 0u; tap < TAPS; tap++) {
        int at = window_tap(origin, tap);
        if (at >= 0) {
            for (uint c = 0u; c < PER_GROUP; c++) {
                sum += args.x.v[first + c * PLANE_IN + uint(at)] * args.w.v[(filter_index * PER_GROUP + c) * TAPS + tap];
            }
        }
    }
#if BIAS
    sum += args.bias.v[filter_index];
#endif
    args.y.v[i] = sum;
}
