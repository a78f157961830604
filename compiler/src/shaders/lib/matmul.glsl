// Tiles of activations times weight rows, by workgroups of 8 x 8 threads, each taking every so manieth tile. In: x f32 [m][k], w [n][k], optional norm.
// Out: unit_store(row, unit, sums) for each row below `live` and each unit below `units`; a unit is four weight rows,
// unit_row(unit, 0..3), so that an epilogue sees the values it combines in one thread.
// Define THREAD_ROWS (1, 2, 4, 8) before this: a tile is 8 * THREAD_ROWS rows by 16 units. Promise: 10 KiB of shared memory.
#ifndef MATMUL_GLSL
#define MATMUL_GLSL
#include "lanes.glsl"
#include "norm.glsl"
#include "weights.glsl"
#ifndef THREAD_ROWS
#error "define THREAD_ROWS"
#endif

uint unit_row(uint unit, uint part);
void unit_store(uint row, uint unit, vec4 sums);

const uint TILE_K = 16u;
const uint TILE_ROWS = 8u * THREAD_ROWS;
const uint TILE_UNITS = 16u;
const uint TILE_COLUMNS = 4u * TILE_UNITS;

shared float tile_x[TILE_K * TILE_ROWS];
shared vec4 tile_w[TILE_K * TILE_UNITS];
shared vec2 tile_stats[TILE_ROWS];

void load_tile_x(Floats x, uint row0, uint k0, uint m, const uint k, const uint norm, Floats scale, Floats shift) {
    for (uint i = gl_LocalInvocationIndex; i < TILE_K * TILE_ROWS; i += 64u) {
        uint r = i / TILE_K;
        uint j = i % TILE_K;
        uint c = k0 + j;
        float a = 0.0;
        if (c < k) {
            a = x.v[min(row0 + r, m - 1u) * k + c];
            if (norm == NORM_RMS) {
                a *= tile_stats[r].y * scale.v[c];
            }
            if (norm == NORM_LAYER) {
                a = (a - tile_stats[r].x) * tile_stats[r].y * scale.v[c] + shift.v[c];
            }
        }
        tile_x[j * TILE_ROWS + r] = a;
    }
}

void load_tile_w(Weights w, uint unit0, uint k0, const uint k, const uint units) {
    for (uint i = gl_LocalInvocationIndex; i < TILE_COLUMNS * (TILE_K / 8u); i += 64u) {
        uint column = i / (TILE_K / 8u);
        uint j = 8u * (i % (TILE_K / 8u));
        uint row = unit_row(min(unit0 + column / 4u, units - 1u), column % 4u);
        vec4 lo = vec4(0.0);
        vec4 hi = vec4(0.0);
        if (k % 8u == 0u) {
            if (k0 + j < k) {
                load_weights8(w, (row * k + k0 + j) / 8u, lo, hi);
            }
        } else {
            for (uint e = 0u; e < 8u; e++) {
                float value = k0 + j + e < k ? load_weight(w, row * k + k0 + j + e) : 0.0;
                if (e < 4u) {
                    lo[e] = value;
                } else {
                    hi[e - 4u] = value;
                }
            }
        }
        uint at = j * TILE_UNITS + column / 4u;
        uint part = column % 4u;
        tile_w[at][part] = lo.x;
        tile_w[at + TILE_UNITS][part] = lo.y;
        tile_w[at + 2u * TILE_UNITS][part] = lo.z;
        tile_w[at + 3u * TILE_UNITS][part] = lo.w;
        tile_w[at + 4u * TILE_UNITS][part] = hi.x;
        tile_w[at + 5u * TILE_UNITS][part] = hi.y;
        tile_w[at + 6u * TILE_UNITS][part] = hi.z;
        tile_w[at + 7u * TILE_UNITS][part] = hi.w;
    }
}

uvec4 unit_rows(uint unit) {
    return uvec4(unit_row(unit, 0u), unit_row(unit, 1u), unit_row(unit, 2u), unit_row(unit, 3u));
}

