// Which tokens may be drawn. Tokens stand in an order: the likelier first, the lower among equals. Those that may be drawn are the
// first of them, up to a key (see lib/order.glsl) and a count of tokens with exactly that key. Top-k and top-p look for theirs digit
// by digit, eight bits at a time: a dispatch counts tokens and sums masses by digit, the next one picks the digit and goes on.
// In: `Search` buffers, one a dispatch. Out: the state of the search after the last digit. Define V, LOCAL 256 and SLICES before
// this. Promise: integers alone decide, so the result depends on nothing but logits and settings.
#ifndef DRAW_GLSL
#define DRAW_GLSL
#if !defined(V) || !defined(LOCAL) || !defined(SLICES)
#error "define V LOCAL SLICES"
#endif
#if LOCAL != 256 || SLICES > 256
#error "a thread takes a digit, and a slice"
#endif
#include "group.glsl"
#include "mass.glsl"
#include "order.glsl"
#include "scan.glsl"
#include "step.glsl"

// A Search buffer: a header, then counts and masses by digit.
const uint SEARCH_STAGE = 0u; // digits counted so far, this buffer's included
const uint SEARCH_TOP = 1u; // the best logit
const uint SEARCH_KEY = 2u; // key and count: the last of the tokens that may be drawn, as far as is known
const uint SEARCH_COUNT = 3u;
const uint SEARCH_PREFIX = 4u; // digits found by the search under way
const uint SEARCH_NEED = 5u; // top-k: tokens to be found among those with this prefix
const uint SEARCH_ABOVE = 6u; // top-p: mass of tokens above this prefix, two words
const uint SEARCH_TARGET = 8u; // top-p: mass to be reached, two words
const uint SEARCH_DIGITS = 16u; // [4][256]: counts, then the words of masses
const uint SEARCH_WORDS = 16u + 4u * 256u;

// Digits of a key, and of both searches.
const uint KEY_DIGITS = 4u;
const uint ALL_DIGITS = 8u;
const uint ALL_TIES = 0xffffffffu;

struct Search {
    uint stage;
    float top;
    uint key;
    uint count;
    uint prefix;
    uint need;
    uvec2 above;
    uvec2 target;
};

Search search_load(Uints from) {
    return Search(from.v[SEARCH_STAGE], uintBitsToFloat(from.v[SEARCH_TOP]), from.v[SEARCH_KEY], from.v[SEARCH_COUNT],
                  from.v[SEARCH_PREFIX], from.v[SEARCH_NEED], uvec2(from.v[SEARCH_ABOVE], from.v[SEARCH_ABOVE + 1u]),
                  uvec2(from.v[SEARCH_TARGET], from.v[SEARCH_TARGET + 1u]));
}

void search_store(Uints to, Search s) {
    to.v[SEARCH_STAGE] = s.stage;
    to.v[SEARCH_TOP] = floatBitsToUint(s.top);
    to.v[SEARCH_KEY] = s.key;
    to.v[SEARCH_COUNT] = s.count;
    to.v[SEARCH_PREFIX] = s.prefix;
    to.v[SEARCH_NEED] = s.need;
    to.v[SEARCH_ABOVE] = s.above.x;
    to.v[SEARCH_ABOVE + 1u] = s.above.y;
    to.v[SEARCH_TARGET] = s.target.x;
    to.v[SEARCH_TARGET + 1u] = s.target.y;
}

uint draw_key(float logit) {
    return order_key(floatBitsToUint(logit), ORDER_FLOAT);
}

float draw_logit(uint key) {
    return uintBitsToFloat((key & 0x80000000u) != 0u ? key & 0x7fffffffu : ~key);
}

// What no number is written as: a token with it is never drawn.
#define DRAW_NEVER -3.4028234e38

uvec3 draw_mass(float logit, float top) {
    precise float below = logit - top;
    return logit > DRAW_NEVER ? mass_of(exp(below)) : uvec3(0u);
}

bool searches_count(Uints step) {
    uint k = step.v[STEP_TOP_K];
    return k != 0u && k < V;
}

