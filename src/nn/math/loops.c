/* loops.c - inner loops, each written so that gcc vectorises it without changing the order of sums. */
#include "nn/math/loops.h"

#include <math.h>
#include <string.h>

#include "nn/math/vmath.h"

SIMD_CLONES void loop_fill(size_t n, float value, float *y) {
    for (size_t i = 0; i < n; i++) y[i] = value;
}

SIMD_CLONES void loop_add(size_t n, const float *restrict x, float *restrict y) {
    for (size_t i = 0; i < n; i++) y[i] += x[i];
}

/* Magnitudes are ordered as their bits are, and NaN follows infinity. */
SIMD_CLONES bool loop_is_bounded(size_t n, float bound, const float *x) {
    uint32_t bad = 0, limit;
    memcpy(&limit, &bound, sizeof limit);
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        bad |= (bits & 0x7fffffff) > limit;
    }
    return bad == 0;
}

SIMD_CLONES void loop_add_scaled(size_t n, float a, const float *restrict x, float *restrict y) {
    for (size_t i = 0; i < n; i++) y[i] += a * x[i];
}

SIMD_CLONES void loop_add_product(size_t n, const float *a, const float *b, float *restrict y) {
    for (size_t i = 0; i < n; i++) y[i] += a[i] * b[i];
}

SIMD_CLONES void loop_scale(size_t n, float a, const float *x, float *y) {
    for (size_t i = 0; i < n; i++) y[i] = a * x[i];
}

SIMD_CLONES void loop_sum_of(size_t n, const float *a, const float *b, float *restrict y) {
    for (size_t i = 0; i < n; i++) y[i] = a[i] + b[i];
}

SIMD_CLONES void loop_difference(size_t n, const float *a, const float *b, float *restrict y) {
    for (size_t i = 0; i < n; i++) y[i] = a[i] - b[i];
}

SIMD_CLONES void loop_product(size_t n, const float *a, const float *b, float *restrict y) {
    for (size_t i = 0; i < n; i++) y[i] = a[i] * b[i];
}

/* Lanes are added as a tree: the order does not depend on the width of the registers. lane: (LANES) */
static float add_lanes(const float *lane) {
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

SIMD_CLONES void loop_silu(size_t n, float *x) {
    for (size_t i = 0; i < n; i++) x[i] *= vmath_sigmoid(x[i]);
}

SIMD_CLONES float loop_sum(size_t n, const float *x) {
    float lane[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (size_t k = 0; k < LANES; k++) lane[k] += x[i + k];
    for (size_t k = 0; i < n; i++, k++) lane[k] += x[i];
    return add_lanes(lane);
}

SIMD_CLONES float loop_dot(size_t n, const float *x, const float *y) {
    float lane[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (size_t k = 0; k < LANES; k++) lane[k] += x[i + k] * y[i + k];
    for (size_t k = 0; i < n; i++, k++) lane[k] += x[i] * y[i];
    return add_lanes(lane);
}

SIMD_CLONES float loop_max(size_t n, const float *x) {
    float lane[LANES];
    for (size_t k = 0; k < LANES; k++) lane[k] = -INFINITY;
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (size_t k = 0; k < LANES; k++) lane[k] = x[i + k] > lane[k] ? x[i + k] : lane[k];
    float largest = -INFINITY;
    for (; i < n; i++) largest = x[i] > largest ? x[i] : largest;
    for (size_t k = 0; k < LANES; k++) largest = lane[k] > largest ? lane[k] : largest;
    return largest;
}

SIMD_CLONES static void exponentials(size_t n, float largest, const float *x, float *y) {
    for (size_t i = 0; i < n; i++) y[i] = vmath_exp(x[i] - largest);
}

void loop_softmax(size_t n, const float *x, float *y) {
    float largest = loop_max(n, x);
    if (largest == -INFINITY) {
        loop_fill(n, 0, y);
        return;
    }
    exponentials(n, largest, x, y);
    loop_scale(n, 1.0f / loop_sum(n, y), y, y);
}

SIMD_CLONES static void add_softmax_dx(size_t n, const float *y, const float *dy, float mean, float *restrict dx) {
    for (size_t i = 0; i < n; i++) dx[i] += y[i] * (dy[i] - mean);
}

void loop_softmax_backward(size_t n, const float *y, const float *dy, float *dx) {
    add_softmax_dx(n, y, dy, loop_dot(n, y, dy), dx);
}

SIMD_CLONES void loop_add_column_sums(size_t rows, size_t cols, const float *restrict x, float *restrict sums) {
    for (size_t r = 0; r < rows; r++, x += cols)
        for (size_t c = 0; c < cols; c++) sums[c] += x[c];
}

SIMD_CLONES void loop_relu_backward(size_t n, const float *restrict y, float *restrict gradient) {
    for (size_t i = 0; i < n; i++) gradient[i] = y[i] > 0 ? gradient[i] : 0;
}

SIMD_CLONES void loop_relu_backward_sums(size_t rows, size_t cols, const float *restrict y, float *restrict gradient,
                                         float *restrict sums) {
    for (size_t r = 0; r < rows; r++, y += cols, gradient += cols)
        for (size_t c = 0; c < cols; c++) {
            float given = gradient[c],
                  kept = y[c] > 0 ? given : 0; /* a value: clang would make a branch of it otherwise */
            gradient[c] = kept;
            sums[c] += kept;
        }
}
