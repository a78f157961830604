// y[i] = f(x[i]).
// Args: x, y (32-bit words [N]). Defines: N; OP a code of lib/unary.glsl; KIND 0 float to float, 1 float to bool, 2 integer,
// 3 bool; BITS and UNSIGNED of the integer type. Grid: ceil(N / 256).
#version 460
#include "lib/prelude.glsl"
#if !defined(N) || !defined(OP) || !defined(KIND) || !defined(BITS) || !defined(UNSIGNED)
#error "unary.comp: define N OP KIND BITS UNSIGNED"
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
#if KIND == 0
    args.y.v[i] = floatBitsToUint(unary(OP, uintBitsToFloat(x)));
#elif KIND == 1
    args.y.v[i] = uint(unary(OP, uintBitsToFloat(x)));
#elif KIND == 2
    args.y.v[i] = uint(int_unary(OP, int(x), BITS, UNSIGNED != 0));
#else
    args.y.v[i] = x == 0u ? 1u : 0u;
#endif
}
