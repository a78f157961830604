// Element numbers to offsets. In: a row-major element number, extents and strides as constant arrays of RANK. Out: an offset.
// Define RANK before this. Promise: strides may be zero (broadcast) or negative (reversed); extents are never zero.
#ifndef INDEX_GLSL
#define INDEX_GLSL
#ifndef RANK
#error "define RANK"
#endif

int strided(uint i, const uint dims[RANK], const int strides[RANK]) {
    int at = 0;
    [[unroll]] for (int d = RANK - 1; d >= 0; d--) {
        at += int(i % dims[d]) * strides[d];
        i /= dims[d];
    }
    return at;
}

#endif
