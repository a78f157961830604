// What a scatter does where it meets a value. In: both values as words, a code (the compiler's ScatterOp). Out: a word.
#ifndef MERGE_GLSL
#define MERGE_GLSL

const uint SCATTER_SET = 0u;
const uint SCATTER_ADD = 1u;
const uint SCATTER_MUL = 2u;
const uint SCATTER_MAX = 3u;
const uint SCATTER_MIN = 4u;

uint merge(const uint op, const bool is_float, uint old, uint update) {
    if (op == SCATTER_SET) {
        return update;
    }
    if (is_float) {
        float a = uintBitsToFloat(old);
        float b = uintBitsToFloat(update);
        float y = op == SCATTER_ADD ? a + b : op == SCATTER_MUL ? a * b : op == SCATTER_MAX ? max(a, b) : min(a, b);
        return floatBitsToUint(y);
    }
    int a = int(old);
    int b = int(update);
    return uint(op == SCATTER_ADD ? a + b : op == SCATTER_MUL ? a * b : op == SCATTER_MAX ? max(a, b) : min(a, b));
}

#endif
