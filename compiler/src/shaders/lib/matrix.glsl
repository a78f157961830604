// Cooperative matrices of 16 x 16: a holds halves, rows by k; b halves, k by columns; c f32 sums. In: shared arrays of uvec4, the place of
// a first element in them, and a stride in elements. Out: a * b + c. A matrix belongs to a subgroup of 32, and two lanes to a row of what goes
// through shared memory: matrix_subgroup() and matrix_lane() say who asks. Only the matrix forms of kernels include this.
// The compiler knows GL_EXT_spirv_intrinsics but no cooperative matrices; it cannot name the component's type either, so the literal before
// the scope is its bits, and shaders/matrix.rs puts the type there. With EMULATED: the same without such units (lib/matrix_emulated.glsl).
#ifndef MATRIX_GLSL
#define MATRIX_GLSL
#ifdef EMULATED
#include "matrix_emulated.glsl"
#else

const uint SUBGROUP_SCOPE = 3u;
const uint MATRIX_SIDE = 16u;
const uint USE_A = 0u;
const uint USE_B = 1u;
const uint USE_C = 2u;
const uint ROW_MAJOR = 0u;
const uint COLUMN_MAJOR = 1u;

#define MATRIX_TYPE(bits, use) spirv_type(extensions = ["SPV_KHR_cooperative_matrix"], capabilities = [6022, 9], id = 4456, bits, \
                                          SUBGROUP_SCOPE, MATRIX_SIDE, MATRIX_SIDE, use)
#define MatrixA MATRIX_TYPE(16u, USE_A)
#define MatrixB MATRIX_TYPE(16u, USE_B)
#define MatrixC MATRIX_TYPE(32u, USE_C)

spirv_instruction(id = 4457) MatrixA load_a(spirv_by_reference uvec4 first, uint order, uint stride);
spirv_instruction(id = 4457) MatrixB load_b(spirv_by_reference uvec4 first, uint order, uint stride);
spirv_instruction(id = 4457) MatrixC load_c(spirv_by_reference uvec4 first, uint order, uint stride);
spirv_instruction(id = 4458) void store_c(spirv_by_reference uvec4 first, MatrixC c, uint order, uint stride);
spirv_instruction(id = 4459) MatrixC multiply_add(MatrixA a, MatrixB b, MatrixC c);
spirv_instruction(id = 80) MatrixC filled_c(float x);

// Rows of a and c lie one after the other; so do columns of b, or its rows.
#define LOAD_A(array, first, stride) load_a(array[first], ROW_MAJOR, stride)
#define LOAD_B_COLUMNS(array, first, stride) load_b(array[first], COLUMN_MAJOR, stride)
#define LOAD_B_ROWS(array, first, stride) load_b(array[first], ROW_MAJOR, stride)
#define LOAD_C(array, first, stride) load_c(array[first], ROW_MAJOR, stride)
#define STORE_C(array, first, c, stride) store_c(array[first], c, ROW_MAJOR, stride)

uint matrix_subgroup() {
    return gl_SubgroupID;
}

uint matrix_lane() {
    return gl_SubgroupInvocationID;
}

// All lanes of a matrix have come here; all subgroups of the workgroup may have to come along.
void matrix_barrier() {
    subgroupBarrier();
}

// Both lanes of a row have come here.
void row_barrier() {
    subgroupBarrier();
}

// What the other lane of a row has.
float of_neighbour(float x) {
    return subgroupShuffleXor(x, 1u);
}

#endif
#endif
