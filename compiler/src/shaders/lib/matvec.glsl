// One row of activations times weight rows, four to a unit. In: x f32 [k], w [n][k], optional norm. Out: unit_end(unit, sums, extras)
// for each unit of the workgroup; unit_pair(unit, 0..1) says which pairs of neighbouring weight rows a unit is, unit_row(unit, 0..3)
// the same where rows come alone, and unit_begin(unit) loads what else the unit needs while the weights are on their way.
// Define K (the same as k), LOCAL (threads), SLOTS (threads that share the columns of a row), UNITS (units a workgroup, a multiple of
// LOCAL / SLOTS), PAIRS (the rows of a unit are two whole pairs), and WALK for the form of lib/walk.glsl, before this. Promise: all loads of a thread are under way before
// the first is used; any subgroup size, any k; the order of sums depends on the subgroup size and the defines only.
#ifndef MATVEC_GLSL
#define MATVEC_GLSL
#include "chunk.glsl"
#include "norm.glsl"
#include "subgroup.glsl"

#if !defined(K) || !defined(LOCAL) || !defined(SLOTS) || !defined(UNITS) || !defined(PAIRS)
#error "define K LOCAL SLOTS UNITS PAIRS"
#endif
#ifndef WALK
#define WALK 0
#endif
// Chunks of a thread, and whether rows divide into them evenly: then addresses differ by constants.
#define CHUNKS ((K + WIDTH * SLOTS - 1) / (WIDTH * SLOTS))
#define EXACT (PAIRS && K % (WIDTH * SLOTS) == 0)
// Threads that between them see each column once.
#if WIDTH == 8
#define SQUARES SLOTS
#else
#define SQUARES LOCAL
#endif

uint unit_row(uint unit, uint part);
uint unit_pair(uint unit, uint which);
Extras unit_begin(uint unit);
void unit_end(uint unit, vec4 sums, Extras extras);

// Units whose rows a thread works on at once.
const uint DEPTH = UNITS * SLOTS / LOCAL;

#if UNITS > 1
shared vec4 unit_sums[UNITS];
#endif

// Rows by the place of a thread's chunks.
struct Row {
    Stored chunks[CHUNKS][SLOTS];
};
struct Pair {
    Row rows[2];
};
layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Pairs { Pair v[]; };

// Group j of four columns of chunk `chunk` of an f32 vector; zeros past the row.
vec4 load_four(Floats x, uint chunk, uint j, const uint k) {
#if K % WIDTH == 0
    bool inside = EXACT || chunk < k / WIDTH;
#else
    bool inside = chunk * WIDTH + 4u * j < k;
#endif
    return inside ? Vec4s(x).v[chunk * (WIDTH / 4u) + j] : vec4(0.0);
}

Stored load_stored(Weights w, uint unit, uint part, uint i, uint slot, const uint k) {
#if EXACT
    return Pairs(w.at).v[unit_pair(unit, part >> 1)].rows[part & 1u].chunks[i][slot];
#else
    return stored_load(w, unit_row(unit, part) * (k / WIDTH) + min(slot + i * SLOTS, k / WIDTH - 1u));
#endif
}

// Four columns as the weights meet them, but for the factor of RMS that all share.
vec4 normalised_four(vec4 a, vec4 scale, uint chunk, uint j, const uint k, const uint norm, vec2 stats, Floats shift) {
    if (norm != NORM_NONE) {
        a = (norm == NORM_LAYER ? (a - stats.x) * stats.y : a) * scale;
    }
    return norm == NORM_LAYER ? a + load_four(shift, chunk, j, k) : a;
}

// The same of x. Adds to the sum of squares.
vec4 normalised(Floats x, uint chunk, uint j, const uint k, const uint norm, vec2 stats, Floats scale, Floats shift, inout float square) {
    vec4 a = load_four(x, chunk, j, k);
    if (norm == NORM_RMS) {
        square += dot(a, a);
    }
    vec4 factor = norm == NORM_NONE ? vec4(1.0) : load_four(scale, chunk, j, k);
    return normalised_four(a, factor, chunk, j, k, norm, stats, shift);
}

