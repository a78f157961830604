// KV cache elements in fp16 or fp32, layout [heads][rows][channels]. In: element numbers. Out: f32 values.
// Define KV_BITS, 16 or 32, before this. Promise: stores saturate; an fp16 pair begins at an even element.
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
#else
#error "define KV_BITS as 16 or 32"
#endif
#endif
