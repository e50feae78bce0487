/* segment.c - reductions over segments of rows: sum, mean, maximum, softmax; and the broadcast of a row per segment.
 *
 * Shapes: x (N, C), reduced (S, C) with S = s.count. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "nn/math/loops.h"
#include "nn/math/vmath.h"
#include "nn/ops.h"

typedef struct segment_node {
    tape_node node;
    segments s;
    bool is_mean;
    uint32_t *argmax; /* of max (S, C): the row of each maximum */
} segment_node;

static void check(const tensor *x, segments s) {
    assert(s.start[0] == 0 && s.start[s.count] == x->rows);
    (void)x;
    (void)s;
}

static segment_node *record(tape *t, tensor *out, tape_backward_rule *backward, tensor *x, segments s) {
    segment_node *n = tape_record(t, out, backward, sizeof *n);
    if (n == NULL) return NULL;
    n->node.in[0] = x;
    n->s = s;
    return n;
}

/* --- Sum and mean -------------------------------------------------------------------------------------------- */

/* out (S, C) += sums, or means, of the rows of each segment of x (N, C). */
static void reduce(segments s, size_t cols, bool is_mean, const float *x, float *out) {
    for (uint32_t i = 0; i < s.count; i++, out += cols) {
        size_t first = s.start[i], rows = s.start[i + 1] - first;
        loop_add_column_sums(rows, cols, x + first * cols, out);
        if (is_mean && rows > 1) loop_scale(cols, 1.0f / (float)rows, out, out);
    }
}

/* dx (N, C) += the row of each segment in dout (S, C), divided by its length for means. */
static void broadcast(segments s, size_t cols, bool is_mean, const float *dout, float *dx) {
    for (uint32_t i = 0; i < s.count; i++, dout += cols) {
        size_t first = s.start[i], last = s.start[i + 1];
        float share = is_mean ? 1.0f / (float)(last - first) : 1.0f;
        for (size_t r = first; r < last; r++) loop_add_scaled(cols, share, dout, dx + r * cols);
    }
}

static void sum_backward(tape *t, tape_node *node) {
    const segment_node *n = (segment_node *)node;
    float *grad = tape_grad(t, node->in[0]);
    if (grad != NULL) broadcast(n->s, node->out->cols, n->is_mean, node->out->grad, grad);
}

static tensor *sum_or_mean(tape *t, tensor *x, segments s, bool is_mean) {
    if (t->has_failed) return NULL;
    check(x, s);
    tensor *out = tape_tensor(t, s.count, x->cols, x->needs_grad);
    if (out == NULL) return NULL;
    memset(out->data, 0, tensor_size(out) * sizeof *out->data);
    reduce(s, x->cols, is_mean, x->data, out->data);
    segment_node *n = record(t, out, sum_backward, x, s);
    if (n != NULL) n->is_mean = is_mean;
    return out;
}

tensor *nn_segment_sum(tape *t, tensor *x, segments s) {
    return sum_or_mean(t, x, s, false);
}

tensor *nn_segment_mean(tape *t, tensor *x, segments s) {
    return sum_or_mean(t, x, s, true);
}

/* --- Broadcast ----------------------------------------------------------------------------------------------- */

static void broadcast_backward(tape *t, tape_node *node) {
    float *grad = tape_grad(t, node->in[0]);
    if (grad != NULL) reduce(((segment_node *)node)->s, node->out->cols, false, node->out->grad, grad);
}

tensor *nn_segment_broadcast(tape *t, tensor *x, segments s) {
    if (t->has_failed) return NULL;
    assert(x->rows == s.count);
    tensor *out = tape_tensor(t, s.start[s.count], x->cols, x->needs_grad);
    if (out == NULL) return NULL;
    memset(out->data, 0, tensor_size(out) * sizeof *out->data);
    broadcast(s, x->cols, false, x->data, out->data);
    record(t, out, broadcast_backward, x, s);
    return out;
}

/* --- Maximum ------------------------------------------------------------------------------------------------- */

