// y, which holds the data, takes blocks: y[tuple t of index] = merge(y[..], updates[t]).
// Args: index i32 [TUPLES][DEPTH], updates (32-bit words [TUPLES][INNER]), y. Defines: TUPLES INNER DEPTH; EXTENTS, STRIDES of
// the axes that a tuple names; OP a code of lib/merge.glsl; FLOAT 0|1. Grid: ceil(INNER / 64).
// Promise: updates apply in order; a thread owns one element of every block.
#version 460
#include "lib/prelude.glsl"
#if !defined(TUPLES) || !defined(INNER) || !defined(DEPTH) || !defined(EXTENTS) || !defined(STRIDES)
#error "scatter_nd.comp: define TUPLES INNER DEPTH EXTENTS STRIDES"
#endif
#if !defined(OP) || !defined(FLOAT)
#error "scatter_nd.comp: define OP FLOAT"
#endif
layout(local_size_x = 64) in;
#include "lib/memory.glsl"
#include "lib/merge.glsl"
#include "lib/place.glsl"

layout(push_constant) uniform Args {
    Ints index;
    Uints updates;
    Uints y;
} args;

const int extents[DEPTH] = int[](EXTENTS);
const uint strides[DEPTH] = uint[](STRIDES);

void main() {
    uint i = workgroup_index() * 64u + gl_LocalInvocationIndex;
    if (i >= INNER) {
        return;
    }
    for (uint t = 0u; t < TUPLES; t++) {
        uint at = i;
        [[unroll]] for (uint d = 0u; d < DEPTH; d++) {
            at += place(args.index.v[t * DEPTH + d], extents[d]) * strides[d];
        }
        args.y.v[at] = merge(OP, FLOAT != 0, args.y.v[at], args.updates.v[t * INNER + i]);
    }
}
