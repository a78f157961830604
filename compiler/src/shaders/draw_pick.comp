// Drawing a token, last: in the order of the vocabulary, the first token at which the mass of those that may be drawn reaches a
// random share of all of it, becomes the next (lib/next.glsl says what that writes). Without any mass it is token 0.
// Args: scaled f32 [V], found u32 [SEARCH_DIGITS], parts [SLICES] of four words (see draw_sum.comp), step, tokens, ring, history.
// Defines: V; SLICE logits a slice; SLICES; LOCAL 256 threads. Grid: one workgroup.
// Promise: nothing changes once step.done is set; the random number depends on step.seed and the token's place, with step.counter added, alone.
#version 460
#include "lib/prelude.glsl"
#if !defined(V) || !defined(SLICE) || !defined(SLICES) || !defined(LOCAL)
#error "draw_pick.comp: define V SLICE SLICES LOCAL"
#endif
layout(local_size_x = LOCAL) in;
#include "lib/draw.glsl"
#include "lib/next.glsl"
#include "lib/threefry.glsl"

layout(push_constant) uniform Args {
    Floats scaled;
    Uints found;
    UVec4s parts;
    Uints step;
    Uints tokens;
    Uints ring;
    Uints history;
} args;

shared uint pick_slice;
// Mass before the slice, and tokens with the last key before it.
shared uvec2 pick_before;
shared uint pick_ties;
shared uint pick_token;

float random(NextStep now) {
    uvec2 key[2] = uvec2[2](uvec2(args.step.v[STEP_SEED_LOW], args.step.v[STEP_SEED_HIGH]), uvec2(0u));
    uvec2 counter[2] = uvec2[2](uvec2(now.pos + now.rows + args.step.v[STEP_COUNTER], 0u), uvec2(0u));
    uvec2 x[2];
    threefry2x64(key, counter, x);
    return unit_float(x[0]);
}

// Mass of a sum and of so many tokens with the last key.
uvec2 with_ties(uvec3 above, uvec3 one, uint ties) {
    return plus64(mass_total(above), mass_total(one * ties));
}

// Finds the slice; the mass to be reached comes back.
uvec2 find_slice(Search s, uvec3 one, float share) {
    uint slice = scan_thread();
    uvec4 own = slice < SLICES ? args.parts.v[slice] : uvec4(0u);
    uvec4 total;
    uvec4 running = group_scan(own, total);
    uvec4 before = running - own;
    uvec2 target = mass_share(with_ties(total.xyz, one, min(total.w, s.count)), share);
    uvec2 reached = with_ties(before.xyz, one, min(before.w, s.count));
    bool here = less64(reached, target) && !less64(with_ties(running.xyz, one, min(running.w, s.count)), target);
    if (here) {
        pick_slice = slice;
        pick_before = reached;
        pick_ties = before.w;
    }
    barrier();
    return target;
}

// Finds the token in the slice.
void find_token(Search s, uvec3 one, uvec2 target) {
    uint ties_before = min(pick_ties, s.count);
    uvec4 past = uvec4(0u, 0u, 0u, pick_ties);
    for (uint at = scan_thread(); at - scan_thread() < SLICE; at += LOCAL) {
        uint token = pick_slice * SLICE + at;
        float logit = token < V ? args.scaled.v[token] : DRAW_NEVER;
        uint key = draw_key(logit);
        uvec4 own = token < V ? uvec4(key > s.key ? draw_mass(logit, s.top) : uvec3(0u), key == s.key ? 1u : 0u) : uvec4(0u);
        uvec4 total;
        uvec4 running = past + group_scan(own, total);
        uvec4 before = running - own;
        uvec2 reached = plus64(pick_before, with_ties(before.xyz, one, min(before.w, s.count) - ties_before));
        uvec2 reaches = plus64(pick_before, with_ties(running.xyz, one, min(running.w, s.count) - ties_before));
        if (less64(reached, target) && !less64(reaches, target)) {
            pick_token = token;
        }
        past += total;
    }
    barrier();
}

void main() {
    NextStep now = next_step(args.step);
    if (now.done != 0u) {
        return;
    }
    if (gl_LocalInvocationIndex == 0u) {
        pick_slice = SLICES;
        pick_token = 0u;
    }
    Search s = search_load(args.found);
    uvec3 one = draw_mass(draw_logit(s.key), s.top);
    uvec2 target = find_slice(s, one, random(now));
    if (pick_slice < SLICES) {
        find_token(s, one, target);
    }
    next_write(args.step, args.tokens, args.ring, args.history, now, pick_token);
}
