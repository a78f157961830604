// Which channels of a head a unit of four holds, and how they turn. In: head size d, rotary channels r, pairing.
// Out: channel numbers and turned values. Promise: both channels of a pair are in one unit; with QUADS, parts (0,1) and (2,3)
// are neighbours, so that fp16 pairs can be stored whole; without, a unit is one pair or one channel that does not turn.
#ifndef ROPE_GLSL
#define ROPE_GLSL
#include "memory.glsl"

// Channel `part` of unit `u`. Without quads, parts 2 and 3 repeat 0 and 1, and part 1 of an unturned unit repeats part 0.
uint rope_channel(uint u, uint part, const uint r, const bool interleaved, const bool quads) {
    if (quads) {
        if (interleaved || 4u * u >= r) {
            return 4u * u + part;
        }
        return 2u * u + (part & 1u) + (part >> 1) * (r / 2u);
    }
    if (2u * u >= r) {
        return r + (u - r / 2u);
    }
    return interleaved ? 2u * u + (part & 1u) : u + (part & 1u) * (r / 2u);
}

vec2 rope_pair(vec2 x, float c, float s) {
    return vec2(x.x * c - x.y * s, x.x * s + x.y * c);
}

// The angles of a unit: cos and sin of its first pair, and of its second where it has two.
struct Turn {
    vec2 c;
    vec2 s;
};

// Angles of unit `u` from the table row that begins at element `table`. Units past the turned ones get some pair of the row.
Turn load_turn(uint u, const uint r, const bool quads, Floats cos_table, Floats sin_table, uint table) {
    if (quads) {
        uint i = (table + min(2u * u, r / 2u - 2u)) / 2u;
        return Turn(Vec2s(cos_table).v[i], Vec2s(sin_table).v[i]);
    }
    uint i = table + min(u, r / 2u - 1u);
    return Turn(vec2(cos_table.v[i], 1.0), vec2(sin_table.v[i], 0.0));
}

// Turns the sums of unit `u`.
vec4 rope_turn(vec4 x, uint u, const uint r, const bool interleaved, const bool quads, Turn t) {
    if (quads) {
        if (4u * u >= r) {
            return x;
        }
        if (interleaved) {
            return vec4(rope_pair(x.xy, t.c.x, t.s.x), rope_pair(x.zw, t.c.y, t.s.y));
        }
        vec2 a = rope_pair(x.xz, t.c.x, t.s.x);
        vec2 b = rope_pair(x.yw, t.c.y, t.s.y);
        return vec4(a.x, b.x, a.y, b.y);
    }
    if (2u * u >= r) {
        return x;
    }
    return vec4(rope_pair(x.xy, t.c.x, t.s.x), x.zw);
}

#endif
