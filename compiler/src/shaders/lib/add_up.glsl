// Sums of a product whose steps several workgroups have shared (SPLITS of lib/matmul_matrix.glsl). In: their parts. Out: unit_end for each row and unit.
// Define SPLITS and LOCAL before this. Grid: ceil(live rows * units / LOCAL); with HANDED 2, a row of N columns a workgroup, (M), which then also makes
// the row that the next product takes (lib/halves.glsl). The plain form of a product has nothing to add. Promise: parts are added in order.
#ifndef ADD_UP_GLSL
#define ADD_UP_GLSL
#ifdef MATRIX
#include "memory.glsl"
#if HANDED == 2
#define SPLIT_ROWS N
#include "halves.glsl"
#endif

Extras unit_begin(uint row, uint unit);
void unit_end(uint row, uint unit, vec4 sums, Extras extras);
#ifdef HANDED_UNITS
void unit_zeros(uint row, uint unit);
#endif

vec4 whole_sum(Floats partials, const uint m, uint item, const uint units) {
    vec4 parts[SPLITS];
    [[unroll]] for (uint i = 0u; i < SPLITS; i++) {
        parts[i] = Vec4s(partials).v[i * m * units + item];
    }
    vec4 sum = parts[0];
    [[unroll]] for (uint i = 1u; i < SPLITS; i++) {
        sum += parts[i];
    }
    return sum;
}

#if HANDED == 2

// What a unit's sums become, and where that goes.
vec4 unit_value(vec4 sums, Extras extras);
void unit_keep(uint row, uint unit, vec4 y);

// Row `row` of m, by a workgroup.
void add_up_row(Floats partials, Uints handed, const uint m, uint row, const uint units, const uint norm, const float eps,
                Floats scale, Floats shift) {
    Extras extras[OWN_FOURS];
    [[unroll]] for (uint i = 0u; i < OWN_FOURS; i++) {
        extras[i] = unit_begin(row, min(own_at(i), units - 1u));
    }
    [[unroll]] for (uint i = 0u; i < OWN_FOURS; i++) {
        own_row[i] = whole_sum(partials, m, row * units + min(own_at(i), units - 1u), units);
    }
    [[unroll]] for (uint i = 0u; i < OWN_FOURS; i++) {
        own_row[i] = unit_value(own_row[i], extras[i]);
        if (own_at(i) < units) {
            unit_keep(row, own_at(i), own_row[i]);
        }
    }
    split_own(handed, row, HANDED_ROWS, HANDED_K, norm, eps, scale, shift);
}
#else

void add_up(Floats partials, const uint m, uint live, const uint units) {
#ifdef HANDED_UNITS
    const uint all = HANDED_UNITS;
#else
    const uint all = units;
#endif
    uint item = workgroup_index() * LOCAL + gl_LocalInvocationIndex;
    uint row = item / all;
    uint unit = item % all;
    if (row >= live) {
        return;
    }
#ifdef HANDED_UNITS
    if (unit >= units) {
        unit_zeros(row, unit);
        return;
    }
#endif
    Extras extras = unit_begin(row, unit);
    unit_end(row, unit, whole_sum(partials, m, row * units + unit, units), extras);
}
#endif

#endif
#endif
