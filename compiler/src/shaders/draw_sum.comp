// Drawing a token, then: what each slice holds of the tokens that may be drawn.
// Args: scaled f32 [V], tops f32 [SLICES], step, before u32 [SEARCH_WORDS], found u32 [SEARCH_DIGITS] (a Search header), parts
// [SLICES] of four words: the mass of tokens above the last key, and the number of tokens with it. Defines: V; SLICE logits a
// workgroup; SLICES; LOCAL 256 threads. Grid: SLICES.
#version 460
#include "lib/prelude.glsl"
#if !defined(V) || !defined(SLICE) || !defined(SLICES) || !defined(LOCAL)
#error "draw_sum.comp: define V SLICE SLICES LOCAL"
#endif
layout(local_size_x = LOCAL) in;
#include "lib/draw.glsl"

layout(push_constant) uniform Args {
    Floats scaled;
    Floats tops;
    Uints step;
    Uints before;
    Uints found;
    UVec4s parts;
} args;

void main() {
    if (step_done(args.step)) {
        return;
    }
    uint slice = workgroup_index();
    Search s = search_next(args.step, args.tops, args.before);
    uvec4 sum = uvec4(0u);
    for (uint at = gl_LocalInvocationIndex; at < SLICE && slice * SLICE + at < V; at += LOCAL) {
        float logit = args.scaled.v[slice * SLICE + at];
        uint key = draw_key(logit);
        sum += uvec4(key > s.key ? draw_mass(logit, s.top) : uvec3(0u), key == s.key ? 1u : 0u);
    }
    uvec4 total;
    group_scan(sum, total);
    if (gl_LocalInvocationIndex == 0u) {
        args.parts.v[slice] = total;
        if (slice == 0u) {
            search_store(args.found, s);
        }
    }
}
