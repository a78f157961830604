// y = act(norm(x) * Wgate) * (norm(x) * Wup).
// Args: x f32 [M][K], w [2N][K] (gate rows, then up rows), y f32 [M][N], then where defined: step, scale f32 [K],
// shift f32 [K]. Defines and grid as linear.comp, without BIAS, RESIDUAL and HANDED 2. A unit is two columns of y.
#version 460
#include "lib/prelude.glsl"
#if !defined(M) || !defined(K) || !defined(N) || !defined(WEIGHT_BITS) || !defined(NORM) || !defined(EPS) || !defined(ACT)
#error "gated_linear.comp: define M K N WEIGHT_BITS NORM EPS ACT"
#endif
#if !defined(LIVE) || !defined(THREAD_ROWS) || !defined(LOCAL)
#error "gated_linear.comp: define LIVE THREAD_ROWS LOCAL"
#endif
#if defined(MATRIX) && !defined(ADD_UP)
layout(local_size_x = 32 * PARTS_M * PARTS_N * PARTS_K) in;
#else
layout(local_size_x = LOCAL) in;
#endif
#include "lib/step.glsl"
#include "lib/unary.glsl"

struct Extras {
    bool live;
};

#if HANDED == 1 && defined(MATRIX)
#define HANDED_UNITS (HANDED_K / 2u)
#include "lib/handed.glsl"
#endif
#if defined(ADD_UP)
#include "lib/add_up.glsl"
#elif defined(MATRIX)
#include "lib/matmul_matrix.glsl"
#elif THREAD_ROWS == 0
#define PAIRS (N % 2 == 0)
#include "lib/matvec.glsl"
#else
#include "lib/matmul.glsl"
#endif

layout(push_constant) uniform Args {
    Floats x;
    Uints w;
    Floats y;
#if LIVE
    Uints step;
#endif
#if NORM > 0
    Floats scale;
#endif
#if NORM == 2
    Floats shift;
#endif
#if HALVES
    Uints halves;
#if SPLITS > 1
    Floats partials;
#endif
#endif
#if HANDED
    Uints handed;
#endif
} args;

#if HALVES && SPLITS > 1
#define PARTIALS args.partials
#else
#define PARTIALS args.x
#endif

#if NORM > 0
#define SCALE args.scale
#else
#define SCALE args.x
#endif
#if NORM == 2
#define SHIFT args.shift
#else
#define SHIFT args.x
#endif

const uint TOTAL = (N + 1u) / 2u;

uint unit_pair(uint unit, uint which) {
    return unit + which * (N / 2u);
}

// Parts 0 and 1 are gate rows, 2 and 3 the up rows of the same columns.
uint unit_row(uint unit, uint part) {
    return min(2u * unit + (part & 1u), N - 1u) + (part >> 1) * N;
}

Extras load_extras() {
#if LIVE
    return Extras(!step_done(args.step));
#else
    return Extras(true);
#endif
}

void store(uint row, uint unit, vec4 sums) {
    vec2 y = vec2(unary(ACT, sums.x), unary(ACT, sums.y)) * sums.zw;
#ifdef HANDED_UNITS
    hand_two(args.handed, row, unit, y);
#elif N % 2 == 0
    Vec2s(args.y).v[row * (N / 2u) + unit] = y;
#else
    uint column = 2u * unit;
    args.y.v[row * N + column] = y.x;
    if (column + 1u < N) {
        args.y.v[row * N + column + 1u] = y.y;
    }
#endif
}

#ifdef HANDED_UNITS
void unit_zeros(uint row, uint unit) {
    hand_two(args.handed, row, unit, vec2(0.0));
}
#endif

#if THREAD_ROWS == 0
Extras unit_begin(uint unit) {
    return load_extras();
}

void unit_end(uint unit, vec4 sums, Extras extras) {
    if (extras.live) {
        store(0u, unit, sums);
    }
}
#elif defined(MATRIX)
Extras unit_begin(uint row, uint unit) {
    return load_extras();
}

void unit_end(uint row, uint unit, vec4 sums, Extras extras) {
    store(row, unit, sums);
}
#elif !defined(ADD_UP)
void unit_store(uint row, uint unit, vec4 sums) {
    store(row, unit, sums);
}
#endif

#if LIVE
#define LIVE_ROWS min(args.step.v[STEP_ROWS], M)
#else
#define LIVE_ROWS M
#endif

void main() {
#if THREAD_ROWS == 0
#if LIVE
    // Elsewhere the weights do not wait for the answer: stores do.
    if (SUBGROUP == 8u && step_done(args.step)) {
        return;
    }
#endif
    matvec(args.x, weights_at(args.w, K), K, TOTAL, NORM, EPS, SCALE, SHIFT);
#else
#if LIVE
    if (step_done(args.step)) {
        return;
    }
#endif
    uint live = LIVE_ROWS;
#if defined(MATRIX) && defined(ADD_UP)
    add_up(PARTIALS, M, live, TOTAL);
#elif defined(MATRIX)
    matmul_matrix(args.halves, weights_at(args.w, K), PARTIALS, M, ROWS, live, K, TOTAL);
#elif !defined(ADD_UP)
    matmul(args.x, weights_at(args.w, K), M, live, K, TOTAL, NORM, EPS, SCALE, SHIFT);
#endif
#endif
}
