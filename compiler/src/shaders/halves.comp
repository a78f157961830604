// Rows of activations as the matrix form of a product reads them (lib/halves.glsl).
// Args: x f32 [M][K], y (lib/halves.glsl, of ROWS rows), then where defined: step, scale f32 [K], shift f32 [K].
// Defines: M K ROWS NORM EPS HALVES; LIVE 1: rows beyond step.rows are skipped and nothing runs once step.done is set; LOCAL
// threads; K_PADDED, where rows of y are longer, filled up with zeros. Grid: (M), a row a workgroup. Without MATRIX it does nothing: the plain form of a product reads x itself.
#version 460
#include "lib/prelude.glsl"
#if !defined(M) || !defined(K) || !defined(ROWS) || !defined(NORM) || !defined(EPS) || !defined(HALVES) || !defined(LIVE)
#error "halves.comp: define M K ROWS NORM EPS HALVES LIVE"
#endif
#ifndef LOCAL
#error "halves.comp: define LOCAL"
#endif
#ifndef K_PADDED
#define K_PADDED K
#endif
layout(local_size_x = LOCAL) in;
#define SPLIT_ROWS K
#include "lib/halves.glsl"
#include "lib/step.glsl"

layout(push_constant) uniform Args {
    Floats x;
    Uints y;
#if LIVE
    Uints step;
#endif
#if NORM > 0
    Floats scale;
#endif
#if NORM == 2
    Floats shift;
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

void main() {
#ifdef MATRIX
    uint row = gl_WorkGroupID.x;
#if LIVE
    if (step_done(args.step) || row >= args.step.v[STEP_ROWS]) {
        return;
    }
#endif
    split_row(args.x, args.y, row, ROWS, K_PADDED, NORM, EPS, SCALE, SHIFT);
#endif
}
