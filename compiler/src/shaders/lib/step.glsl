// The Step buffer, the same layout as runtime/src/step.rs. In: its address. Out: named words.
// Promise: words throughout, of u32 or of f32 bits; only a sampler's last kernel writes it.
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
const uint STEP_TEMPERATURE = 24u;
const uint STEP_TOP_K = 25u;
const uint STEP_TOP_P = 26u;
const uint STEP_MIN_P = 27u;
const uint STEP_REPEAT_PENALTY = 28u;
const uint STEP_SEED_LOW = 29u;
const uint STEP_SEED_HIGH = 30u;
const uint STEP_COUNTER = 31u;

const uint DONE_STOP = 1u;
const uint DONE_LIMIT = 2u;
const uint DONE_CONTEXT = 3u;

const uint RING_ENTRIES = 1024u;

// Marks the entry of a token with which a policy of the package's own ended the answer.
const uint RING_ENDS = 0x80000000u;

float step_float(Uints step, uint word) {
    return uintBitsToFloat(step.v[word]);
}

// True when generation has ended and this run has nothing to do.
bool step_done(Uints step) {
    return step.v[STEP_DONE] != 0u;
}

#endif
