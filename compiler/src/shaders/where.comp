// y[i] = cond ? a : b, broadcast.
// Args: cond (u32 0|1), a, b, y (32-bit words). Defines: N elements of y; RANK, DIMS (of y), C_STRIDES, A_STRIDES, B_STRIDES.
// Grid: ceil(N / 256).
#version 460
#include "lib/prelude.glsl"
#if !defined(N) || !defined(RANK) || !defined(DIMS) || !defined(A_STRIDES) || !defined(B_STRIDES) || !defined(C_STRIDES)
#error "where.comp: define N RANK DIMS A_STRIDES B_STRIDES C_STRIDES"
#endif
layout(local_size_x = 256) in;
#include "lib/memory.glsl"
#include "lib/index.glsl"

layout(push_constant) uniform Args {
    Uints cond;
    Uints a;
    Uints b;
    Uints y;
} args;

const uint dims[RANK] = uint[](DIMS);
const int c_strides[RANK] = int[](C_STRIDES);
const int a_strides[RANK] = int[](A_STRIDES);
const int b_strides[RANK] = int[](B_STRIDES);

void main() {
    uint i = workgroup_index() * 256u + gl_LocalInvocationIndex;
    if (i >= N) {
        return;
    }
    if (args.cond.v[strided(i, dims, c_strides)] != 0u) {
        args.y.v[i] = args.a.v[strided(i, dims, a_strides)];
    } else {
        args.y.v[i] = args.b.v[strided(i, dims, b_strides)];
    }
}
