// The walking form of lib/matvec.glsl, for quantised rows of many columns. In: as add_chunks there, a unit a thread. Out: its products;
// adds to the sum of squares. Defines as there; WALK is set, and K / (WIDTH * SLOTS) is the number of phases. Promise: x is prepared once
// for all units of a workgroup, a phase at a time; what the next phase needs is under way while a thread multiplies; the order of sums
// depends on the defines only.
#ifndef WALK_GLSL
#define WALK_GLSL

// Columns of a phase in vectors, and those that a thread prepares.
#define TILE (SLOTS * WIDTH / 4)
#define FILLS ((TILE + LOCAL - 1) / LOCAL)
#define PHASES (K / (WIDTH * SLOTS))

// One chunk of each of a unit's rows.
struct Chunks {
    Stored rows[4];
    vec2 lines[4 * LINES];
};

struct Fill {
    vec4 x[FILLS];
    vec4 scale[FILLS];
};

Chunks fetch_chunks(Weights w, uvec4 rows, uint chunk, const uint k) {
    Chunks c;
    [[unroll]] for (uint part = 0u; part < 4u; part++) {
        c.rows[part] = stored_load(w, rows[part] * (k / WIDTH) + chunk);
        [[unroll]] for (uint l = 0u; l < LINES; l++) {
            c.lines[part * LINES + l] = group_line(w, rows[part] * (k / GROUP) + chunk * WIDTH / GROUP + l);
        }
    }
    return c;
}

Fill fetch_fill(Floats x, Floats scale, uint phase, const uint k, const uint norm) {
    Fill fill;
    [[unroll]] for (uint f = 0u; f < FILLS; f++) {
        uint q = min(gl_LocalInvocationIndex + f * LOCAL, TILE - 1u);
        uint chunk = phase * SLOTS + q / (WIDTH / 4u);
        fill.x[f] = load_four(x, chunk, q % (WIDTH / 4u), k);
        fill.scale[f] = norm == NORM_NONE ? vec4(1.0) : load_four(scale, chunk, q % (WIDTH / 4u), k);
    }
    return fill;
}

float walk(Floats x, Weights w, uint unit, uint slot, const uint k, const uint norm, vec2 stats, Floats scale, Floats shift,
           inout vec4 sums) {
    uvec4 rows = unit_rows(unit);
    float square = 0.0;
    Chunks next = fetch_chunks(w, rows, slot, k);
    Fill fill = fetch_fill(x, scale, 0u, k, norm);
    [[dont_unroll]] for (uint phase = 0u; phase < PHASES; phase++) {
        Chunks now = next;
        uint ahead = min(phase + 1u, PHASES - 1u);
        next = fetch_chunks(w, rows, ahead * SLOTS + slot, k);
        uint at = (phase & 1u) * TILE;
        [[unroll]] for (uint f = 0u; f < FILLS; f++) {
            uint q = gl_LocalInvocationIndex + f * LOCAL;
            if (q < TILE) {
                uint c = q / (WIDTH / 4u);
                uint j = q % (WIDTH / 4u);
                vec4 a = fill.x[f];
                if (norm == NORM_RMS) {
                    square += dot(a, a);
                }
                tile[at + j * SLOTS + c] = normalised_four(a, fill.scale[f], phase * SLOTS + c, j, k, norm, stats, shift);
            }
        }
        fill = fetch_fill(x, scale, ahead, k, norm);
        barrier();
        Columns columns;
        [[unroll]] for (uint j = 0u; j < WIDTH / 4u; j++) {
            columns.x[j] = tile[at + j * SLOTS + slot];
        }
        [[unroll]] for (uint l = 0u; l < LINES; l++) {
            vec2 base = column_sums(columns, l);
            [[unroll]] for (uint part = 0u; part < 4u; part++) {
                vec2 line = now.lines[part * LINES + l];
                sums[part] += line.x * (stored_dot(now.rows[part], columns, l) - base.x) + line.y * base.y;
            }
        }
    }
    return square;
}

#endif
