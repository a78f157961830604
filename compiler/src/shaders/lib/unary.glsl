// Float functions of one argument. In: a code from the list (the compiler's UnaryOp) and x. Out: f(x).
// Promise: finite where the function is; tanh arguments are clamped to +-10; no reliance on the device's asin, atan, sinh...
#ifndef UNARY_GLSL
#define UNARY_GLSL

const uint UNARY_NONE = 0u;
const uint UNARY_NEG = 1u;
const uint UNARY_ABS = 2u;
const uint UNARY_SIGN = 3u;
const uint UNARY_EXP = 4u;
const uint UNARY_LOG = 5u;
const uint UNARY_SQRT = 6u;
const uint UNARY_RSQRT = 7u;
const uint UNARY_RECIPROCAL = 8u;
const uint UNARY_ERF = 9u;
const uint UNARY_TANH = 10u;
const uint UNARY_SIGMOID = 11u;
const uint UNARY_RELU = 12u;
const uint UNARY_SOFTPLUS = 13u;
const uint UNARY_SOFTSIGN = 14u;
const uint UNARY_SILU = 15u;
const uint UNARY_GELU_ERF = 16u;
const uint UNARY_GELU_TANH = 17u;
const uint UNARY_QUICK_GELU = 18u;
const uint UNARY_HARD_SWISH = 19u;
const uint UNARY_MISH = 20u;
const uint UNARY_SIN = 21u;
const uint UNARY_COS = 22u;
const uint UNARY_TAN = 23u;
const uint UNARY_ASIN = 24u;
const uint UNARY_ACOS = 25u;
const uint UNARY_ATAN = 26u;
const uint UNARY_SINH = 27u;
const uint UNARY_COSH = 28u;
const uint UNARY_ASINH = 29u;
const uint UNARY_ACOSH = 30u;
const uint UNARY_ATANH = 31u;
const uint UNARY_FLOOR = 32u;
const uint UNARY_CEIL = 33u;
const uint UNARY_ROUND = 34u;
const uint UNARY_NOT = 35u;
const uint UNARY_BIT_NOT = 36u;
const uint UNARY_IS_NAN = 37u;
const uint UNARY_IS_INF = 38u;

// By bits: compilers may drop NaN from comparisons and turn selections into min and max, which lose it.
bool is_nan(float x) {
    return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u;
}

bool is_inf(float x) {
    return (floatBitsToUint(x) & 0x7fffffffu) == 0x7f800000u;
}

// exp(x) - 1 without cancellation at small x.
float exp_minus_one(float x) {
    if (abs(x) < 0.25) {
        return x * (1.0 + x * (0.5 + x * (1.0 / 6.0 + x * (1.0 / 24.0 + x * (1.0 / 120.0 + x * (1.0 / 720.0))))));
    }
    return exp(x) - 1.0;
}

// log(1 + x) without cancellation at small x.
float log_one_plus(float x) {
    if (abs(x) < 0.05) {
        return x * (1.0 - x * (0.5 - x * (1.0 / 3.0 - x * (0.25 - x * (0.2 - x * (1.0 / 6.0))))));
    }
    return log(1.0 + x);
}

float safe_tanh(float x) {
    float t = exp_minus_one(2.0 * clamp(x, -10.0, 10.0));
    return is_nan(x) ? x : t / (t + 2.0);
}

float sigmoid(float x) {
    // exp of a negative number only, so that nothing overflows.
    float t = exp(-abs(x));
    return (x >= 0.0 ? 1.0 : t) / (1.0 + t);
}

float softplus(float x) {
    return max(x, 0.0) + log_one_plus(exp(-abs(x)));
}

// Taylor below 1, where a relative error matters; Abramowitz and Stegun 7.1.26 above, absolute error 1.5e-7.
float erf(float x) {
    float a = abs(x);
    if (a < 1.0) {
        float z = x * x;
        float sum = 1.0;
        float term = 1.0;
        for (int n = 1; n < 14; n++) {
            term *= -z / float(n);
            sum += term / float(2 * n + 1);
        }
        return 1.1283791670955126 * x * sum;
    }
    float t = 1.0 / (1.0 + 0.3275911 * a);
    float poly = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
    return sign(x) * (1.0 - poly * exp(-a * a));
}

