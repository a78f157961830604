// Probability mass as integers. In: probabilities relative to the best token's, 0 to 1. Out: sums that are exact whatever their
// order. A mass is three words of MASS_BITS bits each, highest first, as a fraction of 2^(3 MASS_BITS); words of a sum are added
// each for itself and grow beyond MASS_BITS, up to 32. Define V, the most masses that are ever added, before this.
#ifndef MASS_GLSL
#define MASS_GLSL
#ifndef V
#error "define V"
#endif

#if V <= 0x40000
const uint MASS_BITS = 13u;
#elif V <= 0x400000
const uint MASS_BITS = 9u;
#else
const uint MASS_BITS = 5u;
#endif

uvec3 mass_of(float probability) {
    const float scale = float(1u << MASS_BITS);
    precise float x = clamp(probability, 0.0, 1.0) * scale;
    uint high = uint(x);
    x = (x - float(high)) * scale;
    uint middle = uint(x);
    x = (x - float(middle)) * scale;
    return uvec3(high, middle, uint(x));
}

uvec2 shift64(uint x, uint by) {
    return by == 0u ? uvec2(x, 0u) : uvec2(x << by, x >> (32u - by));
}

uvec2 plus64(uvec2 a, uvec2 b) {
    uint carry;
    uint low = uaddCarry(a.x, b.x, carry);
    return uvec2(low, a.y + b.y + carry);
}

uvec2 minus64(uvec2 a, uvec2 b) {
    uint borrow;
    uint low = usubBorrow(a.x, b.x, borrow);
    return uvec2(low, a.y - b.y - borrow);
}

bool less64(uvec2 a, uvec2 b) {
    return a.y < b.y || (a.y == b.y && a.x < b.x);
}

// A sum of masses as one number, low half first.
uvec2 mass_total(uvec3 mass) {
    return plus64(plus64(shift64(mass.x, 2u * MASS_BITS), shift64(mass.y, MASS_BITS)), uvec2(mass.z, 0u));
}

// `part` (0 to 1) of a total; at least 1, so that nothing without mass reaches it.
uvec2 mass_share(uvec2 total, float part) {
    if (part >= 1.0) {
        return total;
    }
    uint fraction = uint(part * 4294967296.0);
    uint low_low;
    uint low_high;
    uint high_low;
    uint high_high;
    umulExtended(total.x, fraction, low_high, low_low);
    umulExtended(total.y, fraction, high_high, high_low);
    uvec2 share = plus64(uvec2(high_low, high_high), uvec2(low_high, 0u));
    return share == uvec2(0u) ? uvec2(1u, 0u) : share;
}

// The least n with n * one >= wanted; `one` is a single mass above 0 and n is at most V.
uint mass_count(uvec2 wanted, uvec2 one) {
    float estimate = (float(wanted.y) * 4294967296.0 + float(wanted.x)) / (float(one.y) * 4294967296.0 + float(one.x));
    uint n = uint(clamp(estimate, 1.0, float(V)));
    // The estimate is off by less than one; one step either way makes it exact.
    n = n > 1u ? n - 1u : n;
    for (uint i = 0u; i < 3u; i++) {
        uint high;
        uint low;
        umulExtended(one.x, n, high, low);
        n += less64(uvec2(low, high + one.y * n), wanted) ? 1u : 0u;
    }
    return n;
}

#endif
