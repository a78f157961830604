// Neighbouring weights of a row that a thread loads at once: 8 of fp16 or fp32, 16 or 32 of quantised rows. In: rows, k a multiple of
// WIDTH. Out: what memory holds, then its product with f32 activations. Defines as lib/weights.glsl.
// Promise: loading and multiplying are apart, so that many loads can be under way before the first is used; codes become floats
// without a conversion, by writing them into the mantissa of 16 or 256, which `base` takes off again.
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

struct Columns {
    vec4 x[WIDTH / 4];
};

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

// Four bits of x at bit 19 as 16 plus them; eight bits or fewer at bit 15 as 256 plus them.
float over_16(uint x) {
    return uintBitsToFloat((x & 0x00780000u) | 0x41800000u);
}

float over_256(uint x, const uint mask) {
    return uintBitsToFloat((x & mask) | 0x43800000u);
}

// Groups of a chunk: more than one where its columns share no scale.
#if GROUP < WIDTH
#define LINES (WIDTH / GROUP)
#else
#define LINES 1
#endif

// Sum of codes times x, and of what was added to the codes times x, over part `part` of LINES.
float stored_dot(Stored s, Columns c, const uint part) {
    float sum = 0.0;
    [[unroll]] for (uint j = 0u; j < 4u / LINES; j++) {
        uint i = part * (4u / LINES) + j;
        uint w = s.words[i];
#if WEIGHT_BITS == 4
        vec4 a = c.x[2u * i];
        vec4 b = c.x[2u * i + 1u];
        const uint low = 0x00078000u;
        sum += dot(vec4(over_256(w << 15, low), over_256(w >> 1, low), over_16(w << 15), over_16(w >> 1)), a);
        sum += dot(vec4(over_256(w << 7, low), over_256(w >> 9, low), over_16(w << 7), over_16(w >> 9)), b);
#else
        const uint byte = 0x007f8000u;
        sum += dot(vec4(over_256(w << 15, byte), over_256(w << 7, byte), over_256(w >> 1, byte), over_256(w >> 9, byte)), c.x[i]);
#endif
    }
    return sum;
}

// x: what stored_dot adds beyond the codes' products, y: the sum of the columns.
vec2 column_sums(Columns c, const uint part) {
    vec4 all = vec4(0.0);
    [[unroll]] for (uint i = 0u; i < WIDTH / 4u / LINES; i++) {
        all += c.x[part * (WIDTH / 4u / LINES) + i];
    }
    float total = dot(all, vec4(1.0));
#if WEIGHT_BITS == 4
    return vec2(dot(all, vec4(256.0, 256.0, 16.0, 16.0)), total);
#else
    return vec2(256.0 * total, total);
#endif
}

#endif
#endif
