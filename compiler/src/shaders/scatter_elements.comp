// y, which holds the data, takes updates along one axis: y[.., index[i], ..] = merge(y[..], updates[i]).
// Args: index i32, updates (32-bit words), y. Defines: N lines (updates over LENGTH); RANK, DIMS of the lines (index shape
// without the axis), U_STRIDES of index and updates, Y_STRIDES; LENGTH of a line; U_STEP, Y_STEP along the axis; EXTENT of y there;
// OP a code of lib/merge.glsl; FLOAT 0|1. Grid: ceil(N / 64). Promise: updates of a line apply in order, by one thread.
#version 460
#include "lib/prelude.glsl"
#if !defined(N) || !defined(RANK) || !defined(DIMS) || !defined(U_STRIDES) || !defined(Y_STRIDES) || !defined(LENGTH)
#error "scatter_elements.comp: define N RANK DIMS U_STRIDES Y_STRIDES LENGTH"
#endif
#if !defined(U_STEP) || !defined(Y_STEP) || !defined(EXTENT) || !defined(OP) || !defined(FLOAT)
#error "scatter_elements.comp: define U_STEP Y_STEP EXTENT OP FLOAT"
#endif
layout(local_size_x = 64) in;
#include "lib/memory.glsl"
#include "lib/index.glsl"
#include "lib/merge.glsl"
#include "lib/place.glsl"

layout(push_constant) uniform Args {
    Ints index;
    Uints updates;
    Uints y;
} args;

const uint dims[RANK] = uint[](DIMS);
const int u_strides[RANK] = int[](U_STRIDES);
const int y_strides[RANK] = int[](Y_STRIDES);

void main() {
    uint i = workgroup_index() * 64u + gl_LocalInvocationIndex;
    if (i >= N) {
        return;
    }
    uint from = uint(strided(i, dims, u_strides));
    uint to = uint(strided(i, dims, y_strides));
    for (uint j = 0u; j < LENGTH; j++) {
        uint u = from + j * U_STEP;
        uint at = to + place(args.index.v[u], EXTENT) * Y_STEP;
        args.y.v[at] = merge(OP, FLOAT != 0, args.y.v[at], args.updates.v[u]);
    }
}
