// Cooperative matrices of 16 x 16: a holds halves, rows by k; b halves, k by columns; c f32 sums. In: shared arrays. Out: a * b + c.
// Only the matrix forms of kernels include this. The compiler knows GL_EXT_spirv_intrinsics but no cooperative matrices; it cannot
// name the component's type either, so the literal before the scope is its bits, and shaders/matrix.rs puts the type there.
// Promise: strides count elements of the array.
#ifndef MATRIX_GLSL
#define MATRIX_GLSL

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
spirv_instruction(id = 4458) void store_c4(spirv_by_reference uvec4 first, MatrixC c, uint order, uint stride);
spirv_instruction(id = 4458) void store_c(spirv_by_reference float first, MatrixC c, uint order, uint stride);
spirv_instruction(id = 4459) MatrixC multiply_add(MatrixA a, MatrixB b, MatrixC c);
spirv_instruction(id = 80) MatrixC filled_c(float x);

#endif
