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

// Turns the sums of unit `u` by the table row that begins at element `table`.
vec4 rope_turn(vec4 x, uint u, const uint r, const bool interleaved, const bool quads, Floats cos_table, Floats sin_table,
               uint table) {
    if (quads) {
        if (4u * u >= r) {
            return x;
        }
        uint i = table + 2u * u;
        vec2 c = vec2(cos_table.v[i], cos_table.v[i + 1u]);
        vec2 s = vec2(sin_table.v[i], sin_table.v[i + 1u]);
        if (interleaved) {
            return vec4(rope_pair(x.xy, c.x, s.x), rope_pair(x.zw, c.y, s.y));
        }
        vec2 a = rope_pair(x.xz, c.x, s.x);
        vec2 b = rope_pair(x.yw, c.y, s.y);
        return vec4(a.x, b.x, a.y, b.y);
    }
    if (2u * u >= r) {
        return x;
    }
    return vec4(rope_pair(x.xy, cos_table.v[table + u], sin_table.v[table + u]), x.zw);
}

#endif
