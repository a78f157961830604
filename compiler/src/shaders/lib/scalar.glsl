// Arithmetic on one or two elements beyond lib/unary.glsl. In: 32-bit values and a code (the compiler's BinaryOp). Out: the
// result in the element type: narrow integers wrap to their width. Promise: integer division by zero gives 0, shifts past the
// width give 0; f32 remainders are exact; NaN passes through Min and Max.
#ifndef SCALAR_GLSL
#define SCALAR_GLSL
#include "unary.glsl"

const uint BINARY_ADD = 0u;
const uint BINARY_SUB = 1u;
const uint BINARY_MUL = 2u;
const uint BINARY_DIV = 3u;
const uint BINARY_POW = 4u;
const uint BINARY_MIN = 5u;
const uint BINARY_MAX = 6u;
const uint BINARY_MOD = 7u;
const uint BINARY_FMOD = 8u;
const uint BINARY_AND = 9u;
const uint BINARY_OR = 10u;
const uint BINARY_XOR = 11u;
const uint BINARY_EQUAL = 12u;
const uint BINARY_LESS = 13u;
const uint BINARY_LESS_EQ = 14u;
const uint BINARY_GREATER = 15u;
const uint BINARY_GREATER_EQ = 16u;
const uint BINARY_BIT_AND = 17u;
const uint BINARY_BIT_OR = 18u;
const uint BINARY_BIT_XOR = 19u;
const uint BINARY_SHIFT_LEFT = 20u;
const uint BINARY_SHIFT_RIGHT = 21u;
const uint BINARY_PRELU = 22u;

#define NOT_A_NUMBER uintBitsToFloat(0x7fc00000u)
#define INFINITE uintBitsToFloat(0x7f800000u)

// The low `bits` of x as a signed or unsigned integer.
int wrap(int x, const int bits, const bool is_unsigned) {
    if (bits >= 32) {
        return x;
    }
    return is_unsigned ? int(bitfieldExtract(uint(x), 0, bits)) : bitfieldExtract(x, 0, bits);
}

// a - b * trunc(a / b), exact: long division of the mantissas, because the quotient may not fit a float. Subnormal numbers
// count as zero.
float remainder_of(float a, float b) {
    uint x = floatBitsToUint(a) & 0x7fffffffu;
    uint y = floatBitsToUint(b) & 0x7fffffffu;
    if (x >= 0x7f800000u || y > 0x7f800000u || y < 0x00800000u) {
        return NOT_A_NUMBER;
    }
    if (x < y) {
        return a;
    }
    uint high = x >> 23;
    uint low = y >> 23;
    x = (x & 0x7fffffu) | 0x800000u;
    y = (y & 0x7fffffu) | 0x800000u;
    for (; high > low; high--) {
        x = (x >= y ? x - y : x) << 1;
    }
    x = x >= y ? x - y : x;
    uint sign_bit = floatBitsToUint(a) & 0x80000000u;
    while (x != 0u && x < 0x800000u && low > 1u) {
        x <<= 1;
        low--;
    }
    return uintBitsToFloat(x < 0x800000u ? sign_bit : sign_bit | low << 23 | (x & 0x7fffffu));
}

float float_power(float a, float b) {
    if (b == 0.0 || a == 1.0) {
        return 1.0;
    }
    bool whole = b == trunc(b);
    bool odd = whole && abs(b) < 16777216.0 && (int(b) & 1) == 1;
    float y;
    if (whole && abs(b) <= 64.0) {
        y = 1.0;
        float square = abs(a);
        for (uint left = uint(abs(b)); left > 0u; left >>= 1) {
            if ((left & 1u) == 1u) {
                y *= square;
            }
            square *= square;
        }
        y = b < 0.0 ? 1.0 / y : y;
    } else if (a == 0.0) {
        y = b < 0.0 ? INFINITE : 0.0;
    } else if (a < 0.0 && !whole && !is_inf(b) && !is_inf(a)) {
        return NOT_A_NUMBER;
    } else {
        y = pow(abs(a), b);
    }
    return a < 0.0 && odd ? -y : y;
}

float float_binary(const uint op, float a, float b) {
    if (op == BINARY_ADD) return a + b;
    if (op == BINARY_SUB) return a - b;
    if (op == BINARY_MUL) return a * b;
    if (op == BINARY_DIV) return a / b;
    if (op == BINARY_POW) return float_power(a, b);
    if (op == BINARY_MIN) return is_nan(a) || is_nan(b) ? NOT_A_NUMBER : min(a, b);
    if (op == BINARY_MAX) return is_nan(a) || is_nan(b) ? NOT_A_NUMBER : max(a, b);
    if (op == BINARY_MOD) {
        float r = remainder_of(a, b);
        return r != 0.0 && (r < 0.0) != (b < 0.0) ? r + b : r;
    }
    if (op == BINARY_FMOD) return remainder_of(a, b);
    if (op == BINARY_PRELU) return a < 0.0 ? a * b : a;
    return NOT_A_NUMBER;
}

