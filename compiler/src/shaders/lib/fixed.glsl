// Activations as fixed point, for products with codes in integer dot instructions. In: eight neighbouring f32 columns, and the largest
// magnitude among those that share a step. Out: whole numbers of steps as planes of bytes in the order of a word of codes, and their sum.
// Defines as lib/weights.glsl, with codes of 4 or 8 bits. Promise: a step is a power of two and at most 2^-21 of the largest magnitude (2^-18 for
// 8 bits); each value is the nearest multiple of it; a group's product with codes fits 32 bits, exact; where one is not finite the step is no number.
#ifndef FIXED_GLSL
#define FIXED_GLSL

// Number of the bit at which the largest value starts.
#if WEIGHT_BITS == 4
const uint TOP_BIT = 21u;
#else
const uint TOP_BIT = 18u;
#endif

// 1.5 * 2^23: a whole number added to it stands in the last bits of the sum, rounded to nearest.
const float WHOLE = 12582912.0;
const uint WHOLE_BITS = 0x4b400000u;

// Dot products of four bytes a word; the format says so.
const uint BYTES = 0u;
spirv_instruction(capabilities = [6019, 6018], id = 4450) int dot_signed(uint a, uint b, spirv_literal uint format);
spirv_instruction(capabilities = [6019, 6018], id = 4451) uint dot_unsigned(uint a, uint b, spirv_literal uint format);
spirv_instruction(capabilities = [6019, 6018], id = 4452) int dot_mixed(uint a, uint b, spirv_literal uint format);

// Two words of planes: the bytes from the highest, which has the sign, to the lowest.
struct Eight {
    uvec4 upper;
    uvec2 lowest;
};

// Bits of the largest magnitude; what is no number is larger than all.
uint top_of(vec4 a, vec4 b) {
    uvec4 most = max(floatBitsToUint(abs(a)), floatBitsToUint(abs(b)));
    return max(max(most.x, most.y), max(most.z, most.w));
}

// The exponent that the step is made of: where it would be no normal number, the smallest that is one.
uint exponent_of(uint top) {
    return max(top >> 23, TOP_BIT + 1u);
}

float step_of(uint exponent) {
    return uintBitsToFloat(exponent < 255u ? (exponent - TOP_BIT) << 23 : 0x7fc00000u);
}

float inverse_of(uint exponent) {
    return uintBitsToFloat((254u + TOP_BIT - exponent) << 23);
}

// The three planes of four numbers.
uvec3 planes_of(uvec4 e) {
    uint even = (e.x & 0xffffu) | (e.z << 16);
    uint odd = (e.y & 0xffffu) | (e.w << 16);
    uint low = (even & 0x00ff00ffu) | ((odd & 0x00ff00ffu) << 8);
    uint middle = ((even >> 8) & 0x00ff00ffu) | (odd & 0xff00ff00u);
    uint high = ((e.x >> 16) & 0xffu) | ((e.y >> 8) & 0xff00u) | (e.z & 0xff0000u) | ((e.w << 8) & 0xff000000u);
    return uvec3(high, middle, low);
}

// Also the sum of the eight, in steps.
Eight fixed_point(vec4 a, vec4 b, float inverse, out float sum) {
    vec4 c = a * inverse + WHOLE;
    vec4 d = b * inverse + WHOLE;
    sum = dot(c - WHOLE, vec4(1.0)) + dot(d - WHOLE, vec4(1.0));
    uvec4 lo = floatBitsToUint(c) - WHOLE_BITS;
    uvec4 hi = floatBitsToUint(d) - WHOLE_BITS;
#if WEIGHT_BITS == 4
    // A word of codes masked as it lies has columns 0, 4, 1 and 5; shifted by four before, 2, 6, 3 and 7.
    uvec3 first = planes_of(uvec4(lo.x, hi.x, lo.y, hi.y));
    uvec3 second = planes_of(uvec4(lo.z, hi.z, lo.w, hi.w));
#else
    uvec3 first = planes_of(lo);
    uvec3 second = planes_of(hi);
#endif
    return Eight(uvec4(first.xy, second.xy), uvec2(first.z, second.z));
}

// The sum of what the planes hold, in steps.
float eight_sum(Eight x) {
    const uint ones = 0x01010101u;
    int high = dot_signed(x.upper.x, ones, BYTES) + dot_signed(x.upper.z, ones, BYTES);
    uint middle = dot_unsigned(x.upper.y, ones, BYTES) + dot_unsigned(x.upper.w, ones, BYTES);
    uint low = dot_unsigned(x.lowest.x, ones, BYTES) + dot_unsigned(x.lowest.y, ones, BYTES);
    return float((((high << 8) + int(middle)) << 8) + int(low));
}

#endif