uvec4 unit_rows(uint unit) {
    return uvec4(unit_row(unit, 0u), unit_row(unit, 1u), unit_row(unit, 2u), unit_row(unit, 3u));
}

#if WEIGHT_BITS < 16
#include "handover.glsl"
// A tile is free again where one workgroup needs most of the shared memory.
#define SHARES_IN_TILE (WALK != 1 && UNITS * SLOTS <= TILES * EIGHTS * STRIDE && LOCAL <= TILES * EIGHTS * STRIDE)
#else
#define SHARES_IN_TILE 0
#endif

// What each thread adds to the sums of its units, and to the sum of squares of x.
#if SHARES_IN_TILE
#define SHARE(i) tile_upper[i]
#define SQUARE(i) tile_lowest[i].x
#define TO_SHARE floatBitsToUint
#define OF_SHARE uintBitsToFloat
#else
shared vec4 shares[UNITS * SLOTS];
shared float squares[SQUARES];
#define SHARE(i) shares[i]
#define SQUARE(i) squares[i]
#define TO_SHARE
#define OF_SHARE
#endif

#if WALK
#include "walk.glsl"
#endif

// One column in the same way.
float normalised_at(Floats x, uint j, const uint norm, vec2 stats, Floats scale, Floats shift) {
    float a = x.v[j];
    if (norm != NORM_NONE) {
        a = (norm == NORM_LAYER ? (a - stats.x) * stats.y : a) * scale.v[j];
    }
    return norm == NORM_LAYER ? a + shift.v[j] : a;
}

#if !WALK
// The products of a thread's columns, and the extras of unit `ends`. Returns the sum of the columns' squares.
float add_chunks(Floats x, Weights w, uint unit0, uint slot, const uint k, const uint units, const uint norm, vec2 stats,
                 Floats scale, Floats shift, uint ends, inout vec4 sums[DEPTH], out Extras extras) {
    Stored stored[4 * DEPTH * CHUNKS];
    [[unroll]] for (uint u = 0u; u < DEPTH; u++) {
        [[unroll]] for (uint part = 0u; part < 4u; part++) {
            [[unroll]] for (uint i = 0u; i < CHUNKS; i++) {
                stored[(4u * u + part) * CHUNKS + i] = load_stored(w, min(unit0 + u, units - 1u), part, i, slot, k);
            }
        }
    }
#if WEIGHT_BITS < 16
    uvec2 lines[4 * DEPTH * CHUNKS * LINES];
    [[unroll]] for (uint u = 0u; u < DEPTH; u++) {
        [[unroll]] for (uint part = 0u; part < 4u; part++) {
            uint row = unit_row(min(unit0 + u, units - 1u), part);
            [[unroll]] for (uint i = 0u; i < CHUNKS; i++) {
                [[unroll]] for (uint l = 0u; l < LINES; l++) {
                    uint group = row * (k / GROUP) + group_of(min(slot + i * SLOTS, k / WIDTH - 1u), l);
                    lines[((4u * u + part) * CHUNKS + i) * LINES + l] = line_load(w, group);
                }
            }
        }
    }
#endif
    float square = 0.0;
#if WIDTH == 8
    Columns narrow[CHUNKS];
    [[unroll]] for (uint i = 0u; i < CHUNKS; i++) {
        [[unroll]] for (uint j = 0u; j < 2u; j++) {
            narrow[i].x[j] = normalised(x, slot + i * SLOTS, j, k, norm, stats, scale, shift, square);
        }
    }
#endif
    extras = unit_begin(ends);
    [[unroll]] for (uint i = 0u; i < CHUNKS; i++) {
#if WIDTH > 8
        if (i > 0u) {
            barrier();
        }
        hand_over(fetch_fill(x, scale, i * SLOTS, k, norm), 0u, i * SLOTS, k, norm, stats, shift, square);
        barrier();
        Columns columns = handed_over(0u, slot);
#endif
        [[unroll]] for (uint u = 0u; u < DEPTH; u++) {
            [[unroll]] for (uint part = 0u; part < 4u; part++) {
                uint at = (4u * u + part) * CHUNKS + i;
#if WEIGHT_BITS < 16
                uint row = unit_row(min(unit0 + u, units - 1u), part);
                uint chunk = min(slot + i * SLOTS, k / WIDTH - 1u);
                [[unroll]] for (uint l = 0u; l < LINES; l++) {
                    sums[u][part] += line_dot(stored[at], columns, lines[at * LINES + l], row, chunk, l, k);
                }
#else
                sums[u][part] += stored_dot(stored[at], narrow[i]);
#endif
            }
        }
    }
    return square;
}

