// y = x with the leading ROTARY channels of each head turned by table row pos + i; the rest copied.
// Args: x f32 [HEADS][M][D], cos, sin f32 [TABLE][ROTARY / 2], y f32 as x, pos (address; POS_WORD says which word).
// Defines: M HEADS D ROTARY TABLE; INTERLEAVED 0|1; POS_WORD. Grid: ceil(HEADS * M * D / 64).
#version 460
#include "lib/prelude.glsl"
#if !defined(M) || !defined(HEADS) || !defined(D) || !defined(ROTARY) || !defined(TABLE) || !defined(INTERLEAVED)
#error "rope.comp: define M HEADS D ROTARY TABLE INTERLEAVED"
#endif
#if !defined(POS_WORD)
#error "rope.comp: define POS_WORD"
#endif
layout(local_size_x = 64) in;
#include "lib/memory.glsl"

layout(push_constant) uniform Args {
    Floats x;
    Floats cos_table;
    Floats sin_table;
    Floats y;
    Uints pos;
} args;

void main() {
    uint i = workgroup_index() * 64u + gl_LocalInvocationIndex;
    if (i >= HEADS * M * D) {
        return;
    }
    uint c = i % D;
    float x = args.x.v[i];
    if (c < ROTARY) {
        const uint half_turn = ROTARY / 2u;
        bool second = INTERLEAVED != 0 ? (c & 1u) == 1u : c >= half_turn;
        uint distance = INTERLEAVED != 0 ? 1u : half_turn;
        float other = args.x.v[second ? i - distance : i + distance];
        uint angle = INTERLEAVED != 0 ? c / 2u : c % half_turn;
        uint at = min(args.pos.v[POS_WORD] + i / D % M, TABLE - 1u) * half_turn + angle;
        x = x * args.cos_table.v[at] + (second ? other : -other) * args.sin_table.v[at];
    }
    args.y.v[i] = x;
}
