// The K largest (or smallest) elements along one axis, in order, the lower index first among equals; a thread an element.
// Args: x (32-bit words), values, indices i32. Defines: N elements of x; LENGTH of a line; STEP between its elements; K; KIND a code
// of lib/order.glsl; LARGEST 0|1. Grid: ceil(N / 64). Each thread counts the elements before its own: LENGTH^2 work a line.
#version 460
#include "lib/prelude.glsl"
#if !defined(N) || !defined(LENGTH) || !defined(STEP) || !defined(K) || !defined(KIND) || !defined(LARGEST)
#error "top_k.comp: define N LENGTH STEP K KIND LARGEST"
#endif
layout(local_size_x = 64) in;
#include "lib/memory.glsl"
#include "lib/order.glsl"

layout(push_constant) uniform Args {
    Uints x;
    Uints values;
    Uints indices;
} args;

uint key(uint word) {
    return LARGEST != 0 ? order_key(word, KIND) : ~order_key(word, KIND);
}

void main() {
    uint i = workgroup_index() * 64u + gl_LocalInvocationIndex;
    if (i >= N) {
        return;
    }
    uint mine = i / STEP % LENGTH;
    uint line = i / (STEP * LENGTH) * STEP + i % STEP;
    uint start = i - mine * STEP;
    uint x = args.x.v[i];
    uint k = key(x);
    uint rank = 0u;
    for (uint j = 0u; j < LENGTH; j++) {
        uint other = key(args.x.v[start + j * STEP]);
        rank += other > k || (other == k && j < mine) ? 1u : 0u;
    }
    if (rank < K) {
        uint at = (line / STEP * K + rank) * STEP + line % STEP;
        args.values.v[at] = x;
        args.indices.v[at] = mine;
    }
}
