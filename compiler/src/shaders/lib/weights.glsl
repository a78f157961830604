// Weight rows in fp16, fp32 or quantised. In: the address of [n][k] rows. Out: their values, products with f32 activations.
// Define WEIGHT_BITS before this: 16, 32, or 4 or 8 with WEIGHT_ROWS (n, all parts together), GROUP (columns that share a scale;
// k is a multiple of it), ZERO (0 mid, 1 point, 2 min, 3 float), SALIENT (columns with a correction) and SCALE_BITS (16 unless
// defined, or 32: of scales, minima and zeros). docs/pool.md has the bytes.
// Promise: 16-byte loads of fp16 and fp32 in dot8; load_weight reads any element. Corrections are not part of the values:
// callers add salient_sum, or salient_at for a single element.
#ifndef WEIGHTS_GLSL
#define WEIGHTS_GLSL
#include "memory.glsl"

#ifndef SALIENT
#define SALIENT 0
#endif
#ifndef SCALE_BITS
#define SCALE_BITS 16
#endif

// Rows and where their sections start, in words.
struct Weights {
    Uints at;
    uint scales;
    uint zeros;
    uint columns;
    uint corrections;
};

#if WEIGHT_BITS == 4 || WEIGHT_BITS == 8
#if !defined(WEIGHT_ROWS) || !defined(GROUP) || !defined(ZERO)
#error "quantised weights: define WEIGHT_ROWS GROUP ZERO SALIENT"
#endif

// Words that `bytes` bytes fill, up to the next section.
uint section_words(const uint bytes) {
    return (bytes + 15u) / 16u * 4u;
}

Weights weights_at(Uints at, const uint k) {
    const uint groups = WEIGHT_ROWS * (k / GROUP);
    const uint number_bytes = SCALE_BITS / 8u * groups;
    const uint zero_bytes = ZERO == 0 ? 0u : ZERO == 1 ? groups : number_bytes;
    Weights w;
    w.at = at;
    w.scales = section_words(WEIGHT_ROWS * (k / 8u) * WEIGHT_BITS);
    w.zeros = w.scales + section_words(number_bytes);
    w.columns = w.zeros + section_words(zero_bytes);
    w.corrections = w.columns + section_words(4u * SALIENT);
    return w;
}

// Half number i of the section that starts at word `first`.
float section_half(Weights w, uint first, uint i) {
    vec2 pair = unpackHalf2x16(w.at.v[first + (i >> 1)]);
    return (i & 1u) == 0u ? pair.x : pair.y;
}

// Where number i of a section of scales, minima or zeros lies, and the number in that word.
uint number_word(uint i) {
    return SCALE_BITS == 32 ? i : i >> 1;
}

float number_in(uint word, uint i) {
    return SCALE_BITS == 32 ? uintBitsToFloat(word) : unpackHalf2x16(word >> (16u * (i & 1u))).x;
}

// What memory holds of scale and base of group i of all rows.
uvec2 line_load(Weights w, uint i) {
    uint scale = w.at.v[w.scales + number_word(i)];
#if ZERO == 0
    return uvec2(scale, 0u);
#elif ZERO == 1
    return uvec2(scale, w.at.v[w.zeros + (i >> 2)]);
#else
    return uvec2(scale, w.at.v[w.zeros + number_word(i)]);
#endif
}

// Scale and base of that: a value is code * x + y. Of i the last two bits matter.
vec2 line_of(uvec2 line, uint i) {
    float scale = number_in(line.x, i);
#if ZERO == 0
    return vec2(scale, -scale * float(1u << (WEIGHT_BITS - 1)));
#elif ZERO == 1
    return vec2(scale, -scale * float((line.y >> (8u * (i & 3u))) & 0xffu));
#elif ZERO == 2
    return vec2(scale, number_in(line.y, i));
#else
    return vec2(scale, -scale * number_in(line.y, i));
#endif
}

vec2 group_line(Weights w, uint i) {
    return line_of(line_load(w, i), i);
}

#if WEIGHT_BITS == 4

// Codes 4i..4i+3: columns 2p + h of a word lie at bits 4p + 16h.
vec4 load_codes4(Weights w, uint i) {
    uint word = w.at.v[i >> 1] >> (8u * (i & 1u));
    return vec4(word & 15u, (word >> 16) & 15u, (word >> 4) & 15u, (word >> 20) & 15u);
}

float load_code(Weights w, uint i) {
    return float((w.at.v[i >> 3] >> (4u * ((i >> 1) & 3u) + 16u * (i & 1u))) & 15u);
}

