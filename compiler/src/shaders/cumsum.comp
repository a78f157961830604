// y = running sums of x along one axis; a thread a line.
// Args: x, y (32-bit words). Defines: LINES; LENGTH of a line; STEP between its elements; EXCLUSIVE REVERSE FLOAT 0|1; BITS
// UNSIGNED of the integer type. Grid: ceil(LINES / 64).
#version 460
#include "lib/prelude.glsl"
#if !defined(LINES) || !defined(LENGTH) || !defined(STEP) || !defined(EXCLUSIVE) || !defined(REVERSE) || !defined(FLOAT)
#error "cumsum.comp: define LINES LENGTH STEP EXCLUSIVE REVERSE FLOAT"
#endif
#if !defined(BITS) || !defined(UNSIGNED)
#error "cumsum.comp: define BITS UNSIGNED"
#endif
layout(local_size_x = 64) in;
#include "lib/memory.glsl"
#include "lib/scalar.glsl"

layout(push_constant) uniform Args {
    Uints x;
    Uints y;
} args;

uint add(uint a, uint b) {
#if FLOAT
    return floatBitsToUint(uintBitsToFloat(a) + uintBitsToFloat(b));
#else
    return uint(wrap(int(a) + int(b), BITS, UNSIGNED != 0));
#endif
}

void main() {
    uint line = workgroup_index() * 64u + gl_LocalInvocationIndex;
    if (line >= LINES) {
        return;
    }
    uint start = line / STEP * STEP * LENGTH + line % STEP;
    uint sum = 0u;
    for (uint j = 0u; j < LENGTH; j++) {
        uint at = start + (REVERSE != 0 ? LENGTH - 1u - j : j) * STEP;
        uint with = add(sum, args.x.v[at]);
        args.y.v[at] = EXCLUSIVE != 0 ? sum : with;
        sum = with;
    }
}
