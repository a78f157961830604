// The Step buffer, the same layout as runtime/src/step.rs. In: its address. Out: named words.
// Promise: u32 throughout; only the sampling kernel writes it.
#ifndef STEP_GLSL
#define STEP_GLSL
#include "memory.glsl"

const uint STEP_POS = 0u;
const uint STEP_ROWS = 1u;
const uint STEP_DONE = 2u;
const uint STEP_PRODUCED = 3u;
const uint STEP_LIMIT = 4u;
const uint STEP_CONTEXT = 5u;
const uint STEP_STOP_COUNT = 6u;
const uint STEP_STOPS = 8u;
const uint STEP_MAX_STOPS = 16u;

const uint DONE_STOP = 1u;
const uint DONE_LIMIT = 2u;
const uint DONE_CONTEXT = 3u;

const uint RING_ENTRIES = 1024u;

// True when generation has ended and this run has nothing to do.
bool step_done(Uints step) {
    return step.v[STEP_DONE] != 0u;
}

#endif
