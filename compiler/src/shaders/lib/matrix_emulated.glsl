// lib/matrix.glsl without matrix units, to hold kernels to their plain forms on any device: a lane has half a row of c, the row of a, and the
// columns of b that it multiplies. Slow. Promise: sums in the order of k, f32; subgroups of the device may have any even size.
#ifndef MATRIX_EMULATED_GLSL
#define MATRIX_EMULATED_GLSL

// Halves of row `lane / 2`.
struct MatrixA {
    uvec4 row[2];
};

// The half of the columns that is the lane's: by columns, two vectors each, or by rows, one vector each.
struct MatrixB {
    uvec4 half_of[16];
    bool by_columns;
};

// The lane's half of row `lane / 2`.
struct MatrixC {
    vec4 half_row[2];
};

uint matrix_subgroup() {
    return gl_LocalInvocationIndex / 32u;
}

uint matrix_lane() {
    return gl_LocalInvocationIndex % 32u;
}

void matrix_barrier() {
    barrier();
}

// Two lanes are of one subgroup on every device.
void row_barrier() {
    subgroupBarrier();
}

// Bit by bit, as not every device shuffles.
float of_neighbour(float x) {
    uint bits = floatBitsToUint(x);
    uint other = 0u;
    for (uint i = 0u; i < 32u; i++) {
        uvec4 lanes = subgroupBallot((bits >> i & 1u) != 0u);
        other |= uint(subgroupBallotBitExtract(lanes, gl_SubgroupInvocationID ^ 1u)) << i;
    }
    return uintBitsToFloat(other);
}

uint matrix_row() {
    return matrix_lane() / 2u;
}

uint matrix_side() {
    return matrix_lane() % 2u;
}

// Vectors of eight columns that are the lane's, two of each, and those of sixteen rows.
#define COLUMN(array, first, stride, j) array[(first) + (8u * matrix_side() + j) * (stride)], array[(first) + (8u * matrix_side() + j) * (stride) + 1u]
#define FOUR_COLUMNS(array, first, stride, j) COLUMN(array, first, stride, j), COLUMN(array, first, stride, j + 1u), \
                                              COLUMN(array, first, stride, j + 2u), COLUMN(array, first, stride, j + 3u)
#define ROW_OF_B(array, first, stride, i) array[(first) + (i) * (stride) + matrix_side()]
#define FOUR_ROWS_OF_B(array, first, stride, i) ROW_OF_B(array, first, stride, i), ROW_OF_B(array, first, stride, i + 1u), \
                                                ROW_OF_B(array, first, stride, i + 2u), ROW_OF_B(array, first, stride, i + 3u)

#define LOAD_A(array, first, stride) \
    MatrixA(uvec4[2](array[(first) + matrix_row() * (stride)], array[(first) + matrix_row() * (stride) + 1u]))
#define LOAD_B_COLUMNS(array, first, stride) \
    MatrixB(uvec4[16](FOUR_COLUMNS(array, first, stride, 0u), FOUR_COLUMNS(array, first, stride, 4u)), true)
#define LOAD_B_ROWS(array, first, stride) \
    MatrixB(uvec4[16](FOUR_ROWS_OF_B(array, first, stride, 0u), FOUR_ROWS_OF_B(array, first, stride, 4u), \
                      FOUR_ROWS_OF_B(array, first, stride, 8u), FOUR_ROWS_OF_B(array, first, stride, 12u)), false)
#define C_AT(first, stride) ((first) + matrix_row() * (stride) + 2u * matrix_side())
#define LOAD_C(array, first, stride) \
    MatrixC(vec4[2](uintBitsToFloat(array[C_AT(first, stride)]), uintBitsToFloat(array[C_AT(first, stride) + 1u])))
#define STORE_C(array, first, c, stride) \
    array[C_AT(first, stride)] = floatBitsToUint((c).half_row[0]); \
    array[C_AT(first, stride) + 1u] = floatBitsToUint((c).half_row[1])

// Element i of a vector of eight halves.
float half_at(uvec4 eight, uint i) {
    vec2 pair = unpackHalf2x16(eight[i / 2u]);
    return i % 2u == 0u ? pair.x : pair.y;
}

MatrixC multiply_add(MatrixA a, MatrixB b, MatrixC c) {
    for (uint j = 0u; j < 8u; j++) {
        float sum = c.half_row[j / 4u][j % 4u];
        for (uint i = 0u; i < 16u; i++) {
            float w = b.by_columns ? half_at(b.half_of[2u * j + i / 8u], i % 8u) : half_at(b.half_of[i], j);
            sum += half_at(a.row[i / 8u], i % 8u) * w;
        }
        c.half_row[j / 4u][j % 4u] = sum;
    }
    return c;
}

MatrixC filled_c(float x) {
    return MatrixC(vec4[2](vec4(x), vec4(x)));
}

#endif
