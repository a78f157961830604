// y[outer][d][inner] = values[1] where index[outer][inner] is d (or d - DEPTH), else values[0].
// Args: index i32, values (two words), y. Defines: N elements of y; DEPTH INNER. Grid: ceil(N / 256).
#version 460
#include "lib/prelude.glsl"
#if !defined(N) || !defined(DEPTH) || !defined(INNER)
#error "one_hot.comp: define N DEPTH INNER"
#endif
layout(local_size_x = 256) in;
#include "lib/memory.glsl"

layout(push_constant) uniform Args {
    Ints index;
    Uints values;
    Uints y;
} args;

void main() {
    uint i = workgroup_index() * 256u + gl_LocalInvocationIndex;
    if (i < N) {
        int d = int(i / INNER % DEPTH);
        int index = args.index.v[i / (DEPTH * INNER) * INNER + i % INNER];
        args.y.v[i] = args.values.v[index == d || index == d - DEPTH ? 1 : 0];
    }
}
