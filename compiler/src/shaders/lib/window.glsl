// Windows over spatial axes. In: an output position, a tap. Out: where the tap falls in a channel's plane.
// Define RANK, the lists X_DIMS, DIMS, KERNEL, STEPS, DILATIONS, BEGINS and their products PLANE_IN, PLANE_OUT, TAPS before this.
// Promise: a tap in the padding is -1.
#ifndef WINDOW_GLSL
#define WINDOW_GLSL
#if !defined(PLANE_IN) || !defined(PLANE_OUT) || !defined(TAPS)
#error "define PLANE_IN PLANE_OUT TAPS"
#endif

const int window_in[RANK] = int[](X_DIMS);
const uint window_out[RANK] = uint[](DIMS);
const uint window_kernel[RANK] = uint[](KERNEL);
const int window_steps[RANK] = int[](STEPS);
const int window_dilations[RANK] = int[](DILATIONS);
const int window_begins[RANK] = int[](BEGINS);

// Coordinates of the window's first tap, padding included.
int[RANK] window_origin(uint position) {
    int origin[RANK];
    [[unroll]] for (int d = RANK - 1; d >= 0; d--) {
        origin[d] = int(position % window_out[d]) * window_steps[d] - window_begins[d];
        position /= window_out[d];
    }
    return origin;
}

int window_tap(int origin[RANK], uint tap) {
    int at = 0;
    int stride = 1;
    bool inside = true;
    [[unroll]] for (int d = RANK - 1; d >= 0; d--) {
        int c = origin[d] + int(tap % window_kernel[d]) * window_dilations[d];
        tap /= window_kernel[d];
        inside = inside && c >= 0 && c < window_in[d];
        at += c * stride;
        stride *= window_in[d];
    }
    return inside ? at : -1;
}

#endif
