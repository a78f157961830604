// y[i] = x[i] in another type. Floats lose their fraction, integers wrap, bool is "not zero".
// Args: x, y (32-bit words [N]). Defines: N; FROM 0 float, 1 signed, 2 unsigned (bool counts as unsigned);
// TO 0 f32, 1 f16, 2 bf16, 3 bool, 4 integer of BITS and UNSIGNED. Grid: ceil(N / 256).
#version 460
#include "lib/prelude.glsl"
#if !defined(N) || !defined(FROM) || !defined(TO) || !defined(BITS) || !defined(UNSIGNED)
#error "cast.comp: define N FROM TO BITS UNSIGNED"
#endif
layout(local_size_x = 256) in;
#include "lib/memory.glsl"
#include "lib/scalar.glsl"

layout(push_constant) uniform Args {
    Uints x;
    Uints y;
} args;

void main() {
    uint i = workgroup_index() * 256u + gl_LocalInvocationIndex;
    if (i >= N) {
        return;
    }
    uint x = args.x.v[i];
#if FROM == 0
    float number = uintBitsToFloat(x);
    int whole = float_to_int(number);
    bool truth = number != 0.0;
#else
    float number = FROM == 1 ? float(int(x)) : float(x);
    int whole = int(x);
    bool truth = x != 0u;
#endif
#if TO == 0
    args.y.v[i] = floatBitsToUint(number);
#elif TO == 1
    args.y.v[i] = floatBitsToUint(round_to_half(number));
#elif TO == 2
    args.y.v[i] = floatBitsToUint(round_to_brain(number));
#elif TO == 3
    args.y.v[i] = uint(truth);
#else
    args.y.v[i] = uint(wrap(whole, BITS, UNSIGNED != 0));
#endif
}
