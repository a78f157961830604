// y[i] = f(x[i]) for functions with parameters.
// Args: x, y f32 [N]. Defines: N; ALPHA BETA floats; FORM 0 leaky relu, 1 elu, 2 celu, 3 selu (BETA is gamma), 4 swish,
// 5 hard sigmoid, 6 thresholded relu. Grid: ceil(N / 256).
#version 460
#include "lib/prelude.glsl"
#if !defined(N) || !defined(FORM) || !defined(ALPHA) || !defined(BETA)
#error "activation.comp: define N FORM ALPHA BETA"
#endif
layout(local_size_x = 256) in;
#include "lib/memory.glsl"
#include "lib/unary.glsl"

layout(push_constant) uniform Args {
    Floats x;
    Floats y;
} args;

float apply(float x) {
#if FORM == 0
    return x < 0.0 ? ALPHA * x : x;
#elif FORM == 1
    return x < 0.0 ? ALPHA * exp_minus_one(x) : x;
#elif FORM == 2
    return x < 0.0 ? ALPHA * exp_minus_one(x / ALPHA) : x;
#elif FORM == 3
    return x <= 0.0 ? BETA * ALPHA * exp_minus_one(x) : BETA * x;
#elif FORM == 4
    return x * sigmoid(ALPHA * x);
#elif FORM == 5
    return is_nan(x) ? x : clamp(ALPHA * x + BETA, 0.0, 1.0);
#elif FORM == 6
    return x <= ALPHA ? 0.0 : x;
#else
#error "activation.comp: FORM is 0 to 6"
#endif
}

void main() {
    uint i = workgroup_index() * 256u + gl_LocalInvocationIndex;
    if (i < N) {
        args.y.v[i] = apply(args.x.v[i]);
    }
}
