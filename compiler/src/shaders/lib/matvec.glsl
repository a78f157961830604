// One row of activations times four weight rows, by one subgroup. In: x f32 [k], w [n][k], four row numbers, optional norm.
// Out: four sums, on every lane. Promise: any subgroup size, any k; x is read once, RMS statistics ride along.
#ifndef MATVEC_GLSL
#define MATVEC_GLSL
#include "norm.glsl"
#include "weights.glsl"

vec4 matvec4(Floats x, Uints w, uvec4 row, const uint k, const uint norm, const float eps, Floats scale, Floats shift) {
    uint lane = gl_SubgroupInvocationID;
    uint lanes = lane_count();
    vec4 sum = vec4(0.0);
    float square = 0.0;
    vec2 stats = vec2(0.0, 1.0);
    if (norm == NORM_LAYER) {
        stats = row_stats(x, 0u, k, norm, eps);
    }
    if (k % 8u == 0u) {
        uvec4 first = row * (k / 8u);
        for (uint j = lane; j < k / 8u; j += lanes) {
            vec4 a = Vec4s(x).v[2u * j];
            vec4 b = Vec4s(x).v[2u * j + 1u];
            if (norm == NORM_RMS) {
                square += dot(a, a) + dot(b, b);
                a *= Vec4s(scale).v[2u * j];
                b *= Vec4s(scale).v[2u * j + 1u];
            }
            if (norm == NORM_LAYER) {
                a = (a - stats.x) * stats.y * Vec4s(scale).v[2u * j] + Vec4s(shift).v[2u * j];
                b = (b - stats.x) * stats.y * Vec4s(scale).v[2u * j + 1u] + Vec4s(shift).v[2u * j + 1u];
            }
            sum.x += dot8(w, first.x + j, a, b);
            sum.y += dot8(w, first.y + j, a, b);
            sum.z += dot8(w, first.z + j, a, b);
            sum.w += dot8(w, first.w + j, a, b);
        }
    } else {
        uvec4 first = row * k;
        for (uint j = lane; j < k; j += lanes) {
            float a = x.v[j];
            if (norm == NORM_RMS) {
                square += a * a;
                a *= scale.v[j];
            }
            if (norm == NORM_LAYER) {
                a = (a - stats.x) * stats.y * scale.v[j] + shift.v[j];
            }
            sum += a * vec4(load_weight(w, first.x + j), load_weight(w, first.y + j), load_weight(w, first.z + j),
                            load_weight(w, first.w + j));
        }
    }
    sum = subgroupAdd(sum);
    if (norm == NORM_RMS) {
        sum *= 1.0 / sqrt(subgroupAdd(square) / float(k) + eps);
    }
    return sum;
}

#endif
