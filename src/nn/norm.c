/* norm.c - normalisation: layer norm and L2 norm of rows, batch norm of columns.
 *
 * Shapes: x, out and their gradients are (N, C); gain, offset and running statistics are (1, C). */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "nn/math/loops.h"
#include "nn/ops.h"

static const float EPSILON = 1e-5f; /* added to variances: constant rows or columns do not divide by 0 */

/* --- Layer norm ---------------------------------------------------------------------------------------------- */

typedef struct layer_norm_node {
    tape_node node;    /* in: x (N, C), gain (1, C), offset (1, C) */
    float *normalized; /* (N, C): x with mean 0 and variance 1, before gain and offset */
    float *rstd;       /* (N): 1 / standard deviation of each row */
} layer_norm_node;

/* One row of layer norm, all arrays (C). */
typedef struct norm_row {
    const float *x, *gain, *offset;
    float mean, rstd;
    float *normalized, *y;
} norm_row;

SIMD_CLONES static void layer_norm_row(size_t cols, const norm_row *row) {
    const float *restrict x = row->x, *restrict gain = row->gain, *restrict offset = row->offset;
    const float mean = row->mean, rstd = row->rstd;
    float *restrict normalized = row->normalized, *restrict y = row->y;
    for (size_t c = 0; c < cols; c++) {
        normalized[c] = (x[c] - mean) * rstd;
        y[c] = normalized[c] * gain[c] + offset[c];
    }
}

/* y (C) = x (C) - mean */
SIMD_CLONES static void subtract(size_t cols, const float *restrict x, float mean, float *restrict y) {
    for (size_t c = 0; c < cols; c++) y[c] = x[c] - mean;
}

/* dx (C) += rstd (d - mean(d) - normalized * mean(d normalized)), with d (C) = dout gain. slope: the last mean. */
SIMD_CLONES static void layer_norm_dx(size_t cols, const float *restrict d, const float *restrict normalized,
                                      float rstd, float mean, float slope, float *restrict dx) {
    for (size_t c = 0; c < cols; c++) dx[c] += rstd * (d[c] - mean - normalized[c] * slope);
}

static void layer_norm_backward(tape *t, tape_node *node) {
    const layer_norm_node *n = (layer_norm_node *)node;
    tensor *x = node->in[0], *out = node->out;
    const float *gain = node->in[1]->data;
    size_t cols = x->cols;
    float *dx = tape_grad(t, x), *dgain = tape_grad(t, node->in[1]), *doffset = tape_grad(t, node->in[2]);
    float *d = tape_alloc(t, cols, sizeof *d);
    if (t->has_failed) return;
    for (size_t r = 0, i = 0; r < x->rows; r++, i += cols) {
        const float *dout = out->grad + i, *normalized = n->normalized + i;
        if (dgain != NULL) loop_add_product(cols, dout, normalized, dgain);
        if (doffset != NULL) loop_add(cols, dout, doffset);
        if (dx == NULL) continue;
        loop_product(cols, dout, gain, d);
        float mean = loop_sum(cols, d) / (float)cols, slope = loop_dot(cols, d, normalized) / (float)cols;
        layer_norm_dx(cols, d, normalized, n->rstd[r], mean, slope, dx + i);
    }
}

tensor *nn_layer_norm(tape *t, tensor *x, tensor *gain, tensor *offset) {
    if (t->has_failed) return NULL;
    size_t cols = x->cols;
    assert(gain->rows == 1 && gain->cols == cols && offset->rows == 1 && offset->cols == cols);
    tensor *out = tape_tensor(t, x->rows, x->cols, x->needs_grad || gain->needs_grad || offset->needs_grad);
    float *normalized = tape_alloc(t, tensor_size(x), sizeof *normalized), *rstd = tape_alloc(t, x->rows, sizeof *rstd);
    if (rstd == NULL) return NULL;
    for (size_t r = 0, i = 0; r < x->rows; r++, i += cols) {
        float mean = loop_sum(cols, x->data + i) / (float)cols;
        subtract(cols, x->data + i, mean, normalized + i);
        rstd[r] = 1.0f / sqrtf(loop_dot(cols, normalized + i, normalized + i) / (float)cols + EPSILON);
        layer_norm_row(
            cols, &(norm_row){x->data + i, gain->data, offset->data, mean, rstd[r], normalized + i, out->data + i});
    }
    layer_norm_node *n = tape_record(t, out, layer_norm_backward, sizeof *n);
    if (n == NULL) return out;
    n->node.in[0] = x;
    n->node.in[1] = gain;
    n->node.in[2] = offset;
    n->normalized = normalized;
    n->rstd = rstd;
    return out;
}

