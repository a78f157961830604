// Indices as ONNX has them. In: an index and the extent of its axis. Out: a place on the axis.
// Promise: negative indices count from the end; what is out of range is clamped.
#ifndef PLACE_GLSL
#define PLACE_GLSL

uint place(int index, const int extent) {
    return uint(clamp(index < 0 ? index + extent : index, 0, extent - 1));
}

#endif
