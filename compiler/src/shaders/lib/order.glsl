// The order of elements as one unsigned key. In: a word of float, signed or unsigned kind. Out: a key that sorts alike.
// Promise: NaN is above all numbers, -0 equals 0.
#ifndef ORDER_GLSL
#define ORDER_GLSL
#include "unary.glsl"

const uint ORDER_FLOAT = 0u;
const uint ORDER_SIGNED = 1u;
const uint ORDER_UNSIGNED = 2u;

uint order_key(uint word, const uint kind) {
    if (kind == ORDER_UNSIGNED) {
        return word;
    }
    if (kind == ORDER_SIGNED) {
        return word ^ 0x80000000u;
    }
    if (is_nan(uintBitsToFloat(word))) {
        return 0xffffffffu;
    }
    word = word == 0x80000000u ? 0u : word;
    return (word & 0x80000000u) != 0u ? ~word : word | 0x80000000u;
}

#endif
