// What the query rows of a workgroup see of the keys. In: positions, a window, an additive mask. Out: the keys' range for a row.
// Define HEAD_DIM before this; Q_ROW and KV_ROW where rows of queries, or of keys and values, do not follow each other at once.
// Promise: row i of a workgroup sees keys sight_begin(i)..sight_end(i), no others.
#ifndef SIGHT_GLSL
#define SIGHT_GLSL

// A score, bent where SOFTCAP is defined.
float bent_score(float score) {
#ifdef SOFTCAP
    return SOFTCAP * tanh(clamp(score / SOFTCAP, -10.0, 10.0));
#else
    return score;
#endif
}

#ifndef Q_ROW
#define Q_ROW HEAD_DIM
#endif
#ifndef KV_ROW
#define KV_ROW HEAD_DIM
#endif

const float SCORE_FLOOR = -3.0e38;
// Stands for a key that the mask hides with minus infinity: it counts for nothing, while large finite values leave a row its mean.
const float SCORE_HIDDEN = -3.3e38;
const float FLOAT_LOWEST = -3.4028234663852886e38;

struct Sight {
    // Position of row 0 among the keys, and how many keys exist.
    uint position;
    uint keys;
    bool causal;
    // Only the last `window` keys; 0: no window.
    uint window;
};

uint sight_end(Sight s, uint row) {
    return s.causal ? min(s.position + row + 1u, s.keys) : s.keys;
}

uint sight_begin(Sight s, uint row) {
    uint end = s.position + row + 1u;
    return s.window > 0u && end > s.window ? end - s.window : 0u;
}

// Mask element (row, key) stands at at + row * row_stride + key * key_stride.
struct MaskView {
    Floats data;
    uint at;
    uint row_stride;
    uint key_stride;
};

// A score with what the mask adds to it.
float masked_score(float score, MaskView mask, uint row, uint key) {
    float added = mask.data.v[mask.at + row * mask.row_stride + key * mask.key_stride];
    return added < FLOAT_LOWEST ? SCORE_HIDDEN : max(score + added, SCORE_FLOOR);
}

#endif
