// y = x with margins; negative margins crop.
// Args: x, y (32-bit words), then where defined: value (one element). Defines: N elements of y; RANK, DIMS (of y), X_DIMS,
// X_STRIDES, BEGINS (margin before, a list); MODE 0 constant, 1 reflect, 2 edge, 3 wrap; VALUE 0|1. Grid: ceil(N / 256).
#version 460
#include "lib/prelude.glsl"
#if !defined(N) || !defined(RANK) || !defined(DIMS) || !defined(X_DIMS) || !defined(X_STRIDES) || !defined(BEGINS)
#error "pad.comp: define N RANK DIMS X_DIMS X_STRIDES BEGINS"
#endif
#if !defined(MODE) || !defined(VALUE)
#error "pad.comp: define MODE VALUE"
#endif
layout(local_size_x = 256) in;
#include "lib/memory.glsl"

layout(push_constant) uniform Args {
    Uints x;
    Uints y;
#if VALUE
    Uints value;
#endif
} args;

const uint dims[RANK] = uint[](DIMS);
const int x_dims[RANK] = int[](X_DIMS);
const int x_strides[RANK] = int[](X_STRIDES);
const int begins[RANK] = int[](BEGINS);

int floor_mod(int a, int b) {
    int r = a >= 0 ? int(uint(a) % uint(b)) : int(uint(-a) % uint(b));
    return a >= 0 || r == 0 ? r : b - r;
}

// Where coordinate c of an axis comes from; -1: nowhere.
int source(int c, int extent) {
    if (c >= 0 && c < extent) {
        return c;
    }
#if MODE == 0
    return -1;
#elif MODE == 1
    if (extent == 1) {
        return 0;
    }
    int turn = 2 * (extent - 1);
    int r = floor_mod(c, turn);
    return min(r, turn - r);
#elif MODE == 2
    return clamp(c, 0, extent - 1);
#else
    return floor_mod(c, extent);
#endif
}

void main() {
    uint i = workgroup_index() * 256u + gl_LocalInvocationIndex;
    if (i >= N) {
        return;
    }
    uint rest = i;
    int at = 0;
    bool inside = true;
    [[unroll]] for (int d = RANK - 1; d >= 0; d--) {
        int c = source(int(rest % dims[d]) - begins[d], x_dims[d]);
        rest /= dims[d];
        inside = inside && c >= 0;
        at += c * x_strides[d];
    }
#if VALUE
    uint fill = args.value.v[0];
#else
    uint fill = 0u;
#endif
    args.y.v[i] = inside ? args.x.v[at] : fill;
}
