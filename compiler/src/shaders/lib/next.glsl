// The step to the next token, by a workgroup of at least STEP_MAX_STOPS threads. In: the Step buffer and a token. Out: the token
// goes to the ring, to tokens[0] and, where the context has a row for it, to the history; pos grows by rows, rows becomes 1, done is
// set at a stop token, at the limit or when the cache is full. Promise: what is read is read at once, before the token is known.
#ifndef NEXT_GLSL
#define NEXT_GLSL
#include "step.glsl"

struct NextStep {
    uint done;
    uint pos;
    uint rows;
    uint produced;
    uint limit;
    uint context;
    // True on a thread whose number is that of a stop token.
    bool stops;
    // That token.
    uint stop;
};

NextStep next_step(Uints step) {
    uint i = min(gl_LocalInvocationIndex, STEP_MAX_STOPS - 1u);
    return NextStep(step.v[STEP_DONE], step.v[STEP_POS], step.v[STEP_ROWS], step.v[STEP_PRODUCED], step.v[STEP_LIMIT],
                    step.v[STEP_CONTEXT], gl_LocalInvocationIndex < step.v[STEP_STOP_COUNT], step.v[STEP_STOPS + i]);
}

shared uint next_stopped;

// Must be called by all threads of the workgroup, with one token.
void next_write(Uints step, Uints tokens, Uints ring, Uints history, NextStep before, uint token) {
    if (gl_LocalInvocationIndex == 0u) {
        next_stopped = 0u;
    }
    barrier();
    if (before.stops && before.stop == token) {
        next_stopped = 1u;
    }
    barrier();
    if (gl_LocalInvocationIndex != 0u) {
        return;
    }
    uint pos = before.pos + before.rows;
    uint produced = before.produced + 1u;
    ring.v[before.produced % RING_ENTRIES] = token;
    tokens.v[0] = token;
    if (pos < before.context) {
        history.v[pos] = token;
    }
    step.v[STEP_POS] = pos;
    step.v[STEP_ROWS] = 1u;
    step.v[STEP_PRODUCED] = produced;
    uint full = pos >= before.context ? DONE_CONTEXT : 0u;
    uint ended = produced >= before.limit ? DONE_LIMIT : full;
    step.v[STEP_DONE] = next_stopped != 0u ? DONE_STOP : ended;
}

#endif