#if SALIENT > 0
// Column c of row r of the tile, normalised.
float tile_value(Floats x, uint row0, uint r, uint c, uint m, const uint k, const uint norm, Floats scale, Floats shift) {
    float a = x.v[min(row0 + r, m - 1u) * k + c];
    if (norm == NORM_RMS) {
        a *= tile_stats[r].y * scale.v[c];
    }
    if (norm == NORM_LAYER) {
        a = (a - tile_stats[r].x) * tile_stats[r].y * scale.v[c] + shift.v[c];
    }
    return a;
}
#endif

// Eight rows from row0 on by one subgroup of eight. A lane loads one row of x and holds one unit of weights.
void rows_by_lane(Floats x, Weights w, uint row0, uint unit, uint m, uint live, const uint k, const uint units, const uint norm,
                  const float eps, Floats scale, Floats shift) {
    uint lane = gl_SubgroupInvocationID;
    uint mine = min(unit, units - 1u);
    uvec4 rows = unit_rows(mine);
    uvec4 first = rows * (k / 4u);
    uint own = min(row0 + lane, m - 1u) * (k / 4u);
    vec2 stats = norm == NORM_LAYER ? own_row_stats(x, own, k, eps) : vec2(0.0, 1.0);
    float square = 0.0;
    vec4 shifts = vec4(0.0);
    vec4 sums[8] = vec4[](shifts, shifts, shifts, shifts, shifts, shifts, shifts, shifts);
    for (uint j = 0u; j < k / 4u; j++) {
        // Column e holds component e of each part.
        mat4 columns = transpose(mat4(load_weights4(w, first.x + j), load_weights4(w, first.y + j),
                                      load_weights4(w, first.z + j), load_weights4(w, first.w + j)));
        vec4 a = Vec4s(x).v[own + j];
        square += dot(a, a);
        if (norm == NORM_LAYER) {
            a = (a - stats.x) * stats.y;
            shifts += columns * Vec4s(shift).v[j];
        }
        vec4 scales = norm != NORM_NONE ? Vec4s(scale).v[j] : vec4(1.0);
        [[unroll]] for (uint e = 0u; e < 4u; e++) {
            vec4 column = columns[e] * scales[e];
            vec4 x0 = first_four(a[e]);
            vec4 x1 = next_four(a[e]);
            [[unroll]] for (uint i = 0u; i < 4u; i++) {
                sums[i] += x0[i] * column;
                sums[4u + i] += x1[i] * column;
            }
        }
    }
#if SALIENT > 0
    for (uint i = 0u; i < SALIENT; i++) {
        uint j = salient_column(w, i);
        float a = x.v[4u * own + j];
        if (norm == NORM_LAYER) {
            a = (a - stats.x) * stats.y;
            shifts += salient_sum(w, rows, i, shift.v[j]);
        }
        vec4 column = salient_sum(w, rows, i, norm != NORM_NONE ? scale.v[j] : 1.0);
        vec4 x0 = first_four(a);
        vec4 x1 = next_four(a);
        [[unroll]] for (uint e = 0u; e < 4u; e++) {
            sums[e] += x0[e] * column;
            sums[4u + e] += x1[e] * column;
        }
    }
#endif
    float inverse = norm == NORM_RMS ? 1.0 / sqrt(square / float(k) + eps) : 1.0;
    vec4 first_inverses = first_four(inverse);
    vec4 next_inverses = next_four(inverse);
    [[unroll]] for (uint i = 0u; i < 8u; i++) {
        if (row0 + i < live && unit < units) {
            float row_inverse = i < 4u ? first_inverses[i & 3u] : next_inverses[i & 3u];
            unit_store(row0 + i, unit, sums[i] * row_inverse + shifts);
        }
    }
}

