/* softmax.c - rows of numbers as rows of shares, and the largest of a row, smoothly. */
#include <math.h>

#include "nn/loops.h"
#include "nn/ops.h"
#include "nn/vmath.h"

static void softmax_backward(tape *t, tape_node *n) {
    float *grad = tape_grad(t, n->in[0]);
    size_t cols = n->out->cols;
    for (size_t i = 0; grad != NULL && i < tensor_size(n->out); i += cols)
        loop_softmax_backward(cols, n->out->data + i, n->out->grad + i, grad + i);
}

tensor *nn_softmax(tape *t, tensor *x) {
    if (t->has_failed) return NULL;
    tensor *out = tape_tensor(t, x->rows, x->cols, x->needs_grad);
    if (out == NULL) return NULL;
    for (size_t i = 0; i < tensor_size(x); i += x->cols) loop_softmax(x->cols, x->data + i, out->data + i);
    tape_node *n = tape_record(t, out, softmax_backward, sizeof *n);
    if (n != NULL) n->in[0] = x;
    return out;
}

typedef struct smooth_max_node {
    tape_node node;
    float sharpness;
} smooth_max_node;

static void smooth_max_backward(tape *t, tape_node *n) {
    const tensor *x = n->in[0];
    float *grad = tape_grad(t, n->in[0]), sharpness = ((smooth_max_node *)n)->sharpness;
    for (size_t i = 0; grad != NULL && i < tensor_size(x); i++) {
        size_t row = i / x->cols;
        grad[i] += n->out->grad[row] * vmath_exp(sharpness * (x->data[i] - n->out->data[row]));
    }
}

static float smooth_max(size_t n, const float *x, float sharpness) {
    float most = loop_max(n, x), sum = 0;
    for (size_t i = 0; i < n; i++) sum += vmath_exp(sharpness * (x[i] - most));
    return most + logf(sum) / sharpness;
}

tensor *nn_smooth_max(tape *t, tensor *x, float sharpness) {
    if (t->has_failed) return NULL;
    tensor *out = tape_tensor(t, x->rows, 1, x->needs_grad);
    if (out == NULL) return NULL;
    for (size_t i = 0; i < x->rows; i++) out->data[i] = smooth_max(x->cols, x->data + i * x->cols, sharpness);
    smooth_max_node *n = tape_record(t, out, smooth_max_backward, sizeof *n);
    if (n != NULL) {
        n->node.in[0] = x;
        n->sharpness = sharpness;
    }
    return out;
}
