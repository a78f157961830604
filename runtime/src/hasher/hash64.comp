// hash64 (docs/pool.md) of a piece of memory. In: the piece by its address, the place of its first word in the whole, how many words,
// and which bits of the last one count. Out: added to two sums; the host adds what the length contributes.
// Grid: any number of workgroups on x. Promise: u32 arithmetic alone; memory is loaded as the kernels load weights, 16 bytes at a time
// from a multiple of 16, so past the last word nothing is read that does not lie in its own 16 bytes.
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_control_flow_attributes : require

const uint LOCAL = 128u;
layout(local_size_x = LOCAL) in;

layout(buffer_reference, std430, buffer_reference_align = 16) buffer UVec4s { uvec4 v[]; };
layout(buffer_reference, std430, buffer_reference_align = 8) buffer Sums { uint low; uint high; };
layout(push_constant) uniform Piece {
    UVec4s data;
    Sums sums;
    uint first;
    uint words;
    uint last_mask;
};

shared uint lows[LOCAL];
shared uint highs[LOCAL];

uint mix32(uint x) {
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ (x >> 16);
}

void main() {
    uint low = 0u;
    uint high = 0u;
    uint quads = (words + 3u) / 4u;
    for (uint i = gl_GlobalInvocationID.x; i < quads; i += gl_NumWorkGroups.x * LOCAL) {
        uvec4 four = data.v[i];
        [[unroll]] for (uint j = 0u; j < 4u; j++) {
            uint at = 4u * i + j;
            if (at < words) {
                uint word = at + 1u == words ? four[j] & last_mask : four[j];
                uint place = mix32(first + at);
                low += mix32(word ^ place);
                high += mix32((word + place) ^ 0x9e3779b9u);
            }
        }
    }
    uint own = gl_LocalInvocationID.x;
    lows[own] = low;
    highs[own] = high;
    for (uint half_count = LOCAL / 2u; half_count > 0u; half_count /= 2u) {
        barrier();
        if (own < half_count) {
            lows[own] += lows[own + half_count];
            highs[own] += highs[own + half_count];
        }
    }
    if (own == 0u) {
        // Sums modulo 2^32 are the same in any order.
        atomicAdd(sums.low, lows[0]);
        atomicAdd(sums.high, highs[0]);
    }
}
