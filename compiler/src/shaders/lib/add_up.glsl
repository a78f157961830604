// Sums of a product whose steps several workgroups have shared (SPLITS of lib/matmul_matrix.glsl). In: their parts. Out: unit_end for each row and unit.
// Define SPLITS and LOCAL before this. Grid: ceil(live rows * units / LOCAL). The plain form of a product has nothing to add.
// Promise: parts are added in order.
#ifndef ADD_UP_GLSL
#define ADD_UP_GLSL
#ifdef MATRIX
#include "memory.glsl"

Extras unit_begin(uint row, uint unit);
void unit_end(uint row, uint unit, vec4 sums, Extras extras);

void add_up(Floats partials, const uint m, uint live, const uint units) {
    uint item = workgroup_index() * LOCAL + gl_LocalInvocationIndex;
    uint row = item / units;
    uint unit = item % units;
    if (row >= live) {
        return;
    }
    Extras extras = unit_begin(row, unit);
    vec4 parts[SPLITS];
    [[unroll]] for (uint i = 0u; i < SPLITS; i++) {
        parts[i] = Vec4s(partials).v[i * m * units + item];
    }
    vec4 sum = parts[0];
    [[unroll]] for (uint i = 1u; i < SPLITS; i++) {
        sum += parts[i];
    }
    unit_end(row, unit, sum, extras);
}

#endif
#endif
