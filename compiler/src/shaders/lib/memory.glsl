// Typed views of device addresses. In: addresses from push constants. Out: array views of them.
// Promise: nothing here checks bounds; the 8 and 16-byte views need addresses of that alignment.
#ifndef MEMORY_GLSL
#define MEMORY_GLSL

layout(buffer_reference, std430, buffer_reference_align = 4) buffer Floats { float v[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Ints { int v[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Uints { uint v[]; };
layout(buffer_reference, std430, buffer_reference_align = 8) buffer Vec2s { vec2 v[]; };
layout(buffer_reference, std430, buffer_reference_align = 16) buffer Vec4s { vec4 v[]; };
layout(buffer_reference, std430, buffer_reference_align = 16) buffer UVec4s { uvec4 v[]; };
layout(buffer_reference, std430, buffer_reference_align = 8) buffer UVec2s { uvec2 v[]; };
// What workgroups of one dispatch hand to each other.
layout(buffer_reference, std430, buffer_reference_align = 4) coherent buffer SharedFloats { float v[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) coherent buffer SharedUints { uint v[]; };

// Two floats as two halves: saturated to the finite range and rounded to nearest even before the pack, because the rounding
// of packHalf2x16 is the device's choice.
uint pack_halves(vec2 x) {
    uvec2 bits = floatBitsToUint(clamp(x, vec2(-65504.0), vec2(65504.0)));
    bits += 0xfffu + ((bits >> 13) & 1u);
    return packHalf2x16(clamp(uintBitsToFloat(bits & ~0x1fffu), vec2(-65504.0), vec2(65504.0)));
}

// Linear number of this workgroup; grids over 65,535 are split over y.
uint workgroup_index() {
    return gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
}

#endif