/* --- Batch norm ---------------------------------------------------------------------------------------------- */

/* While training, mean and variance are those of the rows on this tape: of one part of the batch (parallel.h), which
 * does not depend on the number of threads. Running mean and variance are state: a step stores in their gradients what
 * to add to them, as a share of all parts, and parallel_update_state adds it. */

typedef struct batch_norm_node {
    tape_node node;    /* in: x (N, C), gain and offset (1, C) or both NULL */
    float *normalized; /* (N, C): x before gain and offset */
    float *rstd;       /* (C): 1 / standard deviation of each column */
} batch_norm_node;

/* sums (C) += (x - mean)^2 of one row x (C) */
SIMD_CLONES static void add_squares(size_t cols, const float *restrict x, const float *restrict mean,
                                    float *restrict sums) {
    for (size_t c = 0; c < cols; c++) sums[c] += (x[c] - mean[c]) * (x[c] - mean[c]);
}

/* mean and variance (C) of the columns of x (N, C). */
static void find_statistics(const tensor *x, float *mean, float *variance) {
    memset(mean, 0, x->cols * sizeof *mean);
    memset(variance, 0, x->cols * sizeof *variance);
    if (x->rows == 0) return;
    loop_add_column_sums(x->rows, x->cols, x->data, mean);
    loop_scale(x->cols, 1.0f / (float)x->rows, mean, mean);
    for (size_t i = 0; i < tensor_size(x); i += x->cols) add_squares(x->cols, x->data + i, mean, variance);
    loop_scale(x->cols, 1.0f / (float)x->rows, variance, variance);
}

/* Adds the change of a running value (1, C) to its gradient. `scale` makes a sample variance unbiased. */
static void update_running(tape *t, tensor *running, const float *measured, float scale, float momentum) {
    float *grad = tape_grad(t, running);
    for (size_t c = 0; grad != NULL && c < running->cols; c++)
        grad[c] += t->state_share * momentum * (measured[c] * scale - running->data[c]);
}

/* normalized = (x - mean) rstd of one row, all arrays (C). */
SIMD_CLONES static void normalize(size_t cols, const float *restrict x, const float *restrict mean,
                                  const float *restrict rstd, float *restrict normalized) {
    for (size_t c = 0; c < cols; c++) normalized[c] = (x[c] - mean[c]) * rstd[c];
}

/* y (N, C) = normalized (N, C) gain (1, C) + offset (1, C); x only for its shape. */
static void scale_and_shift(const tensor *x, const float *normalized, const tensor *gain, const tensor *offset,
                            float *y) {
    for (size_t i = 0; i < tensor_size(x); i += x->cols) {
        if (gain == NULL) {
            memcpy(y + i, normalized + i, x->cols * sizeof *y);
            continue;
        }
        memcpy(y + i, offset->data, x->cols * sizeof *y);
        loop_add_product(x->cols, normalized + i, gain->data, y + i);
    }
}

/* One row: dx += factor (dout - mean - normalized slope), with factor = rstd gain and slope = mean(dout normalized) of
 * each column; all arrays (C). */
SIMD_CLONES static void batch_norm_dx(size_t cols, const float *restrict dout, const float *restrict normalized,
                                      const float *restrict factor, const float *restrict mean,
                                      const float *restrict slope, float *restrict dx) {
    for (size_t c = 0; c < cols; c++) dx[c] += factor[c] * (dout[c] - mean[c] - normalized[c] * slope[c]);
}

static void batch_norm_backward(tape *t, tape_node *node) {
    const batch_norm_node *n = (batch_norm_node *)node;
    tensor *x = node->in[0], *gain = node->in[1], *offset = node->in[2];
    const float *dout = node->out->grad;
    size_t cols = x->cols, size = tensor_size(x);
    float *mean = tape_alloc(t, 2 * cols, sizeof *mean);
    float *dx = tape_grad(t, x), *dgain = gain == NULL ? NULL : tape_grad(t, gain);
    float *doffset = offset == NULL ? NULL : tape_grad(t, offset);
    if (t->has_failed) return;
    float *slope = mean + cols;
    memset(mean, 0, 2 * cols * sizeof *mean);
    loop_add_column_sums(x->rows, cols, dout, mean);
    for (size_t i = 0; i < size; i += cols) loop_add_product(cols, dout + i, n->normalized + i, slope);
    if (doffset != NULL) loop_add(cols, mean, doffset);
    if (dgain != NULL) loop_add(cols, slope, dgain);
    if (dx == NULL) return;
    loop_scale(2 * cols, 1.0f / (float)x->rows, mean, mean);
    if (gain != NULL) loop_product(cols, n->rstd, gain->data, n->rstd);
    for (size_t i = 0; i < size; i += cols)
        batch_norm_dx(cols, dout + i, n->normalized + i, n->rstd, mean, slope, dx + i);
}

