#include "nn/block.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "nn/loops.h"

enum { PIECE = 1024, LINE = 64 };

float *block_new(size_t count) {
    if (count > (SIZE_MAX - LINE) / sizeof(float)) return NULL;
    size_t bytes = (count * sizeof(float) + LINE) / LINE * LINE;
    return aligned_alloc(LINE, bytes);
}

double block_norm(const float *x, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i += PIECE) sum += loop_dot(count - i < PIECE ? count - i : PIECE, x + i, x + i);
    return sqrt(sum);
}

double block_clip(float *x, size_t count, double limit) {
    double norm = block_norm(x, count);
    if (limit > 0 && norm > limit && isfinite(norm)) loop_scale(count, (float)(limit / norm), x, x);
    return norm;
}

SIMD_CLONES void block_average(float *restrict average, const float *restrict x, size_t count, double decay) {
    float rest = (float)(1 - decay);
    for (size_t i = 0; i < count; i++) average[i] += rest * (x[i] - average[i]);
}
