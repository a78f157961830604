// Drawing a token, first: logits after repeat penalty and temperature, and the best of each slice.
// Args: logits f32 [V], step, history u32 [context], scaled f32 [V], tops f32 [SLICES], before, search u32
// [SEARCH_WORDS], those of the first draw_search.comp.
// Defines: V; SLICE logits a workgroup, a multiple of LOCAL; SLICES; LOCAL 256 threads. Grid: SLICES.
// Promise: what is no number becomes DRAW_NEVER, all others are finite; before and search are zero afterwards.
#version 460
#include "lib/prelude.glsl"
#if !defined(V) || !defined(SLICE) || !defined(SLICES) || !defined(LOCAL)
#error "draw_scale.comp: define V SLICE SLICES LOCAL"
#endif
layout(local_size_x = LOCAL) in;
#include "lib/draw.glsl"

layout(push_constant) uniform Args {
    Floats logits;
    Uints step;
    Uints history;
    Floats scaled;
    Floats tops;
    Uints before;
    Uints search;
} args;

// A bit for every logit of the slice whose token is in the context.
shared uint seen[SLICE / 32];

void find_seen(uint first) {
    for (uint i = gl_LocalInvocationIndex; i < SLICE / 32; i += LOCAL) {
        seen[i] = 0u;
    }
    barrier();
    uint rows = min(args.step.v[STEP_POS] + args.step.v[STEP_ROWS], args.step.v[STEP_CONTEXT]);
    for (uint i = gl_LocalInvocationIndex; i < rows; i += LOCAL) {
        uint at = args.history.v[i] - first;
        if (at < SLICE) {
            atomicOr(seen[at / 32u], 1u << (at % 32u));
        }
    }
    barrier();
}

void main() {
    if (step_done(args.step)) {
        return;
    }
    uint slice = workgroup_index();
    uint first = slice * SLICE;
    for (uint i = first + gl_LocalInvocationIndex; slice == 0u && i < SEARCH_WORDS; i += LOCAL) {
        args.before.v[i] = 0u;
        args.search.v[i] = 0u;
    }
    float penalty = step_float(args.step, STEP_REPEAT_PENALTY);
    if (penalty != 1.0) {
        find_seen(first);
    }
    float temperature = step_float(args.step, STEP_TEMPERATURE);
    float top = DRAW_NEVER;
    for (uint at = gl_LocalInvocationIndex; at < SLICE && first + at < V; at += LOCAL) {
        float x = args.logits.v[first + at];
        if (penalty != 1.0 && (seen[at / 32u] >> (at % 32u) & 1u) != 0u) {
            x = x > 0.0 ? x / penalty : x * penalty;
        }
        x = is_nan(x) ? DRAW_NEVER : clamp(x / temperature, DRAW_NEVER, -DRAW_NEVER);
        args.scaled.v[first + at] = x;
        top = max(top, x);
    }
    top = group_max(top);
    if (gl_LocalInvocationIndex == 0u) {
        args.tops.v[slice] = top;
    }
}
