// y[i] = the reduction of the x that share the kept coordinates of i.
// Args: x, y (32-bit words). Defines: N elements of y; COUNT elements of each reduction; RANK; DIMS, STRIDES of the kept axes;
// R_DIMS, R_STRIDES of the reduced ones (padded to RANK); KIND 0 sum, 1 mean, 2 max, 3 min, 4 product, 5 sum of squares, 6 L1, 7 L2,
// 8 log sum, 9 log sum exp; FLOAT 0|1; BITS UNSIGNED of the integer type; LOCAL_REDUCE 0: a thread an element, 1: a
// workgroup. Grid: ceil(N / 64) or N. Promise: f32 sums in a fixed order.
#version 460
#include "lib/prelude.glsl"
#if !defined(N) || !defined(COUNT) || !defined(RANK) || !defined(DIMS) || !defined(STRIDES) || !defined(R_DIMS)
#error "reduce.comp: define N COUNT RANK DIMS STRIDES R_DIMS"
#endif
#if !defined(R_STRIDES) || !defined(KIND) || !defined(FLOAT) || !defined(BITS) || !defined(UNSIGNED) || !defined(LOCAL_REDUCE)
#error "reduce.comp: define R_STRIDES KIND FLOAT BITS UNSIGNED LOCAL_REDUCE"
#endif
layout(local_size_x = 64) in;
#include "lib/memory.glsl"
#include "lib/index.glsl"
#include "lib/scalar.glsl"

layout(push_constant) uniform Args {
    Uints x;
    Uints y;
} args;

const uint dims[RANK] = uint[](DIMS);
const int strides[RANK] = int[](STRIDES);
const uint r_dims[RANK] = uint[](R_DIMS);
const int r_strides[RANK] = int[](R_STRIDES);

#if FLOAT
#define NUMBER float
#define LOAD(i) uintBitsToFloat(args.x.v[i])
#else
#define NUMBER int
#define LOAD(i) int(args.x.v[i])
#endif

NUMBER identity() {
#if FLOAT
    return KIND == 2 ? -INFINITE : KIND == 3 ? INFINITE : KIND == 4 ? 1.0 : 0.0;
#else
    const int lowest = UNSIGNED != 0 ? 0 : -1 << (BITS - 1);
    const int highest = UNSIGNED != 0 ? (BITS == 32 ? -1 : (1 << (BITS & 31)) - 1) : ~(-1 << (BITS - 1));
    return KIND == 2 ? lowest : KIND == 3 ? highest : KIND == 4 ? 1 : 0;
#endif
}

NUMBER combine(NUMBER a, NUMBER b) {
#if FLOAT
    return float_binary(KIND == 2 ? BINARY_MAX : KIND == 3 ? BINARY_MIN : KIND == 4 ? BINARY_MUL : BINARY_ADD, a, b);
#else
    return int_binary(KIND == 2 ? BINARY_MAX : KIND == 3 ? BINARY_MIN : KIND == 4 ? BINARY_MUL : BINARY_ADD, a, b, 32,
                      UNSIGNED != 0);
#endif
}

NUMBER prepare(NUMBER x) {
    return KIND == 5 || KIND == 7 ? x * x : KIND == 6 ? NUMBER(UNSIGNED != 0 ? x : abs(x)) : x;
}

uint finish(NUMBER total, NUMBER top) {
#if FLOAT
    float y = total;
    y = KIND == 1 ? y / float(COUNT) : KIND == 7 ? sqrt(y) : KIND == 8 ? log(y) : KIND == 9 ? top + log(y) : y;
    return floatBitsToUint(y);
#else
    int y = KIND == 1 ? int_divide(total, COUNT, UNSIGNED != 0) : total;
    return uint(wrap(y, BITS, UNSIGNED != 0));
#endif
}

#if LOCAL_REDUCE
shared NUMBER part[64];

// Combines the threads' parts pairwise; every thread gets the result.
NUMBER gather_parts(NUMBER mine, const bool maximum) {
    barrier();
    part[gl_LocalInvocationIndex] = mine;
    for (uint width = 32u; width > 0u; width >>= 1) {
        barrier();
        if (gl_LocalInvocationIndex < width) {
            NUMBER a = part[gl_LocalInvocationIndex];
            NUMBER b = part[gl_LocalInvocationIndex + width];
            part[gl_LocalInvocationIndex] = maximum ? max(a, b) : combine(a, b);
        }
    }
    barrier();
    return part[0];
}
#else
NUMBER gather_parts(NUMBER mine, const bool maximum) {
    return mine;
}
#endif

void main() {
#if LOCAL_REDUCE
    uint i = workgroup_index();
    uint first = gl_LocalInvocationIndex;
    const uint step = 64u;
#else
    uint i = workgroup_index() * 64u + gl_LocalInvocationIndex;
    uint first = 0u;
    const uint step = 1u;
#endif
    if (i >= N) {
        return;
    }
    int base = strided(i, dims, strides);
    NUMBER top = NUMBER(0);
#if FLOAT
    if (KIND == 9) {
        float mine = -INFINITE;
        for (uint j = first; j < COUNT; j += step) {
            mine = max(mine, LOAD(base + strided(j, r_dims, r_strides)));
        }
        top = gather_parts(mine, true);
        top = is_inf(top) ? 0.0 : top;
    }
#endif
    NUMBER total = identity();
    for (uint j = first; j < COUNT; j += step) {
        NUMBER x = LOAD(base + strided(j, r_dims, r_strides));
#if FLOAT
        x = KIND == 9 ? exp(x - top) : x;
#endif
        total = combine(total, prepare(x));
    }
    total = gather_parts(total, false);
    if (LOCAL_REDUCE == 0 || gl_LocalInvocationIndex == 0u) {
        args.y.v[i] = finish(total, top);
    }
}
