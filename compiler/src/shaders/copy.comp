// y[to(i)] = x[from(i)] for the i of a strided space: transpose, slice, expand, tile, and one part of concat or split.
// Args: x, y (32-bit words). Defines: N elements moved; RANK, DIMS; FROM, FROM_STRIDES; TO, TO_STRIDES. Grid: ceil(N / 256).
#version 460
#include "lib/prelude.glsl"
#if !defined(N) || !defined(RANK) || !defined(DIMS) || !defined(FROM) || !defined(FROM_STRIDES) || !defined(TO)
#error "copy.comp: define N RANK DIMS FROM FROM_STRIDES TO TO_STRIDES"
#endif
layout(local_size_x = 256) in;
#include "lib/memory.glsl"
#include "lib/index.glsl"

layout(push_constant) uniform Args {
    Uints x;
    Uints y;
} args;

const uint dims[RANK] = uint[](DIMS);
const int from_strides[RANK] = int[](FROM_STRIDES);
const int to_strides[RANK] = int[](TO_STRIDES);

void main() {
    uint i = workgroup_index() * 256u + gl_LocalInvocationIndex;
    if (i < N) {
        args.y.v[TO + strided(i, dims, to_strides)] = args.x.v[FROM + strided(i, dims, from_strides)];
    }
}