#else

vec4 load_codes4(Weights w, uint i) {
    uint word = w.at.v[i];
    return vec4(word & 255u, (word >> 8) & 255u, (word >> 16) & 255u, word >> 24);
}

float load_code(Weights w, uint i) {
    return float((w.at.v[i >> 2] >> (8u * (i & 3u))) & 255u);
}

#endif

// Weights 8i..8i+7 dotted with (a, b).
float dot8(Weights w, uint i, vec4 a, vec4 b) {
    vec2 line = group_line(w, i / (GROUP / 8u));
    return line.x * (dot(load_codes4(w, 2u * i), a) + dot(load_codes4(w, 2u * i + 1u), b)) +
           line.y * (dot(a, vec4(1.0)) + dot(b, vec4(1.0)));
}

// Weights 8i..8i+7.
void load_weights8(Weights w, uint i, out vec4 lo, out vec4 hi) {
    vec2 line = group_line(w, i / (GROUP / 8u));
    lo = load_codes4(w, 2u * i) * line.x + line.y;
    hi = load_codes4(w, 2u * i + 1u) * line.x + line.y;
}

// Weights 4i..4i+3.
vec4 load_weights4(Weights w, uint i) {
    vec2 line = group_line(w, i / (GROUP / 4u));
    return load_codes4(w, i) * line.x + line.y;
}

float load_weight(Weights w, uint i) {
    vec2 line = group_line(w, i / GROUP);
    return load_code(w, i) * line.x + line.y;
}

#else

Weights weights_at(Uints at, const uint k) {
    return Weights(at, 0u, 0u, 0u, 0u);
}

#if WEIGHT_BITS == 16

// Weights 8i..8i+7 dotted with (a, b).
float dot8(Weights w, uint i, vec4 a, vec4 b) {
    uvec4 h = UVec4s(w.at).v[i];
    vec4 lo = vec4(unpackHalf2x16(h.x), unpackHalf2x16(h.y));
    vec4 hi = vec4(unpackHalf2x16(h.z), unpackHalf2x16(h.w));
    return dot(lo, a) + dot(hi, b);
}

// Weights 8i..8i+7.
void load_weights8(Weights w, uint i, out vec4 lo, out vec4 hi) {
    uvec4 h = UVec4s(w.at).v[i];
    lo = vec4(unpackHalf2x16(h.x), unpackHalf2x16(h.y));
    hi = vec4(unpackHalf2x16(h.z), unpackHalf2x16(h.w));
}

// Weights 4i..4i+3.
vec4 load_weights4(Weights w, uint i) {
    uvec2 h = UVec2s(w.at).v[i];
    return vec4(unpackHalf2x16(h.x), unpackHalf2x16(h.y));
}

float load_weight(Weights w, uint i) {
    vec2 pair = unpackHalf2x16(w.at.v[i >> 1]);
    return (i & 1u) == 0u ? pair.x : pair.y;
}

#elif WEIGHT_BITS == 32

float dot8(Weights w, uint i, vec4 a, vec4 b) {
    return dot(Vec4s(w.at).v[2u * i], a) + dot(Vec4s(w.at).v[2u * i + 1u], b);
}

void load_weights8(Weights w, uint i, out vec4 lo, out vec4 hi) {
    lo = Vec4s(w.at).v[2u * i];
    hi = Vec4s(w.at).v[2u * i + 1u];
}

vec4 load_weights4(Weights w, uint i) {
    return Vec4s(w.at).v[i];
}

float load_weight(Weights w, uint i) {
    return uintBitsToFloat(w.at.v[i]);
}

#else
#error "define WEIGHT_BITS as 4, 8, 16 or 32"
#endif
#endif

#if SALIENT > 0

// Number of salient column i.
uint salient_column(Weights w, uint i) {
    return w.at.v[w.columns + i];
}

// What must be added to four rows' products for salient column i, whose activation is x.
vec4 salient_sum(Weights w, uvec4 row, uint i, float x) {
    uvec4 at = row * SALIENT + i;
    return x * vec4(section_half(w, w.corrections, at.x), section_half(w, w.corrections, at.y),
                    section_half(w, w.corrections, at.z), section_half(w, w.corrections, at.w));
}

// What must be added to the value at a row and column.
float salient_at(Weights w, uint row, uint column) {
    for (uint i = 0u; i < SALIENT; i++) {
        if (salient_column(w, i) == column) {
            return section_half(w, w.corrections, row * SALIENT + i);
        }
    }
    return 0.0;
}

#endif
#endif
