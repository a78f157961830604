// y[outer][j][inner] = data[outer][index[j]][inner]. A negative index counts from the end; one out of range is clamped.
// Args: data (32-bit words), index i32 [COUNT], y. Defines: N elements of y; COUNT INNER EXTENT. Grid: ceil(N / 256).
#version 460
#include "lib/prelude.glsl"
#if !defined(N) || !defined(COUNT) || !defined(INNER) || !defined(EXTENT)
#error "gather.comp: define N COUNT INNER EXTENT"
#endif
layout(local_size_x = 256) in;
#include "lib/memory.glsl"
#include "lib/place.glsl"

layout(push_constant) uniform Args {
    Uints data;
    Ints index;
    Uints y;
} args;

void main() {
    uint i = workgroup_index() * 256u + gl_LocalInvocationIndex;
    if (i < N) {
        uint outer = i / (COUNT * INNER);
        uint at = place(args.index.v[i / INNER % COUNT], EXTENT);
        args.y.v[i] = args.data.v[(outer * EXTENT + at) * INNER + i % INNER];
    }
}
