// y[batch][t][inner] = data[batch][tuple t of index][inner].
// Args: data (32-bit words), index i32 [batches][TUPLES][DEPTH], y. Defines: N elements of y; TUPLES INNER DEPTH; WHOLE elements
// of a batch of data; EXTENTS, STRIDES of the axes that a tuple names (lists). Grid: ceil(N / 256).
#version 460
#include "lib/prelude.glsl"
#if !defined(N) || !defined(TUPLES) || !defined(INNER) || !defined(DEPTH) || !defined(WHOLE)
#error "gather_nd.comp: define N TUPLES INNER DEPTH WHOLE"
#endif
#if !defined(EXTENTS) || !defined(STRIDES)
#error "gather_nd.comp: define EXTENTS STRIDES"
#endif
layout(local_size_x = 256) in;
#include "lib/memory.glsl"
#include "lib/place.glsl"

layout(push_constant) uniform Args {
    Uints data;
    Ints index;
    Uints y;
} args;

const int extents[DEPTH] = int[](EXTENTS);
const uint strides[DEPTH] = uint[](STRIDES);

void main() {
    uint i = workgroup_index() * 256u + gl_LocalInvocationIndex;
    if (i >= N) {
        return;
    }
    uint at = i / (TUPLES * INNER) * WHOLE + i % INNER;
    [[unroll]] for (uint d = 0u; d < DEPTH; d++) {
        at += place(args.index.v[i / INNER * DEPTH + d], extents[d]) * strides[d];
    }
    args.y.v[i] = args.data.v[at];
}
