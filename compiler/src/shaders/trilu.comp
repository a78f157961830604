// y = the upper or lower triangle of each matrix of x, zeros elsewhere.
// Args: x, y (32-bit words [N]). Defines: N; ROWS COLUMNS; UPPER 0|1; K diagonal. Grid: ceil(N / 256).
#version 460
#include "lib/prelude.glsl"
#if !defined(N) || !defined(ROWS) || !defined(COLUMNS) || !defined(UPPER) || !defined(K)
#error "trilu.comp: define N ROWS COLUMNS UPPER K"
#endif
layout(local_size_x = 256) in;
#include "lib/memory.glsl"

layout(push_constant) uniform Args {
    Uints x;
    Uints y;
} args;

void main() {
    uint i = workgroup_index() * 256u + gl_LocalInvocationIndex;
    if (i < N) {
        int distance = int(i % COLUMNS) - int(i / COLUMNS % ROWS);
        bool kept = UPPER != 0 ? distance >= K : distance <= K;
        args.y.v[i] = kept ? args.x.v[i] : 0u;
    }
}
