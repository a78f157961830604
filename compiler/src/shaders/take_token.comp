// The token that a graph of the package's own has drawn becomes the next (lib/next.glsl says what that writes). One that is no token of the
// vocabulary is its last.
// Args: token i32 [1], step, tokens, ring, history. Defines: V. Grid: one workgroup. Promise: nothing changes once step.done is set.
#version 460
#include "lib/prelude.glsl"
#if !defined(V)
#error "take_token.comp: define V"
#endif
layout(local_size_x = 32) in;
#include "lib/step.glsl"
#include "lib/next.glsl"

layout(push_constant) uniform Args {
    Uints token;
    Uints step;
    Uints tokens;
    Uints ring;
    Uints history;
} args;

void main() {
    NextStep before = next_step(args.step);
    uint token = min(args.token.v[0], uint(V) - 1u);
    if (before.done != 0u) {
        return;
    }
    next_write(args.step, args.tokens, args.ring, args.history, before, token);
}
