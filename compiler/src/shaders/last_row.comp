// y = x[rows - 1]: the last live row of a chunk.
// Args: x f32 [M][K], rows (address; ROWS_WORD says which word), y f32 [K]. Defines: M K ROWS_WORD. Grid: ceil(K / 64).
#version 460
#include "lib/prelude.glsl"
#if !defined(M) || !defined(K) || !defined(ROWS_WORD)
#error "last_row.comp: define M K ROWS_WORD"
#endif
layout(local_size_x = 64) in;
#include "lib/memory.glsl"

layout(push_constant) uniform Args {
    Floats x;
    Uints rows;
    Floats y;
} args;

void main() {
    uint i = workgroup_index() * 64u + gl_LocalInvocationIndex;
    if (i < K) {
        uint row = clamp(args.rows.v[ROWS_WORD], 1u, M) - 1u;
        args.y.v[i] = args.x.v[row * K + i];
    }
}
