/* elementwise.c - sums and products, element by element or with one row or column for all. */
#include <assert.h>

#include "nn/loops.h"
#include "nn/ops.h"

/* A new tensor of the shape of x, and its note with two inputs and one number. */
typedef struct pair_node {
    tape_node node;
    float factor;
} pair_node;

static tensor *like(tape *t, const tensor *x, const tensor *y) {
    return tape_tensor(t, x->rows, x->cols, x->needs_grad || (y != NULL && y->needs_grad));
}

static tensor *note(tape *t, tensor *out, tape_backward_rule *backward, tensor *x, tensor *y, float factor) {
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

/* --- Two of a shape ------------------------------------------------------------------------------------------ */

/* out = x + factor y */
static void add_backward(tape *t, tape_node *n) {
    const float *from = n->out->grad;
    size_t size = tensor_size(n->out);
    float *x = tape_grad(t, n->in[0]);
    if (x != NULL) loop_add(size, from, x);
    float *y = tape_grad(t, n->in[1]);
    if (y != NULL) loop_add_scaled(size, ((pair_node *)n)->factor, from, y);
}

tensor *nn_add(tape *t, tensor *x, tensor *y) {
    if (t->has_failed) return NULL;
    assert(is_same_shape(x, y));
    tensor *out = like(t, x, y);
    if (out == NULL) return NULL;
    loop_sum_of(tensor_size(x), x->data, y->data, out->data);
    return note(t, out, add_backward, x, y, 1);
}

tensor *nn_sub(tape *t, tensor *x, tensor *y) {
    if (t->has_failed) return NULL;
    assert(is_same_shape(x, y));
    tensor *out = like(t, x, y);
    if (out == NULL) return NULL;
    loop_difference(tensor_size(x), x->data, y->data, out->data);
    return note(t, out, add_backward, x, y, -1);
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
    tensor *out = like(t, x, y);
    if (out == NULL) return NULL;
    loop_product(tensor_size(x), x->data, y->data, out->data);
    return note(t, out, mul_backward, x, y, 1);
}

static void scale_backward(tape *t, tape_node *n) {
    float *grad = tape_grad(t, n->in[0]);
    if (grad != NULL) loop_add_scaled(tensor_size(n->out), ((pair_node *)n)->factor, n->out->grad, grad);
}

tensor *nn_scale(tape *t, tensor *x, float factor) {
    if (t->has_failed) return NULL;
    tensor *out = like(t, x, NULL);
    if (out == NULL) return NULL;
    loop_scale(tensor_size(x), factor, x->data, out->data);
    return note(t, out, scale_backward, x, NULL, factor);
}

/* --- One row, or one column, for all ------------------------------------------------------------------------- */

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
    tensor *out = like(t, x, row);
    if (out == NULL) return NULL;
    for (size_t i = 0; i < tensor_size(x); i += x->cols) loop_sum_of(x->cols, x->data + i, row->data, out->data + i);
    return note(t, out, add_row_backward, x, row, 1);
}

static void mul_row_backward(tape *t, tape_node *n) {
    tensor *x = n->in[0], *row = n->in[1], *out = n->out;
    float *to_x = tape_grad(t, x), *to_row = tape_grad(t, row);
    for (size_t i = 0; i < tensor_size(x); i += x->cols) {
        if (to_x != NULL) loop_add_product(x->cols, out->grad + i, row->data, to_x + i);
        if (to_row != NULL) loop_add_product(x->cols, out->grad + i, x->data + i, to_row);
    }
}

tensor *nn_mul_row(tape *t, tensor *x, tensor *row) {
    if (t->has_failed) return NULL;
    assert(row->rows == 1 && row->cols == x->cols);
    tensor *out = like(t, x, row);
    if (out == NULL) return NULL;
    for (size_t i = 0; i < tensor_size(x); i += x->cols) loop_product(x->cols, x->data + i, row->data, out->data + i);
    return note(t, out, mul_row_backward, x, row, 1);
}

static void mul_column_backward(tape *t, tape_node *n) {
    tensor *x = n->in[0], *column = n->in[1], *out = n->out;
    float *to_x = tape_grad(t, x), *to_column = tape_grad(t, column);
    for (size_t r = 0, i = 0; r < x->rows; r++, i += x->cols) {
        if (to_x != NULL) loop_add_scaled(x->cols, column->data[r], out->grad + i, to_x + i);
        if (to_column != NULL) to_column[r] += loop_dot(x->cols, out->grad + i, x->data + i);
    }
}

tensor *nn_mul_column(tape *t, tensor *x, tensor *column) {
    if (t->has_failed) return NULL;
    assert(column->cols == 1 && column->rows == x->rows);
    tensor *out = like(t, x, column);
    if (out == NULL) return NULL;
    for (size_t r = 0, i = 0; r < x->rows; r++, i += x->cols)
        loop_scale(x->cols, column->data[r], x->data + i, out->data + i);
    return note(t, out, mul_column_backward, x, column, 1);
}

/* --- All in one ---------------------------------------------------------------------------------------------- */

static void sum_backward(tape *t, tape_node *n) {
    float *grad = tape_grad(t, n->in[0]);
    for (size_t i = 0; grad != NULL && i < tensor_size(n->in[0]); i++) grad[i] += n->out->grad[0];
}

tensor *nn_sum(tape *t, tensor *x) {
    if (t->has_failed) return NULL;
    tensor *out = tape_tensor(t, 1, 1, x->needs_grad);
    if (out == NULL) return NULL;
    out->data[0] = loop_sum(tensor_size(x), x->data);
    return note(t, out, sum_backward, x, NULL, 1);
}
