// Ends the answer at this step's token where a policy says so: the token's entry of the ring is marked, and done is set.
// Args: goes_on u32 [1], counter i32 [1] (tokens drawn before this step), step, ring. Grid: one workgroup. Promise: nothing changes in a
// step that had no token, for done was set before it.
#version 460
#include "lib/prelude.glsl"
layout(local_size_x = 1) in;
#include "lib/step.glsl"

layout(push_constant) uniform Args {
    Uints goes_on;
    Uints counter;
    Uints step;
    Uints ring;
} args;

void main() {
    uint before = args.counter.v[0];
    if (args.goes_on.v[0] == 0u && args.step.v[STEP_PRODUCED] == before + 1u) {
        uint entry = before % RING_ENTRIES;
        args.ring.v[entry] = args.ring.v[entry] | RING_ENDS;
        args.step.v[STEP_DONE] = DONE_STOP;
    }
}
