// Greedy sampling and the step to the next token: the lowest index of the largest logit goes to the ring and to tokens[0];
// pos grows by rows, rows becomes 1, done is set at a stop token, at the limit or when the cache is full.
// Args: logits f32 [V], step, tokens, ring. Defines: V; LOCAL threads. Grid: one workgroup.
// Promise: NaN never wins; nothing changes once step.done is set.
#version 460
#include "lib/prelude.glsl"
#if !defined(V) || !defined(LOCAL)
#error "argmax.comp: define V LOCAL"
#endif
layout(local_size_x = LOCAL) in;
#include "lib/step.glsl"

layout(push_constant) uniform Args {
    Floats logits;
    Uints step;
    Uints tokens;
    Uints ring;
} args;

shared float best_value[LOCAL / 4];
shared uint best_index[LOCAL / 4];

void finish(uint token) {
    Uints step = args.step;
    uint produced = step.v[STEP_PRODUCED];
    uint pos = step.v[STEP_POS] + step.v[STEP_ROWS];
    args.ring.v[produced % RING_ENTRIES] = token;
    args.tokens.v[0] = token;
    step.v[STEP_POS] = pos;
    step.v[STEP_ROWS] = 1u;
    step.v[STEP_PRODUCED] = produced + 1u;
    uint done = 0u;
    if (pos >= step.v[STEP_CONTEXT]) {
        done = DONE_CONTEXT;
    }
    if (produced + 1u >= step.v[STEP_LIMIT]) {
        done = DONE_LIMIT;
    }
    for (uint i = 0u; i < step.v[STEP_STOP_COUNT]; i++) {
        if (step.v[STEP_STOPS + i] == token) {
            done = DONE_STOP;
        }
    }
    step.v[STEP_DONE] = done;
}

void main() {
    if (step_done(args.step)) {
        return;
    }
    const float lowest = uintBitsToFloat(0xff800000u);
    float value = lowest;
    uint index = V;
    for (uint i = gl_LocalInvocationIndex; i < V; i += LOCAL) {
        float x = args.logits.v[i];
        if (x > value) {
            value = x;
            index = i;
        }
    }
    float top = subgroupMax(value);
    uint first = subgroupMin(value == top ? index : V);
    if (subgroupElect()) {
        best_value[gl_SubgroupID] = top;
        best_index[gl_SubgroupID] = first;
    }
    barrier();
    if (gl_LocalInvocationIndex == 0u) {
        top = best_value[0];
        first = best_index[0];
        for (uint s = 1u; s < gl_NumSubgroups; s++) {
            if (best_value[s] > top || (best_value[s] == top && best_index[s] < first)) {
                top = best_value[s];
                first = best_index[s];
            }
        }
        finish(first < V ? first : 0u);
    }
}
