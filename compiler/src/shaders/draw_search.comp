// Drawing a token, eight times: one digit of the last key that top-k leaves (four), then of the last that top-p leaves (four).
// Args: scaled f32 [V], tops f32 [SLICES], step, before, search, after u32 [SEARCH_WORDS] (see lib/draw.glsl). Defines: V; SLICE
// logits a workgroup; SLICES; LOCAL 256 threads. Grid: SLICES.
// Promise: reads `before`, adds to `search`, which is zero, and leaves `after` zero for the next.
#version 460
#include "lib/prelude.glsl"
#if !defined(V) || !defined(SLICE) || !defined(SLICES) || !defined(LOCAL)
#error "draw_search.comp: define V SLICE SLICES LOCAL"
#endif
layout(local_size_x = LOCAL) in;
#include "lib/draw.glsl"

layout(push_constant) uniform Args {
    Floats scaled;
    Floats tops;
    Uints step;
    Uints before;
    Uints search;
    Uints after;
} args;

shared uint digits[4 * 256];

void add_mass(uint digit, uvec3 mass) {
    [[unroll]] for (uint word = 0u; word < 3u; word++) {
        if (mass[word] != 0u) {
            atomicAdd(digits[256u * (word + 1u) + digit], mass[word]);
        }
    }
}

void add_token(float logit, Search s) {
    uint key = draw_key(logit);
    bool allowed = key > s.key || (key == s.key && s.count == ALL_TIES);
    if (!digits_match(key, s)) {
        return;
    }
    uint digit = key >> digit_shift(s.stage) & 255u;
    if (s.stage < KEY_DIGITS) {
        atomicAdd(digits[digit], 1u);
    } else if (allowed) {
        add_mass(digit, draw_mass(logit, s.top));
    }
}

void main() {
    if (step_done(args.step)) {
        return;
    }
    uint slice = workgroup_index();
    Search s = search_next(args.step, args.tops, args.before);
    uint stage = s.stage;
    for (uint i = gl_LocalInvocationIndex; slice == SLICES - 1u && i < SEARCH_WORDS; i += LOCAL) {
        args.after.v[i] = 0u;
    }
    bool wanted = searches(args.step, stage);
    if (wanted) {
        for (uint i = gl_LocalInvocationIndex; i < 4u * 256u; i += LOCAL) {
            digits[i] = 0u;
        }
        barrier();
        for (uint at = gl_LocalInvocationIndex; at < SLICE && slice * SLICE + at < V; at += LOCAL) {
            add_token(args.scaled.v[slice * SLICE + at], s);
        }
        // Of the tokens with the last key only so many count, and all have the same mass.
        bool ties = slice == 0u && stage >= KEY_DIGITS && s.count != ALL_TIES && digits_match(s.key, s);
        if (ties && gl_LocalInvocationIndex == 0u) {
            add_mass(s.key >> digit_shift(stage) & 255u, draw_mass(draw_logit(s.key), s.top) * s.count);
        }
        barrier();
        for (uint i = gl_LocalInvocationIndex; i < 4u * 256u; i += LOCAL) {
            if (digits[i] != 0u) {
                atomicAdd(args.search.v[SEARCH_DIGITS + i], digits[i]);
            }
        }
    }
    if (slice == 0u && gl_LocalInvocationIndex == 0u) {
        s.stage = stage + 1u;
        search_store(args.search, s);
    }
}
