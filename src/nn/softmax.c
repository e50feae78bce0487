/* softmax.c - rows of numbers as rows of shares. */
#include "nn/loops.h"
#include "nn/ops.h"

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
    tape_node *n = tape_note(t, out, softmax_backward, sizeof *n);
    if (n != NULL) n->in[0] = x;
    return out;
}
