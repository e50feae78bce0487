/* dropout.c - leaves out some elements at random while training, and makes up for it in the others. */
#include <assert.h>

#include "nn/loops.h"
#include "nn/ops.h"

/* The second input is the mask: 0, or 1 / (1 - rate). */
static void dropout_backward(tape *t, tape_node *n) {
    float *grad = tape_grad(t, n->in[0]);
    if (grad != NULL) loop_add_product(tensor_size(n->out), n->out->grad, n->in[1]->data, grad);
}

/* Two elements for each random number. */
void dropout_mask(rng *r, float rate, size_t count, float *mask) {
    const uint32_t limit = (uint32_t)((double)rate * 4294967296.0);
    const float kept = 1.0f / (1.0f - rate);
    uint64_t bits = 0;
    for (size_t i = 0; i < count; i++) {
        bits = i % 2 == 0 ? rng_next(r) : bits >> 32;
        mask[i] = (uint32_t)bits < limit ? 0 : kept;
    }
}

tensor *nn_dropout(tape *t, tensor *x, float rate) {
    if (t->has_failed) return NULL;
    assert(rate >= 0 && rate < 1);
    if (t->mode != TAPE_TRAIN || rate == 0) return x;
    tensor *mask = tape_tensor(t, x->rows, x->cols, false), *out = tape_tensor(t, x->rows, x->cols, x->needs_grad);
    if (out == NULL) return NULL;
    dropout_mask(&t->random, rate, tensor_size(x), mask->data);
    loop_product(tensor_size(x), x->data, mask->data, out->data);
    tape_node *n = tape_record(t, out, dropout_backward, sizeof *n);
    if (n == NULL) return out;
    n->in[0] = x;
    n->in[1] = mask;
    return out;
}