static void max_backward(tape *t, tape_node *node) {
    const segment_node *n = (segment_node *)node;
    size_t cols = node->out->cols;
    float *grad = tape_grad(t, node->in[0]);
    for (size_t i = 0; grad != NULL && i < tensor_size(node->out); i++)
        if (n->s.start[i / cols] < n->s.start[i / cols + 1]) grad[n->argmax[i] * cols + i % cols] += node->out->grad[i];
}

/* The row with the maximum of a column of x (N, C), in rows first..last-1; of equal elements the first. */
static uint32_t largest_row(const float *x, size_t cols, size_t column, uint32_t first, uint32_t last) {
    uint32_t best = first;
    for (uint32_t r = first + 1; r < last; r++)
        if (x[r * cols + column] > x[best * cols + column]) best = r;
    return best;
}

tensor *nn_segment_max(tape *t, tensor *x, segments s) {
    if (t->has_failed) return NULL;
    check(x, s);
    size_t cols = x->cols;
    tensor *out = tape_tensor(t, s.count, x->cols, x->needs_grad);
    uint32_t *argmax = tape_alloc(t, s.count * cols, sizeof *argmax);
    if (argmax == NULL) return NULL;
    for (size_t i = 0; i < tensor_size(out); i++) {
        uint32_t first = s.start[i / cols], last = s.start[i / cols + 1];
        argmax[i] = first == last ? 0 : largest_row(x->data, cols, i % cols, first, last);
        out->data[i] = first == last ? 0 : x->data[argmax[i] * cols + i % cols];
    }
    segment_node *n = record(t, out, max_backward, x, s);
    if (n != NULL) n->argmax = argmax;
    return out;
}

/* --- Softmax ------------------------------------------------------------------------------------------------- */

/* dx += y (dy - sum over the segment of y dy), column by column. */
static void softmax_backward(tape *t, tape_node *node) {
    segments s = ((segment_node *)node)->s;
    size_t cols = node->out->cols;
    const float *y = node->out->data, *dout = node->out->grad;
    float *grad = tape_grad(t, node->in[0]);
    float *sums = tape_alloc(t, cols, sizeof *sums);
    for (uint32_t i = 0; grad != NULL && sums != NULL && i < s.count; i++) {
        size_t first = s.start[i] * cols, last = s.start[i + 1] * cols;
        loop_fill(cols, 0, sums);
        for (size_t r = first; r < last; r += cols) loop_add_product(cols, y + r, dout + r, sums);
        for (size_t r = first; r < last; r += cols)
            for (size_t c = 0; c < cols; c++) grad[r + c] += y[r + c] * (dout[r + c] - sums[c]);
    }
}

/* out (rows, C) = exp(x (rows, C) - maximum of the column); maxima, sums (C): maximum and sum of each column. */
static void exponentials(const float *x, size_t rows, size_t cols, float *out, float *maxima, float *sums) {
    loop_fill(cols, -INFINITY, maxima);
    loop_fill(cols, 0, sums);
    for (size_t i = 0; i < rows * cols; i++)
        if (x[i] > maxima[i % cols]) maxima[i % cols] = x[i];
    for (size_t r = 0; r < rows * cols; r += cols)
        for (size_t c = 0; c < cols; c++) {
            out[r + c] = vmath_exp(x[r + c] - maxima[c]);
            sums[c] += out[r + c];
        }
}

tensor *nn_segment_softmax(tape *t, tensor *x, segments s) {
    if (t->has_failed) return NULL;
    check(x, s);
    size_t cols = x->cols;
    tensor *out = tape_tensor(t, x->rows, x->cols, x->needs_grad);
    float *maxima = tape_alloc(t, 2 * cols, sizeof *maxima);
    if (maxima == NULL) return NULL;
    float *sums = maxima + cols;
    for (uint32_t i = 0; i < s.count; i++) {
        size_t first = s.start[i] * cols, rows = s.start[i + 1] - s.start[i];
        float *y = out->data + first;
        exponentials(x->data + first, rows, cols, y, maxima, sums);
        for (size_t r = 0; r < rows * cols; r += cols)
            for (size_t c = 0; c < cols; c++) y[r + c] /= sums[c];
    }
    record(t, out, softmax_backward, x, s);
    return out;
}
