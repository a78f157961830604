// The walking form of lib/matvec.glsl, for quantised rows of many columns. In: as add_chunks there, a unit a thread. Out: its products;
// adds to the sum of squares. Defines as there; WALK is the number of chunks that a thread takes in a phase, and
// K / (WIDTH * SLOTS * WALK) that of phases. Promise: x is prepared once
// for all units of a workgroup, a phase at a time; what the next phase needs is under way while a thread multiplies; the order of sums
// depends on the defines only.
#ifndef WALK_GLSL
#define WALK_GLSL

#define PHASES (K / (WIDTH * SLOTS * WALK))

// What a phase takes of each of a unit's rows.
struct Chunks {
    Stored rows[4 * WALK];
    uvec2 lines[4 * WALK * LINES];
};

Chunks fetch_chunks(Weights w, uvec4 rows, uint phase, uint slot, const uint k) {
    Chunks c;
    [[unroll]] for (uint s = 0u; s < WALK; s++) {
        uint chunk = (phase * WALK + s) * SLOTS + slot;
        [[unroll]] for (uint part = 0u; part < 4u; part++) {
            c.rows[s * 4u + part] = stored_load(w, rows[part] * (k / WIDTH) + chunk);
            [[unroll]] for (uint l = 0u; l < LINES; l++) {
                c.lines[(s * 4u + part) * LINES + l] = line_load(w, rows[part] * (k / GROUP) + group_of(chunk, l));
            }
        }
    }
    return c;
}

float walk(Floats x, Weights w, uint unit, uint slot, const uint k, const uint norm, vec2 stats, Floats scale, Floats shift,
           inout vec4 sums) {
    uvec4 rows = unit_rows(unit);
    float square = 0.0;
    Chunks next = fetch_chunks(w, rows, 0u, slot, k);
    Fill fill = fetch_fill(x, scale, 0u, k, norm);
    [[dont_unroll]] for (uint phase = 0u; phase < PHASES; phase++) {
        Chunks now = next;
        uint ahead = min(phase + 1u, PHASES - 1u);
        next = fetch_chunks(w, rows, ahead, slot, k);
        hand_over(fill, phase & 1u, phase * SPAN, k, norm, stats, shift, square);
        fill = fetch_fill(x, scale, ahead * SPAN, k, norm);
        barrier();
        [[unroll]] for (uint s = 0u; s < WALK; s++) {
            Columns columns = handed_over(phase & 1u, s * SLOTS + slot);
            uint chunk = (phase * WALK + s) * SLOTS + slot;
            [[unroll]] for (uint l = 0u; l < LINES; l++) {
                [[unroll]] for (uint part = 0u; part < 4u; part++) {
                    uint at = s * 4u + part;
                    sums[part] += line_dot(now.rows[at], columns, now.lines[at * LINES + l], rows[part], chunk, l, k);
                }
            }
        }
    }
    return square;
}

#endif