tensor *nn_batch_norm(tape *t, tensor *x, tensor *gain, tensor *offset, tensor *mean, tensor *variance,
                      float momentum) {
    if (t->has_failed) return NULL;
    size_t cols = x->cols;
    assert(mean->cols == cols && variance->cols == cols && (gain == NULL) == (offset == NULL));
    assert(gain == NULL || (gain->cols == cols && offset->cols == cols));
    tensor *out = tape_tensor(t, x->rows, x->cols, x->needs_grad || (gain != NULL && gain->needs_grad));
    float *normalized = tape_alloc(t, tensor_size(x), sizeof *normalized);
    float *rstd = tape_alloc(t, 3 * cols, sizeof *rstd); /* followed by the mean and variance of this part */
    if (rstd == NULL) return NULL;
    const float *used_mean = mean->data, *used_variance = variance->data;
    if (t->mode == TAPE_TRAIN) {
        used_mean = rstd + cols;
        used_variance = rstd + 2 * cols;
        find_statistics(x, rstd + cols, rstd + 2 * cols);
        update_running(t, mean, used_mean, 1, momentum);
        update_running(t, variance, used_variance, x->rows > 1 ? (float)x->rows / (float)(x->rows - 1) : 1, momentum);
    }
    for (size_t c = 0; c < cols; c++) rstd[c] = 1.0f / sqrtf(used_variance[c] + EPSILON);
    for (size_t i = 0; i < tensor_size(x); i += cols) normalize(cols, x->data + i, used_mean, rstd, normalized + i);
    scale_and_shift(x, normalized, gain, offset, out->data);
    batch_norm_node *n = tape_record(t, out, batch_norm_backward, sizeof *n);
    if (n == NULL) return out;
    n->node.in[0] = x;
    n->node.in[1] = gain;
    n->node.in[2] = offset;
    n->normalized = normalized;
    n->rstd = rstd;
    return out;
}

/* --- L2 norm ------------------------------------------------------------------------------------------------- */

static const float MIN_SQUARE = 1e-12f; /* of a length, as in TensorFlow */

typedef struct l2_node {
    tape_node node; /* in: x (N, C) */
    float *factor;  /* (N): 1 / length of each row; negative for rows below the minimum, whose factor is a constant */
} l2_node;

/* One row: dx += factor (dout - y (y . dout)), slope: the dot product; all arrays (C). */
SIMD_CLONES static void l2_dx(size_t cols, const float *restrict dout, const float *restrict y, float factor,
                              float slope, float *restrict dx) {
    for (size_t c = 0; c < cols; c++) dx[c] += factor * (dout[c] - y[c] * slope);
}

static void l2_backward(tape *t, tape_node *node) {
    const l2_node *n = (l2_node *)node;
    const tensor *out = node->out;
    size_t cols = out->cols;
    float *dx = tape_grad(t, node->in[0]);
    for (size_t r = 0, i = 0; dx != NULL && r < out->rows; r++, i += cols) {
        const float *dout = out->grad + i, *y = out->data + i;
        float slope = n->factor[r] > 0 ? loop_dot(cols, dout, y) : 0;
        l2_dx(cols, dout, y, fabsf(n->factor[r]), slope, dx + i);
    }
}

tensor *nn_l2_normalize(tape *t, tensor *x) {
    if (t->has_failed) return NULL;
    size_t cols = x->cols;
    tensor *out = tape_tensor(t, x->rows, x->cols, x->needs_grad);
    float *factor = tape_alloc(t, x->rows, sizeof *factor);
    if (factor == NULL) return NULL;
    for (size_t r = 0, i = 0; r < x->rows; r++, i += cols) {
        float square = loop_dot(cols, x->data + i, x->data + i);
        factor[r] = square > MIN_SQUARE ? 1.0f / sqrtf(square) : -1.0f / sqrtf(MIN_SQUARE);
        loop_scale(cols, fabsf(factor[r]), x->data + i, out->data + i);
    }
    l2_node *n = tape_record(t, out, l2_backward, sizeof *n);
    if (n == NULL) return out;
    n->node.in[0] = x;
    n->factor = factor;
    return out;
}
