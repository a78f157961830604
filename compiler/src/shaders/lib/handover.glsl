// Columns of x that the threads of a workgroup prepare for all of them: for lib/matvec.glsl with codes. In: x f32 [k] and its norm. Out: fixed
// point (lib/fixed.glsl) by chunks in shared memory: a tile of SLOTS chunks, or with WALK n two tiles of n SLOTS. Threads of a subgroup share a
// step. Defines as lib/matvec.glsl. Promise: all threads call hand_over together; between it and handed_over stands a barrier; subgroups of four or more.
#ifndef HANDOVER_GLSL
#define HANDOVER_GLSL

#if WALK
#define TILES 2
#define SPAN (SLOTS * WALK)
#else
#define TILES 1
#define SPAN SLOTS
#endif
// Threads that prepare eight columns each, all of a chunk in one subgroup, and what they take in turn.
#define FILLERS (LOCAL / EIGHTS * EIGHTS)
#define FILLS ((SPAN * EIGHTS + FILLERS - 1) / FILLERS)
// From eights of a chunk to the next: neighbouring writers meet different banks.
#define STRIDE (SPAN + 2)

shared uvec4 tile_upper[TILES * EIGHTS * STRIDE];
shared uvec2 tile_lowest[TILES * EIGHTS * STRIDE];
#if WALK
shared float tile_sums[TILES * SPAN * EIGHTS];
#endif
shared float tile_steps[TILES * SPAN];

struct Fill {
    vec4 x[2 * FILLS];
    vec4 scale[2 * FILLS];
};

// Which eight of a tile is the thread's.
uint own_eight(uint fill) {
    return gl_SubgroupID * SUBGROUP + gl_SubgroupInvocationID + fill * FILLERS;
}

Fill fetch_fill(Floats x, Floats scale, uint first, const uint k, const uint norm) {
    Fill fill;
    [[unroll]] for (uint f = 0u; f < 2u * FILLS; f++) {
        uint q = min(own_eight(f >> 1), SPAN * EIGHTS - 1u);
        uint chunk = first + q / EIGHTS;
        uint j = q % EIGHTS * 2u + (f & 1u);
        fill.x[f] = load_four(x, chunk, j, k);
        fill.scale[f] = norm == NORM_NONE ? vec4(1.0) : load_four(scale, chunk, j, k);
    }
    return fill;
}

// Adds to the sum of squares.
void hand_over(Fill fill, uint tile, uint first, const uint k, const uint norm, vec2 stats, Floats shift, inout float square) {
    [[unroll]] for (uint f = 0u; f < FILLS; f++) {
        bool own = own_eight(f) < min((f + 1u) * FILLERS, uint(SPAN * EIGHTS));
        uint q = min(own_eight(f), SPAN * EIGHTS - 1u);
        uint c = q / EIGHTS;
        uint j = q % EIGHTS;
        vec4 a = fill.x[2u * f];
        vec4 b = fill.x[2u * f + 1u];
        if (norm == NORM_RMS && own) {
            square += dot(a, a) + dot(b, b);
        }
        a = normalised_four(a, fill.scale[2u * f], first + c, 2u * j, k, norm, stats, shift);
        b = normalised_four(b, fill.scale[2u * f + 1u], first + c, 2u * j + 1u, k, norm, stats, shift);
        uint exponent = exponent_of(subgroupMax(top_of(a, b)));
        float sum;
        Eight eight = fixed_point(a, b, inverse_of(exponent), sum);
        if (own) {
            uint at = (tile * EIGHTS + j) * STRIDE + c;
            tile_upper[at] = eight.upper;
            tile_lowest[at] = eight.lowest;
#if WALK
            tile_sums[(tile * SPAN + c) * EIGHTS + j] = sum * step_of(exponent);
#endif
            if (j == 0u) {
                tile_steps[tile * SPAN + c] = step_of(exponent);
            }
        }
    }
}

// Chunk c of a tile. A thread that has few rows for it adds its columns up itself, so that the tile can be larger.
Columns handed_over(uint tile, uint c) {
    Columns columns;
    columns.each = tile_steps[tile * SPAN + c];
    [[unroll]] for (uint l = 0u; l < LINES; l++) {
        columns.sums[l] = 0.0;
    }
    [[unroll]] for (uint j = 0u; j < EIGHTS; j++) {
        uint at = (tile * EIGHTS + j) * STRIDE + c;
        columns.x[j] = Eight(tile_upper[at], tile_lowest[at]);
#if WALK
        columns.sums[j * LINES / EIGHTS] += tile_sums[(tile * SPAN + c) * EIGHTS + j];
#else
        columns.sums[j * LINES / EIGHTS] += columns.each * eight_sum(columns.x[j]);
#endif
    }
    return columns;
}

// The number of the group of line `part` of a chunk within its row.
uint group_of(uint chunk, uint part) {
    return chunk * WIDTH / GROUP + part;
}

// What line `part` of a chunk adds to a row's product.
float line_dot(Stored s, Columns columns, uvec2 stored_line, uint row, uint chunk, const uint part, const uint k) {
    // Where rows have a multiple of four groups their number does not matter.
    uint before = k / GROUP % 4u == 0u ? 0u : row * (k / GROUP);
    vec2 line = line_of(stored_line, before + group_of(chunk, part));
    return line.x * columns.each * stored_dot(s, columns, part) + line.y * columns.sums[part];
}

#endif
