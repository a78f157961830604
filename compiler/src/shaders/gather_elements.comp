// y[i] = data at the coordinates of i, but for the axis, whose coordinate is index[i].
// Args: data (32-bit words), index i32 [N], y. Defines: N; RANK, DIMS (of index), DATA_STRIDES (0 at the axis); AXIS_STRIDE
// and EXTENT of the data. Grid: ceil(N / 256).
#version 460
#include "lib/prelude.glsl"
#if !defined(N) || !defined(RANK) || !defined(DIMS) || !defined(DATA_STRIDES) || !defined(AXIS_STRIDE) || !defined(EXTENT)
#error "gather_elements.comp: define N RANK DIMS DATA_STRIDES AXIS_STRIDE EXTENT"
#endif
layout(local_size_x = 256) in;
#include "lib/memory.glsl"
#include "lib/index.glsl"
#include "lib/place.glsl"

layout(push_constant) uniform Args {
    Uints data;
    Ints index;
    Uints y;
} args;

const uint dims[RANK] = uint[](DIMS);
const int data_strides[RANK] = int[](DATA_STRIDES);

void main() {
    uint i = workgroup_index() * 256u + gl_LocalInvocationIndex;
    if (i < N) {
        uint at = uint(strided(i, dims, data_strides)) + place(args.index.v[i], EXTENT) * AXIS_STRIDE;
        args.y.v[i] = args.data.v[at];
    }
}
