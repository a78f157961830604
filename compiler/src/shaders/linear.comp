// y = act(norm(x) * W + bias) + residual.
// Args: x f32 [M][K], w [N][K], y f32 [M][N], then where defined: step, scale f32 [K], shift f32 [K], bias f32 [N],
// residual f32 [M][N]. Defines: M K N; WEIGHT_BITS and what lib/weights.glsl wants with it; NORM 0 none, 1 RMS, 2 layer; EPS;
// ACT a code of lib/unary.glsl; BIAS RESIDUAL 0|1; LIVE 1: rows beyond step.rows are skipped (M > 1) and nothing runs once step.done is set;
// THREAD_ROWS 0: mat-vec (M = 1), LOCAL threads, SLOTS of which share a row (see lib/matvec.glsl), grid ceil(units / UNITS); else a
// tile a workgroup of 64 threads, grid (ceil(units / 16), ceil(M / (8 * THREAD_ROWS))). A unit is four columns of y.
// HALVES not 0: the product has a form for matrix units, MATRIX, and one argument more, the last: x as lib/halves.glsl has it, of
// ROWS rows. That form takes the defines of lib/matmul_matrix.glsl; the plain one leaves the argument alone. Any grid.
// HANDED, where y is the x of a product behind this one, has arguments more, which the plain form leaves alone: 1, its rows (lib/handed.glsl) of
// HANDED_K columns, which the matrix form writes in place of y; 2, with ADD_UP, its rows as lib/halves.glsl has them, HANDED_ROWS of HANDED_K
// columns, with HANDED_NORM and HANDED_EPS, and where that norm has them scale and shift f32 [N]: written beside y by a workgroup a row.
#version 460
#include "lib/prelude.glsl"
#if !defined(M) || !defined(K) || !defined(N) || !defined(WEIGHT_BITS) || !defined(NORM) || !defined(EPS) || !defined(ACT)
#error "linear.comp: define M K N WEIGHT_BITS NORM EPS ACT"
#endif
#if !defined(BIAS) || !defined(RESIDUAL) || !defined(LIVE) || !defined(THREAD_ROWS) || !defined(LOCAL)
#error "linear.comp: define BIAS RESIDUAL LIVE THREAD_ROWS LOCAL"
#endif
#if defined(MATRIX) && !defined(ADD_UP)
layout(local_size_x = 32 * PARTS_M * PARTS_N * PARTS_K) in;
#else
layout(local_size_x = LOCAL) in;
#endif
#include "lib/step.glsl"
#include "lib/unary.glsl"

struct Extras {
    vec4 bias;
    vec4 residual;
    bool live;
};

#if HANDED == 1 && defined(MATRIX)
#define HANDED_UNITS (HANDED_K / 4u)
#include "lib/handed.glsl"
#endif
#if defined(ADD_UP)
#include "lib/add_up.glsl"
#elif defined(MATRIX)
#include "lib/matmul_matrix.glsl"
#elif THREAD_ROWS == 0
#define PAIRS (N % 4 == 0)
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
#if BIAS
    Floats bias;
#endif
#if RESIDUAL
    Floats residual;
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
#if HANDED == 2 && HANDED_NORM > 0
    Floats handed_scale;
#endif
#if HANDED == 2 && HANDED_NORM == 2
    Floats handed_shift;
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

#if HANDED == 2 && HANDED_NORM > 0
#define HANDED_SCALE args.handed_scale
#else
#define HANDED_SCALE args.x
#endif
#if HANDED == 2 && HANDED_NORM == 2
#define HANDED_SHIFT args.handed_shift
#else
#define HANDED_SHIFT args.x
#endif

const uint TOTAL = (N + 3u) / 4u;

uint unit_pair(uint unit, uint which) {
    return 2u * unit + which;
}

uint unit_row(uint unit, uint part) {
    return min(4u * unit + part, N - 1u);
}

Extras load_extras(uint row, uint unit) {
    Extras e;
    e.live = true;
#if LIVE
    e.live = !step_done(args.step);
#endif
#if N % 4 == 0
#if BIAS
    e.bias = Vec4s(args.bias).v[unit];
#endif
#if RESIDUAL
    e.residual = Vec4s(args.residual).v[row * (N / 4u) + unit];
#endif
#else
    [[unroll]] for (uint part = 0u; part < 4u; part++) {
        uint column = min(4u * unit + part, N - 1u);
#if BIAS
        e.bias[part] = args.bias.v[column];
#endif
#if RESIDUAL
        e.residual[part] = args.residual.v[row * N + column];
#endif
    }
#endif
    return e;
}

vec4 unit_value(vec4 sums, Extras e) {
#if BIAS
    sums += e.bias;
#endif
    if (ACT != UNARY_NONE) {
        sums = vec4(unary(ACT, sums.x), unary(ACT, sums.y), unary(ACT, sums.z), unary(ACT, sums.w));
    }
#if RESIDUAL
    sums += e.residual;
#endif
    return sums;
}

void unit_keep(uint row, uint unit, vec4 y) {
#ifdef HANDED_UNITS
    hand_four(args.handed, row, unit, y);
#elif N % 4 == 0
    Vec4s(args.y).v[row * (N / 4u) + unit] = y;
#else
    [[unroll]] for (uint part = 0u; part < 4u; part++) {
        if (4u * unit + part < N) {
            args.y.v[row * N + 4u * unit + part] = y[part];
        }
    }
#endif
}

#ifdef HANDED_UNITS
void unit_zeros(uint row, uint unit) {
    hand_four(args.handed, row, unit, vec4(0.0));
}
#endif

void store(uint row, uint unit, vec4 sums, Extras e) {
    vec4 y = unit_value(sums, e);
    if (e.live) {
        unit_keep(row, unit, y);
    }
}

#if THREAD_ROWS == 0
Extras unit_begin(uint unit) {
    return load_extras(0u, unit);
}

void unit_end(uint unit, vec4 sums, Extras extras) {
    store(0u, unit, sums, extras);
}
#elif defined(MATRIX)
Extras unit_begin(uint row, uint unit) {
    return load_extras(row, unit);
}

void unit_end(uint row, uint unit, vec4 sums, Extras extras) {
    store(row, unit, sums, extras);
}
#elif !defined(ADD_UP)
void unit_store(uint row, uint unit, vec4 sums) {
    store(row, unit, sums, load_extras(row, unit));
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
#if defined(MATRIX) && defined(ADD_UP) && HANDED == 2
    if (gl_WorkGroupID.x < live) {
        add_up_row(PARTIALS, args.handed, M, gl_WorkGroupID.x, TOTAL, HANDED_NORM, HANDED_EPS, HANDED_SCALE, HANDED_SHIFT);
    }
#elif defined(MATRIX) && defined(ADD_UP)
    add_up(PARTIALS, M, live, TOTAL);
#elif defined(MATRIX)
    matmul_matrix(args.halves, weights_at(args.w, K), PARTIALS, M, ROWS, live, K, TOTAL);
#elif !defined(ADD_UP)
    matmul(args.x, weights_at(args.w, K), M, live, K, TOTAL, NORM, EPS, SCALE, SHIFT);
#endif
#endif
}
