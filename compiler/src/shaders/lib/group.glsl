// Sums and extremes over a workgroup. In: a value a thread. Out: the result, on every thread. Define LOCAL before this.
// Promise: a fixed order, any subgroup size; must be called by all threads of the workgroup.
#ifndef GROUP_GLSL
#define GROUP_GLSL
#ifndef LOCAL
#error "define LOCAL"
#endif

shared float group_floats[LOCAL / 4];
shared uint group_uints[LOCAL / 4];

float group_sum(float x) {
    x = subgroupAdd(x);
    barrier();
    if (subgroupElect()) {
        group_floats[gl_SubgroupID] = x;
    }
    barrier();
    float sum = group_floats[0];
    for (uint i = 1u; i < gl_NumSubgroups; i++) {
        sum += group_floats[i];
    }
    return sum;
}

float group_max(float x) {
    x = subgroupMax(x);
    barrier();
    if (subgroupElect()) {
        group_floats[gl_SubgroupID] = x;
    }
    barrier();
    float top = group_floats[0];
    for (uint i = 1u; i < gl_NumSubgroups; i++) {
        top = max(top, group_floats[i]);
    }
    return top;
}

uint group_max_uint(uint x) {
    x = subgroupMax(x);
    barrier();
    if (subgroupElect()) {
        group_uints[gl_SubgroupID] = x;
    }
    barrier();
    uint top = group_uints[0];
    for (uint i = 1u; i < gl_NumSubgroups; i++) {
        top = max(top, group_uints[i]);
    }
    return top;
}

#endif
