// Neighbouring weights of a row that a thread loads at once: 8 of fp16 or fp32, 16 or 32 of quantised rows. In: rows, k a multiple of
// WIDTH. Out: what memory holds, then its product with f32 activations. Defines as lib/weights.glsl.
// Promise: loading and multiplying are apart, so that many loads can be under way before the first is used; codes meet x as fixed
// point (lib/fixed.glsl), as bytes of the words in which they lie.
#ifndef CHUNK_GLSL
#define CHUNK_GLSL
#include "weights.glsl"

#if WEIGHT_BITS == 4
#define WIDTH 32
#elif WEIGHT_BITS == 8
#define WIDTH 16
#else
#define WIDTH 8
#endif

#if WEIGHT_BITS >= 16
struct Columns {
    vec4 x[WIDTH / 4];
};
#endif

#if WEIGHT_BITS == 32
struct Stored {
    vec4 lo;
    vec4 hi;
};
#else
struct Stored {
    uvec4 words;
};
#endif

Stored stored_load(Weights w, uint i) {
#if WEIGHT_BITS == 32
    return Stored(Vec4s(w.at).v[2u * i], Vec4s(w.at).v[2u * i + 1u]);
#else
    return Stored(UVec4s(w.at).v[i]);
#endif
}

#if WEIGHT_BITS >= 16

float stored_dot(Stored s, Columns c) {
#if WEIGHT_BITS == 32
    return dot(s.lo, c.x[0]) + dot(s.hi, c.x[1]);
#else
    vec4 lo = vec4(unpackHalf2x16(s.words.x), unpackHalf2x16(s.words.y));
    vec4 hi = vec4(unpackHalf2x16(s.words.z), unpackHalf2x16(s.words.w));
    return dot(lo, c.x[0]) + dot(hi, c.x[1]);
#endif
}

#else
#include "fixed.glsl"

// Groups of a chunk: more than one where its columns share no scale.
#if GROUP < WIDTH
#define LINES (WIDTH / GROUP)
#else
#define LINES 1
#endif

// x of a chunk in eights of columns, in steps; the sums of groups are not.
#define EIGHTS (WIDTH / 8)
struct Columns {
    Eight x[EIGHTS];
    float each;
    float sums[LINES];
};

// Sum of codes times x over part `part` of LINES, in steps.
float stored_dot(Stored s, Columns c, const uint part) {
    int high = 0;
    uint middle = 0u;
    uint low = 0u;
    [[unroll]] for (uint j = 0u; j < 4u / LINES; j++) {
        uint i = part * (4u / LINES) + j;
        uint w = s.words[i];
#if WEIGHT_BITS == 4
        uint a = w & 0x0f0f0f0fu;
        uint b = (w >> 4) & 0x0f0f0f0fu;
        Eight x = c.x[i];
        high += dot_signed(x.upper.x, a, BYTES);
        high += dot_signed(x.upper.z, b, BYTES);
        middle += dot_unsigned(x.upper.y, a, BYTES);
        middle += dot_unsigned(x.upper.w, b, BYTES);
        low += dot_unsigned(x.lowest.x, a, BYTES);
        low += dot_unsigned(x.lowest.y, b, BYTES);
#else
        Eight x = c.x[i >> 1];
        bool first = (i & 1u) == 0u;
        high += dot_mixed(first ? x.upper.x : x.upper.z, w, BYTES);
        middle += dot_unsigned(first ? x.upper.y : x.upper.w, w, BYTES);
        low += dot_unsigned(first ? x.lowest.x : x.lowest.y, w, BYTES);
#endif
    }
    return float((((high << 8) + int(middle)) << 8) + int(low));
}

#endif
#endif
