/* rows.c - data movement: gather, scatter, slices and concatenation of rows and columns.
 *
 * Shapes: x (N, C); those of the results are in ops.h. */
#include <assert.h>
#include <string.h>

#include "nn/math/loops.h"
#include "nn/ops.h"

typedef struct index_node {
    tape_node node;
    const uint32_t *index; /* gather: (rows of out), scatter: (N) */
    uint32_t first;        /* row or column of a slice */
} index_node;

static tensor *record(tape *t, tensor *out, tape_backward_rule *backward, tensor *x, const uint32_t *index,
                      uint32_t first) {
    index_node *n = tape_record(t, out, backward, sizeof *n);
    if (n == NULL) return out;
    n->node.in[0] = x;
    n->index = index;
    n->first = first;
    return out;
}

/* --- By index ------------------------------------------------------------------------------------------------ */

static void gather_backward(tape *t, tape_node *n) {
    const uint32_t *index = ((index_node *)n)->index;
    size_t cols = n->out->cols;
    float *grad = tape_grad(t, n->in[0]);
    for (size_t i = 0; grad != NULL && i < n->out->rows; i++)
        loop_add(cols, n->out->grad + i * cols, grad + index[i] * cols);
}

tensor *nn_gather(tape *t, tensor *x, const uint32_t *index, uint32_t count) {
    if (t->has_failed) return NULL;
    tensor *out = tape_tensor(t, count, x->cols, x->needs_grad);
    if (out == NULL) return NULL;
    size_t cols = x->cols;
    for (size_t i = 0; i < count; i++) {
        assert(index[i] < x->rows);
        memcpy(out->data + i * cols, x->data + index[i] * cols, cols * sizeof *x->data);
    }
    return record(t, out, gather_backward, x, index, 0);
}

static void scatter_backward(tape *t, tape_node *n) {
    const uint32_t *index = ((index_node *)n)->index;
    tensor *x = n->in[0];
    size_t cols = x->cols;
    float *grad = tape_grad(t, x);
    for (size_t i = 0; grad != NULL && i < x->rows; i++)
        loop_add(cols, n->out->grad + index[i] * cols, grad + i * cols);
}

tensor *nn_scatter(tape *t, tensor *x, const uint32_t *index, uint32_t rows) {
    if (t->has_failed) return NULL;
    tensor *out = tape_tensor(t, rows, x->cols, x->needs_grad);
    if (out == NULL) return NULL;
    size_t cols = x->cols;
    memset(out->data, 0, tensor_size(out) * sizeof *out->data);
    for (size_t i = 0; i < x->rows; i++) {
        assert(index[i] < rows);
        loop_add(cols, x->data + i * cols, out->data + index[i] * cols);
    }
    return record(t, out, scatter_backward, x, index, 0);
}

/* --- Slices -------------------------------------------------------------------------------------------------- */

static void slice_rows_backward(tape *t, tape_node *n) {
    float *grad = tape_grad(t, n->in[0]);
    size_t first = ((index_node *)n)->first;
    if (grad != NULL) loop_add(tensor_size(n->out), n->out->grad, grad + first * n->out->cols);
}

tensor *nn_slice_rows(tape *t, tensor *x, uint32_t first, uint32_t count) {
    if (t->has_failed) return NULL;
    assert(first <= x->rows && count <= x->rows - first);
    tensor *out = tape_input(t, count, x->cols, x->data + (size_t)first * x->cols);
    if (out == NULL) return NULL;
    out->needs_grad = x->needs_grad;
    return record(t, out, slice_rows_backward, x, NULL, first);
}

static void slice_columns_backward(tape *t, tape_node *n) {
    tensor *x = n->in[0], *out = n->out;
    float *grad = tape_grad(t, x);
    size_t first = ((index_node *)n)->first;
    for (size_t i = 0; grad != NULL && i < x->rows; i++)
        loop_add(out->cols, out->grad + i * out->cols, grad + i * x->cols + first);
}

tensor *nn_slice_columns(tape *t, tensor *x, uint32_t first, uint32_t count) {
    if (t->has_failed) return NULL;
    assert(first <= x->cols && count <= x->cols - first);
    tensor *out = tape_tensor(t, x->rows, count, x->needs_grad);
    if (out == NULL) return NULL;
    for (size_t i = 0; i < x->rows; i++)
        memcpy(out->data + i * count, x->data + i * x->cols + first, count * sizeof *x->data);
    return record(t, out, slice_columns_backward, x, NULL, first);
}

/* --- Concatenation of columns -------------------------------------------------------------------------------- */

enum { MAX_PARTS = 8 };

typedef struct concat_node {
    tape_node node;
    uint32_t count;
    tensor *parts[MAX_PARTS];
} concat_node;

static void concat_columns_backward(tape *t, tape_node *n) {
    concat_node *c = (concat_node *)n;
    size_t first = 0;
    for (uint32_t p = 0; p < c->count; p++) {
        tensor *x = c->parts[p];
        float *grad = tape_grad(t, x);
        for (size_t i = 0; grad != NULL && i < x->rows; i++)
            loop_add(x->cols, n->out->grad + i * n->out->cols + first, grad + i * x->cols);
        first += x->cols;
    }
}

tensor *nn_concat_columns(tape *t, uint32_t count, tensor *const *parts) {
    if (t->has_failed) return NULL;
    assert(count > 0 && count <= MAX_PARTS);
    uint32_t cols = 0;
    bool needs_grad = false;
    for (uint32_t p = 0; p < count; p++) {
        assert(parts[p]->rows == parts[0]->rows);
        cols += parts[p]->cols;
        needs_grad = needs_grad || parts[p]->needs_grad;
    }
    tensor *out = tape_tensor(t, parts[0]->rows, cols, needs_grad);
    if (out == NULL) return NULL;
    size_t first = 0;
    for (uint32_t p = 0; p < count; p++) {
        const tensor *x = parts[p];
        for (size_t i = 0; i < x->rows; i++)
            memcpy(out->data + i * cols + first, x->data + i * x->cols, x->cols * sizeof *x->data);
        first += x->cols;
    }
    concat_node *n = tape_record(t, out, concat_columns_backward, sizeof *n);
    if (n == NULL) return out;
    n->count = count;
    memcpy(n->parts, parts, count * sizeof *parts);
    return out;
}

/* --- Concatenation of rows ----------------------------------------------------------------------------------- */

static void concat_rows_backward(tape *t, tape_node *n) {
    const float *dout = n->out->grad;
    for (int i = 0; i < 2; i++) {
        float *grad = tape_grad(t, n->in[i]);
        if (grad != NULL) loop_add(tensor_size(n->in[i]), dout, grad);
        dout += tensor_size(n->in[i]);
    }
}

tensor *nn_concat_rows(tape *t, tensor *x, tensor *y) {
    if (t->has_failed) return NULL;
    assert(x->cols == y->cols);
    tensor *out = tape_tensor(t, x->rows + y->rows, x->cols, x->needs_grad || y->needs_grad);
    if (out == NULL) return NULL;
    memcpy(out->data, x->data, tensor_size(x) * sizeof *x->data);
    memcpy(out->data + tensor_size(x), y->data, tensor_size(y) * sizeof *y->data);
    tape_node *n = tape_record(t, out, concat_rows_backward, sizeof *n);
    if (n == NULL) return out;
    n->in[0] = x;
    n->in[1] = y;
    return out;
}
