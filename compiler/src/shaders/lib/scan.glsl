// Running sums over a workgroup. In: a value a thread, four words each. Out: the sum up to and with the thread, and the total. Define
// LOCAL before this. Promise: integers, so the order does not matter; the order of threads is `scan_thread()`, 0 to LOCAL - 1; must
// be called by all threads of the workgroup.
#ifndef SCAN_GLSL
#define SCAN_GLSL
#ifndef LOCAL
#error "define LOCAL"
#endif

shared uvec4 scan_sums[LOCAL / 4];

uint scan_thread() {
    return gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID;
}

uvec4 group_scan(uvec4 x, out uvec4 total) {
    uvec4 sum = subgroupAdd(x);
    uvec4 running = subgroupInclusiveAdd(x);
    barrier();
    if (subgroupElect()) {
        scan_sums[gl_SubgroupID] = sum;
    }
    barrier();
    total = uvec4(0u);
    for (uint s = 0u; s < gl_NumSubgroups; s++) {
        running += s < gl_SubgroupID ? scan_sums[s] : uvec4(0u);
        total += scan_sums[s];
    }
    return running;
}

#endif
