/* elementwise.c - elementwise sums and products, with broadcast of a row or column; dropout; the sum of all elements.
 *
 * Shapes: x, y, out and their gradients are (N, C), a row is (1, C), a column (N, 1). */
#include <assert.h>

#include "nn/math/loops.h"
#include "nn/ops.h"

/* Record of an operation with two inputs and one number. */
typedef struct pair_node {
    tape_node node;
    float factor;
} pair_node;

/* A new tensor of the shape of x. */
static tensor *new_like(tape *t, const tensor *x, const tensor *y) {
    return tape_tensor(t, x->rows, x->cols, x->needs_grad || (y != NULL && y->needs_grad));
}

static tensor *record(tape *t, tensor *out, tape_backward_rule *backward, tensor *x, tensor *y, float factor) {
    pair_node *n = tape_record(t, out, backward, sizeof *n);
    if (n == NULL) return out;
    n->node.in[0] = x;
    n->node.in[1] = y;
    n->factor = factor;
    return out;
}

static bool is_same_shape(const tensor *x, const tensor *y) {
    return x->rows == y->rows && x->cols == y->cols;
}

/* --- Two inputs of one shape --------------------------------------------------------------------------------- */

/* out = x + factor y */
static void add_backward(tape *t, tape_node *n) {
    const float *dout = n->out->grad;
    size_t size = tensor_size(n->out);
    float *dx = tape_grad(t, n->in[0]);
    if (dx != NULL) loop_add(size, dout, dx);
    float *dy = tape_grad(t, n->in[1]);
    if (dy != NULL) loop_add_scaled(size, ((pair_node *)n)->factor, dout, dy);
}

tensor *nn_add(tape *t, tensor *x, tensor *y) {
    if (t->has_failed) return NULL;
    assert(is_same_shape(x, y));
    tensor *out = new_like(t, x, y);
    if (out == NULL) return NULL;
    loop_sum_of(tensor_size(x), x->data, y->data, out->data);
    return record(t, out, add_backward, x, y, 1);
}

tensor *nn_sub(tape *t, tensor *x, tensor *y) {
    if (t->has_failed) return NULL;
    assert(is_same_shape(x, y));
    tensor *out = new_like(t, x, y);
    if (out == NULL) return NULL;
    loop_difference(tensor_size(x), x->data, y->data, out->data);
    return record(t, out, add_backward, x, y, -1);
}

static void mul_backward(tape *t, tape_node *n) {
    tensor *x = n->in[0], *y = n->in[1];
    float *grad = tape_grad(t, x);
    if (grad != NULL) loop_add_product(tensor_size(x), n->out->grad, y->data, grad);
    grad = tape_grad(t, y);
    if (grad != NULL) loop_add_product(tensor_size(x), n->out->grad, x->data, grad);
}

tensor *nn_mul(tape *t, tensor *x, tensor *y) {
    if (t->has_failed) return NULL;
    assert(is_same_shape(x, y));
    tensor *out = new_like(t, x, y);
    if (out == NULL) return NULL;
    loop_product(tensor_size(x), x->data, y->data, out->data);
    return record(t, out, mul_backward, x, y, 1);
}

static void scale_backward(tape *t, tape_node *n) {
    float *grad = tape_grad(t, n->in[0]);
    if (grad != NULL) loop_add_scaled(tensor_size(n->out), ((pair_node *)n)->factor, n->out->grad, grad);
}

tensor *nn_scale(tape *t, tensor *x, float factor) {
    if (t->has_failed) return NULL;
    tensor *out = new_like(t, x, NULL);
    if (out == NULL) return NULL;
    loop_scale(tensor_size(x), factor, x->data, out->data);
    return record(t, out, scale_backward, x, NULL, factor);
}

/* --- Broadcast of a row or a column -------------------------------------------------------------------------- */

