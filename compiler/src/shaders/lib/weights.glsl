// Weight rows in fp16 or fp32. In: the address of [n][k] rows. Out: products with f32 activations.
// Define WEIGHT_BITS, 16 or 32, before this. Promise: 16-byte loads in dot8; load_weight reads any element.
#ifndef WEIGHTS_GLSL
#define WEIGHTS_GLSL
#include "memory.glsl"

#if WEIGHT_BITS == 16

// Weights 8i..8i+7 dotted with (a, b).
float dot8(Uints w, uint i, vec4 a, vec4 b) {
    uvec4 h = UVec4s(w).v[i];
    vec4 lo = vec4(unpackHalf2x16(h.x), unpackHalf2x16(h.y));
    vec4 hi = vec4(unpackHalf2x16(h.z), unpackHalf2x16(h.w));
    return dot(lo, a) + dot(hi, b);
}

// Weights 8i..8i+7.
void load_weights8(Uints w, uint i, out vec4 lo, out vec4 hi) {
    uvec4 h = UVec4s(w).v[i];
    lo = vec4(unpackHalf2x16(h.x), unpackHalf2x16(h.y));
    hi = vec4(unpackHalf2x16(h.z), unpackHalf2x16(h.w));
}

// Weights 4i..4i+3.
vec4 load_weights4(Uints w, uint i) {
    uvec2 h = UVec2s(w).v[i];
    return vec4(unpackHalf2x16(h.x), unpackHalf2x16(h.y));
}

float load_weight(Uints w, uint i) {
    vec2 pair = unpackHalf2x16(w.v[i >> 1]);
    return (i & 1u) == 0u ? pair.x : pair.y;
}

#elif WEIGHT_BITS == 32

float dot8(Uints w, uint i, vec4 a, vec4 b) {
    return dot(Vec4s(w).v[2u * i], a) + dot(Vec4s(w).v[2u * i + 1u], b);
}

void load_weights8(Uints w, uint i, out vec4 lo, out vec4 hi) {
    lo = Vec4s(w).v[2u * i];
    hi = Vec4s(w).v[2u * i + 1u];
}

vec4 load_weights4(Uints w, uint i) {
    return Vec4s(w).v[i];
}

float load_weight(Uints w, uint i) {
    return uintBitsToFloat(w.v[i]);
}

#else
#error "define WEIGHT_BITS as 16 or 32"
#endif
#endif
