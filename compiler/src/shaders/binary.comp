// y[i] = a op b, broadcast.
// Args: a, b, y (32-bit words). Defines: N elements of y; RANK, DIMS (of y), A_STRIDES, B_STRIDES (lists); OP a code of
// lib/scalar.glsl; A_FLOAT B_FLOAT 0|1; COMPARE 1: y is bool; BITS UNSIGNED of the integer type. Grid: ceil(N / 256).
#version 460
#include "lib/prelude.glsl"
#if !defined(N) || !defined(RANK) || !defined(DIMS) || !defined(A_STRIDES) || !defined(B_STRIDES) || !defined(OP)
#error "binary.comp: define N RANK DIMS A_STRIDES B_STRIDES OP"
#endif
#if !defined(A_FLOAT) || !defined(B_FLOAT) || !defined(COMPARE) || !defined(BITS) || !defined(UNSIGNED)
#error "binary.comp: define A_FLOAT B_FLOAT COMPARE BITS UNSIGNED"
#endif
layout(local_size_x = 256) in;
#include "lib/memory.glsl"
#include "lib/scalar.glsl"
#include "lib/index.glsl"

layout(push_constant) uniform Args {
    Uints a;
    Uints b;
    Uints y;
} args;

const uint dims[RANK] = uint[](DIMS);
const int a_strides[RANK] = int[](A_STRIDES);
const int b_strides[RANK] = int[](B_STRIDES);

void main() {
    uint i = workgroup_index() * 256u + gl_LocalInvocationIndex;
    if (i >= N) {
        return;
    }
    uint a = args.a.v[strided(i, dims, a_strides)];
    uint b = args.b.v[strided(i, dims, b_strides)];
#if A_FLOAT || B_FLOAT
    float af = A_FLOAT != 0 ? uintBitsToFloat(a) : (UNSIGNED != 0 ? float(a) : float(int(a)));
    float bf = B_FLOAT != 0 ? uintBitsToFloat(b) : float(int(b));
#if COMPARE
    args.y.v[i] = uint(float_compare(OP, af, bf));
#elif A_FLOAT
    args.y.v[i] = floatBitsToUint(float_binary(OP, af, bf));
#else
    args.y.v[i] = uint(wrap(float_to_int(float_binary(OP, af, bf)), BITS, UNSIGNED != 0));
#endif
#elif COMPARE
    args.y.v[i] = uint(int_compare(OP, int(a), int(b), UNSIGNED != 0));
#else
    args.y.v[i] = uint(int_binary(OP, int(a), int(b), BITS, UNSIGNED != 0));
#endif
}
