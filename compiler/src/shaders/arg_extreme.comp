// y[line] = the index of the largest (or smallest) element along one axis, the first or the last of equals; a workgroup a line.
// Args: x (32-bit words), y i32 [LINES]. Defines: LINES; LENGTH of a line; STEP between its elements; KIND a code of
// lib/order.glsl; LARGEST LAST 0|1; LOCAL threads. Grid: LINES.
#version 460
#include "lib/prelude.glsl"
#if !defined(LINES) || !defined(LENGTH) || !defined(STEP) || !defined(KIND) || !defined(LARGEST) || !defined(LAST)
#error "arg_extreme.comp: define LINES LENGTH STEP KIND LARGEST LAST"
#endif
#if !defined(LOCAL)
#error "arg_extreme.comp: define LOCAL"
#endif
layout(local_size_x = LOCAL) in;
#include "lib/memory.glsl"
#include "lib/group.glsl"
#include "lib/order.glsl"

layout(push_constant) uniform Args {
    Uints x;
    Uints y;
} args;

uint key(uint word) {
    return LARGEST != 0 ? order_key(word, KIND) : ~order_key(word, KIND);
}

void main() {
    uint line = workgroup_index();
    if (line >= LINES) {
        return;
    }
    uint start = line / STEP * STEP * LENGTH + line % STEP;
    uint top = 0u;
    for (uint i = gl_LocalInvocationIndex; i < LENGTH; i += LOCAL) {
        top = max(top, key(args.x.v[start + i * STEP]));
    }
    top = group_max_uint(top);
    // The first index is the largest of LENGTH - 1 - i.
    uint best = 0u;
    for (uint i = gl_LocalInvocationIndex; i < LENGTH; i += LOCAL) {
        if (key(args.x.v[start + i * STEP]) == top) {
            best = max(best, LAST != 0 ? i : LENGTH - 1u - i);
        }
    }
    best = group_max_uint(best);
    if (gl_LocalInvocationIndex == 0u) {
        args.y.v[line] = LAST != 0 ? best : LENGTH - 1u - best;
    }
}