#endif

// The same column by column, for rows that are no multiple of a chunk.
float add_columns(Floats x, Weights w, uint unit0, uint slot, const uint k, const uint units, const uint norm, vec2 stats,
                  Floats scale, Floats shift, inout vec4 sums[DEPTH]) {
    float square = 0.0;
    for (uint j = slot; j < k; j += SLOTS) {
        square += x.v[j] * x.v[j];
        float a = normalised_at(x, j, norm, stats, scale, shift);
        [[unroll]] for (uint u = 0u; u < DEPTH; u++) {
            uvec4 row = unit_rows(min(unit0 + u, units - 1u)) * k + j;
            sums[u] += a * vec4(load_weight(w, row.x), load_weight(w, row.y), load_weight(w, row.z), load_weight(w, row.w));
        }
    }
    return square;
}

#if SALIENT > 0
// What the corrected columns add.
void add_salient(Floats x, Weights w, uint unit0, uint slot, const uint units, const uint norm, vec2 stats, Floats scale, Floats shift,
                 inout vec4 sums[DEPTH]) {
    for (uint i = slot; i < SALIENT; i += SLOTS) {
        float a = normalised_at(x, salient_column(w, i), norm, stats, scale, shift);
        [[unroll]] for (uint u = 0u; u < DEPTH; u++) {
            sums[u] += salient_sum(w, unit_rows(min(unit0 + u, units - 1u)), i, a);
        }
    }
}
#endif

#if CPU_FORM
// The form for subgroups of eight, which are CPUs: a subgroup takes a unit alone and walks along its rows, because there a load costs
// as much for one lane as for all, and waiting for other subgroups costs more than they help.
void matvec_by_subgroup(Floats x, Weights w, uint first, const uint k, const uint units, const uint norm, const float eps, Floats scale,
                        Floats shift) {
    uint lane = gl_SubgroupInvocationID;
    const uint lanes = 8u;
    vec2 stats = norm == NORM_LAYER ? row_stats(x, 0u, k, norm, eps) : vec2(0.0, 1.0);
    for (uint u = gl_SubgroupID; u < UNITS && gl_SubgroupID < LOCAL / lanes && first + u < units; u += LOCAL / lanes) {
        uvec4 row = unit_rows(first + u);
        vec4 sum = vec4(0.0);
        float square = 0.0;
        for (uint j = lane; k % 8u == 0u && j < k / 8u; j += lanes) {
            vec4 a = normalised(x, j / (WIDTH / 8u), j % (WIDTH / 8u) * 2u, k, norm, stats, scale, shift, square);
            vec4 b = normalised(x, j / (WIDTH / 8u), j % (WIDTH / 8u) * 2u + 1u, k, norm, stats, scale, shift, square);
            uvec4 at = row * (k / 8u) + j;
            sum += vec4(dot8(w, at.x, a, b), dot8(w, at.y, a, b), dot8(w, at.z, a, b), dot8(w, at.w, a, b));
        }
        for (uint j = lane; k % 8u != 0u && j < k; j += lanes) {
            square += x.v[j] * x.v[j];
            uvec4 at = row * k + j;
            sum += normalised_at(x, j, norm, stats, scale, shift) *
                   vec4(load_weight(w, at.x), load_weight(w, at.y), load_weight(w, at.z), load_weight(w, at.w));
        }
#if SALIENT > 0
        for (uint i = lane; i < SALIENT; i += lanes) {
            sum += salient_sum(w, row, i, normalised_at(x, salient_column(w, i), norm, stats, scale, shift));
        }
#endif
        sum = subgroupAdd(sum);
        if (norm == NORM_RMS) {
            sum *= 1.0 / sqrt(subgroupAdd(square) / float(k) + eps);
        }
        if (subgroupElect()) {
            unit_end(first + u, sum, unit_begin(first + u));
        }
    }
}
#endif