bool searches_mass(Uints step) {
    return step_float(step, STEP_TOP_P) < 1.0;
}

// Whether the digit at `stage` is looked for.
bool searches(Uints step, uint stage) {
    return stage < KEY_DIGITS ? searches_count(step) : searches_mass(step);
}

uint digit_shift(uint stage) {
    return 24u - 8u * (stage % KEY_DIGITS);
}

// True for a key that has the digits found so far.
bool digits_match(uint key, Search s) {
    uint known = s.stage % KEY_DIGITS;
    return known == 0u || (key ^ s.prefix) >> (32u - 8u * known) == 0u;
}

shared uint search_digit;
shared uvec2 search_before;

// Before the first digit: min-p.
Search search_begin(Uints step, Floats tops) {
    uint i = gl_LocalInvocationIndex;
    float top = group_max(i < SLICES ? tops.v[i] : DRAW_NEVER);
    float min_p = step_float(step, STEP_MIN_P);
    // The logarithm of 1 may come out above 0, and the best token must stay.
    uint key = min_p > 0.0 ? draw_key(min(top + log(clamp(min_p, 1e-20, 1.0)), top)) : 0u;
    return Search(0u, top, key, ALL_TIES, 0u, step.v[STEP_TOP_K], uvec2(0u), uvec2(0u));
}

// Top-k: the digit in which the count is reached.
void search_count(Uints from, inout Search s, uint stage) {
    uint digit = 255u - scan_thread();
    uint own = from.v[SEARCH_DIGITS + digit];
    uvec4 total;
    uint running = group_scan(uvec4(own, 0u, 0u, 0u), total).x;
    if (running >= s.need && running - own < s.need) {
        search_digit = digit;
        search_before = uvec2(running - own, 0u);
    }
    barrier();
    s.prefix |= search_digit << digit_shift(stage);
    s.need -= search_before.x;
    if (stage == KEY_DIGITS - 1u) {
        if (s.prefix >= s.key) {
            s.key = s.prefix;
            s.count = s.need;
        }
        s.prefix = 0u;
    }
}

// Top-p: the digit in which the mass is reached.
void search_mass(Uints step, Uints from, inout Search s, uint stage) {
    uint digit = 255u - scan_thread();
    uint at = SEARCH_DIGITS + digit;
    uvec3 own = uvec3(from.v[at + 256u], from.v[at + 512u], from.v[at + 768u]);
    uvec4 total;
    uvec3 running = group_scan(uvec4(own, 0u), total).xyz;
    if (stage == KEY_DIGITS) {
        s.target = mass_share(mass_total(total.xyz), step_float(step, STEP_TOP_P));
    }
    uvec2 before = plus64(s.above, mass_total(running - own));
    if (gl_LocalInvocationIndex == 0u) {
        search_digit = 0u;
        search_before = uvec2(0u);
    }
    barrier();
    if (less64(before, s.target) && !less64(plus64(s.above, mass_total(running)), s.target)) {
        search_digit = digit;
        search_before = before;
    }
    barrier();
    s.prefix |= search_digit << digit_shift(stage);
    s.above = search_before;
    uvec2 one = mass_total(draw_mass(draw_logit(s.prefix), s.top));
    // Nothing has mass where no logit is a number.
    if (stage == ALL_DIGITS - 1u && one != uvec2(0u)) {
        uint count = mass_count(minus64(s.target, s.above), one);
        s.count = s.prefix == s.key ? min(count, s.count) : count;
        s.key = s.prefix;
    }
}

// The search after what the dispatch before counted; `from` is its buffer, all zero before the first. By the whole workgroup.
Search search_next(Uints step, Floats tops, Uints from) {
    uint stage = from.v[SEARCH_STAGE];
    if (stage == 0u) {
        return search_begin(step, tops);
    }
    Search s = search_load(from);
    if (searches(step, stage - 1u)) {
        if (stage <= KEY_DIGITS) {
            search_count(from, s, stage - 1u);
        } else {
            search_mass(step, from, s, stage - 1u);
        }
    }
    return s;
}

#endif
