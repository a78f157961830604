// y[i] = x[i] held between low and high. NaN stays; a low bound above the high one gives the high one.
// Args: x, y (32-bit words [N]), then where defined: low, high (one element each). Defines: N; FLOAT UNSIGNED LOW HIGH 0|1.
// Grid: ceil(N / 256).
#version 460
#include "lib/prelude.glsl"
#if !defined(N) || !defined(FLOAT) || !defined(UNSIGNED) || !defined(LOW) || !defined(HIGH)
#error "clip.comp: define N FLOAT UNSIGNED LOW HIGH"
#endif
layout(local_size_x = 256) in;
#include "lib/memory.glsl"
#include "lib/unary.glsl"

#if FLOAT
#define NUMBER(word) uintBitsToFloat(word)
#elif UNSIGNED
#define NUMBER(word) (word)
#else
#define NUMBER(word) int(word)
#endif

layout(push_constant) uniform Args {
    Uints x;
    Uints y;
#if LOW
    Uints low;
#endif
#if HIGH
    Uints high;
#endif
} args;

void main() {
    uint i = workgroup_index() * 256u + gl_LocalInvocationIndex;
    if (i >= N) {
        return;
    }
    uint x = args.x.v[i];
#if FLOAT
    if (is_nan(uintBitsToFloat(x))) {
        args.y.v[i] = x;
        return;
    }
#endif
#if LOW
    uint low = args.low.v[0];
    x = NUMBER(x) < NUMBER(low) ? low : x;
#endif
#if HIGH
    uint high = args.high.v[0];
    x = NUMBER(x) > NUMBER(high) ? high : x;
#endif
    args.y.v[i] = x;
}
