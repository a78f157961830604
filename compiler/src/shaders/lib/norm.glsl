// Row statistics. In: a row of k floats. Out: mean and 1/deviation.
// Promise: f32 sums in a fixed order; every lane gets the result.
#ifndef NORM_GLSL
#define NORM_GLSL
#include "memory.glsl"

const uint NORM_NONE = 0u;
const uint NORM_RMS = 1u;
const uint NORM_LAYER = 2u;

// x: mean (0 for RMS), y: 1 / sqrt(variance or mean square + eps) of the row that begins at element `base`.
vec2 row_stats(Floats x, uint base, const uint k, const uint norm, const float eps) {
    // The last subgroup of a workgroup may have fewer lanes than the others.
    uvec4 here = subgroupBallot(true);
    uint lane = subgroupBallotExclusiveBitCount(here);
    uint lanes = subgroupBallotBitCount(here);
    float mean = 0.0;
    if (norm == NORM_LAYER) {
        float sum = 0.0;
        for (uint j = lane; j < k; j += lanes) {
            sum += x.v[base + j];
        }
        mean = subgroupAdd(sum) / float(k);
    }
    float square = 0.0;
    for (uint j = lane; j < k; j += lanes) {
        float d = x.v[base + j] - mean;
        square += d * d;
    }
    return vec2(mean, 1.0 / sqrt(subgroupAdd(square) / float(k) + eps));
}

// The same for layer norm by one lane alone, each lane its own row, which begins at group of four `first`; k is a multiple of four.
vec2 own_row_stats(Floats x, uint first, const uint k, const float eps) {
    vec4 sum = vec4(0.0);
    for (uint j = 0u; j < k / 4u; j++) {
        sum += Vec4s(x).v[first + j];
    }
    float mean = dot(sum, vec4(1.0)) / float(k);
    vec4 square = vec4(0.0);
    for (uint j = 0u; j < k / 4u; j++) {
        vec4 d = Vec4s(x).v[first + j] - mean;
        square += d * d;
    }
    return vec2(mean, 1.0 / sqrt(dot(square, vec4(1.0)) / float(k) + eps));
}

#endif
