/* unit.c - rows as directions: each divided by its length. */
#include <math.h>

#include "nn/loops.h"
#include "nn/ops.h"

static const float LEAST = 1e-12f; /* of the square of a length, as TensorFlow has it */

typedef struct unit_node {
    tape_node node;
    float
        *factor; /* 1 / length of each row; negative for rows that were too short, whose factor does not depend on x */
} unit_node;

/* to += factor (from - y (y from)) */
SIMD_CLONES static void add_across(size_t n, const float *restrict from, const float *restrict y, float factor,
                                   float slope, float *restrict to) {
    for (size_t i = 0; i < n; i++) to[i] += factor * (from[i] - y[i] * slope);
}

static void unit_backward(tape *t, tape_node *node) {
    const unit_node *n = (unit_node *)node;
    const tensor *out = node->out;
    size_t cols = out->cols;
    float *to = tape_grad(t, node->in[0]);
    for (size_t r = 0, i = 0; to != NULL && r < out->rows; r++, i += cols) {
        const float *from = out->grad + i, *y = out->data + i;
        float slope = n->factor[r] > 0 ? loop_dot(cols, from, y) : 0;
        add_across(cols, from, y, fabsf(n->factor[r]), slope, to + i);
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
        factor[r] = square > LEAST ? 1.0f / sqrtf(square) : -1.0f / sqrtf(LEAST);
        loop_scale(cols, fabsf(factor[r]), x->data + i, out->data + i);
    }
    unit_node *n = tape_record(t, out, unit_backward, sizeof *n);
    if (n == NULL) return out;
    n->node.in[0] = x;
    n->factor = factor;
    return out;
}
