// What lanes 0 to 7 of a subgroup hold. In: a value a lane. Out: the values, on every lane. Promise: any subgroup size from eight on.
#ifndef LANES_GLSL
#define LANES_GLSL

vec4 first_four(float x) {
    return vec4(subgroupBroadcast(x, 0u), subgroupBroadcast(x, 1u), subgroupBroadcast(x, 2u), subgroupBroadcast(x, 3u));
}

vec4 next_four(float x) {
    return vec4(subgroupBroadcast(x, 4u), subgroupBroadcast(x, 5u), subgroupBroadcast(x, 6u), subgroupBroadcast(x, 7u));
}

#endif