// The tile for subgroups of eight, which are CPUs: there a load costs as much for one lane as for all, shared memory included, and
// a broadcast costs nothing. k is a multiple of four.
void matmul_by_lane(Floats x, Weights w, uint row0, uint unit0, uint m, uint live, const uint k, const uint units,
                    const uint norm, const float eps, Floats scale, Floats shift) {
    const uint columns = TILE_UNITS / 8u;
    for (uint task = gl_SubgroupID; task < columns * THREAD_ROWS; task += gl_NumSubgroups) {
        uint row = row0 + task / columns * 8u;
        uint unit = unit0 + 8u * (task % columns);
        if (row < live && unit < units) {
            rows_by_lane(x, w, row, unit + gl_SubgroupInvocationID, m, live, k, units, norm, eps, scale, shift);
        }
    }
}

void matmul_tile(Floats x, Weights w, uint row0, uint unit0, const uint m, uint live, const uint k, const uint units, const uint norm,
                 const float eps, Floats scale, Floats shift) {
    if (gl_SubgroupSize == 8u && k % 4u == 0u) {
        matmul_by_lane(x, w, row0, unit0, m, live, k, units, norm, eps, scale, shift);
        return;
    }
    if (norm != NORM_NONE) {
        for (uint r = gl_SubgroupID; r < TILE_ROWS; r += gl_NumSubgroups) {
            vec2 stats = row_stats(x, min(row0 + r, m - 1u) * k, k, norm, eps);
            if (subgroupElect()) {
                tile_stats[r] = stats;
            }
        }
    }
    uint ty = gl_LocalInvocationIndex / 8u;
    uint tx = gl_LocalInvocationIndex % 8u;
    vec4 left[THREAD_ROWS];
    vec4 right[THREAD_ROWS];
    [[unroll]] for (uint i = 0u; i < THREAD_ROWS; i++) {
        left[i] = vec4(0.0);
        right[i] = vec4(0.0);
    }
    for (uint k0 = 0u; k0 < k; k0 += TILE_K) {
        barrier();
        load_tile_x(x, row0, k0, m, k, norm, scale, shift);
        load_tile_w(w, unit0, k0, k, units);
        barrier();
        for (uint j = 0u; j < TILE_K; j++) {
            vec4 b0 = tile_w[j * TILE_UNITS + tx];
            vec4 b1 = tile_w[j * TILE_UNITS + tx + 8u];
            [[unroll]] for (uint i = 0u; i < THREAD_ROWS; i++) {
                float a = tile_x[j * TILE_ROWS + ty * THREAD_ROWS + i];
                left[i] += a * b0;
                right[i] += a * b1;
            }
        }
    }
#if SALIENT > 0
    uvec4 left_rows = unit_rows(min(unit0 + tx, units - 1u));
    uvec4 right_rows = unit_rows(min(unit0 + tx + 8u, units - 1u));
    for (uint j = 0u; j < SALIENT; j++) {
        uint c = salient_column(w, j);
        [[unroll]] for (uint i = 0u; i < THREAD_ROWS; i++) {
            float a = tile_value(x, row0, ty * THREAD_ROWS + i, c, m, k, norm, scale, shift);
            left[i] += salient_sum(w, left_rows, j, a);
            right[i] += salient_sum(w, right_rows, j, a);
        }
    }
#endif
    [[unroll]] for (uint i = 0u; i < THREAD_ROWS; i++) {
        uint row = row0 + ty * THREAD_ROWS + i;
        if (row < live) {
            if (unit0 + tx < units) {
                unit_store(row, unit0 + tx, left[i]);
            }
            if (unit0 + tx + 8u < units) {
                unit_store(row, unit0 + tx + 8u, right[i]);
            }
        }
    }
}

// `m` rows exist, `live` of them matter. Any grid.
void matmul(Floats x, Weights w, const uint m, uint live, const uint k, const uint units, const uint norm, const float eps,
            Floats scale, Floats shift) {
    const uint across = (units + TILE_UNITS - 1u) / TILE_UNITS;
    uint tiles = (live + TILE_ROWS - 1u) / TILE_ROWS * across;
    for (uint tile = workgroup_index(); tile < tiles; tile += gl_NumWorkGroups.x * gl_NumWorkGroups.y) {
        matmul_tile(x, w, tile / across * TILE_ROWS, tile % across * TILE_UNITS, m, live, k, units, norm, eps, scale, shift);
    }
}

#endif