float arc_tan(float x) {
    float a = abs(x);
    float base = 0.0;
    if (a > 2.414213562373095) {
        base = 1.5707963267948966;
        a = -1.0 / a;
    } else if (a > 0.4142135623730950) {
        base = 0.7853981633974483;
        a = (a - 1.0) / (a + 1.0);
    }
    float z = a * a;
    float y = (((8.05374449538e-2 * z - 1.38776856032e-1) * z + 1.99777106478e-1) * z - 3.33329491539e-1) * z * a + a;
    return x < 0.0 ? -(base + y) : base + y;
}

// asin on [0, 0.5].
float arc_sin_core(float x) {
    float z = x * x;
    return ((((4.2163199048e-2 * z + 2.4181311049e-2) * z + 4.5470025998e-2) * z + 7.4953002686e-2) * z + 1.6666752422e-1) *
            z * x + x;
}

float arc_sin(float x) {
    float a = abs(x);
    float y = a > 0.5 ? 1.5707963267948966 - 2.0 * arc_sin_core(sqrt(0.5 * (1.0 - a))) : arc_sin_core(a);
    return x < 0.0 ? -y : y;
}

float arc_cos(float x) {
    if (x > 0.5) {
        return 2.0 * arc_sin_core(sqrt(0.5 * (1.0 - x)));
    }
    return 1.5707963267948966 - arc_sin(x);
}

float hyper_sin(float x) {
    float t = exp_minus_one(abs(x));
    float y = isinf(t) ? t : 0.5 * (t + t / (t + 1.0));
    return x < 0.0 ? -y : y;
}

float area_sin(float x) {
    float a = abs(x);
    float y = a > 1e9 ? log(a) + 0.6931471805599453 : log_one_plus(a + a * a / (1.0 + sqrt(a * a + 1.0)));
    return x < 0.0 ? -y : y;
}

float unary(const uint op, float x) {
    if (op == UNARY_NEG) return -x;
    if (op == UNARY_ABS) return abs(x);
    if (op == UNARY_SIGN) return is_nan(x) ? x : sign(x);
    if (op == UNARY_EXP) return exp(x);
    if (op == UNARY_LOG) return log(x);
    if (op == UNARY_SQRT) return sqrt(x);
    if (op == UNARY_RSQRT) return 1.0 / sqrt(x);
    if (op == UNARY_RECIPROCAL) return 1.0 / x;
    if (op == UNARY_ERF) return erf(x);
    if (op == UNARY_TANH) return safe_tanh(x);
    if (op == UNARY_SIGMOID) return sigmoid(x);
    if (op == UNARY_RELU) return is_nan(x) ? x : max(x, 0.0);
    if (op == UNARY_SOFTPLUS) return softplus(x);
    if (op == UNARY_SOFTSIGN) return x / (1.0 + abs(x));
    if (op == UNARY_SILU) return x * sigmoid(x);
    if (op == UNARY_GELU_ERF) return 0.5 * x * (1.0 + erf(x * 0.7071067811865476));
    if (op == UNARY_GELU_TANH) return 0.5 * x * (1.0 + safe_tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
    if (op == UNARY_QUICK_GELU) return x * sigmoid(1.702 * x);
    if (op == UNARY_HARD_SWISH) return x * clamp(x / 6.0 + 0.5, 0.0, 1.0);
    if (op == UNARY_MISH) return x * safe_tanh(softplus(x));
    if (op == UNARY_SIN) return sin(x);
    if (op == UNARY_COS) return cos(x);
    if (op == UNARY_TAN) return sin(x) / cos(x);
    if (op == UNARY_ASIN) return arc_sin(x);
    if (op == UNARY_ACOS) return arc_cos(x);
    if (op == UNARY_ATAN) return arc_tan(x);
    if (op == UNARY_SINH) return hyper_sin(x);
    if (op == UNARY_COSH) return 0.5 * (exp(x) + exp(-x));
    if (op == UNARY_ASINH) return area_sin(x);
    if (op == UNARY_ACOSH) return log_one_plus((x - 1.0) + sqrt((x - 1.0) * (x + 1.0)));
    if (op == UNARY_ATANH) return 0.5 * (log_one_plus(x) - log_one_plus(-x));
    if (op == UNARY_FLOOR) return floor(x);
    if (op == UNARY_CEIL) return ceil(x);
    if (op == UNARY_ROUND) return roundEven(x);
    if (op == UNARY_IS_NAN) return is_nan(x) ? 1.0 : 0.0;
    if (op == UNARY_IS_INF) return is_inf(x) ? 1.0 : 0.0;
    return x;
}

#endif
