// y = x normalised over its trailing axes, times scale, plus shift (both broadcast); a workgroup a row.
// Args: x, y f32 [ROWS][LENGTH], scale f32, then where defined: shift f32. Defines: ROWS LENGTH; NORM 1 RMS, 2 layer; EPS; RANK, DIMS
// of x, SCALE_STRIDES, SHIFT_STRIDES; SHIFT 0|1; LOCAL threads. Grid: ROWS.
#version 460
#include "lib/prelude.glsl"
#if !defined(ROWS) || !defined(LENGTH) || !defined(NORM) || !defined(EPS) || !defined(RANK) || !defined(DIMS)
#error "norm.comp: define ROWS LENGTH NORM EPS RANK DIMS"
#endif
#if !defined(SCALE_STRIDES) || !defined(SHIFT_STRIDES) || !defined(SHIFT) || !defined(LOCAL)
#error "norm.comp: define SCALE_STRIDES SHIFT_STRIDES SHIFT LOCAL"
#endif
layout(local_size_x = LOCAL) in;
#include "lib/memory.glsl"
#include "lib/group.glsl"
#include "lib/index.glsl"

layout(push_constant) uniform Args {
    Floats x;
    Floats y;
    Floats scale;
#if SHIFT
    Floats shift;
#endif
} args;

const uint dims[RANK] = uint[](DIMS);
const int scale_strides[RANK] = int[](SCALE_STRIDES);
const int shift_strides[RANK] = int[](SHIFT_STRIDES);

void main() {
    uint row = workgroup_index();
    if (row >= ROWS) {
        return;
    }
    uint base = row * LENGTH;
    float mean = 0.0;
    if (NORM == 2) {
        float sum = 0.0;
        for (uint i = gl_LocalInvocationIndex; i < LENGTH; i += LOCAL) {
            sum += args.x.v[base + i];
        }
        mean = group_sum(sum) / float(LENGTH);
    }
    float square = 0.0;
    for (uint i = gl_LocalInvocationIndex; i < LENGTH; i += LOCAL) {
        float d = args.x.v[base + i] - mean;
        square += d * d;
    }
    float inverse = 1.0 / sqrt(group_sum(square) / float(LENGTH) + EPS);
    for (uint i = gl_LocalInvocationIndex; i < LENGTH; i += LOCAL) {
        float y = (args.x.v[base + i] - mean) * inverse * args.scale.v[strided(base + i, dims, scale_strides)];
#if SHIFT
        y += args.shift.v[strided(base + i, dims, shift_strides)];
#endif
        args.y.v[base + i] = y;
    }
}
