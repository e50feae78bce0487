/* batch_norm.c - each column to mean 0 and variance 1.
 *
 * While training, mean and variance are those of the rows on this tape: of one part of the batch (parallel.h), which is
 * the same for any number of threads. Running mean and variance are state; a step notes in their gradients what to add
 * to them, as shares of all parts, and parallel_update_state does it. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "nn/loops.h"
#include "nn/ops.h"

static const float EPSILON = 1e-5f;

typedef struct batch_norm_node {
    tape_node node; /* in: x, gain, offset (both may be NULL) */
    float *unit;    /* x before gain and offset */
    float *factor;  /* 1 / deviation of each column */
} batch_norm_node;

/* --- Backward ------------------------------------------------------------------------------------------------ */

/* to += factor gain (from - mean of from - unit * mean of from unit), column by column */
SIMD_CLONES static void add_to_input(size_t cols, const float *restrict from, const float *restrict unit,
                                     const float *restrict factor, const float *restrict mean,
                                     const float *restrict slope, float *restrict to) {
    for (size_t c = 0; c < cols; c++) to[c] += factor[c] * (from[c] - mean[c] - unit[c] * slope[c]);
}

static void batch_norm_backward(tape *t, tape_node *node) {
    const batch_norm_node *n = (batch_norm_node *)node;
    tensor *x = node->in[0], *gain = node->in[1], *offset = node->in[2];
    const float *from = node->out->grad;
    size_t cols = x->cols, size = tensor_size(x);
    float *mean = tape_alloc(t, 2 * cols, sizeof *mean);
    float *to_x = tape_grad(t, x), *to_gain = gain == NULL ? NULL : tape_grad(t, gain);
    float *to_offset = offset == NULL ? NULL : tape_grad(t, offset);
    if (t->has_failed) return;
    float *slope = mean + cols;
    memset(mean, 0, 2 * cols * sizeof *mean);
    loop_add_column_sums(x->rows, cols, from, mean);
    for (size_t i = 0; i < size; i += cols) loop_add_product(cols, from + i, n->unit + i, slope);
    if (to_offset != NULL) loop_add(cols, mean, to_offset);
    if (to_gain != NULL) loop_add(cols, slope, to_gain);
    if (to_x == NULL) return;
    loop_scale(2 * cols, 1.0f / (float)x->rows, mean, mean);
    if (gain != NULL) loop_product(cols, n->factor, gain->data, n->factor);
    for (size_t i = 0; i < size; i += cols) add_to_input(cols, from + i, n->unit + i, n->factor, mean, slope, to_x + i);
}

/* --- Forward ------------------------------------------------------------------------------------------------- */

SIMD_CLONES static void add_squares(size_t cols, const float *restrict x, const float *restrict mean,
                                    float *restrict sums) {
    for (size_t c = 0; c < cols; c++) sums[c] += (x[c] - mean[c]) * (x[c] - mean[c]);
}

static void measure(const tensor *x, float *mean, float *variance) {
    memset(mean, 0, x->cols * sizeof *mean);
    memset(variance, 0, x->cols * sizeof *variance);
    if (x->rows == 0) return;
    loop_add_column_sums(x->rows, x->cols, x->data, mean);
    loop_scale(x->cols, 1.0f / (float)x->rows, mean, mean);
    for (size_t i = 0; i < tensor_size(x); i += x->cols) add_squares(x->cols, x->data + i, mean, variance);
    loop_scale(x->cols, 1.0f / (float)x->rows, variance, variance);
}

/* How far the running value moves, in its gradient; `scale` makes the variance of a sample that of what it is from. */
static void learn(tape *t, tensor *running, const float *measured, float scale, float momentum) {
    float *grad = tape_grad(t, running);
    for (size_t c = 0; grad != NULL && c < running->cols; c++)
        grad[c] += t->state_share * momentum * (measured[c] * scale - running->data[c]);
}

SIMD_CLONES static void normalize(size_t cols, const float *restrict x, const float *restrict mean,
                                  const float *restrict factor, float *restrict unit) {
    for (size_t c = 0; c < cols; c++) unit[c] = (x[c] - mean[c]) * factor[c];
}

static void finish(const tensor *x, const float *unit, const tensor *gain, const tensor *offset, float *y) {
    for (size_t i = 0; i < tensor_size(x); i += x->cols) {
        if (gain == NULL) {
            memcpy(y + i, unit + i, x->cols * sizeof *y);
            continue;
        }
        memcpy(y + i, offset->data, x->cols * sizeof *y);
        loop_add_product(x->cols, unit + i, gain->data, y + i);
    }
}

tensor *nn_batch_norm(tape *t, tensor *x, tensor *gain, tensor *offset, tensor *mean, tensor *variance,
                      float momentum) {
    if (t->has_failed) return NULL;
    size_t cols = x->cols;
    assert(mean->cols == cols && variance->cols == cols && (gain == NULL) == (offset == NULL));
    assert(gain == NULL || (gain->cols == cols && offset->cols == cols));
    tensor *out = tape_tensor(t, x->rows, x->cols, x->needs_grad || (gain != NULL && gain->needs_grad));
    float *unit = tape_alloc(t, tensor_size(x), sizeof *unit), *factor = tape_alloc(t, 3 * cols, sizeof *factor);
    if (factor == NULL) return NULL;
    const float *used_mean = mean->data, *used_variance = variance->data;
    if (t->mode == TAPE_TRAIN) {
        used_mean = factor + cols;
        used_variance = factor + 2 * cols;
        measure(x, factor + cols, factor + 2 * cols);
        learn(t, mean, used_mean, 1, momentum);
        learn(t, variance, used_variance, x->rows > 1 ? (float)x->rows / (float)(x->rows - 1) : 1, momentum);
    }
    for (size_t c = 0; c < cols; c++) factor[c] = 1.0f / sqrtf(used_variance[c] + EPSILON);
    for (size_t i = 0; i < tensor_size(x); i += cols) normalize(cols, x->data + i, used_mean, factor, unit + i);
    finish(x, unit, gain, offset, out->data);
    batch_norm_node *n = tape_record(t, out, batch_norm_backward, sizeof *n);
    if (n == NULL) return out;
    n->node.in[0] = x;
    n->node.in[1] = gain;
    n->node.in[2] = offset;
    n->unit = unit;
    n->factor = factor;
    return out;
}
