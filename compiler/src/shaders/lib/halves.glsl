// Activations for matrix units. In: a row of k floats, optional norm. Out: the normalised row as halves, scaled by a power of two
// that brings its largest value near 2^14, and the factor that takes the scale back.
// Define HALVES before this: 2, a value is the sum of two halves and loses nothing that matters; 1, of one; to make such rows, SPLIT_ROWS, their
// columns, and LOCAL.
// Layout: [rows][HALVES][padded] halves, padded being k or more, the rest zeros, then f32 [rows]. Promise: nothing overflows,
// whatever finite values the row holds; k is a multiple of eight, and so is padded.
#ifndef HALVES_GLSL
#define HALVES_GLSL
#include "memory.glsl"

// Element of the f32 view that holds the factor of row 0.
uint halves_factors(const uint rows, const uint padded) {
    return rows * HALVES * padded / 2u;
}

#ifdef SPLIT_ROWS
#include "group.glsl"
#include "norm.glsl"

// A row of SPLIT_ROWS columns, a multiple of four, in the registers of a workgroup of LOCAL threads: vector LOCAL * i + thread is a thread's i-th.
const uint ROW_FOURS = SPLIT_ROWS / 4u;
const uint OWN_FOURS = (ROW_FOURS + LOCAL - 1u) / LOCAL;
vec4 own_row[OWN_FOURS];

// Where a thread's vector i stands in the row, or past its end.
uint own_at(uint i) {
    return LOCAL * i + gl_LocalInvocationIndex;
}

// x: mean, y: 1 / deviation, as row_stats.
vec2 own_stats(const uint norm, const float eps) {
    vec2 stats = vec2(0.0, 1.0);
    if (norm == NORM_LAYER) {
        float sum = 0.0;
        [[unroll]] for (uint i = 0u; i < OWN_FOURS; i++) {
            sum += own_at(i) < ROW_FOURS ? dot(own_row[i], vec4(1.0)) : 0.0;
        }
        stats.x = group_sum(sum) / float(SPLIT_ROWS);
    }
    if (norm != NORM_NONE) {
        float square = 0.0;
        [[unroll]] for (uint i = 0u; i < OWN_FOURS; i++) {
            vec4 d = own_row[i] - stats.x;
            square += own_at(i) < ROW_FOURS ? dot(d, d) : 0.0;
        }
        stats.y = 1.0 / sqrt(group_sum(square) / float(SPLIT_ROWS) + eps);
    }
    return stats;
}

void normalise_own(const uint norm, vec2 stats, Floats scale, Floats shift) {
    [[unroll]] for (uint i = 0u; i < OWN_FOURS; i++) {
        uint j = min(own_at(i), ROW_FOURS - 1u);
        if (norm == NORM_RMS) {
            own_row[i] *= stats.y * Vec4s(scale).v[j];
        }
        if (norm == NORM_LAYER) {
            own_row[i] = (own_row[i] - stats.x) * stats.y * Vec4s(scale).v[j] + Vec4s(shift).v[j];
        }
    }
}

// The row that stands in own_row, as row `row` of y.
void split_own(Uints y, uint row, const uint rows, const uint padded, const uint norm, const float eps, Floats scale, Floats shift) {
    normalise_own(norm, own_stats(norm, eps), scale, shift);
    float top = 0.0;
    [[unroll]] for (uint i = 0u; i < OWN_FOURS; i++) {
        vec4 a = abs(own_row[i]);
        top = own_at(i) < ROW_FOURS ? max(top, max(max(a.x, a.y), max(a.z, a.w))) : top;
    }
    top = group_max(top);
    // Exponents as f32 holds them: 2^14 / 2^exponent(top), and its inverse.
    int exponent = clamp(268 - int(floatBitsToUint(top) >> 23), 1, 253);
    float factor = uintBitsToFloat(uint(exponent) << 23);
    if (gl_LocalInvocationIndex == 0u) {
        Floats(y).v[halves_factors(rows, padded) + row] = uintBitsToFloat(uint(254 - exponent) << 23);
    }
    uint to = row * HALVES * (padded / 4u);
    [[unroll]] for (uint i = 0u; i < OWN_FOURS; i++) {
        uint j = own_at(i);
        if (j < ROW_FOURS) {
            vec4 a = factor * own_row[i];
            uvec2 high = uvec2(pack_halves(a.xy), pack_halves(a.zw));
            UVec2s(y).v[to + j] = high;
            if (HALVES == 2) {
                vec4 rest = a - vec4(unpackHalf2x16(high.x), unpackHalf2x16(high.y));
                UVec2s(y).v[to + padded / 4u + j] = uvec2(pack_halves(rest.xy), pack_halves(rest.zw));
            }
        }
    }
    for (uint j = ROW_FOURS + gl_LocalInvocationIndex; j < padded / 4u; j += LOCAL) {
        [[unroll]] for (uint h = 0u; h < HALVES; h++) {
            UVec2s(y).v[to + h * (padded / 4u) + j] = uvec2(0u);
        }
    }
}

// A row of x by a workgroup.
void split_row(Floats x, Uints y, uint row, const uint rows, const uint padded, const uint norm, const float eps, Floats scale, Floats shift) {
    [[unroll]] for (uint i = 0u; i < OWN_FOURS; i++) {
        own_row[i] = Vec4s(x).v[row * ROW_FOURS + min(own_at(i), ROW_FOURS - 1u)];
    }
    split_own(y, row, rows, padded, norm, eps, scale, shift);
}
#endif

#endif
