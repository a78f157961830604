// The size of a subgroup as a constant of the pipeline. In: specialization constant 0, which the runtime sets to the device's size.
// Out: SUBGROUP. Promise: what depends on it alone is decided when the pipeline is made.
#ifndef SUBGROUP_GLSL
#define SUBGROUP_GLSL

// A device with subgroups of eight is a CPU, for which kernels may have another form; tests define this as 0 to see the first there.
#ifndef CPU_FORM
#define CPU_FORM 1
#endif

layout(constant_id = 0) const uint SUBGROUP = 32;

#endif
