// y = act(norm(x) * Wgate) * (norm(x) * Wup).
// Args: x f32 [M][K], w [2N][K] (gate rows, then up rows), y f32 [M][N], then where defined: step, scale f32 [K],
// shift f32 [K]. Defines and grid as linear.comp, without BIAS and RESIDUAL. A unit is two columns of y.
#version 460
#include "lib/prelude.glsl"
#if !defined(M) || !defined(K) || !defined(N) || !defined(WEIGHT_BITS) || !defined(NORM) || !defined(EPS) || !defined(ACT)
#error "gated_linear.comp: define M K N WEIGHT_BITS NORM EPS ACT"
#endif
#if !defined(LIVE) || !defined(THREAD_ROWS) || !defined(LOCAL) || !defined(UNITS)
#error "gated_linear.comp: define LIVE THREAD_ROWS LOCAL UNITS"
#endif
#ifdef MATRIX
layout(local_size_x = 32 * PARTS_M * PARTS_N * PARTS_K) in;
#else
layout(local_size_x = LOCAL) in;
#endif
#include "lib/step.glsl"
#include "lib/unary.glsl"
#ifdef MATRIX
#include "lib/matmul_matrix.glsl"
#elif THREAD_ROWS == 0
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
#endif
} args;

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

// Parts 0 and 1 are gate rows, 2 and 3 the up rows of the same columns.
uint unit_row(uint unit, uint part) {
    return min(2u * unit + (part & 1u), N - 1u) + (part >> 1) * N;
}

void unit_store(uint row, uint unit, vec4 sums) {
    uint column = 2u * unit;
    args.y.v[row * N + column] = unary(ACT, sums.x) * sums.z;
    if (column + 1u < N) {
        args.y.v[row * N + column + 1u] = unary(ACT, sums.y) * sums.w;
    }
}

#if LIVE
#define LIVE_ROWS min(args.step.v[STEP_ROWS], M)
#else
#define LIVE_ROWS M
#endif

void main() {
#if LIVE
    if (step_done(args.step)) {
        return;
    }
#endif
#ifdef MATRIX
    uint live = LIVE_ROWS;
    matmul_matrix(args.halves, weights_at(args.w, K), ROWS, live, K, TOTAL);
#elif THREAD_ROWS == 0
    matvec(args.x, weights_at(args.w, K), K, TOTAL, NORM, EPS, SCALE, SHIFT);
#else
    uint live = LIVE_ROWS;
    matmul(args.x, weights_at(args.w, K), M, live, K, TOTAL, NORM, EPS, SCALE, SHIFT);
#endif
}
