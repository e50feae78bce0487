/* norm.c - layer norm: each row to mean 0 and variance 1, then a gain and an offset for each column. */
#include <assert.h>
#include <math.h>

#include "nn/loops.h"
#include "nn/ops.h"

static const float EPSILON = 1e-5f; /* keeps rows of equal numbers from dividing by 0 */

typedef struct norm_node {
    tape_node node; /* in: x, gain, offset */
    float *unit;    /* rows before gain and offset */
    float *factor;  /* 1 / deviation of each row */
} norm_node;

SIMD_CLONES static void normalize(size_t n, const float *restrict x, float mean, float factor,
                                  const float *restrict gain, const float *restrict offset, float *restrict unit,
                                  float *restrict y) {
    for (size_t i = 0; i < n; i++) {
        unit[i] = (x[i] - mean) * factor;
        y[i] = unit[i] * gain[i] + offset[i];
    }
}

SIMD_CLONES static void shifted(size_t n, const float *restrict x, float mean, float *restrict y) {
    for (size_t i = 0; i < n; i++) y[i] = x[i] - mean;
}

/* to += factor (d - mean of d - unit * mean of d unit), with d = from * gain */
SIMD_CLONES static void add_to_input(size_t n, const float *restrict d, const float *restrict unit, float factor,
                                     float mean, float slope, float *restrict to) {
    for (size_t i = 0; i < n; i++) to[i] += factor * (d[i] - mean - unit[i] * slope);
}

static void norm_backward(tape *t, tape_node *node) {
    const norm_node *n = (norm_node *)node;
    tensor *x = node->in[0], *out = node->out;
    const float *gain = node->in[1]->data;
    size_t cols = x->cols;
    float *to_x = tape_grad(t, x), *to_gain = tape_grad(t, node->in[1]), *to_offset = tape_grad(t, node->in[2]);
    float *d = tape_alloc(t, cols, sizeof *d);
    if (t->has_failed) return;
    for (size_t r = 0, i = 0; r < x->rows; r++, i += cols) {
        const float *from = out->grad + i, *unit = n->unit + i;
        if (to_gain != NULL) loop_add_product(cols, from, unit, to_gain);
        if (to_offset != NULL) loop_add(cols, from, to_offset);
        if (to_x == NULL) continue;
        loop_product(cols, from, gain, d);
        float mean = loop_sum(cols, d) / (float)cols, slope = loop_dot(cols, d, unit) / (float)cols;
        add_to_input(cols, d, unit, n->factor[r], mean, slope, to_x + i);
    }
}

tensor *nn_layer_norm(tape *t, tensor *x, tensor *gain, tensor *offset) {
    if (t->has_failed) return NULL;
    size_t cols = x->cols;
    assert(gain->rows == 1 && gain->cols == cols && offset->rows == 1 && offset->cols == cols);
    tensor *out = tape_tensor(t, x->rows, x->cols, x->needs_grad || gain->needs_grad || offset->needs_grad);
    float *unit = tape_alloc(t, tensor_size(x), sizeof *unit), *factor = tape_alloc(t, x->rows, sizeof *factor);
    if (factor == NULL) return NULL;
    for (size_t r = 0, i = 0; r < x->rows; r++, i += cols) {
        float mean = loop_sum(cols, x->data + i) / (float)cols;
        shifted(cols, x->data + i, mean, unit + i);
        factor[r] = 1.0f / sqrtf(loop_dot(cols, unit + i, unit + i) / (float)cols + EPSILON);
        normalize(cols, x->data + i, mean, factor[r], gain->data, offset->data, unit + i, out->data + i);
    }
    norm_node *n = tape_record(t, out, norm_backward, sizeof *n);
    if (n == NULL) return out;
    n->node.in[0] = x;
    n->node.in[1] = gain;
    n->node.in[2] = offset;
    n->unit = unit;
    n->factor = factor;
    return out;
}
