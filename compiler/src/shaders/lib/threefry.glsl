// Threefry-2x64-20, a counter-based generator (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011). In: a key and
// a counter of two 64-bit words each. Out: two random words. A 64-bit word is a uvec2, low half first. Promise: integer arithmetic
// alone, so every device gives the same bits.
#ifndef THREEFRY_GLSL
#define THREEFRY_GLSL

uvec2 add64(uvec2 a, uvec2 b) {
    uint carry;
    uint low = uaddCarry(a.x, b.x, carry);
    return uvec2(low, a.y + b.y + carry);
}

// `by` is 1 to 63, but not 32.
uvec2 rotate64(uvec2 a, uint by) {
    a = by < 32u ? a : a.yx;
    uint left = by & 31u;
    return uvec2(a.x << left | a.y >> (32u - left), a.y << left | a.x >> (32u - left));
}

void threefry2x64(uvec2 key[2], uvec2 counter[2], out uvec2 x[2]) {
    const uint turns[8] = uint[8](16u, 42u, 12u, 31u, 16u, 32u, 24u, 21u);
    uvec2 keys[3] = uvec2[3](key[0], key[1], key[0] ^ key[1] ^ uvec2(0xa9fc1a22u, 0x1bd11bdau));
    x[0] = add64(counter[0], keys[0]);
    x[1] = add64(counter[1], keys[1]);
    for (uint round = 0u; round < 20u; round++) {
        x[0] = add64(x[0], x[1]);
        uint by = turns[round & 7u];
        x[1] = (by == 32u ? x[1].yx : rotate64(x[1], by)) ^ x[0];
        if ((round & 3u) == 3u) {
            uint n = round / 4u + 1u;
            x[0] = add64(x[0], keys[n % 3u]);
            x[1] = add64(add64(x[1], keys[(n + 1u) % 3u]), uvec2(n, 0u));
        }
    }
}

// The float next to (x >> 11) / 2^53, ties to even: 0 to 1.
float unit_float(uvec2 x) {
    uvec2 n = uvec2(x.x >> 11 | x.y << 21, x.y >> 11);
    if (n == uvec2(0u)) {
        return 0.0;
    }
    // The highest bit goes to bit 63, so that 24 bits of mantissa are on top.
    int shift = n.y != 0u ? 31 - findMSB(n.y) : 63 - findMSB(n.x);
    n = shift >= 32 ? uvec2(0u, n.x) : n;
    uint left = uint(shift) & 31u;
    n = left == 0u ? n : uvec2(n.x << left, n.y << left | n.x >> (32u - left));
    uint mantissa = n.y >> 8;
    uint rest = n.y & 0xffu;
    bool up = rest > 0x80u || (rest == 0x80u && (n.x != 0u || (mantissa & 1u) != 0u));
    // The value is n / 2^64 * 2^(11 - shift); a mantissa that rounds up to 2^24 carries into the exponent by itself.
    uint exponent = uint(127 + 10 - shift);
    return uintBitsToFloat((exponent << 23) + (mantissa - 0x800000u) + (up ? 1u : 0u));
}

#endif
