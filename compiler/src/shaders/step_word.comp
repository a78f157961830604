// A word of the step as a value, for policies that are graphs of their own. A count that is no limit is a large number with a sign.
// Args: step, value i32 [1]. Defines: WORD, a name of lib/step.glsl. Grid: one workgroup.
#version 460
#include "lib/prelude.glsl"
#if !defined(WORD)
#error "step_word.comp: define WORD"
#endif
layout(local_size_x = 1) in;
#include "lib/step.glsl"

layout(push_constant) uniform Args {
    Uints step;
    Uints value;
} args;

void main() {
    args.value.v[0] = min(args.step.v[WORD], 0x3fffffffu);
}
