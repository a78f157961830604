// Activations for matrix units. In: a row of k floats, optional norm. Out: the normalised row as halves, scaled by a power of two
// that brings its largest value near 2^14, and the factor that takes the scale back.
// Define HALVES before this: 2, a value is the sum of two halves and loses nothing that matters; 1, of one.
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

vec4 normalised(Floats x, uint first, uint j, const uint norm, vec2 stats, Floats scale, Floats shift) {
    vec4 a = Vec4s(x).v[first + j];
    if (norm == NORM_RMS) {
        a *= stats.y * Vec4s(scale).v[j];
    }
    if (norm == NORM_LAYER) {
        a = (a - stats.x) * stats.y * Vec4s(scale).v[j] + Vec4s(shift).v[j];
    }
    return a;
}

// x: mean, y: 1 / deviation, as row_stats, by the whole workgroup.
vec2 group_row_stats(Floats x, uint first, const uint k, const uint norm, const float eps) {
    vec2 stats = vec2(0.0, 1.0);
    if (norm == NORM_LAYER) {
        float sum = 0.0;
        for (uint j = gl_LocalInvocationIndex; j < k / 4u; j += LOCAL) {
            sum += dot(Vec4s(x).v[first + j], vec4(1.0));
        }
        stats.x = group_sum(sum) / float(k);
    }
    if (norm != NORM_NONE) {
        float square = 0.0;
        for (uint j = gl_LocalInvocationIndex; j < k / 4u; j += LOCAL) {
            vec4 d = Vec4s(x).v[first + j] - stats.x;
            square += dot(d, d);
        }
        stats.y = 1.0 / sqrt(group_sum(square) / float(k) + eps);
    }
    return stats;
}

// One row by a workgroup of LOCAL threads.
void split_row(Floats x, Uints y, uint row, const uint rows, const uint k, const uint padded, const uint norm, const float eps,
               Floats scale, Floats shift) {
    uint first = row * (k / 4u);
    vec2 stats = group_row_stats(x, first, k, norm, eps);
    float top = 0.0;
    for (uint j = gl_LocalInvocationIndex; j < k / 4u; j += LOCAL) {
        vec4 a = abs(normalised(x, first, j, norm, stats, scale, shift));
        top = max(top, max(max(a.x, a.y), max(a.z, a.w)));
    }
    top = group_max(top);
    // Exponents as f32 holds them: 2^14 / 2^exponent(top), and its inverse.
    int exponent = clamp(268 - int(floatBitsToUint(top) >> 23), 1, 253);
    float factor = uintBitsToFloat(uint(exponent) << 23);
    if (gl_LocalInvocationIndex == 0u) {
        Floats(y).v[halves_factors(rows, padded) + row] = uintBitsToFloat(uint(254 - exponent) << 23);
    }
    uint to = row * HALVES * (padded / 4u);
    for (uint j = gl_LocalInvocationIndex; j < k / 4u; j += LOCAL) {
        vec4 a = factor * normalised(x, first, j, norm, stats, scale, shift);
        uvec2 high = uvec2(pack_halves(a.xy), pack_halves(a.zw));
        UVec2s(y).v[to + j] = high;
        if (HALVES == 2) {
            vec4 rest = a - vec4(unpackHalf2x16(high.x), unpackHalf2x16(high.y));
            UVec2s(y).v[to + padded / 4u + j] = uvec2(pack_halves(rest.xy), pack_halves(rest.zw));
        }
    }
    for (uint j = k / 4u + gl_LocalInvocationIndex; j < padded / 4u; j += LOCAL) {
        [[unroll]] for (uint h = 0u; h < HALVES; h++) {
            UVec2s(y).v[to + h * (padded / 4u) + j] = uvec2(0u);
        }
    }
}
#endif

#endif
