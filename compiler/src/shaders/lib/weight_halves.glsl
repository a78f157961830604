// Weights as halves, loaded and decoded apart, so that loads may be under way meanwhile. In: weight rows, columns 8i..8i + 8 FETCH_CHUNKS - 1 of all
// of them together. Out: what memory has, then eight halves at a time. Defines as lib/weights.glsl, TILE_N TILE_K and PARTS_. Only matrix forms include this.
// Promise: a weight is scale * code + base rounded to a half once or, with a minimum, as a fused multiplication does; finite. Codes become halves by writing them into the mantissa of 1024.
#ifndef WEIGHT_HALVES_GLSL
#define WEIGHT_HALVES_GLSL
#include "weights.glsl"

#if WEIGHT_BITS == 16

#define FETCH_CHUNKS 1
#define Fetched uvec4

Fetched fetch_nothing() {
    return uvec4(0u);
}

Fetched fetch_weights(Weights w, uint i) {
    return UVec4s(w.at).v[i];
}

uvec4 weight_halves(Fetched fetched, uint i, const uint c) {
    return fetched;
}

#else

// The widest loads of which every thread has one: 32, 16 or 8 columns of one group.
#define MATRIX_THREADS (32 * PARTS_M * PARTS_N * PARTS_K)
#if WEIGHT_BITS == 4 && TILE_K % 32 == 0 && GROUP % 32 == 0 && TILE_N * TILE_K / 32 >= MATRIX_THREADS
#define FETCH_CHUNKS 4
#elif TILE_K % 16 == 0 && GROUP % 16 == 0 && (WEIGHT_BITS == 8 || TILE_N * TILE_K / 16 >= MATRIX_THREADS)
#define FETCH_CHUNKS 2
#else
#define FETCH_CHUNKS 1
#endif

// Codes, the word that holds the group's scale, and the one that holds its zero point or minimum.
struct Fetched {
    uvec4 codes;
    uint scale;
    uint zero;
};

Fetched fetch_nothing() {
    return Fetched(uvec4(0u), 0u, 0u);
}

Fetched fetch_weights(Weights w, uint i) {
    uint group = i / (GROUP / 8u);
    Fetched fetched = fetch_nothing();
    const uint words = FETCH_CHUNKS * WEIGHT_BITS / 4u;
    if (words == 4u) {
        fetched.codes = UVec4s(w.at).v[i / FETCH_CHUNKS];
    } else if (words == 2u) {
        fetched.codes.xy = UVec2s(w.at).v[i / FETCH_CHUNKS];
    } else {
        fetched.codes.x = w.at.v[i];
    }
    const uint numbers = SCALE_BITS == 32 ? 0u : 1u;
    fetched.scale = w.at.v[w.scales + (group >> numbers)];
#if ZERO == 1
    fetched.zero = w.at.v[w.zeros + (group >> 2)];
#elif ZERO >= 2
    fetched.zero = w.at.v[w.zeros + (group >> numbers)];
#endif
    return fetched;
}

#if SCALE_BITS == 16 && ZERO <= 2

// A half of a word, twice.
f16vec2 twice(uint word, uint which) {
    uint half_word = (word >> (16u * which)) & 0xffffu;
    return unpackFloat2x16(half_word | (half_word << 16));
}

// Two codes as they stand in a word, in its bits 0.. and 16.., as halves 1024 above them.
f16vec2 raised(uint bits) {
    return unpackFloat2x16(bits | 0x64006400u);
}

uvec4 weight_halves(Fetched fetched, uint i, const uint c) {
    uint group = i / (GROUP / 8u);
    f16vec2 scale = twice(fetched.scale, group & 1u);
#if ZERO == 0
    const uint middle = 1u << (WEIGHT_BITS - 1);
    const f16vec2 zero = f16vec2(float16_t(1024u + middle));
#elif ZERO == 1
    f16vec2 zero = unpackFloat2x16(((fetched.zero >> (8u * (group & 3u))) & 0xffu) * 0x10001u + 0x64006400u);
#else
    const f16vec2 zero = f16vec2(float16_t(1024.0));
    f16vec2 least = twice(fetched.zero, group & 1u);
#endif
#if ZERO < 2
    // What a code is times this stays finite.
    const f16vec2 most = f16vec2(float16_t(65504.0 / float(1u << (WEIGHT_BITS - (ZERO == 0 ? 1 : 0)))));
    scale = clamp(scale, -most, most);
#endif
    uvec4 halves;
    [[unroll]] for (uint p = 0u; p < 4u; p++) {
#if WEIGHT_BITS == 4
        uint bits = (fetched.codes[c] >> (4u * p)) & 0x000f000fu;
#else
        uint two = fetched.codes[2u * c + p / 2u] >> (16u * (p & 1u));
        uint bits = (two & 0xffu) | ((two & 0xff00u) << 8);
#endif
#if ZERO < 2
        f16vec2 value = (raised(bits) - zero) * scale;
#else
        const f16vec2 finite = f16vec2(float16_t(65504.0));
        f16vec2 value = clamp(fma(raised(bits) - zero, scale, least), -finite, finite);
#endif
        halves[p] = packFloat2x16(value);
    }
    return halves;
}

#else

// The number of a group in the word that holds it.
float fetched_number(uint word, uint group) {
#if SCALE_BITS == 32
    return uintBitsToFloat(word);
#else
    vec2 pair = unpackHalf2x16(word);
    return (group & 1u) == 0u ? pair.x : pair.y;
#endif
}

uvec4 weight_halves(Fetched fetched, uint i, const uint c) {
    uint group = i / (GROUP / 8u);
    float scale = fetched_number(fetched.scale, group);
#if ZERO == 0
    float base = -scale * float(1u << (WEIGHT_BITS - 1));
#elif ZERO == 1
    float base = -scale * float((fetched.zero >> (8u * (group & 3u))) & 0xffu);
#elif ZERO == 2
    float base = fetched_number(fetched.zero, group);
#else
    float base = -scale * fetched_number(fetched.zero, group);
#endif
#if WEIGHT_BITS == 4
    uvec4 first = (uvec4(fetched.codes[c]) >> uvec4(0u, 16u, 4u, 20u)) & 15u;
    uvec4 next = (uvec4(fetched.codes[c]) >> uvec4(8u, 24u, 12u, 28u)) & 15u;
#else
    uvec4 first = (uvec4(fetched.codes[2u * c]) >> uvec4(0u, 8u, 16u, 24u)) & 255u;
    uvec4 next = (uvec4(fetched.codes[2u * c + 1u]) >> uvec4(0u, 8u, 16u, 24u)) & 255u;
#endif
    vec4 lo = vec4(first) * scale + base;
    vec4 hi = vec4(next) * scale + base;
    return uvec4(pack_halves(lo.xy), pack_halves(lo.zw), pack_halves(hi.xy), pack_halves(hi.zw));
}

#endif
#endif
#endif