bool float_compare(const uint op, float a, float b) {
    if (op == BINARY_LESS) return a < b;
    if (op == BINARY_LESS_EQ) return a <= b;
    if (op == BINARY_GREATER) return a > b;
    if (op == BINARY_GREATER_EQ) return a >= b;
    return a == b;
}

bool int_less(int a, int b, const bool is_unsigned) {
    return is_unsigned ? uint(a) < uint(b) : a < b;
}

bool int_compare(const uint op, int a, int b, const bool is_unsigned) {
    if (op == BINARY_LESS) return int_less(a, b, is_unsigned);
    if (op == BINARY_LESS_EQ) return !int_less(b, a, is_unsigned);
    if (op == BINARY_GREATER) return int_less(b, a, is_unsigned);
    if (op == BINARY_GREATER_EQ) return !int_less(a, b, is_unsigned);
    return a == b;
}

int int_divide(int a, int b, const bool is_unsigned) {
    if (b == 0) {
        return 0;
    }
    if (is_unsigned) {
        return int(uint(a) / uint(b));
    }
    // GLSL leaves division of negatives open: divide sizes.
    uint q = uint(abs(a)) / uint(abs(b));
    return (a < 0) != (b < 0) ? -int(q) : int(q);
}

int int_power(int base, int exponent) {
    if (exponent < 0) {
        return base == 1 || (base == -1 && (exponent & 1) == 0) ? 1 : (base == -1 ? -1 : 0);
    }
    int y = 1;
    for (int left = exponent; left > 0; left >>= 1) {
        if ((left & 1) == 1) {
            y *= base;
        }
        base *= base;
    }
    return y;
}

int int_binary(const uint op, int a, int b, const int bits, const bool is_unsigned) {
    int y = 0;
    if (op == BINARY_ADD) y = a + b;
    if (op == BINARY_SUB) y = a - b;
    if (op == BINARY_MUL) y = a * b;
    if (op == BINARY_DIV) y = int_divide(a, b, is_unsigned);
    if (op == BINARY_POW) y = int_power(a, b);
    if (op == BINARY_MIN) y = int_less(a, b, is_unsigned) ? a : b;
    if (op == BINARY_MAX) y = int_less(a, b, is_unsigned) ? b : a;
    if (op == BINARY_MOD || op == BINARY_FMOD) {
        y = b == 0 ? 0 : a - b * int_divide(a, b, is_unsigned);
        if (op == BINARY_MOD && !is_unsigned && y != 0 && (y < 0) != (b < 0)) {
            y += b;
        }
    }
    if (op == BINARY_BIT_AND || op == BINARY_AND) y = a & b;
    if (op == BINARY_BIT_OR || op == BINARY_OR) y = a | b;
    if (op == BINARY_BIT_XOR || op == BINARY_XOR) y = a ^ b;
    bool shifts = b >= 0 && b < bits;
    if (op == BINARY_SHIFT_LEFT) y = shifts ? a << b : 0;
    if (op == BINARY_SHIFT_RIGHT) y = shifts ? (is_unsigned ? int(uint(a) >> b) : a >> b) : 0;
    if (op == BINARY_PRELU) y = a < 0 && !is_unsigned ? a * b : a;
    return wrap(y, bits, is_unsigned);
}

int int_unary(const uint op, int x, const int bits, const bool is_unsigned) {
    int y = x;
    bool negative = x < 0 && !is_unsigned;
    if (op == UNARY_NEG) y = -x;
    if (op == UNARY_ABS) y = negative ? -x : x;
    if (op == UNARY_SIGN) y = negative ? -1 : (x == 0 ? 0 : 1);
    if (op == UNARY_RELU) y = negative ? 0 : x;
    if (op == UNARY_BIT_NOT) y = ~x;
    return wrap(y, bits, is_unsigned);
}

// x as fp16 holds it: nearest even, infinite from 65520.
float round_to_half(float x) {
    uint bits = floatBitsToUint(x);
    if (is_nan(x)) {
        return x;
    }
    if (abs(x) >= 65520.0) {
        return x < 0.0 ? -INFINITE : INFINITE;
    }
    if (abs(x) < 6.103515625e-5) {
        return roundEven(x * 16777216.0) / 16777216.0;
    }
    return uintBitsToFloat((bits + 0xfffu + ((bits >> 13) & 1u)) & ~0x1fffu);
}

// x as bf16 holds it: nearest even.
float round_to_brain(float x) {
    uint bits = floatBitsToUint(x);
    return is_nan(x) ? x : uintBitsToFloat((bits + 0x7fffu + ((bits >> 16) & 1u)) & 0xffff0000u);
}

// x without its fraction, saturated to the device's integers.
int float_to_int(float x) {
    if (x >= 2147483648.0) {
        return 0x7fffffff;
    }
    return x > -2147483648.0 ? int(x) : (is_nan(x) ? 0 : int(0x80000000u));
}

#endif