static void add_row_backward(tape *t, tape_node *n) {
    tensor *out = n->out;
    float *grad = tape_grad(t, n->in[0]);
    if (grad != NULL) loop_add(tensor_size(out), out->grad, grad);
    grad = tape_grad(t, n->in[1]);
    if (grad != NULL) loop_add_column_sums(out->rows, out->cols, out->grad, grad);
}

tensor *nn_add_row(tape *t, tensor *x, tensor *row) {
    if (t->has_failed) return NULL;
    assert(row->rows == 1 && row->cols == x->cols);
    tensor *out = new_like(t, x, row);
    if (out == NULL) return NULL;
    for (size_t i = 0; i < tensor_size(x); i += x->cols) loop_sum_of(x->cols, x->data + i, row->data, out->data + i);
    return record(t, out, add_row_backward, x, row, 1);
}

static void mul_row_backward(tape *t, tape_node *n) {
    tensor *x = n->in[0], *row = n->in[1], *out = n->out;
    float *dx = tape_grad(t, x), *drow = tape_grad(t, row);
    for (size_t i = 0; i < tensor_size(x); i += x->cols) {
        if (dx != NULL) loop_add_product(x->cols, out->grad + i, row->data, dx + i);
        if (drow != NULL) loop_add_product(x->cols, out->grad + i, x->data + i, drow);
    }
}

tensor *nn_mul_row(tape *t, tensor *x, tensor *row) {
    if (t->has_failed) return NULL;
    assert(row->rows == 1 && row->cols == x->cols);
    tensor *out = new_like(t, x, row);
    if (out == NULL) return NULL;
    for (size_t i = 0; i < tensor_size(x); i += x->cols) loop_product(x->cols, x->data + i, row->data, out->data + i);
    return record(t, out, mul_row_backward, x, row, 1);
}

static void mul_column_backward(tape *t, tape_node *n) {
    tensor *x = n->in[0], *column = n->in[1], *out = n->out;
    float *dx = tape_grad(t, x), *dcolumn = tape_grad(t, column);
    for (size_t r = 0, i = 0; r < x->rows; r++, i += x->cols) {
        if (dx != NULL) loop_add_scaled(x->cols, column->data[r], out->grad + i, dx + i);
        if (dcolumn != NULL) dcolumn[r] += loop_dot(x->cols, out->grad + i, x->data + i);
    }
}

tensor *nn_mul_column(tape *t, tensor *x, tensor *column) {
    if (t->has_failed) return NULL;
    assert(column->cols == 1 && column->rows == x->rows);
    tensor *out = new_like(t, x, column);
    if (out == NULL) return NULL;
    for (size_t r = 0, i = 0; r < x->rows; r++, i += x->cols)
        loop_scale(x->cols, column->data[r], x->data + i, out->data + i);
    return record(t, out, mul_column_backward, x, column, 1);
}

/* --- Sum of all elements ------------------------------------------------------------------------------------- */

static void sum_backward(tape *t, tape_node *n) {
    float *grad = tape_grad(t, n->in[0]);
    for (size_t i = 0; grad != NULL && i < tensor_size(n->in[0]); i++) grad[i] += n->out->grad[0];
}

tensor *nn_sum(tape *t, tensor *x) {
    if (t->has_failed) return NULL;
    tensor *out = tape_tensor(t, 1, 1, x->needs_grad);
    if (out == NULL) return NULL;
    out->data[0] = loop_sum(tensor_size(x), x->data);
    return record(t, out, sum_backward, x, NULL, 1);
}

/* --- Dropout ------------------------------------------------------------------------------------------------- */

/* in: x (N, C), mask (N, C) with 0 or 1 / (1 - rate) */
static void dropout_backward(tape *t, tape_node *n) {
    float *grad = tape_grad(t, n->in[0]);
    if (grad != NULL) loop_add_product(tensor_size(n->out), n->out->grad, n->in[1]->data, grad);
}

/* One random number for two elements. mask: (count) */
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
