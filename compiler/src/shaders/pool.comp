// y = the largest or the mean element of each window; a thread an output.
// Args: x, y (32-bit words). Defines: N outputs; RANK spatial axes; lists X_DIMS, DIMS (of y), KERNEL, STEPS, DILATIONS, BEGINS,
// ENDS (pads after); PLANE_IN PLANE_OUT TAPS; MODE 0 max of KIND (a code of lib/order.glsl), 1 mean over taps in the input, 2 mean
// over taps in input and pads. Grid: ceil(N / 64).
#version 460
#include "lib/prelude.glsl"
#if !defined(N) || !defined(RANK) || !defined(X_DIMS) || !defined(DIMS) || !defined(KERNEL) || !defined(STEPS)
#error "pool.comp: define N RANK X_DIMS DIMS KERNEL STEPS"
#endif
#if !defined(DILATIONS) || !defined(BEGINS) || !defined(ENDS) || !defined(MODE) || !defined(KIND)
#error "pool.comp: define DILATIONS BEGINS ENDS MODE KIND"
#endif
layout(local_size_x = 64) in;
#include "lib/memory.glsl"
#include "lib/order.glsl"
#include "lib/window.glsl"

layout(push_constant) uniform Args {
    Uints x;
    Uints y;
} args;

const int ends[RANK] = int[](ENDS);

// True when a tap lies in the input or its pads: a ceil window may reach beyond both.
bool padded(int origin[RANK], uint tap) {
    bool inside = true;
    [[unroll]] for (int d = RANK - 1; d >= 0; d--) {
        int c = origin[d] + int(tap % window_kernel[d]) * window_dilations[d];
        tap /= window_kernel[d];
        inside = inside && c < window_in[d] + ends[d];
    }
    return inside;
}

void main() {
    uint i = workgroup_index() * 64u + gl_LocalInvocationIndex;
    if (i >= N) {
        return;
    }
    uint base = i / PLANE_OUT * PLANE_IN;
    int origin[RANK] = window_origin(i % PLANE_OUT);
    uint best = MODE == 0 && KIND == 0 ? 0xff800000u : KIND == 1 ? 0x80000000u : 0u;
    float sum = 0.0;
    uint count = 0u;
    for (uint tap = 0u; tap < TAPS; tap++) {
        int at = window_tap(origin, tap);
        if (at >= 0) {
            uint x = args.x.v[base + uint(at)];
            best = order_key(x, KIND) > order_key(best, KIND) ? x : best;
            sum += uintBitsToFloat(x);
        }
        count += MODE == 2 ? uint(padded(origin, tap)) : uint(at >= 0);
    }
    args.y.v[i] = MODE == 0 ? best : floatBitsToUint(sum / float(count));
}