void matvec(Floats x, Weights w, const uint k, const uint units, const uint norm, const float eps, Floats scale, Floats shift) {
    uint thread = gl_LocalInvocationIndex;
    uint group = thread / SLOTS;
    uint slot = thread % SLOTS;
    uint first = workgroup_index() * UNITS;
#if CPU_FORM
    if (SUBGROUP == 8u && LOCAL >= 8) {
        matvec_by_subgroup(x, w, first, k, units, norm, eps, scale, shift);
        return;
    }
#endif
    vec4 sums[DEPTH];
    [[unroll]] for (uint u = 0u; u < DEPTH; u++) {
        sums[u] = vec4(0.0);
    }
    vec2 stats = norm == NORM_LAYER ? row_stats(x, 0u, k, norm, eps) : vec2(0.0, 1.0);
    float square;
    Extras extras;
    // The thread that ends a unit, see below; all others load the last one's too.
    uint ends = min(first + min(thread, UNITS - 1u), units - 1u);
#if WALK
    extras = unit_begin(ends);
    square = walk(x, w, min(first + group, units - 1u), slot, k, norm, stats, scale, shift, sums[0]);
#else
    if (k % WIDTH == 0u) {
        square = add_chunks(x, w, first + group * DEPTH, slot, k, units, norm, stats, scale, shift, ends, sums, extras);
    } else {
        extras = unit_begin(ends);
        square = add_columns(x, w, first + group * DEPTH, slot, k, units, norm, stats, scale, shift, sums);
        // Every group of threads has seen all columns; where all threads count, those of one do.
        square = SQUARES == SLOTS || group == 0u ? square : 0.0;
    }
#endif
#if SALIENT > 0
    add_salient(x, w, first + group * DEPTH, slot, units, norm, stats, scale, shift, sums);
#endif
#if SHARES_IN_TILE
    barrier();
#endif
    [[unroll]] for (uint u = 0u; u < DEPTH; u++) {
        SHARE((group * DEPTH + u) * SLOTS + slot) = TO_SHARE(sums[u]);
    }
    if (norm == NORM_RMS && thread < SQUARES) {
        SQUARE(thread) = TO_SHARE(square);
    }
    barrier();
    // Whole subgroups sum up a unit each, then a thread a unit ends it.
    uint lane = gl_SubgroupInvocationID;
    uint lanes = min(SUBGROUP, uint(LOCAL));
    uint whole = LOCAL / lanes;
    float inverse = 1.0;
    if (norm == NORM_RMS) {
        float length = 0.0;
        for (uint i = lane; i < SQUARES; i += lanes) {
            length += OF_SHARE(SQUARE(i));
        }
        inverse = 1.0 / sqrt(subgroupAdd(length) / float(k) + eps);
    }
    for (uint u = gl_SubgroupID; u < UNITS && gl_SubgroupID < whole; u += whole) {
        vec4 all = vec4(0.0);
        for (uint i = lane; i < SLOTS; i += lanes) {
            all += OF_SHARE(SHARE(u * SLOTS + i));
        }
        // Rounded here in every form: in one a bias follows at once, which a compiler would otherwise join to this product.
        precise vec4 total = subgroupAdd(all) * inverse;
        if (subgroupElect()) {
#if UNITS > 1
            unit_sums[u] = total;
#else
            unit_end(first, total, extras);
#endif
        }
    }
#if UNITS > 1
    barrier();
    if (thread < UNITS && first + thread < units) {
        unit_end(first + thread, unit_sums[thread], extras);
    }
#endif
}

#endif
