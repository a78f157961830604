// Rows that a kernel leaves for the product behind it, in place of its values. In: values. Out: halves [rows][HANDED_K], clamped, as
// lib/halves.glsl has one half of x but without factors. Only the matrix forms of kernels include this.
// Define before this: HANDED_K, a multiple of eight: columns of a row, of which those past the kernel's own are zeros.
#ifndef HANDED_GLSL
#define HANDED_GLSL
#include "memory.glsl"
#ifndef HANDED_K
#error "define HANDED_K"
#endif

// Values 2 j and 2 j + 1 of a row.
void hand_two(Uints y, uint row, uint j, vec2 a) {
    y.v[row * (HANDED_K / 2u) + j] = pack_halves(a);
}

// Values 4 j to 4 j + 3 of a row.
void hand_four(Uints y, uint row, uint j, vec4 a) {
    UVec2s(y).v[row * (HANDED_K / 4u) + j] = uvec2(pack_halves(a.xy), pack_halves(a.zw));
}

// The zeros of some rows, by the whole workgroup.
void hand_zeros(Uints y, uint row0, uint rows, const uint k) {
    const uint fours = (HANDED_K - k) / 4u;
    for (uint i = gl_LocalInvocationIndex; i < rows * fours; i += gl_WorkGroupSize.x) {
        hand_four(y, row0 + i / fours, k / 4u + i % fours, vec4(0.0));
    }
}

#endif
