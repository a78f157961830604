// y = softmax or log softmax of x along one axis, a workgroup a line.
// Args: x, y f32. Defines: LINES; LENGTH of a line; STEP between its elements; LOG 0|1; LOCAL threads. Grid: LINES.
// Promise: a line of -inf gives zeros.
#version 460
#include "lib/prelude.glsl"
#if !defined(LINES) || !defined(LENGTH) || !defined(STEP) || !defined(LOG) || !defined(LOCAL)
#error "softmax.comp: define LINES LENGTH STEP LOG LOCAL"
#endif
layout(local_size_x = LOCAL) in;
#include "lib/memory.glsl"
#include "lib/group.glsl"

layout(push_constant) uniform Args {
    Floats x;
    Floats y;
} args;

void main() {
    uint line = workgroup_index();
    if (line >= LINES) {
        return;
    }
    uint start = line / STEP * STEP * LENGTH + line % STEP;
    const float lowest = uintBitsToFloat(0xff800000u);
    float top = lowest;
    for (uint i = gl_LocalInvocationIndex; i < LENGTH; i += LOCAL) {
        top = max(top, args.x.v[start + i * STEP]);
    }
    top = group_max(top);
    top = top == lowest ? 0.0 : top;
    float sum = 0.0;
    for (uint i = gl_LocalInvocationIndex; i < LENGTH; i += LOCAL) {
        sum += exp(args.x.v[start + i * STEP] - top);
    }
    sum = group_sum(sum);
    for (uint i = gl_LocalInvocationIndex; i < LENGTH; i += LOCAL) {
        float x = args.x.v[start + i * STEP] - top;
        args.y.v[start + i * STEP] = LOG != 0 ? x - log(sum) : (sum == 0.0 ? 0.0 : exp(x) / sum);
    }
}
