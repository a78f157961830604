// y[b] = alpha * A[b] * B[b] + beta * C, any strides, batch broadcast; 32 x 32 a workgroup of 64 threads.
// Args: a, b (32-bit words), y [batches][M][N], then where defined: c. Defines: M N K BATCHES; A_ROW A_COLUMN B_ROW B_COLUMN
// strides; RANK, DIMS of the batch, A_STRIDES, B_STRIDES; FLOAT 0|1; ALPHA BETA; C 0|1 with C_ROW C_COLUMN strides.
// Grid: tiles in all. Promise: 4 KiB of shared memory.
#version 460
#include "lib/prelude.glsl"
#if !defined(M) || !defined(N) || !defined(K) || !defined(BATCHES) || !defined(A_ROW) || !defined(A_COLUMN)
#error "batch_matmul.comp: define M N K BATCHES A_ROW A_COLUMN"
#endif
#if !defined(B_ROW) || !defined(B_COLUMN) || !defined(RANK) || !defined(DIMS) || !defined(A_STRIDES) || !defined(B_STRIDES)
#error "batch_matmul.comp: define B_ROW B_COLUMN RANK DIMS A_STRIDES B_STRIDES"
#endif
#if !defined(FLOAT) || !defined(ALPHA) || !defined(BETA) || !defined(C) || !defined(C_ROW) || !defined(C_COLUMN)
#error "batch_matmul.comp: define FLOAT ALPHA BETA C C_ROW C_COLUMN"
#endif
layout(local_size_x = 64) in;
#include "lib/memory.glsl"
#include "lib/index.glsl"

layout(push_constant) uniform Args {
    Uints a;
    Uints b;
    Uints y;
#if C
    Uints c;
#endif
} args;

#if FLOAT
#define NUMBER float
#define NUMBER4 vec4
#define DECODE(word) uintBitsToFloat(word)
#define ENCODE(x) floatBitsToUint(x)
#else
#define NUMBER int
#define NUMBER4 ivec4
#define DECODE(word) int(word)
#define ENCODE(x) uint(x)
#endif

const uint dims[RANK] = uint[](DIMS);
const int a_strides[RANK] = int[](A_STRIDES);
const int b_strides[RANK] = int[](B_STRIDES);
const uint EDGE = 32u;
const uint DEPTH = 16u;
const uint TILES_N = (N + EDGE - 1u) / EDGE;
const uint TILES = (M + EDGE - 1u) / EDGE * TILES_N;

shared NUMBER tile_a[DEPTH * EDGE];
shared NUMBER tile_b[DEPTH * EDGE];

void main() {
    uint tile = workgroup_index();
    uint batch = tile / TILES;
    if (batch >= BATCHES) {
        return;
    }
    uint row0 = tile % TILES / TILES_N * EDGE;
    uint column0 = tile % TILES_N * EDGE;
    int a_base = strided(batch, dims, a_strides);
    int b_base = strided(batch, dims, b_strides);
    uint tx = gl_LocalInvocationIndex % 8u;
    uint ty = gl_LocalInvocationIndex / 8u;
    NUMBER4 sums[4];
    [[unroll]] for (uint i = 0u; i < 4u; i++) {
        sums[i] = NUMBER4(0);
    }
    for (uint k0 = 0u; k0 < K; k0 += DEPTH) {
        barrier();
        for (uint i = gl_LocalInvocationIndex; i < DEPTH * EDGE; i += 64u) {
            uint k = k0 + i % DEPTH;
            uint row = row0 + i / DEPTH;
            uint column = column0 + i / DEPTH;
            uint at = i % DEPTH * EDGE + i / DEPTH;
            tile_a[at] = k < K && row < M ? DECODE(args.a.v[a_base + int(row * A_ROW + k * A_COLUMN)]) : NUMBER(0);
            tile_b[at] = k < K && column < N ? DECODE(args.b.v[b_base + int(k * B_ROW + column * B_COLUMN)]) : NUMBER(0);
        }
        barrier();
        for (uint k = 0u; k < DEPTH; k++) {
            NUMBER4 b = NUMBER4(tile_b[k * EDGE + tx], tile_b[k * EDGE + tx + 8u], tile_b[k * EDGE + tx + 16u],
                                tile_b[k * EDGE + tx + 24u]);
            [[unroll]] for (uint i = 0u; i < 4u; i++) {
                sums[i] += tile_a[k * EDGE + ty * 4u + i] * b;
            }
        }
    }
    [[unroll]] for (uint i = 0u; i < 4u; i++) {
        [[unroll]] for (uint j = 0u; j < 4u; j++) {
            uint row = row0 + ty * 4u + i;
            uint column = column0 + tx + j * 8u;
            if (row < M && column < N) {
                NUMBER y = sums[i][j];
#if FLOAT
                y *= ALPHA;
#endif
#if C
                NUMBER c = DECODE(args.c.v[row * C_ROW + column * C_COLUMN]);
#if FLOAT
                c *= BETA;
#endif
                y += c;
#endif
                args.y.v[(batch * M + row) * N + column] = ENCODE(y);
            }
        }
    }
}
