// The largest value of a workgroup and its lowest index. In: a value and an index a thread. Out: those of the winner, on every
// thread. Define LOCAL before this. Promise: any subgroup size; must be called by all threads of the workgroup.
#ifndef BEST_GLSL
#define BEST_GLSL
#ifndef LOCAL
#error "define LOCAL"
#endif

// Below all values that can win.
#define BEST_NONE uintBitsToFloat(0xff800000u)

shared float best_values[LOCAL / 4];
shared uint best_indices[LOCAL / 4];

// `none` is above all indices.
void group_best(inout float value, inout uint index, uint none) {
    float top = subgroupMax(value);
    uint first = subgroupMin(value == top ? index : none);
    if (subgroupElect()) {
        best_values[gl_SubgroupID] = top;
        best_indices[gl_SubgroupID] = first;
    }
    barrier();
    value = best_values[0];
    index = best_indices[0];
    for (uint s = 1u; s < gl_NumSubgroups; s++) {
        float x = best_values[s];
        uint i = best_indices[s];
        if (x > value || (x == value && i < index)) {
            value = x;
            index = i;
        }
    }
}

#endif
