// KV cache elements, layout [heads][rows][channels]. In: element numbers. Out: f32 values, to be multiplied by the scale of their row.
// Define KV_BITS, 8, 16 or 32, before this. 16 and 32 are floats, whose scale is 1. 8 are codes of 127 steps either way of 128, and behind
// them, from the next multiple of 16 bytes on, lies an f32 scale a row; 8 also wants HKV, C and D.
// Promise: stores saturate; an fp16 pair begins at an even element; codes are four a word, D a multiple of four.
#ifndef CACHE_GLSL
#define CACHE_GLSL
#include "memory.glsl"

#if KV_BITS == 16
float cache_load(Uints cache, uint i) {
    vec2 pair = unpackHalf2x16(cache.v[i >> 1]);
    return (i & 1u) == 0u ? pair.x : pair.y;
}

// Elements i..i+3, i a multiple of four.
vec4 cache_load4(Uints cache, uint i) {
    uvec2 h = UVec2s(cache).v[i >> 2];
    return vec4(unpackHalf2x16(h.x), unpackHalf2x16(h.y));
}

// Elements 8i..8i+7 as they come from memory.
struct CacheChunk {
    uvec4 halves;
};

CacheChunk cache_chunk(Uints cache, uint i) {
    return CacheChunk(UVec4s(cache).v[i]);
}

void chunk_values(CacheChunk c, out vec4 lo, out vec4 hi) {
    lo = vec4(unpackHalf2x16(c.halves.x), unpackHalf2x16(c.halves.y));
    hi = vec4(unpackHalf2x16(c.halves.z), unpackHalf2x16(c.halves.w));
}

void cache_store2(Uints cache, uint i, vec2 x) {
    cache.v[i >> 1] = pack_halves(x);
}
#elif KV_BITS == 32
float cache_load(Uints cache, uint i) {
    return uintBitsToFloat(cache.v[i]);
}

vec4 cache_load4(Uints cache, uint i) {
    return Vec4s(cache).v[i >> 2];
}

struct CacheChunk {
    vec4 lo;
    vec4 hi;
};

CacheChunk cache_chunk(Uints cache, uint i) {
    return CacheChunk(Vec4s(cache).v[2u * i], Vec4s(cache).v[2u * i + 1u]);
}

void chunk_values(CacheChunk c, out vec4 lo, out vec4 hi) {
    lo = c.lo;
    hi = c.hi;
}

void cache_store(Uints cache, uint i, float x) {
    cache.v[i] = floatBitsToUint(x);
}

void cache_store2(Uints cache, uint i, vec2 x) {
    cache.v[i] = floatBitsToUint(x.x);
    cache.v[i + 1u] = floatBitsToUint(x.y);
}
#elif KV_BITS == 8
const float CODE_ZERO = 128.0;
const float CODE_MAX = 127.0;
// Words before the scales.
const uint CACHE_SCALES = (HKV * C * D + 15) / 16 * 4;

vec4 code_values(uint word) {
    return vec4((uvec4(word) >> uvec4(0u, 8u, 16u, 24u)) & 0xffu) - CODE_ZERO;
}

float cache_load(Uints cache, uint i) {
    return float((cache.v[i >> 2] >> (8u * (i & 3u))) & 0xffu) - CODE_ZERO;
}

vec4 cache_load4(Uints cache, uint i) {
    return code_values(cache.v[i >> 2]);
}

struct CacheChunk {
    uvec2 codes;
};

CacheChunk cache_chunk(Uints cache, uint i) {
    return CacheChunk(UVec2s(cache).v[i]);
}

void chunk_values(CacheChunk c, out vec4 lo, out vec4 hi) {
    lo = code_values(c.codes.x);
    hi = code_values(c.codes.y);
}

// Elements i..i+3, i a multiple of four, already divided by the scale of their row.
void cache_store4(Uints cache, uint i, vec4 x) {
    uvec4 codes = uvec4(clamp(roundEven(x), -CODE_MAX, CODE_MAX) + CODE_ZERO);
    cache.v[i >> 2] = codes.x | codes.y << 8 | codes.z << 16 | codes.w << 24;
}
#else
#error "define KV_BITS as 8, 16 or 32"
#endif

// The scale of a row, rows numbered over all heads.
float cache_scale(Uints cache, uint row) {
#if KV_BITS == 8
    return uintBitsToFloat(cache.v[CACHE_SCALES + row]);
#else
    return 1.0;
#endif
}
#endif
