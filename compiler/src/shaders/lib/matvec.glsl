// One row of activations times weight rows, four to a unit. In: x f32 [k], w [n][k], optional norm. Out: unit_store(0, unit, sums)
// for each unit of the workgroup; unit_row(unit, 0..3) says which weight rows a unit is. Define UNITS (units a workgroup) before
// this. Promise: any subgroup size, any k; RMS statistics ride along. The order of sums depends on the subgroup size only.
#ifndef MATVEC_GLSL
#define MATVEC_GLSL
#include "norm.glsl"
#include "weights.glsl"

#ifndef UNITS
#error "define UNITS"
#endif

uint unit_row(uint unit, uint part);
void unit_store(uint row, uint unit, vec4 sums);

// A unit by a whole subgroup: lanes split k. Every lane gets the sums.
vec4 unit_by_subgroup(Floats x, Weights w, uvec4 row, const uint k, const uint norm, const float eps, Floats scale, Floats shift) {
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
#if SALIENT > 0
    for (uint i = lane; i < SALIENT; i += lanes) {
        uint j = salient_column(w, i);
        float a = x.v[j];
        if (norm == NORM_RMS) {
            a *= scale.v[j];
        }
        if (norm == NORM_LAYER) {
            a = (a - stats.x) * stats.y * scale.v[j] + shift.v[j];
        }
        sum += salient_sum(w, row, i, a);
    }
#endif
    sum = subgroupAdd(sum);
    if (norm == NORM_RMS) {
        sum *= 1.0 / sqrt(subgroupAdd(square) / float(k) + eps);
    }
    return sum;
}

void matvec(Floats x, Weights w, const uint k, const uint units, const uint norm, const float eps, Floats scale, Floats shift) {
    uint unit = workgroup_index() * UNITS;
    for (uint i = gl_SubgroupID; i < UNITS && unit + i < units; i += gl_NumSubgroups) {
        uint mine = unit + i;
        uvec4 row = uvec4(unit_row(mine, 0u), unit_row(mine, 1u), unit_row(mine, 2u), unit_row(mine, 3u));
        vec4 sums = unit_by_subgroup(x, w, row, k, norm, eps, scale, shift);
        if (subgroupElect()) {
            unit_store(0u, mine, sums);
        }
    }
}

#endif
